/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a zone says about a name: RFC 1034 4.3.2 step 3, RFC 4592, RFC 6672, and which NSEC or NSEC3 denies it (RFC
 * 4035, RFC 5155).
 *
 * One walk down the `auth` tree finds the deepest existing ancestor-or-self, because empty non-terminals are nodes
 * and names below cuts are not in it. Pure reads of one zone version; any thread in an RCU read section.
 */
#pragma once

#include "src/zone/contents.h"

typedef enum {
	ZONE_FOUND,      /* `node` is the name itself (maybe an empty non-terminal, maybe a cut: see node->flags) */
	ZONE_DELEGATION, /* the name lies below the cut `node` */
	ZONE_DNAME,      /* the name lies below the DNAME owner `node` */
	ZONE_WILDCARD,   /* `node` is "*.<encloser>", the source of synthesis */
	ZONE_NXDOMAIN,   /* no such name; `node` is NULL */
} zone_lookup_kind_t;

typedef struct {
	zone_lookup_kind_t kind;
	const zone_node_t *node;
	const zone_node_t *encloser; /* closest encloser; the node itself for ZONE_FOUND; never NULL */
} zone_lookup_t;

/** Look up `name` (lower case, within the zone). Cost: one tree walk, two when a wildcard exists. */
zone_lookup_t zone_lookup(const zone_contents_t *zone, knot_name_t name);

/** As above with the name's knot_name_key(), for callers that have it already. */
zone_lookup_t zone_lookup_key(const zone_contents_t *zone, knot_name_t name, const uint8_t *key, size_t key_len);

/** As above after a walk of zone->auth that ended at `deepest` (zone_tree_warm()); 0: there was no walk. */
zone_lookup_t zone_lookup_walked(
		const zone_contents_t *zone, knot_name_t name, const uint8_t *key, size_t key_len, zone_ref_t deepest);

/** The name one label longer than `encloser` on the way to `name` (RFC 5155 1.3): a view into `name`. */
knot_name_t zone_next_closer(knot_name_t name, const zone_node_t *encloser);

/** NSEC zones: the node whose NSEC matches or covers `name` (lower case, in the zone); NULL if there is none. */
const zone_node_t *zone_nsec_cover(const zone_contents_t *zone, knot_name_t name);

typedef struct {
	const zone_node_t *node; /* in the nsec3 tree; NULL when the zone has no chain */
	bool is_match;           /* the hash equals the node's; otherwise the node's NSEC3 covers it */
} zone_nsec3_t;

/** NSEC3 zones: hash `name` (lower case) and find the NSEC3 that matches or covers it. Cost: iterations + 1 SHA-1. */
zone_nsec3_t zone_nsec3_find(const zone_contents_t *zone, knot_name_t name);

/** True if the hint of a node still leads to the NSEC3 that matches or covers, so that nothing has to be hashed. */
bool zone_nsec3_hint_is_right(const zone_contents_t *zone, zone_nsec3_hint_t hint);

/** NSEC3 of an auth node's own name, from its hint; hashes if that is out of date. */
zone_nsec3_t zone_nsec3_of(const zone_contents_t *zone, const zone_node_t *node);

/** NSEC3 that covers or matches "*.<owner of node>", as above. */
zone_nsec3_t zone_nsec3_of_wildcard(const zone_contents_t *zone, const zone_node_t *node);
