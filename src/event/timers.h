/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Times at which zones need work: a heap of times with names. Internal to src/event.
 *
 * It doesn't point to entries, so a zone may be removed while it has a time, and a million zones without one take no
 * memory. Only the few zones that changed and are not written yet have one each. Not thread-safe: under the lock of
 * the jobs.
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

/** Take the earliest out; there must be one. wire: gets the name's bytes. */
knot_name_t timers_take(timers_t *timers, uint8_t wire[static KNOT_NAME_MAX]);
