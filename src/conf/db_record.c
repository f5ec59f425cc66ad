/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/db_record.h"

#include "src/conf/fault.h"
#include "src/conf/value.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC_LEN = 16, FORMAT = 1, CHECKSUM_LEN = 8, NAME_MAX_LEN = 255, TEXT_HEAD = 4, ITEM_HEAD = 4 };

static const char magic[MAGIC_LEN] = "bowline confdb";

/* ---- Numbers ---- */

static void put_be(uint8_t *to, uint64_t number, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		to[i] = (uint8_t)(number >> 8 * (len - 1 - i));
	}
}

static uint64_t get_be(const uint8_t *from, size_t len)
{
	uint64_t number = 0;
	for (size_t i = 0; i < len; i++) {
		number = number << 8 | from[i];
	}
	return number;
}

static const uint64_t fnv_start = UINT64_C(14695981039346656037);

static uint64_t fnv(uint64_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum = (sum ^ data[i]) * UINT64_C(1099511628211);
	}
	return sum;
}

/* ---- The format ---- */

void conf_db_format_put(uint64_t version, uint8_t ret_value[static CONF_DB_FORMAT_LEN])
{
	memcpy(ret_value, magic, MAGIC_LEN);
	put_be(ret_value + 16, FORMAT, 4);
	put_be(ret_value + 20, version >> 32, 4);
	put_be(ret_value + 24, version & UINT32_MAX, 8);
	put_be(ret_value + 32, fnv(fnv_start, ret_value, 32), 8);
}

knot_err_t conf_db_format_get(knot_bytes_t value, uint64_t *ret_version)
{
	if (value.len < MAGIC_LEN + 4 || memcmp(value.data, magic, MAGIC_LEN) != 0) {
		return KNOT_EMALF;
	}
	if (get_be(value.data + 16, 4) != FORMAT) {
		return KNOT_ENOTSUP;
	}
	if (value.len != CONF_DB_FORMAT_LEN || get_be(value.data + 32, 8) != fnv(fnv_start, value.data, 32)) {
		return KNOT_EMALF;
	}
	*ret_version = get_be(value.data + 20, 4) << 32 | get_be(value.data + 28, 4);
	return KNOT_OK;
}

/* ---- Writing ---- */

static bool record_reserve(conf_db_buffer_t *buffer, size_t len)
{
	if (buffer->len + len <= buffer->max) {
		return true;
	}
	size_t max = 2 * (buffer->len + len) + 256;
	uint8_t *data = realloc(buffer->data, max);
	if (data == NULL) {
		return false;
	}
	buffer->data = data;
	buffer->max = max;
	return true;
}

size_t conf_db_key_put(size_t section, knot_bytes_t id, uint8_t ret_key[static CONF_DB_KEY_MAX])
{
	const conf_section_t *schema = conf_sections[section];
	size_t name_len = strlen(schema->name);
	/* A text without its final zero. */
	bool is_text = schema->kind == CONF_MULTI && conf_id_row(schema)->type == CONF_STR;
	size_t id_len = is_text ? id.len - 1 : id.len;
	if (id_len > CONF_DB_KEY_MAX - 1 - name_len) {
		return 0;
	}
	memcpy(ret_key, schema->name, name_len + 1);
	if (id_len > 0) {
		memcpy(ret_key + name_len + 1, id.data, id_len);
	}
	return name_len + 1 + id_len;
}

/** Name and text of a value. */
static bool record_put_value(conf_db_buffer_t *buffer, const char *name, const conf_row_t *row, knot_bytes_t value)
{
	size_t name_len = strlen(name);
	for (size_t max = 512;; max = max * 4) {
		if (!record_reserve(buffer, 1 + name_len + TEXT_HEAD + max)) {
			return false;
		}
		uint8_t *at = buffer->data + buffer->len, *text = at + 1 + name_len + TEXT_HEAD;
		size_t len = conf_value_print(row, value, (char *)text, max);
		if (len < max) {
			at[0] = (uint8_t)name_len;
			memcpy(at + 1, name, name_len);
			put_be(at + 1 + name_len, len, TEXT_HEAD);
			buffer->len += 1 + name_len + TEXT_HEAD + len;
			return true;
		}
	}
}

knot_err_t conf_db_block_put(
		knot_bytes_t key, size_t section, knot_bytes_t id, knot_bytes_t items, conf_db_buffer_t *buffer)
{
	const conf_section_t *schema = conf_sections[section];
	buffer->len = 0;
	if (!record_reserve(buffer, CHECKSUM_LEN + 1 + TEXT_HEAD)) {
		return KNOT_ENOMEM;
	}
	buffer->len = CHECKSUM_LEN;
	if (schema->kind != CONF_MULTI) {
		memset(buffer->data + CHECKSUM_LEN, 0, 1 + TEXT_HEAD);
		buffer->len += 1 + TEXT_HEAD;
	} else if (!record_put_value(buffer, "", conf_id_row(schema), id)) {
		return KNOT_ENOMEM;
	}
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (!record_put_value(buffer, schema->rows[item.row].name, &schema->rows[item.row], item.value)) {
			return KNOT_ENOMEM;
		}
	}
	uint64_t sum = fnv(fnv_start, key.data, key.len);
	put_be(buffer->data, fnv(sum, buffer->data + CHECKSUM_LEN, buffer->len - CHECKSUM_LEN), CHECKSUM_LEN);
	return KNOT_OK;
}

/* ---- Reading ---- */

typedef struct {
	char name[NAME_MAX_LEN + 1];
	knot_str_t text; /* in the record */
} value_text_t;

/** The next value of a record. False: there are no more, or, when *rest has some bytes then, it is not one. */
static bool record_next_value(knot_bytes_t *rest, value_text_t *ret_value)
{
	if (rest->len < 1 || rest->len < 1 + (size_t)rest->data[0] + TEXT_HEAD) {
		return false;
	}
	size_t name_len = rest->data[0], head = 1 + name_len + TEXT_HEAD;
	uint64_t text_len = get_be(rest->data + 1 + name_len, TEXT_HEAD);
	if (text_len > rest->len - head) {
		return false;
	}
	memcpy(ret_value->name, rest->data + 1, name_len);
	ret_value->name[name_len] = '\0';
	ret_value->text = (knot_str_t){ (const char *)rest->data + head, text_len };
	*rest = (knot_bytes_t){ rest->data + head + text_len, rest->len - head - text_len };
	return true;
}

/** A fault of a value: its text may be anything. */
static knot_err_t record_tell(conf_sink_t sink, knot_err_t err, conf_place_t place, const value_text_t *value)
{
	char *text = NULL;
	if (value != NULL) {
		text = strndup(value->text.data, value->text.len);
		place.value = text;
	}
	(void)conf_tell(sink, CONF_ERROR, err, &place, knot_strerror(err));
	free(text);
	return err;
}

/** Scan a value behind what the buffer has. */
static knot_err_t record_scan(
		const conf_row_t *row, knot_str_t text, conf_db_buffer_t *buffer, uint8_t **ret_data, size_t *ret_len)
{
	if (text.len >= CONF_VALUE_MAX) {
		return KNOT_CONF_ERANGE;
	}
	if (!record_reserve(buffer, ITEM_HEAD + CONF_VALUE_MAX)) {
		return KNOT_ENOMEM;
	}
	*ret_data = buffer->data + buffer->len + ITEM_HEAD;
	return conf_value_scan(row, text, *ret_data, ret_len);
}

static knot_err_t get_items(knot_bytes_t rest, const conf_section_t *schema, const char *id, conf_sink_t sink,
		conf_db_buffer_t *buffer)
{
	value_text_t value;
	buffer->len = 0;
	while (record_next_value(&rest, &value)) {
		conf_place_t place = { .section = schema->name, .id = id, .item = value.name };
		size_t row = conf_row_find(schema, knot_str_of(value.name)), len;
		if (row == schema->row_count) {
			return record_tell(sink, KNOT_CONF_EITEM, place, NULL);
		}
		uint8_t *data;
		knot_err_t err = record_scan(&schema->rows[row], value.text, buffer, &data, &len);
		if (err != KNOT_OK) {
			return record_tell(sink, err, place, &value);
		}
		/* The head goes before the value, which stays where it is. */
		buffer->len += conf_item_put(buffer->data + buffer->len, row, (knot_bytes_t){ data, len });
	}
	return rest.len == 0 ? KNOT_OK : KNOT_EMALF;
}

/** The section that a key names; conf_section_count: none. */
static size_t section_of(knot_bytes_t key)
{
	size_t len = strnlen((const char *)key.data, key.len);
	return len < key.len ? conf_section_find((knot_str_t){ (const char *)key.data, len }) : conf_section_count;
}

static knot_err_t tell_section(knot_bytes_t key, conf_sink_t sink)
{
	char name[CONF_DB_KEY_MAX + 1];
	(void)memcpy(name, key.data, key.len);
	name[key.len] = '\0';
	return record_tell(sink, KNOT_CONF_EITEM, (conf_place_t){ .section = name }, NULL);
}

knot_err_t conf_db_block_get(
		knot_bytes_t key, knot_bytes_t value, conf_sink_t sink, conf_store_t *store, conf_db_buffer_t *scratch)
{
	value_text_t id_text;
	if (key.len == 0 || key.len > CONF_DB_KEY_MAX || value.len < CHECKSUM_LEN ||
			get_be(value.data, CHECKSUM_LEN) != fnv(fnv(fnv_start, key.data, key.len),
									    value.data + CHECKSUM_LEN,
									    value.len - CHECKSUM_LEN)) {
		return KNOT_EMALF;
	}
	size_t section = section_of(key);
	if (section == conf_section_count || conf_sections[section]->kind == CONF_DIRECTIVE) {
		return tell_section(key, sink);
	}
	const conf_section_t *schema = conf_sections[section];
	knot_bytes_t rest = { value.data + CHECKSUM_LEN, value.len - CHECKSUM_LEN };
	if (!record_next_value(&rest, &id_text) || id_text.name[0] != '\0') {
		return KNOT_EMALF;
	}
	uint8_t id_value[CONF_DB_KEY_MAX + 1];
	knot_bytes_t id = { id_value, 0 };
	char *text = NULL;
	if (schema->kind == CONF_MULTI) {
		uint8_t *data;
		scratch->len = 0;
		knot_err_t err = record_scan(conf_id_row(schema), id_text.text, scratch, &data, &id.len);
		if (err != KNOT_OK || id.len > sizeof(id_value)) {
			return err == KNOT_ENOMEM ? err : KNOT_EMALF;
		}
		memcpy(id_value, data, id.len);
		text = strndup(id_text.text.data, id_text.text.len);
	}
	uint8_t same_key[CONF_DB_KEY_MAX];
	bool is_same = conf_db_key_put(section, id, same_key) == key.len && memcmp(same_key, key.data, key.len) == 0;
	knot_err_t err = is_same ? get_items(rest, schema, text, sink, scratch) : KNOT_EMALF;
	free(text);
	return err == KNOT_OK ? conf_store_append(store, section, id, (knot_bytes_t){ scratch->data, scratch->len })
			      : err;
}
