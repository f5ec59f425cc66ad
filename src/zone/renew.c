/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/renew.h"

#include "src/zone/compact.h"
#include "src/zone/diff.h"
#include "src/zone/txn.h"

#include <assert.h>

enum {
	SMALL_PART = 4,  /* a small zone: waste of more than this part of what is used */
	GROWN_PART = 4,  /* it has grown by more than this part */
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
