/* SPDX-License-Identifier: BSD-2-Clause */
/* What lines of a script ask for, and the records that they make. */
#include "src/tools/nsupdate/script.h"

#include "libknot/text/rdata_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* "P a.z. NONE ANY 0; U a.z. IN A 300 192.0.2.1; " of a draft. */
static void print_draft(const draft_t *draft, char text[static 4096])
{
	size_t len = 0;
	text[0] = '\0';
	for (size_t i = 0; i < draft->count; i++) {
		const draft_rr_t *rr = &draft->items[i];
		char owner[KNOT_NAME_TEXT_MAX], class[KNOT_TYPE_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX], data[1024] = "";
		const uint8_t *at = draft->bytes + rr->off;
		(void)knot_name_print(knot_name_of(at), owner);
		(void)knot_rrclass_print(rr->class, class);
		(void)knot_rrtype_print(rr->type, type);
		if (rr->rdata_len > 0) {
			(void)knot_rdata_print(rr->type, (knot_bytes_t){ at + rr->owner_len, rr->rdata_len }, data,
					sizeof(data));
		}
		len += (size_t)snprintf(text + len, 4096 - len, "%s%s %s %s %s %u%s%s", i > 0 ? "; " : "",
				rr->section == DRAFT_UPDATE ? "U" : "P", owner, class, type, rr->ttl,
				data[0] != '\0' ? " " : "", data);
	}
}

static const struct {
	const char *lines; /* the last one counts */
	script_step_t step;
	const char *want; /* SCRIPT_FAULT: the reason; else what the draft has */
} rows[] = {
	/* lines that say nothing */
	{ "", SCRIPT_GO_ON, "" },
	{ " \t\r", SCRIPT_GO_ON, "" },
	{ "; add a A 192.0.2.1", SCRIPT_GO_ON, "" },
	{ "  ;x", SCRIPT_GO_ON, "" },

	/* changes */
	{ "add a A 192.0.2.1", SCRIPT_GO_ON, "U a. IN A 3600 192.0.2.1" },
	{ "update add a A 192.0.2.1", SCRIPT_GO_ON, "U a. IN A 3600 192.0.2.1" },
	{ "\t upd\tadd  a  300\tIN A   192.0.2.1 ; why", SCRIPT_GO_ON, "U a. IN A 300 192.0.2.1" },
	{ "add a IN 1h A 192.0.2.1\r", SCRIPT_GO_ON, "U a. IN A 3600 192.0.2.1" },
	{ "ttl 1d\nadd a A 192.0.2.1", SCRIPT_GO_ON, "U a. IN A 86400 192.0.2.1" },
	{ "origin z\nadd a MX 10 b", SCRIPT_GO_ON, "U a.z. IN MX 3600 10 b.z." },
	{ "origin z.\nadd @ NS @", SCRIPT_GO_ON, "U z. IN NS 3600 z." },
	{ "origin z\norigin y\nadd a. TXT \"x;y\" ;z", SCRIPT_GO_ON, "U a. IN TXT 3600 \"x;y\"" },
	{ "add 300 300 A 192.0.2.1", SCRIPT_GO_ON, "U 300. IN A 300 192.0.2.1" },
	{ "add A A 192.0.2.1", SCRIPT_GO_ON, "U A. IN A 3600 192.0.2.1" },
	{ "add IN IN A 192.0.2.1", SCRIPT_GO_ON, "U IN. IN A 3600 192.0.2.1" },
	{ "add a\\ b A 192.0.2.1", SCRIPT_GO_ON, "U a\\032b. IN A 3600 192.0.2.1" },
	{ "add a A ( 192.0.2.1 )", SCRIPT_GO_ON, "U a. IN A 3600 192.0.2.1" },
	{ "add a TYPE65280 \\# 2 abcd", SCRIPT_GO_ON, "U a. IN TYPE65280 3600 \\# 2 ABCD" },
	{ "class CH\nadd a CH TXT x", SCRIPT_GO_ON, "U a. CH TXT 3600 \"x\"" },
	{ "add a APL", SCRIPT_GO_ON, "U a. IN APL 3600" },
	{ "del a", SCRIPT_GO_ON, "U a. ANY ANY 0" },
	{ "del a IN", SCRIPT_GO_ON, "U a. ANY ANY 0" },
	{ "del a 300", SCRIPT_GO_ON, "U a. ANY ANY 0" },
	{ "del a ANY", SCRIPT_GO_ON, "U a. ANY ANY 0" },
	{ "DELETE a IN ANY", SCRIPT_GO_ON, "U a. ANY ANY 0" },
	{ "dele a A", SCRIPT_GO_ON, "U a. ANY A 0" },
	{ "delete a 300 IN A", SCRIPT_GO_ON, "U a. ANY A 0" },
	{ "delete a A ; all", SCRIPT_GO_ON, "U a. ANY A 0" },
	{ "update del a A 192.0.2.1", SCRIPT_GO_ON, "U a. NONE A 0 192.0.2.1" },

	/* conditions */
	{ "nxdomain a", SCRIPT_GO_ON, "P a. NONE ANY 0" },
	{ "prereq yxdomain a", SCRIPT_GO_ON, "P a. ANY ANY 0" },
	{ "pre nxr a IN A", SCRIPT_GO_ON, "P a. NONE A 0" },
	{ "yxrrset a A", SCRIPT_GO_ON, "P a. ANY A 0" },
	{ "yxrrset a IN A 192.0.2.1", SCRIPT_GO_ON, "P a. IN A 0 192.0.2.1" },
	{ "add a A 192.0.2.1\nnxdomain a\ndel b", SCRIPT_GO_ON,
			"U a. IN A 3600 192.0.2.1; P a. NONE ANY 0; U b. ANY ANY 0" },

	/* what the caller does */
	{ "show", SCRIPT_SHOW, "" },
	{ "sen", SCRIPT_SEND, "" },
	{ "answer", SCRIPT_ANSWER, "" },
	{ "debug", SCRIPT_DEBUG, "" },
	{ "help", SCRIPT_HELP, "" },
	{ "exit", SCRIPT_EXIT, "" },
	{ "q", SCRIPT_EXIT, "" },

	/* what is wrong changes nothing */
	{ "add b A 192.0.2.1\nadd a A 192.0.2", SCRIPT_FAULT, "invalid data of A '192.0.2' (invalid IPv4 address)" },
	{ "foo bar", SCRIPT_FAULT, "unexpected literal: 'foo'" },
	{ "a", SCRIPT_FAULT, "ambiguous literal: 'a', did you mean {add|answer}?" },
	{ "de", SCRIPT_FAULT, "ambiguous literal: 'de', did you mean {debug|del|delete}?" },
	{ "update", SCRIPT_FAULT, "unexpected token '' after 'update', allowed: '{add|del|delete}'" },
	{ "update nxdomain a", SCRIPT_FAULT,
			"unexpected token 'nxdomain' after 'update', allowed: '{add|del|delete}'" },
	{ "prereq send", SCRIPT_FAULT,
			"unexpected token 'send' after 'prereq', allowed: '{nxdomain|nxrrset|yxdomain|yxrrset}'" },
	{ "gsstsig", SCRIPT_FAULT, "gsstsig not supported" },
	{ "oldgsstsig", SCRIPT_FAULT, "oldgsstsig not supported" },
	{ "realm x", SCRIPT_FAULT, "realm not supported" },
	{ "real x", SCRIPT_FAULT, "unexpected literal: 'real'" },
	{ "zone", SCRIPT_FAULT, "failed to parse zone '', a name is missing" },
	{ "zone a..b", SCRIPT_FAULT, "failed to parse zone 'a..b' (empty label)" },
	{ "class X", SCRIPT_FAULT, "failed to parse class 'X'" },
	{ "ttl", SCRIPT_FAULT, "failed to parse ttl '' (a number is missing)" },
	{ "add", SCRIPT_FAULT, "failed to parse owner '', a name is missing" },
	{ "del ; a", SCRIPT_FAULT, "failed to parse owner '', a name is missing" },
	{ "add a", SCRIPT_FAULT, "failed to parse type '', it is missing" },
	{ "add a 300 300 A 192.0.2.1", SCRIPT_FAULT, "failed to parse type '300'" },
	{ "add a XX 1", SCRIPT_FAULT, "failed to parse type 'XX'" },
	{ "add a CH TXT x", SCRIPT_FAULT, "class mismatch 'CH'" },
	{ "del a NONE A", SCRIPT_FAULT, "class mismatch 'NONE'" },
	{ "add a OPT \\# 0", SCRIPT_FAULT, "type OPT is never of records in a zone" },
	{ "add a ANY \\# 0", SCRIPT_FAULT, "type ANY is never of records in a zone" },
	{ "del a ANY x", SCRIPT_FAULT, "type ANY is never of records in a zone" },
	{ "nxrrset a ANY", SCRIPT_FAULT, "type ANY is never of records in a zone" },
	{ "del a AXFR", SCRIPT_FAULT, "type AXFR is never of records in a zone" },
	{ "nxrrset a", SCRIPT_FAULT, "failed to parse type '', it is missing" },
	{ "server", SCRIPT_FAULT, "failed to parse server '', an address or name is missing" },
	{ "server 192.0.2.1 70000", SCRIPT_FAULT, "failed to parse server '192.0.2.1 70000'" },
	{ "server [::1", SCRIPT_FAULT, "failed to parse server '[::1'" },
	{ "key a", SCRIPT_FAULT, "invalid key specification (key [algorithm:]name secret)" },
	{ "key a !", SCRIPT_FAULT, "invalid key specification (the secret isn't base64)" },
	{ "key x:a AAAA", SCRIPT_FAULT,
			"invalid key specification (unknown algorithm, use hmac-sha256, hmac-sha384, hmac-sha512, "
			"hmac-sha224, "
			"hmac-sha1 or hmac-md5)" },
};

static script_step_t take_lines(script_t *script, const char *lines, size_t *ret_before)
{
	script_step_t step = SCRIPT_GO_ON;
	for (const char *at = lines;; at++) {
		size_t len = strcspn(at, "\n");
		*ret_before = script->draft.count;
		step = script_take(script, (knot_str_t){ at, len });
		at += len;
		if (*at == '\0') {
			return step;
		}
		assert_int_equal(step, SCRIPT_GO_ON);
	}
}

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		script_t script;
		char text[4096];
		size_t before;
		script_init(&script);
		script_step_t step = take_lines(&script, rows[i].lines, &before);
		print_draft(&script.draft, text);
		const char *found = step == SCRIPT_FAULT ? script.fault : text;
		if (step != rows[i].step || strcmp(found, rows[i].want) != 0 ||
				(step == SCRIPT_FAULT && script.draft.count != before)) {
			fail_msg("%s: step %d, %s", rows[i].lines, (int)step, found);
		}
		script_done(&script);
	}
}

static const struct {
	const char *line, *host, *service; /* service "": none */
} hosts[] = {
	{ "server ns.example", "ns.example", "" },
	{ "server 192.0.2.1 5353", "192.0.2.1", "5353" },
	{ "server 192.0.2.1@5353", "192.0.2.1", "5353" },
	{ "server 2001:db8::1", "2001:db8::1", "" },
	{ "server 2001:db8::1 domain", "2001:db8::1", "domain" },
	{ "server [2001:db8::1]:53", "2001:db8::1", "53" },
	{ "server /run/knot.sock", "/run/knot.sock", "" },
};

static void test_hosts(void **state)
{
	(void)state;
	script_t script;
	script_init(&script);
	for (size_t i = 0; i < KNOT_LEN(hosts); i++) {
		assert_int_equal(script_take(&script, knot_str_of(hosts[i].line)), SCRIPT_GO_ON);
		const lookup_host_t *host = &script.server.host;
		assert_int_equal(host->host_len, strlen(hosts[i].host));
		assert_memory_equal(host->host, hosts[i].host, host->host_len);
		assert_string_equal(host->service != NULL ? host->service : "", hosts[i].service);
	}
	assert_int_equal(script_take(&script, knot_str_of("local 192.0.2.7 99")), SCRIPT_GO_ON);
	assert_string_equal(script.local.host.service, "99");
	script_done(&script);
}

static void test_warnings(void **state)
{
	(void)state;
	static const struct {
		const char *line, *warning;
	} lines[] = {
		{ "send now", "ignoring input data 'now'" },
		{ "nxdomain a b", "ignoring input data 'b'" },
		{ "nxrrset a A 192.0.2.1", "ignoring input data '192.0.2.1'" },
		{ "yxrrset a 300 A", "ignoring TTL value '300'" },
		{ "zone a", "" },
	};
	script_t script;
	script_init(&script);
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		assert_int_not_equal(script_take(&script, knot_str_of(lines[i].line)), SCRIPT_FAULT);
		assert_string_equal(script.warning, lines[i].warning);
	}
	script_done(&script);
}

static void test_key(void **state)
{
	(void)state;
	script_t script;
	script_init(&script);
	assert_int_equal(script_take(&script, knot_str_of("key hmac-sha512:K.example YWJj")), SCRIPT_GO_ON);
	assert_non_null(script.key);
	assert_int_equal(script.key->key.algorithm, KNOT_TSIG_HMAC_SHA512);
	assert_int_equal(script.key->key.secret.len, 3);
	assert_int_equal(script_take(&script, knot_str_of("key k YWJj")), SCRIPT_GO_ON);
	assert_int_equal(script.key->key.algorithm, KNOT_TSIG_HMAC_SHA256);
	script_done(&script);
}

/* A line with a byte 0 is no shorter line. */
static void test_nul(void **state)
{
	(void)state;
	script_t script;
	script_init(&script);
	assert_int_equal(script_take(&script, (knot_str_t){ "send\0x", 6 }), SCRIPT_FAULT);
	script_done(&script);
}

/* A message that is too long: what fits is a message that can be sent. */
static void test_too_long(void **state)
{
	(void)state;
	static uint8_t room[KNOT_MSG_MAX];
	script_t script;
	knot_msg_writer_t w;
	size_t fit, count = 0;
	char line[64];
	script_init(&script);
	assert_int_equal(script_take(&script, knot_str_of("zone z")), SCRIPT_GO_ON);
	for (; count < 10000; count++) {
		snprintf(line, sizeof(line), "add n%zu.z. TXT text", count);
		assert_int_equal(script_take(&script, knot_str_of(line)), SCRIPT_GO_ON);
	}
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	assert_int_equal(draft_write(&script.draft, KNOT_CLASS_IN, 100, &w, &fit), KNOT_ESPACE);
	assert_in_range(fit, 2000, 4000);
	assert_in_range(w.len, KNOT_MSG_MAX - 200, KNOT_MSG_MAX - 100);
	script.draft.count = fit;
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	assert_int_equal(draft_write(&script.draft, KNOT_CLASS_IN, 100, &w, &fit), KNOT_OK);
	script_done(&script);
}

/* Conditions come before changes, whatever the order of the lines. */
static void test_message(void **state)
{
	(void)state;
	static const uint8_t want[] = {
		0x12, 0x34, 0x28, 0, 0, 1, 0, 1, 0, 1, 0, 0,           /* header */
		1, 'z', 0, 0, 6, 0, 1,                                 /* zone */
		1, 'a', 0xc0, 12, 0, 255, 0, 254, 0, 0, 0, 0, 0, 0,    /* nxdomain a */
		0xc0, 19, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1, /* add a 60 A 192.0.2.1 */
	};
	static uint8_t room[KNOT_MSG_MAX];
	script_t script;
	knot_msg_writer_t w;
	size_t fit, before;
	script_init(&script);
	(void)take_lines(&script, "zone z\norigin z\nadd a 60 A 192.0.2.1\nnxdomain a", &before);
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	assert_int_equal(draft_write(&script.draft, KNOT_CLASS_IN, 0, &w, &fit), KNOT_OK);
	assert_int_equal(knot_msg_finish(&w, 0x1234, KNOT_OPCODE_UPDATE << 11), sizeof(want));
	assert_memory_equal(room, want, sizeof(want));
	draft_clear(&script.draft);
	assert_int_equal(script.draft.count, 0);
	assert_int_equal(script.draft.zone.len, 3);
	script_done(&script);
}

/* The table is what find() expects, and each row that is shown says what it is for. */
static void test_table(void **state)
{
	(void)state;
	size_t count;
	const script_command_t *table = script_commands(&count);
	for (size_t i = 0; i < count; i++) {
		bool is_ambiguous;
		assert_ptr_equal(script_find(knot_str_of(table[i].name), SCRIPT_FIRST, &is_ambiguous), &table[i]);
		assert_true(i == 0 || strcmp(table[i - 1].name, table[i].name) < 0);
		assert_true((table[i].places & SCRIPT_FOREIGN) || table[i].doc != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
