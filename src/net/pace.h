/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Naps of workers, over AF_XDP and over UDP sockets.
 *
 * When packets come in quick succession, a worker that sleeps until the next one wakes up for each or two of them, and
 * that costs as much as answering them. Then it sleeps for a fixed short time instead, as network cards moderate
 * interrupts, and has a batch. Clients that wait for answers before they ask on are slowed down by that: fewer packets
 * come than before, and naps are left off for a while. Pure: time and packets in, time to sleep out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Below 100 setting the timer costs more than is saved. */
	PACE_NAP_US = 200,
	/* So often woken up by packets: three times as often as with naps. */
	PACE_WAKES_PER_S = 15000,
	/* Packets for each of these wakes on average; with more of them in a batch naps are of no use. */
	PACE_BATCH_MAX = 6,
	/* With naps fewer packets than this part of what came without: clients are waiting. */
	PACE_KEPT_PERCENT = 65,
	/* How long is counted, and how long naps are left off: longer each time, unless they were of use meanwhile. */
	PACE_WINDOW_US = 80000,
	PACE_PAUSE_MIN_US = 100000,
	PACE_PAUSE_MAX_US = 1600000,
	PACE_QUIET_US = 2 * PACE_WINDOW_US, /* not a window of naps any more */
};

/** Zero it to begin. */
typedef struct {
	uint64_t window_us; /* its begin */
	uint64_t pause_us, pause_until_us;
	uint64_t packets_per_s; /* in the window before this one */
	uint32_t packets, wakes;
	bool naps;
} pace_t;

static inline void pace_end_window(pace_t *pace, uint64_t now_us)
{
	uint64_t passed_us = now_us - pace->window_us;
	uint64_t packets_per_s = pace->packets * 1000000ull / passed_us;
	uint64_t wakes_per_s = pace->wakes * 1000000ull / passed_us;
	pace->window_us = now_us;
	pace->packets = pace->wakes = 0;
	if (!pace->naps || passed_us > PACE_QUIET_US) {
		pace->naps = wakes_per_s >= PACE_WAKES_PER_S && packets_per_s <= wakes_per_s * PACE_BATCH_MAX &&
			     now_us >= pace->pause_until_us;
	} else if (packets_per_s * 100 >= pace->packets_per_s * PACE_KEPT_PERCENT) {
		pace->pause_us -= pace->pause_us / 16;
	} else {
		pace->naps = false;
		pace->pause_us = pace->pause_us * 2 > PACE_PAUSE_MIN_US ? pace->pause_us * 2 : PACE_PAUSE_MIN_US;
		pace->pause_us = pace->pause_us < PACE_PAUSE_MAX_US ? pace->pause_us : PACE_PAUSE_MAX_US;
		pace->pause_until_us = now_us + pace->pause_us;
	}
	pace->packets_per_s = packets_per_s;
}

/** After a turn that took in `count` packets and emptied the ring. Returns how long to nap, in microseconds; 0: sleep
 * until the next packet. */
static inline uint32_t pace_turn(pace_t *pace, uint64_t now_us, size_t count)
{
	if (now_us - pace->window_us >= PACE_WINDOW_US) {
		pace_end_window(pace, now_us);
	}
	pace->packets += (uint32_t)count;
	pace->wakes += count > 0;
	return count > 0 && pace->naps ? PACE_NAP_US : 0;
}
