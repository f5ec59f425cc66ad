/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void present_text_done(present_text_t *text)
{
	free(text->data);
	*text = (present_text_t){ 0 };
}

char *present_text_room(present_text_t *text, size_t max)
{
	enum { ROOM_MIN = 4096 };
	if (text->data != NULL && max <= text->room - text->len) {
		return text->data + text->len;
	}
	size_t room = text->room < ROOM_MIN ? ROOM_MIN : text->room;
	while (room - text->len < max && !text->failed) {
		text->failed = __builtin_mul_overflow(room, 2, &room);
	}
	char *grown = text->failed ? NULL : realloc(text->data, room);
	if (grown == NULL) {
		text->failed = true;
		return NULL;
	}
	text->data = grown;
	text->room = room;
	return grown + text->len;
}

void present_text_put(present_text_t *text, const char *bytes, size_t len)
{
	char *at = present_text_room(text, len);
	if (at != NULL && len > 0) {
		memcpy(at, bytes, len);
		text->len += len;
	}
}

void present_text_str(present_text_t *text, const char *string)
{
	present_text_put(text, string, strlen(string));
}

void present_text_char(present_text_t *text, char c)
{
	present_text_put(text, &c, 1);
}

void present_text_number(present_text_t *text, uint32_t number)
{
	char digits[10];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	present_text_put(text, digits + at, sizeof(digits) - at);
}

void present_text_hex(present_text_t *text, knot_bytes_t bytes)
{
	char *at = present_text_room(text, KNOT_HEX_LEN(bytes.len));
	if (at != NULL) {
		text->len += knot_hex_print(bytes, KNOT_HEX_UPPER, at);
	}
}

void present_text_format(present_text_t *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *at = len >= 0 ? present_text_room(text, (size_t)len + 1) : NULL;
	if (at != NULL) {
		va_start(args, format);
		vsnprintf(at, (size_t)len + 1, format, args);
		va_end(args);
		text->len += (size_t)len;
	}
}

/* Bytes of the UTF-8 sequence (RFC 3629) at the start; 0: there is none, or it is a control character. */
static size_t text_sequence_len(const uint8_t *at, size_t left)
{
	if (at[0] < 0x80) {
		return at[0] >= ' ' && at[0] != 0x7F;
	}
	size_t len = at[0] >= 0xC2 && at[0] < 0xE0   ? 2
		     : at[0] >= 0xE0 && at[0] < 0xF0 ? 3
		     : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
						     : 0;
	if (len == 0 || len > left) {
		return 0;
	}
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xC0) != 0x80) {
			return 0;
		}
	}
	bool is_control = at[0] == 0xC2 && at[1] < 0xA0; /* U+0080 to U+009F */
	bool is_overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
	bool is_beyond = (at[0] == 0xED && at[1] >= 0xA0) || (at[0] == 0xF4 && at[1] >= 0x90);
	bool is_turned = at[0] == 0xE2 && at[1] == 0x80 &&
			 ((at[2] >= 0x8E && at[2] <= 0x8F) || (at[2] >= 0xA8 && at[2] <= 0xAE));
	return is_control || is_overlong || is_beyond || is_turned ? 0 : len;
}

void present_text_foreign(present_text_t *text, knot_bytes_t bytes)
{
	for (size_t i = 0; i < bytes.len;) {
		size_t len = text_sequence_len(bytes.data + i, bytes.len - i);
		if (len > 0) {
			present_text_put(text, (const char *)bytes.data + i, len);
			i += len;
		} else {
			present_text_format(text, "\\%03u", bytes.data[i++]);
		}
	}
}

bool present_is_printable(knot_bytes_t bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.data[i] < ' ' || bytes.data[i] > '~') {
			return false;
		}
	}
	return bytes.len > 0;
}
