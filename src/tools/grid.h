/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A grid of cells that tools draw their screens into, written as text with escape sequences for colours only. What
 * doesn't fit is cut off. Pure: no terminal is touched (terminal.h does that), no clock is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
	GRID_PLAIN,
	GRID_TITLE,
	GRID_HEADING,
	GRID_RULE,
	GRID_DIM,
	GRID_VALUE,
	GRID_GOOD,
	GRID_BAD,
	GRID_BAR,
	GRID_GRAPH_LOW,
	GRID_GRAPH_MIDDLE,
	GRID_GRAPH_HIGH,
	GRID_STYLE_COUNT
} grid_style_t;

enum { GRID_TEXT_MAX = 512, GRID_GLYPH_MAX = 5 };

typedef struct {
	char glyph[GRID_GLYPH_MAX]; /* one character in UTF-8; "": a blank */
	uint8_t style;
} grid_cell_t;

typedef struct {
	unsigned width, height; /* cells; at least 1 */
	bool color;
	bool unicode;       /* false: ASCII only */
	grid_cell_t *cells; /* owned */
} grid_t;

/** All blank. cells: width × height, zeros, the grid's from then on. */
grid_t grid_of(unsigned width, unsigned height, bool color, bool unicode, grid_cell_t *take_cells);
void grid_done(grid_t *grid);

void grid_put_glyph(grid_t *grid, unsigned x, unsigned y, grid_style_t style, const char *glyph);

/** Text within `width` cells from x. Returns the cells used. Control characters become '?'. */
unsigned grid_put_text(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *text);

/** The same; an ellipsis in the last cell shows that it is cut. */
void grid_put_name(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *text);

/** Text that ends before x. */
void grid_put_right(grid_t *grid, unsigned x, unsigned y, grid_style_t style, const char *text);

/** Cells of a text. */
unsigned grid_measure_text(const char *text);

void grid_fill_cells(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *glyph);

/** A bar to the right that fills `share` (0 to 1) of `width` cells, by eighths. */
void grid_draw_bar(grid_t *grid, unsigned x, unsigned y, unsigned width, double share);

/** Columns upwards, the last value at the right; the largest of all values fills `rows`. */
void grid_draw_graph(grid_t *grid, unsigned x, unsigned y, unsigned width, unsigned rows, const double *values,
		size_t count);

/** The grid as lines: each but the last with "\r\n". */
void grid_write(const grid_t *grid, FILE *out);

/** 1,234,567 */
void grid_print_grouped(char text[static 32], uint64_t number);

/** The same, with a digit behind the point below 10. */
void grid_print_rate(char text[static 32], double rate);

/** "12.3 µs"; below zero: more than minus that many. */
void grid_print_duration(char text[static 32], double ns, bool unicode);
