/* SPDX-License-Identifier: BSD-2-Clause */
/* Times come out in order, each with the name that it went in with, however they are put in. */
#include "src/event/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A name that tells its time. */
static knot_name_t name_of(uint64_t due_ms, uint8_t *wire)
{
	char text[40];
	knot_name_t name;
	snprintf(text, sizeof(text), "t%llu.example.", (unsigned long long)due_ms);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static void take_and_check(timers_t *timers, uint64_t *last_ms)
{
	uint8_t wire[KNOT_NAME_MAX], want[KNOT_NAME_MAX];
	uint64_t due_ms = timers_next(timers);
	assert_true(due_ms >= *last_ms);
	*last_ms = due_ms;
	knot_name_t name = timers_take(timers, wire), wanted = name_of(due_ms, want);
	assert_int_equal(name.len, wanted.len);
	assert_int_equal(name.label_count, wanted.label_count);
	assert_memory_equal(name.wire, wanted.wire, wanted.len);
}

static void test_order(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED");
	srandom(seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1);
	for (unsigned round = 0; round < 50; round++) {
		timers_t timers = { 0 };
		uint64_t last_ms = 0;
		size_t in = 0, out = 0, count = (size_t)random() % 300;
		while (in < count) {
			uint8_t wire[KNOT_NAME_MAX];
			uint64_t due_ms = last_ms + 1 +
					  (uint64_t)random() % 100; /* never before what was taken already */
			assert_int_equal(timers_put(&timers, due_ms, name_of(due_ms, wire)), KNOT_OK);
			in++;
			if (random() % 3 == 0) {
				take_and_check(&timers, &last_ms);
				out++;
			}
		}
		for (; out < in; out++) {
			take_and_check(&timers, &last_ms);
		}
		assert_int_equal(timers_next(&timers), 0);
		timers_deinit(&timers);
	}
}

static void test_left_behind(void **state)
{
	(void)state;
	timers_t timers = { 0 };
	uint8_t wire[KNOT_NAME_MAX];
	assert_int_equal(timers_put(&timers, 5, name_of(5, wire)), KNOT_OK);
	assert_int_equal(timers_put(&timers, 3, name_of(3, wire)), KNOT_OK);
	assert_int_equal(timers_next(&timers), 3);
	timers_deinit(&timers);
	assert_int_equal(timers_next(&timers), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_left_behind) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
