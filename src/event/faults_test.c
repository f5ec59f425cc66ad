/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *line;
	knot_err_t err;
	const char *want;
} rows[] = {
	{ "zone loader, error in zone, file 'x', line 5 (invalid IPv4 address, near '1.2')", KNOT_EPARSEFAIL,
			"file 'x', line 5, invalid IPv4 address, near '1.2'" },
	{ "check, node www., another record exists beside CNAME", KNOT_ESEMCHECK,
			"node www., another record exists beside CNAME" },
	{ "config, file 'k.conf', line 3, item 'lisen' (invalid item)", KNOT_CONF_EITEM,
			"file 'k.conf', line 3, item 'lisen'" },
	{ "config, file 'k.conf', line 3, item 'x' (a (b) c)", KNOT_EINVAL,
			"file 'k.conf', line 3, item 'x', a (b) c" },
	{ "failed to open (x) it", KNOT_EINVAL, "failed to open (x) it" },
	{ "unbalanced)", KNOT_EINVAL, "unbalanced)" },
	{ "", KNOT_EINVAL, "" },
	{ ")", KNOT_EINVAL, ")" },
};

static void reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[FAULT_REASON_MAX];
		fault_reason_print(rows[i].line, rows[i].err, got);
		assert_string_equal(got, rows[i].want);
	}
	char line[2 * FAULT_REASON_MAX], got[FAULT_REASON_MAX];
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	fault_reason_print(line, KNOT_EINVAL, got);
	assert_int_equal(strlen(got), FAULT_REASON_MAX - 1);
}

static knot_name_t name_of(unsigned number, uint8_t wire[static KNOT_NAME_MAX])
{
	char text[32];
	knot_name_t name;
	snprintf(text, sizeof(text), "z%u.", number);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

/* A reason replaces the one before, the same error with the same one keeps its time, and no more than FAULTS_MAX are
 * held. */
static void bounded(void **state)
{
	(void)state;
	faults_t faults = { 0 };
	uint8_t wire[KNOT_NAME_MAX];
	for (unsigned i = 0; i < FAULTS_MAX + 10; i++) {
		faults_put(&faults, name_of(i, wire), KNOT_EPARSEFAIL, "first", 100);
	}
	assert_int_equal(faults.count, FAULTS_MAX);
	faults_put(&faults, name_of(5, wire), KNOT_EPARSEFAIL, "second", 200);
	faults_put(&faults, name_of(6, wire), KNOT_EPARSEFAIL, "first", 200);
	assert_int_equal(faults.count, FAULTS_MAX);
	assert_string_equal(faults_find(&faults, name_of(5, wire))->reason, "second");
	assert_int_equal(faults_find(&faults, name_of(5, wire))->since_s, 200);
	assert_string_equal(faults_find(&faults, name_of(6, wire))->reason, "first");
	assert_int_equal(faults_find(&faults, name_of(6, wire))->since_s, 100);
	faults_put(&faults, name_of(6, wire), KNOT_ENOENT, "first", 250);
	assert_int_equal(faults_find(&faults, name_of(6, wire))->since_s, 250);
	assert_null(faults_find(&faults, name_of(FAULTS_MAX + 1, wire)));
	faults_drop(&faults, name_of(6, wire));
	faults_put(&faults, name_of(5, wire), KNOT_EPARSEFAIL, "", 300);
	assert_null(faults_find(&faults, name_of(6, wire)));
	assert_string_equal(faults_find(&faults, name_of(5, wire))->reason, "");
	assert_int_equal(faults_find(&faults, name_of(5, wire))->since_s, 300);
	assert_int_equal(faults.count, FAULTS_MAX - 1);
	faults_free(&faults);
	assert_null(faults.map);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reasons), cmocka_unit_test(bounded) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
