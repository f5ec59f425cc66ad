/* SPDX-License-Identifier: BSD-2-Clause */
/* What conf-set and conf-unset mean: text → schema → records of changed blocks. */
#include "src/conf/load.h"
#include "src/conf/txn_internal.h"
#include "src/conf/value.h"
#include "libknot/text/conf_grammar.h"

#include <assert.h>
#include <stdlib.h>

/** An edit whose names are known. */
typedef struct {
	conf_txn_t *txn;
	size_t section;
	const conf_section_t *schema;
	const conf_row_t *row; /* NULL: the block */
	size_t row_index;
	bool has_id;
	knot_bytes_t id; /* in txn->id */
	bool has_value;
	knot_bytes_t value; /* in txn->value */
} edit_t;

static conf_view_t view_of(const conf_txn_t *txn)
{
	return (conf_view_t){ .store = txn->base, .txn = txn };
}

static bool edit_is_given(const char *text)
{
	return text != NULL && text[0] != '\0';
}

static knot_err_t edit_scan(const conf_row_t *row, const char *text, uint8_t *buffer, knot_bytes_t *ret_value)
{
	size_t len = strlen(text);
	if (len >= KNOT_CONF_VALUE_MAX) {
		return KNOT_CONF_ERANGE;
	}
	knot_err_t err = conf_value_scan(row, (knot_str_t){ text, len }, buffer, &len);
	*ret_value = (knot_bytes_t){ buffer, len };
	return err;
}

/* ---- Names ---- */

static knot_err_t find_names(const conf_edit_t *text, edit_t *edit)
{
	edit->section = conf_section_find(knot_str_of(text->section));
	if (edit->section == conf_section_count) {
		return KNOT_CONF_EITEM;
	}
	edit->schema = conf_sections[edit->section];
	edit->has_id = edit_is_given(text->id);
	if (edit->has_id && edit->schema->kind != CONF_MULTI) {
		return KNOT_CONF_EIDUNSUP;
	}
	if (!edit_is_given(text->item)) {
		return KNOT_OK;
	}
	if (edit->schema->kind == CONF_DIRECTIVE) {
		return KNOT_CONF_EITEM;
	}
	edit->row_index = conf_row_find(edit->schema, knot_str_of(text->item));
	if (edit->row_index == edit->schema->row_count) {
		return KNOT_CONF_EITEM;
	}
	edit->row = &edit->schema->rows[edit->row_index];
	return KNOT_OK;
}

/** The identifier may come as the item that it is: `zone.domain = a`. */
static knot_err_t find_id(const conf_edit_t *text, edit_t *edit)
{
	const char *id = text->id, *data = text->data;
	if (edit->schema->kind == CONF_MULTI && edit->row == conf_id_row(edit->schema)) {
		if (edit->has_id && data != NULL) {
			return KNOT_CONF_EVALUE;
		}
		id = edit->has_id ? id : data;
		data = NULL;
		edit->row = NULL;
	}
	if (edit->row == NULL && data != NULL) {
		return KNOT_CONF_EVALUE;
	}
	edit->has_id = edit_is_given(id);
	if (!edit->has_id) {
		return KNOT_OK;
	}
	knot_err_t err = edit_scan(conf_id_row(edit->schema), id, edit->txn->id, &edit->id);
	return err == KNOT_OK && edit->id.len > CONF_ID_MAX ? KNOT_CONF_ERANGE : err;
}

static knot_err_t find_value(const conf_edit_t *text, edit_t *edit)
{
	if (edit->row == NULL || text->data == NULL) {
		return KNOT_OK;
	}
	edit->has_value = true;
	return edit_scan(edit->row, text->data, edit->txn->value, &edit->value);
}

/* ---- All blocks of a section ---- */

typedef struct {
	knot_bytes_t *ids; /* owned; the identifiers live as long as the transaction */
	size_t count;
} ids_t;

/** A copy, because changing blocks while walking them would change the walk. */
static knot_err_t collect_ids(const conf_txn_t *txn, size_t section, ids_t *ret_ids)
{
	size_t max = conf_base_count(txn->base, section) + txn->changes[section].count;
	ids_t all = { .ids = malloc((max + 1) * sizeof(*all.ids)) };
	if (all.ids == NULL) {
		return KNOT_ENOMEM;
	}
	conf_cursor_t cursor = { .view = view_of(txn), .section = section };
	conf_block_view_t block;
	while (conf_view_next(&cursor, &block)) {
		all.ids[all.count++] = block.id;
	}
	*ret_ids = all;
	return KNOT_OK;
}

/** Do it for the block that the edit names, or for each of the section. */
static knot_err_t each_block(const edit_t *edit, knot_err_t (*change)(const edit_t *edit, knot_bytes_t id))
{
	ids_t all;
	if (edit->has_id || edit->schema->kind == CONF_GROUP) {
		return change(edit, edit->id);
	}
	knot_err_t err = collect_ids(edit->txn, edit->section, &all);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < all.count && err == KNOT_OK; i++) {
		err = change(edit, all.ids[i]);
	}
	free(all.ids);
	return err;
}

static knot_err_t remove_block(const edit_t *edit, knot_bytes_t id)
{
	conf_changed_t *block = conf_txn_touch(edit->txn, edit->section, id);
	if (block == NULL) {
		return KNOT_ENOMEM;
	}
	block->has_new = false;
	block->items_len = 0;
	return KNOT_OK;
}

static knot_err_t remove_section(conf_txn_t *txn, size_t section)
{
	edit_t edit = { .txn = txn, .section = section, .schema = conf_sections[section] };
	return edit.schema->kind == CONF_DIRECTIVE ? KNOT_OK : each_block(&edit, remove_block);
}

/* ---- include, clear ---- */

/** Take a block over as the files have it. */
static knot_err_t take_block(conf_txn_t *txn, size_t section, const conf_block_view_t *new)
{
	conf_block_view_t old;
	bool is_there = conf_view_find(view_of(txn), section, new->id, &old);
	if (is_there && old.items.len == new->items.len &&
			(new->items.len == 0 || memcmp(old.items.data, new->items.data, new->items.len) == 0)) {
		return KNOT_OK;
	}
	conf_changed_t *block = conf_txn_touch(txn, section, new->id);
	if (block == NULL || !conf_changed_set(block, new->items)) {
		return KNOT_ENOMEM;
	}
	block->has_new = true;
	return KNOT_OK;
}

/** Make a section as it is in a store that began as a copy of it. */
static knot_err_t take_section(conf_txn_t *txn, size_t section, const conf_store_t *store)
{
	edit_t edit = { .txn = txn, .section = section, .schema = conf_sections[section] };
	ids_t old;
	knot_err_t err = collect_ids(txn, section, &old);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < old.count && err == KNOT_OK; i++) {
		if (conf_store_find(store, section, old.ids[i]) == NULL) {
			err = remove_block(&edit, old.ids[i]);
		}
	}
	free(old.ids);
	conf_cursor_t cursor = { .view = { .store = store }, .section = section };
	conf_block_view_t block;
	while (err == KNOT_OK && conf_view_next(&cursor, &block)) {
		bool is_nothing = edit.schema->kind == CONF_GROUP && block.items.len == 0;
		err = is_nothing ? KNOT_OK : take_block(txn, section, &block);
	}
	return err;
}

/** The files are read into a copy of the whole, so that they may use what is there, and a fault in them is no fault
 * here. */
static knot_err_t include(conf_txn_t *txn, const char *pattern, conf_sink_t sink)
{
	conf_store_t *store;
	knot_err_t err = conf_view_copy(view_of(txn), &store);
	if (err != KNOT_OK) {
		return err;
	}
	err = conf_include(store, pattern, sink);
	for (size_t i = 0; i < CONF_S_COUNT && err == KNOT_OK; i++) {
		err = take_section(txn, i, store);
	}
	conf_store_free(store);
	return err;
}

static knot_err_t do_directive(conf_txn_t *txn, const edit_t *edit, const char *data, conf_sink_t sink)
{
	knot_err_t err = KNOT_OK;
	if (data == NULL) {
		return KNOT_CONF_ENODATA;
	}
	if (data[0] == '\0') {
		return KNOT_OK;
	}
	if (edit->section == CONF_S_INCLUDE) {
		return strlen(data) < KNOT_CONF_VALUE_MAX ? include(txn, data, sink) : KNOT_CONF_ERANGE;
	}
	for (size_t i = 0; i < CONF_S_COUNT && err == KNOT_OK; i++) {
		err = conf_is_cleared(i, data) ? remove_section(txn, i) : KNOT_OK;
	}
	return err;
}

/* ---- Setting ---- */

static knot_err_t add_block(const edit_t *edit)
{
	conf_block_view_t found;
	if (conf_view_find(view_of(edit->txn), edit->section, edit->id, &found)) {
		return KNOT_CONF_EDUPID;
	}
	conf_changed_t *block = conf_txn_touch(edit->txn, edit->section, edit->id);
	if (block == NULL) {
		return KNOT_ENOMEM;
	}
	block->has_new = true;
	block->items_len = 0;
	return KNOT_OK;
}

/** Values that a row has in a block. */
typedef struct {
	size_t count;
	size_t start, end; /* of the one that was looked for, else of the last */
	bool is_there;
} values_t;

static values_t find_values(knot_bytes_t items, size_t row, knot_bytes_t value)
{
	values_t found = { 0 };
	conf_item_t item;
	size_t pos = 0, start = 0;
	for (; conf_item_next(items, &pos, &item); start = pos) {
		if (item.row != row) {
			continue;
		}
		found.count++;
		if (!found.is_there) {
			found.start = start;
			found.end = pos;
			found.is_there = item.value.len == value.len &&
					 (value.len == 0 || memcmp(item.value.data, value.data, value.len) == 0);
		}
	}
	return found;
}

static void cut(conf_changed_t *block, size_t start, size_t end)
{
	assert(start <= end && end <= block->items_len);
	memmove(block->items + start, block->items + end, block->items_len - end);
	block->items_len -= (uint32_t)(end - start);
}

static knot_err_t set_value(const edit_t *edit, knot_bytes_t id)
{
	assert(edit->row != NULL && edit->has_value);
	conf_changed_t *block = conf_txn_touch(edit->txn, edit->section, id);
	if (block == NULL) {
		return KNOT_ENOMEM;
	}
	values_t found = find_values(conf_changed_items(block), edit->row_index, edit->value);
	if (found.is_there) {
		return KNOT_OK;
	}
	if (edit->row->multi && edit->row->count_max > 0 && found.count >= edit->row->count_max) {
		return KNOT_CONF_EMANY;
	}
	if (!edit->row->multi && found.count > 0) {
		cut(block, found.start, found.end);
	}
	block->has_new = true;
	return conf_changed_append(block, edit->row_index, edit->value) ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t check_value(const edit_t *edit)
{
	assert(edit->row != NULL && edit->has_value);
	conf_check_value_t check = { .row = edit->row, .value = edit->value, .block = { .section = edit->schema } };
	const char *reason;
	knot_err_t err = conf_check_target(&check, view_of(edit->txn), &reason);
	return err == KNOT_OK ? conf_check_support(&check) : err;
}

static knot_err_t set_item(const conf_edit_t *text, edit_t *edit)
{
	if (text->data == NULL) {
		return KNOT_CONF_ENODATA;
	}
	conf_block_view_t block;
	if (edit->has_id && !conf_view_find(view_of(edit->txn), edit->section, edit->id, &block)) {
		return KNOT_CONF_EID;
	}
	knot_err_t err = check_value(edit);
	return err == KNOT_OK ? each_block(edit, set_value) : err;
}

static knot_err_t edit_set(conf_txn_t *txn, const conf_edit_t *text, conf_sink_t sink)
{
	edit_t edit = { .txn = txn };
	knot_err_t err = text->section != NULL ? find_names(text, &edit) : KNOT_EINVAL;
	if (err != KNOT_OK) {
		return err;
	}
	if (edit.schema->kind == CONF_DIRECTIVE) {
		return do_directive(txn, &edit, text->data, sink);
	}
	err = find_id(text, &edit);
	err = err == KNOT_OK ? find_value(text, &edit) : err;
	if (err != KNOT_OK) {
		return err;
	}
	if (edit.row != NULL) {
		return set_item(text, &edit);
	}
	if (edit.schema->kind == CONF_GROUP) {
		return KNOT_ENOTSUP;
	}
	return edit.has_id ? add_block(&edit) : KNOT_CONF_ENOID;
}

/* ---- Removing ---- */

/** Take the values out of one block; it is none of the edit's if it has none. */
static knot_err_t unset_value(const edit_t *edit, knot_bytes_t id)
{
	assert(edit->row != NULL);
	conf_block_view_t old;
	if (!conf_view_find(view_of(edit->txn), edit->section, id, &old)) {
		return KNOT_OK;
	}
	values_t found = find_values(old.items, edit->row_index, edit->value);
	if (found.count == 0 || (edit->has_value && !found.is_there)) {
		return KNOT_OK;
	}
	conf_changed_t *block = conf_txn_touch(edit->txn, edit->section, id);
	if (block == NULL) {
		return KNOT_ENOMEM;
	}
	do {
		cut(block, found.start, found.end);
		found = find_values(conf_changed_items(block), edit->row_index, edit->value);
	} while (!edit->has_value && found.count > 0);
	block->has_new = block->items_len > 0 || edit->schema->kind != CONF_GROUP;
	return KNOT_OK;
}

/** True if the one block that the edit names has what is to be removed. */
static bool has_value(const edit_t *edit)
{
	conf_block_view_t block;
	if (!conf_view_find(view_of(edit->txn), edit->section, edit->id, &block)) {
		return false;
	}
	values_t found = find_values(block.items, edit->row_index, edit->value);
	return edit->has_value ? found.is_there : found.count > 0;
}

static knot_err_t unset_section(const conf_edit_t *text, edit_t *edit)
{
	knot_err_t err = find_id(text, edit);
	err = err == KNOT_OK ? find_value(text, edit) : err;
	if (err != KNOT_OK) {
		return err;
	}
	conf_block_view_t block;
	if (edit->has_id && !conf_view_find(view_of(edit->txn), edit->section, edit->id, &block)) {
		return KNOT_CONF_EID;
	}
	if (edit->row == NULL) {
		return each_block(edit, remove_block);
	}
	bool is_one = edit->has_id || edit->schema->kind == CONF_GROUP;
	return is_one && !has_value(edit) ? KNOT_ENOENT : each_block(edit, unset_value);
}

static knot_err_t edit_unset(conf_txn_t *txn, const conf_edit_t *text)
{
	edit_t edit = { .txn = txn };
	knot_err_t err = KNOT_OK;
	if (text->section == NULL) {
		if (text->id != NULL || text->item != NULL || text->data != NULL) {
			return KNOT_CONF_EITEM;
		}
		for (size_t i = 0; i < CONF_S_COUNT && err == KNOT_OK; i++) {
			err = remove_section(txn, i);
		}
		return err;
	}
	err = find_names(text, &edit);
	if (err == KNOT_OK && edit.schema->kind == CONF_DIRECTIVE) {
		err = KNOT_ENOTSUP;
	}
	return err == KNOT_OK ? unset_section(text, &edit) : err;
}

/* ---- All or nothing ---- */

static knot_err_t end_step(conf_txn_t *txn, knot_err_t err)
{
	if (err == KNOT_OK) {
		conf_txn_pop(txn);
	} else {
		conf_txn_undo(txn);
	}
	return err;
}

knot_err_t conf_txn_set(conf_txn_t *txn, const conf_edit_t *edit, conf_sink_t sink)
{
	conf_txn_step(txn);
	return end_step(txn, edit_set(txn, edit, sink));
}

knot_err_t conf_txn_unset(conf_txn_t *txn, const conf_edit_t *edit)
{
	conf_txn_step(txn);
	return end_step(txn, edit_unset(txn, edit));
}
