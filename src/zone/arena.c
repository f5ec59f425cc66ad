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
	CHUNK_PART = 16,        /* a chunk is at least this part of an arena built from scratch … */
	FORK_CHUNK_PART = 64,   /* … and of one that grows by transactions … */
	BRIEF_CHUNK_PART = 512, /* … and for zone_arena_alloc_brief() */
	SPLIT_FROM = 8 * 1024,  /* bytes of an arena from which on what is never moved gets chunks of its own */
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
	chunk_t *chunk;  /* NULL: the arena has none of this number now */
	size_t used;     /* bytes allocated; those of the chunk being filled may still grow */
	int64_t live;    /* bytes allocated less bytes dropped, by all transactions up to this one */
	bool is_about;   /* from an image, or packed: `live` counts what was not in use then, too */
	size_t mark;     /* bytes allocated by the transactions before this one; what is behind is its own */
	bool is_ordered; /* allocated in the order of names, by a build from scratch or a pass of compaction */
	bool is_gone;    /* it was given back: the number isn't used again in this lineage */
} slot_t;

#define NO_CHUNK UINT32_MAX

/* What an arena needs that is not packed. */
typedef struct {
	slot_t *slots;
	uint8_t **bases;
	uint32_t room;        /* of both */
	uint32_t current;     /* number of the chunk being filled; NO_CHUNK: there is none yet */
	uint32_t kept;        /* the one for zone_arena_alloc_kept(); NO_CHUNK: none yet */
	uint32_t moved;       /* the one being filled by a pass of compaction; NO_CHUNK: none yet */
	uint32_t brief;       /* the one for zone_arena_alloc_brief() of a pass; NO_CHUNK: none yet */
	bool is_moving;       /* allocations go to these two */
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
	return (slot_t){ .chunk = chunk, .used = len_of(chunk), .live = (int64_t)len_of(chunk), .is_about = true };
}

/* Invariant: every chunk is in use, the readers' table has it, and it holds no more than it has room for. */
static bool arena_is_sound(const zone_arena_t *arena)
{
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		slot_t slot = arena_slot_of(arena, i);
		bool is_sound = slot.chunk == NULL
						? arena->view.chunks[i] == NULL && slot.used == 0 && slot.live == 0
						: atomic_load_explicit(&slot.chunk->users, memory_order_relaxed) > 0 &&
								  arena->view.chunks[i] == slot.chunk->base &&
								  slot.used <= len_of(slot.chunk) &&
								  slot.used % UNIT == 0 &&
								  slot.live <= (int64_t)slot.used &&
								  (slot.live >= 0 || slot.is_about);
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

static void set_slot(zone_arena_t *arena, uint32_t i, slot_t slot)
{
	assert(i < arena->growth->room);
	arena->growth->slots[i] = slot;
	arena->growth->bases[i] = slot.chunk != NULL ? slot.chunk->base : NULL;
}

/* A number that no chunk of the lineage has had, or the next one. References with number 0 would begin with "none". */
static uint32_t free_number(const zone_arena_t *arena)
{
	for (uint32_t i = 1; i < arena->view.chunk_count; i++) {
		if (arena->growth->slots[i].chunk == NULL && !arena->growth->slots[i].is_gone) {
			return i;
		}
	}
	return arena->view.chunk_count;
}

/* Returns the new chunk's number; NO_CHUNK: out of memory or numbers. */
static uint32_t add_chunk(zone_arena_t *arena, size_t len)
{
	uint32_t number = free_number(arena), room = arena->growth->room;
	if (number == ZONE_CHUNK_COUNT_MAX || (number == room && !arena_make_room(arena, room == 0 ? 4 : 2 * room))) {
		return NO_CHUNK;
	}
	chunk_t *chunk = malloc(sizeof(*chunk));
	if (chunk == NULL) {
		return NO_CHUNK;
	}
	*chunk = (chunk_t){ .base = NULL };
	if (!map_chunk(chunk, len)) {
		free(chunk);
		return NO_CHUNK;
	}
	atomic_init(&chunk->users, 1);
	bool is_ordered = arena->growth->is_moving || !arena->growth->is_fork;
	set_slot(arena, number, (slot_t){ .chunk = chunk, .is_ordered = is_ordered });
	arena->view.chunk_count += number == arena->view.chunk_count;
	return number;
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
	*growth = (growth_t){ .current = NO_CHUNK, .kept = NO_CHUNK, .moved = NO_CHUNK, .brief = NO_CHUNK };
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
	arena->growth->current = add_chunk(arena, (len + UNIT) & ~(size_t)(UNIT - 1));
	if (arena->growth->current == NO_CHUNK) {
		zone_arena_free(arena);
		return NULL;
	}
	arena->growth->slots[0].used = UNIT; /* reference 0 is none */
	return arena;
}

/* The reference of what comes next in a chunk. Nothing can be addressed behind an allocation that is larger than a
 * chunk: nothing comes there. */
static zone_ref_t end_of(const zone_arena_t *arena, uint32_t chunk)
{
	size_t used = arena->growth->slots[chunk].used;
	assert(used < ZONE_CHUNK_MAX);
	return (chunk << ZONE_CHUNK_OFFSET_BITS) + (zone_ref_t)(used / UNIT);
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
		if (slot.chunk != NULL) {
			atomic_fetch_add_explicit(&slot.chunk->users, 1, memory_order_relaxed);
		}
		slot.mark = slot.used;
		set_slot(arena, i, slot);
	}
	arena->view.chunk_count = parent->view.chunk_count;
	growth_t *growth = arena->growth;
	growth->current = parent->growth != NULL ? parent->growth->current : 0;
	growth->moved = parent->growth != NULL ? parent->growth->moved : NO_CHUNK;
	growth->brief = parent->growth != NULL ? parent->growth->brief : NO_CHUNK;
	growth->is_fork = true;
	return arena;
}

/* From now on the numbers of chunks that were given back may be used again. */
static void arena_let_reuse(zone_arena_t *arena)
{
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		arena->growth->slots[i].is_gone = false;
	}
}

zone_arena_t *zone_arena_restore(uint64_t lineage, const uint64_t *chunk_lens, uint32_t chunk_count)
{
	assert(chunk_count > 0 && chunk_count <= ZONE_CHUNK_COUNT_MAX);
	zone_arena_t *arena = new_arena(lineage, chunk_count);
	if (arena == NULL) {
		return NULL;
	}
	for (uint32_t i = 0; i < chunk_count; i++) {
		size_t len = (size_t)chunk_lens[i];
		if (len == 0) { /* whatever the number had is gone from what is stored, too: it may be used again */
			set_slot(arena, i, (slot_t){ .chunk = NULL, .is_gone = true });
			arena->view.chunk_count++;
			continue;
		}
		/* A chunk that was cut for lack of room for one more node was a huge page, and is to be one again. */
		bool was_huge = len > ZONE_CHUNK_MAX / 4 * 3 && len < ZONE_CHUNK_MAX;
		uint32_t number = add_chunk(arena, was_huge ? ZONE_CHUNK_MAX : len);
		if (number == NO_CHUNK) {
			zone_arena_free(arena);
			return NULL;
		}
		assert(number == i);
		arena->growth->slots[i].used = len;
		arena->growth->slots[i].live = (int64_t)len;
		arena->growth->slots[i].is_about = true;
		arena->growth->current = i;
	}
	arena_let_reuse(arena);
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
		if (growth->slots[i].chunk != NULL) {
			drop_chunk(growth->slots[i].chunk);
		}
	}
	free(growth->slots);
	free(growth->bases);
	free(growth->recycled);
	free(growth);
	free(take_arena);
}

/*
 * Chunks of a new arena grow with it, so that neither small nor large zones waste much, and that giving back a chunk
 * never waits for a great part of a zone (compact.h). A fork's chunks are in proportion to its parent, so that a few
 * changes don't bloat a zone.
 */
static size_t next_chunk_len(const zone_arena_t *arena, unsigned part, size_t len)
{
	size_t size = zone_arena_size(arena), next = size / part & ~(size_t)(UNIT - 1);
	if (!arena->growth->is_fork) {
		size_t doubled = size < SPLIT_FROM ? size : SPLIT_FROM;
		next = next < doubled ? doubled : next;
	}
	next = next < FORK_CHUNK_MIN ? FORK_CHUNK_MIN : next;
	next = next > ZONE_CHUNK_MAX ? ZONE_CHUNK_MAX : next;
	return next < len ? len : next;
}

/* Take `len` bytes from a chunk, or from a new one, whose number is then in *chunk. */
static zone_ref_t alloc_in(zone_arena_t *arena, uint32_t *chunk, size_t len)
{
	const slot_t *slot = *chunk != NO_CHUNK ? &arena->growth->slots[*chunk] : NULL;
	if (slot == NULL || slot->used >= ZONE_CHUNK_MAX || len > len_of(slot->chunk) - slot->used) {
		unsigned part = chunk == &arena->growth->brief ? BRIEF_CHUNK_PART
				: arena->growth->is_fork       ? FORK_CHUNK_PART
							       : CHUNK_PART;
		uint32_t added = add_chunk(arena, next_chunk_len(arena, part, len));
		if (added == NO_CHUNK) {
			return 0;
		}
		*chunk = added;
	}
	zone_ref_t ref = end_of(arena, *chunk);
	/* Chunks come zeroed, but a discarded fork may have written behind its parent's end. */
	memset(zone_at(&arena->view, ref), 0, len);
	arena->growth->slots[*chunk].used += len;
	return ref;
}

static void arena_count(zone_arena_t *arena, zone_ref_t ref, int64_t by)
{
	slot_t *slot = &arena->growth->slots[ref >> ZONE_CHUNK_OFFSET_BITS];
	slot->live += by;
	arena->growth->live += by;
	assert(slot->live >= 0 || slot->is_about); /* an image may be wrong */
}

zone_ref_t zone_arena_alloc(zone_arena_t *arena, size_t len)
{
	assert(len > 0);
	size_t units = (len + UNIT - 1) / UNIT;
	zone_ref_t ref =
			units < RECYCLE_CLASSES && arena->growth->recycled != NULL ? arena->growth->recycled[units] : 0;
	if (ref != 0) {
		uint8_t *p = zone_at(&arena->view, ref);
		memcpy(&arena->growth->recycled[units], p, sizeof(zone_ref_t));
		memset(p, 0, units * UNIT);
	} else {
		growth_t *growth = arena->growth;
		ref = alloc_in(arena, growth->is_moving ? &growth->moved : &growth->current, units * UNIT);
	}
	if (ref != 0) {
		arena_count(arena, ref, (int64_t)(units * UNIT));
	}
	return ref;
}

zone_ref_t zone_arena_alloc_kept(zone_arena_t *arena, size_t len)
{
	assert(len > 0);
	size_t rounded = (len + UNIT - 1) & ~(size_t)(UNIT - 1);
	bool is_apart = arena->growth->kept != NO_CHUNK || zone_arena_size(arena) >= SPLIT_FROM;
	zone_ref_t ref = alloc_in(arena, is_apart ? &arena->growth->kept : &arena->growth->current, rounded);
	if (ref != 0) {
		arena_count(arena, ref, (int64_t)rounded);
	}
	return ref;
}

zone_ref_t zone_arena_alloc_brief(zone_arena_t *arena, size_t len)
{
	assert(len > 0);
	if (!arena->growth->is_moving) {
		return zone_arena_alloc(arena, len);
	}
	size_t rounded = (len + UNIT - 1) & ~(size_t)(UNIT - 1);
	zone_ref_t ref = alloc_in(arena, &arena->growth->brief, rounded);
	if (ref != 0) {
		arena_count(arena, ref, (int64_t)rounded);
	}
	return ref;
}

bool zone_arena_is_fork(const zone_arena_t *arena)
{
	return arena->growth != NULL && arena->growth->is_fork;
}

bool zone_arena_is_mine(const zone_arena_t *arena, zone_ref_t ref)
{
	size_t off = UNIT * (size_t)(ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
	return off >= arena->growth->slots[ref >> ZONE_CHUNK_OFFSET_BITS].mark;
}

int64_t zone_arena_live_change(const zone_arena_t *arena)
{
	assert(arena->growth != NULL);
	return arena->growth->live;
}

void zone_arena_shrink(zone_arena_t *arena, zone_ref_t ref, size_t len, size_t less)
{
	assert(less <= len && arena->growth != NULL);
	arena_count(arena, ref, -(int64_t)(((len + UNIT - 1) / UNIT - (less + UNIT - 1) / UNIT) * UNIT));
}

void zone_arena_drop(zone_arena_t *arena, zone_ref_t ref, size_t len)
{
	assert(ref != 0 && arena->growth != NULL);
	size_t units = (len + UNIT - 1) / UNIT;
	arena_count(arena, ref, -(int64_t)(units * UNIT));
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

/* Give back what a chunk has not used. */
static void arena_trim(zone_arena_t *arena, uint32_t number)
{
	slot_t *slot = &arena->growth->slots[number];
	chunk_t *chunk = slot->chunk;
	if (atomic_load_explicit(&chunk->users, memory_order_relaxed) != 1) {
		return;
	}
	size_t pages_len = (slot->used + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (chunk->kind == CHUNK_HEAP && slot->used < len_of(chunk)) {
		uint8_t *base = realloc(chunk->base, slot->used);
		if (base != NULL) {
			chunk->base = arena->growth->bases[number] = base;
			set_len(chunk, slot->used);
		}
	} else if (chunk->kind == CHUNK_MAPPED && pages_len < len_of(chunk) - len_of(chunk) / 8) {
		/* A huge page that is nearly full stays one. */
		munmap(chunk->base + pages_len, len_of(chunk) - pages_len);
		set_len(chunk, pages_len);
	}
}

void zone_arena_give_back(zone_arena_t *arena, uint32_t chunk)
{
	slot_t *slot = &arena->growth->slots[chunk];
	assert(chunk < arena->view.chunk_count);
	if (slot->chunk != NULL) {
		drop_chunk(slot->chunk);
		set_slot(arena, chunk, (slot_t){ .chunk = NULL, .is_gone = true });
		arena->growth->current = arena->growth->current == chunk ? NO_CHUNK : arena->growth->current;
		arena->growth->kept = arena->growth->kept == chunk ? NO_CHUNK : arena->growth->kept;
		arena->growth->moved = arena->growth->moved == chunk ? NO_CHUNK : arena->growth->moved;
		arena->growth->brief = arena->growth->brief == chunk ? NO_CHUNK : arena->growth->brief;
	}
}

void zone_arena_seal(zone_arena_t *arena, bool pack)
{
	assert(arena->growth != NULL);
	growth_t *growth = arena->growth;
	free(growth->recycled);
	growth->recycled = NULL;
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		bool is_filling = i == growth->current || i == growth->kept || i == growth->moved || i == growth->brief;
		const slot_t *slot = &growth->slots[i];
		if (slot->chunk != NULL && slot->live == 0 && !slot->is_about && !is_filling) {
			zone_arena_give_back(arena, i);
		}
	}
	KNOT_ASSERT_SLOW(arena_is_sound(arena));
	if (pack && growth->current != NO_CHUNK) {
		arena_trim(arena, growth->current);
	}
	if (pack && growth->kept != NO_CHUNK) {
		arena_trim(arena, growth->kept);
	}
}

void zone_arena_renumber(zone_arena_t *arena)
{
	assert(arena->growth != NULL && arena->growth->is_fork);
	enum { GONE_MIN = 64 };
	uint32_t gone = 0, used = 0;
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		gone += arena->growth->slots[i].is_gone;
		used += arena->growth->slots[i].chunk != NULL;
	}
	if (gone > used + GONE_MIN) {
		arena->lineage = new_lineage();
		arena_let_reuse(arena);
	}
}

void zone_arena_move(zone_arena_t *arena, bool is_first)
{
	growth_t *growth = arena->growth;
	assert(growth != NULL && growth->is_fork);
	growth->is_moving = true;
	if (is_first) {
		growth->current = growth->moved = growth->brief = NO_CHUNK;
		zone_arena_renumber(arena);
	}
}

zone_chunk_use_t zone_arena_chunk_use(const zone_arena_t *arena, uint32_t chunk)
{
	slot_t slot = arena_slot_of(arena, chunk);
	return (zone_chunk_use_t){ slot.chunk != NULL ? len_of(slot.chunk) : 0, slot.live > 0 ? (size_t)slot.live : 0,
		slot.is_about, slot.is_ordered || slot.is_about };
}

void *zone_arena_pack(zone_arena_t *take_arena, size_t data_len, zone_arena_t **ret_arena)
{
	KNOT_ASSERT_SLOW(arena_is_sound(take_arena));
	enum { PACKED_MAX = 16 * 1024 }; /* bytes: a large arena wouldn't profit, and would be copied */
	const slot_t *slot = take_arena->growth != NULL ? &take_arena->growth->slots[0] : NULL;
	if (slot == NULL || take_arena->view.chunk_count != 1 || slot->used > PACKED_MAX ||
			atomic_load_explicit(&slot->chunk->users, memory_order_relaxed) != 1) {
		return NULL;
	}
	assert(data_len >= sizeof(zone_arena_view_t));
	size_t used = slot->used, room = (data_len + UNIT - 1) & ~(size_t)(UNIT - 1);
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
		const chunk_t *chunk = arena_slot_of(arena, i).chunk;
		size += chunk != NULL ? len_of(chunk) : 0;
	}
	return size;
}
