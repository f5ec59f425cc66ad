/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libknot/rr/rrtype.h"

/* ---- Messages that wait ---- */

static char *locate_copy(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

static void locate_name(zone_located_t *kept)
{
	uint8_t wire[KNOT_NAME_MAX];
	const char *owner = kept->message.owner;
	if (owner == NULL || knot_name_scan(knot_str_of(owner), knot_name_root, wire, &kept->name) != KNOT_OK) {
		kept->name.len = 0;
		return;
	}
	kept->wire = malloc(kept->name.len);
	if (kept->wire == NULL) {
		kept->name.len = 0;
		return;
	}
	knot_name_lower(kept->name, kept->wire);
	kept->name.wire = kept->wire;
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
	kept->message.detail = locate_copy(message->detail);
	locate_name(kept);
}

/* ---- The scan ---- */

static int located_compare_name(const zone_located_t *a, knot_name_t name)
{
	size_t len = a->name.len < name.len ? a->name.len : name.len;
	int order = memcmp(a->wire, name.wire, len);
	return order != 0 ? order : (int)a->name.len - (int)name.len;
}

static int located_compare(const void *a, const void *b)
{
	const zone_located_t *const *x = a, *const *y = b;
	return located_compare_name(*x, (*y)->name);
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

static void located_note(zone_located_t *kept, const knot_zone_record_t *record, size_t *missing)
{
	uint16_t type = kept->message.type;
	bool is_any = type == 0 || type == KNOT_TYPE_ANY;
	if (kept->owner_line == 0) {
		kept->owner_line = record->line;
		kept->owner_file = strdup(record->file);
	}
	if (kept->line == 0 && (is_any || type == record->type)) {
		kept->line = record->line;
		kept->file = strdup(record->file);
		(*missing)--;
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
		if (locate->messages[i].name.len > 0) {
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
	uint64_t line = kept->line != 0 ? kept->line : kept->owner_line;
	const char *file = kept->line != 0 ? kept->file : kept->owner_file;
	zone_message_t told = kept->message;
	if (line != 0 && file != NULL) {
		snprintf(text, sizeof(text), "%s, file '%s', line %llu", told.text, file, (unsigned long long)line);
		told.text = text;
		told.file = file;
		told.line = line;
	}
	if (locate->on_message != NULL) {
		locate->on_message(&told, locate->ctx);
	}
}

void zone_locate_tell(zone_locate_t *locate)
{
	if (locate->scan != NULL && locate->count > 0 && (locate->is_always || locate->has_errors)) {
		locate_scan(locate);
	}
	for (size_t i = 0; i < locate->count; i++) {
		zone_located_t *kept = &locate->messages[i];
		locate_tell_one(locate, kept);
		free((char *)kept->message.text);
		free((char *)kept->message.owner);
		free((char *)kept->message.detail);
		free(kept->wire);
		free(kept->file);
		free(kept->owner_file);
	}
	free(locate->messages);
	locate->messages = NULL;
	locate->count = 0;
	locate->is_done = true;
}
