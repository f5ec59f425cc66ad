/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/columns.h"

#include "libknot/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *what, *words; /* separated by blanks */
	size_t width;
	const char *want;
} rows[] = {
	{ "none", "", 80, "" },
	{ "one", "a", 80, "a\n" },
	{ "one line", "a b c", 80, "a  b  c\n" },
	{ "as wide as the terminal", "aa bb cc", 10, "aa  bb  cc\n" },
	{ "one character less", "aa bb cc", 9, "aa  cc\nbb\n" },
	{ "downwards", "a b c d e", 7, "a  c  e\nb  d\n" },
	{ "a short last column", "a b c d", 7, "a  c\nb  d\n" },
	{ "as wide as the longest", "a long c", 12, "a     c\nlong\n" },
	{ "too narrow", "long words", 3, "long\nwords\n" },
	{ "no width", "a b", 0, "a\nb\n" },
	{ "characters, not bytes", "\xC3\xBC\xC3\xBC bb cc", 10, "\xC3\xBC\xC3\xBC  bb  cc\n" },
};

static void prints_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char line[128], *words[16], *rest = NULL, *text = NULL;
		size_t count = 0, len = 0;
		snprintf(line, sizeof(line), "%s", rows[i].words);
		for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
			words[count++] = word;
		}
		FILE *out = open_memstream(&text, &len);
		assert_non_null(out);
		columns_print(out, words, count, rows[i].width);
		fclose(out);
		if (strcmp(text, rows[i].want) != 0) {
			fail_msg("%s:\n%s", rows[i].what, text);
		}
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(prints_columns) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
