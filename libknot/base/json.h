/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The JSON writer (RFC 8259): values and nesting in, bytes out, always well-formed.
 *
 * The writer owns no memory and does no input or output itself: bytes go to a sink, one of those below or the caller's.
 * The first write that the sink refuses sticks in `failed`, so a caller checks once, with knot_json_end(). Calls that
 * would make ill-formed JSON (a member without a name, a name in a list, more depth than KNOT_JSON_DEPTH_MAX) are
 * errors of the program and are asserted. Names of members are not compared with each other: the caller writes each
 * once. One thread at a time; a writer needs no release.
 *
 *     knot_json_t json = knot_json_of(knot_json_to_file, stdout);
 *     knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
 *     knot_json_text(&json, "zone", "example.com.");
 *     knot_json_uint(&json, "serial", 7);
 *     knot_json_close(&json);
 *     bool is_good = knot_json_end(&json);
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KNOT_JSON_DEPTH_MAX = 32 }; /* open brackets: bits of a number below */

typedef enum {
	KNOT_JSON_OBJECT, /* members: each value has a name */
	KNOT_JSON_LIST,   /* elements: no value has a name */
} knot_json_kind_t;

typedef enum {
	KNOT_JSON_LINE,  /* what is in it stays in one line */
	KNOT_JSON_LINES, /* each member or element begins a line, two spaces deeper than the bracket's */
} knot_json_layout_t;

/** Takes `len` bytes, in order; false if it can't: the writer then calls it no more. */
typedef bool (*knot_json_sink_t)(void *context, const char *bytes, size_t len);

/** The state of a writer. Callers may only read `failed`. */
typedef struct {
	knot_json_sink_t sink;
	void *context;     /* borrowed: the sink's */
	uint32_t lists;    /* bit i: level i is a list */
	uint32_t in_lines; /* bit i: level i has lines */
	uint8_t depth;     /* open brackets */
	bool is_first;     /* nothing has been written in the innermost bracket */
	bool failed;       /* the sink refused */
} knot_json_t;

/** A writer at the start of a document, which goes to the sink. */
static inline knot_json_t knot_json_of(knot_json_sink_t sink, void *context)
{
	return (knot_json_t){ .sink = sink, .context = context, .is_first = true };
}

/**
 * Open an object or a list. `name` here and below: that of the member, NUL-terminated, in an object; NULL in a list
 * and for the whole document.
 */
void knot_json_open(knot_json_t *json, const char *name, knot_json_kind_t kind, knot_json_layout_t layout);

/** Close the innermost one. */
void knot_json_close(knot_json_t *json);

/**
 * A string. Text is UTF-8 (RFC 3629); a byte that belongs to no valid sequence is written as the character of that
 * number ("\u00e9" for 0xE9), so nothing is lost and the output is valid for any input.
 */
void knot_json_text(knot_json_t *json, const char *name, const char *text);
void knot_json_str(knot_json_t *json, const char *name, knot_str_t text);

void knot_json_int(knot_json_t *json, const char *name, int64_t number);
void knot_json_uint(knot_json_t *json, const char *name, uint64_t number);

/** The shortest digits that give the same double again; infinities and NaN, which JSON has no word for, are null. */
void knot_json_double(knot_json_t *json, const char *name, double number);

/** With `decimals` (0 to 9) digits behind the point. */
void knot_json_fixed(knot_json_t *json, const char *name, double number, unsigned decimals);

void knot_json_bool(knot_json_t *json, const char *name, bool value);
void knot_json_null(knot_json_t *json, const char *name);

/** The document is complete, which is asserted: a newline after it. False if the sink refused anything. */
KNOT_MUST_USE bool knot_json_end(knot_json_t *json);

/** The sink for a `FILE *`. */
bool knot_json_to_file(void *file, const char *bytes, size_t len);

/** The sink for a `knot_writer_t *`: it refuses what doesn't fit. The text isn't terminated. */
bool knot_json_to_writer(void *writer, const char *bytes, size_t len);

/** Bytes on the heap that grow. Starts as zeros; the owner calls free(data). */
typedef struct {
	char *data; /* `len` bytes and a NUL; NULL before the first */
	size_t len, room;
} knot_json_buffer_t;

/** The sink for a `knot_json_buffer_t *`: it refuses when memory is short. */
bool knot_json_to_buffer(void *buffer, const char *bytes, size_t len);
