/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names are placed in canonical order, ancestors first, so that what is above a name is final when it is its turn. The
 * trees always show the state so far. When a name becomes a delegation, all below it leave the tree of authoritative
 * names at once, and when it ceases to be one, all below it leave the glue; each of them is placed again when it is
 * its turn.
 */
#include "src/zone/patch_place.h"

#include "src/zone/collect.h"
#include "src/zone/nsec3_records.h"
#include "src/zone/records.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Memory ---- */

enum { MEMORY_BLOCK = 16 * 1024 };

struct patch_memory {
	patch_memory_t *next;
	size_t len, max;
	uint64_t data[];
};

void *patch_alloc(patch_t *p, size_t len)
{
	patch_memory_t *memory = p->memory;
	len = (len + 7) & ~(size_t)7;
	if (memory == NULL || len > memory->max - memory->len) {
		size_t max = len > MEMORY_BLOCK ? len : MEMORY_BLOCK;
		memory = malloc(sizeof(*memory) + max);
		if (memory == NULL) {
			return NULL;
		}
		*memory = (patch_memory_t){ .next = p->memory, .max = max };
		p->memory = memory;
	}
	void *data = (uint8_t *)memory->data + memory->len;
	memory->len += len;
	return data;
}

void patch_done(patch_t *p)
{
	for (patch_memory_t *next, *memory = p->memory; memory != NULL; memory = next) {
		next = memory->next;
		free(memory);
	}
	zone_node_builder_free(p->builder);
	free(p->names);
	free(p->anchors);
	free(p->scratch);
}

knot_err_t patch_anchor(patch_t *p, knot_name_t name)
{
	if (p->anchor_count == p->anchor_max) {
		size_t max = 2 * p->anchor_max + 8;
		knot_name_t *grown = realloc(p->anchors, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		p->anchors = grown;
		p->anchor_max = max;
	}
	p->anchors[p->anchor_count++] = name;
	return KNOT_OK;
}

/* ---- Records ---- */

typedef struct {
	patch_t *p;
	zone_record_t *first, **end;
	bool failed;
} patch_list_t;

static bool patch_keep_record(const zone_rr_t *rr, void *ctx)
{
	patch_list_t *list = ctx;
	zone_record_t *record = patch_alloc(list->p, sizeof(*record) + rr->rdata.len);
	if (record == NULL) {
		list->failed = true;
		return false;
	}
	*record = (zone_record_t){ .ttl = rr->ttl, .type = rr->type, .rdata_len = (uint16_t)rr->rdata.len };
	memcpy(record->rdata, rr->rdata.data, rr->rdata.len);
	*list->end = record;
	list->end = &record->next;
	return true;
}

knot_err_t patch_expand(patch_t *p, zone_ref_t ref, const zone_record_t **ret_records)
{
	patch_list_t list = { .p = p };
	list.end = &list.first;
	zone_contents_t now = { .arena = *patch_view(p) };
	(void)zone_each_of_node(&now, zone_at(&now.arena, ref), p->scratch, patch_keep_record, &list);
	*ret_records = list.first;
	return list.failed ? KNOT_ENOMEM : KNOT_OK;
}

knot_err_t patch_load(patch_t *p, patch_name_t *name)
{
	if (name->has_records) {
		return KNOT_OK;
	}
	knot_err_t err = name->old_ref != 0 ? patch_expand(p, name->old_ref, &name->records) : KNOT_OK;
	name->has_records = err == KNOT_OK;
	return err;
}

static bool has_type(const zone_record_t *records, uint16_t type)
{
	while (records != NULL && records->type != type) {
		records = records->next;
	}
	return records != NULL;
}

static bool is_of_part(const zone_record_t *record, bool is_nsec3_part)
{
	return zone_is_nsec3_record(record->type, (knot_bytes_t){ record->rdata, record->rdata_len }) == is_nsec3_part;
}

/* The records of one part: the list itself if it has no others. */
static knot_err_t part_of(patch_t *p, const zone_record_t *records, bool is_nsec3_part, const zone_record_t **ret_part)
{
	bool has_others = false, has_some = false;
	for (const zone_record_t *r = records; r != NULL; r = r->next) {
		has_some = has_some || is_of_part(r, is_nsec3_part);
		has_others = has_others || !is_of_part(r, is_nsec3_part);
	}
	*ret_part = has_some ? records : NULL;
	if (!has_some || !has_others) {
		return KNOT_OK;
	}
	patch_list_t list = { .p = p };
	list.end = &list.first;
	for (const zone_record_t *r = records; r != NULL && !list.failed; r = r->next) {
		if (is_of_part(r, is_nsec3_part)) {
			(void)patch_keep_record(&(zone_rr_t){ .type = r->type,
								.ttl = r->ttl,
								.rdata = { r->rdata, r->rdata_len } },
					&list);
		}
	}
	*ret_part = list.first;
	return list.failed ? KNOT_ENOMEM : KNOT_OK;
}

/* ---- Entries ---- */

zone_tree_t *patch_tree(const patch_t *p, patch_tree_t tree)
{
	assert(tree != PATCH_NONE);
	return tree == PATCH_AUTH ? &p->zone->auth : tree == PATCH_GLUE ? &p->zone->glue : &p->zone->nsec3;
}

static unsigned depth_of(const patch_t *p, knot_name_t owner)
{
	return owner.label_count - p->base->apex->owner_label_count;
}

/* What is below a delegation has two labels more than the apex at least; NSEC3 records of a chain have one. */
bool patch_is_other_chain(const patch_t *p, knot_name_t owner)
{
	return depth_of(p, owner) <= 1;
}

/*
 * While names are placed, what is free of names[] stands where the last entry was made: entries are made near the name
 * that is being placed, so few others have to move.
 */
static patch_name_t **patch_slot(const patch_t *p, size_t i)
{
	return &p->names[i < p->gap ? i : i + (p->max - p->count)];
}

static void patch_move_gap(patch_t *p, size_t to)
{
	size_t len = p->max - p->count;
	if (to < p->gap) {
		memmove(p->names + to + len, p->names + to, (p->gap - to) * sizeof(*p->names));
	} else if (to > p->gap) {
		memmove(p->names + p->gap, p->names + p->gap + len, (to - p->gap) * sizeof(*p->names));
	}
	p->gap = to;
}

static bool patch_is_before(const patch_t *p, size_t i, knot_name_t owner, bool is_nsec3_part)
{
	const patch_name_t *name = *patch_slot(p, i);
	int order = knot_name_cmp(name->owner, owner);
	return (order != 0 ? order : is_nsec3_part - name->is_nsec3_part) < 0;
}

/* The first entry that is not before a name's part. Changes are entered in order: then it is behind the last one. */
static size_t patch_lower(const patch_t *p, knot_name_t owner, bool is_nsec3_part)
{
	size_t low = 0, high = p->count;
	if (high > 0 && patch_is_before(p, high - 1, owner, is_nsec3_part)) {
		return high;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (patch_is_before(p, middle, owner, is_nsec3_part)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static patch_name_t *patch_at(const patch_t *p, size_t i, knot_name_t owner, bool is_nsec3_part)
{
	patch_name_t *name = i < p->count ? *patch_slot(p, i) : NULL;
	bool is_it = name != NULL && name->is_nsec3_part == is_nsec3_part && knot_name_eq(name->owner, owner);
	return is_it ? name : NULL;
}

patch_name_t *patch_find(const patch_t *p, knot_name_t owner, bool is_nsec3_part)
{
	return patch_at(p, patch_lower(p, owner, is_nsec3_part), owner, is_nsec3_part);
}

/* Where a name's part is in the base. */
static void find_old(const patch_t *p, patch_name_t *name)
{
	const zone_contents_t *base = p->base;
	const patch_tree_t first = name->is_nsec3_part ? PATCH_NSEC3 : PATCH_AUTH;
	name->old_tree = first;
	name->old_ref = zone_tree_find(
			&base->arena, name->is_nsec3_part ? zone_nsec3_tree(base) : &base->auth, name->owner);
	if (name->old_ref == 0 && patch_is_other_chain(p, name->owner) == name->is_nsec3_part) {
		name->old_tree = PATCH_GLUE;
		name->old_ref = zone_tree_find(&base->arena, zone_glue_tree(base), name->owner);
	}
	if (name->old_ref == 0) {
		name->old_tree = PATCH_NONE;
		return;
	}
	const zone_node_t *node = zone_at(&base->arena, name->old_ref);
	name->tree = name->old_tree;
	name->ref = name->old_ref;
	name->flags = node->flags & PATCH_FLAGS;
	name->self = zone_node_self(node);
}

static bool patch_grow(patch_t *p)
{
	size_t max = 2 * p->max + 16;
	patch_name_t **grown = realloc(p->names, max * sizeof(*grown));
	if (grown == NULL) {
		return false;
	}
	p->names = grown;
	p->max = max;
	p->gap = p->count;
	return true;
}

/* The entry of a name's part, made at first. NULL: out of memory. */
static patch_name_t *patch_get(patch_t *p, knot_name_t owner, bool is_nsec3_part)
{
	size_t i = patch_lower(p, owner, is_nsec3_part);
	patch_name_t *name = patch_at(p, i, owner, is_nsec3_part);
	if (name != NULL) {
		return name;
	}
	if (p->count == p->max && !patch_grow(p)) {
		return NULL;
	}
	name = patch_alloc(p, sizeof(*name) + owner.len);
	if (name == NULL) {
		return NULL;
	}
	*name = (patch_name_t){ .owner = { name->wire, owner.len, owner.label_count }, .is_nsec3_part = is_nsec3_part };
	memcpy(name->wire, owner.wire, owner.len);
	find_old(p, name);
	patch_move_gap(p, i);
	p->names[p->gap++] = name;
	p->count++;
	p->at += i <= p->at;
	return name;
}

/* As patch_get() for a name that stays where it is, but whose node changes. */
static patch_name_t *patch_touch(patch_t *p, knot_name_t owner, bool is_nsec3_part)
{
	size_t count = p->count;
	patch_name_t *name = patch_get(p, owner, is_nsec3_part);
	if (name != NULL && p->count > count) {
		name->is_placed = true;
	}
	return name;
}

/* ---- Trees ---- */

/* Put a bare node with the entry's flags into its tree, unless the one that is there shows them. */
static knot_err_t patch_show(patch_t *p, patch_name_t *name)
{
	zone_arena_t *store = p->zone->store;
	zone_ref_t old = name->ref;
	if (old != 0 && (((const zone_node_t *)zone_at(patch_view(p), old))->flags & PATCH_FLAGS) == name->flags) {
		return KNOT_OK;
	}
	name->ref = zone_node_bare(store, name->owner, name->flags, 0);
	if (name->ref == 0) {
		return KNOT_ENOMEM;
	}
	zone_ref_t replaced;
	knot_err_t err = zone_tree_put(store, patch_tree(p, name->tree), name->ref, &replaced);
	if (old != 0 && old != name->old_ref) {
		zone_node_drop(store, old);
	}
	return err;
}

/* Take the entry's node out of its tree. */
static knot_err_t patch_take(patch_t *p, patch_name_t *name)
{
	zone_arena_t *store = p->zone->store;
	knot_err_t err = zone_tree_remove(store, patch_tree(p, name->tree), name->owner);
	if (err == KNOT_OK && name->ref != name->old_ref) {
		zone_node_drop(store, name->ref);
	}
	name->tree = PATCH_NONE;
	name->ref = 0;
	return err;
}

/* The delegation above a name, or 0. */
static zone_ref_t cut_above(const patch_t *p, knot_name_t owner)
{
	if (depth_of(p, owner) < 2) {
		return 0;
	}
	knot_name_t parent = knot_name_strip(owner, 1);
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(parent, key);
	zone_ref_t ref = zone_tree_match(patch_view(p), &p->zone->auth, parent, key, key_len).encloser;
	const zone_node_t *node = zone_at(patch_view(p), ref);
	return node->flags & ZONE_NODE_CUT ? ref : 0;
}

/* True if a name of the tree is below another. */
static bool has_below(const patch_t *p, const zone_tree_t *tree, knot_name_t owner)
{
	zone_tree_iter_t iter;
	zone_tree_seek(patch_view(p), tree, owner, &iter);
	zone_ref_t ref = zone_tree_next(&iter);
	if (ref != 0 && knot_name_eq(zone_leaf_owner(patch_view(p), ref), owner)) {
		ref = zone_tree_next(&iter);
	}
	return ref != 0 && knot_name_in(zone_leaf_owner(patch_view(p), ref), owner);
}

/* Take all names below one out of a tree; they are to be placed again. */
static knot_err_t lift_below(patch_t *p, const patch_name_t *above, patch_tree_t tree)
{
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK) {
		zone_tree_iter_t iter;
		zone_tree_seek(patch_view(p), patch_tree(p, tree), above->owner, &iter);
		zone_ref_t ref = zone_tree_next(&iter);
		if (ref != 0 && knot_name_eq(zone_leaf_owner(patch_view(p), ref), above->owner)) {
			ref = zone_tree_next(&iter);
		}
		if (ref == 0 || !knot_name_in(zone_leaf_owner(patch_view(p), ref), above->owner)) {
			break;
		}
		patch_name_t *name = patch_get(p, zone_leaf_owner(patch_view(p), ref), false);
		err = name != NULL ? patch_load(p, name) : KNOT_ENOMEM;
		if (err == KNOT_OK) {
			name->is_placed = false;
			err = patch_take(p, name);
		}
	}
	return err;
}

/* ---- Placing ---- */

static knot_err_t place_child(patch_t *p, const patch_name_t *child);

/* Names follow each other in canonical order, so a parent is nearly always that of the name before. */
static patch_name_t *parent_entry(patch_t *p, const patch_name_t *child)
{
	knot_name_t owner = knot_name_strip(child->owner, 1);
	bool is_known = p->parent != NULL && knot_name_eq(p->parent->owner, owner);
	patch_name_t *parent = is_known ? p->parent : patch_touch(p, owner, false);
	p->parent = parent;
	if (parent != NULL && parent->tree != PATCH_AUTH) { /* an empty non-terminal */
		parent->has_records = true;
		parent->records = NULL;
	}
	return parent;
}

/* A name is in the tree of authoritative names: so are the names above it. */
static knot_err_t place_child(patch_t *p, const patch_name_t *child)
{
	if (depth_of(p, child->owner) == 0) {
		return KNOT_OK;
	}
	patch_name_t *parent = parent_entry(p, child);
	if (parent == NULL) {
		return KNOT_ENOMEM;
	}
	bool is_new = parent->tree != PATCH_AUTH;
	parent->flags = (uint16_t)((is_new ? 0 : parent->flags) | ZONE_NODE_CHILDREN |
				   (knot_name_is_wildcard(child->owner) ? ZONE_NODE_WILDCARD_CHILD : 0));
	parent->tree = PATCH_AUTH;
	knot_err_t err = patch_show(p, parent);
	return err == KNOT_OK && is_new ? place_child(p, parent) : err;
}

/* A name has left the tree of authoritative names: the empty non-terminals above it may go. */
static knot_err_t forget_child(patch_t *p, const patch_name_t *child)
{
	patch_name_t *parent = parent_entry(p, child);
	knot_err_t err = parent != NULL ? patch_load(p, parent) : KNOT_ENOMEM;
	if (err != KNOT_OK || parent->tree != PATCH_AUTH) {
		return err;
	}
	if (knot_name_is_wildcard(child->owner)) {
		parent->flags &= (uint16_t)~ZONE_NODE_WILDCARD_CHILD;
	}
	if (!has_below(p, &p->zone->auth, parent->owner)) {
		parent->flags &= (uint16_t) ~(ZONE_NODE_CHILDREN | ZONE_NODE_WILDCARD_CHILD);
	}
	bool is_needed = parent->records != NULL || (parent->flags & (ZONE_NODE_CHILDREN | ZONE_NODE_APEX));
	if (is_needed) {
		return patch_show(p, parent);
	}
	err = patch_take(p, parent);
	return err == KNOT_OK ? forget_child(p, parent) : err;
}

/* The delegation above changed glue has a copy of it. */
static knot_err_t touch_cut(patch_t *p, knot_name_t owner)
{
	zone_ref_t cut = cut_above(p, owner);
	bool is_touched = cut == 0 || patch_touch(p, zone_leaf_owner(patch_view(p), cut), false) != NULL;
	return is_touched ? KNOT_OK : KNOT_ENOMEM;
}

/* Make room for the part in another tree. */
static knot_err_t leave_tree(patch_t *p, patch_name_t *name)
{
	bool was_auth = name->tree == PATCH_AUTH;
	knot_err_t err = patch_take(p, name);
	return err == KNOT_OK && was_auth ? forget_child(p, name) : err;
}

/* Put the part into a tree, or leave it there with other flags. */
static knot_err_t enter_tree(patch_t *p, patch_name_t *name, patch_tree_t tree, uint16_t flags)
{
	bool is_new = name->tree != tree;
	name->tree = tree;
	name->flags = flags;
	knot_err_t err = patch_show(p, name);
	return err == KNOT_OK && is_new && tree == PATCH_AUTH ? place_child(p, name) : err;
}

static knot_err_t place_rest(patch_t *p, patch_name_t *name)
{
	const uint16_t below = ZONE_NODE_CHILDREN | ZONE_NODE_WILDCARD_CHILD;
	bool is_below_cut = cut_above(p, name->owner) != 0, is_apex = depth_of(p, name->owner) == 0;
	patch_tree_t want = name->records == NULL ? PATCH_NONE : is_below_cut ? PATCH_GLUE : PATCH_AUTH;
	bool was_cut = name->tree == PATCH_AUTH && (name->flags & ZONE_NODE_CUT);
	bool is_cut = want == PATCH_AUTH && !is_apex && has_type(name->records, KNOT_TYPE_NS);
	knot_err_t err = KNOT_OK;
	if (was_cut != is_cut) {
		err = lift_below(p, name, is_cut ? PATCH_AUTH : PATCH_GLUE);
		name->flags &= (uint16_t)~below;
	}
	if (err == KNOT_OK && name->tree == PATCH_AUTH && want == PATCH_NONE && (name->flags & below)) {
		return enter_tree(p, name, PATCH_AUTH, name->flags & below); /* an empty non-terminal remains */
	}
	if (err == KNOT_OK && name->tree != want && name->tree != PATCH_NONE) {
		err = leave_tree(p, name);
	}
	uint16_t flags = want == PATCH_GLUE ? ZONE_NODE_GLUE
					    : (uint16_t)((name->tree == PATCH_AUTH ? name->flags & below : 0) |
							      (is_cut ? ZONE_NODE_CUT : 0) |
							      (is_apex ? ZONE_NODE_APEX : 0));
	if (err == KNOT_OK && want != PATCH_NONE) {
		err = enter_tree(p, name, want, flags);
	}
	return err == KNOT_OK ? touch_cut(p, name->owner) : err;
}

/* True if the records are of the chain that is answered from, or there is no such chain. */
static bool is_of_chain(const patch_t *p, const patch_name_t *name)
{
	const zone_nsec3_params_t *params = &p->zone->nsec3_params;
	bool is_any = params->algorithm == 0 || depth_of(p, name->owner) != 1;
	for (const zone_record_t *r = name->records; r != NULL && !is_any; r = r->next) {
		is_any = r->type == KNOT_TYPE_NSEC3 &&
			 zone_nsec3_has_params((knot_bytes_t){ r->rdata, r->rdata_len }, params);
	}
	return is_any;
}

/* The node before one in the chain says what is behind it. */
static knot_err_t touch_nsec3_before(patch_t *p, knot_name_t owner)
{
	const zone_tree_t *chain = &p->zone->nsec3;
	zone_ref_t ref = zone_tree_below(patch_view(p), chain, owner);
	ref = ref != 0 ? ref : zone_tree_last(patch_view(p), chain);
	bool is_touched = ref == 0 || patch_touch(p, zone_leaf_owner(patch_view(p), ref), true) != NULL;
	return is_touched ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t place_nsec3(patch_t *p, patch_name_t *name)
{
	patch_tree_t want = name->records == NULL ? PATCH_NONE : is_of_chain(p, name) ? PATCH_NSEC3 : PATCH_GLUE;
	bool has_moved = name->tree != want;
	knot_err_t err = KNOT_OK;
	if (has_moved && name->tree != PATCH_NONE) {
		err = patch_take(p, name);
	}
	if (err == KNOT_OK && want != PATCH_NONE) {
		err = enter_tree(p, name, want, want == PATCH_NSEC3 ? ZONE_NODE_NSEC3 : ZONE_NODE_GLUE);
	}
	return err == KNOT_OK && has_moved ? touch_nsec3_before(p, name->owner) : err;
}

/* The entries of a change: a part that neither was there nor comes has none. */
static knot_err_t patch_enter(patch_t *p, const zone_change_t *change)
{
	for (int is_nsec3_part = 1; is_nsec3_part >= 0; is_nsec3_part--) {
		const zone_record_t *records;
		knot_err_t err = part_of(p, change->records, is_nsec3_part, &records);
		if (err != KNOT_OK) {
			return err;
		}
		patch_name_t old = { .owner = change->owner, .is_nsec3_part = is_nsec3_part };
		if (records == NULL) {
			find_old(p, &old);
		}
		if (records == NULL && old.old_ref == 0) {
			continue;
		}
		patch_name_t *name = patch_get(p, change->owner, is_nsec3_part);
		if (name == NULL) {
			return KNOT_ENOMEM;
		}
		name->records = records;
		name->has_records = true;
	}
	return KNOT_OK;
}

knot_err_t patch_place(patch_t *p, const zone_change_t *changes, size_t count)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		assert(i == 0 || knot_name_cmp(changes[i - 1].owner, changes[i].owner) < 0);
		err = patch_enter(p, &changes[i]);
	}
	for (p->at = 0; p->at < p->count && err == KNOT_OK; p->at++) {
		patch_name_t *name = *patch_slot(p, p->at);
		if (!name->is_placed) {
			name->is_placed = true;
			err = name->is_nsec3_part ? place_nsec3(p, name) : place_rest(p, name);
		}
	}
	patch_move_gap(p, p->count);
	return err;
}
