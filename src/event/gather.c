/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/gather.h"

#include <string.h>

static size_t gather_place(uint64_t zone)
{
	return zone % GATHER_ZONES;
}

gather_wish_t gather_before(gather_t *gather, uint64_t zone, size_t waiting)
{
	gather_wish_t none = { .count = 0, .us = 0 };
	size_t i = gather_place(zone);
	if (gather->rows[i].zone != zone || waiting >= gather->rows[i].expected) {
		return none;
	}
	if (gather->rows[i].paused > 0) {
		gather->rows[i].paused--;
		return none;
	}
	uint32_t us = gather->rows[i].took_us / GATHER_PART;
	us = us < GATHER_MAX_US ? us : GATHER_MAX_US;
	return us < GATHER_MIN_US ? none : (gather_wish_t){ .count = gather->rows[i].expected, .us = us };
}

void gather_after(gather_t *gather, uint64_t zone, size_t count, size_t waiting)
{
	size_t i = gather_place(zone);
	if (gather->rows[i].zone == zone && waiting * 100 < count * GATHER_CAME_PERCENT) {
		gather->rows[i].paused = GATHER_PAUSE;
	}
}

void gather_note(gather_t *gather, uint64_t zone, size_t answered, size_t waiting, uint64_t took_ns)
{
	size_t i = gather_place(zone), expected = answered + waiting;
	uint64_t took_us = took_ns / 1000;
	if (gather->rows[i].zone != zone) {
		memset(&gather->rows[i], 0, sizeof(gather->rows[i]));
		gather->rows[i].zone = zone;
	}
	gather->rows[i].expected = expected < UINT32_MAX ? (uint32_t)expected : UINT32_MAX;
	gather->rows[i].took_us = took_us < UINT32_MAX ? (uint32_t)took_us : UINT32_MAX;
}
