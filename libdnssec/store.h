/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where private keys are: a folder of PEM files (pem_store.h), or a token that PKCS #11 reaches (OASIS, "PKCS #11
 * Specification" 3.0), each named by a URI (RFC 7512). A table of operations, one row per kind.
 *
 * A store is opened, used and closed; it holds no session and no key. Keys of a token are generated in it and never
 * leave it: what comes back is a key that signs by asking the token (sign.h), a session for each signer, so that
 * threads sign at the same time (ADR 65). A module is loaded once, stays for ever, and there are at most
 * DNSSEC_MODULES_MAX of them. Any thread; a store is one thread's at a time.
 */
#pragma once

#include "libdnssec/key.h"

enum { DNSSEC_MODULES_MAX = 16, DNSSEC_LABEL_MAX = 300 /* bytes */ };

typedef enum { DNSSEC_STORE_PEM, DNSSEC_STORE_PKCS11 } dnssec_store_kind_t;

typedef struct dnssec_store dnssec_store_t;

/**
 * Open a store. place: a folder, which is made with the first key, or `<URI of the token> <path of the module>`, split
 * at the first space. KNOT_PKCS11_ECONFIG: it can't be split, or the URI is none. KNOT_PKCS11_EMODULE: the module can't
 * be loaded, or there are too many. KNOT_PKCS11_ETOKEN: the token isn't there. KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_open(
		dnssec_store_kind_t kind, const char *place, dnssec_store_t **ret_store);

/** NULL is allowed. */
KNOT_EXPORT void dnssec_store_close(dnssec_store_t *take_store);

/**
 * Make a key in the store. bits: 0: the algorithm's default. label: what the token shows for the key; "": nothing; a
 * folder has none. ret_id: by which it is found again: of a folder dnssec_key_id(), of a token 20 random octets.
 * KNOT_EKEYALGORITHM, KNOT_EKEYSIZE; KNOT_EKEYGENERATE: library or token failed. Errors of tokens as of
 * dnssec_store_get(), and of dnssec_pem_put().
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_generate(const dnssec_store_t *store, uint8_t algorithm,
		unsigned bits, uint16_t flags, const char *label, char ret_id[static DNSSEC_KEY_ID_LEN + 1],
		dnssec_key_t **ret_key);

/** Store a private key that is in memory. ret_id: dnssec_key_id(). KNOT_ENOPRIVATEKEY: it isn't in memory.
 * KNOT_EKEYIMPORT: the store doesn't take it, or has another one of that id. Other errors as above. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_put(const dnssec_store_t *store, const dnssec_key_t *key,
		const char *label, char ret_id[static DNSSEC_KEY_ID_LEN + 1]);

/**
 * Give a public key its private one, which is checked to belong to it; in a token, by a signature. KNOT_ENOENT: it
 * isn't here. KNOT_EPRIVATEKEY: it is another key's, or can't be read. KNOT_PKCS11_EPIN: the token doesn't take the
 * PIN. KNOT_PKCS11_ETOKEN: the token is gone, or failed. Negated errno codes. KNOT_ENOMEM. Not of a key that is shared.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_get(const dnssec_store_t *store, const char *id, dnssec_key_t *key);

/** A key by its id alone: the public one follows from the store. Errors as above; KNOT_EKEYALGORITHM, KNOT_EKEYSIZE;
 * KNOT_EPUBLICKEY: the token doesn't have the public key. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_find(
		const dnssec_store_t *store, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key);

/** True if there is a private key of that id. */
KNOT_EXPORT bool dnssec_store_has(const dnssec_store_t *store, const char *id);

/** Remove a private key, and the public one beside it. KNOT_ENOENT: it isn't here. Other errors as above. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_store_remove(const dnssec_store_t *store, const char *id);

/** The folder of a store of files; NULL: of a token, whose keys can't be copied. Borrowed. */
KNOT_EXPORT const char *dnssec_store_folder(const dnssec_store_t *store);
