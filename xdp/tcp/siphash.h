/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * SipHash (Aumasson, Bernstein 2012) of whole 64-bit words in host order: 2-4 for what peers must not guess, 1-3 for
 * tables that peers fill, whose values they never see.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint64_t k0, k1;
} kxdp_siphash_key_t;

static inline uint64_t kxdp_rotl64(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

typedef struct {
	uint64_t v0, v1, v2, v3;
} kxdp_siphash_t;

__attribute__((always_inline)) static inline void kxdp_sipround(kxdp_siphash_t *s)
{
	s->v0 += s->v1;
	s->v1 = kxdp_rotl64(s->v1, 13) ^ s->v0;
	s->v0 = kxdp_rotl64(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = kxdp_rotl64(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = kxdp_rotl64(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = kxdp_rotl64(s->v1, 17) ^ s->v2;
	s->v2 = kxdp_rotl64(s->v2, 32);
}

/*
 * count and is_24 are constants where it is inlined. last: the bytes behind the words, and the length of all modulo 256
 * in the upper eight bits.
 */
__attribute__((always_inline)) static inline uint64_t kxdp_siphash_words(
		const kxdp_siphash_key_t *key, const uint64_t *words, size_t count, uint64_t last, bool is_24)
{
	kxdp_siphash_t s = { key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du,
		key->k0 ^ 0x6c7967656e657261u, key->k1 ^ 0x7465646279746573u };
#pragma GCC unroll 8
	for (size_t i = 0; i <= count; i++) {
		uint64_t word = i < count ? words[i] : last;
		s.v3 ^= word;
		kxdp_sipround(&s);
		if (is_24) {
			kxdp_sipround(&s);
		}
		s.v0 ^= word;
	}
	s.v2 ^= 0xff;
	kxdp_sipround(&s);
	kxdp_sipround(&s);
	kxdp_sipround(&s);
	if (is_24) {
		kxdp_sipround(&s);
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

__attribute__((always_inline)) static inline uint64_t kxdp_siphash24(
		const kxdp_siphash_key_t *key, const uint64_t *words, size_t count)
{
	return kxdp_siphash_words(key, words, count, (uint64_t)count * 8 << 56, true);
}

__attribute__((always_inline)) static inline uint64_t kxdp_siphash13(
		const kxdp_siphash_key_t *key, const uint64_t *words, size_t count)
{
	return kxdp_siphash_words(key, words, count, (uint64_t)count * 8 << 56, false);
}
