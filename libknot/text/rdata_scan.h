/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: RDATA from tokens, by the rows of rr/rrtype.def. Shared by single RDATA and by whole files.
 *
 * The scanner writes valid RDATA by construction: what knot_rdata_check() would refuse is a fault here, so typed
 * records are not checked again; generic ones (\#, RFC 3597 5) are.
 */
#pragma once

#include "libknot/rr/rdata.h"
#include "libknot/rr/rrdesc.h"
#include "libknot/text/lexer.h"

typedef enum {
	SCAN_OK,
	SCAN_FAULT, /* `reason`, `what` and `tok` say why */
	SCAN_MORE,  /* the lexer needs more bytes: start the record again */
} scan_status_t;

/** A mnemonic of up to 8 bytes as it was spelt, and its type; key 0: empty. */
typedef struct {
	uint64_t key;
	uint16_t type;
} type_cache_t;

typedef struct {
	lexer_t *lex;
	token_t tok;          /* the token to be used next */
	scan_status_t status; /* sticky */
	knot_name_t origin;
	uint8_t *out;
	size_t len, max;         /* bytes written to `out`, capacity (at most KNOT_RDATA_MAX) */
	bool is_full;            /* the fault is that `out` was too short */
	const char *reason;      /* static text of the fault */
	const char *what;        /* name of the field at fault, or NULL */
	type_cache_t types[64];  /* what mnemonics were found to be */
	bool has_bitmap;         /* the scratch was zeroed; seldom needed, so not from the start */
	uint8_t bitmap[256][32]; /* scratch of type bitmaps: all zero between records */
} rdata_scanner_t;

/** Begin; `lex` and `origin` may be set later. out[0..max) is borrowed. */
void rdata_scanner_init(rdata_scanner_t *s, lexer_t *lex, uint8_t *out, size_t max);

/**
 * Scan one RDATA from the lexer up to and with the end of the record into out[0..len). Origin must be set.
 * After SCAN_FAULT the rest of the record is unread, unless `tok` is TOKEN_EOL.
 */
scan_status_t rdata_scan_record(rdata_scanner_t *s, const knot_rrdesc_t *row, uint16_t type);

/** Type of a mnemonic or TYPEn, remembered in the scanner because the same few come again and again. */
bool rdata_scan_type(rdata_scanner_t *s, const token_t *tok, uint16_t *ret_type);

/** Whether each byte of a name's text may stand there unescaped. NULL: it may; else the reason. */
const char *scan_name_chars(knot_str_t text);

/**
 * Name of a token into `wire` (origin appended when relative). NULL: fine; else the reason.
 * The fast way of knot_name_scan() for names without escapes.
 */
const char *scan_name(
		const token_t *tok, knot_name_t origin, uint8_t wire[static KNOT_NAME_MAX], knot_name_t *ret_name);

/** Decimal number of at most `max`. NULL: fine; else the reason. */
const char *scan_number(const char *text, size_t len, uint32_t max, uint32_t *ret);

/** Seconds, plain or with units w d h m s (1h30m). NULL: fine; else the reason. */
const char *scan_period(const char *text, size_t len, uint32_t *ret);

/** One character or escape at *pos, which moves behind it. False: bad escape. */
bool scan_char(const char *text, size_t len, size_t *pos, uint8_t *ret);

/** Resolve \X and \DDD of a token into `ret` (at most `max` bytes). NULL: fine; else the reason. */
const char *scan_text(const char *text, size_t len, uint8_t *ret, size_t max, size_t *ret_len);
