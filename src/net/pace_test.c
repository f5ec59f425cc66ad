/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/pace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Packets arrive every gap_us, `together` at once; the worker wakes up for each unless it naps. */
static uint64_t naps_of_a_second(uint64_t gap_us, size_t together, uint64_t *ret_slept_us)
{
	pace_t pace = { 0 };
	uint64_t naps = 0, taken = 0;
	*ret_slept_us = 0;
	for (uint64_t now_us = 5000000; now_us < 6000000;) {
		uint64_t arrived = (now_us - 5000000) / gap_us * together;
		uint32_t nap_us = pace_turn(&pace, now_us, (size_t)(arrived - taken));
		taken = arrived;
		naps += nap_us > 0;
		*ret_slept_us += nap_us;
		now_us += nap_us > 0 ? nap_us : gap_us - now_us % gap_us;
	}
	return naps;
}

static void test_rates(void **state)
{
	(void)state;
	static const struct {
		uint64_t gap_us;
		size_t together;
		bool naps;
	} rows[] = {
		{ 100, 1, false },
		{ 80, 1, false },
		{ 100, 30, false },
		{ 50, 1, true },
		{ 5, 1, true },
		{ 1, 1, true },
		{ 50, 5, true },
		{ 50, 20, false },
		{ 2000, 50, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t slept_us, naps = naps_of_a_second(rows[i].gap_us, rows[i].together, &slept_us);
		if (rows[i].naps) {
			assert_true(naps > 4000 && slept_us > 800000);
		} else {
			assert_int_equal(naps, 0);
		}
	}
}

/* A client that asks on as soon as it is answered: 20 us with the worker awake. */
static void test_waiting_client(void **state)
{
	(void)state;
	pace_t pace = { 0 };
	uint64_t naps = 0, turns = 0;
	for (uint64_t now_us = 5000000; now_us < 15000000; turns++) {
		uint32_t nap_us = pace_turn(&pace, now_us, 1);
		naps += nap_us > 0;
		now_us += 20 + nap_us;
	}
	assert_true(turns > 450000);
	assert_true(naps > 0 && naps < 4000);
}

/* Quiet: what comes after it is not delayed. */
static void test_quiet(void **state)
{
	(void)state;
	pace_t pace = { 0 };
	uint64_t now_us = 5000000;
	for (unsigned i = 0; i < 30000; i++) {
		(void)pace_turn(&pace, now_us += 10, 1);
	}
	assert_int_equal(pace_turn(&pace, now_us += 10, 1), PACE_NAP_US);
	assert_int_equal(pace_turn(&pace, now_us += 10, 0), 0);
	assert_int_equal(pace_turn(&pace, now_us + 1000000, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_waiting_client),
		cmocka_unit_test(test_quiet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
