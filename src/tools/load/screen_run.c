/* SPDX-License-Identifier: BSD-2-Clause */
/* The run on a terminal: a screen each second, keys, and the end. */
#include "src/tools/load/screen.h"
#include "src/tools/colors.h"
#include "src/tools/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PERIOD_MS = 1000, STEP_MS = 100 };

static double screen_target_rate(const gun_t *gun, uint64_t now_ns)
{
	const schedule_t *s = &gun->plan.schedule;
	for (size_t i = 0; s->times_ns == NULL && i < s->piece_count; i++) {
		if (now_ns < s->pieces[i].end_ns) {
			return s->pieces[i].rate;
		}
	}
	return 0;
}

typedef struct {
	double history[SCREEN_HISTORY_MAX];
	size_t count;
	bool color, unicode;
	char title[64], target[128];
} run_t;

static void screen_remember(run_t *r, double rate)
{
	if (r->count == SCREEN_HISTORY_MAX) {
		memmove(r->history, r->history + 1, (SCREEN_HISTORY_MAX - 1) * sizeof(double));
		r->count--;
	}
	r->history[r->count++] = rate;
}

static void screen_show(const gun_t *gun, run_t *r, const report_sample_t *total, const report_sample_t *period)
{
	screen_terminal_t terminal = { .color = r->color, .unicode = r->unicode };
	terminal_size(&terminal.width, &terminal.height);
	const screen_view_t view = {
		.title = r->title,
		.target = r->target,
		.target_rate = screen_target_rate(gun, total->until_ns),
		.duration_s = (double)gun->duration_ns / 1e9,
		.history = r->history,
		.history_count = r->count,
	};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (out == NULL) {
		return;
	}
	bool is_good = terminal.height > 1 && screen_draw(&view, total, period, &terminal, out);
	if (fclose(out) == 0 && is_good) {
		fputs("\x1B[H", stdout);
		fwrite(text, 1, len, stdout);
		fflush(stdout);
	}
	free(text);
}

/* True: end the load. */
static bool screen_wait(int ms)
{
	terminal_event_t event = terminal_wait(ms);
	int key = event == TERMINAL_KEY ? terminal_key() : 0;
	return event == TERMINAL_END || key == 'q' || key == 'Q' || key == 3;
}

bool screen_run(gun_t *gun, report_sample_t samples[static 3])
{
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		return false;
	}
	run_t *r = calloc(1, sizeof(*r));
	if (r == NULL) {
		return false;
	}
	(void)setlocale(LC_CTYPE, "");
	r->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	r->color = !colors_are_refused();
	snprintf(r->title, sizeof(r->title), "kxdpgun %s", PACKAGE_VERSION);
	snprintf(r->target, sizeof(r->target), "%.90s@%u %s", gun->options->target, gun->target_port,
			gun->options->protocol == PROTOCOL_TCP ? "TCP" : "UDP");
	report_sample_t *before = &samples[0], *now = &samples[1], *period = &samples[2];
	memset(before, 0, sizeof(*before));
	terminal_enter(true);
	for (unsigned step = 0; !gun_is_over(gun); step++) {
		if (step % (PERIOD_MS / STEP_MS) == 0) {
			report_take(gun, now);
			report_difference(before, now, period);
			period->waiting = 0; /* what is lost of this period isn't known yet */
			double seconds = (double)(period->until_ns - period->since_ns) / 1e9;
			screen_remember(r, seconds > 0 ? (double)period->counts.replies / seconds : 0);
			screen_show(gun, r, now, period);
			*before = *now;
		}
		if (screen_wait(STEP_MS)) {
			gun_stop(gun);
		}
	}
	terminal_leave();
	free(r);
	return true;
}
