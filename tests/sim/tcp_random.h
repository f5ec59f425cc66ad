/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Randomness of the simulations: everything follows from a seed, so that a failure comes again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** SplitMix64's mixer: a bijection that spreads every bit. */
static inline uint64_t sim_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

typedef struct {
	uint64_t state;
} sim_random_t;

static inline uint64_t sim_random(sim_random_t *random)
{
	return sim_mix(random->state += 0x9e3779b97f4a7c15u);
}

/** 0 to limit - 1; 0 when limit is 0. */
static inline uint64_t sim_below(sim_random_t *random, uint64_t limit)
{
	return limit == 0 ? 0 : sim_random(random) % limit;
}

/** low to high, both included. */
static inline uint64_t sim_between(sim_random_t *random, uint64_t low, uint64_t high)
{
	return low + sim_below(random, high - low + 1);
}

/** True in `parts` of a million cases. */
static inline bool sim_chance(sim_random_t *random, uint32_t parts)
{
	return parts > 0 && sim_random(random) % 1000000 < parts;
}

/** Eight bytes of the stream `key` from stream offset 8 * index on. */
static inline uint64_t sim_stream_word(uint64_t key, uint64_t index)
{
	return sim_mix(key + index * 0x9e3779b97f4a7c15u);
}

/** Bytes [off, off + len) of the stream `key`. */
static inline void sim_stream_fill(uint64_t key, uint64_t off, uint8_t *bytes, size_t len)
{
	while (len > 0) {
		uint64_t word = sim_stream_word(key, off / 8);
		size_t skip = off % 8, count = 8 - skip < len ? 8 - skip : len;
		memcpy(bytes, (const uint8_t *)&word + skip, count);
		off += count;
		bytes += count;
		len -= count;
	}
}

/** How many of bytes[0..len) are those of the stream `key` from `off` on, before the first that isn't. */
static inline size_t sim_stream_same(uint64_t key, uint64_t off, const uint8_t *bytes, size_t len)
{
	size_t done = 0;
	while (done < len) {
		uint64_t word = sim_stream_word(key, (off + done) / 8);
		size_t skip = (off + done) % 8, count = 8 - skip < len - done ? 8 - skip : len - done;
		if (memcmp(bytes + done, (const uint8_t *)&word + skip, count) != 0) {
			while (bytes[done] == ((const uint8_t *)&word)[skip]) {
				done++;
				skip++;
			}
			return done;
		}
		done += count;
	}
	return len;
}
