/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NOW = 100000, LONG = NOW - 50000, SINCE = NOW - 100 };

/** How a version shows the key: p it is in DNSKEY, z it signs data, c it has CDS; NULL: nothing is served. */
typedef struct {
	const char *what;
	bool is_ksk, is_zsk, is_public_only;
	kasp_times_t times;
	const char *served;
	const char *others; /* n the policy has no CDS; a for a key of the same algorithm that signs data */
	size_t want;        /* offset of the timer; 0: none */
} row_t;

#define WANT(timer) offsetof(kasp_times_t, timer)

static const row_t rows[] = {
	{ "a new ZSK is served", false, true, false, { .publish = SINCE }, "p", "", 0 },
	{ "a new ZSK isn't", false, true, false, { .publish = SINCE }, "", "", WANT(publish) },
	{ "a new KSK isn't", true, false, false, { .publish = SINCE }, "", "", WANT(publish) },
	{ "a new key, and nothing is served", true, false, false, { .publish = SINCE }, NULL, "", 0 },
	{ "a key of another signer", false, true, true, { .publish = SINCE }, "", "", 0 },
	{ "a new ZSK of a new algorithm signs", false, true, false, { .pre_active = SINCE }, "z", "", 0 },
	{ "a new ZSK of a new algorithm doesn't", false, true, false, { .pre_active = SINCE }, "", "",
			WANT(pre_active) },
	{ "the KSK beside it", true, false, false, { .pre_active = SINCE }, "", "", WANT(pre_active) },
	{ "the KSK beside one that signs", true, false, false, { .pre_active = SINCE }, "", "a", 0 },
	{ "a ZSK that is retired signs nothing", false, true, false,
			{ .publish = LONG, .active = LONG, .retire = SINCE }, "p", "", 0 },
	{ "a ZSK that is retired signs", false, true, false, { .publish = LONG, .active = LONG, .retire = SINCE }, "pz",
			"", WANT(retire) },
	{ "a KSK that is retired", true, false, false, { .publish = LONG, .active = LONG, .retire = SINCE }, "p", "",
			0 },
	{ "an old algorithm's key is gone", false, true, false,
			{ .publish = LONG, .active = LONG, .retire_active = LONG, .post_active = SINCE }, "z", "", 0 },
	{ "an old algorithm's key isn't", false, true, false,
			{ .publish = LONG, .active = LONG, .retire_active = LONG, .post_active = SINCE }, "pz", "",
			WANT(post_active) },
	{ "a KSK that is ready, with CDS", true, false, false, { .publish = LONG, .ready = SINCE }, "pc", "", 0 },
	{ "a KSK that is ready, without", true, false, false, { .publish = LONG, .ready = SINCE }, "p", "",
			WANT(ready) },
	{ "a KSK that is ready, whose DS somebody brings", true, false, false, { .publish = LONG, .ready = SINCE }, "p",
			"n", 0 },
	{ "an active key", false, true, false, { .publish = LONG, .active = SINCE }, "", "", 0 },
	{ "a removed key", false, true, false, { .publish = LONG, .active = LONG, .retire = LONG, .remove = SINCE },
			"pz", "", 0 },
};

static void test_rows(void **state)
{
	(void)state;
	static const uint8_t public[] = { 1, 2, 3 }, other[] = { 4, 5, 6 };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const row_t *row = &rows[i];
		const char *served = row->served != NULL ? row->served : "";
		kasp_key_t key = { .algorithm = 13,
			.tag = 7,
			.is_ksk = row->is_ksk,
			.is_zsk = row->is_zsk,
			.is_public_only = row->is_public_only,
			.public = { public, sizeof(public) },
			.times = row->times };
		bool is_public = strchr(served, 'p') != NULL;
		const keys_seen_t seen[] = {
			{ .public = { other, sizeof(other) }, .tag = 8, .algorithm = 8, .signs_zone = true },
			{ .public = { other, sizeof(other) },
					.tag = 9,
					.algorithm = 13,
					.signs_zone = row->others[0] == 'a' },
			{ .public = { public, is_public ? sizeof(public) : 0 },
					.tag = 7,
					.algorithm = 13,
					.signs_zone = strchr(served, 'z') != NULL,
					.has_cds = strchr(served, 'c') != NULL },
		};
		const keys_view_t view = { seen, row->served == NULL ? 0 : served[0] == '\0' ? 2 : 3 };
		const uint64_t *timer = keys_unserved_timer(&key, &view, row->others[0] != 'n', NOW);
		const uint64_t *want = row->want != 0 ? (uint64_t *)((uint8_t *)&key.times + row->want) : NULL;
		if (timer != want) {
			fail_msg("%s", row->what);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
