/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How many requests the next batch of a zone should wait for, and for how long: as many as the last batch answered and
 * found waiting behind it, and at most half of the time that the last batch took. When they don't come in that time,
 * the zone's clients don't wait for answers, and the next batches begin at once.
 *
 * Pure: counts and times in, counts and times out. A small table by a hash of the zone's name; zones that share a place
 * replace each other, which costs a wait too short or, within the same bounds, too long. Memory: fixed, 1.5 KB.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	GATHER_ZONES = 64,
	GATHER_PART = 2,          /* of the time of a batch: at most so much is waited */
	GATHER_MIN_US = 300,      /* less gains nothing: in less time clients are not back */
	GATHER_MAX_US = 4000,     /* whatever a batch took */
	GATHER_PAUSE = 32,        /* batches without waiting, after one that waited in vain */
	GATHER_CAME_PERCENT = 75, /* of those that were expected: not in vain */
};

/** Zero it to begin. */
typedef struct {
	struct {
		uint64_t zone; /* hash of its name */
		uint32_t expected, took_us, paused;
	} rows[GATHER_ZONES];
} gather_t;

/** What to wait for. */
typedef struct {
	size_t count;
	uint32_t us; /* 0: don't */
} gather_wish_t;

/** Before a batch of a zone for which `waiting` requests wait. Counts a batch without waiting, if there is to be none.
 */
gather_wish_t gather_before(gather_t *gather, uint64_t zone, size_t waiting);

/** A wait for `count` requests has ended with `waiting`, having begun with fewer. */
void gather_after(gather_t *gather, uint64_t zone, size_t count, size_t waiting);

/** A batch of `answered` requests took `took_ns`; `waiting` came meanwhile. */
void gather_note(gather_t *gather, uint64_t zone, size_t answered, size_t waiting, uint64_t took_ns);
