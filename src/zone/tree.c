/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A binary radix tree over 48-way positions, popcount-compressed (a qp-trie). Alternatives weighed: a hash table has no
 * order, no closest encloser and no predecessor; a B-tree compares whole names at each level; an ART needs four node
 * layouts and more memory per name. Here a branch costs 12 bytes in its parent's array, an array only holds twigs that
 * exist, and a name costs 12 bytes plus its share of branches (about 16 bytes per name in a TLD).
 *
 * A branch skips what all keys below it share, so a walk reads positions only where keys differ, and may go astray. So
 * the name is compared with the leaf that the walk ends at.
 */
#include "src/zone/twig.h"

#include "libknot/base/assert.h"

#include <limits.h>
#include <stdlib.h>

/*
 * Counting bits is most of a walk's work, and x86-64 has an instruction for it only since its second version. Without
 * -mpopcnt the built-in is a call into libgcc, so walks that answer queries are compiled for both (WALK_VARIANTS), and
 * the rest counts in plain C. Other CPUs just count. (bench_answer: a referral takes 4 % fewer instructions.)
 */
#if defined(__x86_64__) && !defined(__POPCNT__)
#define WALK_VARIANTS 1
#else
#define WALK_VARIANTS 0
#endif

typedef enum { POPCOUNT_PLAIN, POPCOUNT_INSTRUCTION } popcount_t;

static inline __attribute__((always_inline)) unsigned popcount_with(popcount_t how, uint64_t v)
{
	if (how == POPCOUNT_INSTRUCTION || !WALK_VARIANTS) {
		return (unsigned)__builtin_popcountll(v);
	}
	v -= v >> 1 & 0x5555555555555555u;
	v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
	v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
	return (unsigned)(v * 0x0101010101010101u >> 56);
}

static inline unsigned twig_count(uint64_t word)
{
	return popcount_with(POPCOUNT_PLAIN, word & ZONE_TWIG_POSITIONS);
}

/* Number of twigs before the one at `bit`. */
static inline __attribute__((always_inline)) unsigned twig_index_with(popcount_t how, uint64_t word, uint64_t bit)
{
	return popcount_with(how, word & ZONE_TWIG_POSITIONS & (bit - 1));
}

static inline unsigned twig_index(uint64_t word, uint64_t bit)
{
	return twig_index_with(POPCOUNT_PLAIN, word, bit);
}

/* The leaf that a key's walk ends at: the one that shares most with it, if any shares more than the others. */
static zone_ref_t nearest_leaf(
		const zone_arena_view_t *view, const zone_tree_t *tree, const uint8_t *key, size_t key_len)
{
	const zone_twig_t *twig = &tree->root;
	while (zone_twig_is_branch(twig)) {
		uint64_t word = zone_twig_word(twig);
		uint64_t bit = zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word)));
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		twig = word & bit ? &twigs[twig_index(word, bit)] : twigs;
	}
	return twig->ref;
}

static zone_ref_t last_leaf(const zone_arena_view_t *view, const zone_twig_t *twig)
{
	while (zone_twig_is_branch(twig)) {
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		twig = &twigs[twig_count(zone_twig_word(twig)) - 1];
	}
	return twig->ref;
}

/* True if an ancestor of the name may have a key of `offset` positions. */
static inline bool is_label_end(const uint8_t *key, size_t key_len, unsigned offset)
{
	return offset < key_len && (offset == 0 || key[offset - 1] == KNOT_KEY_END);
}

/*
 * Candidates for "the name or above it" are leaves only: the one that the walk ends at, and those that stand at
 * position END of a branch whose offset is a label's end in our key: an ancestor's key ends there. A walk that went
 * astray passes false ones, so each candidate is compared with the name, the deepest first; nearly always the first is
 * right.
 *
 * None is missed: the walk of an ancestor P is our walk as long as branch offsets are below the length of P's key; a
 * branch at that length holds P alone at END (an empty label doesn't exist), a longer one above P's leaf can't exist.
 */
static inline __attribute__((always_inline)) zone_tree_match_t match_with(popcount_t how, const zone_arena_view_t *view,
		const zone_tree_t *tree, knot_name_t name, const uint8_t *key, size_t key_len)
{
	if (tree->count == 0) {
		return (zone_tree_match_t){ 0, 0 };
	}
	zone_ref_t candidates[KNOT_LABEL_COUNT_MAX + 2];
	unsigned count = 0;

	const zone_twig_t *twig = &tree->root;
	while (zone_twig_is_branch(twig)) {
		uint64_t word = zone_twig_word(twig);
		unsigned offset = zone_twig_offset(word);
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		if ((word & zone_twig_bit(KNOT_KEY_END)) && is_label_end(key, key_len, offset) &&
				!zone_twig_is_branch(&twigs[0])) {
			candidates[count++] = twigs[0].ref;
		}
		uint64_t bit = zone_twig_bit(zone_key_position(key, key_len, offset));
		if (!(word & bit)) {
			twig = NULL;
			break;
		}
		twig = &twigs[twig_index_with(how, word, bit)];
	}
	if (twig != NULL) {
		candidates[count++] = twig->ref;
	}
	while (count > 0) {
		zone_ref_t leaf = candidates[--count];
		knot_name_t owner = zone_leaf_owner(view, leaf);
		if (knot_name_in(name, owner)) {
			return (zone_tree_match_t){ owner.label_count == name.label_count ? leaf : 0, leaf };
		}
	}
	return (zone_tree_match_t){ 0, 0 };
}

#if WALK_VARIANTS
__attribute__((target("popcnt"))) static zone_tree_match_t match_popcnt(const zone_arena_view_t *view,
		const zone_tree_t *tree, knot_name_t name, const uint8_t *key, size_t key_len)
{
	return match_with(POPCOUNT_INSTRUCTION, view, tree, name, key, key_len);
}
#endif

/* Not inlined into the choice: it would save registers even if this isn't called. */
__attribute__((noinline)) static zone_tree_match_t match_plain(const zone_arena_view_t *view, const zone_tree_t *tree,
		knot_name_t name, const uint8_t *key, size_t key_len)
{
	return match_with(POPCOUNT_PLAIN, view, tree, name, key, key_len);
}

zone_tree_match_t zone_tree_match(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name,
		const uint8_t *key, size_t key_len)
{
#if WALK_VARIANTS
	if (__builtin_cpu_supports("popcnt")) {
		return match_popcnt(view, tree, name, key, key_len);
	}
#endif
	return match_plain(view, tree, name, key, key_len);
}

/* Prefetch the record's head and the blocks that follow it, which an answer copies. */
static inline __attribute__((always_inline)) void prefetch_record(const void *record)
{
	enum { LINE = 64, LINES = 2 };
	for (size_t i = 0; i < LINES; i++) {
		__builtin_prefetch((const char *)record + i * LINE);
	}
}

/* One step, see match_with(); false when the walk has ended. */
static inline __attribute__((always_inline)) bool warm_step(popcount_t how, zone_tree_walk_t *walk)
{
	const zone_twig_t *twig = walk->twig;
	if (!zone_twig_is_branch(twig)) {
		walk->deepest = twig->ref;
		return false;
	}
	uint64_t word = zone_twig_word(twig);
	unsigned offset = zone_twig_offset(word);
	const zone_twig_t *twigs = zone_at(walk->view, twig->ref);
	if ((word & zone_twig_bit(KNOT_KEY_END)) && is_label_end(walk->key, walk->key_len, offset) &&
			!zone_twig_is_branch(&twigs[0])) {
		walk->deepest = twigs[0].ref;
	}
	uint64_t bit = zone_twig_bit(zone_key_position(walk->key, walk->key_len, offset));
	if (!(word & bit)) {
		return false;
	}
	walk->twig = &twigs[twig_index_with(how, word, bit)];
	__builtin_prefetch(walk->twig);
	return true;
}

static inline __attribute__((always_inline)) void warm_with(popcount_t how, zone_tree_walk_t **walks, size_t active)
{
	while (active > 0) {
		for (size_t i = 0; i < active;) {
			zone_tree_walk_t *walk = walks[i];
			if (warm_step(how, walk)) {
				i++;
				continue;
			}
			if (walk->deepest != 0) {
				prefetch_record(zone_at(walk->view, walk->deepest));
			}
			walks[i] = walks[--active];
		}
	}
}

#if WALK_VARIANTS
__attribute__((target("popcnt"))) static void warm_popcnt(zone_tree_walk_t **walks, size_t active)
{
	warm_with(POPCOUNT_INSTRUCTION, walks, active);
}
#endif

void zone_tree_warm(zone_tree_walk_t *walks, size_t count)
{
	assert(count <= ZONE_TREE_WALKS_MAX);
	zone_tree_walk_t *order[ZONE_TREE_WALKS_MAX];
	size_t active = 0;
	for (size_t i = 0; i < count; i++) {
		walks[i].deepest = 0;
		walks[i].twig = &walks[i].tree->root;
		order[active] = &walks[i];
		active += walks[i].tree->count > 0;
	}
#if WALK_VARIANTS
	if (__builtin_cpu_supports("popcnt")) {
		warm_popcnt(order, active);
		return;
	}
#endif
	warm_with(POPCOUNT_PLAIN, order, active);
}

zone_tree_match_t zone_tree_match_walked(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name,
		const uint8_t *key, size_t key_len, zone_ref_t deepest)
{
	if (deepest != 0) {
		knot_name_t owner = zone_leaf_owner(view, deepest);
		if (knot_name_in(name, owner)) {
			return (zone_tree_match_t){ owner.label_count == name.label_count ? deepest : 0, deepest };
		}
	}
	return zone_tree_match(view, tree, name, key, key_len);
}

zone_ref_t zone_tree_find(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name)
{
	if (tree->count == 0) {
		return 0;
	}
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	zone_ref_t leaf = nearest_leaf(view, tree, key, key_len);
	return knot_name_eq(zone_leaf_owner(view, leaf), name) ? leaf : 0;
}

/* The greatest record before `name`, or the record of `name` itself when `or_equal`. */
static zone_ref_t preceding(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name, bool or_equal)
{
	if (tree->count == 0) {
		return 0;
	}
	uint8_t key[KNOT_NAME_KEY_MAX], near_key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	zone_ref_t near = nearest_leaf(view, tree, key, key_len);
	size_t near_len = knot_name_key(zone_leaf_owner(view, near), near_key);
	int differ = zone_key_difference(key, key_len, near_key, near_len);
	if (differ < 0 && or_equal) {
		return near;
	}
	unsigned limit = differ < 0 ? UINT_MAX : (unsigned)differ;

	const zone_twig_t *twig = &tree->root;
	const zone_twig_t *before = NULL; /* greatest subtree known to sort before the name */
	while (zone_twig_is_branch(twig) && zone_twig_offset(zone_twig_word(twig)) < limit) {
		uint64_t word = zone_twig_word(twig);
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		unsigned i = twig_index(word, zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word))));
		before = i > 0 ? &twigs[i - 1] : before;
		twig = &twigs[i];
	}
	if (differ >= 0) {
		unsigned wanted = zone_key_position(key, key_len, limit);
		if (zone_twig_is_branch(twig) && zone_twig_offset(zone_twig_word(twig)) == limit) {
			unsigned i = twig_index(zone_twig_word(twig), zone_twig_bit(wanted));
			const zone_twig_t *twigs = zone_at(view, twig->ref);
			before = i > 0 ? &twigs[i - 1] : before;
		} else if (zone_key_position(near_key, near_len, limit) < wanted) {
			before = twig;
		}
	}
	return before != NULL ? last_leaf(view, before) : 0;
}

zone_ref_t zone_tree_floor(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name)
{
	return preceding(view, tree, name, true);
}

zone_ref_t zone_tree_below(const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name)
{
	return preceding(view, tree, name, false);
}

zone_ref_t zone_tree_last(const zone_arena_view_t *view, const zone_tree_t *tree)
{
	return tree->count > 0 ? last_leaf(view, &tree->root) : 0;
}

void zone_tree_begin(const zone_arena_view_t *view, const zone_tree_t *tree, zone_tree_iter_t *ret_iter)
{
	ret_iter->view = view;
	ret_iter->depth = tree->count > 0 ? 1 : 0;
	ret_iter->stack[0].next = &tree->root;
	ret_iter->stack[0].end = &tree->root + 1;
}

/* What is left to step through of an array of twigs. */
static void tree_push_rest(zone_tree_iter_t *iter, const zone_twig_t *next, const zone_twig_t *end)
{
	assert(iter->depth < ZONE_TREE_DEPTH_MAX);
	iter->stack[iter->depth].next = next;
	iter->stack[iter->depth].end = end;
	iter->depth++;
}

void zone_tree_seek(
		const zone_arena_view_t *view, const zone_tree_t *tree, knot_name_t name, zone_tree_iter_t *ret_iter)
{
	zone_tree_begin(view, tree, ret_iter);
	if (tree->count == 0) {
		return;
	}
	uint8_t key[KNOT_NAME_KEY_MAX], near_key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	size_t near_len = knot_name_key(zone_leaf_owner(view, nearest_leaf(view, tree, key, key_len)), near_key);
	int differ = zone_key_difference(key, key_len, near_key, near_len);
	unsigned limit = differ < 0 ? UINT_MAX : (unsigned)differ;
	const zone_twig_t *twig = &tree->root;
	ret_iter->depth = 0;
	while (zone_twig_is_branch(twig) && zone_twig_offset(zone_twig_word(twig)) < limit) {
		uint64_t word = zone_twig_word(twig);
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		unsigned i = twig_index(word, zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word))));
		tree_push_rest(ret_iter, twigs + i + 1, twigs + twig_count(word));
		twig = &twigs[i];
	}
	/* All keys below `twig` are like the near one up to the limit. */
	unsigned wanted = differ < 0 ? 0 : zone_key_position(key, key_len, limit);
	if (differ >= 0 && zone_twig_is_branch(twig) && zone_twig_offset(zone_twig_word(twig)) == limit) {
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		tree_push_rest(ret_iter, twigs + twig_index(zone_twig_word(twig), zone_twig_bit(wanted)),
				twigs + twig_count(zone_twig_word(twig)));
	} else if (differ < 0 || zone_key_position(near_key, near_len, limit) > wanted) {
		tree_push_rest(ret_iter, twig, twig + 1);
	}
}

zone_ref_t zone_tree_next(zone_tree_iter_t *iter)
{
	while (iter->depth > 0) {
		if (iter->stack[iter->depth - 1].next == iter->stack[iter->depth - 1].end) {
			iter->depth--;
			continue;
		}
		const zone_twig_t *twig = iter->stack[iter->depth - 1].next++;
		if (!zone_twig_is_branch(twig)) {
			return twig->ref;
		}
		const zone_twig_t *twigs = zone_at(iter->view, twig->ref);
		tree_push_rest(iter, twigs, twigs + twig_count(zone_twig_word(twig)));
	}
	return 0;
}

/* Make the twig array of a branch this transaction's own. NULL: out of memory. */
static zone_twig_t *own_twigs(zone_arena_t *arena, zone_twig_t *branch)
{
	if (!zone_arena_is_mine(arena, branch->ref)) {
		size_t len = twig_count(zone_twig_word(branch)) * sizeof(zone_twig_t);
		zone_ref_t copy = zone_arena_alloc(arena, len);
		if (copy == 0) {
			return NULL;
		}
		const zone_arena_view_t *view = zone_arena_view(arena);
		memcpy(zone_at(view, copy), zone_at(view, branch->ref), len);
		zone_arena_drop(arena, branch->ref, len);
		branch->ref = copy;
	}
	return zone_at(zone_arena_view(arena), branch->ref);
}

/* Replace a branch's array by one with `twig` added at `position`. */
static knot_err_t add_twig(zone_arena_t *arena, zone_twig_t *branch, unsigned position, zone_twig_t twig)
{
	uint64_t word = zone_twig_word(branch);
	unsigned count = twig_count(word);
	zone_ref_t grown = zone_arena_alloc(arena, (count + 1) * sizeof(zone_twig_t));
	if (grown == 0) {
		return KNOT_ENOMEM;
	}
	const zone_arena_view_t *view = zone_arena_view(arena);
	const zone_twig_t *from = zone_at(view, branch->ref);
	zone_twig_t *to = zone_at(view, grown);
	unsigned i = twig_index(word, zone_twig_bit(position));
	memcpy(to, from, i * sizeof(*to));
	to[i] = twig;
	memcpy(to + i + 1, from + i, (count - i) * sizeof(*to));
	zone_arena_drop(arena, branch->ref, count * sizeof(*to));
	*branch = zone_twig_branch(
			(word & ZONE_TWIG_POSITIONS) | zone_twig_bit(position), zone_twig_offset(word), grown);
	return KNOT_OK;
}

/* Put a new branch of two twigs in the place of `twig`. */
static knot_err_t split_twig(zone_arena_t *arena, zone_twig_t *twig, unsigned offset, unsigned old_position,
		unsigned new_position, zone_ref_t leaf)
{
	zone_ref_t pair = zone_arena_alloc(arena, 2 * sizeof(zone_twig_t));
	if (pair == 0) {
		return KNOT_ENOMEM;
	}
	zone_twig_t *twigs = zone_at(zone_arena_view(arena), pair);
	bool new_first = new_position < old_position;
	twigs[new_first] = *twig;
	twigs[!new_first] = zone_twig_leaf(leaf);
	*twig = zone_twig_branch(zone_twig_bit(old_position) | zone_twig_bit(new_position), offset, pair);
	return KNOT_OK;
}

knot_err_t zone_tree_put(zone_arena_t *arena, zone_tree_t *tree, zone_ref_t leaf, zone_ref_t *ret_old)
{
	assert(leaf != 0);
	const zone_arena_view_t *view = zone_arena_view(arena);
	if (tree->count == 0) {
		tree->root = zone_twig_leaf(leaf);
		tree->count = 1;
		*ret_old = 0;
		return KNOT_OK;
	}
	uint8_t key[KNOT_NAME_KEY_MAX], near_key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(zone_leaf_owner(view, leaf), key);
	zone_ref_t near = nearest_leaf(view, tree, key, key_len);
	size_t near_len = knot_name_key(zone_leaf_owner(view, near), near_key);
	int differ = zone_key_difference(key, key_len, near_key, near_len);

	zone_twig_t *twig = &tree->root;
	while (zone_twig_is_branch(twig) && (differ < 0 || zone_twig_offset(zone_twig_word(twig)) < (unsigned)differ)) {
		zone_twig_t *twigs = own_twigs(arena, twig);
		if (twigs == NULL) {
			return KNOT_ENOMEM;
		}
		uint64_t word = zone_twig_word(twig);
		twig = &twigs[twig_index(word, zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word))))];
	}
	if (differ < 0) {
		*ret_old = twig->ref;
		twig->ref = leaf;
		return KNOT_OK;
	}
	unsigned offset = (unsigned)differ;
	unsigned position = zone_key_position(key, key_len, offset);
	knot_err_t err;
	if (zone_twig_is_branch(twig) && zone_twig_offset(zone_twig_word(twig)) == offset) {
		err = add_twig(arena, twig, position, zone_twig_leaf(leaf));
	} else {
		err = split_twig(arena, twig, offset, zone_key_position(near_key, near_len, offset), position, leaf);
	}
	if (err == KNOT_OK) {
		tree->count++;
		*ret_old = 0;
	}
	return err;
}

knot_err_t zone_tree_remove(zone_arena_t *arena, zone_tree_t *tree, knot_name_t name)
{
	if (zone_tree_find(zone_arena_view(arena), tree, name) == 0) {
		return KNOT_ENOENT;
	}
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	zone_twig_t *parent = NULL;
	zone_twig_t *twig = &tree->root;
	unsigned at = 0;
	while (zone_twig_is_branch(twig)) {
		zone_twig_t *twigs = own_twigs(arena, twig);
		if (twigs == NULL) {
			return KNOT_ENOMEM;
		}
		uint64_t word = zone_twig_word(twig);
		at = twig_index(word, zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word))));
		parent = twig;
		twig = &twigs[at];
	}
	assert(tree->count > 0);
	tree->count--;
	if (parent == NULL) {
		return KNOT_OK;
	}
	uint64_t word = zone_twig_word(parent);
	unsigned count = twig_count(word);
	zone_twig_t *twigs = zone_at(zone_arena_view(arena), parent->ref);
	if (count == 2) {
		zone_ref_t pair = parent->ref;
		*parent = twigs[1 - at]; /* a branch with one twig is replaced by that twig */
		zone_arena_drop(arena, pair, 2 * sizeof(*twigs));
		return KNOT_OK;
	}
	zone_arena_shrink(arena, parent->ref, count * sizeof(*twigs), (count - 1) * sizeof(*twigs));
	memmove(twigs + at, twigs + at + 1, (count - at - 1) * sizeof(*twigs));
	uint64_t bit = zone_twig_bit(zone_key_position(key, key_len, zone_twig_offset(word)));
	*parent = zone_twig_branch((word & ZONE_TWIG_POSITIONS) & ~bit, zone_twig_offset(word), parent->ref);
	return KNOT_OK;
}

/* ---- Building from sorted records ---- */

typedef struct {
	zone_arena_t *arena;
	const zone_tree_leaf_t *leaves;
} build_t;

zone_tree_step_t zone_tree_step(knot_name_t before, knot_name_t here)
{
	uint8_t keys[2][KNOT_NAME_KEY_MAX];
	size_t lens[2] = { knot_name_key(before, keys[0]), knot_name_key(here, keys[1]) };
	int differ = zone_key_difference(keys[0], lens[0], keys[1], lens[1]);
	assert(differ >= 0);
	return (zone_tree_step_t){ (uint16_t)differ, (uint8_t)zone_key_position(keys[0], lens[0], (unsigned)differ),
		(uint8_t)zone_key_position(keys[1], lens[1], (unsigned)differ) };
}

/*
 * The subtree of leaves [first..end), two or more: it branches at the smallest offset at which neighbours differ, and
 * its twigs begin where they do. Depth is bounded by the key length; each level reads its range once.
 */
static bool build_range(const build_t *b, size_t first, size_t end, zone_twig_t *ret_twig)
{
	if (end - first == 1) {
		*ret_twig = zone_twig_leaf(b->leaves[first].ref);
		return true;
	}
	unsigned offset = UINT_MAX;
	for (size_t i = first + 1; i < end; i++) {
		offset = b->leaves[i].step.offset < offset ? b->leaves[i].step.offset : offset;
	}
	size_t begins[KNOT_KEY_POSITIONS + 1] = { first };
	uint64_t positions = 0;
	unsigned count = 1;
	for (size_t i = first + 1; i < end; i++) {
		if (b->leaves[i].step.offset == offset) {
			positions |= zone_twig_bit(b->leaves[i].step.before) | zone_twig_bit(b->leaves[i].step.here);
			begins[count++] = i;
		}
	}
	begins[count] = end;
	zone_ref_t twigs = zone_arena_alloc(b->arena, count * sizeof(zone_twig_t));
	if (twigs == 0) {
		return false;
	}
	for (unsigned i = 0; i < count; i++) {
		zone_twig_t twig;
		if (!build_range(b, begins[i], begins[i + 1], &twig)) {
			return false;
		}
		((zone_twig_t *)zone_at(zone_arena_view(b->arena), twigs))[i] = twig;
	}
	*ret_twig = zone_twig_branch(positions, offset, twigs);
	return true;
}

/* Invariant: a walk finds as many records as the tree counts, in ascending order. */
static bool tree_is_ordered(const zone_arena_view_t *view, const zone_tree_t *tree)
{
	zone_tree_iter_t iter;
	zone_tree_begin(view, tree, &iter);
	uint32_t count = 0;
	for (zone_ref_t ref, before = 0; (ref = zone_tree_next(&iter)) != 0; before = ref, count++) {
		if (before != 0 && knot_name_cmp(zone_leaf_owner(view, before), zone_leaf_owner(view, ref)) >= 0) {
			return false;
		}
	}
	return count == tree->count;
}

knot_err_t zone_tree_build(zone_arena_t *arena, const zone_tree_leaf_t *leaves, size_t count, zone_tree_t *ret_tree)
{
	zone_tree_t tree = { .count = (uint32_t)count };
	build_t b = { arena, leaves };
	assert(count <= UINT32_MAX);
	if (count > 0 && !build_range(&b, 0, count, &tree.root)) {
		return KNOT_ENOMEM;
	}
	KNOT_ASSERT_SLOW(tree_is_ordered(zone_arena_view(arena), &tree));
	*ret_tree = tree;
	return KNOT_OK;
}
