/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions of an arena that share what they know of chunks: what one counts is its own, whatever memory is short of,
 * and whoever frees the others meanwhile.
 */
#include "src/zone/arena.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- Memory that is short ---- */

/* Shelves and small chunks come from calloc(), which the linker leads here. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool is_short;

void *__wrap_calloc(size_t count, size_t size)
{
	return is_short ? NULL : __real_calloc(count, size);
}

/* ---- An arena of many chunks ---- */

enum { BLOCK = 64 * 1024, BLOCKS = 48 /* on four shelves */ };

static uint32_t chunk_of(zone_ref_t ref)
{
	return ref >> ZONE_CHUNK_OFFSET_BITS;
}

static zone_arena_t *make_blocks(zone_ref_t *ret_refs)
{
	zone_arena_t *arena = zone_arena_new(0);
	assert_non_null(arena);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ret_refs[i] = zone_arena_alloc(arena, BLOCK);
		assert_int_not_equal(ret_refs[i], 0);
	}
	zone_arena_seal(arena, false);
	assert_in_range(zone_arena_view(arena)->chunk_count, 33, BLOCKS + 1);
	return arena;
}

static size_t sum_of_lens(const zone_arena_t *arena)
{
	size_t sum = 0;
	for (uint32_t i = 0; i < zone_arena_view(arena)->chunk_count; i++) {
		sum += zone_arena_chunk_use(arena, i).len;
	}
	return sum;
}

static size_t live_in(const zone_arena_t *arena, zone_ref_t ref)
{
	return zone_arena_chunk_use(arena, chunk_of(ref)).live;
}

/* What a transaction can't count seems to be in use; nothing else goes wrong, and no other version notices. */
static void test_out_of_memory(void **state)
{
	(void)state;
	enum { LOST = 3, GIVEN = 5, DROPPED = 20 };
	zone_ref_t refs[BLOCKS];
	zone_arena_t *parent = make_blocks(refs), *fork = zone_arena_fork(parent);
	assert_non_null(fork);
	assert_int_equal(live_in(parent, refs[DROPPED]), BLOCK);
	size_t size = zone_arena_size(parent);

	is_short = true;
	assert_null(zone_arena_fork(parent));
	zone_arena_drop(fork, refs[LOST], BLOCK);
	zone_arena_give_back(fork, chunk_of(refs[GIVEN]));
	assert_int_equal(zone_arena_alloc(fork, 8), 0);
	is_short = false;
	assert_int_equal(zone_arena_live_change(fork), -BLOCK);
	assert_int_equal(live_in(fork, refs[LOST]), BLOCK);
	assert_int_equal(live_in(fork, refs[GIVEN]), BLOCK);
	assert_false(zone_arena_is_mine(fork, refs[LOST]));
	assert_int_equal(zone_arena_size(fork), size);

	zone_arena_drop(fork, refs[DROPPED], BLOCK);
	zone_ref_t ref = zone_arena_alloc(fork, 8);
	assert_true(ref != 0 && zone_arena_is_mine(fork, ref));
	assert_int_equal(live_in(fork, refs[DROPPED]), 0);
	zone_arena_seal(fork, false);
	const zone_arena_view_t *view = zone_arena_view(fork);
	assert_null(view->chunks[chunk_of(refs[DROPPED])]);
	assert_non_null(view->chunks[chunk_of(refs[LOST])]);
	assert_int_equal(sum_of_lens(fork), zone_arena_size(fork));

	assert_int_equal(live_in(parent, refs[DROPPED]), BLOCK);
	assert_int_equal(sum_of_lens(parent), size);
	assert_int_equal(zone_arena_size(parent), size);
	zone_arena_free(parent);
	zone_arena_free(fork);
}

/* ---- Many versions ---- */

enum { VERSIONS = 400, KEPT = 8, ITEMS = 3000, ITEM_MAX = 96, CHUNKS_MAX = 2048 };

typedef struct {
	zone_ref_t ref; /* 0: there is none */
	size_t len;
} item_t;

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

/* Replace one of the items, or end it. Whole pages of them end at times, so that chunks become empty. */
static void change_item(zone_arena_t *arena, item_t *item, bool ends)
{
	if (item->ref != 0) {
		zone_arena_drop(arena, item->ref, item->len);
		item->ref = 0;
	}
	if (!ends) {
		item->len = 8 + draw(ITEM_MAX);
		item->ref = draw(2) == 0 ? zone_arena_alloc(arena, item->len) : zone_arena_alloc_kept(arena, item->len);
		assert_int_not_equal(item->ref, 0);
		memset(zone_at(zone_arena_view(arena), item->ref), (int)item->len, item->len);
	}
}

static zone_arena_t *next_version(zone_arena_t *parent, item_t *items)
{
	zone_arena_t *arena = zone_arena_fork(parent);
	assert_non_null(arena);
	zone_arena_renumber(arena);
	unsigned first = draw(ITEMS), count = draw(8) == 0 ? ITEMS / 3 : draw(20);
	bool ends = draw(3) == 0;
	for (unsigned i = first; i < first + count; i++) {
		change_item(arena, &items[i % ITEMS], ends);
	}
	zone_arena_seal(arena, false);
	return arena;
}

/* What each chunk has in use is what items take there. */
static void check_counts(const zone_arena_t *arena, const item_t *items)
{
	static size_t live[CHUNKS_MAX];
	memset(live, 0, sizeof(live));
	const zone_arena_view_t *view = zone_arena_view(arena);
	assert_in_range(view->chunk_count, 1, CHUNKS_MAX);
	for (unsigned i = 0; i < ITEMS; i++) {
		if (items[i].ref != 0) {
			const uint8_t *bytes = zone_at(view, items[i].ref);
			assert_true(bytes[0] == (uint8_t)items[i].len && bytes[items[i].len - 1] == bytes[0]);
			live[chunk_of(items[i].ref)] += (items[i].len + 7) & ~(size_t)7;
		}
	}
	for (uint32_t i = 0; i < view->chunk_count; i++) {
		assert_int_equal(zone_arena_chunk_use(arena, i).live, live[i]);
	}
	assert_int_equal(sum_of_lens(arena), zone_arena_size(arena));
}

static void test_counts(void **state)
{
	(void)state;
	static item_t items[KEPT][ITEMS];
	zone_arena_t *kept[KEPT] = { zone_arena_new(0) };
	assert_non_null(kept[0]);
	memset(items, 0, sizeof(items));
	zone_arena_seal(kept[0], false);
	random_state = 1;
	for (unsigned i = 1; i < VERSIONS; i++) {
		unsigned now = i % KEPT, before = (i - 1) % KEPT;
		check_counts(kept[now] != NULL ? kept[now] : kept[before],
				kept[now] != NULL ? items[now] : items[before]);
		zone_arena_free(kept[now]);
		memcpy(items[now], items[before], sizeof(items[now]));
		kept[now] = next_version(kept[before], items[now]);
		check_counts(kept[now], items[now]);
	}
	for (unsigned i = 0; i < KEPT; i++) {
		zone_arena_free(kept[i]);
	}
}

/* ---- Threads that have versions ---- */

enum { READERS = 3 };

/* As images, renewal and passes: each holds a version for a while, and frees it. */
typedef struct {
	_Atomic(zone_arena_t *) held;
	atomic_bool *end;
	size_t seen; /* bytes */
} reader_t;

static void *read_versions(void *arg)
{
	reader_t *reader = arg;
	bool is_last = false;
	for (bool ends = false; !is_last; ends = atomic_load(reader->end)) {
		zone_arena_t *arena = atomic_exchange(&reader->held, NULL);
		for (uint32_t i = 0; arena != NULL && i < zone_arena_view(arena)->chunk_count; i++) {
			knot_bytes_t chunk = zone_arena_chunk(arena, i);
			for (size_t at = 0; at < chunk.len; at++) {
				reader->seen += chunk.data[at] != 0;
			}
		}
		is_last = ends && arena == NULL;
		zone_arena_free(arena);
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	static item_t items[ITEMS];
	memset(items, 0, sizeof(items));
	atomic_bool end = false;
	reader_t readers[READERS];
	pthread_t threads[READERS];
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (reader_t){ .end = &end };
		assert_int_equal(pthread_create(&threads[i], NULL, read_versions, &readers[i]), 0);
	}
	zone_arena_t *now = zone_arena_new(0);
	assert_non_null(now);
	zone_arena_seal(now, false);
	random_state = 2;
	for (unsigned i = 0; i < VERSIONS; i++) {
		zone_arena_t *next = next_version(now, items), *hold = zone_arena_fork(next), *none = NULL;
		assert_non_null(hold);
		if (!atomic_compare_exchange_strong(&readers[i % READERS].held, &none, hold)) {
			zone_arena_free(hold);
		}
		zone_arena_free(now);
		now = next;
	}
	atomic_store(&end, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(readers[i].seen > 0);
	}
	check_counts(now, items);
	zone_arena_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_threads) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
