/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/tree_move.h"

#include "src/zone/twig.h"

#include <limits.h>

enum {
	STEP_BYTES = 32,  /* copied in a step, about */
	RECORD_STEPS = 3, /* of a record, beside its bytes */
};

/* The way to the place where the walk begins. As in zone_tree_seek(). */
typedef struct {
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len;
	unsigned limit; /* branches in front of this position of the key are passed on the way */
	bool is_after;  /* what is at the end of the way comes behind the place */
	zone_tree_move_t *move;
	zone_tree_place_t *place;
	bool has_stopped, failed;
} way_t;

static void way_find(way_t *way, const zone_tree_t *tree, knot_name_t name)
{
	const zone_arena_view_t *view = zone_arena_view(way->move->arena);
	way->key_len = knot_name_key(name, way->key);
	const zone_twig_t *twig = &tree->root;
	while (zone_twig_is_branch(twig)) {
		uint64_t word = zone_twig_word(twig);
		uint64_t bit = zone_twig_bit(zone_key_position(way->key, way->key_len, zone_twig_offset(word)));
		const zone_twig_t *twigs = zone_at(view, twig->ref);
		twig = word & bit ? &twigs[zone_twig_index(word, bit)] : twigs;
	}
	uint8_t near_key[KNOT_NAME_KEY_MAX];
	size_t near_len = knot_name_key(zone_leaf_owner(view, twig->ref), near_key);
	int differ = zone_key_difference(way->key, way->key_len, near_key, near_len);
	way->limit = differ < 0 ? UINT_MAX : (unsigned)differ;
	way->is_after = differ < 0 || zone_key_position(near_key, near_len, way->limit) >
						      zone_key_position(way->key, way->key_len, way->limit);
}

static void way_stop(way_t *way, const zone_twig_t *twig)
{
	const zone_arena_view_t *view = zone_arena_view(way->move->arena);
	while (zone_twig_is_branch(twig)) {
		twig = zone_at(view, twig->ref);
	}
	knot_name_t owner = zone_leaf_owner(view, twig->ref);
	memcpy(way->place->wire, owner.wire, owner.len);
	way->place->len = owner.len;
	way->place->label_count = owner.label_count;
	way->has_stopped = true;
}

static void way_spend(way_t *way, size_t steps)
{
	way->move->steps -= steps < way->move->steps ? steps : way->move->steps;
}

/* A copy of an array, which is dropped. 0: out of memory. */
static zone_ref_t move_twigs(way_t *way, zone_ref_t from, size_t len)
{
	zone_arena_t *arena = way->move->arena;
	zone_ref_t to = zone_arena_alloc(arena, len);
	if (to == 0) {
		way->failed = true;
		return 0;
	}
	memcpy(zone_at(zone_arena_view(arena), to), zone_at(zone_arena_view(arena), from), len);
	zone_arena_drop(arena, from, len);
	way_spend(way, 1 + len / STEP_BYTES);
	return to;
}

static void move_record(way_t *way, zone_twig_t *leaf)
{
	zone_tree_move_t *move = way->move;
	const zone_arena_view_t *view = zone_arena_view(move->arena);
	if (move->end.wire != NULL && knot_name_cmp(zone_leaf_owner(view, leaf->ref), move->end) >= 0) {
		way_stop(way, leaf);
		return;
	}
	if (zone_is_leaving(&move->leaving, leaf->ref)) {
		size_t len = 0;
		zone_ref_t to = move->move(leaf->ref, move->ctx, &len);
		way_spend(way, RECORD_STEPS + len / STEP_BYTES);
		way->failed = way->failed || to == 0;
		leaf->ref = to != 0 ? to : leaf->ref;
	}
}

static void move_twig(way_t *way, zone_twig_t *twig, bool is_on_way);

/* The twigs of a branch from one on, the first of them perhaps on the way. */
static void move_below(way_t *way, zone_twig_t *branch, unsigned first, bool is_on_way)
{
	zone_arena_t *arena = way->move->arena;
	unsigned count = zone_twig_count(zone_twig_word(branch));
	size_t len = count * sizeof(zone_twig_t);
	if (zone_is_leaving(&way->move->leaving, branch->ref)) {
		zone_ref_t to = move_twigs(way, branch->ref, len);
		branch->ref = to != 0 ? to : branch->ref;
	}
	for (unsigned i = first; i < count && !way->has_stopped && !way->failed; i++) {
		zone_twig_t twig = ((const zone_twig_t *)zone_at(zone_arena_view(arena), branch->ref))[i];
		zone_ref_t before = twig.ref;
		move_twig(way, &twig, is_on_way && i == first);
		if (twig.ref == before || way->failed) {
			continue;
		}
		zone_ref_t own = zone_arena_is_mine(arena, branch->ref) ? branch->ref
									: move_twigs(way, branch->ref, len);
		if (own != 0) {
			branch->ref = own;
			((zone_twig_t *)zone_at(zone_arena_view(arena), own))[i].ref = twig.ref;
		}
	}
}

static void move_twig(way_t *way, zone_twig_t *twig, bool is_on_way)
{
	bool is_branch = zone_twig_is_branch(twig);
	uint64_t word = zone_twig_word(twig);
	if (is_on_way && is_branch && zone_twig_offset(word) <= way->limit) {
		unsigned position = zone_key_position(way->key, way->key_len, zone_twig_offset(word));
		bool goes_on = zone_twig_offset(word) < way->limit;
		move_below(way, twig, zone_twig_index(word, zone_twig_bit(position)), goes_on);
		return;
	}
	if (is_on_way && !way->is_after) {
		return;
	}
	if (way->move->steps == 0) {
		way_stop(way, twig);
		return;
	}
	way->move->steps--;
	if (is_branch) {
		move_below(way, twig, 0, false);
	} else {
		move_record(way, twig);
	}
}

knot_err_t zone_tree_move(zone_tree_move_t *move, zone_tree_t *tree, zone_tree_place_t *place)
{
	way_t way = { .move = move, .place = place };
	bool has_place = place->len > 0;
	if (tree->count > 0) {
		if (has_place) {
			way_find(&way, tree, (knot_name_t){ place->wire, place->len, place->label_count });
		}
		move_twig(&way, &tree->root, has_place);
	}
	if (!way.has_stopped) {
		place->len = 0;
	}
	return way.failed ? KNOT_ENOMEM : KNOT_OK;
}
