/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Decimal numbers in text: digits, without sign, blanks or unit, in no locale. Leading zeros are allowed.
 *
 * Everything is inline: the loader of zone files reads several numbers for each record.
 */
#pragma once

#include "libknot/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
	KNOT_NUMBER_OK,
	KNOT_NUMBER_INVALID, /* there is no digit, or something else than a digit */
	KNOT_NUMBER_TOO_BIG,
} knot_number_t;

static inline bool knot_is_digit(char c)
{
	return (uint8_t)(c - '0') < 10;
}

/** The first digits of the text, a number up to `max`. *ret_len: how many; set also for a number that is too big. */
static inline knot_number_t knot_number_begin(knot_str_t text, uint64_t max, uint64_t *ret_number, size_t *ret_len)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < text.len && knot_is_digit(text.data[i]); i++) {
		uint64_t digit = (uint64_t)(text.data[i] - '0');
		/* number <= max: the product needs a check only if max is that big, and a constant max drops the check.
		 */
		bool is_over = max > UINT64_MAX / 16 ? __builtin_mul_overflow(number, 10, &number) ||
								       __builtin_add_overflow(number, digit, &number)
						     : (number = number * 10 + digit, false);
		if (is_over || number > max) {
			*ret_len = i + 1;
			return KNOT_NUMBER_TOO_BIG;
		}
	}
	*ret_len = i;
	if (i == 0) {
		return KNOT_NUMBER_INVALID;
	}
	*ret_number = number;
	return KNOT_NUMBER_OK;
}

/** The whole text as a number up to `max`, which is in *ret_number only if the result is KNOT_NUMBER_OK. */
static inline knot_number_t knot_number_scan(knot_str_t text, uint64_t max, uint64_t *ret_number)
{
	size_t len;
	uint64_t number = 0;
	knot_number_t result = knot_number_begin(text, max, &number, &len);
	if (result != KNOT_NUMBER_OK || len != text.len) {
		return result == KNOT_NUMBER_TOO_BIG ? result : KNOT_NUMBER_INVALID;
	}
	*ret_number = number;
	return KNOT_NUMBER_OK;
}

/** True if the whole NUL-terminated text is a number in [min..max]. */
static inline bool knot_number_of(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	uint64_t number;
	if (knot_number_scan(knot_str_of(text), max, &number) != KNOT_NUMBER_OK || number < min) {
		return false;
	}
	*ret_number = number;
	return true;
}
