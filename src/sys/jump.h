/* SPDX-License-Identifier: BSD-2-Clause */
/** Whether the wall clock was set: what passed on it, against what passed on the monotonic clock. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Zero at first. */
typedef struct {
	bool is_known;
	int64_t ahead_ms; /* of the wall clock, at the last look */
} sys_jump_t;

/** Clocks are read one after the other, and slewed by half a thousandth: less than this is no jump. */
enum { SYS_JUMP_MIN_MS = 2000 };

/** Look again, at least each minute. By how many milliseconds the wall clock has jumped since the last look; 0: it
 * hasn't, or this is the first look. Sleep of the machine is a jump, as the monotonic clock stands still then. */
int64_t sys_jump_look(sys_jump_t *jump, uint64_t wall_ms, uint64_t monotonic_ms);
