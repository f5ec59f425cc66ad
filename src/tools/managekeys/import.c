/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that were made elsewhere: import-pem, import-pub, import-bind, import-pkcs11. */
#include "src/tools/managekeys/keymgr.h"

#include "libdnssec/bind_key.h"
#include "libknot/base/encode.h"
#include "libknot/rr/rrtype.h"
#include "libknot/text/zonefile.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 16 * 1024 /* bytes: a private key takes a fifth of that */ };

knot_err_t keymgr_put_found(const keymgr_t *run, const dnssec_key_t *made, kasp_key_t *key)
{
	uint8_t public[DNSSEC_KEY_RDATA_MAX];
	knot_bytes_t rdata = dnssec_key_rdata(made);
	memcpy(public, rdata.data + 4, rdata.len - 4);
	key->public = (knot_bytes_t){ public, rdata.len - 4 };
	key->algorithm = dnssec_key_algorithm(made);
	key->flags = dnssec_key_flags(made);
	key->tag = dnssec_key_tag(made);
	knot_err_t err = keymgr_put_key(run, key, NULL);
	if (err == KNOT_OK) {
		printf("%s\n", key->id);
	}
	return err;
}

/* Store a private key in memory as a key of the zone. */
static knot_err_t import_key(const keymgr_t *run, const dnssec_key_t *made, kasp_key_t *key)
{
	knot_err_t err = key->is_public_only ? dnssec_key_id(made, key->id)
					     : zone_keys_keep(&run->env, key->is_ksk, made, key->id);
	return err == KNOT_OK ? keymgr_put_found(run, made, key) : err;
}

/* A whole file, which is shorter than FILE_MAX. */
static knot_err_t import_read_file(const char *path, uint8_t text[static FILE_MAX], size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	size_t len = 0;
	ssize_t got = 1;
	while (len < FILE_MAX && (got = read(fd, text + len, FILE_MAX - len)) > 0) {
		len += (size_t)got;
	}
	knot_err_t err = got < 0 ? knot_err_of_errno(errno) : KNOT_OK;
	(void)close(fd);
	*ret_len = len;
	return err == KNOT_OK && len == FILE_MAX ? KNOT_ESPACE : err;
}

static knot_err_t import_complain(const char *path, knot_err_t err)
{
	(void)keymgr_complain("failed to get key from file %s", path);
	return err;
}

/* The private key of a file in PEM format. Complains. */
static knot_err_t import_read_pem(const char *path, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	uint8_t text[FILE_MAX];
	size_t len = 0;
	knot_err_t err = import_read_file(path, text, &len);
	err = err == KNOT_OK ? dnssec_key_from_pem((knot_bytes_t){ text, len }, algorithm, flags, ret_key) : err;
	explicit_bzero(text, len);
	return err == KNOT_OK ? KNOT_OK : import_complain(path, err);
}

done_t keymgr_run_import_pem(const keymgr_t *run)
{
	attributes_t attributes;
	dnssec_key_t *made;
	if (run->argument_count == 0) {
		return keymgr_refuse("PEM file to import not specified");
	}
	if (!keymgr_read_attributes(run, 1, false, &attributes)) {
		return keymgr_done(KNOT_EPARAM);
	}
	kasp_key_t key = { .is_ksk = attributes.is_ksk,
		.is_zsk = attributes.is_zsk || !attributes.is_ksk,
		.times = { .publish = run->env.now_s, .active = run->env.now_s } };
	uint8_t algorithm = attributes.algorithm != 0 ? attributes.algorithm : run->env.policy->algorithm;
	knot_err_t err = keymgr_time_key(&attributes, &key);
	err = err == KNOT_OK ? import_read_pem(run->arguments[0], algorithm,
					       keymgr_flags(&attributes, key.is_ksk, run->env.policy->has_adt), &made)
			     : err;
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	err = import_key(run, made, &key);
	dnssec_key_free(made);
	return keymgr_done(err);
}

/* ---- A public key of somebody else ---- */

typedef struct {
	dnssec_key_t *key; /* owned; NULL: none yet */
	knot_err_t err;
} import_public_t;

static bool import_take_public(const knot_zone_record_t *record, void *ctx)
{
	import_public_t *public = ctx;
	if (record->type == KNOT_TYPE_DNSKEY && public->key == NULL) {
		public->err = dnssec_key_from_rdata(record->rdata, &public->key);
	}
	return public->key == NULL && public->err == KNOT_OK;
}

/* The first DNSKEY of a file. Complains. */
static knot_err_t import_read_public(const keymgr_t *run, const char *path, dnssec_key_t **ret_key)
{
	import_public_t public = { .key = NULL, .err = KNOT_OK };
	const knot_zonefile_params_t params = {
		.origin = run->env.zone, .default_ttl = 0, .on_record = import_take_public, .ctx = &public
	};
	knot_err_t err = knot_zonefile_scan(path, &params);
	err = err == KNOT_OK ? public.err : err;
	err = err == KNOT_OK && public.key == NULL ? KNOT_EPUBLICKEY : err;
	if (err != KNOT_OK) {
		dnssec_key_free(public.key);
		return import_complain(path, err);
	}
	*ret_key = public.key;
	return KNOT_OK;
}

done_t keymgr_run_import_pub(const keymgr_t *run)
{
	dnssec_key_t *public;
	if (run->argument_count == 0) {
		return keymgr_refuse("BIND-style key to import not specified");
	}
	knot_err_t err = import_read_public(run, run->arguments[0], &public);
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	bool is_ksk = (dnssec_key_flags(public) & DNSSEC_FLAG_SEP) != 0;
	kasp_key_t key = {
		.is_ksk = is_ksk, .is_zsk = !is_ksk, .is_public_only = true, .times = { .publish = run->env.now_s }
	};
	err = import_key(run, public, &key);
	dnssec_key_free(public);
	return keymgr_done(err);
}

/* ---- A pair of files of BIND ---- */

/* `name`, `name.key` and `name.private` mean the same. */
static knot_err_t import_join(const char *name, const char *ending, char ret_path[static PATH_MAX])
{
	static const char *const endings[] = { ".key", ".private" };
	size_t len = strlen(name);
	for (size_t i = 0; i < KNOT_LEN(endings); i++) {
		size_t ending_len = strlen(endings[i]);
		if (len > ending_len && strcmp(name + len - ending_len, endings[i]) == 0) {
			len -= ending_len;
			break;
		}
	}
	int path_len = snprintf(ret_path, PATH_MAX, "%.*s%s", (int)len, name, ending);
	return path_len > 0 && path_len < PATH_MAX ? KNOT_OK : KNOT_ESPACE;
}

/* Timers as BIND has them; a key is public and active at once unless something else is said. */
static knot_err_t import_time(const keymgr_t *run, knot_bytes_t text, kasp_times_t *ret_times)
{
	kasp_times_t times = { .created = 0 };
	const struct {
		const char *name;
		uint64_t *at;
	} rows[] = { { "Created", &times.created }, { "Publish", &times.publish }, { "Activate", &times.active },
		{ "Inactive", &times.retire }, { "Revoke", &times.revoke }, { "Delete", &times.remove } };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < KNOT_LEN(rows) && err == KNOT_OK; i++) {
		err = dnssec_bind_time(text, rows[i].name, rows[i].at);
	}
	times.publish = times.publish != 0 ? times.publish : run->env.now_s;
	times.active = times.active != 0 ? times.active : run->env.now_s;
	*ret_times = times;
	return err;
}

static knot_err_t import_pair(const keymgr_t *run, dnssec_key_t *made, const char *private_path)
{
	uint8_t text[FILE_MAX];
	size_t len = 0;
	bool is_ksk = (dnssec_key_flags(made) & DNSSEC_FLAG_SEP) != 0;
	kasp_key_t key = { .is_ksk = is_ksk, .is_zsk = !is_ksk };
	knot_err_t err = import_read_file(private_path, text, &len);
	err = err == KNOT_OK ? dnssec_bind_get((knot_bytes_t){ text, len }, made) : err;
	err = err == KNOT_OK ? import_time(run, (knot_bytes_t){ text, len }, &key.times) : err;
	explicit_bzero(text, len);
	return err == KNOT_OK ? import_key(run, made, &key) : import_complain(private_path, err);
}

done_t keymgr_run_import_bind(const keymgr_t *run)
{
	dnssec_key_t *made;
	char public_path[PATH_MAX], private_path[PATH_MAX];
	if (run->argument_count == 0) {
		return keymgr_refuse("BIND-style key to import not specified");
	}
	knot_err_t err = import_join(run->arguments[0], ".key", public_path);
	err = err == KNOT_OK ? import_join(run->arguments[0], ".private", private_path) : err;
	err = err == KNOT_OK ? import_read_public(run, public_path, &made) : err;
	if (err == KNOT_OK) {
		err = import_pair(run, made, private_path);
		dnssec_key_free(made);
	}
	return keymgr_done(err);
}

/* ---- A key that is in a token already ---- */

/* An id as tools print it: hexadecimal digits of either case, colons between octets. */
static bool import_read_id(const char *text, char ret_id[static DNSSEC_KEY_ID_MAX + 1])
{
	size_t len = 0;
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == ':' && len % 2 == 0) {
			continue;
		}
		if (len == DNSSEC_KEY_ID_MAX || knot_hex_digit(*at) == KNOT_BAD_DIGIT) {
			return false;
		}
		ret_id[len++] = (char)tolower((unsigned char)*at);
	}
	ret_id[len] = '\0';
	return len > 0 && len % 2 == 0;
}

/* In the first token of the zone that has it. */
static knot_err_t import_find(
		const keymgr_t *run, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	conf_keystores_t stores = conf_policy_keystores(run->conf, run->env.policy);
	knot_err_t err = KNOT_ENOENT;
	bool has_token = false;
	for (size_t i = 0; i < stores.count && err == KNOT_ENOENT; i++) {
		dnssec_store_t *store;
		if (stores.data[i]->backend != CONF_KEYSTORE_PKCS11) {
			continue;
		}
		has_token = true;
		err = zone_keys_open_store(&run->env, stores.data[i], &store);
		if (err == KNOT_OK) {
			err = dnssec_store_find(store, id, algorithm, flags, ret_key);
			dnssec_store_close(store);
		}
	}
	if (!has_token) {
		(void)keymgr_complain("not a PKCS #11 keystore for zone %s", run->zone_text);
	} else if (err != KNOT_OK) {
		(void)keymgr_complain("failed to get key %s from the keystore", id);
	}
	return err;
}

done_t keymgr_run_import_pkcs11(const keymgr_t *run)
{
	attributes_t attributes;
	dnssec_key_t *found;
	kasp_key_t key = { .times = { .publish = run->env.now_s, .active = run->env.now_s } };
	if (run->argument_count == 0) {
		return keymgr_refuse("Key ID to import not specified");
	}
	if (!keymgr_read_attributes(run, 1, false, &attributes)) {
		return keymgr_done(KNOT_EPARAM);
	}
	if (!import_read_id(run->arguments[0], key.id)) {
		return keymgr_done(KNOT_EKEYID);
	}
	key.is_ksk = attributes.is_ksk;
	key.is_zsk = attributes.is_zsk || !attributes.is_ksk;
	knot_err_t err = keymgr_time_key(&attributes, &key);
	if (err == KNOT_OK) {
		err = import_find(run, key.id,
				attributes.algorithm != 0 ? attributes.algorithm : run->env.policy->algorithm,
				keymgr_flags(&attributes, key.is_ksk, run->env.policy->has_adt), &found);
	}
	if (err == KNOT_OK) {
		err = keymgr_put_found(
				run, found, &key); /* the id is the token's, which needn't follow from the public key */
		dnssec_key_free(found);
	}
	return keymgr_done(err);
}
