/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "libknot/rr/rrdesc.h"

static void test_every_row(void **state)
{
	(void)state;
	size_t count;
	const knot_rrdesc_t *rows = knot_rrdesc_rows(&count);
	assert_true(count > 70);
	for (size_t i = 0; i < count; i++) {
		uint16_t type = 0;
		char lower[KNOT_TYPE_TEXT_MAX], text[KNOT_TYPE_TEXT_MAX];
		for (size_t k = 0; k <= rows[i].mnemonic_len; k++) {
			char c = rows[i].mnemonic[k];
			lower[k] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		}
		assert_true(i == 0 || rows[i].type > rows[i - 1].type);
		assert_int_equal(knot_rrtype_scan(knot_str_of(rows[i].mnemonic), &type), KNOT_OK);
		assert_int_equal(type, rows[i].type);
		assert_int_equal(knot_rrtype_scan(knot_str_of(lower), &type), KNOT_OK);
		assert_int_equal(type, rows[i].type);
		assert_ptr_equal(knot_rrdesc(type), &rows[i]);
		assert_int_equal(rows[i].fields[FIELD_COUNT_MAX].kind, FIELD_END);
		size_t len = knot_rrtype_print(type, text);
		assert_int_equal(len, strlen(text));
		type = 0;
		assert_int_equal(knot_rrtype_scan(knot_str_of(text), &type), KNOT_OK);
		assert_int_equal(type, rows[i].type);
	}
}

static void test_type_text(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		knot_err_t want;
		uint16_t type;
		const char *printed;
	} rows[] = {
		{ "A", KNOT_OK, 1, "A" },
		{ "nsec3", KNOT_OK, 50, "NSEC3" },
		{ "NSEC3PARAM", KNOT_OK, 51, "NSEC3PARAM" },
		{ "type1", KNOT_OK, 1, "A" },
		{ "TYPE0", KNOT_OK, 0, "TYPE0" },
		{ "TYPE65535", KNOT_OK, 65535, "TYPE65535" },
		{ "TYPE00003", KNOT_OK, 3, "TYPE3" },
		{ "MD", KNOT_OK, 3, "TYPE3" }, /* as Knot: obsolete types by number */
		{ "SIG", KNOT_OK, 24, "SIG" },
		{ "ALIAS", KNOT_OK, 65401, "ALIAS" },
		{ "DELEG", KNOT_OK, 61440, "DELEG" },
		{ "TYPE65536", KNOT_EPARAM, 0, NULL },
		{ "TYPE000001", KNOT_EPARAM, 0, NULL },
		{ "TYPE", KNOT_EPARAM, 0, NULL },
		{ "TYPE-1", KNOT_EPARAM, 0, NULL },
		{ "AA", KNOT_EPARAM, 0, NULL },
		{ "", KNOT_EPARAM, 0, NULL },
		{ "NSEC3PARAMX", KNOT_EPARAM, 0, NULL },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint16_t type = 7777;
		char text[KNOT_TYPE_TEXT_MAX];
		assert_int_equal(knot_rrtype_scan(knot_str_of(rows[i].text), &type), rows[i].want);
		if (rows[i].want == KNOT_OK) {
			assert_int_equal(type, rows[i].type);
			knot_rrtype_print(type, text);
			assert_string_equal(text, rows[i].printed);
		} else {
			assert_int_equal(type, 7777);
		}
	}
}

static void test_class_text(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		knot_err_t want;
		uint16_t rrclass;
		const char *printed;
	} rows[] = {
		{ "in", KNOT_OK, 1, "IN" },
		{ "CH", KNOT_OK, 3, "CH" },
		{ "NONE", KNOT_OK, 254, "NONE" },
		{ "ANY", KNOT_OK, 255, "ANY" },
		{ "CLASS1", KNOT_OK, 1, "IN" },
		{ "class77", KNOT_OK, 77, "CLASS77" },
		{ "CLASS65536", KNOT_EPARAM, 0, NULL },
		{ "I", KNOT_EPARAM, 0, NULL },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint16_t rrclass = 0;
		char text[KNOT_TYPE_TEXT_MAX];
		assert_int_equal(knot_rrclass_scan(knot_str_of(rows[i].text), &rrclass), rows[i].want);
		if (rows[i].want == KNOT_OK) {
			assert_int_equal(rrclass, rows[i].rrclass);
			assert_int_equal(knot_rrclass_print(rrclass, text), strlen(rows[i].printed));
			assert_string_equal(text, rows[i].printed);
		}
	}
}

static void test_facts(void **state)
{
	(void)state;
	static const uint16_t meta[] = { 41, 128, 249, 250, 251, 252, 253, 254, 255 };
	static const uint16_t beside[] = { 24, 25, 30, 46, 47 };
	unsigned meta_count = 0, beside_count = 0;
	for (unsigned type = 0; type < 65536; type++) {
		meta_count += knot_rrtype_is_meta((uint16_t)type);
		beside_count += knot_rrtype_beside_cname((uint16_t)type);
	}
	assert_int_equal(meta_count, KNOT_LEN(meta));
	assert_int_equal(beside_count, KNOT_LEN(beside));
	for (size_t i = 0; i < KNOT_LEN(meta); i++) {
		assert_true(knot_rrtype_is_meta(meta[i]));
	}
	for (size_t i = 0; i < KNOT_LEN(beside); i++) {
		assert_true(knot_rrtype_beside_cname(beside[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_type_text),
		cmocka_unit_test(test_class_text),
		cmocka_unit_test(test_facts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
