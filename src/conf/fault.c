/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about a place in a configuration, in the words that Knot has for it. */
#include "src/conf/fault.h"
#include "src/conf/schema.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	SHOWN_MAX = 300,         /* bytes of a value or an identifier in a message: a log line has 511 */
	TEXT_MAX = 2 * PATH_MAX, /* of a message */
};

typedef struct {
	char text[TEXT_MAX];
	size_t len;
} out_t;

__attribute__((format(printf, 2, 3))) static void fault_append(out_t *out, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(out->text + out->len, sizeof(out->text) - out->len, format, args);
	va_end(args);
	size_t left = sizeof(out->text) - 1 - out->len;
	out->len += len < 0 ? 0 : (size_t)len < left ? (size_t)len : left;
}

/** As much of a text as a message shows. */
static void fault_append_shown(out_t *out, const char *text)
{
	size_t len = strlen(text);
	fault_append(out, "%.*s%s", len > SHOWN_MAX ? SHOWN_MAX : (int)len, text, len > SHOWN_MAX ? "..." : "");
}

/** Section, identifier in brackets if there is one. */
static void fault_append_block(out_t *out, const conf_place_t *place)
{
	fault_append(out, "%s", place->section);
	if (place->id != NULL && place->id[0] != '\0') {
		fault_append(out, "[");
		fault_append_shown(out, place->id);
		fault_append(out, "]");
	}
}

static void fault_append_item(out_t *out, const conf_place_t *place)
{
	fault_append(out, ", item '");
	if (place->file == NULL && place->section != NULL) {
		fault_append_block(out, place);
		fault_append(out, ".");
	}
	fault_append(out, "%s'", place->item);
	bool has_value = place->value != NULL && place->value[0] != '\0';
	if (has_value && !conf_may_be_secret(place->section, place->item)) {
		fault_append(out, ", value '");
		fault_append_shown(out, place->value);
		fault_append(out, "'");
	}
}

knot_err_t conf_tell(conf_sink_t sink, conf_severity_t severity, knot_err_t err, const conf_place_t *place,
		const char *reason)
{
	out_t out = { .len = 0 };
	fault_append(&out, "config");
	if (place->file != NULL) {
		fault_append(&out, ", file '%s', line %zu", place->file, place->line);
	}
	if (place->item != NULL) {
		fault_append_item(&out, place);
	} else if (place->section != NULL) {
		fault_append(&out, ", section '");
		fault_append_block(&out, place);
		fault_append(&out, "'");
	}
	fault_append(&out, " (%s)", reason);
	return conf_tell_text(sink, severity, err, place, reason, "%s", out.text);
}

knot_err_t conf_tell_text(conf_sink_t sink, conf_severity_t severity, knot_err_t err, const conf_place_t *place,
		const char *reason, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conf_fault_t fault = { .severity = severity,
		.err = err,
		.file = place->file,
		.line = place->line,
		.text = text,
		.reason = reason,
		.section = place->section,
		.id = place->id,
		.item = place->item,
		.value = place->value,
		.hint = place->hint != NULL && place->hint[0] != '\0' ? place->hint : NULL };
	if (sink.fault != NULL) {
		sink.fault(sink.ctx, &fault);
	}
	return err;
}
