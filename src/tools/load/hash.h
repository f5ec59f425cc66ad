/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Fast hashes of bytes and numbers, for tables and digests of what we made or read ourselves. Not for keys that an
 * attacker chooses: what collides costs time, and a digest that collides would hide a wrong answer with probability
 * 2^-64, unless somebody computes collisions, which a server under test doesn't.
 */
#pragma once

#include "libknot/base/bytes.h"

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/** A number that looks random (splitmix64): for seeds and counters. */
static inline uint64_t hash_number(uint64_t number)
{
	number += 0x9E3779B97F4A7C15u;
	number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
	number = (number ^ number >> 27) * 0x94D049BB133111EBu;
	return number ^ number >> 31;
}

/** Of bytes, any length. */
static inline uint64_t hash_bytes(uint64_t seed, const uint8_t *bytes, size_t len)
{
	const uint64_t k0 = 0xA0761D6478BD642Fu, k1 = 0xE7037ED1A0B428DBu;
	uint64_t hash = seed ^ k0 ^ len;
	for (; len >= 16; len -= 16, bytes += 16) {
		hash = hash_mix(load_le64(bytes) ^ k1, load_le64(bytes + 8) ^ hash);
	}
	uint64_t a = 0, b = 0;
	if (len >= 8) {
		a = load_le64(bytes);
		b = load_le64(bytes + len - 8);
	} else if (len >= 4) {
		a = load_be32(bytes);
		b = load_be32(bytes + len - 4);
	} else if (len > 0) {
		a = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[len / 2] << 8 | bytes[len - 1];
	}
	return hash_mix(k1 ^ a, hash ^ b ^ k0);
}
