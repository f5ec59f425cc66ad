/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the hashes of an NSEC3 chain (RFC 5155) in memory, while a zone is compiled: which NSEC3 matches or covers
 * a hash is found by bisection. One thread.
 */
#pragma once

#include "src/zone/names.h"
#include "src/zone/nsec3_hash.h"

/** Zeroed is empty. */
typedef struct {
	uint8_t (*hashes)[ZONE_NSEC3_HASH_LEN]; /* owned: of the NSEC3 owners, ascending */
	uint32_t *names;                        /* owned, beside hashes: the owners' entries in zone_names_t */
	size_t count;
} zone_nsec3_chain_t;

/**
 * Read the owners of TREE_NSEC3 that aren't compiled yet. *ret_is_usable: false if there are none, or some name isn't a
 * hash: such a chain can't be looked up in, and the zone is served without prepared denials. KNOT_ENOMEM. Call
 * zone_nsec3_chain_done() in any case.
 */
KNOT_MUST_USE knot_err_t zone_nsec3_chain_read(
		zone_nsec3_chain_t *chain, const zone_names_t *names, bool *ret_is_usable);

/** The last entry whose hash is not after `hash`; the last of all, as the chain is a ring, if there is none. The chain
 * isn't empty. */
size_t zone_nsec3_chain_find(const zone_nsec3_chain_t *chain, const uint8_t hash[static ZONE_NSEC3_HASH_LEN]);

void zone_nsec3_chain_done(zone_nsec3_chain_t *chain);
