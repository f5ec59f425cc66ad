/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: RDATA that signing makes: RRSIG up to the signature (RFC 4034 3.1), type bitmaps (4.1.2), NSEC, and NSEC3
 * and NSEC3PARAM (RFC 5155 3.2, 4.2). Pure.
 */
#pragma once

#include "libknot/rr/rdata.h"
#include "src/zone/nsec3_hash.h"

enum {
	SIGN_RRSIG_LABELS_OFF = 3, /* in the RDATA of an RRSIG */
	SIGN_RRSIG_EXPIRATION_OFF = 8,
	SIGN_RRSIG_INCEPTION_OFF = 12,
	SIGN_RRSIG_TAG_OFF = 16,
	SIGN_RRSIG_SIGNER_OFF = 18,
	SIGN_RRSIG_HEAD_MAX = SIGN_RRSIG_SIGNER_OFF + KNOT_NAME_MAX,
	SIGN_BITMAP_MAX = 256 * (2 + 32), /* all windows, each full */
	SIGN_NSEC3_HEAD_MAX = 5 + 255 + 1 + ZONE_NSEC3_HASH_LEN,
};

/** An RRSIG but for its signature. */
typedef struct {
	uint16_t type; /* covered */
	uint8_t algorithm;
	uint8_t label_count; /* without the root and a leading "*", RFC 4034 3.1.3 */
	uint32_t ttl;
	uint32_t expiration, inception; /* seconds since 1970 modulo 2^32 */
	uint16_t tag;
	knot_name_t signer; /* lower case */
} sign_rrsig_t;

/** Write the head; returns its length. */
size_t sign_rrsig_print(const sign_rrsig_t *rrsig, uint8_t ret_head[static SIGN_RRSIG_HEAD_MAX]);

/** The type that an RRSIG covers. */
static inline uint16_t sign_rrsig_covered(knot_bytes_t rdata)
{
	return load_be16(rdata.data);
}

/** The moment that a time of an RRSIG stands for: the one nearest to now_s, RFC 4034 3.1.5. Seconds since 1970. */
uint64_t sign_rrsig_time(uint32_t field, uint64_t now_s);

/** Write the bitmap of ascending types; returns its length, 0 for none. */
size_t sign_bitmap_print(const uint16_t *types, size_t count, uint8_t ret_bitmap[static SIGN_BITMAP_MAX]);

/** Write an NSEC3 up to its bitmap; returns the length. */
size_t sign_nsec3_print(const zone_nsec3_params_t *params, bool is_opt_out,
		const uint8_t next_hash[static ZONE_NSEC3_HASH_LEN], uint8_t ret_head[static SIGN_NSEC3_HEAD_MAX]);

/** Write an NSEC3PARAM; returns the length. */
size_t sign_nsec3param_print(const zone_nsec3_params_t *params, uint8_t ret_rdata[static SIGN_NSEC3_HEAD_MAX]);

/** The bitmap in the RDATA of an NSEC or NSEC3. */
knot_bytes_t sign_rdata_bitmap(uint16_t type, knot_bytes_t rdata);
