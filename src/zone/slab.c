/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slab is 64 KiB at a multiple of its size, so a block's address tells which slab it is in. Slabs with free blocks
 * are in a list per size. The pages of a slab without used blocks go back to the system. Blocks that were never used
 * are never touched, so they take no memory.
 */
#include "src/zone/slab.h"

#include "src/sys/lock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	SLAB_LEN = 64 * 1024,
	PAGE_LEN = 64 * 1024 / 16, /* the smallest page size; with larger pages, more of a slab stays */
	REGION_LEN = 2 * 1024 * 1024,
	HUGE_FROM = 32,   /* slabs from which on huge pages pay */
	GRAIN = 8,        /* bytes: sizes are multiples of it */
	BLOCK_MAX = 2048, /* larger blocks come from the heap */
	SIZES = BLOCK_MAX / GRAIN + 1,
};

typedef struct free_block {
	struct free_block *next;
} free_block_t;

typedef struct slab {
	struct slab *before, *after; /* slabs of this size that have free blocks */
	free_block_t *free;          /* blocks that were used before */
	uint32_t fresh_off;          /* bytes: start of the blocks that were never used */
	uint32_t used;               /* blocks */
} slab_t;

/* Brief: held while a list is changed, and for the calls that get pages from the system or give them back. */
static sys_mutex_t slab_lock = SYS_MUTEX_INIT;
static slab_t *with_room[SIZES] SYS_GUARDED_BY_VARIABLE(slab_lock);
static slab_t *unused SYS_GUARDED_BY_VARIABLE(slab_lock);     /* slabs without blocks, linked by `after` */
static uint8_t *region SYS_GUARDED_BY_VARIABLE(slab_lock);    /* where new slabs come from */
static size_t region_left SYS_GUARDED_BY_VARIABLE(slab_lock); /* bytes */
static size_t slab_count SYS_GUARDED_BY_VARIABLE(slab_lock);

#ifdef ZONE_SLAB_OFF
static bool is_small(size_t len)
{
	(void)len;
	return false;
}
#else
static bool is_small(size_t len)
{
	return len <= BLOCK_MAX;
}
#endif

static size_t size_of(size_t len)
{
	return (len + GRAIN - 1) / GRAIN;
}

static void link_slab(slab_t *slab, size_t size) SYS_REQUIRES(slab_lock)
{
	slab->before = NULL;
	slab->after = with_room[size];
	if (slab->after != NULL) {
		slab->after->before = slab;
	}
	with_room[size] = slab;
}

static void unlink_slab(slab_t *slab, size_t size) SYS_REQUIRES(slab_lock)
{
	if (slab->before != NULL) {
		slab->before->after = slab->after;
	} else {
		with_room[size] = slab->after;
	}
	if (slab->after != NULL) {
		slab->after->before = slab->before;
	}
}

static bool has_room(const slab_t *slab, size_t size)
{
	return slab->free != NULL || slab->fresh_off + size * GRAIN <= SLAB_LEN;
}

/* Pages for `len` bytes at a multiple of `len`; NULL: out of memory. */
static uint8_t *map_aligned(size_t len)
{
	uint8_t *mapped = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED) {
		return NULL;
	}
	uint8_t *base = (uint8_t *)(((uintptr_t)mapped + len - 1) & ~(uintptr_t)(len - 1));
	if (base > mapped) {
		munmap(mapped, (size_t)(base - mapped));
	}
	munmap(base + len, (size_t)(mapped + len - base));
	return base;
}

/* Memory of a slab: one that was given back, or part of a region. From many slabs on, regions are huge pages, not a
 * mapping for each slab. */
static slab_t *map_slab(void) SYS_REQUIRES(slab_lock)
{
	if (unused != NULL) {
		slab_t *slab = unused;
		unused = slab->after;
		return slab;
	}
	if (region_left == 0) {
		size_t len = slab_count < HUGE_FROM ? SLAB_LEN : REGION_LEN;
		uint8_t *base = map_aligned(len);
		if (base == NULL) {
			return NULL;
		}
		if (len == REGION_LEN) {
			(void)madvise(base, len,
					MADV_HUGEPAGE); /* advice: without huge pages it is slower, not wrong */
		}
		region = base;
		region_left = len;
	}
	slab_t *slab = (slab_t *)(void *)region;
	region += SLAB_LEN;
	region_left -= SLAB_LEN;
	slab_count++;
	return slab;
}

/* Its pages go back but for the first, which has the link. */
static void unmap_slab(slab_t *slab) SYS_REQUIRES(slab_lock)
{
	(void)madvise((uint8_t *)slab + PAGE_LEN, SLAB_LEN - PAGE_LEN, MADV_DONTNEED);
	slab->after = unused;
	unused = slab;
}

static slab_t *new_slab(size_t size) SYS_REQUIRES(slab_lock)
{
	slab_t *slab = map_slab();
	if (slab == NULL) {
		return NULL;
	}
	*slab = (slab_t){ .fresh_off = (sizeof(*slab) + GRAIN - 1) / GRAIN * GRAIN };
	link_slab(slab, size);
	return slab;
}

static void *take_block(slab_t *slab, size_t size) SYS_REQUIRES(slab_lock)
{
	void *block = slab->free;
	if (block != NULL) {
		slab->free = slab->free->next;
	} else {
		block = (uint8_t *)slab + slab->fresh_off;
		slab->fresh_off += (uint32_t)(size * GRAIN);
	}
	slab->used++;
	if (!has_room(slab, size)) {
		unlink_slab(slab, size);
	}
	return block;
}

void *zone_slab_alloc(size_t len)
{
	if (!is_small(len)) {
		return malloc(len);
	}
	size_t size = size_of(len);
	sys_mutex_lock_brief(&slab_lock);
	slab_t *slab = with_room[size] != NULL ? with_room[size] : new_slab(size);
	void *block = slab != NULL ? take_block(slab, size) : NULL;
	sys_mutex_unlock(&slab_lock);
	return block;
}

void zone_slab_free(void *take_block, size_t len)
{
	if (!is_small(len)) {
		free(take_block);
		return;
	}
	size_t size = size_of(len);
	slab_t *slab = (slab_t *)((uintptr_t)take_block & ~(uintptr_t)(SLAB_LEN - 1));
	sys_mutex_lock_brief(&slab_lock);
	bool had_room = has_room(slab, size);
	free_block_t *block = take_block;
	block->next = slab->free;
	slab->free = block;
	slab->used--;
	if (!had_room) {
		link_slab(slab, size);
	}
	bool is_empty = slab->used == 0;
	if (is_empty) {
		unlink_slab(slab, size);
		unmap_slab(slab);
	}
	sys_mutex_unlock(&slab_lock);
}
