/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tls.h"

#include "src/transport/test_pair.h"
#include "src/transport/test_pki.h"

static test_pki_t pki;

/** What a client says on the way, one line each, in one text. */
typedef struct {
	char text[8192];
	size_t len;
} notes_t;

static void notes_add(void *ctx, transport_note_level_t level, const char *text)
{
	static const char *const prefixes[] = { [TRANSPORT_NOTE_DETAIL] = "detail",
		[TRANSPORT_NOTE_DEBUG] = "debug",
		[TRANSPORT_NOTE_WARNING] = "warning" };
	notes_t *notes = ctx;
	int len = snprintf(
			notes->text + notes->len, sizeof(notes->text) - notes->len, "%s: %s\n", prefixes[level], text);
	notes->len += (size_t)len < sizeof(notes->text) - notes->len ? (size_t)len : 0;
}

/** Two ends and what they are made with. */
typedef struct {
	transport_identity_t *identity;
	transport_trust_t *trust;
	transport_t *client, *server;
	notes_t notes;
} pair_t;

static void pair_open(pair_t *pair, const transport_tls_params_t *client_params)
{
	transport_tls_params_t client = *client_params;
	transport_tls_params_t server = { .role = TRANSPORT_SERVER, .identity = pair->identity };
	client.trust = pair->trust;
	client.note = notes_add;
	client.note_ctx = &pair->notes;
	client.wall_s = (uint64_t)time(NULL);
	assert_int_equal(transport_tls_new(&client, &pair->client), KNOT_OK);
	assert_int_equal(transport_tls_new(&server, &pair->server), KNOT_OK);
}

static void pair_close(pair_t *pair)
{
	transport_free(pair->client);
	transport_free(pair->server);
	pair->client = pair->server = NULL;
}

static void pair_done(pair_t *pair)
{
	pair_close(pair);
	transport_identity_free(pair->identity);
	transport_trust_free(pair->trust);
}

static void put(transport_t *t, const char *text)
{
	uint64_t stream = 0;
	assert_int_equal(transport_put(t, test_pki_bytes(text), &stream), KNOT_OK);
}

static void assert_takes(transport_t *t, const char *want)
{
	transport_event_t event;
	assert_true(transport_take(t, &event));
	assert_int_equal(event.kind, TRANSPORT_MESSAGE);
	assert_int_equal(event.message.len, strlen(want));
	assert_memory_equal(event.message.data, want, strlen(want));
}

static void assert_takes_none(transport_t *t)
{
	transport_event_t event;
	assert_false(transport_take(t, &event));
}

/* ---- Messages in any pieces ---- */

static void test_any_cut(void **state)
{
	(void)state;
	static const size_t pieces[] = { 1, 2, 3, 1000, SIZE_MAX, 0, 0, 0 };
	for (size_t i = 0; i < KNOT_LEN(pieces); i++) {
		test_cut_t cut = { pieces[i], (uint32_t)i };
		pair_t pair = { .identity = test_pki_identity(&pki.good) };
		pair_open(&pair, &(transport_tls_params_t){ 0 });
		put(pair.client, "before the handshake");
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_int_equal(transport_state(pair.client), TRANSPORT_OPEN);
		assert_int_equal(transport_state(pair.server), TRANSPORT_OPEN);
		assert_takes(pair.server, "before the handshake");
		put(pair.server, "first");
		put(pair.server, "second");
		put(pair.client, "another one");
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_takes(pair.client, "first");
		assert_takes(pair.client, "second");
		assert_takes_none(pair.client);
		assert_takes(pair.server, "another one");
		transport_close(pair.client, 0);
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_takes_none(pair.server);
		assert_int_equal(transport_end(pair.server), TRANSPORT_END_BY_PEER);
		assert_int_equal(transport_end(pair.client), TRANSPORT_END_CLOSED);
		pair_done(&pair);
	}
}

/* The longest messages, as many as are let in, while the other side takes them. */
static void test_long_messages(void **state)
{
	(void)state;
	static uint8_t message[TRANSPORT_MESSAGE_MAX];
	test_cut_t cut = { 0, 7 };
	pair_t pair = { .identity = test_pki_identity(&pki.good) };
	pair_open(&pair, &(transport_tls_params_t){ 0 });
	test_pair_run(pair.client, pair.server, &cut, 0);
	unsigned put_count = 0, taken_count = 0;
	uint64_t stream;
	memset(message, 'm', sizeof(message));
	knot_bytes_t bytes = { message, sizeof(message) };
	while (transport_put(pair.server, bytes, &stream) == KNOT_OK) {
		put_count++;
	}
	assert_int_equal(transport_put(pair.server, bytes, &stream), KNOT_EAGAIN);
	assert_in_range(put_count, 16, TRANSPORT_PENDING_MAX / sizeof(message));
	transport_event_t event;
	while (test_pair_move(pair.server, pair.client, &cut, 0)) {
		while (transport_take(pair.client, &event)) {
			assert_int_equal(event.message.len, sizeof(message));
			assert_memory_equal(event.message.data, message, sizeof(message));
			taken_count++;
		}
	}
	assert_int_equal(taken_count, put_count);
	assert_int_equal(transport_put(pair.client, (knot_bytes_t){ message, 0 }, &stream), KNOT_ERANGE);
	pair_done(&pair);
}

/* ---- Who the server is ---- */

enum { STRICT = 1, PIN_GOOD = 2, PIN_OTHER = 4, PIN_CA = 8, NO_CA = 16 };

static transport_trust_t *trust_new(unsigned how, uint32_t ocsp_age_max_s)
{
	transport_trust_params_t params = { .is_strict = (how & STRICT) != 0, .ocsp_age_max_s = ocsp_age_max_s };
	transport_trust_t *trust;
	if ((how & STRICT) != 0 && (how & NO_CA) == 0) {
		params.ca_files[params.ca_file_count++] = pki.ca_file;
	}
	if ((how & PIN_OTHER) != 0) {
		memcpy(params.pins[params.pin_count++], pki.other_ca.pin, TRANSPORT_PIN_LEN);
	}
	if ((how & PIN_GOOD) != 0) {
		memcpy(params.pins[params.pin_count++], pki.good.pin, TRANSPORT_PIN_LEN);
	}
	assert_int_equal(transport_trust_new(&params, NULL, NULL, &trust), KNOT_OK);
	return trust;
}

static void test_trust(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		const test_cert_t *cert;
		unsigned how;
		const char *hostname;
		bool is_trusted;
		const char *note; /* must be among what is said */
	} rows[] = {
		{ "opportunistic", &pki.self_signed, 0, NULL, true, "debug: TLS, skipping certificate verification\n" },
		{ "expired, opportunistic", &pki.expired, 0, NULL, true,
				"debug: TLS, skipping certificate PIN check\n" },
		{ "good", &pki.good, STRICT, "dns.example", true, "debug: TLS, The certificate is trusted. \n" },
		{ "good, with the root's dot", &pki.good, STRICT, "dns.example.", true,
				"debug: TLS, The certificate is trusted. \n" },
		{ "good by address", &pki.good, STRICT, "127.0.0.1", true,
				"debug: TLS, The certificate is trusted. \n" },
		{ "other address", &pki.good, STRICT, "127.0.0.2", false,
				"The name in the certificate does not match" },
		{ "no name asked for", &pki.wrong_name, STRICT, NULL, true,
				"warning: TLS, no hostname provided, will not verify certificate owner\n" },
		{ "wrong name", &pki.wrong_name, STRICT, "dns.example", false,
				"debug: TLS, The certificate is NOT trusted. The name in the certificate does not "
				"match the "
				"expected. \n" },
		{ "expired", &pki.expired, STRICT, "dns.example", false,
				"debug: TLS, The certificate is NOT trusted. The certificate chain uses expired "
				"certificate. \n" },
		{ "not yet", &pki.early, STRICT, "dns.example", false, "not yet valid certificate" },
		{ "self-signed", &pki.self_signed, STRICT, "dns.example", false, "The certificate issuer is unknown." },
		{ "other CA", &pki.of_other_ca, STRICT, "dns.example", false, "The certificate issuer is unknown." },
		{ "no CA at all", &pki.good, STRICT | NO_CA, "dns.example", false,
				"The certificate issuer is unknown." },
		{ "pinned", &pki.good, PIN_GOOD, NULL, true,
				", MATCH\ndebug: TLS, skipping certificate verification\n" },
		{ "pinned, two pins", &pki.good, PIN_OTHER | PIN_GOOD, NULL, true, ", MATCH\n" },
		{ "wrong pin", &pki.good, PIN_OTHER, NULL, false, "debug: TLS, no certificate PIN match\n" },
		{ "pinned and trusted", &pki.good, STRICT | PIN_GOOD, "dns.example", true, ", MATCH\n" },
		{ "pinned, another CA", &pki.of_other_ca, STRICT | PIN_GOOD, "dns.example", false,
				"debug: TLS, no certificate PIN match\n" },
		{ "trusted, wrong pin", &pki.good, STRICT | PIN_OTHER, "dns.example", false,
				"debug: TLS, no certificate PIN match\n" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_cut_t cut = { SIZE_MAX, 0 };
		pair_t pair = { .identity = test_pki_identity(rows[i].cert), .trust = trust_new(rows[i].how, 0) };
		pair_open(&pair, &(transport_tls_params_t){ .hostname = rows[i].hostname });
		put(pair.client, "a secret");
		test_pair_run(pair.client, pair.server, &cut, 0);
		print_message("%s\n", rows[i].what);
		if (rows[i].is_trusted) {
			assert_int_equal(transport_state(pair.client), TRANSPORT_OPEN);
			assert_takes(pair.server, "a secret");
		} else {
			assert_int_equal(transport_end(pair.client), TRANSPORT_END_UNTRUSTED);
			assert_string_equal(transport_reason(pair.client),
					"TLS, handshake failed (Error in the certificate.)");
			assert_takes_none(pair.server);
			assert_int_equal(transport_end(pair.server), TRANSPORT_END_REFUSED);
		}
		assert_non_null(strstr(pair.notes.text, rows[i].note));
		pair_done(&pair);
	}
}

static void test_notes(void **state)
{
	(void)state;
	test_cut_t cut = { SIZE_MAX, 0 };
	pair_t pair = { .identity = test_pki_identity(&pki.good) };
	transport_session_t session;
	pair_open(&pair, &(transport_tls_params_t){ 0 });
	transport_describe(pair.client, &session);
	assert_int_equal(session.count, 0);
	test_pair_run(pair.client, pair.server, &cut, 0);
	assert_non_null(strstr(pair.notes.text, "debug: TLS, received certificate hierarchy:\n"
						"debug:  #1, CN=dns.example\n"
						"detail:      SAN: dns.example\n"
						"detail:      SAN: 127.0.0.1\n"
						"debug:      SHA-256 PIN: "));
	transport_describe(pair.client, &session);
	assert_int_equal(session.count, 1);
	assert_non_null(strstr(session.lines[0], "TLS session (TLS1.3)-(ECDHE-"));
	pair_done(&pair);
}

static void test_files(void **state)
{
	(void)state;
	char key[80], cert[80];
	(void)snprintf(key, sizeof(key), "%s.key", pki.ca_file);
	(void)snprintf(cert, sizeof(cert), "%s.crt", pki.ca_file);
	test_pki_write(key, pki.ca.key_pem);
	test_pki_write(cert, pki.good.crt_pem);
	const struct {
		transport_trust_params_t params;
		knot_err_t want;
		const char *note;
	} rows[] = {
		{ { .ca_file_count = 1, .ca_files = { "/nowhere/ca.pem" } }, KNOT_ENOENT,
				"warning: TLS, failed to import certificate file '/nowhere/ca.pem' "
				"(GNUTLS_E_FILE_ERROR)\n" },
		{ { .cert_file = cert }, KNOT_EINVAL, "warning: TLS, cannot use client certfile without a keyfile\n" },
		{ { .key_file = key }, KNOT_EINVAL, "warning: TLS, cannot use client keyfile without a certfile\n" },
		{ { .cert_file = cert, .key_file = key }, KNOT_EMALF, "warning: TLS, failed to add client certfile '" },
		{ { .cert_file = pki.ca_file, .key_file = key }, KNOT_OK, "debug: TLS, added client certfile '" },
		{ { .ca_file_count = 1, .ca_files = { pki.ca_file } }, KNOT_OK,
				"debug: TLS, imported 1 certificates from '" },
		{ { .ca_file_count = 1, .ca_files = { "/dev/null" } }, KNOT_OK,
				"debug: TLS, imported 0 certificates from '" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		notes_t notes = { .len = 0 };
		transport_trust_t *trust = NULL;
		assert_int_equal(transport_trust_new(&rows[i].params, notes_add, &notes, &trust), rows[i].want);
		assert_non_null(strstr(notes.text, rows[i].note));
		transport_trust_free(trust);
	}
	unlink(key);
	unlink(cert);
}

/* ---- Resumption and early data ---- */

static bool is_new_always(void *ctx, knot_bytes_t key, uint64_t expiry_s)
{
	(void)key, (void)expiry_s;
	++*(unsigned *)ctx;
	return true;
}

static bool is_new_never(void *ctx, knot_bytes_t key, uint64_t expiry_s)
{
	(void)key, (void)expiry_s;
	++*(unsigned *)ctx;
	return false;
}

static knot_mut_bytes_t get_ticket(pair_t *pair)
{
	test_cut_t cut = { SIZE_MAX, 0 };
	knot_mut_bytes_t ticket;
	pair_open(pair, &(transport_tls_params_t){ .hostname = "dns.example" });
	assert_int_equal(transport_ticket(pair->client, &ticket), KNOT_ENOENT);
	test_pair_run(pair->client, pair->server, &cut, 0);
	assert_takes_none(pair->client); /* reads tickets */
	assert_int_equal(transport_ticket(pair->client, &ticket), KNOT_OK);
	pair_close(pair);
	pair->notes.len = 0;
	return ticket;
}

static void test_resumption(void **state)
{
	(void)state;
	static const size_t pieces[] = { 1, SIZE_MAX };
	for (size_t i = 0; i < KNOT_LEN(pieces); i++) {
		test_cut_t cut = { pieces[i], 0 };
		pair_t pair = { .identity = test_pki_identity(&pki.good), .trust = trust_new(STRICT, 0) };
		knot_mut_bytes_t ticket = get_ticket(&pair);
		pair_open(&pair, &(transport_tls_params_t){
						 .hostname = "dns.example", .ticket = { ticket.data, ticket.len } });
		put(pair.client, "again");
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_takes(pair.server, "again");
		pair_done(&pair);
		free(ticket.data);
	}
}

static void test_bad_ticket(void **state)
{
	(void)state;
	transport_t *t;
	const uint8_t garbage[100] = { 1, 2, 3 };
	transport_tls_params_t params = { .ticket = { garbage, sizeof(garbage) } };
	assert_int_equal(transport_tls_new(&params, &t), KNOT_EINVAL);
}

/* Early data is there before the handshake is over; a server that doesn't take it gets the message afterwards. */
static void test_early_data(void **state)
{
	(void)state;
	static const transport_replay_cb rows[] = { is_new_always, is_new_never, NULL };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		unsigned count = 0;
		test_cut_t cut = { SIZE_MAX, 0 };
		pair_t pair = { .identity = test_pki_identity(&pki.good) };
		if (rows[i] != NULL) {
			assert_int_equal(transport_identity_allow_early_data(pair.identity, rows[i], &count), KNOT_OK);
		}
		knot_mut_bytes_t ticket = get_ticket(&pair);
		pair_open(&pair, &(transport_tls_params_t){ .hostname = "dns.example",
						 .ticket = { ticket.data, ticket.len },
						 .uses_early_data = true });
		put(pair.client, "early");
		put(pair.client, "early, too");
		assert_true(test_pair_move(pair.client, pair.server, &cut, 0));
		assert_int_equal(transport_state(pair.server), TRANSPORT_OPENING);
		size_t first_len = transport_pending(pair.client, 0).len;
		assert_int_equal(first_len, 0);
		assert_true(test_pair_move(pair.server, pair.client, &cut, 0));
		/* What the server has taken isn't in the client's second flight. */
		size_t second_len = transport_pending(pair.client, 0).len;
		assert_in_range(second_len, 1, rows[i] == is_new_always ? 110 : 1000);
		assert_int_equal(second_len > 110, rows[i] != is_new_always);
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_takes(pair.server, "early");
		assert_takes(pair.server, "early, too");
		assert_takes_none(pair.server);
		put(pair.client, "later");
		put(pair.server, "answer");
		test_pair_run(pair.client, pair.server, &cut, 0);
		assert_takes(pair.server, "later");
		assert_takes(pair.client, "answer");
		assert_int_equal(count, rows[i] != NULL ? 1 : 0);
		pair_done(&pair);
		free(ticket.data);
	}
}

/* ---- Bad ends ---- */

/* The client's transport gets these bytes as if from a server. */
static void feed(transport_t *t, const void *data, size_t len)
{
	for (size_t pos = 0; pos < len && transport_state(t) != TRANSPORT_ENDED;) {
		knot_mut_bytes_t room = transport_room(t);
		if (room.len == 0) {
			return;
		}
		size_t part = len - pos < room.len ? len - pos : room.len;
		memcpy(room.data, (const uint8_t *)data + pos, part);
		transport_note_received(t, part, 0);
		pos += part;
	}
}

static void test_garbage(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		transport_end_t want;
	} rows[] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n", 28, TRANSPORT_END_HANDSHAKE },
		{ "\x15\3\3\0\2\2\x28", 7, TRANSPORT_END_REFUSED },      /* an alert: handshake_failure */
		{ "\x16\3\3\0\4\xe\0\0\0", 9, TRANSPORT_END_HANDSHAKE }, /* ServerHelloDone first */
		{ "\x16\3\3\xff\xff", 5, TRANSPORT_END_HANDSHAKE },      /* a record too long */
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		transport_t *t;
		assert_int_equal(transport_tls_new(&(transport_tls_params_t){ 0 }, &t), KNOT_OK);
		assert_true(transport_pending(t, 0).len > 0);
		feed(t, rows[i].bytes, rows[i].len);
		assert_int_equal(transport_end(t), rows[i].want);
		assert_non_null(strstr(transport_reason(t), "TLS, handshake failed ("));
		assert_int_equal(transport_room(t).len, 0);
		transport_free(t);
	}
}

/* The peer goes away after so many bytes of each direction, at every one of them. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	bool was_opened = false;
	for (size_t keep = 0; keep < 6000; keep += keep < 40 ? 1 : 97) {
		pair_t pair = { .identity = test_pki_identity(&pki.good) };
		test_cut_t cut = { 1, 0 };
		pair_open(&pair, &(transport_tls_params_t){ 0 });
		put(pair.client, "question");
		size_t moved = 0;
		while (moved < keep) {
			while (test_pair_move(pair.client, pair.server, &cut, 0)) {}
			transport_event_t event;
			while (transport_take(pair.server, &event)) {
				put(pair.server, "answer");
			}
			if (!test_pair_move(pair.server, pair.client, &cut, 0)) {
				break;
			}
			moved++;
		}
		bool opened = transport_state(pair.client) == TRANSPORT_OPEN;
		transport_note_eof(pair.client, 0);
		assert_int_equal(transport_state(pair.client), opened ? transport_state(pair.client) : TRANSPORT_ENDED);
		transport_event_t event;
		while (transport_take(pair.client, &event)) {
			assert_int_equal(event.message.len, 6);
		}
		assert_int_equal(transport_end(pair.client), TRANSPORT_END_CUT);
		was_opened = was_opened || opened;
		pair_done(&pair);
	}
	assert_true(was_opened);
}

/* A bit that flips on the way never gives another message; where it matters (not in the version), it ends the
 * connection. */
static void test_flipped_bits(void **state)
{
	(void)state;
	static const char text[] = "a message of some length that is sent to the client, which is changed on its way";
	unsigned end_count = 0;
	for (unsigned at = 0; at < 100; at++) {
		pair_t pair = { .identity = test_pki_identity(&pki.good) };
		test_cut_t cut = { SIZE_MAX, 0 };
		uint8_t copy[4096];
		transport_event_t event;
		pair_open(&pair, &(transport_tls_params_t){ 0 });
		test_pair_run(pair.client, pair.server, &cut, 0);
		put(pair.server, text);
		knot_bytes_t bytes = transport_pending(pair.server, 0);
		assert_true(bytes.len <= sizeof(copy));
		memcpy(copy, bytes.data, bytes.len);
		copy[at % bytes.len] ^= (uint8_t)(1u << at % 8);
		feed(pair.client, copy, bytes.len);
		end_count += transport_state(pair.client) == TRANSPORT_ENDED;
		transport_note_eof(pair.client, 0);
		if (transport_take(pair.client, &event)) {
			assert_memory_equal(event.message.data, text, sizeof(text) - 1);
			assert_in_range(at, 0, 2);
		}
		assert_int_equal(transport_end(pair.client),
				end_count > 0 && transport_end(pair.client) != TRANSPORT_END_CUT
						? TRANSPORT_END_PROTOCOL
						: TRANSPORT_END_CUT);
		pair_done(&pair);
	}
	assert_in_range(end_count, 90, 99);
}

static void test_end_in_order(void **state)
{
	(void)state;
	test_cut_t cut = { SIZE_MAX, 0 };
	pair_t pair = { .identity = test_pki_identity(&pki.good) };
	pair_open(&pair, &(transport_tls_params_t){ 0 });
	test_pair_run(pair.client, pair.server, &cut, 0);
	put(pair.server, "whole");
	transport_close(pair.server, 0);
	test_pair_run(pair.client, pair.server, &cut, 0);
	assert_takes(pair.client, "whole");
	assert_takes_none(pair.client);
	assert_int_equal(transport_end(pair.client), TRANSPORT_END_BY_PEER);
	assert_string_equal(transport_reason(pair.client), "TLS, peer has closed the connection");
	pair_done(&pair);
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
		cmocka_unit_test(test_any_cut),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_resumption),
		cmocka_unit_test(test_bad_ticket),
		cmocka_unit_test(test_early_data),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_end_in_order),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
