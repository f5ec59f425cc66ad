/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which query of the list a message is: in turn, or by Zipf's law. Pure: number and seed in, index out, so a run can be
 * repeated. Constant time.
 */
#pragma once

#include "src/tools/load/hash.h"

typedef struct {
	uint64_t count; /* of the list, at least 1 */
	uint64_t seed;
	/*
	 * Walker's alias table, owned; NULL: in turn. A number of 64 bits chooses a place by its upper bits, and by the
	 * lower 32 whether that place's own query or the other one that shares it.
	 */
	struct pick_place {
		uint32_t own; /* share of the place's own, of 2^32 - 1 */
		uint32_t other;
	} * places;
} pick_t;

/** In turn. */
void pick_in_turn(pick_t *pick, uint64_t count);

/**
 * The query at rank k (from 1, in the list's order) with probability proportional to k^-exponent. False: no memory.
 * exponent: 0 and up; count at most 2^32.
 */
bool pick_zipf(pick_t *pick, uint64_t count, double exponent, uint64_t seed);
void pick_done(pick_t *pick);

/** Of the message with this number, of all threads' together. */
static inline uint64_t pick_query(const pick_t *pick, uint64_t number)
{
	if (pick->places == NULL) {
		return number % pick->count;
	}
	uint64_t dice = hash_number(pick->seed ^ hash_number(number));
	uint64_t place = (uint64_t)((__uint128_t)(dice & ~(uint64_t)UINT32_MAX) * pick->count >> 64);
	return (uint32_t)hash_number(dice) <= pick->places[place].own ? place : pick->places[place].other;
}
