/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t zone_wire[] = "\7example";
static const uint8_t key_wire[] = "\3key";
static const uint8_t secret[] = "0123456789abcdef";

/** A question and what came of it. */
typedef struct {
	remote_request_t request;
	unsigned wanted; /* messages of its answer */
	unsigned count;  /* that came */
	unsigned end_count;
	knot_err_t err;
	remote_verdict_t last; /* what is said of the last one */
} ask_t;

static const conf_remote_t plain_remote;

static remote_verdict_t on_message(remote_request_t *request, knot_bytes_t message)
{
	ask_t *ask = (ask_t *)request;
	assert_int_equal(load_be16(message.data), request->id);
	return ++ask->count == ask->wanted ? ask->last : REMOTE_MORE;
}

static void on_end(remote_request_t *request, knot_err_t err)
{
	ask_t *ask = (ask_t *)request;
	ask->end_count++;
	ask->err = err;
}

static void note_end(remote_request_t *request, knot_err_t err, void *ctx)
{
	(void)request, (void)err;
	++*(unsigned *)ctx;
}

static ask_t new_ask(const conf_remote_t *remote, unsigned wanted)
{
	return (ask_t){ .request = { .query = { .type = KNOT_TYPE_SOA, .zone = knot_name_of(zone_wire) },
					.remote = remote,
					.is_stream = wanted > 1,
					.on_message = on_message,
					.on_end = on_end },
		.wanted = wanted,
		.last = REMOTE_DONE };
}

/* Bytes come in pieces. */
static unsigned feed(link_t *link, const uint8_t *data, size_t len, size_t piece, uint64_t now_ms)
{
	unsigned ended = 0;
	for (size_t at = 0; at < len; at += piece) {
		size_t part = len - at < piece ? len - at : piece;
		knot_mut_bytes_t room = link_room(link);
		assert_true(room.len >= part);
		memcpy(room.data, data + at, part);
		link_note_received(link, part, now_ms, 1000, note_end, &ended);
	}
	return ended;
}

static size_t put_answer(uint8_t *at, uint16_t id, uint16_t flags)
{
	memset(at, 0, 14);
	store_be16(at, 12);
	store_be16(at + 2, id);
	store_be16(at + 4, flags);
	return 14;
}

static void test_answers_in_any_order_and_in_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 40; piece++) {
		link_t link;
		link_init(&link, 0x5aa5);
		ask_t asks[3] = { new_ask(&plain_remote, 1), new_ask(&plain_remote, 2), new_ask(&plain_remote, 1) };
		uint8_t bytes[64];
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(link_put(&link, &asks[i].request, 1, 1000), KNOT_OK);
		}
		size_t len = put_answer(bytes, asks[2].request.id, KNOT_FLAG_QR);
		len += put_answer(bytes + len, asks[1].request.id, KNOT_FLAG_QR);
		len += put_answer(bytes + len, asks[0].request.id, KNOT_FLAG_QR);
		len += put_answer(bytes + len, asks[1].request.id, KNOT_FLAG_QR);
		assert_int_equal(feed(&link, bytes, len, piece, 2), 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(asks[i].count, asks[i].wanted);
			assert_int_equal(asks[i].end_count, 1);
			assert_int_equal(asks[i].err, KNOT_OK);
		}
		assert_int_equal(link.count, 0);
		assert_int_equal(link.stream_count, 0);
		assert_false(link.is_over);
		link_done(&link);
	}
}

static void test_ids_differ_when_a_slot_is_used_again(void **state)
{
	(void)state;
	link_t link;
	link_init(&link, 7);
	uint16_t before = 0;
	for (unsigned i = 0; i < 3 * LINK_ROOM; i++) {
		ask_t ask = new_ask(&plain_remote, 1);
		assert_int_equal(link_put(&link, &ask.request, 1, 1000), KNOT_OK);
		assert_true(i == 0 || ask.request.id != before);
		before = ask.request.id;
		link_note_sent(&link, link_pending(&link).len);
		assert_ptr_equal(link_take(&link), &ask.request);
	}
	link_done(&link);
}

/** A message that is of no use. */
typedef struct {
	const char *what;
	uint16_t id_xor, flags;
	knot_err_t err;
	bool is_delivered;
} bad_row_t;

static const bad_row_t bad_rows[] = {
	{ "another ID", 0x0100, KNOT_FLAG_QR, KNOT_EMALF, false },
	{ "an ID of no slot in use", 0x0001, KNOT_FLAG_QR, KNOT_EMALF, false },
	{ "a query", 0, 0, KNOT_EMALF, false },
	{ "truncated", 0, KNOT_FLAG_QR | KNOT_FLAG_TC, KNOT_EFEWDATA, false },
	{ "an error", 0, KNOT_FLAG_QR | 5, KNOT_OK, true },
};

static void test_bad_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(bad_rows); i++) {
		const bad_row_t *row = &bad_rows[i];
		print_message("%s\n", row->what);
		link_t link;
		uint8_t bytes[14];
		link_init(&link, 99);
		ask_t ask = new_ask(&plain_remote, 1);
		assert_int_equal(link_put(&link, &ask.request, 1, 1000), KNOT_OK);
		size_t len = put_answer(bytes, ask.request.id ^ row->id_xor, row->flags);
		assert_int_equal(feed(&link, bytes, len, len, 2), 1);
		assert_int_equal(ask.end_count, 1);
		assert_int_equal(ask.err, row->err);
		assert_int_equal(ask.count, row->is_delivered);
		assert_int_equal(link.is_over, !row->is_delivered);
		link_done(&link);
	}
}

static void test_short_message(void **state)
{
	(void)state;
	link_t link;
	link_init(&link, 0);
	ask_t ask = new_ask(&plain_remote, 1);
	assert_int_equal(link_put(&link, &ask.request, 1, 1000), KNOT_OK);
	assert_int_equal(feed(&link, (const uint8_t *)"\0\1x", 3, 3, 2), 1);
	assert_int_equal(ask.err, KNOT_EMALF);
	link_done(&link);
}

static void test_time(void **state)
{
	(void)state;
	link_t link;
	uint8_t bytes[14];
	unsigned ended = 0;
	link_init(&link, 3);
	ask_t slow = new_ask(&plain_remote, 1), quick = new_ask(&plain_remote, 2);
	assert_int_equal(link_put(&link, &slow.request, 100, 1000), KNOT_OK);
	assert_int_equal(link_put(&link, &quick.request, 100, 1000), KNOT_OK);
	link_expire(&link, 599, 500, note_end, &ended);
	assert_int_equal(ended, 0);
	link_expire(&link, 1000000, 0, note_end, &ended); /* no limit */
	assert_int_equal(ended, 0);
	/* Others are answered meanwhile: it may only be its turn later, up to a bound. */
	feed(&link, bytes, put_answer(bytes, quick.request.id, KNOT_FLAG_QR), 14, 590);
	link_expire(&link, 1089, 500, note_end, &ended);
	assert_int_equal(ended, 0);
	feed(&link, bytes, put_answer(bytes, quick.request.id, KNOT_FLAG_QR), 14, 1050);
	assert_int_equal(quick.end_count, 1);
	link_expire(&link, 1549, 500, note_end, &ended);
	assert_int_equal(ended, 0);
	link_expire(&link, 1550, 500, note_end, &ended);
	assert_int_equal(ended, 1);
	assert_int_equal(slow.err, KNOT_ETIMEOUT);
	assert_true(link.is_over);
	link_done(&link);
}

static void test_parts_of_a_message_win_no_time(void **state)
{
	(void)state;
	link_t link;
	unsigned ended = 0;
	link_init(&link, 3);
	ask_t ask = new_ask(&plain_remote, 1);
	assert_int_equal(link_put(&link, &ask.request, 100, 1000), KNOT_OK);
	feed(&link, (const uint8_t *)"\1\0aaaaaaaaa", 10, 1, 550);
	link_expire(&link, 600, 500, note_end, &ended);
	assert_int_equal(ask.err, KNOT_ETIMEOUT);
	link_done(&link);
}

/* ---- Signed ---- */

static const conf_key_t key = { .tsig = { .algorithm = KNOT_TSIG_HMAC_SHA256, .secret = { secret, 16 } } };

static void verify_question(knot_tsig_chain_t *chain, knot_bytes_t question)
{
	uint8_t name[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	assert_int_equal(knot_tsig_read(question, name, &tsig), KNOT_OK);
	assert_int_equal(knot_tsig_verify_read(chain, question, &tsig, 1000), KNOT_OK);
}

/* The server's side: verify the question, sign `count` answers. */
static size_t answer_signed(
		link_t *link, uint16_t id, unsigned count, bool is_last_signed, uint8_t *out, uint64_t now_s)
{
	knot_tsig_key_t tsig = key.tsig;
	tsig.name = knot_name_of(key_wire);
	knot_tsig_chain_t chain;
	size_t len = 0;
	knot_bytes_t pending = link_pending(link);
	knot_tsig_chain_begin(&chain, &tsig);
	verify_question(&chain, (knot_bytes_t){ pending.data + 2, load_be16(pending.data) });
	for (unsigned i = 0; i < count; i++) {
		knot_msg_writer_t w;
		size_t size;
		knot_msg_begin(&w, (knot_mut_bytes_t){ out + len + 2, 512 });
		size = knot_msg_finish(&w, id, KNOT_FLAG_QR);
		if (is_last_signed || i + 1 < count) {
			assert_int_equal(knot_tsig_sign(&chain, &w, now_s, &size), KNOT_OK);
		}
		store_be16(out + len, (uint16_t)size);
		len += 2 + size;
	}
	return len;
}

static knot_err_t ask_signed(unsigned count, bool is_last_signed, size_t flipped, uint64_t now_s)
{
	uint8_t bytes[4096];
	conf_key_t named = key;
	named.tsig.name = knot_name_of(key_wire);
	const conf_key_t *keys[] = { &named };
	const conf_remote_t remote = { .key = { keys, 1 } };
	link_t link;
	link_init(&link, 3);
	ask_t ask = new_ask(&remote, count);
	assert_int_equal(link_put(&link, &ask.request, 100, 1000), KNOT_OK);
	size_t len = answer_signed(&link, ask.request.id, count, is_last_signed, bytes, now_s);
	bytes[flipped] ^= flipped != 0;
	feed(&link, bytes, len, len, 101);
	link_done(&link);
	assert_int_equal(ask.end_count, 1);
	return ask.err;
}

static void test_signatures(void **state)
{
	(void)state;
	assert_int_equal(ask_signed(1, true, 0, 1000), KNOT_OK);
	assert_int_equal(ask_signed(5, true, 0, 1000), KNOT_OK);
	assert_int_equal(ask_signed(5, false, 0, 1000), KNOT_EMALF);
	assert_int_equal(ask_signed(1, false, 0, 1000), KNOT_EMALF);
	assert_int_equal(ask_signed(1, true, 5, 1000), KNOT_TSIG_EBADSIG); /* a bit of the flags */
	assert_int_equal(ask_signed(1, true, 0, 2000), KNOT_TSIG_EBADTIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_in_any_order_and_in_pieces),
		cmocka_unit_test(test_ids_differ_when_a_slot_is_used_again),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_short_message),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_parts_of_a_message_win_no_time),
		cmocka_unit_test(test_signatures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
