/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct {
	const char *what;
	const char *bytes;
	size_t len;
	knot_ctl_scan_t want;
	knot_ctl_type_t type;
	size_t used;
	const char *cmd, *data; /* wanted items */
} scan_row_t;

#define BYTES(s) s, sizeof(s) - 1

static const scan_row_t scan_rows[] = {
	{ "nothing", BYTES(""), KNOT_CTL_SCAN_MORE, 0, 0, NULL, NULL },
	{ "END has no items", BYTES("\0"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_END, 1, NULL, NULL },
	{ "BLOCK ends at once", BYTES("\3\20\0\1a"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_BLOCK, 1, NULL, NULL },
	{ "DATA needs the next type", BYTES("\1\20\0\4stop"), KNOT_CTL_SCAN_MORE, 0, 0, NULL, NULL },
	{ "DATA before BLOCK", BYTES("\1\20\0\4stop\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 8, "stop", NULL },
	{ "DATA before DATA", BYTES("\1\20\0\1a\1\20\0\1b"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 5, "a", NULL },
	{ "EXTRA, empty", BYTES("\2\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_EXTRA, 1, NULL, NULL },
	{ "empty string is an item", BYTES("\1\20\0\0\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 4, "", NULL },
	{ "doubled item: last wins", BYTES("\1\20\0\1a\20\0\1b\0"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 9, "b",
			NULL },
	{ "items in any order", BYTES("\1\32\0\1d\20\0\1c\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 9, "c", "d" },
	{ "item before the type", BYTES("\20\0\1a\1\32\0\1d\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_DATA, 9, "a", "d" },
	{ "item before BLOCK", BYTES("\20\0\1a\3"), KNOT_CTL_SCAN_UNIT, KNOT_CTL_TYPE_BLOCK, 5, "a", NULL },
	{ "cut in the length", BYTES("\1\20\0"), KNOT_CTL_SCAN_MORE, 0, 0, NULL, NULL },
	{ "cut in the value", BYTES("\1\20\0\5stop"), KNOT_CTL_SCAN_MORE, 0, 0, NULL, NULL },
	{ "code 4", BYTES("\1\4"), KNOT_CTL_SCAN_BAD, 0, 0, NULL, NULL },
	{ "code 15", BYTES("\17"), KNOT_CTL_SCAN_BAD, 0, 0, NULL, NULL },
	{ "code 28", BYTES("\1\34\0\0"), KNOT_CTL_SCAN_BAD, 0, 0, NULL, NULL },
	{ "code 255", BYTES("\1\377"), KNOT_CTL_SCAN_BAD, 0, 0, NULL, NULL },
};

static void check_item(const scan_row_t *row, knot_bytes_t item, const char *want)
{
	if ((item.data == NULL) != (want == NULL) ||
			(want != NULL && (item.len != strlen(want) || memcmp(item.data, want, item.len) != 0))) {
		fail_msg("%s: item", row->what);
	}
}

/* A unit that comes byte by byte is the same, and no byte is looked at twice. */
static void scan_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(scan_rows); i++) {
		const scan_row_t *row = &scan_rows[i];
		knot_ctl_scanner_t scanner = { 0 };
		knot_ctl_unit_t unit;
		knot_ctl_scan_t got = KNOT_CTL_SCAN_MORE;
		size_t used = 0;
		for (size_t len = 0; len <= row->len && got == KNOT_CTL_SCAN_MORE; len++) {
			size_t before = scanner.pos;
			got = knot_ctl_scan_on(
					&scanner, (knot_bytes_t){ (const uint8_t *)row->bytes, len }, &unit, &used);
			assert_true(got != KNOT_CTL_SCAN_MORE || (scanner.pos >= before && scanner.pos <= len));
		}
		assert_int_equal(got, row->want);
		if (got == KNOT_CTL_SCAN_UNIT) {
			assert_int_equal(used, row->used);
			check_item(row, unit.items[KNOT_CTL_IDX_CMD], row->cmd);
			check_item(row, unit.items[KNOT_CTL_IDX_DATA], row->data);
			assert_int_equal(scanner.pos, 0);
		}
	}
}

static void scan(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(scan_rows); i++) {
		const scan_row_t *row = &scan_rows[i];
		uint8_t *bytes = malloc(row->len > 0 ? row->len : 1); /* exact size: a read too far is seen */
		assert_non_null(bytes);
		memcpy(bytes, row->bytes, row->len);
		knot_ctl_unit_t unit;
		size_t used;
		knot_ctl_scan_t got = knot_ctl_scan((knot_bytes_t){ bytes, row->len }, &unit, &used);
		if (got != row->want) {
			fail_msg("%s: %d", row->what, got);
		}
		if (got == KNOT_CTL_SCAN_UNIT) {
			if (unit.type != row->type || used != row->used) {
				fail_msg("%s: type %d, used %zu", row->what, unit.type, used);
			}
			check_item(row, unit.items[KNOT_CTL_IDX_CMD], row->cmd);
			check_item(row, unit.items[KNOT_CTL_IDX_DATA], row->data);
		}
		free(bytes);
	}
}

static void write_is_ordered_and_sparse(void **state)
{
	(void)state;
	knot_ctl_data_t data = {
		[KNOT_CTL_IDX_CMD] = "zone-read", [KNOT_CTL_IDX_ZONE] = "a.", [KNOT_CTL_IDX_TYPE] = ""
	};
	static const char want[] = "\1\20\0\11zone-read\26\0\2a.\31\0\0";
	uint8_t bytes[64];
	size_t len;
	assert_int_equal(knot_ctl_unit_len(KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&data, &len), KNOT_OK);
	assert_int_equal(len, sizeof(want) - 1);
	knot_writer_t writer = knot_writer_of((knot_mut_bytes_t){ bytes, len });
	knot_ctl_unit_write(&writer, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&data);
	assert_false(writer.failed);
	assert_int_equal(writer.len, len);
	assert_memory_equal(bytes, want, len);

	assert_int_equal(knot_ctl_unit_len(KNOT_CTL_TYPE_BLOCK, (const knot_ctl_data_t *)&data, &len), KNOT_OK);
	assert_int_equal(len, 1);
}

static void limits(void **state)
{
	(void)state;
	static char value[KNOT_CTL_ITEM_MAX + 2];
	memset(value, 'x', KNOT_CTL_ITEM_MAX);
	knot_ctl_data_t data = { [KNOT_CTL_IDX_DATA] = value };
	size_t len;
	assert_int_equal(knot_ctl_unit_len(KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&data, &len), KNOT_OK);
	assert_int_equal(len, 4 + KNOT_CTL_ITEM_MAX);
	value[KNOT_CTL_ITEM_MAX] = 'x';
	assert_int_equal(knot_ctl_unit_len(KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&data, &len), KNOT_ERANGE);
	assert_int_equal(knot_ctl_unit_len((knot_ctl_type_t)4, NULL, &len), KNOT_ECTLTYPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan),
		cmocka_unit_test(scan_pieces),
		cmocka_unit_test(write_is_ordered_and_sparse),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
