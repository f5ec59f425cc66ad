/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A chunk of an arena: a piece of memory that is counted. What lies in it is the arena's matter (arena.h).
 */
#pragma once

#include "libknot/base/bytes.h"

#include <stdatomic.h>

enum { ZONE_CHUNK_UNIT = 8 /* bytes that lengths are multiples of */ };

typedef enum {
	ZONE_CHUNK_HEAP,
	ZONE_CHUNK_MAPPED,
	ZONE_CHUNK_HUGE,   /* reserved huge pages */
	ZONE_CHUNK_PACKED, /* it begins an allocation from a slab that ends with its bytes (zone_arena_pack()) */
} zone_chunk_kind_t;

typedef struct {
	atomic_uint users;   /* of who has it */
	uint32_t kind : 2;   /* zone_chunk_kind_t */
	uint32_t units : 30; /* its length */
	uint8_t *base;
} zone_chunk_t;

/** Bytes. */
static inline size_t zone_chunk_len(const zone_chunk_t *chunk)
{
	return (size_t)chunk->units * ZONE_CHUNK_UNIT;
}

/** `len` is a multiple of ZONE_CHUNK_UNIT, and no more than zone_chunk_map() takes. */
static inline void zone_chunk_set_len(zone_chunk_t *chunk, size_t len)
{
	chunk->units = (len / ZONE_CHUNK_UNIT) & ((1u << 30) - 1);
}

/**
 * Zeroed memory of at least `len` bytes: huge pages from ZONE_CHUNK_MAX on, if there are any. Sets base, kind and
 * length. False: out of memory, or too long for a chunk.
 */
bool zone_chunk_map(zone_chunk_t *chunk, size_t len);

/** One user less; the last one's call gives back the memory, and the chunk, which malloc() made. Any thread. */
void zone_chunk_drop(zone_chunk_t *chunk);
