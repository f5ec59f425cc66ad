/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/zonecheck/result.h"

#include "libknot/rr/rrtype.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const level_names[] = {
	[ZONE_MESSAGE_NOTICE] = "notice",
	[ZONE_MESSAGE_WARNING] = "warning",
	[ZONE_MESSAGE_ERROR] = "error",
};

/* ---- JSON ---- */

void result_begin(result_t *result, knot_name_t zone, const char *file)
{
	(void)knot_name_print(zone, result->zone);
	if (!result->is_json) {
		return;
	}
	result->json = knot_json_of(knot_json_to_file, stdout);
	knot_json_open(&result->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(&result->json, "zone", result->zone);
	knot_json_text(&result->json, "file", file);
	knot_json_open(&result->json, "messages", KNOT_JSON_LIST, KNOT_JSON_LINES);
	result->has_list = true;
}

static void json_optional(knot_json_t *json, const char *name, const char *text)
{
	if (text != NULL && text[0] != '\0') {
		knot_json_text(json, name, text);
	}
}

static void json_add(result_t *result, const zone_message_t *message)
{
	knot_json_t *json = &result->json;
	char type[KNOT_TYPE_TEXT_MAX] = "";
	const zone_found_t *found = message->found;
	if (found != NULL && found->type != 0 && found->type != KNOT_TYPE_ANY) {
		knot_rrtype_print(found->type, type);
	}
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "level", level_names[message->level]);
	knot_json_text(json, "text", found != NULL ? zone_fault_text(found->fault) : message->text);
	json_optional(json, "owner", message->owner);
	json_optional(json, "type", type);
	json_optional(json, "detail", found != NULL ? found->detail : NULL);
	json_optional(json, "reason", message->reason);
	json_optional(json, "hint", message->hint);
	json_optional(json, "file", message->file);
	if (message->line > 0) {
		knot_json_uint(json, "line", message->line);
	}
	if (found != NULL) {
		knot_json_uint(json, "count", message->more > 0 ? message->more : 1);
		knot_json_bool(json, "serious", zone_fault_is_serious(found->fault));
	}
	knot_json_close(json);
}

static void json_end(result_t *result, bool is_good)
{
	knot_json_t *json = &result->json;
	knot_json_close(json);
	knot_json_open(json, "summary", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (unsigned i = 1; i < ZONE_FAULT_COUNT; i++) {
		if (result->counts[i] > 0) {
			knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
			knot_json_text(json, "text", zone_fault_text((zone_fault_t)i));
			knot_json_uint(json, "count", result->counts[i]);
			knot_json_bool(json, "serious", zone_fault_is_serious((zone_fault_t)i));
			knot_json_close(json);
		}
	}
	knot_json_close(json);
	knot_json_bool(json, "serious", result->is_serious);
	knot_json_bool(json, "good", is_good);
	knot_json_close(json);
}

/* ---- Text ---- */

static void text_add_fault(const result_t *result, const zone_message_t *message)
{
	const zone_found_t *found = message->found;
	const char *text = zone_fault_text(found->fault);
	if (message->more > 0) {
		fprintf(stderr, "%" PRIu64 " more: %s\n", message->more, text);
		return;
	}
	bool has_detail = found->detail != NULL && (result->has_lines || zone_fault_has_detail(found->fault));
	fprintf(stderr, "[%s] %s%s%s", message->owner, text, has_detail ? " " : "", has_detail ? found->detail : "");
	if (result->has_lines && message->line > 0) {
		fprintf(stderr, ", file '%s', line %" PRIu64, message->file, message->line);
	}
	fputc('\n', stderr);
}

/* Warnings and notices of the loader are of interest to who asks for them only. */
static void text_add_other(const result_t *result, const zone_message_t *message)
{
	if (result->is_verbose || message->level == ZONE_MESSAGE_ERROR) {
		fprintf(result->is_verbose ? stdout : stderr, "%s: [%s] %s%s%s\n", level_names[message->level],
				result->zone, message->text, message->hint != NULL ? ", " : "",
				message->hint != NULL ? message->hint : "");
	}
}

static void text_end(const result_t *result)
{
	if (!result->has_faults) {
		return;
	}
	fprintf(stderr, "\nError summary:\n");
	for (unsigned i = 1; i < ZONE_FAULT_COUNT; i++) {
		if (result->counts[i] > 0) {
			fprintf(stderr, "%4" PRIu64 "\t%s\n", result->counts[i], zone_fault_text((zone_fault_t)i));
		}
	}
	if (result->is_serious) {
		fprintf(stderr, "\nerror: serious semantic error detected\n");
	}
}

/* ---- Both ---- */

void result_add(const zone_message_t *message, void *ctx)
{
	result_t *result = ctx;
	const zone_found_t *found = message->found;
	if (found != NULL) {
		result->counts[found->fault] += message->more > 0 ? message->more : 1;
		result->has_faults = true;
		result->is_serious = result->is_serious || zone_fault_is_serious(found->fault);
	}
	if (result->is_json) {
		json_add(result, message);
	} else if (found != NULL) {
		text_add_fault(result, message);
	} else {
		text_add_other(result, message);
	}
}

void result_error(result_t *result, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (result->has_list) {
		json_add(result, &(zone_message_t){ .level = ZONE_MESSAGE_ERROR, .text = text });
	} else {
		fflush(stdout);
		fprintf(stderr, "error: %s\n", text);
	}
}

bool result_end(result_t *result, bool is_good)
{
	if (!result->is_json) {
		text_end(result);
		return true;
	}
	json_end(result, is_good);
	return knot_json_end(&result->json);
}
