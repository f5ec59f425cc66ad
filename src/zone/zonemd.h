/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The digest of a whole version, and the ZONEMD records that have it (RFC 8976, scheme SIMPLE with SHA-384 and
 * SHA-512).
 *
 * Pure reads of one version, which must stay meanwhile. Cost: all records are put in canonical form and hashed, in
 * constant memory. Making and publishing records is for src/update.
 */
#pragma once

#include "src/zone/contents.h"

#include "libknot/base/err.h"
#include "libknot/rr/rdata.h"

enum {
	ZONEMD_SCHEME_SIMPLE = 1,
	ZONEMD_SHA384 = 1,
	ZONEMD_SHA512 = 2,
	ZONEMD_DIGEST_MAX = 64,                   /* bytes */
	ZONEMD_RDATA_MAX = 6 + ZONEMD_DIGEST_MAX, /* bytes of a record with such a digest */
};

/** A ZONEMD record as it should be. */
typedef struct {
	uint32_t ttl; /* seconds: that of the SOA */
	size_t len;
	uint8_t rdata[ZONEMD_RDATA_MAX];
} zonemd_record_t;

/** The record of a version, with its serial. algorithm: ZONEMD_SHA384 or ZONEMD_SHA512. KNOT_EHASH, KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zonemd_make(const zone_contents_t *zone, unsigned algorithm, zonemd_record_t *ret_record);

/** True if `record` is the only ZONEMD record of the zone; NULL: if the zone has none. False without memory, too. */
bool zonemd_is_only(const zone_contents_t *zone, const zonemd_record_t *record);

/**
 * Verify the records (RFC 8976 4): one that can be used must have the digest. KNOT_CONF_ENOTEXIST: there is none.
 * KNOT_ESEMCHECK: two of a scheme and algorithm. KNOT_ENOTSUP: none is for this serial with a scheme and an algorithm
 * that are known. KNOT_EFEWDATA: the digest has another length than the algorithm gives. KNOT_EMALF: it is another
 * digest. KNOT_EHASH, KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zonemd_verify(const zone_contents_t *zone);
