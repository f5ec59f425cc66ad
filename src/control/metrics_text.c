/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_text.h"

#include "libknot/base/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	BUFFER_MIN = 4096,
	NUMBER_TEXT_MAX = 40,
};

/* ---- Text ---- */

static void text_put_bytes(metrics_text_t *text, const char *bytes, size_t len)
{
	if (text->failed) {
		return;
	}
	if (text->max - text->len < len) {
		size_t max = (text->max < BUFFER_MIN ? BUFFER_MIN : 2 * text->max) + len;
		char *grown = realloc(text->data, max);
		if (grown == NULL) {
			text->failed = true;
			return;
		}
		text->data = grown;
		text->max = max;
	}
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

static void text_put_string(metrics_text_t *text, const char *string)
{
	text_put_bytes(text, string, strlen(string));
}

/* special: which of backslash, line feed and double quote are escaped. */
static void text_put_escaped(metrics_text_t *text, const char *string, const char *special)
{
	for (;;) {
		size_t plain = strcspn(string, special);
		text_put_bytes(text, string, plain);
		string += plain;
		if (*string == '\0') {
			return;
		}
		text_put_string(text, *string == '\\' ? "\\\\" : *string == '\n' ? "\\n" : "\\\"");
		string++;
	}
}

/* The shortest text that gives the number back; as OpenMetrics wants it, also "+Inf". */
static const char *text_print_real(double value, char text[static NUMBER_TEXT_MAX])
{
	if (isinf(value)) {
		return value > 0 ? "+Inf" : "-Inf";
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
		if (strtod(text, NULL) == value) {
			break;
		}
	}
	if (strpbrk(text, ".en") == NULL) {
		size_t len = strlen(text); /* below 20 */
		memcpy(text + len, ".0", sizeof(".0"));
	}
	return text;
}

void metrics_text_done(metrics_text_t *text)
{
	free(text->data);
	text->data = NULL;
	text->len = text->max = 0;
}

/* ---- Families ---- */

static const struct {
	const char *name;   /* in OpenMetrics */
	const char *before; /* in the format before */
	const char *ending; /* of plain samples */
} types[] = {
	[METRICS_COUNTER] = { "counter", "counter", "_total" },
	[METRICS_GAUGE] = { "gauge", "gauge", "" },
	[METRICS_HISTOGRAM] = { "histogram", "histogram", "" },
	[METRICS_INFO] = { "info", "gauge", "_info" },
	[METRICS_UNKNOWN] = { "unknown", "untyped", "" },
};

static void text_put_meta(metrics_text_t *text, const char *kind, const char *ending, const char *value)
{
	text_put_string(text, "# ");
	text_put_string(text, kind);
	text_put_string(text, " ");
	text_put_string(text, text->family->name);
	text_put_string(text, ending);
	text_put_string(text, " ");
	text_put_escaped(text, value, text->format == METRICS_OPENMETRICS ? "\\\n\"" : "\\\n");
	text_put_string(text, "\n");
}

void metrics_family(metrics_text_t *text, const metrics_family_t *family)
{
	text->family = family;
	bool is_open = text->format == METRICS_OPENMETRICS;
	const char *ending = is_open ? "" : types[family->type].ending;
	text_put_meta(text, "TYPE", ending, is_open ? types[family->type].name : types[family->type].before);
	if (is_open && family->unit != NULL) {
		text_put_meta(text, "UNIT", "", family->unit);
	}
	text_put_meta(text, "HELP", ending, family->help);
}

/* ---- Samples ---- */

static void text_put_label(metrics_text_t *text, bool *io_any, const char *name, const char *value)
{
	text_put_string(text, *io_any ? "," : "{");
	text_put_string(text, name);
	text_put_string(text, "=\"");
	text_put_escaped(text, value, "\\\n\"");
	text_put_string(text, "\"");
	*io_any = true;
}

/* le: NULL: none. */
static void text_put_sample(metrics_text_t *text, const char *ending, const metrics_label_t *labels, const char *le,
		const char *value)
{
	assert(text->family != NULL);
	text_put_string(text, text->family->name);
	text_put_string(text, ending);
	bool any = false;
	for (size_t i = 0; labels != NULL && i < METRICS_LABELS_MAX && labels[i].name != NULL; i++) {
		text_put_label(text, &any, labels[i].name, labels[i].value);
	}
	if (le != NULL) {
		text_put_label(text, &any, "le", le);
	}
	text_put_string(text, any ? "} " : " ");
	text_put_string(text, value);
	text_put_string(text, "\n");
}

static const char *text_print_whole(uint64_t value, char text[static NUMBER_TEXT_MAX])
{
	snprintf(text, NUMBER_TEXT_MAX, "%" PRIu64, value);
	return text;
}

void metrics_sample(metrics_text_t *text, const metrics_label_t *labels, uint64_t value)
{
	char number[NUMBER_TEXT_MAX];
	text_put_sample(text, types[text->family->type].ending, labels, NULL, text_print_whole(value, number));
}

void metrics_sample_real(metrics_text_t *text, const metrics_label_t *labels, double value)
{
	char number[NUMBER_TEXT_MAX];
	text_put_sample(text, types[text->family->type].ending, labels, NULL, text_print_real(value, number));
}

void metrics_bucket(metrics_text_t *text, const metrics_label_t *labels, double bound, uint64_t count)
{
	char le[NUMBER_TEXT_MAX], number[NUMBER_TEXT_MAX];
	text_put_sample(text, "_bucket", labels, text_print_real(bound, le), text_print_whole(count, number));
}

void metrics_histogram_end(metrics_text_t *text, const metrics_label_t *labels, uint64_t count, double sum)
{
	char number[NUMBER_TEXT_MAX];
	text_put_sample(text, "_count", labels, NULL, text_print_whole(count, number));
	text_put_sample(text, "_sum", labels, NULL, text_print_real(sum, number));
}

void metrics_end(metrics_text_t *text)
{
	if (text->format == METRICS_OPENMETRICS) {
		text_put_string(text, "# EOF\n");
	}
}

/* ---- HTTP ---- */

const char *metrics_content_type(metrics_format_t format)
{
	return format == METRICS_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
					     : "text/plain; version=0.0.4; charset=utf-8";
}

/* A quality of RFC 9110 12.4.2 in thousandths; 1000 where there is none. element: media range and parameters. */
static unsigned text_read_quality(const char *element, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if (element[i] != ';') {
			continue;
		}
		size_t at = i + 1 + strspn(element + i + 1, " \t");
		if (at + 2 < len && (element[at] == 'q' || element[at] == 'Q') && element[at + 1] == '=') {
			double quality = strtod(element + at + 2, NULL);
			return quality > 0 && quality <= 1 ? (unsigned)(quality * 1000 + 0.5) : 0;
		}
	}
	return 1000;
}

metrics_format_t metrics_negotiate(const char *accept)
{
	/* What is asked for by name counts before what a wildcard lets through, which gets the format that anything
	 * reads. */
	static const char open[] = "application/openmetrics-text", plain[] = "text/plain";
	unsigned open_quality = 0, plain_quality = 0;
	for (const char *at = accept; at != NULL && *at != '\0';) {
		at += strspn(at, " \t,");
		size_t len = strcspn(at, ","), name = strcspn(at, " \t,;");
		if (name == sizeof(open) - 1 && strncasecmp(at, open, name) == 0) {
			open_quality = text_read_quality(at, len);
		} else if (name == sizeof(plain) - 1 && strncasecmp(at, plain, name) == 0) {
			unsigned quality = text_read_quality(at, len);
			plain_quality = quality > plain_quality ? quality : plain_quality;
		}
		at += len;
	}
	return open_quality > 0 && open_quality >= plain_quality ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
