/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of zonefile-load and journal-content, row by row. */
#include "src/event/load_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *load, *content;
	const char *there; /* letters: s served, c current, i image, f file, w whole zone in the journal, o only there
			    */
	const char *want;  /* base, then letters: c with changes of the journal, f reads the file, n but its serial */
} rows[] = {
	/* Start */
	{ "none", "none", "f", "nothing" },
	{ "none", "changes", "f", "nothing" },
	{ "none", "all", "f", "nothing" },
	{ "none", "all", "fw", "journal c" },
	{ "none", "all", "fwi", "journal c" },
	{ "none", "changes", "fw", "journal c" },
	{ "whole", "none", "f", "file" },
	{ "whole", "none", "fi", "image" },
	{ "whole", "none", "", "file" },
	{ "whole", "changes", "f", "file c" },
	{ "whole", "changes", "fi", "image c" },
	{ "whole", "changes", "fw", "file c" },
	{ "whole", "changes", "w", "file c" },
	{ "whole", "changes", "wo", "journal c" },
	{ "whole", "changes", "fwo", "file c" },
	{ "whole", "changes", "i", "image c" },
	{ "whole", "all", "f", "file c" },
	{ "whole", "all", "fw", "file c" },
	{ "difference", "none", "f", "file" },
	{ "difference", "none", "fw", "file" },
	{ "difference", "changes", "f", "file c" },
	{ "difference", "changes", "fw", "file c" },
	{ "difference", "all", "f", "file c" },
	{ "difference", "all", "fw", "journal cf" },
	{ "difference", "all", "fwi", "image c" },
	{ "difference", "all", "wo", "journal c" },
	{ "difference", "all", "w", "journal cf" },
	{ "difference-no-serial", "all", "w", "journal fn" },
	{ "difference-no-serial", "all", "wo", "journal c" },
	{ "difference-no-serial", "all", "f", "file c" },
	{ "difference-no-serial", "all", "fw", "journal fn" },
	{ "difference-no-serial", "all", "fwi", "image c" },
	/* Reload */
	{ "none", "none", "sf", "keep" },
	{ "none", "all", "sfw", "keep" },
	{ "whole", "none", "sf", "file" },
	{ "whole", "none", "sfc", "keep" },
	{ "whole", "changes", "sf", "file c" },
	{ "whole", "changes", "sfi", "file c" },
	{ "whole", "changes", "s", "file c" },
	{ "whole", "all", "sfw", "file c" },
	{ "difference", "none", "sf", "served f" },
	{ "difference", "none", "s", "served f" },
	{ "difference", "changes", "sf", "served cf" },
	{ "difference", "changes", "sfc", "keep" },
	{ "difference", "all", "sfw", "served cf" },
	{ "difference-no-serial", "all", "sfw", "served fn" },
};

static int index_of(const char *const *words, const char *word)
{
	int i = 0;
	while (strcmp(words[i], word) != 0) {
		i++;
	}
	return i;
}

static void test_rows(void **state)
{
	(void)state;
	static const char *const loads[] = { "none", "difference", "difference-no-serial", "whole" },
				 *const contents[] = { "none", "changes", "all" },
				 *const bases[] = { "keep", "nothing", "image", "file", "journal", "served" };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const load_facts_t facts = {
			.load = (conf_zonefile_load_t)index_of(loads, rows[i].load),
			.content = (conf_journal_content_t)index_of(contents, rows[i].content),
			.is_served = strchr(rows[i].there, 's') != NULL,
			.is_current = strchr(rows[i].there, 'c') != NULL,
			.has_image = strchr(rows[i].there, 'i') != NULL,
			.has_file = strchr(rows[i].there, 'f') != NULL,
			.has_whole = strchr(rows[i].there, 'w') != NULL,
			.is_only_journal = strchr(rows[i].there, 'o') != NULL,
		};
		load_plan_t plan = load_plan(&facts);
		char got[40];
		bool has_more = plan.has_changes || plan.reads_file;
		snprintf(got, sizeof(got), "%s%s%s%s%s", bases[plan.base], has_more ? " " : "",
				plan.has_changes ? "c" : "", plan.reads_file ? "f" : "",
				plan.ignores_serial ? "n" : "");
		if (strcmp(got, rows[i].want) != 0) {
			print_error("row %zu: %s, %s, %s\n", i, rows[i].load, rows[i].content, rows[i].there);
		}
		assert_string_equal(got, rows[i].want);
	}
}

static void test_serials(void **state)
{
	(void)state;
	assert_int_equal(load_compare_serials(5, 5), LOAD_SERIAL_GOOD);
	assert_int_equal(load_compare_serials(5, 6), LOAD_SERIAL_GOOD);
	assert_int_equal(load_compare_serials(0xffffffff, 0), LOAD_SERIAL_GOOD);
	assert_int_equal(load_compare_serials(6, 5), LOAD_SERIAL_LOWER);
	assert_int_equal(load_compare_serials(5, 0x80000006), LOAD_SERIAL_LOWER);
	assert_int_equal(load_compare_serials(5, 0x80000005), LOAD_SERIAL_INCOMPARABLE);
	assert_int_equal(load_compare_serials(5, 0x80000004), LOAD_SERIAL_GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_serials) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
