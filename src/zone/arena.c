/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/arena.h"

#include "libknot/base/assert.h"
#include "src/sys/clock.h"
#include "src/zone/slab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
	UNIT = 8,
	FIRST_CHUNK_LEN = 4096, /* bytes: most zones fit, and are then packed (zone_arena_pack()) */
	FORK_CHUNK_MIN = 256,
	FORK_CHUNK_PART = 16, /* a transaction's chunk is at least this part of the arena */
	PAGE = 4096,
	HEAP_CHUNK_MAX = 64 * 1024,       /* smaller chunks come from the heap, larger ones from mmap() */
	RECYCLE_LEN_MAX = 49 * 12 + UNIT, /* largest twig array, rounded up */
	RECYCLE_CLASSES = RECYCLE_LEN_MAX / UNIT + 1,
};

typedef enum { CHUNK_HEAP, CHUNK_MAPPED, CHUNK_HUGE, CHUNK_PACKED } chunk_kind_t;

typedef struct {
	atomic_uint users;   /* arenas that share it */
	uint32_t kind : 2;   /* chunk_kind_t; HUGE: reserved huge pages; PACKED: part of packed_t */
	uint32_t units : 30; /* its length */
	uint8_t *base;
} chunk_t;

#define CHUNK_LEN_MAX ((size_t)UNIT * ((1u << 30) - 1))

static size_t len_of(const chunk_t *chunk)
{
	return (size_t)chunk->units * UNIT;
}

/* `len` is a multiple of UNIT, at most CHUNK_LEN_MAX. */
static void set_len(chunk_t *chunk, size_t len)
{
	chunk->units = (len / UNIT) & ((1u << 30) - 1);
}

/* A chunk as one arena sees it. */
typedef struct {
	chunk_t *chunk;
	size_t used; /* bytes in use; those of the last chunk may still grow */
} slot_t;

/* What an arena needs that is not packed. */
typedef struct {
	slot_t *slots;
	uint8_t **bases;
	uint32_t room;        /* of both */
	zone_ref_t mark;      /* references from here on are this transaction's */
	zone_ref_t *recycled; /* RECYCLE_CLASSES lists by size in units, linked through their first 4 bytes; made when
				 needed */
	int64_t live;         /* bytes allocated less bytes dropped, since zone_arena_new() or zone_arena_fork() */
	bool is_fork;
} growth_t;

struct zone_arena {
	uint64_t lineage;
	growth_t *growth; /* owned; NULL: packed */
	zone_arena_view_t view;
};

/*
 * A finished arena with one small chunk: the arena, its user's data and the chunk's bytes lie one after another in one
 * allocation, the chunk's. The user's data begin with the arena's view, which exists only there.
 */
typedef struct {
	chunk_t chunk;
	zone_arena_t arena; /* its view's table is the chunk's `base` */
} packed_t;

_Static_assert(offsetof(packed_t, arena.view) + sizeof(zone_arena_view_t) == sizeof(packed_t), "the view is last");

/* Reserved huge pages, where the administrator has set some aside: the kernel can't split or refuse them later. */
static void *map_reserved(size_t len)
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
static void *map_aligned(size_t len)
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

/* Zeroed memory for a chunk of at least `len` bytes; its kind and length are set. False: out of memory, or too long for
 * a chunk. */
static bool map_chunk(chunk_t *chunk, size_t len)
{
	if (len > CHUNK_LEN_MAX - PAGE) {
		return false;
	}
	set_len(chunk, len);
	if (len <= HEAP_CHUNK_MAX) {
		chunk->kind = CHUNK_HEAP;
		chunk->base = calloc(1, len);
		return chunk->base != NULL;
	}
	chunk->base = map_reserved(len);
	chunk->kind = chunk->base != NULL ? CHUNK_HUGE : CHUNK_MAPPED;
	if (chunk->base != NULL) {
		return true;
	}
	len = (len + PAGE - 1) & ~(size_t)(PAGE - 1);
	set_len(chunk, len);
	if (len >= ZONE_CHUNK_MAX) {
		chunk->base = map_aligned(len);
		return chunk->base != NULL;
	}
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	chunk->base = base != MAP_FAILED ? base : NULL;
	return chunk->base != NULL;
}

static void drop_chunk(chunk_t *chunk)
{
	unsigned users = atomic_fetch_sub_explicit(&chunk->users, 1, memory_order_acq_rel);
	assert(users > 0);
	if (users != 1) {
		return;
	}
	switch ((chunk_kind_t)chunk->kind) {
	case CHUNK_HEAP: free(chunk->base); break;
	case CHUNK_MAPPED:
	case CHUNK_HUGE: munmap(chunk->base, len_of(chunk)); break;
	case CHUNK_PACKED: /* with all that is around it */
		zone_slab_free(chunk, (size_t)(chunk->base - (uint8_t *)chunk) + len_of(chunk));
		return;
	}
	free(chunk);
}

static chunk_t *packed_chunk(const zone_arena_t *arena)
{
	return &((packed_t *)((uintptr_t)arena - offsetof(packed_t, arena)))->chunk;
}

static slot_t arena_slot_of(const zone_arena_t *arena, uint32_t i)
{
	assert(i < arena->view.chunk_count);
	if (arena->growth != NULL) {
		return arena->growth->slots[i];
	}
	chunk_t *chunk = packed_chunk(arena);
	return (slot_t){ chunk, len_of(chunk) };
}

/* Invariant: every chunk is in use, the readers' table has it, and it holds no more than it has room for. */
static bool arena_is_sound(const zone_arena_t *arena)
{
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		slot_t slot = arena_slot_of(arena, i);
		bool is_sound = atomic_load_explicit(&slot.chunk->users, memory_order_relaxed) > 0 &&
				arena->view.chunks[i] == slot.chunk->base && slot.used <= len_of(slot.chunk) &&
				slot.used % UNIT == 0;
		if (!is_sound) {
			return false;
		}
	}
	return true;
}

/* ---- Growing ---- */

static bool arena_make_room(zone_arena_t *arena, uint32_t room)
{
	growth_t *growth = arena->growth;
	if (room <= growth->room) {
		return true;
	}
	slot_t *slots = realloc(growth->slots, room * sizeof(*slots));
	if (slots == NULL) {
		return false;
	}
	growth->slots = slots;
	uint8_t **bases = realloc(growth->bases, room * sizeof(*bases));
	if (bases == NULL) {
		return false;
	}
	growth->bases = bases;
	arena->view.chunks = bases;
	growth->room = room;
	return true;
}

static void append_slot(zone_arena_t *arena, slot_t slot)
{
	assert(arena->view.chunk_count < arena->growth->room);
	arena->growth->slots[arena->view.chunk_count] = slot;
	arena->growth->bases[arena->view.chunk_count] = slot.chunk->base;
	arena->view.chunk_count++;
}

static bool add_chunk(zone_arena_t *arena, size_t len)
{
	uint32_t count = arena->view.chunk_count, room = arena->growth->room;
	if (count == ZONE_CHUNK_COUNT_MAX || (count == room && !arena_make_room(arena, room == 0 ? 4 : 2 * room))) {
		return false;
	}
	chunk_t *chunk = malloc(sizeof(*chunk));
	if (chunk == NULL) {
		return false;
	}
	*chunk = (chunk_t){ .base = NULL };
	if (!map_chunk(chunk, len)) {
		free(chunk);
		return false;
	}
	atomic_init(&chunk->users, 1);
	append_slot(arena, (slot_t){ .chunk = chunk });
	return true;
}

static slot_t *last_of(const zone_arena_t *arena)
{
	return &arena->growth->slots[arena->view.chunk_count - 1];
}

/* ---- Lineage ---- */

static uint64_t lineage_seed;
static atomic_uint_fast64_t lineage_count;

static void seed_lineage(void)
{
	if (getrandom(&lineage_seed, sizeof(lineage_seed), 0) != (ssize_t)sizeof(lineage_seed)) {
		/* A kernel without random numbers: unlikely to repeat is all that is needed. */
		lineage_seed = sys_clock_real_ns();
	}
}

/*
 * A million zones would cost a million system calls. So the process draws one random number and continues with
 * SplitMix64, which doesn't repeat.
 */
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

/* Without chunks. NULL: out of memory. */
static zone_arena_t *new_arena(uint64_t lineage, uint32_t room)
{
	zone_arena_t *arena = calloc(1, sizeof(*arena));
	growth_t *growth = calloc(1, sizeof(*growth));
	if (arena == NULL || growth == NULL) {
		free(arena);
		free(growth);
		return NULL;
	}
	arena->growth = growth;
	arena->lineage = lineage;
	if (!arena_make_room(arena, room)) {
		zone_arena_free(arena);
		return NULL;
	}
	return arena;
}

zone_arena_t *zone_arena_new(size_t first_len)
{
	zone_arena_t *arena = new_arena(new_lineage(), 4);
	if (arena == NULL) {
		return NULL;
	}
	size_t len = first_len < FIRST_CHUNK_LEN ? FIRST_CHUNK_LEN : first_len;
	if (!add_chunk(arena, (len + UNIT) & ~(size_t)(UNIT - 1))) {
		zone_arena_free(arena);
		return NULL;
	}
	last_of(arena)->used = UNIT; /* reference 0 is none */
	arena->growth->mark = 1;
	return arena;
}

/* Nothing can be addressed behind an allocation that is larger than a chunk: its end is the next chunk's start. */
static zone_ref_t end_of(const zone_arena_t *arena)
{
	size_t used = last_of(arena)->used;
	return ((arena->view.chunk_count - 1) << ZONE_CHUNK_OFFSET_BITS) +
	       (zone_ref_t)((used < ZONE_CHUNK_MAX ? used : ZONE_CHUNK_MAX) / UNIT);
}

zone_arena_t *zone_arena_fork(zone_arena_t *parent)
{
	assert(parent->view.chunk_count > 0);
	KNOT_ASSERT_SLOW(arena_is_sound(parent));
	zone_arena_t *arena = new_arena(parent->lineage, parent->view.chunk_count + 1);
	if (arena == NULL) {
		return NULL;
	}
	for (uint32_t i = 0; i < parent->view.chunk_count; i++) {
		slot_t slot = arena_slot_of(parent, i);
		atomic_fetch_add_explicit(&slot.chunk->users, 1, memory_order_relaxed);
		append_slot(arena, slot);
	}
	/* A full chunk's end is the next chunk's start: nothing with that reference exists yet. */
	arena->growth->mark = end_of(arena);
	arena->growth->is_fork = true;
	return arena;
}

zone_arena_t *zone_arena_restore(uint64_t lineage, const uint64_t *chunk_lens, uint32_t chunk_count)
{
	assert(chunk_count > 0 && chunk_count <= ZONE_CHUNK_COUNT_MAX);
	zone_arena_t *arena = new_arena(lineage, chunk_count);
	if (arena == NULL) {
		return NULL;
	}
	for (uint32_t i = 0; i < chunk_count; i++) {
		/* A chunk that was cut for lack of room for one more node was a huge page, and is to be one again. */
		size_t len = (size_t)chunk_lens[i];
		if (!add_chunk(arena, len > ZONE_CHUNK_MAX / 4 * 3 && len < ZONE_CHUNK_MAX ? ZONE_CHUNK_MAX : len)) {
			zone_arena_free(arena);
			return NULL;
		}
		last_of(arena)->used = len;
	}
	arena->growth->mark = end_of(arena);
	return arena;
}

knot_bytes_t zone_arena_chunk(const zone_arena_t *arena, uint32_t chunk)
{
	return (knot_bytes_t){ arena->view.chunks[chunk], arena_slot_of(arena, chunk).used };
}

void zone_arena_free(zone_arena_t *take_arena)
{
	if (take_arena == NULL) {
		return;
	}
	growth_t *growth = take_arena->growth;
	if (growth == NULL) {
		drop_chunk(packed_chunk(take_arena));
		return;
	}
	for (uint32_t i = 0; i < take_arena->view.chunk_count; i++) {
		drop_chunk(growth->slots[i].chunk);
	}
	free(growth->slots);
	free(growth->bases);
	free(growth->recycled);
	free(growth);
	free(take_arena);
}

/*
 * Chunks of a new arena double, so that neither small nor large zones waste much. A fork's chunks are in proportion to
 * its parent, so that a few changes don't bloat a zone.
 */
static size_t next_chunk_len(const zone_arena_t *arena, size_t len)
{
	size_t next = 2 * len_of(last_of(arena)->chunk);
	if (arena->growth->is_fork) {
		next = zone_arena_size(arena) / FORK_CHUNK_PART & ~(size_t)(UNIT - 1);
		next = next < FORK_CHUNK_MIN ? FORK_CHUNK_MIN : next;
	}
	next = next > ZONE_CHUNK_MAX ? ZONE_CHUNK_MAX : next;
	return next < len ? len : next;
}

zone_ref_t zone_arena_alloc(zone_arena_t *arena, size_t len)
{
	assert(len > 0);
	size_t units = (len + UNIT - 1) / UNIT;
	if (units < RECYCLE_CLASSES && arena->growth->recycled != NULL && arena->growth->recycled[units] != 0) {
		zone_ref_t ref = arena->growth->recycled[units];
		uint8_t *p = zone_at(&arena->view, ref);
		memcpy(&arena->growth->recycled[units], p, sizeof(zone_ref_t));
		memset(p, 0, units * UNIT);
		arena->growth->live += (int64_t)(units * UNIT);
		return ref;
	}
	const slot_t *last = last_of(arena);
	if (last->used >= ZONE_CHUNK_MAX || units * UNIT > len_of(last->chunk) - last->used) {
		if (!add_chunk(arena, next_chunk_len(arena, units * UNIT))) {
			return 0;
		}
	}
	zone_ref_t ref = end_of(arena);
	/* Chunks come zeroed, but a discarded fork may have written behind its parent's end. */
	memset(zone_at(&arena->view, ref), 0, units * UNIT);
	last_of(arena)->used += units * UNIT;
	arena->growth->live += (int64_t)(units * UNIT);
	return ref;
}

bool zone_arena_is_mine(const zone_arena_t *arena, zone_ref_t ref)
{
	return ref >= arena->growth->mark;
}

int64_t zone_arena_live_change(const zone_arena_t *arena)
{
	assert(arena->growth != NULL);
	return arena->growth->live;
}

void zone_arena_shrink(zone_arena_t *arena, size_t len, size_t less)
{
	assert(less <= len && arena->growth != NULL);
	arena->growth->live -= (int64_t)(((len + UNIT - 1) / UNIT - (less + UNIT - 1) / UNIT) * UNIT);
}

void zone_arena_drop(zone_arena_t *arena, zone_ref_t ref, size_t len)
{
	assert(ref != 0 && arena->growth != NULL);
	size_t units = (len + UNIT - 1) / UNIT;
	arena->growth->live -= (int64_t)(units * UNIT);
	if (units == 0 || units >= RECYCLE_CLASSES || !zone_arena_is_mine(arena, ref)) {
		return;
	}
	if (arena->growth->recycled == NULL) {
		arena->growth->recycled = calloc(RECYCLE_CLASSES, sizeof(*arena->growth->recycled));
		if (arena->growth->recycled == NULL) {
			return; /* only this memory is lost, until the version is gone */
		}
	}
	memcpy(zone_at(&arena->view, ref), &arena->growth->recycled[units], sizeof(zone_ref_t));
	arena->growth->recycled[units] = ref;
}

/* Give back what the last chunk has not used. */
static void arena_trim_last(zone_arena_t *arena)
{
	slot_t *last = last_of(arena);
	chunk_t *chunk = last->chunk;
	if (atomic_load_explicit(&chunk->users, memory_order_relaxed) != 1) {
		return;
	}
	size_t pages_len = (last->used + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (chunk->kind == CHUNK_HEAP && last->used < len_of(chunk)) {
		uint8_t *base = realloc(chunk->base, last->used);
		if (base != NULL) {
			chunk->base = arena->growth->bases[arena->view.chunk_count - 1] = base;
			set_len(chunk, last->used);
		}
	} else if (chunk->kind == CHUNK_MAPPED && pages_len < len_of(chunk) - len_of(chunk) / 8) {
		/* A huge page that is nearly full stays one. */
		munmap(chunk->base + pages_len, len_of(chunk) - pages_len);
		set_len(chunk, pages_len);
	}
}

void zone_arena_seal(zone_arena_t *arena, bool pack)
{
	assert(arena->growth != NULL);
	KNOT_ASSERT_SLOW(arena_is_sound(arena));
	free(arena->growth->recycled);
	arena->growth->recycled = NULL;
	if (pack) {
		arena_trim_last(arena);
	}
}

void *zone_arena_pack(zone_arena_t *take_arena, size_t data_len, zone_arena_t **ret_arena)
{
	KNOT_ASSERT_SLOW(arena_is_sound(take_arena));
	enum { PACKED_MAX = 16 * 1024 }; /* bytes: a large arena wouldn't profit, and would be copied */
	if (take_arena->growth == NULL || take_arena->view.chunk_count != 1 || last_of(take_arena)->used > PACKED_MAX ||
			atomic_load_explicit(&last_of(take_arena)->chunk->users, memory_order_relaxed) != 1) {
		return NULL;
	}
	assert(data_len >= sizeof(zone_arena_view_t));
	size_t used = last_of(take_arena)->used, room = (data_len + UNIT - 1) & ~(size_t)(UNIT - 1);
	packed_t *packed = zone_slab_alloc(offsetof(packed_t, arena.view) + room + used);
	if (packed == NULL) {
		return NULL;
	}
	packed->chunk = (chunk_t){ .kind = CHUNK_PACKED, .base = (uint8_t *)&packed->arena.view + room };
	set_len(&packed->chunk, used);
	atomic_init(&packed->chunk.users, 1);
	packed->arena = (zone_arena_t){ .view = { &packed->chunk.base, 1 }, .lineage = take_arena->lineage };
	memcpy(packed->chunk.base, take_arena->view.chunks[0], used);
	zone_arena_free(take_arena);
	*ret_arena = &packed->arena;
	return &packed->arena.view;
}

bool zone_arena_is_packed(const zone_arena_t *arena)
{
	return arena->growth == NULL;
}

const zone_arena_view_t *zone_arena_view(const zone_arena_t *arena)
{
	return &arena->view;
}

size_t zone_arena_size(const zone_arena_t *arena)
{
	size_t size = 0;
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		size += len_of(arena_slot_of(arena, i).chunk);
	}
	return size;
}
