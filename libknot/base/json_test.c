/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct {
	const char *what;
	knot_str_t text;
	const char *want;
} string_rows[] = {
	{ "nothing", KNOT_STR(""), "\"\"" },
	{ "letters", KNOT_STR("a b/c'"), "\"a b/c'\"" },
	{ "what JSON escapes", KNOT_STR("\"\\"), "\"\\\"\\\\\"" },
	{ "what has a letter of its own", KNOT_STR("\n\t\r"), "\"\\n\\t\\r\"" },
	{ "other control characters", KNOT_STR("\0\x01\x1F\x7F"), "\"\\u0000\\u0001\\u001f\\u007f\"" },
	{ "valid UTF-8 of each length", KNOT_STR("é€𝄞"), "\"é€𝄞\"" },
	{ "the last code point", KNOT_STR("\xF4\x8F\xBF\xBF"), "\"\xF4\x8F\xBF\xBF\"" },
	{ "control characters in UTF-8", KNOT_STR("a\xC2\x80z\xC2\x9B\xC2\x9F"), "\"a\\u0080z\\u009b\\u009f\"" },
	{ "the first one that isn't", KNOT_STR("\xC2\xA0"), "\"\xC2\xA0\"" },
	{ "beyond the last code point", KNOT_STR("\xF4\x90\x80\x80"), "\"\\u00f4\\u0090\\u0080\\u0080\"" },
	{ "a byte that continues nothing", KNOT_STR("a\x80z"), "\"a\\u0080z\"" },
	{ "a sequence longer than it needs to be", KNOT_STR("\xC0\x80"), "\"\\u00c0\\u0080\"" },
	{ "a surrogate", KNOT_STR("\xED\xA0\x80"), "\"\\u00ed\\u00a0\\u0080\"" },
	{ "a sequence cut by the end", KNOT_STR("a\xE2\x82"), "\"a\\u00e2\\u0082\"" },
	{ "a sequence cut by a letter", KNOT_STR("\xE2\x82z"), "\"\\u00e2\\u0082z\"" },
	{ "text between escapes", KNOT_STR("ab\"cd\"ef"), "\"ab\\\"cd\\\"ef\"" },
};

static void test_strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(string_rows) / sizeof(string_rows[0]); i++) {
		knot_json_buffer_t buffer = { 0 };
		knot_json_t json = knot_json_of(knot_json_to_buffer, &buffer);
		knot_json_str(&json, NULL, string_rows[i].text);
		assert_true(knot_json_end(&json));
		print_message("%s\n", string_rows[i].what);
		assert_int_equal(buffer.data[buffer.len - 1], '\n');
		buffer.data[buffer.len - 1] = '\0';
		assert_string_equal(buffer.data, string_rows[i].want);
		free(buffer.data);
	}
}

static void test_numbers(void **state)
{
	(void)state;
	knot_json_buffer_t buffer = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &buffer);
	knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINE);
	knot_json_int(&json, NULL, INT64_MIN);
	knot_json_uint(&json, NULL, UINT64_MAX);
	knot_json_double(&json, NULL, 0.1);
	knot_json_double(&json, NULL, 1.0 / 3);
	knot_json_double(&json, NULL, -2);
	knot_json_double(&json, NULL, 1e300);
	knot_json_double(&json, NULL, INFINITY);
	knot_json_double(&json, NULL, NAN);
	knot_json_fixed(&json, NULL, 1.25, 1);
	knot_json_fixed(&json, NULL, 7, 3);
	knot_json_fixed(&json, NULL, -INFINITY, 3);
	knot_json_bool(&json, NULL, true);
	knot_json_bool(&json, NULL, false);
	knot_json_null(&json, NULL);
	knot_json_close(&json);
	assert_true(knot_json_end(&json));
	assert_string_equal(buffer.data,
			"[-9223372036854775808, 18446744073709551615, 0.1, 0.3333333333333333, -2, 1e+300, "
			"null, null, 1.2, 7.000, null, true, false, null]\n");
	free(buffer.data);
}

static void test_nesting(void **state)
{
	(void)state;
	static const char want[] = "{\n"
				   "  \"name\\n\": \"a\",\n"
				   "  \"empty\": {},\n"
				   "  \"none\": [],\n"
				   "  \"rows\": [\n"
				   "    {\"x\": 1, \"y\": [2, 3]},\n"
				   "    {\"x\": 4, \"y\": []}\n"
				   "  ]\n"
				   "}\n";
	knot_json_buffer_t buffer = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &buffer);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(&json, "name\n", "a");
	knot_json_open(&json, "empty", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_close(&json);
	knot_json_open(&json, "none", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_close(&json);
	knot_json_open(&json, "rows", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (int64_t i = 0; i < 2; i++) {
		knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_int(&json, "x", 1 + 3 * i);
		knot_json_open(&json, "y", KNOT_JSON_LIST, KNOT_JSON_LINE);
		for (int64_t j = 0; j < 2 && i == 0; j++) {
			knot_json_int(&json, NULL, 2 + j);
		}
		knot_json_close(&json);
		knot_json_close(&json);
	}
	knot_json_close(&json);
	knot_json_close(&json);
	assert_true(knot_json_end(&json));
	assert_string_equal(buffer.data, want);
	free(buffer.data);
}

/* Lines inside a line: the raw replies of knotc are laid out so. */
static void test_lines_in_line(void **state)
{
	(void)state;
	knot_json_buffer_t buffer = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &buffer);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&json, "a", "b");
	knot_json_open(&json, "rows", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_int(&json, NULL, 1);
	knot_json_int(&json, NULL, 2);
	knot_json_close(&json);
	knot_json_bool(&json, "ok", true);
	knot_json_close(&json);
	assert_true(knot_json_end(&json));
	assert_string_equal(buffer.data, "{\"a\": \"b\", \"rows\": [\n  1,\n  2\n], \"ok\": true}\n");
	free(buffer.data);
}

static void test_depth(void **state)
{
	(void)state;
	knot_json_buffer_t buffer = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &buffer);
	for (unsigned i = 0; i < KNOT_JSON_DEPTH_MAX; i++) {
		knot_json_open(&json, NULL, KNOT_JSON_LIST, i % 2 == 0 ? KNOT_JSON_LINE : KNOT_JSON_LINES);
	}
	for (unsigned i = 0; i < KNOT_JSON_DEPTH_MAX; i++) {
		knot_json_close(&json);
	}
	assert_true(knot_json_end(&json));
	unsigned opened = 0, closed = 0;
	for (size_t i = 0; i < buffer.len; i++) {
		opened += buffer.data[i] == '[';
		closed += buffer.data[i] == ']';
	}
	assert_int_equal(opened, KNOT_JSON_DEPTH_MAX);
	assert_int_equal(closed, KNOT_JSON_DEPTH_MAX);
	free(buffer.data);
}

/* Whatever the sink refuses sticks, and the sink isn't called again. */
static void test_room(void **state)
{
	(void)state;
	static const char want[] = "[\"abc\", 12]\n";
	for (size_t room = 0; room <= sizeof(want); room++) {
		uint8_t bytes[sizeof(want)];
		knot_writer_t writer = knot_writer_of((knot_mut_bytes_t){ bytes, room });
		knot_json_t json = knot_json_of(knot_json_to_writer, &writer);
		knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINE);
		knot_json_text(&json, NULL, "abc");
		knot_json_int(&json, NULL, 12);
		knot_json_close(&json);
		bool fits = room >= sizeof(want) - 1;
		assert_int_equal(knot_json_end(&json), fits);
		assert_memory_equal(bytes, want, writer.len);
		assert_true(!fits || writer.len == sizeof(want) - 1);
	}
}

static void test_file(void **state)
{
	(void)state;
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);
	assert_non_null(file);
	knot_json_t json = knot_json_of(knot_json_to_file, file);
	knot_json_null(&json, NULL);
	assert_true(knot_json_end(&json));
	assert_int_equal(fclose(file), 0);
	assert_string_equal(text, "null\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_lines_in_line),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
