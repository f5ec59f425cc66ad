/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's TCP against a scripted server: segments in, segments out. */
#include "src/tools/load/tcp_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PORTS = 5, SERVER_SEQ = 7000, MS = 1000000 };

static queries_t queries;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1000 };
static worker_plan_t plan;
static worker_t worker;
static tcp_client_t *client;
static uint8_t payload[MESSAGE_MAX + 2];
static tcp_client_out_t out;

static void start(char mode)
{
	char why[QUERIES_ERROR_MAX];
	const queries_params_t params = { .edns_size = 1232 };
	queries = (queries_t){ 0 };
	assert_true(queries_add_line(&queries, KNOT_STR("a.example. A"), &params, why));
	plan = (worker_plan_t){ .message = { .queries = &queries },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = 5000ull * MS,
		.step_count = 1,
		.addresses = 1 };
	pick_in_turn(&plan.message.pick, 1);
	assert_true(worker_init(&worker, &plan, &(worker_params_t){ .window = 1024, .ports = PORTS, .first = 1 }));
	client = tcp_client_new(&worker, mode, 1460);
	assert_non_null(client);
}

static void finish(void)
{
	tcp_client_free(client);
	worker_done(&worker);
	queries_free(&queries);
}

typedef struct {
	uint32_t port, seq, ack; /* the server's next */
	uint8_t query[64];
	size_t query_len;
} server_t;

static void receive(server_t *s, uint8_t flags, uint32_t seq, const uint8_t *data, size_t len, uint64_t now_ns)
{
	const kxdp_segment_t segment = { .seq = seq,
		.ack = s->ack,
		.window = 65535,
		.scale = -1,
		.flags = flags,
		.len = (uint16_t)len,
		.payload = data };
	tcp_client_receive(client, s->port, 0, &segment, now_ns, payload, &out);
}

static void expect_out(uint8_t flags, size_t len)
{
	assert_int_equal(out.flags, flags);
	assert_int_equal(out.len, len);
}

/* SYN, SYN-ACK; the client's query is in `payload`, unless its mode has none. */
static void connect_client(server_t *s, uint64_t now_ns)
{
	tcp_client_next(client, now_ns, payload, &out);
	expect_out(KXDP_TCP_SYN, 0);
	assert_int_equal(out.mss, 1460);
	*s = (server_t){ .port = out.port, .seq = SERVER_SEQ, .ack = out.seq + 1 };
	receive(s, KXDP_TCP_SYN | KXDP_TCP_ACK, s->seq++, NULL, 0, now_ns);
}

static void take_query(server_t *s)
{
	expect_out(KXDP_TCP_PSH | KXDP_TCP_ACK, 2 + queries.items[0].len);
	assert_int_equal(out.seq, s->ack);
	assert_int_equal(out.ack, s->seq);
	s->query_len = out.len;
	memcpy(s->query, payload, out.len);
	s->query[4] |= 0x80; /* as a reply */
	s->ack += (uint32_t)out.len;
}

static void test_one_query(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	server_t s;
	connect_client(&s, 0);
	take_query(&s);
	receive(&s, KXDP_TCP_PSH | KXDP_TCP_ACK, s.seq, s.query, s.query_len, 3 * MS);
	s.seq += (uint32_t)s.query_len;
	expect_out(KXDP_TCP_FIN | KXDP_TCP_ACK, 0);
	assert_int_equal(out.ack, s.seq);
	s.ack++;
	receive(&s, KXDP_TCP_FIN | KXDP_TCP_ACK, s.seq++, NULL, 0, 4 * MS);
	expect_out(KXDP_TCP_ACK, 0);
	assert_int_equal(out.ack, s.seq);
	assert_int_equal(worker.counts.matched, 1);
	assert_int_equal(worker.counts.established, 1);
	assert_int_equal(worker.counts.closed, 1);
	assert_int_equal(worker.counts.refused, 0);
	assert_int_equal(tcp_client_open_count(client), 0);
	assert_int_equal(histogram_percentile(&worker.latency[0], 100), 3 * MS);
	finish();
}

/* The answer byte by byte, each twice, and one ahead of its turn. */
static void test_pieces(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	server_t s;
	connect_client(&s, 0);
	take_query(&s);
	receive(&s, KXDP_TCP_ACK, s.seq + 5, s.query + 5, 1, MS);
	expect_out(KXDP_TCP_ACK, 0);
	assert_int_equal(out.ack, s.seq);
	for (size_t i = 0; i < s.query_len; i++) {
		receive(&s, KXDP_TCP_ACK, s.seq + (uint32_t)i, s.query + i, 1, MS);
		if (i + 1 < s.query_len) {
			expect_out(KXDP_TCP_ACK, 0);
			assert_int_equal(out.ack, s.seq + i + 1);
			receive(&s, KXDP_TCP_ACK, s.seq + (uint32_t)i, s.query + i, 1, MS);
			expect_out(KXDP_TCP_ACK, 0);
		}
	}
	expect_out(KXDP_TCP_FIN | KXDP_TCP_ACK, 0);
	assert_int_equal(worker.counts.matched, 1);
	finish();
}

static void test_answer_with_fin(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	server_t s;
	connect_client(&s, 0);
	take_query(&s);
	receive(&s, KXDP_TCP_PSH | KXDP_TCP_ACK | KXDP_TCP_FIN, s.seq, s.query, s.query_len, MS);
	expect_out(KXDP_TCP_FIN | KXDP_TCP_ACK, 0);
	assert_int_equal(worker.counts.matched, 1);
	assert_int_equal(worker.counts.refused, 0);
	assert_int_equal(worker.counts.closed, 1);
	assert_int_equal(tcp_client_open_count(client), 0);
	finish();
}

static void test_closed_without_answer(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	server_t s;
	connect_client(&s, 0);
	take_query(&s);
	receive(&s, KXDP_TCP_FIN | KXDP_TCP_ACK, s.seq, NULL, 0, MS);
	assert_int_equal(worker.counts.refused, 1);
	assert_int_equal(worker.counts.closed, 1);
	finish();
}

static void test_resets(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	server_t s;
	tcp_client_next(client, 0, payload, &out);
	s = (server_t){ .port = out.port, .ack = out.seq + 1 };
	s.ack += 9; /* of another connection */
	receive(&s, KXDP_TCP_RST | KXDP_TCP_ACK, 0, NULL, 0, MS);
	assert_int_equal(worker.counts.reset, 0);
	s.ack -= 9;
	receive(&s, KXDP_TCP_RST | KXDP_TCP_ACK, 0, NULL, 0, MS);
	assert_int_equal(worker.counts.reset, 1);
	connect_client(&s, 0);
	take_query(&s);
	receive(&s, KXDP_TCP_RST, s.seq + 1, NULL, 0, MS); /* out of order: RFC 5961 3.2 */
	assert_int_equal(worker.counts.reset, 1);
	receive(&s, KXDP_TCP_RST, s.seq, NULL, 0, MS);
	assert_int_equal(worker.counts.reset, 2);
	assert_int_equal(worker.counts.refused, 2);
	expect_out(0, 0);
	assert_int_equal(tcp_client_open_count(client), 0);
	finish();
}

static void test_sent_again(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	tcp_client_next(client, 0, payload, &out);
	const tcp_client_out_t syn = out;
	assert_false(tcp_client_resend(client, 999ull * MS, payload, &out));
	assert_true(tcp_client_resend(client, 1000ull * MS, payload, &out));
	assert_memory_equal(&out, &syn, sizeof(out));
	assert_false(tcp_client_resend(client, 1000ull * MS, payload, &out));
	server_t s = { .port = out.port, .seq = SERVER_SEQ, .ack = out.seq + 1 };
	receive(&s, KXDP_TCP_SYN | KXDP_TCP_ACK, s.seq++, NULL, 0, 1001ull * MS);
	const tcp_client_out_t query = out;
	assert_false(tcp_client_resend(client, 2000ull * MS, payload, &out)); /* the SYN's wait is over */
	for (unsigned i = 0; i < TCP_CLIENT_RESEND_MAX; i++) {
		memset(payload, 0, sizeof(payload));
		assert_true(tcp_client_resend(client, (2002 + i * 1001ull) * MS, payload, &out));
		assert_memory_equal(&out, &query, sizeof(out));
		assert_int_equal(load_be16(payload), queries.items[0].len);
	}
	assert_false(tcp_client_resend(client, 9000ull * MS, payload, &out));
	assert_int_equal(worker.counts.refused, 1);
	assert_int_equal(worker.counts.resent, 1 + TCP_CLIENT_RESEND_MAX);
	assert_int_equal(tcp_client_open_count(client), 0);
	finish();
}

static void test_reuse(void **state)
{
	(void)state;
	start(MODE_REUSE);
	server_t s;
	connect_client(&s, 0);
	for (unsigned i = 0; i < 10; i++) {
		take_query(&s);
		receive(&s, KXDP_TCP_PSH | KXDP_TCP_ACK, s.seq, s.query, s.query_len, MS);
		expect_out(KXDP_TCP_ACK, 0);
		s.seq += (uint32_t)s.query_len;
		tcp_client_next(client, MS, payload, &out);
		assert_int_equal(out.port, s.port);
	}
	assert_int_equal(worker.counts.opened, 1);
	assert_int_equal(worker.counts.matched, 10);
	/* The server closes an idle one: the next query opens another. */
	take_query(&s);
	receive(&s, KXDP_TCP_PSH | KXDP_TCP_ACK, s.seq, s.query, s.query_len, MS);
	s.seq += (uint32_t)s.query_len;
	receive(&s, KXDP_TCP_FIN | KXDP_TCP_ACK, s.seq, NULL, 0, MS);
	expect_out(KXDP_TCP_FIN | KXDP_TCP_ACK, 0);
	tcp_client_next(client, MS, payload, &out);
	expect_out(KXDP_TCP_SYN, 0);
	finish();
}

static void test_modes(void **state)
{
	(void)state;
	static const struct {
		char mode;
		uint8_t after_syn_ack; /* flags of the client's segment, 0: none */
		int short_by;          /* bytes of the query that are missing; -1: none sent */
		uint8_t after_answer, after_fin;
	} rows[] = {
		{ MODE_SYN, 0, -1, 0, 0 },
		{ MODE_HANDSHAKE, KXDP_TCP_ACK, -1, KXDP_TCP_ACK, KXDP_TCP_FIN | KXDP_TCP_ACK },
		{ MODE_SILENT, KXDP_TCP_ACK, -1, 0, 0 },
		{ MODE_INCOMPLETE, KXDP_TCP_PSH | KXDP_TCP_ACK, 1, 0, 0 },
		{ MODE_NO_ACK, KXDP_TCP_PSH | KXDP_TCP_ACK, 0, 0, 0 },
		{ MODE_NO_CLOSE, KXDP_TCP_PSH | KXDP_TCP_ACK, 0, KXDP_TCP_ACK, 0 },
		{ MODE_NO_FIN_ACK, KXDP_TCP_PSH | KXDP_TCP_ACK, 0, KXDP_TCP_FIN | KXDP_TCP_ACK, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(rows[i].mode);
		server_t s;
		connect_client(&s, 0);
		size_t query_len = 2 + queries.items[0].len;
		expect_out(rows[i].after_syn_ack, rows[i].short_by < 0 ? 0 : query_len - (size_t)rows[i].short_by);
		memcpy(s.query, payload, query_len);
		s.query[4] |= 0x80;
		s.ack += (uint32_t)out.len;
		receive(&s, KXDP_TCP_PSH | KXDP_TCP_ACK, s.seq, s.query, query_len, MS);
		s.seq += (uint32_t)query_len;
		expect_out(rows[i].after_answer, 0);
		receive(&s, KXDP_TCP_FIN | KXDP_TCP_ACK, s.seq, NULL, 0, MS);
		expect_out(rows[i].after_fin, 0);
		finish();
	}
}

/* All ports go round: the old connection gives way. */
static void test_ports_go_round(void **state)
{
	(void)state;
	start(MODE_NORMAL);
	bool seen[PORTS] = { false };
	for (unsigned i = 0; i < PORTS + 2; i++) {
		tcp_client_next(client, 0, payload, &out);
		assert_int_equal(seen[out.port], i >= PORTS);
		seen[out.port] = true;
	}
	assert_int_equal(worker.counts.refused, 2);
	assert_int_equal(tcp_client_open_count(client), PORTS);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_query),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_answer_with_fin),
		cmocka_unit_test(test_closed_without_answer),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_sent_again),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_ports_go_round),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
