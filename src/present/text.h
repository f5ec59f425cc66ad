/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Text that grows on the heap: what is presented is put here, and the caller writes it out.
 *
 * A failure (memory is short) sticks in `failed`, as it does in readers and writers of libknot: what is put after it is
 * dropped, and the caller checks once. Starts as zeros. One thread at a time.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/encode.h"

typedef struct {
	char *data; /* owned; no NUL */
	size_t len, room;
	bool failed;
} present_text_t;

/** Release. */
void present_text_done(present_text_t *text);

/** Room for `max` bytes behind what is there, which the caller fills and counts in `len`; NULL: memory is short. */
char *present_text_room(present_text_t *text, size_t max);

void present_text_put(present_text_t *text, const char *bytes, size_t len);
void present_text_str(present_text_t *text, const char *string);
void present_text_char(present_text_t *text, char c);
void present_text_number(present_text_t *text, uint32_t number);
void present_text_hex(present_text_t *text, knot_bytes_t bytes);

/** printf(), for what isn't printed a million times. */
__attribute__((format(printf, 2, 3))) void present_text_format(present_text_t *text, const char *format, ...);

/**
 * Text of somebody else, for a terminal: valid UTF-8 as it is, but for control characters; they and all other bytes as
 * \DDD.
 */
void present_text_foreign(present_text_t *text, knot_bytes_t bytes);

/** True if there are bytes and all are printable ASCII. */
bool present_is_printable(knot_bytes_t bytes);
