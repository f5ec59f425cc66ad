/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * An ordered tree of names in a zone arena: a copy-on-write qp-trie over knot_name_key(). Essay: tree.c.
 *
 * Leaves are arena records that begin with a zone_leaf_t, by which the tree finds the record's owner name (lower case);
 * the rest of the record is the user's (zone_node_t, the zone database's entry). Readers need the version's arena view and
 * zone_tree_t, both immutable; no allocation, no lock. Writers work on a zone_arena_t transaction and their own copy of
 * the zone_tree_t; what this transaction allocated is changed in place, everything else is copied.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/zone/arena.h"

/** How every leaf record begins. */
typedef struct {
	uint8_t owner_len;           /* 1–255 */
	uint8_t owner_label_count;
	uint16_t owner_off;          /* bytes from the record's start to the owner's wire form */
} zone_leaf_t;

static inline knot_name_t zone_leaf_owner(const zone_leaf_t *leaf)
{
	return (knot_name_t){ (const uint8_t *)leaf + leaf->owner_off, leaf->owner_len, leaf->owner_label_count };
}

/** 12 bytes; layout: tree.c. */
typedef struct {
	uint32_t low, high;          /* tag, bitmap, key offset */
	zone_ref_t ref;              /* twigs of a branch, record of a leaf */
} zone_tree_node_t;

typedef struct {
	zone_tree_node_t root;       /* meaningless when count is 0 */
	uint32_t count;              /* names */
} zone_tree_t;

/** Reference of the record of exactly this name (any case), or 0. */
zone_ref_t zone_tree_find(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** Reference of the record with the longest name that is `name` (lower case) or above it, or 0. One walk. */
zone_ref_t zone_tree_find_above(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** Reference of the record with the last name in canonical order that is not after `name`, or 0. */
zone_ref_t zone_tree_find_le(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** Reference of the record with the last name of all, or 0. */
zone_ref_t zone_tree_last(const zone_arena_view_t *view, const zone_tree_t *tree);

/** Steps through records in canonical order. A value of 4 KiB, nothing to free. */
typedef struct {
	const zone_arena_view_t *view;
	unsigned depth;
	struct {
		zone_ref_t twigs;
		uint16_t index, count;
	} stack[KNOT_NAME_KEY_MAX + 1];
} zone_tree_iter_t;

void zone_tree_iter_begin(zone_tree_iter_t *iter, const zone_arena_view_t *view, const zone_tree_t *tree);

/** Start at the first name that is not before `name`. */
void zone_tree_iter_begin_at(zone_tree_iter_t *iter, const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** The next record's reference, 0 at the end. */
zone_ref_t zone_tree_iter_next(zone_tree_iter_t *iter);

/* ---- The writer's side ---- */

/**
 * Put the record at `leaf`; one of the same name is replaced (*ret_old, may be NULL, is then its reference, else 0).
 * KNOT_ENOMEM: the tree is as it was, discard the transaction.
 */
KNOT_MUST_USE knot_err_t zone_tree_put(zone_arena_t *arena, zone_tree_t *tree, zone_ref_t leaf, zone_ref_t *ret_old);

/** Remove the record of this name; *ret_old (may be NULL) is its reference, 0 if there was none. KNOT_ENOMEM as above. */
KNOT_MUST_USE knot_err_t zone_tree_remove(zone_arena_t *arena, zone_tree_t *tree, knot_name_t name, zone_ref_t *ret_old);

/** Make a tree of `count` records whose owners are in strictly ascending canonical order. Linear time. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_tree_build(zone_arena_t *arena, const zone_ref_t *leaves, size_t count, zone_tree_t *ret_tree);
