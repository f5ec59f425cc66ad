/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys in tokens, by GnuTLS and p11-kit beneath it (ADR 65). */
#include <gnutls/abstract.h>
#include <gnutls/pkcs11.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "libdnssec/internal.h"
#include "libdnssec/sign.h"
#include "libdnssec/store_ops.h"
#include "libknot/base/encode.h"

enum {
	ID_MAX = 64, /* octets of CKA_ID */
	ID_LEN = DNSSEC_KEY_ID_LEN / 2,
	FLAGS = GNUTLS_PKCS11_OBJ_FLAG_MARK_SENSITIVE | GNUTLS_PKCS11_OBJ_FLAG_MARK_PRIVATE |
		GNUTLS_PKCS11_OBJ_FLAG_LOGIN,
};

knot_err_t dnssec_token_err(int result, knot_err_t other)
{
	switch (result) {
	case GNUTLS_E_SUCCESS: return KNOT_OK;
	case GNUTLS_E_MEMORY_ERROR: return KNOT_ENOMEM;
	case GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE:
	case GNUTLS_E_PKCS11_REQUESTED_OBJECT_NOT_AVAILBLE: return KNOT_ENOENT;
	case GNUTLS_E_PKCS11_PIN_ERROR:
	case GNUTLS_E_PKCS11_PIN_EXPIRED:
	case GNUTLS_E_PKCS11_PIN_LOCKED: return KNOT_PKCS11_EPIN;
	case GNUTLS_E_PKCS11_ERROR:
	case GNUTLS_E_PKCS11_LOAD_ERROR:
	case GNUTLS_E_PKCS11_SLOT_ERROR:
	case GNUTLS_E_PKCS11_DEVICE_ERROR:
	case GNUTLS_E_PKCS11_SESSION_ERROR:
	case GNUTLS_E_PKCS11_TOKEN_ERROR:
	case GNUTLS_E_PKCS11_USER_ERROR: return KNOT_PKCS11_ETOKEN;
	default: return other;
	}
}

/* ---- Modules ---- */

/** Of the process: a module can't be loaded twice, and is never unloaded. */
static struct {
	pthread_mutex_t lock;
	char *paths[DNSSEC_MODULES_MAX]; /* owned */
	size_t count;
} modules = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool modules_have(const char *path)
{
	for (size_t i = 0; i < modules.count; i++) {
		if (strcmp(modules.paths[i], path) == 0) {
			return true;
		}
	}
	return false;
}

/* Under the lock. Other modules, those that are registered on the host, aren't loaded. */
static knot_err_t modules_add(const char *path)
{
	if (modules.count == DNSSEC_MODULES_MAX ||
			(modules.count == 0 && gnutls_pkcs11_init(GNUTLS_PKCS11_FLAG_MANUAL, NULL) != 0)) {
		return KNOT_PKCS11_EMODULE;
	}
	char *copy = strdup(path);
	if (copy == NULL) {
		return KNOT_ENOMEM;
	}
	if (gnutls_pkcs11_add_provider(path, NULL) != GNUTLS_E_SUCCESS) {
		free(copy);
		return KNOT_PKCS11_EMODULE;
	}
	modules.paths[modules.count++] = copy;
	return KNOT_OK;
}

static knot_err_t modules_load(const char *path)
{
	(void)pthread_mutex_lock(&modules.lock);
	knot_err_t err = modules_have(path) ? KNOT_OK : modules_add(path);
	(void)pthread_mutex_unlock(&modules.lock);
	return err;
}

/* ---- URIs ---- */

static knot_err_t pkcs11_open(const char *config, char **ret_place)
{
	const char *space = strchr(config, ' ');
	if (space == NULL || space == config || strncmp(config, "pkcs11:", 7) != 0) {
		return KNOT_PKCS11_ECONFIG;
	}
	const char *module = space + strspn(space, " ");
	if (*module == '\0') {
		return KNOT_PKCS11_ECONFIG;
	}
	char *url = strndup(config, (size_t)(space - config));
	unsigned flags;
	if (url == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = modules_load(module);
	int result = err == KNOT_OK ? gnutls_pkcs11_token_get_flags(url, &flags) : 0;
	if (result == GNUTLS_E_PARSING_ERROR) {
		err = KNOT_PKCS11_ECONFIG;
	} else if (result != GNUTLS_E_SUCCESS) {
		err = result == GNUTLS_E_MEMORY_ERROR ? KNOT_ENOMEM : KNOT_PKCS11_ETOKEN;
	}
	if (err != KNOT_OK) {
		dnssec_url_free(url);
		return err;
	}
	*ret_place = url;
	return KNOT_OK;
}

/* The URI of a key: an attribute more, in front of the query that may follow them (RFC 7512 2.3). KNOT_EKEYID. */
static knot_err_t pkcs11_make_url(const char *place, const char *id, char **ret_url)
{
	uint8_t bytes[ID_MAX];
	size_t id_len = strlen(id), len = 0, head = strcspn(place, "?");
	if (id_len == 0 || id_len > 2 * sizeof(bytes) || !knot_hex_scan(knot_str_of(id), bytes, &len)) {
		return KNOT_EKEYID;
	}
	size_t max = strlen(place) + strlen(";id=") + 3 * len + 1;
	char *url = malloc(max);
	if (url == NULL) {
		return KNOT_ENOMEM;
	}
	size_t at = (size_t)snprintf(url, max, "%.*s;id=", (int)head, place);
	for (size_t i = 0; i < len; i++) {
		at += (size_t)snprintf(url + at, max - at, "%%%02x", bytes[i]);
	}
	(void)snprintf(url + at, max - at, "%s", place + head);
	*ret_url = url;
	return KNOT_OK;
}

/* ---- Using keys ---- */

static knot_err_t pkcs11_import(const char *url, gnutls_privkey_t *ret_key)
{
	gnutls_privkey_t key;
	if (gnutls_privkey_init(&key) != GNUTLS_E_SUCCESS) {
		return KNOT_ENOMEM;
	}
	int result = gnutls_privkey_import_url(key, url, 0);
	if (result != GNUTLS_E_SUCCESS) {
		gnutls_privkey_deinit(key);
		return dnssec_token_err(result, KNOT_PKCS11_ETOKEN);
	}
	*ret_key = key;
	return KNOT_OK;
}

/* KNOT_ENOENT: the token doesn't have the private key. */
static knot_err_t pkcs11_look(const char *place, const char *id)
{
	char *url;
	gnutls_privkey_t key;
	knot_err_t err = pkcs11_make_url(place, id, &url);
	if (err != KNOT_OK) {
		return err;
	}
	err = pkcs11_import(url, &key);
	if (err == KNOT_OK) {
		gnutls_privkey_deinit(key);
	}
	dnssec_url_free(url);
	return err;
}

static bool pkcs11_has(const char *place, const char *id)
{
	return pkcs11_look(place, id) == KNOT_OK;
}

static knot_err_t pkcs11_get(const char *place, const char *id, dnssec_key_t *key)
{
	char *url;
	knot_err_t err = pkcs11_make_url(place, id, &url);
	if (err != KNOT_OK) {
		return err;
	}
	dnssec_url_free(key->url);
	key->url = url;
	err = dnssec_key_prove(key);
	if (err != KNOT_OK) {
		dnssec_url_free(key->url);
		key->url = NULL;
	}
	return err;
}

/* The public key beside a private one. */
static knot_err_t pkcs11_read_public(
		const char *url, uint8_t algorithm, uint16_t flags, gnutls_datum_t *ret_der, dnssec_key_t **ret_key)
{
	gnutls_privkey_t private;
	gnutls_pubkey_t public;
	knot_err_t err = pkcs11_import(url, &private);
	if (err != KNOT_OK) {
		return err;
	}
	int result = gnutls_pubkey_init(&public);
	if (result == GNUTLS_E_SUCCESS) {
		result = gnutls_pubkey_import_privkey(public, private, 0, 0);
		result = result == GNUTLS_E_SUCCESS ? gnutls_pubkey_export2(public, GNUTLS_X509_FMT_DER, ret_der)
						    : result;
		gnutls_pubkey_deinit(public);
	}
	gnutls_privkey_deinit(private);
	err = dnssec_token_err(result, KNOT_EPUBLICKEY);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_EPUBLICKEY : err;
	}
	return dnssec_key_from_spki((knot_bytes_t){ ret_der->data, ret_der->size }, algorithm, flags, ret_key);
}

static knot_err_t pkcs11_find(
		const char *place, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	char *url;
	gnutls_datum_t der = { NULL, 0 };
	dnssec_key_t *key = NULL;
	knot_err_t err = pkcs11_make_url(place, id, &url);
	if (err != KNOT_OK) {
		return err;
	}
	err = pkcs11_read_public(url, algorithm, flags, &der, &key);
	gnutls_free(der.data);
	dnssec_url_free(url);
	err = err == KNOT_OK ? pkcs11_get(place, id, key) : err;
	if (err != KNOT_OK) {
		dnssec_key_free(key);
		return err;
	}
	*ret_key = key;
	return KNOT_OK;
}

static knot_err_t pkcs11_remove(const char *place, const char *id)
{
	char *url;
	knot_err_t err = pkcs11_make_url(place, id, &url);
	if (err != KNOT_OK) {
		return err;
	}
	int count = gnutls_pkcs11_delete_url(url, GNUTLS_PKCS11_OBJ_FLAG_LOGIN); /* the public key, too */
	dnssec_url_free(url);
	return count > 0 ? KNOT_OK : count == 0 ? KNOT_ENOENT : dnssec_token_err(count, KNOT_PKCS11_ETOKEN);
}

/* ---- Making keys ---- */

/* Generate a pair under a new id, and read its public key. */
static knot_err_t pkcs11_make_pair(const char *place, const dnssec_algorithm_t *row, unsigned bits, uint16_t flags,
		const char *label, char *ret_id, dnssec_key_t **ret_key)
{
	uint8_t id[ID_LEN];
	gnutls_datum_t der = { NULL, 0 };
	const gnutls_datum_t cid = { id, sizeof(id) };
	if (getrandom(id, sizeof(id), 0) != sizeof(id)) {
		return KNOT_ECRYPTO;
	}
	bool is_rsa = row->kind == DNSSEC_KIND_RSA;
	int result = gnutls_pkcs11_privkey_generate3(place, dnssec_gnutls_kind(row),
			is_rsa ? bits : GNUTLS_CURVE_TO_BITS(dnssec_gnutls_curve(row)), label[0] != '\0' ? label : NULL,
			&cid, GNUTLS_X509_FMT_DER, &der, GNUTLS_KEY_DIGITAL_SIGNATURE, FLAGS);
	knot_err_t err = dnssec_token_err(result, KNOT_EKEYGENERATE);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_EKEYGENERATE : err;
	}
	ret_id[knot_hex_print((knot_bytes_t){ id, sizeof(id) }, KNOT_HEX_LOWER, ret_id)] = '\0';
	err = dnssec_key_from_spki((knot_bytes_t){ der.data, der.size }, row->number, flags, ret_key);
	gnutls_free(der.data);
	return err;
}

static knot_err_t pkcs11_generate(const char *place, uint8_t algorithm, unsigned bits, uint16_t flags,
		const char *label, char *ret_id, dnssec_key_t **ret_key)
{
	const dnssec_algorithm_t *row = dnssec_algorithm_find(algorithm);
	dnssec_key_t *key = NULL;
	char id[DNSSEC_KEY_ID_LEN + 1] = "";
	if (row == NULL) {
		return KNOT_EKEYALGORITHM;
	}
	bits = bits != 0 ? bits : row->bits_default;
	if (bits < row->bits_min || bits > row->bits_max) {
		return KNOT_EKEYSIZE;
	}
	knot_err_t err = pkcs11_make_pair(place, row, bits, flags, label, id, &key);
	err = err == KNOT_OK ? pkcs11_get(place, id, key) : err;
	if (err != KNOT_OK) {
		dnssec_key_free(key);
		knot_err_t removed = id[0] != '\0' ? pkcs11_remove(place, id) : KNOT_OK;
		(void)removed; /* nothing knows the key */
		return err;
	}
	memcpy(ret_id, id, sizeof(id));
	*ret_key = key;
	return KNOT_OK;
}

/* Store both parts under one id; EC keys are of no use without the public one. */
static int pkcs11_copy_pair(const char *place, knot_mut_bytes_t pem, const char *label, const char *id)
{
	uint8_t bytes[ID_LEN];
	size_t len;
	gnutls_x509_privkey_t x509;
	gnutls_privkey_t private = NULL;
	gnutls_pubkey_t public = NULL;
	const gnutls_datum_t text = { pem.data, (unsigned)pem.len }, cid = { bytes, sizeof(bytes) };
	if (!knot_hex_scan(knot_str_of(id), bytes, &len) || gnutls_x509_privkey_init(&x509) != GNUTLS_E_SUCCESS) {
		return GNUTLS_E_MEMORY_ERROR;
	}
	label = label[0] != '\0' ? label : NULL;
	int result = gnutls_x509_privkey_import_pkcs8(x509, &text, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
	result = result == 0 ? gnutls_privkey_init(&private) : result;
	result = result == 0 ? gnutls_privkey_import_x509(private, x509, 0) : result;
	result = result == 0 ? gnutls_pubkey_init(&public) : result;
	result = result == 0 ? gnutls_pubkey_import_privkey(public, private, GNUTLS_KEY_DIGITAL_SIGNATURE, 0) : result;
	result = result == 0 ? gnutls_pkcs11_copy_x509_privkey2(
					       place, x509, label, &cid, GNUTLS_KEY_DIGITAL_SIGNATURE, FLAGS)
			     : result;
	result = result == 0 ? gnutls_pkcs11_copy_pubkey(place, public, label, &cid, GNUTLS_KEY_DIGITAL_SIGNATURE,
					       GNUTLS_PKCS11_OBJ_FLAG_LOGIN)
			     : result;
	gnutls_pubkey_deinit(public);
	gnutls_privkey_deinit(private);
	gnutls_x509_privkey_deinit(x509);
	return result;
}

/* True if the token has this very key already. */
static bool pkcs11_has_same(const char *place, const char *id, const dnssec_key_t *key)
{
	dnssec_key_t *there;
	if (dnssec_key_from_rdata(dnssec_key_rdata(key), &there) != KNOT_OK) {
		return false;
	}
	bool is_same = pkcs11_get(place, id, there) == KNOT_OK;
	dnssec_key_free(there);
	return is_same;
}

/* A key that the token doesn't have. */
static knot_err_t pkcs11_add(const char *place, const dnssec_key_t *key, const char *label, const char *id)
{
	knot_mut_bytes_t pem;
	knot_err_t err = dnssec_key_to_pem(key, &pem);
	if (err != KNOT_OK) {
		return err;
	}
	err = dnssec_token_err(pkcs11_copy_pair(place, pem, label, id), KNOT_EKEYIMPORT);
	err = err == KNOT_OK && !pkcs11_has_same(place, id, key) ? KNOT_EKEYIMPORT : err;
	if (err != KNOT_OK) {
		knot_err_t removed = pkcs11_remove(place, id);
		(void)removed; /* half of it may be there */
	}
	dnssec_pem_free(&pem);
	return err;
}

static knot_err_t pkcs11_put(const char *place, const dnssec_key_t *key, const char *label, char *ret_id)
{
	if (!key->has_private) {
		return KNOT_ENOPRIVATEKEY;
	}
	knot_err_t err = dnssec_key_id(key, ret_id);
	err = err == KNOT_OK ? pkcs11_look(place, ret_id) : err;
	if (err == KNOT_OK) {
		return pkcs11_has_same(place, ret_id, key) ? KNOT_OK : KNOT_EKEYIMPORT;
	}
	/* Only a token that says that it hasn't got it gets it: taking back a failed import removes what has this id.
	 */
	return err == KNOT_ENOENT ? pkcs11_add(place, key, label, ret_id) : err;
}

const dnssec_store_ops_t dnssec_pkcs11_ops = { pkcs11_open, pkcs11_generate, pkcs11_put, pkcs11_get, pkcs11_find,
	pkcs11_has, pkcs11_remove };
