/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A table of texts whose columns are as wide as their widest cell: rows and columns appear as they are named first.
 *
 * Owns copies of all texts. Memory failures end the tool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct table table_t;

/** A new table; corner: heading above the names of the rows. Free with table_free(). */
table_t *table_new(const char *corner);

/** NULL is allowed. */
void table_free(table_t *take_table);

/**
 * Set a cell. Rows of one `group` (not NULL) stand indented under its name, without the group's name and hyphen that
 * theirs begins with; a row called like its group stands for itself. `group` counts when the row is named first.
 */
void table_set(table_t *table, const char *group, const char *row, const char *column, const char *value);

/**
 * Print headings and rows: row names to the left, cells to the right; no blanks at the ends of lines. Nothing if there
 * are no rows. zeros: also rows but the first in which nothing but "0" stands.
 */
void table_print(const table_t *table, FILE *out, bool zeros);
