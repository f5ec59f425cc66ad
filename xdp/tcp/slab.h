/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Items of one size by number, in chunks that are mapped one at a time. Items stay where they are. Single-threaded, but
 * for kxdp_slab_memory(). Everything is O(1), apart from kxdp_slab_trim().
 *
 * Layout: number = chunk << shift | place in the chunk; chunk 0 is never mapped, so no item has number 0. Each chunk
 * has a list of its own free items, so that a chunk whose last item comes back is known to be empty. Chunks with
 * something free are in `partial`, empty ones in `empty`, full ones in no list. Items are taken from partial chunks
 * first: empty chunks have a chance to stay empty.
 *
 * The item that came back last waits in `spare`, and is the next one given out: a connection that gets a query with
 * the acknowledgment of its last reply gives records back and takes them again within one segment. For its chunk it
 * counts as used.
 *
 * A chunk is only unmapped by kxdp_slab_trim(). A pointer to an item that was given back stays readable until then,
 * which the stack relies on within one segment.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KXDP_SLAB_NO_CHUNK = UINT32_MAX,
};

/** What is known of a chunk. */
typedef struct {
	uint32_t used;       /* items given out */
	uint32_t fresh;      /* places from here on were never given out since it was mapped */
	uint32_t free_head;  /* number of a free item, 0: none; its first 4 bytes are the next one */
	uint32_t prev, next; /* chunks of `partial` or `empty`, or `next` of `vacant`; KXDP_SLAB_NO_CHUNK: none */
} kxdp_slab_chunk_t;

typedef struct {
	uint8_t **chunks;         /* owned; each a mapping, NULL where none is */
	kxdp_slab_chunk_t *infos; /* owned; one for each of `chunks` */
	uint32_t chunk_end;       /* places of `chunks` in use, vacant ones included */
	uint32_t chunk_room;      /* … and allocated */
	uint32_t spare;           /* an item, 0: none */
	uint32_t partial, empty;  /* first chunks of the lists */
	uint32_t vacant;          /* first place whose chunk was unmapped */
	uint32_t empty_count;     /* chunks in `empty` */
	uint32_t mapped_count;    /* chunks that are mapped */
	uint32_t shift;           /* items of a chunk: 1 << shift */
	uint32_t item_size;       /* bytes, at least 4 */
	uint64_t memory;          /* bytes mapped, and the tables of chunks */
} kxdp_slab_t;

/** Nothing is allocated yet. 1 << shift items are mapped at once. */
void kxdp_slab_init(kxdp_slab_t *slab, size_t item_size, uint32_t shift);
void kxdp_slab_done(kxdp_slab_t *slab);

/** As kxdp_slab_take() and kxdp_slab_give_back(), without `spare`. */
uint32_t kxdp_slab_take_slowly(kxdp_slab_t *slab);
void kxdp_slab_give_back_slowly(kxdp_slab_t *slab, uint32_t number);

/** 0: no memory. The item's bytes are undefined. */
static inline uint32_t kxdp_slab_take(kxdp_slab_t *slab)
{
	uint32_t number = slab->spare;
	slab->spare = 0;
	return number != 0 ? number : kxdp_slab_take_slowly(slab);
}

/** The item's memory may go back to the system with the next kxdp_slab_trim(), not earlier. */
static inline void kxdp_slab_give_back(kxdp_slab_t *slab, uint32_t number)
{
	assert(number != 0 && number != slab->spare);
	uint32_t before = slab->spare;
	slab->spare = number;
	if (before != 0) {
		kxdp_slab_give_back_slowly(slab, before);
	}
}

/** Unmap empty chunks until `keep` of them are left, at most `most`. Numbers of their items may be given out again. */
void kxdp_slab_trim(kxdp_slab_t *slab, uint32_t keep, uint32_t most);

static inline void *kxdp_slab_at(const kxdp_slab_t *slab, uint32_t number)
{
	uint32_t in_chunk = number & ((1u << slab->shift) - 1);
	return slab->chunks[number >> slab->shift] + (size_t)in_chunk * slab->item_size;
}

/** May kxdp_slab_at() be called? True for each item that is given out, and for some others. */
static inline bool kxdp_slab_has(const kxdp_slab_t *slab, uint32_t number)
{
	uint32_t chunk = number >> slab->shift;
	return chunk != 0 && chunk < slab->chunk_end && slab->chunks[chunk] != NULL;
}

/** The next item comes without mapping a chunk. */
static inline bool kxdp_slab_has_free(const kxdp_slab_t *slab)
{
	return slab->spare != 0 || slab->partial != KXDP_SLAB_NO_CHUNK || slab->empty != KXDP_SLAB_NO_CHUNK;
}

/** Bytes of one chunk. */
static inline uint64_t kxdp_slab_chunk_len(const kxdp_slab_t *slab)
{
	return (uint64_t)slab->item_size << slab->shift;
}

/** Bytes of all chunks. */
static inline uint64_t kxdp_slab_mapped(const kxdp_slab_t *slab)
{
	return slab->mapped_count * kxdp_slab_chunk_len(slab);
}

/** Bytes mapped now, tables of chunks included; from any thread. */
static inline uint64_t kxdp_slab_memory(const kxdp_slab_t *slab)
{
	return __atomic_load_n(&slab->memory, __ATOMIC_RELAXED);
}

/** Bytes of zeros, whole pages. NULL: no memory. */
void *kxdp_map(size_t len);
void kxdp_unmap(void *bytes, size_t len);
