/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal to libdnssec: what a key is made of. */
#pragma once

#include <gnutls/gnutls.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "libdnssec/key.h"

struct dnssec_key {
	const dnssec_algorithm_t *row;
	EVP_PKEY *evp;    /* owned; with the private key if it is in memory */
	bool has_private; /* in `evp` */
	char *url;        /* owned: of the private key in a token (RFC 7512); NULL: it isn't in one */
	uint16_t tag;
	size_t rdata_len;
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
};

/** The name that the library has for the curve of an algorithm; NULL: it isn't one of such. */
const char *dnssec_curve_name(const dnssec_algorithm_t *row);

/** The name that the library has for the kind of key of Ed25519 or Ed448. */
const char *dnssec_eddsa_name(const dnssec_algorithm_t *row);

/** A pair of keys of the library; NULL: it can't be made. The parameters are cleared. */
EVP_PKEY *dnssec_make_pair(const char *kind, OSSL_PARAM_BLD *builder);

/** A pair of a curve: private number or seed, and the public key of row->public_len bytes, which isn't compared with
 * it. NULL: it can't be made. */
EVP_PKEY *dnssec_curve_pair(const dnssec_algorithm_t *row, knot_bytes_t private, const uint8_t *public);

enum { DNSSEC_PRIVATE_MAX = 66 }; /* bytes: private numbers of curves, with room for leading zeros */

/** The private number of a curve, as wide as that of ECDSA, or the seed of EdDSA. Returns its length; 0: the library
 * doesn't give it. To be cleared. */
size_t dnssec_private_number(const dnssec_key_t *key, uint8_t ret_number[static DNSSEC_PRIVATE_MAX]);

/** Write the RDATA of what is in `evp`. KNOT_EPUBLICKEY: that isn't a key of the algorithm. */
KNOT_MUST_USE knot_err_t dnssec_key_write_rdata(dnssec_key_t *key, uint16_t flags);

/** Make a key of a SubjectPublicKeyInfo (RFC 5280 4.1.2.7). KNOT_EKEYALGORITHM. KNOT_EPUBLICKEY: it is no key of the
 * algorithm. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t dnssec_key_from_spki(
		knot_bytes_t der, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key);

/** Clear and free: a URI may have a PIN. NULL is allowed. */
void dnssec_url_free(char *take_url);

/** The kind of key that GnuTLS has for an algorithm. */
gnutls_pk_algorithm_t dnssec_gnutls_kind(const dnssec_algorithm_t *row);

/** The curve that GnuTLS has for an algorithm; GNUTLS_ECC_CURVE_INVALID: of RSA. */
gnutls_ecc_curve_t dnssec_gnutls_curve(const dnssec_algorithm_t *row);

/** What a failure of GnuTLS means with a key in a token; other: of one that isn't the token's. */
knot_err_t dnssec_token_err(int result, knot_err_t other);

/** Sign a text, and verify that with the public key. KNOT_EPRIVATEKEY: it doesn't verify, or the private key is of
 * another kind. Other errors as of dnssec_signer_new() and dnssec_signer_sign(). */
KNOT_MUST_USE knot_err_t dnssec_key_prove(const dnssec_key_t *key);

/** The hash that signatures of the algorithm begin with; NULL: of EdDSA, which has none. */
const EVP_MD *dnssec_hash_of(const dnssec_algorithm_t *row);
