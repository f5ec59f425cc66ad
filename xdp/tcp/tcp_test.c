/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/rows_connect.h"
#include "xdp/tcp/rows_limit.h"
#include "xdp/tcp/rows_transmit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>


static void run_rows(const script_row_t *rows, size_t count)
{
	unsigned failed = 0;
	for (size_t i = 0; i < count; i++) {
		failed += !kxdp_script_run(rows[i].what, rows[i].script);
	}
	printf("%zu scripts, %u failed\n", count, failed);
	assert_int_equal(failed, 0);
}

static void test_connect(void **state)
{
	(void)state;
	run_rows(connect_rows, KNOT_LEN(connect_rows));
}

static void test_transmit(void **state)
{
	(void)state;
	run_rows(transmit_rows, KNOT_LEN(transmit_rows));
}

static void test_limits(void **state)
{
	(void)state;
	run_rows(limit_rows, KNOT_LEN(limit_rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_transmit),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
