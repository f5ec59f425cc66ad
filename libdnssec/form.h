/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: keys of curves (ECDSA, EdDSA) in the forms that files have: PKCS #8 (RFC 5958) with an ECPrivateKey (RFC
 * 5915) or a seed (RFC 8410) in it, and SubjectPublicKeyInfo (RFC 5480, 8410).
 *
 * The library reads and writes these, too, by asking each of its decoders: 400 µs for a key that a signature of 20 µs
 * is made with. What isn't in one of the usual forms is left to it, and so are all faults. Pure.
 */
#pragma once

#include "libdnssec/algorithm.h"
#include "libknot/base/bytes.h"

#include <stdbool.h>

enum {
	FORM_PRIVATE_MAX = 57, /* bytes: private number or seed */
	FORM_PUBLIC_MAX = 96,
	FORM_SPKI_MAX = 32 + FORM_PUBLIC_MAX,
	FORM_PEM_MAX = 512, /* characters */
};

/** Write the SubjectPublicKeyInfo of a public key as DNSSEC has it. Returns its length; 0: not of this algorithm. */
size_t dnssec_form_spki(const dnssec_algorithm_t *row, knot_bytes_t public, uint8_t ret_der[static FORM_SPKI_MAX]);

/** Bytes of a private number or seed; 0: not of this algorithm. */
size_t dnssec_form_private_len(const dnssec_algorithm_t *row);

/** Write a private key of dnssec_form_private_len() bytes as PEM, as the library would. Returns its length. */
size_t dnssec_form_write_pem(const dnssec_algorithm_t *row, const uint8_t *private, knot_bytes_t public,
		char ret_pem[static FORM_PEM_MAX]);

/** Read it. False: it isn't such a key in a usual form. *ret_has_public: of curves of ECDSA the public key may be
 * there; that the two belong together isn't checked. */
bool dnssec_form_read_pem(const dnssec_algorithm_t *row, knot_bytes_t pem, uint8_t ret_private[static FORM_PRIVATE_MAX],
		uint8_t ret_public[static FORM_PUBLIC_MAX], bool *ret_has_public);
