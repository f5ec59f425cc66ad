/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/message.h"

#include "src/tools/must.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The members of kept messages are owned. */
static struct {
	bool is_kept;
	size_t count, room;
	message_t *list;
} messages;

static const char *const level_names[] = {
	[MESSAGE_ERROR] = "error",
	[MESSAGE_WARNING] = "warning",
	[MESSAGE_NOTICE] = "notice",
	[MESSAGE_DEBUG] = "debug",
};

static const char *const member_names[MESSAGE_MEMBER_COUNT] = {
	[MESSAGE_TEXT] = "text",
	[MESSAGE_ZONE] = "zone",
	[MESSAGE_FILE] = "file",
	[MESSAGE_SECTION] = "section",
	[MESSAGE_ID] = "id",
	[MESSAGE_ITEM] = "item",
	[MESSAGE_VALUE] = "value",
	[MESSAGE_OWNER] = "owner",
	[MESSAGE_TYPE] = "type",
	[MESSAGE_REASON] = "reason",
	[MESSAGE_HINT] = "hint",
};

void messages_keep(bool is_kept)
{
	messages.is_kept = is_kept;
}

static void message_keep(const message_t *message)
{
	if (messages.count == messages.room) {
		messages.room = 2 * messages.room + 16;
		messages.list = must(realloc(messages.list, messages.room * sizeof(*messages.list)));
	}
	message_t *kept = &messages.list[messages.count++];
	*kept = *message;
	for (size_t i = 0; i < MESSAGE_MEMBER_COUNT; i++) {
		kept->members[i] = message->members[i] != NULL ? must(strdup(message->members[i])) : NULL;
	}
}

static void message_print(const message_t *message)
{
	const char *zone = message->members[MESSAGE_ZONE], *hint = message->members[MESSAGE_HINT];
	FILE *out = message->level == MESSAGE_NOTICE || message->level == MESSAGE_DEBUG ? stdout : stderr;
	fprintf(out, "%s: ", level_names[message->level]);
	if (zone != NULL) {
		fprintf(out, "[%s] ", zone);
	}
	fprintf(out, "%s\n", message->members[MESSAGE_TEXT]);
	if (hint != NULL) {
		fprintf(out, "hint: %s\n", hint);
	}
}

void message_tell(const message_t *message)
{
	if (messages.is_kept) {
		message_keep(message);
	} else {
		message_print(message);
	}
}

bool message_error(const char *format, ...)
{
	char text[8192];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_tell(&(message_t){ .level = MESSAGE_ERROR, .members = { [MESSAGE_TEXT] = text } });
	return false;
}

void message_debug(const char *format, ...)
{
	char text[8192];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_tell(&(message_t){ .level = MESSAGE_DEBUG, .members = { [MESSAGE_TEXT] = text } });
}

bool messages_wait(void)
{
	return messages.count > 0;
}

void messages_write(knot_json_t *json)
{
	knot_json_open(json, "messages", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (size_t i = 0; i < messages.count; i++) {
		message_t *message = &messages.list[i];
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(json, "level", level_names[message->level]);
		for (size_t j = 0; j < MESSAGE_MEMBER_COUNT; j++) {
			if (message->members[j] != NULL) {
				knot_json_text(json, member_names[j], message->members[j]);
				free((char *)message->members[j]);
			}
			if (j == MESSAGE_FILE && message->line > 0) {
				knot_json_uint(json, "line", message->line);
			}
		}
		knot_json_close(json);
	}
	knot_json_close(json);
	free(messages.list);
	messages.list = NULL;
	messages.count = messages.room = 0;
}
