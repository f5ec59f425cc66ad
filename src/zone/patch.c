/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/patch.h"

#include "src/zone/facts.h"
#include "src/zone/nsec3_records.h"
#include "src/zone/patch_place.h"
#include "src/zone/records.h"
#include "src/zone/shared.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Numbers ---- */

/* Write a number's node. */
static knot_err_t patch_set_link(patch_t *p, zone_link_t link, zone_ref_t ref)
{
	return zone_links_set(p->zone->store, &p->zone->links, link, ref);
}

static zone_ref_t absent_find(const patch_t *p, knot_name_t owner)
{
	return zone_tree_find(patch_view(p), &p->zone->absent, owner);
}

/* Remember the number of a name that doesn't exist. */
static knot_err_t absent_add(patch_t *p, knot_name_t owner, zone_link_t link)
{
	zone_ref_t ref = zone_node_bare(p->zone->store, owner, 0, link), old;
	return ref != 0 ? zone_tree_put(p->zone->store, &p->zone->absent, ref, &old) : KNOT_ENOMEM;
}

/* A name that comes takes the number by which records refer to it already. */
static knot_err_t absent_take(patch_t *p, patch_name_t *name)
{
	zone_ref_t ref = absent_find(p, name->owner);
	if (ref == 0) {
		return KNOT_OK;
	}
	const zone_node_t *node = zone_at(patch_view(p), ref);
	name->self = zone_node_self(node);
	knot_err_t err = zone_tree_remove(p->zone->store, &p->zone->absent, name->owner);
	zone_node_drop(p->zone->store, ref);
	return err;
}

static knot_err_t number_nsec3(patch_t *p, patch_name_t *name)
{
	if (name->tree == PATCH_NSEC3 && name->self == 0) {
		return zone_links_add(p->zone->store, &p->zone->links, &name->self);
	}
	zone_link_t old = name->tree == PATCH_NSEC3 ? 0 : name->self;
	name->self -= old;
	/* Never given to another owner: what matched this one is searched again. */
	return old != 0 ? patch_set_link(p, old, 0) : KNOT_OK;
}

static knot_err_t number_rest(patch_t *p, patch_name_t *name)
{
	if (name->tree != PATCH_NONE) {
		return name->self == 0 ? absent_take(p, name) : KNOT_OK;
	}
	if (name->self == 0) {
		return KNOT_OK;
	}
	knot_err_t err = absent_add(p, name->owner, name->self);
	return err == KNOT_OK ? patch_set_link(p, name->self, 0) : err;
}

static knot_err_t number_names(patch_t *p)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < p->count && err == KNOT_OK; i++) {
		patch_name_t *name = p->names[i];
		err = name->is_nsec3_part ? number_nsec3(p, name) : number_rest(p, name);
	}
	return err;
}

/* ---- Names that don't exist ---- */

/* The wildcard that a name would be synthesized from, or 0. */
static zone_ref_t patch_wildcard(const patch_t *p, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX], wire[KNOT_NAME_MAX];
	size_t key_len = knot_name_key(name, key);
	knot_name_t wildcard;
	zone_ref_t ref = zone_tree_match(patch_view(p), &p->zone->auth, name, key, key_len).encloser;
	const zone_node_t *encloser = zone_at(patch_view(p), ref);
	bool may_be = (encloser->flags & ZONE_NODE_WILDCARD_CHILD) && !(encloser->flags & ZONE_NODE_CUT);
	if (!may_be || !knot_name_wildcard_below(zone_node_owner(encloser), wire, &wildcard)) {
		return 0;
	}
	return zone_tree_find(patch_view(p), &p->zone->auth, wildcard);
}

/* Look again at the names at and below an anchor that don't exist. */
static knot_err_t resolve_below(patch_t *p, knot_name_t anchor)
{
	zone_tree_iter_t iter;
	knot_err_t err = KNOT_OK;
	zone_tree_seek(patch_view(p), &p->zone->absent, anchor, &iter); /* this tree doesn't change meanwhile */
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(&iter)) != 0;) {
		const zone_node_t *node = zone_at(patch_view(p), ref);
		if (!knot_name_in(zone_node_owner(node), anchor)) {
			break;
		}
		zone_ref_t wildcard = patch_wildcard(p, zone_node_owner(node));
		zone_link_t self = zone_node_self(node);
		if (zone_links_get(patch_view(p), &p->zone->links, self) != wildcard) {
			err = patch_set_link(p, self, wildcard);
		}
	}
	return err;
}

static knot_err_t resolve_absent(patch_t *p)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < p->count && err == KNOT_OK; i++) {
		const patch_name_t *name = p->names[i];
		const zone_node_t *old = name->old_ref != 0 ? zone_at(patch_view(p), name->old_ref) : NULL;
		bool was_cut = old != NULL && (old->flags & ZONE_NODE_CUT);
		bool has_moved = name->tree != name->old_tree || was_cut != ((name->flags & ZONE_NODE_CUT) != 0);
		if (name->is_nsec3_part) {
			continue;
		}
		if (knot_name_is_wildcard(name->owner)) {
			err = patch_anchor(p, knot_name_strip(name->owner, 1));
		} else if (has_moved) {
			err = patch_anchor(p, name->owner);
		}
	}
	for (size_t i = 0; i < p->anchor_count && err == KNOT_OK && p->zone->absent.count > 0; i++) {
		err = resolve_below(p, p->anchors[i]);
	}
	return err;
}

/* ---- Additional data ---- */

/* Give a node that isn't an entry of the patch, or is built, a number. */
static knot_err_t number_node(patch_t *p, patch_tree_t tree, zone_ref_t ref, patch_name_t *name, zone_link_t *ret_link)
{
	zone_arena_t *store = p->zone->store;
	knot_err_t err = zone_links_add(store, &p->zone->links, ret_link);
	zone_ref_t numbered = err == KNOT_OK ? zone_node_number(store, ref, *ret_link) : 0, old;
	if (numbered == 0) {
		return err != KNOT_OK ? err : KNOT_ENOMEM;
	}
	err = zone_tree_put(store, patch_tree(p, tree), numbered, &old);
	zone_node_drop(store, ref);
	err = err == KNOT_OK ? patch_set_link(p, *ret_link, numbered) : err;
	if (name != NULL) {
		name->self = *ret_link;
		name->ref = numbered;
	}
	knot_name_t owner = zone_leaf_owner(patch_view(p), numbered);
	if (err == KNOT_OK && knot_name_is_wildcard(owner)) { /* names that don't exist may have its node */
		err = patch_anchor(p, knot_name_strip(owner, 1));
	}
	return err;
}

/* The number of a target elsewhere in the zone, whether it exists or not. */
static knot_err_t patch_number_target(patch_t *p, knot_name_t target, zone_link_t *ret_link)
{
	patch_tree_t tree = PATCH_AUTH;
	zone_ref_t ref = zone_tree_find(patch_view(p), &p->zone->auth, target);
	if (ref == 0 && !patch_is_other_chain(p, target)) {
		tree = PATCH_GLUE;
		ref = zone_tree_find(patch_view(p), &p->zone->glue, target);
	}
	patch_name_t *name = ref != 0 ? patch_find(p, target, false) : NULL;
	if (name != NULL && !name->is_built) {
		knot_err_t err = name->self == 0 ? zone_links_add(p->zone->store, &p->zone->links, &name->self)
						 : KNOT_OK;
		*ret_link = name->self;
		return err;
	}
	if (ref == 0) {
		ref = absent_find(p, target);
		if (ref == 0) {
			knot_err_t err = zone_links_add(p->zone->store, &p->zone->links, ret_link);
			err = err == KNOT_OK ? absent_add(p, target, *ret_link) : err;
			return err == KNOT_OK ? patch_set_link(p, *ret_link, patch_wildcard(p, target)) : err;
		}
	}
	*ret_link = zone_node_self(zone_at(patch_view(p), ref));
	return *ret_link == 0 ? number_node(p, tree, ref, name, ret_link) : KNOT_OK;
}

/* Glue of the delegation being built for a name server at or below it. */
static knot_err_t patch_find_own(patch_t *p, knot_name_t target, zone_target_t *ret)
{
	if (target.len == p->current->owner.len) {
		*ret = (zone_target_t){ .glue = p->current->records, .glue_id = p->current };
		return KNOT_OK;
	}
	zone_ref_t ref = zone_tree_find(patch_view(p), &p->zone->glue, target);
	patch_name_t *name = ref != 0 ? patch_find(p, target, false) : NULL;
	knot_err_t err = KNOT_OK;
	if (name != NULL) {
		err = patch_load(p, name);
		*ret = (zone_target_t){ .glue = name->records, .glue_id = name };
	} else if (ref != 0) {
		err = patch_expand(p, ref, &ret->glue);
		ret->glue_id = zone_at(patch_view(p), ref);
	}
	return err;
}

static zone_target_t patch_on_target(knot_name_t target, uint16_t type, void *ctx)
{
	patch_t *p = ctx;
	zone_target_t found = { 0 };
	if (!knot_name_in(target, zone_node_owner(p->base->apex))) {
		found.is_outside = true;
		return found;
	}
	if (p->err != KNOT_OK) { /* a table that could not be written may be broken */
		return found;
	}
	bool is_own = type == KNOT_TYPE_NS && (p->current->flags & ZONE_NODE_CUT) &&
		      knot_name_in(target, p->current->owner);
	knot_err_t err = is_own ? patch_find_own(p, target, &found) : patch_number_target(p, target, &found.link);
	p->err = err != KNOT_OK ? err : p->err;
	return found;
}

static zone_ref_t patch_on_share(uint32_t hash, const uint8_t *bytes, size_t len, void *ctx)
{
	patch_t *p = ctx;
	return zone_shared_use(p->zone->store, &p->zone->shared, hash, bytes, len);
}

/* ---- Building ---- */

/* What the chain says of a name's hash. */
static zone_nsec3_hint_t patch_find_nsec3(knot_name_t name, void *ctx)
{
	const patch_t *p = ctx;
	uint8_t hash[ZONE_NSEC3_HASH_LEN], wire[KNOT_NAME_MAX];
	knot_name_t hashed, apex = zone_node_owner(p->base->apex);
	const zone_nsec3_params_t *params = &p->zone->nsec3_params;
	const zone_tree_t *chain = &p->zone->nsec3;
	if (!zone_nsec3_owner(params, name, apex, wire, &hashed) || !zone_nsec3_owner_hash(hashed, hash)) {
		return (zone_nsec3_hint_t){ 0 };
	}
	zone_ref_t ref = zone_tree_floor(patch_view(p), chain, hashed);
	bool is_match = ref != 0 && knot_name_eq(zone_leaf_owner(patch_view(p), ref), hashed);
	ref = ref != 0 ? ref : zone_tree_last(patch_view(p), chain);
	return (zone_nsec3_hint_t){ zone_node_self(zone_at(patch_view(p), ref)), is_match, load_be32(hash) };
}

/* The owner behind one in the ring of the chain. */
static knot_name_t patch_next_nsec3(const patch_t *p, knot_name_t owner)
{
	zone_tree_iter_t iter;
	zone_tree_seek(patch_view(p), &p->zone->nsec3, owner, &iter);
	(void)zone_tree_next(&iter);
	zone_ref_t ref = zone_tree_next(&iter);
	if (ref == 0) {
		zone_tree_begin(patch_view(p), &p->zone->nsec3, &iter);
		ref = zone_tree_next(&iter);
	}
	return zone_leaf_owner(patch_view(p), ref);
}

static knot_err_t patch_build_name(patch_t *p, patch_name_t *name)
{
	knot_err_t err = patch_load(p, name);
	if (err != KNOT_OK) {
		return err;
	}
	zone_arena_t *store = p->zone->store;
	bool has_chain = p->zone->nsec3_params.algorithm != 0;
	zone_node_params_t params = {
		.owner = name->owner,
		.records = name->records,
		.flags = name->flags,
		.self = name->self,
		.on_target = name->tree == PATCH_AUTH ? patch_on_target : NULL,
		.on_share = patch_on_share,
		.ctx = p,
	};
	if (name->tree == PATCH_AUTH && has_chain) {
		zone_nsec3_give_hints(&params, &p->zone->nsec3_params, patch_find_nsec3, p);
	}
	if (name->tree == PATCH_NSEC3 && has_chain) {
		zone_nsec3_place(patch_next_nsec3(p, name->owner), &params);
	}
	p->current = name;
	zone_ref_t ref, old = name->ref, replaced;
	err = zone_node_build(p->builder, store, &params, &ref, &p->added);
	err = err == KNOT_OK ? p->err : err;
	if (err == KNOT_OK && name->self != params.self) { /* it refers to itself */
		zone_ref_t numbered = zone_node_number(store, ref, name->self);
		zone_node_drop(store, ref);
		ref = numbered;
		err = ref != 0 ? KNOT_OK : KNOT_ENOMEM;
	}
	err = err == KNOT_OK ? zone_tree_put(store, patch_tree(p, name->tree), ref, &replaced) : err;
	if (err == KNOT_OK && old != name->old_ref) {
		zone_node_drop(store, old);
	}
	name->ref = ref;
	name->is_built = true;
	return err == KNOT_OK && name->self != 0 ? patch_set_link(p, name->self, ref) : err;
}

/* The chain first: names are linked to it. */
static knot_err_t patch_build_names(patch_t *p)
{
	knot_err_t err = KNOT_OK;
	for (int is_nsec3_part = 1; is_nsec3_part >= 0; is_nsec3_part--) {
		for (size_t i = 0; i < p->count && err == KNOT_OK; i++) {
			patch_name_t *name = p->names[i];
			if (name->tree != PATCH_NONE && name->is_nsec3_part == is_nsec3_part) {
				err = patch_build_name(p, name);
			}
		}
	}
	return err;
}

/* ---- What is no longer used ---- */

typedef struct {
	zone_node_sums_t *sums;
	size_t owner_len;
} patch_measure_t;

static bool patch_measure(const zone_rr_t *rr, void *ctx)
{
	const patch_measure_t *measure = ctx;
	measure->sums->wire_size += measure->owner_len + 10 + rr->rdata.len;
	measure->sums->record_count++;
	return true;
}

static knot_err_t patch_drop_name(patch_t *p, const patch_name_t *name)
{
	const zone_node_t *node = zone_at(&p->base->arena, name->old_ref);
	patch_measure_t measure = { &p->removed, node->owner_len };
	(void)zone_each_of_node(p->base, node, p->scratch, patch_measure, &measure);
	unsigned count = zone_node_rrset_count(node);
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; i < count && err == KNOT_OK; i++) {
		zone_ref_t shared = zone_node_shared_ref(node, i);
		err = shared != 0 ? zone_shared_leave(p->zone->store, &p->zone->shared, shared) : KNOT_OK;
	}
	zone_node_drop(p->zone->store, name->old_ref);
	return err;
}

static knot_err_t patch_drop_names(patch_t *p)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < p->count && err == KNOT_OK; i++) {
		err = p->names[i]->old_ref != 0 ? patch_drop_name(p, p->names[i]) : KNOT_OK;
	}
	return err;
}

/* ---- The whole ---- */

static bool is_same_chain(const zone_nsec3_params_t *a, const zone_nsec3_params_t *b)
{
	return a->algorithm == b->algorithm && a->iterations == b->iterations && a->salt_len == b->salt_len &&
	       (a->salt_len == 0 || memcmp(a->salt, b->salt, a->salt_len) == 0);
}

/*
 * What the apex must have: a SOA, and the NSEC3PARAM that answers go by. A version without usable chain may have one,
 * too, by which its NSEC3 records were told apart; records that come may make that chain usable.
 */
static knot_err_t check_apex(patch_t *p, const zone_change_t *changes, size_t count)
{
	const zone_node_t *apex = p->base->apex;
	const zone_record_t *before, *records;
	knot_err_t err = patch_expand(p, zone_tree_find(patch_view(p), &p->zone->auth, zone_node_owner(apex)), &before);
	if (err != KNOT_OK) {
		return err;
	}
	records = count > 0 && changes[0].owner.len == apex->owner_len ? changes[0].records : before;
	const zone_record_t *soa = records;
	while (soa != NULL && soa->type != KNOT_TYPE_SOA) {
		soa = soa->next;
	}
	if (soa == NULL) {
		return KNOT_ENOSOA;
	}
	zone_nsec3_params_t params = zone_nsec3_params_of(records), old = zone_nsec3_params_of(before);
	bool is_same = is_same_chain(&params, zone_nsec3_params(p->base)) && is_same_chain(&params, &old);
	return is_same ? KNOT_OK : KNOT_EAGAIN;
}

/* Hashes can be looked up in a chain of one record or more whose owners are hashes directly below the apex. */
static knot_err_t check_chain(const patch_t *p)
{
	if (p->zone->nsec3_params.algorithm == 0) {
		return KNOT_OK;
	}
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	for (size_t i = 0; i < p->count; i++) {
		const patch_name_t *name = p->names[i];
		bool is_below_apex = name->owner.label_count == p->base->apex->owner_label_count + 1;
		if (name->tree == PATCH_NSEC3 && (!is_below_apex || !zone_nsec3_owner_hash(name->owner, hash))) {
			return KNOT_EAGAIN;
		}
	}
	return p->zone->nsec3.count > 0 ? KNOT_OK : KNOT_EAGAIN;
}

static knot_err_t patch_begin(patch_t *p)
{
	p->builder = zone_node_builder_new();
	p->scratch = malloc(KNOT_RDATA_MAX);
	p->zone = calloc(1, sizeof(*p->zone));
	if (p->builder == NULL || p->scratch == NULL || p->zone == NULL) {
		return KNOT_ENOMEM;
	}
	zone_contents_copy(p->base, p->zone);
	p->zone->apex_before = NULL;
	p->zone->store = zone_arena_fork(p->base->store);
	if (p->zone->store == NULL) {
		return KNOT_ENOMEM;
	}
	zone_arena_renumber(p->zone->store);
	return KNOT_OK;
}

static knot_err_t patch_end(patch_t *p, uint64_t size_max)
{
	zone_contents_t *zone = p->zone;
	zone->wire_size += p->added.wire_size - p->removed.wire_size;
	zone->record_count += p->added.record_count - p->removed.record_count;
	zone->max_ttl = p->added.max_ttl > zone->max_ttl ? p->added.max_ttl : zone->max_ttl;
	zone->live_size += (uint64_t)zone_arena_live_change(zone->store);
	if (size_max != 0 && zone->wire_size > size_max) {
		return KNOT_EZONESIZE;
	}
	zone_ref_t apex = zone_tree_find(patch_view(p), &zone->auth, zone_node_owner(p->base->apex));
	zone_arena_seal(zone->store, false);
	zone_facts_note(zone, apex);
	return KNOT_OK;
}

static knot_err_t patch_patch(patch_t *p, const zone_change_t *changes, size_t count, uint64_t size_max)
{
	knot_err_t err = patch_begin(p);
	err = err == KNOT_OK ? check_apex(p, changes, count) : err;
	err = err == KNOT_OK ? patch_place(p, changes, count) : err;
	err = err == KNOT_OK ? check_chain(p) : err;
	err = err == KNOT_OK ? number_names(p) : err;
	err = err == KNOT_OK ? patch_build_names(p) : err;
	err = err == KNOT_OK ? resolve_absent(p) : err;
	err = err == KNOT_OK ? patch_drop_names(p) : err;
	return err == KNOT_OK ? patch_end(p, size_max) : err;
}

static knot_err_t check_touched(const patch_t *p, const zone_check_params_t *checks)
{
	knot_name_t *names = malloc((p->count + 1) * sizeof(*names));
	if (names == NULL) {
		return KNOT_ENOMEM;
	}
	size_t count = 0;
	for (size_t i = 0; i < p->count; i++) {
		/* Two entries may be of one name: its NSEC3 records, and the rest. */
		if (count == 0 || !knot_name_eq(names[count - 1], p->names[i]->owner)) {
			names[count++] = p->names[i]->owner;
		}
	}
	knot_err_t err = zone_check_names(p->zone, checks, names, count);
	free(names);
	return err;
}

knot_err_t zone_patch(const zone_contents_t *base, const zone_change_t *changes, size_t count, uint64_t size_max,
		const zone_check_params_t *checks, zone_contents_t **ret_zone)
{
	patch_t p = { .base = base };
	knot_err_t err = patch_patch(&p, changes, count, size_max);
	err = err == KNOT_OK ? check_touched(&p, checks) : err;
	patch_done(&p);
	if (err != KNOT_OK) {
		zone_contents_free(p.zone);
		return err;
	}
	*ret_zone = p.zone;
	return KNOT_OK;
}
