/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that are taken, wait with somebody else, and come back as replies to an inbox. */
#include "src/net/later.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libknot/msg/writer.h"
#include "src/sys/clock.h"

enum { SENDERS = 4, EACH = 20000, SOME = 10 };

/* ---- Requests and a queue that holds them ---- */

static later_outbox_t outbox;
static update_request_t *waiting[SENDERS * EACH];
static size_t waiting_count;
static update_put_t verdict;

static update_put_t put(void *ctx, knot_name_t zone, update_request_t *take_request)
{
	(void)ctx;
	assert_memory_equal(zone.wire, "\2ex", 4);
	if (verdict == UPDATE_WAITS) {
		waiting[waiting_count++] = take_request;
	}
	return verdict;
}

static const update_sink_t sink = { .put = put };

static void take(uint16_t id, const knot_tsig_chain_t *chain, bool has_edns)
{
	static const uint8_t head[] = { 0, 0, 0x28, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 'e', 'x', 0, 0, 6, 0, 1 };
	static const uint8_t opt[] = { 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0 };
	static const knot_tsig_chain_t none = { .key = NULL };
	uint8_t bytes[sizeof(head) + sizeof(opt)];
	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + sizeof(head), opt, sizeof(opt));
	store_be16(bytes, id);
	bytes[11] = has_edns;
	const struct sockaddr_in remote = { .sin_family = AF_INET, .sin_port = 5353 };
	const answer_source_t source = { .protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&remote };
	answer_request_t request = { .kind = ANSWER_KIND_UPDATE };
	assert_int_equal(knot_query_parse((knot_bytes_t){ bytes, sizeof(head) + (has_edns ? sizeof(opt) : 0) },
					 &request.query),
			KNOT_MSG_OK);
	assert_true(later_take(&outbox, &source, &request, chain != NULL ? chain : &none, 1232));
	assert_ptr_equal(outbox.made, outbox.last);
}

static void begin(void)
{
	waiting_count = 0;
	verdict = UPDATE_WAITS;
	outbox = (later_outbox_t){ 0 };
	assert_int_equal(later_inbox_new(-1, &outbox.inbox), KNOT_OK);
}

/* As the queue does. */
static void answer(size_t number)
{
	waiting[number]->make(waiting[number]);
	waiting[number]->done(waiting[number]);
}

static bool is_woken(void)
{
	struct pollfd pfd = { .fd = later_inbox_fd(outbox.inbox), .events = POLLIN };
	return poll(&pfd, 1, 0) > 0;
}

static uint16_t id_of(const later_t *later)
{
	return load_be16(later->bytes);
}

/* ---- Tests ---- */

/* They come back in the order in which they were answered; only a worker that sleeps is woken, once. */
static void test_order_and_wake(void **state)
{
	(void)state;
	begin();
	for (uint16_t i = 0; i < SOME; i++) {
		take(i, NULL, false);
	}
	later_hand_over(&outbox, &sink);
	assert_null(outbox.first);
	assert_int_equal(waiting_count, SOME);
	assert_false(later_inbox_has(outbox.inbox));
	answer(0);
	assert_false(is_woken());
	assert_false(later_inbox_sleep(outbox.inbox)); /* there is one */
	later_free(later_inbox_take(outbox.inbox));
	assert_true(later_inbox_sleep(outbox.inbox));
	for (unsigned i = 1; i < SOME; i++) {
		waiting[i]->rcode = (uint16_t)i;
		answer(i);
	}
	assert_true(is_woken());
	later_inbox_awake(outbox.inbox, true);
	assert_false(is_woken());
	later_t *list = later_inbox_take(outbox.inbox);
	for (unsigned i = 1; i < SOME; i++) {
		assert_non_null(list);
		later_t *later = list;
		list = (later_t *)later->request.next;
		assert_int_equal(id_of(later), i);
		assert_int_equal(later->reply_len, 20); /* header and question */
		assert_int_equal(later->bytes[2], 0xa8);
		assert_int_equal(later->bytes[3], i);
		assert_int_equal(load_be16(later->bytes - 2), later->reply_len);
		later_free(later);
	}
	assert_null(list);
	later_inbox_close(outbox.inbox);
}

/* What can't wait is answered at once, a frozen zone with the reason for those that have EDNS. */
static void test_refused(void **state)
{
	(void)state;
	static const struct {
		update_put_t put;
		bool has_edns;
		uint16_t rcode;
		size_t len;
	} rows[] = {
		{ UPDATE_NO_ZONE, false, KNOT_RCODE_NOTAUTH, 20 },
		{ UPDATE_NO_ROOM, true, KNOT_RCODE_REFUSED, 20 },
		{ UPDATE_NO_MEMORY, true, KNOT_RCODE_SERVFAIL, 20 },
		{ UPDATE_FROZEN, false, KNOT_RCODE_REFUSED, 20 },
		{ UPDATE_FROZEN, true, KNOT_RCODE_REFUSED, 20 + 11 + 6 },
	};
	begin();
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		verdict = rows[i].put;
		take((uint16_t)i, NULL, rows[i].has_edns);
		later_hand_over(&outbox, &sink);
		later_t *later = later_inbox_take(outbox.inbox);
		assert_non_null(later);
		assert_int_equal(later->bytes[3], rows[i].rcode);
		assert_int_equal(later->reply_len, rows[i].len);
		later_free(later);
	}
	later_inbox_close(outbox.inbox);
}

/* A signed request's reply is signed, by a copy of the key: the configuration may be another one by then. */
static void test_signed(void **state)
{
	(void)state;
	uint8_t name[] = "\3key", secret[] = "0123456789abcdef";
	knot_tsig_key_t key = { { name, 5, 1 }, KNOT_TSIG_HMAC_SHA256, { secret, 16 } };
	const knot_tsig_key_t same = { { (const uint8_t *)"\3key", 5, 1 }, KNOT_TSIG_HMAC_SHA256,
		{ (const uint8_t *)"0123456789abcdef", 16 } };
	uint8_t query[512];
	size_t len;
	knot_msg_writer_t w;
	knot_tsig_chain_t client, server;
	knot_msg_begin(&w, (knot_mut_bytes_t){ query, sizeof(query) });
	assert_int_equal(knot_msg_put_question(&w, (knot_name_t){ (const uint8_t *)"\2ex", 4, 1 }, 6, 1), KNOT_OK);
	(void)knot_msg_finish(&w, 9, 0x2800);
	knot_tsig_chain_begin(&client, &same);
	assert_int_equal(knot_tsig_sign(&client, &w, sys_clock_wall(), &len), KNOT_OK);
	knot_tsig_t tsig;
	uint8_t key_name[KNOT_NAME_MAX];
	assert_int_equal(knot_tsig_read((knot_bytes_t){ query, len }, key_name, &tsig), KNOT_OK);
	knot_tsig_chain_begin(&server, &key);
	assert_int_equal(
			knot_tsig_verify_read(&server, (knot_bytes_t){ query, len }, &tsig, sys_clock_wall()), KNOT_OK);

	begin();
	take(9, &server, false);
	memset(name, 0, sizeof(name));
	memset(secret, 0, sizeof(secret));
	later_hand_over(&outbox, &sink);
	answer(0);
	later_t *later = later_inbox_take(outbox.inbox);
	assert_int_equal(later->bytes[11], 1);
	assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ later->bytes, later->reply_len }, sys_clock_wall()),
			KNOT_OK);
	assert_true(knot_tsig_is_complete(&client));
	knot_tsig_chain_done(&client);
	later_free(later);
	later_inbox_close(outbox.inbox);
}

/* A worker that ends takes with it what is in its inbox; senders free the rest, and the inbox with the last of them. */
static void test_worker_ends(void **state)
{
	(void)state;
	begin();
	for (uint16_t i = 0; i < SOME; i++) {
		take(i, NULL, false);
	}
	later_hand_over(&outbox, &sink);
	answer(0);
	later_inbox_close(outbox.inbox);
	for (unsigned i = 1; i < SOME; i++) {
		answer(i);
	}
}

static void *answer_share(void *arg)
{
	for (size_t i = (size_t)(uintptr_t)arg; i < waiting_count; i += SENDERS) {
		answer(i);
	}
	return NULL;
}

/* Senders against a worker that sleeps as often as it can: each reply comes once, and no wake is lost. */
static void test_threads(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < SENDERS * EACH; i++) {
		take((uint16_t)i, NULL, false);
	}
	later_hand_over(&outbox, &sink);
	pthread_t threads[SENDERS];
	for (uintptr_t i = 0; i < SENDERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, answer_share, (void *)i), 0);
	}
	size_t count = 0;
	for (bool is_late = false; count < SENDERS * EACH && !is_late;) {
		struct pollfd pfd = { .fd = later_inbox_fd(outbox.inbox), .events = POLLIN };
		bool sleeps = later_inbox_sleep(outbox.inbox);
		int ready = poll(&pfd, 1, sleeps ? 60000 : 0);
		is_late = sleeps && ready == 0;
		later_inbox_awake(outbox.inbox, ready > 0);
		for (later_t *next, *later = later_inbox_take(outbox.inbox); later != NULL; later = next) {
			next = (later_t *)later->request.next;
			later_free(later);
			count++;
		}
	}
	for (unsigned i = 0; i < SENDERS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_int_equal(count, SENDERS * EACH);
	later_inbox_close(outbox.inbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_wake),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_worker_ends),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
