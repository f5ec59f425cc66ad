/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The members of catalogs in LMDB, in the layout of Knot's catalog database: either server goes on where the other has
 * stopped, and zones are there at a start before the catalog that has added them.
 *
 * Owns the environment in one folder (`catalog-db`), a record per member: key 00 and the member's name in wire form and
 * lower case; value 00, the length of the owner without its catalog, the owner of its PTR, the group and a NUL. The
 * folder is made with the first record. A damaged record is passed over and counted; a file whose pages can't be
 * trusted is set aside before LMDB maps it (doc/adr/0033-damage.md). Nothing is logged here. Any thread; one of them
 * writes at a time.
 */
#pragma once

#include "src/catalog/set.h"
#include "src/sys/lmdb_env.h"

typedef struct catalog_db catalog_db_t;

/** How to open it. Borrowed for the call. */
typedef struct {
	const char *path;
	uint64_t size_max; /* bytes, LMDB's map */
	bool read_only;    /* also while a server writes */
} catalog_db_params_t;

/** A database in a folder, not opened yet. NULL: out of memory. */
catalog_db_t *catalog_db_new(const catalog_db_params_t *params);

/**
 * Open what is in the folder. KNOT_ENOENT: there is no database yet. A damaged file is set aside if it may be written
 * to, which a reason with KNOT_OK says, else the text is empty. KNOT_ENOTSUP: of another layout. Errors of
 * sys_lmdb_lock() and sys_lmdb_open(), with a reason: nothing can be read; catalog_db_begin() tries again.
 */
KNOT_MUST_USE knot_err_t catalog_db_open(catalog_db_t *db, sys_lmdb_reason_t *ret_reason);

/** Close it, when no thread uses it any more. NULL is allowed. */
void catalog_db_close(catalog_db_t *take_db);

/** A record. Borrowed: from a visit, or from the buffer that it was read into. */
typedef struct {
	catalog_member_t entry;
	knot_name_t catalog; /* a view into entry.owner */
} catalog_record_t;

/** Room for a record that is read. */
typedef struct {
	uint8_t bytes[2 * KNOT_NAME_MAX + CATALOG_GROUP_MAX];
} catalog_record_room_t;

/** The record of a member. member: any case. KNOT_ENOENT: none. KNOT_EMALF: it is damaged. KNOT_EFILE, KNOT_ENOMEM …
 */
KNOT_MUST_USE knot_err_t catalog_db_read(
		catalog_db_t *db, knot_name_t member, catalog_record_room_t *room, catalog_record_t *ret_record);

/** Looks at a record, which is borrowed; false ends the visit. It must not use the database. */
typedef bool (*catalog_record_cb)(const catalog_record_t *record, void *ctx);

/**
 * Visit all records, in order of catalog_cmp(). ret_damaged: how many were passed over. KNOT_EFILE, KNOT_ENOMEM …,
 * with a reason: not all were visited.
 */
KNOT_MUST_USE knot_err_t catalog_db_each(catalog_db_t *db, catalog_record_cb visit, void *ctx, size_t *ret_damaged,
		sys_lmdb_reason_t *ret_reason);

/* ---- Writing ---- */

/** Changes of many members, in one transaction. */
typedef struct catalog_write catalog_write_t;

/** Begin, making folder and database if needed; commit or discard in the same thread. Other writers wait until then.
 * Errors as catalog_db_open(). */
KNOT_MUST_USE knot_err_t catalog_db_begin(catalog_db_t *db, catalog_write_t **ret_write, sys_lmdb_reason_t *ret_reason);

/** Store what a catalog says of a member, in place of what was stored of it. entry->owner: in the catalog. KNOT_ESPACE,
 * KNOT_EFILE …: discard. */
KNOT_MUST_USE knot_err_t catalog_write_put(catalog_write_t *write, const catalog_record_t *record);

/** Remove the record of a member; that there is none is no failure. Errors as catalog_write_put(). */
KNOT_MUST_USE knot_err_t catalog_write_drop(catalog_write_t *write, knot_name_t member);

/** Make the changes durable; on an error none is made. */
KNOT_MUST_USE knot_err_t catalog_write_commit(catalog_write_t *take_write, sys_lmdb_reason_t *ret_reason);

/** End without changes; the reason of the failure that led to it. NULL is allowed. */
void catalog_write_discard(catalog_write_t *take_write, sys_lmdb_reason_t *ret_reason);
