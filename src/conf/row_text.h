/* SPDX-License-Identifier: BSD-2-Clause */
/** The values of a row as text: for the manual, the manual page and hints. Pure. */
#pragma once

#include "src/conf/schema.h"

enum {
	CONF_ROW_NUMBER_MAX = 32, /* bytes of a number with its unit */
	CONF_ROW_RANGE_MAX = 96,  /* bytes of a range */
};

/** A number with the largest unit of the row that divides it: 3600 is `1h` where the row takes times. */
const char *conf_row_number(const conf_row_t *row, int64_t number, char ret_text[static CONF_ROW_NUMBER_MAX]);

/** True if the upper bound is only that of the storage, which readers needn't know. */
bool conf_row_is_open(const conf_row_t *row);

/** "1 to 256", "at least 1, not 0"; "" for a row that isn't a number. */
const char *conf_row_range(const conf_row_t *row, char ret_text[static CONF_ROW_RANGE_MAX]);
