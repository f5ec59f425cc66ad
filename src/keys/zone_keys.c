/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/zone_keys.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "libdnssec/pem_store.h"
#include "libknot/base/siphash.h"

/* ---- Keystores ---- */

knot_err_t zone_keys_open_store(const zone_keys_env_t *env, const conf_keystore_t *store, dnssec_store_t **ret_store)
{
	char path[PATH_MAX];
	if (store->backend == CONF_KEYSTORE_PKCS11) {
		return dnssec_store_open(DNSSEC_STORE_PKCS11, store->config, ret_store);
	}
	bool is_absolute = store->config[0] == '/';
	int len = snprintf(path, sizeof(path), "%s%s%s", is_absolute ? "" : env->kasp_path, is_absolute ? "" : "/",
			store->config);
	return len > 0 && len < PATH_MAX ? dnssec_store_open(DNSSEC_STORE_PEM, path, ret_store) : KNOT_ESPACE;
}

knot_err_t zone_keys_check_stores(const zone_keys_env_t *env)
{
	conf_keystores_t stores = conf_policy_keystores(env->conf, env->policy);
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < stores.count && err == KNOT_OK; i++) {
		dnssec_store_t *store;
		err = zone_keys_open_store(env, stores.data[i], &store);
		if (err == KNOT_OK) {
			dnssec_store_close(store);
		}
	}
	return err;
}

/* Where new keys of such a role go. */
static const conf_keystore_t *zone_keys_choose_store(const zone_keys_env_t *env, bool is_ksk)
{
	conf_keystores_t stores = conf_policy_keystores(env->conf, env->policy);
	for (size_t i = 0; i < stores.count; i++) {
		if (is_ksk || !stores.data[i]->is_ksk_only) {
			return stores.data[i];
		}
	}
	return NULL;
}

/** Something to do with a key in a store. */
typedef knot_err_t (*zone_keys_do_t)(const dnssec_store_t *store, const char *id, void *ctx);

/* Do it in the first store where it succeeds. Without one: what was wrong with the first that wasn't merely without the
 * key, *ret_conf, or KNOT_ENOENT. */
static knot_err_t zone_keys_try_stores(const zone_keys_env_t *env, const char *id, zone_keys_do_t action, void *ctx,
		const conf_keystore_t **ret_conf)
{
	conf_keystores_t stores = conf_policy_keystores(env->conf, env->policy);
	knot_err_t worst = KNOT_ENOENT;
	for (size_t i = 0; i < stores.count; i++) {
		dnssec_store_t *store = NULL;
		knot_err_t err = zone_keys_open_store(env, stores.data[i], &store);
		err = err == KNOT_OK ? action(store, id, ctx) : err;
		dnssec_store_close(store);
		if (err == KNOT_OK || (worst == KNOT_ENOENT && err != KNOT_ENOENT)) {
			*ret_conf = stores.data[i];
			worst = err;
		}
		if (err == KNOT_OK) {
			return KNOT_OK;
		}
	}
	return worst;
}

static knot_err_t zone_keys_get_from(const dnssec_store_t *store, const char *id, void *ctx)
{
	return dnssec_store_get(store, id, ctx);
}

static knot_err_t zone_keys_look(const dnssec_store_t *store, const char *id, void *ctx)
{
	(void)ctx;
	return dnssec_store_has(store, id) ? KNOT_OK : KNOT_ENOENT;
}

const conf_keystore_t *zone_keys_find_store(const zone_keys_env_t *env, const char *id)
{
	const conf_keystore_t *found = NULL;
	return zone_keys_try_stores(env, id, zone_keys_look, NULL, &found) == KNOT_OK ? found : NULL;
}

static knot_err_t zone_keys_export_from(const dnssec_store_t *store, const char *id, void *ctx)
{
	const char *folder = dnssec_store_folder(store), *to_folder = ctx;
	if (folder == NULL) {
		return dnssec_store_has(store, id) ? KNOT_ENOTSUP : KNOT_ENOENT;
	}
	return dnssec_pem_copy(folder, to_folder, id);
}

knot_err_t zone_keys_export(const zone_keys_env_t *env, const char *id, const char *to_folder)
{
	const conf_keystore_t *found;
	return zone_keys_try_stores(env, id, zone_keys_export_from, (void *)(uintptr_t)to_folder, &found);
}

/* A file's key becomes one of a token, if it is found there by the id that the key database has. */
static knot_err_t zone_keys_import_token(const dnssec_store_t *store, const kasp_key_t *key, const char *from_folder)
{
	char id[DNSSEC_KEY_ID_MAX + 1];
	dnssec_key_t *made;
	knot_err_t err = dnssec_pem_find(from_folder, key->id, key->algorithm, key->flags, &made);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_ENOTSUP : err;
	}
	err = dnssec_key_id(made, id);
	err = err == KNOT_OK && strcmp(id, key->id) != 0 ? KNOT_EKEYID : err;
	err = err == KNOT_OK ? dnssec_store_put(store, made, "", id) : err;
	dnssec_key_free(made);
	return err;
}

knot_err_t zone_keys_import(const zone_keys_env_t *env, const kasp_key_t *key, const char *from_folder)
{
	dnssec_store_t *store;
	conf_keystores_t stores = conf_policy_keystores(env->conf, env->policy);
	knot_err_t err = stores.count > 0 ? zone_keys_open_store(env, stores.data[0], &store) : KNOT_ENOKEYSTORE;
	if (err != KNOT_OK) {
		return err;
	}
	const char *folder = dnssec_store_folder(store);
	err = folder != NULL ? dnssec_pem_copy(from_folder, folder, key->id)
			     : zone_keys_import_token(store, key, from_folder);
	dnssec_store_close(store);
	return err;
}

/* A key that more than one store has goes from all. */
static knot_err_t zone_keys_remove_from(const dnssec_store_t *store, const char *id, void *ctx)
{
	knot_err_t err = dnssec_store_remove(store, id);
	bool *is_removed = ctx;
	*is_removed = *is_removed || err == KNOT_OK;
	return err == KNOT_OK ? KNOT_ENOENT : err;
}

knot_err_t zone_keys_remove_private(const zone_keys_env_t *env, const char *id, const conf_keystore_t **ret_failed)
{
	bool is_removed = false;
	knot_err_t err = zone_keys_try_stores(env, id, zone_keys_remove_from, &is_removed, ret_failed);
	return err == KNOT_ENOENT && is_removed ? KNOT_OK : err;
}

/* A private key that stays does no harm. */
static void zone_keys_try_remove(const zone_keys_env_t *env, const char *id)
{
	const conf_keystore_t *failed;
	knot_err_t err = zone_keys_remove_private(env, id, &failed);
	(void)err;
}

/* ---- New keys ---- */

/** What the functions of a keys_maker_t need. */
typedef struct {
	const zone_keys_env_t *env;
	zone_keys_t *keys;
	kasp_txn_t *txn; /* to look for shared keys */
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
} zone_keys_maker_t;

/* Private keys that the key database doesn't know would stay for ever. */
static void zone_keys_discard_made(const zone_keys_env_t *env, zone_keys_t *keys)
{
	while (keys->made_count > 0) {
		zone_keys_try_remove(env, keys->made[--keys->made_count]);
	}
}

/* What a token shows of a key. */
static void zone_keys_label(const zone_keys_env_t *env, const conf_keystore_t *store, bool is_ksk,
		char ret_label[static DNSSEC_LABEL_MAX])
{
	char zone[KNOT_NAME_TEXT_MAX];
	ret_label[0] = '\0';
	if (store->labels_keys) {
		(void)knot_name_print(env->zone, zone);
		snprintf(ret_label, DNSSEC_LABEL_MAX, "%.280s %s", zone, is_ksk ? "KSK" : "ZSK");
	}
}

knot_err_t zone_keys_keep(const zone_keys_env_t *env, bool is_ksk, const dnssec_key_t *key,
		char ret_id[static DNSSEC_KEY_ID_MAX + 1])
{
	dnssec_store_t *store;
	const conf_keystore_t *conf = zone_keys_choose_store(env, is_ksk);
	knot_err_t err = conf != NULL ? zone_keys_open_store(env, conf, &store) : KNOT_ENOKEYSTORE;
	if (err == KNOT_OK) {
		err = dnssec_store_put(store, key, "", ret_id); /* as in Knot DNS, the label is of generated keys */
		dnssec_store_close(store);
	}
	return err;
}

knot_err_t zone_keys_make(const zone_keys_env_t *env, const keys_wanted_t *wanted,
		uint8_t ret_public[static DNSSEC_KEY_RDATA_MAX], kasp_key_t *ret_key)
{
	dnssec_key_t *made;
	dnssec_store_t *store;
	char label[DNSSEC_LABEL_MAX];
	*ret_key = (kasp_key_t){ .algorithm = wanted->algorithm, .flags = wanted->flags };
	const conf_keystore_t *conf = zone_keys_choose_store(env, wanted->is_ksk);
	knot_err_t err = conf != NULL ? zone_keys_open_store(env, conf, &store) : KNOT_ENOKEYSTORE;
	if (err != KNOT_OK) {
		return err;
	}
	zone_keys_label(env, conf, wanted->is_ksk, label);
	err = dnssec_store_generate(store, wanted->algorithm, wanted->bits, wanted->flags, label, ret_key->id, &made);
	dnssec_store_close(store);
	if (err == KNOT_OK) {
		knot_bytes_t rdata = dnssec_key_rdata(made);
		memcpy(ret_public, rdata.data + 4, rdata.len - 4);
		ret_key->public = (knot_bytes_t){ ret_public, rdata.len - 4 };
		ret_key->tag = dnssec_key_tag(made);
		dnssec_key_free(made);
	}
	return err;
}

/* Where no new key could be put. */
static void zone_keys_note_no_new(const zone_keys_env_t *env, zone_keys_t *keys, bool is_ksk, knot_err_t err)
{
	const conf_keystore_t *store = zone_keys_choose_store(env, is_ksk);
	bool is_pem = store != NULL && store->backend == CONF_KEYSTORE_PEM; /* a token's place has the PIN */
	bool is_relative = is_pem && store->config[0] != '/';
	snprintf(keys->reason, sizeof(keys->reason), "new key%s%.100s%s%.250s%s%.200s: %s",
			store != NULL && store->id[0] != '\0' ? ", keystore " : "", store != NULL ? store->id : "",
			is_pem ? ", folder " : "", is_relative ? env->kasp_path : "", is_relative ? "/" : "",
			is_pem ? store->config : "", knot_strerror(err));
}

static knot_err_t zone_keys_generate(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx)
{
	zone_keys_maker_t *maker = ctx;
	knot_err_t err = zone_keys_make(maker->env, wanted, maker->public, ret_key);
	zone_keys_t *keys = maker->keys;
	if (err != KNOT_OK) {
		zone_keys_note_no_new(maker->env, keys, wanted->is_ksk, err);
	}
	if (err == KNOT_OK && keys->made_count < ZONE_KEYS_MADE_MAX) {
		memcpy(keys->made[keys->made_count++], ret_key->id, sizeof(ret_key->id));
	}
	return err;
}

/* One of those that were generated. */
static void zone_keys_discard(const kasp_key_t *key, void *ctx)
{
	zone_keys_maker_t *maker = ctx;
	zone_keys_t *keys = maker->keys;
	zone_keys_try_remove(maker->env, key->id);
	if (keys->made_count > 0 && strcmp(keys->made[keys->made_count - 1], key->id) == 0) {
		keys->made_count--;
	}
}

static knot_err_t zone_keys_share(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx)
{
	zone_keys_maker_t *maker = ctx;
	knot_err_t err = kasp_get_shared(maker->txn, maker->env->policy->id, ret_key);
	return err == KNOT_OK && ret_key->algorithm != wanted->algorithm ? KNOT_ENOENT : err;
}

static void zone_keys_find_shared(
		const zone_keys_env_t *env, kasp_txn_t *txn, char ret_id[static DNSSEC_KEY_ID_MAX + 1])
{
	kasp_key_t key;
	bool found = kasp_get_shared(txn, env->policy->id, &key) == KNOT_OK;
	memcpy(ret_id, found ? key.id : "", found ? sizeof(key.id) : 1);
}

static knot_err_t zone_keys_note_shared(const kasp_key_t *key, void *ctx)
{
	zone_keys_maker_t *maker = ctx;
	memcpy(maker->keys->new_shared, key->id, sizeof(key->id));
	return KNOT_OK;
}

knot_err_t zone_keys_roll(const zone_keys_env_t *env, zone_keys_t *keys, const conf_policy_times_t *times, unsigned how,
		keys_outcome_t *ret_outcome)
{
	zone_keys_maker_t ctx = { .env = env, .keys = keys };
	const keys_maker_t maker = { .generate = zone_keys_generate,
		.discard = zone_keys_discard,
		.share = zone_keys_share,
		.note_shared = zone_keys_note_shared,
		.ctx = &ctx };
	const keys_params_t params = { .policy = env->policy,
		.zsk_lifetime_s = times->zsk_lifetime_s,
		.key_ttl_s = keys->has_ttls ? keys->key_ttl_s : times->dnskey_ttl_s,
		.max_ttl_s = keys->has_ttls ? keys->max_ttl_s : times->zone_max_ttl_s,
		.now_s = env->now_s,
		.forces_ksk = (how & ZONE_KEYS_ROLLS_KSK) != 0,
		.forces_zsk = (how & ZONE_KEYS_ROLLS_ZSK) != 0,
		.keeps_future = (how & ZONE_KEYS_IN_ADVANCE) != 0,
		.rolls_only_zsk = (how & ZONE_KEYS_IN_ADVANCE) != 0 };
	knot_err_t err = kasp_begin(env->kasp, false, &ctx.txn);
	if (err != KNOT_OK) {
		return err;
	}
	zone_keys_find_shared(env, ctx.txn, keys->shared);
	err = keys_run(&keys->set, &params, &maker, ret_outcome);
	kasp_abort(ctx.txn);
	if (err != KNOT_OK) {
		zone_keys_discard_made(env, keys);
	}
	return err;
}

/* ---- Reading and writing ---- */

typedef struct {
	keys_set_t *set;
	knot_err_t err;
} zone_keys_list_t;

static bool zone_keys_take(const kasp_key_t *key, void *ctx)
{
	zone_keys_list_t *list = ctx;
	list->err = keys_set_add(list->set, key);
	return list->err == KNOT_OK;
}

static bool zone_keys_hash_one(const kasp_key_t *key, void *ctx)
{
	uint8_t bytes[DNSSEC_KEY_ID_MAX + 1 + KASP_VALUE_MAX];
	uint64_t *hash = ctx;
	size_t id_len = strlen(key->id) + 1;
	memcpy(bytes, key->id, id_len);
	size_t len = id_len + kasp_key_write(key, bytes + id_len);
	*hash = knot_siphash24(*hash, 0, (knot_bytes_t){ bytes, len });
	return true;
}

static knot_err_t zone_keys_hash(const zone_keys_env_t *env, kasp_txn_t *txn, uint64_t *ret_hash)
{
	*ret_hash = 1;
	return kasp_each_key(txn, env->zone, zone_keys_hash_one, ret_hash);
}

/* What isn't kept is no failure. */
static knot_err_t zone_keys_or_none(knot_err_t err, bool *ret_has)
{
	*ret_has = err == KNOT_OK;
	return err == KNOT_ENOENT ? KNOT_OK : err;
}

knot_err_t zone_keys_load(const zone_keys_env_t *env, zone_keys_t *ret_keys)
{
	kasp_txn_t *txn;
	*ret_keys = (zone_keys_t){ .has_ttls = false };
	zone_keys_list_t list = { &ret_keys->set, KNOT_OK };
	knot_err_t err = kasp_begin(env->kasp, false, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_each_key(txn, env->zone, zone_keys_take, &list);
	err = err == KNOT_OK ? list.err : err;
	err = err == KNOT_OK ? zone_keys_hash(env, txn, &ret_keys->seen) : err;
	err = err == KNOT_OK ? zone_keys_or_none(kasp_get_ttls(txn, env->zone, &ret_keys->max_ttl_s,
								 &ret_keys->key_ttl_s),
					       &ret_keys->has_ttls)
			     : err;
	err = err == KNOT_OK ? zone_keys_or_none(kasp_get_salt(txn, env->zone, ret_keys->salt, &ret_keys->salt_len,
								 &ret_keys->salt_made_s),
					       &ret_keys->has_salt)
			     : err;
	kasp_abort(txn);
	if (err != KNOT_OK) {
		zone_keys_done(ret_keys);
	}
	return err;
}

/* A deleted key: its private key goes later, now, or stays with another zone. */
static knot_err_t zone_keys_delete(const zone_keys_env_t *env, kasp_txn_t *txn, const kasp_key_t *key,
		uint32_t trash_delay_s, bool *ret_is_private_gone)
{
	bool is_used = false;
	knot_err_t err = kasp_drop_key(txn, env->zone, key->id, &is_used);
	bool has_private = !key->is_public_only;
	*ret_is_private_gone = err == KNOT_OK && !is_used && has_private && trash_delay_s == 0;
	if (err != KNOT_OK || is_used || !has_private || trash_delay_s == 0) {
		return err == KNOT_ENOENT ? KNOT_OK : err;
	}
	kasp_trash_t trash = { .discard_s = env->now_s + trash_delay_s,
		.deleted_s = env->now_s,
		.tag = key->tag,
		.algorithm = key->algorithm,
		.is_ksk = key->is_ksk,
		.is_zsk = key->is_zsk,
		.is_for_later = key->is_for_later };
	memcpy(trash.id, key->id, sizeof(trash.id));
	return kasp_put_trash(txn, env->zone, &trash);
}

/* KNOT_ETRYAGAIN: somebody else was at work since the keys were loaded. */
static knot_err_t zone_keys_check_seen(const zone_keys_env_t *env, kasp_txn_t *txn, const zone_keys_t *keys)
{
	uint64_t hash;
	char shared[DNSSEC_KEY_ID_MAX + 1];
	knot_err_t err = zone_keys_hash(env, txn, &hash);
	if (err != KNOT_OK) {
		return err;
	}
	zone_keys_find_shared(env, txn, shared);
	bool is_new_shared = keys->new_shared[0] != '\0' && strcmp(shared, keys->shared) != 0;
	return hash != keys->seen || is_new_shared ? KNOT_ETRYAGAIN : KNOT_OK;
}

/* True while the next step of a key waits until caches have forgotten something. */
static bool zone_keys_wait(const keys_set_t *set, uint64_t now_s)
{
	enum {
		WAITING = 1 << KEYS_PRE_ACTIVE | 1 << KEYS_PUBLISHED | 1 << KEYS_RETIRE_ACTIVE | 1 << KEYS_POST_ACTIVE |
			  1 << KEYS_RETIRED
	};
	for (size_t i = 0; i < set->count; i++) {
		if ((WAITING & 1 << keys_state(&set->keys[i].times, now_s)) != 0) {
			return true;
		}
	}
	return false;
}

/* Delays follow what is kept. A TTL that was lowered counts when no key waits any more: what was served with the higher
 * one may still be cached. */
static knot_err_t zone_keys_put_ttls(
		const zone_keys_env_t *env, kasp_txn_t *txn, const zone_keys_t *keys, const conf_policy_times_t *times)
{
	uint32_t max_ttl_s = times->zone_max_ttl_s, key_ttl_s = times->dnskey_ttl_s;
	if (keys->has_ttls && zone_keys_wait(&keys->set, env->now_s)) {
		max_ttl_s = keys->max_ttl_s > max_ttl_s ? keys->max_ttl_s : max_ttl_s;
		key_ttl_s = keys->key_ttl_s > key_ttl_s ? keys->key_ttl_s : key_ttl_s;
	}
	return kasp_put_ttls(txn, env->zone, max_ttl_s, key_ttl_s);
}

static knot_err_t zone_keys_put(
		const zone_keys_env_t *env, kasp_txn_t *txn, const zone_keys_t *keys, const conf_policy_times_t *times)
{
	const knot_bytes_t salt = { keys->salt, keys->salt_len };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < keys->set.count && err == KNOT_OK; i++) {
		err = kasp_put_key(txn, env->zone, &keys->set.keys[i]);
	}
	if (err == KNOT_OK && keys->new_shared[0] != '\0') {
		err = kasp_put_shared(txn, env->policy->id, env->zone, keys->new_shared);
	}
	err = err == KNOT_OK ? kasp_put_salt(txn, env->zone, salt, keys->salt_made_s) : err;
	return err == KNOT_OK ? zone_keys_put_ttls(env, txn, keys, times) : err;
}

knot_err_t zone_keys_save(const zone_keys_env_t *env, zone_keys_t *keys, const conf_policy_times_t *times,
		const keys_outcome_t *outcome)
{
	kasp_txn_t *txn;
	bool is_gone[KEYS_DELETED_MAX] = { false };
	uint64_t hash = 0;
	knot_err_t err = kasp_begin(env->kasp, true, &txn);
	if (err != KNOT_OK) {
		zone_keys_discard_made(env, keys);
		return err;
	}
	err = zone_keys_check_seen(env, txn, keys);
	err = err == KNOT_OK ? zone_keys_put(env, txn, keys, times) : err;
	for (size_t i = 0; i < outcome->deleted_count && err == KNOT_OK; i++) {
		err = zone_keys_delete(env, txn, &outcome->deleted[i], times->trash_delay_s, &is_gone[i]);
	}
	err = err == KNOT_OK ? zone_keys_hash(env, txn, &hash) : err;
	if (err != KNOT_OK) {
		kasp_abort(txn);
		zone_keys_discard_made(env, keys);
		return err;
	}
	err = kasp_commit(txn);
	if (err == KNOT_ESPACE) {
		zone_keys_discard_made(env, keys);
	}
	keys->made_count = 0; /* on other failures, of the disk, it isn't certain that they are not in the file */
	if (err != KNOT_OK) {
		return err;
	}
	keys->seen = hash;
	keys->new_shared[0] = '\0';
	for (size_t i = 0; i < outcome->deleted_count; i++) {
		if (is_gone[i]) {
			zone_keys_try_remove(env, outcome->deleted[i].id);
		}
	}
	return KNOT_OK;
}

knot_err_t zone_keys_drop(const zone_keys_env_t *env, const kasp_key_t *key, uint32_t trash_delay_s)
{
	kasp_txn_t *txn;
	bool is_gone = false;
	knot_err_t err = kasp_begin(env->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = zone_keys_delete(env, txn, key, trash_delay_s, &is_gone);
	if (err == KNOT_OK) {
		err = kasp_commit(txn);
	} else {
		kasp_abort(txn);
	}
	if (err == KNOT_OK && is_gone) {
		zone_keys_try_remove(env, key->id);
	}
	return err;
}

static knot_err_t zone_keys_delete_all(const zone_keys_env_t *env, kasp_txn_t *txn, const keys_set_t *set,
		uint32_t trash_delay_s, bool *is_gone)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		err = zone_keys_delete(env, txn, &set->keys[i], trash_delay_s, &is_gone[i]);
	}
	return err;
}

knot_err_t zone_keys_purge(const zone_keys_env_t *env, const conf_policy_times_t *times, bool keys, bool data)
{
	kasp_txn_t *txn;
	zone_keys_t all = { .has_ttls = false };
	knot_err_t err = keys ? zone_keys_load(env, &all) : KNOT_OK;
	bool *is_gone = err == KNOT_OK ? calloc(all.set.count + 1, sizeof(bool)) : NULL;
	err = err == KNOT_OK && is_gone == NULL ? KNOT_ENOMEM : err;
	err = err == KNOT_OK ? kasp_begin(env->kasp, true, &txn) : err;
	if (err == KNOT_OK) {
		err = zone_keys_delete_all(env, txn, &all.set, times->trash_delay_s, is_gone);
		err = err == KNOT_OK && data ? kasp_drop_zone(txn, env->zone) : err;
		if (err == KNOT_OK) {
			err = kasp_commit(txn);
		} else {
			kasp_abort(txn);
		}
	}
	for (size_t i = 0; i < all.set.count && err == KNOT_OK; i++) {
		if (is_gone[i]) {
			zone_keys_try_remove(env, all.set.keys[i].id);
		}
	}
	free(is_gone);
	zone_keys_done(&all);
	return err;
}

/* ---- Salt ---- */

/* When a ZSK became active that is younger than the salt; 0: none did. */
static uint64_t zone_keys_salt_outlived(const zone_keys_env_t *env, const zone_keys_t *keys)
{
	uint64_t newest_s = 0;
	const keys_set_t *set = &keys->set;
	for (size_t i = 0; i < set->count; i++) {
		bool is_active = set->keys[i].is_zsk && keys_use(set->keys, set->count, i, env->now_s).is_active;
		if (is_active && set->keys[i].times.active > newest_s) {
			newest_s = set->keys[i].times.active;
		}
	}
	return newest_s > keys->salt_made_s ? newest_s : 0;
}

uint64_t zone_keys_salt_due(const zone_keys_env_t *env, const zone_keys_t *keys)
{
	const conf_policy_t *policy = env->policy;
	if (!policy->has_nsec3 || policy->salt_len == 0) {
		return 0;
	}
	return policy->salt_lifetime_s < 0   ? zone_keys_salt_outlived(env, keys)
	       : policy->salt_lifetime_s > 0 ? keys->salt_made_s + (uint64_t)policy->salt_lifetime_s
					     : 0;
}

knot_err_t zone_keys_resalt(const zone_keys_env_t *env, zone_keys_t *keys)
{
	const conf_policy_t *policy = env->policy;
	if (!policy->has_nsec3) {
		return KNOT_OK;
	}
	if (keys->has_salt && keys->salt_made_s > env->now_s) { /* the clock has gone back: its life begins anew */
		keys->salt_made_s = env->now_s;
		keys->is_salt_new = true;
	}
	uint64_t due_s = zone_keys_salt_due(env, keys);
	bool is_due = !keys->has_salt || keys->salt_len != policy->salt_len ||
		      (policy->salt_len > 0 && keys->salt_made_s == 0) || (due_s != 0 && due_s <= env->now_s);
	if (!is_due) {
		return KNOT_OK;
	}
	if (policy->salt_len > 0 && getrandom(keys->salt, policy->salt_len, 0) != policy->salt_len) {
		return KNOT_ECRYPTO;
	}
	keys->salt_len = policy->salt_len;
	keys->salt_made_s = env->now_s;
	keys->has_salt = keys->is_salt_new = true;
	return KNOT_OK;
}

/* ---- Private keys ---- */

/* Which key could not be opened, and where. */
static void zone_keys_note_failure(
		zone_keys_t *keys, const kasp_key_t *key, const conf_keystore_t *store, knot_err_t err)
{
	bool is_named = store != NULL && store->id[0] != '\0';
	keys->failed_tag = key->tag;
	snprintf(keys->failed_store, sizeof(keys->failed_store), "%s", is_named ? store->id : "");
	snprintf(keys->reason, sizeof(keys->reason), "key %u, id %s%s%.100s: %s", key->tag, key->id,
			is_named ? ", keystore " : "", keys->failed_store, knot_strerror(err));
}

static knot_err_t zone_keys_open_one(const zone_keys_env_t *env, zone_keys_t *keys, size_t index, bool is_revoked)
{
	const kasp_key_t *key = &keys->set.keys[index];
	const conf_keystore_t *store = NULL;
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	dnssec_key_t *opened = NULL;
	size_t len = keys_dnskey(key, is_revoked, rdata);
	knot_err_t err = dnssec_key_from_rdata((knot_bytes_t){ rdata, len }, &opened);
	if (err == KNOT_OK) {
		err = zone_keys_try_stores(env, key->id, zone_keys_get_from, opened, &store);
		err = err == KNOT_ENOENT ? KNOT_ENOPRIVATEKEY : err;
	}
	if (err != KNOT_OK) {
		dnssec_key_free(opened);
		zone_keys_note_failure(keys, key, store, err);
		return err;
	}
	keys->opened[index] = opened;
	return KNOT_OK;
}

static void zone_keys_close(zone_keys_t *keys)
{
	for (size_t i = 0; i < keys->opened_count; i++) {
		dnssec_key_free(keys->opened[i]);
	}
	free(keys->opened);
	keys->opened = NULL;
	keys->opened_count = 0;
}

static knot_err_t zone_keys_reserve_opened(zone_keys_t *keys)
{
	keys->opened = calloc(keys->set.count + 1, sizeof(dnssec_key_t *));
	keys->opened_count = keys->opened != NULL ? keys->set.count : 0;
	return keys->opened != NULL ? KNOT_OK : KNOT_ENOMEM;
}

bool zone_keys_drop_unusable(const zone_keys_env_t *env, zone_keys_t *keys, uint16_t *ret_tag)
{
	for (size_t i = 0; i < keys->set.count && env->policy->has_nsec3; i++) {
		if (keys->set.keys[i].algorithm == DNSSEC_RSASHA1) {
			*ret_tag = keys->set.keys[i].tag;
			keys_set_remove(&keys->set, i);
			return true;
		}
	}
	return false;
}

knot_err_t zone_keys_open(const zone_keys_env_t *env, zone_keys_t *keys)
{
	const keys_set_t *set = &keys->set;
	bool is_checked = (env->policy->unsafe.bits & CONF_UNSAFE_KEYSET) == 0;
	knot_err_t err = is_checked ? keys_check(set->keys, set->count, env->policy->is_offline_ksk, env->now_s)
				    : KNOT_OK;
	err = err == KNOT_OK ? zone_keys_reserve_opened(keys) : err;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		keys_use_t use = keys_use(set->keys, set->count, i, env->now_s);
		bool signs_keys = keys_signs_keys(&set->keys[i], &use) && !env->policy->is_offline_ksk;
		if (signs_keys || keys_signs_zone(&set->keys[i], &use)) {
			err = zone_keys_open_one(env, keys, i, use.is_revoked);
		}
	}
	return err;
}

void zone_keys_recheck(const zone_keys_env_t *env, zone_keys_t *keys)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < keys->opened_count && err == KNOT_OK; i++) {
		dnssec_key_t *before = keys->opened[i];
		if (before == NULL) {
			continue;
		}
		err = zone_keys_open_one(env, keys, i, (dnssec_key_flags(before) & DNSSEC_FLAG_REVOKE) != 0);
		if (err == KNOT_OK) {
			dnssec_key_free(keys->opened[i]);
		}
		keys->opened[i] = before; /* signers may have it */
	}
}

knot_err_t zone_keys_open_ksks(const zone_keys_env_t *env, zone_keys_t *keys)
{
	const keys_set_t *set = &keys->set;
	zone_keys_close(keys);
	knot_err_t err = zone_keys_reserve_opened(keys);
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		keys_use_t use = keys_use(set->keys, set->count, i, env->now_s);
		if (keys_signs_keys(&set->keys[i], &use)) {
			err = zone_keys_open_one(env, keys, i, use.is_revoked);
		}
	}
	return err;
}

void zone_keys_done(zone_keys_t *keys)
{
	zone_keys_close(keys);
	keys_set_done(&keys->set);
	*keys = (zone_keys_t){ .has_ttls = false };
}
