/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: what the files of the RDATA scanner share: tokens in, bytes out, one sticky fault. Inline, because each
 * field of each record passes here.
 */
#pragma once

#include "libknot/base/assert.h"
#include "libknot/base/encode.h"
#include "libknot/text/rdata_scan.h"

/** Note a fault of the current token, unless there is one already. reason: static. */
static inline void scan_set_fault(rdata_scanner_t *s, const char *reason)
{
	if (s->status == SCAN_OK) {
		s->status = SCAN_FAULT;
		s->reason = reason;
	}
}

/** Read the next token. A fault of the lexer becomes the scanner's status. */
static inline void scan_advance(rdata_scanner_t *s)
{
	lexer_next(s->lex, &s->tok);
	if (s->tok.kind >= TOKEN_FAULT && s->status == SCAN_OK) {
		s->status = s->tok.kind == TOKEN_MORE ? SCAN_MORE : SCAN_FAULT;
		s->reason = s->lex->reason;
		s->what = NULL;
	}
}

/** True if the record has no more tokens, or has failed. */
static inline bool scan_at_end(const rdata_scanner_t *s)
{
	return s->tok.kind == TOKEN_EOL || s->status != SCAN_OK;
}

/** True if the current token is an unquoted word, which most fields must be. */
static inline bool scan_need_word(rdata_scanner_t *s, const char *reason)
{
	if (s->status == SCAN_OK && s->tok.kind == TOKEN_WORD && !s->tok.has_quote) {
		return true;
	}
	scan_set_fault(s, s->tok.kind == TOKEN_EOL ? "missing data" : reason);
	return false;
}

/** Room for `len` more bytes of RDATA, not yet counted. */
static inline uint8_t *scan_room(rdata_scanner_t *s, size_t len)
{
	KNOT_ASSERT_SLOW(s->len <= s->max);
	if (len <= s->max - s->len) {
		return s->out + s->len;
	}
	s->is_full = s->status == SCAN_OK;
	scan_set_fault(s, "record data is too long");
	return NULL;
}

/** Append to the RDATA. False: there was no room, which is a fault now. The same for the numbers, in network order. */
static inline bool scan_put_bytes(rdata_scanner_t *s, const void *bytes, size_t len)
{
	uint8_t *p = scan_room(s, len);
	if (p == NULL) {
		return false;
	}
	memcpy(p, bytes, len);
	s->len += len;
	return true;
}

static inline bool scan_put_u16(rdata_scanner_t *s, uint16_t v)
{
	uint8_t bytes[2];
	store_be16(bytes, v);
	return scan_put_bytes(s, bytes, sizeof(bytes));
}

static inline bool scan_put_u32(rdata_scanner_t *s, uint32_t v)
{
	uint8_t bytes[4];
	store_be32(bytes, v);
	return scan_put_bytes(s, bytes, sizeof(bytes));
}

static inline bool scan_put_u8(rdata_scanner_t *s, uint8_t v)
{
	return scan_put_bytes(s, &v, 1);
}

/** IPv4 address: four decimal numbers without leading zeros, as inet_pton() takes them. False: it is none. */
bool scan_parse_ipv4(const char *text, size_t len, uint8_t ret[static 4]);
bool scan_parse_ipv6(const char *text, size_t len, uint8_t ret[static 16]);

/** Append the bytes of base64 digits. state: zeroed at first; digits may come in several parts. */
bool scan_put_base64(rdata_scanner_t *s, const char *text, size_t len, knot_base64_state_t *state);

/* ---- Fields with files of their own: each reads its tokens and moves behind them ---- */

/** Location (RFC 1876 3). */
void scan_loc(rdata_scanner_t *s);

/** SvcParams to the end of the record (RFC 9460 2.1). */
void scan_svcparams(rdata_scanner_t *s);
