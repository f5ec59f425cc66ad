/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages as text, sentences and JSON: rows of bytes and what is printed of them. The texts are those of Knot's kdig
 * and khost. */
#include "src/present/host.h"
#include "src/present/json.h"
#include "src/present/message.h"
#include "src/present/test_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define ANSWER_A                                                                                                       \
	"c00c00010001"                                                                                                 \
	"0000012c"                                                                                                     \
	"0004c0000201"
#define OPT(ttl, options) "00002904d0" ttl options

enum { MULTI = 1, GENERIC = 2, SHORT = 4, HOST = 8, NO_COMMENTS = 16, NO_CLASS = 32, NO_TTL = 64 };

static present_style_t style_of(unsigned bits)
{
	present_style_t style = present_style();
	style.shows &= ~(uint32_t)(bits & SHORT ? PRESENT_HEADER : 0);
	style.format = bits & SHORT ? PRESENT_SHORT : bits & HOST ? PRESENT_HOST : PRESENT_FULL;
	style.rdata.is_multiline = bits & MULTI;
	style.rdata.is_generic = bits & GENERIC;
	style.shows &= ~(uint32_t)((bits & NO_COMMENTS ? PRESENT_COMMENTS : 0) | (bits & NO_CLASS ? PRESENT_CLASS : 0) |
				   (bits & NO_TTL ? PRESENT_TTL : 0));
	return style;
}

static const struct {
	const char *what, *wire;
	unsigned style;
	const char *want;
} text_rows[] = {
	{ "query", TEST_HEADER("0120", "0001000000000000") TEST_QUESTION("0001"), 0,
			";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
			";; Flags: rd ad; QUERY: 1; ANSWER: 0; AUTHORITY: 0; ADDITIONAL: 0\n\n"
			";; QUESTION SECTION:\n;; example.            \t\tIN\tA\n" },
	{ "answer", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A, 0,
			";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
			";; Flags: qr aa rd; QUERY: 1; ANSWER: 1; AUTHORITY: 0; ADDITIONAL: 0\n\n"
			";; QUESTION SECTION:\n;; example.            \t\tIN\tA\n\n"
			";; ANSWER SECTION:\nexample.            \t300\tIN\tA\t192.0.2.1\n" },
	{ "answer without headings", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A,
			NO_COMMENTS,
			";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
			";; Flags: qr aa rd; QUERY: 1; ANSWER: 1; AUTHORITY: 0; ADDITIONAL: 0\n"
			";;example.            \t\tIN\tA\nexample.            \t300\tIN\tA\t192.0.2.1\n" },
	{ "answer on lines", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A, MULTI | NO_CLASS,
			";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
			";; Flags: qr aa rd; QUERY: 1; ANSWER: 1; AUTHORITY: 0; ADDITIONAL: 0\n\n"
			";; QUESTION SECTION:\n;; example.            \t A\n\n"
			";; ANSWER SECTION:\nexample.            \t300 A 192.0.2.1\n" },
	{ "in short", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A, SHORT, "192.0.2.1\n" },
	{ "in short, generic", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A, SHORT | GENERIC,
			"\\# 4 C0000201\n" },
	{ "a sentence", TEST_HEADER("8500", "0001000100000000") TEST_QUESTION("0001") ANSWER_A, HOST,
			"example. has IPv4 address 192.0.2.1\n" },
	{ "no data", TEST_HEADER("8500", "0001000000000000") TEST_QUESTION("000f"), HOST,
			"Host example. has no MX record\n" },
	{ "refused", TEST_HEADER("8105", "0001000000000000") TEST_QUESTION("000f"), HOST,
			"Host example. type MX error: REFUSED\n" },
	{ "all flags, codes without names", TEST_HEADER("fffb", "0000000000000000"), 0,
			";; ->>HEADER<<- opcode: OPCODE 15; status: RCODE 11; id: 4660\n"
			";; Flags: qr aa tc rd ra z ad cd; QUERY: 0; ANSWER: 0; AUTHORITY: 0; ADDITIONAL: 0\n" },
	{ "extended rcode", TEST_HEADER("8001", "0000000000000001") OPT("01000000", "0000"), 0,
			";; ->>HEADER<<- opcode: QUERY; status: BADKEY; id: 4660\n"
			";; Flags: qr; QUERY: 0; ANSWER: 0; AUTHORITY: 0; ADDITIONAL: 1\n\n"
			";; EDNS PSEUDOSECTION:\n;; Version: 0; flags: ; UDP size: 1232 B; ext-rcode: BADKEY\n" },
	{ "update",
			TEST_HEADER("2800", "0001000100010000")
					TEST_QUESTION("0006") "c00c00ff00ff000000000000"
							      "c00c000100fe000000000004c0000201",
			0,
			";; ->>HEADER<<- opcode: UPDATE; status: NOERROR; id: 4660\n"
			";; Flags: ; ZONE: 1; PREREQ: 1; UPDATE: 1; ADDITIONAL: 0\n\n"
			";; ZONE SECTION:\n;; example.            \t\tIN\tSOA\n\n"
			";; PREREQUISITE SECTION:\nexample.            \t0\tANY\tANY\n\n"
			";; UPDATE SECTION:\nexample.            \t0\tNONE\tA\t192.0.2.1\n" },
	{ "TSIG",
			TEST_HEADER("8000", "0000000000000001") "026b3100"
								"00fa00ff00000000"
								"001f"
								"0b686d61632d73686132353600"
								"000065920080"
								"012c"
								"0002abcd"
								"1234"
								"0010"
								"0000",
			0,
			";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
			";; Flags: qr; QUERY: 0; ANSWER: 0; AUTHORITY: 0; ADDITIONAL: 1\n\n"
			";; TSIG PSEUDOSECTION:\nk1.                 \t0\tANY\tTSIG\thmac-sha256. 1704067200 300 2 "
			"q80= 4660 BADSIG 0\n" },
	{ "TSIG with the server's time",
			TEST_HEADER("8009", "0000000000000001") "026b3100"
								"00fa00ff00000000"
								"0023"
								"0b686d61632d73686132353600"
								"000065920080"
								"012c"
								"0000"
								"1234"
								"0012"
								"0006000165921020",
			0,
			";; ->>HEADER<<- opcode: QUERY; status: BADTIME; id: 4660\n"
			";; Flags: qr; QUERY: 0; ANSWER: 0; AUTHORITY: 0; ADDITIONAL: 1\n\n"
			";; TSIG PSEUDOSECTION:\nk1.                 \t0\tANY\tTSIG\thmac-sha256. 1704067200 300 0 "
			"4660 BADTIME 6 5999038496\n" },
};

static char *text_of(const char *wire, unsigned bits)
{
	present_style_t style = style_of(bits);
	present_text_t text = { 0 };
	present_message_t message;
	knot_bytes_t bytes = test_bytes(wire);
	bool is_good = present_read(bytes, &message);
	if (!is_good) {
		present_wreck_put(&text, &style, &message);
	} else if (bits & HOST) {
		present_host_put(&text, &style, &message, false);
	} else {
		present_message_put(&text, &style, &message);
	}
	present_text_char(&text, '\0');
	assert_false(text.failed);
	free((void *)bytes.data);
	return text.data;
}

static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(text_rows); i++) {
		char *text = text_of(text_rows[i].wire, text_rows[i].style);
		assert_string_equal(text, text_rows[i].want);
		free(text);
	}
}

static const struct {
	const char *what, *wire, *fault;
	size_t off;
} bad_rows[] = {
	{ "nothing", "", "shorter than a header", 0 },
	{ "short", "1234800000010000000000", "shorter than a header", 0 },
	{ "two questions", TEST_HEADER("8000", "0002000000000000"), "more than one question", 12 },
	{ "question cut off", TEST_HEADER("8000", "0001000000000000") "0765",
			"a record is cut off, or its owner isn't a name", 12 },
	{ "record cut off", TEST_HEADER("8000", "0001000100000000") TEST_QUESTION("0001") "c00c00010001",
			"a record is cut off, or its owner isn't a name", 25 },
	{ "name that points to itself", TEST_HEADER("8000", "0000000100000000") "c00c00010001000000000004c0000201",
			"a record is cut off, or its owner isn't a name", 12 },
	{ "address of five bytes",
			TEST_HEADER("8000", "0001000100000000")
					TEST_QUESTION("0001") "c00c00010001000000000005c000020100",
			"RDATA isn't of its type", 25 },
	{ "OPT in the answer", TEST_HEADER("8000", "0000000100000000") OPT("00000000", "0000"),
			"OPT outside of the additional section", 12 },
	{ "two OPTs", TEST_HEADER("8000", "0000000000000002") OPT("00000000", "0000") OPT("00000000", "0000"),
			"two OPT records", 23 },
	{ "option cut off", TEST_HEADER("8000", "0000000000000001") OPT("00000000", "000400030001"),
			"an EDNS option is cut off", 12 },
	{ "TSIG isn't one", TEST_HEADER("8000", "0000000000000001") "0000fa00ff000000000000", "bad TSIG", 12 },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(bad_rows); i++) {
		present_message_t message;
		knot_bytes_t bytes = test_bytes(bad_rows[i].wire);
		assert_false(present_read(bytes, &message));
		assert_string_equal(message.fault, bad_rows[i].fault);
		assert_int_equal(message.fault_off, bad_rows[i].off);
		free((void *)bytes.data);
		char *text = text_of(bad_rows[i].wire, 0);
		assert_non_null(strstr(text, bad_rows[i].fault));
		for (const char *at = text; at != NULL && *at != '\0'; at = strchr(at, '\n')) { /* comments only */
			at += *at == '\n';
			assert_true(*at == '\0' || *at == '\n' || *at == ';');
		}
		free(text);
	}
}

/* What could be read is shown, then the bytes that couldn't. */
static void test_wreck(void **state)
{
	(void)state;
	char *text = text_of(TEST_HEADER("8500", "0001000200000000") TEST_QUESTION("0001") ANSWER_A "c00c0001", 0);
	assert_string_equal(text, ";; Malformed message of 45 B, from byte 41 on: a record is cut off, or its owner "
				  "isn't a name\n"
				  ";; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: 4660\n"
				  ";; Flags: qr aa rd; QUERY: 1; ANSWER: 2; AUTHORITY: 0; ADDITIONAL: 0\n\n"
				  ";; QUESTION SECTION:\n;; example.            \t\tIN\tA\n\n"
				  ";; ANSWER SECTION:\n;; example.            \t300\tIN\tA\t192.0.2.1\n\n"
				  ";; 0029: C0 0C 00 01\n");
	free(text);
}

/* Bytes behind the last record are no fault; who shows a message may say so. */
static void test_trail(void **state)
{
	(void)state;
	present_message_t message;
	knot_bytes_t bytes = test_bytes(TEST_HEADER("8000", "0001000000000000") TEST_QUESTION("0001") "00");
	assert_true(present_read(bytes, &message));
	assert_int_equal(message.end, bytes.len - 1);
	free((void *)bytes.data);
}

static const struct tm new_year = { .tm_year = 124, .tm_mday = 1, .tm_wday = 1, .tm_zone = "UTC" };

static void test_foot(void **state)
{
	(void)state;
	present_text_t text = { 0 };
	present_foot_put(&text,
			&(present_foot_t){
					.len = 44, .when = new_year, .elapsed_ms = 1.25, .peer = "192.0.2.1@53(UDP)" });
	present_foot_put(&text,
			&(present_foot_t){
					.is_query = true, .len = 33, .when = new_year, .peer = "192.0.2.1@53(UDP)" });
	present_foot_put(&text, &(present_foot_t){ .len = 44,
						.is_transfer = true,
						.messages = 2,
						.records = 7,
						.when = new_year,
						.peer = "::1@53(TCP)" });
	present_text_char(&text, '\0');
	assert_string_equal(text.data,
			"\n;; Received 44 B\n;; Time 2024-01-01 00:00:00 UTC\n;; From 192.0.2.1@53(UDP) in 1.2 ms\n"
			"\n;; Sent 33 B\n;; Time 2024-01-01 00:00:00 UTC\n;; To 192.0.2.1@53(UDP) in 0.0 ms\n"
			";; Received 44 B (2 messages, 7 records)\n;; Time 2024-01-01 00:00:00 UTC\n"
			";; From ::1@53(TCP) in 0.0 ms\n");
	present_text_done(&text);
}

static void test_json(void **state)
{
	(void)state;
	present_style_t style = present_style();
	present_message_t message;
	knot_json_buffer_t out = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &out);
	knot_bytes_t bytes = test_bytes(TEST_HEADER("8583", "0001000200000001") TEST_QUESTION("0001") ANSWER_A
			"c00cff000001"
			"0000012c"
			"0001ff" OPT("00008000", "0000"));
	assert_true(present_read(bytes, &message));
	present_json_put(&json, NULL, &style, &message, &new_year, 1704067200);
	assert_true(knot_json_end(&json));
	assert_string_equal(out.data,
			"{\n  \"dateString\": \"2024-01-01T00:00:00+0000\",\n  \"dateSeconds\": 1704067200,\n  "
			"\"msgLength\": 65,\n"
			"  \"ID\": 4660,\n  \"QR\": 1,\n  \"Opcode\": 0,\n  \"AA\": 1,\n  \"TC\": 0,\n  \"RD\": 1,\n  "
			"\"RA\": 1,\n"
			"  \"AD\": 0,\n  \"CD\": 0,\n  \"RCODE\": 3,\n  \"QDCOUNT\": 1,\n  \"ANCOUNT\": 2,\n  "
			"\"NSCOUNT\": 0,\n"
			"  \"ARCOUNT\": 1,\n  \"QNAME\": \"example.\",\n  \"QTYPE\": 1,\n  \"QTYPEname\": \"A\",\n  "
			"\"QCLASS\": 1,\n"
			"  \"QCLASSname\": \"IN\",\n  \"answerRRs\": [\n    {\n      \"NAME\": \"example.\",\n      "
			"\"TYPE\": 1,\n"
			"      \"TYPEname\": \"A\",\n      \"CLASS\": 1,\n      \"CLASSname\": \"IN\",\n      \"TTL\": "
			"300,\n"
			"      \"rdataA\": \"192.0.2.1\",\n      \"RDLENGTH\": 4,\n      \"RDATAHEX\": \"C0000201\"\n  "
			"  },\n    {\n"
			"      \"NAME\": \"example.\",\n      \"TYPE\": 65280,\n      \"TYPEname\": \"TYPE65280\",\n   "
			"   \"CLASS\": 1,\n"
			"      \"CLASSname\": \"IN\",\n      \"TTL\": 300,\n      \"RDLENGTH\": 1,\n      "
			"\"RDATAHEX\": \"FF\"\n    }\n"
			"  ],\n  \"EDNS\": {\n    \"Version\": 0,\n    \"FLAGS\": [\n      \"DO\"\n    ],\n"
			"    \"RCODE\": \"NXDOMAIN\",\n    \"UDPSIZE\": 1232\n  }\n}\n");
	free(out.data);
	free((void *)bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_wreck),
		cmocka_unit_test(test_trail),
		cmocka_unit_test(test_foot),
		cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
