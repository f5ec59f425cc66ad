/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Domain names: wire form, presentation form, canonical order, lookup key.
 *
 * A knot_name_t borrows an uncompressed wire name and knows its length, so nothing rescans it. Functions that
 * make a name write into a caller's buffer of KNOT_NAME_MAX bytes. No allocation, no state, any thread.
 * RFC 1035 2.3.4 and 3.1 (form), RFC 4343 (case), RFC 4034 6.1 (canonical order), RFC 1035 4.1.4 (compression).
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

enum {
	KNOT_NAME_MAX = 255,                   /* bytes of a wire name with the root label, RFC 1035 2.3.4 */
	KNOT_LABEL_MAX = 63,                   /* bytes of a label */
	KNOT_LABEL_COUNT_MAX = 127,            /* labels without the root label: 127 of one byte make 255 */
	KNOT_NAME_TEXT_MAX = 1004 + 1,         /* presentation form: every byte as \DDD, dots, and a NUL */
	KNOT_NAME_KEY_MAX = 2 * KNOT_NAME_MAX, /* positions of a lookup key, see knot_name_key() */
};

typedef struct {
	const uint8_t *wire; /* [0..len): labels and the root label, case as given */
	uint8_t len;         /* 1–255; 0 only in a name that was never set */
	uint8_t label_count; /* without the root label; 0 for the root */
} knot_name_t;

/** The root name. */
extern KNOT_EXPORT const knot_name_t knot_name_root;

/**
 * A view of the uncompressed name at the start of `bytes` (bytes after it are allowed).
 * KNOT_EMALF: cut short, a label > 63 (pointers included), or > 255 bytes in all. Treat as malformed input.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_name_read(knot_bytes_t bytes, knot_name_t *ret_name);

/** A view of a wire name that our own code made: must be whole and valid. */
KNOT_EXPORT knot_name_t knot_name_of(const uint8_t *wire);

/**
 * Read a possibly compressed name of a message and expand it into `ret_wire`.
 * msg: the whole message from its header; *pos: offset of the name, moved behind it on success.
 * Every pointer must point before the start of the label sequence that it ends, so the walk ends (RFC 1035 4.1.4).
 * KNOT_EMALF as knot_name_read(), a pointer forward, or more than KNOT_LABEL_COUNT_MAX pointers. ret_wire is scratch
 * on failure, and behind the name on success.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_name_unpack(
		knot_bytes_t msg, size_t *pos, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name);

/**
 * Turn presentation form into wire form; a name without a final dot gets `origin` appended, case is kept.
 * text: \X and \DDD escapes (RFC 1035 5.1); "@" alone is the origin; "." is the root. No terminator needed.
 * origin: `wire` NULL: there is none, a relative name is then an error.
 * ret_wire[0..ret_name->len) is written, 1–255 bytes; scratch on failure.
 * KNOT_EEMPTYLABEL, KNOT_ELABELLEN, KNOT_ENAMELEN, KNOT_EBADESC: report with the text's position.
 * KNOT_ENOORIGIN: relative name and origin.wire is NULL. Pass knot_name_root to take every name as absolute.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_name_scan(
		knot_str_t text, knot_name_t origin, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name);

/**
 * Print presentation form with the final dot ("." for the root), NUL-terminated, as Knot prints it: printable
 * ASCII as is, the special characters of a zone file with a backslash, everything else \DDD. Returns the length
 * without NUL, at most KNOT_NAME_TEXT_MAX - 1.
 */
KNOT_EXPORT size_t knot_name_print(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX]);

/** Case-insensitive equality (ASCII letters only, RFC 4343 3). */
KNOT_EXPORT bool knot_name_eq(knot_name_t a, knot_name_t b);

/** Canonical order (RFC 4034 6.1): <0, 0, >0. */
KNOT_EXPORT int knot_name_cmp(knot_name_t a, knot_name_t b);

/** True if `name` is `apex` or below it. */
KNOT_EXPORT bool knot_name_in(knot_name_t name, knot_name_t apex);

/** Number of labels, counted from the root, that both names share. */
KNOT_EXPORT unsigned knot_name_shared_labels(knot_name_t a, knot_name_t b);

/** The name without its first `count` labels (count <= label_count): a view into the same bytes. */
KNOT_EXPORT knot_name_t knot_name_strip(knot_name_t name, unsigned count);

/** True if the first label is "*" (RFC 4592 2.1.1). */
static inline bool knot_name_is_wildcard(knot_name_t name)
{
	return name.len > 2 && name.wire[0] == 1 && name.wire[1] == '*';
}

/**
 * "*.<encloser>", the source of synthesis below `encloser` (RFC 4592 3.3.1). ret_wire[0..encloser.len + 2): its bytes.
 * False, and nothing is written: it would be longer than a name may be.
 */
static inline bool knot_name_wildcard_below(
		knot_name_t encloser, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_wildcard)
{
	if (encloser.len > KNOT_NAME_MAX - 2) {
		return false;
	}
	ret_wire[0] = 1;
	ret_wire[1] = '*';
	memcpy(ret_wire + 2, encloser.wire, encloser.len);
	*ret_wildcard = (knot_name_t){ ret_wire, (uint8_t)(encloser.len + 2), (uint8_t)(encloser.label_count + 1) };
	return true;
}

/** Copy with ASCII letters in lower case. ret_wire[0..name.len). May work in place. */
KNOT_EXPORT void knot_name_lower(knot_name_t name, uint8_t *ret_wire);

/**
 * The lookup key: a string of small numbers whose byte order is the canonical order of names.
 *
 * Labels from the root down, each byte folded to lower case and mapped to one position (letters, digits, '-' and
 * '_') or two (all others: an escape position for its range, then one within the range), each label ended by
 * KNOT_KEY_END, which sorts before everything, as does the end of the key. Positions lie in
 * [KNOT_KEY_END..KNOT_KEY_POSITIONS). The key of a name is a prefix of the keys of the names below it.
 * ret_key[0..return value): at most KNOT_NAME_KEY_MAX positions. The root has the empty key (length 0).
 */
enum { KNOT_KEY_END = 0, KNOT_KEY_POSITIONS = 48 };
KNOT_EXPORT size_t knot_name_key(knot_name_t name, uint8_t ret_key[static KNOT_NAME_KEY_MAX]);
