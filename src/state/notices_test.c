/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/state/notices.h"

#include "libknot/rr/rrtype.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static knot_name_t name_of(uint8_t wire[static 16], unsigned number)
{
	char label[8];
	int len = snprintf(label, sizeof(label), "z%06u", number);
	wire[0] = (uint8_t)len;
	memcpy(wire + 1, label, (size_t)len + 1);
	return knot_name_of(wire);
}

static bool is_readable(const notices_t *notices)
{
	struct pollfd fd = { .fd = notices_fd(notices), .events = POLLIN };
	return poll(&fd, 1, 0) == 1;
}

static void test_one(void **state)
{
	(void)state;
	notices_t *notices;
	notice_t notice;
	uint8_t wire[16];
	assert_int_equal(notices_new(&notices), KNOT_OK);
	assert_false(is_readable(notices));
	assert_false(notices_take(notices, &notice));
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(5) };
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &from.sin_addr), 1);
	assert_true(notices_put(notices, name_of(wire, 7), (const struct sockaddr *)&from));
	assert_true(is_readable(notices));
	notices_begin_taking(notices);
	assert_false(is_readable(notices));
	assert_true(notices_take(notices, &notice));
	assert_memory_equal(notice.zone, wire, 9);
	from.sin_port = htons(6);
	notice_addr_t same = notice_addr_of((const struct sockaddr *)&from);
	assert_true(notice_addr_eq(&notice.from, &same));
	notice_addr_t none = notice_addr_of(NULL);
	assert_false(notice_addr_eq(&none, &none));
	assert_false(notices_take(notices, &notice));
	assert_true(notices_put(notices, name_of(wire, 8), NULL));
	assert_true(is_readable(notices));
	notices_free(notices);
}

static void test_full(void **state)
{
	(void)state;
	notices_t *notices;
	notice_t notice;
	uint8_t wire[16];
	assert_int_equal(notices_new(&notices), KNOT_OK);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NOTICES_MAX; i++) {
			assert_true(notices_put(notices, name_of(wire, i), NULL));
		}
		assert_false(notices_put(notices, name_of(wire, 1), NULL));
		assert_int_equal(notices_take_lost(notices), 1);
		notices_begin_taking(notices);
		for (unsigned i = 0; i < NOTICES_MAX; i++) {
			assert_true(notices_take(notices, &notice));
			(void)name_of(wire, i);
			assert_memory_equal(notice.zone, wire, 9);
		}
		assert_false(notices_take(notices, &notice));
	}
	assert_int_equal(notices_take_lost(notices), 0);
	notices_free(notices);
}

enum { THREADS = 4, EACH = 20000 };

static notices_t *shared;

static void *put_many(void *arg)
{
	uint8_t wire[16];
	unsigned thread = *(const unsigned *)arg;
	for (unsigned i = 0; i < EACH; i++) {
		while (!notices_put(shared, name_of(wire, thread * EACH + i), NULL)) {
			(void)sched_yield();
		}
	}
	return NULL;
}

/* About children: with their type, and a bounded number of each network within a second. */
static void test_children(void **state)
{
	(void)state;
	static const struct {
		const char *from;
		uint64_t now_us;
		unsigned puts, want;
	} rows[] = {
		{ "192.0.2.1", 1000000, 40, NOTICES_CHILDREN_PER_S },
		{ "192.0.2.99", 1999999, 10, 0 }, /* of the same network */
		{ "192.0.2.1", 2000000, 40, NOTICES_CHILDREN_PER_S },
	};
	notices_t *notices;
	uint64_t limited = 0;
	assert_int_equal(notices_new(&notices), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		struct sockaddr_in in = { .sin_family = AF_INET };
		unsigned count = 0;
		uint8_t wire[16];
		assert_int_equal(inet_pton(AF_INET, rows[i].from, &in.sin_addr), 1);
		for (unsigned j = 0; j < rows[i].puts; j++) {
			count += notices_put_child(notices, name_of(wire, j), KNOT_TYPE_CDS,
					(const struct sockaddr *)&in, rows[i].now_us);
		}
		assert_int_equal(count, rows[i].want);
		limited += rows[i].puts - rows[i].want;
		assert_int_equal(notices_limited(notices), limited);
		notice_t notice;
		notices_begin_taking(notices);
		while (notices_take(notices, &notice)) {
			assert_int_equal(notice.child_type, KNOT_TYPE_CDS);
			count--;
		}
		assert_int_equal(count, 0);
	}
	assert_int_equal(notices_take_lost(notices), 0);
	notices_free(notices);
}

static void test_networks(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool is_same;
	} rows[] = { { "192.0.2.1", "192.0.2.254", true }, { "192.0.2.1", "192.0.3.1", false },
		{ "2001:db8:0:ff::1", "2001:db8:0:1::2", true }, { "2001:db8:0:100::1", "2001:db8:0:1::1", false } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const char *texts[] = { rows[i].a, rows[i].b };
		notice_addr_t nets[2] = { 0 };
		for (unsigned j = 0; j < 2; j++) {
			nets[j].family = strchr(texts[j], ':') != NULL ? AF_INET6 : AF_INET;
			assert_int_equal(inet_pton(nets[j].family, texts[j], nets[j].bytes), 1);
			nets[j] = notice_addr_net(nets[j]);
		}
		assert_int_equal(notice_addr_eq(&nets[0], &nets[1]), rows[i].is_same);
	}
}

/* Threads put at once: the taker, which sleeps when there is nothing, gets each notice once, and a thread's in order.
 */
static void test_threads(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	unsigned numbers[THREADS], next[THREADS] = { 0 }, count = 0;
	assert_int_equal(notices_new(&shared), KNOT_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, &numbers[i]), 0);
	}
	while (count < THREADS * EACH) {
		struct pollfd fd = { .fd = notices_fd(shared), .events = POLLIN };
		assert_int_equal(poll(&fd, 1, 60000), 1);
		notices_begin_taking(shared);
		notice_t notice;
		while (notices_take(shared, &notice)) {
			unsigned number = 0;
			assert_int_equal(sscanf((const char *)notice.zone + 2, "%6u", &number), 1);
			assert_int_equal(number % EACH, next[number / EACH]++);
			count++;
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(next[i], EACH);
	}
	notices_free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
