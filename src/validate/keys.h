/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the keys of a version: its DNSKEY set, each parsed once. Read by any thread after it was made. RFC 4034 2.
 */
#pragma once

#include "libdnssec/key.h"
#include "src/zone/contents.h"

enum { VALIDATE_ALGORITHMS_MAX = 256 };

typedef struct {
	dnssec_key_t *key; /* owned */
	uint16_t tag;
	uint8_t algorithm;
	bool signs_keys;    /* DNSKEY, CDS and CDNSKEY: it has the SEP flag */
	bool is_revoked;    /* what it signs is looked at, but doesn't count. RFC 5011 2.1 */
	bool is_shared_tag; /* another one has the same tag and algorithm */
} validate_key_t;

/** Algorithms by number. */
typedef struct {
	uint64_t bits[VALIDATE_ALGORITHMS_MAX / 64];
} validate_algorithms_t;

/** Zero: none. */
typedef struct {
	validate_key_t *keys; /* owned; by tag, then algorithm, then as the records are */
	size_t count, room;
	validate_algorithms_t algorithms, key_algorithms; /* of all keys, and of those that sign keys */
} validate_keys_t;

/** Those with an algorithm for which there is code. KNOT_ENOSIGNKEYS: there is no DNSKEY at all. KNOT_EPUBLICKEY: one
 * of them isn't a key. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t validate_keys_read(const zone_contents_t *zone, validate_keys_t *ret_keys);
void validate_keys_done(validate_keys_t *keys);

/** The first key of a tag and an algorithm, or the place where it would be: those are one behind the other. */
size_t validate_keys_first(const validate_keys_t *keys, uint16_t tag, uint8_t algorithm);

static inline void validate_algorithms_add(validate_algorithms_t *set, uint8_t algorithm)
{
	set->bits[algorithm / 64] |= UINT64_C(1) << algorithm % 64;
}

/** Whether `set` has all that `wanted` has. */
bool validate_algorithms_has(const validate_algorithms_t *set, const validate_algorithms_t *wanted);
