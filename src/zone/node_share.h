/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: which RRsets of a zone are stored once for many nodes. Part of the node builder, which owns one; one
 * thread.
 *
 * Sharing. Most delegations of a TLD go to few operators of name servers, so thousands of names have RRsets of the same
 * bytes (placeholders are relative to the node that refers to them). RRsets are counted by a hash of their bytes: the
 * first of a kind is part of its node. At the second one a copy of its own goes to the arena, and all later nodes refer
 * to that copy.
 *
 * Remembering. Most shared RRsets are also compiled again and again from the same records. If no target is in the zone,
 * the result doesn't depend on the owner: a suffix that such a target has in common with one owner it has in common
 * with all owners of the zone, and then there would be a pointer to it. So a cache maps the records to the shared copy,
 * and nothing is compiled.
 *
 * Memory: a table of 16 bytes a slot, up to 16 MiB, and 832 KiB for the cache, which small zones never make.
 */
#pragma once

#include "src/zone/node_build.h"

/** An RRset of the node being made. */
typedef struct {
	uint16_t type;
	uint32_t ttl;
	size_t off, len;   /* of the compiled RRset, in the builder's buffer; len 0: it was known to be shared */
	zone_ref_t shared; /* 0: part of the node */
} zone_made_set_t;

enum { ZONE_KNOWN_RDATA_MAX = 80 }; /* bytes of RDATA that can be remembered */

/** A shared RRset of name servers outside of the zone, and the records that it was made from. */
typedef struct {
	uint32_t hash; /* of RDATA and TTL */
	uint32_t ttl;
	zone_ref_t ref;     /* 0: the slot is free */
	uint32_t seen_hash; /* of the shared copy's bytes */
	uint32_t users;     /* found here and not yet counted in `seen` */
	uint8_t rdata_len;
	uint8_t rdata[ZONE_KNOWN_RDATA_MAX]; /* of the RRs in order: names, which show where they end */
} zone_known_set_t;

/** Zeroed is empty. */
typedef struct {
	zone_seen_set_t *seen;       /* open hash table */
	size_t seen_count, seen_max; /* seen_max is a power of two, or 0 */
	zone_known_set_t *known;     /* the cache; NULL: none yet */
	uint32_t known_asked;        /* how often it would have been asked, up to the number from which it is used */
	bool has_key;         /* false: the RRset can't be remembered (too long, the zone's first ones, no memory) */
	zone_known_set_t key; /* of the last zone_node_share_find() */
} zone_node_share_t;

/** Free what it holds. Shared copies are the arena's and stay. */
void zone_node_share_clear(zone_node_share_t *share);

/**
 * Look for the shared copy of an RRset, by its records in canonical order; 0: not known. share->key is then that of the
 * RRset, if share->has_key.
 */
zone_ref_t zone_node_share_find(
		zone_node_share_t *share, const zone_record_t *const *records, size_t count, uint32_t ttl);

/** Remember `ref` as the shared copy of the RRset with the key. May replace another. hash: of the copy's bytes. */
void zone_node_share_remember(zone_node_share_t *share, zone_ref_t ref, uint32_t hash);

enum {
	ZONE_SHARED_LEN_MIN = 32, /* bytes: less is not worth a reference and a cache miss */
	ZONE_SHARED_LEN_MAX = 4096,
	ZONE_SHARE_SLOTS_MAX =
			1 << 20, /* of the table, three quarters of which are filled; what comes then isn't shared */
};

/**
 * True if an RRset is worth counting. Digests and addresses of many names would only fill the table. Inline, because
 * most RRsets of a large zone end here.
 */
static inline bool zone_node_share_may(const zone_made_set_t *made, const uint8_t *bytes)
{
	bool is_unique = made->type == KNOT_TYPE_DS || made->type == KNOT_TYPE_A || made->type == KNOT_TYPE_AAAA;
	return made->len >= ZONE_SHARED_LEN_MIN && made->len <= ZONE_SHARED_LEN_MAX && !is_unique &&
	       !(bytes[0] & (ZONE_RRSET_WIDE | ZONE_RRSET_HAS_SIGS));
}

/** Hash of an RRset's bytes; never 0. */
uint32_t zone_node_share_hash(const uint8_t *bytes, size_t len);

/**
 * Share an RRset for which zone_node_share_may() is true, or not: made->len bytes at `bytes`. Sets made->shared, and
 * makes the shared copy in the arena if it is needed. Out of memory it is not shared.
 */
void zone_node_share_set(zone_node_share_t *share, zone_arena_t *arena, zone_made_set_t *made, const uint8_t *bytes);

/** Step through what is shared: begins with NULL and ends with it. */
const zone_seen_set_t *zone_node_share_next(zone_node_share_t *share, const zone_seen_set_t *after);
