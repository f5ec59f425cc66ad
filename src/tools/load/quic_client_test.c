/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's QUIC against servers in memory, one per port; time is a number. */
#include "src/tools/load/quic_client.h"

#include "src/transport/quic.h"
#include "src/transport/quic_conn.h"
#include "src/transport/test_pki.h"

enum { PORTS = 40, MS = 1000000, TIMEOUT_MS = 5000 };
#define SERVER_EPOCH_NS UINT64_C(5000000000)

static test_pki_t pki;
static transport_identity_t *identity;
static queries_t queries;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1000 };
static worker_plan_t plan;
static worker_t worker;
static quic_client_t *client;
static transport_t *servers[PORTS];
static uint64_t now_ns;
static unsigned asked, early, datagrams; /* what servers have seen */
static unsigned silent_every, close_every, loss_every;
static bool leaves_open; /* servers never end a stream, and allow any number of them */

static bool is_new(void *ctx, knot_bytes_t key, uint64_t expiry_s)
{
	(void)ctx, (void)key, (void)expiry_s;
	return true;
}

static void servers_end(void)
{
	for (unsigned i = 0; i < PORTS; i++) {
		transport_free(servers[i]);
		servers[i] = NULL;
	}
}

static void start(char mode, uint32_t conns)
{
	char why[QUERIES_ERROR_MAX];
	const queries_params_t params = { .edns_size = 1232 };
	servers_end(); /* of a test that failed */
	queries = (queries_t){ 0 };
	now_ns = 0;
	leaves_open = false;
	asked = early = datagrams = silent_every = close_every = loss_every = 0;
	assert_true(queries_add_line(&queries, KNOT_STR("a.example. A"), &params, why));
	plan = (worker_plan_t){ .message = { .queries = &queries },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = (uint64_t)TIMEOUT_MS * MS,
		.step_count = 1,
		.addresses = 1 };
	pick_in_turn(&plan.message.pick, 1);
	assert_true(worker_init(&worker, &plan,
			&(worker_params_t){ .window = 1024, .ports = PORTS, .zero_ids = true, .first = 1 }));
	client = quic_client_new(&worker, &(quic_client_params_t){ .mode = mode, .conns = conns, .ports = PORTS });
	assert_non_null(client);
}

static void finish(void)
{
	servers_end();
	quic_client_free(client);
	worker_done(&worker);
	queries_free(&queries);
}

static void server_take(transport_t *t)
{
	transport_event_t event;
	uint8_t reply[512];
	while (transport_take(t, &event)) {
		if (event.kind != TRANSPORT_MESSAGE) {
			continue;
		}
		asked++;
		early += transport_state(t) == TRANSPORT_OPENING;
		assert_int_equal(load_be16(event.message.data), 0); /* RFC 9250 4.2.1 */
		if (close_every > 0 && asked % close_every == 0) {
			transport_close(t, now_ns + SERVER_EPOCH_NS);
		} else if (silent_every == 0 || asked % silent_every != 0) {
			memcpy(reply, event.message.data, event.message.len);
			reply[2] |= 0x80;
			assert_int_equal(transport_put(t, (knot_bytes_t){ reply, event.message.len }, &event.stream),
					KNOT_OK);
			if (leaves_open) {
				quic_of(t)->given_back_streams++;
				quic_of(t)->stream_count = 0; /* the room for them is the client's matter here */
			} else {
				transport_finish(t, event.stream);
			}
		}
	}
}

static void server_flush(uint32_t port)
{
	knot_bytes_t datagram;
	transport_t *t = servers[port];
	while (t != NULL && (datagram = transport_pending(t, now_ns + SERVER_EPOCH_NS)).len > 0) {
		uint8_t copy[2048];
		size_t len = datagram.len;
		memcpy(copy, datagram.data, len);
		transport_note_sent(t, len, now_ns + SERVER_EPOCH_NS);
		if (loss_every == 0 || ++datagrams % loss_every != 0) {
			quic_client_receive(client, port, (knot_bytes_t){ copy, len }, now_ns);
		}
	}
}

/* A datagram for the server of this port; one that begins a connection ends the one before. */
static void server_receive(uint32_t port, knot_bytes_t datagram)
{
	const transport_tls_params_t tls = { .role = TRANSPORT_SERVER, .identity = identity };
	const transport_quic_params_t quic = { .idle_ms = 0 };
	bool is_over = servers[port] != NULL && transport_state(servers[port]) == TRANSPORT_ENDED;
	if (is_over) {
		transport_free(servers[port]);
		servers[port] = NULL;
	}
	if (servers[port] == NULL && transport_quic_accept(&tls, &quic, datagram, now_ns + SERVER_EPOCH_NS,
						     &servers[port]) != KNOT_OK) {
		servers[port] = NULL;
		return;
	}
	knot_mut_bytes_t room = transport_room(servers[port]);
	assert_true(room.len >= datagram.len);
	memcpy(room.data, datagram.data, datagram.len);
	transport_note_received(servers[port], datagram.len, now_ns + SERVER_EPOCH_NS);
	server_take(servers[port]);
}

/* Everything that can be sent is, in both directions, until both have nothing. Returns the client's datagrams. */
static unsigned exchange(void)
{
	uint8_t bytes[QUIC_CLIENT_DATAGRAM_MAX];
	size_t len;
	uint32_t port;
	unsigned count = 0;
	while (quic_client_send(client, now_ns, bytes, &len, &port)) {
		assert_in_range(port, 0, PORTS - 1);
		count++;
		if (loss_every > 0 && ++datagrams % loss_every == 0) {
			continue;
		}
		server_receive(port, (knot_bytes_t){ bytes, len });
		server_flush(port);
	}
	return count;
}

/* Time goes on, from deadline to deadline. */
static void pass(uint64_t until_ns)
{
	for (;;) {
		uint64_t next_ns = quic_client_deadline_ns(client);
		for (unsigned i = 0; i < PORTS; i++) {
			uint64_t of_ns = servers[i] != NULL ? transport_deadline_ns(servers[i]) : UINT64_MAX;
			of_ns = of_ns != UINT64_MAX ? of_ns - SERVER_EPOCH_NS : of_ns;
			next_ns = of_ns < next_ns ? of_ns : next_ns;
		}
		if (next_ns >= until_ns) {
			break;
		}
		now_ns = next_ns > now_ns ? next_ns : now_ns;
		quic_client_expire(client, now_ns);
		(void)exchange();
		for (unsigned i = 0; i < PORTS; i++) {
			if (servers[i] != NULL && transport_deadline_ns(servers[i]) <= now_ns + SERVER_EPOCH_NS) {
				transport_expire(servers[i], now_ns + SERVER_EPOCH_NS);
			}
			server_flush(i);
		}
		(void)exchange();
	}
	now_ns = until_ns;
}

static void ask(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		assert_true(quic_client_next(client, now_ns));
		(void)exchange();
		pass(now_ns + MS);
	}
}

static void a_connection_per_query(void **state)
{
	(void)state;
	start(MODE_NORMAL, PORTS);
	ask(100);
	assert_int_equal(worker.counts.matched, 100);
	assert_int_equal(worker.counts.opened, 100);
	assert_int_equal(worker.counts.closed, 100);
	assert_int_equal(asked, 100);
	/* All but the first have a ticket; where the query doesn't fit beside it, the handshake may be over first. */
	assert_true(early >= 50);
	assert_int_equal(quic_client_open_count(client), 0);
	assert_int_equal(quic_client_deadline_ns(client), UINT64_MAX);
	finish();
}

static void ports_are_taken_in_turn(void **state)
{
	uint8_t bytes[QUIC_CLIENT_DATAGRAM_MAX];
	size_t len;
	uint32_t port;
	(void)state;
	start(MODE_SYN, 3);
	for (uint32_t i = 0; i < 2 * PORTS; i++) {
		assert_true(quic_client_next(client, now_ns));
		assert_true(quic_client_send(client, now_ns, bytes, &len, &port));
		assert_int_equal(port, i % PORTS);
		assert_int_equal(len, QUIC_CLIENT_DATAGRAM_MAX); /* RFC 9000 14.1 */
		assert_false(quic_client_send(client, now_ns, bytes, &len, &port));
		assert_int_equal(quic_client_open_count(client), 0); /* nothing of it is kept */
	}
	finish();
}

static void connections_are_kept(void **state)
{
	(void)state;
	start(MODE_REUSE, PORTS);
	ask(50);
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.matched, 50);
	assert_int_equal(worker.counts.opened, 1);
	assert_int_equal(worker.counts.closed, 0);
	quic_client_finish(client, true, now_ns);
	(void)exchange();
	assert_int_equal(worker.counts.closed, 1);
	assert_int_equal(quic_client_open_count(client), 0);
	finish();
}

/* Streams that stay open fill a connection: queries go to another one then. */
static void full_connections_are_replaced(void **state)
{
	(void)state;
	start(MODE_REUSE, 4);
	leaves_open = true;
	ask(2 * TRANSPORT_STREAMS_MAX + 10);
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.unsent, 0);
	assert_int_equal(worker.counts.matched, 2 * TRANSPORT_STREAMS_MAX + 10);
	assert_int_equal(worker.counts.opened, 3);
	assert_int_equal(worker.counts.closed, 2);
	finish();
}

static void queries_share_connections(void **state)
{
	(void)state;
	start(MODE_REUSE, 2);
	for (unsigned i = 0; i < 2 * QUIC_CLIENT_QUERIES_MAX; i++) {
		assert_true(quic_client_next(client, now_ns));
	}
	assert_int_equal(worker.counts.opened, 2);
	assert_false(quic_client_next(client, now_ns)); /* both have all that they may have */
	(void)exchange();
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.matched, 2 * QUIC_CLIENT_QUERIES_MAX);
	assert_true(quic_client_next(client, now_ns));
	finish();
}

static void no_more_connections_than_allowed(void **state)
{
	(void)state;
	start(MODE_NORMAL, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(quic_client_next(client, now_ns));
	}
	assert_false(quic_client_next(client, now_ns));
	assert_int_equal(worker.counts.sent, 3); /* the query that found none is still due */
	(void)exchange();
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.matched, 3);
	assert_true(quic_client_next(client, now_ns));
	finish();
}

static void silence_ends_with_the_timeout(void **state)
{
	(void)state;
	start(MODE_NORMAL, PORTS);
	silent_every = 3;
	ask(30);
	assert_int_equal(worker.counts.matched, 20);
	pass(now_ns + (TIMEOUT_MS + 50ull) * MS);
	assert_int_equal(worker.counts.refused, 10);
	assert_int_equal(worker.counts.matched, 20);
	assert_int_equal(quic_client_open_count(client), 0);
	finish();
}

static void a_server_may_close(void **state)
{
	(void)state;
	start(MODE_NORMAL, PORTS);
	close_every = 4;
	ask(40);
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.matched, 30);
	assert_int_equal(worker.counts.refused, 10);
	assert_int_equal(quic_client_open_count(client), 0);
	finish();
}

static void losses_are_repaired(void **state)
{
	(void)state;
	for (unsigned every = 3; every < 12; every++) {
		start(MODE_REUSE, 4);
		loss_every = every;
		ask(60);
		pass(now_ns + (uint64_t)TIMEOUT_MS * MS);
		assert_true(worker.counts.matched >= 55 && worker.counts.matched + worker.counts.refused == 60);
		finish();
	}
}

static void nobody_listens(void **state)
{
	(void)state;
	start(MODE_NORMAL, PORTS);
	assert_true(quic_client_next(client, now_ns));
	quic_client_refuse(client, 0);
	quic_client_refuse(client, 1);     /* no connection has it */
	quic_client_refuse(client, PORTS); /* no port */
	(void)exchange();
	assert_int_equal(worker.counts.reset, 1);
	assert_int_equal(worker.counts.refused, 1);
	assert_int_equal(quic_client_open_count(client), 0);
	finish();
}

static void garbage_changes_nothing(void **state)
{
	uint8_t bytes[5000] = { 0xC0 };
	(void)state;
	start(MODE_NORMAL, PORTS);
	assert_true(quic_client_next(client, now_ns));
	for (size_t len = 0; len <= sizeof(bytes); len += 100) {
		quic_client_receive(client, 0, (knot_bytes_t){ bytes, len }, now_ns);
		quic_client_receive(client, PORTS + 7, (knot_bytes_t){ bytes, len }, now_ns);
	}
	(void)exchange();
	pass(now_ns + 100ull * MS);
	assert_int_equal(worker.counts.matched, 1);
	finish();
}

static void the_end_closes_all(void **state)
{
	(void)state;
	start(MODE_NORMAL, PORTS);
	silent_every = 1;
	ask(5);
	quic_client_finish(client, true, now_ns);
	assert_int_equal(quic_client_open_count(client), 5); /* that wait for answers */
	quic_client_finish(client, false, now_ns);
	(void)exchange();
	assert_int_equal(quic_client_open_count(client), 0);
	assert_int_equal(worker.counts.closed, 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(transport_end(servers[i]), TRANSPORT_END_BY_PEER);
	}
	finish();
}

static int set_up(void **state)
{
	(void)state;
	test_pki_new(&pki);
	identity = test_pki_identity(&pki.good);
	return transport_identity_allow_early_data(identity, is_new, NULL) == KNOT_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	transport_identity_free(identity);
	test_pki_free(&pki);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_per_query),
		cmocka_unit_test(ports_are_taken_in_turn),
		cmocka_unit_test(connections_are_kept),
		cmocka_unit_test(full_connections_are_replaced),
		cmocka_unit_test(queries_share_connections),
		cmocka_unit_test(no_more_connections_than_allowed),
		cmocka_unit_test(silence_ends_with_the_timeout),
		cmocka_unit_test(a_server_may_close),
		cmocka_unit_test(losses_are_repaired),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(garbage_changes_nothing),
		cmocka_unit_test(the_end_closes_all),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
