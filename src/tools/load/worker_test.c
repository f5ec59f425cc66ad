/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker and its replies, without any network: each reply must have its verdict. */
#include "src/tools/load/worker.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { WINDOW = 1024, PORTS = 7, TIMEOUT_NS = 1000000, PERIOD_NS = 1000 };

static queries_t queries;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1e9 / PERIOD_NS };
static worker_plan_t plan;

static void add_query(const char *line, profile_t profile)
{
	char why[QUERIES_ERROR_MAX];
	const queries_params_t params = {
		.profile = profile, .edns_size = 1232, .always_edns = profile == PROFILE_QUERY
	};
	assert_true(queries_add_line(&queries, knot_str_of(line), &params, why));
}

static void make_plan(uint32_t addresses)
{
	plan = (worker_plan_t){ .message = { .queries = &queries, .seed = 3 },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = TIMEOUT_NS,
		.step_count = 1,
		.addresses = addresses };
	pick_in_turn(&plan.message.pick, queries.count);
}

static int set_up(void **state)
{
	(void)state;
	queries = (queries_t){ 0 };
	add_query("a.example. A", PROFILE_QUERY);
	add_query("b.example. AAAA D", PROFILE_QUERY);
	add_query("c.example. TXT E", PROFILE_QUERY);
	make_plan(1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	queries_free(&queries);
	return 0;
}

static void start(worker_t *w)
{
	const worker_params_t params = { .window = WINDOW, .ports = PORTS, .first = 41 };
	assert_true(worker_init(w, &plan, &params));
}

typedef struct {
	uint8_t bytes[MESSAGE_MAX + 2];
	worker_query_t query;
} sent_t;

static void send_next(worker_t *w, uint64_t now_ns, sent_t *ret_sent)
{
	worker_next(w, now_ns, false, ret_sent->bytes, &ret_sent->query);
}

static flight_verdict_t reply_to(worker_t *w, sent_t *sent, uint64_t now_ns)
{
	uint8_t reply[MESSAGE_MAX];
	memcpy(reply, sent->bytes, sent->query.len);
	reply[2] |= 0x80;
	const worker_reply_t r = { .port = sent->query.port,
		.address = sent->query.address,
		.now_ns = now_ns,
		.message = { reply, sent->query.len } };
	return worker_receive(w, w, &r);
}

static void test_verdicts(void **state)
{
	(void)state;
	worker_t w;
	start(&w);
	sent_t a, b;
	send_next(&w, 5000, &a);
	send_next(&w, 6000, &b);
	assert_int_equal(reply_to(&w, &b, 9000), FLIGHT_MATCHED);
	assert_int_equal(reply_to(&w, &a, 8000), FLIGHT_MATCHED);
	assert_int_equal(reply_to(&w, &a, 8500), FLIGHT_DUPLICATE);
	send_next(&w, 7000, &a);
	assert_int_equal(reply_to(&w, &a, 7000 + TIMEOUT_NS + 1), FLIGHT_LATE);
	assert_int_equal(reply_to(&w, &a, 7000 + TIMEOUT_NS + 1), FLIGHT_DUPLICATE);
	send_next(&w, 8000, &a);
	b = a;
	b.bytes[0] ^= 1; /* id */
	assert_int_equal(reply_to(&w, &b, 8000), FLIGHT_UNEXPECTED);
	b = a;
	b.query.port = (b.query.port + 1) % PORTS;
	assert_int_equal(reply_to(&w, &b, 8000), FLIGHT_UNEXPECTED);
	b = a;
	b.bytes[13] ^= 0x20; /* the case of a letter: it isn't our question */
	assert_int_equal(reply_to(&w, &b, 8000), FLIGHT_UNEXPECTED);
	b = a;
	b.bytes[5] = 2; /* questions */
	assert_int_equal(reply_to(&w, &b, 8000), FLIGHT_UNEXPECTED);
	assert_int_equal(w.counts.malformed, 1);
	assert_int_equal(reply_to(&w, &a, 8000), FLIGHT_MATCHED);
	assert_int_equal(w.counts.sent, 4);
	assert_int_equal(w.counts.matched, 3);
	assert_int_equal(w.counts.duplicate, 2);
	assert_int_equal(w.counts.late, 1);
	assert_int_equal(w.counts.unexpected, 3);
	assert_int_equal(w.counts.replies, 10);
	assert_int_equal(w.latency[0].count, 3);
	worker_done(&w);
}

/* Latency counts from when a query was due, not from when it could leave. */
static void test_latency_counts_from_the_intended_time(void **state)
{
	(void)state;
	worker_t w;
	start(&w);
	sent_t sent;
	for (unsigned i = 0; i < 100; i++) {
		uint64_t due_ns = worker_due(&w);
		assert_int_equal(due_ns, i * PERIOD_NS);
		send_next(&w, due_ns + 50000, &sent);
		assert_int_equal(reply_to(&w, &sent, due_ns + 50000 + 300), FLIGHT_MATCHED);
	}
	assert_int_equal(histogram_percentile(&w.latency[0], 100), 50300);
	assert_int_equal(w.latency[0].min_ns, 50300);
	assert_int_equal(w.delay[0].min_ns, 50000);
	worker_done(&w);
}

/* Every query is matched whatever came between, over many windows, all ports, addresses and ids. */
static void test_many(void **state)
{
	(void)state;
	make_plan(3);
	worker_t w;
	start(&w);
	enum { UNDER_WAY = 500, ROUNDS = 400 };
	static sent_t sent[UNDER_WAY];
	uint64_t now_ns = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < UNDER_WAY; i++) {
			now_ns = worker_due(&w);
			send_next(&w, now_ns, &sent[i]);
			assert_true(sent[i].query.port < PORTS && sent[i].query.address < 3);
		}
		for (unsigned i = 0; i < UNDER_WAY; i++) {
			unsigned which = (i * 7 + round) % UNDER_WAY;
			sent_t wrong = sent[which];
			wrong.query.address = (wrong.query.address + 1) % 3;
			assert_int_equal(reply_to(&w, &wrong, now_ns), FLIGHT_UNEXPECTED);
			assert_int_equal(reply_to(&w, &sent[which], now_ns), FLIGHT_MATCHED);
		}
	}
	assert_int_equal(w.counts.matched, (uint64_t)UNDER_WAY * ROUNDS);
	assert_int_equal(flight_waiting(&w.flight, 0), 0);
	worker_done(&w);
}

static void test_steps(void **state)
{
	(void)state;
	plan.step_count = 2;
	plan.step_ns = 10 * PERIOD_NS;
	worker_t w;
	start(&w);
	sent_t sent;
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t late_ns = i < 10 ? 300 : 7000;
		uint64_t now_ns = worker_due(&w) + late_ns;
		send_next(&w, now_ns, &sent);
		assert_int_equal(reply_to(&w, &sent, now_ns + 100), FLIGHT_MATCHED);
	}
	const uint64_t delays[] = { 300, 7000 };
	histogram_t *sums = calloc(2, sizeof(*sums));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(w.steps[i].sent, 10);
		assert_int_equal(w.delay[i].min_ns, delays[i]);
		assert_int_equal(w.delay[i].max_ns, delays[i]);
		assert_int_equal(w.latency[i].max_ns, delays[i] + 100);
	}
	worker_times_add(&sums[0], &sums[1], &w);
	assert_int_equal(sums[0].count, 20);
	assert_int_equal(sums[0].max_ns, 7100);
	assert_int_equal(sums[1].min_ns, 300);
	assert_int_equal(sums[1].max_ns, 7000);
	free(sums);
	worker_done(&w);
}

static void test_random_labels(void **state)
{
	(void)state;
	plan.message.prefix = "rnd";
	worker_t w;
	start(&w);
	sent_t a, b;
	send_next(&w, 0, &a);
	send_next(&w, 0, &b);
	assert_int_equal(a.bytes[12], 3 + 12);
	assert_memory_equal(a.bytes + 13, "rnd", 3);
	assert_memory_not_equal(a.bytes + 13, b.bytes + 13, 15);
	assert_memory_equal(a.bytes + 28, "\1a\7example", 11);
	assert_int_equal(reply_to(&w, &b, 10), FLIGHT_MATCHED);
	assert_int_equal(reply_to(&w, &a, 10), FLIGHT_MATCHED);
	uint8_t again[MESSAGE_MAX];
	assert_int_equal(worker_make_again(&w, a.query.number, again), a.query.len);
	assert_memory_equal(again, a.bytes, a.query.len);
	worker_done(&w);
}

static void test_unsend(void **state)
{
	(void)state;
	worker_t w;
	start(&w);
	sent_t a;
	send_next(&w, 0, &a);
	worker_unsend(&w, &a.query);
	assert_int_equal(w.counts.sent, 0);
	assert_int_equal(w.counts.unsent, 1);
	assert_int_equal(reply_to(&w, &a, 10), FLIGHT_LATE);
	worker_done(&w);
}

static void test_cookies(void **state)
{
	(void)state;
	plan.message.cookies = true;
	worker_t w;
	start(&w);
	sent_t a;
	send_next(&w, 0, &a);
	assert_int_equal(load_be16(a.bytes + a.query.len - 12), KNOT_EDNS_COOKIE);
	assert_int_equal(load_be16(a.bytes + a.query.len - 10), 8);
	size_t alone = a.query.len;
	/* The reply adds the server's part. */
	store_be16(a.bytes + alone - 14, 4 + 8 + 16);
	store_be16(a.bytes + alone - 10, 8 + 16);
	memset(a.bytes + alone, 0x5A, 16);
	a.query.len += 16;
	assert_int_equal(reply_to(&w, &a, 10), FLIGHT_MATCHED);
	sent_t b;
	for (unsigned i = 0; i < 3; i++) {
		send_next(&w, 20, &b);
	}
	assert_int_equal(load_be16(b.bytes + b.query.len - 12 - 16), KNOT_EDNS_COOKIE);
	assert_int_equal(b.bytes[b.query.len - 1], 0x5A);
	worker_done(&w);
}

/* A message of a transfer: SOAs by their serials, 0 stands for another record. */
static worker_transfer_state_t transfer_message(
		worker_t *w, worker_transfer_t *t, const uint32_t *serials, size_t count)
{
	uint8_t bytes[4096], name[] = "\7example", soa[2 + KNOT_SOA_NUMBERS_LEN] = { 0 };
	knot_msg_writer_t writer;
	knot_msg_begin(&writer, (knot_mut_bytes_t){ bytes, sizeof(bytes) });
	knot_name_t owner = { name, 9, 1 };
	for (size_t i = 0; i < count; i++) {
		knot_soa_set_serial((knot_mut_bytes_t){ soa, sizeof(soa) }, serials[i]);
		knot_bytes_t rdata = serials[i] != 0 ? (knot_bytes_t){ soa, sizeof(soa) }
						     : (knot_bytes_t){ (const uint8_t *)"\300\0\2\1", 4 };
		assert_int_equal(knot_msg_put_rr(&writer, KNOT_SECTION_ANSWER, owner,
						 serials[i] != 0 ? KNOT_TYPE_SOA : KNOT_TYPE_A, 1, 60, rdata),
				KNOT_OK);
	}
	size_t len = knot_msg_finish(&writer, 1, KNOT_FLAG_QR | KNOT_FLAG_AA);
	return worker_receive_transfer(w, t, (knot_bytes_t){ bytes, len });
}

static void test_transfers(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		profile_t profile;
		uint32_t serials[8];
		size_t count, done_at; /* messages of one record each; the one that ends it */
	} rows[] = {
		{ "AXFR", PROFILE_AXFR, { 5, 0, 0, 5 }, 4, 4 },
		{ "AXFR of nothing else", PROFILE_AXFR, { 5, 5 }, 2, 2 },
		{ "IXFR, up to date", PROFILE_IXFR, { 5 }, 1, 1 },
		{ "IXFR as AXFR", PROFILE_IXFR, { 5, 0, 5 }, 3, 3 },
		{ "IXFR, a difference", PROFILE_IXFR, { 5, 4, 0, 5, 0, 5 }, 6, 6 },
		{ "IXFR, two differences", PROFILE_IXFR, { 5, 3, 4, 0, 4, 5, 0, 5 }, 8, 8 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		plan.message.profile = rows[i].profile;
		worker_t w;
		start(&w);
		/* All in one message, and, but for what one message alone says, one by one. */
		worker_transfer_t t = { 0 };
		assert_int_equal(transfer_message(&w, &t, rows[i].serials, rows[i].count), TRANSFER_DONE);
		t = (worker_transfer_t){ 0 };
		for (size_t k = 0; k < rows[i].count && rows[i].profile == PROFILE_AXFR; k++) {
			worker_transfer_state_t want = k + 1 == rows[i].done_at ? TRANSFER_DONE : TRANSFER_MORE;
			assert_int_equal(transfer_message(&w, &t, &rows[i].serials[k], 1), want);
		}
		worker_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_verdicts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_latency_counts_from_the_intended_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_labels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unsend, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cookies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_transfers, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
