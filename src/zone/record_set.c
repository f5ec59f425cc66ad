/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/record_set.h"

#include <assert.h>
#include <stdlib.h>

/* By type, signatures last. */
static uint32_t set_rank(uint16_t type)
{
	return type == KNOT_TYPE_RRSIG ? UINT32_C(1) << 16 : type;
}

knot_err_t zone_record_set_load(const zone_contents_t *zone, knot_name_t owner, zone_record_set_t *ret_set)
{
	zone_record_t *first = NULL;
	knot_err_t err = zone_records_load(zone, owner, &first);
	size_t count = 0;
	zone_record_t **sorted = err == KNOT_OK ? zone_records_sort(first, &count, &err) : NULL;
	if (err != KNOT_OK) {
		zone_records_free(first);
		return err;
	}
	*ret_set = (zone_record_set_t){ sorted, count, count };
	return KNOT_OK;
}

void zone_record_set_clear(zone_record_set_t *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->at[i]);
	}
	free(set->at);
	*set = (zone_record_set_t){ 0 };
}

knot_err_t zone_record_set_reserve(zone_record_set_t *set)
{
	if (set->count < set->max) {
		return KNOT_OK;
	}
	size_t max = 2 * set->max + 2;
	zone_record_t **grown = realloc(set->at, max * sizeof(*grown));
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	set->at = grown;
	set->max = max;
	return KNOT_OK;
}

bool zone_record_set_find(const zone_record_set_t *set, const zone_record_t *like, size_t *ret_pos)
{
	size_t low = 0, high = set->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = zone_record_cmp(set->at[mid], like);
		if (order == 0) {
			*ret_pos = mid;
			return true;
		}
		low = order < 0 ? mid + 1 : low;
		high = order < 0 ? high : mid;
	}
	*ret_pos = low;
	return false;
}

/* The first position whose record has at least this rank. */
static size_t set_seek(const zone_record_set_t *set, uint32_t rank)
{
	size_t low = 0, high = set->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		bool is_before = set_rank(set->at[mid]->type) < rank;
		low = is_before ? mid + 1 : low;
		high = is_before ? high : mid;
	}
	return low;
}

void zone_record_set_range(const zone_record_set_t *set, uint16_t type, size_t *ret_begin, size_t *ret_end)
{
	*ret_begin = set_seek(set, set_rank(type));
	*ret_end = set_seek(set, set_rank(type) + 1);
}

zone_record_t *zone_record_set_first(const zone_record_set_t *set, uint16_t type)
{
	size_t pos = set_seek(set, set_rank(type));
	return pos < set->count && set->at[pos]->type == type ? set->at[pos] : NULL;
}

void zone_record_set_put(zone_record_set_t *set, size_t pos, zone_record_t *take_record)
{
	assert(set->count < set->max && pos <= set->count);
	memmove(set->at + pos + 1, set->at + pos, (set->count - pos) * sizeof(*set->at));
	set->at[pos] = take_record;
	set->count++;
}

zone_record_t *zone_record_set_take(zone_record_set_t *set, size_t pos)
{
	assert(pos < set->count);
	zone_record_t *record = set->at[pos];
	bool is_first = pos == 0 || set->at[pos - 1]->type != record->type;
	set->count--;
	memmove(set->at + pos, set->at + pos + 1, (set->count - pos) * sizeof(*set->at));
	if (is_first && record->type != KNOT_TYPE_RRSIG && pos < set->count && set->at[pos]->type == record->type) {
		set->at[pos]->ttl = record->ttl;
	}
	return record;
}

const zone_record_t *zone_record_set_link(const zone_record_set_t *set)
{
	for (size_t i = 0; i < set->count; i++) {
		zone_record_t *record = set->at[i], *next = i + 1 < set->count ? set->at[i + 1] : NULL;
		record->next = next;
		if (next != NULL && next->type == record->type && record->type != KNOT_TYPE_RRSIG) {
			next->ttl = record->ttl;
		}
	}
	return set->count > 0 ? set->at[0] : NULL;
}
