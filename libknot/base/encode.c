/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/encode.h"

#include <assert.h>

/* A row of 16 characters each; rows without digits are left out. A digit has its value + 1. */
/* clang-format off */
const uint8_t knot_hex_values[256] = {
	[0x30] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0,
	[0x40] = 0, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	[0x60] = 0, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

const uint8_t knot_base32hex_values[256] = {
	[0x30] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0,
	[0x40] = 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
	[0x50] = 26, 27, 28, 29, 30, 31, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	[0x60] = 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
	[0x70] = 26, 27, 28, 29, 30, 31, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

const uint8_t knot_base64_values[256] = {
	[0x20] = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 63, 0, 0, 0, 64,
	[0x30] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 0, 0, 0, 0, 0, 0,
	[0x40] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	[0x50] = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 0, 0, 0, 0, 0,
	[0x60] = 0, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
	[0x70] = 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 0, 0, 0, 0, 0,
};
/* clang-format on */

/* ---- Hex ---- */

size_t knot_hex_print(knot_bytes_t bytes, knot_hex_case_t letters, char *ret_text)
{
	static const char digits[2][17] = {
		[KNOT_HEX_LOWER] = "0123456789abcdef", [KNOT_HEX_UPPER] = "0123456789ABCDEF"
	};
	for (size_t i = 0; i < bytes.len; i++) {
		ret_text[2 * i] = digits[letters][bytes.data[i] >> 4];
		ret_text[2 * i + 1] = digits[letters][bytes.data[i] & 15];
	}
	return 2 * bytes.len;
}

bool knot_hex_add(knot_hex_state_t *state, knot_str_t text, uint8_t *ret_bytes, size_t *ret_len)
{
	size_t count = 0, i = 0;
	uint8_t bad = 0;         /* the upper half of a value is zero, that of KNOT_BAD_DIGIT isn't */
	if (!state->has_digit) { /* whole pairs at once */
		for (; i + 2 <= text.len; i += 2) {
			uint8_t high = knot_hex_digit(text.data[i]), low = knot_hex_digit(text.data[i + 1]);
			bad |= (high | low) & 0xF0;
			ret_bytes[count++] = (uint8_t)(high << 4 | low);
		}
	}
	for (; i < text.len; i++) {
		uint8_t digit = knot_hex_digit(text.data[i]);
		bad |= digit & 0xF0;
		if (state->has_digit) {
			ret_bytes[count++] = (uint8_t)(state->digit << 4 | digit);
		}
		state->digit = digit;
		state->has_digit = !state->has_digit;
	}
	*ret_len = count;
	return bad == 0;
}

bool knot_hex_scan(knot_str_t text, uint8_t *ret_bytes, size_t *ret_len)
{
	knot_hex_state_t state = { 0 };
	return knot_hex_add(&state, text, ret_bytes, ret_len) && !state.has_digit;
}

/* ---- base64 ---- */

size_t knot_base64_print(knot_bytes_t bytes, char *ret_text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = ret_text;
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t bits = (uint32_t)bytes.data[i] << 16 | (left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) |
				(left > 2 ? bytes.data[i + 2] : 0);
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[bits & 63] : '=';
	}
	assert((size_t)(at - ret_text) == KNOT_BASE64_LEN(bytes.len));
	return (size_t)(at - ret_text);
}

/* The leading groups of four plain digits, all at once. Returns how many characters were used. */
static size_t encode_scan_groups(knot_str_t text, uint8_t *p, size_t group_max)
{
	size_t i = 0;
	for (; group_max > 0 && i + 4 <= text.len; i += 4, group_max--) {
		uint32_t a = knot_base64_digit(text.data[i]), b = knot_base64_digit(text.data[i + 1]);
		uint32_t c = knot_base64_digit(text.data[i + 2]), d = knot_base64_digit(text.data[i + 3]);
		if ((a | b | c | d) > 63) {
			break;
		}
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;
		*p++ = (uint8_t)(bits >> 16);
		*p++ = (uint8_t)(bits >> 8);
		*p++ = (uint8_t)bits;
	}
	return i;
}

/* The bytes of a finished group of four; false: there is no room. */
static bool encode_end_group(knot_base64_state_t *state, knot_mut_bytes_t room, size_t *len)
{
	unsigned count = 3u - state->padding;
	if (count > room.len - *len) {
		return false;
	}
	for (unsigned i = 0; i < count; i++) {
		room.data[(*len)++] = (uint8_t)(state->bits >> (16 - 8 * i));
	}
	state->bits = 0;
	state->digit_count = 0;
	return true;
}

knot_decode_t knot_base64_add(knot_base64_state_t *state, knot_str_t text, knot_mut_bytes_t room, size_t *ret_len)
{
	bool is_fresh = state->digit_count == 0 && state->padding == 0;
	size_t i = is_fresh ? encode_scan_groups(text, room.data, room.len / 3) : 0;
	size_t len = i / 4 * 3;
	for (; i < text.len; i++) {
		uint8_t digit = knot_base64_digit(text.data[i]);
		bool is_pad = text.data[i] == '=';
		if ((digit == KNOT_BAD_DIGIT && !is_pad) || (is_pad && state->digit_count < 2) ||
				(state->padding > 0 && (!is_pad || state->digit_count == 0))) {
			return KNOT_DECODE_BAD_DIGIT;
		}
		state->padding += is_pad;
		state->bits = state->bits << 6 | (is_pad ? 0 : digit);
		if (++state->digit_count == 4 && !encode_end_group(state, room, &len)) {
			return KNOT_DECODE_NO_ROOM;
		}
	}
	*ret_len = len;
	return KNOT_DECODE_OK;
}

/* ---- base32hex ---- */

size_t knot_base32hex_print(knot_bytes_t bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	char *at = ret_text;
	size_t i = 0;
	/* Five bytes are eight digits. A hash of NSEC3 has four times that, and answers print hashes: hence no loop. */
	for (; i + 5 <= bytes.len; i += 5) {
		uint32_t first = load_be32(bytes.data + i), rest = load_be32(bytes.data + i + 1);
		*at++ = digits[first >> 27];
		*at++ = digits[first >> 22 & 31];
		*at++ = digits[first >> 17 & 31];
		*at++ = digits[first >> 12 & 31];
		*at++ = digits[rest >> 15 & 31];
		*at++ = digits[rest >> 10 & 31];
		*at++ = digits[rest >> 5 & 31];
		*at++ = digits[rest & 31];
	}
	uint32_t bits = 0;
	unsigned bit_count = 0;
	for (; i < bytes.len; i++) {
		bits = bits << 8 | bytes.data[i];
		for (bit_count += 8; bit_count >= 5; bit_count -= 5) {
			*at++ = digits[bits >> (bit_count - 5) & 31];
		}
	}
	if (bit_count > 0) {
		*at++ = digits[bits << (5 - bit_count) & 31];
	}
	assert((size_t)(at - ret_text) == KNOT_BASE32HEX_LEN(bytes.len));
	return (size_t)(at - ret_text);
}

bool knot_base32hex_scan(knot_str_t text, uint8_t *ret_bytes)
{
	assert(KNOT_BASE32HEX_LEN(text.len * 5 / 8) == text.len);
	uint32_t bits = 0;
	unsigned bit_count = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t digit = knot_base32hex_digit(text.data[i]);
		if (digit == KNOT_BAD_DIGIT) {
			return false;
		}
		bits = bits << 5 | digit;
		bit_count += 5;
		if (bit_count >= 8) {
			bit_count -= 8;
			*ret_bytes++ = (uint8_t)(bits >> bit_count);
		}
	}
	return true;
}
