/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * When something is to be done with which zone: a heap of times with names. Within src/event only.
 *
 * Entries aren't pointed to, so that a zone may go while it has a time, and nothing is kept in the million that have
 * none. The few that changed and are not written yet have one each. Not thread-safe: under the lock of the jobs.
 */
#pragma once

#include "libknot/name/name.h"

typedef struct {
	struct timer *data; /* owned */
	size_t count, max;
} timers_t;

/** Free. All-zero timers are empty. */
void timers_deinit(timers_t *timers);

/** Add a time, sys_clock_ms(). A zone may have several. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t timers_put(timers_t *timers, uint64_t due_ms, knot_name_t name);

/** The earliest time; 0: there is none. */
uint64_t timers_next(const timers_t *timers);

/** Take the earliest out; there must be one. wire: where the name's bytes go. */
knot_name_t timers_take(timers_t *timers, uint8_t wire[static KNOT_NAME_MAX]);
