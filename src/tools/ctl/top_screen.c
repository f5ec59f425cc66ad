/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The screen is a grid of cells that panels are drawn into; what does not fit is cut off by the grid. Panels go to the
 * column that is the shortest so far; if they are too long together, all get fewer lines.
 */
#include "src/tools/ctl/top_screen.h"

#include "src/tools/must.h"
#include "src/tools/grid.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	const top_view_t *view;
	const top_rates_t *rates;
	grid_t grid;
} screen_t;

/* A part of the grid that a panel is drawn into. */
typedef struct {
	screen_t *screen;
	unsigned x, y, width;
} area_t;

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
	grid_fill_cells(&screen->grid, area->x, area->y, area->width, GRID_RULE, screen->grid.unicode ? "─" : "-");
	unsigned used = grid_put_text(
			&screen->grid, area->x, area->y, area->width, GRID_HEADING, headings[panel].title);
	grid_put_glyph(&screen->grid, area->x + used, area->y, GRID_PLAIN, " ");
	if (headings[panel].unit[0] != '\0') {
		char unit[32];
		snprintf(unit, sizeof(unit), " %s", headings[panel].unit);
		grid_put_right(&screen->grid, area->x + area->width, area->y, GRID_DIM, unit);
	}
}

enum { RATE_WIDTH = 12, SHARE_WIDTH = 5, NAME_MIN = 10, BAR_MIN = 4 };

/* The name without the part that the panel's heading has. */
static void top_screen_print_name(char text[static GRID_TEXT_MAX], const top_row_t *row)
{
	static const char said[] = "dropped-";
	bool is_said = strncmp(row->key, said, sizeof(said) - 1) == 0;
	snprintf(text, GRID_TEXT_MAX, "%s%s%s", row->sub, row->sub[0] != '\0' && row->key[0] != '\0' ? " " : "",
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
		char name[GRID_TEXT_MAX];
		top_screen_print_name(name, &area->screen->rates->panels[panel].rows[i]);
		unsigned width = grid_measure_text(name);
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
	char name[GRID_TEXT_MAX], number[32];
	top_screen_print_name(name, row);
	if (panel == TOP_SERVER) {
		bool is_number = strspn(row->text, "0123456789") == strlen(row->text);
		grid_print_grouped(number, row->total);
		(void)grid_put_text(&screen->grid, area->x, y, area->width, GRID_DIM, name);
		grid_put_right(&screen->grid, area->x + area->width, y, GRID_VALUE, is_number ? number : row->text);
		return;
	}
	unsigned bar_width = top_screen_measure_bar(area, panel), numbers = RATE_WIDTH + SHARE_WIDTH + bar_width + 1;
	unsigned name_width = area->width > numbers + NAME_MIN ? area->width - numbers : NAME_MIN;
	grid_put_name(&screen->grid, area->x, y, name_width, row->rate > 0 ? GRID_PLAIN : GRID_DIM, name);
	/* The largest fills the bar. */
	grid_draw_bar(&area->screen->grid, area->x + name_width + 1, y, bar_width,
			row->rate > 0 ? row->share / top_screen_find_share_max(screen, panel) : 0);
	if (row->rate > 0) {
		snprintf(number, sizeof(number), "%.0f%%", 100 * row->share);
		grid_put_right(&screen->grid, area->x + area->width - RATE_WIDTH, y, GRID_DIM, number);
	}
	grid_print_rate(number, row->rate);
	grid_put_right(&screen->grid, area->x + area->width, y,
			panel == TOP_DROPS && row->rate > 0 ? GRID_BAD
			: row->rate > 0                     ? GRID_VALUE
							    : GRID_DIM,
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
		grid_fill_cells(&screen->grid, x - WIDTH, area->y, WIDTH, GRID_PLAIN, " ");
		grid_put_right(&screen->grid, x, area->y, GRID_DIM, top_quantile_names[which]);
		for (size_t j = 0; j < screen->rates->latency_count && j < rows_max; j++) {
			char text[32];
			grid_print_duration(text, screen->rates->latencies[j].ns[which], screen->grid.unicode);
			grid_put_right(&screen->grid, x, area->y + 1 + (unsigned)j, GRID_VALUE, text);
		}
	}
	for (size_t j = 0; j < screen->rates->latency_count && j < rows_max; j++) {
		(void)grid_put_text(&screen->grid, area->x, area->y + 1 + (unsigned)j, area->width - columns * WIDTH,
				GRID_PLAIN, screen->rates->latencies[j].protocol);
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
		(void)grid_put_text(&screen->grid, area->x, area->y + 1, area->width,
				panel == TOP_DROPS ? GRID_GOOD : GRID_DIM, headings[panel].empty);
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
	unsigned columns = top_screen_count_columns(screen->grid.width);
	unsigned width = (screen->grid.width - (columns - 1) * COLUMN_GAP) / columns;
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

/* ---- Totals ---- */

static double top_screen_find_peak(const top_view_t *view)
{
	double peak = 0;
	for (size_t i = 0; i < view->history_count; i++) {
		peak = view->history[i] > peak ? view->history[i] : peak;
	}
	return peak;
}

enum { FACTS_END = 24, FACTS_WIDTH = FACTS_END + 3 };

static void top_screen_draw_fact(screen_t *screen, unsigned y, const char *name, const char *value, grid_style_t style)
{
	unsigned width = screen->grid.width;
	(void)grid_put_text(&screen->grid, 0, y, 12, GRID_DIM, name);
	grid_put_right(&screen->grid, width < FACTS_END ? width : FACTS_END, y, style, value);
}

/* Numbers to the left, the graph to the right of them. */
static void top_screen_draw_total(screen_t *screen, unsigned y, unsigned rows)
{
	const top_view_t *view = screen->view;
	char text[32];
	grid_print_rate(text, screen->rates->queries);
	top_screen_draw_fact(screen, y, "queries/s", text, GRID_VALUE);
	double sum = 0;
	for (size_t i = 0; i < view->history_count; i++) {
		sum += view->history[i];
	}
	if (rows > 1) {
		grid_print_rate(text, top_screen_find_peak(view));
		top_screen_draw_fact(screen, y + 1, "peak", text, GRID_PLAIN);
	}
	if (rows > 2) {
		grid_print_rate(text, view->history_count > 0 ? sum / (double)view->history_count : 0);
		top_screen_draw_fact(screen, y + 2, "mean", text, GRID_PLAIN);
	}
	if (rows > 3) {
		grid_print_grouped(text, screen->rates->total);
		top_screen_draw_fact(screen, y + 3, "all queries", text, GRID_PLAIN);
	}
	if (screen->grid.width > FACTS_WIDTH + 8) {
		grid_draw_graph(&screen->grid, FACTS_WIDTH, y, screen->grid.width - FACTS_WIDTH, rows, view->history,
				view->history_count);
	}
}

/* ---- Frame ---- */

static void top_screen_draw_title(screen_t *screen)
{
	const top_view_t *view = screen->view;
	unsigned width = screen->grid.width;
	char text[GRID_TEXT_MAX];
	grid_fill_cells(&screen->grid, 0, 0, width, GRID_TITLE, " ");
	snprintf(text, sizeof(text), " %s   %s", view->program, view->socket);
	(void)grid_put_text(&screen->grid, 0, 0, width, GRID_TITLE, text);
	snprintf(text, sizeof(text), "  every %g s   %s ", view->interval_s, view->clock);
	grid_put_right(&screen->grid, width, 0, GRID_TITLE, text);
}

static void top_screen_draw_keys(screen_t *screen)
{
	static const char *const orders[TOP_ORDERS] = {
		[TOP_BY_RATE] = "rate", [TOP_BY_TOTAL] = "total", [TOP_BY_NAME] = "name"
	};
	unsigned width = screen->grid.width, y = screen->grid.height - 1;
	char text[GRID_TEXT_MAX];
	grid_fill_cells(&screen->grid, 0, y, width, GRID_TITLE, " ");
	snprintf(text, sizeof(text), " q quit   p pause   s sort: %s   +/- interval   r reset   h help",
			orders[screen->view->order]);
	(void)grid_put_text(&screen->grid, 0, y, width, GRID_TITLE, text);
	if (screen->view->state != NULL) {
		snprintf(text, sizeof(text), "  %s ", screen->view->state);
		grid_put_right(&screen->grid, width, y, GRID_TITLE, text);
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
		(void)grid_put_text(&screen->grid, 2, top + i, screen->grid.width - 2,
				is_heading ? GRID_HEADING : GRID_PLAIN, help[i]);
	}
}

void top_screen(const top_view_t *view, const top_rates_t *rates, const top_terminal_t *terminal, FILE *out)
{
	screen_t screen = {
		.view = view,
		.rates = rates,
		.grid = grid_of(terminal->width, terminal->height, terminal->color, terminal->unicode,
				must(calloc((size_t)terminal->width * terminal->height, sizeof(grid_cell_t)))),
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
	grid_write(&screen.grid, out);
	grid_done(&screen.grid);
}
