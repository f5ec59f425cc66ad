/* SPDX-License-Identifier: BSD-2-Clause */
/** A token bucket: a number of tokens per second, and a second's worth at once. Pure: the caller passes the time. One
 * thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Zero it to begin: full. */
typedef struct {
	uint64_t full_us; /* when it will be full again */
} knot_rate_t;

/** Take one. False: none is left. now_us: never goes back by much; per_second 0: there never is one. */
static inline bool knot_rate_take(knot_rate_t *rate, uint64_t now_us, uint32_t per_second)
{
	enum { SECOND_IN_US = 1000000 };
	if (per_second == 0) {
		return false;
	}
	/* In units of time: each one costs 1/per_second, and a second of them may be saved up. */
	uint64_t cost_us = SECOND_IN_US / per_second > 0 ? SECOND_IN_US / per_second : 1;
	uint64_t full_us = rate->full_us > now_us ? rate->full_us : now_us;
	if (full_us + cost_us > now_us + SECOND_IN_US) {
		return false;
	}
	rate->full_us = full_us + cost_us;
	return true;
}
