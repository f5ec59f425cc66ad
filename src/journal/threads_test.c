/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads append at the same time, others read meanwhile: each change is there once, in order. BENCH=seconds
 * measures instead: appends a second with 1, 8 and 64 threads, and the processor time of each, in DIR.
 */
#include "src/journal/journal_test.h"
#include "src/sys/clock.h"

#include <pthread.h>
#include <sys/resource.h>

enum { THREADS = 64, EACH = 40, MAP = 256 << 20 };

typedef struct {
	journal_t *journal;
	int index;
	uint32_t count;    /* changes to append */
	uint64_t until_ns; /* or until then */
	uint32_t done;
	size_t len;
	bool failed;
	pthread_t thread;
} writer_t;

static knot_name_t thread_zone(int i, uint8_t wire[static 8])
{
	memcpy(wire, (uint8_t[]){ 3, 'z', (uint8_t)('a' + i / 16), (uint8_t)('a' + i % 16), 0 }, 5);
	return (knot_name_t){ wire, 5, 1 };
}

static void *write_some(void *arg)
{
	writer_t *w = arg;
	uint8_t wire[8];
	knot_name_t zone = thread_zone(w->index, wire);
	journal_limits_t limits = { .usage_max = 100 << 20, .depth_max = 20, .may_merge = w->index % 2 == 0 };
	journal_change_t change = test_change(0, 1, w->len);
	for (uint32_t i = 0; i < w->count && (w->until_ns == 0 || sys_clock_ns() < w->until_ns); i++) {
		if (w->until_ns == 0) {
			free((void *)change.payload.data);
			change = test_change(i, i + 1, w->len);
		}
		change.serial_from = i;
		change.serial_to = i + 1;
		knot_err_t err = journal_append(w->journal, zone, &change, &limits, NULL);
		if (err == KNOT_EAGAIN) {
			err = journal_mark_flushed(w->journal, zone, i, NULL);
			err = err == KNOT_OK ? journal_append(w->journal, zone, &change, &limits, NULL) : err;
		}
		w->failed = w->failed || err != KNOT_OK;
		w->done++;
	}
	free((void *)change.payload.data);
	return NULL;
}

typedef struct {
	uint32_t last;
	bool wrong;
} order_t;

static bool see_order(const journal_entry_t *entry, void *ctx)
{
	order_t *order = ctx;
	order->wrong = order->wrong || (order->last != 0 && entry->change.serial_from != order->last);
	order->last = entry->change.serial_to;
	return true;
}

static _Atomic bool is_over;
static const bool never;

static void *read_some(void *arg)
{
	journal_t *journal = arg;
	uintptr_t wrong = 0;
	for (int i = 0; !is_over; i = (i + 7) % THREADS) {
		uint8_t wire[8];
		order_t order = { 0 };
		knot_err_t err = journal_each(journal, thread_zone(i, wire), see_order, &order);
		wrong += order.wrong || (err != KNOT_OK && err != KNOT_ENOENT);
	}
	return (void *)wrong;
}

static void run_writers(journal_t *journal, writer_t *writers, int count)
{
	for (int i = 0; i < count; i++) {
		writers[i].journal = journal;
		writers[i].index = i;
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_some, &writers[i]), 0);
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
	}
}

static void test_many_writers(void **state)
{
	(void)state;
	test_remove_files();
	journal_t *journal = test_open(MAP);
	static writer_t writers[THREADS];
	pthread_t readers[2];
	for (size_t i = 0; i < KNOT_LEN(readers); i++) {
		assert_int_equal(pthread_create(&readers[i], NULL, read_some, journal), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		writers[i] = (writer_t){ .count = EACH, .len = i % 8 == 0 ? 20000 : 50 };
	}
	run_writers(journal, writers, THREADS);
	is_over = true;
	for (size_t i = 0; i < KNOT_LEN(readers); i++) {
		void *wrong;
		assert_int_equal(pthread_join(readers[i], &wrong), 0);
		assert_null(wrong);
	}
	for (int i = 0; i < THREADS; i++) {
		uint8_t wire[8];
		order_t order = { 0 };
		journal_info_t info;
		journal_limits_t limits = { .usage_max = 100 << 20, .depth_max = 20, .may_merge = i % 2 == 0 };
		assert_int_equal(journal_merge(journal, thread_zone(i, wire), &limits, &never, NULL), KNOT_OK);
		knot_name_t zone = thread_zone(i, wire);
		assert_false(writers[i].failed);
		assert_int_equal(journal_each(journal, zone, see_order, &order), KNOT_OK);
		assert_false(order.wrong);
		assert_int_equal(order.last, EACH);
		assert_int_equal(journal_info(journal, zone, &info), KNOT_OK);
		assert_int_equal(info.serial_last, EACH);
		assert_in_range(info.changes, 1, 20);
	}
	journal_close(journal);
}

static double cpu_seconds(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void bench(double seconds, const char *dir)
{
	static const int counts[] = { 1, 8, 64 };
	if (dir != NULL) {
		snprintf(test_path, sizeof(test_path), "%s/journal-bench", dir);
	}
	for (size_t i = 0; i < KNOT_LEN(counts); i++) {
		static writer_t writers[THREADS];
		test_remove_files();
		journal_t *journal = test_open(MAP);
		for (int k = 0; k < counts[i]; k++) {
			writers[k] = (writer_t){
				.count = UINT32_MAX, .until_ns = sys_clock_ns() + (uint64_t)(seconds * 1e9), .len = 50
			};
		}
		double cpu = cpu_seconds();
		uint64_t begin = sys_clock_ns();
		run_writers(journal, writers, counts[i]);
		double took = (double)(sys_clock_ns() - begin) / 1e9, appends = 0;
		for (int k = 0; k < counts[i]; k++) {
			appends += writers[k].done;
		}
		printf("%2d threads: %8.0f appends/s, %6.1f us of CPU each\n", counts[i], appends / took,
				(cpu_seconds() - cpu) / appends * 1e6);
		journal_close(journal);
	}
}

int main(void)
{
	const char *seconds = getenv("BENCH");
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_many_writers) };
	if (seconds != NULL) {
		test_setup(NULL);
		bench(strtod(seconds, NULL), getenv("DIR"));
		return test_teardown(NULL);
	}
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
