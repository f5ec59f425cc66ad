/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema's rows as JSON Schema, for editors and for programs that make configurations: it describes a configuration
 * as YAML or JSON has it, sections as members, blocks as a list of objects. What depends on other items is not in it.
 */
#include "libknot/base/json.h"
#include "src/conf/io.h"
#include "src/conf/value.h"

/* ---- Values ---- */

static bool is_named(const conf_option_t *option, const char *name)
{
	return strcmp(option->name, name) == 0;
}

/** The names; YAML reads some of them as booleans. */
static void schema_put_options(knot_json_t *json, const conf_row_t *row)
{
	bool has_bool = false;
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (const conf_option_t *option = row->options; option->name != NULL; option++) {
		knot_json_text(json, NULL, option->name);
		has_bool |= is_named(option, "on") || is_named(option, "off");
	}
	if (has_bool) {
		knot_json_bool(json, NULL, true);
		knot_json_bool(json, NULL, false);
	}
	knot_json_close(json);
}

/** A number, or text with a unit, whose range is not checked. */
static void put_integer(knot_json_t *json, const conf_row_t *row)
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

static void put_boolean(knot_json_t *json)
{
	knot_json_open(json, "enum", KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_bool(json, NULL, true);
	knot_json_bool(json, NULL, false);
	knot_json_text(json, NULL, "on");
	knot_json_text(json, NULL, "off");
	knot_json_text(json, NULL, "true");
	knot_json_text(json, NULL, "false");
	knot_json_close(json);
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
static void schema_put_value(knot_json_t *json, const conf_row_t *row)
{
	const char *pattern = pattern_of(row);
	switch (row->type) {
	case CONF_INT:
	case CONF_OPTINT:
		knot_json_open(json, "anyOf", KNOT_JSON_LIST, KNOT_JSON_LINES);
		put_integer(json, row);
		if (row->options != NULL) {
			knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
			schema_put_options(json, row);
			knot_json_close(json);
		}
		knot_json_close(json);
		return;
	case CONF_BOOL: put_boolean(json); return;
	case CONF_OPT: schema_put_options(json, row); return;
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
	knot_json_text(json, "type", "string");
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

static void put_description(knot_json_t *json, const conf_row_t *row)
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

static void schema_put_row(knot_json_t *json, const conf_row_t *row)
{
	knot_json_open(json, row->name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	put_description(json, row);
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
			schema_put_row(json, &section->rows[i]);
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
static void put_types(knot_json_t *json, const char *type)
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
		put_types(json, "object");
		schema_put_block(json, section);
		break;
	case CONF_MULTI:
		put_types(json, "array");
		knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_text(json, "type", "object");
		schema_put_block(json, section);
		knot_json_close(json);
		break;
	case CONF_DIRECTIVE:
		knot_json_open(json, "type", KNOT_JSON_LIST, KNOT_JSON_LINES);
		knot_json_text(json, NULL, "string");
		knot_json_text(json, NULL, "array");
		knot_json_close(json);
		knot_json_open(json, "items", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_text(json, "type", "string");
		knot_json_close(json);
		break;
	}
	knot_json_close(json);
}

bool conf_io_export_schema(FILE *out)
{
	knot_json_t json = knot_json_of(knot_json_to_file, out);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	knot_json_text(&json, "title", "Configuration of " PACKAGE_STRING);
	put_types(&json, "object");
	knot_json_open(&json, "properties", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	for (size_t i = 0; i < conf_section_count; i++) {
		schema_put_section(&json, conf_sections[i]);
	}
	knot_json_close(&json);
	knot_json_bool(&json, "additionalProperties", false);
	knot_json_close(&json);
	bool is_whole = knot_json_end(&json);
	return fflush(out) == 0 && is_whole;
}
