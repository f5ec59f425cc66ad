/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Append-only memory of a zone, addressed by 32-bit references, shared by the versions of the zone.
 *
 * An arena is a table of chunks. A reference is a chunk number and an offset in units of 8 bytes; 0 is none. Chunks
 * grow with the arena up to 2 MiB, which are huge pages where the system has some; an allocation that is larger gets a
 * chunk of its own. A small arena that is finished lies in one allocation with its user's data (zone_arena_pack()).
 * Bytes below a published version's mark never change; what a writer allocated after its mark it may change in place.
 * One writer at a time; readers see a zone_arena_view_t, a chunk table that doesn't change. Versions count the chunks
 * that they use, and the last one unmaps them. Waiting for a grace period before that is the caller's duty.
 *
 * Bytes in use are counted for each chunk. A version doesn't take over chunks in which nothing is in use; their
 * addresses in its table are NULL. compact.h empties chunks.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "src/zone/ref.h"

/**
 * The writer's side and owner of chunks. One per version of a zone: a fork shares all chunks of its parent and appends
 * where the parent ended; only one fork of a parent may append at a time.
 */
typedef struct zone_arena zone_arena_t;

/** An empty arena; the first chunk holds at least `first_len` bytes. NULL: out of memory. */
zone_arena_t *zone_arena_new(size_t first_len);

/** A new arena that shares the chunks of `parent` and may append. NULL: out of memory. */
zone_arena_t *zone_arena_fork(zone_arena_t *parent);

/**
 * An arena of `chunk_count` chunks with chunk_lens[i] bytes in use (multiples of 8; 0: there is none of this number).
 * The caller fills them through zone_arena_view(); later allocations go behind them. NULL: out of memory.
 */
zone_arena_t *zone_arena_restore(uint64_t lineage, const uint64_t *chunk_lens, uint32_t chunk_count);

/**
 * Random number from zone_arena_new(), which forks share. Arenas of one lineage differ only in how far their chunks
 * have grown, and in chunks that later ones don't have any more, whose numbers stay unused.
 */
uint64_t zone_arena_lineage(const zone_arena_t *arena);

/** The bytes that were allocated of a chunk; empty: the arena has none of this number. */
knot_bytes_t zone_arena_chunk(const zone_arena_t *arena, uint32_t chunk);

/** Drop an arena; chunks that no other arena shares are unmapped. Readers of it must be gone. NULL is allowed. */
void zone_arena_free(zone_arena_t *take_arena);

/** `len` bytes, zeroed, 8-byte aligned. 0: out of memory or references. */
zone_ref_t zone_arena_alloc(zone_arena_t *arena, size_t len);

/** As above for what stays where it is for as long as it is used: it shares chunks only with its like, unless the arena
 * is small. */
zone_ref_t zone_arena_alloc_kept(zone_arena_t *arena, size_t len);

/** As zone_arena_alloc() for what the next slices of a pass are likely to replace: their chunks are soon empty. */
zone_ref_t zone_arena_alloc_brief(zone_arena_t *arena, size_t len);

/** True if the arena comes from zone_arena_fork(). */
bool zone_arena_is_fork(const zone_arena_t *arena);

/** True if `ref` was allocated since zone_arena_new() or zone_arena_fork(): it may still be changed in place. */
bool zone_arena_is_mine(const zone_arena_t *arena, zone_ref_t ref);

/** The reader's view; stays valid as long as the arena is neither freed nor appended to. */
const zone_arena_view_t *zone_arena_view(const zone_arena_t *arena);

/**
 * End a transaction: nothing more may be allocated, what only a writer needs is freed, and chunks in which nothing is
 * in use are given back. pack: the chunks being filled give back their unused bytes (for a zone built from scratch);
 * addresses change then, references don't. Only before the arena is published or forked.
 */
void zone_arena_seal(zone_arena_t *arena, bool pack);

/**
 * Make a sealed arena one allocation together with `data_len` bytes of its user, whose address is returned. The user's
 * data begin with a zone_arena_view_t, which is filled in and must stay: it is the arena's own. *ret_arena replaces
 * the arena: it can be read, forked and freed. Freeing it frees the user's data, too, once no fork uses it. References
 * stay, addresses change. NULL: the arena is too large or shared, or out of memory; nothing has changed.
 */
void *zone_arena_pack(zone_arena_t *take_arena, size_t data_len, zone_arena_t **ret_arena);

/** True if the arena and its user's data are one allocation. */
bool zone_arena_is_packed(const zone_arena_t *arena);

/** Bytes mapped. */
size_t zone_arena_size(const zone_arena_t *arena);

/**
 * The version being made doesn't use an allocation of `len` bytes any more. What this transaction allocated is reused
 * by it, unless it is large; the rest stays for the versions before.
 */
void zone_arena_drop(zone_arena_t *arena, zone_ref_t ref, size_t len);

/** As zone_arena_drop() for the end of an allocation, which is from now on `less` instead of `len` bytes long. */
void zone_arena_shrink(zone_arena_t *arena, zone_ref_t ref, size_t len, size_t less);

/** Bytes allocated less bytes dropped since zone_arena_new() or zone_arena_fork(). Not of a packed arena. */
int64_t zone_arena_live_change(const zone_arena_t *arena);

/** What a chunk is used for. */
typedef struct {
	size_t len;    /* bytes mapped; 0: the arena has no chunk of this number */
	size_t live;   /* bytes in use … */
	bool is_about; /* … at most: it comes from an image or was packed, and what was not in use then is counted, too
			*/
	bool is_ordered; /* it was filled in the order of names, so that a pass empties it at once; not by commits */
} zone_chunk_use_t;
zone_chunk_use_t zone_arena_chunk_use(const zone_arena_t *arena, uint32_t chunk);

/**
 * If many more numbers of chunks are gone than are in use, let the fork use them again, in a lineage of its own.
 * Otherwise numbers would run out, and each fork cost more than the one before. Before the first allocation.
 */
void zone_arena_renumber(zone_arena_t *arena);

/** The version being made doesn't use anything in the chunk: it doesn't take it over. */
void zone_arena_give_back(zone_arena_t *arena, uint32_t chunk);

/**
 * The fork is a slice of a pass of compaction: what it allocates goes to chunks of the pass. is_first: the pass begins,
 * and what is there now doesn't grow any more, and numbers are as zone_arena_renumber() makes them. Before the first
 * allocation.
 */
void zone_arena_move(zone_arena_t *arena, bool is_first);
