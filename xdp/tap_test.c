/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FRAME_MAX = 2000, RING_LEN = 64 << 10 };

/* A frame that says by every byte which one it is. */
static uint32_t make_frame(uint32_t number, uint8_t *frame)
{
	uint32_t len = 1 + number * 2654435761u % FRAME_MAX;
	for (uint32_t i = 0; i < len; i++) {
		frame[i] = (uint8_t)(number + i);
	}
	return len;
}

static void check_record(const kxdp_tap_record_t *record, uint32_t number, uint32_t snaplen)
{
	uint8_t want[FRAME_MAX];
	uint32_t len = make_frame(number, want);
	uint32_t captured_len = snaplen > 0 && snaplen < len ? snaplen : len;
	assert_int_equal(record->len, len);
	assert_int_equal(record->captured_len, captured_len);
	assert_memory_equal(record->bytes, want, captured_len);
	assert_int_equal(record->direction, number % 2 == 0 ? KXDP_INBOUND : KXDP_OUTBOUND);
	assert_int_equal(record->time_ns, 1000000007ull * number);
}

static void put(kxdp_tap_t *tap, uint32_t number)
{
	uint8_t frame[FRAME_MAX];
	uint32_t len = make_frame(number, frame);
	kxdp_tap_batch(tap, 1000000007ull * number);
	kxdp_tap_put(tap, number % 2 == 0 ? KXDP_INBOUND : KXDP_OUTBOUND, frame, len);
}

static kxdp_tap_t *new_tap(const kxdp_tap_options_t *options)
{
	kxdp_tap_t *tap = NULL;
	assert_int_equal(kxdp_tap_new(options, &tap), KNOT_OK);
	return tap;
}

/* Records come back as they went in, at every offset of the ring, with and without a limit to their length. */
static void test_in_order(void **state)
{
	(void)state;
	static const uint32_t snaplens[] = { 0, 1, 64, 1999 };
	for (size_t i = 0; i < sizeof(snaplens) / sizeof(snaplens[0]); i++) {
		kxdp_tap_t *tap = new_tap(&(kxdp_tap_options_t){ .snaplen = snaplens[i], .ring_len = RING_LEN });
		kxdp_tap_record_t record;
		uint32_t next_put = 0, next_got = 0;
		while (next_put < 20000) {
			for (uint32_t burst = 1 + next_put % 17; burst > 0; burst--) {
				put(tap, next_put++);
			}
			while (kxdp_tap_next(tap, &record)) {
				check_record(&record, next_got++, snaplens[i]);
			}
			assert_int_equal(next_got, next_put);
		}
		kxdp_tap_stats_t stats;
		kxdp_tap_stats(tap, &stats);
		assert_int_equal(stats.seen, next_put);
		assert_int_equal(stats.matched, next_put);
		assert_int_equal(stats.dropped, 0);
		kxdp_tap_free(tap);
	}
}

/* A full ring keeps what it has; each frame it could not take is counted; it goes on when there is room. */
static void test_full(void **state)
{
	(void)state;
	kxdp_tap_t *tap = new_tap(&(kxdp_tap_options_t){ .ring_len = RING_LEN });
	for (unsigned round = 0; round < 50; round++) {
		uint8_t frame[FRAME_MAX] = { 0 };
		kxdp_tap_stats_t before, after;
		kxdp_tap_stats(tap, &before);
		uint32_t len = 100 + round * 37;
		for (uint32_t i = 0; i < 1000; i++) {
			memcpy(frame, &i, sizeof(i));
			kxdp_tap_put(tap, KXDP_INBOUND, frame, len);
		}
		kxdp_tap_record_t record;
		uint32_t got = 0;
		while (kxdp_tap_next(tap, &record)) {
			assert_memory_equal(record.bytes, &got, sizeof(got)); /* the first ones, none missing */
			got++;
		}
		kxdp_tap_stats(tap, &after);
		assert_int_equal(after.seen - before.seen, 1000);
		assert_int_equal(after.dropped - before.dropped, 1000 - got);
		uint32_t most = RING_LEN / (24 + (len + 7) / 8 * 8);
		assert_in_range(got, most - 1, most); /* one may not have fitted in front of the ring's end */
	}
	kxdp_tap_free(tap);
}

static bool is_even(const void *filter, const uint8_t *frame, uint32_t len)
{
	return *(const char *)filter == 'e' && len > 0 && frame[0] % 2 == 0;
}

static void test_filter(void **state)
{
	(void)state;
	kxdp_tap_t *tap = new_tap(&(kxdp_tap_options_t){ .match = is_even, .filter = "even" });
	for (uint32_t i = 0; i < 100; i++) {
		put(tap, i);
	}
	kxdp_tap_record_t record;
	uint32_t next = 0;
	for (; kxdp_tap_next(tap, &record); next += 2) {
		check_record(&record, next, 0);
	}
	assert_int_equal(next, 100);
	kxdp_tap_stats_t stats;
	kxdp_tap_stats(tap, &stats);
	assert_int_equal(stats.seen, 100);
	assert_int_equal(stats.matched, 50);
	assert_int_equal(stats.dropped, 0);
	kxdp_tap_free(tap);
}

/* Nothing that is larger than the ring, or the ring larger than sense allows. */
static void test_too_large(void **state)
{
	(void)state;
	kxdp_tap_t *tap = NULL;
	assert_int_equal(kxdp_tap_new(&(kxdp_tap_options_t){ .ring_len = (1u << 30) + 1 }, &tap), KNOT_EINVAL);
	assert_null(tap);
	tap = new_tap(&(kxdp_tap_options_t){ .ring_len = 1 });
	uint8_t *frame = calloc(1, RING_LEN);
	kxdp_tap_put(tap, KXDP_INBOUND, frame, RING_LEN);
	kxdp_tap_record_t record;
	assert_false(kxdp_tap_next(tap, &record));
	kxdp_tap_put(tap, KXDP_INBOUND, frame, RING_LEN - 24);
	assert_true(kxdp_tap_next(tap, &record));
	assert_int_equal(record.captured_len, RING_LEN - 24);
	assert_false(kxdp_tap_next(tap, &record));
	kxdp_tap_stats_t stats;
	kxdp_tap_stats(tap, &stats);
	assert_int_equal(stats.dropped, 1);
	free(frame);
	kxdp_tap_free(tap);
	kxdp_tap_free(NULL);
}

enum { THREAD_FRAMES = 60000 };

static void *produce(void *arg)
{
	for (uint32_t i = 0; i < THREAD_FRAMES; i++) {
		put(arg, i);
	}
	return NULL;
}

/* Number of a record, from its time. */
static uint32_t number_of(const kxdp_tap_record_t *record)
{
	return (uint32_t)(record->time_ns / 1000000007ull);
}

/* Two threads: what arrives is whole and in order, and with what was dropped it is everything. */
static void test_threads(void **state)
{
	(void)state;
	kxdp_tap_t *tap = new_tap(&(kxdp_tap_options_t){ .ring_len = RING_LEN });
	pthread_t producer;
	assert_int_equal(pthread_create(&producer, NULL, produce, tap), 0);
	uint32_t got = 0, last = 0;
	kxdp_tap_stats_t stats = { 0 };
	bool is_over = false;
	while (!is_over) {
		is_over = stats.seen == THREAD_FRAMES;
		kxdp_tap_record_t record;
		while (kxdp_tap_next(tap, &record)) {
			uint32_t number = number_of(&record);
			assert_true(got == 0 || number > last);
			check_record(&record, number, 0);
			last = number;
			got++;
		}
		kxdp_tap_stats(tap, &stats);
		assert_true(stats.dropped <= stats.matched && stats.matched <= THREAD_FRAMES);
		if (is_over) {
			pthread_join(producer, NULL);
			while (kxdp_tap_next(tap, &record)) {
				got++;
			}
		}
	}
	kxdp_tap_stats(tap, &stats);
	assert_true(got > 0);
	assert_int_equal(got + stats.dropped, THREAD_FRAMES);
	kxdp_tap_free(tap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
