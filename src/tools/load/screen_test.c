/* SPDX-License-Identifier: BSD-2-Clause */
/* The live screen at every size: lines are never longer than the terminal, and show what was counted. */
#include "src/tools/load/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static report_sample_t total, period;
static const double history[] = { 1, 5, 3, 0, 9 };
static const screen_view_t view = { .title = "kxdpgun",
	.target = "192.0.2.1@53 UDP",
	.target_rate = 1000,
	.duration_s = 10,
	.history = history,
	.history_count = 5 };

static char *drawn(unsigned width, unsigned height, bool unicode)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	const screen_terminal_t terminal = { width, height, false, unicode };
	assert_true(screen_draw(&view, &total, &period, &terminal, out));
	fclose(out);
	return text;
}

static int set_up(void **state)
{
	(void)state;
	memset(&total, 0, sizeof(total));
	memset(&period, 0, sizeof(period));
	total.counts = (worker_counts_t){ .sent = 5000, .replies = 4900, .matched = 4321, .duplicate = 2, .wrong = 77 };
	total.counts.rcodes[0] = 4000;
	total.counts.rcodes[3] = 900;
	period.counts = (worker_counts_t){ .sent = 1000, .replies = 987, .matched = 900 };
	period.counts.rcodes[0] = 800;
	period.since_ns = 4000000000;
	total.until_ns = period.until_ns = 5000000000;
	for (uint64_t i = 1; i <= 100; i++) {
		histogram_add(&total.latency, i * 1000000);
		histogram_add(&period.latency, i * 1000);
	}
	return 0;
}

static void test_sizes(void **state)
{
	(void)state;
	for (unsigned width = 1; width < 170; width += 1 + width / 9) {
		for (unsigned height = 2; height < 60; height += 1 + height / 9) {
			char *text = drawn(width, height, false);
			unsigned lines = 0;
			char *saved = NULL;
			for (char *line = strtok_r(text, "\r\n", &saved); line != NULL;
					line = strtok_r(NULL, "\r\n", &saved)) {
				char *end = strstr(line, "\x1B[K");
				assert_non_null(end);
				assert_true((size_t)(end - line) <= width);
				lines++;
			}
			assert_int_equal(lines, height);
			free(text);
		}
	}
}

static void test_contents(void **state)
{
	(void)state;
	static const char *const words[] = { "192.0.2.1@53 UDP", "5 of 10 s", "4,321", "lost", "679", "wrong", "77",
		"NXDOMAIN", "p99.99", "max", "100 ms", "987", "q end the load" };
	for (unsigned unicode = 0; unicode < 2; unicode++) {
		char *text = drawn(110, 40, unicode);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (strstr(text, words[i]) == NULL) {
				fail_msg("no '%s' in:\n%s", words[i], text);
			}
		}
		assert_null(strstr(text, "malformed")); /* never seen: not shown */
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sizes, set_up),
		cmocka_unit_test_setup(test_contents, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
