/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/query.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Bytes of a hex text (spaces ignored), on the heap with exact size, so that ASan sees a read of one byte more. */
static knot_bytes_t test_hex(const char *text)
{
	uint8_t *bytes = malloc(strlen(text) / 2 + 1);
	size_t len = 0;
	for (const char *p = text; *p != '\0';) {
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		char digits[3] = { p[0], p[1], '\0' };
		bytes[len++] = (uint8_t)strtoul(digits, NULL, 16);
		p += 2;
	}
	uint8_t *exact = malloc(len > 0 ? len : 1);
	memcpy(exact, bytes, len);
	free(bytes);
	return (knot_bytes_t){ exact, len };
}

#define Q_ROOT_NS "00 0002 0001 "
#define OPT_1232  "00 0029 04d0 00 00 8000 0000 "

static void test_verdict(void **state)
{
	(void)state;
	static const struct {
		const char *what, *hex;
		knot_msg_verdict_t want;
		unsigned want_question_len;
	} rows[] = {
		{ "header cut short", "1234 0000 0001 0000 0000", KNOT_MSG_DROP, 0 },
		{ "QR bit set", "1234 8000 0001 0000 0000 0000" Q_ROOT_NS, KNOT_MSG_DROP, 0 },
		{ "QR bit set, broken", "1234 8000 0005 0000 0000 0000", KNOT_MSG_DROP, 0 },
		{ "two questions", "1234 0000 0002 0000 0000 0000" Q_ROOT_NS Q_ROOT_NS, KNOT_MSG_FORMERR, 0 },
		{ "root NS", "1234 0000 0001 0000 0000 0000" Q_ROOT_NS, KNOT_MSG_OK, 5 },
		{ "no question", "1234 0000 0000 0000 0000 0000", KNOT_MSG_OK, 0 },
		{ "question missing", "1234 0000 0001 0000 0000 0000", KNOT_MSG_FORMERR, 0 },
		{ "question cut in class", "1234 0000 0001 0000 0000 0000 00 0002 00", KNOT_MSG_FORMERR, 0 },
		{ "compressed question", "1234 0000 0001 0000 0000 0000 c00c 0002 0001", KNOT_MSG_FORMERR, 0 },
		{ "trailing byte", "1234 0000 0001 0000 0000 0000" Q_ROOT_NS "00", KNOT_MSG_FORMERR, 5 },
		{ "OPT", "1234 0000 0001 0000 0000 0001" Q_ROOT_NS OPT_1232, KNOT_MSG_OK, 5 },
		{ "OPT announced but missing", "1234 0000 0001 0000 0000 0001" Q_ROOT_NS, KNOT_MSG_FORMERR, 5 },
		{ "two OPT", "1234 0000 0001 0000 0000 0002" Q_ROOT_NS OPT_1232 OPT_1232, KNOT_MSG_FORMERR, 5 },
		{ "OPT owner not root", "1234 0000 0001 0000 0000 0001" Q_ROOT_NS "0161 00 0029 04d0 00000000 0000",
				KNOT_MSG_FORMERR, 5 },
		{ "SOA without data in answer", "1234 0000 0001 0001 0000 0000" Q_ROOT_NS "00 0006 0001 00000000 0000",
				KNOT_MSG_FORMERR, 5 },
		{ "deletion without data",
				"1234 2800 0001 0000 0001 0000"
				"00 0006 0001"
				"00 0006 00ff 00000000 0000",
				KNOT_MSG_OK, 5 },
		{ "OPT in answer", "1234 0000 0001 0001 0000 0000" Q_ROOT_NS OPT_1232, KNOT_MSG_FORMERR, 5 },
		{ "OPT data cut", "1234 0000 0001 0000 0000 0001" Q_ROOT_NS "00 0029 04d0 00000000 0001",
				KNOT_MSG_FORMERR, 5 },
		{ "option header cut", "1234 0000 0001 0000 0000 0001" Q_ROOT_NS "00 0029 04d0 00000000 0003 000300",
				KNOT_MSG_FORMERR, 5 },
		{ "option longer than OPT",
				"1234 0000 0001 0000 0000 0001" Q_ROOT_NS "00 0029 04d0 00000000 0004 00030001",
				KNOT_MSG_FORMERR, 5 },
		{ "TSIG last", "1234 0000 0001 0000 0000 0002" Q_ROOT_NS OPT_1232 "00 00fa 00ff 00000000 0000",
				KNOT_MSG_OK, 5 },
		{ "TSIG not last", "1234 0000 0001 0000 0000 0002" Q_ROOT_NS "00 00fa 00ff 00000000 0000" OPT_1232,
				KNOT_MSG_FORMERR, 5 },
		{ "IXFR with SOA",
				"1234 0000 0001 0000 0001 0000"
				"0161 00 00fb 0001"
				"c00c 0006 0001 00000000 0016 00 00 00000001 00000002 00000003 00000004 00000005",
				KNOT_MSG_OK, 7 },
		{ "owner pointer forward", "1234 0000 0001 0000 0001 0000" Q_ROOT_NS "c011 0006 0001 00000000 0000",
				KNOT_MSG_FORMERR, 5 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_bytes_t wire = test_hex(rows[i].hex);
		knot_query_t q;
		knot_msg_verdict_t got = knot_query_parse(wire, &q);
		if (got != rows[i].want) {
			fail_msg("%s: got %d", rows[i].what, got);
		}
		assert_int_equal(q.question_len, rows[i].want_question_len);
		if (got != KNOT_MSG_DROP) {
			assert_int_equal(q.id, 0x1234);
		}
		/* Every truncation is anything but a crash, and never fine. */
		for (size_t len = 0; len < wire.len; len++) {
			uint8_t *cut = malloc(len > 0 ? len : 1);
			memcpy(cut, wire.data, len);
			assert_int_not_equal(knot_query_parse((knot_bytes_t){ cut, len }, &q),
					got == KNOT_MSG_OK ? KNOT_MSG_OK : 99);
			free(cut);
		}
		free((void *)wire.data);
	}
}

static void test_fields(void **state)
{
	(void)state;
	knot_bytes_t wire = test_hex("beef 0110 0001 0000 0000 0001"
				     "0357 7757 0145 00 001c 0001"
				     "00 0029 1000 00 01 8000 000d 0003 0000 0008 0006 00ff 1800 01");
	knot_query_t q;
	assert_int_equal(knot_query_parse(wire, &q), KNOT_MSG_FORMERR); /* the last option is one byte short */
	free((void *)wire.data);
	wire = test_hex("beef 0110 0001 0000 0000 0001"
			"0357 7757 0145 00 001c 0001"
			"00 0029 1000 00 01 8000 000c 0003 0000 0008 0004 00ff 1800");
	assert_int_equal(knot_query_parse(wire, &q), KNOT_MSG_OK);
	assert_int_equal(q.flags, KNOT_FLAG_RD | KNOT_FLAG_CD);
	assert_int_equal(q.opcode, KNOT_OPCODE_QUERY);
	assert_int_equal(q.qtype, KNOT_TYPE_AAAA);
	assert_int_equal(q.qclass, KNOT_CLASS_IN);
	assert_int_equal(q.qname.len, 7);
	assert_int_equal(q.qname.label_count, 2);
	assert_memory_equal(q.qname.wire, "\3WwW\1E", 7);
	assert_memory_equal(q.qname_lower, "\3www\1e", 7);
	assert_int_equal(q.additional_off, 23);
	assert_true(q.edns.present && q.edns.dnssec_ok);
	assert_int_equal(q.edns.version, 1);
	assert_int_equal(q.edns.udp_payload, 4096);

	size_t pos = 0;
	knot_edns_option_t option;
	assert_true(knot_edns_next(q.edns.options, &pos, &option));
	assert_int_equal(option.code, KNOT_EDNS_NSID);
	assert_int_equal(option.data.len, 0);
	assert_true(knot_edns_next(q.edns.options, &pos, &option));
	assert_int_equal(option.code, KNOT_EDNS_SUBNET);
	assert_int_equal(option.data.len, 4);
	assert_false(knot_edns_next(q.edns.options, &pos, &option));
	free((void *)wire.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
