/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/rr/rdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "libknot/rr/rdata_random.h"

enum { HEX_MAX = 512 };

/* Hex with blanks into a heap block of exactly that size, so that ASan sees a read of one byte more. */
static knot_mut_bytes_t unhex(const char *hex)
{
	uint8_t bytes[HEX_MAX];
	size_t digits = 0;
	for (; *hex != '\0'; hex++) {
		if (*hex == ' ') {
			continue;
		}
		uint8_t digit = (uint8_t)(*hex <= '9' ? *hex - '0' : (*hex | 0x20) - 'a' + 10);
		bytes[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : bytes[digits / 2] | digit);
		digits++;
		assert_true(digits / 2 < HEX_MAX);
	}
	uint8_t *copy = malloc(digits / 2 + (digits == 0));
	assert_non_null(copy);
	memcpy(copy, bytes, digits / 2);
	return (knot_mut_bytes_t){ copy, digits / 2 };
}

static void test_check(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint16_t type;
		const char *hex;
		bool is_valid;
	} rows[] = {
		{ "A", 1, "c0000201", true },
		{ "A too short", 1, "c00002", false },
		{ "A too long", 1, "c000020100", false },
		{ "A empty", 1, "", false },
		{ "NS", 2, "01 61 00", true },
		{ "NS without root label", 2, "01 61", false },
		{ "NS label past the end", 2, "05 61 00", false },
		{ "NS compressed", 2, "c0 0c", false },
		{ "NS trailing byte", 2, "01 61 00 00", false },
		{ "NS empty", 2, "", false },
		{ "SOA", 6, "00 00 00000001 00000002 00000003 00000004 00000005", true },
		{ "SOA short", 6, "00 00 00000001 00000002 00000003 00000004 000000", false },
		{ "MX", 15, "0001 00", true },
		{ "MX preference only", 15, "0001", false },
		{ "TXT", 16, "01 61 00 02 6161", true },
		{ "TXT one empty string", 16, "00", true },
		{ "TXT no string", 16, "", false },
		{ "TXT string cut short", 16, "03 6161", false },
		{ "HINFO", 13, "00 00", true },
		{ "HINFO one string", 13, "00", false },
		{ "AAAA", 28, "20010db8000000000000000000000001", true },
		{ "AAAA short", 28, "20010db80000000000000000000000", false },
		{ "LOC", 29, "00 12 16 13 80000000 80000000 00989680", true },
		{ "LOC version 1", 29, "01 12 16 13 80000000 80000000 00989680", false },
		{ "LOC mantissa 10", 29, "00 a2 16 13 80000000 80000000 00989680", false },
		{ "LOC exponent 10", 29, "00 12 1a 13 80000000 80000000 00989680", false },
		{ "LOC beyond the pole", 29, "00 12 16 13 00000000 80000000 00989680", false },
		{ "SRV", 33, "0001 0002 0003 00", true },
		{ "NAPTR", 35, "0001 0002 00 00 00 00", true },
		{ "NAPTR no replacement", 35, "0001 0002 00 00 00", false },
		{ "APL empty", 42, "", true },
		{ "APL", 42, "0001 18 83 c00002 0002 20 04 20010db8", true },
		{ "APL trailing zero", 42, "0001 18 04 c0000200", false },
		{ "APL IPv4 prefix 33", 42, "0001 21 03 c00002", false },
		{ "APL IPv4 of 5 bytes", 42, "0001 18 05 c000020101", false },
		{ "APL unknown family", 42, "0003 ff 01 01", true },
		{ "APL cut short", 42, "0001 18 03 c000", false },
		{ "DS", 43, "3039 08 02 ab", true },
		{ "DS without digest", 43, "3039 08 02", false },
		{ "KEY without key", 25, "c000 03 00", true },
		{ "DNSKEY without key", 48, "0100 03 08", false },
		{ "RRSIG", 46, "0001 08 02 00000e10 00000000 00000000 0001 00 41", true },
		{ "RRSIG without signature", 46, "0001 08 02 00000e10 00000000 00000000 0001 00", false },
		{ "NSEC", 47, "00 0006 400000000003", true },
		{ "NSEC without types", 47, "00", true },
		{ "NSEC window of 0 bytes", 47, "00 0000", false },
		{ "NSEC window of 33 bytes", 47,
				"00 0021 000000000000000000000000000000000000000000000000000000000000000001", false },
		{ "NSEC trailing zero", 47, "00 0002 4000", false },
		{ "NSEC windows backwards", 47, "00 0101 40 0001 40", false },
		{ "NSEC window twice", 47, "00 0001 40 0001 40", false },
		{ "NSEC window cut short", 47, "00 0002 40", false },
		{ "NSEC3", 50, "01 00 0000 00 01 aa 0001 40", true },
		{ "NSEC3 empty hash", 50, "01 00 0000 00 00 0001 40", false },
		{ "NSEC3 salt cut short", 50, "01 00 0000 05 aa", false },
		{ "NSEC3PARAM", 51, "01 00 000c 02 aabb", true },
		{ "NSEC3PARAM trailing", 51, "01 00 000c 02 aabbcc", false },
		{ "IPSECKEY no gateway", 45, "0a 00 02 41", true },
		{ "IPSECKEY IPv4", 45, "0a 01 02 c0000201 41", true },
		{ "IPSECKEY IPv4 short", 45, "0a 01 02 c00002", false },
		{ "IPSECKEY name", 45, "0a 03 02 01 61 00 41", true },
		{ "IPSECKEY type 4", 45, "0a 04 02 41", false },
		{ "ZONEMD", 63, "00000001 01 01 0102030405060708090a0b0c", true },
		{ "ZONEMD without digest", 63, "00000001 01 01", false },
		{ "SVCB alias", 64, "0000 01 61 00", true },
		{ "SVCB alpn", 64, "0001 00 0001 0003 02 6832", true },
		{ "SVCB alpn empty id", 64, "0001 00 0001 0001 00", false },
		{ "SVCB alpn id cut", 64, "0001 00 0001 0002 02 68", false },
		{ "SVCB alpn empty", 64, "0001 00 0001 0000", false },
		{ "SVCB keys backwards", 64, "0001 00 0003 0002 0035 0001 0003 026832", false },
		{ "SVCB key twice", 64, "0001 00 0003 0002 0035 0003 0002 0035", false },
		{ "SVCB key 65535", 64, "0001 00 ffff 0000", false },
		{ "SVCB value cut", 64, "0001 00 0003 0002 00", false },
		{ "SVCB port of 3 bytes", 64, "0001 00 0003 0003 003535", false },
		{ "SVCB mandatory", 64, "0001 00 0000 0002 0003 0003 0002 0035", true },
		{ "SVCB mandatory, two", 64, "0001 00 0000 0004 0001 0003 0001 0003 026832 0003 0002 0035", true },
		{ "SVCB mandatory, last missing", 64, "0001 00 0000 0004 0001 0004 0001 0003 026832 0003 0002 0035",
				false },
		{ "SVCB mandatory, first missing", 64, "0001 00 0000 0004 0002 0003 0001 0003 026832 0003 0002 0035",
				false },
		{ "SVCB mandatory missing", 64, "0001 00 0000 0002 0004 0003 0002 0035", false },
		{ "SVCB mandatory itself", 64, "0001 00 0000 0002 0000", false },
		{ "SVCB mandatory backwards", 64, "0001 00 0000 0004 0003 0001 0001 0003 026832 0003 0002 0035",
				false },
		{ "SVCB no-default-alpn alone", 64, "0001 00 0002 0000", false },
		{ "SVCB ohttp with value", 64, "0001 00 0008 0001 00", false },
		{ "SVCB dohpath bad UTF-8", 64, "0001 00 0007 0002 2fff", false },
		{ "SVCB dohpath surrogate", 64, "0001 00 0007 0003 eda080", false },
		{ "HTTPS unknown key", 65, "0001 00 029b 0003 616263", true },
		{ "DSYNC", 66, "003b 01 14b4 00", true },
		{ "DSYNC without target", 66, "003b 01 14b4", false },
		{ "EUI48", 108, "00005e00532a", true },
		{ "EUI48 of 8 bytes", 108, "00005e00532a0000", false },
		{ "L32", 105, "000a 0a010200", true },
		{ "CAA", 257, "00 05 6973737565 3b", true },
		{ "CAA empty value", 257, "00 05 6973737565", true },
		{ "CAA empty tag", 257, "00 00 3b", false },
		{ "CAA tag with a dash", 257, "00 01 2d 3b", true },
		{ "URI", 256, "0001 0001 61", true },
		{ "URI without target", 256, "0001 0001", false },
		{ "NULL empty", 10, "", true },
		{ "unknown type", 65280, "", true },
		{ "unknown type", 65280, "0102", true },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t rdata = unhex(rows[i].hex);
		knot_err_t err = knot_rdata_check(rows[i].type, (knot_bytes_t){ rdata.data, rdata.len });
		if (err != (rows[i].is_valid ? KNOT_OK : KNOT_EMALF)) {
			fail_msg("%s (%s): %s", rows[i].what, rows[i].hex, knot_strerror(err));
		}
		free(rdata.data);
	}
}

static void test_names(void **state)
{
	(void)state;
	enum { C = KNOT_RDATA_COMPRESS, L = KNOT_RDATA_LOWER, A = KNOT_RDATA_ADDITIONAL };
	static const struct {
		uint16_t type;
		const char *hex;
		unsigned count;
		knot_rdata_name_t want[2];
	} rows[] = {
		{ 1, "c0000201", 0, { { 0 } } },
		{ 2, "01 61 00", 1, { { 0, 3, C | L | A } } },
		{ 5, "01 61 00", 1, { { 0, 3, C | L } } },
		{ 6, "00 0161 00 00000001 00000002 00000003 00000004 00000005", 2,
				{ { 0, 1, C | L }, { 1, 3, C | L } } },
		{ 15, "0001 0161 00", 1, { { 2, 3, C | L | A } } },
		{ 17, "00 00", 2, { { 0, 1, L }, { 1, 1, L } } },
		{ 33, "0001 0002 0003 00", 1, { { 6, 1, L | A } } },
		{ 35, "0001 0002 01 61 00 00 0161 00", 1, { { 8, 3, L } } },
		{ 39, "0161 00", 1, { { 0, 3, L } } },
		{ 45, "0a 03 02 01 61 00 41", 1, { { 3, 3, 0 } } },
		{ 45, "0a 01 02 c0000201 41", 0, { { 0 } } },
		{ 46, "0001 08 02 00000e10 00000000 00000000 0001 0161 00 41", 1, { { 18, 3, L } } },
		{ 47, "0161 00 0001 40", 1, { { 0, 3, 0 } } }, /* RFC 6840 5.1: not lower-cased */
		{ 64, "0001 0161 00", 1, { { 2, 3, A } } },
		{ 26, "0001 00 0161 00", 2, { { 2, 1, L }, { 3, 3, L } } },
		{ 65280, "0161 00", 0, { { 0 } } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t rdata = unhex(rows[i].hex);
		knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
		assert_int_equal(knot_rdata_names(rows[i].type, (knot_bytes_t){ rdata.data, rdata.len }, names),
				rows[i].count);
		for (unsigned k = 0; k < rows[i].count; k++) {
			assert_int_equal(names[k].off, rows[i].want[k].off);
			assert_int_equal(names[k].len, rows[i].want[k].len);
			assert_int_equal(names[k].flags, rows[i].want[k].flags);
		}
		free(rdata.data);
	}
}

static void test_canonical(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *hex, *want;
	} rows[] = {
		{ 2, "02 4142 00", "02 6162 00" },
		{ 15, "4142 01 5a 00", "4142 01 7a 00" },
		{ 16, "02 4142", "02 4142" },
		{ 47, "01 41 00 0001 40", "01 41 00 0001 40" },
		{ 46, "4142 08 02 41424344 41424344 41424344 4142 0141 00 41",
				"4142 08 02 41424344 41424344 41424344 4142 0161 00 41" },
		{ 64, "4142 01 41 00", "4142 01 41 00" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t rdata = unhex(rows[i].hex), want = unhex(rows[i].want);
		knot_rdata_canonical(rows[i].type, rdata);
		assert_memory_equal(rdata.data, want.data, want.len);
		free(rdata.data);
		free(want.data);
	}
}

static void test_cmp(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		int want;
	} rows[] = {
		{ "", "", 0 },
		{ "", "00", -1 },
		{ "01", "00ff", 1 },
		{ "00", "0000", -1 },
		{ "ff", "01", 1 },
		{ "0102", "0102", 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t a = unhex(rows[i].a), b = unhex(rows[i].b);
		int order = knot_rdata_cmp((knot_bytes_t){ a.data, a.len }, (knot_bytes_t){ b.data, b.len });
		int back = knot_rdata_cmp((knot_bytes_t){ b.data, b.len }, (knot_bytes_t){ a.data, a.len });
		assert_int_equal((order > 0) - (order < 0), rows[i].want);
		assert_int_equal((back > 0) - (back < 0), -rows[i].want);
		free(a.data);
		free(b.data);
	}
}

static void test_unpack(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint16_t type;
		const char *msg;
		size_t pos;
		uint16_t len;
		const char *want;
	} rows[] = {
		{ "NS by pointer", 2, "01 61 00 c0 00", 3, 2, "01 61 00" },
		{ "NS label and pointer", 2, "01 61 00 01 62 c0 00", 3, 4, "01 62 01 61 00" },
		{ "SOA two pointers", 6, "01 61 00 c000 c000 00000001 00000002 00000003 00000004 00000005", 3, 24,
				"0161 00 0161 00 00000001 00000002 00000003 00000004 00000005" },
		{ "SRV from a peer", 33, "01 61 00 0001 0002 0003 c000", 3, 8, "0001 0002 0003 0161 00" },
		{ "name ends behind RDATA", 2, "01 61 00 01 62 c0 00", 3, 3, NULL },
		{ "pointer forward", 2, "c0 03 00 00", 0, 2, NULL },
		{ "pointer to itself", 2, "c0 00", 0, 2, NULL },
		{ "DNAME is never compressed", 39, "01 61 00 c0 00", 3, 2, NULL },
		{ "RRSIG signer neither", 46, "00 0001 08 02 00000e10 00000000 00000000 0001 c000 41", 1, 21, NULL },
		{ "A", 1, "00 c0000201 00", 1, 4, "c0000201" },
		{ "bytes left", 2, "01 61 00 c0 00 00", 3, 3, NULL },
		{ "beyond the message", 1, "c0000201", 1, 4, NULL },
		{ "unknown type", 65280, "01 02 03", 1, 2, "0203" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		knot_mut_bytes_t msg = unhex(rows[i].msg);
		uint8_t out[HEX_MAX];
		uint16_t len = 7777;
		knot_err_t err = knot_rdata_unpack(rows[i].type, (knot_bytes_t){ msg.data, msg.len }, rows[i].pos,
				rows[i].len, (knot_mut_bytes_t){ out, sizeof(out) }, &len);
		if (err != (rows[i].want != NULL ? KNOT_OK : KNOT_EMALF)) {
			fail_msg("%s: %s", rows[i].what, knot_strerror(err));
		}
		if (rows[i].want != NULL) {
			knot_mut_bytes_t want = unhex(rows[i].want);
			assert_int_equal(len, want.len);
			assert_memory_equal(out, want.data, want.len);
			assert_int_equal(knot_rdata_unpack(rows[i].type, (knot_bytes_t){ msg.data, msg.len },
							 rows[i].pos, rows[i].len,
							 (knot_mut_bytes_t){ out, want.len - 1 }, &len),
					KNOT_ESPACE);
			free(want.data);
		} else {
			assert_int_equal(len, 7777);
		}
		free(msg.data);
	}
}

/* For every row: what is valid passes whole, unpacks to itself, and no cut of it makes a read out of bounds. */
static void test_every_row(void **state)
{
	(void)state;
	random_seed();
	size_t count;
	const knot_rrdesc_t *rows = knot_rrdesc_rows(&count);
	for (size_t i = 0; i < count * 200; i++) {
		const knot_rrdesc_t *row = &rows[i % count];
		uint8_t bytes[16384], again[16384];
		size_t len = random_rdata(row, bytes, sizeof(bytes));
		if (knot_rdata_check(row->type, (knot_bytes_t){ bytes, len }) != KNOT_OK) {
			fail_msg("%s: valid RDATA refused, round %zu", row->mnemonic, i);
		}
		uint16_t again_len;
		assert_int_equal(knot_rdata_unpack(row->type, (knot_bytes_t){ bytes, len }, 0, (uint16_t)len,
						 (knot_mut_bytes_t){ again, sizeof(again) }, &again_len),
				KNOT_OK);
		assert_int_equal(again_len, len);
		assert_memory_equal(again, bytes, len);
		size_t cut = len > 0 ? random_below((unsigned)len) : 0;
		uint8_t *copy = malloc(cut + 1);
		memcpy(copy, bytes, cut);
		knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
		(void)!knot_rdata_check(row->type, (knot_bytes_t){ copy, cut });
		(void)knot_rdata_names(row->type, (knot_bytes_t){ copy, cut }, names);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_cmp),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_every_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
