/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/reply.h"

#include "libknot/base/number.h"
#include "src/conf/schema.h"
#include "src/tools/ctl/message.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *reply_item(const knot_ctl_data_t *unit, knot_ctl_idx_t index)
{
	return (*unit)[index];
}

/* ---- Values ---- */

/* A number, or null for "-" and other text. */
static void reply_put_number(knot_json_t *json, const char *name, const char *text)
{
	uint64_t number;
	bool is_negative = text != NULL && text[0] == '-' && text[1] != '\0';
	if (text == NULL || !knot_number_of(text + is_negative, 0, INT64_MAX, &number)) {
		knot_json_null(json, name);
	} else if (is_negative) {
		knot_json_int(json, name, -(int64_t)number);
	} else {
		knot_json_uint(json, name, number);
	}
}

/* A value of unknown kind: digits are a number, "-" is null. */
static void reply_put_value(knot_json_t *json, const char *name, const char *text)
{
	uint64_t number;
	if (strcmp(text, "-") == 0) {
		knot_json_null(json, name);
	} else if (knot_number_of(text, 0, INT64_MAX, &number)) {
		knot_json_uint(json, name, number);
	} else {
		knot_json_text(json, name, text);
	}
}

static void reply_put_text(knot_json_t *json, const char *name, const char *text)
{
	if (text != NULL) {
		knot_json_text(json, name, text);
	}
}

static bool reply_is_marked(const knot_ctl_data_t *unit, char letter)
{
	const char *filters = reply_item(unit, KNOT_CTL_IDX_FILTERS), *flags = reply_item(unit, KNOT_CTL_IDX_FLAGS);
	const char *markers = filters != NULL ? filters : flags;
	return markers != NULL && strchr(markers, letter) != NULL;
}

/* The member "change" of a line of a difference. */
static void reply_put_change(knot_json_t *json, const knot_ctl_data_t *unit)
{
	if (reply_is_marked(unit, '+') || reply_is_marked(unit, '-')) {
		knot_json_text(json, "change", reply_is_marked(unit, '+') ? "add" : "remove");
	}
}

/* ---- Objects ---- */

static void reply_open_object(reply_t *reply, const char *key)
{
	assert(!reply->has_object && !reply->has_list && !reply->has_row);
	knot_json_open(&reply->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	reply->has_object = true;
	snprintf(reply->key, sizeof(reply->key), "%s", key != NULL ? key : "");
	reply->row[0] = '\0';
}

static void reply_close_row(reply_t *reply)
{
	if (reply->has_row) {
		knot_json_close(&reply->json); /* queues */
		knot_json_close(&reply->json);
		reply->has_row = false;
	}
}

static void reply_close_list(reply_t *reply)
{
	reply_close_row(reply);
	if (reply->has_list) {
		knot_json_close(&reply->json);
		reply->has_list = false;
	}
}

static void reply_close_object(reply_t *reply)
{
	reply_close_list(reply);
	if (reply->has_object) {
		knot_json_close(&reply->json);
		reply->has_object = false;
	}
}

/* True if the unit belongs to the open object. */
static bool reply_goes_on(const reply_t *reply, const char *key)
{
	return reply->has_object && strcmp(reply->key, key != NULL ? key : "") == 0;
}

/* ---- status ---- */

/* "UDP workers" to "udp-workers". */
static void reply_make_name(const char *text, size_t len, char *ret_name, size_t max)
{
	size_t count = len < max - 1 ? len : max - 1;
	for (size_t i = 0; i < count; i++) {
		ret_name[i] = text[i] == ' ' ? '-' : (char)tolower((unsigned char)text[i]);
	}
	ret_name[count] = '\0';
}

/* "Name: value" as a member. False: it isn't one. */
static bool reply_put_fact(knot_json_t *json, const char *text, size_t len)
{
	char name[64], value[1024];
	while (len > 0 && text[len - 1] == ' ') {
		len--;
	}
	const char *colon = memmem(text, len, ": ", 2);
	if (colon == NULL || colon == text) {
		return false;
	}
	reply_make_name(text, (size_t)(colon - text), name, sizeof(name));
	snprintf(value, sizeof(value), "%.*s", (int)(len - (size_t)(colon + 2 - text)), colon + 2);
	reply_put_value(json, name, value);
	return true;
}

/* Facts are separated by newlines, or by commas and parentheses in one line. */
static void reply_put_status(reply_t *reply, const knot_ctl_data_t *unit)
{
	const char *text = reply_item(unit, KNOT_CTL_IDX_DATA);
	reply_open_object(reply, NULL);
	if (text == NULL) {
		knot_json_text(&reply->json, "state", reply_is_marked(unit, 'l') ? "loading" : "running");
		return;
	}
	const char *ends = strchr(text, '\n') != NULL ? "\n" : ",()\n";
	bool has_fact = false;
	for (const char *p = text; *p != '\0';) {
		size_t len = strcspn(p, ends);
		has_fact |= len > 0 && reply_put_fact(&reply->json, p, len);
		p += len;
		p += strspn(p, ends);
		p += strspn(p, " ");
	}
	if (!has_fact) {
		reply_put_value(&reply->json, reply->detail[0] != '\0' ? reply->detail : "text", text);
	}
}

/* ---- Zones, records, counters ---- */

static bool reply_is_number_field(const char *name)
{
	static const char *const names[] = { "serial", "size", "pieces" };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		if (strcmp(names[i], name) == 0) {
			return true;
		}
	}
	return false;
}

static void reply_put_zone_field(reply_t *reply, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	const char *zone = reply_item(unit, KNOT_CTL_IDX_ZONE), *name = reply_item(unit, KNOT_CTL_IDX_TYPE);
	const char *value = reply_item(unit, KNOT_CTL_IDX_DATA);
	if (type == KNOT_CTL_TYPE_DATA || !reply_goes_on(reply, zone)) {
		reply_close_object(reply);
		reply_open_object(reply, zone);
		reply_put_text(&reply->json, "zone", zone);
	}
	if (name == NULL || value == NULL) {
		return;
	}
	if (reply_is_number_field(name)) {
		reply_put_number(&reply->json, name, value);
	} else if (strcmp(value, "-") == 0) {
		knot_json_null(&reply->json, name);
	} else {
		knot_json_text(&reply->json, name, value);
	}
}

static void reply_put_record(reply_t *reply, const knot_ctl_data_t *unit)
{
	knot_json_t *json = &reply->json;
	reply_open_object(reply, NULL);
	reply_put_text(json, "zone", reply_item(unit, KNOT_CTL_IDX_ZONE));
	reply_put_change(json, unit);
	reply_put_text(json, "owner", reply_item(unit, KNOT_CTL_IDX_OWNER));
	if (reply_item(unit, KNOT_CTL_IDX_TTL) != NULL) {
		reply_put_number(json, "ttl", reply_item(unit, KNOT_CTL_IDX_TTL));
	}
	reply_put_text(json, "type", reply_item(unit, KNOT_CTL_IDX_TYPE));
	reply_put_text(json, "data", reply_item(unit, KNOT_CTL_IDX_DATA));
}

static void reply_put_counter(reply_t *reply, const knot_ctl_data_t *unit)
{
	knot_json_t *json = &reply->json;
	reply_open_object(reply, NULL);
	reply_put_text(json, "zone", reply_item(unit, KNOT_CTL_IDX_ZONE));
	reply_put_text(json, "section", reply_item(unit, KNOT_CTL_IDX_SECTION));
	reply_put_text(json, "item", reply_item(unit, KNOT_CTL_IDX_ITEM));
	reply_put_text(json, "id", reply_item(unit, KNOT_CTL_IDX_ID));
	reply_put_number(json, "value", reply_item(unit, KNOT_CTL_IDX_DATA));
}

/* The warnings of a trigger. */
static void reply_tell_note(const knot_ctl_data_t *unit)
{
	const char *text = reply_item(unit, KNOT_CTL_IDX_DATA), *zone = reply_item(unit, KNOT_CTL_IDX_ZONE);
	if (text != NULL) {
		message_tell(&(message_t){ .level = MESSAGE_NOTICE,
				.members = { [MESSAGE_TEXT] = text,
						[MESSAGE_ZONE] = zone,
						[MESSAGE_TYPE] = reply_item(unit, KNOT_CTL_IDX_TYPE) } });
	}
}

/* ---- Configuration ---- */

/* Find the kind of an item's values in the schema. */
static void reply_find_kind(reply_t *reply, const char *section_name, const char *item_name)
{
	reply->is_number = reply->is_switch = false;
	size_t section = section_name != NULL ? conf_section_find(knot_str_of(section_name)) : conf_section_count;
	if (section == conf_section_count || item_name == NULL) {
		return;
	}
	size_t row = conf_row_find(conf_sections[section], knot_str_of(item_name));
	if (row < conf_sections[section]->row_count) {
		conf_type_t type = conf_sections[section]->rows[row].type;
		reply->is_number = type == CONF_INT || type == CONF_OPTINT;
		reply->is_switch = type == CONF_BOOL;
	}
}

/* A size or a time with a unit stays text: its digits alone are another number. */
static void reply_put_conf_value(reply_t *reply, const char *value)
{
	uint64_t number;
	bool is_negative = value[0] == '-';
	if (reply->is_switch && (strcmp(value, "on") == 0 || strcmp(value, "off") == 0)) {
		knot_json_bool(&reply->json, NULL, value[1] == 'n');
	} else if (reply->is_number && knot_number_of(value + is_negative, 0, INT64_MAX, &number)) {
		knot_json_int(&reply->json, NULL, is_negative ? -(int64_t)number : (int64_t)number);
	} else {
		knot_json_text(&reply->json, NULL, value);
	}
}

static void reply_put_conf(reply_t *reply, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	const char *section = reply_item(unit, KNOT_CTL_IDX_SECTION), *name = reply_item(unit, KNOT_CTL_IDX_ITEM);
	const char *value = reply_item(unit, KNOT_CTL_IDX_DATA);
	knot_json_t *json = &reply->json;
	if (type == KNOT_CTL_TYPE_DATA || !reply->has_object) {
		reply_close_object(reply);
		reply_open_object(reply, NULL);
		reply_put_change(json, unit);
		reply_put_text(json, "section", section);
		reply_put_text(json, "id", reply_item(unit, KNOT_CTL_IDX_ID));
		reply_put_text(json, "item", name);
		reply_find_kind(reply, section, name);
		if (value != NULL) {
			knot_json_open(json, "values", KNOT_JSON_LIST, KNOT_JSON_LINE);
			reply->has_list = true;
		}
	}
	if (value != NULL && reply->has_list) {
		reply_put_conf_value(reply, value);
	}
}

/* ---- XDP ---- */

/* A cell of the table: the sum begins a counter, the queues follow. Levels have no sum. */
static void reply_put_cell(reply_t *reply, const knot_ctl_data_t *unit)
{
	const char *group = reply_item(unit, KNOT_CTL_IDX_TYPE), *name = reply_item(unit, KNOT_CTL_IDX_ITEM);
	const char *queue = reply_item(unit, KNOT_CTL_IDX_ID), *value = reply_item(unit, KNOT_CTL_IDX_DATA);
	knot_json_t *json = &reply->json;
	char row[REPLY_KEY_MAX];
	snprintf(row, sizeof(row), "%s %s", group != NULL ? group : "", name);
	if (!reply->has_list) {
		knot_json_open(json, "counters", KNOT_JSON_LIST, KNOT_JSON_LINES);
		reply->has_list = true;
	}
	if (!reply->has_row || strcmp(row, reply->row) != 0) {
		reply_close_row(reply);
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		reply_put_text(json, "group", group);
		knot_json_text(json, "item", name);
		if (queue == NULL) {
			reply_put_number(json, "sum", value);
		}
		knot_json_open(json, "queues", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		reply->has_row = true;
		snprintf(reply->row, sizeof(reply->row), "%s", row);
	}
	if (queue != NULL) {
		reply_put_number(json, queue, value);
	}
}

static void reply_put_interface(reply_t *reply, const knot_ctl_data_t *unit)
{
	const char *interface = reply_item(unit, KNOT_CTL_IDX_SECTION), *group = reply_item(unit, KNOT_CTL_IDX_TYPE);
	const char *name = reply_item(unit, KNOT_CTL_IDX_ITEM), *value = reply_item(unit, KNOT_CTL_IDX_DATA);
	if (interface == NULL || name == NULL || value == NULL) {
		return;
	}
	if (!reply_goes_on(reply, interface)) {
		reply_close_object(reply);
		reply_open_object(reply, interface);
		knot_json_text(&reply->json, "interface", interface);
	}
	if (group == NULL || strcmp(group, "interface") != 0 || reply->has_list) {
		reply_put_cell(reply, unit);
	} else if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0) {
		knot_json_bool(&reply->json, name, value[1] == 'n');
	} else {
		reply_put_value(&reply->json, name, value);
	}
}

static void reply_put_rule(reply_t *reply, const knot_ctl_data_t *unit)
{
	const char *prefix = reply_item(unit, KNOT_CTL_IDX_ID), *name = reply_item(unit, KNOT_CTL_IDX_ITEM);
	const char *value = reply_item(unit, KNOT_CTL_IDX_DATA);
	if (prefix == NULL || name == NULL || value == NULL) {
		reply_tell_note(unit);
		return;
	}
	if (!reply_goes_on(reply, prefix)) {
		reply_close_object(reply);
		reply_open_object(reply, prefix);
		knot_json_text(&reply->json, "prefix", prefix);
	}
	if (strcmp(name, "comment") == 0) {
		knot_json_text(&reply->json, name, value);
	} else {
		reply_put_value(&reply->json, name, value);
	}
}

/* ---- The document ---- */

void reply_begin(reply_t *reply, FILE *out, const char *command, const action_t *action)
{
	*reply = (reply_t){ .json = knot_json_of(knot_json_to_file, out),
		.layout = action != NULL ? action->layout : LAYOUT_TRIGGER };
	knot_json_open(&reply->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&reply->json, "command", command);
	knot_json_open(&reply->json, "result", KNOT_JSON_LIST, KNOT_JSON_LINES);
}

void reply_action(reply_t *reply, const action_t *action)
{
	if (action->name == NULL) {
		return;
	}
	knot_json_open(&reply->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&reply->json, "command", action->name);
	knot_json_text(&reply->json, "arguments", action->usage != NULL ? action->usage : "");
	knot_json_text(&reply->json, "description", action->help);
	knot_json_bool(&reply->json, "supported", !action->is_absent);
	knot_json_close(&reply->json);
}

/* An error of the server, with the items that it is about. */
static void reply_tell_error(const knot_ctl_data_t *unit)
{
	message_tell(&(message_t){ .level = MESSAGE_ERROR,
			.members = {
					[MESSAGE_TEXT] = reply_item(unit, KNOT_CTL_IDX_ERROR),
					[MESSAGE_ZONE] = reply_item(unit, KNOT_CTL_IDX_ZONE),
					[MESSAGE_SECTION] = reply_item(unit, KNOT_CTL_IDX_SECTION),
					[MESSAGE_ID] = reply_item(unit, KNOT_CTL_IDX_ID),
					[MESSAGE_ITEM] = reply_item(unit, KNOT_CTL_IDX_ITEM),
					[MESSAGE_VALUE] = reply_item(unit, KNOT_CTL_IDX_DATA),
					[MESSAGE_OWNER] = reply_item(unit, KNOT_CTL_IDX_OWNER),
					[MESSAGE_TYPE] = reply_item(unit, KNOT_CTL_IDX_TYPE),
			} });
}

void reply_unit(reply_t *reply, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	if (reply_item(unit, KNOT_CTL_IDX_ERROR) != NULL) {
		reply->failed = true;
		reply_tell_error(unit);
		return;
	}
	switch (reply->layout) {
	case LAYOUT_ZONE_STATUS: reply_put_zone_field(reply, type, unit); return;
	case LAYOUT_CONF: reply_put_conf(reply, type, unit); return;
	case LAYOUT_XDP_STATUS: reply_put_interface(reply, unit); return;
	case LAYOUT_XDP_BLOCK: reply_put_rule(reply, unit); return;
	case LAYOUT_TRIGGER: reply_tell_note(unit); return;
	case LAYOUT_STATUS: reply_put_status(reply, unit); break;
	case LAYOUT_STATS: reply_put_counter(reply, unit); break;
	case LAYOUT_RECORDS: reply_put_record(reply, unit); break;
	}
	reply_close_object(reply); /* each of these units is an object */
}

void reply_end(reply_t *reply, const char *error, bool is_good)
{
	reply_close_object(reply);
	knot_json_close(&reply->json);
	if (error != NULL) {
		(void)message_error("%s", error);
	}
	messages_write(&reply->json);
	knot_json_bool(&reply->json, "ok", is_good && !reply->failed && error == NULL);
	knot_json_close(&reply->json);
	(void)!knot_json_end(&reply->json); /* what couldn't be written is found when the tool ends */
}
