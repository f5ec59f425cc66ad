/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void json_write(knot_json_t *json, const char *bytes, size_t len)
{
	if (!json->failed && len > 0) {
		json->failed = !json->sink(json->context, bytes, len);
	}
}

static void json_write_text(knot_json_t *json, const char *text)
{
	json_write(json, text, strlen(text));
}

/* ---- Strings ---- */

/* Length of the UTF-8 sequence at p[0..left), RFC 3629 4, or 0. */
static size_t json_utf8_len(const unsigned char *p, size_t left)
{
	static const struct {
		unsigned char first_min, first_max, second_min, second_max;
		unsigned len;
	} forms[] = {
		{ 0xC2, 0xDF, 0x80, 0xBF, 2 },
		{ 0xE0, 0xE0, 0xA0, 0xBF, 3 },
		{ 0xE1, 0xEC, 0x80, 0xBF, 3 },
		{ 0xED, 0xED, 0x80, 0x9F, 3 },
		{ 0xEE, 0xEF, 0x80, 0xBF, 3 },
		{ 0xF0, 0xF0, 0x90, 0xBF, 4 },
		{ 0xF1, 0xF3, 0x80, 0xBF, 4 },
		{ 0xF4, 0xF4, 0x80, 0x8F, 4 },
	};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (p[0] < forms[i].first_min || p[0] > forms[i].first_max) {
			continue;
		}
		if (forms[i].len > left || p[1] < forms[i].second_min || p[1] > forms[i].second_max) {
			return 0;
		}
		for (unsigned j = 2; j < forms[i].len; j++) {
			if ((p[j] & 0xC0) != 0x80) {
				return 0;
			}
		}
		return forms[i].len;
	}
	return 0;
}

static bool json_is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* One byte that can't stand for itself. */
static void json_write_escape(knot_json_t *json, unsigned char byte)
{
	char escape[8];
	const char *letter = byte != 0 ? strchr("\"\"\\\\\nn\tt\rr", byte) : NULL;
	int len = letter != NULL ? snprintf(escape, sizeof(escape), "\\%c", letter[1])
				 : snprintf(escape, sizeof(escape), "\\u%04x", byte);
	json_write(json, escape, (size_t)len);
}

/* A control character of U+0080 to U+009F in UTF-8, which terminals obey as they obey ESC and a letter. */
static bool json_is_late_control(const unsigned char *p, size_t left)
{
	return left >= 2 && p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0;
}

/* How many bytes stand for themselves here. */
static size_t json_plain_len(const unsigned char *p, size_t left)
{
	if (p[0] < 0x80) {
		return json_is_plain(p[0]) ? 1 : 0;
	}
	return json_is_late_control(p, left) ? 0 : json_utf8_len(p, left);
}

/* Quoted; runs of what stands for itself go out in one piece. */
static void json_write_string(knot_json_t *json, knot_str_t text)
{
	const unsigned char *p = (const unsigned char *)text.data;
	size_t start = 0, pos = 0;
	json_write(json, "\"", 1);
	while (pos < text.len) {
		size_t step = json_plain_len(p + pos, text.len - pos);
		if (step > 0) {
			pos += step;
			continue;
		}
		json_write(json, text.data + start, pos - start);
		pos += json_is_late_control(p + pos, text.len - pos); /* its second byte is its number */
		json_write_escape(json, p[pos]);
		start = ++pos;
	}
	json_write(json, text.data + start, pos - start);
	json_write(json, "\"", 1);
}

/* ---- Nesting ---- */

static bool json_is_list(const knot_json_t *json)
{
	return json->depth > 0 && (json->lists >> (json->depth - 1) & 1) != 0;
}

static bool json_is_in_lines(const knot_json_t *json)
{
	return json->depth > 0 && (json->in_lines >> (json->depth - 1) & 1) != 0;
}

/* A new line, as deep as there are open brackets that have lines. */
static void json_write_line(knot_json_t *json)
{
	json_write(json, "\n", 1);
	for (unsigned i = 0; i < json->depth; i++) {
		if ((json->in_lines >> i & 1) != 0) {
			json_write(json, "  ", 2);
		}
	}
}

/* What stands before a value: comma, line, name. */
static void json_begin_value(knot_json_t *json, const char *name)
{
	assert((name != NULL) == (json->depth > 0 && !json_is_list(json)));
	assert(json->depth > 0 || json->is_first); /* a document is one value */
	if (!json->is_first) {
		json_write(json, ",", 1);
	}
	if (json_is_in_lines(json)) {
		json_write_line(json);
	} else if (!json->is_first) {
		json_write(json, " ", 1);
	}
	json->is_first = false;
	if (name != NULL) {
		json_write_string(json, knot_str_of(name));
		json_write(json, ": ", 2);
	}
}

void knot_json_open(knot_json_t *json, const char *name, knot_json_kind_t kind, knot_json_layout_t layout)
{
	assert(json->depth < KNOT_JSON_DEPTH_MAX);
	json_begin_value(json, name);
	uint32_t bit = (uint32_t)1 << json->depth;
	json->lists = kind == KNOT_JSON_LIST ? json->lists | bit : json->lists & ~bit;
	json->in_lines = layout == KNOT_JSON_LINES ? json->in_lines | bit : json->in_lines & ~bit;
	json->depth++;
	json->is_first = true;
	json_write(json, kind == KNOT_JSON_LIST ? "[" : "{", 1);
}

void knot_json_close(knot_json_t *json)
{
	assert(json->depth > 0);
	bool is_list = json_is_list(json), needs_line = json_is_in_lines(json) && !json->is_first;
	json->depth--;
	if (needs_line) {
		json_write_line(json);
	}
	json->is_first = false;
	json_write(json, is_list ? "]" : "}", 1);
}

bool knot_json_end(knot_json_t *json)
{
	assert(json->depth == 0 && !json->is_first);
	json_write(json, "\n", 1);
	return !json->failed;
}

/* ---- Values ---- */

void knot_json_str(knot_json_t *json, const char *name, knot_str_t text)
{
	json_begin_value(json, name);
	json_write_string(json, text);
}

void knot_json_text(knot_json_t *json, const char *name, const char *text)
{
	knot_json_str(json, name, knot_str_of(text));
}

void knot_json_int(knot_json_t *json, const char *name, int64_t number)
{
	char digits[24];
	(void)snprintf(digits, sizeof(digits), "%" PRId64, number);
	json_begin_value(json, name);
	json_write_text(json, digits);
}

void knot_json_uint(knot_json_t *json, const char *name, uint64_t number)
{
	char digits[24];
	(void)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	json_begin_value(json, name);
	json_write_text(json, digits);
}

void knot_json_double(knot_json_t *json, const char *name, double number)
{
	char digits[40];
	if (!isfinite(number)) {
		knot_json_null(json, name);
		return;
	}
	for (int precision = 15; precision <= 17; precision++) { /* 17 always suffice */
		(void)snprintf(digits, sizeof(digits), "%.*g", precision, number);
		if (strtod(digits, NULL) == number) {
			break;
		}
	}
	json_begin_value(json, name);
	json_write_text(json, digits);
}

void knot_json_fixed(knot_json_t *json, const char *name, double number, unsigned decimals)
{
	char digits[340]; /* the largest double has 309 digits before the point */
	assert(decimals <= 9);
	if (!isfinite(number)) {
		knot_json_null(json, name);
		return;
	}
	(void)snprintf(digits, sizeof(digits), "%.*f", (int)decimals, number);
	json_begin_value(json, name);
	json_write_text(json, digits);
}

void knot_json_bool(knot_json_t *json, const char *name, bool value)
{
	json_begin_value(json, name);
	json_write_text(json, value ? "true" : "false");
}

void knot_json_null(knot_json_t *json, const char *name)
{
	json_begin_value(json, name);
	json_write_text(json, "null");
}

/* ---- Sinks ---- */

bool knot_json_to_file(void *file, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, file) == len;
}

bool knot_json_to_writer(void *writer, const char *bytes, size_t len)
{
	knot_writer_t *w = writer;
	knot_write(w, bytes, len);
	return !w->failed;
}

bool knot_json_to_buffer(void *buffer, const char *bytes, size_t len)
{
	enum { ROOM_MIN = 256 };
	knot_json_buffer_t *b = buffer;
	if (len >= b->room - b->len || b->room == 0) {
		size_t room = b->room < ROOM_MIN ? ROOM_MIN : b->room * 2;
		room = room > b->len + len ? room : b->len + len + 1;
		char *data = realloc(b->data, room);
		if (data == NULL) {
			return false;
		}
		b->data = data;
		b->room = room;
	}
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return true;
}
