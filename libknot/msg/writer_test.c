/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

static knot_name_t scan(const char *text, owned_name_t *ret)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, ret->wire, &ret->name), KNOT_OK);
	return ret->name;
}

static void test_compression(void **state)
{
	(void)state;
	uint8_t out[512];
	knot_msg_writer_t w;
	owned_name_t a, b, c;
	knot_msg_names_t names;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	assert_int_equal(knot_msg_put_question(&w, scan("Www.Example.", &a), KNOT_TYPE_MX, KNOT_CLASS_IN), KNOT_OK);
	knot_msg_compress(&w, &names);
	assert_int_equal(w.len, 12 + 13 + 4);
	/* Owner: pointer to the question whatever the case. Exchange: one label, then a pointer. */
	uint8_t mx[2 + KNOT_NAME_MAX] = { 0, 10 };
	scan("mail.example.", &b);
	memcpy(mx + 2, b.wire, b.name.len);
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, scan("www.example.", &a), KNOT_TYPE_MX, KNOT_CLASS_IN,
					 300, (knot_bytes_t){ mx, 2u + b.name.len }),
			KNOT_OK);
	assert_int_equal(w.len, 29 + 2 + 10 + 2 + 5 + 2);
	assert_memory_equal(out + 29, "\300\014\0\17\0\1\0\0\1\54\0\11\0\12\4mail\300\020", 21);
	/* The exchange is a target for a later owner; SRV targets are neither compressed nor remembered. */
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ADDITIONAL, b.name, KNOT_TYPE_A, KNOT_CLASS_IN, 300,
					 (knot_bytes_t){ (const uint8_t *)"\1\2\3\4", 4 }),
			KNOT_OK);
	assert_memory_equal(out + 50, "\300\053", 2);
	uint8_t srv[6 + KNOT_NAME_MAX] = { 0, 1, 0, 2, 0, 3 };
	memcpy(srv + 6, b.wire, b.name.len);
	size_t before = w.len;
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ADDITIONAL, scan("x.mail.example.", &c), KNOT_TYPE_SRV,
					 KNOT_CLASS_IN, 1, (knot_bytes_t){ srv, 6u + b.name.len }),
			KNOT_OK);
	assert_int_equal(w.len, before + 2 + 2 + 10 + 6 + b.name.len);
	size_t len = knot_msg_finish(&w, 0x1234, KNOT_FLAG_QR | KNOT_FLAG_AA);

	static const struct {
		knot_section_t section;
		const char *owner;
		uint16_t type;
	} want[] = {
		{ KNOT_SECTION_QUESTION, "Www.Example.", KNOT_TYPE_MX },
		{ KNOT_SECTION_ANSWER, "www.example.", KNOT_TYPE_MX },
		{ KNOT_SECTION_ADDITIONAL, "mail.example.", KNOT_TYPE_A },
		{ KNOT_SECTION_ADDITIONAL, "x.mail.example.", KNOT_TYPE_SRV },
	};
	knot_message_t m;
	assert_int_equal(knot_message_begin((knot_bytes_t){ out, len }, &m), KNOT_OK);
	assert_int_equal(m.id, 0x1234);
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		knot_message_rr_t rr;
		owned_name_t owner;
		assert_true(knot_message_next(&m, &rr));
		assert_int_equal(rr.section, want[i].section);
		assert_int_equal(rr.type, want[i].type);
		assert_true(knot_name_eq(rr.owner, scan(want[i].owner, &owner)));
	}
	knot_message_rr_t rr;
	assert_false(knot_message_next(&m, &rr));
	assert_true(knot_message_is_whole(&m));
}

static void test_space_and_rollback(void **state)
{
	(void)state;
	uint8_t out[64];
	knot_msg_writer_t w;
	owned_name_t a;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, 12 + 5 + 15 + 16 });
	assert_int_equal(knot_msg_put_question(&w, knot_name_root, KNOT_TYPE_A, KNOT_CLASS_IN), KNOT_OK);
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, knot_name_root, KNOT_TYPE_A, KNOT_CLASS_IN, 1,
					 (knot_bytes_t){ (const uint8_t *)"\1\2\3\4", 4 }),
			KNOT_OK);
	knot_msg_mark_t mark = knot_msg_mark(&w);
	/* One byte too long, and it leaves no trace; one label shorter fits; undone, it fits again. */
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, scan("a.", &a), KNOT_TYPE_A, KNOT_CLASS_IN, 1,
					 (knot_bytes_t){ (const uint8_t *)"\1\2\3\4", 4 }),
			KNOT_ESPACE);
	assert_int_equal(w.len, mark.len);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, scan("a.", &a), KNOT_TYPE_A, KNOT_CLASS_IN, 1,
						 (knot_bytes_t){ (const uint8_t *)"\1\2\3", 3 }),
				KNOT_OK);
		assert_int_equal(w.len, w.max);
		knot_msg_rollback(&w, &mark);
	}
	assert_int_equal(knot_msg_finish(&w, 1, 0), 32);
	assert_int_equal(load_be16(out + 6), 1);
}

static void test_opt(void **state)
{
	(void)state;
	uint8_t out[128];
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	assert_int_equal(knot_msg_put_opt(&w, 1232, KNOT_RCODE_BADVERS, 0, 0x8000), KNOT_OK);
	assert_int_equal(knot_msg_put_option(&w, KNOT_EDNS_NSID, (knot_bytes_t){ (const uint8_t *)"ns1", 3 }), KNOT_OK);
	assert_int_equal(knot_msg_put_ede(&w, KNOT_EDE_NOT_AUTH, KNOT_STR("no")), KNOT_OK);
	size_t len = knot_msg_finish(&w, 1, KNOT_FLAG_QR);
	assert_int_equal(len, 12 + 11 + 7 + 8);
	assert_memory_equal(out + 12, "\0\0\51\4\320\1\0\200\0\0\17\0\3\0\3ns1\0\17\0\4\0\24no", 26);
}

/* Without a table names are spelled out. */
static void test_spelled_out(void **state)
{
	(void)state;
	uint8_t out[128];
	knot_msg_writer_t w;
	owned_name_t a;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	assert_int_equal(knot_msg_put_question(&w, scan("www.example.", &a), KNOT_TYPE_NS, KNOT_CLASS_IN), KNOT_OK);
	for (unsigned i = 0; i < 2; i++) {
		size_t before = w.len;
		assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, a.name, KNOT_TYPE_NS, KNOT_CLASS_IN, 5,
						 (knot_bytes_t){ a.name.wire, a.name.len }),
				KNOT_OK);
		assert_int_equal(w.len, before + 13 + 10 + 13);
	}
}

/* What is reserved is not for records, comes back, and a limit holds with it. */
static void test_reserve(void **state)
{
	(void)state;
	uint8_t out[64];
	knot_msg_writer_t w;
	knot_bytes_t rdata = { (const uint8_t *)"\1\2\3\4", 4 };
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, 12 + KNOT_OPT_LEN + 15 });
	assert_false(knot_msg_reserve(&w, KNOT_OPT_LEN + 15 + 1));
	assert_int_equal(w.reserved, 0);
	assert_true(knot_msg_reserve(&w, 1));
	assert_true(knot_msg_reserve(&w, KNOT_OPT_LEN));
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, knot_name_root, KNOT_TYPE_A, KNOT_CLASS_IN, 1, rdata),
			KNOT_ESPACE);
	knot_msg_release(&w);
	assert_true(knot_msg_reserve(&w, KNOT_OPT_LEN));
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, knot_name_root, KNOT_TYPE_A, KNOT_CLASS_IN, 1, rdata),
			KNOT_OK);
	assert_int_equal(knot_msg_put_opt(&w, 512, 0, 0, 0), KNOT_ESPACE);
	knot_msg_release(&w);
	assert_int_equal(knot_msg_put_opt(&w, 512, 0, 0, 0), KNOT_OK);
	assert_null(knot_msg_open_option(&w, KNOT_EDNS_NSID, 0));
	assert_int_equal(knot_msg_put_ede(&w, KNOT_EDE_NOT_AUTH, KNOT_STR("")), KNOT_ESPACE);
	assert_int_equal(knot_msg_finish(&w, 1, 0), 12 + KNOT_OPT_LEN + 15);

	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	assert_true(knot_msg_reserve(&w, 10));
	knot_msg_limit(&w, 60);
	assert_int_equal(w.max, 50);
	knot_msg_limit(&w, 100); /* never more than there is */
	knot_msg_release(&w);
	assert_int_equal(w.max, 60);
}

/* The question of a reply is that of the request, wherever the reply is made; its flags are opcode and RD. */
static void test_reply(void **state)
{
	(void)state;
	uint8_t request[64], out[64];
	knot_msg_writer_t w;
	owned_name_t a;
	knot_msg_begin(&w, (knot_mut_bytes_t){ request, sizeof(request) });
	assert_int_equal(knot_msg_put_question(&w, scan("wWw.ex.", &a), KNOT_TYPE_A, KNOT_CLASS_IN), KNOT_OK);
	uint16_t flags = KNOT_OPCODE_NOTIFY << 11 | KNOT_FLAG_RD | KNOT_FLAG_RA | KNOT_FLAG_AD | KNOT_FLAG_CD | 7;
	size_t len = knot_msg_finish(&w, 0xABCD, flags);
	knot_query_t q;
	assert_int_equal(knot_query_parse((knot_bytes_t){ request, len }, &q), KNOT_MSG_OK);
	assert_int_equal(knot_msg_reply_flags(&q, KNOT_FLAG_AA, KNOT_RCODE_BADVERS),
			KNOT_FLAG_QR | KNOT_FLAG_AA | KNOT_OPCODE_NOTIFY << 11 | KNOT_FLAG_RD);
	knot_msg_begin_reply(&w, (knot_mut_bytes_t){ out, sizeof(out) }, &q);
	assert_int_equal(knot_msg_finish(&w, q.id, flags), len);
	assert_memory_equal(out, request, len);
	knot_msg_begin_reply(&w, (knot_mut_bytes_t){ request, sizeof(request) }, &q);
	assert_int_equal(knot_msg_finish(&w, q.id, flags), len);
	assert_memory_equal(request, out, len);
}

/* Names that differ in letter case: the first one stands for the others, or each keeps its own. */
static void test_letter_case(void **state)
{
	(void)state;
	static const struct {
		void (*compress)(knot_msg_writer_t *w, knot_msg_names_t *names);
		size_t len;
		const char *want[4];
	} rows[] = {
		{ knot_msg_compress, 30 + 14 + 12 + 14,
				{ "Zone.Example.", "A.Zone.Example.", "A.Zone.Example.", "b.Zone.Example." } },
		{ knot_msg_compress_exact, 30 + 14 + 14 + 19,
				{ "Zone.Example.", "A.Zone.Example.", "a.Zone.Example.", "b.zone.Example." } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static const char *const owners[] = { "A.Zone.Example.", "a.Zone.Example.", "b.zone.Example." };
		uint8_t out[512];
		owned_name_t name;
		knot_msg_writer_t w;
		knot_msg_names_t names;
		knot_message_t m;
		knot_message_rr_t rr;
		char text[KNOT_NAME_TEXT_MAX];
		knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
		assert_int_equal(knot_msg_put_question(&w, scan("Zone.Example.", &name), KNOT_TYPE_SOA, KNOT_CLASS_IN),
				KNOT_OK);
		rows[i].compress(&w, &names);
		for (size_t k = 0; k < KNOT_LEN(owners); k++) {
			assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, scan(owners[k], &name), KNOT_TYPE_ANY,
							 KNOT_CLASS_ANY, 0, (knot_bytes_t){ out, 0 }),
					KNOT_OK);
		}
		size_t len = knot_msg_finish(&w, 0, 0);
		assert_int_equal(len, rows[i].len);
		assert_int_equal(knot_message_begin((knot_bytes_t){ out, len }, &m), KNOT_OK);
		for (size_t k = 0; knot_message_next(&m, &rr); k++) {
			knot_name_print(rr.owner, text);
			assert_string_equal(text, rows[i].want[k]);
		}
	}
}

/* Beyond 0x3FFF nothing is remembered, and every name still reads back right. */
static void test_long_message(void **state)
{
	(void)state;
	static uint8_t out[65535];
	static uint8_t txt[201] = { 200 };
	knot_msg_writer_t w;
	knot_msg_names_t names;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, sizeof(out) });
	knot_msg_compress(&w, &names);
	unsigned count = 0;
	while (true) {
		char text[64];
		owned_name_t owner;
		snprintf(text, sizeof(text), "host%u.sub%u.example.", count, count % 7);
		if (knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, scan(text, &owner), KNOT_TYPE_TXT, KNOT_CLASS_IN, 1,
				    (knot_bytes_t){ txt, sizeof(txt) }) != KNOT_OK) {
			break;
		}
		count++;
	}
	assert_in_range(count, 250, 320);
	knot_message_t m;
	knot_message_rr_t rr;
	assert_int_equal(knot_message_begin((knot_bytes_t){ out, knot_msg_finish(&w, 1, KNOT_FLAG_QR) }, &m), KNOT_OK);
	for (unsigned i = 0; knot_message_next(&m, &rr); i++) {
		char text[64];
		owned_name_t owner;
		snprintf(text, sizeof(text), "host%u.sub%u.example.", i, i % 7);
		assert_true(knot_name_eq(rr.owner, scan(text, &owner)));
	}
	assert_true(knot_message_is_whole(&m));
}

/* Reading: whatever is cut off or points where it must not ends the walk with `failed`; never a read beyond the
 * message. */
static void test_read_malformed(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		const char *bytes;
		size_t len;
		unsigned want_records;
		bool want_whole;
	} rows[] = {
		{ "empty sections", "\0\1\0\0\0\0\0\0\0\0\0\0", 12, 0, true },
		{ "trailing byte", "\0\1\0\0\0\0\0\0\0\0\0\0x", 13, 0, false },
		{ "question and answer",
				"\0\1\0\0\0\1\0\1\0\0\0\0"
				"\1a\0\0\1\0\1"
				"\300\14\0\1\0\1\0\0\0\5\0\2xy",
				33, 2, true },
		{ "RDATA beyond the end",
				"\0\1\0\0\0\0\0\1\0\0\0\0"
				"\0\0\1\0\1\0\0\0\5\0\3xy",
				25, 0, false },
		{ "owner points to itself",
				"\0\1\0\0\0\0\0\1\0\0\0\0"
				"\300\14\0\1\0\1\0\0\0\5\0\0",
				24, 0, false },
		{ "fewer records than counted",
				"\0\1\0\0\0\1\0\1\0\0\0\0"
				"\1a\0\0\1\0\1",
				19, 1, false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		for (size_t len = 0; len <= rows[i].len; len++) {
			uint8_t *exact = malloc(len > 0 ? len : 1);
			memcpy(exact, rows[i].bytes, len);
			knot_message_t m;
			knot_message_rr_t rr;
			unsigned records = 0;
			if (knot_message_begin((knot_bytes_t){ exact, len }, &m) != KNOT_OK) {
				assert_true(len < 12);
				free(exact);
				continue;
			}
			while (knot_message_next(&m, &rr)) {
				records++;
			}
			if (len == rows[i].len && (records != rows[i].want_records ||
								  knot_message_is_whole(&m) != rows[i].want_whole)) {
				fail_msg("%s: %u records", rows[i].what, records);
			}
			assert_true(len == rows[i].len || rows[i].len == 13 || !knot_message_is_whole(&m));
			free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compression),
		cmocka_unit_test(test_space_and_rollback),
		cmocka_unit_test(test_opt),
		cmocka_unit_test(test_spelled_out),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_letter_case),
		cmocka_unit_test(test_long_message),
		cmocka_unit_test(test_read_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
