/* SPDX-License-Identifier: BSD-2-Clause */
/* Each EDNS option in its three forms. */
#include "src/present/edns.h"
#include "src/present/test_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static const struct {
	uint16_t code;
	const char *data, *line, *json, *word;
} rows[] = {
	{ 3, "", "NSID: ", "\"NSID\": {\n      \"HEX\": \"\"\n    }", "NSID=" },
	{ 3, "6e73", "NSID: 6E73 \"ns\"", "\"NSID\": {\n      \"HEX\": \"6E73\",\n      \"TEXT\": \"ns\"\n    }",
			"NSID=6E73" },
	{ 3, "00ff", "NSID: 00FF", "\"NSID\": {\n      \"HEX\": \"00FF\"\n    }", "NSID=00FF" },
	{ 8, "00011800c00002", "CLIENT-SUBNET: 192.0.2.0/24/0", "\"ECS\": \"192.0.2.0/24/0\"", "ECS=192.0.2.0/24/0" },
	{ 8, "00022010fe800001", "CLIENT-SUBNET: fe80:1::/32/16", "\"ECS\": \"fe80:1::/32/16\"", "ECS=fe80:1::/32/16" },
	{ 8, "00012100c0000201ff", "CLIENT-SUBNET: 00012100C0000201FF (malformed)", "\"ECS\": \"00012100C0000201FF\"",
			"ECS=00012100C0000201FF" },
	{ 8, "", "CLIENT-SUBNET: (malformed)", "\"ECS\": \"\"", "ECS=" },
	{ 9, "", "EXPIRE: (empty)", "\"EXPIRE\": \"NONE\"", "EXPIRE=NONE" },
	{ 9, "00000e10", "EXPIRE: 3600 (1 hour)", "\"EXPIRE\": \"3600\"", "EXPIRE=3600" },
	{ 9, "0e10", "EXPIRE: 0E10 (malformed)", "\"EXPIRE\": \"0E10\"", "EXPIRE=0E10" },
	{ 10, "0102030405060708", "COOKIE: 0102030405060708", "\"COOKIE\": [\n      \"0102030405060708\"\n    ]",
			"COOKIE=0102030405060708" },
	{ 10, "0102030405060708aabb", "COOKIE: 0102030405060708AABB",
			"\"COOKIE\": [\n      \"0102030405060708\",\n      \"AABB\"\n    ]",
			"COOKIE=0102030405060708,AABB" },
	{ 10, "01", "COOKIE: 01", "\"COOKIE\": \"01\"", "COOKIE=01" },
	{ 11, "", "KEEPALIVE: (empty)", "\"KEEPALIVE\": null", "KEEPALIVE=" },
	{ 11, "006e", "KEEPALIVE: 11.0 s", "\"KEEPALIVE\": 110", "KEEPALIVE=110" },
	{ 11, "6e", "KEEPALIVE: 6E (malformed)", "\"KEEPALIVE\": \"6E\"", "KEEPALIVE=6E" },
	{ 12, "0000", "PADDING: 2 B", "\"PADDING\": {\n      \"LENGTH\": 2\n    }", "PADDING=2" },
	{ 12, "0001", "PADDING: 2 B", "\"PADDING\": {\n      \"LENGTH\": 2,\n      \"HEX\": \"0001\"\n    }",
			"PADDING=2" },
	{ 13, "016100", "CHAIN: a.", "\"CHAIN\": \"a.\"", "CHAIN=a." },
	{ 13, "0161", "CHAIN: 0161 (malformed)", "\"CHAIN\": \"0161\"", "CHAIN=0161" },
	{ 15, "0012", "EDE: 18 (Prohibited)",
			"\"EDE\": {\n      \"CODE\": 18,\n      \"Purpose\": \"Prohibited\"\n    }", "EDE=18" },
	{ 15, "00ff1b5b22", "EDE: 255 (Unknown code): '\\027[\"'",
			"\"EDE\": {\n      \"CODE\": 255,\n      \"TEXT\": \"\\u001b[\\\"\"\n    }",
			"EDE=255,\"\\027[\\\"\"" },
	{ 15, "0000686900", "EDE: 0 (Other): 'hi'",
			"\"EDE\": {\n      \"CODE\": 0,\n      \"Purpose\": \"Other\",\n      \"TEXT\": "
			"\"hi\\u0000\"\n    }",
			"EDE=0,\"hi\\000\"" },
	{ 15, "0e", "EDE: 0E (malformed)", "\"EDE\": \"0E\"", "EDE=0E" },
	{ 18, "016100", "REPORTCHANNEL: a.", "\"REPORTCHANNEL\": \"a.\"", "REPORTCHANNEL=a." },
	{ 19, "", "ZONEVERSION: (empty)", "\"ZONEVERSION\": \"\"", "ZONEVERSION=" },
	{ 19, "010000000007", "ZONEVERSION: SOA-SERIAL: 7 (example.)",
			"\"ZONEVERSION\": {\n      \"LABELS\": 1,\n      \"TYPE\": \"SOA-SERIAL\",\n      \"VERSION\": "
			"7\n    }",
			"ZONEVERSION=010000000007" },
	{ 19, "090000000007", "ZONEVERSION: SOA-SERIAL: 7 (9 labels)",
			"\"ZONEVERSION\": {\n      \"LABELS\": 9,\n      \"TYPE\": \"SOA-SERIAL\",\n      \"VERSION\": "
			"7\n    }",
			"ZONEVERSION=090000000007" },
	{ 19, "0105abcd", "ZONEVERSION: TYPE5: ABCD (example.)", "\"ZONEVERSION\": \"0105ABCD\"",
			"ZONEVERSION=0105ABCD" },
	{ 65001, "6869", "Option (65001): 6869", "\"OPT65001\": \"6869\"", "OPT65001=6869" },
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		present_style_t style = present_style();
		present_message_t message;
		present_text_t text = { 0 };
		char wire[1024], want[1024];
		size_t len = strlen(rows[i].data) / 2;
		snprintf(wire, sizeof(wire),
				TEST_HEADER("8000", "0001000000000001")
						TEST_QUESTION("0001") "00002904d000008000%04zx%04x%04zx%s",
				len + 4, rows[i].code, len, rows[i].data);
		knot_bytes_t bytes = test_bytes(wire);
		assert_true(present_read(bytes, &message));
		present_edns_put(&text, &style, &message);
		present_text_char(&text, '\0');
		snprintf(want, sizeof(want), ";; Version: 0; flags: do; UDP size: 1232 B; ext-rcode: NOERROR\n;; %s\n",
				rows[i].line);
		assert_string_equal(text.data, want);
		text.len = 0;
		present_edns_put_line(&text, &style, &message);
		present_text_char(&text, '\0');
		snprintf(want, sizeof(want), ";; Version=0 FLAGS=DO RCODE=NOERROR UDPSIZE=1232 %s\n", rows[i].word);
		assert_string_equal(text.data, want);
		present_text_done(&text);

		knot_json_buffer_t out = { 0 };
		knot_json_t json = knot_json_of(knot_json_to_buffer, &out);
		knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		present_edns_put_json(&json, &message);
		knot_json_close(&json);
		assert_true(knot_json_end(&json));
		snprintf(want, sizeof(want),
				"{\n  \"EDNS\": {\n    \"Version\": 0,\n    \"FLAGS\": [\n      \"DO\"\n    ],\n    "
				"\"RCODE\": \"NOERROR\",\n"
				"    \"UDPSIZE\": 1232,\n    %s\n  }\n}\n",
				rows[i].json);
		assert_string_equal(out.data, want);
		free(out.data);
		free((void *)bytes.data);
	}
}

static void test_opttext(void **state)
{
	(void)state;
	present_style_t style = present_style();
	present_message_t message;
	present_text_t text = { 0 };
	style.shows |= PRESENT_OPT_TEXT;
	knot_bytes_t bytes = test_bytes(TEST_HEADER("8000", "0000000000000001") "00002902000000c000"
										"000c"
										"fde900026869"
										"fdea000200ff");
	assert_true(present_read(bytes, &message));
	present_edns_put(&text, &style, &message);
	present_text_char(&text, '\0');
	assert_string_equal(text.data, ";; Version: 0; flags: do de; UDP size: 512 B; ext-rcode: NOERROR\n"
				       ";; Option (65001): hi\n;; Option (65002): 00FF\n");
	present_text_done(&text);
	free((void *)bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms), cmocka_unit_test(test_opttext) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
