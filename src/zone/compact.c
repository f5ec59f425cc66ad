/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/compact.h"

#include "src/zone/facts.h"
#include "src/zone/lookup.h"
#include "src/zone/node_build.h"
#include "src/zone/nsec3_hash.h"

#include <stdlib.h>

/* References of shared RRsets: old and new. */
typedef struct {
	zone_ref_t from, to; /* from 0: the slot is free */
} moved_t;

typedef struct {
	const zone_contents_t *zone;
	zone_contents_t *copy;
	moved_t *moved;                /* open hash table */
	size_t moved_count, moved_max; /* moved_max is a power of two */
	zone_ref_t *links;             /* the whole table */
	uint8_t *referred;             /* a bit for each number that additional data refer to */
	uint32_t max_ttl;
} compact_t;

zone_wear_t zone_wear(const zone_contents_t *zone)
{
	uint64_t size = zone_arena_size(zone->store), live = zone->live_size;
	return size > live + live / 8 * 3 ? ZONE_WORN : size > live + live / 4 ? ZONE_WEARING : ZONE_FRESH;
}

/* ---- Shared RRsets ---- */

static moved_t *find_moved(const compact_t *c, zone_ref_t from)
{
	size_t i = (size_t)from * 2654435761u & (c->moved_max - 1);
	while (c->moved[i].from != 0 && c->moved[i].from != from) {
		i = (i + 1) & (c->moved_max - 1);
	}
	return &c->moved[i];
}

static bool grow_moved(compact_t *c)
{
	enum { FIRST = 64 };
	if (c->moved_count < c->moved_max / 2) {
		return true;
	}
	size_t old_max = c->moved_max;
	moved_t *old = c->moved, *grown = calloc(old_max == 0 ? FIRST : 2 * old_max, sizeof(*grown));
	if (grown == NULL) {
		return false;
	}
	c->moved = grown;
	c->moved_max = old_max == 0 ? FIRST : 2 * old_max;
	for (size_t i = 0; i < old_max; i++) {
		if (old[i].from != 0) {
			*find_moved(c, old[i].from) = old[i];
		}
	}
	free(old);
	return true;
}

static zone_ref_t copy_bytes(compact_t *c, const void *bytes, size_t len)
{
	zone_ref_t ref = zone_arena_alloc(c->copy->store, len);
	if (ref != 0) {
		memcpy(zone_at(zone_arena_view(c->copy->store), ref), bytes, len);
	}
	return ref;
}

/* Where a shared RRset is in the copy. 0: out of memory. */
static zone_ref_t move_shared(compact_t *c, zone_ref_t from)
{
	if (!grow_moved(c)) {
		return 0;
	}
	moved_t *moved = find_moved(c, from);
	if (moved->from == 0) {
		const zone_rrset_t *set = zone_at(&c->zone->arena, from);
		zone_ref_t to = copy_bytes(c, set, zone_rrset_size(set));
		if (to == 0) {
			return 0;
		}
		*moved = (moved_t){ from, to };
		c->moved_count++;
	}
	return moved->to;
}

/* ---- Nodes ---- */

/* Note the numbers that an RRset's additional data refer to. */
static void note_referred(compact_t *c, const zone_node_t *node, const zone_rrset_t *set)
{
	if (!(set->flags & ZONE_RRSET_HAS_LINKS)) {
		return;
	}
	zone_extra_iter_t iter = zone_extras_begin(node, set);
	for (zone_extra_t extra; zone_extras_next(&iter, &extra);) {
		if (extra.type == 0) {
			c->referred[(extra.link - 1) / 8] |= (uint8_t)(1 << (extra.link - 1) % 8);
		}
	}
}

static zone_ref_t copy_node(compact_t *c, const zone_node_t *node)
{
	zone_ref_t ref = copy_bytes(c, node, zone_node_size(node));
	unsigned count = zone_node_rrset_count(node);
	for (unsigned i = 0; ref != 0 && i < count; i++) {
		zone_ref_t from = zone_node_shared_ref(node, i), to = from != 0 ? move_shared(c, from) : 0;
		const zone_rrset_t *set = zone_node_rrset_at(&c->zone->arena, node, i);
		if (from != 0 && to == 0) {
			return 0;
		}
		if (from != 0) {
			zone_node_set_shared_ref(zone_at(zone_arena_view(c->copy->store), ref), i, to);
		}
		note_referred(c, node, set);
		c->max_ttl = zone_rrset_ttl(set) > c->max_ttl ? zone_rrset_ttl(set) : c->max_ttl;
	}
	return ref;
}

/* Nodes of the zone's names have numbers. */
static zone_ref_t copy_numbered(compact_t *c, const zone_node_t *node)
{
	zone_ref_t ref = copy_node(c, node);
	if (zone_node_self(node) != 0) {
		c->links[zone_node_self(node) - 1] = ref;
	}
	return ref;
}

/* The hint for a name's hash as it is now. */
static zone_nsec3_hint_t renewed(const zone_contents_t *zone, zone_nsec3_hint_t hint, knot_name_t name)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	if (zone_nsec3_hint_is_right(zone, hint) || !zone_nsec3_hash(zone_nsec3_params(zone), name, hash)) {
		return hint;
	}
	zone_nsec3_t found = zone_nsec3_find(zone, name);
	return (zone_nsec3_hint_t){ zone_node_self(found.node), found.is_match, load_be32(hash) };
}

/* An authoritative name's node: its hints may be out of date. */
static zone_ref_t copy_auth(compact_t *c, const zone_node_t *node)
{
	zone_nsec3_hint_t own = zone_node_nsec3(node), wildcard = zone_node_nsec3_wildcard(node);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	zone_nsec3_hint_t new_own = own.link != 0 ? renewed(c->zone, own, zone_node_owner(node)) : own;
	bool has_wildcard = wildcard.link != 0 && knot_name_wildcard_below(zone_node_owner(node), wire, &name);
	zone_nsec3_hint_t new_wildcard = has_wildcard ? renewed(c->zone, wildcard, name) : wildcard;
	zone_ref_t ref = copy_numbered(c, node);
	bool is_same = own.link == new_own.link && wildcard.link == new_wildcard.link;
	if (ref == 0 || is_same) {
		return ref;
	}
	zone_arena_t *store = c->copy->store;
	zone_ref_t hinted = zone_node_rehint(store, ref, new_own, new_wildcard);
	if (hinted != 0 && zone_node_self(node) != 0) {
		c->links[zone_node_self(node) - 1] = hinted;
	}
	zone_node_drop(store, ref);
	return hinted;
}

/* A name that doesn't exist may have the number of a wildcard's node, which has been copied. */
static zone_ref_t copy_absent(compact_t *c, const zone_node_t *node)
{
	zone_link_t self = zone_node_self(node);
	const zone_node_t *wildcard = zone_link_get(c->zone, self);
	if (wildcard != NULL) {
		c->links[self - 1] = zone_tree_find(
				zone_arena_view(c->copy->store), &c->copy->auth, zone_node_owner(wildcard));
	}
	return copy_node(c, node);
}

/* Nothing refers to the name any more. */
static bool is_forgotten(const compact_t *c, const zone_node_t *node)
{
	zone_link_t self = zone_node_self(node);
	return !(c->referred[(self - 1) / 8] >> (self - 1) % 8 & 1);
}

typedef zone_ref_t (*copy_cb)(compact_t *c, const zone_node_t *node);

/* Returns how many were copied in *ret_count. */
static knot_err_t copy_nodes(
		compact_t *c, zone_tree_iter_t *iter, copy_cb copy, zone_tree_leaf_t *leaves, size_t *ret_count)
{
	const zone_node_t *before = NULL;
	size_t count = 0;
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&c->zone->arena, ref);
		if (copy == copy_absent && is_forgotten(c, node)) {
			continue;
		}
		leaves[count].ref = copy(c, node);
		if (leaves[count].ref == 0) {
			return KNOT_ENOMEM;
		}
		if (before != NULL) {
			leaves[count].step = zone_tree_step(zone_node_owner(before), zone_node_owner(node));
		}
		before = node;
		count++;
	}
	*ret_count = count;
	return KNOT_OK;
}

static knot_err_t copy_tree(compact_t *c, const zone_tree_t *from, copy_cb copy, zone_tree_t *ret_to)
{
	zone_tree_leaf_t *leaves = calloc(from->count + (size_t)1, sizeof(*leaves));
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	knot_err_t err = KNOT_ENOMEM;
	if (leaves != NULL && iter != NULL) {
		zone_tree_begin(&c->zone->arena, from, iter);
		size_t count;
		err = copy_nodes(c, iter, copy, leaves, &count);
		err = err == KNOT_OK ? zone_tree_build(c->copy->store, leaves, count, ret_to) : err;
	}
	free(iter);
	free(leaves);
	return err;
}

/* ---- The version ---- */

static knot_err_t compact(compact_t *c)
{
	size_t link_count = c->zone->links.count;
	zone_contents_copy(c->zone, c->copy);
	c->copy->store = zone_arena_new(0);
	c->links = calloc(link_count + 1, sizeof(*c->links));
	c->referred = calloc(link_count / 8 + 1, 1);
	if (c->copy->store == NULL || c->links == NULL || c->referred == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = copy_tree(c, &c->zone->auth, copy_auth, &c->copy->auth);
	err = err == KNOT_OK ? copy_tree(c, zone_glue_tree(c->zone), copy_numbered, &c->copy->glue) : err;
	err = err == KNOT_OK ? copy_tree(c, zone_nsec3_tree(c->zone), copy_numbered, &c->copy->nsec3) : err;
	uint32_t max_ttl = c->max_ttl;
	err = err == KNOT_OK ? copy_tree(c, zone_absent_tree(c->zone), copy_absent, &c->copy->absent) : err;
	err = err == KNOT_OK ? copy_tree(c, zone_shared_tree(c->zone), copy_node, &c->copy->shared) : err;
	c->copy->max_ttl = max_ttl;
	return err == KNOT_OK ? zone_links_build(c->copy->store, c->links, c->zone->links.count, &c->copy->links) : err;
}

zone_contents_t *zone_compact(const zone_contents_t *zone)
{
	compact_t c = { .zone = zone, .copy = calloc(1, sizeof(*c.copy)) };
	if (c.copy == NULL) {
		return NULL;
	}
	knot_err_t err = compact(&c);
	free(c.moved);
	free(c.links);
	free(c.referred);
	if (err != KNOT_OK) {
		zone_contents_free(c.copy);
		return NULL;
	}
	c.copy->live_size = (uint64_t)zone_arena_live_change(c.copy->store);
	zone_arena_seal(c.copy->store, true);
	zone_facts_note(c.copy,
			zone_tree_find(zone_arena_view(c.copy->store), &c.copy->auth, zone_node_owner(zone->apex)));
	return zone_contents_pack(c.copy);
}
