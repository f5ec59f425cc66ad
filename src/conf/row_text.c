/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/row_text.h"

#include <stdio.h>

const char *conf_row_number(const conf_row_t *row, int64_t number, char ret_text[static CONF_ROW_NUMBER_MAX])
{
	static const struct {
		conf_measure_t unit;
		int64_t factor;
		const char *name;
	} units[] = {
		{ CONF_UNIT_SIZE, 1 << 30, "G" },
		{ CONF_UNIT_SIZE, 1 << 20, "M" },
		{ CONF_UNIT_SIZE, 1 << 10, "K" },
		{ CONF_UNIT_TIME, 86400, "d" },
		{ CONF_UNIT_TIME, 3600, "h" },
		{ CONF_UNIT_TIME, 60, "m" },
	};
	for (size_t i = 0; i < KNOT_LEN(units) && number > 0; i++) {
		if (units[i].unit == row->unit && number % units[i].factor == 0) {
			(void)snprintf(ret_text, CONF_ROW_NUMBER_MAX, "%lld%s", (long long)(number / units[i].factor),
					units[i].name);
			return ret_text;
		}
	}
	(void)snprintf(ret_text, CONF_ROW_NUMBER_MAX, "%lld", (long long)number);
	return ret_text;
}

bool conf_row_is_open(const conf_row_t *row)
{
	return row->max == INT32_MAX || row->max == UINT32_MAX || row->max >= (INT64_C(1) << 48) - 1;
}

const char *conf_row_range(const conf_row_t *row, char ret_text[static CONF_ROW_RANGE_MAX])
{
	char min[CONF_ROW_NUMBER_MAX], max[CONF_ROW_NUMBER_MAX];
	const char *not_zero = row->not_zero ? ", not 0" : "";
	ret_text[0] = '\0';
	if (row->type != CONF_INT && row->type != CONF_OPTINT) {
		return ret_text;
	}
	(void)conf_row_number(row, row->min, min);
	if (conf_row_is_open(row)) {
		(void)snprintf(ret_text, CONF_ROW_RANGE_MAX, "at least %s%s", min, not_zero);
	} else {
		(void)snprintf(ret_text, CONF_ROW_RANGE_MAX, "%s to %s%s", min, conf_row_number(row, row->max, max),
				not_zero);
	}
	return ret_text;
}
