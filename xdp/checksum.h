/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The Internet checksum (RFC 1071), 64 bits at a time.
 *
 * A sum of 16-bit words in ones' complement is the same, modulo 65535, as a sum of 64-bit words with the carry added back,
 * in any byte order, as long as each word starts at an even offset. So sums are taken over words as they are in memory and a folded
 * sum is stored as it is in memory, no byte is ever swapped. All inline: 0.16 instructions per byte (doc/adr/0011).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_raw16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load_raw32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_raw64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/** Sum of two sums, carry added back. */
static inline uint64_t checksum_add(uint64_t a, uint64_t b)
{
	a += b;
	return a + (a < b);
}

/** The sum in 16 bits, in memory order; 0 only if all words summed were 0. */
static inline uint16_t checksum_fold(uint64_t sum)
{
	uint32_t half = (uint32_t)sum, high = (uint32_t)(sum >> 32);
	half += high;
	half += half < high;
	uint16_t word = (uint16_t)half;
	uint32_t folded = (uint32_t)word + (half >> 16);
	return (uint16_t)(folded + (folded >> 16));
}

/** Sum of 32 bytes added to `sum`. */
static inline uint64_t checksum_block(uint64_t sum, const uint8_t *p)
{
#if defined(__x86_64__)
	/* Compilers don't keep the carry in the flags from one C addition to the next: 5 instructions instead of 12. */
	typedef uint64_t __attribute__((may_alias, aligned(1))) word_t;
	const word_t *w = (const word_t *)p;
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq %3, %0\n\tadcq %4, %0\n\tadcq $0, %0"
	        : "+r"(sum) : "m"(w[0]), "m"(w[1]), "m"(w[2]), "m"(w[3]) : "cc");
	return sum;
#else
	sum = checksum_add(sum, load_raw64(p));
	sum = checksum_add(sum, load_raw64(p + 8));
	sum = checksum_add(sum, load_raw64(p + 16));
	return checksum_add(sum, load_raw64(p + 24));
#endif
}

/** Sum of p[0..len) added to `sum`; len at least 8, p at an even offset of what is summed. */
static inline uint64_t checksum_bytes(uint64_t sum, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	for (; end - p >= 32; p += 32) {
		sum = checksum_block(sum, p);
	}
	for (; end - p >= 8; p += 8) {
		sum = checksum_add(sum, load_raw64(p));
	}
	if (p < end) {
		/* The last 1–7 bytes, by a load that ends with them; shifting moves them to the offsets 0, 1 … of a word. */
		unsigned excess_bits = (unsigned)(8 - (end - p)) * 8;
		uint64_t tail = load_raw64(end - 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		tail >>= excess_bits;
#else
		tail <<= excess_bits;
#endif
		sum = checksum_add(sum, tail);
	}
	return sum;
}
