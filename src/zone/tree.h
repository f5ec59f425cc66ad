/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A copy-on-write qp-trie in a zone arena: owner names to arena records, in canonical order.
 *
 * Keys are knot_name_key() strings: their byte order is the canonical order of names (RFC 4034 6.1), and the key of a
 * name is a prefix of the keys of the names below it. A tree is a value, a root reference and a count: a copy of it is
 * a version. A record starts like a zone_node_t, with its owner name at the same place (zone_leaf_owner()). Inserting
 * copies the twig arrays on the path unless this transaction made them (zone_arena_is_mine()); readers of older roots
 * see no change. One writer; any number of readers. Cost of a walk: one dependent load per level, about log48 of the
 * names plus shared prefixes.
 */
#pragma once

#include "src/zone/arena.h"
#include "src/zone/node.h"

/** One trie node: a branch or a leaf. Twigs of a branch are contiguous, in order of their positions. */
typedef struct {
	uint32_t lo, hi; /* word: bit 0 branch; bits 1–48 positions that have a twig; bits 49–63 offset in the key */
	zone_ref_t ref;  /* branch: twig array; leaf: record */
} zone_twig_t;

typedef struct {
	zone_twig_t root;
	uint32_t count; /* records; 0: empty, root is meaningless */
} zone_tree_t;

/** The owner name of a record. */
static inline knot_name_t zone_leaf_owner(const zone_arena_view_t *view, zone_ref_t leaf)
{
	return zone_node_owner(zone_at(view, leaf));
}

/** What a walk finds. */
typedef struct {
	zone_ref_t exact;    /* record of exactly this name, or 0 */
	zone_ref_t encloser; /* record of the deepest name in the tree that is `name` or an ancestor, or 0 */
} zone_tree_match_t;

/** Find a name (any case) by its key. */
zone_tree_match_t zone_tree_match(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name,
		const uint8_t *key, size_t key_len);

enum { ZONE_TREE_WALKS_MAX = 64 };

/** One of many walks. The caller sets and owns all but the marked member and scratch. */
typedef struct {
	const zone_arena_view_t *view;
	const zone_tree_t *tree;
	const uint8_t *key;
	size_t key_len;
	zone_ref_t deepest; /* out: record of the deepest name that may be the key's or an ancestor, not compared yet;
			       0: none */
	const zone_twig_t *twig;
} zone_tree_walk_t;

/**
 * Walk as zone_tree_match() does and bring the records that the walks end at into the cache: all walks take one step at
 * a time and ask for the next node early, so that their cache misses overlap. count <= ZONE_TREE_WALKS_MAX.
 */
void zone_tree_warm(zone_tree_walk_t *walks, size_t count);

/** zone_tree_match() after a walk of the same tree that ended at `deepest`: nearly always one comparison. */
zone_tree_match_t zone_tree_match_walked(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name,
		const uint8_t *key, size_t key_len, zone_ref_t deepest);

/** The record of exactly this name, or 0. */
zone_ref_t zone_tree_find(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** The record with the greatest name that is <= `name` in canonical order, or 0. */
zone_ref_t zone_tree_floor(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** The record with the greatest name that is < `name` in canonical order, or 0. */
zone_ref_t zone_tree_below(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name);

/** The record with the greatest name of all, or 0. */
zone_ref_t zone_tree_last(const zone_arena_view_t *view, const zone_tree_t *tree);

enum { ZONE_TREE_DEPTH_MAX = KNOT_NAME_KEY_MAX + 1 };

/** Steps through the records in canonical order. */
typedef struct {
	const zone_arena_view_t *view;
	unsigned depth;
	struct {
		const zone_twig_t *next;
		const zone_twig_t *end;
	} stack[ZONE_TREE_DEPTH_MAX];
} zone_tree_iter_t;

void zone_tree_begin(const zone_arena_view_t *view, const zone_tree_t *tree, zone_tree_iter_t *ret_iter);

/** Begin at the first record whose name is >= `name` in canonical order. What is below a name comes right behind it. */
void zone_tree_seek(
		const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name, zone_tree_iter_t *ret_iter);

/** The next record, or 0 at the end. */
zone_ref_t zone_tree_next(zone_tree_iter_t *iter);

/**
 * Insert the record `leaf` under its owner, or replace the one that is there (*ret_old: its reference, else 0).
 * KNOT_ENOMEM: the tree is as before.
 */
KNOT_MUST_USE knot_err_t zone_tree_put(zone_arena_t *arena, zone_tree_t *tree, zone_ref_t leaf, zone_ref_t *ret_old);

/** Remove the record of this name. KNOT_ENOENT: there is none. KNOT_ENOMEM: the tree is as before. */
KNOT_MUST_USE knot_err_t zone_tree_remove(zone_arena_t *arena, zone_tree_t *tree, knot_name_t name);

/** How a record's key differs from that of the record before it. */
typedef struct {
	uint16_t offset;      /* first differing position of the keys */
	uint8_t before, here; /* the positions there; KNOT_KEY_END behind the end of a key */
} zone_tree_step_t;

/** The step from a name to one behind it in canonical order. */
zone_tree_step_t zone_tree_step(knot_name_t before, knot_name_t here);

/** A record for a new tree. */
typedef struct {
	zone_ref_t ref;
	zone_tree_step_t step; /* from the record before; the first one's is not used */
} zone_tree_leaf_t;

/**
 * Make a tree of `count` records whose owners are in strictly ascending canonical order, in linear time; twig arrays of
 * a path lie near each other. KNOT_ENOMEM: what was allocated is lost, free the arena.
 */
KNOT_MUST_USE knot_err_t zone_tree_build(
		zone_arena_t *arena, const zone_tree_leaf_t *leaves, size_t count, zone_tree_t *ret_tree);
