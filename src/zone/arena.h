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

/** Arena reference in units of 8 bytes; 0 is none. */
typedef uint32_t zone_ref_t;

enum {
	ZONE_CHUNK_OFFSET_BITS = 18,                         /* in units of 8 bytes */
	ZONE_CHUNK_MAX = 8 << ZONE_CHUNK_OFFSET_BITS,        /* 2 MiB */
	ZONE_CHUNK_COUNT_MAX = 1 << (32 - ZONE_CHUNK_OFFSET_BITS),  /* 32 GiB in all */
	ZONE_CHUNK_HEADER = 16,                              /* bytes at a chunk's start that are the arena's own */
	ZONE_FREE_UNITS_MAX = 72,                            /* largest block kept for reuse: 48 twigs of 12 bytes */
};

typedef struct {
	uint8_t **chunks;            /* base addresses; owned by the version that the view belongs to */
	uint32_t chunk_count;
} zone_arena_view_t;

/** Address of a reference (not 0). */
static inline void *zone_at(const zone_arena_view_t *view, zone_ref_t ref)
{
	uint8_t *chunk = view->chunks[ref >> ZONE_CHUNK_OFFSET_BITS];
	return chunk + 8 * (size_t)(ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
}

/** The writer's side: one transaction. A plain value of the writer; zone_arena_begin() makes it. */
typedef struct {
	zone_arena_view_t view;      /* what is there now, own allocations included; `chunks` moves when it grows */
	uint32_t table_max;          /* entries that view.chunks has room for */
	uint32_t mark_count;         /* chunks that were there at begin */
	uint32_t mark_used;          /* bytes that were used in the last of them */
	uint32_t open_used;          /* bytes used of the last chunk */
	uint32_t open_size;
	uint64_t total;              /* bytes of all chunks */
	zone_ref_t free[ZONE_FREE_UNITS_MAX + 1];   /* by units of 8 bytes: blocks that this transaction allocated and gave back */
} zone_arena_t;

/**
 * Begin a transaction on top of version `from` (NULL or empty view: an empty arena). `from` must stay until the end.
 * KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_arena_begin(zone_arena_t *arena, const zone_arena_view_t *from);

/**
 * Allocate `len` > 0 bytes, aligned to 8, not zeroed. Returns their address, which holds until commit, and their reference.
 * NULL: out of memory or over ZONE_CHUNK_COUNT_MAX chunks; discard the transaction.
 */
void *zone_arena_alloc(zone_arena_t *arena, size_t len, zone_ref_t *ret_ref);

/** True if this transaction allocated it, so that no reader can see it. */
static inline bool zone_arena_is_mine(const zone_arena_t *arena, zone_ref_t ref)
{
	uint32_t chunk = ref >> ZONE_CHUNK_OFFSET_BITS;
	uint32_t off = 8 * (ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
	return chunk >= arena->mark_count || (chunk + 1 == arena->mark_count && off >= arena->mark_used);
}

/** Give back `len` bytes at `ref`: reused by this transaction if it allocated them, else dead. */
void zone_arena_dispose(zone_arena_t *arena, zone_ref_t ref, size_t len);

/**
 * End the transaction: *ret_view is the new version's, to be released with zone_arena_release(). Cannot fail.
 * trim: the last chunk gives up what it hasn't used (a zone that was built anew); addresses change, references don't.
 */
void zone_arena_commit(zone_arena_t *arena, bool trim, zone_arena_view_t *ret_view);

/** End the transaction without a trace. */
void zone_arena_discard(zone_arena_t *arena);

/** A version's view is gone: chunks that no other version uses are freed. An empty view is allowed. */
void zone_arena_release(zone_arena_view_t *view);

/** Bytes of memory that a view's chunks take. */
uint64_t zone_arena_size(const zone_arena_view_t *view);
