/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration as a file: the inverse of reading one. */
#include "src/conf/io_walk.h"

#include <stdlib.h>

typedef struct {
	FILE *out;
	char text[IO_TEXT_MAX];
} exporter_t;

/**
 * A value in double quotes. A quote gets a backslash, unless it has one already, as in names; a reader takes any other
 * backslash together with the character behind it, so both are written unchanged.
 */
static void put_quoted(FILE *out, const char *text)
{
	(void)fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '\\' && text[1] != '\0') {
			(void)fputc(*text++, out);
		} else if (*text == '"') {
			(void)fputc('\\', out);
		}
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

/** Bytes that are text are printed as such, but a file could not have a backslash in front of a quote in them. */
static bool needs_digits(const conf_row_t *row, knot_bytes_t value)
{
	return row->type == CONF_HEX && value.len > 0 && memchr(value.data, '\\', value.len) != NULL;
}

static void io_export_put_value(exporter_t *exporter, const conf_row_t *row, knot_bytes_t value)
{
	if (!needs_digits(row, value)) {
		(void)conf_value_print(row, value, exporter->text, sizeof(exporter->text));
		put_quoted(exporter->out, exporter->text);
		return;
	}
	(void)fputs("\"0x", exporter->out);
	for (size_t i = 0; i < value.len; i++) {
		(void)fprintf(exporter->out, "%02X", value.data[i]);
	}
	(void)fputc('"', exporter->out);
}

/** One item with all of its values. */
static void io_export_put_row(exporter_t *exporter, const conf_block_view_t *block, size_t row_index)
{
	const conf_row_t *row = &block->section->rows[row_index];
	conf_item_t item;
	size_t pos = 0, count = 0;
	while (conf_item_next(block->items, &pos, &item)) {
		count += item.row == row_index;
	}
	if (count == 0) {
		return;
	}
	(void)fprintf(exporter->out, "    %s: %s", row->name, count > 1 ? "[ " : "");
	bool is_first = true;
	pos = 0;
	while (conf_item_next(block->items, &pos, &item)) {
		if (item.row == row_index) {
			(void)fputs(is_first ? "" : ", ", exporter->out);
			io_export_put_value(exporter, row, item.value);
			is_first = false;
		}
	}
	(void)fputs(count > 1 ? " ]\n" : "\n", exporter->out);
}

static bool io_export_put_block(const conf_block_view_t *block, void *ctx)
{
	exporter_t *exporter = ctx;
	const conf_section_t *section = block->section;
	if (section->kind == CONF_MULTI) {
		const conf_row_t *id_row = conf_id_row(section);
		(void)fprintf(exporter->out, "  - %s: ", id_row->name);
		io_export_put_value(exporter, id_row, block->id);
		(void)fputc('\n', exporter->out);
	}
	for (size_t i = 0; i < section->row_count && block->items.len > 0; i++) {
		io_export_put_row(exporter, block, i);
	}
	(void)fputc('\n', exporter->out);
	return !ferror(exporter->out);
}

/* ---- Templates ---- */

/** Templates that are still to be written. */
typedef struct {
	conf_block_view_t *blocks; /* owned */
	size_t count;
} templates_t;

/** True if the template refers to another one that is not written yet. */
static bool refers_to_later(const templates_t *templates, size_t index)
{
	const conf_block_view_t *block = &templates->blocks[index];
	size_t row = conf_row_find(block->section, KNOT_STR("catalog-template")), pos = 0;
	conf_item_t item;
	while (conf_item_next(block->items, &pos, &item)) {
		for (size_t i = 0; i < templates->count && item.row == row; i++) {
			if (i != index && io_compare_ids(templates->blocks[i].id, item.value) == 0) {
				return true;
			}
		}
	}
	return false;
}

static bool add_template(const conf_block_view_t *block, void *ctx)
{
	templates_t *templates = ctx;
	templates->blocks[templates->count++] = *block;
	return true;
}

/**
 * In binary order, except that a template comes after those that it refers to: nothing may refer to what comes later in
 * a file. Templates that refer to each other in a circle, which only a control connection can make, have no such order.
 */
static knot_err_t put_templates(exporter_t *exporter, conf_view_t view)
{
	conf_cursor_t cursor = { .view = view, .section = CONF_S_TEMPLATE };
	conf_block_view_t block;
	size_t count = 0;
	while (conf_view_next(&cursor, &block)) {
		count++;
	}
	templates_t templates = { .blocks = malloc(count * sizeof(block) + 1) };
	if (templates.blocks == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = io_each_block(view, CONF_S_TEMPLATE, add_template, &templates);
	while (err == KNOT_OK && templates.count > 0) {
		size_t next = 0;
		while (next < templates.count && refers_to_later(&templates, next)) {
			next++;
		}
		next = next < templates.count ? next : 0;
		(void)io_export_put_block(&templates.blocks[next], exporter);
		templates.count--;
		memmove(templates.blocks + next, templates.blocks + next + 1, (templates.count - next) * sizeof(block));
	}
	free(templates.blocks);
	return err;
}

static knot_err_t io_export_put_section(exporter_t *exporter, conf_view_t view, size_t index)
{
	const conf_section_t *section = conf_sections[index];
	conf_cursor_t cursor = { .view = view, .section = index };
	conf_block_view_t block;
	bool is_there = section->kind != CONF_DIRECTIVE && conf_view_next(&cursor, &block);
	if (!is_there || (section->kind == CONF_GROUP && block.items.len == 0)) {
		return KNOT_OK;
	}
	(void)fprintf(exporter->out, "%s:\n", section->name);
	return index == CONF_S_TEMPLATE ? put_templates(exporter, view)
					: io_each_block(view, index, io_export_put_block, exporter);
}

bool conf_io_export(conf_view_t view, FILE *out)
{
	exporter_t *exporter = malloc(sizeof(*exporter));
	if (exporter == NULL) {
		return false;
	}
	exporter->out = out;
	(void)fputs("# Configuration export (" PACKAGE_STRING ")\n\n", out);
	knot_err_t err = KNOT_OK;
	/* Templates and zones refer to modules, whose sections come last in the schema: they come last here. */
	static const size_t last[] = { CONF_S_TEMPLATE, CONF_S_ZONE };
	for (size_t i = 0; i < conf_section_count && err == KNOT_OK; i++) {
		if (i != CONF_S_TEMPLATE && i != CONF_S_ZONE) {
			err = io_export_put_section(exporter, view, i);
		}
	}
	for (size_t i = 0; i < KNOT_LEN(last) && err == KNOT_OK; i++) {
		err = io_export_put_section(exporter, view, last[i]);
	}
	free(exporter);
	return err == KNOT_OK && fflush(out) == 0 && !ferror(out);
}
