/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/lookup.h"

#include "libknot/rr/rrtype.h"
#include "src/zone/nsec3_hash.h"

#include <assert.h>

/* The wildcard below a node that has one by its flags; NULL: there is none. */
static const zone_node_t *lookup_find_wildcard(const zone_contents_t *zone, const zone_node_t *encloser)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	if (!knot_name_wildcard_below(zone_node_owner(encloser), wire, &name)) {
		return NULL;
	}
	zone_ref_t ref = zone_tree_find(&zone->arena, &zone->auth, name);
	return ref != 0 ? zone_at(&zone->arena, ref) : NULL;
}

zone_lookup_t zone_lookup(const zone_contents_t *zone, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	return zone_lookup_key(zone, name, key, key_len);
}

static inline zone_lookup_t lookup_of(const zone_contents_t *zone, zone_tree_match_t match)
{
	if (match.exact != 0) {
		const zone_node_t *node = zone_at(&zone->arena, match.exact);
		return (zone_lookup_t){ ZONE_FOUND, node, node };
	}
	assert(match.encloser != 0); /* the apex is in the tree and encloses every name of the zone */
	const zone_node_t *encloser = zone_at(&zone->arena, match.encloser);
	if (encloser->flags & ZONE_NODE_CUT) {
		return (zone_lookup_t){ ZONE_DELEGATION, encloser, encloser };
	}
	if (encloser->flags & ZONE_NODE_DNAME) {
		return (zone_lookup_t){ ZONE_DNAME, encloser, encloser };
	}
	if (encloser->flags & ZONE_NODE_WILDCARD_CHILD) {
		const zone_node_t *wildcard = lookup_find_wildcard(zone, encloser);
		if (wildcard != NULL) {
			return (zone_lookup_t){ ZONE_WILDCARD, wildcard, encloser };
		}
	}
	return (zone_lookup_t){ ZONE_NXDOMAIN, NULL, encloser };
}

zone_lookup_t zone_lookup_key(const zone_contents_t *zone, knot_name_t name, const uint8_t *key, size_t key_len)
{
	return lookup_of(zone, zone_tree_match(&zone->arena, &zone->auth, name, key, key_len));
}

zone_lookup_t zone_lookup_walked(
		const zone_contents_t *zone, knot_name_t name, const uint8_t *key, size_t key_len, zone_ref_t deepest)
{
	return lookup_of(zone, zone_tree_match_walked(&zone->arena, &zone->auth, name, key, key_len, deepest));
}

knot_name_t zone_next_closer(knot_name_t name, const zone_node_t *encloser)
{
	assert(name.label_count > encloser->owner_label_count);
	return knot_name_strip(name, name.label_count - encloser->owner_label_count - 1u);
}

const zone_node_t *zone_nsec_cover(const zone_contents_t *zone, knot_name_t name)
{
	if (!zone->has_nsec) {
		return NULL; /* signed, but no chain yet: 128 steps back wouldn't find one */
	}
	/* Only empty non-terminals have no NSEC: at most one per label lies between a name and the one before it. */
	for (unsigned i = 0; i <= KNOT_LABEL_COUNT_MAX; i++) {
		zone_ref_t ref = i == 0 ? zone_tree_floor(&zone->arena, &zone->auth, name)
					: zone_tree_below(&zone->arena, &zone->auth, name);
		if (ref == 0) {
			return NULL;
		}
		const zone_node_t *node = zone_at(&zone->arena, ref);
		if (zone_node_rrset(&zone->arena, node, KNOT_TYPE_NSEC) != NULL) {
			return node;
		}
		name = zone_node_owner(node);
	}
	return NULL;
}

zone_nsec3_t zone_nsec3_find(const zone_contents_t *zone, knot_name_t name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t hashed;
	if (zone_nsec3_tree(zone)->count == 0 ||
			!zone_nsec3_owner(zone_nsec3_params(zone), name, zone_node_owner(zone->apex), wire, &hashed)) {
		return (zone_nsec3_t){ NULL, false };
	}
	zone_ref_t ref = zone_tree_floor(&zone->arena, zone_nsec3_tree(zone), hashed);
	bool is_match = ref != 0 && knot_name_eq(zone_leaf_owner(&zone->arena, ref), hashed);
	if (ref == 0) {
		ref = zone_tree_last(&zone->arena, zone_nsec3_tree(zone)); /* the chain is a ring */
	}
	return (zone_nsec3_t){ zone_at(&zone->arena, ref), is_match };
}

/* What a hint leads to; node NULL: nothing, or the chain has changed. */
static inline __attribute__((always_inline)) zone_nsec3_t nsec3_by_hint(
		const zone_contents_t *zone, zone_nsec3_hint_t hint)
{
	zone_ref_t ref = zone_links_get(&zone->arena, &zone->links, hint.link);
	const zone_node_t *found = ref != 0 ? zone_at(&zone->arena, ref) : NULL;
	if (found != NULL && !hint.is_match && !zone_nsec3_covers(found, hint.prefix)) {
		found = NULL;
	}
	return (zone_nsec3_t){ found, hint.is_match };
}

bool zone_nsec3_hint_is_right(const zone_contents_t *zone, zone_nsec3_hint_t hint)
{
	return nsec3_by_hint(zone, hint).node != NULL;
}

zone_nsec3_t zone_nsec3_of(const zone_contents_t *zone, const zone_node_t *node)
{
	zone_nsec3_t found = nsec3_by_hint(zone, zone_node_nsec3(node));
	return __builtin_expect(found.node != NULL, true) ? found : zone_nsec3_find(zone, zone_node_owner(node));
}

zone_nsec3_t zone_nsec3_of_wildcard(const zone_contents_t *zone, const zone_node_t *node)
{
	zone_nsec3_t found = nsec3_by_hint(zone, zone_node_nsec3_wildcard(node));
	if (found.node != NULL) {
		return found;
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t wildcard;
	return knot_name_wildcard_below(zone_node_owner(node), wire, &wildcard) ? zone_nsec3_find(zone, wildcard)
										: found;
}
