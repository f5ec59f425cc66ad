/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* What others have written is shown without doing anything to a terminal. */
static void test_foreign(void **state)
{
	(void)state;
	static const struct {
		const char *what, *in, *want;
	} rows[] = {
		{ "plain", "hi there", "hi there" },
		{ "escape sequence", "\x1b[2J", "\\027[2J" },
		{ "newline, tabulator", "a\nb\tc", "a\\010b\\009c" },
		{ "delete", "\x7f", "\\127" },
		{ "two bytes", "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "three", "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "four", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "C1 control", "\xc2\x9b", "\\194\\155" },
		{ "cut off", "\xe2\x82", "\\226\\130" },
		{ "overlong", "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\x80", "\\192\\175\\224\\128\\175\\240\\128\\128\\128" },
		{ "surrogate", "\xed\xa0\x80", "\\237\\160\\128" },
		{ "beyond U+10FFFF", "\xf4\x90\x80\x80", "\\244\\144\\128\\128" },
		{ "text that runs backwards", "a\xe2\x80\xae", "a\\226\\128\\174" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		present_text_t text = { 0 };
		present_text_foreign(&text, (knot_bytes_t){ (const uint8_t *)rows[i].in, strlen(rows[i].in) });
		present_text_char(&text, '\0');
		assert_string_equal(text.data, rows[i].want);
		present_text_done(&text);
	}
}

static void test_grow(void **state)
{
	(void)state;
	present_text_t text = { 0 };
	for (uint32_t i = 0; i < 10000; i++) {
		present_text_number(&text, i);
		present_text_format(&text, "%c", ' ');
	}
	present_text_char(&text, '\0');
	assert_false(text.failed);
	const char *at = text.data;
	for (uint32_t i = 0; i < 10000; i++) {
		char *end;
		assert_int_equal(strtoul(at, &end, 10), i);
		at = end;
	}
	/* More than there can be: it fails, and stays so. */
	assert_null(present_text_room(&text, SIZE_MAX / 2));
	assert_true(text.failed);
	present_text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_foreign), cmocka_unit_test(test_grow) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
