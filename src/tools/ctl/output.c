/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/output.h"

#include "src/tools/ctl/message.h"
#include "src/tools/must.h"

#include <string.h>

/* All differences between the formats. */
typedef struct {
	const char *conf_equals;  /* between a configuration item and its first value */
	const char *stats_equals; /* between a counter and its value */
	bool values_on_own_line;  /* further values of a configuration item: each on a line of its own */
	bool zone_always;         /* records and counters: the zone also when one zone was asked for by name */
	bool trigger_zone_first;  /* "error: [zone] (text)" instead of "error: (text) [zone]" */
} style_t;

static const style_t styles[] = {
	[FORMAT_35] = { " = ", " = ", false, true, true },
	[FORMAT_36] = { " ", ": ", true, false, false },
};

static const char *output_get_item(const knot_ctl_data_t *unit, knot_ctl_idx_t index)
{
	return (*unit)[index];
}

/* ---- The protocol's units as JSON ---- */

/* Members of a unit: its items under the protocol's names. The command is a member of the reply. */
static const char *const raw_names[KNOT_CTL_IDX__COUNT] = {
	[KNOT_CTL_IDX_FLAGS] = "flags",
	[KNOT_CTL_IDX_ERROR] = "error",
	[KNOT_CTL_IDX_SECTION] = "section",
	[KNOT_CTL_IDX_ITEM] = "item",
	[KNOT_CTL_IDX_ID] = "id",
	[KNOT_CTL_IDX_ZONE] = "zone",
	[KNOT_CTL_IDX_OWNER] = "owner",
	[KNOT_CTL_IDX_TTL] = "ttl",
	[KNOT_CTL_IDX_TYPE] = "type",
	[KNOT_CTL_IDX_DATA] = "data",
	[KNOT_CTL_IDX_FILTERS] = "filters",
};

static void output_raw_begin(output_t *output)
{
	output->raw = knot_json_of(knot_json_to_file, output->out);
	knot_json_open(&output->raw, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&output->raw, "command", output->action->name);
	knot_json_open(&output->raw, "reply", KNOT_JSON_LIST, KNOT_JSON_LINES);
}

static void output_raw_unit(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	knot_json_open(&output->raw, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&output->raw, "kind", type == KNOT_CTL_TYPE_DATA ? "data" : "extra");
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		if (raw_names[i] != NULL && (*unit)[i] != NULL) {
			knot_json_text(&output->raw, raw_names[i], (*unit)[i]);
		}
	}
	knot_json_close(&output->raw);
}

static void output_raw_end(output_t *output, const char *error)
{
	knot_json_close(&output->raw);
	knot_json_bool(&output->raw, "ok", !output->failed && error == NULL);
	if (error != NULL) {
		knot_json_text(&output->raw, "error", error);
	}
	knot_json_close(&output->raw);
	(void)!knot_json_end(&output->raw); /* what couldn't be written is found when the tool ends */
}

/* ---- Text ---- */

static void output_print_escape(const output_t *output, const char *escape)
{
	if (output->color) {
		fputs(escape, output->out);
	}
}

#define BOLD  "\x1B[1m"
#define UNDER "\x1B[4m"
#define RED   "\x1B[31m"
#define GREEN "\x1B[32m"
#define RESET "\x1B[0m"

static void output_print_value(output_t *output, const char *value)
{
	output_print_escape(output, BOLD);
	fputs(value, output->out);
	output_print_escape(output, RESET);
}

/* Markers of a reply: FILTERS, in Knot 3.2 FLAGS. */
static bool output_is_marked(const knot_ctl_data_t *unit, char letter)
{
	const char *filters = output_get_item(unit, KNOT_CTL_IDX_FILTERS),
		   *flags = output_get_item(unit, KNOT_CTL_IDX_FLAGS);
	const char *markers = filters != NULL ? filters : flags;
	return markers != NULL && strchr(markers, letter) != NULL;
}

/* "+" or "-" of a difference, or "". */
static const char *output_find_sign(const knot_ctl_data_t *unit)
{
	return output_is_marked(unit, '+') ? "+" : output_is_marked(unit, '-') ? "-" : "";
}

static void output_print_status_field(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	const char *zone = output_get_item(unit, KNOT_CTL_IDX_ZONE), *name = output_get_item(unit, KNOT_CTL_IDX_TYPE);
	const char *value = output_get_item(unit, KNOT_CTL_IDX_DATA);
	if (type == KNOT_CTL_TYPE_DATA) {
		fputc('[', output->out);
		output_print_escape(output, output_is_marked(unit, 'e') ? "" : BOLD);
		output_print_escape(output, output_is_marked(unit, 's') ? RED : GREEN);
		output_print_escape(output, output_is_marked(unit, 'm') ? UNDER : "");
		fputs(zone != NULL ? zone : "", output->out);
		output_print_escape(output, RESET);
		fputc(']', output->out);
		output->field_shown = false;
	}
	if (name == NULL || value == NULL) {
		return;
	}
	/* Only the serial is shown when it is unset. */
	if (strcmp(value, "-") == 0 && !output->extended && strcmp(name, "serial") != 0) {
		return;
	}
	fprintf(output->out, "%s%s: ", output->field_shown ? " | " : " ", name);
	output->field_shown = true;
	output_print_value(output, value);
}

/* An identifier as knotc reads it: with a backslash before a bracket. Names of zones have one already. */
static void output_print_id(const output_t *output, const char *id)
{
	for (const char *p = id; *p != '\0'; p++) {
		if (*p == ']' && (p == id || p[-1] != '\\')) {
			fputc('\\', output->out);
		}
		fputc(*p, output->out);
	}
}

/* "section[id].item", with the parts that the unit has. */
static void output_print_item(const output_t *output, const knot_ctl_data_t *unit)
{
	const char *section = output_get_item(unit, KNOT_CTL_IDX_SECTION),
		   *name = output_get_item(unit, KNOT_CTL_IDX_ITEM);
	const char *id = output_get_item(unit, KNOT_CTL_IDX_ID);
	if (section != NULL) {
		fputs(section, output->out);
	}
	if (id != NULL && output->action->layout == LAYOUT_CONF) {
		fputc('[', output->out);
		output_print_id(output, id);
		fputc(']', output->out);
	}
	if (name != NULL) {
		fprintf(output->out, ".%s", name);
	}
	if (id != NULL && output->action->layout == LAYOUT_STATS) {
		fprintf(output->out, "[%s]", id);
	}
}

static void output_print_conf(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	const style_t *style = &styles[output->format];
	const char *value = output_get_item(unit, KNOT_CTL_IDX_DATA);
	if (type == KNOT_CTL_TYPE_EXTRA) {
		fputs(style->values_on_own_line ? "" : " ", output->out);
		output_print_value(output, value != NULL ? value : "");
		return;
	}
	fputs(output_find_sign(unit), output->out);
	output_print_item(output, unit);
	if (value != NULL) {
		fputs(style->conf_equals, output->out);
		output_print_value(output, value);
	}
}

static void output_print_zone(const output_t *output, const knot_ctl_data_t *unit)
{
	const char *zone = output_get_item(unit, KNOT_CTL_IDX_ZONE);
	if (zone != NULL && (styles[output->format].zone_always || output->all_zones)) {
		fprintf(output->out, "[%s] ", zone);
	}
}

static void output_print_counter(output_t *output, const knot_ctl_data_t *unit)
{
	output_print_zone(output, unit);
	output_print_item(output, unit);
	fputs(styles[output->format].stats_equals, output->out);
	output_print_value(output, output_get_item(unit, KNOT_CTL_IDX_DATA) != NULL
						   ? output_get_item(unit, KNOT_CTL_IDX_DATA)
						   : "");
}

/* The items of a record that the unit has, separated by blanks. */
static void output_print_record_items(const output_t *output, const knot_ctl_data_t *unit, const char *separator)
{
	static const knot_ctl_idx_t order[] = {
		KNOT_CTL_IDX_OWNER,
		KNOT_CTL_IDX_TTL,
		KNOT_CTL_IDX_TYPE,
		KNOT_CTL_IDX_DATA,
	};
	for (size_t i = 0; i < KNOT_LEN(order); i++) {
		if (output_get_item(unit, order[i]) != NULL) {
			fprintf(output->out, "%s%s", separator, output_get_item(unit, order[i]));
			separator = " ";
		}
	}
}

static void output_print_record(const output_t *output, const knot_ctl_data_t *unit)
{
	output_print_zone(output, unit);
	output_print_record_items(output, unit, output_find_sign(unit));
}

static void output_print_error(const output_t *output, const knot_ctl_data_t *unit)
{
	const char *zone = output_get_item(unit, KNOT_CTL_IDX_ZONE), *value = output_get_item(unit, KNOT_CTL_IDX_DATA);
	layout_t layout = output->action->layout;
	bool is_trigger = layout == LAYOUT_TRIGGER || layout == LAYOUT_ZONE_STATUS;
	bool zone_first = styles[output->format].trigger_zone_first && is_trigger;
	fputs("error: ", output->out);
	if (zone != NULL && zone_first) {
		fprintf(output->out, "[%s] ", zone);
	}
	fprintf(output->out, "(%s)", output_get_item(unit, KNOT_CTL_IDX_ERROR));
	if (zone != NULL && !zone_first) {
		fprintf(output->out, " [%s]", zone);
	}
	if (layout == LAYOUT_XDP_BLOCK) {
		fprintf(output->out, "%s%s", output_get_item(unit, KNOT_CTL_IDX_ID) != NULL ? " " : "",
				output_get_item(unit, KNOT_CTL_IDX_ID) != NULL ? output_get_item(unit, KNOT_CTL_IDX_ID)
									       : "");
	} else if (layout == LAYOUT_RECORDS || layout == LAYOUT_STATUS || (is_trigger && !zone_first)) {
		output_print_record_items(output, unit, " ");
	} else if (output_get_item(unit, KNOT_CTL_IDX_SECTION) != NULL) {
		fputc(' ', output->out);
		output_print_item(output, unit);
		if (layout == LAYOUT_CONF && value != NULL) {
			fprintf(output->out, "%s%s", styles[output->format].conf_equals, value);
		}
	}
}

static void output_print_unit(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	switch (output->action->layout) {
	case LAYOUT_STATUS: fputs(output_get_item(unit, KNOT_CTL_IDX_DATA), output->out); return;
	case LAYOUT_TRIGGER: output_print_record(output, unit); return;
	case LAYOUT_ZONE_STATUS: output_print_status_field(output, type, unit); return;
	case LAYOUT_STATS: output_print_counter(output, unit); return;
	case LAYOUT_RECORDS: output_print_record(output, unit); return;
	case LAYOUT_CONF: output_print_conf(output, type, unit); return;
	case LAYOUT_XDP_STATUS:
	case LAYOUT_XDP_BLOCK: return;
	}
}

static bool output_is_table(layout_t layout)
{
	return layout == LAYOUT_XDP_STATUS || layout == LAYOUT_XDP_BLOCK;
}

/* True if the unit continues the open line. */
static bool output_continues_line(const output_t *output, knot_ctl_type_t type)
{
	if (type != KNOT_CTL_TYPE_EXTRA || !output->line_open) {
		return false;
	}
	return output->action->layout == LAYOUT_ZONE_STATUS ||
	       (output->action->layout == LAYOUT_CONF && !styles[output->format].values_on_own_line);
}

static bool output_is_warning(const output_t *output, const knot_ctl_data_t *unit)
{
	const char *type = output_get_item(unit, KNOT_CTL_IDX_TYPE);
	return (output->action->flags & COMMAND_WARNINGS) != 0 && type != NULL && strcmp(type, "warning") == 0 &&
	       output_get_item(unit, KNOT_CTL_IDX_DATA) != NULL;
}

/* Follow the word of success: "Reloaded, 2 warnings:", and a line for each. */
static void output_print_warnings(output_t *output)
{
	if (output->warning_count > 0) {
		fprintf(output->out, ", %zu warning%s:", output->warning_count, output->warning_count > 1 ? "s" : "");
	}
	fputc('\n', output->out);
	for (size_t i = 0; i < output->warning_count; i++) {
		fprintf(output->out, "warning: %s\n", output->warnings[i]);
	}
}

void output_begin(output_t *output)
{
	if (output->format == FORMAT_JSON) {
		reply_begin(&output->reply, output->out, output->action->name, output->action);
		snprintf(output->reply.detail, sizeof(output->reply.detail), "%s",
				output->detail != NULL ? output->detail : "");
	} else if (output->format == FORMAT_RAW) {
		output_raw_begin(output);
	}
}

void output_unit(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	bool is_error = output_get_item(unit, KNOT_CTL_IDX_ERROR) != NULL;
	output->failed |= is_error;
	bool is_warning = !is_error && output_is_warning(output, unit);
	if (output->format == FORMAT_JSON && is_warning) {
		message_tell(&(message_t){ .level = MESSAGE_WARNING,
				.members = { [MESSAGE_TEXT] = output_get_item(unit, KNOT_CTL_IDX_DATA) } });
		return;
	}
	if (output->format == FORMAT_JSON) {
		reply_unit(&output->reply, type, unit);
		return;
	}
	if (output->format == FORMAT_RAW) {
		output_raw_unit(output, type, unit);
		return;
	}
	if (!is_error && output->action->layout == LAYOUT_STATUS && output_get_item(unit, KNOT_CTL_IDX_DATA) == NULL) {
		/* The reply to a plain `status` says only whether zones are still being loaded. */
		output->loading = output_is_marked(unit, 'l');
		return;
	}
	if (is_warning) {
		output->warnings = must(realloc(output->warnings, (output->warning_count + 1) * sizeof(char *)));
		output->warnings[output->warning_count++] = must(strdup(output_get_item(unit, KNOT_CTL_IDX_DATA)));
		return;
	}
	if (!is_error && output_is_table(output->action->layout)) {
		output_table_unit(output, unit);
		return;
	}
	if (output->line_open && !output_continues_line(output, type)) {
		fputc('\n', output->out);
	}
	if (is_error) {
		output_print_error(output, unit);
	} else {
		output_print_unit(output, type, unit);
	}
	output->line_open = output->printed = true;
}

bool output_end(output_t *output, const char *error)
{
	bool is_good = !output->failed && error == NULL;
	if (output->format == FORMAT_JSON) {
		reply_end(&output->reply, error, is_good);
		return is_good;
	}
	if (output->format == FORMAT_RAW) {
		output_raw_end(output, error);
		return is_good;
	}
	output_table_end(output);
	if (output->line_open) {
		fputc('\n', output->out);
	}
	if (is_good && !output->printed && output->action->done != NULL) {
		fputs(output->loading ? "Loading" : output->action->done, output->out);
		output_print_warnings(output);
	}
	for (size_t i = 0; i < output->warning_count; i++) {
		free(output->warnings[i]);
	}
	free(output->warnings);
	return is_good;
}
