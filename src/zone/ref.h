/* SPDX-License-Identifier: BSD-2-Clause */
/** References into the memory of a zone, and the reader's view that turns them into addresses. arena.h owns that
 * memory. */
#pragma once

#include "libknot/base/assert.h"

#include <stddef.h>
#include <stdint.h>

/** Chunk number and offset in units of 8 bytes; 0 is none. */
typedef uint32_t zone_ref_t;

enum {
	ZONE_CHUNK_OFFSET_BITS = 18,                               /* in units of 8 bytes */
	ZONE_CHUNK_MAX = 8 << ZONE_CHUNK_OFFSET_BITS,              /* 2 MiB */
	ZONE_CHUNK_COUNT_MAX = 1 << (32 - ZONE_CHUNK_OFFSET_BITS), /* 32 GiB in all */
};

typedef struct {
	uint8_t *const *chunks; /* base addresses */
	uint32_t chunk_count;
} zone_arena_view_t;

/** Address of a reference (not 0). */
static inline void *zone_at(const zone_arena_view_t *view, zone_ref_t ref)
{
	KNOT_ASSERT_SLOW(ref != 0 && ref >> ZONE_CHUNK_OFFSET_BITS < view->chunk_count);
	uint8_t *chunk = view->chunks[ref >> ZONE_CHUNK_OFFSET_BITS];
	return chunk + 8 * (size_t)(ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
}
