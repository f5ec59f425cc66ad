/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/schedule.h"

#include "src/tools/load/pick.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SECOND = 1000000000, THREADS_MAX = 8 };

/* All messages of all threads, each of whose times ascend. Returns their number. */
static uint64_t count_messages(const schedule_t *s, uint64_t *ret_last_ns)
{
	uint64_t count = 0;
	*ret_last_ns = 0;
	for (unsigned thread = 0; thread < s->threads; thread++) {
		schedule_cursor_t c;
		uint64_t before = 0;
		for (schedule_begin(s, thread, &c); c.due_ns != UINT64_MAX; schedule_advance(&c)) {
			assert_true(c.due_ns >= before && c.due_ns < s->end_ns);
			before = c.due_ns;
			*ret_last_ns = before > *ret_last_ns ? before : *ret_last_ns;
			count++;
		}
	}
	return count;
}

static void test_rate(void **state)
{
	(void)state;
	static const struct {
		double rate;
		unsigned batch, threads;
		uint64_t duration_ns, want;
	} rows[] = {
		{ 1000, 10, 1, SECOND, 1000 }, { 1000, 1, 1, SECOND, 1000 }, { 1000, 10, 4, SECOND, 1000 },
		{ 1000000, 10, 3, SECOND, 1000000 }, { 3, 1, 1, SECOND, 3 }, { 0.5, 1, 1, (uint64_t)10 * SECOND, 5 },
		{ 5, 10, 1, SECOND, 10 }, /* a batch is whole */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const schedule_piece_t piece = { 0, rows[i].duration_ns, rows[i].rate };
		const schedule_t s = { .pieces = &piece,
			.piece_count = 1,
			.end_ns = rows[i].duration_ns,
			.batch = rows[i].batch,
			.threads = rows[i].threads };
		uint64_t last_ns, count = count_messages(&s, &last_ns);
		assert_true(llabs((long long)(count - rows[i].want)) <= rows[i].batch * rows[i].threads);
		assert_int_equal(count, schedule_piece_messages(&s, 0));
	}
}

static void test_times_of_a_rate(void **state)
{
	(void)state;
	const schedule_piece_t piece = { 0, SECOND, 1000 };
	const schedule_t s = { .pieces = &piece, .piece_count = 1, .end_ns = SECOND, .batch = 2, .threads = 2 };
	static const uint64_t want[2][6] = { { 0, 0, 4000000, 4000000, 8000000, 8000000 },
		{ 2000000, 2000000, 6000000, 6000000, 10000000, 10000000 } };
	for (unsigned thread = 0; thread < 2; thread++) {
		schedule_cursor_t c;
		schedule_begin(&s, thread, &c);
		for (unsigned i = 0; i < 6; i++, schedule_advance(&c)) {
			assert_int_equal(c.due_ns, want[thread][i]);
		}
	}
}

static void test_ramp(void **state)
{
	(void)state;
	static schedule_piece_t pieces[SCHEDULE_PIECES_MAX];
	static const struct {
		double from, to, step;
		size_t want;
		double last;
	} rows[] = {
		{ 1000, 5000, 1000, 5, 5000 },
		{ 5000, 1000, 2000, 3, 1000 },
		{ 1000, 1000, 0, 1, 1000 },
		{ 1000, 1900, 500, 2, 1500 },
		{ 1000, 2000, 0, 0, 0 },
		{ 1, 100000, 1, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t count = schedule_ramp(rows[i].from, rows[i].to, rows[i].step, SECOND, pieces);
		assert_int_equal(count, rows[i].want);
		if (count > 0) {
			assert_true(fabs(pieces[count - 1].rate - rows[i].last) < 1e-6);
		}
	}
	size_t count = schedule_ramp(1000, 5000, 1000, SECOND, pieces);
	const schedule_t s = {
		.pieces = pieces, .piece_count = count, .end_ns = count * SECOND, .batch = 1, .threads = 2
	};
	uint64_t last_ns, sum = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t messages = schedule_piece_messages(&s, i);
		assert_true(llabs((long long)messages - (long long)pieces[i].rate) <= 2);
		sum += messages;
	}
	assert_int_equal(count_messages(&s, &last_ns), sum);
}

static void test_recording(void **state)
{
	(void)state;
	static const uint64_t times[] = { 0, 10, 20, 750 };
	schedule_t s = { .times_ns = times, .time_count = 4, .end_ns = SECOND, .batch = 10, .threads = 1 };
	uint64_t last_ns;
	assert_int_equal(count_messages(&s, &last_ns), 4);
	s.loop = true; /* 1000 ns per loop: the mean pause is 250 ns */
	assert_int_equal(count_messages(&s, &last_ns), 4 * (SECOND / 1000));
	s.threads = 3;
	assert_int_equal(count_messages(&s, &last_ns), 4 * (SECOND / 1000));
	assert_int_equal(last_ns, SECOND - 250);
}

/* Without a length there is no rate: it isn't sent as fast as can be. */
static void test_recording_without_length(void **state)
{
	(void)state;
	static const uint64_t times[3] = { 0 };
	for (size_t count = 0; count <= 3; count++) {
		schedule_t s = { .times_ns = times,
			.time_count = count,
			.loop = true,
			.end_ns = 5 * (uint64_t)SECOND,
			.batch = 10,
			.threads = 1 };
		uint64_t last_ns;
		assert_int_equal(count_messages(&s, &last_ns), 5 * count);
	}
}

/* Frequencies of the first ranks against Zipf's law, within five standard deviations. */
static void test_zipf(void **state)
{
	(void)state;
	enum { COUNT = 1000, DRAWS = 1000000 };
	static uint64_t seen[COUNT];
	static const double exponents[] = { 0, 0.9, 1, 1.5 };
	for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++) {
		pick_t pick;
		assert_true(pick_zipf(&pick, COUNT, exponents[e], 7));
		double sum = 0;
		for (size_t i = 0; i < COUNT; i++) {
			seen[i] = 0;
			sum += pow((double)(i + 1), -exponents[e]);
		}
		for (uint64_t i = 0; i < DRAWS; i++) {
			uint64_t query = pick_query(&pick, i);
			assert_true(query < COUNT);
			seen[query]++;
		}
		for (size_t i = 0; i < COUNT; i++) {
			double share = pow((double)(i + 1), -exponents[e]) / sum;
			double want = share * DRAWS, deviation = sqrt(want * (1 - share));
			assert_true(fabs((double)seen[i] - want) < 5 * deviation + 1);
		}
		assert_int_equal(pick_query(&pick, 12345), pick_query(&pick, 12345));
		pick_done(&pick);
	}
}

static void test_in_turn(void **state)
{
	(void)state;
	pick_t pick;
	pick_in_turn(&pick, 3);
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(pick_query(&pick, i), i % 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_times_of_a_rate),
		cmocka_unit_test(test_ramp),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_recording_without_length),
		cmocka_unit_test(test_zipf),
		cmocka_unit_test(test_in_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
