/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The log line of a command's receipt: Knot's words, and behind them what an operator asks later: which user changed
 * which item or record.
 *
 * The user is the number that the kernel has for the peer. A look-up of its name may ask a directory server and wait.
 */
#include "src/control/session.h"

#include "src/conf/io.h"
#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	RECEIVED_SHOWN_MAX = 200, /* bytes of each part, which leaves room in the line for the other parts */
	RECEIVED_TEXT_MAX = 1024,
};

typedef struct {
	char text[RECEIVED_TEXT_MAX];
	size_t len;
} received_text_t;

/* Not printf(): a transaction may have a line for each of many thousand records. */
static void received_append_bytes(received_text_t *out, const char *bytes, size_t len)
{
	size_t left = sizeof(out->text) - 1 - out->len;
	len = len < left ? len : left;
	memcpy(out->text + out->len, bytes, len);
	out->len += len;
	out->text[out->len] = '\0';
}

static void received_append_words(received_text_t *out, const char *words)
{
	received_append_bytes(out, words, strlen(words));
}

/* Append a part behind some words; of a long part the beginning, cut between characters of UTF-8. NULL or "": nothing.
 */
static void received_append(received_text_t *out, const char *words, const char *part)
{
	size_t len = part != NULL ? strlen(part) : 0;
	bool is_long = len > RECEIVED_SHOWN_MAX;
	if (len == 0) {
		return;
	}
	if (is_long) {
		len = RECEIVED_SHOWN_MAX;
		while (len > 0 && ((unsigned char)part[len] & 0xC0) == 0x80) {
			len--;
		}
	}
	received_append_words(out, words);
	received_append_bytes(out, part, len);
	received_append_words(out, is_long ? "..." : "");
}

/* ", item 'zone[example.com].file', data 'x'"; the data only of items that can't be secret. */
static void received_append_item(received_text_t *out, const session_t *session)
{
	const conf_where_t where = {
		.section = session->args[KNOT_CTL_IDX_SECTION],
		.id = session->args[KNOT_CTL_IDX_ID],
		.item = session->args[KNOT_CTL_IDX_ITEM],
	};
	bool has_id = where.id != NULL && where.id[0] != '\0';
	received_append_words(out, ", item '");
	received_append(out, "", where.section);
	received_append(out, "[", where.id);
	received_append(out, has_id ? "]." : ".", where.item);
	received_append_words(out, has_id && (where.item == NULL || where.item[0] == '\0') ? "]'" : "'");
	const char *data = session->args[KNOT_CTL_IDX_DATA];
	if (data != NULL && data[0] != '\0' && conf_io_is_public(&where)) {
		received_append(out, ", data '", data);
		received_append_words(out, "'");
	}
}

/* ", record 'www 3600 A 192.0.2.1'": the words that the client sent. An empty owner is the apex, as in Knot. */
static void received_append_record(received_text_t *out, const session_t *session)
{
	const char *owner = session->args[KNOT_CTL_IDX_OWNER];
	received_append_words(out, ", record '");
	received_append(out, "", owner[0] != '\0' ? owner : "@");
	received_append(out, " ", session->args[KNOT_CTL_IDX_TTL]);
	received_append(out, " ", session->args[KNOT_CTL_IDX_TYPE]);
	received_append(out, " ", session->args[KNOT_CTL_IDX_DATA]);
	received_append_words(out, "'");
}

/* What a command with COMMAND_CHANGES changes, and by which user. */
static void received_append_change(received_text_t *out, const session_t *session)
{
	char uid[24];
	if (session->has_uid) {
		snprintf(uid, sizeof(uid), "%" PRIu32, session->uid);
		received_append(out, ", by uid ", uid);
	}
	if (session->args[KNOT_CTL_IDX_SECTION] != NULL) {
		received_append_item(out, session);
	} else if (session->args[KNOT_CTL_IDX_OWNER] != NULL) {
		received_append_record(out, session);
	} else if (session->args[KNOT_CTL_IDX_ZONE] != NULL && session->args[KNOT_CTL_IDX_DATA] != NULL) {
		/* zone-serial-set: "+5". */
		received_append_words(out, ", data '");
		received_append(out, "", session->args[KNOT_CTL_IDX_TYPE]);
		received_append(out, "", session->args[KNOT_CTL_IDX_DATA]);
		received_append_words(out, "'");
	}
}

/* Letters of interest to developers: only where debug lines are written. */
static void received_append_letters(received_text_t *out, const char *words, const char *letters)
{
	if (letters != NULL && letters[0] != '\0') {
		received_append(out, words, letters);
		received_append_words(out, "'");
	}
}

void session_log_received(const session_t *session)
{
	if ((session->command_flags & COMMAND_SILENT) != 0) {
		return;
	}
	int level = (session->command_flags & COMMAND_QUIET) != 0 ? LOG_DEBUG : LOG_INFO;
	if (!sys_log_wants(SYS_LOG_CONTROL, level)) {
		return;
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = { 0 };
	const char *zone = session->args[KNOT_CTL_IDX_ZONE];
	if (zone != NULL && knot_name_scan(knot_str_of(zone), knot_name_root, wire, &name) == KNOT_OK) {
		knot_name_lower(name, wire);
	} else {
		name = (knot_name_t){ 0 };
	}
	received_text_t out;
	out.len = 0;
	out.text[0] = '\0';
	if (sys_log_wants(SYS_LOG_CONTROL, LOG_DEBUG)) {
		received_append_letters(&out, ", flags '", session->args[KNOT_CTL_IDX_FLAGS]);
		received_append_letters(&out, ", filters '", session->args[KNOT_CTL_IDX_FILTERS]);
	}
	if ((session->command_flags & COMMAND_CHANGES) != 0) {
		received_append_change(&out, session);
	}
	log_control_zone(level, name, "control, received command '%s'%s", session->command, out.text);
}
