/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/timers.h"

#include "libknot/base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const timers_conf_t defaults = { .refresh_min_s = 2,
	.refresh_max_s = UINT32_MAX,
	.retry_min_s = 1,
	.retry_max_s = UINT32_MAX,
	.expire_min_s = 3,
	.expire_max_s = UINT32_MAX };
static const uint8_t zone_wire[] = { 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 3, 'c', 'o', 'm', 0 };
static const knot_name_t zone = { zone_wire, 13, 2 };

/* The first vectors that the authors published: key 00 … 0f, input 00 01 02 …. */
static void test_siphash(void **state)
{
	(void)state;
	static const uint64_t want[] = { 0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
		0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462 };
	uint8_t input[KNOT_LEN(want)];
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		input[i] = (uint8_t)i;
		uint64_t got = knot_siphash24(0x0706050403020100, 0x0f0e0d0c0b0a0908, (knot_bytes_t){ input, i });
		assert_true(got == want[i]);
	}
}

static void test_soa(void **state)
{
	(void)state;
	const uint8_t soa[] = { 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 7 };
	timers_soa_t got = timers_soa_of((knot_bytes_t){ soa, sizeof(soa) });
	assert_int_equal(got.refresh_s, 1);
	assert_int_equal(got.retry_s, 256);
	assert_int_equal(got.expire_s, 65536);
}

typedef struct {
	const char *what;
	uint32_t value, min, max, want;
	const char *text; /* NULL: not trimmed */
} clamp_row_t;

static const clamp_row_t clamp_rows[] = {
	{ "within", 50, 10, 100, 50, NULL },
	{ "at the least", 10, 10, 100, 10, NULL },
	{ "at the most", 100, 10, 100, 100, NULL },
	{ "too short", 9, 10, 100, 10, "min" },
	{ "too long", 101, 10, 100, 100, "max" },
	{ "zero", 0, 10, 100, 10, "min" },
	{ "the largest", UINT32_MAX, 10, UINT32_MAX, UINT32_MAX, NULL },
};

static void check_interval(const clamp_row_t *row, const char *name, timers_interval_t got)
{
	char text[TIMERS_TRIM_TEXT_MAX], want[TIMERS_TRIM_TEXT_MAX];
	bool is_trimmed = timers_print_trim(name, got.trim, text);
	if (row->text != NULL) {
		snprintf(want, sizeof(want), "%s timer trimmed to '%s-%s-interval'", name, name, row->text);
	}
	if (got.seconds != row->want || is_trimmed != (row->text != NULL) || (is_trimmed && strcmp(text, want) != 0)) {
		fail_msg("%s, %s: %u", name, row->what, got.seconds);
	}
}

static void test_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(clamp_rows); i++) {
		const clamp_row_t *row = &clamp_rows[i];
		const timers_soa_t soa = { row->value, row->value, row->value };
		const timers_conf_t conf = { row->min, row->max, row->min, row->max, row->min, row->max, 0, false,
			false };
		check_interval(row, "refresh", timers_refresh(&soa, &conf, zone));
		check_interval(row, "retry", timers_retry(&soa, &conf));
		check_interval(row, "expire", timers_expire(&soa, &conf, (timers_option_t){ 0 }, 0));
	}
}

/* The jitter is the part of (1 + J) that the low 16 bits of the hash say. */
static void test_jitter(void **state)
{
	(void)state;
	const uint64_t part = knot_siphash24(0, 0, (knot_bytes_t){ zone_wire, 13 }) & 0xffff;
	const struct {
		uint32_t refresh, jitter;
		bool is_percent;
		uint32_t range;
	} rows[] = {
		{ 3600, 0, false, 0 },
		{ 3600, 600, false, 600 },
		{ 3600, 10, true, 360 },
		{ 3600, 100, true, 3600 },
		{ 99, 10, true, 9 },
		{ 3600, 0, true, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		timers_conf_t conf = defaults;
		conf.jitter = rows[i].jitter;
		conf.is_jitter_percent = rows[i].is_percent;
		const timers_soa_t soa = { rows[i].refresh, 0, 0 };
		uint64_t jitter = (1 + (uint64_t)rows[i].range) * part / 65536;
		assert_true(jitter < rows[i].refresh);
		assert_int_equal(timers_refresh(&soa, &conf, zone).seconds, rows[i].refresh - jitter);
	}
	/* Never less than a second, whatever is configured. */
	timers_conf_t conf = defaults;
	const timers_soa_t soa = { 10, 0, 0 };
	conf.jitter = INT32_MAX;
	assert_int_equal(timers_refresh(&soa, &conf, zone).seconds, 1);
	conf.is_jitter_percent = true;
	assert_int_equal(timers_refresh(&soa, &conf, zone).seconds, 1);
}

static void test_bootstrap(void **state)
{
	(void)state;
	const struct {
		unsigned failures;
		uint32_t low, high;
	} rows[] = {
		{ 0, 0, 9 },
		{ 1, 5, 19 },
		{ 2, 20, 39 },
		{ 3, 45, 69 },
		{ 4, 80, 109 },
		{ 5, 125, 154 },
		{ 37, 6845, 6874 },
		{ 38, 7200, 7229 },
		{ 255, 7200, 7229 },
		{ UINT32_MAX, 7200, 7229 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint32_t low = UINT32_MAX, high = 0;
		for (uint32_t random = 0; random < 120; random++) {
			uint32_t got = timers_bootstrap(&defaults, rows[i].failures, random).seconds;
			low = got < low ? got : low;
			high = got > high ? got : high;
		}
		assert_int_equal(low, rows[i].low < 1 ? 1 : rows[i].low); /* retry-min-interval is 1 */
		assert_int_equal(high, rows[i].high);
	}
	timers_conf_t conf = defaults;
	conf.retry_min_s = 100;
	conf.retry_max_s = 200;
	assert_int_equal(timers_bootstrap(&conf, 0, 5).seconds, 100);
	assert_int_equal(timers_bootstrap(&conf, 9, 5).seconds, 200);
	assert_int_equal(timers_bootstrap(&conf, 9, 5).trim, TIMERS_TO_MAX);
}

static void test_expire_option(void **state)
{
	(void)state;
	const struct {
		const char *what;
		timers_option_t option;
		uint64_t left;
		uint32_t min, max, want;
	} rows[] = {
		{ "no option: from the beginning", { false, 0 }, 10, 3, UINT32_MAX, 1000 },
		{ "transfer: as it is", { true, 400 }, 0, 3, UINT32_MAX, 400 },
		{ "up to date: lower than what is left", { true, 400 }, 600, 3, UINT32_MAX, 600 },
		{ "up to date: higher than what is left", { true, 700 }, 600, 3, UINT32_MAX, 700 },
		{ "never above the SOA's", { true, 5000 }, 0, 3, UINT32_MAX, 1000 },
		{ "never above the SOA's, left", { true, 10 }, 5000, 3, UINT32_MAX, 1000 },
		{ "the least for the SOA's value", { false, 0 }, 0, 2000, UINT32_MAX, 2000 },
		{ "the least for the same value", { true, 1000 }, 0, 2000, UINT32_MAX, 2000 },
		{ "not the least for a lower one", { true, 400 }, 0, 2000, UINT32_MAX, 400 },
		{ "the most for the SOA's value", { false, 0 }, 0, 3, 300, 300 },
		{ "the most for a lower one", { true, 400 }, 0, 3, 300, 300 },
		{ "a lower one within the most", { true, 200 }, 0, 3, 300, 200 },
	};
	const timers_soa_t soa = { 0, 0, 1000 };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		timers_conf_t conf = defaults;
		conf.expire_min_s = rows[i].min;
		conf.expire_max_s = rows[i].max;
		uint32_t got = timers_expire(&soa, &conf, rows[i].option, rows[i].left).seconds;
		if (got != rows[i].want) {
			fail_msg("%s: %u", rows[i].what, got);
		}
	}
}

static void test_kept(void **state)
{
	(void)state;
	const timers_state_t kept = {
		.next_refresh_s = 100, .next_expire_s = 200, .pin_hit_s = 50, .is_last_ok = true
	};
	timer_values_t values = { .at = { [TIMER_LAST_FLUSH] = 7 } };
	timers_state_put(&kept, &values);
	assert_int_equal(values.at[TIMER_LAST_FLUSH], 7);
	timers_state_t got = timers_state_of(&values);
	assert_memory_equal(&got, &kept, sizeof(got));

	assert_false(timers_start(&got, 199));
	timers_loaded(&got, true, 150);
	assert_int_equal(got.next_refresh_s, 100);
	timers_loaded(&got, false, 150); /* contents that should be there */
	assert_int_equal(got.next_refresh_s, 150);

	got = kept;
	got.is_last_ok = false;
	got.bootstrap_failures = 9;
	timers_loaded(&got, false, 150);
	assert_int_equal(got.next_refresh_s, 100);
	assert_int_equal(got.bootstrap_failures, 0);

	got = kept;
	assert_true(timers_start(&got, 200));
	assert_int_equal(got.next_refresh_s, 200);
	assert_int_equal(got.next_expire_s, 0);
	assert_int_equal(got.pin_hit_s, 0);
	assert_false(timers_start(&got, 300)); /* never expires before a success */

	got = (timers_state_t){ 0 };
	timers_loaded(&got, true, 150);
	assert_int_equal(got.next_refresh_s, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash),
		cmocka_unit_test(test_soa),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_bootstrap),
		cmocka_unit_test(test_expire_option),
		cmocka_unit_test(test_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
