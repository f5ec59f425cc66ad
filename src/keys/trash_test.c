/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of private keys of deleted keys. */
#include "src/keys/trash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOW_S = 1700000000, DELAY_S = 86400 };

static char folder[] = "/tmp/bowline-trash-XXXXXX";
static char backup_folder[64];
static const uint8_t zone_wire[] = "\1a";
static conf_t *conf;
static kasp_t *kasp;

static kasp_t *open_kasp(const char *path)
{
	char reason[KASP_REASON_MAX];
	kasp_t *opened;
	assert_int_equal(kasp_open(&(kasp_params_t){ path, 16 << 20, false }, reason, &opened), KNOT_OK);
	return opened;
}

static int set_up(void **state)
{
	(void)state;
	static const char text[] = "keystore:\n  - id: other\n    config: other\n"
				   "policy:\n  - id: p\n    keystore: other\n"
				   "zone:\n  - domain: a\n    dnssec-policy: p\n";
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (mkdtemp(folder) == NULL ||
			conf_load_text("t", knot_str_of(text), NULL, (conf_sink_t){ 0 }, &conf) != KNOT_OK) {
		return -1;
	}
	snprintf(backup_folder, sizeof(backup_folder), "%s/backup", folder);
	kasp = open_kasp(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	kasp_close(kasp);
	conf_free(conf);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static zone_keys_env_t env_of_policy(const conf_policy_t *policy)
{
	return (zone_keys_env_t){ .conf = conf,
		.policy = policy,
		.kasp = kasp,
		.kasp_path = folder,
		.zone = knot_name_of(zone_wire),
		.now_s = NOW_S };
}

static zone_keys_env_t env(void)
{
	const conf_zone_t settings = conf_zone(conf, 0);
	return env_of_policy(conf_zone_policy(conf, &settings));
}

/* Of a zone that isn't configured. */
static zone_keys_env_t env_of_none(void)
{
	const conf_zone_t none = { .policy = { .count = 0 } };
	return env_of_policy(conf_zone_policy(conf, &none));
}

static void put_key(const kasp_key_t *key)
{
	kasp_txn_t *txn;
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, knot_name_of(zone_wire), key), KNOT_OK);
	assert_int_equal(kasp_commit(txn), KNOT_OK);
}

/* A key of the zone in the keystore "other". public: what it points to. */
static kasp_key_t make_key(uint8_t public[static DNSSEC_KEY_RDATA_MAX], bool is_for_later)
{
	const zone_keys_env_t where = env();
	const keys_wanted_t wanted = { .is_zsk = true, .algorithm = DNSSEC_ED25519, .flags = 256 };
	kasp_key_t key;
	assert_int_equal(zone_keys_make(&where, &wanted, public, &key), KNOT_OK);
	key.is_zsk = true;
	key.is_for_later = is_for_later;
	put_key(&key);
	return key;
}

static bool has_private(const kasp_key_t *key)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/other/%s.pem", folder, key->id);
	return access(path, R_OK) == 0;
}

static size_t count_trash(kasp_trash_t *ret_first)
{
	keys_trash_t trash;
	assert_int_equal(keys_trash_read(kasp, knot_name_of(zone_wire), &trash), KNOT_OK);
	size_t count = trash.count;
	if (count > 0 && ret_first != NULL) {
		*ret_first = trash.items[0].trash;
	}
	keys_trash_done(&trash);
	return count;
}

static void drop(const kasp_key_t *key)
{
	const zone_keys_env_t where = env();
	assert_int_equal(zone_keys_drop(&where, key, DELAY_S), KNOT_OK);
}

static void discard(const zone_keys_env_t *where, const kasp_key_t *key, knot_err_t want)
{
	const conf_keystore_t *failed;
	assert_int_equal(keys_trash_discard(where, key->id, &failed), want);
}

/* Noted with what a key is needed for again; then gone, from the store that had it. */
static void test_discard(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	kasp_trash_t trash;
	const kasp_key_t key = make_key(public, true);
	drop(&key);
	assert_true(has_private(&key));
	assert_int_equal(count_trash(&trash), 1);
	assert_true(trash.is_zsk && !trash.is_ksk && trash.is_for_later);
	assert_int_equal(trash.discard_s, NOW_S + DELAY_S);
	const zone_keys_env_t where = env();
	discard(&where, &key, KNOT_OK);
	assert_false(has_private(&key));
	assert_int_equal(count_trash(NULL), 0);
}

/* Its zone isn't configured any more, so that nothing says in which keystore it is. */
static void test_of_another_store(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	const kasp_key_t key = make_key(public, false);
	drop(&key);
	const zone_keys_env_t where = env_of_none();
	discard(&where, &key, KNOT_OK);
	assert_false(has_private(&key));
	assert_int_equal(count_trash(NULL), 0);
}

/* Someone has listed the trash; meanwhile the key is taken back. */
static void test_taken_back(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	const kasp_key_t key = make_key(public, false);
	const zone_keys_env_t where = env();
	drop(&key);
	put_key(&key);
	discard(&where, &key, KNOT_OK);
	assert_true(has_private(&key));
}

/* A restored key is in use, whatever was noted since the backup. */
static void test_restored(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	kasp_txn_t *from, *to;
	const kasp_key_t key = make_key(public, false);
	kasp_t *backup = open_kasp(backup_folder);
	for (unsigned is_restore = 0; is_restore < 2; is_restore++) {
		assert_int_equal(kasp_begin(is_restore ? backup : kasp, false, &from), KNOT_OK);
		assert_int_equal(kasp_begin(is_restore ? kasp : backup, true, &to), KNOT_OK);
		assert_int_equal(kasp_copy_zone(from, to, knot_name_of(zone_wire), true), KNOT_OK);
		assert_int_equal(kasp_commit(to), KNOT_OK);
		kasp_abort(from);
		if (!is_restore) {
			drop(&key);
			assert_int_equal(count_trash(NULL), 1);
		}
	}
	kasp_close(backup);
	assert_int_equal(count_trash(NULL), 0);
	const zone_keys_env_t where = env();
	discard(&where, &key, KNOT_OK);
	assert_true(has_private(&key));
}

/* The store fails: the key stays in the trash. */
static void test_failing_store(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	char command[256];
	const conf_keystore_t *failed = NULL;
	const kasp_key_t key = make_key(public, false);
	const zone_keys_env_t where = env();
	drop(&key);
	snprintf(command, sizeof(command), "mv %s/other %s/away && ln -s loop %s/loop && ln -s loop %s/other", folder,
			folder, folder, folder);
	assert_int_equal(system(command), 0);
	assert_int_not_equal(keys_trash_discard(&where, key.id, &failed), KNOT_OK);
	assert_non_null(failed);
	assert_string_equal(failed->id, "other");
	assert_int_equal(count_trash(NULL), 1);
}

/* A key that others signed with has no private key here, and one of that id isn't its. */
static void test_public_only(void **state)
{
	(void)state;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	kasp_key_t key = make_key(public, false);
	const zone_keys_env_t where = env();
	key.is_public_only = true;
	put_key(&key);
	drop(&key);
	assert_int_equal(count_trash(NULL), 0);
	put_key(&key);
	assert_int_equal(zone_keys_drop(&where, &key, 0), KNOT_OK);
	assert_true(has_private(&key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_discard, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_of_another_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_taken_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_restored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failing_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_public_only, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
