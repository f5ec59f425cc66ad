/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The grammar of knot.conf: text in memory → items, one at a time.
 *
 * Owns: lines, indentation, quotes, escapes, flow lists, comments, the two size limits. Not here: which sections and
 * items exist and what their values mean (src/conf). A small, line-oriented subset of YAML: section keywords in column
 * 0, items below them, `- id: value` begins a block. A flow list `k: [a, b]` is the two items `k: a` and `k: b`.
 *
 * A parser is a cursor: call knot_conf_next() until it gives END or FAULT. An item is given out as soon as its value is
 * complete, before the rest of the line is looked at, so that of two mistakes in a line the first is reported.
 * No allocation, no file, no global; one parser per thread. Cost: one pass, no byte is copied unless it was escaped.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

enum {
	KNOT_CONF_KEY_MAX = 127,     /* bytes of a key */
	KNOT_CONF_VALUE_MAX = 32767, /* bytes of a value after unescaping */
};

typedef enum {
	KNOT_CONF_KEY0, /* `key:` in column 0 */
	KNOT_CONF_KEY1, /* indented `key:` */
	KNOT_CONF_ID,   /* `- key: value` */
} knot_conf_kind_t;

typedef struct {
	knot_conf_kind_t kind;
	knot_str_t key;   /* 1–127 bytes, borrowed from the text */
	knot_str_t value; /* unescaped, len 0 if there is none; valid until the next call */
	size_t line;      /* from 1. At END: the line after the last, counting a final newline that may be missing */
} knot_conf_item_t;

typedef enum {
	KNOT_CONF_ITEM,
	KNOT_CONF_END,
	KNOT_CONF_FAULT, /* the parser's `err` says which */
} knot_conf_verdict_t;

/** Cursor over one text. Set up with knot_conf_parser_init(); the fields are for reading only. */
typedef struct {
	knot_str_t text;
	size_t pos;
	size_t line;
	size_t line_start; /* position of the current line's first byte */
	size_t indent;     /* column of the keys of this block, 0: not known yet */
	size_t dash;       /* column of the last dash in this section, 0: none or column 0 */
	bool in_list;      /* within [ ], behind an element */
	bool in_rest;      /* behind a value, the line's end is still to be checked */
	knot_err_t err;    /* why knot_conf_next() gave FAULT */
	knot_conf_item_t item;
	char unescaped[KNOT_CONF_VALUE_MAX + 1];
} knot_conf_parser_t;

/** Begin at the start of `text`, borrowed for the parser's life. */
KNOT_EXPORT void knot_conf_parser_init(knot_conf_parser_t *parser, knot_str_t text);

/**
 * The next item.
 *
 * ret_item: on FAULT where and how far the line was read: `line`, and `key` and `value` as far as they were recognized
 * (len 0 otherwise).  After END every further call gives the same, after FAULT until knot_conf_skip_line().
 * FAULT: KNOT_CONF_EINDENT, KNOT_CONF_ETAB, KNOT_ESPACE (key or value too long), KNOT_EPARSEFAIL (anything else).
 */
KNOT_EXPORT knot_conf_verdict_t knot_conf_next(knot_conf_parser_t *parser, knot_conf_item_t *ret_item);

/** After a FAULT: go on behind the line that has it. If its column was wrong, the next line may begin in any. */
KNOT_EXPORT void knot_conf_skip_line(knot_conf_parser_t *parser);
