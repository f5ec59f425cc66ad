/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: messages out of hex, and what they are presented as. */
#pragma once

#include "libknot/base/encode.h"
#include "src/present/read.h"

#include <stdlib.h>

/** The bytes of hex digits, of exactly that many bytes on the heap, so that a sanitizer sees a read of one more. */
static inline knot_bytes_t test_bytes(const char *hex)
{
	size_t len = strlen(hex) / 2, got = 0;
	uint8_t *bytes = malloc(len > 0 ? len : 1);
	if (bytes == NULL || !knot_hex_scan(knot_str_of(hex), bytes, &got) || got != len) {
		abort();
	}
	return (knot_bytes_t){ bytes, len };
}

/* "example." as the question's name, which is at 0xC00C. */
#define TEST_QUESTION(type)        "076578616d706c6500" type "0001"
#define TEST_HEADER(flags, counts) "1234" flags counts
