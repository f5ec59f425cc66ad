/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Items of one size by number. Grows by mapped chunks; what was freed is used again first; chunks are kept until the
 * end. Number 0 is never given out. Items stay where they are. Single-threaded; everything is O(1).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint8_t **chunks; /* owned; each a mapping */
	uint32_t chunk_count, chunk_room;
	uint32_t shift;     /* items of a chunk: 1 << shift */
	uint32_t item_size; /* bytes, at least 4 */
	uint32_t used_end;  /* numbers from here on were never given out */
	uint32_t free_head; /* 0: none; its first 4 bytes are the next one */
	uint64_t memory;    /* bytes mapped, and the table of chunks */
} kxdp_slab_t;

/** Nothing is allocated yet. 1 << shift items are mapped at once. */
void kxdp_slab_init(kxdp_slab_t *slab, size_t item_size, uint32_t shift);
void kxdp_slab_done(kxdp_slab_t *slab);

/** 0: no memory. The item's bytes are undefined. */
uint32_t kxdp_slab_take(kxdp_slab_t *slab);
void kxdp_slab_give_back(kxdp_slab_t *slab, uint32_t number);

static inline void *kxdp_slab_at(const kxdp_slab_t *slab, uint32_t number)
{
	uint32_t in_chunk = number & ((1u << slab->shift) - 1);
	return slab->chunks[number >> slab->shift] + (size_t)in_chunk * slab->item_size;
}

/** Bytes mapped so far; from any thread. */
static inline uint64_t kxdp_slab_memory(const kxdp_slab_t *slab)
{
	return __atomic_load_n(&slab->memory, __ATOMIC_RELAXED);
}

/** Bytes of zeros, whole pages. NULL: no memory. */
void *kxdp_map(size_t len);
void kxdp_unmap(void *bytes, size_t len);
