/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/compact.h"

#include "src/zone/facts.h"
#include "src/zone/lookup.h"
#include "src/zone/node_build.h"
#include "src/zone/nsec3_hash.h"
#include "src/zone/nsec3_records.h"

#include <stdlib.h>

enum {
	WORN_PART = 6,   /* a pass begins when more than this part of what is used is wasted */
	SLICE_PART = 12, /* a slice copies this part of what is used at most: until it is published both are there */
	COPY_PART = 16,  /* it copies at most this part of what is used from chunks that are empty only at its end */
	STEP_BYTES = 16, /* that a step copies, about */
};

typedef enum { PASS_MARK, PASS_AUTH, PASS_GLUE, PASS_NSEC3, PASS_ABSENT, PASS_SHARED, PASS_LINKS, PASS_END } stage_t;

struct zone_compaction {
	stage_t stage;
	uint64_t lineage;  /* numbers of chunks are of this one; 0: the pass hasn't begun */
	uint64_t *kept;    /* owned: bits of chunks that have shared RRsets */
	uint64_t *leaving; /* owned: bits of chunks to become empty */
	uint32_t chunk_count;
	bool has_chosen;
	zone_tree_place_t tree_place, glue_place;
	bool is_glue_done; /* before the others are */
	uint32_t link_place;
};

uint64_t zone_wasted(const zone_contents_t *zone)
{
	uint64_t size = zone_arena_size(zone->store);
	return size > zone->live_size ? size - zone->live_size : 0;
}

bool zone_needs_compaction(const zone_contents_t *zone, uint64_t left)
{
	uint64_t wasted = zone_wasted(zone), live = zone->live_size;
	return zone->record_count >= ZONE_COMPACT_RECORDS && wasted > live / WORN_PART &&
	       wasted > left + live / (2 * (uint64_t)WORN_PART);
}

zone_compaction_t *zone_compaction_new(void)
{
	return calloc(1, sizeof(zone_compaction_t));
}

static void pass_clear(zone_compaction_t *pass)
{
	free(pass->kept);
	free(pass->leaving);
	*pass = (zone_compaction_t){ .stage = PASS_MARK };
}

void zone_compaction_free(zone_compaction_t *take_pass)
{
	if (take_pass != NULL) {
		pass_clear(take_pass);
		free(take_pass);
	}
}

/* ---- Which chunks ---- */

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static knot_err_t pass_begin(zone_compaction_t *pass, const zone_contents_t *zone)
{
	pass_clear(pass);
	pass->chunk_count = zone->arena.chunk_count;
	pass->kept = calloc(pass->chunk_count / 64 + 1, sizeof(*pass->kept));
	pass->leaving = calloc(pass->chunk_count / 64 + 1, sizeof(*pass->leaving));
	if (pass->kept == NULL || pass->leaving == NULL) {
		pass_clear(pass);
		return KNOT_ENOMEM;
	}
	pass->lineage = zone_arena_lineage(zone->store);
	return KNOT_OK;
}

/* Note the chunks of shared RRsets. Until the pass ends none comes elsewhere: commits don't make any. */
static knot_err_t mark_kept(zone_compaction_t *pass, const zone_contents_t *zone, size_t *steps)
{
	enum { RECORD_STEPS = 4 };
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	if (iter == NULL) {
		return KNOT_ENOMEM;
	}
	zone_tree_place_t *place = &pass->tree_place;
	if (place->len > 0) {
		knot_name_t name = { place->wire, place->len, place->label_count };
		zone_tree_seek(&zone->arena, zone_shared_tree(zone), name, iter);
	} else {
		zone_tree_begin(&zone->arena, zone_shared_tree(zone), iter);
	}
	place->len = 0;
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *record = zone_at(&zone->arena, ref);
		if (*steps < RECORD_STEPS) {
			memcpy(place->wire, record->owner, record->owner_len);
			place->len = record->owner_len;
			place->label_count = record->owner_label_count;
			break;
		}
		*steps -= RECORD_STEPS;
		uint32_t chunk = zone_node_shared_ref(record, 0) >> ZONE_CHUNK_OFFSET_BITS;
		if (chunk < pass->chunk_count) {
			set_bit(pass->kept, chunk);
		}
	}
	free(iter);
	pass->stage = place->len > 0 ? PASS_MARK : PASS_AUTH;
	return KNOT_OK;
}

typedef struct {
	uint32_t chunk;
	uint64_t len, live; /* bytes */
} candidate_t;

/* The least used first. */
static int cmp_candidates(const void *va, const void *vb)
{
	const candidate_t *a = va, *b = vb;
	uint64_t left = a->live * b->len, right = b->live * a->len;
	return left < right ? -1 : left > right;
}

/*
 * Which chunks are to become empty. Those in the order of names are empty as soon as the pass is past their names: all
 * of them, because arrays that stay lose what they have when records below them go, and a pass that left the fuller
 * ones would waste there what it gains elsewhere. Others, which commits have filled, are empty at the end of the pass:
 * of those only so many that there is room meanwhile, the most wasteful first.
 */
static void pass_choose(zone_compaction_t *pass, const zone_contents_t *zone, candidate_t *candidates)
{
	size_t count = 0;
	uint32_t known = pass->chunk_count; /* later ones are too new to waste much */
	for (uint32_t i = 0; i < known && i < zone->arena.chunk_count; i++) {
		zone_chunk_use_t use = zone_arena_chunk_use(zone->store, i);
		/* One that is longer than chunks are has a single name or RRset, and nothing is gained by a copy. */
		bool is_single = use.len > ZONE_CHUNK_MAX && use.live > 0;
		if (use.len == 0 || is_single || has_bit(pass->kept, i)) {
			continue;
		}
		if (use.is_ordered) {
			set_bit(pass->leaving, i);
		} else {
			candidates[count++] = (candidate_t){ i, use.len, use.live };
		}
	}
	qsort(candidates, count, sizeof(*candidates), cmp_candidates);
	uint64_t copied = 0;
	for (size_t i = 0; i < count && (i == 0 || copied <= zone->live_size / COPY_PART); i++) {
		copied += candidates[i].live;
		set_bit(pass->leaving, candidates[i].chunk);
	}
}

/* ---- Moving ---- */

typedef struct {
	const zone_contents_t *base;
	zone_contents_t *zone; /* being made */
	bool has_links;        /* the records have numbers in the link table */
	bool has_hints;        /* they may lead to NSEC3 records */
	zone_ref_t apex;       /* stays: by its address those who have begun to change a version know it again */
} moving_t;

static zone_ref_t apex_of(const zone_contents_t *zone)
{
	return zone_tree_find(zone_arena_view(zone->store), &zone->auth, zone_node_owner(zone->apex));
}

/* Names that don't exist have the node of the wildcard that they would come from. */
static knot_err_t move_answers(moving_t *m, zone_ref_t from, zone_ref_t to, size_t *ret_len)
{
	enum { ABSENT_LEN = 256 }; /* bytes that are copied while one is looked at, about */
	const zone_arena_view_t *view = zone_arena_view(m->zone->store);
	knot_name_t anchor = knot_name_strip(zone_leaf_owner(view, to), 1);
	zone_tree_iter_t iter;
	knot_err_t err = KNOT_OK;
	zone_tree_seek(view, &m->zone->absent, anchor, &iter); /* this tree doesn't change meanwhile */
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(&iter)) != 0;) {
		view = zone_arena_view(m->zone->store);
		const zone_node_t *absent = zone_at(view, ref);
		zone_link_t link = zone_node_self(absent);
		if (!knot_name_in(zone_node_owner(absent), anchor)) {
			break;
		}
		*ret_len += ABSENT_LEN;
		if (zone_links_get(view, &m->zone->links, link) == from) {
			err = zone_links_set(m->zone->store, &m->zone->links, link, to);
		}
	}
	return err;
}

/* The hint for a name's hash as it is now. *ret_len: grows by what hashing is worth. */
static zone_nsec3_hint_t renewed(const zone_contents_t *zone, zone_nsec3_hint_t hint, knot_name_t name, size_t *ret_len)
{
	enum { HASH_LEN = 512 }; /* bytes that are copied while SHA-1 runs once, about */
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	if (hint.link == 0 || zone_nsec3_params(zone)->iterations > ZONE_NSEC3_HINTED_ITERATIONS_MAX ||
			zone_nsec3_hint_is_right(zone, hint) || !zone_nsec3_hash(zone_nsec3_params(zone), name, hash)) {
		return hint;
	}
	*ret_len += HASH_LEN * (2 * (size_t)zone_nsec3_params(zone)->iterations + 2);
	zone_nsec3_t found = zone_nsec3_find(zone, name);
	return (zone_nsec3_hint_t){ zone_node_self(found.node), found.is_match, load_be32(hash) };
}

/* Make the hints of a name's copy again that are out of date. Returns the copy that remains; 0: out of memory. */
static zone_ref_t renew_hints(const moving_t *m, zone_ref_t copy, size_t *ret_len)
{
	zone_arena_t *store = m->zone->store;
	const zone_node_t *node = zone_at(zone_arena_view(store), copy);
	zone_nsec3_hint_t own = zone_node_nsec3(node), wildcard = zone_node_nsec3_wildcard(node);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	zone_nsec3_hint_t new_own = renewed(m->base, own, zone_node_owner(node), ret_len), new_wildcard = wildcard;
	if (wildcard.link != 0 && knot_name_wildcard_below(zone_node_owner(node), wire, &name)) {
		new_wildcard = renewed(m->base, wildcard, name, ret_len);
	}
	if (own.link == new_own.link && wildcard.link == new_wildcard.link) {
		return copy;
	}
	zone_ref_t hinted = zone_node_rehint(store, copy, new_own, new_wildcard);
	zone_node_drop(store, copy);
	return hinted;
}

static zone_ref_t move_node(zone_ref_t from, void *ctx, size_t *ret_len)
{
	moving_t *m = ctx;
	zone_arena_t *store = m->zone->store;
	if (from == m->apex) {
		return from;
	}
	size_t size = zone_node_size(zone_at(zone_arena_view(store), from));
	zone_ref_t to = zone_arena_alloc(store, size);
	if (to == 0) {
		return 0;
	}
	memcpy(zone_at(zone_arena_view(store), to), zone_at(zone_arena_view(store), from), size);
	*ret_len = size;
	to = m->has_hints ? renew_hints(m, to, ret_len) : to;
	if (to == 0) {
		return 0;
	}
	const zone_node_t *node = zone_at(zone_arena_view(store), to);
	zone_link_t self = zone_node_self(node);
	bool is_wildcard = node->flags & ZONE_NODE_WILDCARD;
	knot_err_t err = KNOT_OK;
	if (m->has_links && self != 0) {
		err = zone_links_set(store, &m->zone->links, self, to);
	}
	if (err == KNOT_OK && m->has_links && is_wildcard && m->zone->absent.count > 0) {
		err = move_answers(m, from, to, ret_len);
	}
	zone_arena_drop(store, from, size);
	return err == KNOT_OK ? to : 0;
}

/* Move a part of a tree: up to `end` if it has a name. *ret_is_done: to its end. */
static knot_err_t move_tree(const zone_compaction_t *pass, moving_t *moving, zone_tree_t *tree,
		zone_tree_place_t *place, knot_name_t end, size_t *steps, bool *ret_is_done)
{
	zone_leaving_t leaving = { pass->leaving, pass->chunk_count };
	zone_tree_move_t move = { moving->zone->store, leaving, move_node, moving, *steps, end };
	knot_err_t err = zone_tree_move(&move, tree, place);
	*steps = move.steps;
	*ret_is_done = place->len == 0;
	return err;
}

/* Names below delegations go along with the others: they lie in the same chunks. */
static knot_err_t move_auth(zone_compaction_t *pass, moving_t *moving, size_t *steps, bool *ret_is_done)
{
	enum { PART = 512 };
	size_t part = *steps < PART ? *steps : PART, left = part;
	knot_err_t err = KNOT_OK;
	bool is_glue_done;
	zone_tree_place_t *place = &pass->tree_place;
	if (place->len > 0 && moving->zone->glue.count > 0 && !pass->is_glue_done) {
		knot_name_t end = { place->wire, place->len, place->label_count };
		err = move_tree(pass, moving, &moving->zone->glue, &pass->glue_place, end, &left, &is_glue_done);
		pass->is_glue_done = is_glue_done;
	}
	*ret_is_done = false;
	if (err == KNOT_OK && left > 0) {
		err = move_tree(pass, moving, &moving->zone->auth, place, (knot_name_t){ 0 }, &left, ret_is_done);
	}
	*steps -= part - left;
	return err;
}

static knot_err_t move_stage(zone_compaction_t *pass, const zone_contents_t *base, zone_contents_t *zone, size_t *steps)
{
	/* Numbers of absent names are in the table, but lead elsewhere; those of shared RRsets count users. */
	moving_t moving = { .base = base,
		.zone = zone,
		.has_links = pass->stage < PASS_ABSENT,
		.has_hints = pass->stage == PASS_AUTH && zone_nsec3_params(base)->algorithm != 0,
		.apex = apex_of(zone) };
	zone_leaving_t leaving = { pass->leaving, pass->chunk_count };
	zone_tree_t *trees[] = {
		[PASS_NSEC3] = &zone->nsec3, [PASS_ABSENT] = &zone->absent, [PASS_SHARED] = &zone->shared
	};
	knot_err_t err;
	bool is_done = true;
	if (pass->stage == PASS_AUTH) {
		err = move_auth(pass, &moving, steps, &is_done);
	} else if (pass->stage == PASS_GLUE) {
		if (pass->is_glue_done) {
			pass->stage++;
			return KNOT_OK;
		}
		err = move_tree(pass, &moving, &zone->glue, &pass->glue_place, (knot_name_t){ 0 }, steps, &is_done);
	} else if (pass->stage == PASS_LINKS) {
		err = zone_links_move(zone->store, &zone->links, &leaving, steps, &pass->link_place);
		is_done = pass->link_place >= zone->links.count;
	} else {
		err = move_tree(pass, &moving, trees[pass->stage], &pass->tree_place, (knot_name_t){ 0 }, steps,
				&is_done);
	}
	pass->stage += err == KNOT_OK && is_done;
	return err;
}

static knot_err_t pass_move(zone_compaction_t *pass, const zone_contents_t *base, zone_contents_t *zone, size_t steps)
{
	zone_contents_copy(base, zone);
	zone->store = zone_arena_fork(base->store);
	if (zone->store == NULL) {
		return KNOT_ENOMEM;
	}
	zone->arena = *zone_arena_view(zone->store);
	zone_arena_move(zone->store, pass->stage == PASS_AUTH && pass->tree_place.len == 0);
	pass->lineage = zone_arena_lineage(zone->store);
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && steps > 0 && pass->stage < PASS_END) {
		err = move_stage(pass, base, zone, &steps);
	}
	if (err != KNOT_OK) {
		return err;
	}
	zone->live_size += (uint64_t)zone_arena_live_change(zone->store);
	zone_ref_t apex = apex_of(zone);
	for (uint32_t i = 0; pass->stage == PASS_END && i < pass->chunk_count; i++) {
		/* Of others what is in use is known: they go when it is nothing. */
		if (has_bit(pass->leaving, i) && i != apex >> ZONE_CHUNK_OFFSET_BITS &&
				zone_arena_chunk_use(zone->store, i).is_about) {
			zone_arena_give_back(zone->store, i);
		}
	}
	zone_arena_seal(zone->store, false);
	zone_facts_note(zone, apex);
	return KNOT_OK;
}

/* ---- The pass ---- */

static knot_err_t pass_prepare(zone_compaction_t *pass, const zone_contents_t *zone, size_t *steps)
{
	knot_err_t err = KNOT_OK;
	if (pass->lineage != zone_arena_lineage(zone->store)) { /* it begins, or a commit has built all from scratch */
		bool is_first = pass->lineage == 0;
		err = pass_begin(pass, zone);
		if (err == KNOT_OK && !is_first && !zone_needs_compaction(zone, 0)) {
			pass->stage = PASS_END;
			return KNOT_OK;
		}
	}
	if (err == KNOT_OK && pass->stage == PASS_MARK) {
		err = mark_kept(pass, zone, steps);
	}
	if (err != KNOT_OK || pass->stage == PASS_MARK || pass->has_chosen) {
		return err;
	}
	candidate_t *candidates = malloc((pass->chunk_count + (size_t)1) * sizeof(*candidates));
	if (candidates == NULL) {
		return KNOT_ENOMEM;
	}
	pass_choose(pass, zone, candidates);
	free(candidates);
	pass->has_chosen = true;
	return KNOT_OK;
}

knot_err_t zone_compact_slice(zone_compaction_t *pass, const zone_contents_t *zone, size_t steps,
		zone_contents_t **ret_zone, bool *ret_is_done)
{
	knot_err_t err = pass_prepare(pass, zone, &steps);
	if (err != KNOT_OK) {
		return err;
	}
	*ret_zone = NULL;
	*ret_is_done = pass->stage == PASS_END;
	if (pass->stage == PASS_MARK || pass->stage == PASS_END) {
		return KNOT_OK;
	}
	size_t slice_max = zone->live_size / SLICE_PART / STEP_BYTES;
	steps = steps < slice_max ? steps : slice_max;
	zone_compaction_t before = *pass;
	zone_contents_t *next = calloc(1, sizeof(*next));
	err = next != NULL ? pass_move(pass, zone, next, steps + 1) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		*pass = before;
		zone_contents_free(next);
		return err;
	}
	*ret_zone = next;
	*ret_is_done = pass->stage == PASS_END;
	return KNOT_OK;
}
