/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/record_list.h"

#include <assert.h>
#include <stdlib.h>

zone_record_t *zone_record_new(uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	assert(rdata.len <= KNOT_RDATA_MAX);
	zone_record_t *record = malloc(sizeof(*record) + rdata.len);
	if (record != NULL) {
		*record = (zone_record_t){ .ttl = ttl, .type = type, .rdata_len = (uint16_t)rdata.len };
		if (rdata.len > 0) {
			memcpy(record->rdata, rdata.data, rdata.len);
			knot_rdata_canonical(type, (knot_mut_bytes_t){ record->rdata, rdata.len });
		}
	}
	return record;
}

void zone_records_free(zone_record_t *take_first)
{
	for (zone_record_t *next; take_first != NULL; take_first = next) {
		next = take_first->next;
		free(take_first);
	}
}

/* ---- Of a version ---- */

typedef struct {
	zone_record_t *first; /* owned */
	bool failed;
} taken_t;

static bool take_record(const zone_rr_t *rr, void *ctx)
{
	taken_t *taken = ctx;
	zone_record_t *record = zone_record_new(rr->type, rr->ttl, rr->rdata);
	if (record == NULL) {
		taken->failed = true;
		return false;
	}
	record->next = taken->first;
	taken->first = record;
	return true;
}

knot_err_t zone_records_load(const zone_contents_t *zone, knot_name_t owner, zone_record_t **ret_first)
{
	taken_t taken = { 0 };
	if (zone != NULL) {
		uint8_t *scratch = malloc(KNOT_RDATA_MAX);
		taken.failed = scratch == NULL;
		if (scratch != NULL) {
			(void)zone_each_of_name(zone, owner, scratch, take_record, &taken);
		}
		free(scratch);
	}
	if (taken.failed) {
		zone_records_free(taken.first);
		return KNOT_ENOMEM;
	}
	*ret_first = taken.first;
	return KNOT_OK;
}

/* ---- In order ---- */

int zone_record_cmp(const zone_record_t *a, const zone_record_t *b)
{
	bool a_is_sig = a->type == KNOT_TYPE_RRSIG, b_is_sig = b->type == KNOT_TYPE_RRSIG;
	if (a_is_sig != b_is_sig) {
		return a_is_sig - b_is_sig;
	}
	if (a->type != b->type) {
		return a->type < b->type ? -1 : 1;
	}
	size_t min = a->rdata_len < b->rdata_len ? a->rdata_len : b->rdata_len;
	int order = memcmp(a->rdata, b->rdata, min);
	return order != 0 ? order : (int)a->rdata_len - (int)b->rdata_len;
}

static int cmp_records(const void *a, const void *b)
{
	return zone_record_cmp(*(const zone_record_t *const *)a, *(const zone_record_t *const *)b);
}

zone_record_t **zone_records_sort(const zone_record_t *first, size_t *ret_count, knot_err_t *ret_err)
{
	size_t count = 0;
	for (const zone_record_t *r = first; r != NULL; r = r->next) {
		count++;
	}
	zone_record_t **sorted = count > 0 ? malloc(count * sizeof(*sorted)) : NULL;
	if (sorted == NULL) {
		*ret_err = count > 0 ? KNOT_ENOMEM : *ret_err;
		*ret_count = 0;
		return NULL;
	}
	size_t i = 0;
	for (const zone_record_t *r = first; r != NULL; r = r->next) {
		sorted[i++] = (zone_record_t *)r;
	}
	qsort(sorted, count, sizeof(*sorted), cmp_records);
	*ret_count = count;
	return sorted;
}

knot_err_t zone_records_diff(knot_name_t owner, const zone_record_t *ours, const zone_record_t *theirs,
		zone_rr_cb visit, void *ctx, bool *ret_goes_on)
{
	knot_err_t err = KNOT_OK;
	size_t our_count, their_count, at = 0;
	zone_record_t **left = zone_records_sort(ours, &our_count, &err),
		      **right = zone_records_sort(theirs, &their_count, &err);
	bool goes_on = err == KNOT_OK;
	for (size_t i = 0; goes_on && i < our_count; i++) {
		int order = 1;
		while (at < their_count && (order = zone_record_cmp(right[at], left[i])) < 0) {
			at++;
		}
		bool is_kept = at < their_count && order == 0 && right[at]->ttl == left[i]->ttl;
		const zone_record_t *r = left[i];
		zone_rr_t rr = { .owner = owner, .type = r->type, .ttl = r->ttl, .rdata = { r->rdata, r->rdata_len } };
		goes_on = is_kept || visit(&rr, ctx);
	}
	free(left);
	free(right);
	*ret_goes_on = goes_on;
	return err;
}
