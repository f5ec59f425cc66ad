/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that are right, and answers that are wrong in one thing each: rows of records against a zone. */
#include "src/tools/load/judge.h"

#include "libknot/msg/message.h"
#include "libknot/text/zonefile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char zone_text[] = "$ORIGIN example.\n$TTL 100\n"
				"@ SOA ns host 1 2 3 4 5\n"
				"@ NS ns\n"
				"@ MX 1 mail\n"
				"ns A 192.0.2.1\n"
				"ns AAAA 2001:db8::1\n"
				"mail A 192.0.2.2\n"
				"two A 192.0.2.3\n"
				"two A 192.0.2.4\n"
				"alias CNAME two\n"
				"away CNAME www.elsewhere.\n"
				"lost CNAME missing\n"
				"loop CNAME loop\n"
				"deep.empty TXT x\n"
				"*.wild TXT w\n"
				"dn DNAME two\n"
				"cut NS ns.cut\n"
				"cut NS ns\n"
				"cut DS 1 8 2 0123456789012345678901234567890123456789012345678901234567890123\n"
				"ns.cut A 192.0.2.5\n";

static const uint8_t origin_wire[] = "\7example";

typedef struct {
	const char *what;
	const char *question; /* as in a file of queries */
	const char *answer;   /* sections as zone files, each after its name; rcode and flags in front */
	judge_verdict_t want;
} row_t;

/* "NOERROR AA | records | records | records" */
static const row_t rows[] = {
	{ "an address", "ns.example A", "0 AA|ns 100 A 192.0.2.1||", JUDGE_RIGHT },
	{ "upper case", "NS.Example A", "0 AA|NS 100 A 192.0.2.1||", JUDGE_RIGHT },
	{ "another address", "ns.example A", "0 AA|ns 100 A 192.0.2.9||", JUDGE_WRONG },
	{ "another TTL", "ns.example A", "0 AA|ns 99 A 192.0.2.1||", JUDGE_WRONG },
	{ "another owner", "ns.example A", "0 AA|mail 100 A 192.0.2.1||", JUDGE_WRONG },
	{ "no AA", "ns.example A", "0 |ns 100 A 192.0.2.1||", JUDGE_WRONG },
	{ "wrong rcode", "ns.example A", "3 AA|ns 100 A 192.0.2.1||", JUDGE_WRONG },
	{ "SERVFAIL", "ns.example A", "2 |||", JUDGE_WRONG },
	{ "nothing", "ns.example A", "0 AA|||", JUDGE_WRONG },
	{ "with the zone's servers", "mail.example A", "0 AA|mail 100 A 192.0.2.2|@ 100 NS ns|ns 100 A 192.0.2.1",
			JUDGE_RIGHT },
	{ "with servers it doesn't have", "mail.example A", "0 AA|mail 100 A 192.0.2.2|@ 100 NS mail|", JUDGE_WRONG },
	{ "two, one way", "two.example A", "0 AA|two 100 A 192.0.2.3\ntwo 100 A 192.0.2.4||", JUDGE_RIGHT },
	{ "two, the other way", "two.example A", "0 AA|two 100 A 192.0.2.4\ntwo 100 A 192.0.2.3||", JUDGE_RIGHT },
	{ "two, one missing", "two.example A", "0 AA|two 100 A 192.0.2.4||", JUDGE_WRONG },
	{ "two, one twice", "two.example A", "0 AA|two 100 A 192.0.2.4\ntwo 100 A 192.0.2.4||", JUDGE_WRONG },
	{ "two and one more", "two.example A", "0 AA|two 100 A 192.0.2.3\ntwo 100 A 192.0.2.4\ntwo 100 A 192.0.2.4||",
			JUDGE_WRONG },
	{ "truncated", "two.example A", "0 AA TC|||", JUDGE_RIGHT },
	{ "truncated, with a part", "two.example A", "0 AA TC|two 100 A 192.0.2.3||", JUDGE_RIGHT },
	{ "truncated, with a wrong part", "two.example A", "0 AA TC|two 100 A 192.0.2.8||", JUDGE_WRONG },
	{ "addresses of MX", "example MX", "0 AA|@ 100 MX 1 mail||mail 100 A 192.0.2.2", JUDGE_RIGHT },
	{ "MX alone", "example MX", "0 AA|@ 100 MX 1 mail||", JUDGE_RIGHT },
	{ "wrong address of MX", "example MX", "0 AA|@ 100 MX 1 mail||mail 100 A 192.0.2.3", JUDGE_WRONG },
	{ "no such type", "ns.example TXT", "0 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_RIGHT },
	{ "no such type, without SOA", "ns.example TXT", "0 AA|||", JUDGE_WRONG },
	{ "no such type, another serial", "ns.example TXT", "0 AA||@ 5 SOA ns host 2 2 3 4 5|", JUDGE_WRONG },
	{ "no such type, as no such name", "ns.example TXT", "3 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_WRONG },
	{ "no such name", "nx.example A", "3 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_RIGHT },
	{ "no such name, as no such type", "nx.example A", "0 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_WRONG },
	{ "empty non-terminal", "empty.example A", "0 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_RIGHT },
	{ "empty non-terminal, as no name", "empty.example A", "3 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_WRONG },
	{ "alias", "alias.example A", "0 AA|alias 100 CNAME two\ntwo 100 A 192.0.2.3\ntwo 100 A 192.0.2.4||",
			JUDGE_RIGHT },
	{ "alias alone", "alias.example A", "0 AA|alias 100 CNAME two||", JUDGE_WRONG },
	{ "alias itself", "alias.example CNAME", "0 AA|alias 100 CNAME two||", JUDGE_RIGHT },
	{ "alias elsewhere", "away.example A", "0 AA|away 100 CNAME www.elsewhere.||", JUDGE_RIGHT },
	{ "alias of nothing", "lost.example A", "3 AA|lost 100 CNAME missing|@ 5 SOA ns host 1 2 3 4 5|", JUDGE_RIGHT },
	{ "alias of itself", "loop.example A", "0 AA|loop 100 CNAME loop||", JUDGE_UNKNOWN },
	{ "wildcard", "x.y.wild.example TXT", "0 AA|x.y.wild 100 TXT w||", JUDGE_RIGHT },
	{ "wildcard, with its own name", "x.wild.example TXT", "0 AA|*.wild 100 TXT w||", JUDGE_WRONG },
	{ "wildcard, no such type", "x.wild.example A", "0 AA||@ 5 SOA ns host 1 2 3 4 5|", JUDGE_RIGHT },
	{ "DNAME", "www.dn.example A", "3 AA|dn 100 DNAME two\nwww.dn 100 CNAME www.two|@ 5 SOA ns host 1 2 3 4 5|",
			JUDGE_RIGHT },
	{ "DNAME without CNAME", "www.dn.example A", "3 AA|dn 100 DNAME two|@ 5 SOA ns host 1 2 3 4 5|", JUDGE_WRONG },
	{ "referral", "a.cut.example A", "0 ||cut 100 NS ns.cut\ncut 100 NS ns|ns.cut 100 A 192.0.2.5", JUDGE_RIGHT },
	{ "referral, with the other address", "a.cut.example A",
			"0 ||cut 100 NS ns.cut\ncut 100 NS ns|ns.cut 100 A 192.0.2.5\nns 100 A 192.0.2.1",
			JUDGE_RIGHT },
	{ "referral without glue", "a.cut.example A", "0 ||cut 100 NS ns.cut\ncut 100 NS ns|", JUDGE_WRONG },
	{ "referral, as an authority", "a.cut.example A",
			"0 AA||cut 100 NS ns.cut\ncut 100 NS ns|ns.cut 100 A 192.0.2.5", JUDGE_WRONG },
	{ "referral, a server missing", "a.cut.example A", "0 ||cut 100 NS ns.cut|ns.cut 100 A 192.0.2.5",
			JUDGE_WRONG },
	{ "glue as an answer", "ns.cut.example A", "0 AA|ns.cut 100 A 192.0.2.5||", JUDGE_WRONG },
	{ "DS at the cut", "cut.example DS",
			"0 AA|cut 100 DS 1 8 2 0123456789012345678901234567890123456789012345678901234567890123||",
			JUDGE_RIGHT },
	{ "another zone", "www.elsewhere A", "5 |||", JUDGE_RIGHT },
	{ "another zone, answered", "www.elsewhere A", "0 AA|www.elsewhere. 100 A 192.0.2.1||", JUDGE_WRONG },
	{ "ANY", "ns.example ANY", "0 AA|ns 100 A 192.0.2.1||", JUDGE_UNKNOWN },
};

typedef struct {
	knot_msg_writer_t *writer;
	knot_section_t section;
} put_t;

static bool put_record(const knot_zone_record_t *record, void *ctx)
{
	put_t *put = ctx;
	assert_int_equal(knot_msg_put_rr(put->writer, put->section, record->owner, record->type, 1, record->ttl,
					 record->rdata),
			KNOT_OK);
	return true;
}

static bool on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	(void)ctx;
	fail_msg("%s", fault->reason);
	return false;
}

/* The reply that a row says, to a query of the list. Returns its length. */
static size_t make_reply(const queries_t *queries, const char *text, uint8_t *bytes, size_t room)
{
	const uint8_t *query = queries_message(queries, &queries->items[0]);
	knot_query_t parsed;
	assert_int_equal(knot_query_parse((knot_bytes_t){ query, queries->items[0].len }, &parsed), KNOT_MSG_OK);
	char copy[1024];
	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	char *rest = copy, *head = strsep(&rest, "|");
	knot_msg_writer_t w;
	knot_msg_names_t names;
	knot_msg_begin_reply(&w, (knot_mut_bytes_t){ bytes, room }, &parsed);
	knot_msg_compress(&w, &names);
	for (unsigned section = KNOT_SECTION_ANSWER; section <= KNOT_SECTION_ADDITIONAL; section++) {
		put_t put = { &w, (knot_section_t)section };
		const knot_zonefile_params_t params = { .origin = { origin_wire, 9, 1 },
			.default_ttl = 1,
			.on_record = put_record,
			.on_fault = on_fault,
			.ctx = &put };
		char *part = strsep(&rest, "|");
		char lines[1100];
		snprintf(lines, sizeof(lines), "%s\n", part);
		assert_int_equal(knot_zonefile_scan_text(knot_str_of(lines), "row", &params), KNOT_OK);
	}
	uint16_t flags = (uint16_t)((strstr(head, "AA") != NULL ? KNOT_FLAG_AA : 0) |
				    (strstr(head, "TC") != NULL ? KNOT_FLAG_TC : 0));
	return knot_msg_finish(&w, 0, knot_msg_reply_flags(&parsed, flags, (uint16_t)atoi(head)));
}

static model_t *load_zone(void)
{
	char error[MODEL_ERROR_MAX];
	model_t *model = NULL;
	const knot_name_t origin = { origin_wire, 9, 1 };
	if (!model_load_text(knot_str_of(zone_text), origin, &model, error)) {
		fail_msg("%s", error);
	}
	return model;
}

static void test_rows(void **state)
{
	(void)state;
	model_t *model = load_zone();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		queries_t queries = { 0 };
		char why[QUERIES_ERROR_MAX];
		const queries_params_t params = { .edns_size = 1232 };
		assert_true(queries_add_line(&queries, knot_str_of(rows[i].question), &params, why));
		uint8_t reply[4096];
		size_t len = make_reply(&queries, rows[i].answer, reply, sizeof(reply));
		for (unsigned own = 0; own < 2; own++) {
			judge_t *judge = judge_new(model, &queries, own, 0, 3);
			assert_non_null(judge);
			for (unsigned again = 0; again < 4; again++) { /* what is remembered changes no verdict */
				judge_verdict_t verdict = judge_reply(judge, 0, (knot_bytes_t){ reply, len });
				if (verdict != rows[i].want) {
					fail_msg("%s: %d, want %d: %s", rows[i].what, verdict, rows[i].want,
							judge_wrong_count(judge) > 0 ? judge_wrong(judge, 0).fault
										     : "");
				}
			}
			assert_int_equal(judge_wrong_count(judge), rows[i].want == JUDGE_WRONG ? 3 : 0);
			judge_free(judge);
		}
		/* Cut short anywhere it is wrong, or says nothing, and is never read too far. */
		judge_t *judge = judge_new(model, &queries, false, 0, 1);
		for (size_t cut = 12; cut < len && rows[i].want == JUDGE_RIGHT; cut++) {
			uint8_t *exact = malloc(cut);
			memcpy(exact, reply, cut);
			assert_int_not_equal(judge_reply(judge, 0, (knot_bytes_t){ exact, cut }), JUDGE_RIGHT);
			free(exact);
		}
		judge_free(judge);
		queries_free(&queries);
	}
	model_free(model);
}

static void test_wrong_answers_are_shown(void **state)
{
	(void)state;
	char error[MODEL_ERROR_MAX], why[QUERIES_ERROR_MAX];
	model_t *model;
	assert_true(model_load_text(knot_str_of(zone_text), (knot_name_t){ origin_wire, 9, 1 }, &model, error));
	queries_t queries = { 0 };
	const queries_params_t params = { .edns_size = 1232 };
	assert_true(queries_add_line(&queries, KNOT_STR("ns.example A"), &params, why));
	uint8_t reply[512];
	size_t len = make_reply(&queries, "0 AA|ns 100 A 192.0.2.9||", reply, sizeof(reply));
	judge_t *judge = judge_new(model, &queries, false, 0, 1);
	assert_int_equal(judge_reply(judge, 0, (knot_bytes_t){ reply, len }), JUDGE_WRONG);
	judge_wrong_t wrong = judge_wrong(judge, 0);
	assert_string_equal(wrong.question, "ns.example. A");
	assert_string_equal(wrong.fault, "answer section: 1 of 1 records missing");
	assert_string_equal(wrong.expected, "  NOERROR, AA\n  answer     ns.example. 100 A 192.0.2.1\n");
	assert_string_equal(wrong.came, "  NOERROR, AA\n  answer     ns.example. 100 A 192.0.2.9\n");
	judge_free(judge);
	queries_free(&queries);
	model_free(model);
}

/* What a judge remembers of right answers changes no verdict: each answer with one other byte is judged as by one that
 * has seen none. */
static void test_memory_of_right_answers(void **state)
{
	(void)state;
	static const char *const right[][2] = {
		{ "two.example A", "0 AA|two 100 A 192.0.2.3\ntwo 100 A 192.0.2.4||" },
		{ "a.cut.example A", "0 ||cut 100 NS ns.cut\ncut 100 NS ns|ns.cut 100 A 192.0.2.5" },
		{ "nx.example A", "3 AA||@ 5 SOA ns host 1 2 3 4 5|" },
	};
	model_t *model = load_zone();
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		char why[QUERIES_ERROR_MAX];
		queries_t queries = { 0 };
		const queries_params_t params = { .edns_size = 1232 };
		uint8_t reply[4096], changed[4096];
		assert_true(queries_add_line(&queries, knot_str_of(right[i][0]), &params, why));
		size_t len = make_reply(&queries, right[i][1], reply, sizeof(reply));
		judge_t *judge = judge_new(model, &queries, false, 0, 0);
		for (unsigned turn = 0; turn < 3; turn++) {
			store_be16(reply, (uint16_t)turn); /* the id is matched elsewhere */
			assert_int_equal(judge_reply(judge, 0, (knot_bytes_t){ reply, len }), JUDGE_RIGHT);
		}
		for (size_t at = 2; at < len; at++) {
			bool is_question = at >= 12 && at < 12 + queries_question_len(reply, len);
			if (is_question) {
				continue; /* replies have the query's when they come here */
			}
			judge_t *fresh = judge_new(model, &queries, false, 0, 0);
			memcpy(changed, reply, len);
			changed[at] ^= 1;
			assert_int_equal(judge_reply(judge, 0, (knot_bytes_t){ changed, len }),
					judge_reply(fresh, 0, (knot_bytes_t){ changed, len }));
			assert_int_equal(judge_reply(judge, 0, (knot_bytes_t){ reply, len }), JUDGE_RIGHT);
			judge_free(fresh);
		}
		judge_free(judge);
		queries_free(&queries);
	}
	model_free(model);
}

static void test_bad_zones(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		{ "$ORIGIN example.\n@ A 192.0.2.1\n", "zone file 'text' has no SOA" },
		{ "$ORIGIN example.\n@ SOA bad\n", "zone file text:2:" },
	};
	for (size_t i = 0; i < 2; i++) {
		char error[MODEL_ERROR_MAX] = "";
		model_t *model;
		assert_false(model_load_text(
				knot_str_of(texts[i][0]), (knot_name_t){ origin_wire, 9, 1 }, &model, error));
		assert_memory_equal(error, texts[i][1], strlen(texts[i][1]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_wrong_answers_are_shown),
		cmocka_unit_test(test_memory_of_right_answers),
		cmocka_unit_test(test_bad_zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
