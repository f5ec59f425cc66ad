/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prerequisites (RFC 2136 2.4, 3.2): each by itself in the order of the message, but those that name records, of which
 * a zone must have exactly those that the message has of an RRset: these are gathered, and compared at the end.
 */
#include "src/update/ddns_steps.h"

#include "libknot/text/rdata_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A record that must be there. The owner's bytes and the data lie behind. */
typedef struct {
	knot_name_t owner; /* lower case */
	uint16_t type;
	knot_bytes_t rdata; /* canonical */
	bool is_seen;       /* the zone has it */
	bool has_others;    /* of the first one of an RRset: the zone has records of it that aren't here */
} prereq_record_t;

typedef struct {
	prereq_record_t **records; /* owned, and each of them */
	size_t count;
} prereq_list_t;

static void prereq_list_clear(prereq_list_t *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->records[i]);
	}
	free(list->records);
}

/* max: what the list can have in the end. */
static knot_err_t prereq_gather(prereq_list_t *list, size_t max, const ddns_rr_t *rr)
{
	assert(list->count < max);
	if (list->records == NULL) {
		list->records = calloc(max, sizeof(*list->records));
	}
	prereq_record_t *record = malloc(sizeof(*record) + rr->owner.len + rr->rdata.len);
	if (list->records == NULL || record == NULL) {
		free(record);
		return KNOT_ENOMEM;
	}
	uint8_t *wire = (uint8_t *)(record + 1), *rdata = wire + rr->owner.len;
	knot_name_lower(rr->owner, wire);
	memcpy(rdata, rr->rdata.data, rr->rdata.len);
	knot_rdata_canonical(rr->type, (knot_mut_bytes_t){ rdata, rr->rdata.len });
	*record = (prereq_record_t){
		.owner = { wire, rr->owner.len, rr->owner.label_count },
		.type = rr->type,
		.rdata = { rdata, rr->rdata.len },
	};
	list->records[list->count++] = record;
	return KNOT_OK;
}

/* ---- What the log says ---- */

static void prereq_print_data(char *text, size_t max, uint16_t type, knot_bytes_t rdata)
{
	static const char before[] = " '";
	size_t len = strlen(text);
	if (len + sizeof(before) + 1 >= max) {
		return;
	}
	size_t at = len + sizeof(before) - 1;
	size_t printed = knot_rdata_print(type, rdata, text + at, max - at - 1);
	if (printed == 0) {
		text[len] = '\0';
		return;
	}
	memcpy(text + len, before, sizeof(before) - 1);
	text[at + printed] = '\'';
	text[at + printed + 1] = '\0';
}

/* data: count of records of one RRset; none: it is about a name or a type. */
static void prereq_say(const ddns_t *ddns, knot_name_t name, uint16_t type, prereq_record_t *const *data, size_t count,
		uint16_t rcode)
{
	if (ddns->on_message == NULL) {
		return;
	}
	enum { DATA_MAX = DDNS_TEXT_MAX / 2 };
	char owner[KNOT_NAME_TEXT_MAX], mnemonic[KNOT_TYPE_TEXT_MAX] = "", list[DATA_MAX] = "";
	knot_name_print(name, owner);
	if (type != KNOT_TYPE_ANY) {
		knot_rrtype_print(type, mnemonic);
	}
	for (size_t i = 0; i < count; i++) {
		prereq_print_data(list, sizeof(list), type, data[i]->rdata);
	}
	ddns_say(ddns, DDNS_DEBUG, true, "DDNS, prerequisite name %.400s%s%s%s%s (%s)", owner,
			mnemonic[0] != '\0' ? ", type " : "", mnemonic, list[0] != '\0' ? ", data" : "", list,
			knot_rcode_slot_name(knot_rcode_slot(rcode)));
}

/* ---- Names and types ---- */

static bool prereq_see_one(const zone_rr_t *rr, void *ctx)
{
	(void)rr;
	(void)ctx;
	return false;
}

/* A name is in use if it has records: what only has names below it isn't (RFC 2136 2.4.4). */
static knot_err_t prereq_find(const ddns_t *ddns, const ddns_rr_t *rr, bool *ret_found)
{
	const zone_txn_t *txn = ddns->update->txn;
	uint32_t ttl;
	knot_err_t err = rr->type == KNOT_TYPE_ANY ? zone_txn_each_of(txn, rr->owner, prereq_see_one, NULL)
						   : zone_txn_find_ttl(txn, rr->owner, rr->type, &ttl);
	*ret_found = err == KNOT_OK;
	return err == KNOT_ENONODE || err == KNOT_ENOENT ? KNOT_OK : err;
}

static knot_err_t prereq_check_presence(const ddns_t *ddns, const ddns_rr_t *rr, uint16_t *ret_rcode)
{
	bool is_wanted = rr->class == KNOT_CLASS_ANY, is_name = rr->type == KNOT_TYPE_ANY, found;
	knot_err_t err = prereq_find(ddns, rr, &found);
	if (err != KNOT_OK || found == is_wanted) {
		return err;
	}
	*ret_rcode = is_wanted ? (is_name ? KNOT_RCODE_NXDOMAIN : KNOT_RCODE_NXRRSET)
			       : (is_name ? KNOT_RCODE_YXDOMAIN : KNOT_RCODE_YXRRSET);
	prereq_say(ddns, rr->owner, rr->type, NULL, 0, *ret_rcode);
	return KNOT_EPREREQ;
}

/* In Knot's order: a TTL is malformed wherever the name is. */
static knot_err_t prereq_check_form(const ddns_t *ddns, const ddns_rr_t *rr)
{
	bool is_presence = rr->class == KNOT_CLASS_ANY || rr->class == KNOT_CLASS_NONE;
	if (rr->ttl != 0) {
		return KNOT_EMALF;
	}
	if (!knot_name_in(rr->owner, ddns->update->origin)) {
		return KNOT_EOUTOFZONE;
	}
	return (is_presence && !rr->has_rdata) || rr->class == KNOT_CLASS_IN ? KNOT_OK : KNOT_EMALF;
}

/* ---- Whole RRsets ---- */

static int prereq_cmp(const void *va, const void *vb)
{
	const prereq_record_t *a = *(prereq_record_t *const *)va, *b = *(prereq_record_t *const *)vb;
	int order = knot_name_cmp(a->owner, b->owner);
	order = order != 0 ? order : (a->type > b->type) - (a->type < b->type);
	return order != 0 ? order : knot_rdata_cmp(a->rdata, b->rdata);
}

/* Those of one name in a list that is sorted, each once. */
typedef struct {
	prereq_record_t *const *records;
	size_t count;
} prereq_name_t;

/* The position of the first record that isn't before this one. */
static size_t prereq_seek(const prereq_name_t *name, uint16_t type, knot_bytes_t rdata)
{
	size_t begin = 0, end = name->count;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		const prereq_record_t *at = name->records[middle];
		bool is_before = at->type != type ? at->type < type : knot_rdata_cmp(at->rdata, rdata) < 0;
		begin = is_before ? middle + 1 : begin;
		end = is_before ? end : middle;
	}
	return begin;
}

/* A record that the zone has: it is one of them, or the RRset of its type, if that is one of theirs, has others. */
static bool prereq_see_record(const zone_rr_t *rr, void *ctx)
{
	const prereq_name_t *name = ctx;
	size_t pos = prereq_seek(name, rr->type, rr->rdata);
	prereq_record_t *at = pos < name->count ? name->records[pos] : NULL;
	if (at != NULL && at->type == rr->type && knot_rdata_cmp(at->rdata, rr->rdata) == 0) {
		at->is_seen = true;
		return true;
	}
	pos = prereq_seek(name, rr->type, (knot_bytes_t){ NULL, 0 });
	if (pos < name->count && name->records[pos]->type == rr->type) {
		name->records[pos]->has_others = true;
	}
	return true;
}

static size_t prereq_set_len(prereq_record_t *const *records, size_t count)
{
	size_t len = 1;
	while (len < count && records[len]->type == records[0]->type) {
		len++;
	}
	return len;
}

static bool prereq_is_met(prereq_record_t *const *set, size_t count)
{
	bool is_met = !set[0]->has_others;
	for (size_t i = 0; is_met && i < count; i++) {
		is_met = set[i]->is_seen;
	}
	return is_met;
}

/* All RRsets of a name, in one walk through the records that the zone has there. */
static knot_err_t prereq_check_name(const ddns_t *ddns, prereq_name_t *name, uint16_t *ret_rcode)
{
	knot_name_t owner = name->records[0]->owner;
	if (zone_txn_each_of(ddns->update->txn, owner, prereq_see_record, name) == KNOT_ENOMEM) {
		return KNOT_ENOMEM;
	}
	for (size_t at = 0, len; at < name->count; at += len) {
		prereq_record_t *const *set = name->records + at;
		len = prereq_set_len(set, name->count - at);
		if (!prereq_is_met(set, len)) {
			*ret_rcode = KNOT_RCODE_NXRRSET;
			prereq_say(ddns, owner, set[0]->type, set, len, *ret_rcode);
			return KNOT_EPREREQ;
		}
	}
	return KNOT_OK;
}

/* Sort, and drop what the message says twice. */
static void prereq_sort(prereq_list_t *list)
{
	qsort(list->records, list->count, sizeof(*list->records), prereq_cmp);
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (kept > 0 && prereq_cmp(&list->records[kept - 1], &list->records[i]) == 0) {
			free(list->records[i]);
		} else {
			list->records[kept++] = list->records[i];
		}
	}
	list->count = kept;
}

static knot_err_t prereq_check_sets(const ddns_t *ddns, prereq_list_t *list, uint16_t *ret_rcode)
{
	knot_err_t err = KNOT_OK;
	if (list->count > 0) {
		prereq_sort(list);
	}
	for (size_t at = 0; err == KNOT_OK && at < list->count;) {
		prereq_name_t name = { .records = list->records + at };
		while (at < list->count && knot_name_eq(name.records[0]->owner, list->records[at]->owner)) {
			at++;
			name.count++;
		}
		err = prereq_check_name(ddns, &name, ret_rcode);
	}
	return err;
}

/* ---- All ---- */

static knot_err_t prereq_check_each(ddns_t *ddns, knot_message_t *message, prereq_list_t *list, uint16_t *ret_rcode)
{
	knot_message_rr_t raw;
	ddns_rr_t rr;
	knot_err_t err = KNOT_OK;
	size_t count = message->counts[KNOT_SECTION_ANSWER];
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		bool is_read = ddns_next(ddns, message, &raw, &rr, &err);
		assert(is_read); /* as it was before */
		(void)is_read;
		err = prereq_check_form(ddns, &rr);
		if (err == KNOT_OK) {
			err = rr.class == KNOT_CLASS_IN ? prereq_gather(list, count, &rr)
							: prereq_check_presence(ddns, &rr, ret_rcode);
		}
	}
	return err;
}

knot_err_t ddns_check_prereqs(ddns_t *ddns, knot_message_t *message, uint16_t *ret_rcode)
{
	prereq_list_t list = { 0 };
	knot_err_t err = prereq_check_each(ddns, message, &list, ret_rcode);
	err = err == KNOT_OK ? prereq_check_sets(ddns, &list, ret_rcode) : err;
	prereq_list_clear(&list);
	return err;
}
