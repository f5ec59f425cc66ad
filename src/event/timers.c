/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/timers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct timer {
	uint64_t due_ms;
	uint8_t *wire; /* owned */
	uint8_t len, label_count;
};

void timers_deinit(timers_t *timers)
{
	for (size_t i = 0; i < timers->count; i++) {
		free(timers->data[i].wire);
	}
	free(timers->data);
	*timers = (timers_t){ 0 };
}

static void swap(struct timer *a, struct timer *b)
{
	struct timer kept = *a;
	*a = *b;
	*b = kept;
}

knot_err_t timers_put(timers_t *timers, uint64_t due_ms, knot_name_t name)
{
	if (timers->count == timers->max) {
		size_t max = 2 * timers->max + 4;
		struct timer *grown = realloc(timers->data, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		timers->data = grown;
		timers->max = max;
	}
	uint8_t *wire = malloc(name.len);
	if (wire == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(wire, name.wire, name.len);
	size_t at = timers->count++;
	timers->data[at] = (struct timer){
		.due_ms = due_ms, .wire = wire, .len = name.len, .label_count = name.label_count
	};
	for (size_t up; at > 0 && timers->data[up = (at - 1) / 2].due_ms > due_ms; at = up) {
		swap(&timers->data[at], &timers->data[up]);
	}
	return KNOT_OK;
}

uint64_t timers_next(const timers_t *timers)
{
	return timers->count > 0 ? timers->data[0].due_ms : 0;
}

knot_name_t timers_take(timers_t *timers, uint8_t wire[static KNOT_NAME_MAX])
{
	assert(timers->count > 0);
	struct timer first = timers->data[0];
	memcpy(wire, first.wire, first.len);
	free(first.wire);
	timers->data[0] = timers->data[--timers->count];
	for (size_t at = 0;;) {
		size_t least = at;
		for (size_t down = 2 * at + 1; down <= 2 * at + 2 && down < timers->count; down++) {
			least = timers->data[down].due_ms < timers->data[least].due_ms ? down : least;
		}
		if (least == at) {
			break;
		}
		swap(&timers->data[at], &timers->data[least]);
		at = least;
	}
	return (knot_name_t){ wire, first.len, first.label_count };
}
