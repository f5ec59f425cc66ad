/* SPDX-License-Identifier: BSD-2-Clause */
/** SipHash-2-4 of bytes (Aumasson, Bernstein 2012): where two servers have to find the same number. No state. */
#pragma once

#include "libknot/base/bytes.h"

typedef struct {
	uint64_t v0, v1, v2, v3;
} knot_siphash_t;

static inline uint64_t knot_rotl64(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void knot_siphash_rounds(knot_siphash_t *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		s->v0 += s->v1;
		s->v1 = knot_rotl64(s->v1, 13) ^ s->v0;
		s->v0 = knot_rotl64(s->v0, 32);
		s->v2 += s->v3;
		s->v3 = knot_rotl64(s->v3, 16) ^ s->v2;
		s->v0 += s->v3;
		s->v3 = knot_rotl64(s->v3, 21) ^ s->v0;
		s->v2 += s->v1;
		s->v1 = knot_rotl64(s->v1, 17) ^ s->v2;
		s->v2 = knot_rotl64(s->v2, 32);
	}
}

/** The hash. k0, k1: the key. */
static inline uint64_t knot_siphash24(uint64_t k0, uint64_t k1, knot_bytes_t bytes)
{
	knot_siphash_t s = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
		k1 ^ 0x7465646279746573u };
	size_t pos = 0;
	bool is_last = false;
	while (!is_last) {
		is_last = bytes.len - pos < 8;
		uint8_t word[8] = { 0 };
		memcpy(word, bytes.data + pos, is_last ? bytes.len - pos : 8);
		uint64_t m = load_le64(word) | (is_last ? (uint64_t)bytes.len << 56 : 0);
		s.v3 ^= m;
		knot_siphash_rounds(&s, 2);
		s.v0 ^= m;
		pos += 8;
	}
	s.v2 ^= 0xff;
	knot_siphash_rounds(&s, 4);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
