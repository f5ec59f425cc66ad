/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/timers/timer_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static size_t bytes_of(const char *hex, uint8_t *to)
{
	size_t len = 0;
	for (unsigned byte; *hex != '\0'; hex += 2) {
		hex += *hex == ' ';
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		to[len++] = (uint8_t)byte;
	}
	return len;
}

#define MASTER "000a14e90000000020010db8000000000000000000000053 00000000"

static const struct {
	const char *what, *hex;
	knot_err_t err;
	const char *written; /* NULL: the same */
	timer_values_t want;
} rows[] = {
	{ "empty", "", KNOT_OK, NULL, { .at = { 0 } } },
	{ "knotd 3.2.6, a secondary: it writes zeros",
			"81000000006b02b7aa 83000000006b02bb32 890000000000000001 880000000000000000 "
			"850000000000000000 "
			"860000000000000000 870000000000000000 8a000000006b02c74e",
			KNOT_OK, "81000000006b02b7aa 83000000006b02bb32 890000000000000001 8a000000006b02c74e",
			{ .at = { [TIMER_LAST_FLUSH] = 0x6b02b7aa,
					  [TIMER_NEXT_REFRESH] = 0x6b02bb32,
					  [TIMER_LAST_REFRESH_OK] = 1,
					  [TIMER_NEXT_EXPIRE] = 0x6b02c74e } } },
	{ "another order", "8a0000000000000005 810000000000000007", KNOT_OK, "810000000000000007 8a0000000000000005",
			{ .at = { [TIMER_LAST_FLUSH] = 7, [TIMER_NEXT_EXPIRE] = 5 } } },
	{ "twice: the last one counts", "810000000000000007 810000000000000008", KNOT_OK, "810000000000000008",
			{ .at = { [TIMER_LAST_FLUSH] = 8 } } },
	{ "unknown ids stay, behind the known ones, zeros too",
			"f00000000000000001 880000000100000006 010000000000000000 8f0123456789abcdef", KNOT_OK,
			"880000000100000006 f00000000000000001 010000000000000000 8f0123456789abcdef",
			{ .at = { [TIMER_LAST_NOTIFIED] = 0x100000006 } } },
	{ "all of 3.6, last primary at the end",
			"810000000000000001 830000000000000002 890000000000000003 880000000100000004 "
			"850000000000000005 "
			"860000000000000006 870000000000000007 8a0000000000000008 8c0000000000000009 "
			"8d000000010000000a "
			"8e0000000000000001 8b" MASTER,
			KNOT_OK, NULL, { .at = { 1, 2, 3, 0x100000004, 5, 6, 7, 8, 9, 0x10000000a, 1 } } },
	{ "last primary first", "8b" MASTER "810000000000000001", KNOT_OK, "810000000000000001 8b" MASTER,
			{ .at = { [TIMER_LAST_FLUSH] = 1 } } },
	{ "an id without its value", "81", KNOT_EMALF, NULL, { .at = { 0 } } },
	{ "a short value", "81000000006b02b7", KNOT_EMALF, NULL, { .at = { 0 } } },
	{ "a short value behind a good one", "81000000006b02b7aa 83000000006b02bb", KNOT_EMALF, NULL, { .at = { 0 } } },
	{ "a short address", "81000000006b02b7aa 8b000a14e9", KNOT_EMALF, NULL, { .at = { 0 } } },
	{ "a byte too many", "81000000006b02b7aa 00", KNOT_EMALF, NULL, { .at = { 0 } } },
};

static void test_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t bytes[512], want[512], written[TIMER_RECORD_MAX];
		size_t len = bytes_of(rows[i].hex, bytes);
		timer_record_t record;
		print_message("%s\n", rows[i].what);
		assert_int_equal(timer_record_read((knot_bytes_t){ bytes, len }, &record), rows[i].err);
		if (rows[i].err == KNOT_OK) {
			assert_memory_equal(record.values.at, rows[i].want.at, sizeof(record.values.at));
			size_t want_len = bytes_of(rows[i].written != NULL ? rows[i].written : rows[i].hex, want);
			assert_int_equal(timer_record_write(&record, written), want_len);
			assert_memory_equal(written, want, want_len);
		}
	}
}

static void test_unknown_ids_are_bounded(void **state)
{
	(void)state;
	uint8_t bytes[(TIMER_UNKNOWN_MAX + 1) * TIMER_FIELD_LEN], written[TIMER_RECORD_MAX];
	memset(bytes, 0xcc, sizeof(bytes));
	timer_record_t record;
	knot_bytes_t most = { bytes, TIMER_UNKNOWN_MAX * TIMER_FIELD_LEN };
	assert_int_equal(timer_record_read(most, &record), KNOT_OK);
	memset(record.values.last_master, 0xff, TIMER_MASTER_LEN);
	for (timer_kind_t kind = 0; kind < TIMER_COUNT; kind++) {
		record.values.at[kind] = UINT64_MAX;
	}
	assert_int_equal(timer_record_write(&record, written), TIMER_RECORD_MAX);
	assert_int_equal(timer_record_read((knot_bytes_t){ bytes, sizeof(bytes) }, &record), KNOT_EMALF);
}

static void test_serials(void **state)
{
	(void)state;
	uint32_t serial;
	assert_false(timer_is_serial(0, &serial));
	assert_true(timer_is_serial(timer_of_serial(0), &serial));
	assert_int_equal(serial, 0);
	assert_true(timer_is_serial(timer_of_serial(UINT32_MAX), &serial));
	assert_int_equal(serial, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_unknown_ids_are_bounded),
		cmocka_unit_test(test_serials),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
