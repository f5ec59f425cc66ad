/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What an action has to say beside its result: errors, warnings, notices.
 *
 * As text they are printed at once: notices to standard output, the others to standard error. In JSON they are kept
 * and become the list "messages" of the reply, so that standard output is one document and standard error is empty.
 * One action runs at a time, in one thread, so the list is the program's. Memory failures end the tool.
 */
#pragma once

#include "libknot/base/json.h"

#include <stddef.h>

typedef enum { MESSAGE_ERROR, MESSAGE_WARNING, MESSAGE_NOTICE, MESSAGE_DEBUG } message_level_t;

/** Members of a message beside its level and line; NULL: it has none of this. */
typedef enum {
	MESSAGE_TEXT, /* the sentence; always there */
	MESSAGE_ZONE,
	MESSAGE_FILE,
	MESSAGE_SECTION,
	MESSAGE_ID,
	MESSAGE_ITEM,
	MESSAGE_VALUE,
	MESSAGE_OWNER,
	MESSAGE_TYPE,
	MESSAGE_REASON,
	MESSAGE_HINT,
	MESSAGE_MEMBER_COUNT,
} message_member_t;

/** Borrowed strings. */
typedef struct {
	message_level_t level;
	size_t line; /* of the file, from 1; 0: not known */
	const char *members[MESSAGE_MEMBER_COUNT];
} message_t;

/** From now on messages are kept (true) or printed. */
void messages_keep(bool is_kept);

/** Print or keep a message. As text: "level: [zone] text", and a line "hint: ..." if there is one. */
void message_tell(const message_t *message);

/** An error in words; returns false, for callers that end with it. */
__attribute__((format(printf, 1, 2))) bool message_error(const char *format, ...);

/** What -v shows. */
__attribute__((format(printf, 1, 2))) void message_debug(const char *format, ...);

/** True if messages are kept that nothing has written yet. */
bool messages_wait(void);

/** Write the kept messages as a list named "messages" and forget them. */
void messages_write(knot_json_t *json);
