/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/managekeys/plan_svg.h"

enum { LEFT = 110, WIDTH = 900, TOP = 60, ROW = 30, BAR = 20, TICKS = 8, MARGIN = 20 };

/* Classes of bars; a state's name stands in its bar, so that colours aren't needed. */
static const char style[] =
		"<style>\n"
		"  svg { font-family: sans-serif; font-size: 12px; background: #fff }\n"
		"  text { fill: #222 } line { stroke: #999 } rect { stroke: #444 }\n"
		"  .pre-active, .published { fill: #cfe2f3 } .ready { fill: #ffe599 } .active { fill: #b6d7a8 }\n"
		"  .retire-active, .post-active { fill: #f9cb9c } .retired { fill: #d9d9d9 } .revoked { fill: #ea9999 "
		"}\n"
		"  .removed { fill: none; stroke-dasharray: 3 }\n"
		"  .now { stroke: #c00; stroke-width: 2 } .bar { fill: #222 }\n"
		"  @media (prefers-color-scheme: dark) {\n"
		"    svg { background: #1e1e1e } text { fill: #ddd } rect { stroke: #ccc } .bar { fill: #222 }\n"
		"  }\n"
		"</style>\n";

/* Where the time is, pixels. */
static unsigned svg_place(const keys_plan_params_t *params, uint64_t at_s)
{
	uint64_t span_s = params->until_s > params->from_s ? params->until_s - params->from_s : 1;
	uint64_t past_s = at_s > params->from_s ? at_s - params->from_s : 0;
	past_s = past_s < span_s ? past_s : span_s;
	return LEFT + (unsigned)((double)past_s * WIDTH / (double)span_s);
}

static void svg_print_bar(const keys_plan_params_t *params, unsigned row, keys_state_t state, uint64_t from_s,
		uint64_t until_s, FILE *out)
{
	enum { LETTER_WIDTH = 7 };
	const char *name = keys_state_name(state);
	unsigned x = svg_place(params, from_s), width = svg_place(params, until_s) - x;
	if (state == KEYS_INVALID || width == 0) {
		return;
	}
	unsigned y = TOP + row * ROW;
	fprintf(out, "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"><title>%s</title></rect>\n", name,
			x, y, width, BAR, name);
	if (strlen(name) * LETTER_WIDTH < width) {
		fprintf(out, "<text class=\"bar\" x=\"%u\" y=\"%u\">%s</text>\n", x + 4, y + 14, name);
	}
}

static void svg_print_key(const keys_plan_t *plan, const keys_plan_params_t *params, size_t key, FILE *out)
{
	char name[PLAN_NAME_MAX];
	const kasp_key_t *about = &plan->keys.keys[key];
	uint64_t since_s = params->from_s;
	keys_state_t state = KEYS_INVALID;
	bool has_state = false;
	plan_print_name(plan, key, name);
	fprintf(out, "<text x=\"10\" y=\"%u\">%s %s</text>\n", TOP + (unsigned)key * ROW + 14,
			keymgr_role(about->is_ksk, about->is_zsk), name);
	for (size_t i = 0; i < plan->count; i++) {
		const keys_event_t *event = &plan->events[i];
		if (event->key == key) {
			svg_print_bar(params, (unsigned)key, event->from, since_s, event->at_s, out);
			since_s = event->at_s;
			state = event->to;
			has_state = true;
		}
	}
	/* Nothing happens to it: it is what it was. */
	state = has_state ? state : keys_state(&about->times, params->from_s);
	svg_print_bar(params, (unsigned)key, state, since_s, params->until_s, out);
}

static void svg_print_axis(const keys_plan_params_t *params, unsigned height, FILE *out)
{
	char when[LIST_TIME_MAX];
	for (unsigned i = 0; i <= TICKS; i++) {
		uint64_t at_s = params->from_s + (params->until_s - params->from_s) * i / TICKS;
		unsigned x = svg_place(params, at_s);
		keymgr_print_time(at_s, 0, LIST_ISO, when);
		fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>\n<text x=\"%u\" y=\"%u\">%.10s</text>\n",
				x, TOP - 6, x, height - MARGIN, x, TOP - 10, when);
	}
	fprintf(out, "<line class=\"now\" x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"><title>now</title></line>\n", LEFT,
			TOP - 6, LEFT, height - MARGIN);
}

/* Labels have only letters, digits and signs that XML doesn't know, but for what names escape. */
static void svg_print_text(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		default: fputc(*text, out); break;
		}
	}
}

void plan_print_svg(const keys_plan_t *plan, const keys_plan_params_t *params, const char *zone, FILE *out)
{
	unsigned height = TOP + (unsigned)plan->keys.count * ROW + 2 * MARGIN;
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n%s",
			LEFT + WIDTH + 80, height, LEFT + WIDTH + 80, height, style);
	fputs("<text x=\"10\" y=\"20\">Keys of ", out);
	svg_print_text(zone, out);
	fputs("</text>\n", out);
	svg_print_axis(params, height, out);
	for (size_t i = 0; i < plan->keys.count; i++) {
		svg_print_key(plan, params, i, out);
	}
	fputs("</svg>\n", out);
}
