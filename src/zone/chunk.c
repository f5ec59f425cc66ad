/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/chunk.h"

#include "src/zone/ref.h"
#include "src/zone/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	HEAP_CHUNK_MAX = 64 * 1024, /* smaller chunks come from the heap, larger ones from mmap() */
};
#define CHUNK_LEN_MAX ((size_t)ZONE_CHUNK_UNIT * ((1u << 30) - 1))

/* Reserved huge pages, where the administrator has set some aside: the kernel can't split or refuse them later. */
static void *chunk_map_reserved(size_t len)
{
	static atomic_bool none_left;
	if (len != ZONE_CHUNK_MAX || atomic_load_explicit(&none_left, memory_order_relaxed)) {
		return NULL;
	}
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0);
	if (base == MAP_FAILED) {
		atomic_store_explicit(&none_left, true, memory_order_relaxed);
		return NULL;
	}
	return base;
}

/* A huge page must lie at a multiple of its size: map more, and unmap what surrounds it. */
static void *chunk_map_aligned(size_t len)
{
	size_t around = len + ZONE_CHUNK_MAX;
	uint8_t *mapped = mmap(NULL, around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED) {
		return NULL;
	}
	uint8_t *base = (uint8_t *)(((uintptr_t)mapped + ZONE_CHUNK_MAX - 1) & ~(uintptr_t)(ZONE_CHUNK_MAX - 1));
	if (base > mapped) {
		munmap(mapped, (size_t)(base - mapped));
	}
	if (base + len < mapped + around) {
		munmap(base + len, (size_t)(mapped + around - (base + len)));
	}
	madvise(base, len, MADV_HUGEPAGE); /* advice: without huge pages it is slower, not wrong */
	return base;
}

bool zone_chunk_map(zone_chunk_t *chunk, size_t len)
{
	if (len > CHUNK_LEN_MAX - PAGE) {
		return false;
	}
	zone_chunk_set_len(chunk, len);
	if (len <= HEAP_CHUNK_MAX) {
		chunk->kind = ZONE_CHUNK_HEAP;
		chunk->base = calloc(1, len);
		return chunk->base != NULL;
	}
	chunk->base = chunk_map_reserved(len);
	chunk->kind = chunk->base != NULL ? ZONE_CHUNK_HUGE : ZONE_CHUNK_MAPPED;
	if (chunk->base != NULL) {
		return true;
	}
	len = (len + PAGE - 1) & ~(size_t)(PAGE - 1);
	zone_chunk_set_len(chunk, len);
	if (len >= ZONE_CHUNK_MAX) {
		chunk->base = chunk_map_aligned(len);
		return chunk->base != NULL;
	}
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	chunk->base = base != MAP_FAILED ? base : NULL;
	return chunk->base != NULL;
}

void zone_chunk_drop(zone_chunk_t *chunk)
{
	unsigned users = atomic_fetch_sub_explicit(&chunk->users, 1, memory_order_acq_rel);
	assert(users > 0);
	if (users != 1) {
		return;
	}
	switch ((zone_chunk_kind_t)chunk->kind) {
	case ZONE_CHUNK_HEAP: free(chunk->base); break;
	case ZONE_CHUNK_MAPPED:
	case ZONE_CHUNK_HUGE: munmap(chunk->base, zone_chunk_len(chunk)); break;
	case ZONE_CHUNK_PACKED: /* with all that is around it */
		zone_slab_free(chunk, (size_t)(chunk->base - (uint8_t *)chunk) + zone_chunk_len(chunk));
		return;
	}
	free(chunk);
}
