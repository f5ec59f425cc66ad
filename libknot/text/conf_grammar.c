/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/conf_grammar.h"

#include <assert.h>

enum { END_OF_TEXT = -1 };

void knot_conf_parser_init(knot_conf_parser_t *parser, knot_str_t text)
{
	*parser = (knot_conf_parser_t){ .text = text, .line = 1 };
}

static int peek(const knot_conf_parser_t *p)
{
	return p->pos < p->text.len ? (unsigned char)p->text.data[p->pos] : END_OF_TEXT;
}

/** Newline, or a carriage return, which ends a line as well but doesn't count as one (CRLF is then one line). */
static bool at_line_end(const knot_conf_parser_t *p)
{
	int c = peek(p);
	return c == '\n' || c == '\r' || c == END_OF_TEXT;
}

static void skip_spaces(knot_conf_parser_t *p)
{
	while (peek(p) == ' ') {
		p->pos++;
	}
}

static bool grammar_fail(knot_conf_parser_t *p, knot_err_t err)
{
	p->err = peek(p) == '\t' ? KNOT_CONF_ETAB : err;
	return false;
}

static bool is_key_char(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	       c == '.' || c == '*' || c == '/' || c == '\\';
}

/** Bytes that stand for themselves outside of quotes. Bytes from 0x80 up are text (UTF-8 is passed through). */
static bool is_plain_char(int c)
{
	return c > ' ' && c != 0x7f && c != '"' && c != '#' && c != '[' && c != ',' && c != ']' && c != '\\';
}

static bool is_quoted_char(int c)
{
	return c >= ' ' && c != 0x7f && c != '"' && c != '\\';
}

/** Step behind the end of the line. */
static void end_line(knot_conf_parser_t *p)
{
	int c = peek(p);
	p->pos += c != END_OF_TEXT;
	p->line += c == '\n';
	p->line_start = p->pos;
	p->item = (knot_conf_item_t){ .line = p->line };
}

static void skip_comment(knot_conf_parser_t *p)
{
	const char *end = memchr(p->text.data + p->pos, '\n', p->text.len - p->pos);
	p->pos = end != NULL ? (size_t)(end - p->text.data) : p->text.len;
}

/** Behind a value: spaces, a comment (a space before it was checked with the value), the end of the line. */
static bool read_rest(knot_conf_parser_t *p)
{
	skip_spaces(p);
	if (peek(p) == '#') {
		skip_comment(p);
	}
	if (!at_line_end(p)) {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	end_line(p);
	p->in_rest = false;
	return true;
}

/**
 * Bytes accepted by `accepts`, unescaped, into item.value: a view of the text as long as nothing is unescaped. `\"`
 * loses its backslash; a backslash before other printable ASCII stays for the reader of the value (names, \032).
 */
static bool read_chars(knot_conf_parser_t *p, bool (*accepts)(int))
{
	knot_str_t *value = &p->item.value;
	*value = (knot_str_t){ p->text.data + p->pos, 0 };
	bool is_copy = false;
	for (;; p->pos++) {
		int c = peek(p);
		bool is_escape = c == '\\';
		if (!is_escape && !accepts(c)) {
			return true;
		}
		if (value->len >= KNOT_CONF_VALUE_MAX) {
			return grammar_fail(p, KNOT_ESPACE);
		}
		if (is_copy) {
			p->unescaped[value->len] = (char)c;
		}
		value->len++;
		if (!is_escape) {
			continue;
		}
		p->pos++;
		c = peek(p);
		if (c < ' ' || c > '~') {
			return grammar_fail(p, KNOT_EPARSEFAIL);
		}
		if (c == '"') {
			if (!is_copy) {
				memcpy(p->unescaped, value->data, value->len);
				value->data = p->unescaped;
				is_copy = true;
			}
			p->unescaped[value->len - 1] = '"';
			continue;
		}
		if (value->len >= KNOT_CONF_VALUE_MAX) {
			return grammar_fail(p, KNOT_ESPACE);
		}
		if (is_copy) {
			p->unescaped[value->len] = (char)c;
		}
		value->len++;
	}
}

/** A plain or quoted scalar. */
static bool read_scalar(knot_conf_parser_t *p)
{
	if (peek(p) != '"') {
		return is_plain_char(peek(p)) || peek(p) == '\\' ? read_chars(p, is_plain_char)
								 : grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->pos++;
	if (!read_chars(p, is_quoted_char)) {
		return false;
	}
	if (peek(p) != '"') {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->pos++;
	return true;
}

/** An element of a list and what may follow it. */
static bool read_element(knot_conf_parser_t *p)
{
	if (!read_scalar(p)) {
		return false;
	}
	int c = peek(p);
	if (c != ' ' && c != ',' && c != ']') {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->in_list = true;
	return true;
}

/** Behind a list: what follows the bracket belongs to the line's end. */
static bool close_list(knot_conf_parser_t *p)
{
	p->pos++;
	p->in_list = false;
	if (peek(p) != ' ' && !at_line_end(p)) {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->in_rest = true;
	return true;
}

/** Go on in a list. True with in_list: another element was read. True without: the list has ended. */
static bool continue_list(knot_conf_parser_t *p)
{
	skip_spaces(p);
	if (peek(p) == ']') {
		return close_list(p);
	}
	if (peek(p) != ',') {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->pos++;
	skip_spaces(p);
	return read_element(p);
}

static bool read_list(knot_conf_parser_t *p)
{
	p->pos++;
	skip_spaces(p);
	return peek(p) == ']' ? close_list(p) : read_element(p);
}

/** What follows the colon. */
static bool read_value(knot_conf_parser_t *p)
{
	if (peek(p) != ' ' && !at_line_end(p)) {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	skip_spaces(p);
	p->item.value = (knot_str_t){ p->text.data + p->pos, 0 };
	bool is_id = p->item.kind == KNOT_CONF_ID;
	if (peek(p) == '#' || at_line_end(p)) {
		p->in_rest = true;
		return is_id ? grammar_fail(p, KNOT_EPARSEFAIL) : true;
	}
	if (peek(p) == '[' && !is_id) {
		return read_list(p);
	}
	if (!read_scalar(p)) {
		return false;
	}
	if (peek(p) != ' ' && !at_line_end(p)) {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->in_rest = true;
	return true;
}

/** The column of a key decides to which block it belongs. */
static bool check_indent(knot_conf_parser_t *p, size_t dash)
{
	size_t column = p->pos - p->line_start;
	switch (p->item.kind) {
	case KNOT_CONF_KEY0:
		p->indent = 0;
		p->dash = 0;
		return true;
	case KNOT_CONF_ID:
		p->dash = dash;
		p->indent = column;
		return true;
	case KNOT_CONF_KEY1:
		if (p->indent > 0 && column != p->indent) {
			return grammar_fail(p, KNOT_CONF_EINDENT);
		}
		p->indent = column;
		return true;
	}
	return true;
}

/** `key [spaces] :` at the cursor; the key is known to the item once it has ended, so that a missing colon is reported
 * with it. */
static bool read_key(knot_conf_parser_t *p)
{
	size_t start = p->pos;
	while (is_key_char(peek(p))) {
		p->pos++;
		if (p->pos - start > KNOT_CONF_KEY_MAX) {
			return grammar_fail(p, KNOT_ESPACE);
		}
	}
	size_t len = p->pos - start;
	if (len > 0 && (peek(p) == ' ' || peek(p) == ':')) {
		p->item.key = (knot_str_t){ p->text.data + start, len };
	}
	skip_spaces(p);
	if (len == 0 || peek(p) != ':') {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	p->pos++;
	return true;
}

/** A line that holds an item; the cursor is behind its leading spaces. */
static bool read_item(knot_conf_parser_t *p)
{
	size_t dash = p->pos - p->line_start;
	p->item.kind = dash == 0 ? KNOT_CONF_KEY0 : KNOT_CONF_KEY1;
	if (peek(p) == '-') {
		p->item.kind = KNOT_CONF_ID;
		if (p->dash > 0 && dash > 0 && dash != p->dash) {
			return grammar_fail(p, KNOT_CONF_EINDENT);
		}
		p->pos++;
		if (peek(p) != ' ') {
			return grammar_fail(p, KNOT_EPARSEFAIL);
		}
		skip_spaces(p);
	}
	if (!is_key_char(peek(p)) || peek(p) == '-') {
		return grammar_fail(p, KNOT_EPARSEFAIL);
	}
	return check_indent(p, dash) && read_key(p) && read_value(p);
}

/** One step: an item, a blank line, a list's next element or the end of a line. False: fault. */
static bool grammar_step(knot_conf_parser_t *p, bool *ret_is_item)
{
	if (p->in_list) {
		bool ok = continue_list(p);
		*ret_is_item = ok && p->in_list;
		return ok;
	}
	if (p->in_rest) {
		return read_rest(p);
	}
	skip_spaces(p);
	if (peek(p) == '#') {
		skip_comment(p);
	}
	if (at_line_end(p)) {
		end_line(p);
		return true;
	}
	bool ok = read_item(p);
	*ret_is_item = ok;
	return ok;
}

knot_conf_verdict_t knot_conf_next(knot_conf_parser_t *p, knot_conf_item_t *ret_item)
{
	bool is_item = false;
	p->item.line = p->line;
	while (p->err == KNOT_OK && !is_item) {
		if (p->pos >= p->text.len && !p->in_list && !p->in_rest) {
			*ret_item = (knot_conf_item_t){ .line = p->line + 1 };
			return KNOT_CONF_END;
		}
		(void)grammar_step(p, &is_item);
	}
	*ret_item = p->item;
	return p->err == KNOT_OK ? KNOT_CONF_ITEM : KNOT_CONF_FAULT;
}

void knot_conf_skip_line(knot_conf_parser_t *p)
{
	assert(p->err != KNOT_OK);
	skip_comment(p);
	p->in_list = p->in_rest = false;
	if (p->err == KNOT_CONF_EINDENT) {
		p->indent = p->dash = 0; /* which of two different columns is the wrong one can't be known */
	}
	p->err = KNOT_OK;
	end_line(p);
}
