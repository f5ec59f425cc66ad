/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of connections beside an array. */
#include "src/net/later_conns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CONNS = 500, STEPS = 200000 };

static void test_counts(void **state)
{
	(void)state;
	later_conns_t conns = { 0 };
	assert_null(later_conns_find(&conns, 7));
	assert_int_equal(later_conns_sub(&conns, 7).count, 0);
	assert_int_equal(later_conns_add(&conns, 7), KNOT_OK);
	assert_int_equal(later_conns_add(&conns, 7), KNOT_OK);
	later_conns_find(&conns, 7)->is_ended = true;
	assert_int_equal(later_conns_sub(&conns, 7).count, 1);
	later_conn_t last = later_conns_sub(&conns, 7);
	assert_true(last.count == 0 && last.is_ended && last.conn == 7);
	assert_null(later_conns_find(&conns, 7));
	assert_int_equal(conns.used, 0);
	later_conns_done(&conns);
}

/* Numbers as the stack makes them: a generation above, a small number below. */
static uint64_t conn_of(unsigned number)
{
	return (uint64_t)(number % 7 + 1) << 32 | number;
}

static void test_like_an_array(void **state)
{
	(void)state;
	later_conns_t conns = { 0 };
	unsigned counts[CONNS] = { 0 };
	srandom(1);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned number = (unsigned)random() % CONNS;
		if (random() % 2 == 0 && step < STEPS / 2) {
			assert_int_equal(later_conns_add(&conns, conn_of(number)), KNOT_OK);
			counts[number]++;
		} else {
			later_conn_t left = later_conns_sub(&conns, conn_of(number));
			counts[number] -= counts[number] > 0;
			assert_int_equal(left.count, counts[number]);
		}
		unsigned other = (unsigned)random() % CONNS;
		const later_conn_t *found = later_conns_find(&conns, conn_of(other));
		assert_int_equal(found != NULL ? found->count : 0, counts[other]);
	}
	size_t used = 0;
	for (unsigned i = 0; i < CONNS; i++) {
		used += counts[i] > 0;
	}
	assert_int_equal(conns.used, used);
	later_conns_done(&conns);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts), cmocka_unit_test(test_like_an_array) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
