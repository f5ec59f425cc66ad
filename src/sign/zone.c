/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One walk through the names in canonical order. A name is complete when the next begins; then it is known where it is
 * and what stands in its bitmap. Its NSEC needs the next name, so that one set waits until this comes. Names of an
 * NSEC3 chain are hashed meanwhile; after the walk the chain is sorted and goes out.
 */
#include "src/sign/zone.h"

#include <stdlib.h>

#include "libknot/base/encode.h"
#include "src/sign/apex.h"
#include "src/sign/bitmaps.h"
#include "src/sign/sign.h"

/* A name that is kept while others come. len 0: none. */
typedef struct {
	knot_name_t name; /* of wire[] */
	uint8_t wire[KNOT_NAME_MAX];
} kept_name_t;

typedef struct {
	sign_run_t *run;
	sign_name_t name, before; /* that is read now, and what the version has there */
	kept_name_t cut;          /* the last one, or the name below which nothing is authoritative */
	kept_name_t member;       /* the last one of the chain */
	size_t waiting;           /* the set of its NSEC */
	uint8_t bitmap[SIGN_BITMAP_MAX];
	size_t bitmap_len; /* of the member, for NSEC */
	sign_bitmaps_t bitmaps;
	sign_mem_t mem;
	knot_name_t *touched; /* owned: names that were touched and have NSEC3 records */
	size_t touched_count, touched_max;
	knot_err_t err;
} walk_t;

static void keep_name(kept_name_t *kept, knot_name_t name)
{
	memmove(kept->wire, name.wire, name.len);
	kept->name = (knot_name_t){ kept->wire, name.len, name.label_count };
}

/* ---- Names ---- */

static sign_place_t walk_place(walk_t *w)
{
	knot_name_t owner = w->name.owner;
	if (w->cut.name.len > 0 && owner.len > w->cut.name.len && knot_name_in(owner, w->cut.name)) {
		return SIGN_PLACE_BELOW;
	}
	w->cut.name.len = 0;
	if (owner.len > w->run->origin.len && sign_name_has(&w->name, KNOT_TYPE_NS)) {
		keep_name(&w->cut, owner);
		return SIGN_PLACE_CUT;
	}
	return SIGN_PLACE_AUTH;
}

static knot_err_t walk_believe(walk_t *w)
{
	const zone_contents_t *base = zone_txn_base(w->run->txn);
	sign_name_t *name = &w->name;
	bool has_sigs = name->count > 0 && name->rrs[name->count - 1].type == KNOT_TYPE_RRSIG;
	if (!w->run->plan->trusts_signatures || base == NULL || !has_sigs) {
		return KNOT_OK;
	}
	if (!zone_txn_is_touched(w->run->txn, name->owner)) {
		sign_name_trust(name);
		return KNOT_OK;
	}
	knot_err_t err = sign_name_load_base(&w->before, base, name->owner, name->part);
	if (err == KNOT_OK) {
		sign_name_compare(name, &w->before, true);
	}
	return err;
}

/* The NSEC of the last member, now that the next one is known. */
static knot_err_t walk_link(walk_t *w, knot_name_t next)
{
	uint8_t rdata[KNOT_NAME_MAX + SIGN_BITMAP_MAX];
	memcpy(rdata, next.wire, next.len);
	memcpy(rdata + next.len, w->bitmap, w->bitmap_len);
	return sign_run_give(w->run, w->waiting, (knot_bytes_t){ rdata, next.len + w->bitmap_len });
}

static knot_err_t walk_add_nsec(walk_t *w, sign_place_t place)
{
	if (!sign_name_is_member(&w->name, place, w->run->plan)) {
		return sign_run_add(w->run, &w->name, place, SIGN_NSEC_GOES, NULL);
	}
	knot_err_t err = w->member.name.len > 0 ? walk_link(w, w->name.owner) : KNOT_OK;
	err = err == KNOT_OK ? sign_run_pass(w->run) : err;
	err = err == KNOT_OK ? sign_name_bitmap(&w->name, place, SIGN_CHAIN_NSEC, w->bitmap, &w->bitmap_len) : err;
	keep_name(&w->member, w->name.owner);
	return err == KNOT_OK ? sign_run_add(w->run, &w->name, place, SIGN_NSEC_WAITS, &w->waiting) : err;
}

static knot_err_t walk_hash(walk_t *w, knot_name_t name, knot_bytes_t bitmap)
{
	uint32_t number;
	knot_err_t err = sign_bitmaps_put(&w->bitmaps, bitmap, &number);
	return err == KNOT_OK ? sign_run_hash(w->run, name, number) : err;
}

/* A member and the empty non-terminals above it. Those that it shares with the member before came with that. */
static knot_err_t walk_add_member(walk_t *w, sign_place_t place)
{
	knot_name_t owner = w->name.owner, origin = w->run->origin;
	unsigned shared = w->member.name.len > 0 ? knot_name_shared_labels(owner, w->member.name) : origin.label_count;
	shared = shared > origin.label_count ? shared : origin.label_count;
	knot_err_t err = KNOT_OK;
	for (unsigned labels = shared + 1; err == KNOT_OK && labels < owner.label_count; labels++) {
		err = walk_hash(w, knot_name_strip(owner, owner.label_count - labels), (knot_bytes_t){ w->bitmap, 0 });
	}
	keep_name(&w->member, owner);
	err = err == KNOT_OK ? sign_name_bitmap(&w->name, place, SIGN_CHAIN_NSEC3, w->bitmap, &w->bitmap_len) : err;
	return err == KNOT_OK ? walk_hash(w, owner, (knot_bytes_t){ w->bitmap, w->bitmap_len }) : err;
}

static knot_err_t walk_add_nsec3(walk_t *w, sign_place_t place)
{
	knot_err_t err = sign_run_pass(w->run);
	if (err == KNOT_OK && sign_name_is_member(&w->name, place, w->run->plan)) {
		err = walk_add_member(w, place);
	}
	return err == KNOT_OK ? sign_run_add(w->run, &w->name, place, SIGN_NSEC_GOES, NULL) : err;
}

static knot_err_t walk_end_name(walk_t *w)
{
	if (w->name.count == 0) {
		return KNOT_OK;
	}
	sign_place_t place = walk_place(w);
	knot_err_t err = walk_believe(w);
	if (err != KNOT_OK) {
		return err;
	}
	switch (w->run->plan->chain) {
	case SIGN_CHAIN_NSEC: return walk_add_nsec(w, place);
	case SIGN_CHAIN_NSEC3: return walk_add_nsec3(w, place);
	case SIGN_CHAIN_KEPT:
		err = sign_run_pass(w->run);
		return err == KNOT_OK ? sign_run_add(w->run, &w->name, place, SIGN_NSEC_KEPT, NULL) : err;
	}
	return KNOT_OK;
}

/* ---- NSEC3 records that are there ---- */

/* What the version has of the chain is read from there. */
static knot_err_t walk_note_touched(walk_t *w, knot_name_t owner)
{
	const knot_name_t *last = w->touched_count > 0 ? &w->touched[w->touched_count - 1] : NULL;
	if ((last != NULL && knot_name_eq(*last, owner)) || !zone_txn_is_touched(w->run->txn, owner)) {
		return KNOT_OK;
	}
	if (w->touched_count == w->touched_max) {
		size_t max = 2 * w->touched_max + 16;
		knot_name_t *grown = realloc(w->touched, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		w->touched = grown;
		w->touched_max = max;
	}
	knot_name_t copy = sign_mem_name(&w->mem, owner);
	if (copy.wire == NULL) {
		return KNOT_ENOMEM;
	}
	w->touched[w->touched_count++] = copy;
	return KNOT_OK;
}

static int cmp_links(const void *a, const void *b)
{
	return memcmp(((const sign_link_t *)a)->hash, ((const sign_link_t *)b)->hash, ZONE_NSEC3_HASH_LEN);
}

static bool is_link(const sign_run_t *run, knot_name_t owner)
{
	sign_link_t wanted;
	return owner.label_count == run->origin.label_count + 1u && owner.wire[0] == ZONE_NSEC3_LABEL_LEN &&
	       knot_base32hex_scan((knot_str_t){ (const char *)owner.wire + 1, ZONE_NSEC3_LABEL_LEN }, wanted.hash) &&
	       run->link_count > 0 &&
	       bsearch(&wanted, run->links, run->link_count, sizeof(*run->links), cmp_links) != NULL;
}

/* NSEC3 records of a name that isn't in the new chain: they go, or are signed if the chain is to stay. */
static knot_err_t walk_end_nsec3(walk_t *w, knot_name_t owner)
{
	bool is_kept = w->run->plan->chain == SIGN_CHAIN_KEPT;
	if (is_link(w->run, owner)) {
		return KNOT_OK; /* comes with the chain */
	}
	knot_err_t err = sign_name_load(&w->name, w->run->txn, owner, SIGN_PART_NSEC3);
	err = err == KNOT_OK ? walk_believe(w) : err;
	size_t set;
	err = err == KNOT_OK ? sign_run_add_set(w->run, &w->name, KNOT_TYPE_NSEC3, is_kept, &set) : err;
	if (err == KNOT_OK && !is_kept) {
		sign_run_drop(w->run, set);
	}
	return err == KNOT_OK ? sign_run_pass(w->run) : err;
}

static knot_err_t walk_end_base_chain(walk_t *w, const zone_contents_t *base)
{
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	if (iter == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	zone_tree_begin(&base->arena, zone_nsec3_tree(base), iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		err = walk_end_nsec3(w, zone_leaf_owner(&base->arena, ref));
	}
	free(iter);
	return err;
}

/* Those of the version, changed or not, and those that touched names have now. */
static knot_err_t walk_end_chains(walk_t *w)
{
	const zone_contents_t *base = zone_txn_base(w->run->txn);
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < w->touched_count; i++) {
		bool is_of_base =
				base != NULL && zone_tree_find(&base->arena, zone_nsec3_tree(base), w->touched[i]) != 0;
		err = is_of_base ? KNOT_OK : walk_end_nsec3(w, w->touched[i]);
	}
	return err == KNOT_OK && base != NULL && zone_nsec3_tree(base)->count > 0 ? walk_end_base_chain(w, base) : err;
}

/* ---- The new NSEC3 chain ---- */

static knot_err_t walk_make_nsec3(walk_t *w, const sign_link_t *link, const sign_link_t *next, bool has_old)
{
	uint8_t wire[KNOT_NAME_MAX], rdata[SIGN_NSEC3_HEAD_MAX + SIGN_BITMAP_MAX];
	const sign_plan_t *plan = w->run->plan;
	knot_name_t origin = w->run->origin;
	wire[0] = ZONE_NSEC3_LABEL_LEN;
	(void)knot_base32hex_print((knot_bytes_t){ link->hash, sizeof(link->hash) }, (char *)wire + 1);
	memcpy(wire + 1 + ZONE_NSEC3_LABEL_LEN, origin.wire, origin.len);
	knot_name_t owner = { wire, (uint8_t)(1 + ZONE_NSEC3_LABEL_LEN + origin.len),
		(uint8_t)(origin.label_count + 1) };
	size_t len = sign_nsec3_print(&plan->nsec3, plan->is_opt_out, next->hash, rdata);
	knot_bytes_t bitmap = w->bitmaps.at[link->bitmap];
	memcpy(rdata + len, bitmap.data, bitmap.len);
	sign_name_begin(&w->name, owner, SIGN_PART_NSEC3);
	knot_err_t err = has_old ? sign_name_load(&w->name, w->run->txn, owner, SIGN_PART_NSEC3) : KNOT_OK;
	err = err == KNOT_OK ? walk_believe(w) : err;
	size_t set;
	err = err == KNOT_OK ? sign_run_add_set(w->run, &w->name, KNOT_TYPE_NSEC3, true, &set) : err;
	err = err == KNOT_OK ? sign_run_give(w->run, set, (knot_bytes_t){ rdata, len + bitmap.len }) : err;
	return err == KNOT_OK ? sign_run_pass(w->run) : err;
}

static knot_err_t walk_make_chain(walk_t *w)
{
	const zone_contents_t *base = zone_txn_base(w->run->txn);
	bool has_old = w->touched_count > 0 || (base != NULL && zone_nsec3_tree(base)->count > 0);
	size_t count = w->run->link_count;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		const sign_link_t *link = &w->run->links[i], *next = &w->run->links[(i + 1) % count];
		err = walk_make_nsec3(w, link, next, has_old);
	}
	return err;
}

/* ---- The walk ---- */

static bool walk_see(const zone_rr_t *rr, void *ctx)
{
	walk_t *w = ctx;
	if (rr->owner.len != w->name.owner.len || memcmp(rr->owner.wire, w->name.wire, rr->owner.len) != 0) {
		w->err = walk_end_name(w);
		sign_name_begin(&w->name, rr->owner, SIGN_PART_REST);
	}
	size_t count = w->name.count;
	w->err = w->err == KNOT_OK ? sign_name_add(&w->name, rr) : w->err;
	if (w->err == KNOT_OK && w->name.count == count) {
		w->err = walk_note_touched(w, rr->owner);
	}
	return w->err == KNOT_OK;
}

static knot_err_t walk_names(walk_t *w)
{
	knot_err_t err = zone_txn_each(w->run->txn, walk_see, w);
	err = err == KNOT_OK ? w->err : err;
	err = err == KNOT_OK ? walk_end_name(w) : err;
	bool is_waiting = w->run->plan->chain == SIGN_CHAIN_NSEC && w->member.name.len > 0;
	err = err == KNOT_OK && is_waiting ? walk_link(w, w->run->origin) : err;
	return err == KNOT_OK ? sign_run_flush(w->run) : err;
}

static knot_err_t walk_all(walk_t *w)
{
	knot_err_t err = walk_names(w);
	if (err != KNOT_OK) {
		return err;
	}
	if (w->run->link_count > 0) {
		qsort(w->run->links, w->run->link_count, sizeof(*w->run->links), cmp_links);
	}
	err = walk_end_chains(w);
	err = err == KNOT_OK ? walk_make_chain(w) : err;
	return err == KNOT_OK ? sign_run_flush(w->run) : err;
}

knot_err_t sign_whole(sign_run_t *run)
{
	knot_err_t err = sign_apex_chain(run);
	walk_t *w = err == KNOT_OK ? calloc(1, sizeof(*w)) : NULL;
	if (w == NULL) {
		return err == KNOT_OK ? KNOT_ENOMEM : err;
	}
	w->run = run;
	err = walk_all(w);
	sign_name_done(&w->name);
	sign_name_done(&w->before);
	sign_bitmaps_done(&w->bitmaps);
	sign_mem_done(&w->mem);
	free(w->touched);
	free(w);
	return err;
}

static knot_err_t sign_put_built(void *ctx, const zone_rr_t *rr)
{
	return zone_builder_put(ctx, rr->owner, rr->type, rr->ttl, rr->rdata);
}

sign_sink_t sign_to_builder(zone_builder_t *builder)
{
	return (sign_sink_t){ sign_put_built, builder };
}

knot_err_t sign_zone(zone_txn_t *txn, const sign_sink_t *sink, const sign_plan_t *plan, sign_result_t *ret_result)
{
	sign_run_t run;
	knot_err_t err = sign_run_init(&run, txn, sink, plan);
	err = err == KNOT_OK ? sign_apex_keys(&run) : err;
	err = err == KNOT_OK ? sign_whole(&run) : err;
	if (err == KNOT_OK) {
		*ret_result = sign_run_result(&run);
	}
	sign_run_done(&run);
	return err;
}
