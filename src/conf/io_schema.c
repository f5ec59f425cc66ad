/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema's rows as JSON Schema, for editors and for programs that make configurations: it describes a configuration
 * as YAML or JSON has it, sections as members, blocks as a list of objects. What depends on other items is not in it.
 */
#include "libknot/base/json.h"
#include "src/conf/io.h"
#include "src/conf/value.h"

#include <assert.h>
#include <ctype.h>
#include <regex.h>

enum { PATTERN_MAX = 1024 };

/* ---- Values ---- */

/** Whether a text without characters is a value: an item without a value in knot.conf, null in YAML. */
static bool schema_takes_empty(const conf_row_t *row)
{
	uint8_t value[CONF_VALUE_MAX];
	size_t len;
	return conf_value_scan(row, knot_str_of(""), value, &len) == KNOT_OK;
}

/** Whether the row's own pattern has room for a text that YAML reads as something else than text. */
static bool schema_pattern_takes(const conf_row_t *row, const char *text)
{
	regex_t compiled;
	if (row->pattern == NULL) {
		return true;
	}
	bool is_compiled = regcomp(&compiled, row->pattern, REG_EXTENDED | REG_NOSUB) == 0;
	assert(is_compiled);
	bool is_match = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return is_match;
}

/**
 * Types of a value that is text in knot.conf. YAML reads `id: 5` as a number, `id: on` as a boolean, and an item
 * without a value as null; the record type NULL, too.
 */
static void schema_put_text_types(knot_json_t *json, const conf_row_t *row)
{
	bool is_free = row->type != CONF_NET && row->type != CONF_MODREF && row->type != CONF_RRTYPE;
	knot_json_open(json, "type", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_text(json, NULL, "string");
	if (is_free && schema_pattern_takes(row, "5")) {
		knot_json_text(json, NULL, "number");
	}
	if (is_free && schema_pattern_takes(row, "true")) {
		knot_json_text(json, NULL, "boolean");
	}
	if (row->type == CONF_RRTYPE || schema_takes_empty(row)) {
		knot_json_text(json, NULL, "null");
	}
	knot_json_close(json);
}

/** Add ASCII text to a pattern that takes it in upper and lower case: "on" is [oO][nN]. */
static void schema_add_caseless(char pattern[static PATTERN_MAX], const char *text)
{
	size_t len = strlen(pattern);
	for (; *text != '\0'; text++) {
		const char *form = isalpha((unsigned char)*text) ? "[%c%c]" : "%c";
		len += (size_t)snprintf(pattern + len, PATTERN_MAX - len, form, *text, toupper((unsigned char)*text));
		assert(len < PATTERN_MAX);
	}
}

/** An object of anyOf: the names in whatever case, which the enum beside it, meant for editors, doesn't have. */
static void schema_put_caseless(knot_json_t *json, const char *const *names, size_t count)
{
	char pattern[PATTERN_MAX] = "^(";
	for (size_t i = 0; i < count; i++) {
		schema_add_caseless(pattern, i > 0 ? "|" : "");
		schema_add_caseless(pattern, names[i]);
	}
	schema_add_caseless(pattern, ")$");
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "type", "string");
	knot_json_text(json, "pattern", pattern);
	knot_json_close(json);
}

static bool schema_is_named(const conf_option_t *option, const char *name)
{
	return strcmp(option->name, name) == 0;
}

/** Two objects of anyOf: the names. YAML reads some of them as booleans. */
static void schema_put_options(knot_json_t *json, const conf_row_t *row)
{
	enum { OPTIONS_MAX = 64 };
	const char *names[OPTIONS_MAX];
	size_t count = 0;
	bool has_bool = false;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (const conf_option_t *option = row->options; option->name != NULL; option++) {
		assert(count < OPTIONS_MAX);
		names[count++] = option->name;
		knot_json_text(json, NULL, option->name);
		has_bool |= schema_is_named(option, "on") || schema_is_named(option, "off");
	}
	if (has_bool) {
		knot_json_bool(json, NULL, true);
		knot_json_bool(json, NULL, false);
	}
	knot_json_close(json);
	knot_json_close(json);
	schema_put_caseless(json, names, count);
}

/** A number, or text with a unit, whose range is not checked. */
static void schema_put_integer(knot_json_t *json, const conf_row_t *row)
{
	static const char *const units[] = {
		[CONF_UNIT_NONE] = "", [CONF_UNIT_TIME] = "[smhdwMy]?", [CONF_UNIT_SIZE] = "[BKMG]?"
	};
	char pattern[64];
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "type", "integer");
	knot_json_int(json, "minimum", row->min);
	knot_json_int(json, "maximum", row->max);
	if (row->not_zero) {
		knot_json_open(json, "not", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_int(json, "const", 0);
		knot_json_close(json);
	}
	knot_json_close(json);
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "type", "string");
	(void)snprintf(pattern, sizeof(pattern), "^ *[+-]?[0-9]+%s$%s", units[row->unit],
			row->percent ? "|^[0-9]+%$" : "");
	knot_json_text(json, "pattern", pattern);
	knot_json_close(json);
}

/** Two objects of anyOf. */
static void schema_put_boolean(knot_json_t *json, const conf_row_t *row)
{
	static const char *const names[] = { "on", "off", "true", "false" };
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_bool(json, NULL, true);
	knot_json_bool(json, NULL, false);
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		knot_json_text(json, NULL, names[i]);
	}
	if (schema_takes_empty(row)) {
		knot_json_text(json, NULL, "");
		knot_json_null(json, NULL);
	}
	knot_json_close(json);
	knot_json_close(json);
	schema_put_caseless(json, names, KNOT_LEN(names));
}

/** What every text of a type looks like; NULL: anything. */
static const char *schema_pattern_of(const conf_row_t *row)
{
	if (row->pattern != NULL) {
		return row->pattern;
	}
	switch (row->type) {
	case CONF_HEX: return "^(0x([0-9A-Fa-f]{2})*|(?!0x).*)$";
	case CONF_B64: return "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
	case CONF_DNAME: return "^(\\.|@|[^.]+(\\.+[^.]+)*\\.?)$";
	case CONF_NET: return "^([0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(/[0-9]+|-[0-9A-Fa-f:.]+)?$|^/";
	case CONF_MODREF: return "^(mod-[^/]+(/.+)?)?$";
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
static void schema_put_value(knot_json_t *json, const conf_row_t *row)
{
	const char *pattern = schema_pattern_of(row);
	switch (row->type) {
	case CONF_INT:
	case CONF_OPTINT:
		knot_json_open(json, "anyOf", KNOT_JSON_LIST, KNOT_JSON_LINES);
		schema_put_integer(json, row);
		if (row->options != NULL) {
			schema_put_options(json, row);
		}
		knot_json_close(json);
		return;
	case CONF_BOOL:
		knot_json_open(json, "anyOf", KNOT_JSON_LIST, KNOT_JSON_LINES);
		schema_put_boolean(json, row);
		knot_json_close(json);
		return;
	case CONF_OPT:
		knot_json_open(json, "anyOf", KNOT_JSON_LIST, KNOT_JSON_LINES);
		schema_put_options(json, row);
		knot_json_close(json);
		return;
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
	schema_put_text_types(json, row);
	if (pattern != NULL) {
		knot_json_text(json, "pattern", pattern);
	}
}

static void schema_put_default(knot_json_t *json, const conf_row_t *row)
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
		knot_json_int(json, "default", conf_value_int((knot_bytes_t){ value, len }));
	} else if (is_scanned && row->type == CONF_BOOL) {
		knot_json_bool(json, "default", value[0] != 0);
	} else {
		knot_json_text(json, "default", row->dflt);
	}
}

static void schema_put_description(knot_json_t *json, const conf_row_t *row)
{
	static const char *const states[] = { [CONF_WORKS] = "",
		[CONF_REFUSED] = " Not supported yet.",
		[CONF_TUNING] = " No effect yet.",
		[CONF_OBSOLETE] = "" };
	char text[2048];
	(void)snprintf(text, sizeof(text), "%s%s%s%s%s", row->doc, row->rfc != NULL ? " (" : "",
			row->rfc != NULL ? row->rfc : "", row->rfc != NULL ? ")" : "", states[row->support]);
	knot_json_text(json, "description", text);
	if (row->support == CONF_OBSOLETE) {
		knot_json_bool(json, "deprecated", true);
	}
}

/** An identifier is never empty, although text of its type may be. */
static void schema_put_not_empty(knot_json_t *json)
{
	knot_json_open(json, "not", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_text(json, NULL, "");
	knot_json_null(json, NULL);
	knot_json_close(json);
	knot_json_close(json);
}

static void schema_put_row(knot_json_t *json, const conf_row_t *row, bool is_id)
{
	knot_json_open(json, row->name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	schema_put_description(json, row);
	if (is_id) {
		schema_put_not_empty(json);
	}
	if (!row->multi) {
		schema_put_value(json, row);
	} else {
		knot_json_open(json, "anyOf", KNOT_JSON_LIST, KNOT_JSON_LINES);
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		schema_put_value(json, row);
		knot_json_close(json);
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_text(json, "type", "array");
		knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		schema_put_value(json, row);
		knot_json_close(json);
		if (row->count_max > 0) {
			knot_json_int(json, "maxItems", (int64_t)row->count_max);
		}
		knot_json_close(json);
		knot_json_close(json);
	}
	schema_put_default(json, row);
	knot_json_close(json);
}

/* ---- Sections ---- */

/** Keywords of a block, into an open object. */
static void schema_put_block(knot_json_t *json, const conf_section_t *section)
{
	knot_json_open(json, "properties", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	for (size_t i = 0; i < section->row_count; i++) {
		if (conf_row_in(section, &section->rows[i])) {
			bool is_id = section->kind == CONF_MULTI && &section->rows[i] == conf_id_row(section);
			schema_put_row(json, &section->rows[i], is_id);
		}
	}
	knot_json_close(json);
	knot_json_bool(json, "additionalProperties", false);
	if (section->kind == CONF_GROUP) {
		return;
	}
	knot_json_open(json, "required", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_text(json, NULL, conf_id_row(section)->name);
	for (size_t i = 0; i < section->row_count; i++) {
		if (section->rows[i].required && conf_row_in(section, &section->rows[i])) {
			knot_json_text(json, NULL, section->rows[i].name);
		}
	}
	knot_json_close(json);
}

/** A section without anything in it is null in YAML. */
static void schema_put_types(knot_json_t *json, const char *type)
{
	knot_json_open(json, "type", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_text(json, NULL, type);
	knot_json_text(json, NULL, "null");
	knot_json_close(json);
}

static void schema_put_section(knot_json_t *json, const conf_section_t *section)
{
	knot_json_open(json, section->name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "description", section->doc);
	switch (section->kind) {
	case CONF_GROUP:
		schema_put_types(json, "object");
		schema_put_block(json, section);
		break;
	case CONF_MULTI:
		schema_put_types(json, "array");
		knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_text(json, "type", "object");
		schema_put_block(json, section);
		knot_json_close(json);
		break;
	case CONF_DIRECTIVE:
		knot_json_open(json, "type", KNOT_JSON_LIST, KNOT_JSON_LINES);
		knot_json_text(json, NULL, "string");
		knot_json_text(json, NULL, "number");
		knot_json_text(json, NULL, "array");
		knot_json_close(json);
		knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_open(json, "type", KNOT_JSON_LIST, KNOT_JSON_LINES);
		knot_json_text(json, NULL, "string");
		knot_json_text(json, NULL, "number");
		knot_json_close(json);
		knot_json_close(json);
		break;
	}
	knot_json_close(json);
}

/**
 * Sections of modules that are loaded from files: their items are unknown. Without the section `module` there are none,
 * so that a section whose name is misspelled is a fault.
 */
static void schema_put_loaded_modules(knot_json_t *json)
{
	knot_json_open(json, "patternProperties", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "^mod-", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	schema_put_types(json, "array");
	knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "type", "object");
	knot_json_close(json);
	knot_json_close(json);
	knot_json_close(json);
	knot_json_open(json, "if", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "required", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_text(json, NULL, conf_section_module.name);
	knot_json_close(json);
	knot_json_close(json);
	knot_json_open(json, "else", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "propertyNames", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (size_t i = 0; i < conf_section_count; i++) {
		knot_json_text(json, NULL, conf_sections[i]->name);
	}
	knot_json_close(json);
	knot_json_close(json);
	knot_json_close(json);
}

bool conf_io_export_schema(FILE *out)
{
	knot_json_t json = knot_json_of(knot_json_to_file, out);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	knot_json_text(&json, "title", "Configuration of " PACKAGE_STRING);
	schema_put_types(&json, "object");
	knot_json_open(&json, "properties", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	for (size_t i = 0; i < conf_section_count; i++) {
		schema_put_section(&json, conf_sections[i]);
	}
	knot_json_close(&json);
	schema_put_loaded_modules(&json);
	knot_json_bool(&json, "additionalProperties", false);
	knot_json_close(&json);
	bool is_whole = knot_json_end(&json);
	return fflush(out) == 0 && is_whole;
}
