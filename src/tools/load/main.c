/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kxdpgun: a DNS load generator that counts, matches, times and verifies; see doc/man/kxdpgun.8 and doc/adr/0068.
 */
#include "src/sys/file.h"
#include "src/tools/load/report.h"
#include "src/tools/load/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { WATCH_MS = 20 };

static int main_open_signals(bool for_screen)
{
	sigset_t wanted;
	if (for_screen && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)) {
		return -1;
	}
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Signals that have come. */
static void main_take_signals(int fd, gun_t *gun, report_sample_t *sample)
{
	struct signalfd_siginfo info;
	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			report_take(gun, sample);
			report_stats(gun, sample, REPORT_SO_FAR, stdout);
		} else {
			gun_stop(gun);
		}
	}
}

typedef struct {
	report_sample_t now, before, difference;
	report_sample_t screen[3];
} main_samples_t;

static void main_report_period(gun_t *gun, main_samples_t *s, uint64_t *io_next_ns)
{
	const uint64_t period_ns = (uint64_t)gun->options->stats_ms * 1000000;
	if (period_ns == 0 || gun_now(gun) < *io_next_ns) {
		return;
	}
	report_take(gun, &s->now);
	report_difference(*io_next_ns > period_ns ? &s->before : NULL, &s->now, &s->difference);
	report_stats(gun, &s->difference, REPORT_PERIODIC, stdout);
	s->before = s->now;
	*io_next_ns += period_ns;
}

static void main_watch(gun_t *gun, int signals_fd, main_samples_t *s)
{
	uint64_t next_ns = (uint64_t)gun->options->stats_ms * 1000000;
	while (!gun_is_over(gun)) {
		struct pollfd pfd = { .fd = signals_fd, .events = POLLIN };
		if (poll(&pfd, 1, WATCH_MS) > 0) {
			main_take_signals(signals_fd, gun, &s->now);
		}
		main_report_period(gun, s, &next_ns);
	}
}

/* What made threads end early is no success. */
static bool main_say_errors(const gun_t *gun)
{
	bool is_good = true;
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const lane_t *lane = &gun->lanes[i];
		if (lane->error[0] != '\0') {
			fprintf(stderr, "error: thread %u ended early (%s)\n", i, lane->error);
			is_good = false;
		}
	}
	return is_good;
}

static bool main_report(const gun_t *gun, main_samples_t *s)
{
	report_threads(gun, stdout);
	report_take(gun, &s->now);
	report_stats(gun, &s->now, REPORT_SUM, stdout);
	if (gun->options->has_ramp) {
		report_ramp(gun, stdout);
	}
	report_wrong(gun, stdout);
	bool is_good = main_say_errors(gun);
	is_good &= gun->options->latency_file == NULL ||
		   report_latency_file(gun->options->latency_file, &s->now.latency);
	return sys_file_end_output() && is_good;
}

static bool main_run(const options_t *options)
{
	gun_t gun = { .options = options };
	main_samples_t *samples = calloc(1, sizeof(*samples));
	int signals_fd = main_open_signals(options->top);
	bool is_good = samples != NULL && gun_open(&gun, options);
	if (is_good) {
		report_header(&gun, stdout);
		fflush(stdout);
		is_good = gun_start(&gun);
		/* The screen takes signals itself; without a terminal there is none. */
		if (is_good && !(options->top && screen_run(&gun, samples->screen))) {
			main_watch(&gun, signals_fd, samples);
		}
		gun_join(&gun);
		is_good = is_good && main_report(&gun, samples);
	}
	gun_close(&gun);
	free(samples);
	if (signals_fd >= 0) {
		close(signals_fd);
	}
	return is_good;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	options_t options;
	options_verdict_t verdict = options_parse(argc, argv, &options);
	bool is_good = verdict == OPTIONS_DONE || (verdict == OPTIONS_RUN && main_run(&options));
	options_free(&options);
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
