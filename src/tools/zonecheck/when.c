/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/zonecheck/when.h"

#include "libknot/base/err.h"
#include "libknot/base/number.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NUMBER_LEN_MAX = 10, DATE_LEN = 14 };

static bool when_read_date(const char *text, uint64_t *ret_s)
{
	struct tm utc = { .tm_year = 0 };
	if (strlen(text) != DATE_LEN || strspn(text, "0123456789") != DATE_LEN ||
			sscanf(text, "%4d%2d%2d%2d%2d%2d", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
					&utc.tm_min, &utc.tm_sec) != 6) {
		return false;
	}
	utc.tm_year -= 1900;
	utc.tm_mon -= 1;
	const struct tm wanted = utc;
	time_t seconds = timegm(&utc);
	bool is_date = wanted.tm_mon == utc.tm_mon && wanted.tm_mday == utc.tm_mday && wanted.tm_hour == utc.tm_hour &&
		       wanted.tm_min == utc.tm_min && wanted.tm_sec == utc.tm_sec && seconds >= 0;
	if (is_date) {
		*ret_s = (uint64_t)seconds;
	}
	return is_date;
}

/* 0: there is no such unit. */
static uint64_t when_unit(const char *text)
{
	static const struct {
		const char *name;
		uint32_t seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "D", 86400 }, { "M", 30 * 86400 },
		{ "Y", 365 * 86400 } };
	for (size_t i = 0; i < KNOT_LEN(units); i++) {
		if (strcmp(text, units[i].name) == 0) {
			return units[i].seconds;
		}
	}
	return 0;
}

static bool when_read_distance(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	bool is_minus = text[0] == '-';
	size_t len = text[0] != '\0' ? strspn(text + 1, "0123456789") : 0;
	if ((text[0] != '+' && !is_minus) || len == 0 || len > NUMBER_LEN_MAX) {
		return false;
	}
	uint64_t number = 0, unit_s = when_unit(text + 1 + len);
	for (size_t i = 1; i <= len; i++) {
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	if (unit_s == 0 || (is_minus && number * unit_s > now_s)) {
		return false;
	}
	*ret_s = is_minus ? now_s - number * unit_s : now_s + number * unit_s;
	return true;
}

bool when_read(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	return when_read_date(text, ret_s) || when_read_distance(text, now_s, ret_s) ||
	       knot_number_of(text, 0, UINT32_MAX, ret_s);
}
