/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transaction keeps the records of the names that it touches, expanded; commit collects these and the records of all
 * other names of the base and compiles them on top of the base (compile.h), which shares what comes out the same.
 */
#include "src/zone/build.h"
#include "src/zone/compact.h"
#include "src/zone/compile.h"

#include <search.h>
#include <stdlib.h>

/* A touched name. Lives in the collection's temporary memory. */
typedef struct {
	knot_name_t owner;           /* lower case */
	zone_record_t *first;
} edit_t;

struct zone_txn {
	const zone_contents_t *base; /* borrowed */
	zone_build_params_t params;
	zone_collect_t collect;      /* memory of edits, and of everything at commit */
	void *edits;                 /* tsearch() tree of edit_t by owner */
	uint8_t *scratch;            /* KNOT_RDATA_MAX bytes */
};

static int cmp_edits(const void *va, const void *vb)
{
	const edit_t *a = va, *b = vb;
	return knot_name_cmp(a->owner, b->owner);
}

static void keep_edit(void *edit)
{
	(void)edit;
}

void zone_txn_discard(zone_txn_t *txn)
{
	if (txn != NULL) {
		tdestroy(txn->edits, keep_edit);
		zone_collect_done(&txn->collect);
		free(txn->scratch);
		free(txn);
	}
}

knot_err_t zone_txn_begin(const zone_contents_t *base, const zone_build_params_t *params, zone_txn_t **ret_txn)
{
	zone_txn_t *txn = calloc(1, sizeof(*txn));
	if (txn == NULL) {
		return KNOT_ENOMEM;
	}
	txn->base = base;
	txn->params = *params;
	zone_collect_init(&txn->collect, params->origin);
	txn->params.origin = txn->collect.origin;
	txn->scratch = malloc(KNOT_RDATA_MAX);
	if (txn->scratch == NULL) {
		zone_txn_discard(txn);
		return KNOT_ENOMEM;
	}
	*ret_txn = txn;
	return KNOT_OK;
}

static zone_record_t *new_record(zone_txn_t *txn, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	zone_record_t *record = zone_collect_alloc(&txn->collect, sizeof(*record) + rdata.len);
	if (record != NULL) {
		*record = (zone_record_t){ .ttl = ttl, .type = type, .rdata_len = (uint16_t)rdata.len };
		if (rdata.len > 0) {
			memcpy(record->rdata, rdata.data, rdata.len);
			knot_rdata_canonical(type, (knot_mut_bytes_t){ record->rdata, rdata.len });
		}
	}
	return record;
}

/* Calls `take` with each record of a compiled node. */
typedef knot_err_t (*take_cb)(zone_txn_t *txn, void *to, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

static knot_err_t take_node(zone_txn_t *txn, const zone_node_t *node, take_cb take, void *to)
{
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&txn->base->arena, node, i);
		for (unsigned sigs = 0; sigs < 2; sigs++) {
			zone_rr_iter_t iter = zone_rr_begin(node, set, sigs);
			uint32_t ttl;
			knot_bytes_t rdata;
			while (zone_rr_next(&iter, (knot_mut_bytes_t){ txn->scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
				knot_err_t err = take(txn, to, sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(set), ttl, rdata);
				if (err != KNOT_OK) {
					return err;
				}
			}
		}
	}
	return KNOT_OK;
}

static knot_err_t take_into_edit(zone_txn_t *txn, void *to, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	edit_t *edit = to;
	zone_record_t *record = new_record(txn, type, ttl, rdata);
	if (record == NULL) {
		return KNOT_ENOMEM;
	}
	record->next = edit->first;
	edit->first = record;
	return KNOT_OK;
}

static knot_err_t load_edit(zone_txn_t *txn, edit_t *edit)
{
	if (txn->base == NULL) {
		return KNOT_OK;
	}
	const zone_tree_t *const trees[] = { &txn->base->auth, zone_glue_tree(txn->base), zone_nsec3_tree(txn->base) };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		zone_ref_t ref = zone_tree_find(&txn->base->arena, trees[i], edit->owner);
		knot_err_t err = ref != 0 ? take_node(txn, zone_at(&txn->base->arena, ref), take_into_edit, edit) : KNOT_OK;
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

/* The edit of a name, made from the base's records at first. */
static knot_err_t edit_of(zone_txn_t *txn, knot_name_t owner, edit_t **ret_edit)
{
	uint8_t lower[KNOT_NAME_MAX];
	if (!knot_name_in(owner, txn->collect.origin)) {
		return KNOT_EOUTOFZONE;
	}
	knot_name_lower(owner, lower);
	edit_t wanted = { .owner = { lower, owner.len, owner.label_count } };
	edit_t **found = tfind(&wanted, &txn->edits, cmp_edits);
	if (found != NULL) {
		*ret_edit = *found;
		return KNOT_OK;
	}
	edit_t *edit = zone_collect_alloc(&txn->collect, sizeof(*edit) + owner.len);
	if (edit == NULL) {
		return KNOT_ENOMEM;
	}
	uint8_t *wire = (uint8_t *)(edit + 1);
	memcpy(wire, lower, owner.len);
	*edit = (edit_t){ .owner = { wire, owner.len, owner.label_count } };
	knot_err_t err = load_edit(txn, edit);
	if (err != KNOT_OK) {
		return err;
	}
	if (tsearch(edit, &txn->edits, cmp_edits) == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_edit = edit;
	return KNOT_OK;
}

static bool is_same(const zone_record_t *a, const zone_record_t *b)
{
	return a->type == b->type && a->rdata_len == b->rdata_len && memcmp(a->rdata, b->rdata, a->rdata_len) == 0;
}

/* Signatures at one name are of different RRsets: they don't share a TTL. */
static void set_ttl(edit_t *edit, const zone_record_t *record)
{
	for (zone_record_t *r = edit->first; r != NULL; r = r->next) {
		if (r->type == record->type && (r->type != KNOT_TYPE_RRSIG || is_same(r, record))) {
			r->ttl = record->ttl;
		}
	}
}

knot_err_t zone_txn_put(zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	edit_t *edit;
	knot_err_t err = edit_of(txn, owner, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	zone_record_t *record = new_record(txn, type, ttl, rdata);
	if (record == NULL) {
		return KNOT_ENOMEM;
	}
	set_ttl(edit, record);
	for (const zone_record_t *r = edit->first; r != NULL; r = r->next) {
		if (is_same(r, record)) {
			return KNOT_EISRECORD;
		}
	}
	record->next = edit->first;
	edit->first = record;
	return KNOT_OK;
}

knot_err_t zone_txn_remove(zone_txn_t *txn, knot_name_t owner, uint16_t type, knot_bytes_t rdata)
{
	edit_t *edit;
	knot_err_t err = edit_of(txn, owner, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	const zone_record_t *wanted = new_record(txn, type, 0, rdata);
	if (wanted == NULL) {
		return KNOT_ENOMEM;
	}
	for (zone_record_t **at = &edit->first; *at != NULL; at = &(*at)->next) {
		if (is_same(*at, wanted)) {
			*at = (*at)->next;
			return KNOT_OK;
		}
	}
	return KNOT_ENORECORD;
}

/* ---- Commit ---- */

static knot_err_t take_into_group(zone_txn_t *txn, void *to, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	(void)to;
	return zone_collect_record(&txn->collect, type, ttl, rdata);
}

static knot_err_t collect_base(zone_txn_t *txn)
{
	zone_node_iter_t *iter = txn->base != NULL ? malloc(sizeof(*iter)) : NULL;
	if (txn->base == NULL || iter == NULL) {
		return txn->base == NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	zone_nodes_begin(txn->base, iter);
	for (const zone_node_t *node; err == KNOT_OK && (node = zone_nodes_next(txn->base, iter)) != NULL;) {
		edit_t wanted = { .owner = zone_node_owner(node) };
		if (zone_node_rrset_count(node) == 0 || tfind(&wanted, &txn->edits, cmp_edits) != NULL) {
			continue;
		}
		err = zone_collect_owner(&txn->collect, zone_node_owner(node));
		err = err == KNOT_OK ? take_node(txn, node, take_into_group, NULL) : err;
	}
	free(iter);
	return err;
}

typedef struct {
	zone_txn_t *txn;
	knot_err_t err;
} collect_edits_t;

static void collect_edit(const void *at, VISIT visit, void *ctx)
{
	collect_edits_t *state = ctx;
	const edit_t *edit = *(const edit_t *const *)at;
	if ((visit != postorder && visit != leaf) || edit->first == NULL || state->err != KNOT_OK) {
		return;
	}
	zone_collect_t *collect = &state->txn->collect;
	state->err = zone_collect_owner(collect, edit->owner);
	for (const zone_record_t *r = edit->first; r != NULL && state->err == KNOT_OK; r = r->next) {
		state->err = zone_collect_record(collect, r->type, r->ttl, (knot_bytes_t){ r->rdata, r->rdata_len });
	}
}

/* A version of which a third is dead or not used yet gets memory of its own. If there is none it stays as it is. */
static zone_contents_t *freshen(zone_contents_t *take_zone)
{
	zone_contents_t *copy = zone_wear(take_zone) == ZONE_WORN ? zone_compact(take_zone) : NULL;
	if (copy == NULL) {
		return take_zone;
	}
	zone_contents_free(take_zone);
	return copy;
}

static knot_err_t commit(zone_txn_t *txn, zone_contents_t **ret_zone)
{
	knot_err_t err = collect_base(txn);
	if (err != KNOT_OK) {
		return err;
	}
	collect_edits_t state = { txn, KNOT_OK };
	twalk_r(txn->edits, collect_edit, &state);
	const zone_contents_t *base = txn->base != NULL && zone_wear(txn->base) == ZONE_FRESH ? txn->base : NULL;
	zone_contents_t *zone;
	err = state.err == KNOT_OK ? zone_compile(&txn->collect, base, txn->params.size_max, &zone) : state.err;
	if (err != KNOT_OK) {
		return err;
	}
	const zone_build_params_t *params = &txn->params;
	err = zone_check(zone, params->checks, params->now_s, params->on_message, params->ctx);
	if (err != KNOT_OK) {
		zone_contents_free(zone);
		return err;
	}
	*ret_zone = freshen(zone);
	return KNOT_OK;
}

knot_err_t zone_txn_commit(zone_txn_t *take_txn, zone_contents_t **ret_zone)
{
	knot_err_t err = commit(take_txn, ret_zone);
	zone_txn_discard(take_txn);
	zone_compile_trim(err == KNOT_OK ? (*ret_zone)->record_count : 0);
	return err;
}
