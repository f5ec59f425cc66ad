/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/sign.h"

#include "libknot/base/encode.h"

#include <gnutls/crypto.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "libknot/msg/sign_test_vectors.h"

enum { NOW = 1700000000 };

static uint8_t secret[32];
static const uint8_t key_wire[] = "\3key\2ex";

static knot_tsig_key_t make_key(knot_tsig_algorithm_t algorithm)
{
	for (size_t i = 0; i < sizeof(secret); i++) {
		secret[i] = (uint8_t)(i + 1);
	}
	return (knot_tsig_key_t){ knot_name_of(key_wire), algorithm, { secret, sizeof(secret) } };
}

/* A copy of exact size, so that a read of one byte more is seen. To free. */
static knot_mut_bytes_t from_hex(const char *text)
{
	size_t len = strlen(text) / 2;
	uint8_t *bytes = malloc(len);
	for (size_t i = 0; i < len; i++) {
		bytes[i] = (uint8_t)(knot_hex_digit(text[2 * i]) << 4 | knot_hex_digit(text[2 * i + 1]));
	}
	return (knot_mut_bytes_t){ bytes, len };
}

static knot_bytes_t view(knot_mut_bytes_t bytes)
{
	return (knot_bytes_t){ bytes.data, bytes.len };
}

/* A server's side of the request. */
static knot_err_t verify_request(
		knot_tsig_chain_t *chain, const knot_tsig_key_t *key, knot_bytes_t message, uint64_t now_s)
{
	uint8_t name[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	knot_tsig_chain_begin(chain, key);
	knot_err_t err = knot_tsig_read(message, name, &tsig);
	return err == KNOT_OK ? knot_tsig_verify_read(chain, message, &tsig, now_s) : err;
}

/* A message of `len` bytes or a few more, before its TSIG. */
static void begin_message(knot_msg_writer_t *w, uint8_t *room, size_t room_len, size_t len)
{
	static const uint8_t text[255] = { 254 };
	knot_msg_begin(w, (knot_mut_bytes_t){ room, room_len });
	assert_int_equal(knot_msg_put_question(w, knot_name_of(key_wire), KNOT_TYPE_SOA, KNOT_CLASS_IN), KNOT_OK);
	while (w->len < len) {
		assert_int_equal(knot_msg_put_rr(w, KNOT_SECTION_ANSWER, knot_name_of(key_wire), KNOT_TYPE_TXT,
						 KNOT_CLASS_IN, 60, (knot_bytes_t){ text, sizeof(text) }),
				KNOT_OK);
	}
	(void)knot_msg_finish(w, 0x1234, 0);
}

static size_t sign_message(knot_tsig_chain_t *chain, uint8_t *room, size_t room_len, size_t len, uint64_t now_s)
{
	knot_msg_writer_t w;
	begin_message(&w, room, room_len, len);
	size_t plain_len = w.len, signed_len = 0, tsig_len = knot_tsig_len(chain);
	assert_int_equal(knot_tsig_sign(chain, &w, now_s, &signed_len), KNOT_OK);
	assert_int_equal(signed_len, plain_len + tsig_len);
	return signed_len;
}

/* ---- Vectors ---- */

/* A client takes what dnspython signed, an answer without a TSIG in between included. */
static void test_vectors_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(vectors); i++) {
		knot_tsig_key_t key = make_key(vectors[i].algorithm);
		knot_tsig_chain_t chain;
		for (size_t j = 0; j < 4; j++) {
			knot_mut_bytes_t message = from_hex(vectors[i].messages[j]);
			knot_err_t err = j == 0 ? verify_request(&chain, &key, view(message), NOW)
						: knot_tsig_verify(&chain, view(message), NOW + 2);
			assert_int_equal(err, KNOT_OK);
			assert_int_equal(knot_tsig_is_complete(&chain), j == 1 || j == 3); /* 0 is the request */
			free(message.data);
		}
		knot_tsig_chain_done(&chain);
	}
}

/* What a client and a server sign has the MACs that dnspython computed. */
static void test_vectors_sign(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(vectors); i++) {
		knot_tsig_key_t key = make_key(vectors[i].algorithm);
		knot_tsig_chain_t chain;
		knot_tsig_chain_begin(&chain, &key);
		for (size_t j = 0; j < 2; j++) {
			uint8_t name[KNOT_NAME_MAX], got_name[KNOT_NAME_MAX], room[512];
			knot_tsig_t want, got;
			knot_mut_bytes_t message = from_hex(vectors[i].messages[j]);
			assert_int_equal(knot_tsig_read(view(message), name, &want), KNOT_OK);
			memcpy(room, message.data, want.off);
			knot_msg_writer_t w = { .data = room, .len = want.off, .max = sizeof(room) };
			store_be16(room + 10, 0);
			size_t len;
			assert_int_equal(knot_tsig_sign(&chain, &w, NOW + j, &len), KNOT_OK);
			assert_int_equal(len, message.len);
			assert_int_equal(knot_tsig_read((knot_bytes_t){ room, len }, got_name, &got), KNOT_OK);
			assert_true(knot_tsig_is_of(&got, &key) && knot_tsig_is_of(&want, &key));
			assert_int_equal(got.mac.len, knot_tsig_mac_len(key.algorithm));
			assert_int_equal(want.mac.len, got.mac.len);
			assert_memory_equal(want.mac.data, got.mac.data, got.mac.len);
			assert_int_equal(got.fudge_s, KNOT_TSIG_FUDGE_S);
			free(message.data);
		}
	}
}

/* Bits that don't matter: the id, which forwarders change, and letter case of the names in the TSIG. */
static bool is_free(knot_bytes_t message, const knot_tsig_t *tsig, size_t bit)
{
	size_t at = bit / 8, algorithm_off = (size_t)(tsig->algorithm.wire - message.data);
	bool is_name = (at >= tsig->off && at < tsig->off + tsig->key.len) ||
		       (at >= algorithm_off && at < algorithm_off + tsig->algorithm.len);
	uint8_t lower = message.data[at] | 0x20;
	return at < 2 || (is_name && bit % 8 == 5 && lower >= 'a' && lower <= 'z');
}

static void test_flipped_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(vectors); i++) {
		knot_tsig_key_t key = make_key(vectors[i].algorithm);
		knot_mut_bytes_t message = from_hex(vectors[i].messages[0]);
		uint8_t name[KNOT_NAME_MAX];
		knot_tsig_t tsig;
		assert_int_equal(knot_tsig_read(view(message), name, &tsig), KNOT_OK);
		for (size_t bit = 0; bit < 8 * message.len; bit++) {
			knot_tsig_chain_t chain;
			bool may_pass = is_free(view(message), &tsig, bit);
			message.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(verify_request(&chain, &key, view(message), NOW) == KNOT_OK, may_pass);
			message.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		free(message.data);
	}
}

/* A bit of any answer is flipped: the chain doesn't end well. */
static void test_flipped_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(vectors); i++) {
		knot_tsig_key_t key = make_key(vectors[i].algorithm);
		knot_mut_bytes_t messages[4];
		for (size_t j = 0; j < 4; j++) {
			messages[j] = from_hex(vectors[i].messages[j]);
		}
		for (size_t j = 1; j < 4; j++) {
			uint8_t name[KNOT_NAME_MAX];
			knot_tsig_t tsig;
			bool has_tsig = knot_tsig_read(view(messages[j]), name, &tsig) == KNOT_OK;
			for (size_t bit = 0; bit < 8 * messages[j].len; bit++) {
				bool may_pass = has_tsig && is_free(view(messages[j]), &tsig, bit);
				knot_tsig_chain_t chain;
				knot_err_t err = verify_request(&chain, &key, view(messages[0]), NOW);
				messages[j].data[bit / 8] ^= (uint8_t)(1u << bit % 8);
				for (size_t k = 1; k < 4 && err == KNOT_OK; k++) {
					err = knot_tsig_verify(&chain, view(messages[k]), NOW + 2);
				}
				messages[j].data[bit / 8] ^= (uint8_t)(1u << bit % 8);
				assert_int_equal(err == KNOT_OK && knot_tsig_is_complete(&chain), may_pass);
				knot_tsig_chain_done(&chain);
			}
		}
		for (size_t j = 0; j < 4; j++) {
			free(messages[j].data);
		}
	}
}

/* ---- Chains ---- */

/* Both sides, with messages on either side of what is gathered, and large ones. */
static void test_both_sides(void **state)
{
	(void)state;
	static uint8_t room[KNOT_MSG_MAX];
	static const size_t lens[] = { 30, 1700, 2000, 16384, 65000, 30 };
	for (knot_tsig_algorithm_t a = 0; a < KNOT_TSIG_ALGORITHM_END; a++) {
		for (size_t i = 0; i < KNOT_LEN(lens); i++) {
			knot_tsig_key_t key = make_key(a);
			knot_tsig_chain_t client, server;
			knot_tsig_chain_begin(&client, &key);
			size_t len = sign_message(&client, room, sizeof(room), lens[i], NOW);
			assert_int_equal(verify_request(&server, &key, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
			for (size_t j = 0; j < KNOT_LEN(lens); j++) {
				len = sign_message(&server, room, sizeof(room), lens[j], NOW + j);
				assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
				assert_true(knot_tsig_is_complete(&client));
			}
		}
	}
}

/* The MAC covers the same bytes wherever the border of gathering falls. */
static void test_border(void **state)
{
	(void)state;
	static uint8_t room[KNOT_MSG_MAX], covered[KNOT_MSG_MAX];
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA256);
	for (size_t len = KNOT_TSIG_AT_ONCE_MAX - 100; len < KNOT_TSIG_AT_ONCE_MAX + 100; len++) {
		knot_tsig_chain_t chain;
		knot_tsig_chain_begin(&chain, &key);
		memset(room, 7, len);
		memset(room, 0, KNOT_MSG_HEADER_LEN);
		memcpy(covered, room, len);
		static const uint8_t variables[] =
				"\3key\2ex\0\0\xff\0\0\0\0\13hmac-sha256\0\0\0\x65\x53\xf1\0\1\x2c\0\0\0";
		memcpy(covered + len, variables, sizeof(variables));
		uint8_t mac[KNOT_TSIG_MAC_MAX];
		assert_int_equal(gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, sizeof(secret), covered,
						 len + sizeof(variables), mac),
				0);
		knot_msg_writer_t w = { .data = room, .len = len, .max = sizeof(room) };
		size_t signed_len;
		assert_int_equal(knot_tsig_sign(&chain, &w, NOW, &signed_len), KNOT_OK);
		assert_memory_equal(room + signed_len - 6 - 32, mac, 32);
	}
}

static void test_unsigned(void **state)
{
	(void)state;
	static uint8_t room[1024], plain[1024];
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA512);
	knot_msg_writer_t w;
	begin_message(&w, plain, sizeof(plain), 600);
	knot_bytes_t unsigned_message = { plain, w.len };
	for (unsigned count = 0; count <= KNOT_TSIG_UNSIGNED_MAX + 1; count++) {
		knot_tsig_chain_t client, server;
		knot_tsig_chain_begin(&client, &key);
		size_t len = sign_message(&client, room, sizeof(room), 30, NOW);
		assert_int_equal(verify_request(&server, &key, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
		if (count == 0) { /* the first one may not be */
			assert_int_equal(knot_tsig_verify(&client, unsigned_message, NOW), KNOT_EMALF);
		}
		len = sign_message(&server, room, sizeof(room), 30, NOW);
		assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
		knot_err_t err = KNOT_OK;
		for (unsigned i = 0; i < count; i++) {
			assert_int_equal(err, KNOT_OK);
			err = knot_tsig_verify(&client, unsigned_message, NOW);
			assert_true(err != KNOT_OK || !knot_tsig_is_complete(&client));
			/* The server's side of a chain with unsigned messages: here the same step. */
			assert_int_equal(knot_tsig_verify_read(&server, unsigned_message, NULL, NOW), err);
		}
		assert_int_equal(err, count <= KNOT_TSIG_UNSIGNED_MAX ? KNOT_OK : KNOT_EMALF);
		if (err == KNOT_OK) {
			len = sign_message(&server, room, sizeof(room), 30, NOW);
			assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
			assert_true(knot_tsig_is_complete(&client));
		}
		knot_tsig_chain_done(&client);
		knot_tsig_chain_done(&server);
	}
}

/* Within a chain time doesn't go back. */
static void test_order(void **state)
{
	(void)state;
	uint8_t room[512];
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA1);
	knot_tsig_chain_t client, server;
	knot_tsig_chain_begin(&client, &key);
	size_t len = sign_message(&client, room, sizeof(room), 30, NOW);
	assert_int_equal(verify_request(&server, &key, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
	static const struct {
		int64_t offset_s;
		bool forgets; /* the server, when it signed last: its time goes back */
		knot_err_t want;
	} rows[] = {
		{ -5, false, KNOT_OK },
		{ 2, false, KNOT_OK },
		{ 2, false, KNOT_OK },
		{ -400, false, KNOT_OK }, /* its clock was set back */
		{ 1, true, KNOT_TSIG_EBADTIME },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		server.time_s = rows[i].forgets ? 0 : server.time_s;
		len = sign_message(&server, room, sizeof(room), 30, (uint64_t)(NOW + rows[i].offset_s));
		assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, NOW), rows[i].want);
	}
}

/* ---- Refusals ---- */

/* A client's request with this time and fudge, signed by hand. */
static size_t sign_with(uint8_t *room, size_t room_len, const knot_tsig_key_t *key, uint64_t time_s, uint16_t fudge_s,
		size_t mac_len)
{
	knot_msg_writer_t w;
	begin_message(&w, room, room_len, 30);
	uint8_t covered[512], mac[KNOT_TSIG_MAC_MAX];
	knot_writer_t out = knot_writer_of((knot_mut_bytes_t){ covered, sizeof(covered) });
	knot_name_t algorithm = knot_tsig_algorithm_name(key->algorithm);
	knot_write(&out, room, w.len);
	knot_write(&out, key->name.wire, key->name.len);
	knot_write(&out, "\0\xff\0\0\0\0", 6);
	knot_write(&out, algorithm.wire, algorithm.len);
	knot_write_u16(&out, (uint16_t)(time_s >> 32));
	knot_write_u32(&out, (uint32_t)time_s);
	knot_write_u16(&out, fudge_s);
	knot_write_u32(&out, 0);
	assert_false(out.failed);
	assert_int_equal(gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, sizeof(secret), covered, out.len, mac), 0);
	const knot_tsig_t tsig = { .key = key->name,
		.algorithm = algorithm,
		.time_s = time_s,
		.fudge_s = fudge_s,
		.mac = { mac, mac_len },
		.original_id = 0x1234 };
	assert_int_equal(knot_tsig_put(&w, &tsig), KNOT_OK);
	return knot_msg_finish(&w, 0x1234, 0);
}

static const struct {
	const char *what;
	uint64_t time_s, now_s;
	uint16_t fudge_s;
	size_t mac_len;
	knot_err_t want;
} time_rows[] = {
	{ "now", NOW, NOW, 300, 32, KNOT_OK },
	{ "at the end of the window", NOW, NOW + 300, 300, 32, KNOT_OK },
	{ "behind it", NOW, NOW + 301, 300, 32, KNOT_TSIG_EBADTIME },
	{ "at its begin", NOW, NOW - 300, 300, 32, KNOT_OK },
	{ "before it", NOW, NOW - 301, 300, 32, KNOT_TSIG_EBADTIME },
	{ "the client's fudge counts, smaller", NOW, NOW + 11, 10, 32, KNOT_TSIG_EBADTIME },
	{ "the client's fudge counts, larger", NOW, NOW + 60000, 60000, 32, KNOT_OK },
	{ "no fudge", NOW, NOW, 0, 32, KNOT_TSIG_EBADTIME },
	{ "no time", 0, 100, 300, 32, KNOT_TSIG_EBADTIME },
	{ "after 2106", UINT64_C(5000000000), UINT64_C(5000000001), 300, 32, KNOT_OK },
	{ "a MAC that is cut", NOW, NOW, 300, 31, KNOT_TSIG_EBADSIG },
	{ "a MAC cut to half, which RFC 8945 lets servers take", NOW, NOW, 300, 16, KNOT_TSIG_EBADSIG },
	{ "no MAC", NOW, NOW, 300, 0, KNOT_TSIG_EBADSIG },
	{ "a longer MAC", NOW, NOW, 300, 33, KNOT_TSIG_EBADSIG },
	{ "the MAC is looked at before the time", NOW, 1, 300, 16, KNOT_TSIG_EBADSIG },
};

/* And what the server's answer says, which the client understands. */
static void test_time_and_mac(void **state)
{
	(void)state;
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA256);
	for (size_t i = 0; i < KNOT_LEN(time_rows); i++) {
		uint8_t room[512], name[KNOT_NAME_MAX];
		size_t len = sign_with(room, sizeof(room), &key, time_rows[i].time_s, time_rows[i].fudge_s,
				time_rows[i].mac_len);
		knot_tsig_chain_t server, client;
		knot_err_t err = verify_request(&server, &key, (knot_bytes_t){ room, len }, time_rows[i].now_s);
		if (err != time_rows[i].want) {
			fail_msg("%s: %s", time_rows[i].what, knot_strerror(err));
		}
		/* The client's chain after its request. */
		knot_tsig_t tsig;
		assert_int_equal(knot_tsig_read((knot_bytes_t){ room, len }, name, &tsig), KNOT_OK);
		knot_tsig_chain_begin(&client, &key);
		client.position = KNOT_TSIG_AT_FIRST;
		client.mac_len = (uint8_t)(time_rows[i].mac_len < 32 ? time_rows[i].mac_len : 32);
		memcpy(client.mac, tsig.mac.data, client.mac_len);

		len = sign_message(&server, room, sizeof(room), 30, time_rows[i].now_s);
		assert_int_equal(knot_tsig_read((knot_bytes_t){ room, len }, name, &tsig), KNOT_OK);
		assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, time_rows[i].now_s),
				time_rows[i].want);
		bool is_bad_time = err == KNOT_TSIG_EBADTIME, is_bad_sig = err == KNOT_TSIG_EBADSIG;
		assert_int_equal(tsig.error, is_bad_time ? KNOT_RCODE_BADTIME : is_bad_sig ? 16 : 0);
		assert_true(tsig.time_s == (err == KNOT_OK ? time_rows[i].now_s : time_rows[i].time_s));
		assert_int_equal(tsig.fudge_s, KNOT_TSIG_FUDGE_S);
		assert_int_equal(tsig.mac.len, is_bad_sig ? 0 : 32);
		assert_int_equal(tsig.other.len, is_bad_time ? 6 : 0);
		if (is_bad_time) {
			assert_true(load_be32(tsig.other.data + 2) == (uint32_t)time_rows[i].now_s);
		}
	}
}

static void test_other_key(void **state)
{
	(void)state;
	uint8_t room[512];
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA256), other = key, same = key;
	knot_tsig_chain_t client, server;
	knot_tsig_chain_begin(&client, &key);
	size_t len = sign_message(&client, room, sizeof(room), 30, NOW);
	other.algorithm = KNOT_TSIG_HMAC_SHA224;
	assert_int_equal(verify_request(&server, &other, (knot_bytes_t){ room, len }, NOW), KNOT_TSIG_EBADKEY);
	other = key;
	other.name = knot_name_of((const uint8_t *)"\5other");
	assert_int_equal(verify_request(&server, &other, (knot_bytes_t){ room, len }, NOW), KNOT_TSIG_EBADKEY);
	same.name = knot_name_of((const uint8_t *)"\3KEY\2eX");
	assert_int_equal(verify_request(&server, &key, (knot_bytes_t){ room, len }, NOW), KNOT_OK);
	other = key;
	other.secret.len--;
	assert_int_equal(verify_request(&server, &other, (knot_bytes_t){ room, len }, NOW), KNOT_TSIG_EBADSIG);

	/* An answer that says that the server doesn't know the key. */
	knot_msg_writer_t w;
	begin_message(&w, room, sizeof(room), 30);
	const knot_tsig_t tsig = { .key = same.name,
		.algorithm = knot_tsig_algorithm_name(key.algorithm),
		.time_s = NOW,
		.error = KNOT_RCODE_BADKEY };
	assert_int_equal(knot_tsig_put(&w, &tsig), KNOT_OK);
	len = knot_msg_finish(&w, 0x1234, 0);
	assert_int_equal(knot_tsig_verify(&client, (knot_bytes_t){ room, len }, NOW), KNOT_TSIG_EBADKEY);
}

static void test_no_room(void **state)
{
	(void)state;
	uint8_t room[512];
	knot_tsig_key_t key = make_key(KNOT_TSIG_HMAC_SHA384);
	knot_tsig_chain_t chain;
	knot_tsig_chain_begin(&chain, &key);
	knot_msg_writer_t w;
	begin_message(&w, room, sizeof(room), 30);
	size_t before = w.len, len = 0;
	knot_msg_limit(&w, w.len + knot_tsig_len(&chain) - 1);
	assert_int_equal(knot_tsig_sign(&chain, &w, NOW, &len), KNOT_ESPACE);
	assert_int_equal(w.len, before);
	assert_int_equal(load_be16(room + 10), 0);
	assert_int_equal(chain.position, KNOT_TSIG_AT_REQUEST);
	w.max++;
	assert_int_equal(knot_tsig_sign(&chain, &w, NOW, &len), KNOT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_client),
		cmocka_unit_test(test_vectors_sign),
		cmocka_unit_test(test_flipped_request),
		cmocka_unit_test(test_flipped_answers),
		cmocka_unit_test(test_both_sides),
		cmocka_unit_test(test_border),
		cmocka_unit_test(test_unsigned),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_time_and_mac),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
