/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * keymgr: looks at and changes the keys of zones in the key database; see doc/man/keymgr.8.
 */
#include "src/tools/managekeys/keymgr.h"

#include "libdnssec/digest.h"
#include "libdnssec/pem_store.h"
#include "libknot/base/encode.h"
#include "libknot/base/json.h"
#include "libknot/base/number.h"
#include "libknot/rr/rrtype.h"
#include "libknot/text/zonefile.h"
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/sys/process.h"
#include "src/tools/colors.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

bool keymgr_complain(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fprintf(stderr, "error: ");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

done_t keymgr_done(knot_err_t err)
{
	return (done_t){ .err = err };
}

done_t keymgr_shown(knot_err_t err)
{
	return (done_t){ .err = err, .is_quiet = true };
}

done_t keymgr_refuse(const char *text)
{
	(void)keymgr_complain("%s", text);
	return (done_t){ .err = KNOT_EPARAM, .is_told = true };
}

/* ---- Keys of a zone ---- */

typedef struct {
	keys_set_t *set;
	knot_err_t err;
} keymgr_taking_t;

static bool keymgr_take(const kasp_key_t *key, void *ctx)
{
	keymgr_taking_t *taking = ctx;
	taking->err = keys_set_add(taking->set, key);
	return taking->err == KNOT_OK;
}

static knot_err_t keymgr_take_keys(kasp_txn_t *txn, knot_name_t zone, keys_set_t *ret_set)
{
	keymgr_taking_t taking = { ret_set, KNOT_OK };
	*ret_set = (keys_set_t){ .count = 0 };
	knot_err_t err = kasp_each_key(txn, zone, keymgr_take, &taking);
	return err == KNOT_OK ? taking.err : err;
}

knot_err_t keymgr_read_keys(kasp_t *kasp, knot_name_t zone, keys_set_t *ret_set)
{
	kasp_txn_t *txn;
	*ret_set = (keys_set_t){ .count = 0 };
	knot_err_t err = kasp_begin(kasp, false, &txn);
	if (err == KNOT_OK) {
		err = keymgr_take_keys(txn, zone, ret_set);
		kasp_abort(txn);
	}
	return err;
}

/* As in Knot DNS, a zone with keys has a salt, if only none; signing makes one that fits the policy. */
static knot_err_t keymgr_put_first_salt(const keymgr_t *run, kasp_txn_t *txn)
{
	uint8_t salt[KASP_SALT_MAX];
	size_t len;
	uint64_t made_s;
	knot_err_t err = kasp_get_salt(txn, run->env.zone, salt, &len, &made_s);
	return err == KNOT_ENOENT ? kasp_put_salt(txn, run->env.zone, (knot_bytes_t){ salt, 0 }, 0) : err;
}

/* With the keys Knot's keymgr saves the TTLs that its policy has; those of the zone only a server knows. */
static knot_err_t keymgr_put_ttls(const keymgr_t *run, kasp_txn_t *txn)
{
	int64_t max_s = run->env.policy->zone_max_ttl_s, key_s = run->env.policy->dnskey_ttl_s;
	bool is_known = max_s != CONF_POLICY_UNSET && key_s != CONF_POLICY_UNSET;
	return is_known ? kasp_put_ttls(txn, run->env.zone, (uint32_t)max_s, (uint32_t)key_s) : KNOT_OK;
}

/* What is saved with keys, after keys were removed. */
static knot_err_t keymgr_save_rest(const keymgr_t *run)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = keymgr_put_first_salt(run, txn);
	err = err == KNOT_OK ? keymgr_put_ttls(run, txn) : err;
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

knot_err_t keymgr_put_key(const keymgr_t *run, const kasp_key_t *key, const char *shared_policy)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_put_key(txn, run->env.zone, key);
	err = err == KNOT_OK ? keymgr_put_first_salt(run, txn) : err;
	err = err == KNOT_OK ? keymgr_put_ttls(run, txn) : err;
	err = err == KNOT_OK && shared_policy != NULL ? kasp_put_shared(txn, shared_policy, run->env.zone, key->id)
						      : err;
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

/* ---- Which key ---- */

/* A whole id wins over tags and prefixes. Complains. */
static knot_err_t keymgr_find(const keys_set_t *set, const char *text, size_t *ret_index)
{
	uint64_t tag = 0;
	size_t found = 0;
	bool by_tag = strncasecmp(text, "keytag=", 7) == 0, by_id = strncasecmp(text, "id=", 3) == 0;
	const char *value = text + (by_tag ? 7 : by_id ? 3 : 0);
	bool is_tag = !by_id && knot_number_of(value, 0, UINT16_MAX, &tag);
	bool is_id = !by_tag && strspn(value, "0123456789abcdef") == strlen(value);
	if (*value == '\0' || !(is_tag || is_id)) {
		(void)keymgr_complain("invalid key specification: %s", text);
		return KNOT_EPARAM;
	}
	for (size_t i = 0; i < set->count; i++) {
		const kasp_key_t *key = &set->keys[i];
		if (is_id && strcmp(key->id, value) == 0) {
			*ret_index = i;
			return KNOT_OK;
		}
		if ((is_tag && key->tag == tag) || (is_id && strncmp(key->id, value, strlen(value)) == 0)) {
			*ret_index = i;
			found++;
		}
	}
	if (found == 1) {
		return KNOT_OK;
	}
	(void)keymgr_complain(
			found == 0 ? "key not found: %s" : "key not specified uniquely: %s, please use id=Full_Key_ID",
			text);
	return found == 0 ? KNOT_CONF_ENOTEXIST : KNOT_EPARAM;
}

/* The keys of the zone and the one that is meant. The set is the caller's only on success. */
static knot_err_t keymgr_pick(const keymgr_t *run, const char *text, keys_set_t *ret_set, size_t *ret_index)
{
	knot_err_t err = keymgr_read_keys(run->kasp, run->env.zone, ret_set);
	err = err == KNOT_OK ? keymgr_find(ret_set, text, ret_index) : err;
	if (err != KNOT_OK) {
		keys_set_done(ret_set);
	}
	return err;
}

/* ---- Attributes ---- */

bool keymgr_read_attributes(const keymgr_t *run, size_t first, bool is_set, attributes_t *ret_attributes)
{
	bool is_good = true;
	*ret_attributes = (attributes_t){ .algorithm = 0 };
	for (size_t i = first; i < run->argument_count && is_good; i++) {
		is_good = attributes_read(run->arguments[i], run->env.now_s, is_set, ret_attributes);
	}
	return is_good;
}

/* Flags of the DNSKEY by the roles. */
uint16_t keymgr_flags(const attributes_t *attributes, bool is_ksk, bool has_adt)
{
	bool is_sep = attributes->has_sep ? attributes->has_sep_flag : is_ksk;
	return (uint16_t)(DNSSEC_FLAG_ZONE | (is_sep ? DNSSEC_FLAG_SEP : 0) | (has_adt ? DNSSEC_FLAG_ADT : 0));
}

/* Put the times that were said, or the defaults, into a new key, and check them. */
knot_err_t keymgr_time_key(const attributes_t *attributes, kasp_key_t *key)
{
	key->is_for_later = attributes->is_for_later;
	if (attributes->is_for_later) {
		key->times = (kasp_times_t){ .created = key->times.created };
	}
	attributes_apply_times(attributes, &key->times);
	return attributes_check_times(&key->times) ? KNOT_OK : KNOT_ESEMCHECK;
}

static void keymgr_warn_of_algorithm(const keymgr_t *run, const kasp_key_t *key)
{
	keys_set_t set;
	bool is_odd = false;
	if (!key->is_ksk || keymgr_read_keys(run->kasp, run->env.zone, &set) != KNOT_OK) {
		return;
	}
	for (size_t i = 0; i < set.count; i++) {
		is_odd = is_odd || (set.keys[i].is_ksk && set.keys[i].algorithm != key->algorithm);
	}
	if (is_odd) {
		fprintf(stderr, "warning: inconsistent KSK algorithms\n");
	}
	keys_set_done(&set);
}

/* ---- Commands: keys ---- */

static done_t keymgr_run_list(const keymgr_t *run)
{
	keys_set_t set;
	list_times_t times = keymgr_times_of(run->argument_count > 0 ? run->arguments[0] : "");
	knot_err_t err = keymgr_read_keys(run->kasp, run->env.zone, &set);
	if (err == KNOT_OK) {
		err = keymgr_list(run, &set, times);
		keys_set_done(&set);
	}
	return keymgr_shown(err);
}

/* The key that was made for later and is such as is wanted now. public: what it points to. KNOT_ENOENT: there is none.
 */
static knot_err_t keymgr_find_later(const keymgr_t *run, const keys_wanted_t *wanted,
		uint8_t public[static DNSSEC_KEY_RDATA_MAX], kasp_key_t *ret_key)
{
	keys_set_t set;
	knot_err_t err = keymgr_read_keys(run->kasp, run->env.zone, &set);
	err = err == KNOT_OK ? KNOT_ENOENT : err;
	for (size_t i = 0; i < set.count && err == KNOT_ENOENT; i++) {
		const kasp_key_t *key = &set.keys[i];
		if (key->is_for_later && key->is_ksk == wanted->is_ksk && key->is_zsk == wanted->is_zsk &&
				key->algorithm == wanted->algorithm && keys_has_size(key, wanted->bits)) {
			*ret_key = *key;
			memcpy(public, key->public.data, key->public.len);
			ret_key->public.data = public;
			err = KNOT_OK;
		}
	}
	keys_set_done(&set);
	return err;
}

/* Made for later, or made now. */
static knot_err_t keymgr_get_key(const keymgr_t *run, const keys_wanted_t *wanted, bool is_for_later,
		uint8_t public[static DNSSEC_KEY_RDATA_MAX], kasp_key_t *ret_key)
{
	knot_err_t err = is_for_later ? KNOT_ENOENT : keymgr_find_later(run, wanted, public, ret_key);
	return err == KNOT_ENOENT ? zone_keys_make(&run->env, wanted, public, ret_key) : err;
}

static done_t keymgr_run_generate(const keymgr_t *run)
{
	attributes_t attributes;
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	if (!keymgr_read_attributes(run, 0, false, &attributes)) {
		return keymgr_done(KNOT_EPARAM);
	}
	const keys_wanted_t wanted = { .is_ksk = attributes.is_ksk,
		.is_zsk = attributes.is_zsk || !attributes.is_ksk,
		.algorithm = attributes.algorithm != 0 ? attributes.algorithm : run->env.policy->algorithm,
		.bits = attributes.bits,
		.flags = keymgr_flags(&attributes, attributes.is_ksk,
				attributes.has_adt ? attributes.is_adt : run->env.policy->has_adt) };
	uint64_t now_s = run->env.now_s;
	kasp_key_t key = {
		.times = { .created = now_s, .publish = now_s, .ready = wanted.is_ksk ? now_s : 0, .active = now_s }
	};
	kasp_times_t defaults = key.times;
	knot_err_t err = keymgr_time_key(&attributes, &key); /* before a private key is made */
	err = err == KNOT_OK ? keymgr_get_key(run, &wanted, attributes.is_for_later, public, &key) : err;
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	key.is_ksk = wanted.is_ksk;
	key.is_zsk = wanted.is_zsk;
	defaults.created = key.times.created != 0 ? key.times.created : defaults.created;
	key.times = defaults;
	err = keymgr_time_key(&attributes, &key);
	keymgr_warn_of_algorithm(run, &key);
	err = err == KNOT_OK ? keymgr_put_key(run, &key, attributes.shared_policy) : err;
	if (err == KNOT_OK) {
		printf("%s\n", key.id);
	}
	return keymgr_shown(err);
}

/* A key without a role is a ZSK. Other flags give another tag. */
static void keymgr_set_roles(const attributes_t *attributes, kasp_key_t *key)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	key->is_ksk = attributes->has_ksk ? attributes->is_ksk : key->is_ksk;
	key->is_zsk = attributes->has_zsk ? attributes->is_zsk : key->is_zsk;
	key->is_zsk = key->is_zsk || !key->is_ksk;
	key->is_for_later = attributes->has_for_later ? attributes->is_for_later : key->is_for_later;
	bool is_sep = attributes->has_sep   ? attributes->has_sep_flag
		      : attributes->has_ksk ? attributes->is_ksk
					    : (key->flags & DNSSEC_FLAG_SEP) != 0;
	bool has_adt = attributes->has_adt ? attributes->is_adt : (key->flags & DNSSEC_FLAG_ADT) != 0;
	key->flags = (uint16_t)(DNSSEC_FLAG_ZONE | (is_sep ? DNSSEC_FLAG_SEP : 0) | (has_adt ? DNSSEC_FLAG_ADT : 0));
	size_t len = keys_dnskey(key, false, rdata);
	key->tag = dnssec_rdata_tag((knot_bytes_t){ rdata, len });
}

/* In one transaction: a server that saves the keys meanwhile does so before or after. */
static knot_err_t keymgr_set(const keymgr_t *run, kasp_txn_t *txn)
{
	keys_set_t set;
	size_t index;
	attributes_t attributes;
	knot_err_t err = keymgr_take_keys(txn, run->env.zone, &set);
	err = err == KNOT_OK ? keymgr_find(&set, run->arguments[0], &index) : err;
	err = err == KNOT_OK && !keymgr_read_attributes(run, 1, true, &attributes) ? KNOT_EPARAM : err;
	if (err == KNOT_OK) {
		kasp_key_t *key = &set.keys[index];
		attributes_apply_times(&attributes, &key->times);
		keymgr_set_roles(&attributes, key);
		err = attributes_check_times(&key->times) ? kasp_put_key(txn, run->env.zone, key) : KNOT_ESEMCHECK;
	}
	keys_set_done(&set);
	return err;
}

static done_t keymgr_run_set(const keymgr_t *run)
{
	kasp_txn_t *txn;
	if (run->argument_count == 0) {
		return keymgr_refuse("Key is not specified");
	}
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	err = keymgr_set(run, txn);
	if (err == KNOT_OK) {
		return keymgr_done(kasp_commit(txn));
	}
	kasp_abort(txn);
	return keymgr_done(err);
}

static uint32_t keymgr_trash_delay(const keymgr_t *run)
{
	return conf_policy_times(run->env.policy, run->env.zone, 0, 0).trash_delay_s;
}

static done_t keymgr_run_delete(const keymgr_t *run)
{
	keys_set_t set;
	size_t index;
	if (run->argument_count == 0) {
		return keymgr_refuse("Key is not specified");
	}
	knot_err_t err = keymgr_pick(run, run->arguments[0], &set, &index);
	if (err == KNOT_OK) {
		err = zone_keys_drop(&run->env, &set.keys[index], keymgr_trash_delay(run));
		keys_set_done(&set);
	}
	return keymgr_done(err);
}

static done_t keymgr_run_delete_old(const keymgr_t *run)
{
	keys_set_t set;
	knot_err_t err = keymgr_read_keys(run->kasp, run->env.zone, &set);
	for (size_t i = 0; err == KNOT_OK && i < set.count; i++) {
		if (keys_state(&set.keys[i].times, run->env.now_s) == KEYS_REMOVED) {
			err = zone_keys_drop(&run->env, &set.keys[i], keymgr_trash_delay(run));
		}
	}
	keys_set_done(&set);
	return keymgr_done(err == KNOT_OK ? keymgr_save_rest(run) : err);
}

/* The key alone: what else is saved with keys is of the zone from which it comes. */
static knot_err_t keymgr_share_key(const keymgr_t *run, const kasp_key_t *key)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_put_key(txn, run->env.zone, key);
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

static done_t keymgr_run_share(const keymgr_t *run)
{
	keys_set_t set;
	size_t index;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t from;
	if (run->argument_count == 0) {
		return keymgr_refuse("Key to be shared is not specified");
	}
	if (run->argument_count < 2) {
		return keymgr_refuse("Zone to be shared from not specified");
	}
	knot_err_t err = knot_name_scan(knot_str_of(run->arguments[1]), knot_name_root, wire, &from);
	if (err != KNOT_OK) {
		(void)keymgr_complain("invalid zone name '%s'", run->arguments[1]);
		return keymgr_done(err);
	}
	knot_name_lower(from, wire);
	err = keymgr_read_keys(run->kasp, from, &set);
	err = err == KNOT_OK ? keymgr_find(&set, run->arguments[0], &index) : err;
	err = err == KNOT_OK ? keymgr_share_key(run, &set.keys[index]) : err;
	keys_set_done(&set);
	return keymgr_done(err);
}

/* ---- Commands: records ---- */

static knot_err_t keymgr_print_ds(const keymgr_t *run, const kasp_key_t *key)
{
	static const uint8_t digests[] = { DNSSEC_DIGEST_SHA256, DNSSEC_DIGEST_SHA384 };
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX], ds[DNSSEC_DS_MAX];
	char text[KNOT_HEX_LEN(DNSSEC_DIGEST_MAX)];
	size_t len = keys_dnskey(key, false, rdata), ds_len;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < KNOT_LEN(digests) && err == KNOT_OK; i++) {
		err = dnssec_ds_make(digests[i], run->env.zone, (knot_bytes_t){ rdata, len }, ds, &ds_len);
		if (err == KNOT_OK) {
			size_t text_len = knot_hex_print((knot_bytes_t){ ds + 4, ds_len - 4 }, KNOT_HEX_LOWER, text);
			printf("%s DS %u %u %u %.*s\n", run->zone_text, key->tag, key->algorithm, digests[i],
					(int)text_len, text);
		}
	}
	return err;
}

static knot_err_t keymgr_print_dnskey(const keymgr_t *run, const kasp_key_t *key)
{
	char text[KNOT_BASE64_LEN(DNSSEC_KEY_RDATA_MAX)];
	size_t len = knot_base64_print(key->public, text);
	printf("%s DNSKEY %u 3 %u %.*s\n", run->zone_text, key->flags, key->algorithm, (int)len, text);
	return KNOT_OK;
}

/* Of the key that is named, or of all KSKs. */
static done_t keymgr_print_records(const keymgr_t *run, knot_err_t (*print)(const keymgr_t *run, const kasp_key_t *key))
{
	keys_set_t set;
	size_t index = 0;
	bool is_one = run->argument_count > 0;
	knot_err_t err = is_one ? keymgr_pick(run, run->arguments[0], &set, &index)
				: keymgr_read_keys(run->kasp, run->env.zone, &set);
	if (err != KNOT_OK) {
		return keymgr_shown(err);
	}
	for (size_t i = 0; i < set.count && err == KNOT_OK; i++) {
		if (is_one ? i == index : set.keys[i].is_ksk) {
			err = print(run, &set.keys[i]);
		}
	}
	keys_set_done(&set);
	return keymgr_shown(err);
}

static done_t keymgr_run_ds(const keymgr_t *run)
{
	return keymgr_print_records(run, keymgr_print_ds);
}

static done_t keymgr_run_dnskey(const keymgr_t *run)
{
	return keymgr_print_records(run, keymgr_print_dnskey);
}

/* ---- Commands: what else is kept ---- */

static knot_err_t keymgr_put_salt(const keymgr_t *run, const char *text)
{
	uint8_t salt[KASP_SALT_MAX];
	size_t len = 0;
	kasp_txn_t *txn;
	bool is_none = strcmp(text, "-") == 0;
	if (!is_none && (strlen(text) > 2 * sizeof(salt) || !knot_hex_scan(knot_str_of(text), salt, &len))) {
		(void)keymgr_complain("invalid salt: %s", text);
		return KNOT_EMALF;
	}
	if (len != run->env.policy->salt_len) {
		fprintf(stderr, "warning: specified salt doesn't match configured salt length (%u)\n",
				run->env.policy->salt_len);
	}
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_put_salt(txn, run->env.zone, (knot_bytes_t){ salt, len }, run->env.now_s);
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

static done_t keymgr_run_salt(const keymgr_t *run)
{
	kasp_txn_t *txn;
	uint8_t salt[KASP_SALT_MAX];
	char text[KNOT_HEX_LEN(KASP_SALT_MAX)];
	size_t len;
	uint64_t made_s;
	if (run->argument_count > 0) {
		return keymgr_done(keymgr_put_salt(run, run->arguments[0]));
	}
	knot_err_t err = kasp_begin(run->kasp, false, &txn);
	if (err != KNOT_OK) {
		return keymgr_shown(err);
	}
	err = kasp_get_salt(txn, run->env.zone, salt, &len, &made_s);
	kasp_abort(txn);
	if (err == KNOT_ENOENT) {
		printf("-- no salt --\n");
		return keymgr_shown(KNOT_OK);
	}
	if (err == KNOT_OK && len == 0) {
		printf("Current salt: -\n");
	} else if (err == KNOT_OK) {
		size_t text_len = knot_hex_print((knot_bytes_t){ salt, len }, KNOT_HEX_UPPER, text);
		printf("Current salt: %.*s\n", (int)text_len, text);
	}
	return keymgr_shown(err);
}

static done_t keymgr_handle_serial(const keymgr_t *run, uint8_t kind)
{
	kasp_txn_t *txn;
	uint64_t number;
	uint32_t serial;
	bool writes = run->argument_count > 0;
	if (writes && !knot_number_of(run->arguments[0], 0, UINT32_MAX, &number)) {
		(void)keymgr_complain("invalid serial: %s", run->arguments[0]);
		return keymgr_done(KNOT_EPARAM);
	}
	knot_err_t err = kasp_begin(run->kasp, writes, &txn);
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	if (writes) {
		err = kasp_put_serial(txn, kind, run->env.zone, (uint32_t)number);
		if (err == KNOT_OK) {
			return keymgr_done(kasp_commit(txn));
		}
		kasp_abort(txn);
		return keymgr_done(err);
	}
	err = kasp_get_serial(txn, kind, run->env.zone, &serial);
	kasp_abort(txn);
	if (err == KNOT_OK) {
		printf("Current serial: %u\n", serial);
	} else if (err == KNOT_ENOENT) {
		printf("-- no serial --\n");
		err = KNOT_OK;
	}
	return keymgr_shown(err);
}

static done_t keymgr_run_master_serial(const keymgr_t *run)
{
	return keymgr_handle_serial(run, KASP_PRIMARY_SERIAL);
}

static done_t keymgr_run_local_serial(const keymgr_t *run)
{
	return keymgr_handle_serial(run, KASP_SIGNED_SERIAL);
}

/* ---- The commands ---- */

static const struct {
	const char *name;
	done_t (*run)(const keymgr_t *run);
	const char *syntax, *help;
	bool looks; /* for keys that should be there */
} commands[] = {
	{ "list", keymgr_run_list, "[human|iso]", "List all zone's DNSSEC keys.", true },
	{ "generate", keymgr_run_generate, "<attribute_name>=<value>...", "Generate new DNSSEC key.", false },
	{ "import-bind", keymgr_run_import_bind, "<key_file_name>",
			"Import BIND-style key file pair (.key + .private).", false },
	{ "import-pub", keymgr_run_import_pub, "<key_file_name>",
			"Import public-only key to be published in the zone (in BIND .key format).", false },
	{ "import-pem", keymgr_run_import_pem, "<pem_file_path> <attribute_name>=<value>...",
			"Import key in PEM format. Specify its parameters manually.", false },
	{ "import-pkcs11", keymgr_run_import_pkcs11, "<key_id> <attribute_name>=<value>...",
			"Import key stored in PKCS11 storage. Specify its parameters manually.", false },
	{ "import-trash", keymgr_run_import_trash, "<key_id> <attribute_name>=<value>...",
			"Take a deleted key back whose private key is still there.", false },
	{ "nsec3-salt", keymgr_run_salt, "[<new_salt>]",
			"Print current NSEC3 salt. If a parameter is specified, set new salt.", false },
	{ "local-serial", keymgr_run_local_serial, "[<new_serial>]", "Print or set the serial that was signed last.",
			false },
	{ "master-serial", keymgr_run_master_serial, "[<new_serial>]",
			"Print or set the serial of the primary of a zone that is signed on the secondary.", false },
	{ "ds", keymgr_run_ds, "[<key_spec>]", "Generate DS record(s) for specified key.", true },
	{ "dnskey", keymgr_run_dnskey, "[<key_spec>]", "Generate DNSKEY record for specified key.", true },
	{ "share", keymgr_run_share, "<key_spec> <zone2share_from>",
			"Share an existing key of another zone with the specified zone.", true },
	{ "delete", keymgr_run_delete, "<key_spec>", "Remove the specified key from zone.", true },
	{ "set", keymgr_run_set, "<key_spec> <attribute_name>=<value>...", "Set existing key's timing attribute.",
			true },
	{ "del-all-old", keymgr_run_delete_old, "", "Delete old keys that are in state 'removed'.", true },
	{ "plan", keymgr_run_plan,
			"[human|iso|unix] [--until <time>] [--policy <id|file>] [--ds-after <time>] [--ds-ttl <time>] "
			"[--svg]",
			"Show what each key will do, when and why.", false },
	{ "pregenerate", keymgr_run_pregenerate, "[<from>] <to>",
			"Pre-generate ZSKs for later rollovers with offline KSK.", false },
	{ "show-offline", keymgr_run_show_offline, "[<from>] [<to>]",
			"Print pre-generated offline key-related records for specified time interval (possibly to "
			"infinity).",
			false },
	{ "del-offline", keymgr_run_del_offline, "<from> <to>",
			"Delete pre-generated offline key-related records in specified time interval.", false },
	{ "generate-ksr", keymgr_run_generate_ksr, "[<from>] <to>",
			"Print to stdout KeySigningRequest based on pre-generated ZSKS.", false },
	{ "sign-ksr", keymgr_run_sign_ksr, "<ksr_file>",
			"Read KeySigningRequest from a file, sign it and print SignedKeyResponse to stdout.", false },
	{ "validate-skr", keymgr_run_validate_skr, "<skr_file>",
			"Validate RRSIGs in a SignedKeyResponse (if not corrupt).", false },
	{ "import-skr", keymgr_run_import_skr, "<skr_file>",
			"Import DNSKEY record signatures from a SignedKeyResponse.", false },
	{ "trash-list", keymgr_run_trash_list, "[human|iso]", "List deleted keys of the zone, or of all (-).", true },
	{ "trash-discard", keymgr_run_trash_discard, "<key_id>",
			"Remove the private key of a deleted key, or of all (-).", false },
	{ "keystore-test", keymgr_run_keystore_test, "", "See what a keystore (its id, or - for the default) can do.",
			false },
	{ "keystore-bench", keymgr_run_keystore_bench, "[<threads> [<algorithm>]]",
			"Measure signatures per second with keys in a keystore.", false },
};

/** Commands that have something else in front than a zone. */
typedef enum { OF_ZONE, OF_ANY_ZONE /* "-": all of them */, OF_KEYSTORE } subject_t;

static const struct {
	done_t (*run)(const keymgr_t *run);
	subject_t subject;
} subjects[] = {
	{ keymgr_run_trash_list, OF_ANY_ZONE },
	{ keymgr_run_trash_discard, OF_ANY_ZONE },
	{ keymgr_run_keystore_test, OF_KEYSTORE },
	{ keymgr_run_keystore_bench, OF_KEYSTORE },
};

static subject_t keymgr_subject_of(done_t (*command)(const keymgr_t *run))
{
	for (size_t i = 0; i < KNOT_LEN(subjects); i++) {
		if (subjects[i].run == command) {
			return subjects[i].subject;
		}
	}
	return OF_ZONE;
}

static void keymgr_help(void)
{
	printf("Usage:\n"
	       "  keymgr [-c | -C | -D <path>] <zone_name> <command> [<argument>...]\n"
	       "  keymgr [-c | -C | -D <path>] <keystore_id> keystore-test | keystore-bench [<argument>...]\n"
	       "  keymgr [-c | -C | -D <path>] -l\n"
	       "  keymgr -t <tsig_name> [<algorithm> [<bits>]]\n"
	       "\n"
	       "Parameters:\n"
	       "  -c, --config <file>      Path to a textual configuration file.\n"
	       "                            (default %s)\n"
	       "  -C, --confdb <dir>       Path to a configuration database directory.\n"
	       "                            (default %s)\n"
	       "  -D, --dir <path>         Path to a KASP database directory, use default configuration.\n"
	       "  -t, --tsig <name> [alg]  Generate a TSIG key.\n"
	       "  -e, --extended           Extended output (listing of keys with full description).\n"
	       "  -j, --json               Print the zones or keys in JSON format.\n"
	       "  -l, --list               List all zones that have at least one key in KASP database.\n"
	       "  -x, --mono               Don't color the output.\n"
	       "  -X, --color              Force output colorization in the normal mode.\n"
	       "  -h, --help               Print the program help.\n"
	       "  -V, --version            Print the program version.\n"
	       "\n"
	       "Commands:\n",
			conf_choice_default_config(), conf_choice_default_confdb());
	for (size_t i = 0; i < KNOT_LEN(commands); i++) {
		printf("  %-13s %s\n", commands[i].name, commands[i].help);
		if (commands[i].syntax[0] != '\0') {
			printf("                 (syntax: %s %s)\n", commands[i].name, commands[i].syntax);
		}
	}
	printf("\n"
	       "Key specification:\n"
	       "  either the key tag (number) or [a prefix of] key ID, with an optional\n"
	       "  [id=|keytag=] prefix.\n"
	       "\n"
	       "Key attributes:\n"
	       "  algorithm= size= ksk= zsk= sep= for-later= adt= and the times created= pre_active=\n"
	       "  publish= ready= active= retire_active= retire= post_active= revoke= remove=\n"
	       "  (e.g. publish=+1d active=1499770874)\n");
}

/* ---- A run ---- */

/* Keys belong to the server: what is made here must be readable by it. */
static bool keymgr_become_user(const conf_t *conf)
{
	uid_t uid;
	gid_t gid;
	char fault[CONF_USER_FAULT_MAX];
	if (getuid() != 0 || conf->server.user == NULL) {
		return true;
	}
	if (conf_user(conf, &uid, &gid, fault) != KNOT_OK) {
		return keymgr_complain("%s", fault);
	}
	return sys_drop_privileges(uid, gid) == KNOT_OK || keymgr_complain("failed to switch to server.user");
}

static bool keymgr_open(keymgr_t *run, bool writes)
{
	char error[CONF_CHOICE_ERROR_MAX], reason[KASP_REASON_MAX] = "";
	const char *dir = run->choice.dir;
	if (dir != NULL) {
		if (conf_load_text("", knot_str_of(""), NULL, (conf_sink_t){ 0 }, &run->conf) != KNOT_OK) {
			return keymgr_complain("%s", knot_strerror(KNOT_ENOMEM));
		}
	} else if (!conf_choice_load(&run->choice, &run->conf, error)) {
		return keymgr_complain("%s", error);
	}
	if (!keymgr_become_user(run->conf)) {
		return false;
	}
	const char *path = dir != NULL ? dir : run->conf->database.kasp_db;
	char folder[PATH_MAX] = "";
	if (path[0] != '/' && getcwd(folder, sizeof(folder)) == NULL) {
		return keymgr_complain("the working directory is unknown");
	}
	if (snprintf(run->kasp_path, sizeof(run->kasp_path), "%s%s%s", folder, path[0] != '/' ? "/" : "", path) >=
			(int)sizeof(run->kasp_path)) {
		return keymgr_complain("the path is too long");
	}
	run->is_new = writes && access(run->kasp_path, F_OK) != 0 && errno == ENOENT;
	const kasp_params_t params = {
		.path = run->kasp_path, .size_max = run->conf->database.kasp_db_max_size, .read_only = !writes
	};
	knot_err_t err = kasp_open(&params, reason, &run->kasp);
	return err == KNOT_OK || keymgr_complain("failed to initialize KASP (%s%s%s)", knot_strerror(err),
						 reason[0] != '\0' ? ", " : "", reason);
}

static void keymgr_close(keymgr_t *run)
{
	kasp_close(run->kasp);
	conf_free(run->conf);
}

zone_keys_env_t keymgr_env_of(const keymgr_t *run, knot_name_t zone)
{
	conf_zone_t found = { .policy = { .count = 0 } };
	size_t index;
	if (conf_zone_find(run->conf, zone, &index)) {
		found = conf_zone(run->conf, index);
	}
	return (zone_keys_env_t){ .conf = run->conf,
		.policy = conf_zone_policy(run->conf, &found),
		.kasp = run->kasp,
		.kasp_path = run->kasp_path,
		.zone = zone,
		.now_s = (uint64_t)time(NULL) };
}

static bool keymgr_find_zone(keymgr_t *run, const char *text, bool opens_stores)
{
	knot_name_t name;
	knot_err_t err = knot_name_scan(knot_str_of(text), knot_name_root, run->zone_wire, &name);
	if (err != KNOT_OK) {
		return keymgr_complain("invalid zone name '%s' (%s)", text, knot_strerror(err));
	}
	knot_name_lower(name, run->zone_wire);
	name = knot_name_of(run->zone_wire);
	(void)knot_name_print(name, run->zone_text);
	run->env = keymgr_env_of(run, name);
	err = opens_stores ? zone_keys_check_stores(&run->env) : KNOT_OK;
	return err == KNOT_OK || keymgr_complain("failed to initialize KASP (%s)", knot_strerror(err));
}

/* The root stands for what isn't one zone: policy and keystores are the defaults. */
static bool keymgr_find_subject(keymgr_t *run, const char *text, subject_t subject)
{
	bool is_all = strcmp(text, "-") == 0 || strcmp(text, "--") == 0;
	run->subject = is_all ? NULL : text;
	bool is_zone = subject == OF_ZONE || (subject == OF_ANY_ZONE && !is_all);
	return keymgr_find_zone(run, is_zone ? text : ".", is_zone);
}

/* Hyphens and underscores are the same, and letters of both cases. */
static bool keymgr_is_command(const char *text, const char *name)
{
	size_t i = 0;
	for (; text[i] != '\0' && name[i] != '\0'; i++) {
		char c = text[i] == '_' ? '-' : text[i];
		if (strncasecmp(&c, &name[i], 1) != 0) {
			return false;
		}
	}
	return text[i] == name[i];
}

/* How many arguments a command may have: its syntax has a word for each; what begins with -- is an option. */
static size_t keymgr_arguments_max(const char *syntax)
{
	size_t count = 0;
	if (strstr(syntax, "...") != NULL) {
		return SIZE_MAX;
	}
	while (*syntax != '\0' && strncmp(syntax, "[--", 3) != 0) {
		count++;
		syntax += strcspn(syntax, " ");
		syntax += strspn(syntax, " ");
	}
	return count;
}

static bool keymgr_run_command(keymgr_t *run, const char *zone, const char *command)
{
	size_t i = 0;
	while (i < KNOT_LEN(commands) && !keymgr_is_command(command, commands[i].name)) {
		i++;
	}
	if (i == KNOT_LEN(commands)) {
		return keymgr_complain("invalid command '%s', see keymgr -h", command);
	}
	size_t arguments_max = keymgr_arguments_max(commands[i].syntax);
	if (run->argument_count > arguments_max) {
		return keymgr_complain(
				"%s: superfluous argument '%s'", commands[i].name, run->arguments[arguments_max]);
	}
	if (!keymgr_open(run, true) || !keymgr_find_subject(run, zone, keymgr_subject_of(commands[i].run))) {
		return false;
	}
	if (run->is_new && commands[i].looks) { /* as with Knot, it is made; but the path may be wrong */
		fprintf(stderr, "warning: there was no key database in '%s', an empty one was made\n", run->kasp_path);
	}
	done_t done = commands[i].run(run);
	if (done.err != KNOT_OK) {
		return done.is_told ? false : keymgr_complain("%s", knot_strerror(done.err));
	}
	if (!done.is_quiet) {
		printf("OK\n");
	}
	return true;
}

/* ---- The list of zones ---- */

static void keymgr_show_zone(knot_name_t zone, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(zone, text);
	if (ctx != NULL) {
		knot_json_text(ctx, NULL, text);
	} else {
		printf("%s\n", text);
	}
}

static bool keymgr_list_zones(keymgr_t *run)
{
	kasp_txn_t *txn;
	knot_json_t json = knot_json_of(knot_json_to_file, stdout);
	if (!keymgr_open(run, false)) {
		return false;
	}
	knot_err_t err = kasp_begin(run->kasp, false, &txn);
	if (err != KNOT_OK) {
		return keymgr_complain("%s", knot_strerror(err));
	}
	if (run->is_json) {
		knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	}
	err = kasp_each_zone(txn, keymgr_show_zone, run->is_json ? &json : NULL);
	kasp_abort(txn);
	if (run->is_json) {
		knot_json_close(&json);
		err = err == KNOT_OK && !knot_json_end(&json) ? KNOT_EFILE : err;
	}
	return err == KNOT_OK || keymgr_complain("%s", knot_strerror(err));
}

/* ---- Options ---- */

/* Without a letter: of `plan`. */
enum { OPTION_UNTIL = 256, OPTION_POLICY, OPTION_DS_AFTER, OPTION_DS_TTL, OPTION_SVG };

static bool keymgr_choose(const char **choice, const char *value, keymgr_t *run)
{
	if (conf_choice_is_made(&run->choice)) {
		return keymgr_complain("configuration already initialized");
	}
	*choice = value;
	return true;
}

/* False: the program ends, with *ret_status. */
static bool keymgr_option(int c, keymgr_t *run, int *ret_status)
{
	*ret_status = EXIT_FAILURE;
	switch (c) {
	case 'c': return keymgr_choose(&run->choice.config, optarg, run);
	case 'C': return keymgr_choose(&run->choice.confdb, optarg, run);
	case 'D': return keymgr_choose(&run->choice.dir, optarg, run);
	case 't': run->tsig = optarg; return true;
	case 'e': run->is_extended = true; return true;
	case 'j': run->is_json = true; return true;
	case 'l': run->lists_zones = true; return true;
	case 'x': run->has_colour = false; return true;
	case 'X': run->has_colour = true; return true;
	case OPTION_UNTIL: run->plan.until = optarg; return true;
	case OPTION_POLICY: run->plan.policy = optarg; return true;
	case OPTION_DS_AFTER: run->plan.ds_after = optarg; return true;
	case OPTION_DS_TTL: run->plan.ds_ttl = optarg; return true;
	case OPTION_SVG: run->plan.wants_svg = true; return true;
	case 'h': keymgr_help(); break;
	case 'V': conf_version_print("keymgr", optarg != NULL); break;
	default: keymgr_help(); return false;
	}
	*ret_status = EXIT_SUCCESS;
	return false;
}

static bool keymgr_run(keymgr_t *run, int argc, char **argv)
{
	if (run->tsig != NULL) {
		return keymgr_make_tsig(run->tsig, argc > 0 ? argv[0] : NULL, argc > 1 ? argv[1] : NULL);
	}
	if (run->lists_zones) {
		return keymgr_list_zones(run);
	}
	if (argc < 2) {
		(void)keymgr_complain("zone name or command not specified");
		keymgr_help();
		return false;
	}
	run->arguments = (const char *const *)argv + 2;
	run->argument_count = (size_t)argc - 2;
	return keymgr_run_command(run, argv[0], argv[1]);
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	(void)prctl(PR_SET_DUMPABLE, 0); /* a core would have private keys */
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "dir", required_argument, NULL, 'D' },
		{ "tsig", required_argument, NULL, 't' },
		{ "extended", no_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },
		{ "mono", no_argument, NULL, 'x' },
		{ "color", no_argument, NULL, 'X' },
		{ "until", required_argument, NULL, OPTION_UNTIL },
		{ "policy", required_argument, NULL, OPTION_POLICY },
		{ "ds-after", required_argument, NULL, OPTION_DS_AFTER },
		{ "ds-ttl", required_argument, NULL, OPTION_DS_TTL },
		{ "svg", no_argument, NULL, OPTION_SVG },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	static keymgr_t run;
	int c, status = EXIT_SUCCESS;
	run.has_colour = colors_are_wanted();
	while ((c = getopt_long(argc, argv, "c:C:D:t:ejlxXhV::", known, NULL)) != -1) {
		if (!keymgr_option(c, &run, &status)) {
			return sys_file_end_output() ? status : EXIT_FAILURE;
		}
	}
	bool is_good = keymgr_run(&run, argc - optind, argv + optind);
	keymgr_close(&run);
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
