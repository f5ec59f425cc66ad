/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/arena.h"

#include "libknot/base/assert.h"
#include "src/sys/clock.h"
#include "src/zone/chunk.h"
#include "src/zone/slab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
	UNIT = ZONE_CHUNK_UNIT,
	FIRST_CHUNK_LEN = 4096, /* bytes: most zones fit, and are then packed (zone_arena_pack()) */
	FORK_CHUNK_MIN = 256,
	CHUNK_PART = 16,        /* a chunk is at least this part of an arena built from scratch … */
	FORK_CHUNK_PART = 64,   /* … and of one that grows by transactions … */
	BRIEF_CHUNK_PART = 512, /* … and for zone_arena_alloc_brief() */
	SPLIT_FROM = 8 * 1024,  /* bytes of an arena from which on what is never moved gets chunks of its own */
	PAGE = 4096,
	RECYCLE_LEN_MAX = 49 * 12 + UNIT, /* largest twig array, rounded up */
	RECYCLE_CLASSES = RECYCLE_LEN_MAX / UNIT + 1,
	SHELF_LEN = 16, /* slots */
	SHELF_LEN_MIN = 2,
};

/* A chunk as one arena sees it. */
typedef struct {
	zone_chunk_t *chunk; /* NULL: the arena has none of this number now */
	size_t used;         /* bytes allocated; those of the chunk being filled may still grow */
	int64_t live;        /* bytes allocated less bytes dropped, by all transactions up to this one */
	size_t mark;         /* bytes allocated by the transactions before this one; what is behind is its own */
	bool is_about;       /* from an image, or packed: `live` counts what was not in use then, too */
	bool is_ordered;     /* allocated in the order of names, by a build from scratch or a pass of compaction */
	bool is_gone;        /* it was given back: the number isn't used again in this lineage */
} slot_t;

/*
 * The slots of SHELF_LEN chunks whose numbers follow each other. Arenas share it: a fork takes over the shelves of its
 * parent as they are, and copies one before it changes a slot of it. So a commit looks at the chunks that it changes
 * and their neighbours, not at all of a large zone's.
 */
typedef struct {
	atomic_uint users; /* arenas that share it */
	uint32_t room;     /* of slots: SHELF_LEN, or less while there are few chunks */
	bool has_empty;    /* when it was sealed, nothing was in use in a chunk that was being filled */
	slot_t slots[];
} shelf_t;

/* A shelf as one arena has it. */
typedef struct {
	shelf_t *shelf; /* NULL: none yet */
	bool is_own;    /* made by this arena: it may change it. Of others' slots `mark` doesn't count: all is theirs */
} held_t;

#define NO_CHUNK UINT32_MAX

/* What an arena needs that is not packed. */
typedef struct {
	held_t *held;         /* by number / SHELF_LEN */
	uint8_t **bases;      /* by number */
	uint32_t room;        /* of numbers in both */
	size_t size;          /* bytes of all chunks */
	uint32_t gone;        /* numbers of chunks that were given back */
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
	zone_chunk_t chunk;
	zone_arena_t arena; /* its view's table is the chunk's `base` */
} packed_t;

_Static_assert(offsetof(packed_t, arena.view) + sizeof(zone_arena_view_t) == sizeof(packed_t), "the view is last");

static zone_chunk_t *packed_chunk(const zone_arena_t *arena)
{
	return &((packed_t *)((uintptr_t)arena - offsetof(packed_t, arena)))->chunk;
}

/* A slot of an arena that isn't packed, for reading. */
static inline const slot_t *arena_slot(const zone_arena_t *arena, uint32_t i)
{
	assert(i < arena->view.chunk_count);
	return &arena->growth->held[i / SHELF_LEN].shelf->slots[i % SHELF_LEN];
}

static slot_t arena_slot_of(const zone_arena_t *arena, uint32_t i)
{
	assert(i < arena->view.chunk_count);
	if (arena->growth != NULL) {
		return *arena_slot(arena, i);
	}
	zone_chunk_t *chunk = packed_chunk(arena);
	return (slot_t){
		.chunk = chunk, .used = zone_chunk_len(chunk), .live = (int64_t)zone_chunk_len(chunk), .is_about = true
	};
}

/* Invariant: every chunk is in use, the readers' table has it, it holds no more than it has room for, and the sums are
 * right. */
static bool arena_is_sound(const zone_arena_t *arena)
{
	size_t size = 0;
	uint32_t gone = 0;
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		slot_t slot = arena_slot_of(arena, i);
		bool is_sound = slot.chunk == NULL
						? arena->view.chunks[i] == NULL && slot.used == 0 && slot.live == 0
						: atomic_load_explicit(&slot.chunk->users, memory_order_relaxed) > 0 &&
								  arena->view.chunks[i] == slot.chunk->base &&
								  slot.used <= zone_chunk_len(slot.chunk) &&
								  slot.used % UNIT == 0 &&
								  slot.live <= (int64_t)slot.used &&
								  (slot.live >= 0 || slot.is_about);
		if (!is_sound) {
			return false;
		}
		size += slot.chunk != NULL ? zone_chunk_len(slot.chunk) : 0;
		gone += slot.is_gone;
	}
	return size == zone_arena_size(arena) && (arena->growth == NULL || gone == arena->growth->gone);
}

/* ---- Shelves ---- */

static void shelf_drop(shelf_t *shelf)
{
	unsigned users = atomic_fetch_sub_explicit(&shelf->users, 1, memory_order_acq_rel);
	assert(users > 0);
	if (users != 1) {
		return;
	}
	for (uint32_t i = 0; i < shelf->room; i++) {
		if (shelf->slots[i].chunk != NULL) {
			zone_chunk_drop(shelf->slots[i].chunk);
		}
	}
	free(shelf);
}

/* Let an arena have a shelf of its own, with what is in the one that it has, and room for at least `room` slots. False:
 * out of memory. */
__attribute__((noinline)) static bool shelf_own(held_t *held, uint32_t room)
{
	const uint32_t count = held->shelf != NULL ? held->shelf->room : 0;
	uint32_t want = count > 0 ? count : SHELF_LEN_MIN;
	while (want < room) {
		want *= 2;
	}
	shelf_t *shelf = calloc(1, sizeof(*shelf) + want * sizeof(*shelf->slots));
	if (shelf == NULL) {
		return false;
	}
	atomic_init(&shelf->users, 1);
	shelf->room = want;
	for (uint32_t i = 0; i < count; i++) {
		slot_t *slot = &shelf->slots[i];
		*slot = held->shelf->slots[i];
		if (!held->is_own) {
			slot->mark = slot->used;
		}
		if (slot->chunk != NULL) {
			atomic_fetch_add_explicit(&slot->chunk->users, 1, memory_order_relaxed);
		}
	}
	if (held->shelf != NULL) {
		shelf_drop(held->shelf);
	}
	*held = (held_t){ shelf, true };
	return true;
}

/* A slot for writing; NULL: out of memory, never where this arena has written to the slot before. */
static inline slot_t *arena_own_slot(zone_arena_t *arena, uint32_t i)
{
	assert(i < arena->view.chunk_count);
	held_t *held = &arena->growth->held[i / SHELF_LEN];
	if (__builtin_expect(!held->is_own, 0) && !shelf_own(held, 0)) {
		return NULL;
	}
	return &held->shelf->slots[i % SHELF_LEN];
}

/* The same of a number that had none. */
static slot_t *arena_new_slot(zone_arena_t *arena, uint32_t i)
{
	assert(i < arena->growth->room);
	held_t *held = &arena->growth->held[i / SHELF_LEN];
	bool is_there = held->is_own && i % SHELF_LEN < held->shelf->room;
	return is_there || shelf_own(held, i % SHELF_LEN + 1) ? &held->shelf->slots[i % SHELF_LEN] : NULL;
}

/* No other arena has the chunk. */
static bool arena_is_sole_user(const zone_arena_t *arena, uint32_t i)
{
	return atomic_load_explicit(&arena->growth->held[i / SHELF_LEN].shelf->users, memory_order_relaxed) == 1 &&
	       atomic_load_explicit(&arena_slot(arena, i)->chunk->users, memory_order_relaxed) == 1;
}

/* ---- Growing ---- */

static bool arena_make_room(zone_arena_t *arena, uint32_t room)
{
	growth_t *growth = arena->growth;
	if (room <= growth->room) {
		return true;
	}
	size_t shelves = (room + SHELF_LEN - 1) / SHELF_LEN, before = (growth->room + SHELF_LEN - 1) / SHELF_LEN;
	held_t *held = realloc(growth->held, shelves * sizeof(*held));
	if (held == NULL) {
		return false;
	}
	memset(held + before, 0, (shelves - before) * sizeof(*held));
	growth->held = held;
	uint8_t **bases = realloc(growth->bases, room * sizeof(*bases));
	if (bases == NULL) {
		return false;
	}
	growth->bases = bases;
	arena->view.chunks = bases;
	growth->room = room;
	return true;
}

/* A number that no chunk of the lineage has had, or the next one. References with number 0 would begin with "none". */
static uint32_t free_number(const zone_arena_t *arena)
{
	for (uint32_t i = 1; i < arena->view.chunk_count; i++) {
		if (arena_slot(arena, i)->chunk == NULL && !arena_slot(arena, i)->is_gone) {
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
	slot_t *slot = arena_new_slot(arena, number);
	zone_chunk_t *chunk = slot != NULL ? malloc(sizeof(*chunk)) : NULL;
	if (chunk == NULL) {
		return NO_CHUNK;
	}
	*chunk = (zone_chunk_t){ .base = NULL };
	if (!zone_chunk_map(chunk, len)) {
		free(chunk);
		return NO_CHUNK;
	}
	atomic_init(&chunk->users, 1);
	*slot = (slot_t){ .chunk = chunk, .is_ordered = arena->growth->is_moving || !arena->growth->is_fork };
	arena->growth->bases[number] = chunk->base;
	arena->growth->size += zone_chunk_len(chunk);
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
	arena_own_slot(arena, 0)->used = UNIT; /* reference 0 is none; add_chunk() wrote to the slot */
	return arena;
}

/* The reference of what comes next in a chunk. Nothing can be addressed behind an allocation that is larger than a
 * chunk: nothing comes there. */
static zone_ref_t end_of(const zone_arena_t *arena, uint32_t chunk)
{
	size_t used = arena_slot(arena, chunk)->used;
	assert(used < ZONE_CHUNK_MAX);
	return (chunk << ZONE_CHUNK_OFFSET_BITS) + (zone_ref_t)(used / UNIT);
}

static void fork_shelves(zone_arena_t *arena, const zone_arena_t *parent)
{
	growth_t *growth = arena->growth;
	arena->view.chunk_count = parent->view.chunk_count;
	memcpy(growth->bases, parent->growth->bases, parent->view.chunk_count * sizeof(*growth->bases));
	growth->size = parent->growth->size;
	growth->gone = parent->growth->gone;
	for (uint32_t i = 0; i * SHELF_LEN < parent->view.chunk_count; i++) {
		shelf_t *shelf = parent->growth->held[i].shelf;
		atomic_fetch_add_explicit(&shelf->users, 1, memory_order_relaxed);
		growth->held[i].shelf = shelf;
	}
}

static bool fork_packed(zone_arena_t *arena, const zone_arena_t *parent)
{
	slot_t *slot = arena_new_slot(arena, 0);
	if (slot == NULL) {
		return false;
	}
	*slot = arena_slot_of(parent, 0);
	slot->mark = slot->used;
	atomic_fetch_add_explicit(&slot->chunk->users, 1, memory_order_relaxed);
	arena->view.chunk_count = 1;
	arena->growth->bases[0] = slot->chunk->base;
	arena->growth->size = zone_chunk_len(slot->chunk);
	return true;
}

zone_arena_t *zone_arena_fork(zone_arena_t *parent)
{
	assert(parent->view.chunk_count > 0);
	KNOT_ASSERT_SLOW(arena_is_sound(parent));
	zone_arena_t *arena = new_arena(parent->lineage, parent->view.chunk_count + 1);
	if (arena == NULL) {
		return NULL;
	}
	if (parent->growth != NULL) {
		fork_shelves(arena, parent);
	} else if (!fork_packed(arena, parent)) {
		zone_arena_free(arena);
		return NULL;
	}
	growth_t *growth = arena->growth;
	growth->current = parent->growth != NULL ? parent->growth->current : 0;
	growth->moved = parent->growth != NULL ? parent->growth->moved : NO_CHUNK;
	growth->brief = parent->growth != NULL ? parent->growth->brief : NO_CHUNK;
	growth->is_fork = true;
	return arena;
}

/* From now on the numbers of chunks that were given back may be used again; where memory is short, not all of them. */
static void arena_let_reuse(zone_arena_t *arena)
{
	for (uint32_t i = 0; i < arena->view.chunk_count; i++) {
		slot_t *slot = arena_slot(arena, i)->is_gone ? arena_own_slot(arena, i) : NULL;
		if (slot != NULL) {
			slot->is_gone = false;
			arena->growth->gone--;
		}
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
		slot_t *slot = arena_new_slot(arena, i);
		if (slot == NULL) {
			zone_arena_free(arena);
			return NULL;
		}
		if (len == 0) { /* whatever the number had is gone from what is stored, too: it may be used again */
			*slot = (slot_t){ .chunk = NULL, .is_gone = true };
			arena->growth->bases[i] = NULL;
			arena->growth->gone++;
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
		slot->used = len;
		slot->live = (int64_t)len;
		slot->is_about = true;
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
		zone_chunk_drop(packed_chunk(take_arena));
		return;
	}
	for (uint32_t i = 0; i * SHELF_LEN < growth->room; i++) {
		if (growth->held[i].shelf != NULL) {
			shelf_drop(growth->held[i].shelf);
		}
	}
	free(growth->held);
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
	const slot_t *slot = *chunk != NO_CHUNK ? arena_slot(arena, *chunk) : NULL;
	if (slot == NULL || slot->used >= ZONE_CHUNK_MAX || len > zone_chunk_len(slot->chunk) - slot->used) {
		unsigned part = chunk == &arena->growth->brief ? BRIEF_CHUNK_PART
				: arena->growth->is_fork       ? FORK_CHUNK_PART
							       : CHUNK_PART;
		uint32_t added = add_chunk(arena, next_chunk_len(arena, part, len));
		if (added == NO_CHUNK) {
			return 0;
		}
		*chunk = added;
	}
	slot_t *own = arena_own_slot(arena, *chunk);
	if (own == NULL) {
		return 0;
	}
	zone_ref_t ref = end_of(arena, *chunk);
	/* Chunks come zeroed, but a discarded fork may have written behind its parent's end. */
	memset(zone_at(&arena->view, ref), 0, len);
	own->used += len;
	return ref;
}

static void arena_count(zone_arena_t *arena, zone_ref_t ref, int64_t by)
{
	slot_t *slot = arena_own_slot(arena, ref >> ZONE_CHUNK_OFFSET_BITS);
	arena->growth->live += by;
	if (slot != NULL) { /* else memory is short, and the chunk seems to have more in use */
		slot->live += by;
		assert(slot->live >= 0 || slot->is_about); /* an image may be wrong */
	}
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
	uint32_t chunk = ref >> ZONE_CHUNK_OFFSET_BITS;
	return arena->growth->held[chunk / SHELF_LEN].is_own && off >= arena_slot(arena, chunk)->mark;
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
	const slot_t *slot = arena_slot(arena, number);
	zone_chunk_t *chunk = slot->chunk;
	if (!arena_is_sole_user(arena, number)) {
		return;
	}
	arena->growth->size -= zone_chunk_len(chunk);
	size_t pages_len = (slot->used + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (chunk->kind == ZONE_CHUNK_HEAP && slot->used < zone_chunk_len(chunk)) {
		uint8_t *base = realloc(chunk->base, slot->used);
		if (base != NULL) {
			chunk->base = arena->growth->bases[number] = base;
			zone_chunk_set_len(chunk, slot->used);
		}
	} else if (chunk->kind == ZONE_CHUNK_MAPPED && pages_len < zone_chunk_len(chunk) - zone_chunk_len(chunk) / 8) {
		/* A huge page that is nearly full stays one. */
		munmap(chunk->base + pages_len, zone_chunk_len(chunk) - pages_len);
		zone_chunk_set_len(chunk, pages_len);
	}
	arena->growth->size += zone_chunk_len(chunk);
}

void zone_arena_give_back(zone_arena_t *arena, uint32_t chunk)
{
	assert(chunk < arena->view.chunk_count);
	slot_t *slot = arena_slot(arena, chunk)->chunk != NULL ? arena_own_slot(arena, chunk) : NULL;
	if (slot != NULL) { /* else it has none, or memory is short: it keeps this one */
		arena->growth->size -= zone_chunk_len(slot->chunk);
		zone_chunk_drop(slot->chunk);
		*slot = (slot_t){ .chunk = NULL, .is_gone = true };
		arena->growth->bases[chunk] = NULL;
		arena->growth->gone++;
		arena->growth->current = arena->growth->current == chunk ? NO_CHUNK : arena->growth->current;
		arena->growth->kept = arena->growth->kept == chunk ? NO_CHUNK : arena->growth->kept;
		arena->growth->moved = arena->growth->moved == chunk ? NO_CHUNK : arena->growth->moved;
		arena->growth->brief = arena->growth->brief == chunk ? NO_CHUNK : arena->growth->brief;
	}
}

/* Give back the chunks of a shelf in which nothing is in use. */
static void arena_seal_shelf(zone_arena_t *arena, uint32_t shelf)
{
	growth_t *growth = arena->growth;
	bool has_empty = false;
	for (uint32_t i = shelf * SHELF_LEN; i < (shelf + 1) * SHELF_LEN && i < arena->view.chunk_count; i++) {
		bool is_filling = i == growth->current || i == growth->kept || i == growth->moved || i == growth->brief;
		const slot_t *slot = arena_slot(arena, i);
		bool is_empty = slot->chunk != NULL && slot->live == 0 && !slot->is_about;
		if (is_empty && !is_filling) {
			zone_arena_give_back(arena, i);
		}
		has_empty |= is_empty && is_filling;
	}
	if (growth->held[shelf].is_own) {
		growth->held[shelf].shelf->has_empty = has_empty;
	}
}

void zone_arena_seal(zone_arena_t *arena, bool pack)
{
	assert(arena->growth != NULL);
	growth_t *growth = arena->growth;
	free(growth->recycled);
	growth->recycled = NULL;
	for (uint32_t i = 0; i * SHELF_LEN < arena->view.chunk_count; i++) {
		if (growth->held[i].is_own || growth->held[i].shelf->has_empty) {
			arena_seal_shelf(arena, i);
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
	uint32_t gone = arena->growth->gone, used = 0;
	for (uint32_t i = 0; i < arena->view.chunk_count && gone > GONE_MIN; i++) {
		used += arena_slot(arena, i)->chunk != NULL;
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
	return (zone_chunk_use_t){ slot.chunk != NULL ? zone_chunk_len(slot.chunk) : 0,
		slot.live > 0 ? (size_t)slot.live : 0, slot.is_about, slot.is_ordered || slot.is_about };
}

void *zone_arena_pack(zone_arena_t *take_arena, size_t data_len, zone_arena_t **ret_arena)
{
	KNOT_ASSERT_SLOW(arena_is_sound(take_arena));
	enum { PACKED_MAX = 16 * 1024 }; /* bytes: a large arena wouldn't profit, and would be copied */
	const slot_t *slot = take_arena->growth != NULL ? arena_slot(take_arena, 0) : NULL;
	if (slot == NULL || take_arena->view.chunk_count != 1 || slot->used > PACKED_MAX ||
			!arena_is_sole_user(take_arena, 0)) {
		return NULL;
	}
	assert(data_len >= sizeof(zone_arena_view_t));
	size_t used = slot->used, room = (data_len + UNIT - 1) & ~(size_t)(UNIT - 1);
	packed_t *packed = zone_slab_alloc(offsetof(packed_t, arena.view) + room + used);
	if (packed == NULL) {
		return NULL;
	}
	packed->chunk = (zone_chunk_t){ .kind = ZONE_CHUNK_PACKED, .base = (uint8_t *)&packed->arena.view + room };
	zone_chunk_set_len(&packed->chunk, used);
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
	return arena->growth != NULL ? arena->growth->size : zone_chunk_len(packed_chunk(arena));
}
