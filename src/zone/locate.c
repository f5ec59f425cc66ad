/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool locate_name(zone_located_t *message)
{
	if (message->owner == NULL || knot_name_scan(knot_str_of(message->owner), knot_name_root, message->wire,
						      &message->name) != KNOT_OK) {
		return false;
	}
	knot_name_lower(message->name, message->wire);
	return true;
}

void zone_locate_add(const zone_message_t *message, void *ctx)
{
	zone_locate_t *locate = ctx;
	locate->has_errors = locate->has_errors || message->level == ZONE_MESSAGE_ERROR;
	if (locate->messages == NULL) {
		locate->messages = calloc(ZONE_LOCATE_MAX, sizeof(*locate->messages));
	}
	char *text = locate->messages != NULL && locate->count < ZONE_LOCATE_MAX ? strdup(message->text) : NULL;
	if (text == NULL) { /* out of memory: the message goes out unchanged, before those that wait */
		if (locate->on_message != NULL) {
			locate->on_message(message, locate->ctx);
		}
		return;
	}
	zone_located_t *kept = &locate->messages[locate->count++];
	*kept = (zone_located_t){
		.level = message->level, .text = text, .owner = message->owner != NULL ? strdup(message->owner) : NULL
	};
	locate->missing += locate_name(kept);
}

static bool locate_on_record(const knot_zone_record_t *record, void *ctx)
{
	zone_locate_t *locate = ctx;
	if (record->owner_id == locate->owner_id) {
		return true;
	}
	locate->owner_id = record->owner_id;
	for (size_t i = 0; i < locate->count; i++) {
		zone_located_t *message = &locate->messages[i];
		bool is_meant = message->line == 0 && message->name.len == record->owner.len &&
				knot_name_eq(message->name, record->owner);
		if (is_meant) {
			message->line = record->line;
			message->file = strdup(record->file);
			locate->missing--;
		}
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

static void locate_scan(
		zone_locate_t *locate, const char *path, const knot_str_t *text, const knot_zonefile_params_t *scan)
{
	const knot_zonefile_params_t params = { .origin = scan->origin,
		.default_ttl = scan->default_ttl,
		.on_record = locate_on_record,
		.on_fault = locate_on_fault,
		.should_stop = locate_should_stop,
		.ctx = locate };
	locate->scan = scan;
	/* If the file changed meanwhile, lines may differ or be missing. The messages are still about what was read. */
	(void)!(text != NULL ? knot_zonefile_scan_text(*text, path, &params) : knot_zonefile_scan(path, &params));
}

static void locate_tell_one(const zone_locate_t *locate, const zone_located_t *message)
{
	char text[4096];
	bool is_found = message->line != 0 && message->file != NULL;
	if (is_found) {
		snprintf(text, sizeof(text), "%s, file '%s', line %llu", message->text, message->file,
				(unsigned long long)message->line);
	}
	const zone_message_t told = { .level = message->level,
		.text = is_found ? text : message->text,
		.file = is_found ? message->file : NULL,
		.line = is_found ? message->line : 0,
		.owner = message->owner };
	locate->on_message(&told, locate->ctx);
}

void zone_locate_tell(
		zone_locate_t *locate, const char *path, const knot_str_t *text, const knot_zonefile_params_t *scan)
{
	if (scan != NULL && locate->missing > 0) {
		locate_scan(locate, path, text, scan);
	}
	for (size_t i = 0; i < locate->count; i++) {
		if (locate->on_message != NULL) {
			locate_tell_one(locate, &locate->messages[i]);
		}
		free(locate->messages[i].text);
		free(locate->messages[i].owner);
		free(locate->messages[i].file);
	}
	free(locate->messages);
	locate->messages = NULL;
	locate->count = locate->missing = 0;
}
