/* SPDX-License-Identifier: BSD-2-Clause */
/** SipHash-2-4 (Aumasson, Bernstein 2012) of whole 64-bit words in host order. Keyed; for tables that peers fill. */
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

static inline uint64_t kxdp_siphash(const kxdp_siphash_key_t *key, const uint64_t *words, size_t count)
{
	uint64_t v[4] = { key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du, key->k0 ^ 0x6c7967656e657261u,
			  key->k1 ^ 0x7465646279746573u };
	for (size_t i = 0; i <= count; i++) {
		uint64_t word = i < count ? words[i] : (uint64_t)count * 8 << 56;
		v[3] ^= word;
		kxdp_sipround(v);
		kxdp_sipround(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++) {
		kxdp_sipround(v);
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
