/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Making and checking signatures as DNSSEC has them: RSA by PKCS #1 v1.5 (RFC 3110, 5702), ECDSA as r | s of fixed
 * width (RFC 6605), EdDSA (RFC 8080). What is signed comes in pieces, which are hashed in order.
 *
 * A signer or a verifier is one thread's, and keeps what the library needs from one signature to the next; make one for
 * each thread and key. The key must stay. Which library does what is a table in sign.c (ADR 57).
 */
#pragma once

#include "libdnssec/key.h"

enum { DNSSEC_SIGNATURE_MAX = 512 /* bytes: RSA of 4096 bits */ };

typedef struct dnssec_signer dnssec_signer_t;
typedef struct dnssec_verifier dnssec_verifier_t;

/**
 * is_reproducible: the same data always gives the same signature, also of ECDSA (RFC 6979); not of a key in a token.
 * KNOT_ENOPRIVATEKEY: the key has none. Of a key in a token: KNOT_ENOENT: it is gone; KNOT_PKCS11_ETOKEN: the token is;
 * KNOT_PKCS11_EPIN; KNOT_EPRIVATEKEY. KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_signer_new(
		const dnssec_key_t *key, bool is_reproducible, dnssec_signer_t **ret_signer);

/** Sign the pieces, one behind the other. KNOT_EPRIVATEKEY: the first signature of a token's session isn't by the key's
 * private part, or could not be verified. KNOT_ECRYPTO: the library failed, or the key isn't of the algorithm.
 * KNOT_PKCS11_ETOKEN: the token failed. KNOT_ENOMEM. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_signer_sign(dnssec_signer_t *signer, const knot_bytes_t *pieces,
		size_t piece_count, uint8_t ret_signature[static DNSSEC_SIGNATURE_MAX], size_t *ret_len);

/** NULL is allowed. */
KNOT_EXPORT void dnssec_signer_free(dnssec_signer_t *take_signer);

/** KNOT_ENOMEM. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_verifier_new(const dnssec_key_t *key, dnssec_verifier_t **ret_verifier);

/** KNOT_OK: the signature is one of these pieces. KNOT_ESIGNATURE: it isn't. KNOT_ENOMEM, KNOT_ECRYPTO. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_verifier_verify(
		dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t piece_count, knot_bytes_t signature);

/**
 * The same for less time, where the algorithm allows to verify several at once: KNOT_OK may only mean that the
 * signature has been taken, and dnssec_verifier_settle() tells of it. KNOT_ESIGNATURE: it, or one that was taken
 * before, isn't right. What is pointed to needn't stay.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_verifier_take(
		dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t piece_count, knot_bytes_t signature);

/** Verify those that have been taken. KNOT_ESIGNATURE: at least one isn't right. KNOT_ENOMEM, KNOT_ECRYPTO. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_verifier_settle(dnssec_verifier_t *verifier);

/** Signatures that have been taken and aren't settled are forgotten. NULL is allowed. */
KNOT_EXPORT void dnssec_verifier_free(dnssec_verifier_t *take_verifier);
