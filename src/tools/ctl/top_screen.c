/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The screen is a grid of cells that panels are drawn into; what does not fit is cut off by the grid. Panels go to the
 * column that is the shortest so far; if they are too long together, all get fewer lines.
 */
#include "src/tools/ctl/top_screen.h"

#include "src/tools/ctl/must.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
	PLAIN,
	TITLE,
	HEADING,
	RULE,
	DIM,
	VALUE,
	GOOD,
	BAD,
	BAR,
	GRAPH_LOW,
	GRAPH_MIDDLE,
	GRAPH_HIGH,
	STYLE_COUNT
} style_t;

static const char *const escapes[STYLE_COUNT] = {
	[PLAIN] = "\x1B[0m",
	[TITLE] = "\x1B[0;1;97;48;5;24m",
	[HEADING] = "\x1B[0;1;38;5;45m",
	[RULE] = "\x1B[0;38;5;240m",
	[DIM] = "\x1B[0;38;5;246m",
	[VALUE] = "\x1B[0;1m",
	[GOOD] = "\x1B[0;32m",
	[BAD] = "\x1B[0;1;31m",
	[BAR] = "\x1B[0;38;5;38m",
	[GRAPH_LOW] = "\x1B[0;38;5;31m",
	[GRAPH_MIDDLE] = "\x1B[0;38;5;38m",
	[GRAPH_HIGH] = "\x1B[0;38;5;45m",
};

enum { GLYPH_MAX = 5, EIGHTHS = 8, TEXT_MAX = 512 };

/* From empty to full, by eighths: upwards and to the right. */
static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const parts[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
static const char *const ascii_levels[] = { " ", ".", ".", ":", ":", ":", "|", "|", "#" };
static const char *const ascii_parts[] = { " ", " ", " ", " ", "-", "-", "-", "-", "#" };

typedef struct {
	char glyph[GLYPH_MAX]; /* one character in UTF-8; "": a blank */
	uint8_t style;
} cell_t;

typedef struct {
	const top_view_t *view;
	const top_rates_t *rates;
	const top_terminal_t *terminal;
	cell_t *cells; /* owned */
} screen_t;

/* A part of the grid that a panel is drawn into. */
typedef struct {
	screen_t *screen;
	unsigned x, y, width;
} area_t;

/* ---- Cells ---- */

static void top_screen_put_glyph(screen_t *screen, unsigned x, unsigned y, style_t style, const char *glyph)
{
	if (x < screen->terminal->width && y < screen->terminal->height) {
		cell_t *cell = &screen->cells[(size_t)y * screen->terminal->width + x];
		snprintf(cell->glyph, sizeof(cell->glyph), "%s", glyph);
		cell->style = (uint8_t)style;
	}
}

/* Length of the character at p; 1 for a byte that isn't UTF-8. */
static size_t top_screen_measure_glyph(const char *p)
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
static bool top_screen_is_control(const char *glyph)
{
	return (unsigned char)glyph[0] == 0xC2 && (unsigned char)glyph[1] < 0xA0;
}

/* Text within `width` cells from x. Returns the cells used. Control characters become '?'. */
static unsigned top_screen_put_text(
		screen_t *screen, unsigned x, unsigned y, unsigned width, style_t style, const char *text)
{
	unsigned used = 0;
	for (; *text != '\0' && used < width; used++) {
		size_t len = top_screen_measure_glyph(text);
		char glyph[GLYPH_MAX] = "?";
		bool top_screen_is_shown = len > 1 ? screen->terminal->unicode && !top_screen_is_control(text)
						   : isprint((unsigned char)*text) != 0;
		if (top_screen_is_shown) {
			memcpy(glyph, text, len);
			glyph[len] = '\0';
		}
		top_screen_put_glyph(screen, x + used, y, style, glyph);
		text += len;
	}
	return used;
}

static unsigned top_screen_measure_text(const char *text)
{
	unsigned width = 0;
	for (; *text != '\0'; text += top_screen_measure_glyph(text)) {
		width++;
	}
	return width;
}

/* Text within `width` cells; an ellipsis in the last one shows that it is cut. */
static void top_screen_put_name(
		screen_t *screen, unsigned x, unsigned y, unsigned width, style_t style, const char *text)
{
	(void)top_screen_put_text(screen, x, y, width, style, text);
	if (top_screen_measure_text(text) > width && width > 0) {
		top_screen_put_glyph(screen, x + width - 1, y, style, screen->terminal->unicode ? "…" : "~");
	}
}

/* Text that ends before x. */
static void top_screen_put_right(screen_t *screen, unsigned x, unsigned y, style_t style, const char *text)
{
	unsigned width = top_screen_measure_text(text);
	(void)top_screen_put_text(screen, x > width ? x - width : 0, y, width, style, text);
}

static void top_screen_fill_cells(
		screen_t *screen, unsigned x, unsigned y, unsigned width, style_t style, const char *glyph)
{
	for (unsigned i = 0; i < width; i++) {
		top_screen_put_glyph(screen, x + i, y, style, glyph);
	}
}

static void top_screen_write_cells(const screen_t *screen, FILE *out)
{
	const top_terminal_t *terminal = screen->terminal;
	for (unsigned y = 0; y < terminal->height; y++) {
		unsigned end = terminal->width;
		const cell_t *row = &screen->cells[(size_t)y * terminal->width];
		while (end > 0 && row[end - 1].glyph[0] == '\0') {
			end--;
		}
		int style = PLAIN;
		for (unsigned x = 0; x < end; x++) {
			int next = row[x].glyph[0] == '\0' ? PLAIN : row[x].style;
			if (terminal->color && next != style) {
				fputs(escapes[next], out);
			}
			style = next;
			fputs(row[x].glyph[0] == '\0' ? " " : row[x].glyph, out);
		}
		if (terminal->color && style != PLAIN) {
			fputs(escapes[PLAIN], out);
		}
		fputs("\x1B[K", out);
		if (y + 1 < terminal->height) {
			fputs("\r\n", out);
		}
	}
}

/* ---- Numbers ---- */

/* 1,234,567 */
static void top_screen_print_grouped(char text[static 32], uint64_t number)
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

static void top_screen_print_rate(char text[static 32], double rate)
{
	if (rate > 0 && rate < 10) {
		snprintf(text, 32, "%.1f", rate);
	} else {
		top_screen_print_grouped(text, (uint64_t)(rate + 0.5));
	}
}

static void top_screen_print_duration(char text[static 32], double ns, bool unicode)
{
	const char *more = ns < 0 ? ">" : "";
	ns = ns < 0 ? -ns : ns;
	const struct {
		double size;
		const char *name;
	} units[] = { { 1, "ns" }, { 1e3, unicode ? "µs" : "us" }, { 1e6, "ms" }, { 1e9, "s" } };
	size_t i = 0;
	while (i + 1 < KNOT_LEN(units) && ns >= 1000 * units[i].size) {
		i++;
	}
	double value = ns / units[i].size;
	snprintf(text, 32, "%s%.*f %s", more,
			value < 10 && i > 0    ? 2
			: value < 100 && i > 0 ? 1
					       : 0,
			value, units[i].name);
}

/* ---- Panels ---- */

static bool top_screen_is_shown(top_panel_t panel, const top_row_t *row)
{
	return panel == TOP_QUEUE || panel == TOP_SERVER || row->total > 0;
}

static size_t top_screen_count_shown(const screen_t *screen, top_panel_t panel)
{
	if (panel == TOP_LATENCY) {
		return screen->rates->latency_count;
	}
	size_t count = 0;
	for (size_t i = 0; i < screen->rates->panels[panel].count; i++) {
		count += top_screen_is_shown(panel, &screen->rates->panels[panel].rows[i]);
	}
	return count;
}

static const struct {
	const char *title, *unit, *empty;
	unsigned rows_max;
} headings[TOP_PANELS] = {
	[TOP_SERVER] = { "SERVER", "", NULL, 12 },
	[TOP_PROTOCOL] = { "PROTOCOL", "queries/s", "no queries", 12 },
	[TOP_RCODE] = { "RCODE", "responses/s", "no responses", 12 },
	[TOP_TYPE] = { "QUERY TYPE", "queries/s", "no queries", 20 },
	[TOP_ZONE] = { "ZONE", "queries/s", "no queries", 20 },
	[TOP_QUEUE] = { "XDP QUEUE", "packets/s", NULL, 64 },
	[TOP_LATENCY] = { "LATENCY", "", "no queries", 12 },
	[TOP_DROPS] = { "DROPS", "packets/s", "nothing was dropped", 20 },
};

static void top_screen_draw_heading(const area_t *area, top_panel_t panel)
{
	screen_t *screen = area->screen;
	top_screen_fill_cells(screen, area->x, area->y, area->width, RULE, screen->terminal->unicode ? "─" : "-");
	unsigned used = top_screen_put_text(screen, area->x, area->y, area->width, HEADING, headings[panel].title);
	top_screen_put_glyph(screen, area->x + used, area->y, PLAIN, " ");
	if (headings[panel].unit[0] != '\0') {
		char unit[32];
		snprintf(unit, sizeof(unit), " %s", headings[panel].unit);
		top_screen_put_right(screen, area->x + area->width, area->y, DIM, unit);
	}
}

static void top_screen_draw_bar(const area_t *area, unsigned x, unsigned y, unsigned width, double share)
{
	const top_terminal_t *terminal = area->screen->terminal;
	unsigned eighths = (unsigned)(share * width * EIGHTHS + 0.5);
	for (unsigned i = 0; i < width && eighths > 0; i++) {
		unsigned now = eighths < EIGHTHS ? eighths : EIGHTHS;
		top_screen_put_glyph(area->screen, x + i, y, BAR, terminal->unicode ? parts[now] : ascii_parts[now]);
		eighths -= now;
	}
}

enum { RATE_WIDTH = 12, SHARE_WIDTH = 5, NAME_MIN = 10, BAR_MIN = 4 };

/* The name without the part that the panel's heading has. */
static void top_screen_print_name(char text[static TEXT_MAX], const top_row_t *row)
{
	static const char said[] = "dropped-";
	bool is_said = strncmp(row->key, said, sizeof(said) - 1) == 0;
	snprintf(text, TEXT_MAX, "%s%s%s", row->sub, row->sub[0] != '\0' && row->key[0] != '\0' ? " " : "",
			row->key + (is_said ? sizeof(said) - 1 : 0));
}

static double top_screen_find_share_max(const screen_t *screen, top_panel_t panel)
{
	double max = 0;
	for (size_t i = 0; i < screen->rates->panels[panel].count; i++) {
		max = screen->rates->panels[panel].rows[i].share > max ? screen->rates->panels[panel].rows[i].share
								       : max;
	}
	return max;
}

/* A quarter of the panel, less if that leaves room for the longest name. */
static unsigned top_screen_measure_bar(const area_t *area, top_panel_t panel)
{
	unsigned longest = NAME_MIN, numbers = RATE_WIDTH + SHARE_WIDTH + 1;
	for (size_t i = 0; i < area->screen->rates->panels[panel].count; i++) {
		char name[TEXT_MAX];
		top_screen_print_name(name, &area->screen->rates->panels[panel].rows[i]);
		unsigned width = top_screen_measure_text(name);
		longest = width > longest ? width : longest;
	}
	unsigned left = area->width > numbers + longest ? area->width - numbers - longest : 0;
	left = left < area->width / 4 ? left : area->width / 4;
	return left > BAR_MIN ? left : BAR_MIN;
}

/* name | bar | share | rate */
static void top_screen_draw_row(const area_t *area, unsigned y, const top_row_t *row, top_panel_t panel)
{
	screen_t *screen = area->screen;
	char name[TEXT_MAX], number[32];
	top_screen_print_name(name, row);
	if (panel == TOP_SERVER) {
		bool is_number = strspn(row->text, "0123456789") == strlen(row->text);
		top_screen_print_grouped(number, row->total);
		(void)top_screen_put_text(screen, area->x, y, area->width, DIM, name);
		top_screen_put_right(screen, area->x + area->width, y, VALUE, is_number ? number : row->text);
		return;
	}
	unsigned bar_width = top_screen_measure_bar(area, panel), numbers = RATE_WIDTH + SHARE_WIDTH + bar_width + 1;
	unsigned name_width = area->width > numbers + NAME_MIN ? area->width - numbers : NAME_MIN;
	top_screen_put_name(screen, area->x, y, name_width, row->rate > 0 ? PLAIN : DIM, name);
	/* The largest fills the bar. */
	top_screen_draw_bar(area, area->x + name_width + 1, y, bar_width,
			row->rate > 0 ? row->share / top_screen_find_share_max(screen, panel) : 0);
	if (row->rate > 0) {
		snprintf(number, sizeof(number), "%.0f%%", 100 * row->share);
		top_screen_put_right(screen, area->x + area->width - RATE_WIDTH, y, DIM, number);
	}
	top_screen_print_rate(number, row->rate);
	top_screen_put_right(screen, area->x + area->width, y,
			panel == TOP_DROPS && row->rate > 0 ? BAD
			: row->rate > 0                     ? VALUE
							    : DIM,
			number);
}

static void top_screen_draw_latencies(const area_t *area, size_t rows_max)
{
	enum { WIDTH = 9 };
	screen_t *screen = area->screen;
	unsigned columns = (area->width - NAME_MIN) / WIDTH;
	columns = columns < TOP_QUANTILES ? columns : TOP_QUANTILES;
	for (unsigned i = 0; i < columns; i++) {
		/* A narrow panel keeps the last ones, which say more. */
		unsigned which = TOP_QUANTILES - columns + i, x = area->x + area->width - (columns - 1 - i) * WIDTH;
		top_screen_fill_cells(screen, x - WIDTH, area->y, WIDTH, PLAIN, " ");
		top_screen_put_right(screen, x, area->y, DIM, top_quantile_names[which]);
		for (size_t j = 0; j < screen->rates->latency_count && j < rows_max; j++) {
			char text[32];
			top_screen_print_duration(
					text, screen->rates->latencies[j].ns[which], screen->terminal->unicode);
			top_screen_put_right(screen, x, area->y + 1 + (unsigned)j, VALUE, text);
		}
	}
	for (size_t j = 0; j < screen->rates->latency_count && j < rows_max; j++) {
		(void)top_screen_put_text(screen, area->x, area->y + 1 + (unsigned)j, area->width - columns * WIDTH,
				PLAIN, screen->rates->latencies[j].protocol);
	}
}

/* Lines of a panel with at most `rows_max` rows, with its heading and the blank line under it; 0: it isn't shown. */
static unsigned top_screen_measure_panel(const screen_t *screen, top_panel_t panel, unsigned rows_max)
{
	size_t count = top_screen_count_shown(screen, panel);
	if (count == 0 && headings[panel].empty == NULL) {
		return 0;
	}
	count = count == 0 ? 1 : count;
	count = count < headings[panel].rows_max ? count : headings[panel].rows_max;
	return 2 + (unsigned)(count < rows_max ? count : rows_max);
}

static void top_screen_draw_panel(const area_t *area, top_panel_t panel, unsigned rows_max)
{
	screen_t *screen = area->screen;
	top_screen_draw_heading(area, panel);
	if (top_screen_count_shown(screen, panel) == 0) {
		(void)top_screen_put_text(screen, area->x, area->y + 1, area->width, panel == TOP_DROPS ? GOOD : DIM,
				headings[panel].empty);
		return;
	}
	if (panel == TOP_LATENCY) {
		top_screen_draw_latencies(area, rows_max);
		return;
	}
	unsigned drawn = 0;
	for (size_t i = 0; i < screen->rates->panels[panel].count && drawn < rows_max; i++) {
		const top_row_t *row = &screen->rates->panels[panel].rows[i];
		if (top_screen_is_shown(panel, row)) {
			top_screen_draw_row(area, area->y + ++drawn, row, panel);
		}
	}
}

/* ---- Layout ---- */

enum { COLUMNS_MAX = 3, COLUMN_GAP = 3 };
static const top_panel_t order_of_panels[] = { TOP_PROTOCOL, TOP_LATENCY, TOP_RCODE, TOP_TYPE, TOP_ZONE, TOP_QUEUE,
	TOP_DROPS, TOP_SERVER };

static unsigned top_screen_count_columns(unsigned width)
{
	return width >= 150 ? 3 : width >= 76 ? 2 : 1;
}

/* What is left out when there is no room, the first of these first. */
static const top_panel_t dispensable[] = { TOP_SERVER, TOP_QUEUE, TOP_TYPE };
enum { ROWS_MAX = 64, ROWS_WANTED = 5 };

static bool top_screen_is_left_out(top_panel_t panel, size_t left_out)
{
	for (size_t i = 0; i < left_out; i++) {
		if (dispensable[i] == panel) {
			return true;
		}
	}
	return false;
}

typedef struct {
	unsigned top, bottom; /* lines */
	unsigned rows_max;    /* of each panel */
	size_t left_out;      /* panels, of `dispensable` */
} layout_t;

/* Place all panels. draw: also draw them. False: they don't fit. */
static bool top_screen_place_panels(screen_t *screen, const layout_t *how, bool draw)
{
	unsigned columns = top_screen_count_columns(screen->terminal->width);
	unsigned width = (screen->terminal->width - (columns - 1) * COLUMN_GAP) / columns;
	unsigned ends[COLUMNS_MAX] = { how->top, how->top, how->top };
	bool fits = true;
	for (size_t i = 0; i < KNOT_LEN(order_of_panels); i++) {
		top_panel_t panel = order_of_panels[i];
		unsigned height = top_screen_is_left_out(panel, how->left_out)
						  ? 0
						  : top_screen_measure_panel(screen, panel, how->rows_max),
			 column = 0;
		for (unsigned j = 1; j < columns; j++) {
			column = ends[j] < ends[column] ? j : column;
		}
		/* The blank line under the last panel of a column may be missing. */
		bool fits_here = ends[column] + height <= how->bottom + 1;
		fits &= fits_here;
		if (draw && height > 0 && fits_here) {
			area_t area = { screen, column * (width + COLUMN_GAP), ends[column], width };
			unsigned cap = headings[panel].rows_max;
			top_screen_draw_panel(&area, panel, how->rows_max < cap ? how->rows_max : cap);
		}
		ends[column] += height;
	}
	return fits;
}

static void top_screen_draw_panels(screen_t *screen, unsigned top, unsigned bottom)
{
	layout_t how = { .top = top, .bottom = bottom, .rows_max = ROWS_MAX };
	while (!top_screen_place_panels(screen, &how, false)) {
		bool can_leave_out = how.left_out < KNOT_LEN(dispensable);
		if (how.rows_max > ROWS_WANTED || (how.rows_max > 1 && !can_leave_out)) {
			how.rows_max--;
		} else if (can_leave_out) {
			how.left_out++;
			how.rows_max = ROWS_MAX;
		} else {
			break;
		}
	}
	(void)top_screen_place_panels(screen, &how, true);
}

/* ---- Graph ---- */

static double top_screen_find_peak(const top_view_t *view)
{
	double peak = 0;
	for (size_t i = 0; i < view->history_count; i++) {
		peak = view->history[i] > peak ? view->history[i] : peak;
	}
	return peak;
}

static void top_screen_draw_graph(screen_t *screen, unsigned x, unsigned y, unsigned width, unsigned rows)
{
	const top_view_t *view = screen->view;
	double peak = top_screen_find_peak(view);
	for (unsigned i = 0; i < width && i < view->history_count && peak > 0; i++) {
		double value = view->history[view->history_count - 1 - i];
		unsigned eighths = (unsigned)(value / peak * rows * EIGHTHS + 0.5);
		eighths = eighths == 0 && value > 0 ? 1 : eighths;
		for (unsigned row = 0; row < rows && eighths > 0; row++) {
			unsigned now = eighths < EIGHTHS ? eighths : EIGHTHS;
			style_t style = 3 * row < rows ? GRAPH_LOW : 3 * row < 2 * rows ? GRAPH_MIDDLE : GRAPH_HIGH;
			top_screen_put_glyph(screen, x + width - 1 - i, y + rows - 1 - row, style,
					screen->terminal->unicode ? levels[now] : ascii_levels[now]);
			eighths -= now;
		}
	}
}

enum { FACTS_END = 24, FACTS_WIDTH = FACTS_END + 3 };

static void top_screen_draw_fact(screen_t *screen, unsigned y, const char *name, const char *value, style_t style)
{
	unsigned width = screen->terminal->width;
	(void)top_screen_put_text(screen, 0, y, 12, DIM, name);
	top_screen_put_right(screen, width < FACTS_END ? width : FACTS_END, y, style, value);
}

/* Numbers to the left, the graph to the right of them. */
static void top_screen_draw_total(screen_t *screen, unsigned y, unsigned rows)
{
	const top_view_t *view = screen->view;
	char text[32];
	top_screen_print_rate(text, screen->rates->queries);
	top_screen_draw_fact(screen, y, "queries/s", text, VALUE);
	double sum = 0;
	for (size_t i = 0; i < view->history_count; i++) {
		sum += view->history[i];
	}
	if (rows > 1) {
		top_screen_print_rate(text, top_screen_find_peak(view));
		top_screen_draw_fact(screen, y + 1, "peak", text, PLAIN);
	}
	if (rows > 2) {
		top_screen_print_rate(text, view->history_count > 0 ? sum / (double)view->history_count : 0);
		top_screen_draw_fact(screen, y + 2, "mean", text, PLAIN);
	}
	if (rows > 3) {
		top_screen_print_grouped(text, screen->rates->total);
		top_screen_draw_fact(screen, y + 3, "all queries", text, PLAIN);
	}
	if (screen->terminal->width > FACTS_WIDTH + 8) {
		top_screen_draw_graph(screen, FACTS_WIDTH, y, screen->terminal->width - FACTS_WIDTH, rows);
	}
}

/* ---- Frame ---- */

static void top_screen_draw_title(screen_t *screen)
{
	const top_view_t *view = screen->view;
	unsigned width = screen->terminal->width;
	char text[TEXT_MAX];
	top_screen_fill_cells(screen, 0, 0, width, TITLE, " ");
	snprintf(text, sizeof(text), " %s   %s", view->program, view->socket);
	(void)top_screen_put_text(screen, 0, 0, width, TITLE, text);
	snprintf(text, sizeof(text), "  every %g s   %s ", view->interval_s, view->clock);
	top_screen_put_right(screen, width, 0, TITLE, text);
}

static void top_screen_draw_keys(screen_t *screen)
{
	static const char *const orders[TOP_ORDERS] = {
		[TOP_BY_RATE] = "rate", [TOP_BY_TOTAL] = "total", [TOP_BY_NAME] = "name"
	};
	unsigned width = screen->terminal->width, y = screen->terminal->height - 1;
	char text[TEXT_MAX];
	top_screen_fill_cells(screen, 0, y, width, TITLE, " ");
	snprintf(text, sizeof(text), " q quit   p pause   s sort: %s   +/- interval   r reset   h help",
			orders[screen->view->order]);
	(void)top_screen_put_text(screen, 0, y, width, TITLE, text);
	if (screen->view->state != NULL) {
		snprintf(text, sizeof(text), "  %s ", screen->view->state);
		top_screen_put_right(screen, width, y, TITLE, text);
	}
}

static const char *const help[] = {
	"Keys",
	"  q, Ctrl-C   quit",
	"  p, space    pause, go on",
	"  s           sort by rate, total, name",
	"  +, -        look less often, more often",
	"  r           forget the graph",
	"  h, ?        this help",
	"",
	"Panels",
	"  PROTOCOL    transport and address family of queries; -xdp: past the kernel",
	"  LATENCY     from taking a query out of its socket or ring to handing over the",
	"              response; half, 90 %, 99 % and 99.9 % of them took no longer",
	"  RCODE       of responses",
	"  QUERY TYPE, ZONE",
	"              the 20 with the most queries since the last look",
	"  XDP QUEUE   packets of each receive queue: are they spread evenly?",
	"  DROPS       what was not answered, by reason",
};

static void top_screen_draw_help(screen_t *screen, unsigned top, unsigned bottom)
{
	for (unsigned i = 0; i < KNOT_LEN(help) && top + i < bottom; i++) {
		bool is_heading = help[i][0] != ' ' && help[i][0] != '\0';
		(void)top_screen_put_text(
				screen, 2, top + i, screen->terminal->width - 2, is_heading ? HEADING : PLAIN, help[i]);
	}
}

void top_screen(const top_view_t *view, const top_rates_t *rates, const top_terminal_t *terminal, FILE *out)
{
	screen_t screen = {
		.view = view,
		.rates = rates,
		.terminal = terminal,
		.cells = must(calloc((size_t)terminal->width * terminal->height, sizeof(cell_t))),
	};
	unsigned height = terminal->height, rows = height >= 36 ? 6 : height >= 24 ? 4 : height >= 16 ? 2 : 1;
	unsigned top = rows + (height >= 16 ? 3 : 2), bottom = height > 0 ? height - 1 : 0;
	top_screen_draw_title(&screen);
	top_screen_draw_total(&screen, height >= 16 ? 2 : 1, rows);
	if (view->help) {
		top_screen_draw_help(&screen, top, bottom);
	} else if (top < bottom) {
		top_screen_draw_panels(&screen, top, bottom);
	}
	top_screen_draw_keys(&screen);
	top_screen_write_cells(&screen, out);
	free(screen.cells);
}
