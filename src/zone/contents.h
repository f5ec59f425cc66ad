/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One published, immutable version of a zone: trees over one arena, and facts about the zone as a whole.
 *
 * Trees (tree.h), by owner in canonical order: `auth` (authoritative names, cuts and empty non-terminals), `nsec3`
 * (owners of NSEC3 records), `glue` (names below cuts: zone data that is not answered from). Because glue is kept
 * apart, the deepest node on a walk of `auth` is the cut if there is one, and the walk to a preceding NSEC is bounded.
 * Two more serve commits only: `absent` and `shared`.
 *
 * Links. A node that others refer to (NSEC3 of a name, address targets of NS, MX, SRV …) has a stable number; the
 * version's link table maps it to the node's reference. So a node can be replaced without touching those that refer to
 * it. Readers: any thread within an RCU read section, or holding the zone's load job.
 */
#pragma once

#include "src/zone/arena.h"
#include "src/zone/links.h"
#include "src/zone/node.h"
#include "src/zone/tree.h"

typedef struct {
	uint8_t algorithm; /* 0: the zone has no usable NSEC3PARAM; 1: SHA-1 */
	uint8_t salt_len;
	uint16_t iterations;
	const uint8_t *salt; /* salt_len bytes, in the apex node */
} zone_nsec3_params_t;

/**
 * There may be a million versions of small zones, so a packed version of a zone whose trees but `auth` are empty sets
 * `is_short` and ends before `nsec3`. Read the trees from there on with zone_nsec3_tree() and its like, the parameters
 * with zone_nsec3_params(), and copy a version with zone_contents_copy().
 */
typedef struct zone_contents {
	zone_arena_view_t arena; /* chunks of this version; first, see zone_arena_pack() */
	zone_tree_t auth;
	const zone_node_t *apex;
	zone_links_t links; /* numbers of nodes, see zone_link_get() */
	uint32_t serial;
	uint32_t soa_minimum_ttl; /* min(SOA TTL, SOA MINIMUM), RFC 2308 3: TTL of the SOA in negative answers */
	uint32_t max_ttl;         /* seconds; `zone.max-ttl` */
	bool is_signed;           /* the apex has RRSIGs */
	bool has_nsec;            /* denial by NSEC (the apex has one) */
	bool is_short;
	zone_arena_t *store;     /* owned: what `arena` views */
	uint64_t live_size;      /* bytes of the arena that this version uses */
	uint64_t wire_size;      /* bytes of all records uncompressed; `zone.size` in zone-stats */
	uint64_t record_count;   /* with signatures */
	zone_tree_t nsec3, glue; /* not there if is_short; the same for the next members */
	zone_tree_t absent;      /* names that records refer to and that don't exist */
	zone_tree_t shared;      /* RRsets that nodes share, by hash: see shared.h */
	uint64_t built_size;     /* live_size when the zone was last built from scratch; if is_short that of now */
	/* Only compared: apex of the version whose place this one took with the same records (renew.h); NULL: none */
	const zone_node_t *apex_before;
	zone_nsec3_params_t nsec3_params;
} zone_contents_t;

/** Owners of NSEC3 records. */
static inline const zone_tree_t *zone_nsec3_tree(const zone_contents_t *zone)
{
	static const zone_tree_t none = { .count = 0 };
	return zone->is_short ? &none : &zone->nsec3;
}

/** Names below cuts. */
static inline const zone_tree_t *zone_glue_tree(const zone_contents_t *zone)
{
	static const zone_tree_t none = { .count = 0 };
	return zone->is_short ? &none : &zone->glue;
}

/** Parameters of the NSEC3 chain that answers come from; algorithm 0 if there is none. */
static inline const zone_nsec3_params_t *zone_nsec3_params(const zone_contents_t *zone)
{
	static const zone_nsec3_params_t none = { .algorithm = 0 };
	return zone->is_short ? &none : &zone->nsec3_params;
}

/** Copy the fields of a version, in full length. The arena remains that of `zone`. */
void zone_contents_copy(const zone_contents_t *zone, zone_contents_t *ret_copy);

/** Free a version that no reader has any more. NULL is allowed. */
void zone_contents_free(zone_contents_t *take_zone);

/**
 * Put a small version that was built from scratch into one allocation. It must not be published yet, nor its arena
 * shared. Returns the version: another address, or the same when it is not small or there is no memory.
 */
zone_contents_t *zone_contents_pack(zone_contents_t *take_zone);

/** Names in the zone that records refer to for additional data and that don't exist: nodes without records, which keep
 * the numbers that those records have. */
static inline const zone_tree_t *zone_absent_tree(const zone_contents_t *zone)
{
	static const zone_tree_t none = { .count = 0 };
	return zone->is_short ? &none : &zone->absent;
}

/** RRsets that several nodes share. */
static inline const zone_tree_t *zone_shared_tree(const zone_contents_t *zone)
{
	static const zone_tree_t none = { .count = 0 };
	return zone->is_short ? &none : &zone->shared;
}

/** The node that a link names; NULL: there is none now, or the link is 0. Cost: a dependent load per level of the table
 * and one more. */
const zone_node_t *zone_link_get(const zone_contents_t *zone, zone_link_t link);

/** Steps through every node: auth with glue merged in canonical order, then nsec3. NULL at the end. */
typedef struct {
	zone_tree_iter_t auth, glue, nsec3;
	const zone_node_t *next_auth, *next_glue;
} zone_node_iter_t;
void zone_nodes_begin(const zone_contents_t *zone, zone_node_iter_t *ret_iter);
const zone_node_t *zone_nodes_next(const zone_contents_t *zone, zone_node_iter_t *iter);

/** The node of exactly this name in any of the three trees, or NULL (for zone-read and edits, not for answering). */
const zone_node_t *zone_find_node(const zone_contents_t *zone, knot_name_t owner);
