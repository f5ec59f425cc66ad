/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in the key database and in the keystore after each step, and when two work on one zone. */
#include "src/keys/zone_keys.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NOW_S = 1700000000, DAY_S = 86400 };

static char folder[] = "/tmp/bowline-zone-keys-XXXXXX";
static char keystore[64];
static const uint8_t zone_a[] = "\1a", zone_b[] = "\1b", zone_c[] = "\1c";
static conf_t *conf;
static kasp_t *kasp;

static knot_err_t open_kasp(uint64_t size_max)
{
	char reason[KASP_REASON_MAX];
	kasp_close(kasp);
	kasp = NULL;
	return kasp_open(&(kasp_params_t){ folder, size_max, false }, reason, &kasp);
}

static int set_up(void **state)
{
	(void)state;
	static const char text[] = "policy:\n  - id: p\n    nsec3: on\n"
				   "  - id: s\n    ksk-shared: on\n"
				   "  - id: z\n    nsec3: on\n    nsec3-salt-length: 8\n    nsec3-salt-lifetime: -1\n"
				   "  - id: m\n    keytag-modulo: 7/64\n"
				   "zone:\n  - domain: a\n    dnssec-policy: p\n  - domain: b\n    dnssec-policy: s\n"
				   "  - domain: c\n    dnssec-policy: z\n  - domain: d\n    dnssec-policy: m\n";
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (mkdtemp(folder) == NULL ||
			conf_load_text("t", knot_str_of(text), NULL, (conf_sink_t){ 0 }, &conf) != KNOT_OK) {
		return -1;
	}
	snprintf(keystore, sizeof(keystore), "%s/keys", folder);
	return open_kasp(16 << 20);
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	kasp_close(kasp);
	kasp = NULL;
	conf_free(conf);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static zone_keys_env_t env_of(const uint8_t *zone, size_t policy_of)
{
	const conf_zone_t settings = conf_zone(conf, policy_of);
	return (zone_keys_env_t){ .conf = conf,
		.policy = conf_zone_policy(conf, &settings),
		.kasp = kasp,
		.kasp_path = folder,
		.zone = knot_name_of(zone),
		.now_s = NOW_S };
}

static unsigned count_private(void)
{
	unsigned count = 0;
	DIR *dir = opendir(keystore);
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		count += strstr(entry->d_name, ".pem") != NULL;
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return count;
}

static void load(const zone_keys_env_t *env, zone_keys_t *keys)
{
	assert_int_equal(zone_keys_load(env, keys), KNOT_OK);
}

static conf_policy_times_t times_of(const zone_keys_env_t *env)
{
	return conf_policy_times(env->policy, env->zone, 3600, 3600);
}

static void roll(const zone_keys_env_t *env, zone_keys_t *keys, bool forces_zsk, keys_outcome_t *outcome)
{
	conf_policy_times_t times = times_of(env);
	assert_int_equal(zone_keys_roll(env, keys, &times, forces_zsk ? ZONE_KEYS_ROLLS_ZSK : 0, outcome), KNOT_OK);
	assert_true(outcome->is_changed);
}

static knot_err_t save(const zone_keys_env_t *env, zone_keys_t *keys, const keys_outcome_t *outcome)
{
	conf_policy_times_t times = times_of(env);
	return zone_keys_save(env, keys, &times, outcome);
}

static void make_first(const zone_keys_env_t *env)
{
	zone_keys_t keys;
	keys_outcome_t outcome;
	load(env, &keys);
	roll(env, &keys, false, &outcome);
	assert_int_equal(save(env, &keys, &outcome), KNOT_OK);
	zone_keys_done(&keys);
}

/* One rolls the ZSK while another does it: the second begins anew, and no key of the first is lost. */
static void test_two_at_a_time(void **state)
{
	(void)state;
	zone_keys_env_t env = env_of(zone_a, 0);
	zone_keys_t first, second;
	keys_outcome_t outcome, other;
	make_first(&env);
	assert_int_equal(count_private(), 2);
	env.now_s += DAY_S;
	load(&env, &first);
	load(&env, &second);
	roll(&env, &first, true, &outcome);
	roll(&env, &second, true, &other);
	assert_int_equal(count_private(), 4);
	assert_int_equal(save(&env, &first, &outcome), KNOT_OK);
	assert_int_equal(save(&env, &second, &other), KNOT_ETRYAGAIN);
	assert_int_equal(count_private(), 3); /* the second's key is gone */
	zone_keys_done(&second);
	load(&env, &second);
	assert_int_equal(second.set.count, 3);
	for (size_t i = 0; i < 3; i++) {
		bool is_there = false;
		for (size_t k = 0; k < 3; k++) {
			is_there = is_there || strcmp(second.set.keys[i].id, first.set.keys[k].id) == 0;
		}
		assert_true(is_there);
	}
	assert_int_equal(zone_keys_open(&env, &second), KNOT_OK);
	/* Who has saved may save again. */
	const keys_outcome_t nothing = { .is_changed = false };
	assert_int_equal(save(&env, &first, &nothing), KNOT_OK);
	zone_keys_done(&first);
	zone_keys_done(&second);
}

/* Two zones that share a KSK get their first one at a time: there is one in the end. */
static void test_shared_at_a_time(void **state)
{
	(void)state;
	zone_keys_env_t a = env_of(zone_a, 1), b = env_of(zone_b, 1);
	zone_keys_t of_a, of_b;
	keys_outcome_t outcome_a, outcome_b;
	load(&a, &of_a);
	load(&b, &of_b);
	roll(&a, &of_a, false, &outcome_a);
	roll(&b, &of_b, false, &outcome_b);
	assert_int_equal(save(&b, &of_b, &outcome_b), KNOT_OK);
	assert_int_equal(save(&a, &of_a, &outcome_a), KNOT_ETRYAGAIN);
	zone_keys_done(&of_a);
	make_first(&a);
	assert_int_equal(count_private(), 3);
	zone_keys_done(&of_b);
}

static const kasp_key_t *newest_ksk(const zone_keys_t *keys)
{
	const kasp_key_t *newest = NULL;
	for (size_t i = 0; i < keys->set.count; i++) {
		const kasp_key_t *key = &keys->set.keys[i];
		bool is_newer = newest == NULL || key->times.publish > newest->times.publish;
		newest = key->is_ksk && is_newer ? key : newest;
	}
	return newest;
}

static size_t count_ksks(const zone_keys_t *keys)
{
	size_t count = 0;
	for (size_t i = 0; i < keys->set.count; i++) {
		count += keys->set.keys[i].is_ksk;
	}
	return count;
}

static void roll_ksk(const zone_keys_env_t *env, char ret_id[static DNSSEC_KEY_ID_MAX + 1])
{
	zone_keys_t keys;
	keys_outcome_t outcome;
	conf_policy_times_t times = times_of(env);
	load(env, &keys);
	assert_int_equal(zone_keys_roll(env, &keys, &times, ZONE_KEYS_ROLLS_KSK, &outcome), KNOT_OK);
	assert_int_equal(save(env, &keys, &outcome), KNOT_OK);
	zone_keys_done(&keys);
	load(env, &keys);
	assert_int_equal(count_ksks(&keys), 2);
	strcpy(ret_id, newest_ksk(&keys)->id);
	zone_keys_done(&keys);
}

/* The first of the zones that share a KSK to roll it gets a new one, and the others get that. */
static void test_shared_rolls(void **state)
{
	(void)state;
	zone_keys_env_t a = env_of(zone_a, 1), b = env_of(zone_b, 1);
	char of_a[DNSSEC_KEY_ID_MAX + 1], of_b[DNSSEC_KEY_ID_MAX + 1];
	make_first(&a);
	make_first(&b);
	assert_int_equal(count_private(), 3);
	a.now_s = b.now_s = NOW_S + DAY_S;
	roll_ksk(&a, of_a);
	assert_int_equal(count_private(), 4);
	roll_ksk(&b, of_b);
	assert_int_equal(count_private(), 4);
	assert_string_equal(of_a, of_b);
}

static void check_ttls(const zone_keys_env_t *env, uint32_t max_ttl_s, uint32_t key_ttl_s)
{
	zone_keys_t keys;
	load(env, &keys);
	assert_true(keys.has_ttls);
	assert_int_equal(keys.max_ttl_s, max_ttl_s);
	assert_int_equal(keys.key_ttl_s, key_ttl_s);
	zone_keys_done(&keys);
}

static void roll_with_ttls(const zone_keys_env_t *env, unsigned how, uint32_t ttl_s)
{
	zone_keys_t keys;
	keys_outcome_t outcome;
	conf_policy_times_t times = conf_policy_times(env->policy, env->zone, ttl_s, 2 * ttl_s);
	load(env, &keys);
	assert_int_equal(zone_keys_roll(env, &keys, &times, how, &outcome), KNOT_OK);
	assert_true(outcome.is_changed);
	assert_int_equal(zone_keys_save(env, &keys, &times, &outcome), KNOT_OK);
	zone_keys_done(&keys);
}

/* What was served with a higher TTL is cached for that long: the delays of a rollover follow a lower one behind it. */
static void test_lower_ttl(void **state)
{
	(void)state;
	zone_keys_env_t env = env_of(zone_a, 0);
	roll_with_ttls(&env, 0, 3600);
	check_ttls(&env, 7200, 3600);
	env.now_s += DAY_S;
	roll_with_ttls(&env, ZONE_KEYS_ROLLS_ZSK, 60); /* published */
	check_ttls(&env, 7200, 3600);
	env.now_s += DAY_S;
	roll_with_ttls(&env, 0, 60); /* the old one is retired */
	check_ttls(&env, 7200, 3600);
	roll_with_ttls(&env, ZONE_KEYS_ROLLS_KSK, 9000); /* a higher one counts at once */
	check_ttls(&env, 18000, 9000);
	env.now_s += DAY_S;
	roll_with_ttls(&env, 0, 60); /* the KSK is ready, the old ZSK removed */
	check_ttls(&env, 120, 60);
}

/* The database takes no more: nothing is changed, other writers aren't kept out, and no private key stays behind. */
static void test_full(void **state)
{
	(void)state;
	enum { SMALL = 5 * 4096 };
	for (size_t policy = 0; policy < 2; policy++) {
		assert_int_equal(open_kasp(SMALL), KNOT_OK);
		zone_keys_env_t env = env_of(zone_a, policy);
		zone_keys_t keys;
		keys_outcome_t outcome;
		for (unsigned tries = 0; tries < 2; tries++) {
			load(&env, &keys);
			roll(&env, &keys, false, &outcome);
			assert_int_equal(save(&env, &keys, &outcome), KNOT_ESPACE);
			zone_keys_done(&keys);
			assert_int_equal(count_private(), 0);
		}
		load(&env, &keys);
		assert_int_equal(keys.set.count, 0);
		zone_keys_done(&keys);
	}
}

/* Of many keys that are tried for their tags, those that aren't taken go at once, and the others with what fails. */
static void test_many_tries(void **state)
{
	(void)state;
	zone_keys_env_t env = env_of(zone_a, 3);
	zone_keys_t keys;
	keys_outcome_t outcome;
	kasp_txn_t *txn;
	load(&env, &keys);
	roll(&env, &keys, false, &outcome);
	assert_int_equal(count_private(), 2);
	assert_int_equal(keys.made_count, 2);
	for (size_t i = 0; i < keys.set.count; i++) {
		assert_int_equal(keys.set.keys[i].tag % 64, 7);
	}
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, env.zone, &keys.set.keys[0]), KNOT_OK); /* another one is at work */
	assert_int_equal(kasp_commit(txn), KNOT_OK);
	assert_int_equal(save(&env, &keys, &outcome), KNOT_ETRYAGAIN);
	assert_int_equal(count_private(), 0);
	zone_keys_done(&keys);
}

/* A salt of the future, as the clock has gone back: it stays, and its life begins now. */
static void test_future_salt(void **state)
{
	(void)state;
	static const uint8_t salt[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	zone_keys_env_t env = env_of(zone_a, 2);
	const knot_bytes_t bytes = { salt, env.policy->salt_len };
	zone_keys_t keys;
	keys_outcome_t outcome;
	kasp_txn_t *txn;
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	assert_int_equal(kasp_put_salt(txn, env.zone, bytes, NOW_S + 1), KNOT_OK);
	assert_int_equal(kasp_commit(txn), KNOT_OK);
	load(&env, &keys);
	roll(&env, &keys, false, &outcome);
	assert_int_equal(zone_keys_resalt(&env, &keys), KNOT_OK);
	assert_int_equal(keys.salt_len, bytes.len);
	assert_memory_equal(keys.salt, salt, bytes.len);
	assert_int_equal(keys.salt_made_s, env.now_s);
	assert_true(keys.is_salt_new);
	zone_keys_done(&keys);
}

/* nsec3-salt-lifetime: -1: a salt for each ZSK. */
static void test_salt_of_zsk(void **state)
{
	(void)state;
	zone_keys_env_t env = env_of(zone_c, 2);
	zone_keys_t keys;
	keys_outcome_t outcome;
	load(&env, &keys);
	roll(&env, &keys, false, &outcome);
	assert_int_equal(zone_keys_resalt(&env, &keys), KNOT_OK);
	assert_true(keys.is_salt_new);
	keys.is_salt_new = false;
	env.now_s += 400 * (uint64_t)DAY_S;
	assert_int_equal(zone_keys_resalt(&env, &keys), KNOT_OK);
	assert_false(keys.is_salt_new);
	for (size_t i = 0; i < keys.set.count; i++) {
		keys.set.keys[i].times.active = env.now_s - (keys.set.keys[i].is_zsk ? 0 : 1);
	}
	assert_int_equal(zone_keys_salt_due(&env, &keys), env.now_s);
	assert_int_equal(zone_keys_resalt(&env, &keys), KNOT_OK);
	assert_true(keys.is_salt_new);
	assert_int_equal(zone_keys_salt_due(&env, &keys), 0);
	zone_keys_done(&keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_rolls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lower_ttl, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_tries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_future_salt, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_salt_of_zsk, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
