/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rdata_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "libknot/rr/rdata_random.h"

static char printed[KNOT_RDATA_TEXT_MAX];

static const uint8_t origin_wire[] = "\7example";
static const knot_name_t origin = { origin_wire, 9, 1 };

/* Scans a heap copy of exactly the text's size, so that ASan sees a read of one byte more. */
static knot_err_t scan(uint16_t type, const char *text, size_t len, uint8_t ret[static KNOT_RDATA_MAX],
		uint16_t *ret_len, const char **ret_reason)
{
	char *copy = malloc(len + (len == 0));
	assert_non_null(copy);
	memcpy(copy, text, len);
	knot_err_t err = knot_rdata_scan(type, (knot_str_t){ copy, len }, origin,
			(knot_mut_bytes_t){ ret, KNOT_RDATA_MAX }, ret_len, ret_reason);
	free(copy);
	return err;
}

static uint16_t type_of(const char *mnemonic)
{
	uint16_t type;
	assert_int_equal(knot_rrtype_scan(knot_str_of(mnemonic), &type), KNOT_OK);
	return type;
}

/* What is written, and what is printed (NULL: the same). Printed forms are those of Knot 3.2.6 for types it knows. */
static const struct {
	const char *type, *text, *want;
} good[] = {
	{ "A", "192.0.2.1", NULL },
	{ "A", "\\# 4 C0000201", "192.0.2.1" },
	{ "A", "( 192.0.2.1 ) ; comment", "192.0.2.1" },
	{ "A", "(\n192.0.2.1 ; comment\n)", "192.0.2.1" },
	{ "AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
	{ "AAAA", "::ffff:1.2.3.4", NULL },
	{ "NS", "ns", "ns.example." },
	{ "NS", "@", "example." },
	{ "NS", ".", NULL },
	{ "NS", "a\\.b\\010.", NULL },
	{ "NS", "b\\\"c", "b\\\"c.example." },
	{ "SOA", "ns hostmaster 1 1h 1w 1209600 1d", "ns.example. hostmaster.example. 1 3600 604800 1209600 86400" },
	{ "SOA", "( a. b. 4294967295\n1H\n1w2d3h4m5s 1s 4294967295 )", "a. b. 4294967295 3600 788645 1 4294967295" },
	{ "MX", "10 mail.", NULL },
	{ "TXT", "plain \"quoted\" \"with;semi\"", "\"plain\" \"quoted\" \"with;semi\"" },
	{ "TXT", "\"quo\\\"te\" \"back\\\\slash\" \"\\000\\127\\255\\200\" \"\" \"tab\tx\" a\\ b",
			"\"quo\\\"te\" \"back\\\\slash\" \"\\000\\127\\255\\200\" \"\" \"tab\\009x\" \"a b\"" },
	{ "TXT", "( \"a\nb\" c )", "\"a\\010b\" \"c\"" },
	{ "TXT", "\"\\# 0\"", "\"# 0\"" },
	{ "TXT", "\\\\# 0", "\"\\\\#\" \"0\"" },
	{ "TXT", "\"( ; \"", "\"( ; \"" },
	{ "TXT", "\xC3\xA9", "\"\\195\\169\"" },
	{ "HINFO", "PC \"Li nux\"", "\"PC\" \"Li nux\"" },
	{ "MINFO", "a b", "a.example. b.example." },
	{ "RP", "a.b. txt", "a.b. txt.example." },
	{ "KEY", "256 3 8 AwEAAbcd", NULL },
	{ "KEY", "49152 3 0", NULL },
	{ "CERT", "PKIX 1 RSASHA256 AwEAAbcd", "1 1 8 AwEAAbcd" },
	{ "CERT", "oid 1 privateoid AwEAAbcd", "254 1 254 AwEAAbcd" },
	{ "LOC", "51 30 12.748 N 0 7 39.611 W 0.00m", "51 30 12.748 N  0 7 39.611 W  0m  1m 10000m 10m" },
	{ "LOC", "42 21 54 N 71 06 18 W -24m 30m 10m 5m", "42 21 54 N  71 6 18 W  -24m  30m 10m 5m" },
	{ "LOC", "0 0 0.001 S 180 0 0 E 42849672.95m 90000000.00m 0.01m 0.5m",
			"0 0 0.001 S  180 0 0 E  42849672.95m  90000000m 0.01m 0.50m" },
	{ "LOC", "1 n 2 e 1.5", "1 0 0 N  2 0 0 E  1.50m  1m 10000m 10m" },
	{ "LOC", "90 S 180 W -100000 0 0 0", "90 0 0 S  180 0 0 W  -100000m  0m 0m 0m" },
	{ "SRV", "1 2 65535 T.Example.", NULL },
	{ "NAPTR", "100 10 u E2U+sip \"!^.*$!sip:i@e.com!\" .", "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:i@e.com!\" ." },
	{ "APL", "1:192.168.32.0/21 !1:192.168.38.0/28 2:2001:db8::/32 1:0.0.0.0/0 1:10.1.2.3/8", NULL },
	{ "APL", "", "\\# 0" },
	{ "APL", "\\# 5 0003FF0101", NULL },
	{ "DS", "12345 RSASHA256 2 abcd EF", "12345 8 2 ABCDEF" },
	{ "DS", "12345 8 2 a b c d", "12345 8 2 ABCD" },
	{ "SSHFP", "2 1 123456789abcdef67890", "2 1 123456789ABCDEF67890" },
	{ "IPSECKEY", "10 1 2 192.0.2.38 AQNRU3mG", NULL },
	{ "IPSECKEY", "10 0 2 . AQNRU3mG", NULL },
	{ "IPSECKEY", "10 3 2 Gw AQNRU3mG", "10 3 2 Gw.example. AQNRU3mG" },
	{ "IPSECKEY", "10 2 2 2001:db8::1 AQ==", NULL },
	{ "IPSECKEY", "10 0 0 .", NULL },
	{ "RRSIG", "A 13 2 3600 20300101000000 1577836800 12345 @ AwEA Abcd",
			"A 13 2 3600 20300101000000 20200101000000 12345 example. AwEAAbcd" },
	{ "RRSIG", "TYPE3 13 2 3600 19700101000000 21060207062815 1 . AwEA", NULL },
	{ "RRSIG", "NSEC3 13 2 3600 20000229235959 20240229000000 1 . AwEA", NULL },
	{ "NSEC", "Next A TXT TYPE1234 TYPE65535 SPF", "Next.example. A TXT SPF TYPE1234 TYPE65535" },
	{ "NSEC", ". NSEC NSEC NXNAME", ". NSEC NXNAME" },
	{ "NSEC", ".", NULL },
	{ "DNSKEY", "256 3 ED25519 AwEA Abcd", "256 3 15 AwEAAbcd" },
	{ "DHCID", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=", NULL },
	{ "NSEC3", "1 1 12 aabbCCdd 2VPTU5timamqttgl4luu9kg21e0aor3s A RRSIG",
			"1 1 12 AABBCCDD 2vptu5timamqttgl4luu9kg21e0aor3s A RRSIG" },
	{ "NSEC3", "1 1 12 - 2vptu5timamqttgl4luu9kg21e0aor3s", NULL },
	{ "NSEC3", "1 1 12 - 04", NULL },
	{ "NSEC3PARAM", "1 0 12 -", NULL },
	{ "TLSA", "0 0 1 d2ab", "0 0 1 D2AB" },
	{ "CDS", "0 0 0 00", NULL },
	{ "CDNSKEY", "0 3 0 AA==", NULL },
	{ "OPENPGPKEY", "AwEAAbcd", NULL },
	{ "CSYNC", "66 3 A NS AAAA", NULL },
	{ "CSYNC", "66 3", NULL },
	{ "ZONEMD", "2018031500 1 1 000102030405060708090a0b", "2018031500 1 1 000102030405060708090A0B" },
	{ "SVCB", "0 foo.", NULL },
	{ "SVCB",
			"16 foo. alpn=\"h2,h3-19\" mandatory=ipv4hint,alpn ipv4hint=192.0.2.1,192.0.2.2 "
			"ipv6hint=2001:db8::1,2001:db8::53:1 port=53 key667=\"hello\\210qoo\" ech=AwEA key668",
			"16 foo. mandatory=alpn,ipv4hint alpn=h2,h3-19 port=53 ipv4hint=192.0.2.1,192.0.2.2 ech=AwEA "
			"ipv6hint=2001:db8::1,2001:db8::53:1 key667=\"hello\\210qoo\" key668" },
	/* RFC 9460 D.2, both spellings of its figure. */
	{ "SVCB", "16 foo.example.org. alpn=\"f\\\\\\\\oo\\\\,bar,h2\"",
			"16 foo.example.org. alpn=f\\\\\\\\oo\\\\,bar,h2" },
	{ "SVCB", "16 foo.example.org. alpn=f\\\\\\092oo\\092,bar,h2",
			"16 foo.example.org. alpn=f\\\\\\\\oo\\\\,bar,h2" },
	{ "SVCB", "1 . alpn=h2 no-default-alpn dohpath=/q{?dns} ohttp",
			"1 . alpn=h2 no-default-alpn dohpath=\"/q{?dns}\" ohttp" },
	{ "HTTPS", "1 . key667=\"a b,;\\\"\\\\x\"", NULL },
	{ "HTTPS", "1 . port=\"53\" key1=h2", "1 . alpn=h2 port=53" },
	{ "DSYNC", "CDS NOTIFY 5300 target.", NULL },
	{ "DSYNC", "CSYNC 1 5300 target.", "CSYNC NOTIFY 5300 target." },
	{ "DSYNC", "TYPE0 77 0 .", NULL },
	{ "SPF", "\"v=spf1\"", NULL },
	{ "NID", "10 0014:4fff:FF20:ee64", "10 0014:4FFF:FF20:EE64" },
	{ "L32", "10 10.1.2.0", NULL },
	{ "L64", "10 2001:DB8:1140:1000", "10 2001:0DB8:1140:1000" },
	{ "LP", "10 l64-subnet1", "10 l64-subnet1.example." },
	{ "EUI48", "00-00-5e-00-53-2a", "00-00-5E-00-53-2A" },
	{ "EUI64", "00-00-5e-ef-10-00-00-2a", "00-00-5E-EF-10-00-00-2A" },
	{ "URI", "10 1 \"ftp://a/pub\\\"lic\"", NULL },
	{ "CAA", "0 Issue \"ca.example.net; policy=ev\"", NULL },
	{ "CAA", "128 tbs Unknown", "128 tbs \"Unknown\"" },
	{ "CAA", "0 issue \"\"", NULL },
	{ "CAA", "0 is-\\032\\(sue x", "0 is-\\032\\040sue \"x\"" },
	{ "RESINFO", "qnamemin exterr=15-17", "\"qnamemin\" \"exterr=15-17\"" },
	{ "WALLET", "BTC x", "\"BTC\" \"x\"" },
	{ "ALIAS", "a", "a.example." },
	{ "NULL", "\\# 2 4142", NULL },
	{ "DELEG", "\\# 2 4142", NULL },
	{ "MD", "a", "\\# 11 0161076578616D706C6500" },
	{ "PX", "10 a. b.", "\\# 8 000A016100016200" },
	{ "TYPE65280", "\\# 4 0A0b 0c0d", "\\# 4 0A0B0C0D" },
	{ "TYPE65281", "\\# 0", NULL },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(good); i++) {
		uint8_t rdata[KNOT_RDATA_MAX], again[KNOT_RDATA_MAX];
		uint16_t len, again_len, type = type_of(good[i].type);
		const char *reason = "", *want = good[i].want != NULL ? good[i].want : good[i].text;
		knot_err_t err = scan(type, good[i].text, strlen(good[i].text), rdata, &len, &reason);
		if (err != KNOT_OK) {
			fail_msg("%s %s: %s", good[i].type, good[i].text, reason);
		}
		assert_int_equal(knot_rdata_check(type, (knot_bytes_t){ rdata, len }), KNOT_OK);
		size_t text_len = knot_rdata_print(type, (knot_bytes_t){ rdata, len }, printed, sizeof(printed));
		assert_string_equal(printed, want);
		assert_int_equal(text_len, strlen(want));
		assert_int_equal(scan(type, printed, text_len, again, &again_len, &reason), KNOT_OK);
		assert_int_equal(again_len, len);
		assert_memory_equal(again, rdata, len);
		assert_int_equal(knot_rdata_print(type, (knot_bytes_t){ rdata, len }, printed, text_len), 0);
	}
}

static const struct {
	const char *type, *text, *reason;
} bad[] = {
	{ "A", "", "missing data" },
	{ "A", "1.2.3", "invalid IPv4 address" },
	{ "A", "1.2.3.256", "invalid IPv4 address" },
	{ "A", "1.2.3.4.", "invalid IPv4 address" },
	{ "A", "1.2.3.04", "invalid IPv4 address" },
	{ "A", "\"1.2.3.4\"", "invalid IPv4 address" },
	{ "A", "1.2.3.4 5", "unexpected data" },
	{ "A", "1.2.3.4\n5", "unexpected data" },
	{ "A", "( 1.2.3.4", "unclosed parenthesis" },
	{ "A", "1.2.3.4 )", "too many right parentheses" },
	{ "A", "(( 1.2.3.4 ))", "too many left parentheses" },
	{ "A", "\\# 3 010203", "invalid record data" },
	{ "A", "\\# 4 010203", "the rdata length statement is incorrect" },
	{ "A", "\\# 4 0102030", "odd number of hexadecimal digits" },
	{ "A", "\\# x", "invalid number" },
	{ "A", "\\# 65536", "number is bigger than 16 bits" },
	{ "A", "\\#", "missing data" },
	{ "AAAA", "2001:db8", "invalid IPv6 address" },
	{ "AAAA", "fe80::1%lo", "invalid IPv6 address" },
	{ "NS", "a..b", "invalid domain name, empty label" },
	{ "NS", ".a", "invalid domain name, empty label" },
	{ "NS", "\"a\"", "invalid domain name" },
	{ "NS", "a\"b\"", "invalid domain name" },
	{ "NS", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			"invalid domain name, label longer than 63 bytes" },
	{ "NS", "a\\30", "invalid escape sequence" },
	{ "NS", "a\\", "invalid escape sequence" },
	{ "SOA", "a. b. 1 2 3 4", "missing data" },
	{ "SOA", "a. b. 1 2 3 4 5x", "invalid time unit" },
	{ "SOA", "a. b. 1 2 3 4 1h2", "invalid time unit" },
	{ "SOA", "a. b. 1 2 3 4 7102w", "number is bigger than 32 bits" },
	{ "SOA", "a. b. 1h 2 3 4 5", "invalid number" },
	{ "MX", "65536 a.", "number is bigger than 16 bits" },
	{ "MX", "-1 a.", "invalid number" },
	{ "TXT", "", "missing data" },
	{ "TXT", "\"a", "unclosed quoted string" },
	{ "TXT", "\"a\nb\"", "unclosed quoted string" },
	{ "TXT", "\"a\"b", "missing blank after quoted string" },
	{ "TXT", "\"a\"\"b\"", "missing blank after quoted string" },
	{ "TXT", "a\"b\"", "invalid text string" },
	{ "TXT", "\\256", "invalid escape sequence" },
	{ "TXT", "\\3a", "invalid escape sequence" },
	{ "TXT", "a\001", "invalid character" },
	{ "TXT", "\"\001\"", "invalid character" },
	{ "TXT", "a\rb", "carriage return without newline" },
	{ "DS", "1 8 2", "missing data" },
	{ "DS", "1 8 2 abc", "odd number of hexadecimal digits" },
	{ "DS", "1 8 2 xy", "invalid hexadecimal character" },
	{ "DS", "1 NOSUCH 2 ab", "invalid number" },
	{ "DS", "1 256 2 ab", "number is bigger than 8 bits" },
	{ "DNSKEY", "1 3 8", "missing data" },
	{ "DNSKEY", "1 3 8 A", "incomplete base64 data" },
	{ "DNSKEY", "1 3 8 AA=", "incomplete base64 data" },
	{ "DNSKEY", "1 3 8 A===", "invalid base64 character" },
	{ "DNSKEY", "1 3 8 AA==AA==", "invalid base64 character" },
	{ "DNSKEY", "1 3 8 AA=A", "invalid base64 character" },
	{ "DNSKEY", "1 3 8 A-AA", "invalid base64 character" },
	{ "RRSIG", "NOSUCH 13 2 3600 0 0 1 . AwEA", "unsupported record type" },
	{ "RRSIG", "A 13 2 3600 21060207062816 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 2030010100000 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 19691231235959 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 20230229000000 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 20231301000000 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 20230101240000 0 1 . AwEA", "invalid timestamp" },
	{ "RRSIG", "A 13 2 3600 2023010124000x 0 1 . AwEA", "invalid timestamp" },
	{ "NSEC", ". A NOSUCH", "invalid bitmap, unsupported record type" },
	{ "NSEC", ". A \"A\"", "invalid bitmap" },
	{ "NSEC3", "1 0 0 abc 04", "odd number of hexadecimal digits" },
	{ "NSEC3", "1 0 0 - 0", "invalid length of base32hex data" },
	{ "NSEC3", "1 0 0 - 0w", "invalid base32hex character" },
	{ "EUI48", "00-00-5E-00-53", "invalid EUI address" },
	{ "EUI48", "00:00:5E:00:53:2A", "invalid EUI address" },
	{ "EUI48", "00-00-5E-00-53-2A-", "invalid EUI address" },
	{ "NID", "1 0014:4fff:ff20", "invalid node identifier" },
	{ "NID", "1 0014:4fff:ff20:ee64:1", "invalid node identifier" },
	{ "NID", "1 :4fff:ff20:ee64", "invalid node identifier" },
	{ "NID", "1 00014:4fff:ff20:ee64", "invalid node identifier" },
	{ "LOC", "91 N 0 E 0", "invalid location" },
	{ "LOC", "90 0 1 N 0 E 0", "invalid location" },
	{ "LOC", "1 60 N 0 E 0", "invalid location" },
	{ "LOC", "1 1 60 N 0 E 0", "invalid location" },
	{ "LOC", "1 1 1.2345 N 0 E 0", "invalid location" },
	{ "LOC", "1 N 1 E -100000.01", "invalid location" },
	{ "LOC", "1 N 1 E 0 90000001m", "invalid location" },
	{ "LOC", "1 N 1 E 0 1 1 1 1", "unexpected data" },
	{ "LOC", "N 1 E 0", "invalid location" },
	{ "APL", "192.0.2.0/24", "invalid address prefix" },
	{ "APL", "1:192.0.2.0", "invalid address prefix" },
	{ "APL", "1:192.0.2.0/33", "invalid address prefix" },
	{ "APL", "3:192.0.2.0/3", "invalid address prefix" },
	{ "IPSECKEY", "10 4 2 .", "invalid gateway type" },
	{ "IPSECKEY", "10 0 2 a.", "invalid gateway" },
	{ "ZONEMD", "1 1 1", "missing data" },
	{ "CAA", "0 \"issue\" x", "invalid tag" },
	{ "CAA", "0 issue", "missing data" },
	{ "URI", "1 1 \"\"", "missing data" },
	{ "SVCB", "1 . nosuch=1", "invalid SvcParam key" },
	{ "SVCB", "1 . key65535=1", "invalid SvcParam key" },
	{ "SVCB", "1 . key01=1", "invalid SvcParam key" },
	{ "SVCB", "1 . \"port=1\"", "invalid SvcParam key" },
	{ "SVCB", "1 . port=1 port=2", "duplicate SvcParam key" },
	{ "SVCB", "1 . key0=\\000\\003 port=1",
			"invalid SvcParam value" }, /* keyN of a known key takes that key's form */
	{ "SVCB", "1 . port", "missing SvcParam value" },
	{ "SVCB", "1 . port=65536", "invalid SvcParam value" },
	{ "SVCB", "1 . alpn=h2,", "invalid SvcParam value" },
	{ "SVCB", "1 . alpn=h2,,h3", "invalid SvcParam value" },
	{ "SVCB", "1 . ipv4hint=1.2.3", "invalid SvcParam value" },
	{ "SVCB", "1 . key700=a\"b\"", "invalid SvcParam value" },
	{ "SVCB", "1 . alpn=h2 no-default-alpn=1", "unexpected SvcParam value" },
	{ "SVCB", "1 . mandatory=port,port port=1", "duplicate SvcParam key" },
	{ "SVCB", "1 . mandatory=port", "invalid SvcParams, mandatory key missing or invalid value" },
	{ "SVCB", "1 . no-default-alpn", "invalid SvcParams, mandatory key missing or invalid value" },
	{ "NULL", "x", "unable to process text form for this type" },
	{ "TYPE65280", "1.2.3.4", "unable to process text form for this type" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(bad); i++) {
		uint8_t rdata[KNOT_RDATA_MAX];
		uint16_t len = 7777;
		const char *reason = "accepted";
		knot_err_t err = scan(type_of(bad[i].type), bad[i].text, strlen(bad[i].text), rdata, &len, &reason);
		if (err != KNOT_EPARSEFAIL || strcmp(reason, bad[i].reason) != 0) {
			fail_msg("%s %s: '%s' instead of '%s'", bad[i].type, bad[i].text, reason, bad[i].reason);
		}
		assert_int_equal(len, 7777);
	}
}

/* For every row: wire to text to wire gives the same bytes, typed and generic. */
static void test_round_trip(void **state)
{
	(void)state;
	random_seed();
	size_t count;
	const knot_rrdesc_t *rows = knot_rrdesc_rows(&count);
	for (size_t i = 0; i < count * 200; i++) {
		const knot_rrdesc_t *row = &rows[i % count];
		uint8_t wire[16384], again[KNOT_RDATA_MAX];
		size_t len = random_rdata(row, wire, sizeof(wire));
		size_t text_len = knot_rdata_print(row->type, (knot_bytes_t){ wire, len }, printed, sizeof(printed));
		assert_true(text_len > 0 && text_len == strlen(printed));
		uint16_t again_len;
		const char *reason = "";
		if (scan(row->type, printed, text_len, again, &again_len, &reason) != KNOT_OK) {
			fail_msg("%s %s: %s", row->mnemonic, printed, reason);
		}
		if (again_len != len || memcmp(again, wire, len) != 0) {
			fail_msg("%s %s: other bytes", row->mnemonic, printed);
		}
		text_len = knot_rdata_print(65279, (knot_bytes_t){ wire, len }, printed, sizeof(printed));
		assert_memory_equal(printed, "\\# ", 3);
		assert_int_equal(scan(row->type, printed, text_len, again, &again_len, &reason), KNOT_OK);
		assert_int_equal(again_len, len);
		assert_memory_equal(again, wire, len);
	}
}

#define TEXT_64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT_256 TEXT_64 TEXT_64 TEXT_64 TEXT_64

/* The longest RDATA of each greedy kind; what has no room in text is printed generically. */
static void test_longest(void **state)
{
	(void)state;
	static uint8_t wire[KNOT_RDATA_MAX], again[KNOT_RDATA_MAX];
	uint16_t again_len;
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ wire, sizeof(wire) });
	knot_write_u8(&w, 0);
	for (unsigned window = 0; window < 256; window++) {
		knot_write_u8(&w, (uint8_t)window);
		knot_write_u8(&w, 32);
		memset(knot_write_room(&w, 32), 0xFF, 32);
	}
	size_t text_len = knot_rdata_print(KNOT_TYPE_NSEC, (knot_bytes_t){ wire, w.len }, printed, sizeof(printed));
	assert_memory_equal(printed, "\\# ", 3);
	assert_int_equal(scan(KNOT_TYPE_NSEC, printed, text_len, again, &again_len, NULL), KNOT_OK);
	assert_int_equal(again_len, w.len);
	assert_memory_equal(again, wire, w.len);

	memset(wire, 0, sizeof(wire)); /* 65535 empty strings, then 16383 addresses */
	text_len = knot_rdata_print(KNOT_TYPE_TXT, (knot_bytes_t){ wire, sizeof(wire) }, printed, sizeof(printed));
	assert_int_equal(text_len, 3 * 65535 - 1);
	assert_int_equal(scan(KNOT_TYPE_TXT, printed, text_len, again, &again_len, NULL), KNOT_OK);
	assert_int_equal(again_len, 65535);
	memcpy(wire, "\0\1\0\0\4\xFF\xEC", 7);
	memset(wire + 7, 0xC8, 0xFFEC);
	text_len = knot_rdata_print(KNOT_TYPE_HTTPS, (knot_bytes_t){ wire, 7 + 0xFFEC }, printed, sizeof(printed));
	assert_int_equal(scan(KNOT_TYPE_HTTPS, printed, text_len, again, &again_len, NULL), KNOT_OK);
	assert_int_equal(again_len, 7 + 0xFFEC);
	assert_memory_equal(again, wire, again_len);

	memset(printed, 'a', 70000 * 2);
	memcpy(printed, "1 3 8 ", 6);
	const char *reason = "";
	assert_int_equal(scan(KNOT_TYPE_DNSKEY, printed, 70000 * 2, again, &again_len, &reason), KNOT_EPARSEFAIL);
	assert_string_equal(reason, "record data is too long");
}

/* Texts of `len` bytes in one piece, as parts of 255: so many bytes of RDATA; 0: too long. */
static void test_long_text(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		size_t len, rdata_len;
	} rows[] = {
		{ KNOT_TYPE_TXT, 255, 256 }, { KNOT_TYPE_TXT, 256, 258 }, { KNOT_TYPE_TXT, 510, 512 },
		{ KNOT_TYPE_TXT, 511, 514 }, { 99, 300, 302 }, /* SPF */
		{ KNOT_TYPE_TXT, 65279, 65535 }, { KNOT_TYPE_TXT, 65280, 0 }, { KNOT_TYPE_TXT, 70000, 0 },
		{ 13, 256, 0 }, /* HINFO */
	};
	for (size_t i = 0; i < KNOT_LEN(rows) * 2; i++) {
		size_t row = i / 2, text_len = rows[row].len, at = 0, seen = 0;
		uint8_t *out = malloc(KNOT_RDATA_MAX);
		uint16_t len;
		memset(printed, 'a', text_len);
		if (i % 2 == 1) { /* the same with an escape, so that the text isn't taken as it is */
			memcpy(printed + text_len - 1, "\\097", 4);
			text_len += 3;
		}
		knot_err_t err = scan(rows[row].type, printed, text_len, out, &len, NULL);
		assert_int_equal(err, rows[row].rdata_len == 0 ? KNOT_EPARSEFAIL : KNOT_OK);
		for (; err == KNOT_OK && at < len; at += 1u + out[at]) {
			assert_true(out[at] == 255 || at + 1u + out[at] == len);
			for (size_t j = 0; j < out[at]; j++, seen++) {
				assert_int_equal(out[at + 1 + j], 'a');
			}
		}
		if (err == KNOT_OK) {
			assert_int_equal(len, rows[row].rdata_len);
			assert_int_equal(seen, rows[row].len);
		}
		free(out);
	}
}

static void test_space(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *text;
		uint16_t len;
	} rows[] = {
		{ 1, "1.2.3.4", 4 },
		{ 2, "ab.c.", 6 },
		{ 16, "abc \"\\100\"", 6 },
		{ 16, TEXT_256, 258 },
		{ 48, "1 3 8 AAAA", 7 },
		{ 43, "1 8 2 abcd", 6 },
		{ 50, "1 0 0 - 04 A", 10 },
		{ 64, "1 . port=1", 9 },
		{ 257, "0 issue ab", 9 },
		{ 65280, "\\# 2 0000", 2 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		for (uint16_t max = 0; max <= rows[i].len; max++) {
			uint8_t *out = malloc(max + (max == 0));
			uint16_t len;
			knot_err_t err = knot_rdata_scan(rows[i].type, knot_str_of(rows[i].text), knot_name_root,
					(knot_mut_bytes_t){ out, max }, &len, NULL);
			if (err != (max < rows[i].len ? KNOT_ESPACE : KNOT_OK)) {
				fail_msg("%s into %u bytes: %s", rows[i].text, max, knot_strerror(err));
			}
			free(out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_space),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
