/* SPDX-License-Identifier: BSD-2-Clause */
/* Forms of RDATA beside a zone file's: several lines, generic, without keys and signatures. As Knot's kdig prints them.
 */
#include "libknot/text/rdata_text.h"

#include "libknot/rr/rrdesc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static char printed[KNOT_RDATA_TEXT_MAX];

#define LINE "\n\t\t\t\t"

enum { MULTI = 1, GENERIC = 2, NO_CRYPTO = 4 };

static const struct {
	uint16_t type;
	unsigned style;
	const char *text, *want;
} rows[] = {
	{ KNOT_TYPE_A, MULTI, "192.0.2.1", "192.0.2.1" },
	{ KNOT_TYPE_A, GENERIC, "192.0.2.1", "\\# 4 C0000201" },
	{ KNOT_TYPE_A, GENERIC | MULTI, "192.0.2.1", "(" LINE "\\# 4 " LINE "C0000201" LINE ")" },
	{ 65280, MULTI, "\\# 0", "(" LINE "\\# 0" LINE ")" },
	{ KNOT_TYPE_SOA, MULTI, "a. b. 1 4294967295 86400 90061 255",
			"a. b. (" LINE "1 ; serial" LINE
			"4294967295 ; refresh (7101 weeks 3 days 6 hours 28 minutes 15 seconds)" LINE
			"86400 ; retry (1 day)" LINE "90061 ; expire (1 day 1 hour 1 minute 1 second)" LINE
			"255 ; minimum (4 minutes 15 seconds)" LINE ")" },
	{ KNOT_TYPE_SOA, MULTI, "a. b. 0 0 0 0 0",
			"a. b. (" LINE "0 ; serial" LINE "0 ; refresh (0 seconds)" LINE "0 ; retry (0 seconds)" LINE
			"0 ; expire (0 seconds)" LINE "0 ; minimum (0 seconds)" LINE ")" },
	{ KNOT_TYPE_DS, MULTI, "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118",
			"60485 5 1 (" LINE "2BB183AF5F22588179A53B0A98631FAD1A292118" LINE ")" },
	{ KNOT_TYPE_DS, MULTI, "60485 5 2 2BB183AF5F22588179A53B0A98631FAD1A29211800",
			"60485 5 2 (" LINE "2BB183AF5F22588179A53B0A98631FAD1A292118" LINE "00" LINE ")" },
	{ KNOT_TYPE_DS, NO_CRYPTO, "60485 5 1 2BB1", "60485 5 1 2BB1" },
	{ KNOT_TYPE_DNSKEY, MULTI,
			"257 3 13 "
			"mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==",
			"257 3 13 (" LINE "mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopK" LINE
			"l+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L" LINE "53eKGQ==" LINE
			") ; KSK, ECDSAP256SHA256 (256b), id = 2371" },
	{ KNOT_TYPE_DNSKEY, NO_CRYPTO, "0 3 13 AQIDBA==", "0 3 13 [id = 1811]" },
	{ KNOT_TYPE_DNSKEY, NO_CRYPTO | MULTI,
			"0 3 13 AQIDBA==", "0 3 13 [omitted]" LINE " ; ZSK, ECDSAP256SHA256 (256b), id = 1811" },
	{ KNOT_TYPE_DNSKEY, NO_CRYPTO | GENERIC, "0 3 13 AQIDBA==", "\\# 8 0000030D01020304" },
	{ KNOT_TYPE_DNSKEY, MULTI, "385 3 8 AwEAAQECAwQFBgcI",
			"385 3 8 (" LINE "AwEAAQECAwQFBgcI" LINE ") ; KSK, RSASHA256 (64b), id = 6047" },
	{ KNOT_TYPE_DNSKEY, MULTI, "256 3 5 /gE=", "256 3 5 (" LINE "/gE=" LINE ") ; ZSK, RSASHA1, id = 519" },
	{ KNOT_TYPE_DNSKEY, MULTI, "256 3 254 AQ==", "256 3 254 (" LINE "AQ==" LINE ") ; ZSK, PRIVATEOID, id = 1534" },
	{ KNOT_TYPE_DNSKEY, MULTI, "256 3 99 AQ==", "256 3 99 (" LINE "AQ==" LINE ") ; ZSK, 99, id = 1379" },
	{ KNOT_TYPE_RRSIG, MULTI, "A 13 3 3600 20300101000000 20240101000000 2642 . AQ==",
			"A 13 3 3600 20300101000000 (" LINE "20240101000000 2642 ." LINE "AQ==" LINE ")" },
	{ KNOT_TYPE_RRSIG, NO_CRYPTO, "A 13 3 3600 20300101000000 20240101000000 2642 . AQ==",
			"A 13 3 3600 20300101000000 20240101000000 2642 . [omitted]" },
	{ KNOT_TYPE_RRSIG, NO_CRYPTO | MULTI, "A 13 3 3600 20300101000000 20240101000000 2642 . AQ==",
			"A 13 3 3600 20300101000000 (" LINE "20240101000000 2642 ." LINE "[omitted]" LINE ")" },
	{ KNOT_TYPE_NSEC3, MULTI, "1 0 10 ABCD 0123456789abcdefghijklmnopqrstuv A RRSIG",
			"1 0 10 ABCD (" LINE "0123456789abcdefghijklmnopqrstuv" LINE "A RRSIG" LINE ")" },
	{ KNOT_TYPE_NSEC3, MULTI, "1 0 10 ABCD 0123456789abcdefghijklmnopqrstuv",
			"1 0 10 ABCD (" LINE "0123456789abcdefghijklmnopqrstuv" LINE LINE ")" },
	{ KNOT_TYPE_NSEC, MULTI, "a. A NS", "a. A NS" },
	{ 45, MULTI, "10 1 2 192.0.2.38 AQ==", "10 (" LINE "1 2 192.0.2.38" LINE "AQ==" LINE ")" },
	{ 45, MULTI, "10 0 2 .", "10 (" LINE "0 2 ." LINE ")" },
	{ KNOT_TYPE_SVCB, MULTI, "1 .", "1 ." },
	{ KNOT_TYPE_SVCB, MULTI, "1 . alpn=h2,h3 port=8443", "1 . (" LINE "alpn=h2,h3" LINE "port=8443" LINE ")" },
	{ 49, MULTI, "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
			"(" LINE "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuV" LINE "AA2kjEA=" LINE ")" },
	{ KNOT_TYPE_TXT, MULTI, "\"a\" \"b\"", "\"a\" \"b\"" },
};

static knot_rdata_style_t style_of(unsigned bits)
{
	return (knot_rdata_style_t){
		.print_name = knot_name_print,
		.is_multiline = bits & MULTI,
		.is_generic = bits & GENERIC,
		.hides_crypto = bits & NO_CRYPTO,
	};
}

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static uint8_t wire[KNOT_RDATA_MAX];
		uint16_t len = 0;
		const char *reason = NULL;
		knot_rdata_style_t style = style_of(rows[i].style);
		if (knot_rdata_scan(rows[i].type, knot_str_of(rows[i].text), knot_name_root,
				    (knot_mut_bytes_t){ wire, sizeof(wire) }, &len, &reason) != KNOT_OK) {
			fail_msg("%s: %s", rows[i].text, reason);
		}
		size_t text_len = knot_rdata_print_as(
				rows[i].type, (knot_bytes_t){ wire, len }, &style, printed, sizeof(printed));
		assert_string_equal(printed, rows[i].want);
		assert_int_equal(text_len, strlen(printed));
		/* A byte less is too little. */
		assert_int_equal(knot_rdata_print_as(
						 rows[i].type, (knot_bytes_t){ wire, len }, &style, printed, text_len),
				0);
	}
}

static size_t print_name_loudly(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX])
{
	return (size_t)snprintf(ret_text, KNOT_NAME_TEXT_MAX, "<%u>", name.len);
}

/* Names within RDATA are printed by the style's function. */
static void test_names(void **state)
{
	(void)state;
	static const uint8_t mx[] = { 0, 10, 1, 'a', 0 };
	const knot_rdata_style_t style = { .print_name = print_name_loudly };
	knot_rdata_print_as(KNOT_TYPE_MX, (knot_bytes_t){ mx, sizeof(mx) }, &style, printed, sizeof(printed));
	assert_string_equal(printed, "10 <3>");
}

/* The longest RDATA has room on several lines, too. */
static void test_longest(void **state)
{
	(void)state;
	static uint8_t wire[KNOT_RDATA_MAX];
	static const uint16_t types[] = { KNOT_TYPE_DS, KNOT_TYPE_DNSKEY, KNOT_TYPE_RRSIG, 65280 };
	knot_rdata_style_t style = style_of(MULTI);
	wire[0] = 1;
	for (size_t i = 0; i < KNOT_LEN(types); i++) {
		assert_true(knot_rdata_print_as(types[i], (knot_bytes_t){ wire, sizeof(wire) }, &style, printed,
					    sizeof(printed)) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
