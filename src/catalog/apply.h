/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * From lists of members to what a server has to do: decided by configuration and database, stored, then reported.
 *
 * What is stored is durable before the server acts on it, so a start after a crash has the members that were there.
 * Pure but for the database. One thread at a time.
 */
#pragma once

#include "src/catalog/catalog_db.h"
#include "src/catalog/interpret.h"

/** Who knows the configuration, and who does what was decided. */
typedef struct {
	bool (*is_configured)(knot_name_t member, void *ctx);
	/* Called when all is stored, in order of catalog_cmp(): each change that isn't CATALOG_KEEP, or has a note.
	 * Borrowed; change->before is only set for CATALOG_REMOVE and in notes. */
	void (*visit)(const catalog_change_t *change, void *ctx);
	void *ctx;
} catalog_sink_t;

/**
 * Decide about what differs between two lists of a catalog's members, which get sorted, and store it in one
 * transaction. ret_changed: members that were added, removed, renewed or given another group; without any, nothing is
 * written. On an error nothing was stored or visited: of catalog_db_read() but KNOT_ENOENT and KNOT_EMALF, as a damaged
 * record counts as none and is replaced; of catalog_db_begin(), catalog_write_put(), catalog_write_commit(), with a
 * reason; KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t catalog_apply(catalog_db_t *db, knot_name_t catalog, catalog_set_t *before,
		catalog_set_t *after, const catalog_sink_t *sink, size_t *ret_changed, sys_lmdb_reason_t *ret_reason);
