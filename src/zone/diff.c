/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A name may change trees without a change of its records (a delegation comes or goes above it), and may have records
 * in two: those of the NSEC3 chain and others. So the comparison of the trees only gives names; those of all trees are
 * put in one order, and the records of each are compared.
 */
#include "src/zone/diff.h"

#include "src/zone/record_list.h"
#include "src/zone/tree_diff.h"

#include <assert.h>
#include <stdlib.h>

enum { TREES = 3 }; /* auth, glue, nsec3 */

/* Names to look at, ascending. */
typedef struct {
	knot_name_t *names; /* owned; they lie in the versions */
	size_t count, max, at;
} name_list_t;

typedef struct {
	const zone_contents_t *before, *after; /* NULL: empty */
	name_list_t lists[TREES];
	name_list_t *list; /* of the tree being compared */
	bool failed;
} zone_diff_t;

static const zone_arena_view_t *diff_view(const zone_contents_t *zone)
{
	static const zone_arena_view_t none = { .chunk_count = 0 };
	return zone != NULL ? &zone->arena : &none;
}

static bool is_same_block(const zone_block_t *a, const zone_block_t *b)
{
	bool is_alike = a->len == b->len && a->rr_count == b->rr_count && a->pointer_count == b->pointer_count &&
			(a->len == 0 || memcmp(a->bytes, b->bytes, a->len) == 0);
	for (unsigned i = 0; is_alike && i < a->pointer_count; i++) {
		is_alike = zone_block_pointer(a, i) == zone_block_pointer(b, i);
	}
	return is_alike;
}

bool zone_rrset_has_same_records(const zone_rrset_t *a, const zone_rrset_t *b)
{
	zone_block_t bodies[2] = { zone_rrset_body(a), zone_rrset_body(b) };
	return is_same_block(&bodies[0], &bodies[1]);
}

bool zone_rrset_is_same(const zone_rrset_t *a, const zone_rrset_t *b)
{
	zone_block_t sigs[2] = { zone_rrset_sigs(a), zone_rrset_sigs(b) };
	return zone_rrset_has_same_records(a, b) && is_same_block(&sigs[0], &sigs[1]);
}

bool zone_node_is_same(
		const zone_contents_t *before, const zone_node_t *a, const zone_contents_t *after, const zone_node_t *b)
{
	unsigned count = zone_node_rrset_count(a);
	bool is_same = count == zone_node_rrset_count(b);
	for (unsigned i = 0; is_same && i < count; i++) {
		is_same = zone_rrset_is_same(
				zone_node_rrset_at(&before->arena, a, i), zone_node_rrset_at(&after->arena, b, i));
	}
	return is_same;
}

static bool diff_note(zone_ref_t before, zone_ref_t after, void *ctx)
{
	zone_diff_t *d = ctx;
	name_list_t *list = d->list;
	const zone_node_t *old = before != 0 ? zone_at(&d->before->arena, before) : NULL,
			  *new = after != 0 ? zone_at(&d->after->arena, after) : NULL;
	bool is_empty = old != NULL && new == NULL ? zone_node_rrset_count(old) == 0
						   : old == NULL &&zone_node_rrset_count(new) == 0;
	if (is_empty || (old != NULL && new != NULL &&zone_node_is_same(d->before, old, d->after, new))) {
		return true;
	}
	if (list->count == list->max) {
		size_t max = 2 * list->max + 16;
		knot_name_t *names = realloc(list->names, max * sizeof(*names));
		if (names == NULL) {
			d->failed = true;
			return false;
		}
		list->names = names;
		list->max = max;
	}
	list->names[list->count++] = zone_node_owner(new != NULL ? new : old);
	return true;
}

/* False: out of memory. */
static bool diff_list_names(zone_diff_t *d)
{
	static const zone_tree_t none = { .count = 0 };
	const zone_tree_t *trees[2][TREES];
	const zone_contents_t *zones[2] = { d->before, d->after };
	for (unsigned i = 0; i < 2; i++) {
		trees[i][0] = zones[i] != NULL ? &zones[i]->auth : &none;
		trees[i][1] = zones[i] != NULL ? zone_glue_tree(zones[i]) : &none;
		trees[i][2] = zones[i] != NULL ? zone_nsec3_tree(zones[i]) : &none;
	}
	for (unsigned tree = 0; !d->failed && tree < TREES; tree++) {
		d->list = &d->lists[tree];
		zone_tree_side_t sides[2] = { { diff_view(d->before), trees[0][tree] },
			{ diff_view(d->after), trees[1][tree] } };
		(void)zone_tree_diff(sides[0], sides[1], diff_note, d);
	}
	return !d->failed;
}

/* The first name of all lists that is left, taken from each that has it. False: none is left. */
static bool next_name(zone_diff_t *d, knot_name_t *ret_name)
{
	bool found = false;
	for (unsigned i = 0; i < TREES; i++) {
		const name_list_t *list = &d->lists[i];
		if (list->at < list->count && (!found || knot_name_cmp(list->names[list->at], *ret_name) < 0)) {
			*ret_name = list->names[list->at];
			found = true;
		}
	}
	for (unsigned i = 0; found && i < TREES; i++) {
		name_list_t *list = &d->lists[i];
		list->at += list->at < list->count && knot_name_eq(list->names[list->at], *ret_name);
	}
	return found;
}

typedef struct {
	bool is_added;
	zone_diff_cb visit;
	void *ctx;
} visiting_t;

static bool visit_one(const zone_rr_t *rr, void *ctx)
{
	const visiting_t *v = ctx;
	return v->visit(rr, v->is_added, v->ctx);
}

static knot_err_t diff_name(const zone_diff_t *d, knot_name_t name, zone_diff_cb visit, void *ctx, bool *ret_goes_on)
{
	zone_record_t *before = NULL, *after = NULL;
	visiting_t removed = { false, visit, ctx }, added = { true, visit, ctx };
	knot_err_t err = zone_records_load(d->before, name, &before);
	err = err == KNOT_OK ? zone_records_load(d->after, name, &after) : err;
	err = err == KNOT_OK ? zone_records_diff(name, before, after, visit_one, &removed, ret_goes_on) : err;
	if (err == KNOT_OK && *ret_goes_on) {
		err = zone_records_diff(name, after, before, visit_one, &added, ret_goes_on);
	}
	zone_records_free(before);
	zone_records_free(after);
	return err;
}

knot_err_t zone_diff(const zone_contents_t *before, const zone_contents_t *after, zone_diff_cb visit, void *ctx)
{
	zone_diff_t d = { .before = before, .after = after };
	knot_err_t err = diff_list_names(&d) ? KNOT_OK : KNOT_ENOMEM;
	bool goes_on = true;
	for (knot_name_t name; err == KNOT_OK && goes_on && next_name(&d, &name);) {
		err = diff_name(&d, name, visit, ctx, &goes_on);
	}
	for (unsigned i = 0; i < TREES; i++) {
		free(d.lists[i].names);
	}
	return err;
}

/* ---- Whether there is a difference ---- */

typedef struct {
	zone_differs_t what;
	bool differs;
	size_t soa_len; /* of the SOA that was removed, with its TTL in front and without serial; 0: none was */
	uint8_t soa[4 + KNOT_SOA_LEN_MAX];
} differing_t;

/* What was removed comes first: the SOA of `before`, then that of `after`. */
static bool differs_look_at_soa(differing_t *d, const zone_rr_t *rr, bool is_added)
{
	uint8_t soa[sizeof(d->soa)];
	assert(rr->rdata.len <= KNOT_SOA_LEN_MAX); /* versions are checked */
	size_t len = sizeof(uint32_t) + rr->rdata.len;
	store_be32(soa, rr->ttl);
	memcpy(soa + sizeof(uint32_t), rr->rdata.data, rr->rdata.len);
	knot_soa_set_serial((knot_mut_bytes_t){ soa + sizeof(uint32_t), rr->rdata.len }, 0);
	if (is_added) {
		d->differs = d->soa_len != len || memcmp(d->soa, soa, len) != 0;
		d->soa_len = 0;
	} else {
		memcpy(d->soa, soa, len);
		d->soa_len = len;
	}
	return !d->differs;
}

static bool differs_look(const zone_rr_t *rr, bool is_added, void *ctx)
{
	differing_t *d = ctx;
	if (d->what == ZONE_DIFFERS_BUT_SERIAL && rr->type == KNOT_TYPE_SOA) {
		return differs_look_at_soa(d, rr, is_added);
	}
	d->differs = true;
	return false;
}

knot_err_t zone_differs(
		const zone_contents_t *before, const zone_contents_t *after, zone_differs_t what, bool *ret_differs)
{
	differing_t d = { .what = what };
	knot_err_t err = zone_diff(before, after, differs_look, &d);
	if (err == KNOT_OK) {
		*ret_differs = d.differs || d.soa_len > 0;
	}
	return err;
}
