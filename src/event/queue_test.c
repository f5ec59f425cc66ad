/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of entries, against counters: what is put in comes out in order, over ends, growing and emptying. */
#include "src/event/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Entries are only carried around: numbers will do. */
static entry_t *number(size_t n)
{
	return (entry_t *)(uintptr_t)(8 * n);
}

static void test_order(void **state)
{
	(void)state;
	queue_t queue = { 0 };
	assert_null(queue_take(&queue));
	size_t put = 1, taken = 1, room = 0;
	uint64_t random = 88172645463325252u;
	for (unsigned i = 0; i < 100000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (random % 1000 == 0) {
			room += 1 + random / 1000 % 50;
			assert_int_equal(queue_reserve(&queue, room), KNOT_OK);
		}
		/* In turns mostly in and mostly out, so that it gets full and empty. */
		bool in = random / 7 % 10 < (i / 1000 % 2 ? 8 : 2);
		if (in && queue.count < queue.room) {
			queue_put(&queue, number(put++));
		} else if (!in) {
			entry_t *entry = queue_take(&queue);
			assert_ptr_equal(entry, taken < put ? number(taken) : NULL);
			taken += entry != NULL;
		}
		assert_int_equal(queue.count, put - taken);
	}
	queue_deinit(&queue);
	assert_null(queue_take(&queue));
}

static void test_memory_goes_back(void **state)
{
	(void)state;
	enum { MANY = 100000 };
	queue_t queue = { 0 };
	assert_int_equal(queue_reserve(&queue, MANY), KNOT_OK);
	assert_int_equal(queue_reserve(&queue, 10), KNOT_OK); /* never less */
	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 1; i <= MANY; i++) {
			queue_put(&queue, number(i));
		}
		for (size_t i = 1; i <= MANY; i++) {
			assert_false(queue.was_long);
			assert_ptr_equal(queue_take(&queue), number(i));
		}
		assert_true(queue.was_long);
		queue.was_long = false;
	}
	queue_put(&queue, number(1));
	assert_ptr_equal(queue_take(&queue), number(1));
	assert_false(queue.was_long);
	queue_deinit(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_memory_goes_back) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
