/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/delegation/dsync.h"

#include "libknot/msg/rcode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} scanned_t;

static knot_name_t scan(const char *text, scanned_t *room)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, room->wire, &room->name), KNOT_OK);
	return room->name;
}

/* The names that are asked for, with what each answer's SOA says; RFC 9859 4.1 has the second row. */
static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *child, *apexes[6], *names[6];
	} rows[] = {
		{ "child.example.", { "example.", "example." }, { "child._dsync.example.", "_dsync.example." } },
		{ "city.ise.mie.jp.", { "jp.", "jp.", "jp." },
				{ "city._dsync.ise.mie.jp.", "city.ise.mie._dsync.jp.", "_dsync.jp." } },
		{ "tld.", { ".", "." }, { "tld._dsync.", "_dsync." } },
		/* Two zones in between, each of which says so. */
		{ "a.b.c.d.", { "c.d.", "d.", ".", "." },
				{ "a._dsync.b.c.d.", "a.b._dsync.c.d.", "a.b.c._dsync.d.", "a.b.c.d._dsync.",
						"_dsync." } },
		/* _dsync is a zone of its own, a lie, the child itself: no step back. */
		{ "child.example.", { "_dsync.example.", "_dsync.example." },
				{ "child._dsync.example.", "_dsync.example." } },
		{ "child.example.", { "other.", "other." }, { "child._dsync.example.", "_dsync.example." } },
		{ "child.example.", { "child.example.", "x.child.example." },
				{ "child._dsync.example.", "_dsync.example." } },
		/* One that is bare, and then a zone further up. */
		{ "a.b.c.", { "b.c.", "c.", "c." }, { "a._dsync.b.c.", "_dsync.b.c.", "a.b._dsync.c.", "_dsync.c." } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		scanned_t child, apex, name;
		dsync_step_t step = dsync_first();
		bool goes_on = true;
		size_t at = 0;
		scan(rows[i].child, &child);
		for (; goes_on; at++) {
			char text[KNOT_NAME_TEXT_MAX];
			assert_true(at < 6 && rows[i].names[at] != NULL);
			assert_true(dsync_name(child.name, step, name.wire, &name.name));
			(void)knot_name_print(name.name, text);
			assert_string_equal(text, rows[i].names[at]);
			scanned_t again;
			assert_int_equal(scan(text, &again).label_count, name.name.label_count);
			const char *said = rows[i].apexes[at];
			goes_on = dsync_next(child.name, &step, scan(said != NULL ? said : "other.", &apex));
		}
		assert_true(at == 6 || rows[i].names[at] == NULL);
	}
}

/* 255 bytes are the most that a name has. */
static void test_long_name(void **state)
{
	(void)state;
	static const struct {
		size_t last_label;
		bool want;
	} rows[] = { { 53, true }, { 54, true }, { 55, false }, { 56, false } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t child[KNOT_NAME_MAX], wire[KNOT_NAME_MAX];
		static const size_t lens[] = { 63, 63, 63 };
		size_t len = 0;
		for (size_t j = 0; j <= KNOT_LEN(lens); j++) {
			size_t label = j < KNOT_LEN(lens) ? lens[j] : rows[i].last_label;
			child[len] = (uint8_t)label;
			memset(child + len + 1, 'a', label);
			len += 1 + label;
		}
		child[len++] = 0;
		knot_name_t name, found;
		assert_int_equal(knot_name_read((knot_bytes_t){ child, len }, &name), KNOT_OK);
		assert_int_equal(dsync_name(name, dsync_first(), wire, &found), rows[i].want);
		assert_true(!rows[i].want || knot_name_read((knot_bytes_t){ wire, found.len }, &found) == KNOT_OK);
	}
}

static void test_records(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		knot_err_t want;
	} rows[] = {
		{ "\0\73\1\0\65\1t\0", 8, KNOT_OK },
		{ "\0\73\1\0\65\0", 6, KNOT_OK },
		{ "\0\73\1\0\65", 5, KNOT_EMALF },
		{ "\0\73\1\0\65\1t", 7, KNOT_EMALF },
		{ "\0\73\1\0\65\1t\0\0", 9, KNOT_EMALF },
		{ "", 0, KNOT_EMALF },
	};
	dsync_record_t record;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_bytes_t rdata = { (const uint8_t *)rows[i].bytes, rows[i].len };
		assert_int_equal(dsync_read(rdata, &record), rows[i].want);
	}
	assert_int_equal(dsync_read((knot_bytes_t){ (const uint8_t *)rows[0].bytes, rows[0].len }, &record), KNOT_OK);
	assert_int_equal(record.type, KNOT_TYPE_CDS);
	assert_int_equal(record.scheme, DSYNC_SCHEME_NOTIFY);
	assert_int_equal(record.port, 53);
}

/* ---- Answers ---- */

typedef struct {
	uint16_t type; /* of the record; 0: an SOA in AUTHORITY */
	const char *rdata;
	size_t len;
} put_t;

static knot_bytes_t answer(const put_t *puts, size_t count, unsigned rcode, uint8_t *out, size_t max)
{
	scanned_t owner;
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, max });
	scan("child._dsync.example.", &owner);
	assert_int_equal(knot_msg_put_question(&w, owner.name, KNOT_TYPE_DSYNC, KNOT_CLASS_IN), KNOT_OK);
	for (size_t i = 0; i < count; i++) {
		bool is_soa = puts[i].type == 0;
		assert_int_equal(knot_msg_put_rr(&w, is_soa ? KNOT_SECTION_AUTHORITY : KNOT_SECTION_ANSWER,
						 is_soa ? scan("example.", &owner) : scan("x.example.", &owner),
						 is_soa ? KNOT_TYPE_SOA : puts[i].type, KNOT_CLASS_IN, 60,
						 (knot_bytes_t){ (const uint8_t *)puts[i].rdata, puts[i].len }),
				KNOT_OK);
	}
	return (knot_bytes_t){ out, knot_msg_finish(&w, 0, (uint16_t)(0x8000 | rcode)) };
}

#define SOA                                                                                                            \
	{                                                                                                              \
		0, "\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5", 22                                                  \
	}
#define DSYNC(bytes)                                                                                                   \
	{                                                                                                              \
		KNOT_TYPE_DSYNC, (bytes), sizeof(bytes) - 1                                                            \
	}

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		put_t puts[3];
		size_t count;
		unsigned rcode;
		dsync_verdict_t want;
		uint16_t cds_port, csync_port; /* 0: none */
	} rows[] = {
		{ { DSYNC("\0\73\1\0\65\1t\0"), DSYNC("\0\76\1\24\264\1u\0") }, 2, 0, DSYNC_FOUND, 53, 5300 },
		{ { { KNOT_TYPE_CNAME, "\1x\0", 3 }, DSYNC("\0\73\1\0\65\1t\0") }, 2, 0, DSYNC_FOUND, 53, 0 },
		/* Of two of one type the first; other schemes, types and port 0 are nobody's target. */
		{ { DSYNC("\0\73\1\0\65\1t\0"), DSYNC("\0\73\1\0\66\1t\0") }, 2, 0, DSYNC_FOUND, 53, 0 },
		{ { DSYNC("\0\73\2\0\65\1t\0"), DSYNC("\0\1\1\0\65\1t\0"), DSYNC("\0\73\1\0\0\1t\0") }, 3, 0,
				DSYNC_FOUND, 0, 0 },
		{ { SOA }, 1, 0, DSYNC_NEGATIVE, 0, 0 },
		{ { SOA }, 1, KNOT_RCODE_NXDOMAIN, DSYNC_NEGATIVE, 0, 0 },
		{ { SOA }, 1, KNOT_RCODE_SERVFAIL, DSYNC_USELESS, 0, 0 },
		{ { SOA }, 1, KNOT_RCODE_REFUSED, DSYNC_USELESS, 0, 0 },
		{ { { 0, NULL, 0 } }, 0, 0, DSYNC_USELESS, 0, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t out[512];
		dsync_answer_t got;
		knot_bytes_t message = answer(rows[i].puts, rows[i].count, rows[i].rcode, out, sizeof(out));
		assert_int_equal(dsync_read_answer(message, &got), rows[i].want);
		assert_int_equal(got.cds.type != 0 ? got.cds.port : 0, rows[i].cds_port);
		assert_int_equal(got.csync.type != 0 ? got.csync.port : 0, rows[i].csync_port);
		if (rows[i].want == DSYNC_NEGATIVE) {
			scanned_t apex;
			assert_true(knot_name_eq(got.apex, scan("example.", &apex)));
		}
		/* No prefix of it is an answer. */
		for (size_t len = 0; len < message.len; len++) {
			dsync_verdict_t verdict = dsync_read_answer((knot_bytes_t){ out, len }, &got);
			assert_int_equal(verdict, DSYNC_USELESS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names), cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_records), cmocka_unit_test(test_answers) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
