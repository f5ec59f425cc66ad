/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The Internet checksum (RFC 1071), 64 bits at a time.
 *
 * A sum of 16-bit words in ones' complement is the same, modulo 65535, as a sum of 64-bit words with the carry added
 * back, in any byte order, as long as each word starts at an even offset. So sums are taken over words as they are in
 * memory and a folded sum is stored as it is in memory, no byte is ever swapped. All inline: one instruction for 8
 * bytes on x86-64.
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
	/*
	 * Adding a number to itself rotated by half leaves in its upper half the sum of both halves, carry added back.
	 */
	sum += sum << 32 | sum >> 32;
	uint32_t half = (uint32_t)(sum >> 32);
	half += half << 16 | half >> 16;
	return (uint16_t)(half >> 16);
}

/* Sums of 64 and 32 bytes. Compilers don't keep the carry in the flags from one C addition to the next: one instruction
 * for 8 bytes instead of two. */
#if defined(__x86_64__)
typedef uint64_t __attribute__((may_alias, aligned(1))) checksum_word_t;

static inline uint64_t checksum_64(uint64_t sum, const uint8_t *p)
{
	const checksum_word_t *w = (const checksum_word_t *)p;
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq %3, %0\n\tadcq %4, %0\n\tadcq %5, %0\n\tadcq %6, %0\n\t"
		"adcq %7, %0\n\tadcq %8, %0\n\tadcq $0, %0"
			: "+r"(sum)
			: "m"(w[0]), "m"(w[1]), "m"(w[2]), "m"(w[3]), "m"(w[4]), "m"(w[5]), "m"(w[6]), "m"(w[7])
			: "cc");
	return sum;
}

static inline uint64_t checksum_32(uint64_t sum, const uint8_t *p)
{
	const checksum_word_t *w = (const checksum_word_t *)p;
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq %3, %0\n\tadcq %4, %0\n\tadcq $0, %0"
			: "+r"(sum)
			: "m"(w[0]), "m"(w[1]), "m"(w[2]), "m"(w[3])
			: "cc");
	return sum;
}
#else
static inline uint64_t checksum_32(uint64_t sum, const uint8_t *p)
{
	sum = checksum_add(sum, load_raw64(p));
	sum = checksum_add(sum, load_raw64(p + 8));
	sum = checksum_add(sum, load_raw64(p + 16));
	return checksum_add(sum, load_raw64(p + 24));
}

static inline uint64_t checksum_64(uint64_t sum, const uint8_t *p)
{
	return checksum_32(checksum_32(sum, p), p + 32);
}
#endif

/**
 * Sum of p[0..len) added to `sum`; p at an even offset of what is summed. Unless len is a multiple of 8, the 8 bytes in
 * front of p + len must be readable, also where they lie before p.
 */
static inline uint64_t checksum_bytes(uint64_t sum, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	for (const uint8_t *blocks_end = p + (len & ~(size_t)63); p != blocks_end; p += 64) {
		sum = checksum_64(sum, p);
	}
	if (len & 32) {
		sum = checksum_32(sum, p);
		p += 32;
	}
	if (len & 16) {
		/* Two sums that don't wait for each other. */
		sum = checksum_add(sum, checksum_add(load_raw64(p), load_raw64(p + 8)));
		p += 16;
	}
	if (len & 8) {
		sum = checksum_add(sum, load_raw64(p));
	}
	if (len & 7) {
		/* The last 1–7 bytes, by a load that ends with them; shifting moves them to the offsets 0, 1 … of a
		 * word. */
		unsigned excess_bits = 64 - (unsigned)(len & 7) * 8;
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
