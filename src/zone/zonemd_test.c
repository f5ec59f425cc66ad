/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of zones: the example of RFC 8976 A.1, and zones for which dnspython 2.3 computed the same. */
#include "src/zone/zonemd.h"

#include "libknot/rr/rrtype.h"
#include "src/zone/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RFC_DIGEST "c68090d90a7aed716bc459f9340e3d7c1370d4d24b7e2fc3a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c"

static uint8_t example_wire[] = "\7example", q_wire[] = "\1q";
static const knot_name_t example = { example_wire, 9, 1 }, q = { q_wire, 3, 1 };

static const char rfc_text[] =
		"@ 86400 SOA ns1 admin 2018031900 1800 900 604800 86400\n@ 86400 NS ns1\n@ 86400 NS ns2\n"
		"ns1 3600 A 203.0.113.63\nns2 3600 AAAA 2001:db8::63\n";

/* Names in upper case, glue, what lies below a cut and below a DNAME, a wildcard, an empty non-terminal. */
static const char apart_text[] = "@ 60 SOA M.q R 7 1 1 1 60\n"
				 "@ 60 NS Ns.Sub\n"
				 "@ 60 MX 5 Mail.Example.\n"
				 "a 60 A 192.0.2.1\n"
				 "*.w 60 TXT \"x\" \"y\"\n"
				 "sub 60 NS Ns.sub\n"
				 "sub 60 DS 1 8 2 0000000000000000000000000000000000000000000000000000000000000001\n"
				 "ns.sub 5 A 192.0.2.3\n"
				 "ns.sub 5 AAAA 2001:db8::1\n"
				 "below.sub 9 TXT occluded\n"
				 "dn 60 DNAME a\n"
				 "below.dn 60 TXT covered\n"
				 "zz 60 SRV 1 2 3 A\n"
				 "zz 60 TYPE65280 \\# 3 010203\n"
				 "ZZ 60 A 192.0.2.9\n"
				 "ZZ 60 A 10.0.0.9\n"
				 "b.a.c 60 A 192.0.2.1\n";

/* Signatures without what they sign and at several types; owners of NSEC3 records between other names, and one that has
 * other records, too. */
static const char signed_text[] =
		"@ 60 SOA m r 7 1 1 1 60\n"
		"@ 60 RRSIG SOA 8 1 60 20300101000000 20200101000000 1 Q. AQID\n"
		"@ 60 RRSIG NS 8 1 60 20300101000000 20200101000000 1 q. AQIE\n"
		"@ 60 RRSIG ZONEMD 8 1 60 20300101000000 20200101000000 1 q. AQIF\n"
		"@ 60 RRSIG DNSKEY 8 1 60 20300101000000 20200101000000 1 q. AQIG\n"
		"@ 60 RRSIG DNSKEY 13 1 60 20300101000000 20200101000000 1 q. AQIF\n"
		"@ 60 NS m\n"
		"@ 60 DNSKEY 257 3 8 AwEAAQ==\n"
		"@ 60 NSEC3PARAM 1 0 0 -\n"
		"@ 60 ZONEMD 6 1 1 "
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 0 0 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 q. AQIH\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 NSEC3 1 0 0 - 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A RRSIG\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 A 192.0.2.7\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 q. AQIJ\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 q. AQIK\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 CAA 0 issue \"x\"\n"
		"1a 60 A 192.0.2.1\n"
		"1a 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 q. AQII\n"
		"m 60 A 192.0.2.1\n"
		"m 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 q. AQII\n"
		"m 60 TYPE65280 \\# 1 07\n"
		"m 60 RRSIG TYPE65280 8 2 60 20300101000000 20200101000000 1 q. AQIH\n";

static zone_contents_t *build(knot_name_t origin, const char *text)
{
	const zone_build_params_t params = { .origin = origin, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT };
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "text", &params, &zone), KNOT_OK);
	return zone;
}

static void test_digests(void **state)
{
	(void)state;
	static const struct {
		const knot_name_t *origin;
		const char *text;
		unsigned algorithm;
		uint32_t serial, ttl;
		const char *digest;
	} rows[] = {
		{ &example, rfc_text, ZONEMD_SHA384, 2018031900, 86400, RFC_DIGEST },
		{ &q, apart_text, ZONEMD_SHA384, 7, 60,
				"2ff6036d50f7ad066bfedca0be094385d5753d0cb64c3269acd59c59a294738989c82feb51f521adbec0ed"
				"84026e92df" },
		{ &q, apart_text, ZONEMD_SHA512, 7, 60,
				"37215906cae5b07c26ef4d84f8a675d916403af9547903865bb6faf2bf9e2dfedd9b49bc024ec6330ebf72"
				"278b64da55"
				"22da636e491f6bc910b98c25adc80475" },
		{ &q, signed_text, ZONEMD_SHA384, 7, 60,
				"13d32121d88021dadda220992eb6a35cc7a7e1708d47343db2d7cda995fbcc3743974d096d47863a7fb989"
				"096d72a575" },
		{ &q, signed_text, ZONEMD_SHA512, 7, 60,
				"2ece18079b607f9261e833c64971a120bbd8e407059bb07fdda148ea97b91aabb095158117b574e1d3a7c7"
				"d21225e122e"
				"4c82b0caa1065bf6b7cae3ddeafaa07" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *zone = build(*rows[i].origin, rows[i].text);
		zonemd_record_t record;
		assert_int_equal(zonemd_make(zone, rows[i].algorithm, &record), KNOT_OK);
		assert_int_equal(record.ttl, rows[i].ttl);
		assert_int_equal(load_be32(record.rdata), rows[i].serial);
		assert_int_equal(record.rdata[4], ZONEMD_SCHEME_SIMPLE);
		assert_int_equal(record.rdata[5], rows[i].algorithm);
		char digest[2 * ZONEMD_DIGEST_MAX + 1] = "";
		for (size_t at = 6; at < record.len; at++) {
			snprintf(digest + 2 * (at - 6), 3, "%02x", record.rdata[at]);
		}
		assert_string_equal(digest, rows[i].digest);
		assert_false(zonemd_is_only(zone, &record));
		zone_contents_free(zone);
	}
}

static void test_unknown_algorithm(void **state)
{
	(void)state;
	zone_contents_t *zone = build(example, rfc_text);
	zonemd_record_t record;
	assert_int_equal(zonemd_make(zone, 0, &record), KNOT_EHASH);
	assert_int_equal(zonemd_make(zone, 3, &record), KNOT_EHASH);
	zone_contents_free(zone);
}

#define ZERO_384 "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
#define ZERO_512 ZERO_384 "00000000000000000000000000000000"

static void test_verify(void **state)
{
	(void)state;
	static const struct {
		const char *records;
		knot_err_t err;
	} rows[] = {
		{ "", KNOT_CONF_ENOTEXIST },
		{ "@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n", KNOT_OK },
		{ "@ 86400 ZONEMD 2018031900 1 1 " ZERO_384 "\n", KNOT_EMALF },
		{ "@ 86400 ZONEMD 2018031901 1 1 " RFC_DIGEST "\n", KNOT_ENOTSUP },
		{ "@ 86400 ZONEMD 2018031900 2 1 " RFC_DIGEST "\n", KNOT_ENOTSUP },
		{ "@ 86400 ZONEMD 2018031900 1 3 " RFC_DIGEST "\n", KNOT_ENOTSUP },
		{ "@ 86400 ZONEMD 2018031900 1 240 " RFC_DIGEST "\n@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n",
				KNOT_OK },
		{ "@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n@ 86400 ZONEMD 2018031900 1 2 " ZERO_512 "\n",
				KNOT_OK },
		{ "@ 86400 ZONEMD 2018031900 1 1 " ZERO_384 "\n@ 86400 ZONEMD 2018031900 1 2 " ZERO_512 "\n",
				KNOT_EMALF },
		{ "@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n@ 86400 ZONEMD 2018031900 1 1 " ZERO_384 "\n",
				KNOT_ESEMCHECK },
		{ "@ 86400 ZONEMD 2018031900 7 9 " ZERO_384 "\n@ 86400 ZONEMD 1 7 9 " ZERO_384 "\n", KNOT_ESEMCHECK },
		{ "@ 86400 ZONEMD 2018031900 1 2 " RFC_DIGEST "\n", KNOT_EFEWDATA },
		/* Not of the zone: at another name. */
		{ "ns1 3600 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n", KNOT_CONF_ENOTEXIST },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[2000];
		snprintf(text, sizeof(text), "%s%s", rfc_text, rows[i].records);
		zone_contents_t *zone = build(example, text);
		assert_int_equal(zonemd_verify(zone), rows[i].err);
		zone_contents_free(zone);
	}
}

static void test_only(void **state)
{
	(void)state;
	static const struct {
		const char *records;
		bool is_only, is_none;
	} rows[] = {
		{ "", false, true },
		{ "@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n", true, false },
		{ "@ 86399 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n", false, false },
		{ "@ 86400 ZONEMD 2018031900 1 1 " ZERO_384 "\n", false, false },
		{ "@ 86400 ZONEMD 2018031900 1 1 " RFC_DIGEST "\n@ 86400 ZONEMD 2018031900 1 3 " ZERO_384 "\n", false,
				false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[2000];
		zonemd_record_t record;
		snprintf(text, sizeof(text), "%s%s", rfc_text, rows[i].records);
		zone_contents_t *zone = build(example, text);
		assert_int_equal(zonemd_make(zone, ZONEMD_SHA384, &record), KNOT_OK);
		assert_int_equal(zonemd_is_only(zone, &record), rows[i].is_only);
		assert_int_equal(zonemd_is_only(zone, NULL), rows[i].is_none);
		zone_contents_free(zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_unknown_algorithm),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
