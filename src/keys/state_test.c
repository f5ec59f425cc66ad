/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/records.h"
#include "src/keys/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOW = 1000, PAST = 900, FUTURE = 1100 };

static void test_states(void **state)
{
	(void)state;
	static const struct {
		kasp_times_t times;
		keys_state_t want;
	} rows[] = {
		{ { .created = PAST }, KEYS_INVALID },
		{ { .publish = FUTURE }, KEYS_INVALID },
		{ { .pre_active = PAST }, KEYS_PRE_ACTIVE },
		{ { .pre_active = PAST, .publish = NOW }, KEYS_PUBLISHED },
		{ { .publish = PAST, .ready = PAST }, KEYS_READY },
		{ { .publish = PAST, .ready = PAST, .active = NOW }, KEYS_ACTIVE },
		{ { .publish = PAST, .active = FUTURE }, KEYS_PUBLISHED },
		{ { .active = PAST, .retire_active = PAST }, KEYS_RETIRE_ACTIVE },
		{ { .active = PAST, .retire_active = PAST, .retire = PAST }, KEYS_RETIRED },
		{ { .active = PAST, .retire_active = PAST, .post_active = PAST }, KEYS_POST_ACTIVE },
		{ { .retire = PAST, .post_active = PAST }, KEYS_INVALID },
		{ { .active = PAST, .revoke = PAST }, KEYS_REVOKED },
		{ { .active = PAST, .revoke = PAST, .remove = PAST }, KEYS_REMOVED },
		{ { .active = PAST, .remove = FUTURE }, KEYS_ACTIVE },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (keys_state(&rows[i].times, NOW) != rows[i].want) {
			fail_msg("row %zu: %d", i, keys_state(&rows[i].times, NOW));
		}
	}
}

/* One letter per use: p public, r ready, a active, k and z active+ in that role, v revoked. */
static void print_use(const keys_use_t *use, char ret_text[static 8])
{
	snprintf(ret_text, 8, "%s%s%s%s%s%s", use->is_public ? "p" : "", use->is_ready ? "r" : "",
			use->is_active ? "a" : "", use->ksk_active_plus ? "k" : "", use->zsk_active_plus ? "z" : "",
			use->is_revoked ? "v" : "");
}

static void test_uses(void **state)
{
	(void)state;
	static const struct {
		bool is_ksk, is_zsk, has_other; /* another active ZSK of the same algorithm */
		kasp_times_t times;
		const char *want;
	} rows[] = {
		{ true, false, false, { .publish = PAST }, "pk" },
		{ true, false, false, { .publish = PAST, .ready = PAST }, "prk" },
		{ true, false, false, { .publish = PAST, .ready = PAST, .active = PAST }, "pa" },
		{ true, false, false, { .publish = PAST, .active = PAST, .retire_active = PAST }, "pk" },
		{ true, false, false, { .publish = PAST, .active = PAST, .retire_active = PAST, .post_active = PAST },
				"" },
		{ true, false, false, { .publish = PAST, .active = PAST, .retire = PAST }, "" },
		{ true, false, false, { .publish = PAST, .active = PAST, .remove = PAST }, "" },
		{ true, false, false, { .publish = PAST, .active = PAST, .revoke = PAST }, "pkv" },
		{ true, false, false, { .pre_active = PAST }, "" },
		{ false, true, false, { .publish = PAST }, "p" },
		{ false, true, false, { .publish = PAST, .active = PAST }, "pa" },
		{ false, true, false, { .pre_active = PAST }, "z" },
		{ false, true, false, { .pre_active = PAST, .publish = PAST }, "pz" },
		{ false, true, false, { .publish = PAST, .active = PAST, .retire = PAST }, "p" },
		{ false, true, false, { .publish = PAST, .active = PAST, .retire_active = PAST }, "pz" },
		{ false, true, true, { .publish = PAST, .active = PAST, .retire_active = PAST }, "p" },
		{ false, true, false, { .publish = PAST, .active = PAST, .retire_active = PAST, .post_active = PAST },
				"z" },
		{ false, true, false, { .publish = PAST, .active = PAST, .remove = PAST }, "" },
		{ true, true, false, { .publish = PAST, .ready = PAST }, "prkz" },
		{ true, true, true, { .publish = PAST, .ready = PAST }, "prk" },
		{ true, true, true, { .publish = PAST }, "pk" },
		{ true, true, false, { .publish = PAST, .active = PAST }, "pa" },
		{ true, true, true, { .publish = PAST, .active = PAST, .retire_active = PAST }, "pk" },
		{ true, true, true, { .publish = PAST, .active = PAST, .retire_active = PAST, .retire = PAST }, "p" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const kasp_key_t keys[] = {
			{ .algorithm = 13, .is_ksk = rows[i].is_ksk, .is_zsk = rows[i].is_zsk, .times = rows[i].times },
			{ .algorithm = rows[i].has_other ? 13 : 8,
					.is_zsk = true,
					.times = { .publish = PAST, .active = PAST } },
		};
		char text[8];
		keys_use_t use = keys_use(keys, 2, 0, NOW);
		print_use(&use, text);
		if (strcmp(text, rows[i].want) != 0) {
			fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].want);
		}
	}
}

static void test_check(void **state)
{
	(void)state;
	const kasp_times_t active = { .publish = PAST, .active = PAST }, published = { .publish = PAST };
	kasp_key_t keys[] = {
		{ .algorithm = 13, .is_ksk = true, .times = active },
		{ .algorithm = 13, .is_zsk = true, .times = active },
		{ .algorithm = 8, .is_zsk = true, .is_public_only = true, .times = active },
	};
	assert_int_equal(keys_check(keys, 3, false, NOW), KNOT_OK);
	assert_int_equal(keys_check(keys, 1, false, NOW), KNOT_EKEYSET);
	assert_int_equal(keys_check(keys + 1, 1, false, NOW), KNOT_EKEYSET);
	assert_int_equal(keys_check(keys + 1, 1, true, NOW), KNOT_OK);
	assert_int_equal(keys_check(keys + 2, 1, false, NOW), KNOT_ENOSIGNKEYS);
	assert_int_equal(keys_check(keys, 0, false, NOW), KNOT_ENOSIGNKEYS);
	keys[1].times = published;
	assert_int_equal(keys_check(keys, 3, false, NOW), KNOT_EKEYSET);
	keys[2].is_public_only = false; /* a second algorithm, without a KSK */
	keys[1].times = active;
	assert_int_equal(keys_check(keys, 3, false, NOW), KNOT_EKEYSET);
	const kasp_key_t csk = {
		.algorithm = 15, .is_ksk = true, .is_zsk = true, .times = { .publish = PAST, .ready = PAST }
	};
	assert_int_equal(keys_check(&csk, 1, false, NOW), KNOT_OK);
}

static void test_records(void **state)
{
	(void)state;
	static const uint8_t public[] = { 1, 2, 3 }, zone[] = { 1, 'z', 0 };
	const kasp_key_t keys[] = {
		{ .algorithm = 13,
				.flags = 257,
				.is_ksk = true,
				.times = { .publish = PAST, .active = PAST },
				.public = { public, 3 } },
		{ .algorithm = 13,
				.flags = 257,
				.is_ksk = true,
				.times = { .publish = PAST, .ready = PAST },
				.public = { public, 3 } },
		{ .algorithm = 13,
				.flags = 256,
				.is_zsk = true,
				.times = { .publish = PAST, .active = PAST },
				.public = { public, 3 } },
		{ .algorithm = 13,
				.flags = 256,
				.is_zsk = true,
				.times = { .created = PAST },
				.public = { public, 3 } },
	};
	static const struct {
		conf_cds_t publish;
		size_t first, count, cds; /* keys, and CDS records of them */
	} rows[] = {
		{ CONF_CDS_NONE, 0, 4, 0 },
		{ CONF_CDS_ROLLOVER, 0, 4, 1 },
		{ CONF_CDS_ROLLOVER, 0, 1, 0 },
		{ CONF_CDS_ALWAYS, 0, 4, 1 },
		{ CONF_CDS_ALWAYS, 0, 1, 1 },
		{ CONF_CDS_DOUBLE_DS, 0, 4, 2 },
		{ CONF_CDS_DOUBLE_DS, 0, 1, 1 },
		{ CONF_CDS_DELETE, 0, 4, 1 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const conf_policy_t policy = { .cds_publish = (uint8_t)rows[i].publish, .cds_digest = 2 };
		keys_records_t records;
		assert_int_equal(keys_records_make(keys + rows[i].first, rows[i].count, &policy, knot_name_of(zone),
						 NOW, &records),
				KNOT_OK);
		if (records.cds.count != rows[i].cds || records.cdnskey.count != rows[i].cds) {
			fail_msg("row %zu: %zu", i, records.cds.count);
		}
		if (rows[i].count == 4) {
			assert_int_equal(records.dnskey.count, 3);
			assert_int_equal(records.no_dnskey.count, 1);
			assert_memory_equal(records.dnskey.rdatas[0].data, "\1\1\3\15\1\2\3", 7);
		}
		if (rows[i].publish == CONF_CDS_DELETE) {
			assert_memory_equal(records.cds.rdatas[0].data, "\0\0\0\0\0", 5);
			assert_memory_equal(records.cdnskey.rdatas[0].data, "\0\0\3\0\0", 5);
		}
		keys_records_done(&records);
	}
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	assert_int_equal(keys_dnskey(&keys[0], true, rdata), 7);
	assert_int_equal(load_be16(rdata), 257 | 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
