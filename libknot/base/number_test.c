/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/number.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct {
	const char *what, *text;
	uint64_t max;
	knot_number_t want;
	uint64_t number;
	size_t begin_len; /* digits at the start */
} rows[] = {
	{ "zero", "0", 255, KNOT_NUMBER_OK, 0, 1 },
	{ "the limit", "255", 255, KNOT_NUMBER_OK, 255, 3 },
	{ "one more", "256", 255, KNOT_NUMBER_TOO_BIG, 0, 3 },
	{ "leading zeros", "000255", 255, KNOT_NUMBER_OK, 255, 6 },
	{ "32 bits", "4294967295", UINT32_MAX, KNOT_NUMBER_OK, UINT32_MAX, 10 },
	{ "more than 32 bits", "4294967296", UINT32_MAX, KNOT_NUMBER_TOO_BIG, 0, 10 },
	{ "64 bits", "18446744073709551615", UINT64_MAX, KNOT_NUMBER_OK, UINT64_MAX, 20 },
	{ "the addition overflows", "18446744073709551616", UINT64_MAX, KNOT_NUMBER_TOO_BIG, 0, 20 },
	{ "the product overflows", "99999999999999999999", UINT64_MAX, KNOT_NUMBER_TOO_BIG, 0, 20 },
	{ "nothing", "", 255, KNOT_NUMBER_INVALID, 0, 0 },
	{ "a sign", "-1", 255, KNOT_NUMBER_INVALID, 0, 0 },
	{ "a blank", " 1", 255, KNOT_NUMBER_INVALID, 0, 0 },
	{ "something behind", "12s", 255, KNOT_NUMBER_INVALID, 0, 2 },
	{ "too big before something else", "999x", 255, KNOT_NUMBER_TOO_BIG, 0, 3 },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].what);
		uint64_t number = 77;
		size_t len = 99;
		assert_int_equal(knot_number_scan(knot_str_of(rows[i].text), rows[i].max, &number), rows[i].want);
		assert_true(number == (rows[i].want == KNOT_NUMBER_OK ? rows[i].number : 77));
		(void)knot_number_begin(knot_str_of(rows[i].text), rows[i].max, &number, &len);
		assert_int_equal(len, rows[i].begin_len);
		assert_int_equal(knot_number_of(rows[i].text, 0, rows[i].max, &number), rows[i].want == KNOT_NUMBER_OK);
	}
}

static void test_least(void **state)
{
	(void)state;
	uint64_t number = 5;
	assert_false(knot_number_of("0", 1, 9, &number));
	assert_true(number == 5);
	assert_true(knot_number_of("1", 1, 9, &number));
	assert_true(number == 1);
}

/* What is printed is read again, around each power of two and of ten. */
static void test_inverse(void **state)
{
	(void)state;
	uint64_t power_of_ten = 1;
	for (unsigned bit = 0; bit < 64; bit++, power_of_ten *= 10) {
		const uint64_t around[] = { (UINT64_C(1) << bit) - 1, UINT64_C(1) << bit, power_of_ten - 1,
			power_of_ten };
		for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
			char text[24];
			uint64_t number;
			snprintf(text, sizeof(text), "%" PRIu64, around[i]);
			assert_int_equal(knot_number_scan(knot_str_of(text), UINT64_MAX, &number), KNOT_NUMBER_OK);
			assert_true(number == around[i]);
			assert_int_equal(knot_number_scan(knot_str_of(text), around[i], &number), KNOT_NUMBER_OK);
			assert_true(around[i] == 0 || knot_number_scan(knot_str_of(text), around[i] - 1, &number) ==
								      KNOT_NUMBER_TOO_BIG);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_inverse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
