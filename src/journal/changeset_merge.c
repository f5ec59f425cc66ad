/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/changeset_merge.h"

#include <assert.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A record that some change removes or adds. In the order in which they are first seen. There may be millions. */
typedef struct {
	const uint8_t *owner, *rdata; /* borrowed from a payload */
	uint32_t ttl_removed, ttl_added;
	uint16_t type, rdata_len;
	uint8_t owner_len, owner_label_count;
	bool is_removed, is_added; /* by the result */
} item_t;

_Static_assert(sizeof(item_t) <= 32, "most records of a journal take little more");

struct changeset_merger {
	item_t *items; /* owned */
	size_t count, max;
	uint32_t *slots; /* owned; hash table: index of an item + 1, 0: free */
	size_t slot_count;
	changeset_rr_t soa[2]; /* before, after */
	bool has_soa[2];
	bool is_begun;
	changeset_kind_t kind;
	bool failed; /* out of memory */
};

enum { ITEMS_MIN = 64, ITEMS_MAX = UINT32_MAX - 1 };

knot_err_t changeset_merge_begin(changeset_merger_t **ret_merger)
{
	changeset_merger_t *merger = calloc(1, sizeof(*merger));
	if (merger == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_merger = merger;
	return KNOT_OK;
}

void changeset_merge_discard(changeset_merger_t *take_merger)
{
	if (take_merger != NULL) {
		free(take_merger->items);
		free(take_merger->slots);
		free(take_merger);
	}
}

/* ---- Items ---- */

/* Without the TTL, of which there are two. */
static changeset_rr_t item_rr(const item_t *item)
{
	return (changeset_rr_t){ .owner = { item->owner, item->owner_len, item->owner_label_count },
		.type = item->type,
		.rdata = { item->rdata, item->rdata_len } };
}

static uint64_t item_hash(const changeset_rr_t *rr)
{
	uint8_t owner[KNOT_NAME_MAX];
	knot_name_lower(rr->owner, owner);
	return XXH3_64bits_withSeed(
			rr->rdata.data, rr->rdata.len, XXH3_64bits_withSeed(owner, rr->owner.len, rr->type));
}

static bool item_is(const item_t *item, const changeset_rr_t *rr)
{
	return item->type == rr->type && item->rdata_len == rr->rdata.len &&
	       (rr->rdata.len == 0 || memcmp(item->rdata, rr->rdata.data, rr->rdata.len) == 0) &&
	       knot_name_eq(item_rr(item).owner, rr->owner);
}

static void merger_set_slot(changeset_merger_t *merger, uint64_t hash, uint32_t index)
{
	size_t at = hash & (merger->slot_count - 1);
	while (merger->slots[at] != 0) {
		at = (at + 1) & (merger->slot_count - 1);
	}
	merger->slots[at] = index + 1;
}

/* Room for one more; the table is at most half full. */
static bool merger_grow(changeset_merger_t *merger)
{
	if (merger->count < merger->max) {
		return true;
	}
	size_t max = merger->max == 0 ? ITEMS_MIN : merger->max * 2;
	if (max > ITEMS_MAX) {
		return false;
	}
	item_t *items = realloc(merger->items, max * sizeof(*items));
	if (items == NULL) {
		return false;
	}
	merger->items = items;
	free(merger->slots); /* first: it is all made again */
	merger->slots = calloc(max * 2, sizeof(*merger->slots));
	if (merger->slots == NULL) {
		return false;
	}
	merger->slot_count = max * 2;
	merger->max = max;
	for (size_t i = 0; i < merger->count; i++) {
		changeset_rr_t rr = item_rr(&items[i]);
		merger_set_slot(merger, item_hash(&rr), (uint32_t)i);
	}
	return true;
}

/* The item of a record, made if it is the first time. NULL: out of memory. */
static item_t *merger_find(changeset_merger_t *merger, const changeset_rr_t *rr)
{
	if (!merger_grow(merger)) {
		return NULL;
	}
	uint64_t hash = item_hash(rr);
	for (size_t at = hash & (merger->slot_count - 1); merger->slots[at] != 0;
			at = (at + 1) & (merger->slot_count - 1)) {
		item_t *item = &merger->items[merger->slots[at] - 1];
		if (item_is(item, rr)) {
			return item;
		}
	}
	merger_set_slot(merger, hash, (uint32_t)merger->count);
	item_t *item = &merger->items[merger->count++];
	*item = (item_t){ .owner = rr->owner.wire,
		.rdata = rr->rdata.data,
		.type = rr->type,
		.rdata_len = (uint16_t)rr->rdata.len,
		.owner_len = rr->owner.len,
		.owner_label_count = rr->owner.label_count };
	return item;
}

/* ---- Changes ---- */

static void item_remove(item_t *item, uint32_t ttl)
{
	if (item->is_added) {
		item->is_added = false;
	} else if (!item->is_removed) {
		item->is_removed = true;
		item->ttl_removed = ttl;
	}
}

static void item_add(item_t *item, uint32_t ttl)
{
	if (item->is_removed && item->ttl_removed == ttl && !item->is_added) {
		item->is_removed = false;
	} else {
		item->is_added = true;
		item->ttl_added = ttl;
	}
}

static bool merger_see(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	changeset_merger_t *merger = ctx;
	if (rr->type == KNOT_TYPE_SOA) {
		/* Before: the first one. After: the last one. */
		if (is_added || !merger->has_soa[0]) {
			merger->soa[is_added] = *rr;
			merger->has_soa[is_added] = true;
		}
		return true;
	}
	item_t *item = merger_find(merger, rr);
	if (item == NULL) {
		merger->failed = true;
		return false;
	}
	if (is_added) {
		item_add(item, rr->ttl);
	} else {
		item_remove(item, rr->ttl);
	}
	return true;
}

knot_err_t changeset_merge_add(changeset_merger_t *merger, knot_bytes_t payload, changeset_kind_t kind)
{
	assert(!merger->is_begun || kind == CHANGESET_STEP);
	if (!merger->is_begun) {
		merger->is_begun = true;
		merger->kind = kind;
	}
	knot_err_t err = changeset_each(payload, kind, merger_see, merger);
	return merger->failed ? KNOT_ENOMEM : err;
}

knot_err_t changeset_merge_finish(changeset_merger_t *take_merger, uint8_t **ret_data, size_t *ret_len,
		uint32_t *ret_removed, uint32_t *ret_added)
{
	changeset_merger_t *merger = take_merger;
	changeset_writer_t writer = { 0 };
	bool is_step = merger->kind == CHANGESET_STEP;
	for (int i = is_step ? 0 : 1; i < 2; i++) {
		if (merger->has_soa[i]) {
			changeset_put(&writer, &merger->soa[i], i == 1);
		}
	}
	for (size_t i = 0; i < merger->count; i++) {
		const item_t *item = &merger->items[i];
		changeset_rr_t rr = item_rr(item);
		/* A whole zone has nothing to remove it from. */
		if (item->is_removed && is_step) {
			rr.ttl = item->ttl_removed;
			changeset_put(&writer, &rr, false);
		}
		if (item->is_added) {
			rr.ttl = item->ttl_added;
			changeset_put(&writer, &rr, true);
		}
	}
	uint32_t removed = writer.count[0], added = writer.count[1];
	changeset_kind_t kind = merger->kind;
	changeset_merge_discard(merger); /* before there is the result */
	knot_err_t err = changeset_finish(&writer, kind, ret_data, ret_len);
	if (err == KNOT_OK) {
		*ret_removed = removed;
		*ret_added = added;
	}
	return err;
}
