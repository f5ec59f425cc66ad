/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The journal as the server uses it: storing changes before they are published, and applying them when a zone is
 * loaded. Internal to src/event.
 *
 * Changes are applied strictly: what a change removes must be there, what it adds must not. One that doesn't fit leaves
 * nothing behind. Any thread; one caller per zone at a time, outside of read sections.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/journal/journal.h"
#include "src/update/derive.h"
#include "src/update/update.h"

/** Open the journal of a configuration; the folder is made with the first change. Logs what is wrong with it; the
 * server then runs without its contents, or until changes_reopen() succeeds. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t changes_open(const conf_database_t *conf, journal_t **ret_journal);

/**
 * KNOT_OK: what the journal has can be read, or it has nothing. Otherwise that it can't be opened, which is tried again
 * now and then; `reason` (FAULT_REASON_MAX bytes) says why. Logs when it could be opened at last.
 */
KNOT_MUST_USE knot_err_t changes_reopen(journal_t *journal, char *reason);

/** How a zone's changes are stored. */
typedef struct {
	journal_t *journal;
	journal_limits_t limits;
	/* Make sure that the zone file has the version that the change begins with, so that older changes may go. */
	knot_err_t (*flush)(void *ctx);
	void *ctx;
} changes_store_t;

/**
 * Store a change durably. If the limits are reached, the zone is flushed, or, if that fails, changes are merged, and
 * the change stored then. On failure `reason` (UPDATE_REASON_MAX bytes, "" at first) gets the details. KNOT_ESPACE: it
 * is too large, or the disk or the journal is full. KNOT_ESEMCHECK: the journal's whole zone has another serial.
 */
KNOT_MUST_USE knot_err_t changes_store(const changes_store_t *to, const update_record_t *record, char *reason);

/** Note that the zone file has the version. A failure is logged; it only makes the journal longer. */
void changes_mark_flushed(journal_t *journal, knot_name_t name, uint32_t serial);

/** What was applied. */
typedef struct {
	unsigned count;    /* changes; 0: nothing */
	uint32_t from, to; /* serials */
} changes_span_t;

/**
 * Apply the changes after the serial of *contents (owned), which is replaced by the result; without any it stays.
 * A change that is damaged ends this with those before it; that is logged. If one doesn't fit, or a check fails,
 * *contents stays and the error is logged and returned. params: of the checks.
 */
KNOT_MUST_USE knot_err_t changes_apply(journal_t *journal, const zone_build_params_t *params,
		zone_contents_t **contents, changes_span_t *ret_span);

/**
 * The same for the file of a zone that is signed here, whose serials are others than those that the file gave: what
 * did not come from the file, and not from the signer, is done again where it still can be. What doesn't fit is left
 * out.
 */
KNOT_MUST_USE knot_err_t changes_repeat(journal_t *journal, const zone_build_params_t *params,
		zone_contents_t **contents, changes_span_t *ret_span);

/** True for types that signing makes again from the rest of a zone. */
bool changes_is_of_signer(uint16_t type);

/** The journal's whole zone with the changes after it. KNOT_ENOENT: there is none. Other errors are logged. */
KNOT_MUST_USE knot_err_t changes_read_zone(
		journal_t *journal, const zone_build_params_t *params, zone_contents_t **ret_contents);

/**
 * True if `file`, with the changes that the journal has since a file was last loaded, or since the version of the
 * file's serial, is `now`, whatever their serials: then that was this file, or it was written by the server. False also
 * if that can't be found out. derive: what it makes doesn't count; NULL: all counts. Cost: two passes over both
 * versions.
 */
bool changes_lead_from(journal_t *journal, const zone_build_params_t *params, const derive_t *derive,
		const zone_contents_t *file, const zone_contents_t *now);

/** Remove what the journal has of a zone. KNOT_OK also if that is nothing. Logs a failure. */
KNOT_MUST_USE knot_err_t changes_drop(journal_t *journal, knot_name_t name);

/** As above for all zones that are `wanted`. The first error. */
KNOT_MUST_USE knot_err_t changes_drop_if(journal_t *journal, bool (*wanted)(knot_name_t name, void *ctx), void *ctx);
