/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/arena.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	UNIT = 8,
	FIRST_CHUNK_MIN = 256,                    /* bytes: a zone of a few records fits */
	HEAP_CHUNK_MAX = 64 * 1024,               /* smaller chunks come from the heap, larger ones from mmap() */
	RECYCLE_LEN_MAX = 49 * 12 + UNIT,         /* largest twig array, rounded up */
	RECYCLE_CLASSES = RECYCLE_LEN_MAX / UNIT + 1,
};

typedef struct {
	uint8_t *base;
	size_t len;          /* bytes */
	atomic_uint users;   /* arenas that share it */
} chunk_t;

struct zone_arena {
	zone_arena_view_t view;
	chunk_t **chunks;
	uint8_t **bases;
	uint32_t count, room;
	uint32_t used;       /* units used of the last chunk */
	zone_ref_t mark;     /* references from here on are this transaction's */
	zone_ref_t *recycled;  /* RECYCLE_CLASSES lists by size in units, linked through their first 4 bytes; made when needed */
};

static void *map_chunk(size_t len)
{
	if (len <= HEAP_CHUNK_MAX) {
		return calloc(1, len);
	}
	if (len < ZONE_CHUNK_MAX) {
		void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return base != MAP_FAILED ? base : NULL;
	}
	/* A huge page must lie at a multiple of its size: map more and give back what is around. */
	size_t around = len + ZONE_CHUNK_MAX;
	uint8_t *mapped = mmap(NULL, around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED) {
		return NULL;
	}
	uint8_t *base = (uint8_t *)(((uintptr_t)mapped + ZONE_CHUNK_MAX - 1) & ~(uintptr_t)(ZONE_CHUNK_MAX - 1));
	size_t page_end = (len + 4095) & ~(size_t)4095;
	if (base > mapped) {
		munmap(mapped, (size_t)(base - mapped));
	}
	if (base + page_end < mapped + around) {
		munmap(base + page_end, (size_t)(mapped + around - (base + page_end)));
	}
	madvise(base, len, MADV_HUGEPAGE);    /* advice: without huge pages it is slower, not wrong */
	return base;
}

static void drop_chunk(chunk_t *chunk)
{
	if (atomic_fetch_sub_explicit(&chunk->users, 1, memory_order_acq_rel) != 1) {
		return;
	}
	if (chunk->len <= HEAP_CHUNK_MAX) {
		free(chunk->base);
	} else {
		munmap(chunk->base, chunk->len);
	}
	free(chunk);
}

static bool make_room(zone_arena_t *arena, uint32_t room)
{
	if (room <= arena->room) {
		return true;
	}
	chunk_t **chunks = realloc(arena->chunks, room * sizeof(*chunks));
	if (chunks == NULL) {
		return false;
	}
	arena->chunks = chunks;
	uint8_t **bases = realloc(arena->bases, room * sizeof(*bases));
	if (bases == NULL) {
		return false;
	}
	arena->bases = bases;
	arena->view.chunks = bases;
	arena->room = room;
	return true;
}

static bool add_chunk(zone_arena_t *arena, size_t len)
{
	if (arena->count == ZONE_CHUNK_COUNT_MAX ||
	    (arena->count == arena->room && !make_room(arena, arena->room == 0 ? 4 : 2 * arena->room))) {
		return false;
	}
	chunk_t *chunk = malloc(sizeof(*chunk));
	uint8_t *base = chunk != NULL ? map_chunk(len) : NULL;
	if (base == NULL) {
		free(chunk);
		return false;
	}
	*chunk = (chunk_t){ .base = base, .len = len };
	atomic_init(&chunk->users, 1);
	arena->chunks[arena->count] = chunk;
	arena->bases[arena->count] = base;
	arena->view.chunk_count = ++arena->count;
	arena->used = 0;
	return true;
}

zone_arena_t *zone_arena_new(size_t first_len)
{
	zone_arena_t *arena = calloc(1, sizeof(*arena));
	if (arena == NULL) {
		return NULL;
	}
	size_t len = first_len < FIRST_CHUNK_MIN ? FIRST_CHUNK_MIN : first_len;
	if (!add_chunk(arena, (len + UNIT) & ~(size_t)(UNIT - 1))) {
		zone_arena_free(arena);
		return NULL;
	}
	arena->used = 1;    /* reference 0 is none */
	arena->mark = 1;
	return arena;
}

static zone_ref_t end_of(const zone_arena_t *arena)
{
	return ((arena->count - 1) << ZONE_CHUNK_OFFSET_BITS) + arena->used;
}

zone_arena_t *zone_arena_fork(zone_arena_t *parent)
{
	zone_arena_t *arena = calloc(1, sizeof(*arena));
	if (arena == NULL || !make_room(arena, parent->count + 1)) {
		zone_arena_free(arena);
		return NULL;
	}
	for (uint32_t i = 0; i < parent->count; i++) {
		atomic_fetch_add_explicit(&parent->chunks[i]->users, 1, memory_order_relaxed);
		arena->chunks[i] = parent->chunks[i];
		arena->bases[i] = parent->bases[i];
	}
	arena->view.chunk_count = arena->count = parent->count;
	arena->used = parent->used;
	/* A full chunk's end is the next chunk's start: nothing with that reference exists yet. */
	arena->mark = end_of(arena);
	return arena;
}

void zone_arena_free(zone_arena_t *take_arena)
{
	if (take_arena == NULL) {
		return;
	}
	for (uint32_t i = 0; i < take_arena->count; i++) {
		drop_chunk(take_arena->chunks[i]);
	}
	free(take_arena->chunks);
	free(take_arena->bases);
	free(take_arena->recycled);
	free(take_arena);
}

/* Chunks double from the first one's size, so that neither small nor big zones waste much. */
static size_t next_chunk_len(const zone_arena_t *arena, size_t len)
{
	size_t last = arena->chunks[arena->count - 1]->len;
	size_t next = last < FIRST_CHUNK_MIN ? FIRST_CHUNK_MIN : 2 * last;
	next = next > ZONE_CHUNK_MAX ? ZONE_CHUNK_MAX : next;
	return next < len ? len : next;
}

zone_ref_t zone_arena_alloc(zone_arena_t *arena, size_t len)
{
	assert(len > 0);
	size_t units = (len + UNIT - 1) / UNIT;
	if (units < RECYCLE_CLASSES && arena->recycled != NULL && arena->recycled[units] != 0) {
		zone_ref_t ref = arena->recycled[units];
		uint8_t *p = zone_at(&arena->view, ref);
		memcpy(&arena->recycled[units], p, sizeof(zone_ref_t));
		memset(p, 0, units * UNIT);
		return ref;
	}
	const chunk_t *chunk = arena->chunks[arena->count - 1];
	bool addressable = arena->used < 1u << ZONE_CHUNK_OFFSET_BITS;
	if (!addressable || units * UNIT > chunk->len - (size_t)arena->used * UNIT) {
		if (!add_chunk(arena, next_chunk_len(arena, units * UNIT))) {
			return 0;
		}
	}
	zone_ref_t ref = end_of(arena);
	/* Chunks come zeroed, but a discarded fork may have written behind its parent's end. */
	memset(zone_at(&arena->view, ref), 0, units * UNIT);
	/* Behind an allocation larger than a chunk nothing more can be addressed: the chunk counts as full. */
	size_t used = arena->used + units;
	arena->used = used > 1u << ZONE_CHUNK_OFFSET_BITS ? 1u << ZONE_CHUNK_OFFSET_BITS : (uint32_t)used;
	return ref;
}

bool zone_arena_is_mine(const zone_arena_t *arena, zone_ref_t ref)
{
	return ref >= arena->mark;
}

void zone_arena_recycle(zone_arena_t *arena, zone_ref_t ref, size_t len)
{
	size_t units = (len + UNIT - 1) / UNIT;
	if (units == 0 || units >= RECYCLE_CLASSES || !zone_arena_is_mine(arena, ref)) {
		return;
	}
	if (arena->recycled == NULL) {
		arena->recycled = calloc(RECYCLE_CLASSES, sizeof(*arena->recycled));
		if (arena->recycled == NULL) {
			return;          /* the memory is lost to this version, nothing else */
		}
	}
	memcpy(zone_at(&arena->view, ref), &arena->recycled[units], sizeof(zone_ref_t));
	arena->recycled[units] = ref;
}

void zone_arena_seal(zone_arena_t *arena, bool pack)
{
	free(arena->recycled);
	arena->recycled = NULL;
	chunk_t *chunk = arena->chunks[arena->count - 1];
	size_t len = (size_t)arena->used * UNIT;
	if (!pack || chunk->len > HEAP_CHUNK_MAX || len >= chunk->len || len < UNIT ||
	    atomic_load_explicit(&chunk->users, memory_order_relaxed) != 1) {
		return;
	}
	uint8_t *base = realloc(chunk->base, len);
	if (base != NULL) {
		chunk->base = arena->bases[arena->count - 1] = base;
		chunk->len = len;
	}
}

const zone_arena_view_t *zone_arena_view(const zone_arena_t *arena)
{
	return &arena->view;
}

size_t zone_arena_size(const zone_arena_t *arena)
{
	size_t size = 0;
	for (uint32_t i = 0; i < arena->count; i++) {
		size += arena->chunks[i]->len;
	}
	return size;
}
