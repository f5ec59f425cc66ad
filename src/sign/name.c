/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/name.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Records ---- */

void sign_name_begin(sign_name_t *name, knot_name_t owner, sign_part_t part)
{
	memmove(name->wire, owner.wire, owner.len);
	name->owner = (knot_name_t){ name->wire, owner.len, owner.label_count };
	name->part = part;
	name->count = 0;
	sign_mem_reset(&name->mem);
}

static sign_part_t part_of(uint16_t type, knot_bytes_t rdata)
{
	bool is_nsec3 = type == KNOT_TYPE_NSEC3 ||
			(type == KNOT_TYPE_RRSIG && sign_rrsig_covered(rdata) == KNOT_TYPE_NSEC3);
	return is_nsec3 ? SIGN_PART_NSEC3 : SIGN_PART_REST;
}

knot_err_t sign_name_add(sign_name_t *name, const zone_rr_t *rr)
{
	if (part_of(rr->type, rr->rdata) != name->part) {
		return KNOT_OK;
	}
	if (name->count == name->max) {
		size_t max = 2 * name->max + 16;
		sign_rr_t *grown = realloc(name->rrs, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		name->rrs = grown;
		name->max = max;
	}
	knot_bytes_t copy = sign_mem_copy(&name->mem, rr->rdata);
	if (copy.data == NULL) {
		return KNOT_ENOMEM;
	}
	name->rrs[name->count++] = (sign_rr_t){ .rdata = copy, .ttl = rr->ttl, .type = rr->type };
	return KNOT_OK;
}

typedef struct {
	sign_name_t *name;
	knot_err_t err;
} loading_t;

static bool load_rr(const zone_rr_t *rr, void *ctx)
{
	loading_t *loading = ctx;
	loading->err = sign_name_add(loading->name, rr);
	return loading->err == KNOT_OK;
}

knot_err_t sign_name_load(sign_name_t *name, const zone_txn_t *txn, knot_name_t owner, sign_part_t part)
{
	loading_t loading = { name, KNOT_OK };
	sign_name_begin(name, owner, part);
	knot_err_t err = zone_txn_each_of(txn, name->owner, load_rr, &loading);
	return err == KNOT_OK || err == KNOT_ENONODE ? loading.err : err;
}

knot_err_t sign_name_load_base(sign_name_t *name, const zone_contents_t *base, knot_name_t owner, sign_part_t part)
{
	loading_t loading = { name, KNOT_OK };
	sign_name_begin(name, owner, part);
	if (base == NULL || zone_find_node(base, name->owner) == NULL) {
		return KNOT_OK;
	}
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	(void)zone_each_of_name(base, name->owner, scratch, load_rr, &loading);
	free(scratch);
	return loading.err;
}

void sign_name_done(sign_name_t *name)
{
	free(name->rrs);
	sign_mem_done(&name->mem);
	*name = (sign_name_t){ 0 };
}

/* ---- Belief ---- */

void sign_name_trust(sign_name_t *name)
{
	for (size_t i = 0; i < name->count; i++) {
		name->rrs[i].belief = SIGN_BELIEF_GOOD;
	}
}

static bool rr_eq(const sign_rr_t *a, const sign_rr_t *b)
{
	return a->type == b->type && a->rdata.len == b->rdata.len &&
	       memcmp(a->rdata.data, b->rdata.data, a->rdata.len) == 0;
}

static size_t name_find_type(const sign_name_t *name, uint16_t type)
{
	size_t i = 0;
	while (i < name->count && name->rrs[i].type != type) {
		i++;
	}
	return i;
}

/* True if the records of the type, which are in canonical order, are the same. */
static bool is_same_set(const sign_name_t *a, const sign_name_t *b, uint16_t type)
{
	size_t i = name_find_type(a, type), k = name_find_type(b, type);
	while (i < a->count && a->rrs[i].type == type && k < b->count && rr_eq(&a->rrs[i], &b->rrs[k]) &&
			a->rrs[i].ttl == b->rrs[k].ttl) {
		i++;
		k++;
	}
	return (i == a->count || a->rrs[i].type != type) && (k == b->count || b->rrs[k].type != type);
}

void sign_name_compare(sign_name_t *name, const sign_name_t *before, bool is_trusted)
{
	for (size_t i = 0; i < name->count; i++) {
		sign_rr_t *sig = &name->rrs[i];
		bool was_there = false;
		for (size_t k = 0; sig->type == KNOT_TYPE_RRSIG && !was_there && k < before->count; k++) {
			was_there = rr_eq(sig, &before->rrs[k]);
		}
		if (was_there) {
			bool is_same = is_same_set(name, before, sign_rrsig_covered(sig->rdata));
			sig->belief = !is_same ? SIGN_BELIEF_STALE : is_trusted ? SIGN_BELIEF_GOOD : SIGN_BELIEF_NONE;
		}
	}
}

/* ---- What follows ---- */

bool sign_name_has(const sign_name_t *name, uint16_t type)
{
	return name_find_type(name, type) < name->count;
}

static bool is_made_everywhere(uint16_t type)
{
	return type == KNOT_TYPE_NSEC || type == KNOT_TYPE_RRSIG || type == KNOT_TYPE_NSEC3;
}

bool sign_name_has_data(const sign_name_t *name)
{
	bool has_data = false;
	for (size_t i = 0; !has_data && i < name->count; i++) {
		has_data = !is_made_everywhere(name->rrs[i].type);
	}
	return has_data;
}

bool sign_place_signs(sign_place_t place, uint16_t type)
{
	switch (place) {
	case SIGN_PLACE_AUTH: return true;
	case SIGN_PLACE_CUT: return type == KNOT_TYPE_DS || type == KNOT_TYPE_NSEC || type == SIGN_TYPE_DELEG;
	case SIGN_PLACE_BELOW: return false;
	}
	return false;
}

bool sign_name_is_member(const sign_name_t *name, sign_place_t place, const sign_plan_t *plan)
{
	bool is_insecure = place == SIGN_PLACE_CUT && !sign_name_has(name, KNOT_TYPE_DS) &&
			   !sign_name_has(name, SIGN_TYPE_DELEG);
	bool is_left_out = plan->chain == SIGN_CHAIN_NSEC3 && plan->is_opt_out && is_insecure;
	return place != SIGN_PLACE_BELOW && sign_name_has_data(name) && !is_left_out;
}

static bool is_in_bitmap(sign_place_t place, uint16_t type)
{
	return !is_made_everywhere(type) &&
	       (place == SIGN_PLACE_AUTH || type == KNOT_TYPE_NS || sign_place_signs(place, type));
}

static int cmp_types(const void *va, const void *vb)
{
	const uint16_t *a = va, *b = vb;
	return (*a > *b) - (*a < *b);
}

knot_err_t sign_name_bitmap(const sign_name_t *name, sign_place_t place, sign_chain_t chain,
		uint8_t ret_bitmap[static SIGN_BITMAP_MAX], size_t *ret_len)
{
	enum { FEW = 64 };
	uint16_t few[FEW + 2], *types = few;
	size_t count = 0;
	bool is_signed = chain == SIGN_CHAIN_NSEC;
	if (name->count > FEW) {
		types = malloc((name->count + 2) * sizeof(*types));
		if (types == NULL) {
			return KNOT_ENOMEM;
		}
	}
	for (size_t i = 0; i < name->count; i++) {
		uint16_t type = name->rrs[i].type;
		if (is_in_bitmap(place, type) && (count == 0 || types[count - 1] != type)) {
			types[count++] = type;
			is_signed = is_signed || sign_place_signs(place, type);
		}
	}
	if (is_signed) {
		types[count++] = KNOT_TYPE_RRSIG;
	}
	if (chain == SIGN_CHAIN_NSEC) {
		types[count++] = KNOT_TYPE_NSEC;
	}
	qsort(types, count, sizeof(*types), cmp_types);
	*ret_len = sign_bitmap_print(types, count, ret_bitmap);
	if (types != few) {
		free(types);
	}
	return KNOT_OK;
}
