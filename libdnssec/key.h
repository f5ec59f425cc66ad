/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A DNSKEY, and its private key if there is one: in memory, or in a token that is asked to sign.
 *
 * A key is made by one thread; once it is shared, nothing changes it any more, and any thread may read it and make
 * signers of it (sign.h). What is private is cleared when the key is freed, and never printed.
 * RFC 4034 2 and appendix B; public keys: RFC 3110, 6605 4, 8080 3; PEM: PKCS #8 (RFC 5958), not encrypted.
 */
#pragma once

#include "libdnssec/algorithm.h"

enum {
	DNSSEC_FLAG_ZONE = 0x0100,   /* RFC 4034 2.1.1 */
	DNSSEC_FLAG_REVOKE = 0x0080, /* RFC 5011 3 */
	DNSSEC_FLAG_ADT = 0x0002,    /* draft-ietf-deleg */
	DNSSEC_FLAG_SEP = 0x0001,
	DNSSEC_KEY_ID_LEN = 40,                 /* hexadecimal digits, lower case: of dnssec_key_id() */
	DNSSEC_KEY_ID_MAX = 128,                /* the same: of keys in tokens, to which others may have given ids */
	DNSSEC_KEY_RDATA_MAX = 4 + 3 + 2 * 512, /* a modulus of 4096 bits, and an exponent as long */
};

typedef struct dnssec_key dnssec_key_t;

/**
 * Make a key of DNSKEY RDATA. KNOT_EMALF: too short, or its protocol isn't 3. KNOT_EKEYALGORITHM: there is no code for
 * the algorithm. KNOT_EPUBLICKEY: the public key isn't one of it. KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_from_rdata(knot_bytes_t rdata, dnssec_key_t **ret_key);

/**
 * Make a new key in memory. bits: 0: the algorithm's default. KNOT_EKEYALGORITHM, KNOT_EKEYSIZE, KNOT_ENOMEM.
 * KNOT_EKEYGENERATE: the library failed.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_generate(
		uint8_t algorithm, unsigned bits, uint16_t flags, dnssec_key_t **ret_key);

/**
 * Read a private key; the public one follows from it. A key of elliptic curves may have a leading zero octet.
 * KNOT_EPRIVATEKEY: no PEM, encrypted, or with a public key that isn't its own. KNOT_EKEYALGORITHM: there is no such
 * algorithm, or the key is of another kind than it needs. KNOT_EKEYSIZE, KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_from_pem(
		knot_bytes_t pem, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key);

/**
 * Write the private key. *ret_pem: the caller's, with a NUL behind it; give it back with dnssec_pem_free().
 * KNOT_ENOPRIVATEKEY: there is none in memory. KNOT_ENOMEM.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_to_pem(const dnssec_key_t *key, knot_mut_bytes_t *ret_pem);

/** Clear and free. */
KNOT_EXPORT void dnssec_pem_free(knot_mut_bytes_t *pem);

/**
 * Give a public key the private one of another key object, which loses it. KNOT_EPRIVATEKEY: it belongs to another
 * public key. Not of a key that is shared.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_take_private(dnssec_key_t *key, dnssec_key_t *from);

/** Change the flags, and with them the tag. Not of a key that is shared. */
KNOT_EXPORT void dnssec_key_set_flags(dnssec_key_t *key, uint16_t flags);

/** The RDATA of the DNSKEY record: flags, protocol, algorithm, public key. Borrowed from the key. */
KNOT_EXPORT knot_bytes_t dnssec_key_rdata(const dnssec_key_t *key);

KNOT_EXPORT const dnssec_algorithm_t *dnssec_key_algorithm_row(const dnssec_key_t *key);
KNOT_EXPORT uint8_t dnssec_key_algorithm(const dnssec_key_t *key);
KNOT_EXPORT uint16_t dnssec_key_flags(const dnssec_key_t *key);
KNOT_EXPORT uint16_t dnssec_key_tag(const dnssec_key_t *key);

/** The size of the key, bits. */
KNOT_EXPORT unsigned dnssec_key_bits(const dnssec_key_t *key);

/** True if it can sign: the private key is in memory, or in a token. */
KNOT_EXPORT bool dnssec_key_has_private(const dnssec_key_t *key);

/** The id of the key: SHA-1 of its SubjectPublicKeyInfo (RFC 5280 4.1.2.7) in hexadecimal digits. KNOT_ENOMEM. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_key_id(const dnssec_key_t *key, char ret_id[static DNSSEC_KEY_ID_LEN + 1]);

/** NULL is allowed. */
KNOT_EXPORT void dnssec_key_free(dnssec_key_t *take_key);

/** The tag of DNSKEY RDATA (RFC 4034 B). */
KNOT_EXPORT uint16_t dnssec_rdata_tag(knot_bytes_t rdata);
