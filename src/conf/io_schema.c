/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema's rows as JSON Schema, for editors and for programs that make configurations: it describes a configuration
 * as YAML or JSON has it, sections as members, blocks as a list of objects. What depends on other items is not in it.
 */
#include "src/conf/io.h"
#include "src/conf/value.h"

/** Writes JSON, two spaces for each level. Failed writes stick in `out`. */
typedef struct {
	FILE *out;
	unsigned depth;
	bool is_first; /* nothing was written in the current object or list */
} json_t;

static void put_string(json_t *json, const char *text)
{
	(void)fputc('"', json->out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\') {
			(void)fputc('\\', json->out);
		}
		(void)fputc(*text, json->out);
	}
	(void)fputc('"', json->out);
}

/** The start of a member or, without a key, of an element. */
static void begin(json_t *json, const char *key)
{
	(void)fputs(json->is_first ? "\n" : ",\n", json->out);
	for (unsigned i = 0; i < json->depth; i++) {
		(void)fputs("  ", json->out);
	}
	json->is_first = false;
	if (key != NULL) {
		put_string(json, key);
		(void)fputs(": ", json->out);
	}
}

static void open_with(json_t *json, const char *key, char bracket)
{
	begin(json, key);
	(void)fputc(bracket, json->out);
	json->depth++;
	json->is_first = true;
}

static void close_with(json_t *json, char bracket)
{
	json->depth--;
	if (!json->is_first) {
		(void)fputc('\n', json->out);
		for (unsigned i = 0; i < json->depth; i++) {
			(void)fputs("  ", json->out);
		}
	}
	json->is_first = false;
	(void)fputc(bracket, json->out);
}

static void put_text(json_t *json, const char *key, const char *text)
{
	begin(json, key);
	put_string(json, text);
}

static void put_number(json_t *json, const char *key, int64_t number)
{
	begin(json, key);
	(void)fprintf(json->out, "%lld", (long long)number);
}

static void put_bool(json_t *json, const char *key, bool value)
{
	begin(json, key);
	(void)fputs(value ? "true" : "false", json->out);
}

/* ---- Values ---- */

static bool is_named(const conf_option_t *option, const char *name)
{
	return strcmp(option->name, name) == 0;
}

/** The names; YAML reads some of them as booleans. */
static void put_options(json_t *json, const conf_row_t *row)
{
	bool has_bool = false;
	open_with(json, "enum", '[');
	for (const conf_option_t *option = row->options; option->name != NULL; option++) {
		put_text(json, NULL, option->name);
		has_bool |= is_named(option, "on") || is_named(option, "off");
	}
	if (has_bool) {
		put_bool(json, NULL, true);
		put_bool(json, NULL, false);
	}
	close_with(json, ']');
}

/** A number, or text with a unit, whose range is not checked. */
static void put_integer(json_t *json, const conf_row_t *row)
{
	static const char *const units[] = {
		[CONF_UNIT_NONE] = "", [CONF_UNIT_TIME] = "[smhdwMy]?", [CONF_UNIT_SIZE] = "[BKMG]?"
	};
	char pattern[64];
	open_with(json, NULL, '{');
	put_text(json, "type", "integer");
	put_number(json, "minimum", row->min);
	put_number(json, "maximum", row->max);
	if (row->not_zero) {
		open_with(json, "not", '{');
		put_number(json, "const", 0);
		close_with(json, '}');
	}
	close_with(json, '}');
	open_with(json, NULL, '{');
	put_text(json, "type", "string");
	(void)snprintf(pattern, sizeof(pattern), "^ *[+-]?[0-9]+%s$%s", units[row->unit],
			row->percent ? "|^[0-9]+%$" : "");
	put_text(json, "pattern", pattern);
	close_with(json, '}');
}

static void put_boolean(json_t *json)
{
	open_with(json, "enum", '[');
	put_bool(json, NULL, true);
	put_bool(json, NULL, false);
	put_text(json, NULL, "on");
	put_text(json, NULL, "off");
	put_text(json, NULL, "true");
	put_text(json, NULL, "false");
	close_with(json, ']');
}

/** What every text of a type looks like; NULL: anything. */
static const char *pattern_of(const conf_row_t *row)
{
	if (row->pattern != NULL) {
		return row->pattern;
	}
	switch (row->type) {
	case CONF_HEX: return "^(0x([0-9A-Fa-f]{2})*|(?!0x).*)$";
	case CONF_B64: return "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
	case CONF_DNAME: return "^(\\.|@|[^.]+(\\.+[^.]+)*\\.?)$";
	case CONF_NET: return "^([0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(/[0-9]+|-[0-9A-Fa-f:.]+)?$|^/";
	case CONF_MODREF: return "^(mod-[a-z]+(/.+)?)?$";
	case CONF_RRTYPE: return "^[A-Za-z][A-Za-z0-9-]*$";
	case CONF_INT:
	case CONF_BOOL:
	case CONF_STR:
	case CONF_ADDR:
	case CONF_OPT:
	case CONF_OPTINT:
	case CONF_REF: break;
	}
	return NULL;
}

/** Keywords for one value of the row, into an open object. */
static void put_value(json_t *json, const conf_row_t *row)
{
	const char *pattern = pattern_of(row);
	switch (row->type) {
	case CONF_INT:
	case CONF_OPTINT:
		open_with(json, "anyOf", '[');
		put_integer(json, row);
		if (row->options != NULL) {
			open_with(json, NULL, '{');
			put_options(json, row);
			close_with(json, '}');
		}
		close_with(json, ']');
		return;
	case CONF_BOOL: put_boolean(json); return;
	case CONF_OPT: put_options(json, row); return;
	case CONF_STR:
	case CONF_HEX:
	case CONF_B64:
	case CONF_DNAME:
	case CONF_ADDR:
	case CONF_NET:
	case CONF_REF:
	case CONF_MODREF:
	case CONF_RRTYPE: break;
	}
	put_text(json, "type", "string");
	if (pattern != NULL) {
		put_text(json, "pattern", pattern);
	}
}

static void put_default(json_t *json, const conf_row_t *row)
{
	uint8_t value[256];
	size_t len;
	if (row->dflt == NULL || strlen(row->dflt) >= sizeof(value) / 2) {
		return;
	}
	bool is_number = row->type == CONF_INT ||
			 (row->type == CONF_OPTINT && row->dflt[0] >= '0' && row->dflt[0] <= '9');
	bool is_scanned = conf_value_scan(row, knot_str_of(row->dflt), value, &len) == KNOT_OK;
	if (is_scanned && is_number) {
		put_number(json, "default", conf_value_int((knot_bytes_t){ value, len }));
	} else if (is_scanned && row->type == CONF_BOOL) {
		put_bool(json, "default", value[0] != 0);
	} else {
		put_text(json, "default", row->dflt);
	}
}

static void put_description(json_t *json, const conf_row_t *row)
{
	static const char *const states[] = { [CONF_WORKS] = "",
		[CONF_REFUSED] = " Not supported yet.",
		[CONF_TUNING] = " No effect yet.",
		[CONF_OBSOLETE] = "" };
	char text[2048];
	(void)snprintf(text, sizeof(text), "%s%s%s%s%s", row->doc, row->rfc != NULL ? " (" : "",
			row->rfc != NULL ? row->rfc : "", row->rfc != NULL ? ")" : "", states[row->support]);
	put_text(json, "description", text);
	if (row->support == CONF_OBSOLETE) {
		put_bool(json, "deprecated", true);
	}
}

static void put_row(json_t *json, const conf_row_t *row)
{
	open_with(json, row->name, '{');
	put_description(json, row);
	if (!row->multi) {
		put_value(json, row);
	} else {
		open_with(json, "anyOf", '[');
		open_with(json, NULL, '{');
		put_value(json, row);
		close_with(json, '}');
		open_with(json, NULL, '{');
		put_text(json, "type", "array");
		open_with(json, "items", '{');
		put_value(json, row);
		close_with(json, '}');
		if (row->count_max > 0) {
			put_number(json, "maxItems", (int64_t)row->count_max);
		}
		close_with(json, '}');
		close_with(json, ']');
	}
	put_default(json, row);
	close_with(json, '}');
}

/* ---- Sections ---- */

/** Keywords of a block, into an open object. */
static void put_block(json_t *json, const conf_section_t *section)
{
	open_with(json, "properties", '{');
	for (size_t i = 0; i < section->row_count; i++) {
		if (conf_row_in(section, &section->rows[i])) {
			put_row(json, &section->rows[i]);
		}
	}
	close_with(json, '}');
	put_bool(json, "additionalProperties", false);
	if (section->kind == CONF_GROUP) {
		return;
	}
	open_with(json, "required", '[');
	put_text(json, NULL, conf_id_row(section)->name);
	for (size_t i = 0; i < section->row_count; i++) {
		if (section->rows[i].required && conf_row_in(section, &section->rows[i])) {
			put_text(json, NULL, section->rows[i].name);
		}
	}
	close_with(json, ']');
}

/** A section without anything in it is null in YAML. */
static void put_types(json_t *json, const char *type)
{
	open_with(json, "type", '[');
	put_text(json, NULL, type);
	put_text(json, NULL, "null");
	close_with(json, ']');
}

static void put_section(json_t *json, const conf_section_t *section)
{
	open_with(json, section->name, '{');
	put_text(json, "description", section->doc);
	switch (section->kind) {
	case CONF_GROUP:
		put_types(json, "object");
		put_block(json, section);
		break;
	case CONF_MULTI:
		put_types(json, "array");
		open_with(json, "items", '{');
		put_text(json, "type", "object");
		put_block(json, section);
		close_with(json, '}');
		break;
	case CONF_DIRECTIVE:
		open_with(json, "type", '[');
		put_text(json, NULL, "string");
		put_text(json, NULL, "array");
		close_with(json, ']');
		open_with(json, "items", '{');
		put_text(json, "type", "string");
		close_with(json, '}');
		break;
	}
	close_with(json, '}');
}

bool conf_io_export_schema(FILE *out)
{
	json_t json = { .out = out, .depth = 1, .is_first = true };
	(void)fputc('{', out);
	put_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_text(&json, "title", "Configuration of " PACKAGE_STRING);
	put_types(&json, "object");
	open_with(&json, "properties", '{');
	for (size_t i = 0; i < conf_section_count; i++) {
		put_section(&json, conf_sections[i]);
	}
	close_with(&json, '}');
	put_bool(&json, "additionalProperties", false);
	close_with(&json, '}');
	(void)fputc('\n', out);
	return fflush(out) == 0 && !ferror(out);
}
