/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the parts of a tree, for tree.c and for what compares and moves trees. */
#pragma once

#include "src/zone/tree.h"

enum {
	ZONE_TWIG_POSITION_SHIFT = 1,
	ZONE_TWIG_OFFSET_SHIFT = 49,
};
#define ZONE_TWIG_POSITIONS (((1ull << KNOT_KEY_POSITIONS) - 1) << ZONE_TWIG_POSITION_SHIFT)

static inline uint64_t zone_twig_word(const zone_twig_t *twig)
{
	return (uint64_t)twig->hi << 32 | twig->lo;
}

static inline bool zone_twig_is_branch(const zone_twig_t *twig)
{
	return twig->lo & 1;
}

static inline unsigned zone_twig_offset(uint64_t word)
{
	return (unsigned)(word >> ZONE_TWIG_OFFSET_SHIFT);
}

static inline uint64_t zone_twig_bit(unsigned position)
{
	return 1ull << (position + ZONE_TWIG_POSITION_SHIFT);
}

static inline unsigned zone_key_position(const uint8_t *key, size_t key_len, unsigned offset)
{
	return offset < key_len ? key[offset] : KNOT_KEY_END;
}

static inline zone_twig_t zone_twig_leaf(zone_ref_t leaf)
{
	return (zone_twig_t){ 0, 0, leaf };
}

static inline zone_twig_t zone_twig_branch(uint64_t positions, unsigned offset, zone_ref_t twigs)
{
	uint64_t word = 1 | positions | (uint64_t)offset << ZONE_TWIG_OFFSET_SHIFT;
	return (zone_twig_t){ (uint32_t)word, (uint32_t)(word >> 32), twigs };
}

/*
 * First offset at which two keys differ; their common length + 1 at most (the end counts as KNOT_KEY_END); -1: equal.
 */
static inline int zone_key_difference(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	size_t min = a_len < b_len ? a_len : b_len;
	for (size_t i = 0; i < min; i++) {
		if (a[i] != b[i]) {
			return (int)i;
		}
	}
	return a_len == b_len ? -1 : (int)min;
}

/** Twigs of a branch, and how many stand before the one at `bit`. */
static inline unsigned zone_twig_count(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word & ZONE_TWIG_POSITIONS);
}

static inline unsigned zone_twig_index(uint64_t word, uint64_t bit)
{
	return (unsigned)__builtin_popcountll(word & ZONE_TWIG_POSITIONS & (bit - 1));
}
