/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/zonecheck/source.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/zonefile.h"
#include "src/tools/must.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool source_take_name(source_t *source, knot_name_t name)
{
	knot_name_lower(name, source->wire);
	source->origin = (knot_name_t){ source->wire, name.len, name.label_count };
	return true;
}

static bool source_take_text(source_t *source, const char *text, size_t len)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	bool is_name = knot_name_scan((knot_str_t){ text, len }, knot_name_root, wire, &name) == KNOT_OK;
	return is_name && source_take_name(source, name);
}

/* The name of the file, without folder and ".zone". */
static bool source_take_path(source_t *source)
{
	static const char suffix[] = ".zone";
	const char *slash = strrchr(source->path, '/');
	const char *name = strcmp(source->path, "-") == 0 ? "stdin" : slash != NULL ? slash + 1 : source->path;
	size_t len = strlen(name), suffix_len = sizeof(suffix) - 1;
	if (len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0) {
		len -= suffix_len;
	}
	return source_take_text(source, name, len);
}

/* Standard input or a pipe, which can be read only once: kept. False: it can't be read to its end. */
static bool source_read_input(source_t *source)
{
	bool is_standard = strcmp(source->path, "-") == 0;
	FILE *file = is_standard ? stdin : fopen(source->path, "re");
	if (file == NULL) {
		return false;
	}
	size_t len = 0, room = 1 << 16;
	char *text = must(malloc(room));
	for (size_t got; (got = fread(text + len, 1, room - len, file)) > 0;) {
		len += got;
		if (len == room) {
			room *= 2;
			text = must(realloc(text, room));
		}
	}
	source->text = (knot_str_t){ text, len };
	bool is_good = ferror(file) == 0;
	if (!is_standard) {
		fclose(file);
	}
	return is_good;
}

static bool source_is_stream(const char *path)
{
	struct stat st;
	return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)));
}

/* ---- The SOA ---- */

typedef struct {
	source_t *source;
	bool has_soa, has_faults;
} search_t;

static bool search_on_record(const knot_zone_record_t *record, void *ctx)
{
	search_t *search = ctx;
	if (record->type == KNOT_TYPE_SOA) {
		search->has_soa = source_take_name(search->source, record->owner);
	}
	return !search->has_soa;
}

static bool search_on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	(void)fault;
	((search_t *)ctx)->has_faults = true;
	return true;
}

/* What can't be read, or has faults and perhaps no SOA, is for who reads it again and tells. */
static bool source_find_soa(source_t *source)
{
	uint8_t wire[KNOT_NAME_MAX];
	search_t search = { .source = source };
	memcpy(wire, source->wire, source->origin.len);
	const knot_zonefile_params_t params = { .origin = { wire, source->origin.len, source->origin.label_count },
		.default_ttl = 1,
		.on_record = search_on_record,
		.on_fault = search_on_fault,
		.ctx = &search };
	knot_err_t err = source->text.data != NULL ? knot_zonefile_scan_text(source->text, source->path, &params)
						   : knot_zonefile_scan(source->path, &params);
	return search.has_soa || search.has_faults || (err != KNOT_OK && err != KNOT_EPARSEFAIL);
}

bool source_open(const char *path, const char *origin, source_t *ret_source, char ret_error[static SOURCE_ERROR_MAX])
{
	*ret_source = (source_t){ .path = path };
	bool is_named = origin != NULL ? source_take_text(ret_source, origin, strlen(origin))
				       : source_take_path(ret_source);
	if (!is_named) {
		snprintf(ret_error, SOURCE_ERROR_MAX, "invalid zone name '%s'%s", origin != NULL ? origin : path,
				origin != NULL ? "" : " by the name of the file");
		return false;
	}
	if (source_is_stream(path) && !source_read_input(ret_source)) {
		snprintf(ret_error, SOURCE_ERROR_MAX, "failed to load the zone from %s (%s)",
				strcmp(path, "-") == 0 ? "standard input" : path, strerror(errno));
		source_close(ret_source);
		return false;
	}
	if (origin == NULL && !source_find_soa(ret_source)) {
		snprintf(ret_error, SOURCE_ERROR_MAX, "failed to detect zone origin (missing SOA)");
		source_close(ret_source);
		return false;
	}
	return true;
}

void source_close(source_t *source)
{
	free((char *)source->text.data);
	*source = (source_t){ .path = NULL };
}
