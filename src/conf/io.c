/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and listing: units of the control protocol from a view and from the schema. */
#include "src/conf/io_walk.h"

#include <stdlib.h>

/* ---- What is asked for ---- */

static bool io_is_given(const char *text)
{
	return text != NULL && text[0] != '\0';
}

bool conf_io_is_public(const conf_where_t *where)
{
	size_t index = io_is_given(where->section) ? conf_section_find(knot_str_of(where->section))
						   : conf_section_count;
	if (index == conf_section_count || !io_is_given(where->item)) {
		return false;
	}
	const conf_section_t *section = conf_sections[index];
	return !conf_section_has_secret(section) &&
	       conf_row_find(section, knot_str_of(where->item)) < section->row_count;
}

knot_err_t io_find(const conf_where_t *where, io_target_t *ret_target)
{
	ret_target->section = conf_section_count;
	ret_target->row = 0;
	ret_target->has_id = false;
	if (!io_is_given(where->section)) {
		return io_is_given(where->item) || where->section != NULL ? KNOT_CONF_EITEM : KNOT_OK;
	}
	size_t index = conf_section_find(knot_str_of(where->section));
	if (index == conf_section_count) {
		return KNOT_CONF_EITEM;
	}
	const conf_section_t *section = conf_sections[index];
	ret_target->section = index;
	ret_target->row = section->row_count;
	if (io_is_given(where->item)) {
		bool has_items = section->kind != CONF_DIRECTIVE;
		ret_target->row = has_items ? conf_row_find(section, knot_str_of(where->item)) : section->row_count;
		if (ret_target->row == section->row_count) {
			return KNOT_CONF_EITEM;
		}
	}
	if (!io_is_given(where->id)) {
		return KNOT_OK;
	}
	if (section->kind != CONF_MULTI) {
		return KNOT_CONF_EIDUNSUP;
	}
	ret_target->has_id = true;
	ret_target->id.data = ret_target->id_value;
	return conf_value_scan(conf_id_row(section), knot_str_of(where->id), ret_target->id_value, &ret_target->id.len);
}

bool io_wants(const io_target_t *target, size_t row)
{
	bool is_all = target->section == conf_section_count || target->row == conf_sections[target->section]->row_count;
	return is_all || target->row == row;
}

/* ---- Order ---- */

int io_compare_ids(knot_bytes_t a, knot_bytes_t b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_blocks(const void *a, const void *b)
{
	return io_compare_ids(((const conf_block_view_t *)a)->id, ((const conf_block_view_t *)b)->id);
}

static knot_err_t io_collect(conf_view_t view, size_t section, conf_block_view_t **ret_blocks, size_t *ret_count)
{
	conf_cursor_t cursor = { .view = view, .section = section };
	conf_block_view_t block, *blocks = NULL;
	size_t count = 0, max = 0;
	while (conf_view_next(&cursor, &block)) {
		if (count == max) {
			max = max > 0 ? max * 2 : 64;
			conf_block_view_t *more = realloc(blocks, max * sizeof(*more));
			if (more == NULL) {
				free(blocks);
				return KNOT_ENOMEM;
			}
			blocks = more;
		}
		blocks[count++] = block;
	}
	if (count > 0) {
		qsort(blocks, count, sizeof(*blocks), compare_blocks);
	}
	*ret_blocks = blocks;
	*ret_count = count;
	return KNOT_OK;
}

knot_err_t io_each_block(conf_view_t view, size_t section, io_block_cb cb, void *ctx)
{
	conf_cursor_t cursor = { .view = view, .section = section };
	conf_block_view_t block;
	if (section != CONF_S_ZONE) {
		while (conf_view_next(&cursor, &block) && cb(&block, ctx)) {}
		return KNOT_OK;
	}
	conf_block_view_t *blocks;
	size_t count;
	knot_err_t err = io_collect(view, section, &blocks, &count);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < count && cb(&blocks[i], ctx); i++) {}
	free(blocks);
	return KNOT_OK;
}

/* ---- Units ---- */

void io_put(io_writer_t *writer, const conf_unit_t *unit)
{
	if (!writer->is_ended) {
		writer->is_ended = !writer->cb(unit, writer->ctx);
	}
}

void io_print_id(io_writer_t *writer, const conf_section_t *section, knot_bytes_t id)
{
	writer->id[0] = '\0';
	if (section->kind == CONF_MULTI) {
		(void)conf_value_print(conf_id_row(section), id, writer->id, sizeof(writer->id));
	}
}

void io_put_row(io_writer_t *writer, const conf_block_view_t *block, size_t row, char sign)
{
	const conf_section_t *section = block->section;
	conf_item_t item;
	size_t pos = 0;
	bool is_next = false;
	while (!writer->is_ended && conf_item_next(block->items, &pos, &item)) {
		if (item.row != row) {
			continue;
		}
		(void)conf_value_print(&section->rows[row], item.value, writer->data, sizeof(writer->data));
		io_put(writer, &(conf_unit_t){ .section = section->name,
					       .id = section->kind == CONF_MULTI ? writer->id : NULL,
					       .item = section->rows[row].name,
					       .data = writer->data,
					       .is_next = is_next,
					       .sign = sign });
		is_next = true;
	}
}

void io_put_block(io_writer_t *writer, const io_target_t *target, const conf_block_view_t *block, char sign)
{
	const conf_section_t *section = block->section;
	io_print_id(writer, section, block->id);
	if (section->kind == CONF_MULTI) {
		const conf_row_t *id_row = conf_id_row(section);
		if (io_wants(target, (size_t)(id_row - section->rows))) {
			io_put(writer, &(conf_unit_t){ .section = section->name,
						       .item = id_row->name,
						       .data = writer->id,
						       .sign = sign });
		}
	}
	if (block->items.len == 0) {
		return;
	}
	for (size_t i = 0; i < section->row_count && !writer->is_ended; i++) {
		if (io_wants(target, i)) {
			io_put_row(writer, block, i, sign);
		}
	}
}

/* ---- Reading ---- */

typedef struct {
	io_writer_t writer;
	io_target_t target;
} walk_t;

static walk_t *walk_new(conf_unit_cb cb, void *ctx)
{
	walk_t *walk = calloc(1, sizeof(*walk));
	if (walk != NULL) {
		walk->writer.cb = cb;
		walk->writer.ctx = ctx;
	}
	return walk;
}

static bool read_block(const conf_block_view_t *block, void *ctx)
{
	walk_t *walk = ctx;
	io_put_block(&walk->writer, &walk->target, block, 0);
	return !walk->writer.is_ended;
}

static knot_err_t read_target(conf_view_t view, walk_t *walk)
{
	const io_target_t *target = &walk->target;
	knot_err_t err = KNOT_OK;
	if (target->section == conf_section_count) {
		for (size_t i = 0; i < conf_section_count && err == KNOT_OK && !walk->writer.is_ended; i++) {
			err = io_each_block(view, i, read_block, walk);
		}
		return err;
	}
	if (conf_sections[target->section]->kind == CONF_DIRECTIVE) {
		return KNOT_ENOTSUP;
	}
	if (!target->has_id) {
		return io_each_block(view, target->section, read_block, walk);
	}
	conf_block_view_t block;
	if (!conf_view_find(view, target->section, target->id, &block)) {
		return KNOT_CONF_EID;
	}
	(void)read_block(&block, walk);
	return KNOT_OK;
}

knot_err_t conf_io_read(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx)
{
	walk_t *walk = walk_new(cb, ctx);
	knot_err_t err = walk != NULL ? io_find(where, &walk->target) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		err = read_target(view, walk);
	}
	free(walk);
	return err;
}

/* ---- Listing ---- */

static void list_sections(io_writer_t *writer)
{
	for (size_t i = 0; i < conf_section_count; i++) {
		io_put(writer, &(conf_unit_t){ .section = conf_sections[i]->name });
	}
}

/** Identifiers: as such, or, when the identifier's item was asked for, as data. */
static bool list_id(const conf_block_view_t *block, void *ctx)
{
	walk_t *walk = ctx;
	bool as_data = walk->target.row != block->section->row_count;
	io_print_id(&walk->writer, block->section, block->id);
	io_put(&walk->writer, &(conf_unit_t){ .section = block->section->name,
					      .id = as_data ? NULL : walk->writer.id,
					      .data = as_data ? walk->writer.id : NULL });
	return !walk->writer.is_ended;
}

static knot_err_t list_target(conf_view_t view, walk_t *walk)
{
	const io_target_t *target = &walk->target;
	if (target->section == conf_section_count) {
		list_sections(&walk->writer);
		return KNOT_OK;
	}
	const conf_section_t *section = conf_sections[target->section];
	bool has_item = target->row != section->row_count;
	if (section->kind == CONF_DIRECTIVE) {
		return KNOT_OK;
	}
	if (section->kind == CONF_GROUP) {
		return has_item ? read_target(view, walk) : KNOT_ENOTSUP;
	}
	if (!has_item || &section->rows[target->row] == conf_id_row(section)) {
		return io_each_block(view, target->section, list_id, walk);
	}
	return target->has_id ? read_target(view, walk) : KNOT_OK;
}

/** Without a section nothing else counts. */
static knot_err_t find_to_list(const conf_where_t *where, walk_t *walk)
{
	const conf_where_t all = { .section = NULL };
	return io_find(where->section == NULL ? &all : where, &walk->target);
}

knot_err_t conf_io_list(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx)
{
	walk_t *walk = walk_new(cb, ctx);
	knot_err_t err = walk != NULL ? find_to_list(where, walk) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		err = list_target(view, walk);
	}
	free(walk);
	return err;
}

/** Names as a value would be printed: a further name of the same number comes as the first one, as Knot has it. */
static void list_options(walk_t *walk)
{
	const conf_section_t *section = conf_sections[walk->target.section];
	const conf_row_t *row = &section->rows[walk->target.row];
	if (walk->target.has_id) {
		io_print_id(&walk->writer, section, walk->target.id);
	}
	for (const conf_option_t *option = row->options; option != NULL && option->name != NULL; option++) {
		const conf_option_t *first = row->options;
		while (first->id != option->id) {
			first++;
		}
		io_put(&walk->writer, &(conf_unit_t){ .section = section->name,
						      .id = walk->target.has_id ? walk->writer.id : NULL,
						      .item = row->name,
						      .data = first->name });
	}
}

static void list_schema(walk_t *walk)
{
	if (walk->target.section == conf_section_count) {
		list_sections(&walk->writer);
		return;
	}
	const conf_section_t *section = conf_sections[walk->target.section];
	if (walk->target.row != section->row_count) {
		list_options(walk);
		return;
	}
	for (size_t i = 0; i < section->row_count && section->kind != CONF_DIRECTIVE; i++) {
		if (conf_row_in(section, &section->rows[i])) {
			io_put(&walk->writer,
					&(conf_unit_t){ .section = section->name, .item = section->rows[i].name });
		}
	}
}

knot_err_t conf_io_list_schema(const conf_where_t *where, conf_unit_cb cb, void *ctx)
{
	walk_t *walk = walk_new(cb, ctx);
	knot_err_t err = walk != NULL ? find_to_list(where, walk) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		list_schema(walk);
	}
	free(walk);
	return err;
}
