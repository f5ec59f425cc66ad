/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

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

/* A chunk as one arena sees it. */
typedef struct {
	chunk_t *chunk;
	size_t used;         /* bytes in use; those of the last chunk may still grow */
} slot_t;

struct zone_arena {
	zone_arena_view_t view;
	slot_t *slots;
	uint8_t **bases;
	uint32_t count, room;
	uint64_t lineage;
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
	slot_t *slots = realloc(arena->slots, room * sizeof(*slots));
	if (slots == NULL) {
		return false;
	}
	arena->slots = slots;
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
	arena->slots[arena->count] = (slot_t){ .chunk = chunk };
	arena->bases[arena->count] = base;
	arena->view.chunk_count = ++arena->count;
	return true;
}

static slot_t *last_of(const zone_arena_t *arena)
{
	return &arena->slots[arena->count - 1];
}

/* ---- Lineage ---- */

static uint64_t lineage_seed;
static atomic_uint_fast64_t lineage_count;

static void seed_lineage(void)
{
	if (getrandom(&lineage_seed, sizeof(lineage_seed), 0) != (ssize_t)sizeof(lineage_seed)) {
		struct timespec now;     /* a kernel without random numbers: unlikely to repeat is all that is needed */
		clock_gettime(CLOCK_REALTIME, &now);
		lineage_seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	}
}

/* A million zones would be a million system calls: one random number, and SplitMix64 from there, which does not repeat. */
static uint64_t new_lineage(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, seed_lineage);
	uint64_t n = atomic_fetch_add_explicit(&lineage_count, 1, memory_order_relaxed);
	uint64_t z = lineage_seed + n * 0x9E3779B97F4A7C15u;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

uint64_t zone_arena_lineage(const zone_arena_t *arena)
{
	return arena->lineage;
}

/* ---- Arenas ---- */

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
	last_of(arena)->used = UNIT;     /* reference 0 is none */
	arena->mark = 1;
	arena->lineage = new_lineage();
	return arena;
}

/* Behind an allocation larger than a chunk nothing more can be addressed: the end is the next chunk's start. */
static zone_ref_t end_of(const zone_arena_t *arena)
{
	size_t used = last_of(arena)->used;
	return ((arena->count - 1) << ZONE_CHUNK_OFFSET_BITS) + (zone_ref_t)((used < ZONE_CHUNK_MAX ? used : ZONE_CHUNK_MAX) / UNIT);
}

zone_arena_t *zone_arena_fork(zone_arena_t *parent)
{
	zone_arena_t *arena = calloc(1, sizeof(*arena));
	if (arena == NULL || !make_room(arena, parent->count + 1)) {
		zone_arena_free(arena);
		return NULL;
	}
	for (uint32_t i = 0; i < parent->count; i++) {
		atomic_fetch_add_explicit(&parent->slots[i].chunk->users, 1, memory_order_relaxed);
		arena->slots[i] = parent->slots[i];
		arena->bases[i] = parent->bases[i];
	}
	arena->view.chunk_count = arena->count = parent->count;
	arena->lineage = parent->lineage;
	/* A full chunk's end is the next chunk's start: nothing with that reference exists yet. */
	arena->mark = end_of(arena);
	return arena;
}

zone_arena_t *zone_arena_restore(uint64_t lineage, const uint64_t *chunk_lens, uint32_t chunk_count)
{
	zone_arena_t *arena = calloc(1, sizeof(*arena));
	if (arena == NULL || !make_room(arena, chunk_count)) {
		zone_arena_free(arena);
		return NULL;
	}
	for (uint32_t i = 0; i < chunk_count; i++) {
		/* A chunk that was cut for lack of room for one more node was a huge page, and is to be one again. */
		size_t len = (size_t)chunk_lens[i];
		if (!add_chunk(arena, len > ZONE_CHUNK_MAX / 4 * 3 && len < ZONE_CHUNK_MAX ? ZONE_CHUNK_MAX : len)) {
			zone_arena_free(arena);
			return NULL;
		}
		last_of(arena)->used = (size_t)chunk_lens[i];
	}
	arena->lineage = lineage;
	arena->mark = end_of(arena);
	return arena;
}

knot_bytes_t zone_arena_chunk(const zone_arena_t *arena, uint32_t chunk)
{
	return (knot_bytes_t){ arena->bases[chunk], arena->slots[chunk].used };
}

void zone_arena_free(zone_arena_t *take_arena)
{
	if (take_arena == NULL) {
		return;
	}
	for (uint32_t i = 0; i < take_arena->count; i++) {
		drop_chunk(take_arena->slots[i].chunk);
	}
	free(take_arena->slots);
	free(take_arena->bases);
	free(take_arena->recycled);
	free(take_arena);
}

/* Chunks double from the first one's size, so that neither small nor big zones waste much. */
static size_t next_chunk_len(const zone_arena_t *arena, size_t len)
{
	size_t last = last_of(arena)->chunk->len;
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
	const slot_t *last = last_of(arena);
	if (last->used >= ZONE_CHUNK_MAX || units * UNIT > last->chunk->len - last->used) {
		if (!add_chunk(arena, next_chunk_len(arena, units * UNIT))) {
			return 0;
		}
	}
	zone_ref_t ref = end_of(arena);
	/* Chunks come zeroed, but a discarded fork may have written behind its parent's end. */
	memset(zone_at(&arena->view, ref), 0, units * UNIT);
	last_of(arena)->used += units * UNIT;
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
	chunk_t *chunk = last_of(arena)->chunk;
	size_t len = last_of(arena)->used;
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
		size += arena->slots[i].chunk->len;
	}
	return size;
}
