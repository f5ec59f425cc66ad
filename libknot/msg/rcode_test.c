/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/rcode.h"

#include "libknot/control/python_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* A code with a name is counted in the slot of this name, every other one in "other". */
static void test_slots(void **state)
{
	(void)state;
	static const struct {
		uint16_t rcode;
		const char *want;
	} rows[] = {
		{ KNOT_RCODE_NOERROR, "NOERROR" },
		{ KNOT_RCODE_NOTIMP, "NOTIMPL" },
		{ KNOT_RCODE_NOTZONE, "NOTZONE" },
		{ 11, "other" }, /* DSOTYPENI, RFC 8490: no counter of its own, as in Knot */
		{ 12, "other" },
		{ 14, "other" },
		{ KNOT_RCODE_SLOT_BADSIG, "BADSIG" },
		{ KNOT_RCODE_BADVERS, "BADVERS" },
		{ KNOT_RCODE_BADCOOKIE, "BADCOOKIE" },
		{ KNOT_RCODE_SLOT_OTHER, "other" },
		{ 25, "other" },
		{ 4095, "other" },
		{ UINT16_MAX, "other" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(knot_rcode_slot_name(knot_rcode_slot(rows[i].rcode)), rows[i].want);
	}
	for (unsigned slot = 0; slot < KNOT_RCODE_SLOTS; slot++) {
		assert_int_equal(knot_rcode_slot_name(slot) == NULL,
				slot > KNOT_RCODE_NOTZONE && slot < KNOT_RCODE_SLOT_BADSIG);
	}
}

/* The Python package's table: the same rcodes in order of their numbers, then rows without a name. */
static void test_table_of_the_python_package(void **state)
{
	(void)state;
	int before = -1;
	unsigned count = 0;
	for (; count < KNOT_RCODE_NAME_ROWS && knot_rcode_names[count].name != NULL; count++) {
		const knot_lookup_t *row = &knot_rcode_names[count];
		assert_true(row->id > before);
		assert_string_equal(row->name, knot_rcode_slot_name(knot_rcode_slot((uint16_t)row->id)));
		before = row->id;
	}
	assert_int_equal(count, 19);
	assert_null(knot_rcode_names[KNOT_RCODE_NAME_ROWS - 1].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_table_of_the_python_package),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
