/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Bytes as text and back (RFC 4648): hex, base64, and base32hex as DNS uses it.
 *
 * Printing can't fail: the caller provides the room that the *_LEN() macros give. Scanning takes text from people:
 * what isn't a digit is a verdict. The loader of zone files reads digits by the million, so a digit is one look into a
 * table, and the scanners that it calls take text in pieces, as a zone file may have blanks between digits. Nothing
 * here allocates, terminates text or depends on the locale.
 */
#pragma once

#include "libknot/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Characters for `len` bytes, without a NUL. */
#define KNOT_HEX_LEN(len)       (2 * (len))
#define KNOT_BASE64_LEN(len)    (((len) + 2) / 3 * 4)
#define KNOT_BASE32HEX_LEN(len) (((len)*8 + 4) / 5)

/** What *_digit() returns for a character that isn't a digit. */
enum { KNOT_BAD_DIGIT = 0xFF };

/** Value of each digit + 1; 0: not a digit. To be read by the functions below. */
extern const uint8_t knot_hex_values[256];
extern const uint8_t knot_base32hex_values[256];
extern const uint8_t knot_base64_values[256];

/** Value of a digit, 0 to 15 (31, 63), or KNOT_BAD_DIGIT. Hex and base32hex take letters of both cases. */
static inline uint8_t knot_hex_digit(char c)
{
	return (uint8_t)(knot_hex_values[(uint8_t)c] - 1);
}

static inline uint8_t knot_base32hex_digit(char c)
{
	return (uint8_t)(knot_base32hex_values[(uint8_t)c] - 1);
}

static inline uint8_t knot_base64_digit(char c)
{
	return (uint8_t)(knot_base64_values[(uint8_t)c] - 1);
}

/* ---- Hex, RFC 4648 8 ---- */

typedef enum { KNOT_HEX_LOWER, KNOT_HEX_UPPER } knot_hex_case_t;

/** Writes KNOT_HEX_LEN(bytes.len) characters and returns their number. */
size_t knot_hex_print(knot_bytes_t bytes, knot_hex_case_t letters, char *ret_text);

/** Digits come in pieces: the one that waits for its second. Starts as zeros. */
typedef struct {
	uint8_t digit;
	bool has_digit; /* at the end: the number of digits was odd */
} knot_hex_state_t;

/**
 * Digits to bytes, into room for (text.len + 1) / 2 of them; *ret_len is their number. False: a character isn't a
 * digit, and the bytes are meaningless.
 */
bool knot_hex_add(knot_hex_state_t *state, knot_str_t text, uint8_t *ret_bytes, size_t *ret_len);

/** The same for a whole text, into room as above. False also when the number of digits is odd. */
bool knot_hex_scan(knot_str_t text, uint8_t *ret_bytes, size_t *ret_len);

/* ---- base64, RFC 4648 4 ---- */

/** Writes KNOT_BASE64_LEN(bytes.len) characters, padding included, and returns their number. */
size_t knot_base64_print(knot_bytes_t bytes, char *ret_text);

typedef enum {
	KNOT_DECODE_OK,
	KNOT_DECODE_BAD_DIGIT, /* also: padding where none may be, or something behind it */
	KNOT_DECODE_NO_ROOM,
} knot_decode_t;

/** Digits come in pieces: the unfinished group of four. Starts as zeros. */
typedef struct {
	uint32_t bits;
	uint8_t digit_count; /* of the group, padding included; not 0 at the end: the data is incomplete */
	uint8_t padding;     /* '=' seen: only more of them may follow */
} knot_base64_state_t;

/**
 * Digits to the bytes of all groups that are complete; *ret_len is their number, only with KNOT_DECODE_OK. Bits that
 * padding cuts off need not be zero, as in other servers.
 */
knot_decode_t knot_base64_add(knot_base64_state_t *state, knot_str_t text, knot_mut_bytes_t room, size_t *ret_len);

/* ---- base32hex, RFC 4648 7, without padding and in lower case (RFC 5155 3.3) ---- */

/** Writes KNOT_BASE32HEX_LEN(bytes.len) characters and returns their number. */
size_t knot_base32hex_print(knot_bytes_t bytes, char *ret_text);

/**
 * Digits to text.len * 5 / 8 bytes; the caller has checked that this many bytes have text.len digits. False: a
 * character isn't a digit. */
bool knot_base32hex_scan(knot_str_t text, uint8_t *ret_bytes);
