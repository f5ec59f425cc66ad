/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How many questions a server gets at once: a window that grows with answers and shrinks with silence.
 *
 * It begins small, doubles for each round of answers, and after a loss grows by one for a round, as TCP's does (RFC
 * 5681 3.1). Answers that come later than the fastest one mean that questions queue there: the window shrinks before
 * any is lost (RFC 6817), so that an urgent question has little before it. A million zones that ask one primary so find
 * out what it bears. Pure; a value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	PACE_FIRST = 16, /* late answers don't shrink it below */
	PACE_MAX = 960,
	PACE_LATE_MS = 20, /* that answers may be later than the fastest one */
};

typedef struct {
	double window;    /* questions */
	double threshold; /* up to which it doubles */
	unsigned count;   /* questions that wait for an answer */
	uint64_t lost_ms; /* when it was halved */
	uint64_t late_ms; /* when it shrank as an answer was late */
	uint64_t best_ms; /* the fastest answer took so long */
} pace_t;

static inline pace_t pace_new(void)
{
	return (pace_t){ .window = PACE_FIRST, .threshold = PACE_MAX, .best_ms = UINT64_MAX };
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

/** A question was answered, took_ms after it was sent. A window that is too large shrinks once in that time. */
static inline void pace_answered(pace_t *pace, uint64_t now_ms, uint64_t took_ms)
{
	pace->count--;
	pace->best_ms = took_ms < pace->best_ms ? took_ms : pace->best_ms;
	if (took_ms > pace->best_ms + PACE_LATE_MS) {
		if (now_ms - pace->late_ms >= took_ms && pace->window > PACE_FIRST) {
			pace->late_ms = now_ms;
			pace->window = pace->window * 3 / 4 < PACE_FIRST ? PACE_FIRST : pace->window * 3 / 4;
			pace->threshold = pace->window;
		}
		return;
	}
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
