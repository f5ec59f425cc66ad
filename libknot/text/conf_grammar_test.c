/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/conf_grammar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* Items are shown as KIND:key=value@line, separated by blanks; a fault as !reason[:key[=value]]@line. */
static const struct {
	const char *what, *text, *want;
} rows[] = {
	{ "empty file", "", "" },
	{ "blank lines and comments", "\n  \n#c\n   # c\tc\n\n", "" },
	{ "section without value", "server:\n", "0:server=@1" },
	{ "no newline at the end", "server:\n  identity: a", "0:server=@1 1:identity=a@2" },
	{ "no newline after the key", "server:", "0:server=@1" },
	{ "CRLF counts one line", "server:\r\n  a: b\r\n  c: d\r\n", "0:server=@1 1:a=b@2 1:c=d@3" },
	{ "spaces around the colon", "server : \n  a   :   b   \n", "0:server=@1 1:a=b@2" },
	{ "comment after a value", "a: b #c\n", "0:a=b@1" },
	{ "comment instead of a value", "a: #c\n", "0:a=@1" },
	{ "comment without a space", "a: b#c\n", "!parser failed:a=b@1" },
	{ "comment right after the colon", "a:#c\n", "!parser failed:a@1" },
	{ "value right after the colon", "a:b\n", "!parser failed:a@1" },
	{ "key without colon", "a\n", "!parser failed@1" },
	{ "no key", ":\n", "!parser failed@1" },
	{ "characters of a key", "s_\\/.*-1:\n", "0:s_\\/.*-1=@1" },
	{ "a key does not begin with a dash", "-a: b\n", "!parser failed@1" },
	{ "character that is not a key's", "a$b: c\n", "!parser failed@1" },
	{ "UTF-8 in a key", "\xc3\xa9: c\n", "!parser failed@1" },
	{ "quoted key", "\"a\": c\n", "!parser failed@1" },
	{ "ordinary characters of a value", "a: b:{}'%@/=;$\n", "0:a=b:{}'%@/=;$@1" },
	{ "UTF-8 in a value", "a: \xc3\xa9\n", "0:a=\xc3\xa9@1" },
	{ "two values", "a: b c\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "control character", "a: b\x01\n", "!parser failed:a=b@1" },
	{ "DEL", "a: b\x7f\n", "!parser failed:a=b@1" },
	{ "quote within a value", "a: b\"c\n", "!parser failed:a=b@1" },
	{ "bracket within a value", "a: b]\n", "!parser failed:a=b@1" },
	{ "comma", "a: ,\n", "!parser failed:a@1" },
	{ "quoted value", "a: \"b #[,]c\"\n", "0:a=b #[,]c@1" },
	{ "empty quoted value", "a: \"\"\n", "0:a=@1" },
	{ "quote not closed", "a: \"b\n", "!parser failed:a=b@1" },
	{ "text after the closing quote", "a: \"b\"c\n", "!parser failed:a=b@1" },
	{ "second value after a quoted one", "a: \"b\" c\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "newline in quotes", "a: \"b\nc\"\n", "!parser failed:a=b@1" },
	{ "escaped quote", "a: b\\\"c\n", "0:a=b\"c@1" },
	{ "escaped quote in quotes", "a: \"\\\"b\\\"\"\n", "0:a=\"b\"@1" },
	{ "other escapes stay", "a: \\032\\.\\\\\\n\n", "0:a=\\032\\.\\\\\\n@1" },
	{ "escapes mixed", "a: \"x\\\"\\\\\\\"y\"\n", "0:a=x\"\\\\\"y@1" },
	{ "escaped space", "a: b\\ c\n", "0:a=b\\ c@1" },
	{ "escape before a byte that is not ASCII", "a: b\\\xc3\xa9\n", "!parser failed:a=b\\@1" },
	{ "escape at the end of the line", "a: b\\\n", "!parser failed:a=b\\@1" },
	{ "tab as indentation", "a:\n\tb: c\n", "0:a=@1 !tabulator character is not allowed@2" },
	{ "tab before a value", "a:\tb\n", "!tabulator character is not allowed:a@1" },
	{ "tab behind a value", "a: b\t\n", "!tabulator character is not allowed:a=b@1" },
	{ "tab in quotes", "a: \"b\tc\"\n", "!tabulator character is not allowed:a=b@1" },
	{ "tab before the colon", "a\t: b\n", "!tabulator character is not allowed@1" },
	{ "tab in a list", "a: [ b\t]\n", "!tabulator character is not allowed:a=b@1" },
	{ "tab in a blank line", " \n\t\n", "!tabulator character is not allowed@2" },
	{ "tab in a comment", "a: b #\tc\n", "0:a=b@1" },
	{ "list", "a: [b,c , \"d e\" ]\n", "0:a=b@1 0:a=c@1 0:a=d e@1" },
	{ "list of one", "a: [ b ] # c\n", "0:a=b@1" },
	{ "empty list is a missing value", "a: []\nb: [ ]\n", "0:a=@1 0:b=@2" },
	{ "comma at the end of a list", "a: [ b, ]\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "comma at the start of a list", "a: [ ,b ]\n", "!parser failed:a@1" },
	{ "list without commas", "a: [ b c ]\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "list not closed", "a: [ b\n", "!parser failed:a=b@1" },
	{ "list not closed at the end", "a: [ b,", "0:a=b@1 !parser failed:a=b@1" },
	{ "nested list", "a: [[b]]\n", "!parser failed:a@1" },
	{ "comment right after a list", "a: [ b ]#c\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "text after a list", "a: [ b ] c\n", "0:a=b@1 !parser failed:a=b@1" },
	{ "block", "z:\n  - d: x\n    f: y\n", "0:z=@1 i:d=x@2 1:f=y@3" },
	{ "block with the dash in column 0", "z:\n- d: x\n  f: y\n", "0:z=@1 i:d=x@2 1:f=y@3" },
	{ "every block has its own indentation", "z:\n - d: x\n   f: y\n -   d: w\n     f: v\n",
			"0:z=@1 i:d=x@2 1:f=y@3 i:d=w@4 1:f=v@5" },
	{ "every section has its own indentation", "s:\n  a: b\nt:\n     c: d\n", "0:s=@1 1:a=b@2 0:t=@3 1:c=d@4" },
	{ "id without a space after the dash", "z:\n  -d: x\n", "0:z=@1 !parser failed@2" },
	{ "id without value", "z:\n  - d:\n", "0:z=@1 !parser failed:d@2" },
	{ "id with a comment for a value", "z:\n  - d: #c\n", "0:z=@1 !parser failed:d@2" },
	{ "id with a list", "z:\n  - d: [x]\n", "0:z=@1 !parser failed:d@2" },
	{ "id with two values", "z:\n  - d: x y\n", "0:z=@1 i:d=x@2 !parser failed:d=x@2" },
	{ "id with an empty value", "z:\n  - d: \"\"\n", "0:z=@1 i:d=@2" },
	{ "key1 deeper than the first", "s:\n  a: b\n   c: d\n", "0:s=@1 1:a=b@2 !invalid indentation@3" },
	{ "key1 less deep than the first", "s:\n  a: b\n c: d\n", "0:s=@1 1:a=b@2 !invalid indentation@3" },
	{ "key1 not below the key of the id", "z:\n  - d: x\n  f: y\n", "0:z=@1 i:d=x@2 !invalid indentation@3" },
	{ "dash column changes", "z:\n  - d: x\n - d: y\n", "0:z=@1 i:d=x@2 !invalid indentation@3" },
	{ "dash column 0 does not count", "z:\n  - d: x\n- d: y\n    - d: w\n", "0:z=@1 i:d=x@2 i:d=y@3 i:d=w@4" },
	{ "blank lines don't end a block", "s:\n  a: b\n\n# c\n  e: f\n", "0:s=@1 1:a=b@2 1:e=f@5" },
	{ "document marker", "---\n", "!parser failed@1" },
	{ "flow map", "{}\n", "!parser failed@1" },
	{ "NUL in a value", "a: b\\", "!parser failed:a=b\\@1" },
};

static char *show(char *out, size_t max, const char *prefix, knot_conf_item_t item)
{
	snprintf(out + strlen(out), max - strlen(out), "%s%s%.*s%s%.*s@%zu", out[0] != '\0' ? " " : "", prefix,
			(int)item.key.len, item.key.len > 0 ? item.key.data : "",
			prefix[0] != '!' || item.value.len > 0 ? "=" : "", (int)item.value.len,
			item.value.len > 0 ? item.value.data : "", item.line);
	return out;
}

static const char *parse(const char *text, size_t len, char *out, size_t max)
{
	static knot_conf_parser_t parser;
	char *copy = malloc(len + !len); /* exact size, so that a sanitizer sees a read of one byte more */
	memcpy(copy, text, len);
	knot_conf_parser_init(&parser, (knot_str_t){ copy, len });
	knot_conf_item_t item;
	knot_conf_verdict_t verdict;
	out[0] = '\0';
	while ((verdict = knot_conf_next(&parser, &item)) == KNOT_CONF_ITEM) {
		show(out, max, item.kind == KNOT_CONF_KEY0 ? "0:" : item.kind == KNOT_CONF_KEY1 ? "1:" : "i:", item);
	}
	if (verdict == KNOT_CONF_FAULT) {
		char prefix[64];
		snprintf(prefix, sizeof(prefix), "!%s%s", knot_strerror(parser.err), item.key.len > 0 ? ":" : "");
		show(out, max, prefix, item);
	}
	assert_int_equal(verdict, knot_conf_next(&parser, &item));
	free(copy);
	return out;
}

static void items_and_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char out[1024];
		if (strcmp(parse(rows[i].text, strlen(rows[i].text), out, sizeof(out)), rows[i].want) != 0) {
			fail_msg("%s: got  %s\n  want %s", rows[i].what, out, rows[i].want);
		}
	}
}

static void nul_byte_is_an_error(void **state)
{
	(void)state;
	char out[256];
	assert_string_equal(parse("a: b\0c\n", 7, out, sizeof(out)), "!parser failed:a=b@1");
	assert_string_equal(parse("\0", 1, out, sizeof(out)), "!parser failed@1");
}

static knot_conf_verdict_t parse_repeated(
		const char *head, char fill, size_t count, const char *tail, knot_err_t *ret_err, size_t *ret_value_len)
{
	static knot_conf_parser_t parser;
	size_t len = strlen(head) + count + strlen(tail);
	char *text = malloc(len + 1);
	memcpy(text, head, strlen(head));
	memset(text + strlen(head), fill, count);
	memcpy(text + strlen(head) + count, tail, strlen(tail) + 1);
	knot_conf_parser_init(&parser, (knot_str_t){ text, len });
	knot_conf_item_t item;
	knot_conf_verdict_t verdict = knot_conf_next(&parser, &item);
	*ret_err = parser.err;
	*ret_value_len = item.value.len;
	free(text);
	return verdict;
}

static void limits(void **state)
{
	(void)state;
	static const struct {
		const char *what, *head;
		char fill;
		size_t count;
		const char *tail;
		knot_err_t want;
		size_t want_len;
	} limit_rows[] = {
		{ "longest key", "", 'a', 127, ": x\n", KNOT_OK, 1 },
		{ "key too long", "", 'a', 128, ": x\n", KNOT_ESPACE, 0 },
		{ "longest value", "a: ", 'b', 32767, "\n", KNOT_OK, 32767 },
		{ "value too long", "a: ", 'b', 32768, "\n", KNOT_ESPACE, 32767 },
		{ "longest quoted value", "a: \"", ' ', 32767, "\"\n", KNOT_OK, 32767 },
		{ "quoted value too long", "a: \"", ' ', 32768, "\"\n", KNOT_ESPACE, 32767 },
		{ "longest value with an escape", "a: \\\"", 'b', 32766, "\n", KNOT_OK, 32767 },
		{ "value with an escape too long", "a: \\\"", 'b', 32767, "\n", KNOT_ESPACE, 32767 },
		{ "escape that ends at the limit", "a: \\\"\\", '\\', 32765, "\n", KNOT_OK, 32767 },
		{ "list element too long", "a: [", 'b', 32768, "]\n", KNOT_ESPACE, 32767 },
	};
	for (size_t i = 0; i < KNOT_LEN(limit_rows); i++) {
		knot_err_t err;
		size_t len;
		knot_conf_verdict_t verdict = parse_repeated(limit_rows[i].head, limit_rows[i].fill,
				limit_rows[i].count, limit_rows[i].tail, &err, &len);
		if (err != limit_rows[i].want || len != limit_rows[i].want_len ||
				(verdict == KNOT_CONF_ITEM) != (err == KNOT_OK)) {
			fail_msg("%s: %s, %zu bytes", limit_rows[i].what, knot_strerror(err), len);
		}
	}
}

static void end_line_counts_the_final_newline(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t want;
	} end_rows[] = { { "", 2 }, { "a:", 2 }, { "a:\n", 3 }, { "a:\n\n\n", 5 }, { "a:\r\n", 3 } };
	for (size_t i = 0; i < KNOT_LEN(end_rows); i++) {
		static knot_conf_parser_t parser;
		knot_conf_item_t item;
		knot_conf_parser_init(&parser, knot_str_of(end_rows[i].text));
		while (knot_conf_next(&parser, &item) == KNOT_CONF_ITEM) {}
		assert_int_equal(item.line, end_rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_and_faults),
		cmocka_unit_test(nul_byte_is_an_error),
		cmocka_unit_test(limits),
		cmocka_unit_test(end_line_counts_the_final_newline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
