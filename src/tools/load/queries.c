/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/queries.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "src/sys/lines.h"
#include "src/tools/load/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_IN = 1, DO_BIT = 0x8000, IXFR = 251, AXFR = 252, SOA_EMPTY_LEN = 2 + KNOT_SOA_NUMBERS_LEN };

const char *const profile_names[PROFILE_COUNT] = {
	[PROFILE_QUERY] = "query",
	[PROFILE_AXFR] = "axfr",
	[PROFILE_IXFR] = "ixfr",
	[PROFILE_NOTIFY] = "notify",
	[PROFILE_UPDATE] = "update",
};

/* ---- The list ---- */

/* Room for `more` in an array of `size` bytes an element that holds `count` of `*io_room`. */
static bool queries_grow(void **io_array, size_t size, size_t count, size_t more, size_t *io_room)
{
	if (count + more <= *io_room) {
		return true;
	}
	size_t room = *io_room * 2 > count + more ? *io_room * 2 : count + more + 1024;
	void *array = realloc(*io_array, room * size);
	if (array != NULL) {
		*io_array = array;
		*io_room = room;
	}
	return array != NULL;
}

/* What is known of a message by its bytes. */
static void queries_describe(query_t *query, const uint8_t *message)
{
	size_t question_len = load_be16(message + 4) == 1 ? queries_question_len(message, query->len) : 0;
	query->qname_len = question_len > 0 ? (uint8_t)(question_len - 4) : 0;
	query->question = (uint32_t)hash_bytes(0, message + 12, question_len);
	knot_query_t parsed;
	bool is_plain = knot_query_parse((knot_bytes_t){ message, query->len }, &parsed) == KNOT_MSG_OK &&
			parsed.opcode == KNOT_OPCODE_QUERY && question_len > 0 && parsed.qclass == CLASS_IN &&
			parsed.qtype != AXFR && parsed.qtype != IXFR;
	query->flags = is_plain ? (parsed.edns.present ? QUERY_EDNS : 0) | (parsed.edns.dnssec_ok ? QUERY_DO : 0)
				: QUERY_OTHER;
	if (is_plain && (parsed.edns.version != 0 || parsed.has_tsig != 0)) {
		query->flags |= QUERY_OTHER;
	}
}

bool queries_is_query(knot_bytes_t message)
{
	return message.len >= KNOT_MSG_HEADER_LEN && message.len <= QUERIES_MESSAGE_MAX &&
	       (message.data[2] & 0x80) == 0;
}

bool queries_add_message(queries_t *q, knot_bytes_t message, const uint64_t *time_ns)
{
	if (!queries_is_query(message) || !queries_grow((void **)&q->items, sizeof(*q->items), q->count, 1, &q->room) ||
			!queries_grow((void **)&q->bytes, 1, q->used, message.len, &q->size) ||
			(time_ns != NULL && !queries_grow((void **)&q->times_ns, sizeof(*q->times_ns), q->count, 1,
							    &q->times_room))) {
		return false;
	}
	query_t *query = &q->items[q->count];
	*query = (query_t){ .off = q->used, .len = (uint16_t)message.len };
	uint8_t *to = q->bytes + q->used;
	memcpy(to, message.data, message.len);
	store_be16(to, 0);
	queries_describe(query, to);
	if (time_ns != NULL) {
		q->times_ns[q->count] = *time_ns;
	}
	q->used += message.len;
	q->count++;
	return true;
}

void queries_free(queries_t *q)
{
	free(q->items);
	free(q->bytes);
	free(q->times_ns);
	*q = (queries_t){ 0 };
}

/* ---- Text ---- */

/* The next word of a line; empty at its end. */
static knot_str_t queries_take_word(knot_str_t *io_line)
{
	const char *at = io_line->data, *end = at + io_line->len;
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) {
		at++;
	}
	const char *start = at;
	while (at < end && *at != ' ' && *at != '\t' && *at != '\r' && *at != '\n') {
		at++;
	}
	*io_line = (knot_str_t){ at, (size_t)(end - at) };
	return (knot_str_t){ start, (size_t)(at - start) };
}

/* A SOA with this serial and nothing else: what IXFR and NOTIFY say. */
static knot_err_t queries_put_serial(knot_msg_writer_t *w, knot_section_t section, knot_name_t zone, uint32_t serial)
{
	uint8_t soa[SOA_EMPTY_LEN] = { 0 };
	knot_soa_set_serial((knot_mut_bytes_t){ soa, sizeof(soa) }, serial);
	return knot_msg_put_rr(w, section, zone, KNOT_TYPE_SOA, CLASS_IN, 0, (knot_bytes_t){ soa, sizeof(soa) });
}

typedef struct {
	uint16_t type; /* of the question; 0: the line's */
	uint16_t flags;
} profile_row_t;

static const profile_row_t profile_rows[PROFILE_COUNT] = {
	[PROFILE_QUERY] = { 0, KNOT_FLAG_RD },
	[PROFILE_AXFR] = { AXFR, 0 },
	[PROFILE_IXFR] = { IXFR, 0 },
	[PROFILE_NOTIFY] = { KNOT_TYPE_SOA, KNOT_OPCODE_NOTIFY << 11 | KNOT_FLAG_AA },
	[PROFILE_UPDATE] = { KNOT_TYPE_SOA, KNOT_OPCODE_UPDATE << 11 },
};

static bool queries_add_question(
		queries_t *q, knot_name_t name, uint16_t type, uint8_t flags, const queries_params_t *params)
{
	uint8_t message[KNOT_NAME_MAX * 2 + 128];
	const profile_row_t *row = &profile_rows[params->profile];
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ message, sizeof(message) });
	knot_err_t err = knot_msg_put_question(&w, name, row->type != 0 ? row->type : type, CLASS_IN);
	if (err == KNOT_OK && params->profile == PROFILE_IXFR) {
		err = queries_put_serial(&w, KNOT_SECTION_AUTHORITY, name, params->serial);
	} else if (err == KNOT_OK && params->profile == PROFILE_NOTIFY && params->serial != 0) {
		err = queries_put_serial(&w, KNOT_SECTION_ANSWER, name, params->serial);
	}
	if (err == KNOT_OK && ((flags & QUERY_EDNS) != 0 || params->always_edns)) {
		err = knot_msg_put_opt(&w, params->edns_size, 0, 0, (flags & QUERY_DO) != 0 ? DO_BIT : 0);
	}
	size_t len = knot_msg_finish(&w, 0, row->flags);
	return err == KNOT_OK && queries_add_message(q, (knot_bytes_t){ message, len }, NULL);
}

bool queries_add_line(
		queries_t *q, knot_str_t line, const queries_params_t *params, char ret_why[static QUERIES_ERROR_MAX])
{
	knot_str_t name_text = queries_take_word(&line), type_text = queries_take_word(&line);
	knot_str_t flag = queries_take_word(&line), more = queries_take_word(&line);
	if (name_text.len == 0 || name_text.data[0] == ';' || name_text.data[0] == '#') {
		return true;
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	if (knot_name_scan(name_text, knot_name_root, wire, &name) != KNOT_OK) {
		snprintf(ret_why, QUERIES_ERROR_MAX, "bad name '%.*s'",
				(int)(name_text.len < 300 ? name_text.len : 300), name_text.data);
		return false;
	}
	uint16_t type = 0;
	const bool needs_type = profile_rows[params->profile].type == 0;
	if ((needs_type || type_text.len > 0) && knot_rrtype_scan(type_text, &type) != KNOT_OK) {
		snprintf(ret_why, QUERIES_ERROR_MAX, "%s type '%.*s'", type_text.len > 0 ? "unknown" : "missing",
				(int)(type_text.len < 64 ? type_text.len : 64), type_text.data);
		return false;
	}
	uint8_t flags = knot_str_eq(flag, KNOT_STR("E"))   ? QUERY_EDNS
			: knot_str_eq(flag, KNOT_STR("D")) ? QUERY_EDNS | QUERY_DO
							   : 0;
	if ((flag.len > 0 && flags == 0) || more.len > 0) {
		knot_str_t bad = flag.len > 0 && flags == 0 ? flag : more;
		snprintf(ret_why, QUERIES_ERROR_MAX, "unknown flag '%.*s', E or D is possible",
				(int)(bad.len < 64 ? bad.len : 64), bad.data);
		return false;
	}
	if (!queries_add_question(q, name, type, flags, params)) {
		snprintf(ret_why, QUERIES_ERROR_MAX, "not enough memory");
		return false;
	}
	return true;
}

static FILE *queries_open(const char *path, char ret_error[static QUERIES_ERROR_MAX])
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	if (file == NULL) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading queries file '%s' (%s)", path, strerror(errno));
	}
	return file;
}

static bool queries_close(FILE *file, const char *path, char ret_error[static QUERIES_ERROR_MAX])
{
	bool is_good = !ferror(file);
	if (!is_good) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed reading queries file '%s' (%s)", path, strerror(errno));
	}
	if (file != stdin) {
		fclose(file);
	}
	return is_good;
}

bool queries_load_text(queries_t *q, const char *path, const queries_params_t *params,
		char ret_error[static QUERIES_ERROR_MAX])
{
	FILE *file = queries_open(path, ret_error);
	if (file == NULL) {
		return false;
	}
	sys_lines_t lines = sys_lines_of(fileno(file));
	char *line, why[QUERIES_ERROR_MAX];
	size_t len;
	bool is_good = true;
	while (is_good && q->count < params->max && sys_lines_next(&lines, &line, &len)) {
		is_good = queries_add_line(q, (knot_str_t){ line, len }, params, why);
	}
	sys_lines_done(&lines);
	if (lines.error != 0) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed reading queries file '%.200s' (%s)", path,
				strerror(lines.error));
	} else if (!is_good || lines.fault != NULL) {
		/* The path and the line first: they say where to look. */
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading queries, %.120s:%zu: %.300s", path, lines.number,
				lines.fault != NULL ? lines.fault : why);
	}
	is_good = is_good && lines.error == 0 && lines.fault == NULL;
	return queries_close(file, path, ret_error) && is_good;
}

bool queries_load_binary(queries_t *q, const char *path, const queries_params_t *params,
		char ret_error[static QUERIES_ERROR_MAX])
{
	FILE *file = queries_open(path, ret_error);
	if (file == NULL) {
		return false;
	}
	uint8_t head[2], message[KNOT_MSG_MAX];
	size_t number = 0, got = 0;
	const char *why = NULL;
	while (why == NULL && q->count < params->max && (got = fread(head, 1, 2, file)) == 2) {
		size_t len = load_be16(head);
		number++;
		if (fread(message, 1, len, file) != len) {
			why = "the file ends within the message";
		} else if (!queries_is_query((knot_bytes_t){ message, len })) {
			why = "not a query of at most 1400 bytes";
		} else if (!queries_add_message(q, (knot_bytes_t){ message, len }, NULL)) {
			why = "not enough memory";
		}
	}
	why = why == NULL && got == 1 ? "the file ends within a length" : why;
	if (why != NULL) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading queries, %.200s, message %zu: %s", path, number,
				why);
	}
	return queries_close(file, path, ret_error) && why == NULL;
}
