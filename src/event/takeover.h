/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The journal that Knot DNS left is read once: what it has of a zone becomes the zone's journal before the zone is
 * loaded for the first time. Internal to src/event.
 *
 * journal_open() renames Knot's database to data.mdb.knot; nothing changes it here, so that a way back stays. Zone by
 * zone, in its load job, so a large journal delays only the zones whose history is large. When all zones were loaded,
 * data.mdb.knot.taken is made: from then on the database is never read again. If the server ends before, the next start
 * goes on where this one ended. If Knot DNS gets its database back and works on, journal_open() renames that one, too,
 * and removes the mark.
 */
#pragma once

#include "src/journal/knot.h"

#include <stdatomic.h>

typedef struct {
	char *folder; /* owned; NULL: there is nothing to take over */
	_Atomic uint64_t zones, changes, failed;
	atomic_bool is_put_off; /* the journal can't be opened: what is left over remains so for the next start */
} takeover_t;

/** Look whether there is something to take over in the journal's folder, after journal_open(); if that couldn't open
 * it, it may be Knot's own. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t takeover_begin(takeover_t *takeover, journal_t *journal, const char *folder);
void takeover_done(takeover_t *takeover);

/** Take over what there is of a zone, before it is loaded for the first time with its journal. Logs a failure. Any
 * thread; one per zone. */
void takeover_zone(takeover_t *takeover, journal_t *journal, knot_name_t zone);

/** What came of takeover_from(). */
typedef struct {
	uint64_t count;  /* changes that were taken over */
	uint32_t serial; /* where the next one would begin */
	journal_reason_t reason;
} takeover_result_t;

/** Put what a database of Knot's, at `path`, has of a zone into the journal, behind what of it is there. KNOT_OK also
 * if it has nothing. Errors of journal_knot_open(), journal_knot_each() and journal_append(). */
KNOT_MUST_USE knot_err_t takeover_from(
		const char *path, journal_t *journal, knot_name_t zone, takeover_result_t *ret_result);

/** All zones were loaded, or tried: log what was taken over, and note that it is done. */
void takeover_end(takeover_t *takeover);
