/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/locate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libknot/rr/rrtype.h"

/* ---- Messages that wait ---- */

static char *locate_copy(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

/* What there is no memory for isn't looked for. */
static void locate_keep_found(zone_located_t *kept, const zone_found_t *found)
{
	kept->found = *found;
	kept->message.found = &kept->found;
	kept->found.detail = locate_copy(found->detail);
	knot_name_lower(found->owner, kept->owner);
	kept->found.owner.wire = kept->owner;
	uint8_t *rdata = found->rdata.len > 0 ? malloc(found->rdata.len) : NULL;
	if (rdata != NULL) {
		memcpy(rdata, found->rdata.data, found->rdata.len);
	}
	kept->found.rdata = (knot_bytes_t){ rdata, rdata != NULL ? found->rdata.len : 0 };
}

void zone_locate_add(const zone_message_t *message, void *ctx)
{
	zone_locate_t *locate = ctx;
	locate->has_errors = locate->has_errors || message->level == ZONE_MESSAGE_ERROR;
	if (locate->messages == NULL && !locate->is_done) {
		locate->messages = calloc(ZONE_LOCATE_MAX, sizeof(*locate->messages));
		locate->is_done = locate->messages == NULL;
	}
	if (!locate->is_done && locate->count == ZONE_LOCATE_MAX) {
		zone_locate_tell(locate);
	}
	char *text = !locate->is_done ? strdup(message->text) : NULL;
	if (text == NULL) { /* there were too many, or there is no memory */
		zone_locate_tell(locate);
		if (locate->on_message != NULL) {
			locate->on_message(message, locate->ctx);
		}
		return;
	}
	zone_located_t *kept = &locate->messages[locate->count++];
	kept->message = *message;
	kept->message.text = text;
	kept->message.owner = locate_copy(message->owner);
	if (message->found != NULL) {
		locate_keep_found(kept, message->found);
	}
}

/* ---- The scan ---- */

static int located_compare_name(const zone_located_t *a, knot_name_t name)
{
	knot_name_t owner = a->found.owner;
	int order = memcmp(owner.wire, name.wire, owner.len < name.len ? owner.len : name.len);
	return order != 0 ? order : (int)owner.len - (int)name.len;
}

static int located_compare(const void *a, const void *b)
{
	const zone_located_t *const *x = a, *const *y = b;
	return located_compare_name(*x, (*y)->found.owner);
}

/* Where the messages of a name begin and end. */
static void locate_find(zone_locate_t *locate, knot_name_t owner)
{
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(owner, lower);
	const knot_name_t name = { lower, owner.len, owner.label_count };
	size_t low = 0, high = locate->name_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (located_compare_name(locate->by_name[middle], name) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	locate->first = locate->end = low;
	while (locate->end < locate->name_count && located_compare_name(locate->by_name[locate->end], name) == 0) {
		locate->end++;
	}
}

/* Names are stored in lower case; what isn't one differs in more than case. */
static bool is_same_rdata(knot_bytes_t a, knot_bytes_t b)
{
	bool is_same = a.len == b.len;
	for (size_t i = 0; is_same && i < a.len; i++) {
		is_same = tolower(a.data[i]) == tolower(b.data[i]);
	}
	return is_same;
}

/* The best fit that a message can have. */
static zone_located_kind_t located_best(const zone_found_t *found)
{
	if (found->type == 0 || found->type == KNOT_TYPE_ANY) {
		return ZONE_LOCATED_OWNER;
	}
	return found->rdata.len > 0 ? ZONE_LOCATED_RECORD : ZONE_LOCATED_TYPE;
}

static void located_note(zone_located_t *kept, const knot_zone_record_t *record, size_t *missing)
{
	const zone_found_t *found = &kept->found;
	zone_located_kind_t best = located_best(found), kind = ZONE_LOCATED_OWNER;
	if (best != ZONE_LOCATED_OWNER && record->type == found->type) {
		kind = is_same_rdata(found->rdata, record->rdata) ? best : ZONE_LOCATED_TYPE;
	}
	zone_located_line_t *line = &kept->lines[kind];
	if (line->line == 0) {
		line->line = record->line;
		line->file = strdup(record->file);
		*missing -= kind == best;
	}
}

static bool locate_on_record(const knot_zone_record_t *record, void *ctx)
{
	zone_locate_t *locate = ctx;
	if (record->owner_id != locate->owner_id) {
		locate->owner_id = record->owner_id;
		locate_find(locate, record->owner);
	}
	for (size_t i = locate->first; i < locate->end; i++) {
		located_note(locate->by_name[i], record, &locate->missing);
	}
	return locate->missing > 0;
}

/* Faults of the file were reported when it was read. */
static bool locate_on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	(void)fault;
	(void)ctx;
	return true;
}

static bool locate_should_stop(void *ctx)
{
	const zone_locate_t *locate = ctx;
	return locate->scan->should_stop != NULL && locate->scan->should_stop(locate->scan->ctx);
}

static void locate_scan(zone_locate_t *locate)
{
	const knot_zonefile_params_t params = { .origin = locate->scan->origin,
		.default_ttl = locate->scan->default_ttl,
		.on_record = locate_on_record,
		.on_fault = locate_on_fault,
		.should_stop = locate_should_stop,
		.ctx = locate };
	locate->by_name = calloc(locate->count, sizeof(zone_located_t *));
	if (locate->by_name == NULL) {
		return;
	}
	for (size_t i = 0; i < locate->count; i++) {
		if (locate->messages[i].message.found != NULL && locate->messages[i].found.owner.len > 0) {
			locate->by_name[locate->name_count++] = &locate->messages[i];
		}
	}
	locate->missing = locate->name_count;
	qsort(locate->by_name, locate->name_count, sizeof(zone_located_t *), located_compare);
	if (locate->missing > 0) {
		/* If the file changed meanwhile, lines may differ or be missing. The messages are still about what was
		 * read. */
		(void)!(locate->text != NULL ? knot_zonefile_scan_text(*locate->text, locate->path, &params)
					     : knot_zonefile_scan(locate->path, &params));
	}
	free(locate->by_name);
}

/* ---- Telling ---- */

static void locate_tell_one(const zone_locate_t *locate, const zone_located_t *kept)
{
	char text[4096];
	zone_message_t told = kept->message;
	unsigned kind = ZONE_LOCATED_KINDS;
	while (kind > 0 && kept->lines[kind - 1].file == NULL) {
		kind--;
	}
	if (kind > 0) {
		const zone_located_line_t *line = &kept->lines[kind - 1];
		snprintf(text, sizeof(text), "%s, file '%s', line %llu", told.text, line->file,
				(unsigned long long)line->line);
		told.text = text;
		told.file = line->file;
		told.line = line->line;
	}
	if (locate->on_message != NULL) {
		locate->on_message(&told, locate->ctx);
	}
}

static void located_done(zone_located_t *kept)
{
	free((char *)kept->message.text);
	free((char *)kept->message.owner);
	free((char *)kept->found.detail);
	free((uint8_t *)kept->found.rdata.data);
	for (unsigned i = 0; i < ZONE_LOCATED_KINDS; i++) {
		free(kept->lines[i].file);
	}
}

void zone_locate_tell(zone_locate_t *locate)
{
	if (locate->scan != NULL && locate->count > 0 && (locate->is_always || locate->has_errors)) {
		locate_scan(locate);
	}
	for (size_t i = 0; i < locate->count; i++) {
		locate_tell_one(locate, &locate->messages[i]);
		located_done(&locate->messages[i]);
	}
	free(locate->messages);
	locate->messages = NULL;
	locate->count = 0;
	locate->is_done = true;
}
