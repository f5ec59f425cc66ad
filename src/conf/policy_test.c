/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/conf.h"
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static conf_t *load(const char *text)
{
	conf_t *conf;
	assert_int_equal(conf_load_text("t", knot_str_of(text), NULL, (conf_sink_t){ 0 }, &conf), KNOT_OK);
	return conf;
}

static const conf_policy_t *policy_of(const conf_t *conf, size_t zone)
{
	const conf_zone_t settings = conf_zone(conf, zone);
	return conf_zone_policy(conf, &settings);
}

static void test_builtin(void **state)
{
	(void)state;
	conf_t *conf = load("zone:\n  - domain: a\n  - domain: b\n    dnssec-policy: default\n");
	for (size_t i = 0; i < 2; i++) {
		const conf_policy_t *policy = policy_of(conf, i);
		assert_string_equal(policy->id, "default");
		assert_int_equal(policy->algorithm, 13);
		assert_int_equal(policy->ksk_bits, 0);
		assert_int_equal(policy->zsk_lifetime_s, 30 * DAY);
		assert_int_equal(policy->rrsig_lifetime_s, 14 * DAY);
		assert_int_equal(policy->dnskey_ttl_s, CONF_POLICY_UNSET);
		assert_int_equal(policy->trash_delay_s, CONF_POLICY_UNSET);
		assert_int_equal(policy->cds_publish, CONF_CDS_ROLLOVER);
		assert_int_equal(policy->cds_digest, 2);
		assert_int_equal(policy->salt_lifetime_s, 30 * DAY);
		assert_int_equal(policy->submission.count, 0);
		conf_keystores_t stores = conf_policy_keystores(conf, policy);
		assert_int_equal(stores.count, 1);
		assert_string_equal(stores.data[0]->id, "");
		assert_string_equal(stores.data[0]->config, "keys");
		assert_int_equal(stores.data[0]->backend, CONF_KEYSTORE_PEM);
	}
	conf_free(conf);
}

static void test_blocks(void **state)
{
	(void)state;
	conf_t *conf = load("keystore:\n  - id: token\n    config: /keys/a\n    "
			    "ksk-only: on\n"
			    "remote:\n  - id: p1\n    address: 192.0.2.1\n  - id: p2\n    address: 192.0.2.2\n"
			    "submission:\n  - id: s\n    parent: [ p1, p2 ]\n    check-interval: 5m\n    timeout: 1d\n "
			    "   parent-delay: 1h\n"
			    "policy:\n  - id: x\n    keystore: [ token, default ]\n    single-type-signing: on\n    "
			    "algorithm: rsasha256\n"
			    "    ksk-size: 1024\n    dnskey-ttl: 1h\n    zone-max-ttl: 1d\n    keytag-modulo: 3/7\n    "
			    "trash-delay: 0\n"
			    "    rrsig-refresh: 2d\n    nsec3: on\n    nsec3-salt-length: 8\n    nsec3-salt-lifetime: "
			    "-1\n    ksk-submission: s\n"
			    "    cds-cdnskey-publish: always\n    "
			    "cds-digest-type: sha384\n"
			    "    unsafe-operation: [ no-check-keyset, no-update-nsec ]\n"
			    "  - id: default\n    algorithm: ed25519\n"
			    "template:\n  - id: default\n    dnssec-policy: x\n"
			    "zone:\n  - domain: a\n  - domain: b\n    dnssec-policy: default\n");
	const conf_policy_t *x = policy_of(conf, 0), *own = policy_of(conf, 1);
	assert_string_equal(x->id, "x");
	assert_true(x->is_single_type && x->has_nsec3 && !x->has_opt_out && !x->is_manual);
	assert_int_equal(x->algorithm, 8);
	assert_int_equal(x->ksk_bits, 1024);
	assert_int_equal(x->trash_delay_s, 0);
	assert_int_equal(x->salt_len, 8);
	assert_int_equal(x->salt_lifetime_s, -1);
	assert_int_equal(x->cds_publish, CONF_CDS_ALWAYS);
	assert_int_equal(x->cds_digest, 4);
	assert_int_equal(x->unsafe.bits, CONF_UNSAFE_KEYSET | CONF_UNSAFE_NSEC);
	assert_int_equal(x->submission.count, 1);
	const conf_submission_t *submission = x->submission.data[0];
	assert_int_equal(submission->parents.count, 2);
	assert_string_equal(submission->parents.data[1]->id, "p2");
	assert_int_equal(submission->check_interval_s, 300);
	assert_int_equal(submission->timeout_s, DAY);
	assert_int_equal(submission->parent_delay_s, HOUR);
	conf_keystores_t stores = conf_policy_keystores(conf, x);
	assert_int_equal(stores.count, 2);
	assert_int_equal(stores.data[0]->backend, CONF_KEYSTORE_PEM);
	assert_true(stores.data[0]->is_ksk_only);
	assert_string_equal(stores.data[0]->config, "/keys/a");
	assert_string_equal(stores.data[1]->id, "");
	unsigned remainder, modulo;
	conf_policy_tags(x, &remainder, &modulo);
	assert_int_equal(remainder, 3);
	assert_int_equal(modulo, 7);
	assert_string_equal(own->id, "default");
	assert_int_equal(own->algorithm, 15);
	conf_free(conf);
}

static void test_times(void **state)
{
	(void)state;
	static const uint8_t a[] = { 1, 'a', 0 }, upper[] = { 1, 'A', 0 };
	const struct {
		const char *items;
		conf_policy_times_t want;
	} rows[] = {
		/* pre-refresh 0.005 of the lifetime; refresh a tenth, propagation delay and the highest TTL */
		{ "", { 60, 7200, 14 * DAY / 10 + HOUR + 7200, 14 * DAY / 200, 30 * DAY, 28 * DAY, false, 0 } },
		{ "    dnskey-ttl: 100\n    zone-max-ttl: 200\n    trash-delay: 5\n    rrsig-pre-refresh: 7\n    "
		  "rrsig-refresh: 9\n    zsk-lifetime: 3d\n",
				{ 100, 200, 9, 7, 3 * DAY, 5, false, 0 } },
		{ "    trash-delay: 0\n    dnskey-ttl: 0\n",
				{ 0, 7200, 14 * DAY / 10 + HOUR + 7200, 14 * DAY / 200, 30 * DAY, 0, false, 0 } },
		/* It can't be met: as late as possible. */
		{ "    rrsig-lifetime: 3h\n", { 60, 7200, 3 * HOUR - 54 - 1, 54, 30 * DAY, 6 * HOUR, true, 0 } },
		/* The spread, and one that is cut to what a computed refresh leaves. */
		{ "    rrsig-lifetime: 10d\n    rrsig-refresh: 2d\n    rrsig-pre-refresh: 1h\n    rrsig-spread: 5d\n",
				{ 60, 7200, 2 * DAY, HOUR, 30 * DAY, 20 * DAY, false, 5 * DAY } },
		{ "    rrsig-lifetime: 10h\n    rrsig-spread: 9h\n",
				{ 60, 7200, 4 * HOUR, 180, 30 * DAY, 20 * HOUR, false, 6 * HOUR - 181 } },
		{ "    rrsig-lifetime: 3h\n    rrsig-spread: 1h\n",
				{ 60, 7200, 3 * HOUR - 54 - 1, 54, 30 * DAY, 6 * HOUR, true, 0 } },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		snprintf(text, sizeof(text), "policy:\n  - id: x\n%szone:\n  - domain: a\n    dnssec-policy: x\n",
				rows[i].items);
		conf_t *conf = load(text);
		conf_policy_times_t times = conf_policy_times(policy_of(conf, 0), knot_name_of(a), 60, 7200);
		const conf_policy_times_t *want = &rows[i].want;
		assert_int_equal(times.dnskey_ttl_s, want->dnskey_ttl_s);
		assert_int_equal(times.zone_max_ttl_s, want->zone_max_ttl_s);
		assert_int_equal(times.refresh_s, want->refresh_s);
		assert_int_equal(times.pre_refresh_s, want->pre_refresh_s);
		assert_int_equal(times.zsk_lifetime_s, want->zsk_lifetime_s);
		assert_int_equal(times.trash_delay_s, want->trash_delay_s);
		assert_int_equal(times.is_refresh_low, want->is_refresh_low);
		assert_int_equal(times.spread_s, want->spread_s);
		conf_free(conf);
	}
	/* The jitter: within its bounds, the same for a name whatever its case, and different for others. */
	conf_t *conf = load("policy:\n  - id: x\n    dnssec-jitter: 10%\n    rrsig-refresh: 100000\n    zsk-lifetime: "
			    "10d\nzone:\n  - domain: a\n    dnssec-policy: x\n");
	const conf_policy_t *policy = policy_of(conf, 0);
	unsigned different = 0;
	uint32_t first = conf_policy_times(policy, knot_name_of(a), 60, 60).refresh_s;
	assert_int_equal(first, conf_policy_times(policy, knot_name_of(upper), 60, 60).refresh_s);
	for (uint8_t c = 'a'; c <= 'z'; c++) {
		const uint8_t name[] = { 1, c, 0 };
		conf_policy_times_t times = conf_policy_times(policy, knot_name_of(name), 60, 60);
		assert_in_range(times.refresh_s, 100000, 110000);
		assert_in_range(times.zsk_lifetime_s, 9 * DAY, 10 * DAY);
		different += times.refresh_s != first;
	}
	assert_true(different > 20);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
