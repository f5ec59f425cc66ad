/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/tree_diff.h"

#include "src/zone/twig.h"

#include <limits.h>

typedef struct {
	const zone_arena_view_t *views[2];
	zone_tree_diff_cb visit;
	void *ctx;
} tree_diff_t;

/* Subtrees of both sides, before and after; NULL: nothing there. */
typedef struct {
	const zone_twig_t *parts[2];
} pair_t;

/* Where two subtrees part. */
typedef struct {
	unsigned offset;     /* position of the keys at which the higher of them branches; UINT_MAX: both are leaves */
	unsigned belongs[2]; /* the position at which all of a subtree goes that branches further on or not at all */
	bool is_disjoint;    /* no name is in both: they differ in front of `offset` */
	unsigned first;      /* if so, which one comes first in canonical order */
} fork_t;

static bool is_at(const zone_twig_t *part, unsigned offset)
{
	return zone_twig_is_branch(part) && zone_twig_offset(zone_twig_word(part)) == offset;
}

/* The key of a subtree's first leaf. All of its keys are alike up to where it branches. */
static size_t first_key(const zone_arena_view_t *view, const zone_twig_t *part, uint8_t *ret_key)
{
	while (zone_twig_is_branch(part)) {
		part = zone_at(view, part->ref);
	}
	return knot_name_key(zone_leaf_owner(view, part->ref), ret_key);
}

/* Apart from the recursion, whose frames must be small: a tree may be as deep as a key is long. */
__attribute__((noinline)) static fork_t find_fork(const tree_diff_t *d, pair_t pair)
{
	fork_t fork = { .offset = UINT_MAX, .belongs = { KNOT_KEY_POSITIONS, KNOT_KEY_POSITIONS } };
	for (unsigned i = 0; i < 2; i++) {
		const zone_twig_t *part = pair.parts[i];
		if (part != NULL && zone_twig_is_branch(part) && zone_twig_offset(zone_twig_word(part)) < fork.offset) {
			fork.offset = zone_twig_offset(zone_twig_word(part));
		}
	}
	if (pair.parts[0] == NULL || pair.parts[1] == NULL || fork.offset == UINT_MAX) {
		return fork;
	}
	uint8_t keys[2][KNOT_NAME_KEY_MAX];
	size_t lens[2];
	for (unsigned i = 0; i < 2; i++) {
		lens[i] = first_key(d->views[i], pair.parts[i], keys[i]);
		if (!is_at(pair.parts[i], fork.offset)) {
			fork.belongs[i] = zone_key_position(keys[i], lens[i], fork.offset);
		}
	}
	int differ = zone_key_difference(keys[0], lens[0], keys[1], lens[1]);
	if (differ >= 0 && (unsigned)differ < fork.offset) {
		fork.is_disjoint = true;
		fork.first = zone_key_position(keys[0], lens[0], (unsigned)differ) >
			     zone_key_position(keys[1], lens[1], (unsigned)differ);
	}
	return fork;
}

/* A side's part at one position of the fork. */
static const zone_twig_t *part_at(const zone_arena_view_t *view, const zone_twig_t *part, const fork_t *fork,
		unsigned i, unsigned position)
{
	if (part == NULL || !is_at(part, fork->offset)) {
		return fork->belongs[i] == position ? part : NULL;
	}
	uint64_t word = zone_twig_word(part);
	const zone_twig_t *twigs = zone_at(view, part->ref);
	return word & zone_twig_bit(position) ? &twigs[zone_twig_index(word, zone_twig_bit(position))] : NULL;
}

static bool diff_leaves(const tree_diff_t *d, pair_t pair)
{
	const zone_twig_t *before = pair.parts[0], *after = pair.parts[1];
	if (before == NULL || after == NULL) {
		return d->visit(before != NULL ? before->ref : 0, after != NULL ? after->ref : 0, d->ctx);
	}
	int order = knot_name_cmp(zone_leaf_owner(d->views[0], before->ref), zone_leaf_owner(d->views[1], after->ref));
	if (order == 0) {
		return d->visit(before->ref, after->ref, d->ctx);
	}
	return order < 0 ? d->visit(before->ref, 0, d->ctx) && d->visit(0, after->ref, d->ctx)
			 : d->visit(0, after->ref, d->ctx) && d->visit(before->ref, 0, d->ctx);
}

/* Both subtrees are the same memory. The same reference may lead to different memory in versions of other zones. */
static bool is_shared(const tree_diff_t *d, pair_t pair)
{
	const zone_twig_t *before = pair.parts[0], *after = pair.parts[1];
	return before != NULL && after != NULL && before->lo == after->lo && before->hi == after->hi &&
	       zone_at(d->views[0], before->ref) == zone_at(d->views[1], after->ref);
}

static bool diff_parts(const tree_diff_t *d, pair_t pair)
{
	if (is_shared(d, pair) || (pair.parts[0] == NULL && pair.parts[1] == NULL)) {
		return true;
	}
	fork_t fork = find_fork(d, pair);
	if (fork.offset == UINT_MAX) {
		return diff_leaves(d, pair);
	}
	if (fork.is_disjoint) {
		pair_t alone[2] = { { { pair.parts[0], NULL } }, { { NULL, pair.parts[1] } } };
		return diff_parts(d, alone[fork.first]) && diff_parts(d, alone[1 - fork.first]);
	}
	for (unsigned position = 0; position < KNOT_KEY_POSITIONS; position++) {
		pair_t below = { { part_at(d->views[0], pair.parts[0], &fork, 0, position),
				part_at(d->views[1], pair.parts[1], &fork, 1, position) } };
		if (!diff_parts(d, below)) {
			return false;
		}
	}
	return true;
}

bool zone_tree_diff(zone_tree_side_t before, zone_tree_side_t after, zone_tree_diff_cb visit, void *ctx)
{
	const tree_diff_t d = { .views = { before.view, after.view }, .visit = visit, .ctx = ctx };
	pair_t all = { { before.tree->count > 0 ? &before.tree->root : NULL,
			after.tree->count > 0 ? &after.tree->root : NULL } };
	return diff_parts(&d, all);
}
