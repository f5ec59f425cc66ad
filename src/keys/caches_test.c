/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/caches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NOW = 100000, KEY_HOLD = 1000, DATA_HOLD = 2000, LONG = NOW - 50000, SOON = NOW + 500, ROW_KEYS = 4 };

/** A key of a row; algorithm 0: none. */
typedef struct {
	uint8_t algorithm;
	bool is_ksk, is_zsk;
	kasp_times_t times;
	/* What versions show: p it is in DNSKEY, k it signs that, z it signs the rest, c CDS, v revoked. */
	const char *served, *next;
} row_key_t;

typedef struct {
	const char *what;
	row_key_t keys[ROW_KEYS];
	bool is_not_known; /* the key database has none of them */
	keys_danger_kind_t want;
	uint64_t until_s;
} row_t;

#define OLD_KSK                                                                                                        \
	{                                                                                                              \
		.publish = LONG, .ready = LONG, .active = LONG                                                         \
	}
#define OLD_ZSK                                                                                                        \
	{                                                                                                              \
		.publish = LONG, .active = LONG                                                                        \
	}

static const row_t rows[] = {
	{ "nothing differs, whatever the timers say",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true, { .publish = LONG, .active = LONG, .remove = LONG }, "pz",
							"pz" } },
			false, KEYS_SAFE, 0 },
	{ "a KSK is left out", { { 13, true, false, OLD_KSK, "pk", "" }, { 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_GONE, 0 },
	{ "a ZSK is left out, though retired",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true, { .publish = LONG, .active = LONG, .retire = NOW - 10 }, "p",
							"" },
					{ 13, false, true, { .publish = LONG, .active = NOW - 10 }, "pz", "pz" } },
			false, KEYS_GONE, 0 },
	{ "a KSK doesn't sign", { { 13, true, false, OLD_KSK, "pk", "p" }, { 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_MUTE, 0 },
	{ "a ZSK doesn't sign, another does",
			{ { 13, true, false, OLD_KSK, "pk", "pk" }, { 13, false, true, OLD_ZSK, "pz", "p" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_MUTE, 0 },
	{ "keys that nobody knows are replaced",
			{ { 13, true, false, OLD_KSK, "pk", "" }, { 13, false, true, OLD_ZSK, "pz", "" },
					{ 13, true, false, OLD_KSK, "", "pk" },
					{ 13, false, true, OLD_ZSK, "", "pz" } },
			true, KEYS_DATA_ORPHANED, 0 },
	{ "the ZSK is, the old one stays in DNSKEY",
			{ { 13, true, false, OLD_KSK, "pk", "pk" }, { 13, false, true, OLD_ZSK, "pz", "p" },
					{ 13, false, true, OLD_ZSK, "", "pz" } },
			true, KEYS_DATA_AHEAD, 0 },
	{ "the KSK is",
			{ { 13, true, false, OLD_KSK, "pk", "p" }, { 13, false, true, OLD_ZSK, "pz", "pz" },
					{ 13, true, false, OLD_KSK, "", "pk" } },
			true, KEYS_DS_ORPHANED, 0 },
	{ "the KSK revokes itself, and no other signs",
			{ { 13, true, false, OLD_KSK, "pk", "pkv" }, { 13, false, true, OLD_ZSK, "pz", "pz" } }, true,
			KEYS_DS_ORPHANED, 0 },
	{ "a KSK with a DS removes itself, the other waits for its DS",
			{ { 13, true, false, { .publish = LONG, .active = LONG, .remove = NOW }, "pk", "" },
					{ 13, true, false, { .publish = LONG, .ready = LONG }, "pkc", "pkc" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_DS_ORPHANED, 0 },
	{ "the other has it",
			{ { 13, true, false, { .publish = LONG, .active = LONG, .remove = NOW }, "pk", "" },
					{ 13, true, false, { .publish = LONG, .ready = LONG, .active = NOW }, "pkc",
							"pk" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_SAFE, 0 },
	{ "the other has it, but is new",
			{ { 13, true, false, { .publish = LONG, .active = LONG, .remove = NOW }, "pk", "" },
					{ 13, true, false, { .publish = NOW - 10, .active = NOW }, "pk", "pk" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_DS_AHEAD, NOW - 11 + KEY_HOLD },
	{ "a new KSK asks for its DS at once",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, true, false, { .publish = NOW - 10, .ready = NOW }, "pk", "pkc" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_CDS_AHEAD, NOW - 11 + KEY_HOLD },
	{ "after a while",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, true, false, { .publish = NOW - KEY_HOLD, .ready = NOW }, "pk", "pkc" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_SAFE, 0 },
	{ "a ZSK takes over that is new",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true, { .publish = LONG, .active = LONG, .retire = NOW }, "pz",
							"p" },
					{ 13, false, true, { .publish = NOW - 10, .active = NOW }, "p", "pz" } },
			false, KEYS_DATA_AHEAD, NOW - 11 + KEY_HOLD },
	{ "that is known",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true, { .publish = LONG, .active = LONG, .retire = NOW }, "pz",
							"p" },
					{ 13, false, true, { .publish = NOW - KEY_HOLD, .active = NOW }, "p", "pz" } },
			false, KEYS_SAFE, 0 },
	{ "a ZSK goes with its signatures still cached",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true,
							{ .publish = LONG,
									.active = LONG,
									.retire = NOW - 100,
									.remove = NOW },
							"p", "" },
					{ 13, false, true, { .publish = LONG, .active = NOW - 100 }, "pz", "pz" } },
			false, KEYS_DATA_ORPHANED, NOW - 101 + DATA_HOLD },
	{ "with none",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true,
							{ .publish = LONG,
									.active = LONG,
									.retire = NOW - DATA_HOLD,
									.remove = NOW },
							"p", "" },
					{ 13, false, true, { .publish = LONG, .active = NOW - DATA_HOLD }, "pz",
							"pz" } },
			false, KEYS_SAFE, 0 },
	{ "an algorithm comes into DNSKEY before its signatures",
			{ { 13, true, true, OLD_KSK, "pkz", "pkz" },
					{ 15, true, true, { .pre_active = NOW - 10, .publish = NOW }, "z", "pkz" } },
			false, KEYS_ALGORITHM_AHEAD, NOW - 11 + DATA_HOLD },
	{ "an algorithm's signatures go before its keys are forgotten",
			{ { 13, true, true, { .publish = LONG, .active = LONG, .post_active = NOW - 10, .remove = NOW },
					  "z", "" },
					{ 15, true, true, OLD_KSK, "pkz", "pkz" } },
			false, KEYS_ALGORITHM_GONE, NOW - 11 + KEY_HOLD },
	{ "timers in the future take nothing away",
			{ { 13, true, false, OLD_KSK, "pk", "pk" },
					{ 13, false, true, { .publish = LONG, .active = LONG, .remove = SOON }, "pz",
							"" },
					{ 13, false, true, OLD_ZSK, "pz", "pz" } },
			false, KEYS_GONE, 0 },
	{ "the first version", { { 13, true, true, { .publish = NOW, .ready = NOW }, "", "pkzc" } }, false, KEYS_SAFE,
			0 },
};

static void see(const row_key_t *key, const char *text, const uint8_t *public, keys_seen_t *seen, size_t *count)
{
	if (text[0] == '\0') {
		return;
	}
	seen[(*count)++] = (keys_seen_t){ .public = { public, strchr(text, 'p') != NULL },
		.tag = public[0],
		.algorithm = key->algorithm,
		.is_revoked = strchr(text, 'v') != NULL,
		.signs_keys = strchr(text, 'k') != NULL,
		.signs_zone = strchr(text, 'z') != NULL,
		.has_cds = strchr(text, 'c') != NULL };
}

static keys_danger_t check(const row_t *row, bool is_offline_ksk)
{
	static const uint8_t publics[ROW_KEYS] = { 1, 2, 3, 4 };
	keys_seen_t served[ROW_KEYS], next[ROW_KEYS];
	kasp_key_t keys[ROW_KEYS] = { 0 };
	keys_caches_t caches = { .served = { served, 0 },
		.next = { next, 0 },
		.keys = keys,
		.is_offline_ksk = is_offline_ksk,
		.key_hold_s = KEY_HOLD,
		.data_hold_s = DATA_HOLD,
		.now_s = NOW };
	for (size_t i = 0; i < ROW_KEYS && row->keys[i].algorithm != 0; i++) {
		const row_key_t *key = &row->keys[i];
		see(key, key->served, &publics[i], served, &caches.served.count);
		see(key, key->next, &publics[i], next, &caches.next.count);
		keys[i] = (kasp_key_t){ .algorithm = key->algorithm,
			.tag = publics[i],
			.is_ksk = key->is_ksk,
			.is_zsk = key->is_zsk,
			.times = key->times,
			.public = { &publics[i], 1 } };
		caches.count += row->is_not_known ? 0 : 1;
	}
	return keys_caches_check(&caches);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		keys_danger_t danger = check(&rows[i], false);
		if (danger.kind != rows[i].want || danger.until_s != rows[i].until_s) {
			fail_msg("%s: key %u %s, until %lld", rows[i].what, danger.tag, keys_danger_text(danger.kind),
					(long long)danger.until_s - NOW);
		}
		assert_true((danger.kind == KEYS_SAFE) == (danger.tag == 0));
	}
}

/* What an offline KSK gives is not what the timers say. */
static void test_offline_ksk(void **state)
{
	(void)state;
	static const row_t row = { "",
		{ { 13, true, false, OLD_KSK, "pk", "p" }, { 13, true, false, OLD_KSK, "pk", "pk" },
				{ 13, false, true, OLD_ZSK, "pz", "pz" } },
		false, KEYS_SAFE, 0 };
	assert_int_equal(check(&row, false).kind, KEYS_MUTE);
	assert_int_equal(check(&row, true).kind, KEYS_SAFE);
}

static void test_texts(void **state)
{
	(void)state;
	for (int kind = KEYS_SAFE; kind < KEYS_DANGER_COUNT; kind++) {
		assert_non_null(keys_danger_text((keys_danger_kind_t)kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_offline_ksk),
		cmocka_unit_test(test_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
