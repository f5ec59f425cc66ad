/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/derive.h"

#include <stdlib.h>
#include <string.h>

#include "libknot/rr/rrtype.h"
#include "src/update/derive_steps.h"
#include "src/update/reverse_name.h"

/* ---- What is derived from what ---- */

bool derive_takes(uint16_t type, bool is_apex)
{
	switch (type) {
	case KNOT_TYPE_RRSIG:
	case KNOT_TYPE_NSEC:
	case KNOT_TYPE_NSEC3:
	case KNOT_TYPE_NSEC3PARAM: return false;
	case KNOT_TYPE_SOA:
	case KNOT_TYPE_NS:
	case KNOT_TYPE_DNSKEY:
	case KNOT_TYPE_CDS:
	case KNOT_TYPE_CDNSKEY:
	case KNOT_TYPE_ZONEMD: return !is_apex;
	default: return true;
	}
}

bool derive_owner_of(
		knot_name_t zone, const zone_rr_t *rr, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_owner)
{
	uint16_t type = reverse_is_ip6(zone) ? KNOT_TYPE_AAAA : KNOT_TYPE_A;
	size_t len = type == KNOT_TYPE_A ? 4 : REVERSE_ADDRESS_MAX;
	if (rr->type != type || rr->rdata.len != len) {
		return false;
	}
	*ret_owner = reverse_name(rr->rdata, ret_wire);
	return knot_name_in(*ret_owner, zone);
}

static int derive_name_order(knot_name_t a, knot_name_t b)
{
	return a.len != b.len ? a.len - b.len : memcmp(a.wire, b.wire, a.len);
}

static int derive_source_order(const void *a, const void *b)
{
	return derive_name_order(((const derive_source_t *)a)->name, ((const derive_source_t *)b)->name);
}

void derive_sort(derive_source_t *sources, size_t *count)
{
	size_t kept = 0;
	if (*count > 0) {
		qsort(sources, *count, sizeof(*sources), derive_source_order);
	}
	for (size_t i = 0; i < *count; i++) {
		if (kept == 0 || derive_name_order(sources[kept - 1].name, sources[i].name) != 0) {
			sources[kept++] = sources[i];
		}
	}
	*count = kept;
}

const derive_source_t *derive_source_of(const derive_t *derive, knot_name_t name)
{
	for (unsigned i = 0; i <= name.label_count && derive->source_count > 0; i++) {
		derive_source_t key = { .name = knot_name_strip(name, i) };
		const derive_source_t *found = bsearch(&key, derive->sources, derive->source_count,
				sizeof(*derive->sources), derive_source_order);
		if (found != NULL) {
			return found;
		}
	}
	return NULL;
}

static bool derive_is_awaited(const derive_source_t *source)
{
	return source->contents == NULL && source->is_awaited;
}

bool derive_is_derived(const derive_t *derive, const zone_rr_t *rr)
{
	if (derive->kind == DERIVE_INCLUDE) {
		return derive_source_of(derive, rr->owner) != NULL;
	}
	return rr->type == KNOT_TYPE_PTR && derive_source_of(derive, knot_name_of(rr->rdata.data)) != NULL;
}

/* ---- Looking into versions ---- */

/** A search for records. */
typedef struct {
	derive_run_t *run;
	derive_records_t *records;
	bool is_apex;
	uint16_t type;
	knot_bytes_t rdata;
	bool is_found;
	uint32_t ttl;
} derive_search_t;

static bool derive_gather_one(const zone_rr_t *rr, void *ctx)
{
	derive_search_t *search = ctx;
	if (derive_takes(rr->type, search->is_apex)) {
		search->run->err = derive_records_put(search->records, rr->type, rr->ttl, rr->rdata);
	}
	return search->run->err == KNOT_OK;
}

static knot_err_t derive_gather(derive_run_t *run, const zone_contents_t *contents, knot_name_t owner, bool is_apex,
		derive_records_t *records)
{
	derive_search_t search = { .run = run, .records = records, .is_apex = is_apex };
	derive_records_clear(records);
	if (contents != NULL) {
		(void)zone_each_of_name(contents, owner, run->scratch[1], derive_gather_one, &search);
	}
	derive_records_sort(records);
	return run->err;
}

static bool derive_find_one(const zone_rr_t *rr, void *ctx)
{
	derive_search_t *search = ctx;
	if (rr->type == search->type && rr->rdata.len == search->rdata.len &&
			memcmp(rr->rdata.data, search->rdata.data, rr->rdata.len) == 0) {
		search->is_found = true;
		search->ttl = rr->ttl;
	}
	return !search->is_found;
}

static bool derive_find(derive_run_t *run, const zone_contents_t *contents, knot_name_t owner, uint16_t type,
		knot_bytes_t rdata, uint32_t *ret_ttl)
{
	derive_search_t search = { .type = type, .rdata = rdata };
	if (contents != NULL) {
		(void)zone_each_of_name(contents, owner, run->scratch[1], derive_find_one, &search);
	}
	*ret_ttl = search.ttl;
	return search.is_found;
}

static bool derive_find_address(derive_run_t *run, const derive_source_t *source, knot_name_t owner, knot_name_t target,
		uint32_t *ret_ttl)
{
	uint8_t address[REVERSE_ADDRESS_MAX];
	size_t len = reverse_address(owner, address);
	return len > 0 && derive_find(run, source->contents, target, len == 4 ? KNOT_TYPE_A : KNOT_TYPE_AAAA,
					  (knot_bytes_t){ address, len }, ret_ttl);
}

static bool derive_is_own(derive_run_t *run, knot_name_t owner, knot_name_t target)
{
	uint32_t ttl;
	return !run->derive->is_own_known || derive_find(run, run->derive->own, owner, KNOT_TYPE_PTR,
							     (knot_bytes_t){ target.wire, target.len }, &ttl);
}

/* ---- Comparing all ---- */

static bool derive_scan_mark(derive_run_t *run, knot_name_t owner, knot_name_t target)
{
	run->err = derive_mark(&run->marks, owner, target) ? run->err : KNOT_ENOMEM;
	return run->err == KNOT_OK;
}

/** A walk. */
typedef struct {
	derive_run_t *run;
	const derive_source_t *source;
	uint8_t last[KNOT_NAME_MAX]; /* the name that was looked at */
	size_t last_len;
} derive_walk_t;

static bool derive_walk_is_next(derive_walk_t *walk, knot_name_t owner)
{
	bool is_next = walk->last_len != owner.len || memcmp(walk->last, owner.wire, owner.len) != 0;
	memcpy(walk->last, owner.wire, owner.len);
	walk->last_len = owner.len;
	return is_next;
}

static bool derive_scan_address(const zone_rr_t *rr, void *ctx)
{
	derive_walk_t *walk = ctx;
	derive_run_t *run = walk->run;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint32_t ttl;
	if (!derive_owner_of(run->derive->zone, rr, wire, &owner) ||
			derive_source_of(run->derive, rr->owner) != walk->source) {
		return true;
	}
	const knot_bytes_t target = { rr->owner.wire, rr->owner.len };
	bool is_there = derive_find(run, run->base, owner, KNOT_TYPE_PTR, target, &ttl) && ttl == rr->ttl;
	return is_there || derive_scan_mark(run, owner, rr->owner);
}

static bool derive_scan_pointer(const zone_rr_t *rr, void *ctx)
{
	derive_run_t *run = ((derive_walk_t *)ctx)->run;
	uint32_t ttl;
	if (rr->type != KNOT_TYPE_PTR) {
		return true;
	}
	knot_name_t target = knot_name_of(rr->rdata.data);
	const derive_source_t *source = derive_source_of(run->derive, target);
	return source == NULL || derive_is_awaited(source) ||
	       derive_find_address(run, source, rr->owner, target, &ttl) || derive_scan_mark(run, rr->owner, target);
}

static bool derive_scan_name(const zone_rr_t *rr, void *ctx)
{
	derive_walk_t *walk = ctx;
	derive_run_t *run = walk->run;
	const derive_source_t *source = derive_source_of(run->derive, rr->owner);
	if (source == NULL || derive_is_awaited(source) || (walk->source != NULL && source != walk->source) ||
			!derive_walk_is_next(walk, rr->owner)) {
		return true;
	}
	bool is_apex = rr->owner.label_count == source->name.label_count;
	/* Of the zone itself what a source doesn't take is of its own making, if there are signatures. */
	run->err = derive_gather(run, run->base, rr->owner, false, &run->now);
	run->err = run->err == KNOT_OK ? derive_gather(run, source->contents, rr->owner, is_apex, &run->wanted)
				       : run->err;
	if (run->err != KNOT_OK) {
		return false;
	}
	return derive_records_eq(&run->now, &run->wanted) || derive_scan_mark(run, rr->owner, (knot_name_t){ 0 });
}

static void derive_scan(derive_run_t *run)
{
	const derive_t *derive = run->derive;
	bool is_include = derive->kind == DERIVE_INCLUDE;
	for (size_t i = 0; i < derive->source_count && run->err == KNOT_OK; i++) {
		derive_walk_t walk = { .run = run, .source = &derive->sources[i] };
		if (walk.source->contents != NULL) {
			(void)zone_each_record(walk.source->contents, run->scratch[0],
					is_include ? derive_scan_name : derive_scan_address, &walk);
		}
	}
	derive_walk_t walk = { .run = run };
	if (run->base != NULL && run->err == KNOT_OK) {
		(void)zone_each_record(
				run->base, run->scratch[0], is_include ? derive_scan_name : derive_scan_pointer, &walk);
	}
}

/* ---- Putting right ---- */

static bool derive_note_now(const zone_rr_t *rr, void *ctx)
{
	derive_run_t *run = ctx;
	bool is_pointer = run->derive->kind == DERIVE_REVERSE;
	run->has_cname = run->has_cname || rr->type == KNOT_TYPE_CNAME;
	if (is_pointer ? rr->type == KNOT_TYPE_PTR : derive_takes(rr->type, false)) {
		run->err = derive_records_put(&run->now, rr->type, rr->ttl, rr->rdata);
	}
	return run->err == KNOT_OK;
}

static knot_err_t derive_look_at(derive_run_t *run, knot_name_t owner)
{
	derive_records_clear(&run->now);
	run->has_cname = false;
	knot_err_t err = zone_txn_each_of(run->txn, owner, derive_note_now, run);
	err = err == KNOT_ENONODE ? KNOT_OK : err;
	err = err == KNOT_OK ? run->err : err;
	run->is_below_dname = zone_txn_is_below_dname(run->txn, owner);
	derive_records_sort(&run->now);
	return err;
}

static knot_err_t derive_fix_included(derive_run_t *run, knot_name_t owner)
{
	const derive_source_t *source = derive_source_of(run->derive, owner);
	if (source == NULL || derive_is_awaited(source)) {
		return KNOT_OK;
	}
	knot_err_t err = derive_look_at(run, owner);
	bool is_apex = owner.label_count == source->name.label_count;
	err = err == KNOT_OK ? derive_gather(run, source->contents, owner, is_apex, &run->wanted) : err;
	if (run->is_below_dname) {
		derive_records_clear(&run->wanted);
	}
	return err == KNOT_OK ? derive_records_replace(run->txn, owner, &run->now, &run->wanted) : err;
}

/* A PTR record that there is, or that there may be. ttl: lowered to that of the address. */
static knot_err_t derive_judge(
		derive_run_t *run, knot_name_t owner, knot_bytes_t rdata, bool is_there, uint32_t *ttl, bool *has_ttl)
{
	knot_name_t target = knot_name_of(rdata.data);
	const derive_source_t *source = derive_source_of(run->derive, target);
	uint32_t found = 0;
	bool stays = is_there;
	if (source != NULL && !derive_is_awaited(source)) {
		bool is_right = !run->has_cname && !run->is_below_dname &&
				derive_find_address(run, source, owner, target, &found);
		stays = is_right || (is_there && derive_is_own(run, owner, target));
		*ttl = is_right && (!*has_ttl || found < *ttl) ? found : *ttl;
		*has_ttl = *has_ttl || is_right;
	}
	return stays ? derive_records_put(&run->wanted, KNOT_TYPE_PTR, 0, rdata) : KNOT_OK;
}

/* marks: of one owner, offsets in run->marks. */
static knot_err_t derive_fix_pointers(derive_run_t *run, knot_name_t owner, const size_t *marks, size_t count)
{
	knot_err_t err = derive_look_at(run, owner);
	uint32_t ttl = run->now.count > 0 ? run->now.records[0].ttl : 0;
	bool has_ttl = false;
	derive_records_clear(&run->wanted);
	for (size_t i = 0; i < run->now.count && err == KNOT_OK; i++) {
		const struct derive_record *record = &run->now.records[i];
		err = derive_judge(run, owner, (knot_bytes_t){ run->now.data + record->at, record->len }, true, &ttl,
				&has_ttl);
	}
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		const uint8_t *at = run->marks.data + marks[i];
		if (at[1] > 0) {
			err = derive_judge(run, owner, (knot_bytes_t){ at + 2 + at[0], at[1] }, false, &ttl, &has_ttl);
		}
	}
	for (size_t i = 0; i < run->wanted.count; i++) {
		run->wanted.records[i].ttl = ttl;
	}
	derive_records_sort(&run->wanted);
	return err == KNOT_OK ? derive_records_replace(run->txn, owner, &run->now, &run->wanted) : err;
}

static int derive_mark_order(const void *a_at, const void *b_at, void *ctx)
{
	const uint8_t *data = ctx, *a = data + *(const size_t *)a_at, *b = data + *(const size_t *)b_at;
	return derive_name_order((knot_name_t){ a + 2, a[0], 0 }, (knot_name_t){ b + 2, b[0], 0 });
}

static bool derive_has_owner(const uint8_t *mark, const uint8_t *other)
{
	return mark[0] == other[0] && memcmp(mark + 2, other + 2, mark[0]) == 0;
}

static knot_err_t derive_fix(derive_run_t *run)
{
	derive_marks_t *marks = &run->marks;
	size_t *order = calloc(marks->count + 1, sizeof(*order)), pos = 0;
	knot_err_t err = order != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; i < marks->count && err == KNOT_OK; i++) {
		order[i] = pos;
		pos += 2 + (size_t)marks->data[pos] + marks->data[pos + 1];
	}
	if (err == KNOT_OK && marks->count > 1) {
		qsort_r(order, marks->count, sizeof(*order), derive_mark_order, marks->data);
	}
	for (size_t i = 0, end; i < marks->count && err == KNOT_OK; i = end) {
		const uint8_t *at = marks->data + order[i];
		for (end = i + 1; end < marks->count && derive_has_owner(at, marks->data + order[end]); end++) {}
		knot_name_t owner = knot_name_of(at + 2);
		err = run->derive->kind == DERIVE_INCLUDE ? derive_fix_included(run, owner)
							  : derive_fix_pointers(run, owner, &order[i], end - i);
	}
	free(order);
	return err;
}

/* ---- The whole ---- */

/* What others have put into the transaction. */
static bool derive_note_edit(const zone_rr_t *rr, void *ctx)
{
	derive_run_t *run = ctx;
	bool is_alias = rr->type == KNOT_TYPE_CNAME || rr->type == KNOT_TYPE_DNAME;
	if (!is_alias && !derive_is_derived(run->derive, rr)) {
		return true;
	}
	if (rr->type == KNOT_TYPE_DNAME) {
		run->marks.is_all = true; /* names below it */
	}
	bool is_pointer = run->derive->kind == DERIVE_REVERSE && rr->type == KNOT_TYPE_PTR;
	return derive_scan_mark(run, rr->owner, is_pointer ? knot_name_of(rr->rdata.data) : (knot_name_t){ 0 });
}

static bool derive_note_all(const zone_rr_t *rr, void *ctx)
{
	derive_run_t *run = ctx;
	return !derive_is_derived(run->derive, rr) || derive_note_edit(rr, ctx);
}

static knot_err_t derive_gather_marks(derive_run_t *run, const derive_marks_t *marks)
{
	derive_marks_add(&run->marks, marks);
	bool is_all = run->marks.is_all;
	run->marks.is_all = false;
	knot_err_t err = zone_txn_diff(run->txn, false, derive_note_edit, run);
	err = err == KNOT_OK ? zone_txn_diff(run->txn, true, derive_note_edit, run) : err;
	if (err == KNOT_OK && run->err == KNOT_OK && is_all) {
		derive_scan(run);
	}
	if (err == KNOT_OK && run->err == KNOT_OK && run->marks.is_all) {
		err = zone_txn_each(run->txn, derive_note_all, run);
	}
	return err == KNOT_OK ? run->err : err;
}

knot_err_t derive_apply(
		const derive_t *derive, const derive_marks_t *marks, const zone_contents_t *base, zone_txn_t *txn)
{
	derive_run_t *run = calloc(1, sizeof(*run));
	if (run == NULL) {
		return KNOT_ENOMEM;
	}
	run->derive = derive;
	run->base = base;
	run->txn = txn;
	run->scratch[0] = malloc(KNOT_RDATA_MAX);
	run->scratch[1] = malloc(KNOT_RDATA_MAX);
	run->err = run->scratch[0] != NULL && run->scratch[1] != NULL ? KNOT_OK : KNOT_ENOMEM;
	knot_err_t err = run->err == KNOT_OK ? derive_gather_marks(run, marks) : run->err;
	err = err == KNOT_OK ? derive_fix(run) : err;
	derive_marks_done(&run->marks);
	derive_records_done(&run->now);
	derive_records_done(&run->wanted);
	free(run->scratch[0]);
	free(run->scratch[1]);
	free(run);
	return err;
}
