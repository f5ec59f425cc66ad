/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/store.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "libdnssec/pem_store.h"
#include "libdnssec/store_ops.h"

struct dnssec_store {
	dnssec_store_kind_t kind;
	char *place; /* owned: the folder, or the URI of the token, with a PIN */
};

/* ---- A folder ---- */

static knot_err_t folder_open(const char *config, char **ret_place)
{
	*ret_place = strdup(config);
	return *ret_place != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t folder_put(const char *place, const dnssec_key_t *key, const char *label, char *ret_id)
{
	(void)label;
	return dnssec_pem_put(place, key, ret_id);
}

static knot_err_t folder_generate(const char *place, uint8_t algorithm, unsigned bits, uint16_t flags,
		const char *label, char *ret_id, dnssec_key_t **ret_key)
{
	dnssec_key_t *key;
	knot_err_t err = dnssec_key_generate(algorithm, bits, flags, &key);
	if (err != KNOT_OK) {
		return err;
	}
	err = folder_put(place, key, label, ret_id);
	if (err != KNOT_OK) {
		dnssec_key_free(key);
		return err;
	}
	*ret_key = key;
	return KNOT_OK;
}

static const dnssec_store_ops_t folder_ops = { folder_open, folder_generate, folder_put, dnssec_pem_get,
	dnssec_pem_find, dnssec_pem_has, dnssec_pem_remove };

/* ---- Interface ---- */

static const dnssec_store_ops_t *const store_ops[] = {
	[DNSSEC_STORE_PEM] = &folder_ops,
	[DNSSEC_STORE_PKCS11] = &dnssec_pkcs11_ops,
};

knot_err_t dnssec_store_open(dnssec_store_kind_t kind, const char *place, dnssec_store_t **ret_store)
{
	dnssec_store_t *store = calloc(1, sizeof(*store));
	if (store == NULL) {
		return KNOT_ENOMEM;
	}
	store->kind = kind;
	knot_err_t err = store_ops[kind]->open(place, &store->place);
	if (err != KNOT_OK) {
		free(store);
		return err;
	}
	*ret_store = store;
	return KNOT_OK;
}

void dnssec_store_close(dnssec_store_t *take_store)
{
	if (take_store != NULL) {
		OPENSSL_cleanse(take_store->place, strlen(take_store->place));
		free(take_store->place);
		free(take_store);
	}
}

knot_err_t dnssec_store_generate(const dnssec_store_t *store, uint8_t algorithm, unsigned bits, uint16_t flags,
		const char *label, char ret_id[static DNSSEC_KEY_ID_LEN + 1], dnssec_key_t **ret_key)
{
	return store_ops[store->kind]->generate(store->place, algorithm, bits, flags, label, ret_id, ret_key);
}

knot_err_t dnssec_store_put(const dnssec_store_t *store, const dnssec_key_t *key, const char *label,
		char ret_id[static DNSSEC_KEY_ID_LEN + 1])
{
	return store_ops[store->kind]->put(store->place, key, label, ret_id);
}

knot_err_t dnssec_store_get(const dnssec_store_t *store, const char *id, dnssec_key_t *key)
{
	return store_ops[store->kind]->get(store->place, id, key);
}

knot_err_t dnssec_store_find(
		const dnssec_store_t *store, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	return store_ops[store->kind]->find(store->place, id, algorithm, flags, ret_key);
}

bool dnssec_store_has(const dnssec_store_t *store, const char *id)
{
	return store_ops[store->kind]->has(store->place, id);
}

knot_err_t dnssec_store_remove(const dnssec_store_t *store, const char *id)
{
	return store_ops[store->kind]->remove(store->place, id);
}

const char *dnssec_store_folder(const dnssec_store_t *store)
{
	return store->kind == DNSSEC_STORE_PEM ? store->place : NULL;
}
