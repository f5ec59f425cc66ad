/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incremental signing. What a change can reach: the names that it names; if a delegation comes or goes, the names below
 * it; for NSEC3 the empty non-terminals above all these; and in the chain those in front of them. Each of these names
 * is looked at as it is now and made what it should be; what is right stays.
 */
#include <stdlib.h>

#include "libknot/base/encode.h"
#include "src/sign/apex.h"
#include "src/sign/links.h"
#include "src/sign/sign.h"
#include "src/sign/zone.h"

/* A name that the change reaches. */
typedef struct {
	knot_name_t owner;
	sign_place_t place;
	bool counts;         /* is in the chain for records of its own */
	bool is_member;      /* or for names below it */
	knot_bytes_t bitmap; /* of a member */
} reached_t;

typedef struct {
	sign_run_t *run;
	const zone_contents_t *base;
	reached_t *names; /* owned */
	size_t count, max;
	sign_mem_t mem;
	sign_name_t name, before;
	zone_tree_iter_t iter;
	bool is_whole;     /* the change can't be signed by itself */
	bool touches_keys; /* DNSKEY, CDS or CDNSKEY */
	knot_err_t err;
} change_t;

static knot_err_t change_reach(change_t *c, knot_name_t owner)
{
	const knot_name_t *last = c->count > 0 ? &c->names[c->count - 1].owner : NULL;
	if (last != NULL && knot_name_eq(*last, owner)) {
		return KNOT_OK;
	}
	if (c->count == c->max) {
		size_t max = 2 * c->max + 64;
		reached_t *grown = realloc(c->names, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		c->names = grown;
		c->max = max;
	}
	knot_name_t copy = sign_mem_name(&c->mem, owner);
	if (copy.wire == NULL) {
		return KNOT_ENOMEM;
	}
	c->names[c->count++] = (reached_t){ .owner = copy };
	return KNOT_OK;
}

/* ---- What the change says ---- */

static bool see_change(const zone_rr_t *rr, void *ctx)
{
	change_t *c = ctx;
	bool is_apex = rr->owner.len == c->run->origin.len;
	bool is_sig = rr->type == KNOT_TYPE_RRSIG;
	uint16_t type = is_sig ? sign_rrsig_covered(rr->rdata) : rr->type;
	bool is_chain = type == KNOT_TYPE_NSEC3 || (type == KNOT_TYPE_NSEC && !is_sig);
	bool is_of_all = is_apex && !is_sig && (type == KNOT_TYPE_DNSKEY || type == KNOT_TYPE_NSEC3PARAM);
	c->is_whole = c->is_whole || is_chain || is_of_all;
	c->touches_keys = c->touches_keys || (is_apex && !is_sig && sign_is_key_type(type));
	c->err = change_reach(c, rr->owner);
	return c->err == KNOT_OK;
}

/* True if the version's NSEC3 records are those of the plan: the apex's shows it. */
static knot_err_t change_check_nsec3(change_t *c, bool *ret_fits)
{
	const sign_plan_t *plan = c->run->plan;
	uint8_t wire[KNOT_NAME_MAX], head[SIGN_NSEC3_HEAD_MAX], next[ZONE_NSEC3_HASH_LEN] = { 0 };
	knot_name_t owner;
	if (!zone_nsec3_owner(&plan->nsec3, c->run->origin, c->run->origin, wire, &owner)) {
		return KNOT_EPARAM;
	}
	size_t len = sign_nsec3_print(&plan->nsec3, plan->is_opt_out, next, head) - ZONE_NSEC3_HASH_LEN;
	knot_err_t err = sign_name_load_base(&c->name, c->base, owner, SIGN_PART_NSEC3);
	*ret_fits = err == KNOT_OK && c->name.count > 0 && c->name.rrs[0].rdata.len > len &&
		    memcmp(c->name.rrs[0].rdata.data, head, len) == 0;
	return err;
}

/* True if the chain of the version is the one that is planned. */
static knot_err_t change_check_chain(change_t *c, bool *ret_fits)
{
	bool has_nsec3 = zone_nsec3_tree(c->base)->count > 0;
	*ret_fits = c->base->is_signed && c->base->soa_minimum_ttl == c->run->chain_ttl;
	switch (c->run->plan->chain) {
	case SIGN_CHAIN_NSEC: *ret_fits = *ret_fits && c->base->has_nsec && !has_nsec3; return KNOT_OK;
	case SIGN_CHAIN_NSEC3:
		*ret_fits = *ret_fits && !c->base->has_nsec && has_nsec3;
		return *ret_fits ? change_check_nsec3(c, ret_fits) : KNOT_OK;
	case SIGN_CHAIN_KEPT: return KNOT_OK;
	}
	return KNOT_OK;
}

static knot_err_t change_read(change_t *c)
{
	knot_err_t err = zone_txn_diff(c->run->txn, false, see_change, c);
	err = err == KNOT_OK ? c->err : err;
	err = err == KNOT_OK ? zone_txn_diff(c->run->txn, true, see_change, c) : err;
	err = err == KNOT_OK ? c->err : err;
	bool fits = false;
	err = err == KNOT_OK && c->base != NULL && !c->is_whole ? change_check_chain(c, &fits) : err;
	c->is_whole = !fits;
	return err;
}

/* ---- What it reaches ---- */

static bool base_has_ns(const zone_contents_t *base, knot_name_t owner)
{
	const zone_node_t *node = zone_find_node(base, owner);
	return node != NULL && zone_node_rrset(&base->arena, node, KNOT_TYPE_NS) != NULL;
}

static bool has_ns(const change_t *c, knot_name_t owner)
{
	uint32_t ttl;
	return zone_txn_find_ttl(c->run->txn, owner, KNOT_TYPE_NS, &ttl) == KNOT_OK;
}

static knot_err_t change_reach_below(change_t *c, const zone_tree_t *tree, knot_name_t owner)
{
	knot_err_t err = KNOT_OK;
	zone_tree_seek(&c->base->arena, tree, owner, &c->iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(&c->iter)) != 0;) {
		knot_name_t below = zone_leaf_owner(&c->base->arena, ref);
		if (!knot_name_in(below, owner)) {
			break;
		}
		err = change_reach(c, below);
	}
	return err;
}

/* The empty non-terminals above a name that may come or go. What is above a name with records isn't one because of this
 * name. */
static knot_err_t change_reach_above(change_t *c, knot_name_t owner)
{
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && owner.label_count > c->run->origin.label_count + 1) {
		owner = knot_name_strip(owner, 1);
		err = sign_name_load(&c->name, c->run->txn, owner, SIGN_PART_REST);
		if (err == KNOT_OK && sign_name_has_data(&c->name)) {
			break;
		}
		err = err == KNOT_OK ? change_reach(c, owner) : err;
	}
	return err;
}

static int cmp_reached(const void *va, const void *vb)
{
	const reached_t *a = va, *b = vb;
	return knot_name_cmp(a->owner, b->owner);
}

/* In order, each once. */
static void change_sort(change_t *c)
{
	if (c->count > 0) {
		qsort(c->names, c->count, sizeof(*c->names), cmp_reached);
	}
	size_t kept = 0;
	for (size_t i = 0; i < c->count; i++) {
		if (kept == 0 || !knot_name_eq(c->names[kept - 1].owner, c->names[i].owner)) {
			c->names[kept++] = c->names[i];
		}
	}
	c->count = kept;
}

static knot_err_t change_extend(change_t *c)
{
	knot_err_t err = KNOT_OK;
	change_sort(c);
	size_t count = c->count;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		knot_name_t owner = c->names[i].owner;
		bool is_apex = owner.len == c->run->origin.len;
		if (!is_apex && base_has_ns(c->base, owner) != has_ns(c, owner)) {
			err = change_reach_below(c, &c->base->auth, owner);
			err = err == KNOT_OK ? change_reach_below(c, zone_glue_tree(c->base), owner) : err;
		}
	}
	count = c->run->plan->chain == SIGN_CHAIN_NSEC3 ? c->count : 0;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		err = change_reach_above(c, c->names[i].owner);
	}
	change_sort(c);
	return err;
}

/* ---- What the names are now ---- */

static sign_place_t change_place(const change_t *c, knot_name_t owner)
{
	for (unsigned labels = c->run->origin.label_count + 1u; labels <= owner.label_count; labels++) {
		if (has_ns(c, knot_name_strip(owner, owner.label_count - labels))) {
			return labels < owner.label_count ? SIGN_PLACE_BELOW : SIGN_PLACE_CUT;
		}
	}
	return SIGN_PLACE_AUTH;
}

static knot_err_t change_look(change_t *c, reached_t *reached)
{
	uint8_t bitmap[SIGN_BITMAP_MAX];
	size_t len = 0;
	knot_err_t err = sign_name_load(&c->name, c->run->txn, reached->owner, SIGN_PART_REST);
	if (err != KNOT_OK) {
		return err;
	}
	reached->place = change_place(c, reached->owner);
	reached->counts = sign_name_is_member(&c->name, reached->place, c->run->plan);
	reached->is_member = reached->counts;
	if (reached->counts) {
		err = sign_name_bitmap(&c->name, reached->place, c->run->plan->chain, bitmap, &len);
	}
	reached->bitmap = sign_mem_copy(&c->mem, (knot_bytes_t){ bitmap, len });
	return err == KNOT_OK && c->mem.failed ? KNOT_ENOMEM : err;
}

static bool change_reaches(const change_t *c, knot_name_t owner)
{
	const reached_t wanted = { .owner = owner };
	return bsearch(&wanted, c->names, c->count, sizeof(*c->names), cmp_reached) != NULL;
}

/* True if a name below that the change doesn't reach is in the chain for records of its own. */
static bool change_finds_below(change_t *c, knot_name_t owner)
{
	const zone_contents_t *base = c->base;
	zone_tree_seek(&base->arena, &base->auth, owner, &c->iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&c->iter)) != 0;) {
		const zone_node_t *node = zone_at(&base->arena, ref);
		knot_name_t below = zone_node_owner(node);
		bool is_insecure = (node->flags & ZONE_NODE_CUT) != 0 &&
				   zone_node_rrset(&base->arena, node, KNOT_TYPE_DS) == NULL &&
				   zone_node_rrset(&base->arena, node, SIGN_TYPE_DELEG) == NULL;
		if (!knot_name_in(below, owner)) {
			return false;
		}
		if (zone_node_rrset_count(node) > 0 && !(is_insecure && c->run->plan->is_opt_out) &&
				!change_reaches(c, below)) {
			return true;
		}
	}
	return false;
}

/* Whether the name is an empty non-terminal in the NSEC3 chain. Names below follow in the list. */
static bool change_is_nonterminal(change_t *c, size_t number)
{
	knot_name_t owner = c->names[number].owner;
	for (size_t i = number + 1; i < c->count && knot_name_in(c->names[i].owner, owner); i++) {
		if (c->names[i].counts) {
			return true;
		}
	}
	return change_finds_below(c, owner);
}

static knot_err_t change_look_all(change_t *c)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < c->count; i++) {
		err = change_look(c, &c->names[i]);
	}
	bool has_nonterminals = c->run->plan->chain == SIGN_CHAIN_NSEC3;
	for (size_t i = 0; err == KNOT_OK && has_nonterminals && i < c->count; i++) {
		reached_t *reached = &c->names[i];
		if (reached->place == SIGN_PLACE_AUTH && !reached->counts) {
			reached->is_member = change_is_nonterminal(c, i);
		}
	}
	return err;
}

/* ---- Signatures ---- */

/* Read a name, and what is known of its signatures. */
static knot_err_t change_load(change_t *c, knot_name_t owner, sign_part_t part)
{
	knot_err_t err = sign_name_load(&c->name, c->run->txn, owner, part);
	err = err == KNOT_OK ? sign_name_load_base(&c->before, c->base, owner, part) : err;
	if (err == KNOT_OK) {
		sign_name_compare(&c->name, &c->before, true);
	}
	return err;
}

/* Everything but NSEC of members, which comes with the chain. */
static knot_err_t change_sign_names(change_t *c)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < c->count; i++) {
		const reached_t *reached = &c->names[i];
		sign_chain_t chain = c->run->plan->chain;
		sign_nsec_t nsec = chain == SIGN_CHAIN_KEPT                         ? SIGN_NSEC_KEPT
				   : chain == SIGN_CHAIN_NSEC && reached->is_member ? SIGN_NSEC_APART
										    : SIGN_NSEC_GOES;
		err = change_load(c, reached->owner, SIGN_PART_REST);
		err = err == KNOT_OK ? sign_run_add(c->run, &c->name, reached->place, nsec, NULL) : err;
		err = err == KNOT_OK ? sign_run_pass(c->run) : err;
	}
	return err;
}

/* ---- The chain ---- */

static size_t change_print_nsec3(const change_t *c, knot_name_t next, uint8_t *rdata)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	(void)knot_base32hex_scan((knot_str_t){ (const char *)next.wire + 1, ZONE_NSEC3_LABEL_LEN }, hash);
	return sign_nsec3_print(&c->run->plan->nsec3, c->run->plan->is_opt_out, hash, rdata);
}

/* A record of the chain: of a changed name, or of a neighbour with another next name. */
static knot_err_t change_link(
		change_t *c, uint16_t type, const sign_stop_t *stop, const sign_change_t *changes, knot_name_t next)
{
	uint8_t rdata[SIGN_NSEC3_HEAD_MAX + KNOT_NAME_MAX + SIGN_BITMAP_MAX];
	sign_part_t part = type == KNOT_TYPE_NSEC3 ? SIGN_PART_NSEC3 : SIGN_PART_REST;
	size_t len = next.len, set;
	knot_err_t err = change_load(c, stop->owner, part);
	if (err != KNOT_OK) {
		return err;
	}
	knot_bytes_t bitmap = { 0 };
	if (stop->change != SIGN_NO_CHANGE) {
		bitmap = changes[stop->change].bitmap;
	} else {
		for (size_t i = 0; bitmap.data == NULL && i < c->name.count; i++) {
			const sign_rr_t *rr = &c->name.rrs[i];
			bitmap = rr->type == type ? sign_rdata_bitmap(type, rr->rdata) : bitmap;
		}
	}
	if (type == KNOT_TYPE_NSEC) {
		memcpy(rdata, next.wire, next.len);
	} else {
		len = change_print_nsec3(c, next, rdata);
	}
	if (bitmap.len > 0) {
		memcpy(rdata + len, bitmap.data, bitmap.len);
	}
	err = sign_run_add_set(c->run, &c->name, type, true, &set);
	err = err == KNOT_OK ? sign_run_give(c->run, set, (knot_bytes_t){ rdata, len + bitmap.len }) : err;
	return err == KNOT_OK ? sign_run_pass(c->run) : err;
}

static knot_err_t change_link_all(change_t *c, uint16_t type, const sign_change_t *changes, size_t change_count)
{
	sign_stops_t stops = { 0 };
	knot_err_t err = sign_stops_find(c->base, type, changes, change_count, &stops);
	for (size_t i = 0; err == KNOT_OK && i < stops.count; i++) {
		const sign_stop_t *stop = &stops.stops[i];
		knot_name_t next = stops.stops[(i + 1) % stops.count].owner;
		err = stop->is_open ? KNOT_OK : change_link(c, type, stop, changes, next);
	}
	sign_stops_done(&stops);
	return err;
}

/* NSEC3 records that go. */
static knot_err_t change_unlink(change_t *c, const sign_change_t *changes, size_t change_count)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < change_count; i++) {
		size_t set;
		if (changes[i].is_member) {
			continue;
		}
		err = change_load(c, changes[i].owner, SIGN_PART_NSEC3);
		err = err == KNOT_OK ? sign_run_add_set(c->run, &c->name, KNOT_TYPE_NSEC3, false, &set) : err;
		if (err == KNOT_OK) {
			sign_run_drop(c->run, set);
			err = sign_run_pass(c->run);
		}
	}
	return err;
}

/* The name as one of the chain; false: it was not in it and won't be. */
static bool change_make(change_t *c, const reached_t *reached, sign_change_t *ret_change, knot_err_t *ret_err)
{
	const sign_plan_t *plan = c->run->plan;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner;
	*ret_change = (sign_change_t){ reached->owner, reached->is_member, reached->bitmap };
	if (plan->chain != SIGN_CHAIN_NSEC3) {
		return true;
	}
	if (!zone_nsec3_owner(&plan->nsec3, reached->owner, c->run->origin, wire, &owner)) {
		*ret_err = KNOT_ERROR;
		return false;
	}
	ret_change->owner = sign_mem_name(&c->mem, owner);
	*ret_err = ret_change->owner.wire == NULL ? KNOT_ENOMEM : KNOT_OK;
	return reached->is_member || zone_tree_find(&c->base->arena, zone_nsec3_tree(c->base), owner) != 0;
}

static int cmp_changes(const void *va, const void *vb)
{
	const sign_change_t *a = va, *b = vb;
	return knot_name_cmp(a->owner, b->owner);
}

static knot_err_t change_sign_chain(change_t *c)
{
	bool is_nsec3 = c->run->plan->chain == SIGN_CHAIN_NSEC3;
	knot_err_t err = KNOT_OK;
	size_t count = 0;
	sign_change_t *changes = calloc(c->count + 1, sizeof(*changes));
	if (changes == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; err == KNOT_OK && i < c->count; i++) {
		count += change_make(c, &c->names[i], &changes[count], &err);
	}
	if (is_nsec3) {
		qsort(changes, count, sizeof(*changes), cmp_changes);
	}
	uint16_t type = is_nsec3 ? KNOT_TYPE_NSEC3 : KNOT_TYPE_NSEC;
	err = err == KNOT_OK ? change_link_all(c, type, changes, count) : err;
	err = err == KNOT_OK && is_nsec3 ? change_unlink(c, changes, count) : err;
	free(changes);
	return err;
}

/* ---- All of it ---- */

static knot_err_t change_sign(change_t *c)
{
	knot_err_t err = c->touches_keys ? sign_apex_keys(c->run) : KNOT_OK;
	err = err == KNOT_OK ? change_extend(c) : err;
	err = err == KNOT_OK ? change_look_all(c) : err;
	err = err == KNOT_OK ? change_sign_names(c) : err;
	if (err == KNOT_OK && c->count > 0 && c->run->plan->chain != SIGN_CHAIN_KEPT) {
		err = change_sign_chain(c);
	}
	return err == KNOT_OK ? sign_run_flush(c->run) : err;
}

static knot_err_t change_sign_whole(sign_run_t *run)
{
	knot_err_t err = sign_apex_keys(run);
	return err == KNOT_OK ? sign_whole(run) : err;
}

knot_err_t sign_change(zone_txn_t *txn, const sign_plan_t *plan, bool *ret_all, sign_result_t *ret_result)
{
	sign_run_t run;
	knot_err_t err = sign_run_init(&run, txn, NULL, plan);
	change_t *c = err == KNOT_OK ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL) {
		sign_run_done(&run);
		return err == KNOT_OK ? KNOT_ENOMEM : err;
	}
	c->run = &run;
	c->base = zone_txn_base(txn);
	err = change_read(c);
	bool is_whole = c->is_whole;
	if (err == KNOT_OK) {
		err = is_whole ? change_sign_whole(&run) : change_sign(c);
	}
	if (err == KNOT_OK) {
		*ret_all = is_whole;
		*ret_result = sign_run_result(&run);
	}
	sign_name_done(&c->name);
	sign_name_done(&c->before);
	sign_mem_done(&c->mem);
	free(c->names);
	free(c);
	sign_run_done(&run);
	return err;
}
