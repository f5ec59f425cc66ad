/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/counters.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { THREADS = 8, ADDS = 20000, COUNTERS = 11 };

typedef struct {
	sys_counters_t *counters;
	unsigned slot;
} adder_t;

static void *add_many(void *ctx)
{
	adder_t *adder = ctx;
	adder->slot = sys_slot_take();
	for (unsigned i = 0; i < ADDS; i++) {
		sys_counters_add(adder->counters, i % COUNTERS, 1 + i % 3);
	}
	sys_slot_give();
	return NULL;
}

/* What single-threaded addition gives. */
static uint64_t expected(unsigned index)
{
	uint64_t sum = 0;
	for (unsigned i = index; i < ADDS; i += COUNTERS) {
		sum += 1 + i % 3;
	}
	return sum * THREADS;
}

/* reserved slots may be fewer than threads: the rest shares row 0 and nothing is lost */
static void sums_are_exact(void **state)
{
	(void)state;
	static const unsigned reserved[] = { THREADS, 3, 1 };
	for (unsigned r = 0; r < sizeof(reserved) / sizeof(reserved[0]); r++) {
		sys_slots_reserve(reserved[r]);
		sys_counters_t *counters = sys_counters_new(COUNTERS);
		assert_non_null(counters);
		pthread_t threads[THREADS];
		adder_t adders[THREADS];
		for (unsigned i = 0; i < THREADS; i++) {
			adders[i] = (adder_t){ .counters = counters };
			assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_true(adders[i].slot <= reserved[r]);
		}
		for (unsigned i = 0; i < COUNTERS; i++) {
			assert_int_equal(sys_counters_sum(counters, i), expected(i));
		}
		sys_counters_free(counters);
	}
}

static void slots_are_reused(void **state)
{
	(void)state;
	sys_slots_reserve(2);
	unsigned first = sys_slot_take();
	assert_int_equal(first, 1);
	assert_int_equal(sys_slot_take(), first);
	sys_slot_give();
	assert_int_equal(sys_thread_slot(), 0);
	assert_int_equal(sys_slot_take(), first);
	sys_slot_give();
}

/* a slot that was reserved after the set was made must not write behind the set's rows */
static void late_slot_uses_shared_row(void **state)
{
	(void)state;
	sys_slots_reserve(1);
	sys_counters_t *counters = sys_counters_new(1);
	assert_non_null(counters);
	sys_slots_expect(64);
	sys_slots_expect(2);
	sys_thread_slot_own = 60;
	sys_counters_add(counters, 0, 7);
	sys_thread_slot_own = 0;
	assert_int_equal(sys_counters_sum(counters, 0), 7);
	sys_counters_free(counters);
}

/* expecting more threads makes more slots, expecting fewer takes none away */
static void slots_are_added(void **state)
{
	(void)state;
	enum { MANY = 8 };
	sys_slots_reserve(1);
	sys_slots_expect(MANY);
	sys_slots_expect(MANY / 2);
	sys_counters_t *counters = sys_counters_new(COUNTERS);
	assert_non_null(counters);
	assert_int_equal(counters->slot_count, 1 + MANY);
	pthread_t thread;
	adder_t adder = { .counters = counters };
	assert_int_equal(sys_slot_take(), 1);
	assert_int_equal(pthread_create(&thread, NULL, add_many, &adder), 0);
	pthread_join(thread, NULL);
	sys_slot_give();
	assert_int_equal(adder.slot, 2);
	assert_int_equal(sys_counters_sum(counters, 0), expected(0) / THREADS);
	sys_counters_free(counters);
}

static void rows_are_cache_lines(void **state)
{
	(void)state;
	sys_counters_t *counters = sys_counters_new(9);
	assert_non_null(counters);
	assert_int_equal(counters->stride % (SYS_CACHE_LINE / sizeof(uint64_t)), 0);
	assert_int_equal((uintptr_t)counters->cells % SYS_CACHE_LINE, 0);
	sys_counters_free(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(slots_are_reused),
		cmocka_unit_test(late_slot_uses_shared_row),
		cmocka_unit_test(slots_are_added),
		cmocka_unit_test(rows_are_cache_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
