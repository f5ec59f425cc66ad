/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/lexer.h"

const uint8_t lexer_char_kinds[256] = {
	[0 ... 8] = CHAR_BAD,
	[11 ... 12] = CHAR_BAD,
	[14 ... 31] = CHAR_BAD,
	[' '] = CHAR_BLANK,
	['\t'] = CHAR_BLANK,
	['\n'] = CHAR_NEWLINE,
	['\r'] = CHAR_RETURN,
	['('] = CHAR_OPEN,
	[')'] = CHAR_CLOSE,
	[';'] = CHAR_COMMENT,
	['"'] = CHAR_QUOTE,
	['\\'] = CHAR_ESCAPE,
};

static void lexer_set_fault(lexer_t *lex, token_t *ret, const char *at, const char *reason)
{
	lex->reason = reason;
	lex->pos = at;
	*ret = (token_t){ .data = at, .len = at < lex->end ? 1 : 0, .kind = TOKEN_FAULT };
}

static void want_more(token_t *ret)
{
	*ret = (token_t){ .kind = TOKEN_MORE };
}

typedef enum { QUOTE_CLOSED, QUOTE_FAULT, QUOTE_MORE } quote_end_t;

/* Moves *p from behind an opening quote onto the closing one. Newlines are data only within parentheses. */
static quote_end_t skip_quoted(const lexer_t *lex, const char **p, uint64_t *lines, bool *has_escape)
{
	for (;; (*p)++) {
		switch (lexer_kind_at(lex, *p)) {
		case CHAR_QUOTE: return QUOTE_CLOSED;
		case CHAR_ESCAPE:
			*has_escape = true;
			(*p)++;
			if (*p == lex->end) {
				return lex->is_final ? QUOTE_FAULT : QUOTE_MORE;
			}
			*lines += **p == '\n';
			break;
		case CHAR_NEWLINE:
			if (!lex->is_open) {
				return QUOTE_FAULT;
			}
			(*lines)++;
			break;
		case CHAR_BAD: return QUOTE_FAULT;
		case CHAR_END: return lex->is_final ? QUOTE_FAULT : QUOTE_MORE;
		case CHAR_WORD:
		case CHAR_BLANK:
		case CHAR_RETURN:
		case CHAR_OPEN:
		case CHAR_CLOSE:
		case CHAR_COMMENT: break;
		}
	}
}

static void quote_fault(lexer_t *lex, token_t *ret, const char *at)
{
	bool is_bad = lexer_kind_at(lex, at) == CHAR_BAD;
	lexer_set_fault(lex, ret, at, is_bad ? "invalid character" : "unclosed quoted string");
}

static void next_quoted(lexer_t *lex, token_t *ret)
{
	const char *start = lex->pos + 1, *p = start;
	uint64_t lines = 0;
	bool has_escape = false;
	quote_end_t end = skip_quoted(lex, &p, &lines, &has_escape);
	if (end == QUOTE_FAULT) {
		quote_fault(lex, ret, p);
		return;
	}
	if (end == QUOTE_MORE || (p + 1 == lex->end && !lex->is_final)) {
		want_more(ret);
		return;
	}
	char_kind_t behind = lexer_kind_at(lex, p + 1);
	if (behind == CHAR_WORD || behind == CHAR_ESCAPE || behind == CHAR_QUOTE) {
		lexer_set_fault(lex, ret, p + 1, "missing blank after quoted string");
		return;
	}
	*ret = (token_t){ .data = start, .len = (size_t)(p - start), .kind = TOKEN_QUOTED, .has_escape = has_escape };
	lex->pos = p + 1;
	lex->line += lines;
}

/* A word with escapes or a quoted part, or one at the end of the range. */
static void next_word(lexer_t *lex, token_t *ret)
{
	const char *start = lex->pos, *p = start;
	uint64_t lines = 0;
	token_t word = { .data = start, .kind = TOKEN_WORD };
	for (;; p++) {
		char_kind_t kind = lexer_kind_at(lex, p);
		if (kind == CHAR_WORD) {
			continue;
		}
		if (kind == CHAR_ESCAPE) {
			word.has_escape = true;
			p++;
			if (p == lex->end || *p == '\n') {
				if (p == lex->end && !lex->is_final) {
					want_more(ret);
				} else {
					lexer_set_fault(lex, ret, p, "invalid escape sequence");
				}
				return;
			}
			continue;
		}
		if (kind != CHAR_QUOTE) {
			break;
		}
		word.has_quote = true;
		p++;
		quote_end_t end = skip_quoted(lex, &p, &lines, &word.has_escape);
		if (end == QUOTE_FAULT) {
			quote_fault(lex, ret, p);
			return;
		}
		if (end == QUOTE_MORE) {
			want_more(ret);
			return;
		}
	}
	char_kind_t kind = lexer_kind_at(lex, p);
	if (kind == CHAR_END && !lex->is_final) {
		want_more(ret);
		return;
	}
	if (kind == CHAR_BAD) {
		lexer_set_fault(lex, ret, p, "invalid character");
		return;
	}
	word.len = (size_t)(p - start);
	*ret = word;
	lex->pos = p;
	lex->line += lines;
}

/* Moves over a comment up to its newline, which stays. */
static bool skip_comment(lexer_t *lex)
{
	const char *newline = memchr(lex->pos, '\n', (size_t)(lex->end - lex->pos));
	if (newline == NULL && !lex->is_final) {
		return false;
	}
	lex->pos = newline != NULL ? newline : lex->end;
	return true;
}

static void next_end(lexer_t *lex, token_t *ret)
{
	if (!lex->is_final) {
		want_more(ret);
	} else if (lex->is_open) {
		lex->line = lex->open_line; /* nothing follows that needs the true one */
		lexer_set_fault(lex, ret, lex->pos, "unclosed parenthesis");
	} else {
		*ret = (token_t){ .data = lex->pos, .kind = TOKEN_EOL };
	}
}

void lexer_next_slow(lexer_t *lex, token_t *ret)
{
	for (;;) {
		switch (lexer_kind_at(lex, lex->pos)) {
		case CHAR_WORD:
		case CHAR_ESCAPE: next_word(lex, ret); return;
		case CHAR_QUOTE: next_quoted(lex, ret); return;
		case CHAR_BLANK: lex->pos++; break;
		case CHAR_NEWLINE:
			lex->pos++;
			lex->line++;
			if (!lex->is_open) {
				*ret = (token_t){ .data = lex->pos - 1, .kind = TOKEN_EOL };
				return;
			}
			break;
		case CHAR_RETURN: /* blank as part of CR LF, or at the very end */
			if (lex->pos + 1 == lex->end && !lex->is_final) {
				want_more(ret);
				return;
			}
			if (lex->pos + 1 < lex->end && lex->pos[1] != '\n') {
				lexer_set_fault(lex, ret, lex->pos, "carriage return without newline");
				return;
			}
			lex->pos++;
			break;
		case CHAR_OPEN:
			if (lex->is_open) {
				lexer_set_fault(lex, ret, lex->pos, "too many left parentheses");
				return;
			}
			lex->is_open = true;
			lex->open_line = lex->line;
			lex->pos++;
			break;
		case CHAR_CLOSE:
			if (!lex->is_open) {
				lexer_set_fault(lex, ret, lex->pos, "too many right parentheses");
				return;
			}
			lex->is_open = false;
			lex->pos++;
			break;
		case CHAR_COMMENT:
			if (!skip_comment(lex)) {
				want_more(ret);
				return;
			}
			break;
		case CHAR_BAD: lexer_set_fault(lex, ret, lex->pos, "invalid character"); return;
		case CHAR_END: next_end(lex, ret); return;
		}
	}
}

bool lexer_skip_line(lexer_t *lex)
{
	lex->is_open = false;
	const char *newline = memchr(lex->pos, '\n', (size_t)(lex->end - lex->pos));
	if (newline == NULL) {
		lex->pos = lex->end;
		return false;
	}
	lex->pos = newline + 1;
	lex->line++;
	return true;
}
