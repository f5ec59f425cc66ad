/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What a table prints; owned by the caller. */
static char *printed(const table_t *table, bool zeros)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	table_print(table, out, zeros);
	fclose(out);
	return text;
}

static void expect(table_t *take_table, const char *want)
{
	char *text = printed(take_table, true);
	assert_string_equal(text, want);
	free(text);
	table_free(take_table);
}

static void aligns_columns(void **state)
{
	(void)state;
	table_t *table = table_new("prefix");
	table_set(table, NULL, "192.0.2.0/24", "rate", "0");
	table_set(table, NULL, "192.0.2.0/24", "dropped", "123456789");
	table_set(table, NULL, "::/0", "rate", "1000");
	table_set(table, NULL, "::/0", "dropped", "1");
	expect(table, "prefix        rate    dropped\n"
		      "192.0.2.0/24     0  123456789\n"
		      "::/0          1000          1\n");
}

static void groups_rows(void **state)
{
	(void)state;
	table_t *table = table_new("");
	table_set(table, "received", "received", "sum", "5");
	table_set(table, "passed", "passed-fragment", "sum", "2");
	table_set(table, "passed", "passed-other-port", "sum", "3");
	table_set(table, "balance", "balance", "sum", "0");
	expect(table, "              sum\n"
		      "received        5\n"
		      "passed\n"
		      "  fragment      2\n"
		      "  other-port    3\n"
		      "balance         0\n");
}

/* A column that comes late leaves the rows before it empty there, and nothing is printed behind the last cell. */
static void missing_cells(void **state)
{
	(void)state;
	table_t *table = table_new("x");
	table_set(table, NULL, "a", "one", "1");
	table_set(table, NULL, "b", "two", "2");
	table_set(table, NULL, "b", "two", "22222");
	expect(table, "x  one    two\n"
		      "a    1\n"
		      "b       22222\n");
	expect(table_new("nothing"), "");
}

/* Rows that say nothing are left out unless wanted, and with the last of them its group's name. */
static void rows_of_zeros(void **state)
{
	(void)state;
	table_t *table = table_new("x");
	table_set(table, "a", "a", "sum", "0");
	table_set(table, "b", "b-1", "sum", "0");
	table_set(table, "b", "b-1", "2", "10");
	table_set(table, "b", "b-2", "sum", "0");
	table_set(table, "c", "c-1", "sum", "0");
	char *text = printed(table, false);
	assert_string_equal(text, "x    sum   2\n"
				  "a      0\n"
				  "b\n"
				  "  1    0  10\n");
	free(text);
	expect(table, "x    sum   2\n"
		      "a      0\n"
		      "b\n"
		      "  1    0  10\n"
		      "  2    0\n"
		      "c\n"
		      "  1    0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligns_columns),
		cmocka_unit_test(groups_rows),
		cmocka_unit_test(missing_cells),
		cmocka_unit_test(rows_of_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
