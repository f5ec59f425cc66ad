/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/faults.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"
#include "src/zone/facts.h"
#include "src/zone/node_build.h"
#include "tests/oracle/chain.h"

#include <stdlib.h>

/* ---- Where ---- */

typedef bool (*fault_fits_t)(const zone_contents_t *zone, const zone_node_t *node);

/* One of the nodes that fit, or 0. */
static zone_ref_t fault_choose(const zone_contents_t *zone, const zone_tree_t *tree, fault_fits_t fits, uint64_t random)
{
	static zone_tree_iter_t iter; /* large */
	zone_ref_t chosen = 0;
	unsigned count = 0;
	zone_tree_begin(zone_arena_view(zone->store), tree, &iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
		if (fits(zone, zone_at(zone_arena_view(zone->store), ref)) && random % ++count == 0) {
			chosen = ref;
		}
	}
	return chosen;
}

/* A copy of a node in its place, to be changed. */
static zone_node_t *fault_copy(zone_contents_t *zone, zone_tree_t *tree, zone_ref_t ref)
{
	size_t len = zone_node_size(zone_at(zone_arena_view(zone->store), ref));
	zone_ref_t copy = zone_arena_alloc(zone->store, len), old;
	chain_check(copy != 0, "memory");
	zone_node_t *node = zone_at(zone_arena_view(zone->store), copy);
	memcpy(node, zone_at(zone_arena_view(zone->store), ref), len);
	zone_link_t self = zone_node_self(node);
	bool is_put = zone_tree_put(zone->store, tree, copy, &old) == KNOT_OK &&
		      (self == 0 || zone_links_set(zone->store, &zone->links, self, copy) == KNOT_OK);
	chain_check(is_put, "memory");
	return zone_at(zone_arena_view(zone->store), copy);
}

static zone_node_t *fault_take(zone_contents_t *zone, zone_tree_t *tree, fault_fits_t fits, uint64_t random)
{
	zone_ref_t ref = fault_choose(zone, tree, fits, random);
	return ref != 0 ? fault_copy(zone, tree, ref) : NULL;
}

static bool is_any(const zone_contents_t *zone, const zone_node_t *node)
{
	(void)zone;
	return !(node->flags & ZONE_NODE_APEX);
}

static bool is_empty(const zone_contents_t *zone, const zone_node_t *node)
{
	return is_any(zone, node) && zone_node_rrset_count(node) == 0;
}

static bool is_cut(const zone_contents_t *zone, const zone_node_t *node)
{
	(void)zone;
	return node->flags & ZONE_NODE_CUT;
}

static bool is_above_wildcard(const zone_contents_t *zone, const zone_node_t *node)
{
	(void)zone;
	return (node->flags & ZONE_NODE_WILDCARD_CHILD) && !(node->flags & ZONE_NODE_CUT);
}

static bool has_glue(const zone_contents_t *zone, const zone_node_t *node)
{
	(void)zone;
	return node->flags & ZONE_NODE_HAS_GLUE;
}

/* Not shared: its bytes lie in the node. */
static const zone_rrset_t *own_set(const zone_node_t *node)
{
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		if (zone_node_shared_ref(node, i) == 0) {
			return zone_node_rrset_at(NULL, node, i);
		}
	}
	return NULL;
}

static bool has_own_set(const zone_contents_t *zone, const zone_node_t *node)
{
	return is_any(zone, node) && own_set(node) != NULL;
}

static bool has_hint(const zone_contents_t *zone, const zone_node_t *node)
{
	return is_any(zone, node) && (node->flags & ZONE_NODE_NSEC3_IS_MATCH) && zone_nsec3_tree(zone)->count > 1;
}

static bool is_target(const zone_contents_t *zone, const zone_node_t *node)
{
	return is_any(zone, node) && zone_node_self(node) != 0 &&
	       (zone_node_rrset(zone_arena_view(zone->store), node, KNOT_TYPE_A) != NULL ||
			       zone_node_rrset(zone_arena_view(zone->store), node, KNOT_TYPE_AAAA) != NULL);
}

/* ---- What ---- */

static bool drop_empty(zone_contents_t *zone, uint64_t random)
{
	zone_ref_t ref = fault_choose(zone, &zone->auth, is_empty, random);
	return ref != 0 && zone_tree_remove(zone->store, &zone->auth,
					   zone_leaf_owner(zone_arena_view(zone->store), ref)) == KNOT_OK;
}

static bool flip(zone_contents_t *zone, fault_fits_t fits, unsigned flag, uint64_t random)
{
	zone_node_t *node = fault_take(zone, &zone->auth, fits, random);
	if (node != NULL) {
		node->flags ^= (uint16_t)flag;
	}
	return node != NULL;
}

static bool forget_wildcard(zone_contents_t *zone, uint64_t random)
{
	return flip(zone, is_above_wildcard, ZONE_NODE_WILDCARD_CHILD, random);
}

static bool forget_cut(zone_contents_t *zone, uint64_t random)
{
	return flip(zone, is_cut, ZONE_NODE_CUT, random);
}

static bool forget_children(zone_contents_t *zone, uint64_t random)
{
	return flip(zone, is_any, ZONE_NODE_CHILDREN, random);
}

static bool spoil_glue(zone_contents_t *zone, uint64_t random)
{
	zone_node_t *node = fault_take(zone, &zone->auth, has_glue, random);
	if (node == NULL) {
		return false;
	}
	uint16_t count;
	const uint8_t *glue = zone_node_glue(node, &count);
	((uint8_t *)(uintptr_t)glue)[ZONE_GLUE_ENTRY_LEN + ZONE_RR_RDATA_OFF + 3] ^= 1; /* the first address */
	return true;
}

static bool spoil_ttl(zone_contents_t *zone, zone_tree_t *tree, uint64_t random)
{
	zone_node_t *node = fault_take(zone, tree, has_own_set, random);
	if (node == NULL) {
		return false;
	}
	((uint8_t *)(uintptr_t)zone_rrset_first_rr(own_set(node)))[ZONE_RR_TTL_OFF + 3] ^= 1;
	return true;
}

static bool spoil_record(zone_contents_t *zone, uint64_t random)
{
	return spoil_ttl(zone, &zone->auth, random);
}

static bool spoil_below(zone_contents_t *zone, uint64_t random)
{
	return spoil_ttl(zone, &zone->glue, random);
}

static bool lose_link(zone_contents_t *zone, uint64_t random)
{
	zone_ref_t ref = fault_choose(zone, &zone->auth, is_target, random);
	return ref != 0 && zone_links_set(zone->store, &zone->links,
					   zone_node_self(zone_at(zone_arena_view(zone->store), ref)), 0) == KNOT_OK;
}

/* A link that stays with the node before the last change. */
static bool keep_old_link(zone_contents_t *zone, uint64_t random)
{
	zone_ref_t ref = fault_choose(zone, &zone->auth, is_target, random);
	if (ref == 0) {
		return false;
	}
	const zone_node_t *node = zone_at(zone_arena_view(zone->store), ref);
	zone_ref_t old = zone_node_bare(zone->store, zone_node_owner(node), 0, zone_node_self(node));
	return old != 0 && zone_links_set(zone->store, &zone->links, zone_node_self(node), old) == KNOT_OK;
}

/* A match that is another name's: a hint of a match is believed without hashing. */
static bool mislead_hint(zone_contents_t *zone, uint64_t random)
{
	zone_node_t *node = fault_take(zone, &zone->auth, has_hint, random);
	if (node == NULL) {
		return false;
	}
	static zone_tree_iter_t iter; /* large */
	zone_link_t own = zone_node_nsec3(node).link;
	zone_tree_begin(zone_arena_view(zone->store), &zone->nsec3, &iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
		zone_link_t other = zone_node_self(zone_at(zone_arena_view(zone->store), ref));
		if (other != own) {
			uint8_t *p = (uint8_t *)(uintptr_t)zone_node_links(node);
			p += node->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0;
			memcpy(p, &other, sizeof(other));
			return true;
		}
	}
	return false;
}

/* The next hash of an NSEC3, which a record put behind it should have changed. */
static bool keep_old_interval(zone_contents_t *zone, uint64_t random)
{
	zone_node_t *node = zone->nsec3_params.algorithm != 0 ? fault_take(zone, &zone->nsec3, is_any, random) : NULL;
	if (node == NULL) {
		return false;
	}
	uint8_t *p = (uint8_t *)(uintptr_t)zone_node_links(node);
	p += node->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0;
	p[sizeof(uint32_t)] ^= 1;
	return true;
}

static bool miscount(zone_contents_t *zone, uint64_t random)
{
	zone->wire_size += 1 + random % 2;
	return true;
}

const fault_row_t fault_rows[] = {
	{ "an empty non-terminal is missing", drop_empty, true },
	{ "a name above a wildcard doesn't know of it", forget_wildcard, true },
	{ "a cut isn't one", forget_cut, true },
	{ "whether names lie below is wrong", forget_children, false },
	{ "a copied address is another one", spoil_glue, true },
	{ "a TTL is another one", spoil_record, true },
	{ "a record below a cut is another one", spoil_below, false },
	{ "the number of a target leads nowhere", lose_link, true },
	{ "the number of a target leads to what it was", keep_old_link, true },
	{ "a name matches the NSEC3 of another one", mislead_hint, true },
	{ "an NSEC3 covers what it covered before", keep_old_interval, false },
	{ "the size is miscounted", miscount, false },
};
const size_t fault_row_count = KNOT_LEN(fault_rows);

zone_contents_t *fault_put(const fault_row_t *fault, const zone_contents_t *zone, uint64_t random)
{
	zone_contents_t *forged = calloc(1, sizeof(*forged));
	chain_check(forged != NULL, "memory");
	zone_contents_copy(zone, forged);
	forged->store = zone_arena_fork(zone->store);
	chain_check(forged->store != NULL, "memory");
	bool is_applied = fault->apply(forged, random);
	zone_ref_t apex = zone_tree_find(zone_arena_view(forged->store), &forged->auth, zone_node_owner(zone->apex));
	zone_arena_seal(forged->store, false);
	zone_facts_note(forged, apex);
	if (!is_applied) {
		zone_contents_free(forged);
		forged = NULL;
	}
	return forged;
}
