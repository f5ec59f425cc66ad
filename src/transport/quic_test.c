/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/quic.h"

#include "src/transport/quic_conn.h"
#include "src/transport/test_net.h"
#include "src/transport/test_pki.h"

static test_pki_t pki;

/** How a server meets a client's first datagrams. */
typedef enum { MEET_PLAIN, MEET_RETRY, MEET_VERSION, MEET_SILENCE } meet_t;

typedef struct {
	test_net_t net;
	transport_identity_t *identity;
	transport_trust_t *trust;
	meet_t meet;
	unsigned meet_count;
	ngtcp2_cid original_cid;    /* of the Retry; datalen 0: there was none */
	unsigned answered;          /* messages that the server has answered */
	bool keeps_silent;          /* the server answers nothing */
	const uint8_t *reset_token; /* of stateless resets, which the server tells; NULL: none */
	char notes[8192];
} world_t;

static void note(void *ctx, transport_note_level_t level, const char *text)
{
	world_t *world = ctx;
	size_t len = strlen(world->notes);
	(void)level;
	(void)snprintf(world->notes + len, sizeof(world->notes) - len, "%s\n", text);
}

static void world_accept(world_t *world, knot_bytes_t datagram)
{
	transport_tls_params_t params = { .role = TRANSPORT_SERVER, .identity = world->identity };
	transport_quic_params_t quic = { .original_cid = { world->original_cid.data, world->original_cid.datalen } };
	knot_err_t err = transport_quic_accept(&params, &quic, datagram, world->net.now_ns, &world->net.server);
	assert_true(err == KNOT_OK || (err == KNOT_EMALF && world->net.server == NULL));
	if (err == KNOT_OK && world->reset_token != NULL) {
		ngtcp2_conn *conn = quic_of(world->net.server)->conn;
		ngtcp2_transport_params changed = *ngtcp2_conn_get_local_transport_params(conn);
		memcpy(changed.stateless_reset_token, world->reset_token, NGTCP2_STATELESS_RESET_TOKENLEN);
		changed.stateless_reset_token_present = 1;
		assert_int_equal(ngtcp2_conn_set_local_transport_params(conn, &changed), 0);
	}
}

static void world_send_to_client(world_t *world, const uint8_t *data, ngtcp2_ssize len)
{
	assert_true(len > 0);
	test_net_send(&world->net, (knot_bytes_t){ data, (size_t)len }, false);
}

/* The client has to come back with the token; whether that is right is the endpoint's business, not the connection's.
 */
static void world_retry(world_t *world, const ngtcp2_version_cid *cids)
{
	static const uint8_t token[] = "a token";
	uint8_t packet[1500];
	ngtcp2_cid client, server = { .datalen = TRANSPORT_QUIC_CID_LEN };
	memset(server.data, 7, server.datalen);
	ngtcp2_cid_init(&client, cids->scid, cids->scidlen);
	ngtcp2_cid_init(&world->original_cid, cids->dcid, cids->dcidlen);
	world_send_to_client(world, packet,
			ngtcp2_crypto_write_retry(packet, sizeof(packet), cids->version, &client, &server,
					&world->original_cid, token, sizeof(token)));
}

static void world_meet(void *ctx, knot_bytes_t datagram)
{
	world_t *world = ctx;
	uint8_t packet[1500];
	ngtcp2_version_cid cids;
	world->meet_count++;
	if (world->meet == MEET_SILENCE || ngtcp2_pkt_decode_version_cid(&cids, datagram.data, datagram.len,
							   TRANSPORT_QUIC_CID_LEN) != 0) {
		return;
	}
	if (world->meet == MEET_VERSION) {
		static const uint32_t versions[] = { 0x1a2a3a4a, 0xabcd0000 };
		world_send_to_client(world, packet,
				ngtcp2_pkt_write_version_negotiation(packet, sizeof(packet), 0, cids.scid, cids.scidlen,
						cids.dcid, cids.dcidlen, versions, KNOT_LEN(versions)));
		return;
	}
	if (world->meet == MEET_RETRY) {
		ngtcp2_pkt_hd head;
		if (ngtcp2_accept(&head, datagram.data, datagram.len) != 0) {
			return;
		}
		knot_bytes_t token = quic_head_token(&head);
		if (token.len == 0) {
			world_retry(world, &cids);
			return;
		}
		assert_int_equal(token.len, sizeof("a token"));
		assert_memory_equal(token.data, "a token", token.len);
	}
	world_accept(world, datagram);
}

static void world_new(world_t *world, uint64_t seed, test_weather_t weather)
{
	*world = (world_t){ .net = { .weather = weather, .seed = seed | 1 << 20, .now_ns = TEST_NET_MS },
		.identity = test_pki_identity(&pki.good) };
	world->net.on_first = world_meet;
	world->net.ctx = world;
}

static void world_connect(world_t *world, const transport_tls_params_t *params)
{
	transport_tls_params_t client = *params;
	transport_quic_params_t quic = { .idle_ms = 0 };
	client.trust = world->trust;
	client.note = note;
	client.note_ctx = world;
	client.wall_s = (uint64_t)time(NULL);
	assert_int_equal(transport_quic_new(&client, &quic, world->net.now_ns, &world->net.client), KNOT_OK);
}

static void world_disconnect(world_t *world)
{
	test_net_done(&world->net);
	world->notes[0] = '\0';
}

static void world_done(world_t *world)
{
	world_disconnect(world);
	transport_identity_free(world->identity);
	transport_trust_free(world->trust);
}

static uint64_t put(transport_t *t, const char *text)
{
	uint64_t stream = 0;
	assert_int_equal(transport_put(t, test_pki_bytes(text), &stream), KNOT_OK);
	return stream;
}

/* What the server does with messages: "N" as first byte: that many replies of 20,000 bytes, else an echo; then FIN. */
static void world_serve(world_t *world)
{
	static uint8_t large[20000];
	transport_event_t event;
	while (world->net.server != NULL && !world->keeps_silent && transport_take(world->net.server, &event)) {
		if (event.kind != TRANSPORT_MESSAGE) {
			continue;
		}
		world->answered++;
		bool is_transfer = event.message.data[0] >= '1' && event.message.data[0] <= '9';
		unsigned count = is_transfer ? (unsigned)(event.message.data[0] - '0') * 10 : 1;
		for (unsigned i = 0; i < count; i++) {
			memset(large, (int)i, sizeof(large));
			knot_bytes_t reply = is_transfer ? (knot_bytes_t){ large, sizeof(large) } : event.message;
			assert_int_equal(transport_put(world->net.server, reply, &event.stream), KNOT_OK);
		}
		transport_finish(world->net.server, event.stream);
	}
}

/* Until the client has an event, or time is over. */
static bool world_take(world_t *world, transport_event_t *ret_event, uint64_t until_ns)
{
	while (!transport_take(world->net.client, ret_event)) {
		world_serve(world);
		if (!test_net_step(&world->net, until_ns)) {
			return false;
		}
	}
	return true;
}

static void world_run(world_t *world, uint64_t ms)
{
	uint64_t until_ns = world->net.now_ns + ms * TEST_NET_MS;
	do {
		world_serve(world);
	} while (test_net_step(&world->net, until_ns));
}

static void assert_takes(world_t *world, uint64_t stream, const char *want)
{
	transport_event_t event;
	assert_true(world_take(world, &event, world->net.now_ns + 60000ull * TEST_NET_MS));
	assert_int_equal(event.kind, TRANSPORT_MESSAGE);
	assert_int_equal(event.stream, stream);
	assert_int_equal(event.message.len, strlen(want));
	assert_memory_equal(event.message.data, want, strlen(want));
	assert_true(world_take(world, &event, world->net.now_ns + 60000ull * TEST_NET_MS));
	assert_int_equal(event.kind, TRANSPORT_STREAM_END);
	assert_int_equal(event.stream, stream);
}

static const test_weather_t calm = { 0 };

/* ---- Messages ---- */

static void test_queries(void **state)
{
	(void)state;
	world_t world;
	transport_session_t session;
	world_new(&world, 1, calm);
	world_connect(&world, &(transport_tls_params_t){ .hostname = "dns.example" });
	assert_int_equal(transport_state(world.net.client), TRANSPORT_OPENING);
	uint64_t first = put(world.net.client, "a query"), begin_ns = world.net.now_ns;
	assert_takes(&world, first, "a query");
	/* One way is 5 ms, and there are four: nothing waits for a timer in between. */
	assert_in_range((world.net.now_ns - begin_ns) / TEST_NET_MS, 19, 24);
	assert_int_equal(transport_state(world.net.client), TRANSPORT_OPEN);
	transport_describe(world.net.client, &session);
	assert_int_equal(session.count, 1);
	assert_non_null(strstr(session.lines[0], "QUIC session (QUICv1)-(TLS1.3)-(ECDHE-"));
	uint64_t second = put(world.net.client, "another query");
	assert_takes(&world, second, "another query");
	transport_close(world.net.client, world.net.now_ns);
	world_run(&world, 1000);
	assert_int_equal(transport_end(world.net.server), TRANSPORT_END_BY_PEER);
	assert_string_equal(transport_reason(world.net.server), "QUIC, peer has closed the connection (DOQ_NO_ERROR)");
	world_done(&world);
}

/* Many queries at once, more than the server lets in at a time, and transfers of several windows, in all weathers. */
static void test_weathers(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		test_weather_t weather;
	} rows[] = {
		{ "calm", { 0 } },
		{ "loss", { .loss = 100 } },
		{ "heavy loss", { .loss = 250 } },
		{ "duplicates", { .duplicate = 300 } },
		{ "reordering", { .reorder = 400 } },
		{ "spoilt", { .spoil = 100 } },
		{ "all", { .loss = 100, .duplicate = 100, .reorder = 200, .spoil = 50 } },
	};
	for (size_t i = 0; i < 3 * KNOT_LEN(rows); i++) {
		world_t world;
		enum { QUERIES = 120 };
		unsigned whole = 0, transferred = 0, ended = 0;
		transport_event_t event;
		world_new(&world, 77 + i, rows[i / 3].weather);
		world_connect(&world, &(transport_tls_params_t){ 0 });
		uint64_t transfer = put(world.net.client, "3 times ten messages");
		for (unsigned n = 0; n < QUERIES; n++) {
			char text[32];
			(void)snprintf(text, sizeof(text), "query %u", n);
			assert_int_equal(put(world.net.client, text), transfer + 1 + n);
		}
		uint64_t until_ns = world.net.now_ns + 300000ull * TEST_NET_MS;
		while (ended < QUERIES + 1) {
			if (!world_take(&world, &event, until_ns)) {
				fail_msg("%s, seed %zu: %u of %u, %s", rows[i / 3].what, 77 + i, ended, QUERIES + 1,
						transport_reason(world.net.client));
			}
			if (event.kind == TRANSPORT_STREAM_END) {
				ended++;
			} else if (event.stream == transfer) {
				assert_int_equal(event.message.len, 20000);
				assert_int_equal(event.message.data[0], transferred++);
			} else {
				char text[32];
				int len = snprintf(text, sizeof(text), "query %u",
						(unsigned)(event.stream - transfer - 1));
				assert_int_equal(event.message.len, len);
				assert_memory_equal(event.message.data, text, (size_t)len);
				whole++;
			}
		}
		assert_int_equal(whole, QUERIES);
		assert_int_equal(transferred, 30);
		assert_int_equal(world.answered, QUERIES + 1);
		world_done(&world);
	}
}

/* A client that takes nothing: the server stops at the window, and goes on when it is taken. */
static void test_window(void **state)
{
	(void)state;
	world_t world;
	transport_event_t event;
	world_new(&world, 5, calm);
	world_connect(&world, &(transport_tls_params_t){ 0 });
	put(world.net.client, "9 times ten messages");
	world_run(&world, 20000);
	quic_t *quic = quic_of(world.net.client);
	assert_in_range(quic->streams->in.len, 200000, TRANSPORT_QUIC_STREAM_WINDOW);
	for (unsigned i = 0; i < 90; i++) {
		assert_true(world_take(&world, &event, world.net.now_ns + 60000ull * TEST_NET_MS));
		assert_int_equal(event.kind, TRANSPORT_MESSAGE);
	}
	assert_true(world_take(&world, &event, world.net.now_ns + 60000ull * TEST_NET_MS));
	assert_int_equal(event.kind, TRANSPORT_STREAM_END);
	world_done(&world);
}

static void test_limits(void **state)
{
	(void)state;
	world_t world;
	uint64_t stream;
	static uint8_t longest[TRANSPORT_MESSAGE_MAX];
	unsigned count = 0;
	world_new(&world, 5, calm);
	world_connect(&world, &(transport_tls_params_t){ 0 });
	while (transport_put(world.net.client, (knot_bytes_t){ longest, sizeof(longest) }, &stream) == KNOT_OK) {
		count++;
	}
	assert_in_range(count, 60, TRANSPORT_PENDING_MAX / sizeof(longest));
	while (transport_put(world.net.client, (knot_bytes_t){ longest, 1 }, &stream) == KNOT_OK) {
		count++;
	}
	assert_int_equal(count, TRANSPORT_STREAMS_MAX);
	assert_int_equal(transport_put(world.net.client, (knot_bytes_t){ longest, 1 }, &stream), KNOT_EAGAIN);
	world_done(&world);
}

/* ---- Streams that end badly ---- */

static void test_cut_streams(void **state)
{
	(void)state;
	world_t world;
	transport_event_t event;
	world_new(&world, 5, calm);
	world.keeps_silent = true;
	world_connect(&world, &(transport_tls_params_t){ 0 });
	uint64_t reset = put(world.net.client, "to be reset");
	uint64_t empty = put(world.net.client, "to be ended");
	uint64_t half = put(world.net.client, "to be half answered");
	world_run(&world, 1000);
	quic_t *server = quic_of(world.net.server);
	quic_stream_t *streams[3] = { NULL }; /* the client's IDs are 0, 4, 8 */
	for (quic_stream_t *stream = server->streams; stream != NULL; stream = stream->next) {
		streams[stream->id / 4] = stream;
	}
	assert_int_equal(quic_conn_shutdown_stream(server->conn, streams[0]->id, DOQ_EXCESSIVE_LOAD), 0);
	transport_finish(world.net.server, streams[1]->number);
	uint64_t number = streams[2]->number;
	assert_int_equal(transport_put(world.net.server, test_pki_bytes("an answer"), &number), KNOT_OK);
	streams[2]->chunks->len -= 3; /* as if it ended there */
	streams[2]->out_end -= 3;
	server->waiting_len -= 3;
	transport_finish(world.net.server, number);
	static const struct {
		transport_event_kind_t kind;
		uint64_t code;
	} wants[] = { { TRANSPORT_STREAM_CUT, DOQ_EXCESSIVE_LOAD }, { TRANSPORT_STREAM_END, 0 },
		{ TRANSPORT_STREAM_CUT, 0 } };
	for (size_t i = 0; i < KNOT_LEN(wants); i++) {
		assert_true(world_take(&world, &event, world.net.now_ns + 60000ull * TEST_NET_MS));
		size_t at = event.stream == reset ? 0 : event.stream == empty ? 1 : 2;
		assert_true(at != 2 || event.stream == half);
		assert_int_equal(event.kind, wants[at].kind);
		assert_int_equal(event.code, wants[at].code);
	}
	world_done(&world);
}

static void test_cancel(void **state)
{
	(void)state;
	world_t world;
	transport_event_t event;
	world_new(&world, 5, calm);
	world_connect(&world, &(transport_tls_params_t){ 0 });
	uint64_t unsent = put(world.net.client, "never sent");
	transport_cancel(world.net.client, unsent);
	uint64_t large = put(world.net.client, "9 times ten messages");
	assert_true(world_take(&world, &event, world.net.now_ns + 60000ull * TEST_NET_MS));
	transport_cancel(world.net.client, large);
	uint64_t next = put(world.net.client, "next");
	assert_takes(&world, next, "next");
	world_run(&world, 5000);
	assert_false(transport_take(world.net.client, &event));
	assert_int_equal(quic_of(world.net.client)->stream_count, 0);
	assert_int_equal(quic_of(world.net.server)->stream_count, 0);
	world_done(&world);
}

/* Thousands of queries one after the other: nothing is kept of those that are over. */
static void test_long_life(void **state)
{
	(void)state;
	world_t world;
	world_new(&world, 5, (test_weather_t){ .loss = 20 });
	world_connect(&world, &(transport_tls_params_t){ 0 });
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t stream = put(world.net.client, "query");
		assert_takes(&world, stream, "query");
	}
	world_run(&world, 1000);
	transport_event_t event;
	assert_false(transport_take(world.net.client, &event));
	assert_in_range(quic_of(world.net.client)->stream_count, 0, 1);
	assert_int_equal(quic_of(world.net.client)->waiting_len, 0);
	assert_int_equal(world.answered, 2000);
	world_done(&world);
}

/* ---- Connections that don't come about, or end ---- */

static void test_trust(void **state)
{
	(void)state;
	static const struct {
		const test_cert_t *cert;
		const char *hostname;
		bool is_trusted;
	} rows[] = {
		{ &pki.good, "dns.example", true },
		{ &pki.wrong_name, "dns.example", false },
		{ &pki.expired, "dns.example", false },
		{ &pki.self_signed, "dns.example", false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		world_t world;
		transport_event_t event;
		transport_trust_params_t params = {
			.is_strict = true, .ca_file_count = 1, .ca_files = { pki.ca_file }
		};
		world_new(&world, 5, calm);
		transport_identity_free(world.identity);
		world.identity = test_pki_identity(rows[i].cert);
		assert_int_equal(transport_trust_new(&params, NULL, NULL, &world.trust), KNOT_OK);
		world_connect(&world, &(transport_tls_params_t){ .hostname = rows[i].hostname });
		uint64_t stream = put(world.net.client, "a secret");
		if (rows[i].is_trusted) {
			assert_takes(&world, stream, "a secret");
		} else {
			assert_false(world_take(&world, &event, world.net.now_ns + 1000ull * TEST_NET_MS));
			assert_int_equal(transport_end(world.net.client), TRANSPORT_END_UNTRUSTED);
			assert_string_equal(transport_reason(world.net.client),
					"QUIC, handshake failed (Error in the certificate.)");
			assert_non_null(strstr(world.notes, "TLS, The certificate is NOT trusted."));
			assert_int_equal(world.answered, 0);
			assert_int_equal(transport_end(world.net.server), TRANSPORT_END_REFUSED);
			assert_non_null(strstr(
					transport_reason(world.net.server), "QUIC, handshake failed (the peer says: "));
		}
		world_done(&world);
	}
}

static void test_silence(void **state)
{
	(void)state;
	world_t world;
	transport_event_t event;
	world_new(&world, 5, calm);
	world.meet = MEET_SILENCE;
	world_connect(&world, &(transport_tls_params_t){ 0 });
	uint64_t begin_ns = world.net.now_ns;
	assert_false(world_take(&world, &event, TRANSPORT_NEVER_NS));
	assert_int_equal(transport_end(world.net.client), TRANSPORT_END_TIMEOUT);
	assert_string_equal(transport_reason(world.net.client), "QUIC, peer took too long to respond");
	assert_in_range((world.net.now_ns - begin_ns) / TEST_NET_MS, 9900, 15000);
	assert_in_range(world.net.sent_count, 3, 30);
	world_done(&world);
}

static void test_idle(void **state)
{
	(void)state;
	world_t world;
	transport_event_t event;
	world_new(&world, 5, calm);
	world_connect(&world, &(transport_tls_params_t){ 0 });
	assert_takes(&world, put(world.net.client, "query"), "query");
	uint64_t begin_ns = world.net.now_ns;
	assert_false(world_take(&world, &event, TRANSPORT_NEVER_NS));
	assert_int_equal(transport_end(world.net.client), TRANSPORT_END_TIMEOUT);
	assert_in_range((world.net.now_ns - begin_ns) / TEST_NET_MS, 29000, 32000);
	world_done(&world);
}

static void test_other_version(void **state)
{
	(void)state;
	world_t world;
	world_new(&world, 5, calm);
	world.meet = MEET_VERSION;
	world_connect(&world, &(transport_tls_params_t){ 0 });
	world_run(&world, 1000);
	assert_int_equal(transport_end(world.net.client), TRANSPORT_END_HANDSHAKE);
	assert_string_equal(transport_reason(world.net.client), "QUIC, handshake failed (no version in common)");
	world_done(&world);
}

static void test_retry(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		world_t world;
		world_new(&world, seed, seed == 0 ? calm : (test_weather_t){ .loss = 100 });
		world.meet = MEET_RETRY;
		world_connect(&world, &(transport_tls_params_t){ 0 });
		assert_takes(&world, put(world.net.client, "query"), "query");
		assert_in_range(world.meet_count, 2, 20);
		world_done(&world);
	}
}

/* What the server says when it closes. */
static void test_closed_by_server(void **state)
{
	(void)state;
	static const struct {
		uint64_t code;
		transport_end_t want;
		const char *reason;
	} rows[] = {
		{ DOQ_NO_ERROR, TRANSPORT_END_BY_PEER, "QUIC, peer has closed the connection (DOQ_NO_ERROR)" },
		{ DOQ_EXCESSIVE_LOAD, TRANSPORT_END_REFUSED,
				"QUIC, peer has closed the connection (DOQ_EXCESSIVE_LOAD)" },
		{ 0xd098ea5e, TRANSPORT_END_REFUSED, "QUIC, peer has closed the connection (unknown error code)" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		world_t world;
		uint64_t stream;
		ngtcp2_pkt_info info;
		world_new(&world, 5, calm);
		world_connect(&world, &(transport_tls_params_t){ 0 });
		assert_takes(&world, put(world.net.client, "query"), "query");
		quic_t *server = quic_of(world.net.server);
		quic_error_t error = quic_error_of_application(rows[i].code);
		server->packet_len = (size_t)ngtcp2_conn_write_connection_close(server->conn, NULL, &info,
				server->packet, sizeof(server->packet), &error, world.net.now_ns);
		world_run(&world, 100);
		assert_int_equal(transport_end(world.net.client), rows[i].want);
		assert_string_equal(transport_reason(world.net.client), rows[i].reason);
		assert_int_equal(transport_put(world.net.client, test_pki_bytes("x"), &stream), KNOT_ECONNRESET);
		world_done(&world);
	}
}

/* A server that was started again knows nothing of the connection: that is no end in order. */
static void test_stateless_reset(void **state)
{
	(void)state;
	world_t world;
	static const uint8_t token[NGTCP2_STATELESS_RESET_TOKENLEN] = "one of 16 bytes";
	uint8_t packet[64], *end = packet + sizeof(packet) - sizeof(token);
	world_new(&world, 6, calm);
	world.reset_token = token;
	world_connect(&world, &(transport_tls_params_t){ 0 });
	assert_takes(&world, put(world.net.client, "query"), "query");
	memset(packet, 0x41, sizeof(packet));
	memcpy(end, token, sizeof(token));
	end[0] ^= 1; /* with another token it is a packet that can't be read */
	world_send_to_client(&world, packet, sizeof(packet));
	world_run(&world, 100);
	assert_int_equal(transport_end(world.net.client), TRANSPORT_END_NONE);
	end[0] ^= 1;
	world_send_to_client(&world, packet, sizeof(packet));
	world_run(&world, 100);
	assert_int_equal(transport_end(world.net.client), TRANSPORT_END_REFUSED);
	assert_string_equal(transport_reason(world.net.client), "QUIC, peer has reset the connection");
	world_done(&world);
}

/* Datagrams of any bytes are dropped, before and after the handshake. */
static void test_garbage(void **state)
{
	(void)state;
	world_t world;
	world_new(&world, 5, calm);
	world_connect(&world, &(transport_tls_params_t){ 0 });
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 500; i++) {
			uint8_t bytes[200];
			size_t len = test_net_random(&world.net) % sizeof(bytes);
			for (size_t k = 0; k < len; k++) {
				bytes[k] = (uint8_t)(test_net_random(&world.net) >> 8);
			}
			knot_mut_bytes_t room = transport_room(world.net.client);
			memcpy(room.data, bytes, len);
			transport_note_received(world.net.client, len, world.net.now_ns);
			assert_string_equal(transport_reason(world.net.client), "");
			if (world.net.server == NULL) {
				world_accept(&world, (knot_bytes_t){ bytes, len });
				assert_null(world.net.server);
			}
		}
		assert_takes(&world, put(world.net.client, "query"), "query");
	}
	world_done(&world);
}

/* ---- Resumption and 0-RTT ---- */

static bool is_new_always(void *ctx, knot_bytes_t key, uint64_t expiry_s)
{
	(void)key, (void)expiry_s;
	++*(unsigned *)ctx;
	return true;
}

static knot_mut_bytes_t get_ticket(world_t *world)
{
	knot_mut_bytes_t ticket;
	world_connect(world, &(transport_tls_params_t){ .hostname = "dns.example" });
	assert_int_equal(transport_ticket(world->net.client, &ticket), KNOT_ENOENT);
	assert_takes(world, put(world->net.client, "query"), "query");
	world_run(world, 100);
	assert_int_equal(transport_ticket(world->net.client, &ticket), KNOT_OK);
	world_disconnect(world);
	return ticket;
}

static void test_resumption(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		bool is_early = (how & 1) != 0, is_allowed = (how & 2) != 0;
		unsigned replay_count = 0;
		world_t world;
		world_new(&world, 5, calm);
		if (is_allowed) {
			assert_int_equal(transport_identity_allow_early_data(
							 world.identity, is_new_always, &replay_count),
					KNOT_OK);
		}
		knot_mut_bytes_t ticket = get_ticket(&world);
		world.answered = 0;
		world_connect(&world, &(transport_tls_params_t){ .hostname = "dns.example",
						      .ticket = { ticket.data, ticket.len },
						      .uses_early_data = is_early });
		uint64_t begin_ns = world.net.now_ns;
		uint64_t first = put(world.net.client, "a query"), second = put(world.net.client, "another");
		transport_event_t event;
		unsigned count = 0;
		while (count < 4) {
			assert_true(world_take(&world, &event, world.net.now_ns + 60000ull * TEST_NET_MS));
			assert_true(event.stream == first || event.stream == second);
			count++;
			if (count == 1) { /* one way is 5 ms: 0-RTT is there and back, 1-RTT twice that */
				assert_in_range((world.net.now_ns - begin_ns) / TEST_NET_MS,
						is_early && is_allowed ? 9 : 19, is_early && is_allowed ? 16 : 24);
			}
		}
		assert_int_equal(world.answered, 2);
		assert_int_equal(replay_count, is_early && is_allowed ? 1 : 0);
		assert_null(strstr(world.notes, "received certificate hierarchy")); /* it was resumed */
		assert_takes(&world, put(world.net.client, "later"), "later");
		free(ticket.data);
		world_done(&world);
	}
}

static void test_bad_ticket(void **state)
{
	(void)state;
	transport_t *t;
	static const uint8_t garbage[300];
	transport_quic_params_t quic = { .idle_ms = 0 };
	for (size_t len = 1; len < sizeof(garbage); len += 50) {
		transport_tls_params_t params = { .ticket = { garbage, len }, .uses_early_data = true };
		assert_int_equal(transport_quic_new(&params, &quic, 0, &t), KNOT_EINVAL);
	}
}

static int setup(void **state)
{
	(void)state;
	test_pki_new(&pki);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_pki_free(&pki);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_weathers),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_cut_streams),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_long_life),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_closed_by_server),
		cmocka_unit_test(test_stateless_reset),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_resumption),
		cmocka_unit_test(test_bad_ticket),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
