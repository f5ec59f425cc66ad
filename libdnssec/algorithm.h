/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The signing algorithms of DNSSEC: a table of facts, one row per algorithm. Pure; no state.
 *
 * RFC 4034, 5702, 6605, 8080, 8624; the IANA registry "DNS Security Algorithm Numbers".
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

/** Numbers of the algorithms that there is code for. */
enum {
	DNSSEC_RSASHA1 = 5,
	DNSSEC_RSASHA1_NSEC3 = 7,
	DNSSEC_RSASHA256 = 8,
	DNSSEC_RSASHA512 = 10,
	DNSSEC_ECDSAP256SHA256 = 13,
	DNSSEC_ECDSAP384SHA384 = 14,
	DNSSEC_ED25519 = 15,
	DNSSEC_ED448 = 16,
};

typedef enum { DNSSEC_KIND_RSA, DNSSEC_KIND_ECDSA, DNSSEC_KIND_EDDSA } dnssec_kind_t;

typedef struct {
	uint8_t number;
	const char *name; /* upper case, as in zone files and in Knot's output */
	dnssec_kind_t kind;
	uint16_t bits_min, bits_max; /* of keys; the same: there is only one size */
	uint16_t bits_default;
	uint16_t public_len;    /* bytes of the public key in DNSKEY; 0: it varies */
	uint16_t signature_len; /* bytes of a signature; 0: the modulus's */
	bool fits_nsec3;        /* may sign zones with NSEC3 (RFC 5155 2) */
	bool is_deterministic;  /* the same key and data give the same signature */
} dnssec_algorithm_t;

/** The row of a number; NULL: there is no code for it. */
KNOT_EXPORT const dnssec_algorithm_t *dnssec_algorithm_find(unsigned number);

/** The row of a name, in any case, or of a number in digits; NULL: as above. */
KNOT_EXPORT const dnssec_algorithm_t *dnssec_algorithm_find_name(const char *name);

/** The index-th row, by number; NULL: there are no more. */
KNOT_EXPORT const dnssec_algorithm_t *dnssec_algorithm_at(size_t index);
