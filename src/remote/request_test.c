/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "libknot/msg/message.h"

static const uint8_t zone_wire[] = "\7example";
static const uint8_t soa[] = "\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"; /* ".", ".", 1 2 3 4 5 */
enum { SOA_LEN = 22 };

/** What a question looks like. */
typedef struct {
	const char *what;
	remote_query_t query;
	uint16_t flags;
	uint16_t counts[4];
	bool has_option;
} row_t;

static const row_t rows[] = {
	{ "SOA", { .type = KNOT_TYPE_SOA, .has_edns = true, .has_expire = true }, 0, { 1, 0, 0, 1 }, true },
	{ "SOA without EDNS", { .type = KNOT_TYPE_SOA, .has_expire = true }, 0, { 1, 0, 0, 0 }, false },
	{ "AXFR", { .type = KNOT_TYPE_AXFR, .has_edns = true, .has_expire = true }, 0, { 1, 0, 0, 1 }, true },
	{ "IXFR", { .type = KNOT_TYPE_IXFR, .soa = { soa, SOA_LEN }, .has_edns = true, .has_expire = true }, 0,
			{ 1, 0, 1, 1 }, true },
	{ "NOTIFY", { .opcode = KNOT_OPCODE_NOTIFY, .type = KNOT_TYPE_SOA, .soa = { soa, SOA_LEN }, .has_edns = true },
			0x2400, { 1, 1, 0, 1 }, false },
};

static void check_row(const row_t *row)
{
	uint8_t room[REMOTE_QUERY_MAX];
	size_t len;
	knot_tsig_chain_t chain;
	knot_message_t message;
	knot_message_rr_t rr;
	remote_query_t query = row->query;
	query.zone = knot_name_of(zone_wire);
	assert_int_equal(remote_query_write(&query, 0x1234, NULL, 0, (knot_mut_bytes_t){ room, sizeof(room) }, &chain,
					 &len),
			KNOT_OK);
	assert_int_equal(knot_message_begin((knot_bytes_t){ room, len }, &message), KNOT_OK);
	assert_int_equal(message.id, 0x1234);
	assert_int_equal(message.flags, row->flags);
	assert_memory_equal(message.counts, row->counts, sizeof(row->counts));
	while (knot_message_next(&message, &rr)) {
		if (rr.type == KNOT_TYPE_OPT) {
			assert_int_equal(rr.rdata_len, row->has_option ? 4 : 0);
		} else {
			assert_true(knot_name_eq(rr.owner, query.zone));
			assert_int_equal(rr.type, rr.section == KNOT_SECTION_QUESTION ? query.type : KNOT_TYPE_SOA);
		}
	}
	assert_true(knot_message_is_whole(&message));
}

static void test_questions(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		print_message("%s\n", rows[i].what);
		check_row(&rows[i]);
	}
}

/** A message that is there already gets an ID of ours and, unless a key that isn't known here signed it, a signature.
 */
static void test_ready_message(void **state)
{
	(void)state;
	static const uint8_t bytes[] = "\xab\xcd\x28\0\0\1\0\0\0\0\0\0\7example\0\0\6\0\1";
	enum { LEN = sizeof(bytes) - 1 };
	static const knot_tsig_key_t key = { .name = { (const uint8_t *)"\1k", 3, 1 },
		.algorithm = KNOT_TSIG_HMAC_SHA256,
		.secret = { (const uint8_t *)"secret", 6 } };
	const remote_query_t query = { .zone = knot_name_of(zone_wire), .message = { bytes, LEN } };
	uint8_t room[REMOTE_QUERY_MAX + LEN];
	assert_int_equal(remote_query_max(&query), sizeof(room));
	size_t len;
	knot_tsig_chain_t chain = { .pending = NULL };
	knot_mut_bytes_t all = { room, sizeof(room) };
	assert_int_equal(remote_query_write(&query, 0x1234, NULL, 0, all, &chain, &len), KNOT_OK);
	assert_int_equal(len, LEN);
	assert_memory_equal(room, "\x12\x34", 2);
	assert_memory_equal(room + 2, bytes + 2, LEN - 2);
	assert_int_equal(remote_query_write(&query, 0x1234, &key, 0, all, &chain, &len), KNOT_OK);
	knot_tsig_chain_done(&chain);
	knot_message_t message;
	assert_int_equal(knot_message_begin((knot_bytes_t){ room, len }, &message), KNOT_OK);
	assert_memory_equal(room, "\x12\x34\x28\0\0\1\0\0\0\0\0\1", 12);
	assert_memory_equal(room + 12, bytes + 12, LEN - 12);
	assert_true(len > LEN);
	assert_int_equal(remote_query_write(&query, 1, NULL, 0, (knot_mut_bytes_t){ room, LEN - 1 }, &chain, &len),
			KNOT_ESPACE);
}

static void test_via_is_the_last_of_the_family(void **state)
{
	(void)state;
	const conf_addr_t to[] = { { .ss.ss_family = AF_INET }, { .ss.ss_family = AF_INET6 },
		{ .ss.ss_family = AF_INET }, { .ss.ss_family = AF_UNIX } };
	const conf_addr_t via[] = { { .ss.ss_family = AF_INET, .len = 1 }, { .ss.ss_family = AF_INET, .len = 2 },
		{ .ss.ss_family = AF_INET6, .len = 3 } };
	conf_remote_t remote = { .addresses = { to, 4 }, .via = { via, 3 } };
	assert_ptr_equal(remote_via(&remote, 0), &via[0]);
	assert_null(remote_via(&remote, 1));
	assert_ptr_equal(remote_via(&remote, 2), &via[1]);
	assert_null(remote_via(&remote, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_ready_message),
		cmocka_unit_test(test_via_is_the_last_of_the_family),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
