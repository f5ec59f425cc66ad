/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: what was done to sets of records, so that a transaction can go back to a mark.
 *
 * Nothing is kept before the first mark. A log entry undoes one step; entries are undone in reverse order, so each
 * finds the sets as its step left them. Records that were removed belong to the log until it is cleared. One thread.
 */
#pragma once

#include "src/zone/record_set.h"

typedef struct {
	zone_record_set_t *set; /* of the record; NULL: only its TTL changed */
	zone_record_t *record;  /* owned if it was removed */
	uint32_t ttl;           /* the old one, if the TTL changed */
	bool was_added;
} zone_undo_step_t;

/** Zero at first. */
typedef struct {
	zone_undo_step_t *steps; /* owned */
	size_t count, max;
	bool is_kept; /* there was a mark */
} zone_undo_t;

/** Make room for `count` more steps. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_undo_reserve(zone_undo_t *undo, size_t count);

/** Note a step that was taken, for which there is room. */
void zone_undo_note_added(zone_undo_t *undo, zone_record_set_t *set, zone_record_t *record);
void zone_undo_note_ttl(zone_undo_t *undo, zone_record_t *record, uint32_t old_ttl);

/** Note that a record was taken out of its set. The log frees it, at once if nothing is kept. */
void zone_undo_note_removed(zone_undo_t *undo, zone_record_set_t *set, zone_record_t *take_record);

/** Undo all steps but the first `mark`. */
void zone_undo_back(zone_undo_t *undo, size_t mark);

/** Forget all steps and marks. */
void zone_undo_clear(zone_undo_t *undo);
