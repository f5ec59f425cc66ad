/* SPDX-License-Identifier: BSD-2-Clause */
/* The path of a zone's file: formatters of `zone.file`. */
#include "src/conf/zonefile_name.h"
#include "libknot/base/number.h"
#include "src/conf/conf.h"

#include <stdlib.h>

enum {
	PATH_TEXT_MAX = 1023, /* bytes of the expanded name */
	INDEX_MAX = 255,
};

typedef struct {
	char text[PATH_TEXT_MAX + 1];
	size_t len;
	bool is_full;
} out_t;

static void zonefile_name_put(out_t *out, const char *text, size_t len)
{
	if (len > PATH_TEXT_MAX - out->len) {
		out->is_full = true;
		return;
	}
	memcpy(out->text + out->len, text, len);
	out->len += len;
}

/** A number of an index; false: none, or too big. */
static bool scan_index(const char **text, size_t *ret_index)
{
	uint64_t number;
	size_t len;
	if (knot_number_begin(knot_str_of(*text), INDEX_MAX, &number, &len) != KNOT_NUMBER_OK) {
		return false;
	}
	*text += len;
	*ret_index = (size_t)number;
	return true;
}

/** `[N]` or, if allowed, `[N-M]`; moves behind it. False: not of that form. */
static bool scan_range(const char **text, bool has_end, size_t *ret_first, size_t *ret_last)
{
	const char *p = *text;
	if (*p++ != '[' || !scan_index(&p, ret_first)) {
		return false;
	}
	*ret_last = *ret_first;
	if (has_end && *p == '-') {
		p++;
		if (!scan_index(&p, ret_last) || *ret_last < *ret_first) {
			return false;
		}
	}
	if (*p++ != ']') {
		return false;
	}
	*text = p;
	return true;
}

/** Print a name for use in a path: a slash in it must not lead into another directory. */
static size_t zonefile_name_print_name(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX])
{
	size_t len = knot_name_print(name, ret_text);
	for (size_t i = 0; i < len; i++) {
		if (ret_text[i] == '/') {
			ret_text[i] = '_';
		}
	}
	return len;
}

/** Label `index`, 0 is the one next to the root. */
static void put_label(out_t *out, knot_name_t name, size_t index)
{
	char text[KNOT_NAME_TEXT_MAX];
	uint8_t wire[KNOT_LABEL_MAX + 2];
	if (index >= name.label_count) {
		return;
	}
	knot_name_t from = knot_name_strip(name, name.label_count - 1 - (unsigned)index);
	size_t label_len = from.wire[0] + 1u;
	memcpy(wire, from.wire, label_len);
	wire[label_len] = 0;
	size_t len = zonefile_name_print_name(knot_name_of(wire), text);
	zonefile_name_put(out, text, len - 1);
}

/** The formatter behind a percent sign; moves behind it. */
static conf_zonefile_verdict_t put_formatted(out_t *out, const char **format, knot_name_t name)
{
	char text[KNOT_NAME_TEXT_MAX];
	size_t len = zonefile_name_print_name(name, text), first, last;
	char kind = **format;
	*format += kind != '\0';
	switch (kind) {
	case '%': zonefile_name_put(out, "%", 1); return CONF_ZONEFILE_OK;
	case 's': zonefile_name_put(out, text, len - 1); return CONF_ZONEFILE_OK;
	case 'c':
		if (!scan_range(format, true, &first, &last)) {
			return CONF_ZONEFILE_INVALID;
		}
		if (first < len) {
			zonefile_name_put(out, text + first, (last < len ? last + 1 : len) - first);
		}
		return CONF_ZONEFILE_OK;
	case 'l':
		if (!scan_range(format, false, &first, &last)) {
			return CONF_ZONEFILE_INVALID;
		}
		put_label(out, name, first);
		return CONF_ZONEFILE_OK;
	default: return CONF_ZONEFILE_IGNORED;
	}
}

/** Expand a format, as far as it goes. Returns the worst verdict. */
static conf_zonefile_verdict_t expand(out_t *out, const char *format, knot_name_t name)
{
	conf_zonefile_verdict_t worst = CONF_ZONEFILE_OK;
	while (*format != '\0') {
		size_t len = strcspn(format, "%");
		zonefile_name_put(out, format, len);
		format += len;
		if (*format == '%') {
			format++;
			conf_zonefile_verdict_t verdict = put_formatted(out, &format, name);
			worst = verdict > worst ? verdict : worst;
		}
	}
	return worst;
}

conf_zonefile_verdict_t conf_zonefile_check(const char *format)
{
	out_t out = { .len = 0 };
	return expand(&out, format, knot_name_root);
}

knot_err_t conf_zone_path(const conf_zone_t *zone, const char *format, char *ret_path, size_t path_max)
{
	out_t out = { .len = 0 };
	if (expand(&out, format, zone->name) == CONF_ZONEFILE_INVALID) {
		return KNOT_EINVAL;
	}
	bool is_relative = out.len == 0 || out.text[0] != '/';
	bool has_storage = is_relative && zone->storage[0] != '\0';
	bool has_directory = is_relative && zone->storage[0] != '/' && zone->directory != NULL;
	int len = snprintf(ret_path, path_max, "%s%s%s%s%.*s", has_directory ? zone->directory : "",
			has_directory ? "/" : "", has_storage ? zone->storage : "", has_storage ? "/" : "",
			(int)out.len, out.text);
	return out.is_full || len < 0 || (size_t)len >= path_max ? KNOT_ESPACE : KNOT_OK;
}

knot_err_t conf_zone_file(const conf_zone_t *zone, char *ret_path, size_t path_max)
{
	return conf_zone_path(zone, zone->file, ret_path, path_max);
}
