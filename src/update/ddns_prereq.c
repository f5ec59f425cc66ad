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
	*record = (prereq_record_t){ { wire, rr->owner.len, rr->owner.label_count }, rr->type,
		{ rdata, rr->rdata.len } };
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

static int prereq_cmp_data(const prereq_record_t *a, const prereq_record_t *b)
{
	return knot_rdata_cmp(a->rdata, b->rdata);
}

static int prereq_cmp(const void *va, const void *vb)
{
	const prereq_record_t *a = *(prereq_record_t *const *)va, *b = *(prereq_record_t *const *)vb;
	int order = knot_name_cmp(a->owner, b->owner);
	order = order != 0 ? order : (a->type > b->type) - (a->type < b->type);
	return order != 0 ? order : prereq_cmp_data(a, b);
}

/* The records of one RRset in a list that is sorted, each once. */
typedef struct {
	prereq_record_t *const *records;
	size_t count;
	size_t seen; /* so many of them the zone has */
	bool has_others;
} prereq_set_t;

static bool prereq_see_record(const zone_rr_t *rr, void *ctx)
{
	prereq_set_t *set = ctx;
	prereq_record_t wanted = *set->records[0], *key = &wanted;
	if (rr->type == wanted.type) {
		wanted.rdata = rr->rdata;
		bool found = bsearch(&key, set->records, set->count, sizeof(*set->records), prereq_cmp) != NULL;
		set->seen += found;
		set->has_others = !found;
	}
	return !set->has_others;
}

static knot_err_t prereq_check_set(const ddns_t *ddns, prereq_set_t *set, uint16_t *ret_rcode)
{
	const prereq_record_t *first = set->records[0];
	knot_err_t err = zone_txn_each_of(ddns->update->txn, first->owner, prereq_see_record, set);
	if (err == KNOT_OK && !set->has_others && set->seen == set->count) {
		return KNOT_OK;
	}
	if (err == KNOT_ENOMEM) {
		return err;
	}
	*ret_rcode = KNOT_RCODE_NXRRSET;
	prereq_say(ddns, first->owner, first->type, set->records, set->count, *ret_rcode);
	return KNOT_EPREREQ;
}

static bool prereq_is_same_set(const prereq_record_t *a, const prereq_record_t *b)
{
	return a->type == b->type && knot_name_eq(a->owner, b->owner);
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
		prereq_set_t set = { .records = list->records + at };
		while (at < list->count && prereq_is_same_set(set.records[0], list->records[at])) {
			at++;
			set.count++;
		}
		err = prereq_check_set(ddns, &set, ret_rcode);
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
