/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * RDATA from and to presentation form, by the field rows of rr/rrtype.def. Accepts both spellings (typed and \#,
 * RFC 3597 5); prints the typed one as Knot does, the generic one for types without a row.
 */
#pragma once

#include "libknot/rr/rdata.h"

/**
 * Scan the presentation form of one RDATA (a line's rest, without a newline; parentheses and quotes allowed).
 * origin: for relative names. ret[0..*ret_len) is scratch on failure.
 * KNOT_EPARSEFAIL: `ret_reason` (NULL allowed) is set to a static text.  KNOT_ESPACE: ret is too short.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_rdata_scan(uint16_t type, knot_str_t text, knot_name_t origin,
		knot_mut_bytes_t ret, uint16_t *ret_len, const char **ret_reason);

/** Whether a name's text has only bytes that a zone file may have in it. NULL: it has; else the reason, static. */
const char *knot_name_text_fault(knot_str_t text);

/** Scan a TTL as zone files have it: seconds, plain or with units w d h m s (1h30m). KNOT_EPARSEFAIL: `*ret_reason` is
 * a static text. */
KNOT_MUST_USE knot_err_t knot_ttl_scan(knot_str_t text, uint32_t *ret_ttl, const char **ret_reason);

/**
 * Print one checked RDATA, NUL-terminated. Returns the length without NUL, or 0 when `max` bytes do not suffice
 * (KNOT_RDATA_TEXT_MAX always does). Empty RDATA is "\# 0"; what has no typed form, or one longer than
 * KNOT_RDATA_TEXT_MAX, is printed in generic form.
 */
enum { KNOT_RDATA_TEXT_MAX = 4 * 65535 + 1024 };
KNOT_EXPORT size_t knot_rdata_print(uint16_t type, knot_bytes_t rdata, char *ret_text, size_t max);

/** How to print; to be had with `{ .print_name = knot_name_print }` as knot_rdata_print() does it. */
typedef struct {
	size_t (*print_name)(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX]); /* of names within RDATA */
	bool is_multiline; /* long RDATA on several lines in parentheses, with comments: what numbers of a SOA and keys
			      are */
	bool is_generic;   /* all types as types without a row are: \# (RFC 3597 5) */
	bool hides_crypto; /* keys and signatures: [id = 2371], [omitted]; not what a zone file may have */
} knot_rdata_style_t;

/** As knot_rdata_print(), in a style. */
KNOT_EXPORT size_t knot_rdata_print_as(
		uint16_t type, knot_bytes_t rdata, const knot_rdata_style_t *style, char *ret_text, size_t max);

/** Print a period in words: "1 week 2 hours", "0 seconds". Returns the length without NUL. */
enum { KNOT_PERIOD_TEXT_MAX = 80 };
KNOT_EXPORT size_t knot_period_print(uint32_t seconds, char ret_text[static KNOT_PERIOD_TEXT_MAX]);
