/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/compact.h"

#include <assert.h>
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
} compact_t;

zone_wear_t zone_wear(const zone_contents_t *zone)
{
	uint64_t size = zone_arena_size(zone->store), live = zone->live_size;
	return size > live + live / 2 ? ZONE_WORN : size > live + live / 4 ? ZONE_WEARING : ZONE_FRESH;
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

static zone_ref_t copy_node(compact_t *c, const zone_node_t *node)
{
	zone_ref_t ref = copy_bytes(c, node, zone_node_size(node));
	unsigned count = zone_node_rrset_count(node);
	for (unsigned i = 0; ref != 0 && i < count; i++) {
		zone_ref_t from = zone_node_shared_ref(node, i), to = from != 0 ? move_shared(c, from) : 0;
		if (from != 0 && to == 0) {
			return 0;
		}
		if (from != 0) {
			zone_node_set_shared_ref(zone_at(zone_arena_view(c->copy->store), ref), i, to);
		}
	}
	if (ref != 0 && zone_node_self(node) != 0) {
		c->links[zone_node_self(node) - 1] = ref;
	}
	return ref;
}

static knot_err_t copy_nodes(compact_t *c, zone_tree_iter_t *iter, zone_tree_leaf_t *leaves)
{
	const zone_node_t *before = NULL;
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0; leaves++) {
		const zone_node_t *node = zone_at(&c->zone->arena, ref);
		leaves->ref = copy_node(c, node);
		if (leaves->ref == 0) {
			return KNOT_ENOMEM;
		}
		if (before != NULL) {
			leaves->step = zone_tree_step(zone_node_owner(before), zone_node_owner(node));
		}
		before = node;
	}
	return KNOT_OK;
}

static knot_err_t copy_tree(compact_t *c, const zone_tree_t *from, zone_tree_t *ret_to)
{
	zone_tree_leaf_t *leaves = calloc(from->count + (size_t)1, sizeof(*leaves));
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	knot_err_t err = KNOT_ENOMEM;
	if (leaves != NULL && iter != NULL) {
		zone_tree_begin(&c->zone->arena, from, iter);
		err = copy_nodes(c, iter, leaves);
		err = err == KNOT_OK ? zone_tree_build(c->copy->store, leaves, from->count, ret_to) : err;
	}
	free(iter);
	free(leaves);
	return err;
}

static knot_err_t copy_links(compact_t *c)
{
	uint32_t count = c->zone->link_count;
	if (count == 0) {
		return KNOT_OK;
	}
	size_t pages = (count - 1) / ZONE_LINK_PAGE + (size_t)1;
	zone_ref_t *root = malloc(pages * sizeof(*root));
	bool whole = root != NULL;
	for (size_t i = 0; whole && i < pages; i++) {
		size_t left = count - i * ZONE_LINK_PAGE;
		root[i] = copy_bytes(c, c->links + i * ZONE_LINK_PAGE,
				(left < ZONE_LINK_PAGE ? left : ZONE_LINK_PAGE) * sizeof(*c->links));
		whole = root[i] != 0;
	}
	c->copy->link_root = whole ? copy_bytes(c, root, pages * sizeof(*root)) : 0;
	free(root);
	return c->copy->link_root != 0 ? KNOT_OK : KNOT_ENOMEM;
}

/* ---- The version ---- */

static void note_places(const zone_contents_t *zone, zone_contents_t *copy)
{
	zone_arena_seal(copy->store, true);
	copy->arena = *zone_arena_view(copy->store);
	zone_ref_t apex = zone_tree_find(&copy->arena, &copy->auth, zone_node_owner(zone->apex));
	assert(apex != 0); /* the copy has the names of the original */
	copy->apex = zone_at(&copy->arena, apex);
	if (copy->nsec3_params.salt != NULL) {
		copy->nsec3_params.salt =
				(const uint8_t *)copy->apex + (copy->nsec3_params.salt - (const uint8_t *)zone->apex);
	}
}

static knot_err_t compact(compact_t *c)
{
	zone_contents_copy(c->zone, c->copy);
	c->copy->store = zone_arena_new(0);
	c->links = calloc(c->zone->link_count + (size_t)1, sizeof(*c->links));
	if (c->copy->store == NULL || c->links == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = copy_tree(c, &c->zone->auth, &c->copy->auth);
	err = err == KNOT_OK ? copy_tree(c, zone_glue_tree(c->zone), &c->copy->glue) : err;
	err = err == KNOT_OK ? copy_tree(c, zone_nsec3_tree(c->zone), &c->copy->nsec3) : err;
	return err == KNOT_OK ? copy_links(c) : err;
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
	if (err != KNOT_OK) {
		zone_contents_free(c.copy);
		return NULL;
	}
	note_places(zone, c.copy);
	return zone_contents_pack(c.copy);
}
