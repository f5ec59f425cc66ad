/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How many questions a server gets at once: a window that grows with answers and shrinks with silence.
 *
 * It begins small, doubles for each round of answers, and after a loss grows by one for a round, as TCP's does (RFC
 * 5681 3.1). A million zones that ask one primary so find out what it bears. Pure; a value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PACE_FIRST = 16, PACE_MAX = 1024 };

typedef struct {
	double window;    /* questions */
	double threshold; /* up to which it doubles */
	unsigned count;   /* questions that wait for an answer */
	uint64_t lost_ms; /* when it was halved */
} pace_t;

static inline pace_t pace_new(void)
{
	return (pace_t){ .window = PACE_FIRST, .threshold = PACE_MAX };
}

/** True if another question may be sent. */
static inline bool pace_has_room(const pace_t *pace)
{
	return pace->count < (unsigned)pace->window;
}

static inline void pace_sent(pace_t *pace)
{
	pace->count++;
}

/** A question was answered. */
static inline void pace_answered(pace_t *pace)
{
	pace->count--;
	pace->window += pace->window < pace->threshold ? 1 : 1 / pace->window;
	pace->window = pace->window > PACE_MAX ? PACE_MAX : pace->window;
}

/** One wasn't: the window is halved, but once for all that was on its way at the time. round_ms: how long an answer may
 * take. */
static inline void pace_lost(pace_t *pace, uint64_t now_ms, uint64_t round_ms)
{
	pace->count--;
	if (pace->lost_ms == 0 || now_ms - pace->lost_ms >= round_ms) {
		pace->lost_ms = now_ms;
		pace->window = pace->window / 2 < 1 ? 1 : pace->window / 2;
		pace->threshold = pace->window;
	}
}

/** One ended that says nothing of the server: it was given up, or is asked again. */
static inline void pace_forgotten(pace_t *pace)
{
	pace->count--;
}
