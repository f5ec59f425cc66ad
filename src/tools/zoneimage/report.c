/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/zoneimage/report.h"

#include "src/tools/must.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { REPORT_TIME_MAX = 32 };

/* ---- Values ---- */

static const char *report_print_size(uint64_t size, char text[static 24])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)size;
	size_t unit = 0;
	while (value >= 1024 && unit + 1 < KNOT_LEN(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
	return text;
}

static const char *report_print_age(int64_t age_s, char text[static 24])
{
	static const struct {
		int64_t unit_s;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	size_t i = 0;
	while (i + 1 < KNOT_LEN(units) && age_s < 2 * units[i].unit_s) {
		i++;
	}
	snprintf(text, 24, "%" PRId64 "%s", age_s / units[i].unit_s, units[i].name);
	return text;
}

/* "2026-11-21T12:00:00" in UTC. */
static const char *report_print_time(uint64_t when_s, char text[static REPORT_TIME_MAX])
{
	struct tm tm;
	time_t when = (time_t)when_s;
	if (gmtime_r(&when, &tm) == NULL) { /* a crafted image can name any time */
		snprintf(text, REPORT_TIME_MAX, "%s", "unknown");
	} else {
		strftime(text, REPORT_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	}
	return text;
}

/* What became of a file since the image was made from it. */
static const char *report_state_of(const store_source_t *source)
{
	char path[STORE_PATH_MAX + 1];
	struct stat info;
	assert(source->path.len <= STORE_PATH_MAX);
	memcpy(path, source->path.data, source->path.len);
	path[source->path.len] = '\0';
	if (stat(path, &info) != 0) {
		return errno == ENOENT ? "missing" : "unknown";
	}
	return store_source_is(source, &info) ? "same" : "changed";
}

static const char *report_state_of_all(const store_view_t *view)
{
	const char *state = "-";
	for (uint32_t i = 0; i < view->source_count; i++) {
		state = report_state_of(&view->sources[i]);
		if (strcmp(state, "same") != 0) {
			return state;
		}
	}
	return state;
}

/* ---- Lines ---- */

__attribute__((format(printf, 2, 3))) static void report_append(report_t *report, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	(void)must(len >= 0 ? text : NULL);
	report->json.failed |= !knot_json_to_buffer(&report->buffer, text, (size_t)len);
	free(text);
}

static void report_line(report_t *report, const char *zone, const store_view_t *view)
{
	char size[24], age[24], saved[REPORT_TIME_MAX];
	report_append(report, "%-32s %10" PRIu32 " %10s %6" PRIu32 " %6" PRIu32 "  %s %6s  %-7s", zone, view->serial,
			report_print_size(view->size, size), view->piece_count, view->format,
			report_print_time(view->saved_s, saved),
			report_print_age(report->now_s - (int64_t)view->saved_s, age), report_state_of_all(view));
	if (view->source_count == 0) {
		report_append(report, " -");
	}
	uint32_t shown = report->lists_sources || view->source_count == 0 ? view->source_count : 1;
	for (uint32_t i = 0; i < shown; i++) {
		report_append(report, " %.*s", (int)view->sources[i].path.len, view->sources[i].path.data);
	}
	if (view->source_count > shown) {
		report_append(report, " (and %" PRIu32 " more)", view->source_count - shown);
	}
	report_append(report, "\n");
}

/* ---- JSON ---- */

static void report_object(report_t *report, const char *zone, const store_view_t *view, report_verdict_t verdict)
{
	char saved[REPORT_TIME_MAX], saved_utc[REPORT_TIME_MAX + 1];
	knot_json_t *json = &report->json;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "zone", zone);
	knot_json_uint(json, "serial", view->serial);
	knot_json_uint(json, "size", view->size);
	knot_json_uint(json, "pieces", view->piece_count);
	knot_json_uint(json, "format", view->format);
	snprintf(saved_utc, sizeof(saved_utc), "%sZ", report_print_time(view->saved_s, saved));
	knot_json_text(json, "saved", saved_utc);
	if (verdict != REPORT_NOT_VERIFIED) {
		knot_json_bool(json, "verified", verdict == REPORT_VERIFIED);
	}
	knot_json_open(json, "files", KNOT_JSON_LIST, KNOT_JSON_LINE);
	for (uint32_t i = 0; i < view->source_count; i++) {
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_str(json, "path",
				(knot_str_t){ (const char *)view->sources[i].path.data, view->sources[i].path.len });
		knot_json_text(json, "state", report_state_of(&view->sources[i]));
		knot_json_close(json);
	}
	knot_json_close(json);
	knot_json_close(json);
}

static void report_begin_result(report_t *report)
{
	if (!report->has_result) {
		knot_json_open(&report->json, "result", KNOT_JSON_LIST, KNOT_JSON_LINES);
		report->has_result = true;
	}
}

static void report_write_messages(report_t *report)
{
	knot_json_t *json = &report->json;
	knot_json_open(json, "messages", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (size_t i = 0; i < report->message_count; i++) {
		report_message_t *message = &report->messages[i];
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(json, "level", "error");
		knot_json_text(json, "text", message->text);
		if (message->zone != NULL) {
			knot_json_text(json, "zone", message->zone);
		}
		knot_json_close(json);
		free(message->zone);
		free(message->text);
	}
	knot_json_close(json);
}

/* ---- Both ---- */

void report_begin(report_t *report)
{
	report->json = knot_json_of(knot_json_to_buffer, &report->buffer);
	if (report->is_json) {
		knot_json_open(&report->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	}
}

void report_directory(report_t *report, const char *path)
{
	if (report->is_json) {
		knot_json_text(&report->json, "directory", path);
		report_begin_result(report);
	} else {
		report_append(report, "%-32s %10s %10s %6s %6s  %-19s %6s  %-7s %s\n", "zone", "serial", "size",
				"pieces", "format", "saved (UTC)", "age", "source", "file");
	}
}

void report_image(report_t *report, const char *zone, const store_view_t *view, report_verdict_t verdict)
{
	report->shown++;
	report->size += view->size;
	if (report->is_json) {
		report_object(report, zone, view, verdict);
	} else {
		report_line(report, zone, view);
	}
}

void report_print(report_t *report)
{
	size_t len = report->buffer.len;
	report->json.failed |= len > 0 && fwrite(report->buffer.data, 1, len, stdout) != len;
	report->buffer.len = 0;
}

void report_error(report_t *report, const char *zone, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	(void)must(len >= 0 ? text : NULL);
	if (report->is_json) {
		size_t count = report->message_count + 1;
		report->messages = must(realloc(report->messages, count * sizeof(*report->messages)));
		report->messages[report->message_count++] = (report_message_t){
			.zone = zone != NULL ? must(strdup(zone)) : NULL,
			.text = text,
		};
		return;
	}
	report_print(report);
	(void)fflush(stdout);
	fprintf(stderr, "error: %s%s%s%s\n", zone != NULL ? "[" : "", zone != NULL ? zone : "",
			zone != NULL ? "] " : "", text);
	free(text);
}

void report_totals(report_t *report, const store_room_t *room, bool is_verified)
{
	if (report->is_json) {
		knot_json_close(&report->json);
		knot_json_uint(&report->json, "used", room->used);
		knot_json_uint(&report->json, "max", room->max);
		return;
	}
	char size[24], used[24], max[24];
	report_append(report, "%" PRIu64 " images, %s; %s of %s in use%s\n", report->shown,
			report_print_size(report->size, size), report_print_size(room->used, used),
			report_print_size(room->max, max), is_verified ? "; verified" : "");
}

bool report_end(report_t *report, bool is_good)
{
	if (report->is_json) {
		if (!report->has_result) {
			report_begin_result(report);
			knot_json_close(&report->json);
		}
		report_write_messages(report);
		knot_json_bool(&report->json, "ok", is_good);
		knot_json_close(&report->json);
		(void)!knot_json_end(&report->json);
	}
	report_print(report);
	free(report->buffer.data);
	free(report->messages);
	return fflush(stdout) == 0 && !report->json.failed;
}
