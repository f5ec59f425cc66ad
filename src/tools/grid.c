/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/grid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const escapes[GRID_STYLE_COUNT] = {
	[GRID_PLAIN] = "\x1B[0m",
	[GRID_TITLE] = "\x1B[0;1;97;48;5;24m",
	[GRID_HEADING] = "\x1B[0;1;38;5;45m",
	[GRID_RULE] = "\x1B[0;38;5;240m",
	[GRID_DIM] = "\x1B[0;38;5;246m",
	[GRID_VALUE] = "\x1B[0;1m",
	[GRID_GOOD] = "\x1B[0;32m",
	[GRID_BAD] = "\x1B[0;1;31m",
	[GRID_BAR] = "\x1B[0;38;5;38m",
	[GRID_GRAPH_LOW] = "\x1B[0;38;5;31m",
	[GRID_GRAPH_MIDDLE] = "\x1B[0;38;5;38m",
	[GRID_GRAPH_HIGH] = "\x1B[0;38;5;45m",
};

enum { EIGHTHS = 8 };

/* From empty to full, by eighths: upwards and to the right. */
static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const parts[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
static const char *const ascii_levels[] = { " ", ".", ".", ":", ":", ":", "|", "|", "#" };
static const char *const ascii_parts[] = { " ", " ", " ", " ", "-", "-", "-", "-", "#" };

grid_t grid_of(unsigned width, unsigned height, bool color, bool unicode, grid_cell_t *take_cells)
{
	return (grid_t){ width, height, color, unicode, take_cells };
}

void grid_done(grid_t *grid)
{
	free(grid->cells);
	grid->cells = NULL;
}

/* ---- Cells ---- */

void grid_put_glyph(grid_t *grid, unsigned x, unsigned y, grid_style_t style, const char *glyph)
{
	if (x < grid->width && y < grid->height) {
		grid_cell_t *cell = &grid->cells[(size_t)y * grid->width + x];
		snprintf(cell->glyph, sizeof(cell->glyph), "%s", glyph);
		cell->style = (uint8_t)style;
	}
}

/* Length of the character at p; 1 for a byte that isn't UTF-8. */
static size_t grid_measure_glyph(const char *p)
{
	unsigned char first = (unsigned char)*p;
	size_t len = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)p[i] & 0xC0) != 0x80) {
			return 1;
		}
	}
	return len;
}

/* U+0080 to U+009F are control characters to some terminals. */
static bool grid_is_control(const char *glyph)
{
	return (unsigned char)glyph[0] == 0xC2 && (unsigned char)glyph[1] < 0xA0;
}

unsigned grid_put_text(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *text)
{
	unsigned used = 0;
	for (; *text != '\0' && used < width; used++) {
		size_t len = grid_measure_glyph(text);
		char glyph[GRID_GLYPH_MAX] = "?";
		bool is_shown = len > 1 ? grid->unicode && !grid_is_control(text) : isprint((unsigned char)*text) != 0;
		if (is_shown) {
			memcpy(glyph, text, len);
			glyph[len] = '\0';
		}
		grid_put_glyph(grid, x + used, y, style, glyph);
		text += len;
	}
	return used;
}

unsigned grid_measure_text(const char *text)
{
	unsigned width = 0;
	for (; *text != '\0'; text += grid_measure_glyph(text)) {
		width++;
	}
	return width;
}

void grid_put_name(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *text)
{
	(void)grid_put_text(grid, x, y, width, style, text);
	if (grid_measure_text(text) > width && width > 0) {
		grid_put_glyph(grid, x + width - 1, y, style, grid->unicode ? "…" : "~");
	}
}

void grid_put_right(grid_t *grid, unsigned x, unsigned y, grid_style_t style, const char *text)
{
	unsigned width = grid_measure_text(text);
	(void)grid_put_text(grid, x > width ? x - width : 0, y, width, style, text);
}

void grid_fill_cells(grid_t *grid, unsigned x, unsigned y, unsigned width, grid_style_t style, const char *glyph)
{
	for (unsigned i = 0; i < width; i++) {
		grid_put_glyph(grid, x + i, y, style, glyph);
	}
}

void grid_write(const grid_t *grid, FILE *out)
{
	for (unsigned y = 0; y < grid->height; y++) {
		unsigned end = grid->width;
		const grid_cell_t *row = &grid->cells[(size_t)y * grid->width];
		while (end > 0 && row[end - 1].glyph[0] == '\0') {
			end--;
		}
		int style = GRID_PLAIN;
		for (unsigned x = 0; x < end; x++) {
			int next = row[x].glyph[0] == '\0' ? GRID_PLAIN : row[x].style;
			if (grid->color && next != style) {
				fputs(escapes[next], out);
			}
			style = next;
			fputs(row[x].glyph[0] == '\0' ? " " : row[x].glyph, out);
		}
		if (grid->color && style != GRID_PLAIN) {
			fputs(escapes[GRID_PLAIN], out);
		}
		fputs("\x1B[K", out);
		if (y + 1 < grid->height) {
			fputs("\r\n", out);
		}
	}
}

/* ---- Numbers ---- */

void grid_print_grouped(char text[static 32], uint64_t number)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	size_t pos = 0;
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0) {
			text[pos++] = ',';
		}
		text[pos++] = digits[i];
	}
	text[pos] = '\0';
}

void grid_print_rate(char text[static 32], double rate)
{
	if (rate > 0 && rate < 10) {
		snprintf(text, 32, "%.1f", rate);
	} else {
		grid_print_grouped(text, (uint64_t)(rate + 0.5));
	}
}

void grid_print_duration(char text[static 32], double ns, bool unicode)
{
	const char *more = ns < 0 ? ">" : "";
	ns = ns < 0 ? -ns : ns;
	const struct {
		double size;
		const char *name;
	} units[] = { { 1, "ns" }, { 1e3, unicode ? "µs" : "us" }, { 1e6, "ms" }, { 1e9, "s" } };
	size_t i = 0;
	while (i + 1 < sizeof(units) / sizeof(units[0]) && ns >= 1000 * units[i].size) {
		i++;
	}
	double value = ns / units[i].size;
	snprintf(text, 32, "%s%.*f %s", more,
			value < 10 && i > 0    ? 2
			: value < 100 && i > 0 ? 1
					       : 0,
			value, units[i].name);
}

void grid_draw_bar(grid_t *grid, unsigned x, unsigned y, unsigned width, double share)
{
	unsigned eighths = (unsigned)(share * width * EIGHTHS + 0.5);
	for (unsigned i = 0; i < width && eighths > 0; i++) {
		unsigned now = eighths < EIGHTHS ? eighths : EIGHTHS;
		grid_put_glyph(grid, x + i, y, GRID_BAR, grid->unicode ? parts[now] : ascii_parts[now]);
		eighths -= now;
	}
}

void grid_draw_graph(
		grid_t *grid, unsigned x, unsigned y, unsigned width, unsigned rows, const double *values, size_t count)
{
	double peak = 0;
	for (size_t i = 0; i < count; i++) {
		peak = values[i] > peak ? values[i] : peak;
	}
	for (unsigned i = 0; i < width && i < count && peak > 0; i++) {
		double value = values[count - 1 - i];
		unsigned eighths = (unsigned)(value / peak * rows * EIGHTHS + 0.5);
		eighths = eighths == 0 && value > 0 ? 1 : eighths;
		for (unsigned row = 0; row < rows && eighths > 0; row++) {
			unsigned now = eighths < EIGHTHS ? eighths : EIGHTHS;
			grid_style_t style = 3 * row < rows       ? GRID_GRAPH_LOW
					     : 3 * row < 2 * rows ? GRID_GRAPH_MIDDLE
								  : GRID_GRAPH_HIGH;
			grid_put_glyph(grid, x + width - 1 - i, y + rows - 1 - row, style,
					grid->unicode ? levels[now] : ascii_levels[now]);
			eighths -= now;
		}
	}
}
