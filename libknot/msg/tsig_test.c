/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/tsig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static const uint8_t key_wire[] = "\3key\2ex", algorithm_wire[] = "\13hmac-sha256";

static size_t make_message(uint8_t *out, size_t max, const knot_tsig_t *tsig)
{
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, max });
	assert_int_equal(knot_msg_put_question(&w, knot_name_of(key_wire), KNOT_TYPE_SOA, KNOT_CLASS_IN), KNOT_OK);
	assert_int_equal(knot_msg_put_opt(&w, 1232, 0, 0, 0), KNOT_OK);
	if (tsig != NULL) {
		assert_int_equal(knot_tsig_put(&w, tsig), KNOT_OK);
	}
	return knot_msg_finish(&w, 0x1234, 0);
}

static knot_tsig_t make_tsig(void)
{
	return (knot_tsig_t){
		.key = knot_name_of(key_wire),
		.algorithm = knot_name_of(algorithm_wire),
		.time_s = 0x123456789ABC,
		.fudge_s = 300,
		.mac = { (const uint8_t *)"macmac", 6 },
		.original_id = 0x4321,
		.error = KNOT_RCODE_BADTIME,
	};
}

static void test_round_trip(void **state)
{
	(void)state;
	uint8_t out[256], read_key[KNOT_NAME_MAX];
	knot_tsig_t tsig = make_tsig(), got;
	size_t len = make_message(out, sizeof(out), &tsig);
	assert_int_equal(load_be16(out + 10), 2);
	knot_query_t q;
	assert_int_equal(knot_query_parse((knot_bytes_t){ out, len }, &q), KNOT_MSG_OK);
	assert_true(q.has_tsig);
	assert_int_equal(knot_tsig_read((knot_bytes_t){ out, len }, read_key, &got), KNOT_OK);
	assert_true(knot_name_eq(got.key, tsig.key));
	assert_true(knot_name_eq(got.algorithm, tsig.algorithm));
	assert_true(got.time_s == tsig.time_s);
	assert_int_equal(got.fudge_s, tsig.fudge_s);
	assert_int_equal(got.mac.len, tsig.mac.len);
	assert_memory_equal(got.mac.data, tsig.mac.data, tsig.mac.len);
	assert_int_equal(got.original_id, tsig.original_id);
	assert_int_equal(got.error, tsig.error);
}

/* One byte less than it takes: nothing is written. */
static void test_no_room(void **state)
{
	(void)state;
	uint8_t out[256];
	knot_tsig_t tsig = make_tsig();
	size_t len = make_message(out, sizeof(out), &tsig);
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	assert_int_equal(knot_msg_put_question(&w, tsig.key, KNOT_TYPE_SOA, KNOT_CLASS_IN), KNOT_OK);
	assert_int_equal(knot_msg_put_opt(&w, 1232, 0, 0, 0), KNOT_OK);
	size_t before = w.len;
	knot_msg_limit(&w, len - 1);
	assert_int_equal(knot_tsig_put(&w, &tsig), KNOT_ESPACE);
	assert_int_equal(w.len, before);
	assert_int_equal(w.counts[KNOT_SECTION_ADDITIONAL], 1);
}

/* A message without a TSIG, and one whose TSIG ends too early, wherever that is: never a read beyond it. */
static void test_malformed(void **state)
{
	(void)state;
	uint8_t out[256], read_key[KNOT_NAME_MAX];
	knot_tsig_t tsig = make_tsig(), got;
	size_t plain_len = make_message(out, sizeof(out), NULL);
	assert_int_equal(knot_tsig_read((knot_bytes_t){ out, plain_len }, read_key, &got), KNOT_EMALF);
	size_t whole = make_message(out, sizeof(out), &tsig);
	size_t rdata_off = plain_len + sizeof(key_wire) + 10;
	for (size_t len = rdata_off; len < whole; len++) {
		uint8_t *exact = malloc(len);
		memcpy(exact, out, len);
		assert_int_equal(knot_tsig_read((knot_bytes_t){ exact, len }, read_key, &got), KNOT_EMALF);
		store_be16(exact + rdata_off - 2, (uint16_t)(len - rdata_off)); /* RDLENGTH agrees */
		assert_int_equal(knot_tsig_read((knot_bytes_t){ exact, len }, read_key, &got), KNOT_EMALF);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
