/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: tokens of master files (RFC 1035 5.1), for whole files and for single RDATA.
 *
 * Works on a byte range without terminator. If the range is not known to be the end of the input (`is_final` false) and
 * a token touches the end, the answer is TOKEN_MORE and the lexer stays before that token; the caller gets more bytes
 * and asks again. Parentheses, comments and newlines within parentheses never leave the lexer. No allocation.
 */
#pragma once

#include "libknot/base/bytes.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef enum {
	TOKEN_WORD,   /* raw text, escapes not resolved */
	TOKEN_QUOTED, /* raw text between the quotes */
	TOKEN_EOL,    /* end of the record: newline (consumed) or end of input */
	TOKEN_FAULT,  /* lexer_t.reason says why */
	TOKEN_MORE,
} token_kind_t;

typedef struct {
	const char *data;
	size_t len;
	token_kind_t kind;
	bool has_escape; /* there is a backslash */
	bool has_quote;  /* a word with a quoted part: key="value" (RFC 9460 2.1) */
} token_t;

typedef struct {
	const char *pos;
	const char *end;
	uint64_t line;      /* of `pos`, from 1 */
	uint64_t open_line; /* of the last opening parenthesis: the line of a fault if it is never closed */
	bool is_open;       /* within parentheses */
	bool is_final;      /* no input follows `end` */
	const char *reason; /* of the last TOKEN_FAULT, static */
} lexer_t;

typedef enum {
	CHAR_WORD = 0, /* everything without a meaning of its own, bytes >= 128 included */
	CHAR_ESCAPE,
	CHAR_BLANK, /* this and the following end a word */
	CHAR_NEWLINE,
	CHAR_RETURN,
	CHAR_OPEN,
	CHAR_CLOSE,
	CHAR_COMMENT,
	CHAR_QUOTE,
	CHAR_BAD, /* control characters */
	CHAR_END, /* not a character: end of the range */
} char_kind_t;

extern const uint8_t lexer_char_kinds[256];

static inline char_kind_t lexer_kind_at(const lexer_t *lex, const char *p)
{
	return p < lex->end ? (char_kind_t)lexer_char_kinds[(uint8_t)*p] : CHAR_END;
}

/** The first byte from `p` on that isn't a CHAR_WORD, or `end`. */
static inline const char *lexer_word_end(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v);
		__m128i parenthesis = _mm_cmpeq_epi8(_mm_and_si128(v, _mm_set1_epi8((char)0xFE)), _mm_set1_epi8('('));
		__m128i comment = _mm_cmpeq_epi8(v, _mm_set1_epi8(';')), quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
		__m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
		__m128i ends = _mm_or_si128(
				_mm_or_si128(_mm_or_si128(control, parenthesis), _mm_or_si128(comment, quote)), escape);
		unsigned mask = (unsigned)_mm_movemask_epi8(ends);
		if (mask != 0) {
			return p + __builtin_ctz(mask);
		}
		p += 16;
	}
#endif
	while (p < end && lexer_char_kinds[(uint8_t)*p] == CHAR_WORD) {
		p++;
	}
	return p;
}

/** The parts of lexer_next() that are not on the fast path. */
void lexer_next_slow(lexer_t *lex, token_t *ret);

/** Read the next token and move behind it. */
static inline void lexer_next(lexer_t *lex, token_t *ret)
{
	const char *p = lex->pos;
	while (p < lex->end && (*p == ' ' || *p == '\t')) {
		p++;
	}
	lex->pos = p;
	const char *start = p;
	p = lexer_word_end(p, lex->end);
	char_kind_t kind = lexer_kind_at(lex, p);
	if (p > start && kind >= CHAR_BLANK && kind < CHAR_QUOTE) { /* the plain word */
		*ret = (token_t){ .data = start, .len = (size_t)(p - start), .kind = TOKEN_WORD };
		lex->pos = p;
		return;
	}
	if (p == start && kind == CHAR_NEWLINE && !lex->is_open) {
		*ret = (token_t){ .data = p, .kind = TOKEN_EOL };
		lex->pos = p + 1;
		lex->line++;
		return;
	}
	lexer_next_slow(lex, ret);
}

/** After a fault: move to the start of the next line, leaving parentheses. False: the range ended before. */
bool lexer_skip_line(lexer_t *lex);
