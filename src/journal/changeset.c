/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/changeset.h"

#include <assert.h>
#include <stdlib.h>

enum {
	RRSET_FIXED = 6, /* bytes behind the owner: type, class, count */
	RR_FIXED = 6,    /* bytes before the RDATA: TTL, length */
	RUN_MIN = 256,
};

/* ---- Writing ---- */

static uint8_t *run_room(changeset_run_t *run, size_t len)
{
	if (len > run->max - run->len) {
		size_t max = run->max < RUN_MIN ? RUN_MIN : run->max * 2;
		max = max < run->len + len ? run->len + len : max;
		uint8_t *data = realloc(run->data, max);
		if (data == NULL) {
			return NULL;
		}
		run->data = data;
		run->max = max;
	}
	uint8_t *room = run->data + run->len;
	run->len += len;
	return room;
}

/* True if the record belongs to the last RRset, which has room for it. */
static bool run_continues(const changeset_run_t *run, const changeset_rr_t *rr)
{
	if (run->last_count == 0 || run->last_count == UINT16_MAX) {
		return false;
	}
	const uint8_t *at = run->data + run->last_at;
	/* Equal bytes mean an equal length: a wire name ends itself. */
	return run->len - run->last_at >= (size_t)rr->owner.len + RRSET_FIXED &&
	       memcmp(at, rr->owner.wire, rr->owner.len) == 0 && load_be16(at + rr->owner.len) == rr->type;
}

static bool run_put(changeset_run_t *run, const changeset_rr_t *rr)
{
	assert(rr->owner.len > 0 && rr->rdata.len <= KNOT_RDATA_MAX);
	size_t before = run->len;
	bool continues = run_continues(run, rr);
	size_t head = continues ? 0 : (size_t)rr->owner.len + RRSET_FIXED;
	uint8_t *p = run_room(run, head + RR_FIXED + rr->rdata.len);
	if (p == NULL) {
		return false;
	}
	if (!continues) {
		memcpy(p, rr->owner.wire, rr->owner.len);
		store_be16(p + rr->owner.len, rr->type);
		store_be16(p + rr->owner.len + 2, KNOT_CLASS_IN);
		run->last_at = before;
		run->last_count = 0;
	}
	store_be16(run->data + run->last_at + rr->owner.len + 4, ++run->last_count);
	p += head;
	store_be32(p, rr->ttl);
	store_be16(p + 4, (uint16_t)rr->rdata.len);
	if (rr->rdata.len > 0) {
		memcpy(p + RR_FIXED, rr->rdata.data, rr->rdata.len);
	}
	return true;
}

void changeset_put(changeset_writer_t *writer, const changeset_rr_t *rr, bool is_added)
{
	changeset_run_t *run = &writer->rest[is_added];
	if (rr->type == KNOT_TYPE_SOA) {
		run = &writer->soa[is_added];
		writer->count[is_added] -= run->len > 0;
		run->len = run->last_at = run->last_count = 0;
	}
	if (writer->failed || !run_put(run, rr)) {
		writer->failed = true;
		return;
	}
	writer->count[is_added]++;
}

void changeset_discard(changeset_writer_t *writer)
{
	for (int i = 0; i < 2; i++) {
		free(writer->soa[i].data);
		free(writer->rest[i].data);
	}
	*writer = (changeset_writer_t){ 0 };
}

static knot_err_t writer_judge(const changeset_writer_t *writer, changeset_kind_t kind)
{
	if (writer->failed) {
		return KNOT_ENOMEM;
	}
	if (writer->soa[1].len == 0 || (kind == CHANGESET_STEP && writer->soa[0].len == 0)) {
		return KNOT_ENOSOA;
	}
	return kind == CHANGESET_WHOLE && writer->count[0] > 0 ? KNOT_EINVAL : KNOT_OK;
}

/* All runs one after another, in the memory of the longest: there is no second copy of most of it. */
static knot_err_t writer_join(changeset_writer_t *writer, uint8_t **ret_data, size_t *ret_len)
{
	changeset_run_t *runs[] = { &writer->soa[0], &writer->rest[0], &writer->soa[1], &writer->rest[1] };
	changeset_run_t *longest = runs[0];
	size_t len = 0, at = 0;
	for (size_t i = 0; i < KNOT_LEN(runs); i++) {
		len += runs[i]->len;
		longest = runs[i]->len > longest->len ? runs[i] : longest;
	}
	uint8_t *data = realloc(longest->data, len);
	if (data == NULL) {
		return KNOT_ENOMEM;
	}
	longest->data = NULL;
	for (size_t i = 0; runs[i] != longest; i++) {
		at += runs[i]->len;
	}
	memmove(data + at, data, longest->len);
	at = 0;
	for (size_t i = 0; i < KNOT_LEN(runs); i++) {
		if (runs[i] != longest && runs[i]->len > 0) {
			memcpy(data + at, runs[i]->data, runs[i]->len);
		}
		at += runs[i]->len;
	}
	*ret_data = data;
	*ret_len = len;
	return KNOT_OK;
}

knot_err_t changeset_finish(changeset_writer_t *writer, changeset_kind_t kind, uint8_t **ret_data, size_t *ret_len)
{
	knot_err_t err = writer_judge(writer, kind);
	err = err == KNOT_OK ? writer_join(writer, ret_data, ret_len) : err;
	changeset_discard(writer);
	return err;
}

/* ---- Reading ---- */

typedef struct {
	knot_name_t owner;
	uint16_t type, count;
} rrset_head_t;

static bool read_head(knot_reader_t *r, rrset_head_t *ret_head)
{
	if (knot_name_read((knot_bytes_t){ r->data + r->pos, knot_reader_left(r) }, &ret_head->owner) != KNOT_OK) {
		return false;
	}
	(void)knot_read(r, ret_head->owner.len);
	ret_head->type = knot_read_u16(r);
	uint16_t rrclass = knot_read_u16(r);
	ret_head->count = knot_read_u16(r);
	return !r->failed && rrclass == KNOT_CLASS_IN && ret_head->count > 0 && !knot_rrtype_is_meta(ret_head->type) &&
	       (ret_head->type != KNOT_TYPE_SOA || ret_head->count == 1);
}

static bool read_record(knot_reader_t *r, const rrset_head_t *head, changeset_rr_t *ret_rr)
{
	uint32_t ttl = knot_read_u32(r);
	uint16_t len = knot_read_u16(r);
	const uint8_t *data = knot_read(r, len);
	*ret_rr = (changeset_rr_t){ .owner = head->owner, .type = head->type, .ttl = ttl, .rdata = { data, len } };
	return !r->failed && knot_rdata_check(head->type, ret_rr->rdata) == KNOT_OK;
}

knot_err_t changeset_each(knot_bytes_t payload, changeset_kind_t kind, changeset_visit_t visit, void *ctx)
{
	knot_reader_t r = knot_reader_of(payload);
	unsigned soas = 0, soas_wanted = kind == CHANGESET_STEP ? 2 : 1;
	knot_name_t apex = { 0 };
	while (knot_reader_left(&r) > 0) {
		rrset_head_t head;
		if (!read_head(&r, &head)) {
			return KNOT_EMALF;
		}
		if (head.type == KNOT_TYPE_SOA) {
			soas++;
			apex = soas == 1 ? head.owner : apex;
		}
		if (soas == 0 || soas > soas_wanted || !knot_name_in(head.owner, apex) ||
				(head.type == KNOT_TYPE_SOA && head.owner.len != apex.len)) {
			return KNOT_EMALF;
		}
		for (uint32_t i = 0; i < head.count; i++) {
			changeset_rr_t rr;
			if (!read_record(&r, &head, &rr)) {
				return KNOT_EMALF;
			}
			if (!visit(&rr, soas == soas_wanted, ctx)) {
				return KNOT_OK;
			}
		}
	}
	return soas == soas_wanted ? KNOT_OK : KNOT_EMALF;
}
