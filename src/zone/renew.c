/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/renew.h"

#include "src/zone/compact.h"
#include "src/zone/diff.h"
#include "src/zone/facts.h"
#include "src/zone/node_share.h"
#include "src/zone/txn.h"

#include <assert.h>
#include <stdlib.h>

enum {
	SMALL_PART = 4,  /* a small zone: waste of more than this part of what is used */
	GROWN_PART = 8,  /* it has grown by more than this part */
	GAIN_PART = 8,   /* a build from scratch saves more than this part of what is used */
	LINKS_PART = 16, /* numbers that are unused take more than this part of what is used */
};

/* Numbers are never given out again: a build from scratch counts from 1. Few that are unused cost nothing. */
static bool renew_has_sparse_links(const zone_contents_t *zone)
{
	uint64_t names = (uint64_t)zone->auth.count + zone_glue_tree(zone)->count + zone_nsec3_tree(zone)->count +
			 zone_absent_tree(zone)->count;
	uint64_t unused = zone->links.count > names ? zone->links.count - names : 0;
	return unused > names && unused * sizeof(zone_ref_t) > zone->live_size / LINKS_PART;
}

bool zone_needs_renewal(const zone_contents_t *zone)
{
	uint64_t live = zone->live_size, built = zone->is_short ? live : zone->built_size;
	if (zone->record_count < ZONE_COMPACT_RECORDS) {
		/* One that comes from no commit is as small as it gets, whatever its last chunks have left. */
		return zone_arena_is_fork(zone->store) && zone_wasted(zone) > live / SMALL_PART;
	}
	return live > built + built / GROWN_PART || renew_has_sparse_links(zone);
}

/* ---- Is it worth while? ---- */

enum {
	SHARED_COST = 48,  /* bytes that a shared RRset takes beside its copy: its record, that one's place in the tree
			    */
	STOP_NAMES = 4096, /* after so many one asks if it is to be given up */
};

/* What is found of a zone. */
typedef struct {
	/* Open hash table of the RRsets that nodes have for themselves: hashes, without their lowest bit when it is the
	 * second one or a later one; 0: free. */
	uint32_t *seen;
	uint32_t slots; /* a power of two */
	uint32_t count;
	uint64_t *used; /* bits of the numbers that records have */
	int64_t gain;   /* bytes that a build from scratch would save */
} weighing_t;

static bool weigh_begin(weighing_t *w, const zone_contents_t *zone)
{
	*w = (weighing_t){ .slots = 64 };
	while (w->slots < ZONE_SHARE_SLOTS_MAX && w->slots / 2 < zone->record_count) {
		w->slots *= 2;
	}
	w->seen = calloc(w->slots, sizeof(*w->seen));
	w->used = calloc(zone->links.count / 64 + 1, sizeof(*w->used));
	return w->seen != NULL && w->used != NULL;
}

/*
 * One RRset of a node. As a build from scratch goes on (node_share.h): the first one of its bytes stays in its node, at
 * the second one a copy is made, and all that come then only take a reference. No more different ones are counted than
 * a build shares. A sample would not do: the thousands that are the same may all be in it, or none of them.
 */
static void weigh_set(weighing_t *w, const zone_rrset_t *set)
{
	const uint8_t *bytes = (const uint8_t *)set;
	const zone_made_set_t made = { .type = zone_rrset_type(set), .len = zone_rrset_size(set) };
	if (!zone_node_share_may(&made, bytes)) {
		return;
	}
	uint32_t hash = zone_node_share_hash(bytes, made.len) |
			3; /* so there is something left without the lowest bit */
	uint32_t at = hash >> 2 & (w->slots - 1);
	while (w->seen[at] != 0 && (w->seen[at] | 1) != hash) {
		at = (at + 1) & (w->slots - 1);
	}
	if (w->seen[at] == 0 && w->count < w->slots / 4 * 3) {
		w->seen[at] = hash;
		w->count++;
	} else if (w->seen[at] == hash) {
		w->seen[at] = hash - 1;
		w->gain -= SHARED_COST;
	} else if (w->seen[at] != 0) {
		w->gain += (int64_t)(made.len - sizeof(zone_ref_t));
	}
}

static void weigh_node(weighing_t *w, const zone_contents_t *zone, const zone_node_t *node)
{
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, node, i);
		zone_extra_iter_t extras = zone_extras_begin(node, set);
		for (zone_extra_t extra; zone_extras_next(&extras, &extra);) {
			if (extra.type == 0 && extra.link <= zone->links.count) {
				w->used[extra.link / 64] |= UINT64_C(1) << extra.link % 64;
			}
		}
		if (zone_node_shared_ref(node, i) == 0) {
			weigh_set(w, set);
		}
	}
}

/* Names that don't exist, and to which records don't refer any more. */
static void weigh_absent(weighing_t *w, const zone_contents_t *zone, zone_tree_iter_t *iter)
{
	zone_tree_begin(&zone->arena, zone_absent_tree(zone), iter);
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *absent = zone_at(&zone->arena, ref);
		zone_link_t self = zone_node_self(absent);
		if (self <= zone->links.count && !(w->used[self / 64] >> self % 64 & 1)) {
			w->gain += (int64_t)(zone_node_size(absent) + sizeof(zone_ref_t));
		}
	}
}

bool zone_renewal_pays(const zone_contents_t *zone, bool (*should_stop)(void *ctx), void *ctx)
{
	if (renew_has_sparse_links(zone)) {
		return true;
	}
	weighing_t w;
	zone_node_iter_t *iter = malloc(sizeof(*iter));
	bool is_known = weigh_begin(&w, zone) && iter != NULL;
	if (is_known) {
		zone_nodes_begin(zone, iter);
	}
	const zone_node_t *node;
	for (size_t count = 1; is_known && (node = zone_nodes_next(zone, iter)) != NULL; count++) {
		weigh_node(&w, zone, node);
		is_known = count % STOP_NAMES != 0 || should_stop == NULL || !should_stop(ctx);
	}
	if (is_known) {
		weigh_absent(&w, zone, &iter->auth);
	}
	free(iter);
	free(w.seen);
	free(w.used);
	return is_known && w.gain > (int64_t)(zone->live_size / GAIN_PART);
}

zone_contents_t *zone_renew_later(const zone_contents_t *zone)
{
	zone_contents_t *next = calloc(1, sizeof(*next));
	if (next == NULL) {
		return NULL;
	}
	zone_contents_copy(zone, next);
	next->store = zone_arena_fork(zone->store);
	if (next->store == NULL) {
		free(next);
		return NULL;
	}
	next->built_size = next->live_size;
	zone_arena_seal(next->store, false);
	next->arena = *zone_arena_view(next->store);
	zone_facts_note(next, zone_tree_find(&next->arena, &next->auth, zone_node_owner(zone->apex)));
	return next;
}

/* ---- Building ---- */

zone_contents_t *zone_renew(const zone_contents_t *zone, bool (*should_stop)(void *ctx), void *ctx)
{
	const zone_build_params_t params = { .origin = zone_node_owner(zone->apex),
		.checks = ZONE_CHECKS_SOFT,
		.should_stop = should_stop,
		.ctx = ctx };
	zone_txn_t *txn;
	zone_contents_t *fresh;
	if (zone_txn_begin(zone, &params, &txn) != KNOT_OK) {
		return NULL;
	}
	knot_err_t err = zone_txn_rebuild(txn, &params, &fresh);
	zone_txn_discard(txn);
	return err == KNOT_OK ? fresh : NULL;
}

typedef struct {
	zone_txn_t *txn;
	size_t left; /* records that may still be applied */
	knot_err_t err;
} following_t;

static bool follow_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	following_t *f = ctx;
	f->err = f->left == 0 ? KNOT_ERANGE
		 : is_added   ? zone_txn_put(f->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
			      : zone_txn_remove(f->txn, rr->owner, rr->type, rr->rdata);
	f->left -= f->left > 0;
	return f->err == KNOT_OK;
}

knot_err_t zone_renew_follow(
		const zone_contents_t *from, const zone_contents_t *to, size_t records_max, zone_contents_t **fresh)
{
	if (zone_arena_lineage(from->store) != zone_arena_lineage(to->store)) {
		return KNOT_ETRYAGAIN; /* a reload, or a change that was built from scratch: all may differ */
	}
	const zone_build_params_t params = { .origin = zone_node_owner(to->apex), .checks = ZONE_CHECKS_SOFT };
	following_t f = { .left = records_max };
	knot_err_t err = zone_txn_begin(*fresh, &params, &f.txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = zone_diff(from, to, follow_record, &f);
	err = err == KNOT_OK ? f.err : err;
	zone_contents_t *next;
	err = err == KNOT_OK ? zone_txn_build(f.txn, *fresh, &params, &next) : err;
	zone_txn_discard(f.txn);
	if (err == KNOT_OK) {
		zone_contents_free(*fresh);
		*fresh = next;
	}
	return err;
}

void zone_renew_end(zone_contents_t *fresh, const zone_contents_t *zone)
{
	assert(fresh->serial == zone->serial && fresh->record_count == zone->record_count);
	if (!fresh->is_short) {
		fresh->apex_before = zone->apex;
	}
}

/* The hold keeps the memory of its apex, so no other version's has its address. */
bool zone_is_same_version(const zone_contents_t *held, const zone_contents_t *now)
{
	if (held == NULL || now == NULL) {
		return held == now;
	}
	const zone_node_t *before = now->is_short ? NULL : now->apex_before;
	return held->serial == now->serial && (held->apex == now->apex || held->apex == before);
}
