/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of one name, side by side. */
#include <stdlib.h>
#include <string.h>

#include "src/update/derive_steps.h"

void derive_records_done(derive_records_t *records)
{
	free(records->records);
	free(records->data);
	*records = (derive_records_t){ 0 };
}

void derive_records_clear(derive_records_t *records)
{
	records->count = 0;
	records->data_len = 0;
}

static void *derive_grow(void *data, size_t need, size_t *max, size_t size)
{
	if (need <= *max) {
		return data;
	}
	size_t next = *max == 0 ? 64 : *max;
	while (next < need) {
		next *= 2;
	}
	void *grown = realloc(data, next * size);
	*max = grown != NULL ? next : *max;
	return grown;
}

knot_err_t derive_records_put(derive_records_t *records, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	void *data = derive_grow(records->data, records->data_len + rdata.len + 1, &records->data_max, 1);
	if (data == NULL) {
		return KNOT_ENOMEM;
	}
	records->data = data;
	void *list = derive_grow(records->records, records->count + 1, &records->max, sizeof(*records->records));
	if (list == NULL) {
		return KNOT_ENOMEM;
	}
	records->records = list;
	if (rdata.len > 0) {
		memcpy(records->data + records->data_len, rdata.data, rdata.len);
	}
	records->records[records->count++] = (struct derive_record){ type, ttl, records->data_len, rdata.len };
	records->data_len += rdata.len;
	return KNOT_OK;
}

static knot_bytes_t derive_rdata(const derive_records_t *records, size_t i)
{
	return (knot_bytes_t){ records->data + records->records[i].at, records->records[i].len };
}

static int derive_cmp(uint16_t a_type, knot_bytes_t a, uint16_t b_type, knot_bytes_t b)
{
	if (a_type != b_type) {
		return a_type < b_type ? -1 : 1;
	}
	int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int derive_record_cmp(const void *a_at, const void *b_at, void *ctx)
{
	const struct derive_record *a = a_at, *b = b_at;
	const derive_records_t *records = ctx;
	int order = derive_cmp(a->type, (knot_bytes_t){ records->data + a->at, a->len }, b->type,
			(knot_bytes_t){ records->data + b->at, b->len });
	return order != 0 ? order : (a->ttl > b->ttl) - (a->ttl < b->ttl);
}

void derive_records_sort(derive_records_t *records)
{
	if (records->count < 2) {
		return;
	}
	qsort_r(records->records, records->count, sizeof(*records->records), derive_record_cmp, records);
	size_t kept = 1;
	for (size_t i = 1; i < records->count; i++) {
		const struct derive_record *last = &records->records[kept - 1], *next = &records->records[i];
		if (derive_cmp(last->type, derive_rdata(records, kept - 1), next->type, derive_rdata(records, i)) !=
				0) {
			records->records[kept++] = *next;
		}
	}
	records->count = kept;
}

bool derive_records_eq(const derive_records_t *a, const derive_records_t *b)
{
	bool is_same = a->count == b->count;
	for (size_t i = 0; i < a->count && is_same; i++) {
		is_same = a->records[i].ttl == b->records[i].ttl &&
			  derive_cmp(a->records[i].type, derive_rdata(a, i), b->records[i].type, derive_rdata(b, i)) ==
					  0;
	}
	return is_same;
}

static knot_err_t derive_remove(zone_txn_t *txn, knot_name_t owner, const derive_records_t *now, size_t i)
{
	knot_err_t err = zone_txn_remove(txn, owner, now->records[i].type, derive_rdata(now, i));
	return err == KNOT_ENORECORD ? KNOT_OK : err;
}

/* A record that is there already gets its TTL. */
static knot_err_t derive_put(zone_txn_t *txn, knot_name_t owner, const derive_records_t *wanted, size_t i)
{
	const struct derive_record *record = &wanted->records[i];
	knot_err_t err = zone_txn_put(txn, owner, record->type, record->ttl, derive_rdata(wanted, i));
	return err == KNOT_EISRECORD ? KNOT_OK : err;
}

knot_err_t derive_records_replace(
		zone_txn_t *txn, knot_name_t owner, const derive_records_t *now, const derive_records_t *wanted)
{
	knot_err_t err = KNOT_OK;
	size_t i = 0, j = 0;
	/* Removals first: a CNAME in place of other data, and the other way round. */
	for (; i < now->count && err == KNOT_OK; i++) {
		int order = 1;
		while (j < wanted->count && (order = derive_cmp(wanted->records[j].type, derive_rdata(wanted, j),
							     now->records[i].type, derive_rdata(now, i))) < 0) {
			j++;
		}
		bool stays = j < wanted->count && order == 0;
		err = stays ? KNOT_OK : derive_remove(txn, owner, now, i);
	}
	i = 0;
	for (j = 0; j < wanted->count && err == KNOT_OK; j++) {
		int order = 1;
		while (i < now->count && (order = derive_cmp(now->records[i].type, derive_rdata(now, i),
							  wanted->records[j].type, derive_rdata(wanted, j))) < 0) {
			i++;
		}
		bool is_there = i < now->count && order == 0 && now->records[i].ttl == wanted->records[j].ttl;
		err = is_there ? KNOT_OK : derive_put(txn, owner, wanted, j);
	}
	return err;
}
