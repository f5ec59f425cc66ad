/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/dnstap/dnstap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const uint8_t query[] = "a query", response[] = "a response";

static void assert_bytes_equal(knot_bytes_t a, knot_bytes_t b)
{
	assert_int_equal(a.len, b.len);
	if (a.len > 0) {
		assert_memory_equal(a.data, b.data, a.len);
	}
}

/* What is written is read back. */
static void test_round_trip(void **state)
{
	(void)state;
	const dnstap_message_t rows[] = {
		{ .type = DNSTAP_TOOL_QUERY,
				.protocol = DNSTAP_UDP,
				.client = { { 192, 0, 2, 1 }, 4, 40000 },
				.server = { { 192, 0, 2, 53 }, 4, 53 },
				.query_at = { 1700000000, 123456789 },
				.query = { query, sizeof(query) } },
		{ .type = DNSTAP_TOOL_RESPONSE,
				.protocol = DNSTAP_DOQ,
				.client = { { 0x20, 1 }, 16, 1 },
				.server = { { 0x20, 2 }, 16, 65535 },
				.query_at = { 1700000000, 0 },
				.response_at = { 1700000001, 999999999 },
				.query = { query, sizeof(query) },
				.response = { response, sizeof(response) } },
		{ .type = 2 /* of a server */ },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t frame;
		dnstap_message_t got;
		void *owner = NULL;
		assert_int_equal(dnstap_write(&rows[i], "test 1", &frame), KNOT_OK);
		assert_int_equal(dnstap_read((knot_bytes_t){ frame.data, frame.len }, &got, &owner), KNOT_OK);
		assert_int_equal(got.type, rows[i].type);
		assert_int_equal(got.protocol, rows[i].protocol);
		assert_memory_equal(&got.client, &rows[i].client, sizeof(got.client));
		assert_memory_equal(&got.server, &rows[i].server, sizeof(got.server));
		assert_memory_equal(&got.query_at, &rows[i].query_at, sizeof(got.query_at));
		assert_memory_equal(&got.response_at, &rows[i].response_at, sizeof(got.response_at));
		assert_bytes_equal(got.query, rows[i].query);
		assert_bytes_equal(got.response, rows[i].response);
		dnstap_read_done(owner);
		/* A byte less is no frame, or one that says less. */
		for (size_t len = 0; len < frame.len; len++) {
			if (dnstap_read((knot_bytes_t){ frame.data, len }, &got, &owner) == KNOT_OK) {
				dnstap_read_done(owner);
			}
		}
		free(frame.data);
	}
}

/* The schema's numbers, on the wire: field 15 is the type, field 14 the message, whose fields 1 to 3 are numbers. */
static void test_wire(void **state)
{
	(void)state;
	static const uint8_t bytes[] = { 0x72, 0x06, 0x08, 0x0b, 0x10, 0x01, 0x18, 0x02, 0x78, 0x01 };
	static const uint8_t none[] = { 0x78, 0x01 }, bad[] = { 0x72, 0x06, 0x08 };
	dnstap_message_t got;
	void *owner = NULL;
	assert_int_equal(dnstap_read((knot_bytes_t){ bytes, sizeof(bytes) }, &got, &owner), KNOT_OK);
	assert_int_equal(got.type, DNSTAP_TOOL_QUERY);
	assert_int_equal(got.protocol, DNSTAP_TCP);
	assert_int_equal(got.query.len, 0);
	dnstap_read_done(owner);
	assert_int_equal(dnstap_read((knot_bytes_t){ none, sizeof(none) }, &got, &owner), KNOT_ENOENT);
	assert_int_equal(dnstap_read((knot_bytes_t){ bad, sizeof(bad) }, &got, &owner), KNOT_EMALF);
}

/* Times that are none are unknown: those that are read have a date, and their difference fits. */
static void test_times(void **state)
{
	(void)state;
	const struct {
		struct timespec at, want;
	} rows[] = {
		{ { 1, 999999999 }, { 1, 999999999 } },
		{ { 253402300799, 0 }, { 253402300799, 0 } }, /* the end of 9999 */
		{ { 253402300800, 1 }, { 0, 0 } },
		{ { INT64_MAX, 0 }, { 0, 0 } },
		{ { -1, 0 }, { 0, 0 } },
		{ { 1, 1000000000 }, { 0, 0 } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const dnstap_message_t message = { .type = DNSTAP_TOOL_QUERY, .query_at = rows[i].at };
		knot_mut_bytes_t frame;
		dnstap_message_t got;
		void *owner = NULL;
		assert_int_equal(dnstap_write(&message, "test", &frame), KNOT_OK);
		assert_int_equal(dnstap_read((knot_bytes_t){ frame.data, frame.len }, &got, &owner), KNOT_OK);
		assert_int_equal(got.query_at.tv_sec, rows[i].want.tv_sec);
		assert_int_equal(got.query_at.tv_nsec, rows[i].want.tv_nsec);
		dnstap_read_done(owner);
		free(frame.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip), cmocka_unit_test(test_wire),
		cmocka_unit_test(test_times) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
