/* SPDX-License-Identifier: BSD-2-Clause */
/* What operators' words do to a transaction, and which serial follows. */
#include "src/update/edit.h"
#include "src/update/serial.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static zone_contents_t *base;

static int build_base(void **state)
{
	(void)state;
	return zone_build_text(knot_str_of("@ 60 SOA ns admin 5 1 2 3 4\n@ 60 NS ns\nns 60 A 192.0.2.1\nmail 300 MX 10 "
					   "ns\n"
					   "mail 300 MX 20 ns\na.ent 60 A 192.0.2.3\n"),
			       "test", &params, &base) == KNOT_OK
			       ? 0
			       : -1;
}

static int free_base(void **state)
{
	(void)state;
	zone_contents_free(base);
	return 0;
}

static edit_t begin(bool is_benevolent)
{
	edit_t edit = { .origin = params.origin, .default_ttl = 77, .is_benevolent = is_benevolent };
	assert_int_equal(zone_txn_begin(base, &params, &edit.txn), KNOT_OK);
	return edit;
}

static bool print_rr(const zone_rr_t *rr, void *ctx)
{
	static char data[KNOT_RDATA_TEXT_MAX];
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	knot_rdata_print(rr->type, rr->rdata, data, sizeof(data));
	fprintf(ctx, "%s %u %s %s; ", owner, (unsigned)rr->ttl, type, data);
	return true;
}

/* Differences as "-…; +…; ", to be freed. */
static char *diff_text(const zone_txn_t *txn)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	fprintf(to, "- ");
	assert_int_equal(zone_txn_diff(txn, false, print_rr, to), KNOT_OK);
	fprintf(to, "+ ");
	assert_int_equal(zone_txn_diff(txn, true, print_rr, to), KNOT_OK);
	fclose(to);
	return text;
}

typedef struct {
	char what; /* '+' set, '-' unset */
	edit_words_t words;
	knot_err_t strict, benevolent;
	const char *diff; /* afterwards, if strict gives KNOT_OK or the TTL changed */
} row_t;

#define SAME(err) (err), (err)

static const row_t rows[] = {
	{ '+', { "a", "30", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 30 A 192.0.2.7; " },
	{ '+', { "A.Zone.", "30", "a", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 30 A 192.0.2.7; " },
	{ '+', { "a", NULL, "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 77 A 192.0.2.7; " },
	{ '+', { "mail", NULL, "MX", "30 ns" }, SAME(KNOT_OK), "- + mail.zone. 300 MX 30 ns.zone.; " },
	{ '+', { "ns", "61", "A", "192.0.2.2" }, SAME(KNOT_OK),
			"- ns.zone. 60 A 192.0.2.1; + ns.zone. 61 A 192.0.2.1; ns.zone. 61 A 192.0.2.2; " },
	{ '+', { "ns", "60", "A", "192.0.2.1" }, KNOT_EISRECORD, KNOT_OK, "- + " },
	{ '+', { "ns", "61", "A", "192.0.2.1" }, KNOT_EISRECORD, KNOT_OK,
			"- ns.zone. 60 A 192.0.2.1; + ns.zone. 61 A 192.0.2.1; " },
	{ '+', { "@", NULL, "SOA", "ns admin 9 1 2 3 4" }, SAME(KNOT_OK),
			"- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 60 SOA ns.zone. admin.zone. 9 1 2 3 "
			"4; " },
	{ '+', { "@", "60", "RRSIG", "A 8 1 55 20300101000000 20200101000000 1 zone. AAAA" }, SAME(KNOT_OK),
			"- + zone. 55 RRSIG A 8 1 55 20300101000000 20200101000000 1 zone. AAAA; " },
	{ '+', { "a", "30", "TYPE1", "\\# 4 C0000207" }, SAME(KNOT_OK), "- + a.zone. 30 A 192.0.2.7; " },
	{ '+', { "a", "4294967295", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 4294967295 A 192.0.2.7; " },
	{ '+', { "a", "4294967296", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "99999999999999999999", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "1h30m", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 5400 A 192.0.2.7; " },
	{ '+', { "a", "1x", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "-1", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 77 A 192.0.2.7; " },
	{ '+', { "a", "30", "A", NULL }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", NULL, "x" }, SAME(KNOT_EPARAM), NULL },
	{ '+', { NULL, "30", "A", "192.0.2.7" }, SAME(KNOT_EPARAM), NULL },
	{ '+', { "", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a..b", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a b", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a;b", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a\n", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a\\", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a\\ b\\;", "30", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + a\\032b\\;.zone. 30 A 192.0.2.7; " },
	{ '+', { "a", "30", "BAR", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", "A 192.0.2.7" }, SAME(KNOT_OK), "- + a.zone. 30 A 192.0.2.7; " },
	{ '+', { "a", NULL, "in", "TXT  x y" }, SAME(KNOT_OK), "- + a.zone. 77 TXT \"x\" \"y\"; " },
	{ '+', { "a", "30", "IN", "A" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", "IN A 192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", "" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", " A" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", NULL }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "IN", "AVeryLongWordThatIsNoTypeOfARecordAtAll x" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "CH", "A 192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '-', { "mail", NULL, "IN", "MX 20 ns" }, SAME(KNOT_OK), "- mail.zone. 300 MX 20 ns.zone.; + " },
	{ '+', { "a", NULL, "1h", "A 192.0.2.7" }, SAME(KNOT_EPARAM), NULL },
	{ '+', { "a", "30", "ANY", "\\# 0" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "TYPE0", "\\# 1 00" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '-', { .owner = "mail", .type = "TYPE0" }, KNOT_ENOENT, KNOT_OK, "- + " },
	{ '-', { .owner = "mail", .type = "ANY" }, KNOT_ENOENT, KNOT_OK, "- + " },
	{ '-', { .owner = "none", .type = "TYPE0" }, KNOT_ENONODE, KNOT_OK, "- + " },
	{ '+', { "a", "30", "OPT", "\\# 0" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "A", "192.0.2" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "A", "192.0.2.7 8" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "a", "30", "A", "192.0.2.7\nb A 192.0.2.8" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "$INCLUDE", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "b\xc3\xbc", "30", "A", "192.0.2.7" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '+', { "\\$INCLUDE", "30", "A", "192.0.2.7" }, SAME(KNOT_OK), "- + \\$include.zone. 30 A 192.0.2.7; " },
	{ '+', { "a.other.", "30", "A", "192.0.2.7" }, SAME(KNOT_EOUTOFZONE), NULL },
	{ '+', { "a", "30", "SOA", "ns admin 9 1 2 3 4" }, SAME(KNOT_EDENIED), NULL },

	{ '-', { "mail", NULL, "MX", "20 ns" }, SAME(KNOT_OK), "- mail.zone. 300 MX 20 ns.zone.; + " },
	{ '-', { "MAIL.zone.", "1", "mx", "20 NS" }, SAME(KNOT_OK), "- mail.zone. 300 MX 20 ns.zone.; + " },
	{ '-', { "mail", NULL, "MX", NULL }, SAME(KNOT_OK),
			"- mail.zone. 300 MX 10 ns.zone.; mail.zone. 300 MX 20 ns.zone.; + " },
	{ '-', { "mail", NULL, NULL, NULL }, SAME(KNOT_OK),
			"- mail.zone. 300 MX 10 ns.zone.; mail.zone. 300 MX 20 ns.zone.; + " },
	{ '-', { "@", NULL, NULL, NULL }, SAME(KNOT_OK), "- zone. 60 NS ns.zone.; + " },
	{ '-', { "@", NULL, "SOA", NULL }, SAME(KNOT_OK), "- + " },
	{ '-', { "@", NULL, "SOA", "anything" }, SAME(KNOT_OK), "- + " },
	{ '-', { "mail", NULL, "MX", "30 ns" }, KNOT_ENORECORD, KNOT_OK, NULL },
	{ '-', { "mail", NULL, "A", NULL }, KNOT_ENOENT, KNOT_OK, NULL },
	{ '-', { "mail", NULL, "A", "192.0.2.1" }, KNOT_ENORECORD, KNOT_OK, NULL },
	{ '-', { "b", NULL, NULL, NULL }, KNOT_ENONODE, KNOT_OK, NULL },
	{ '-', { "b", NULL, "A", "192.0.2.1" }, KNOT_ENORECORD, KNOT_OK, NULL },
	{ '-', { "ent", NULL, NULL, NULL }, SAME(KNOT_OK), "- + " },
	{ '-', { "ent", NULL, "A", NULL }, KNOT_ENOENT, KNOT_OK, NULL },
	{ '-', { "ent", NULL, "A", "192.0.2.1" }, KNOT_ENORECORD, KNOT_OK, NULL },
	{ '-', { "", NULL, NULL, NULL }, SAME(KNOT_OK), "- zone. 60 NS ns.zone.; + " },
	{ '-', { "", NULL, "NS", NULL }, SAME(KNOT_OK), "- zone. 60 NS ns.zone.; + " },
	{ '-', { "mail", NULL, NULL, "10 ns" }, SAME(KNOT_EPARAM), NULL },
	{ '-', { "mail", NULL, "BAR", "10 ns" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '-', { "a.other.", NULL, "A", NULL }, KNOT_ENONODE, KNOT_OK, NULL },
	{ '-', { "mail", NULL, "BAR", NULL }, SAME(KNOT_EPARAM), NULL },
	{ '-', { NULL, NULL, "MX", NULL }, SAME(KNOT_EPARAM), NULL },
	{ '-', { "mail", NULL, "MX", "20" }, SAME(KNOT_EPARSEFAIL), NULL },
	{ '-', { "a..b", NULL, NULL, NULL }, SAME(KNOT_EPARSEFAIL), NULL },
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		for (unsigned benevolent = 0; benevolent < 2; benevolent++) {
			const row_t *row = &rows[i];
			edit_t edit = begin(benevolent);
			edit_note_t note;
			knot_err_t want = benevolent ? row->benevolent : row->strict;
			knot_err_t err = row->what == '+' ? edit_set(&edit, &row->words, &note)
							  : edit_unset(&edit, &row->words, &note);
			if (err != want) {
				fail_msg("row %zu: %s, want %s", i, knot_strerror(err), knot_strerror(want));
			}
			assert_true(err != KNOT_EPARSEFAIL || note.reason != NULL);
			char *diff = diff_text(edit.txn);
			assert_string_equal(diff, row->diff != NULL ? row->diff : "- + ");
			free(diff);
			zone_txn_discard(edit.txn);
		}
	}
}

static void test_note(void **state)
{
	(void)state;
	edit_t edit = begin(false);
	edit_note_t note;
	assert_int_equal(edit_set(&edit, &(edit_words_t){ "ns", "61", "A", "192.0.2.1" }, &note), KNOT_EISRECORD);
	assert_true(note.has_new_ttl && note.ttl == 61 && note.type == KNOT_TYPE_A && note.owner.len == 9);
	assert_int_equal(edit_set(&edit, &(edit_words_t){ "ns", NULL, "A", "192.0.2.2" }, &note), KNOT_OK);
	assert_true(!note.has_new_ttl && note.ttl == 61);
	zone_txn_discard(edit.txn);
}

static void test_serials(void **state)
{
	(void)state;
	enum { NOW = 1795286318 }; /* 2026-11-21 */
	static const struct {
		uint32_t serial;
		conf_serial_policy_t policy;
		uint32_t want;
		uint16_t remainder, modulus;
		int32_t shift;
	} serials[] = {
		{ 5, CONF_SERIAL_INCREMENT, 7, 1, 3, 0 },
		{ 7, CONF_SERIAL_INCREMENT, 10, 1, 3, 0 },
		{ 7, CONF_SERIAL_INCREMENT, 109, 1, 3, 100 },
		{ 7, CONF_SERIAL_INCREMENT, 10, 1, 3, -100 },
		{ UINT32_MAX - 1, CONF_SERIAL_INCREMENT, 2, 2, 7, 0 }, /* 0xffffffff mod 7 is 3 */
		{ 5, CONF_SERIAL_UNIXTIME, NOW + 1, 3, 4, 0 },         /* NOW mod 4 is 2 */
		{ NOW + 1, CONF_SERIAL_UNIXTIME, NOW + 5, 3, 4, 0 },
		{ 5, CONF_SERIAL_DATESERIAL, 2026112050, 0, 0, -50 },
		{ 5, CONF_SERIAL_DATESERIAL, 2026112145, 1, 4, 42 },
		{ 5, CONF_SERIAL_INCREMENT, 6, 0, 1, 0 },
		{ UINT32_MAX, CONF_SERIAL_INCREMENT, 0, 0, 1, 0 },
		{ 5, CONF_SERIAL_UNIXTIME, NOW, 0, 1, 0 },
		{ NOW, CONF_SERIAL_UNIXTIME, NOW + 1, 0, 1, 0 },
		{ NOW + 7, CONF_SERIAL_UNIXTIME, NOW + 8, 0, 1, 0 },
		{ 2026112000, CONF_SERIAL_DATESERIAL, 2026112100, 0, 1, 0 },
		{ 2026112100, CONF_SERIAL_DATESERIAL, 2026112101, 0, 1, 0 },
		{ 2026112199, CONF_SERIAL_DATESERIAL, 2026112200, 0, 1, 0 },
		{ 5, CONF_SERIAL_DATESERIAL, 2026112100, 0, 1, 0 },
		{ 3000000000, CONF_SERIAL_DATESERIAL, 3000000001, 0, 1, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(serials); i++) {
		uint32_t next = update_serial_next(serials[i].serial,
				&(conf_serial_rule_t){ serials[i].policy, serials[i].remainder, serials[i].modulus,
						serials[i].shift },
				NOW);
		assert_int_equal(next, serials[i].want);
		assert_true(update_serial_is_newer(next, serials[i].serial));
		assert_false(update_serial_is_newer(serials[i].serial, next));
	}
	assert_false(update_serial_is_newer(7, 7));
	assert_false(update_serial_is_newer(0, UINT32_C(1) << 31));
	assert_false(update_serial_is_newer(UINT32_C(1) << 31, 0));
}

static void test_serial_of_transaction(void **state)
{
	(void)state;
	edit_t edit = begin(false);
	uint32_t serial = 0;
	assert_true(update_serial(edit.txn, params.origin, &serial));
	assert_int_equal(serial, 5);
	assert_int_equal(update_set_serial(edit.txn, params.origin, 0xfffffffe), KNOT_OK);
	assert_true(update_serial(edit.txn, params.origin, &serial));
	assert_int_equal(serial, 0xfffffffe);
	char *diff = diff_text(edit.txn);
	assert_string_equal(diff, "- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 60 SOA ns.zone. admin.zone. "
				  "4294967294 1 2 3 4; ");
	free(diff);
	zone_txn_discard(edit.txn);

	zone_txn_t *empty;
	assert_int_equal(zone_txn_begin(NULL, &params, &empty), KNOT_OK);
	assert_false(update_serial(empty, params.origin, &serial));
	assert_int_equal(update_set_serial(empty, params.origin, 1), KNOT_ENOSOA);
	zone_txn_discard(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_words), cmocka_unit_test(test_note),
		cmocka_unit_test(test_serials), cmocka_unit_test(test_serial_of_transaction) };
	return cmocka_run_group_tests(tests, build_base, free_base);
}
