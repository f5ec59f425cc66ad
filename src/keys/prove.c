/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/prove.h"

#include "src/keys/records.h"

/** The proof of one key. */
typedef struct {
	const zone_keys_env_t *env;
	const kasp_key_t *key;
	keys_flaw_cb on_flaw;
	void *ctx;
	knot_err_t err; /* the first */
} prove_t;

static void prove_note(prove_t *prove, const char *store, knot_err_t err)
{
	const keys_flaw_t flaw = { .key = prove->key, .store = store, .err = err };
	prove->err = prove->err == KNOT_OK ? err : prove->err;
	prove->on_flaw(&flaw, prove->ctx);
}

/* KNOT_OK, KNOT_ENOENT: the store doesn't have it. Other errors are noted. */
static knot_err_t prove_in(prove_t *prove, const conf_keystore_t *conf, knot_bytes_t rdata)
{
	dnssec_store_t *store = NULL;
	dnssec_key_t *key = NULL;
	knot_err_t err = dnssec_key_from_rdata(rdata, &key);
	err = err == KNOT_OK ? zone_keys_open_store(prove->env, conf, &store) : err;
	err = err == KNOT_OK ? dnssec_store_get(store, prove->key->id, key) : err;
	dnssec_store_close(store);
	dnssec_key_free(key);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		prove_note(prove, conf->id, err);
	}
	return err;
}

static void prove_key(prove_t *prove)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	const knot_bytes_t bytes = { rdata, keys_dnskey(prove->key, false, rdata) };
	conf_keystores_t stores = conf_policy_keystores(prove->env->conf, prove->env->policy);
	bool is_absent = true;
	for (size_t i = 0; i < stores.count; i++) {
		is_absent = prove_in(prove, stores.data[i], bytes) == KNOT_ENOENT && is_absent;
	}
	if (is_absent) {
		prove_note(prove, "", KNOT_ENOPRIVATEKEY);
	}
}

static bool prove_is_ours(const zone_keys_env_t *env, const kasp_key_t *key)
{
	bool is_elsewhere = key->is_public_only || (key->is_ksk && env->policy->is_offline_ksk);
	return !is_elsewhere && keys_state(&key->times, env->now_s) != KEYS_REMOVED;
}

knot_err_t zone_keys_prove(const zone_keys_env_t *env, const keys_set_t *set, keys_flaw_cb on_flaw, void *ctx)
{
	prove_t prove = { .env = env, .on_flaw = on_flaw, .ctx = ctx };
	for (size_t i = 0; i < set->count; i++) {
		prove.key = &set->keys[i];
		if (prove_is_ours(env, prove.key)) {
			prove_key(&prove);
		}
	}
	return prove.err;
}
