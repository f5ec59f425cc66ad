/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Append-only memory of a zone, addressed by 32-bit references, shared by the versions of the zone.
 *
 * A list of chunks; a reference is chunk number and offset in units of 8 bytes (reference 0 is none). Small zones
 * start with a chunk of some hundred bytes, chunks double up to 2 MiB, an allocation that is larger gets a chunk
 * of its own. Bytes below a published version's mark never change; what a writer allocated after its mark it may change in place.
 * One writer at a time; readers see a zone_arena_view_t, a chunk table that stays as it is. Chunks are counted by the
 * versions that use them and unmapped with the last one (after a grace period: the caller's duty).
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "src/zone/node.h"

enum {
	ZONE_CHUNK_OFFSET_BITS = 18,                         /* in units of 8 bytes */
	ZONE_CHUNK_MAX = 8 << ZONE_CHUNK_OFFSET_BITS,        /* 2 MiB */
	ZONE_CHUNK_COUNT_MAX = 1 << (32 - ZONE_CHUNK_OFFSET_BITS),  /* 32 GiB in all */
};

typedef struct {
	uint8_t *const *chunks;      /* base addresses */
	uint32_t chunk_count;
} zone_arena_view_t;

/** Address of a reference (not 0). */
static inline void *zone_at(const zone_arena_view_t *view, zone_ref_t ref)
{
	uint8_t *chunk = view->chunks[ref >> ZONE_CHUNK_OFFSET_BITS];
	return chunk + 8 * (size_t)(ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
}

/* The writer's side (zone_arena_t: create, begin, alloc, is-mine, commit, discard, release) is declared by arena.c's owner below. */
