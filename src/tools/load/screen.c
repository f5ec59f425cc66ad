/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/screen.h"

#include "src/tools/grid.h"

#include <stdlib.h>
#include <string.h>

enum { FACTS_END = 26, GAP = 3, ROWS_MIN = 8, NUMBER_WIDTH = 14, LATENCY_WIDTH = 11 };

typedef struct {
	grid_t grid;
	const screen_view_t *view;
	const report_sample_t *total, *period;
	double seconds; /* of the period */
} screen_t;

static double screen_rate(const screen_t *s, uint64_t count)
{
	return s->seconds > 0 ? (double)count / s->seconds : 0;
}

static void screen_draw_title(screen_t *s)
{
	char text[GRID_TEXT_MAX];
	grid_fill_cells(&s->grid, 0, 0, s->grid.width, GRID_TITLE, " ");
	snprintf(text, sizeof(text), " %s   %s", s->view->title, s->view->target);
	(void)grid_put_text(&s->grid, 0, 0, s->grid.width, GRID_TITLE, text);
	double passed = (double)s->total->until_ns / 1e9;
	snprintf(text, sizeof(text), "  %.0f of %.0f s ", passed < s->view->duration_s ? passed : s->view->duration_s,
			s->view->duration_s);
	grid_put_right(&s->grid, s->grid.width, 0, GRID_TITLE, text);
	unsigned last = s->grid.height - 1;
	grid_fill_cells(&s->grid, 0, last, s->grid.width, GRID_TITLE, " ");
	(void)grid_put_text(&s->grid, 0, last, s->grid.width, GRID_TITLE, " q end the load");
}

static void screen_draw_fact(screen_t *s, unsigned y, const char *name, double rate, grid_style_t style)
{
	char text[32];
	(void)grid_put_text(&s->grid, 0, y, FACTS_END, GRID_DIM, name);
	grid_print_rate(text, rate);
	grid_put_right(&s->grid, s->grid.width < FACTS_END ? s->grid.width : FACTS_END, y, style, text);
}

/* Rates to the left, what was answered before to the right. Returns the next line. */
static unsigned screen_draw_rates(screen_t *s, unsigned y, unsigned rows)
{
	const worker_counts_t *c = &s->period->counts;
	const struct {
		const char *name;
		double rate;
		grid_style_t style;
	} facts[] = {
		{ "replies/s", screen_rate(s, c->replies), GRID_VALUE },
		{ "queries/s", screen_rate(s, c->sent), GRID_VALUE },
		{ "to be sent/s", s->view->target_rate, GRID_PLAIN },
		{ "under way", (double)s->total->waiting, GRID_PLAIN },
	};
	for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]) && i < rows; i++) {
		screen_draw_fact(s, y + i, facts[i].name, facts[i].rate, facts[i].style);
	}
	if (s->grid.width > FACTS_END + GAP + 8) {
		grid_draw_graph(&s->grid, FACTS_END + GAP, y, s->grid.width - FACTS_END - GAP, rows, s->view->history,
				s->view->history_count);
	}
	return y + rows + 1;
}

static void screen_draw_heading(
		screen_t *s, unsigned x, unsigned y, unsigned width, const char *title, const char *unit)
{
	grid_fill_cells(&s->grid, x, y, width, GRID_RULE, s->grid.unicode ? "─" : "-");
	unsigned used = grid_put_text(&s->grid, x, y, width, GRID_HEADING, title);
	grid_put_glyph(&s->grid, x + used, y, GRID_PLAIN, " ");
	if (unit != NULL) {
		char text[32];
		snprintf(text, sizeof(text), " %s", unit);
		grid_put_right(&s->grid, x + width, y, GRID_DIM, text);
	}
}

/* name, count since the start, rate now. */
static void screen_draw_count(screen_t *s, unsigned x, unsigned y, unsigned width, const char *name, uint64_t total,
		double rate, bool is_bad)
{
	char text[32];
	(void)grid_put_text(&s->grid, x, y, width, total > 0 ? GRID_PLAIN : GRID_DIM, name);
	grid_print_grouped(text, total);
	grid_put_right(&s->grid, x + width - NUMBER_WIDTH, y, is_bad && total > 0 ? GRID_BAD : GRID_VALUE, text);
	grid_print_rate(text, rate);
	grid_put_right(&s->grid, x + width, y, is_bad && rate > 0 ? GRID_BAD : GRID_DIM, text);
}

static unsigned screen_draw_replies(screen_t *s, unsigned x, unsigned y, unsigned width, unsigned bottom)
{
	const worker_counts_t *total = &s->total->counts, *now = &s->period->counts;
	const struct {
		const char *name;
		uint64_t total, now;
		bool is_bad, is_seldom;
	} rows[] = {
		{ "matched", total->matched, now->matched, false, false },
		{ "lost", report_lost(s->total), report_lost(s->period), true, false },
		{ "late", total->late, now->late, true, false },
		{ "duplicate", total->duplicate, now->duplicate, true, false },
		{ "unexpected", total->unexpected, now->unexpected, true, false },
		{ "wrong", total->wrong, now->wrong, true, false },
		{ "verified", total->verified, now->verified, false, true },
		{ "malformed", total->malformed, now->malformed, true, true },
		{ "truncated", total->truncated, now->truncated, false, true },
		{ "connections", total->opened, now->opened, false, true },
		{ "reset", total->reset, now->reset, true, true },
		{ "couldn't be sent", total->unsent, now->unsent, true, true },
	};
	screen_draw_heading(s, x, y++, width, "REPLIES", "all, per second");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]) && y < bottom; i++) {
		if (!rows[i].is_seldom || rows[i].total > 0) {
			screen_draw_count(s, x, y++, width, rows[i].name, rows[i].total, screen_rate(s, rows[i].now),
					rows[i].is_bad);
		}
	}
	return y + 1;
}

static unsigned screen_draw_rcodes(screen_t *s, unsigned x, unsigned y, unsigned width, unsigned bottom)
{
	uint64_t most = 1;
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		most = s->period->counts.rcodes[i] > most ? s->period->counts.rcodes[i] : most;
	}
	if (y + 1 >= bottom) {
		return y;
	}
	screen_draw_heading(s, x, y++, width, "RCODE", "per second");
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS && y < bottom; i++) {
		if (s->total->counts.rcodes[i] == 0) {
			continue;
		}
		char text[32];
		const unsigned name_width = 12,
			       bar_width = width > name_width + NUMBER_WIDTH ? width - name_width - NUMBER_WIDTH : 0;
		(void)grid_put_text(&s->grid, x, y, name_width, GRID_PLAIN, knot_rcode_slot_name(i));
		grid_draw_bar(&s->grid, x + name_width, y, bar_width,
				(double)s->period->counts.rcodes[i] / (double)most);
		grid_print_rate(text, screen_rate(s, s->period->counts.rcodes[i]));
		grid_put_right(&s->grid, x + width, y++, GRID_VALUE, text);
	}
	return y + 1;
}

/* Percentiles of this period and of the whole run, and how late queries leave. */
static unsigned screen_draw_latency(screen_t *s, unsigned x, unsigned y, unsigned width, unsigned bottom)
{
	const struct {
		const char *name;
		const histogram_t *histogram;
	} columns[] = {
		{ "now", &s->period->latency },
		{ "all", &s->total->latency },
		{ "send delay", &s->period->delay },
	};
	screen_draw_heading(s, x, y, width, "LATENCY", NULL);
	for (unsigned i = 0; i < 3; i++) {
		unsigned end = x + width - (2 - i) * LATENCY_WIDTH;
		grid_fill_cells(&s->grid, end - LATENCY_WIDTH, y, LATENCY_WIDTH, GRID_PLAIN, " ");
		grid_put_right(&s->grid, end, y, GRID_DIM, columns[i].name);
	}
	y++;
	for (unsigned row = 0; row <= HISTOGRAM_SHOWN && y < bottom; row++, y++) {
		bool is_max = row == HISTOGRAM_SHOWN;
		(void)grid_put_text(&s->grid, x, y, width, GRID_PLAIN, is_max ? "max" : histogram_shown_names[row]);
		for (unsigned i = 0; i < 3; i++) {
			const histogram_t *h = columns[i].histogram;
			char text[32];
			uint64_t ns = is_max ? (h->count > 0 ? h->max_ns : 0)
					     : histogram_percentile(h, histogram_shown[row]);
			grid_print_duration(text, (double)ns, s->grid.unicode);
			grid_put_right(&s->grid, x + width - (2 - i) * LATENCY_WIDTH, y, i == 2 ? GRID_DIM : GRID_VALUE,
					text);
		}
	}
	return y + 1;
}

bool screen_draw(const screen_view_t *view, const report_sample_t *total, const report_sample_t *period,
		const screen_terminal_t *terminal, FILE *out)
{
	grid_cell_t *cells = calloc((size_t)terminal->width * terminal->height, sizeof(*cells));
	if (cells == NULL) {
		return false;
	}
	screen_t s = {
		.grid = grid_of(terminal->width, terminal->height, terminal->color, terminal->unicode, cells),
		.view = view,
		.total = total,
		.period = period,
		.seconds = period->until_ns > period->since_ns ? (double)(period->until_ns - period->since_ns) / 1e9
							       : 0,
	};
	const unsigned height = terminal->height, bottom = height - 1;
	screen_draw_title(&s);
	unsigned y = screen_draw_rates(&s, height >= 16 ? 2 : 1, height >= 30 ? 6 : height >= 16 ? 4 : 2);
	if (y < bottom && terminal->width >= 80) {
		unsigned width = (terminal->width - GAP) / 2;
		unsigned next = screen_draw_replies(&s, 0, y, width, bottom);
		(void)next;
		next = screen_draw_latency(&s, width + GAP, y, width, bottom);
		(void)screen_draw_rcodes(&s, width + GAP, next, width, bottom);
	} else if (y < bottom) {
		unsigned next = screen_draw_latency(&s, 0, y, terminal->width, bottom);
		if (next + 1 < bottom) {
			(void)screen_draw_replies(&s, 0, next, terminal->width, bottom);
		}
	}
	grid_write(&s.grid, out);
	grid_done(&s.grid);
	return true;
}
