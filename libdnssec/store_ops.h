/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal to libdnssec: the operations of a kind of store. */
#pragma once

#include "libdnssec/store.h"

/** Each as the function of store.h that is called like it. place: what `open` made of the configuration. */
typedef struct {
	knot_err_t (*open)(const char *config, char **ret_place);
	knot_err_t (*generate)(const char *place, uint8_t algorithm, unsigned bits, uint16_t flags, const char *label,
			char *ret_id, dnssec_key_t **ret_key);
	knot_err_t (*put)(const char *place, const dnssec_key_t *key, const char *label, char *ret_id);
	knot_err_t (*get)(const char *place, const char *id, dnssec_key_t *key);
	knot_err_t (*find)(
			const char *place, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key);
	bool (*has)(const char *place, const char *id);
	knot_err_t (*remove)(const char *place, const char *id);
} dnssec_store_ops_t;

/** Of tokens: pkcs11.c. */
extern const dnssec_store_ops_t dnssec_pkcs11_ops;
