/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/relay.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static relay_t *make(void)
{
	relay_t *relay = NULL;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	return relay;
}

static bool send_text(relay_t *relay, const char *text)
{
	return relay_send(relay, (const uint8_t *)text, strlen(text));
}

static void expect_text(relay_t *relay, const char *text)
{
	uint8_t frame[RELAY_FRAME_MAX];
	size_t len = relay_take(relay, frame);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(frame, text, len);
}

static void test_full(void **state)
{
	(void)state;
	relay_t *relay = make();
	uint8_t frame[RELAY_FRAME_MAX];
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(relay_take(relay, frame), 0);
		for (unsigned i = 0; i < RELAY_SLOTS; i++) {
			assert_true(send_text(relay, i % 2 == 0 ? "even" : "odd"));
		}
		assert_false(send_text(relay, "too many"));
		for (unsigned i = 0; i < RELAY_SLOTS; i++) {
			expect_text(relay, i % 2 == 0 ? "even" : "odd");
		}
	}
	memset(frame, 7, sizeof(frame));
	uint8_t copy[RELAY_FRAME_MAX] = { 0 };
	assert_true(relay_send(relay, frame, sizeof(frame)));
	assert_int_equal(relay_take(relay, copy), RELAY_FRAME_MAX);
	assert_memory_equal(copy, frame, sizeof(frame));
	relay_free(relay);
}

static bool is_woken(const relay_t *relay)
{
	struct pollfd pfd = { .fd = relay_fd(relay), .events = POLLIN };
	return poll(&pfd, 1, 0) == 1;
}

static void test_wake(void **state)
{
	(void)state;
	relay_t *relay = make();
	assert_true(send_text(relay, "busy"));
	assert_false(is_woken(relay));
	assert_false(relay_sleep(relay)); /* there is a frame */
	assert_true(send_text(relay, "still busy"));
	assert_false(is_woken(relay));
	expect_text(relay, "busy");
	expect_text(relay, "still busy");
	assert_true(relay_sleep(relay));
	assert_true(send_text(relay, "one"));
	assert_true(is_woken(relay));
	assert_true(send_text(relay, "two"));
	relay_awake(relay, true);
	assert_false(is_woken(relay));
	relay_wake(relay); /* before it sleeps is not too early */
	expect_text(relay, "one");
	expect_text(relay, "two");
	assert_true(relay_sleep(relay));
	assert_true(is_woken(relay));
	relay_awake(relay, true);
	assert_false(is_woken(relay));
	relay_free(relay);
}

/* Several senders, one receiver that sleeps now and then: nothing is lost, doubled or out of a sender's order. */
enum { SENDERS = 3, FRAMES = 20000 };

typedef struct {
	relay_t *relay;
	uint32_t number;
} sender_t;

static void *send_many(void *arg)
{
	const sender_t *sender = arg;
	for (uint32_t i = 0; i < FRAMES;) {
		uint32_t frame[2] = { sender->number, i };
		i += relay_send(sender->relay, (const uint8_t *)frame, sizeof(frame));
	}
	return NULL;
}

static void test_senders(void **state)
{
	(void)state;
	relay_t *relay = make();
	pthread_t threads[SENDERS];
	sender_t senders[SENDERS];
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (sender_t){ relay, i };
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
	}
	uint32_t next[SENDERS] = { 0 };
	for (unsigned left = SENDERS * FRAMES; left > 0;) {
		uint8_t frame[RELAY_FRAME_MAX];
		size_t len = relay_take(relay, frame);
		if (len == 0) {
			if (relay_sleep(relay)) {
				struct pollfd pfd = { .fd = relay_fd(relay), .events = POLLIN };
				assert_int_equal(poll(&pfd, 1, 60000), 1); /* else a wake was lost */
			}
			relay_awake(relay, is_woken(relay));
			continue;
		}
		uint32_t values[2];
		assert_int_equal(len, sizeof(values));
		memcpy(values, frame, sizeof(values));
		assert_true(values[0] < SENDERS);
		assert_int_equal(values[1], next[values[0]]++);
		left--;
	}
	for (uint32_t i = 0; i < SENDERS; i++) {
		pthread_join(threads[i], NULL);
	}
	relay_free(relay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_senders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
