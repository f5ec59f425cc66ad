/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging beside the thread that stores changes, and entries that are stored in several transactions. */
#include "src/journal/internal.h"
#include "src/journal/journal_test.h"

enum { MAP = 256 << 20, LARGE = 50000, DEPTH = 4 };

static const bool never;
static const journal_limits_t merging = { .usage_max = 100 << 20, .depth_max = DEPTH, .may_merge = true };

/* Entries of more than two pieces are stored in several transactions. */
static journal_t *begin_small(void)
{
	test_remove_files();
	journal_t *journal = NULL;
	journal_reason_t reason;
	journal_params_t params = { .path = test_path, .size_max = MAP, .transaction_max = 2 * JOURNAL_PIECE_MAX };
	assert_int_equal(journal_open(&params, &journal, &reason), KNOT_OK);
	return journal;
}

static void append_many(journal_t *journal, uint32_t from, uint32_t to, size_t len, const journal_limits_t *limits)
{
	for (uint32_t serial = from; serial < to; serial++) {
		assert_int_equal(test_append_to(journal, zone_a, serial, serial + 1, len, limits), KNOT_OK);
	}
}

static void merge(journal_t *journal, const journal_limits_t *limits)
{
	journal_reason_t reason;
	knot_err_t err = journal_merge(journal, zone_a, limits, &never, &reason);
	if (err != KNOT_OK) {
		fail_msg("merging: %s, %s", knot_strerror(err), reason.text);
	}
	assert_false(journal_wants_merge(journal, zone_a));
}

static uint32_t count_changes(journal_t *journal)
{
	journal_info_t info;
	assert_int_equal(journal_info(journal, zone_a, &info), KNOT_OK);
	return info.changes;
}

static void test_large_changes_wait(void **state)
{
	(void)state;
	test_remove_files();
	journal_t *journal = test_open(MAP);
	append_many(journal, 1, 5, LARGE, &merging);
	assert_false(journal_wants_merge(journal, zone_a));
	append_many(journal, 5, 7, LARGE, &merging);
	assert_true(journal_wants_merge(journal, zone_a));
	assert_false(journal_wants_merge(journal, zone_b));
	test_expect(journal, zone_a, "1-2 2-3 3-4 4-5 5-6 6-7 ");
	merge(journal, &merging);
	test_expect(journal, zone_a, "M1-5 5-6 6-7 "); /* as if 5-6 had made room for itself */
	append_many(journal, 7, 8, 10, &merging);
	test_expect(journal, zone_a, "M1-5 5-6 6-7 7-8 ");
	journal_close(journal);
	journal = test_open(MAP);
	test_expect(journal, zone_a, "M1-5 5-6 6-7 7-8 ");
	journal_close(journal);
}

static void test_merged_into_whole(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	assert_int_equal(test_put_zone(journal, zone_a, 1, LARGE, &merging), KNOT_OK);
	append_many(journal, 1, 6, LARGE, &merging);
	merge(journal, &merging);
	test_expect(journal, zone_a, "W5 5-6 ");
	append_many(journal, 6, 60, LARGE, &merging);
	merge(journal, &merging);
	assert_in_range(count_changes(journal), 1, DEPTH);
	journal_close(journal);
}

/* If journal_merge() never comes, changes are stored all the same. */
static void test_depth_has_a_bound(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	uint32_t most = 0;
	for (uint32_t serial = 1; serial < 200; serial++) {
		append_many(journal, serial, serial + 1, LARGE, &merging);
		most = count_changes(journal) > most ? count_changes(journal) : most;
	}
	assert_int_equal(most, DEPTH + JOURNAL_DEPTH_MORE);
	merge(journal, &merging);
	assert_in_range(count_changes(journal), 1, DEPTH);
	journal_close(journal);
}

/* A change is stored while the merge looks at the borders; no border is missed. */
typedef struct {
	journal_t *journal;
	uint32_t serial, border;
	unsigned calls;
} hook_t;

static size_t append_meanwhile(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	hook_t *hook = ctx;
	ret_serials[0] = hook->border;
	if (hook->calls++ < 20) {
		append_many(hook->journal, hook->serial, hook->serial + 1, LARGE, &merging);
		hook->serial++;
	}
	return 1;
}

static void test_changes_meanwhile(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	append_many(journal, 1, 9, LARGE, &merging);
	hook_t hook = { .journal = journal, .serial = 9, .border = 4 };
	journal_limits_t limits = merging;
	limits.borders = append_meanwhile;
	limits.borders_ctx = &hook;
	merge(journal, &limits);
	assert_true(hook.calls > 1);
	test_spell_t s = { .left = 1000 };
	assert_int_equal(journal_each_from(journal, zone_a, 4, test_spell, &s), KNOT_OK);
	assert_false(s.wrong);
	s = (test_spell_t){ .left = 1000 };
	assert_int_equal(journal_each_from(journal, zone_a, 1, test_spell, &s), KNOT_OK);
	assert_false(s.wrong);
	journal_close(journal);
}

static size_t drop_meanwhile(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	(void)ret_serials;
	hook_t *hook = ctx;
	if (hook->calls++ == 0) {
		assert_int_equal(journal_drop(hook->journal, zone_a, NULL), KNOT_OK);
		append_many(hook->journal, 50, 52, LARGE, &merging);
	}
	return 0;
}

static void test_dropped_meanwhile(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	append_many(journal, 1, 9, LARGE, &merging);
	hook_t hook = { .journal = journal };
	journal_limits_t limits = merging;
	limits.borders = drop_meanwhile;
	limits.borders_ctx = &hook;
	assert_int_equal(journal_merge(journal, zone_a, &limits, &never, NULL), KNOT_OK);
	test_expect(journal, zone_a, "50-51 51-52 ");
	journal_close(journal);
}

/* What a background merge makes of the changes there are, computed and not stored. */
static journal_chain_t merge_all(journal_t *journal, journal_merge_t *ret_merge)
{
	journal_chain_t chain;
	MDB_txn *txn;
	assert_int_equal(journal_begin_read_zone(journal, zone_a, &txn), 0);
	assert_int_equal(journal_chain_read(journal, txn, zone_a, &chain), KNOT_OK);
	journal_range_t range = { .end = chain.count };
	assert_int_equal(journal_chain_load(journal, txn, zone_a, &chain, &range), KNOT_OK);
	journal_end_read(journal, txn);
	assert_int_equal(journal_chain_merge(&chain, &range, ret_merge), KNOT_OK);
	return chain;
}

/* Numbers begin at 1 again, and those of the merge are those of changes that were stored since: their pieces stay. */
static void test_dropped_between_pieces(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	journal_merge_t made;
	journal_reason_t reason;
	append_many(journal, 1, 5, 10, &wide);
	append_many(journal, 5, 6, 5000, &wide);
	journal_chain_t chain = merge_all(journal, &made);
	assert_int_equal(journal_put_loose(journal, zone_a, &made.entry, &made, NULL, &reason), KNOT_OK);
	assert_int_equal(journal_drop(journal, zone_a, NULL), KNOT_OK);
	assert_int_equal(journal_put_loose(journal, zone_a, &made.entry, &made, NULL, &reason), KNOT_EAGAIN);
	append_many(journal, 50, 58, LARGE, &wide);
	assert_int_equal(journal_put_loose(journal, zone_a, &made.entry, &made, NULL, &reason), KNOT_EAGAIN);
	test_expect(journal, zone_a, "50-51 51-52 52-53 53-54 54-55 55-56 56-57 57-58 ");
	free((void *)made.entry.change.payload.data);
	journal_chain_done(&chain);
	journal_close(journal);
}

/* Between the pieces of a change and its head the zone is dropped, and other changes are stored. */
static size_t drop_below_pieces(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	(void)ret_serials;
	hook_t *hook = ctx;
	if (hook->calls++ == 0) {
		assert_int_equal(journal_drop(hook->journal, zone_a, NULL), KNOT_OK);
		append_many(hook->journal, 50, hook->serial, 10, &wide);
	}
	return 0;
}

static void test_pieces_are_gone(void **state)
{
	(void)state;
	static const struct {
		uint32_t serial;
		const char *want;
	} cases[] = {
		{ 51, "50-51 " },
		{ 58, "50-51 51-52 52-53 53-54 54-55 55-56 56-57 57-58 " },
	};
	for (size_t i = 0; i < KNOT_LEN(cases); i++) {
		journal_t *journal = begin_small();
		append_many(journal, 1, 5, LARGE, &merging);
		hook_t hook = { .journal = journal, .serial = cases[i].serial };
		journal_limits_t limits = merging;
		limits.borders = drop_below_pieces;
		limits.borders_ctx = &hook;
		assert_int_equal(test_append_to(journal, zone_a, 5, 6, LARGE, &limits), KNOT_EFILE);
		test_expect(journal, zone_a, cases[i].want);
		assert_int_equal(test_append_to(journal, zone_a, cases[i].serial, 60, LARGE, &wide), KNOT_OK);
		journal_close(journal);
	}
}

static size_t give_image(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	ret_serials[0] = *(const uint32_t *)ctx;
	return 1;
}

/* Usage that may come to the limit soon isn't worth a version that a start leads on from; the depth is an image. */
static void test_borders_give_way_late(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	uint32_t image = 6;
	journal_limits_t limits = { .usage_max = 600000, .depth_max = 100, .may_merge = true };
	limits.borders = give_image;
	limits.borders_ctx = &image;
	append_many(journal, 1, 4, LARGE, &limits);
	assert_int_equal(journal_mark_flushed(journal, zone_a, 4, NULL), KNOT_OK);
	append_many(journal, 4, 11, LARGE, &limits);
	journal_note_deep(journal, zone_a, true);
	merge(journal, &limits);
	test_expect(journal, zone_a, "M1-4 M4-6 M6-10 10-11 ");
	limits.usage_max = 100 << 20;
	limits.depth_max = 3;
	journal_note_deep(journal, zone_a, true);
	merge(journal, &limits);
	test_expect(journal, zone_a, "M1-4 M4-10 10-11 ");
	limits.depth_max = 2;
	journal_note_deep(journal, zone_a, true);
	merge(journal, &limits);
	test_expect(journal, zone_a, "M1-10 10-11 ");
	journal_close(journal);
}

/* A change in several transactions, and what a crash leaves of one. */
static void test_loose_pieces(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	append_many(journal, 1, 4, LARGE, &wide);
	merge(journal, &wide); /* what large changes have noted */
	uint64_t before = journal_usage(journal).used;
	journal_change_t change = test_change(4, 5, 40 * LARGE);
	journal_entry_t entry = { .kind = JOURNAL_STEP, .change = change };
	journal_reason_t reason;
	assert_int_equal(journal_reserve(journal, zone_a, &entry.number, &reason), KNOT_OK);
	assert_int_equal(journal_put_loose(journal, zone_a, &entry, NULL, NULL, &reason), KNOT_OK);
	assert_in_range(journal_usage(journal).used, before + 40 * LARGE, UINT64_MAX);
	journal_close(journal);

	journal_params_t params = { .path = test_path, .size_max = MAP, .transaction_max = 2 * JOURNAL_PIECE_MAX };
	assert_int_equal(journal_open(&params, &journal, &reason), KNOT_OK);
	test_expect(journal, zone_a, "1-2 2-3 3-4 ");
	append_many(journal, 4, 5, 10, &wide);
	assert_true(journal_wants_merge(journal, zone_a));
	merge(journal, &wide);
	test_expect(journal, zone_a, "1-2 2-3 3-4 4-5 ");
	assert_in_range(journal_usage(journal).used, 0, before + (64 << 10));
	append_many(journal, 5, 6, 10, &wide);
	assert_false(journal_wants_merge(journal, zone_a));
	free((void *)change.payload.data);
	journal_close(journal);
}

/* What a merge has written goes if it doesn't fit, and the next change doesn't try it again. */
static void test_merge_finds_no_room(void **state)
{
	(void)state;
	enum { SMALL_MAP = 8 << 20, MORE = 80 };
	test_remove_files();
	journal_t *journal = NULL;
	journal_reason_t reason;
	journal_params_t params = {
		.path = test_path, .size_max = SMALL_MAP, .transaction_max = 4 * JOURNAL_PIECE_MAX
	};
	journal_limits_t limits = { .usage_max = 100 << 20, .depth_max = MORE, .may_merge = true };
	assert_int_equal(journal_open(&params, &journal, &reason), KNOT_OK);
	append_many(journal, 1, MORE + 10, LARGE, &limits);
	uint64_t before = journal_usage(journal).used;
	assert_true(journal_wants_merge(journal, zone_a));
	assert_int_equal(journal_merge(journal, zone_a, &limits, &never, &reason), KNOT_ESPACE);
	assert_in_range(journal_usage(journal).used, 0, before + (256 << 10));
	assert_false(journal_wants_merge(journal, zone_a));
	append_many(journal, MORE + 10, MORE + 11, 10, &limits);
	assert_false(journal_wants_merge(journal, zone_a));
	sys_mutex_lock(&journal->lock);
	journal->deep->retry_ms = 0; /* as if a minute had passed */
	sys_mutex_unlock(&journal->lock);
	assert_true(journal_wants_merge(journal, zone_a));
	assert_int_equal(count_changes(journal), MORE + 10);
	journal_close(journal);
}

/* What would be larger than an entry may be isn't merged. */
static void test_merged_has_a_bound(void **state)
{
	(void)state;
	enum { COUNT = 6 };
	journal_link_t links[COUNT] = { 0 };
	for (uint32_t i = 0; i < COUNT; i++) {
		links[i].entry.change.serial_from = i + 1;
		links[i].entry.change.serial_to = i + 2;
		links[i].cost = JOURNAL_PAYLOAD_MAX / 3;
	}
	journal_chain_t chain = { .links = links, .count = COUNT };
	journal_range_t range = journal_choose(&chain, NULL, 0, COUNT - 1, &merging);
	assert_int_equal(range.end - range.first, 3);
	links[COUNT - 2].cost = links[COUNT - 1].cost = JOURNAL_PAYLOAD_MAX;
	chain = (journal_chain_t){ .links = links + COUNT - 2, .count = 2 };
	assert_int_equal(journal_choose(&chain, NULL, 0, 1, &merging).freed, 0);
}

/* What is refused in the end leaves nothing behind. */
static void test_refused_in_pieces(void **state)
{
	(void)state;
	journal_t *journal = begin_small();
	assert_int_equal(test_put_zone(journal, zone_a, 5, LARGE, &wide), KNOT_OK);
	merge(journal, &wide);
	uint64_t before = journal_usage(journal).used;
	assert_int_equal(test_append_to(journal, zone_a, 8, 9, 40 * LARGE, &wide), KNOT_ESEMCHECK);
	merge(journal, &wide);
	assert_in_range(journal_usage(journal).used, 0, before + (64 << 10));
	test_expect(journal, zone_a, "W5 ");
	append_many(journal, 5, 6, 40 * LARGE, &wide);
	test_expect(journal, zone_a, "W5 5-6 ");
	/* In the place of all there was: a gap, and another whole zone. */
	journal_limits_t limits = wide;
	limits.drops_whole = true;
	assert_int_equal(test_append_to(journal, zone_a, 8, 9, 40 * LARGE, &limits), KNOT_OK);
	test_expect(journal, zone_a, "8-9 ");
	assert_int_equal(test_put_zone(journal, zone_a, 10, LARGE, &wide), KNOT_OK);
	test_expect(journal, zone_a, "W10 ");
	journal_close(journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_changes_wait),
		cmocka_unit_test(test_merged_into_whole),
		cmocka_unit_test(test_depth_has_a_bound),
		cmocka_unit_test(test_changes_meanwhile),
		cmocka_unit_test(test_dropped_meanwhile),
		cmocka_unit_test(test_dropped_between_pieces),
		cmocka_unit_test(test_pieces_are_gone),
		cmocka_unit_test(test_borders_give_way_late),
		cmocka_unit_test(test_loose_pieces),
		cmocka_unit_test(test_merge_finds_no_room),
		cmocka_unit_test(test_merged_has_a_bound),
		cmocka_unit_test(test_refused_in_pieces),
	};
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
