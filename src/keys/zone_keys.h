/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The keys of one zone on their way from the key database and the keystores to the signer, and back.
 *
 * zone_keys_load() reads what is kept of the zone, zone_keys_roll() does what is due (roll.h) and stores new private
 * keys, zone_keys_save() writes the key database in one transaction, zone_keys_open() gets the private keys that sign.
 * A failure in front of zone_keys_save()'s commit leaves the database as it was, and takes back private keys that were
 * generated. Files and the database are touched here, nothing is logged. One thread; other processes and threads may
 * work on the database meanwhile: who saves second has to begin again, so that nobody's work is lost.
 */
#pragma once

#include "libdnssec/store.h"
#include "src/conf/conf.h"
#include "src/kasp/kasp.h"
#include "src/keys/records.h"
#include "src/keys/roll.h"

/** Whose keys, and where they are. Borrowed. */
typedef struct {
	const conf_t *conf;
	const conf_policy_t *policy;
	kasp_t *kasp;
	const char *kasp_path; /* its folder, absolute: what relative folders of keystores are joined with */
	knot_name_t zone;      /* lower case */
	uint64_t now_s;
} zone_keys_env_t;

enum { ZONE_KEYS_REASON_MAX = 320, ZONE_KEYS_STORE_MAX = 128, ZONE_KEYS_MADE_MAX = 16 };

/** Zero: none. Free it with zone_keys_done(). */
typedef struct {
	keys_set_t set;
	bool has_ttls, has_salt;
	uint32_t max_ttl_s, key_ttl_s; /* when the keys were saved last */
	uint8_t salt[KASP_SALT_MAX];
	size_t salt_len;
	uint64_t salt_made_s;
	bool is_salt_new;
	uint64_t seen; /* a hash of the key database's records of the keys, as they were read or saved last */
	char made[ZONE_KEYS_MADE_MAX][DNSSEC_KEY_ID_MAX + 1]; /* keys that were generated and aren't saved yet */
	size_t made_count;
	char shared[DNSSEC_KEY_ID_MAX + 1];     /* the key that zones of the policy shared before; "": none */
	char new_shared[DNSSEC_KEY_ID_MAX + 1]; /* the one that they are to share now; "": as before */
	dnssec_key_t **opened;                  /* owned: by index of the set; NULL: it doesn't sign */
	size_t opened_count;
	uint16_t failed_tag;                    /* of the key that could not be opened last */
	char failed_store[ZONE_KEYS_STORE_MAX]; /* the keystore where it could not; "": none, or the built-in one */
	char reason[ZONE_KEYS_REASON_MAX];      /* of the last failure: which key and store; "": nothing to add */
} zone_keys_t;

/** Open a keystore. Errors of dnssec_store_open(). KNOT_ESPACE: the path is too long. */
KNOT_MUST_USE knot_err_t zone_keys_open_store(
		const zone_keys_env_t *env, const conf_keystore_t *store, dnssec_store_t **ret_store);

/** See whether all keystores of the policy can be opened. The first error as above. */
KNOT_MUST_USE knot_err_t zone_keys_check_stores(const zone_keys_env_t *env);

/** Read what is kept of the zone. KNOT_EMALF: a record is damaged. KNOT_ENOMEM, KNOT_EFILE. */
KNOT_MUST_USE knot_err_t zone_keys_load(const zone_keys_env_t *env, zone_keys_t *ret_keys);

/** How keys are rolled. */
enum {
	ZONE_KEYS_ROLLS_KSK = 1,  /* an operator forces a rollover */
	ZONE_KEYS_ROLLS_ZSK = 2,  /* the same */
	ZONE_KEYS_IN_ADVANCE = 4, /* ZSKs are made for an offline KSK: now is in the future, whatever the policy says */
};

/**
 * Do what is due with the keys. how: ZONE_KEYS_…. times, max_ttl_s: of the zone as it is; what was saved counts for
 * delays. Errors of keys_run() and of storing private keys; KNOT_ENOKEYSTORE: no store takes such keys.
 */
KNOT_MUST_USE knot_err_t zone_keys_roll(const zone_keys_env_t *env, zone_keys_t *keys, const conf_policy_times_t *times,
		unsigned how, keys_outcome_t *ret_outcome);

/**
 * Make a new salt if the policy wants one now: another length, never made, or too old. One that was made in the future
 * stays, as if it were made now. Nothing happens without NSEC3. KNOT_ECRYPTO.
 */
KNOT_MUST_USE knot_err_t zone_keys_resalt(const zone_keys_env_t *env, zone_keys_t *keys);

/** When the salt is due; 0: never. */
uint64_t zone_keys_salt_due(const zone_keys_env_t *env, const zone_keys_t *keys);

/**
 * Write all to the key database: keys, those that were deleted, salt, TTLs. Private keys of deleted keys that no zone
 * has go, or are noted as trash. KNOT_ETRYAGAIN: somebody else has changed the zone's keys, or the one that zones
 * share, since they were loaded; load them again. KNOT_ESPACE, KNOT_EFILE.
 */
KNOT_MUST_USE knot_err_t zone_keys_save(const zone_keys_env_t *env, zone_keys_t *keys, const conf_policy_times_t *times,
		const keys_outcome_t *outcome);

/** Take the next key out of the list that can't be used with the policy's NSEC3: RSASHA1 (RFC 5155 2). Neither the
 * database nor a keystore changes. False: there is none left. */
bool zone_keys_drop_unusable(const zone_keys_env_t *env, zone_keys_t *keys, uint16_t *ret_tag);

/** Get the private keys that sign now. KNOT_EKEYSET, KNOT_ENOSIGNKEYS: of keys_check(). KNOT_ENOPRIVATEKEY: one is in
 * no store, and others of dnssec_store_open() and dnssec_store_get(), of the first store in the list that fails;
 * keys->reason says which key and store. Another store that has the key is as good. */
KNOT_MUST_USE knot_err_t zone_keys_open(const zone_keys_env_t *env, zone_keys_t *keys);

/** After signing has failed: see which of the private keys can't be opened any more, for keys->reason. */
void zone_keys_recheck(const zone_keys_env_t *env, zone_keys_t *keys);

/** Get the private keys of the KSKs that sign at env->now_s, in place of those that were got before: of a machine that
 * signs for others, at times to come. The zone needn't have a ZSK there. Errors as zone_keys_open(), but those of the
 * set. */
KNOT_MUST_USE knot_err_t zone_keys_open_ksks(const zone_keys_env_t *env, zone_keys_t *keys);

/** Take all keys out of the zone (`keys`), and what else is kept of it (`data`). Private keys that no other zone has
 * go, or are noted as trash. Errors of zone_keys_load() and zone_keys_save(). */
KNOT_MUST_USE knot_err_t zone_keys_purge(
		const zone_keys_env_t *env, const conf_policy_times_t *times, bool keys, bool data);

/** Make a key whose private part goes to the first store that takes such a key. ret_public: its public key, to which
 * ret_key points. KNOT_ENOKEYSTORE; errors of zone_keys_open_store() and dnssec_store_generate(). */
KNOT_MUST_USE knot_err_t zone_keys_make(const zone_keys_env_t *env, const keys_wanted_t *wanted,
		uint8_t ret_public[static DNSSEC_KEY_RDATA_MAX], kasp_key_t *ret_key);

/** Store a private key that was made elsewhere, in the same store. ret_id: its id. */
KNOT_MUST_USE knot_err_t zone_keys_keep(const zone_keys_env_t *env, bool is_ksk, const dnssec_key_t *key,
		char ret_id[static DNSSEC_KEY_ID_MAX + 1]);

/** The store that has a private key; NULL: none. */
const conf_keystore_t *zone_keys_find_store(const zone_keys_env_t *env, const char *id);

/** Take a key out of the zone. Its private key goes, or is noted as trash, unless another zone has it. KNOT_ENOENT. */
KNOT_MUST_USE knot_err_t zone_keys_drop(const zone_keys_env_t *env, const kasp_key_t *key, uint32_t trash_delay_s);

/** Remove a private key from all keystores of the zone. KNOT_ENOENT: none had it. Other errors as of opening:
 * *ret_failed is the first keystore that failed. */
KNOT_MUST_USE knot_err_t zone_keys_remove_private(
		const zone_keys_env_t *env, const char *id, const conf_keystore_t **ret_failed);

/** Copy a private key from the zone's keystores to a folder, as it is. KNOT_ENOENT: none has it. KNOT_ENOTSUP: it is in
 * a token. */
KNOT_MUST_USE knot_err_t zone_keys_export(const zone_keys_env_t *env, const char *id, const char *to_folder);

/** The other way, to the first keystore, which may be a token. KNOT_ENOENT: it isn't there. KNOT_ENOKEYSTORE.
 * KNOT_ENOTSUP: it was in a token when it was exported. KNOT_EKEYID: its id doesn't follow from it, so that a token
 * would have it under another one. Errors of dnssec_store_put(). */
KNOT_MUST_USE knot_err_t zone_keys_import(const zone_keys_env_t *env, const kasp_key_t *key, const char *from_folder);

void zone_keys_done(zone_keys_t *keys);
