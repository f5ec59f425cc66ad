/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * top: requests counts from the server repeatedly and shows the rates between them.
 *
 * On a terminal it draws a screen, which survives a restart of the server; else it prints samples as text or JSON.
 * Requests and units: doc/formats/top.md.
 */
#include "src/tools/ctl/knotc.h"

#include "libknot/base/number.h"
#include "src/sys/clock.h"
#include "src/tools/ctl/message.h"
#include "src/tools/terminal.h"
#include "src/tools/ctl/top_screen.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HISTORY_MAX = 512, TIMEOUT_MS = 5000 };
#define NS_PER_S 1e9

#define INTERVAL_MIN 0.1
#define INTERVAL_MAX 3600.0

typedef struct {
	params_t params;
	request_t request;
	knot_ctl_t *ctl;         /* owned; NULL: not connected */
	top_sample_t samples[2]; /* before, and the last */
	unsigned sample_count;   /* of this connection, at most 2 */
	top_rates_t rates;       /* between them */
	double history[HISTORY_MAX];
	top_view_t view;
	bool paused;
	uint64_t count_max;          /* 0: no limit */
	uint64_t count;              /* of rates shown */
	char error[KNOTC_ERROR_MAX]; /* why there is no sample; "": there is */
	char refusal[KNOTC_ERROR_MAX];
} top_t;

/* text: the error; NULL: it was printed already. */
static bool top_report_error(const char *what, const char *text)
{
	return text != NULL ? message_error("%s '%s'", what, text) : message_error("%s", what);
}

static bool top_read_arguments(const knot_ctl_data_t *unit, top_t *top)
{
	const char *count = (*unit)[KNOT_CTL_IDX_TTL], *interval = (*unit)[KNOT_CTL_IDX_ITEM];
	char *end;
	if (count != NULL) {
		if (!knot_number_of(count, 0, UINT64_MAX, &top->count_max)) {
			return top_report_error("invalid count", count);
		}
	}
	if (interval != NULL) {
		top->view.interval_s = strtod(interval, &end);
		/* Also refuses what is no number at all. */
		if (*end != '\0' || !(top->view.interval_s >= INTERVAL_MIN && top->view.interval_s <= INTERVAL_MAX)) {
			return top_report_error("invalid interval, use 0.1 to 3600 seconds instead of", interval);
		}
	}
	return true;
}

/* ---- Samples ---- */

static void top_take_unit(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	top_t *top = ctx;
	if ((*unit)[KNOT_CTL_IDX_ERROR] != NULL) {
		snprintf(top->refusal, sizeof(top->refusal), "(%s)", (*unit)[KNOT_CTL_IDX_ERROR]);
	} else {
		top_sample_add(&top->samples[1], unit);
	}
}

static void top_disconnect(top_t *top)
{
	if (top->ctl != NULL) {
		(void)!knot_ctl_send(top->ctl, KNOT_CTL_TYPE_END, NULL);
		knot_ctl_free(top->ctl);
		top->ctl = NULL;
	}
	top->sample_count = 0;
}

/* Request one sample. False: top->error says why there is none. */
static bool top_take_sample(top_t *top)
{
	top->error[0] = top->refusal[0] = '\0';
	if (top->ctl == NULL) {
		top->ctl = knotc_connect(&top->params, top->error);
		if (top->ctl == NULL) {
			return false;
		}
	}
	top_rates_free(&top->rates);
	top_sample_free(&top->samples[0]);
	top->samples[0] = top->samples[1];
	top->samples[1] = (top_sample_t){ 0 };
	knot_err_t err = knotc_block(top->ctl, &top->request, top_take_unit, top, top->error);
	if (err == KNOT_OK && top->refusal[0] != '\0') {
		snprintf(top->error, sizeof(top->error), "%s", top->refusal);
		err = KNOT_ENOTSUP;
	}
	if (err == KNOT_ETIMEOUT && top->sample_count == 0) {
		snprintf(top->error, sizeof(top->error), "the server doesn't answer, or doesn't know the command '%s'",
				top->request.units[0][KNOT_CTL_IDX_CMD]);
	}
	if (err != KNOT_OK) {
		top_disconnect(top);
		return false;
	}
	/* Rates need two samples of one connection. */
	const top_sample_t *before = top->sample_count > 0 ? &top->samples[0] : &top->samples[1];
	top_rates(before, &top->samples[1], &top->rates);
	top->sample_count = top->sample_count == 0 ? 1 : 2;
	return true;
}

static void top_remember_rate(top_t *top)
{
	if (top->view.history_count == HISTORY_MAX) {
		memmove(top->history, top->history + 1, (HISTORY_MAX - 1) * sizeof(double));
		top->view.history_count--;
	}
	top->history[top->view.history_count++] = top->rates.queries;
}

/* ---- Output ---- */

static void top_draw_screen(top_t *top)
{
	char clock[16] = "", *text = NULL;
	time_t now = (time_t)sys_clock_wall();
	struct tm local;
	if (localtime_r(&now, &local) != NULL) {
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	}
	top->view.clock = clock;
	top->view.state = top->error[0] != '\0' ? top->error : top->paused ? "PAUSED" : NULL;
	top_terminal_t terminal = { .color = top->params.color, .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 };
	terminal_size(&terminal.width, &terminal.height);
	/* Write the screen at once, so that it doesn't flicker. */
	size_t len;
	FILE *screen = open_memstream(&text, &len);
	if (screen == NULL) {
		return;
	}
	fputs("\x1B[H", screen);
	top_screen(&top->view, &top->rates, &terminal, screen);
	if (fclose(screen) == 0) {
		(void)fwrite(text, 1, len, stdout);
		(void)fflush(stdout);
	}
	free(text);
}

static void top_print_sample(const top_t *top)
{
	if (output_is_json(top->params.format)) {
		top_json(&top->rates, stdout);
	} else {
		fputs(top->count > 1 ? "\n" : "", stdout);
		top_text(&top->rates, stdout);
	}
	(void)fflush(stdout);
}

/* ---- Keys ---- */

static void top_change_interval(top_t *top, double factor)
{
	double interval = top->view.interval_s * factor;
	if (interval >= INTERVAL_MIN && interval <= INTERVAL_MAX) {
		top->view.interval_s = interval;
	}
}

/* False: quit. */
static bool top_obey_key(top_t *top, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case 4: /* Ctrl-D */ return false;
	case 'p':
	case ' ': top->paused = !top->paused; break;
	case 's':
		top->view.order = (top->view.order + 1) % TOP_ORDERS;
		top_sort(&top->rates, top->view.order);
		break;
	case '+': top_change_interval(top, 2); break;
	case '-': top_change_interval(top, 0.5); break;
	case 'r': top->view.history_count = 0; break;
	case 'h':
	case '?': top->view.help = !top->view.help; break;
	default: break;
	}
	return true;
}

/* ---- Run ---- */

static uint64_t top_interval_ns(const top_t *top)
{
	return (uint64_t)(top->view.interval_s * NS_PER_S);
}

/* Wait until the next sample is due; on a screen obey keys meanwhile. False: end. */
static bool top_wait_until(top_t *top, uint64_t start_ns, bool screen)
{
	while (true) {
		uint64_t now = sys_clock_ns(), due = start_ns + top_interval_ns(top);
		int ms = now >= due ? 0 : (int)((due - now + 999999) / 1000000);
		terminal_event_t event = terminal_wait(ms);
		if (event == TERMINAL_END || (event == TERMINAL_KEY && !top_obey_key(top, terminal_key()))) {
			return false;
		}
		if (event == TERMINAL_TIMEOUT && sys_clock_ns() >= due && !top->paused) {
			return true;
		}
		if (event == TERMINAL_TIMEOUT && top->paused) {
			start_ns = sys_clock_ns();
		} else if (screen && event != TERMINAL_TIMEOUT) {
			top_draw_screen(top);
		}
	}
}

/* True: there are new rates. */
static bool top_make_step(top_t *top)
{
	if (!top_take_sample(top)) {
		return false;
	}
	top_sort(&top->rates, top->view.order);
	if (top->sample_count < 2) {
		return false;
	}
	top->count++;
	top_remember_rate(top);
	return true;
}

/* Run until a key, a signal or the number of samples ends it. False: no answer, top->error says why. */
static bool top_run_loop(top_t *top, bool screen)
{
	uint64_t start_ns = sys_clock_ns();
	if (screen) {
		top_draw_screen(top);
	}
	while (top_wait_until(top, start_ns, screen)) {
		start_ns = sys_clock_ns();
		bool is_new = top_make_step(top);
		if (top->error[0] != '\0' && !screen) {
			return false;
		}
		if (screen) {
			top_draw_screen(top);
		} else if (is_new) {
			top_print_sample(top);
		}
		if (ferror(stdout) || (is_new && top->count_max > 0 && top->count >= top->count_max)) {
			break;
		}
	}
	return !ferror(stdout);
}

/* Input and output are a terminal that can be drawn on. */
static bool top_has_screen(const params_t *params)
{
	const char *kind = getenv("TERM");
	return !output_is_json(params->format) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && kind != NULL &&
	       strcmp(kind, "dumb") != 0;
}

bool knotc_top(const params_t *params, const action_t *action, const request_t *request)
{
	char path[KNOTC_PATH_MAX];
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_CMD] = action->name };
	top_t top = {
		.params = *params,
		.request = { .units = &unit, .count = 1 },
		.view = { .program = "knotc top " PACKAGE_VERSION, .socket = path, .interval_s = 1 },
	};
	top.view.history = top.history;
	bool screen = top_has_screen(params);
	top.count_max = screen ? 0 : 1;
	if (!top_read_arguments((const knot_ctl_data_t *)&request->units[0], &top)) {
		return false;
	}
	/*
	 * A server that doesn't know the command (Knot DNS) doesn't answer, and keys and signals are not read while
	 * an answer is awaited. Without this short limit you couldn't end the program.
	 */
	if (!params->timeout_given || params->timeout_ms == 0 || params->timeout_ms > TIMEOUT_MS) {
		top.params.timeout_given = true;
		top.params.timeout_ms = TIMEOUT_MS;
	}
	/* Read the configuration once, and find out if there is a server before the screen is drawn. */
	if (!knotc_socket(params, path, top.error)) {
		return top_report_error(top.error, NULL);
	}
	top.params.socket = path;
	bool is_good = top_take_sample(&top);
	if (is_good) {
		terminal_enter(screen);
		is_good = top_run_loop(&top, screen);
		terminal_leave();
	}
	if (!is_good && top.error[0] != '\0') {
		(void)top_report_error(top.error, NULL);
	}
	top_disconnect(&top);
	top_rates_free(&top.rates);
	top_sample_free(&top.samples[0]);
	top_sample_free(&top.samples[1]);
	return is_good;
}
