/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * SipHash (Aumasson, Bernstein 2012) of whole 64-bit words in host order: 2-4 for what peers must not guess, 1-3 for
 * tables that peers fill, whose values they never see.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint64_t k0, k1;
} kxdp_siphash_key_t;

static inline uint64_t kxdp_rotl64(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void kxdp_sipround(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = kxdp_rotl64(v[1], 13) ^ v[0];
	v[0] = kxdp_rotl64(v[0], 32);
	v[2] += v[3];
	v[3] = kxdp_rotl64(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = kxdp_rotl64(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = kxdp_rotl64(v[1], 17) ^ v[2];
	v[2] = kxdp_rotl64(v[2], 32);
}

static inline uint64_t kxdp_siphash_rounds(const kxdp_siphash_key_t *key, const uint64_t *words, size_t count,
					   unsigned word_rounds, unsigned end_rounds)
{
	uint64_t v[4] = { key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du, key->k0 ^ 0x6c7967656e657261u,
			  key->k1 ^ 0x7465646279746573u };
	for (size_t i = 0; i <= count; i++) {
		uint64_t word = i < count ? words[i] : (uint64_t)count * 8 << 56;
		v[3] ^= word;
		for (unsigned round = 0; round < word_rounds; round++) {
			kxdp_sipround(v);
		}
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (unsigned round = 0; round < end_rounds; round++) {
		kxdp_sipround(v);
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint64_t kxdp_siphash24(const kxdp_siphash_key_t *key, const uint64_t *words, size_t count)
{
	return kxdp_siphash_rounds(key, words, count, 2, 4);
}

static inline uint64_t kxdp_siphash13(const kxdp_siphash_key_t *key, const uint64_t *words, size_t count)
{
	return kxdp_siphash_rounds(key, words, count, 1, 3);
}
