/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/tcp_events.h"

#include <stdio.h>
#include <stdlib.h>

static void *grown(void *old, size_t count, size_t size)
{
	void *bytes = reallocarray(old, count, size);
	if (bytes == NULL) {
		fputs("no memory for events\n", stderr);
		exit(2);
	}
	return bytes;
}

static void grow(sim_events_t *events)
{
	size_t room = events->room > 0 ? events->room * 2 : 1024;
	events->pool = grown(events->pool, room, sizeof(events->pool[0]));
	events->unused = grown(events->unused, room, sizeof(events->unused[0]));
	events->heap = grown(events->heap, room, sizeof(events->heap[0]));
	/* The pool is full: the stack of unused ones, which grows from its end, is empty. */
	for (size_t i = events->room; i < room; i++) {
		events->unused[i] = (uint32_t)i;
	}
	events->room = room;
}

static bool before(const sim_heap_entry_t *a, const sim_heap_entry_t *b)
{
	return a->time != b->time ? a->time < b->time : (int32_t)(a->order - b->order) < 0;
}

/* unused[count..room) are the free places of the pool. */
void sim_events_add(sim_events_t *events, const sim_event_t *event)
{
	if (events->count == events->room) {
		grow(events);
	}
	uint32_t index = events->unused[events->count];
	events->pool[index] = *event;
	sim_heap_entry_t entry = { .time = event->time, .order = events->order++, .index = index };
	size_t at = events->count++;
	while (at > 0 && before(&entry, &events->heap[(at - 1) / 2])) {
		events->heap[at] = events->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	events->heap[at] = entry;
}

bool sim_events_take(sim_events_t *events, sim_event_t *ret_event)
{
	if (events->count == 0) {
		return false;
	}
	uint32_t index = events->heap[0].index;
	*ret_event = events->pool[index];
	sim_heap_entry_t last = events->heap[--events->count];
	events->unused[events->count] = index;
	size_t at = 0, child;
	while ((child = 2 * at + 1) < events->count) {
		if (child + 1 < events->count && before(&events->heap[child + 1], &events->heap[child])) {
			child++;
		}
		if (!before(&events->heap[child], &last)) {
			break;
		}
		events->heap[at] = events->heap[child];
		at = child;
	}
	events->heap[at] = last;
	return true;
}

uint64_t sim_events_time(const sim_events_t *events)
{
	return events->count > 0 ? events->heap[0].time : UINT64_MAX;
}

void sim_events_done(sim_events_t *events)
{
	free(events->pool);
	free(events->unused);
	free(events->heap);
	*events = (sim_events_t){ 0 };
}
