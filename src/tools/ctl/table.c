/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/table.h"

#include "src/tools/must.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, GAP = 2 };

typedef struct {
	char *group, *name; /* owned; group may be NULL */
	char **cells;       /* owned: one per column known when the row was set last, each owned or NULL */
	size_t cell_count;
} row_t;

struct table {
	char *corner;
	row_t *rows;
	size_t row_count;
	char **columns; /* owned names */
	size_t column_count;
};

table_t *table_new(const char *corner)
{
	table_t *table = must(calloc(1, sizeof(*table)));
	table->corner = must(strdup(corner));
	return table;
}

void table_free(table_t *table)
{
	if (table == NULL) {
		return;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		row_t *row = &table->rows[i];
		for (size_t j = 0; j < row->cell_count; j++) {
			free(row->cells[j]);
		}
		free(row->cells);
		free(row->group);
		free(row->name);
	}
	for (size_t i = 0; i < table->column_count; i++) {
		free(table->columns[i]);
	}
	free(table->rows);
	free(table->columns);
	free(table->corner);
	free(table);
}

static size_t table_find_column(table_t *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (strcmp(table->columns[i], name) == 0) {
			return i;
		}
	}
	table->columns = must(realloc(table->columns, (table->column_count + 1) * sizeof(char *)));
	table->columns[table->column_count] = must(strdup(name));
	return table->column_count++;
}

/* Units come row by row, so the row is mostly the last one. */
static row_t *table_find_row(table_t *table, const char *group, const char *name)
{
	for (size_t i = table->row_count; i > 0; i--) {
		if (strcmp(table->rows[i - 1].name, name) == 0) {
			return &table->rows[i - 1];
		}
	}
	table->rows = must(realloc(table->rows, (table->row_count + 1) * sizeof(*table->rows)));
	row_t *row = &table->rows[table->row_count++];
	*row = (row_t){ .group = group != NULL ? must(strdup(group)) : NULL, .name = must(strdup(name)) };
	return row;
}

void table_set(table_t *table, const char *group, const char *row_name, const char *column_name, const char *value)
{
	size_t column = table_find_column(table, column_name);
	row_t *row = table_find_row(table, group, row_name);
	if (column >= row->cell_count) {
		row->cells = must(realloc(row->cells, (column + 1) * sizeof(char *)));
		memset(row->cells + row->cell_count, 0, (column + 1 - row->cell_count) * sizeof(char *));
		row->cell_count = column + 1;
	}
	free(row->cells[column]);
	row->cells[column] = must(strdup(value));
}

static bool table_is_alone(const row_t *row)
{
	return row->group == NULL || strcmp(row->group, row->name) == 0;
}

/* The name as printed, without the prefix that it shares with its group's heading. */
static const char *table_get_title(const row_t *row)
{
	size_t len = row->group != NULL ? strlen(row->group) : 0;
	bool is_prefixed = len > 0 && strncmp(row->name, row->group, len) == 0 && row->name[len] == '-';
	return is_prefixed ? row->name + len + 1 : row->name;
}

static const char *table_get_cell(const row_t *row, size_t column)
{
	return column < row->cell_count && row->cells[column] != NULL ? row->cells[column] : "";
}

static bool table_is_zero_row(const row_t *row)
{
	for (size_t i = 0; i < row->cell_count; i++) {
		if (row->cells[i] != NULL && strcmp(row->cells[i], "0") != 0) {
			return false;
		}
	}
	return true;
}

static size_t table_measure_titles(const table_t *table)
{
	size_t width = strlen(table->corner);
	for (size_t i = 0; i < table->row_count; i++) {
		const row_t *row = &table->rows[i];
		size_t len = strlen(table_get_title(row)) + (table_is_alone(row) ? 0 : INDENT);
		width = len > width ? len : width;
	}
	return width;
}

static size_t table_measure_column(const table_t *table, size_t column)
{
	size_t width = strlen(table->columns[column]);
	for (size_t i = 0; i < table->row_count; i++) {
		size_t len = strlen(table_get_cell(&table->rows[i], column));
		width = len > width ? len : width;
	}
	return width;
}

/* Blanks are held back until something follows them. */
static void table_print_padded(FILE *out, size_t *blanks, const char *text, size_t width)
{
	size_t len = strlen(text);
	*blanks += width - len;
	if (len > 0) {
		fprintf(out, "%*s%s", (int)*blanks, "", text);
		*blanks = 0;
	}
}

static void table_print_row(const table_t *table, FILE *out, const char *title, size_t indent, size_t width,
		const size_t *widths, const row_t *row)
{
	fprintf(out, "%*s%s", (int)indent, "", title);
	size_t blanks = width - indent - strlen(title);
	for (size_t i = 0; i < table->column_count; i++) {
		blanks += GAP;
		table_print_padded(out, &blanks, row != NULL ? table_get_cell(row, i) : table->columns[i], widths[i]);
	}
	fputc('\n', out);
}

void table_print(const table_t *table, FILE *out, bool zeros)
{
	if (table->row_count == 0) {
		return;
	}
	size_t *widths = must(calloc(table->column_count + 1, sizeof(*widths)));
	size_t width = table_measure_titles(table);
	for (size_t i = 0; i < table->column_count; i++) {
		widths[i] = table_measure_column(table, i);
	}
	table_print_row(table, out, table->corner, 0, width, widths, NULL);
	const char *group = NULL;
	for (size_t i = 0; i < table->row_count; i++) {
		const row_t *row = &table->rows[i];
		if (i > 0 && !zeros && table_is_zero_row(row)) {
			continue;
		}
		bool is_new = row->group != NULL && (group == NULL || strcmp(group, row->group) != 0);
		if (is_new && !table_is_alone(row)) {
			fprintf(out, "%s\n", row->group);
		}
		group = row->group;
		table_print_row(table, out, table_get_title(row), table_is_alone(row) ? 0 : INDENT, width, widths, row);
	}
	free(widths);
}
