/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A secondary zone, its primaries and the network between them, simulated for a long time: the decisions are those of
 * src/transfer/refresh.h, everything else is made of random numbers. Zones don't influence each other, so one is
 * simulated after the other. What must hold is checked at each step.
 */
#pragma once

#include "src/transfer/refresh.h"
#include "tests/sim/tcp_random.h"

enum { WORLD_REMOTES_MAX = 4, WORLD_FAULT_MAX = 160 };

/** How bad the world is. Chances in parts of a million. */
typedef struct {
	const char *name;
	uint32_t lost;   /* an answer doesn't come, or breaks off */
	uint32_t broken; /* a transfer can't be used */
	uint32_t slow;   /* a transfer takes up to an hour */
	uint32_t notify_lost;
	uint64_t up_s, down_s; /* of a primary, on the average */
	uint64_t restart_s;    /* between restarts of the secondary, on the average; 0: none */
	uint64_t change_s;     /* between changes of the zone, on the average */
} world_weather_t;

/** Sums over zones. */
typedef struct {
	uint64_t runs, clean_runs, failed_runs, questions, updates, expirations, restarts, notifies, waits, fallbacks;
	uint64_t behind_max_s; /* the longest time that an alive newer primary wasn't followed */
} world_counts_t;

/** Simulate a zone for so many seconds. False: *ret_fault says what didn't hold, and when. */
bool world_run(uint64_t seed, const world_weather_t *weather, uint64_t seconds, world_counts_t *counts,
		char ret_fault[static WORLD_FAULT_MAX]);
