/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes and text of records that were signed offline. */
#include "src/kasp/offline_text.h"

#include "libknot/rr/rdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint8_t zone_wire[] = "\1a";
static const knot_name_t zone = { zone_wire, 3, 1 };

static const char head[] = ";; SignedKeyResponse 1.0 ";
#define KEY "DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==\n"
#define CDS "CDS 2371 13 2 1f987cc6583e92df0890718c42d4e7a4a0d1d9ba85acb8d4ae7bd5ec7a7b7a5a\n"
#define SIG "RRSIG CDS 13 1 0 20301208023600 20261124010600 2371 a. AAAA\n"

static kasp_offline_file_t parse(const char *text, knot_err_t want, uint64_t want_line)
{
	kasp_offline_file_t file = { .count = 0 };
	uint64_t line = 0;
	knot_err_t err = kasp_offline_parse(knot_str_of(text), "SignedKeyResponse", zone, &file, &line);
	if (err != want || (err != KNOT_OK && line != want_line)) {
		fail_msg("%s: %s, line %d", text, knot_strerror(err), (int)line);
	}
	return file;
}

static void test_text(void **state)
{
	(void)state;
	static const char text[] = ";; SignedKeyResponse 1.0 1700000000 (x) =========\na. 60 " KEY "a. 0 " CDS
				   "a. 0 " SIG ";; SignedKeyResponse 1.0 20260102030405 =====\na. 61 " KEY
				   ";; SignedKeyResponse 1.0 generated at x\nnot read\n";
	kasp_offline_file_t file = parse(text, KNOT_OK, 0);
	assert_int_equal(file.count, 2);
	assert_int_equal(file.sections[0].when_s, 1700000000);
	assert_int_equal(file.sections[1].when_s, 1767323045);
	const kasp_offline_set_t *sets = file.sections[0].records.sets;
	assert_true(sets[KASP_OFFLINE_DNSKEY].count == 1 && sets[KASP_OFFLINE_CDNSKEY].count == 0 &&
			sets[KASP_OFFLINE_CDS].count == 1 && sets[KASP_OFFLINE_RRSIG].count == 1);
	assert_int_equal(file.sections[1].records.sets[KASP_OFFLINE_DNSKEY].rrs[0].ttl, 61);
	/* What is printed is read as the same. */
	char *printed;
	size_t len;
	FILE *out = open_memstream(&printed, &len);
	assert_non_null(out);
	for (size_t i = 0; i < file.count; i++) {
		kasp_offline_print(head, file.sections[i].when_s, &file.sections[i].records, zone, out);
	}
	kasp_offline_print_end(head, 0, "Test 1", out);
	assert_int_equal(fclose(out), 0);
	kasp_offline_file_t again = parse(printed, KNOT_OK, 0);
	assert_int_equal(again.count, 2);
	assert_non_null(strstr(printed, ";; SignedKeyResponse 1.0 1767323045 (2026-01-02T03:04:05Z) =========\n"
					"a.                  \t61 DNSKEY 257 3 13 (\n"));
	assert_non_null(strstr(printed, "\t\t\t\t) ; KSK, ECDSAP256SHA256 (256b), id = 2371\n"));
	free(printed);
	kasp_offline_file_done(&again);
	kasp_offline_file_done(&file);
}

static void test_bad_text(void **state)
{
	(void)state;
	static const char end[] = ";; SignedKeyResponse 1.0 generated at x\n";
	const struct {
		const char *text;
		uint64_t line;
	} rows[] = {
		{ "", 1 },
		{ "; nothing\n", 2 },
		{ ";; SignedKeyResponse 1.0 5 x\na. 60 " KEY, 3 },
		{ ";; KeySigningRequest 1.0 5 x\na. 60 " KEY, 2 },
		{ "a. 60 " KEY ";; SignedKeyResponse 1.0 5 x\n", 1 },
		{ ";; SignedKeyResponse 1.0 5 x\na. 60 " KEY "a. 60 A 192.0.2.1\n;; SignedKeyResponse 1.0 x\n", 3 },
		{ ";; SignedKeyResponse 1.0 5 x\na. 60 DNSKEY 257\n;; SignedKeyResponse 1.0 x\n", 2 },
		{ ";; SignedKeyResponse 1.0 5 x\n;; SignedKeyResponse 1.0 5 x\n;; SignedKeyResponse 1.0 x\n", 3 },
		/* There is no such day; before 1970; too long. */
		{ ";; SignedKeyResponse 1.0 5 x\n;; SignedKeyResponse 1.0 20260230000000 x\n;; SignedKeyResponse 1.0 "
		  "x\n",
				2 },
		{ ";; SignedKeyResponse 1.0 10130151015202 x\n;; SignedKeyResponse 1.0 x\n", 1 },
		{ ";; SignedKeyResponse 1.0 020302416047200 x\n;; SignedKeyResponse 1.0 x\n", 1 },
		/* A time that is none doesn't end the file; nor is one a time that no signature can have. */
		{ ";; SignedKeyResponse 1.0 5 x\n;; SignedKeyResponse 1.0 6x\n;; SignedKeyResponse 1.0 x\n", 2 },
		{ ";; SignedKeyResponse 1.0 4294967296 x\n;; SignedKeyResponse 1.0 x\n", 1 },
		{ ";; SignedKeyResponse 1.0 19600101000000 x\n;; SignedKeyResponse 1.0 x\n", 1 },
		{ ";; SignedKeyResponse 1.0 5 x\n;; SignedKeyResponse 1.0 x\n;; SignedKeyResponse 1.0 6 x\n", 3 },
		{ ";; SignedKeyResponse 1.0 5 x\n$INCLUDE /dev/null\n;; SignedKeyResponse 1.0 x\n", 2 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		(void)parse(rows[i].text, KNOT_EMALF, rows[i].line);
	}
	kasp_offline_file_t file = parse(end, KNOT_OK, 0);
	assert_int_equal(file.count, 0);
	/* Of another owner. */
	file = parse(";; SignedKeyResponse 1.0 5 x\nb. 60 " KEY ";; SignedKeyResponse 1.0 x\n", KNOT_OK, 0);
	assert_true(file.count == 1 && file.sections[0].records.sets[KASP_OFFLINE_DNSKEY].count == 0);
	kasp_offline_file_done(&file);
}

/* No more than can be counted. */
static void test_many(void **state)
{
	(void)state;
	kasp_offline_t offline = { 0 };
	uint8_t rdata[8] = { 1, 0, 3, 13 };
	for (uint32_t i = 0; i < UINT16_MAX; i++) {
		store_be32(rdata + 4, UINT16_MAX - i);
		assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ rdata, 8 }), KNOT_OK);
	}
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ rdata, 8 }), KNOT_OK);
	store_be32(rdata + 4, 0);
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ rdata, 8 }), KNOT_ESPACE);
	kasp_offline_done(&offline);
}

/* In canonical order, each once. */
static void test_bytes(void **state)
{
	(void)state;
	static const uint8_t a[] = { 1, 0, 3, 13, 9 }, b[] = { 1, 1, 3, 13, 1 };
	kasp_offline_t offline = { 0 }, again;
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ b, 5 }), KNOT_OK);
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ a, 5 }), KNOT_OK);
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_DNSKEY, 5, (knot_bytes_t){ b, 5 }), KNOT_OK);
	assert_int_equal(kasp_offline_add(&offline, KNOT_TYPE_A, 5, (knot_bytes_t){ b, 4 }), KNOT_ENOTSUP);
	static const uint8_t want[] = { 1, 'a', 0, 0, 48, 0, 1, 0, 2, 0, 0, 0, 5, 0, 5, 1, 0, 3, 13, 9, 0, 0, 0, 5, 0,
		5, 1, 1, 3, 13, 1, 1, 'a', 0, 0, 60, 0, 1, 0, 0, 1, 'a', 0, 0, 59, 0, 1, 0, 0, 1, 'a', 0, 0, 46, 0, 1,
		0, 0 };
	uint8_t bytes[sizeof(want)];
	assert_int_equal(kasp_offline_len(&offline, zone), sizeof(want));
	kasp_offline_write(&offline, zone, bytes);
	assert_memory_equal(bytes, want, sizeof(want));
	assert_int_equal(kasp_offline_read((knot_bytes_t){ bytes, sizeof(bytes) }, zone, &again), KNOT_OK);
	assert_int_equal(again.sets[KASP_OFFLINE_DNSKEY].count, 2);
	kasp_offline_done(&again);
	for (size_t len = 0; len < sizeof(want); len++) {
		assert_int_equal(kasp_offline_read((knot_bytes_t){ bytes, len }, zone, &again), KNOT_EMALF);
	}
	bytes[1] = 'b';
	assert_int_equal(kasp_offline_read((knot_bytes_t){ bytes, sizeof(bytes) }, zone, &again), KNOT_EMALF);
	kasp_offline_done(&offline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
