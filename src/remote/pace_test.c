/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static unsigned fill(pace_t *pace)
{
	unsigned sent = 0;
	for (; pace_has_room(pace); sent++) {
		pace_sent(pace);
	}
	return sent;
}

static void test_answers_open_the_window(void **state)
{
	(void)state;
	pace_t pace = pace_new();
	assert_int_equal(fill(&pace), PACE_FIRST);
	for (unsigned round = 0; round < 10; round++) {
		while (pace.count > 0) {
			pace_answered(&pace, 1000, 1);
		}
		unsigned sent = fill(&pace);
		unsigned wanted = PACE_FIRST << (round + 1);
		assert_int_equal(sent, wanted < PACE_MAX ? wanted : PACE_MAX);
	}
}

static void test_a_round_of_losses_halves_once(void **state)
{
	(void)state;
	pace_t pace = { .window = 64, .threshold = PACE_MAX, .best_ms = UINT64_MAX };
	assert_int_equal(fill(&pace), 64);
	for (unsigned i = 0; i < 64; i++) {
		pace_lost(&pace, 10000 + i, 5000);
	}
	assert_int_equal(fill(&pace), 32);
	pace_lost(&pace, 15001, 5000);
	assert_int_equal(pace.window, 16);
}

static void test_after_a_loss_it_grows_by_one_a_round(void **state)
{
	(void)state;
	pace_t pace = { .window = 64, .threshold = PACE_MAX, .best_ms = UINT64_MAX };
	fill(&pace);
	pace_lost(&pace, 10000, 5000);
	while (pace.count > 0) {
		pace_forgotten(&pace);
	}
	unsigned sent = fill(&pace);
	assert_int_equal(sent, 32);
	while (pace.count > 0) {
		pace_answered(&pace, 1000, 1);
	}
	assert_in_range((unsigned)(pace.window * 10), 325, 330);
}

static void test_a_silent_server_still_gets_one(void **state)
{
	(void)state;
	pace_t pace = pace_new();
	for (unsigned i = 1; i < 100; i++) {
		pace_sent(&pace);
		pace_lost(&pace, i * 10000, 5000);
	}
	assert_int_equal(fill(&pace), 1);
}

static void test_late_answers_shrink_it(void **state)
{
	(void)state;
	pace_t pace = { .window = 64, .threshold = PACE_MAX, .best_ms = UINT64_MAX };
	fill(&pace);
	pace_answered(&pace, 1000, 5); /* the fastest */
	pace_answered(&pace, 1010, 5 + PACE_LATE_MS);
	assert_int_equal(pace.window, 66);
	for (unsigned i = 0; i < 20; i++) {
		pace_answered(&pace, 1020 + i, 100); /* all of one round */
	}
	assert_int_equal((int)pace.window, 49);
	for (unsigned i = 0; i < 20; i++) {
		pace_answered(&pace, 2000 + 100 * (uint64_t)i, 100);
	}
	assert_int_equal((int)pace.window, PACE_FIRST);
	pace_answered(&pace, 9000, 6);
	assert_true(pace.window > PACE_FIRST && pace.window < PACE_FIRST + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_open_the_window),
		cmocka_unit_test(test_a_round_of_losses_halves_once),
		cmocka_unit_test(test_after_a_loss_it_grows_by_one_a_round),
		cmocka_unit_test(test_a_silent_server_still_gets_one),
		cmocka_unit_test(test_late_answers_shrink_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
