/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that wait: their order, and who may fill how much. */
#include "src/event/updates.h"

#include "libknot/msg/rcode.h"
#include "src/sys/clock.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SIZE = 100, MAX = 100 * SIZE };

typedef struct {
	update_request_t base;
	struct sockaddr_in6 remote;
	unsigned number;
} request_t;

static unsigned done[1000], done_count;
static uint16_t done_rcode;
static size_t made_count; /* made, and not given back yet */

/* The answers of a batch are made before the first is given back. */
static void note_make(update_request_t *request)
{
	(void)request;
	made_count++;
}

static void note_done(update_request_t *take_request)
{
	request_t *request = (request_t *)take_request;
	done_rcode = take_request->rcode;
	assert_true(made_count > 0);
	made_count--;
	done[done_count++ % KNOT_LEN(done)] = request->number;
	free(request);
}

static knot_name_t zone_of(const char *text)
{
	static _Thread_local uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

/* source: the last byte of an IPv4 address, or, from 256 on, a network of IPv6 with any host. */
static knot_err_t put_one(updates_t *updates, const char *zone, unsigned source, size_t count_max, unsigned number,
		bool *ret_is_first)
{
	request_t *request = calloc(1, sizeof(*request));
	assert_non_null(request);
	request->number = number;
	request->base.size = SIZE;
	request->base.make = note_make;
	request->base.done = note_done;
	request->base.remote = (const struct sockaddr *)&request->remote;
	if (source < 256) {
		struct sockaddr_in *in = (void *)&request->remote;
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(0xC0000200 + source);
	} else {
		request->remote.sin6_family = AF_INET6;
		request->remote.sin6_addr.s6_addr[6] = (uint8_t)source;
		request->remote.sin6_addr.s6_addr[15] = (uint8_t)number;
		request->remote.sin6_addr.s6_addr[7] = (uint8_t)number;
	}
	knot_err_t err = updates_put(updates, zone_of(zone), count_max, &request->base, ret_is_first);
	if (err != KNOT_OK) {
		free(request);
	}
	return err;
}

static knot_err_t put(updates_t *updates, const char *zone, unsigned source)
{
	bool is_first;
	return put_one(updates, zone, source, 0, 0, &is_first);
}

/* How many fit. */
static unsigned fill(updates_t *updates, const char *zone, unsigned source)
{
	unsigned count = 0;
	while (put(updates, zone, source) == KNOT_OK) {
		count++;
	}
	return count;
}

static void answer(updates_t *updates, const char *zone, size_t count_max)
{
	update_list_t list = updates_take(updates, zone_of(zone), count_max);
	updates_answer(updates, &list);
	assert_null(list.first);
}

static int setup(void **state)
{
	static updates_t updates;
	updates_init(&updates, MAX, 7);
	done_count = 0;
	*state = &updates;
	return 0;
}

static int teardown(void **state)
{
	updates_t *updates = *state;
	updates_drop(updates, KNOT_RCODE_SERVFAIL);
	assert_int_equal(updates->used, 0);
	updates_deinit(updates);
	return 0;
}

static void test_order(void **state)
{
	updates_t *updates = *state;
	bool is_first;
	assert_int_equal(updates_wait(updates, zone_of("a.")), UPDATES_NONE);
	assert_int_equal(put_one(updates, "a.", 1, 0, 1, &is_first), KNOT_OK);
	assert_true(is_first);
	assert_int_equal(put_one(updates, "b.", 1, 0, 9, &is_first), KNOT_OK);
	assert_true(is_first);
	for (unsigned i = 2; i <= 5; i++) {
		assert_int_equal(put_one(updates, "A.", i, 0, i, &is_first), KNOT_OK);
		assert_false(is_first);
	}
	answer(updates, "a.", 2);
	assert_int_equal(updates_wait(updates, zone_of("a.")), UPDATES_LEFT);
	answer(updates, "a.", 100);
	assert_int_equal(updates_wait(updates, zone_of("a.")), UPDATES_NONE);
	assert_int_equal(updates_wait(updates, zone_of("b.")), UPDATES_NEW);
	assert_int_equal(done_count, 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(done[i], i + 1);
	}
	assert_int_equal(done_rcode, KNOT_RCODE_NOERROR);
	assert_int_equal(put_one(updates, "a.", 1, 0, 6, &is_first), KNOT_OK);
	assert_true(is_first);
	updates_drop(updates, KNOT_RCODE_SERVFAIL);
	assert_int_equal(done_count, 7);
	assert_int_equal(done_rcode, KNOT_RCODE_SERVFAIL);
}

static void test_count(void **state)
{
	updates_t *updates = *state;
	bool is_first;
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(put_one(updates, "a.", i, 8, i, &is_first), KNOT_OK);
	}
	assert_int_equal(put_one(updates, "a.", 8, 8, 8, &is_first), KNOT_ESPACE);
	assert_int_equal(put_one(updates, "b.", 8, 8, 8, &is_first), KNOT_OK);
	assert_int_equal(put_one(updates, "a.", 8, 0, 8, &is_first), KNOT_OK);
}

/* A source fills half of what is free, whichever zones it names, and another one still finds room. */
static void test_greedy_source(void **state)
{
	updates_t *updates = *state;
	unsigned sum = 0;
	for (char zone[] = "a."; zone[0] <= 'z'; zone[0]++) {
		sum += fill(updates, zone, 1);
	}
	assert_int_equal(sum, 50);
	assert_int_equal(fill(updates, "1.", 2), 25);
	assert_int_equal(fill(updates, "2.", 3), 12);
	assert_int_equal(put(updates, "3.", 1), KNOT_ESPACE);
}

/* A zone, too, whichever sources fill it; an IPv6 network is one source. */
static void test_greedy_zone(void **state)
{
	updates_t *updates = *state;
	unsigned sum = 0;
	for (unsigned source = 1; source < 200; source++) {
		sum += put(updates, "a.", source) == KNOT_OK;
	}
	assert_int_equal(sum, 50);
	assert_int_equal(fill(updates, "b.", 300), 25);
	assert_int_equal(put(updates, "c.", 300), KNOT_ESPACE);
	assert_int_equal(put(updates, "c.", 301), KNOT_OK);
}

/* Memory counts until a request has been answered. */
static void test_taken(void **state)
{
	updates_t *updates = *state;
	assert_int_equal(fill(updates, "a.", 1), 50);
	update_list_t list = updates_take(updates, zone_of("a."), 50);
	assert_int_equal(list.count, 50);
	assert_int_equal(put(updates, "a.", 1), KNOT_ESPACE);
	updates_answer(updates, &list);
	assert_int_equal(fill(updates, "a.", 1), 50);
}

/* ---- Gathering ---- */

enum { BATCH_NS = 1000 * 1000 * 1000 }; /* so long that the limit of a wait holds */

static uint64_t gather_ns(updates_t *updates)
{
	uint64_t begin_ns = sys_clock_ns();
	updates_gather(updates, zone_of("a."));
	return sys_clock_ns() - begin_ns;
}

/* Those that were answered and don't come back are waited for once, and then for a while not. */
static void test_gather_in_vain(void **state)
{
	updates_t *updates = *state;
	updates_gather(updates, zone_of("a.")); /* nothing waits: nothing happens */
	assert_int_equal(put(updates, "A.", 1), KNOT_OK);
	updates_note_batch(updates, zone_of("A."), 2, BATCH_NS);
	assert_true(gather_ns(updates) >= GATHER_MAX_US * 1000ULL);
	uint64_t shortest_ns = UINT64_MAX;
	for (unsigned i = 0; i < GATHER_PAUSE; i++) {
		uint64_t ns = gather_ns(updates);
		shortest_ns = ns < shortest_ns ? ns : shortest_ns;
	}
	assert_true(shortest_ns < GATHER_MAX_US * 1000ULL);
	answer(updates, "a.", 1);
	updates_note_batch(updates, zone_of("a."), 1, BATCH_NS); /* one in flight */
	assert_int_equal(put(updates, "a.", 1), KNOT_OK);
	shortest_ns = UINT64_MAX;
	for (unsigned i = 0; i < GATHER_PAUSE; i++) {
		uint64_t ns = gather_ns(updates);
		shortest_ns = ns < shortest_ns ? ns : shortest_ns;
	}
	assert_true(shortest_ns < GATHER_MAX_US * 1000ULL);
}

static void *put_two(void *updates)
{
	assert_int_equal(put(updates, "a.", 2), KNOT_OK);
	assert_int_equal(put(updates, "a.", 3), KNOT_OK);
	return NULL;
}

/* The last one that was expected ends the wait: of some attempts, at least one before its time is over. */
static void test_gather(void **state)
{
	updates_t *updates = *state;
	bool is_early = false;
	for (unsigned attempt = 0; attempt < 100 && !is_early; attempt++) {
		assert_int_equal(put(updates, "a.", 1), KNOT_OK);
		updates_note_batch(updates, zone_of("a."), 2, BATCH_NS);
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, put_two, updates), 0);
		is_early = gather_ns(updates) < GATHER_MAX_US * 1000ULL;
		pthread_join(thread, NULL);
		answer(updates, "a.", 100);
		for (size_t i = 0; i < GATHER_ZONES; i++) {
			updates->gather.rows[i].paused = 0; /* if it was too late */
		}
	}
	assert_true(is_early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_greedy_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_greedy_zone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gather_in_vain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gather, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
