/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the NSEC3 chain of a version in memory, in order of hashes: which record matches or covers a hash. It is
 * made by one thread; then any may look up in it, and note which records belong to a name. RFC 5155.
 */
#pragma once

#include "src/validate/checker.h"

#include <stdatomic.h>

/** A record of the chain. */
typedef struct {
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	zone_ref_t ref; /* its node */
	bool is_opt_out;
	atomic_bool is_matched; /* a name has this hash */
} validate_link_t;

/** Zero: none. */
typedef struct {
	validate_link_t *links; /* owned: ascending */
	size_t count;
	uint32_t *places; /* owned: where the hashes begin that begin with so much: the first place_bits bits */
	unsigned place_bits;
} validate_chain_t;

/** An NSEC3 record that has the parameters of the zone, or none: rdata.len 0. */
typedef struct {
	knot_bytes_t rdata; /* in scratch */
	unsigned count;     /* there must not be more than one */
	bool is_opt_out;
	uint8_t hash[ZONE_NSEC3_HASH_LEN]; /* of the owner */
} validate_nsec3_t;

enum { VALIDATE_NSEC3_SCRATCH = 2 * KNOT_RDATA_MAX /* bytes: one record is kept while others are read */ };

/** What a node of the tree `nsec3` has. scratch: VALIDATE_NSEC3_SCRATCH bytes. Records with unknown flags (RFC
 * 5155 8.2), other parameters, or an owner that isn't a hash below the apex are none. */
validate_nsec3_t validate_nsec3_of(const zone_contents_t *zone, const zone_node_t *node, uint8_t *scratch);

/** The hash of the next owner. False: it isn't one of SHA-1. */
bool validate_nsec3_next(knot_bytes_t rdata, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN]);

/**
 * Read the chain. *ret_broken: owner of the first record that doesn't lead to the next one, len 0: there is none.
 * KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t validate_chain_read(
		const zone_contents_t *zone, validate_chain_t *ret_chain, knot_name_t *ret_broken);
void validate_chain_done(validate_chain_t *chain);

/** What stands for a hash in the chain. */
typedef struct {
	const zone_node_t *node; /* NULL: the chain is empty */
	bool is_match;           /* it has this hash; else it covers it */
	bool is_opt_out;
} validate_cover_t;

/** Look up in a chain that was read; a match is noted. */
validate_cover_t validate_chain_find(const validate_chain_t *chain, const zone_contents_t *zone,
		const uint8_t hash[static ZONE_NSEC3_HASH_LEN]);

/** Look up in the version itself, for a few hashes. scratch: VALIDATE_NSEC3_SCRATCH bytes. */
validate_cover_t validate_tree_find(
		const zone_contents_t *zone, const uint8_t hash[static ZONE_NSEC3_HASH_LEN], uint8_t *scratch);

/** The record of the chain in front of an owner, or behind it, around the end, too. NULL: there is none. scratch as
 * above. */
const zone_node_t *validate_tree_before(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch);
const zone_node_t *validate_tree_behind(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch);
