/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: compile one name's records into a zone_node_t in an arena. Layout: doc/formats/zone-node.md.
 *
 * The builder holds scratch memory that is reused from node to node. Facts beyond the name itself (does a target name
 * have addresses, which NSEC3 matches) come from the caller. One builder per thread.
 */
#pragma once

#include "libknot/rr/rdata.h"
#include "src/zone/arena.h"
#include "src/zone/node.h"

/** A record before it is compiled: in temporary memory, chained in the order of the source. */
typedef struct zone_record {
	struct zone_record *next;
	uint32_t ttl;
	uint16_t type;
	uint16_t rdata_len;
	uint8_t rdata[]; /* uncompressed, canonical (RFC 4034 6.2), checked */
} zone_record_t;

/** What the zone has for a target name in RDATA. */
typedef struct {
	const zone_record_t *glue; /* records at or below the owner's cut: A and AAAA are copied; NULL: none */
	const void *glue_id;       /* the same pointer for the same name */
	zone_link_t link;          /* node with addresses elsewhere in the zone; 0: none */
	bool is_outside;           /* the target is not in the zone, so nothing is found for any owner */
} zone_target_t;

/** Find the addresses of `target` for an RRset of `type` of the name being compiled. */
typedef zone_target_t (*zone_target_cb)(knot_name_t target, uint16_t type, void *ctx);

/**
 * The reference of the shared RRset of the same `len` bytes, which gets one more user; 0: there is none. hash: of the
 * bytes.
 */
typedef zone_ref_t (*zone_share_cb)(uint32_t hash, const uint8_t *bytes, size_t len, void *ctx);

typedef struct zone_node_builder zone_node_builder_t;

/** What is known of the RRsets with one hash. */
typedef struct {
	uint32_t hash;  /* 0: the slot is free */
	zone_ref_t ref; /* the shared copy; 0: none yet */
	uint32_t count; /* how often one was seen */
	uint32_t users; /* nodes that refer to the shared copy */
} zone_seen_set_t;

/** NULL: out of memory. */
zone_node_builder_t *zone_node_builder_new(void);
void zone_node_builder_free(zone_node_builder_t *builder);

typedef struct {
	knot_name_t owner;            /* lower case */
	const zone_record_t *records; /* NULL: an empty non-terminal */
	uint16_t flags;               /* ZONE_NODE_* that the records don't show */
	zone_link_t self;
	zone_nsec3_hint_t nsec3, nsec3_wildcard;
	bool is_chain;                    /* of the NSEC3 chain that is answered from: instead of hints it has */
	uint32_t own_prefix, next_prefix; /* the first bits of its own hash and the next */
	zone_target_cb on_target;         /* NULL: no additional data */
	zone_share_cb on_share;           /* NULL: the builder shares what it has seen */
	void *ctx;
} zone_node_params_t;

/** Measures of a compiled node. */
typedef struct {
	uint64_t wire_size; /* bytes of its records, uncompressed */
	uint64_t record_count;
	uint32_t max_ttl;
} zone_node_sums_t;

/**
 * Compile. Duplicate records are dropped, RRs are in canonical order, an RRset's TTL is that of its last record. The
 * node's measures are added to *sums. KNOT_ENOMEM. KNOT_EZONESIZE: over 1 GiB or 65535 RRsets at one name.
 */
KNOT_MUST_USE knot_err_t zone_node_build(zone_node_builder_t *builder, zone_arena_t *arena,
		const zone_node_params_t *params, zone_ref_t *ret_ref, zone_node_sums_t *sums);

/** A node without records. 0: out of memory. flags: ZONE_NODE_FACTS; self: 0 for none. */
zone_ref_t zone_node_bare(zone_arena_t *arena, knot_name_t owner, uint16_t flags, zone_link_t self);

/** What the builder shared: copies with hash and number of users. Ends with NULL, begins with it. */
const zone_seen_set_t *zone_node_shared(zone_node_builder_t *builder, const zone_seen_set_t *after);

/** Give the node at `ref` the number `self` (not 0). Returns `ref` if it has that number already, else the reference of
 * a copy that has it; the caller drops the node. 0: out of memory. */
zone_ref_t zone_node_number(zone_arena_t *arena, zone_ref_t ref, zone_link_t self);

/** A copy of a node of a name, not of the chain, with these hints; the caller drops the node. 0: out of memory. */
zone_ref_t zone_node_rehint(zone_arena_t *arena, zone_ref_t ref, zone_nsec3_hint_t nsec3, zone_nsec3_hint_t wildcard);

/** zone_arena_drop() of a node. */
static inline void zone_node_drop(zone_arena_t *arena, zone_ref_t ref)
{
	zone_arena_drop(arena, ref, zone_node_size(zone_at(zone_arena_view(arena), ref)));
}
