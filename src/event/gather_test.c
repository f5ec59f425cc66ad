/* SPDX-License-Identifier: BSD-2-Clause */
/* How many requests a batch waits for, by what the batches before it met. */
#include "src/event/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { US = 1000, MS = 1000 * US };

static void test_wish(void **state)
{
	(void)state;
	static const struct {
		const char *label;
		size_t answered, behind, waiting, count;
		uint64_t took_ns;
		uint32_t us;
	} rows[] = {
		{ "one in flight begins at once", 1, 0, 1, 0, 8 * MS, 0 },
		{ "those that were answered are expected back", 32, 32, 32, 64, 4 * MS, 2000 },
		{ "nobody came behind", 64, 0, 1, 64, 4 * MS, 2000 },
		{ "all are there", 32, 32, 64, 0, 4 * MS, 0 },
		{ "more are there", 32, 32, 100, 0, 4 * MS, 0 },
		{ "at most 4 ms", 32, 32, 32, 64, 80 * MS, 4000 },
		{ "not for less than 300 us", 32, 32, 32, 0, 599 * US, 0 },
		{ "300 us", 32, 32, 32, 64, 600 * US, 300 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gather_t gather = { 0 };
		assert_int_equal(gather_before(&gather, 5, rows[i].waiting).us, 0); /* nothing is known */
		gather_note(&gather, 5, rows[i].answered, rows[i].behind, rows[i].took_ns);
		gather_wish_t wish = gather_before(&gather, 5, rows[i].waiting);
		if (wish.us != rows[i].us || wish.count != rows[i].count) {
			fail_msg("%s: %zu in %u us", rows[i].label, wish.count, (unsigned)wish.us);
		}
	}
}

/* Clients that don't wait for answers aren't waited for, either, for a while. */
static void test_in_vain(void **state)
{
	(void)state;
	gather_t gather = { 0 };
	gather_note(&gather, 5, 32, 32, 4 * MS);
	gather_after(&gather, 5, 64, 48); /* three quarters */
	assert_int_equal(gather_before(&gather, 5, 32).us, 2000);
	gather_after(&gather, 5, 64, 47);
	for (unsigned i = 0; i < GATHER_PAUSE; i++) {
		assert_int_equal(gather_before(&gather, 5, 32).us, 0);
		gather_note(&gather, 5, 32, 32, 4 * MS);
	}
	assert_int_equal(gather_before(&gather, 5, 32).us, 2000);
}

/* A zone in the place of another knows nothing of it. */
static void test_zones(void **state)
{
	(void)state;
	gather_t gather = { 0 };
	gather_note(&gather, 5, 32, 32, 4 * MS);
	gather_after(&gather, 5, 64, 1);
	assert_int_equal(gather_before(&gather, 5 + GATHER_ZONES, 1).us, 0);
	gather_after(&gather, 5 + GATHER_ZONES, 64, 1);
	gather_note(&gather, 5 + GATHER_ZONES, 3, 0, 4 * MS);
	assert_int_equal(gather_before(&gather, 5 + GATHER_ZONES, 1).count, 3);
	assert_int_equal(gather_before(&gather, 5, 1).us, 0);
	gather_note(&gather, 6, 9, 0, 4 * MS);
	assert_int_equal(gather_before(&gather, 5 + GATHER_ZONES, 1).count, 3);
	assert_int_equal(gather_before(&gather, 6, 1).count, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wish),
		cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
