/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a zone is to be signed with and how: values that the caller makes from policy and keys. Nothing here is read
 * from a clock or a file, so the same plan gives the same zone, but for the random part of some signatures.
 */
#pragma once

#include "libdnssec/key.h"
#include "src/zone/nsec3_hash.h"
#include "src/zone/contents.h"
#include "src/zone/records.h"

/** A key that signs. RFC 4035 2.2. */
typedef struct {
	const dnssec_key_t *key; /* borrowed; its private part is needed once something has to be signed */
	bool signs_keys;         /* DNSKEY, CDS and CDNSKEY of the apex */
	bool signs_zone;         /* everything else */
} sign_key_t;

/** What an apex set of keys is to be. */
typedef struct {
	uint32_t ttl;               /* seconds */
	const knot_bytes_t *rdatas; /* borrowed: records that are to be there */
	size_t rdata_count;
	const knot_bytes_t *gone; /* borrowed: records of ours that are not, for SIGN_MANAGES_INCREMENTAL */
	size_t gone_count;
} sign_key_set_t;

typedef enum {
	SIGN_MANAGES_FULL,        /* the sets are exactly what is planned */
	SIGN_MANAGES_INCREMENTAL, /* records that the plan doesn't know stay */
	SIGN_MANAGES_NONE,        /* the sets stay */
} sign_manages_t;

typedef enum {
	SIGN_CHAIN_NSEC,
	SIGN_CHAIN_NSEC3,
	SIGN_CHAIN_KEPT, /* denial stays as it is */
} sign_chain_t;

typedef struct {
	const sign_key_t *keys; /* borrowed */
	size_t key_count;
	sign_manages_t manages;
	sign_key_set_t dnskey, cds, cdnskey;
	bool has_key_rrsigs; /* signatures of the three sets are given: the key that makes them is elsewhere */
	const knot_bytes_t *key_rrsigs; /* borrowed: RDATA of RRSIGs */
	size_t key_rrsig_count;
	sign_chain_t chain;
	zone_nsec3_params_t nsec3; /* for SIGN_CHAIN_NSEC3: algorithm 1; the salt is borrowed */
	bool is_opt_out;           /* RFC 5155 6 */
	uint64_t now_s;            /* seconds since 1970 */
	uint32_t lifetime_s;       /* of new signatures, from now_s */
	uint32_t refresh_s;        /* signatures that expire within refresh_s + pre_refresh_s are renewed */
	uint32_t pre_refresh_s;
	uint32_t spread_s;      /* new signatures expire up to so much earlier, see sign_expiration(); < lifetime_s */
	uint32_t spread_parts;  /* RRsets of the zone have so many different times for that; 0 and 1: one */
	bool is_reproducible;   /* equal data gives equal signatures */
	bool drops_signatures;  /* no signature is kept */
	bool keeps_expired;     /* expired signatures are as good as others */
	bool trusts_signatures; /* those of the version that a transaction began on were made or verified by us */
	unsigned thread_count;  /* that sign; 0 and 1: the calling one */
} sign_plan_t;

/** How many times a zone's signatures have to expire at: some 16 names share one. A power of two, so that a zone that
 * grows moves few of them. */
static inline uint32_t sign_spread_parts(const zone_contents_t *zone)
{
	enum { NAMES = 16, PARTS_MAX = 1 << 16 };
	uint32_t parts = 1;
	while (parts < PARTS_MAX && (uint64_t)parts * 2 * NAMES <= zone->auth.count) {
		parts *= 2;
	}
	return parts;
}

/**
 * When a new signature of an RRset expires: at the last moment, not behind now + lifetime, that is a multiple of the
 * spread away from a moment of the RRset's own, so 0 to spread_s - 1 seconds before. Renewed `refresh_s` before it
 * expires, each time, it gets nearly the same lifetime again: what was signed at one time is spread at once and stays
 * so, and if the spread is more than half of what is between two renewals, signing is as much in each hour. The moment
 * follows from zone, owner and type, so that two servers that sign a zone agree, and is that of many RRsets.
 */
uint64_t sign_expiration(const sign_plan_t *plan, knot_name_t origin, knot_name_t owner, uint16_t type);

typedef struct {
	bool is_changed;
	uint64_t rrsig_count;           /* new signatures */
	uint64_t earliest_expiration_s; /* of signatures that were made or kept; 0: there are none */
} sign_result_t;

/** What takes the records of a signed zone: by owner in canonical order, those of an NSEC3 chain last; the RRsets of a
 * name by type, each followed by its signatures. */
typedef struct {
	/** rr: of this call. What it returns but KNOT_OK ends the signing. */
	knot_err_t (*put)(void *ctx, const zone_rr_t *rr);
	void *ctx; /* borrowed */
} sign_sink_t;

enum { SIGN_INCEPTION_OFFSET_S = 5400 }; /* signatures begin to be valid so much before they are made: wrong clocks */
