/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Private keys in a folder, a file each, `<id>.pem`: PKCS #8, not encrypted, as in Knot DNS.
 *
 * The folder is made with mode 0750 and files with 0640, less umask; a file is never written over. No state; any
 * thread. What is read and written is cleared in memory.
 */
#pragma once

#include "libdnssec/key.h"

/**
 * Store the private key of `key` under its id. That the same key is there already is fine. KNOT_ENOPRIVATEKEY: it has
 * none in memory. KNOT_EKEYIMPORT: there is another file of that name. Negated errno codes: folder or file can't be
 * written. KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_pem_put(
		const char *folder, const dnssec_key_t *key, char ret_id[static DNSSEC_KEY_ID_LEN + 1]);

/**
 * Give a public key its private one. KNOT_ENOENT: it isn't here. KNOT_EPRIVATEKEY: the file has none, or that of
 * another key. Negated errno codes. KNOT_ENOMEM. Not of a key that is shared.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_pem_get(const char *folder, const char *id, dnssec_key_t *key);

/** A key by its id alone. Errors as above, and of dnssec_key_from_pem(). */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_pem_find(
		const char *folder, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key);

/** True if there is a file for the key. */
KNOT_EXPORT bool dnssec_pem_has(const char *folder, const char *id);

/** Copy a private key as it is to another folder, which is made if need be. That the same is there already is fine.
 * KNOT_ENOENT: it isn't here. KNOT_EKEYIMPORT: there is another file of that name. Negated errno codes. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_pem_copy(const char *from_folder, const char *to_folder, const char *id);

/** Remove a private key. KNOT_ENOENT: it isn't here. Negated errno codes. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_pem_remove(const char *folder, const char *id);
