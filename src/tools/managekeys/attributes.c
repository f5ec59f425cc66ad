/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/managekeys/attributes.h"

#include "libdnssec/algorithm.h"
#include "libknot/base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- Times ---- */

#define TIMER(text, member)                                                                                            \
	{                                                                                                              \
		text, offsetof(kasp_times_t, member)                                                                   \
	}
static const attributes_time_t timers[] = {
	TIMER("created", created),
	TIMER("pre-active", pre_active),
	TIMER("publish", publish),
	TIMER("ready", ready),
	TIMER("active", active),
	TIMER("retire-active", retire_active),
	TIMER("retire", retire),
	TIMER("post-active", post_active),
	TIMER("revoke", revoke),
	TIMER("remove", remove),
};
#undef TIMER

const attributes_time_t *attributes_times(size_t *ret_count)
{
	*ret_count = KNOT_LEN(timers);
	return timers;
}

/* YYYYMMDDhhmmss */
static bool time_read_date(const char *text, uint64_t *ret_s)
{
	struct tm utc = { .tm_year = 0 };
	if (strlen(text) != 14 || strspn(text, "0123456789") != 14 ||
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

static bool time_read_unit(const char *text, uint64_t *ret_s)
{
	static const struct {
		const char *name;
		uint32_t seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "mi", 60 }, { "h", 3600 }, { "d", 86400 }, { "mo", 30 * 86400 },
		{ "y", 365 * 86400 } };
	for (size_t i = 0; i < KNOT_LEN(units); i++) {
		if (strcmp(text, units[i].name) == 0) {
			*ret_s = units[i].seconds;
			return true;
		}
	}
	return false;
}

/* "+5d", behind "now" or "t". */
static bool time_read_distance(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	uint64_t number = 0, unit_s;
	bool is_minus = text[0] == '-';
	const char *digits = text + 1;
	size_t len = strspn(digits, "0123456789");
	if ((text[0] != '+' && !is_minus) || len == 0 || len > 10 || !time_read_unit(digits + len, &unit_s)) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		number = number * 10 + (uint64_t)(digits[i] - '0');
	}
	uint64_t distance_s = number * unit_s;
	if (is_minus && distance_s > now_s) {
		return false;
	}
	*ret_s = is_minus ? now_s - distance_s : now_s + distance_s;
	return true;
}

bool attributes_read_time(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	uint64_t number;
	const char *distance = strncmp(text, "now", 3) == 0 ? text + 3 : text[0] == 't' ? text + 1 : text;
	if (time_read_date(text, ret_s) || time_read_distance(distance, now_s, ret_s)) {
		return true;
	}
	if (distance != text && *distance == '\0') {
		*ret_s = now_s;
		return true;
	}
	bool is_number = knot_number_of(text, 0, UINT64_MAX / 2, &number);
	if (is_number) {
		*ret_s = number;
	}
	return is_number;
}

void attributes_apply_times(const attributes_t *attributes, kasp_times_t *times)
{
	for (size_t i = 0; i < KNOT_LEN(timers); i++) {
		if ((attributes->times_set >> i & 1) != 0) {
			memcpy((uint8_t *)times + timers[i].at, (const uint8_t *)&attributes->times + timers[i].at,
					sizeof(uint64_t));
		}
	}
}

static bool time_is_before(uint64_t a_s, uint64_t b_s, const char *a, const char *b)
{
	bool is_good = (a_s != 0 ? a_s : UINT64_MAX) <= (b_s != 0 ? b_s : UINT64_MAX);
	if (!is_good) {
		fprintf(stderr, "error: timestamp '%s' must be before '%s'\n", a, b);
	}
	return is_good;
}

bool attributes_check_times(const kasp_times_t *t)
{
	return (t->pre_active == 0 || t->publish == 0 ||
			       time_is_before(t->pre_active, t->publish, "pre_active", "publish")) &&
	       time_is_before(t->publish, t->active, "publish", "active") &&
	       time_is_before(t->active, t->retire_active, "active", "retire_active") &&
	       time_is_before(t->active, t->retire, "active", "retire") &&
	       time_is_before(t->active, t->post_active, "active", "post_active") &&
	       (t->post_active != 0 || time_is_before(t->retire, t->remove, "retire", "remove"));
}

/* ---- Attributes ---- */

/* Hyphens and underscores are the same. */
static bool name_eq(const char *text, size_t len, const char *name)
{
	bool is_same = strlen(name) == len;
	for (size_t i = 0; i < len && is_same; i++) {
		char a = text[i] == '_' ? '-' : text[i], b = name[i] == '_' ? '-' : name[i];
		is_same = a == b;
	}
	return is_same;
}

static bool attribute_is_true(const char *value)
{
	return value == NULL || value[0] == '1' || value[0] == 'y' || value[0] == 'Y' || value[0] == 't' ||
	       value[0] == 'T';
}

static bool attribute_read_flag(const char *text, size_t len, const char *value, attributes_t *a)
{
	const struct {
		const char *name;
		bool *has, *is;
	} rows[] = { { "ksk", &a->has_ksk, &a->is_ksk }, { "zsk", &a->has_zsk, &a->is_zsk },
		{ "sep", &a->has_sep, &a->has_sep_flag }, { "for-later", &a->has_for_later, &a->is_for_later },
		{ "adt", &a->has_adt, &a->is_adt } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (name_eq(text, len, rows[i].name)) {
			*rows[i].has = true;
			*rows[i].is = attribute_is_true(value);
			return true;
		}
	}
	return false;
}

/* False, and *ret_is_known: it is one, and its time can't be read, which is said. */
static bool attribute_read_timer(
		const char *text, size_t len, const char *value, uint64_t now_s, attributes_t *a, bool *ret_is_known)
{
	for (size_t i = 0; i < KNOT_LEN(timers); i++) {
		if (!name_eq(text, len, timers[i].name)) {
			continue;
		}
		uint64_t when_s;
		if (value == NULL || !attributes_read_time(value, now_s, &when_s)) {
			fprintf(stderr, "error: invalid timestamp: %s\n", value != NULL ? value : "");
			*ret_is_known = true;
			return false;
		}
		a->times_set |= 1u << i;
		memcpy((uint8_t *)&a->times + timers[i].at, &when_s, sizeof(when_s));
		return true;
	}
	return false;
}

static bool attribute_read_kind(const char *text, size_t len, const char *value, attributes_t *a, bool *ret_is_known)
{
	uint64_t bits;
	*ret_is_known = true;
	if (name_eq(text, len, "algorithm")) {
		const dnssec_algorithm_t *algorithm = value != NULL ? dnssec_algorithm_find_name(value) : NULL;
		if (algorithm == NULL) {
			fprintf(stderr, "error: unknown algorithm: %s\n", value != NULL ? value : "");
			return false;
		}
		a->algorithm = algorithm->number;
		return true;
	}
	if (name_eq(text, len, "size")) {
		if (value == NULL || !knot_number_of(value, 0, UINT16_MAX, &bits)) {
			fprintf(stderr, "error: invalid size: '%s'\n", value != NULL ? value : "");
			return false;
		}
		a->bits = (unsigned)bits;
		return true;
	}
	if (name_eq(text, len, "addtopolicy") && value != NULL) {
		a->shared_policy = value;
		return true;
	}
	*ret_is_known = false;
	return true;
}

bool attributes_read(const char *text, uint64_t now_s, bool is_set, attributes_t *attributes)
{
	const char *sign = strchr(text, '='), *value = sign != NULL ? sign + 1 : NULL;
	size_t len = sign != NULL ? (size_t)(sign - text) : strlen(text);
	bool is_known = false;
	if (attribute_read_flag(text, len, value, attributes) ||
			attribute_read_timer(text, len, value, now_s, attributes, &is_known)) {
		return true;
	}
	if (is_known) { /* and told of */
		return false;
	}
	bool is_good = is_set || attribute_read_kind(text, len, value, attributes, &is_known);
	if (is_good && !is_known) {
		fprintf(stderr, "error: invalid parameter: %s\n", text);
	}
	return is_good && is_known;
}
