/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/undo.h"

#include <assert.h>
#include <stdlib.h>

knot_err_t zone_undo_reserve(zone_undo_t *undo, size_t count)
{
	if (!undo->is_kept || undo->max - undo->count >= count) {
		return KNOT_OK;
	}
	size_t max = 2 * undo->max + count;
	zone_undo_step_t *grown = realloc(undo->steps, max * sizeof(*grown));
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	undo->steps = grown;
	undo->max = max;
	return KNOT_OK;
}

static void undo_push(zone_undo_t *undo, zone_undo_step_t step)
{
	assert(undo->count < undo->max);
	undo->steps[undo->count++] = step;
}

void zone_undo_note_added(zone_undo_t *undo, zone_record_set_t *set, zone_record_t *record)
{
	if (undo->is_kept) {
		undo_push(undo, (zone_undo_step_t){ .set = set, .record = record, .was_added = true });
	}
}

void zone_undo_note_ttl(zone_undo_t *undo, zone_record_t *record, uint32_t old_ttl)
{
	if (undo->is_kept) {
		undo_push(undo, (zone_undo_step_t){ .record = record, .ttl = old_ttl });
	}
}

void zone_undo_note_removed(zone_undo_t *undo, zone_record_set_t *set, zone_record_t *take_record)
{
	if (undo->is_kept) {
		undo_push(undo, (zone_undo_step_t){ .set = set, .record = take_record });
	} else {
		free(take_record);
	}
}

static void undo_step(const zone_undo_step_t *step)
{
	if (step->set == NULL) {
		step->record->ttl = step->ttl;
		return;
	}
	size_t pos;
	bool is_there = zone_record_set_find(step->set, step->record, &pos);
	assert(is_there == step->was_added); /* later steps were undone before */
	(void)is_there;
	if (step->was_added) {
		free(zone_record_set_take(step->set, pos));
	} else {
		zone_record_set_put(step->set, pos, step->record);
	}
}

void zone_undo_back(zone_undo_t *undo, size_t mark)
{
	assert(undo->is_kept && mark <= undo->count);
	while (undo->count > mark) {
		undo_step(&undo->steps[--undo->count]);
	}
}

void zone_undo_clear(zone_undo_t *undo)
{
	for (size_t i = 0; i < undo->count; i++) {
		const zone_undo_step_t *step = &undo->steps[i];
		if (step->set != NULL && !step->was_added) {
			free(step->record);
		}
	}
	free(undo->steps);
	*undo = (zone_undo_t){ 0 };
}
