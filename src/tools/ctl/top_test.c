/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/top_screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* "panel sub key data": "-" stands for nothing. */
static void add(top_sample_t *sample, const char *line)
{
	char text[128], *word[4] = { NULL }, *rest = NULL;
	snprintf(text, sizeof(text), "%s", line);
	for (size_t i = 0; i < 4; i++) {
		word[i] = strtok_r(i == 0 ? text : NULL, " ", &rest);
		word[i] = word[i] != NULL && strcmp(word[i], "-") == 0 ? NULL : word[i];
	}
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_SECTION] = word[0],
		[KNOT_CTL_IDX_ITEM] = word[1],
		[KNOT_CTL_IDX_ID] = word[2],
		[KNOT_CTL_IDX_DATA] = word[3],
	};
	top_sample_add(sample, (const knot_ctl_data_t *)&unit);
}

static const char *const first[] = {
	"time - - 1000000000",
	"server - version 1.0",
	"protocol - udp4 100",
	"protocol - tcp4 50",
	"rcode - NOERROR 100",
	"rcode - NXDOMAIN 50",
	"queue eth0 0 10",
	"latency udp4 1024 0",
	"latency udp4 2048 5",
	"latency udp4 inf 0",
};
/* Two seconds later; tcp4 went back, so it counts from zero. Buckets come in any order. */
static const char *const second[] = {
	"time - - 3000000000",
	"server - version 1.0",
	"protocol - tcp4 20",
	"protocol - udp4 300",
	"rcode - NOERROR 300",
	"rcode - NXDOMAIN 150",
	"type - A 40",
	"type - AAAA 60",
	"zone - b. 10",
	"zone - a. 10",
	"queue eth0 0 30",
	"queue eth1 0 20",
	"latency udp4 inf 1",
	"latency udp4 2048 95",
	"latency udp4 1024 10",
	"drops - malformed 4",
	"nonsense - x 5",
	"time - - -",
};

typedef struct {
	top_sample_t before, after;
	top_rates_t rates;
} made_t;

static int make(void **state)
{
	made_t *made = calloc(1, sizeof(*made));
	assert_non_null(made);
	for (size_t i = 0; i < KNOT_LEN(first); i++) {
		add(&made->before, first[i]);
	}
	for (size_t i = 0; i < KNOT_LEN(second); i++) {
		add(&made->after, second[i]);
	}
	top_rates(&made->before, &made->after, &made->rates);
	*state = made;
	return 0;
}

static int done(void **state)
{
	made_t *made = *state;
	top_rates_free(&made->rates);
	top_sample_free(&made->before);
	top_sample_free(&made->after);
	free(made);
	return 0;
}

static const top_row_t *row(const made_t *made, top_panel_t panel, const char *sub, const char *key)
{
	for (size_t i = 0; i < made->rates.panels[panel].count; i++) {
		const top_row_t *found = &made->rates.panels[panel].rows[i];
		if (strcmp(found->key, key) == 0 && strcmp(found->sub, sub) == 0) {
			return found;
		}
	}
	fail_msg("no %s %s", sub, key);
	return NULL;
}

static void rates_between_samples(void **state)
{
	made_t *made = *state;
	static const struct {
		top_panel_t panel;
		const char *sub, *key;
		double rate;
		uint64_t total;
	} want[] = {
		{ TOP_PROTOCOL, "", "udp4", 100, 300 },
		{ TOP_PROTOCOL, "", "tcp4", 10, 20 }, /* went back: all of them are new */
		{ TOP_RCODE, "", "NXDOMAIN", 50, 150 },
		{ TOP_TYPE, "", "A", 20, 40 }, /* counted since the last look already */
		{ TOP_ZONE, "", "a.", 5, 10 },
		{ TOP_QUEUE, "eth0", "0", 10, 30 },
		{ TOP_QUEUE, "eth1", "0", 10, 20 }, /* a new one */
		{ TOP_DROPS, "", "malformed", 2, 4 },
	};
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		const top_row_t *got = row(made, want[i].panel, want[i].sub, want[i].key);
		assert_true(got->rate == want[i].rate);
		assert_int_equal(got->total, want[i].total);
	}
	assert_true(made->rates.seconds == 2);
	assert_true(made->rates.queries == 110);
	assert_int_equal(made->rates.total, 320);
	assert_true(row(made, TOP_TYPE, "", "AAAA")->share == 0.6);
	assert_string_equal(row(made, TOP_SERVER, "", "version")->text, "1.0");
}

/* 10 up to 1024 ns, none up to 1536, 90 up to 2048, one beyond: 101 together */
static void quantiles(void **state)
{
	made_t *made = *state;
	assert_int_equal(made->rates.latency_count, 1);
	const top_latency_t *latency = &made->rates.latencies[0];
	assert_string_equal(latency->protocol, "udp4");
	assert_int_equal(latency->total, 106);
	assert_true(latency->rate == 50.5);
	assert_int_equal((int)latency->ns[0], (int)(1536 + 512 * (50.5 - 10) / 90));
	assert_int_equal((int)latency->ns[1], (int)(1536 + 512 * (90.9 - 10) / 90));
	assert_int_equal((int)latency->ns[2], (int)(1536 + 512 * (99.99 - 10) / 90));
	assert_true(latency->ns[3] == -4294967296.0); /* in the bucket without an end */
}

static void no_time_no_rates(void **state)
{
	made_t *made = *state;
	top_rates_free(&made->rates);
	top_rates(&made->after, &made->after, &made->rates);
	assert_true(made->rates.seconds == 0 && made->rates.queries == 0);
	assert_int_equal(made->rates.latency_count, 0);
	assert_true(row(made, TOP_ZONE, "", "a.")->rate == 0);
}

static void orders(void **state)
{
	made_t *made = *state;
	static const struct {
		top_order_t order;
		const char *type, *zone;
	} want[] = { { TOP_BY_RATE, "AAAA", "a." }, { TOP_BY_TOTAL, "AAAA", "a." }, { TOP_BY_NAME, "A", "a." } };
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		top_sort(&made->rates, want[i].order);
		assert_string_equal(made->rates.panels[TOP_TYPE].rows[0].key, want[i].type);
		assert_string_equal(made->rates.panels[TOP_ZONE].rows[0].key, want[i].zone);
		assert_string_equal(made->rates.panels[TOP_PROTOCOL].rows[0].key, "udp4");
		assert_string_equal(made->rates.panels[TOP_QUEUE].rows[0].sub, "eth0");
	}
}

/* ---- What is printed ---- */

static char *screen(const made_t *made, top_terminal_t terminal, top_view_t view)
{
	static const double history[] = { 0, 10, 20, 40 };
	view.program = "knotc top 1";
	view.socket = "/s";
	view.clock = "12:00:00";
	view.interval_s = 2;
	view.history = history;
	view.history_count = KNOT_LEN(history);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	top_screen(&view, &made->rates, &terminal, out);
	fclose(out);
	return text;
}

static void screen_without_colours(void **state)
{
	made_t *made = *state;
	top_sort(&made->rates, TOP_BY_RATE);
	char *text = screen(made, (top_terminal_t){ .width = 60, .height = 24 }, (top_view_t){ .state = "PAUSED" });
	static const char *const want[] = {
		" knotc top 1   /s                      every 2 s   12:00:00 ",
		"",
		"queries/s            110                                   #",
		"peak                  40                                   #",
		"mean                  18                                  ##",
		"all queries          320                                 ###",
		"",
		"PROTOCOL ----------------------------------------- queries/s",
	};
	char *rest = NULL, *line = strtok_r(text, "\r\n", &rest);
	for (size_t i = 0; i < KNOT_LEN(want); i++, line = strtok_r(NULL, "\r\n", &rest)) {
		assert_non_null(line);
		char *end = strstr(line, "\x1B[K");
		assert_non_null(end);
		*end = '\0';
		if (strncmp(line, want[i], strlen(want[i])) != 0) {
			fail_msg("line %zu:\n%s\n%s", i, line, want[i]);
		}
	}
	free(text);
}

/* Every size is filled exactly, nothing is written beyond it: as many lines as wanted, none wider. */
static void screen_sizes(void **state)
{
	made_t *made = *state;
	for (unsigned width = 1; width < 200; width += 7) {
		for (unsigned height = 1; height < 60; height += 3) {
			for (unsigned kind = 0; kind < 4; kind++) {
				top_terminal_t terminal = {
					.width = width, .height = height, .unicode = (kind & 1) != 0
				};
				char *text = screen(made, terminal,
						(top_view_t){ .help = (kind & 2) != 0, .state = "a long state" });
				unsigned lines = 1, cells = 0;
				for (const char *p = text; *p != '\0'; p++) {
					if (strncmp(p, "\x1B[K", 3) == 0) {
						assert_true(cells <= width);
						cells = 0;
						p += 2;
					} else if (*p == '\n') {
						lines++;
					} else if (*p != '\r') {
						cells += ((unsigned char)*p & 0xC0) != 0x80;
						assert_true(terminal.unicode || (unsigned char)*p < 0x80);
					}
				}
				assert_int_equal(lines, height);
				free(text);
			}
		}
	}
}

/* What has no room is said to be cut: a name by its last character, a number never loses digits to the right. */
static void narrow_screens(void **state)
{
	made_t *made = *state;
	add(&made->after, "zone - a-long-name-of-a-zone.with-labels.example. 400000");
	top_rates_free(&made->rates);
	top_rates(&made->before, &made->after, &made->rates);
	made->rates.queries = 4000;
	char *text = screen(made, (top_terminal_t){ .width = 20, .height = 5 }, (top_view_t){ 0 });
	assert_non_null(strstr(text, "queries/s      4,000\x1B[K"));
	free(text);
	text = screen(made, (top_terminal_t){ .width = 40, .height = 50, .unicode = true }, (top_view_t){ 0 });
	assert_non_null(strstr(text, "a-long-name-of-a-…"));
	assert_null(strstr(text, "a-long-name-of-a-zone"));
	free(text);
	text = screen(made, (top_terminal_t){ .width = 40, .height = 50 }, (top_view_t){ 0 });
	assert_non_null(strstr(text, "a-long-name-of-a-~"));
	free(text);
}

static void screen_shows(void **state)
{
	made_t *made = *state;
	char *text = screen(made, (top_terminal_t){ .width = 100, .height = 50, .unicode = true },
			(top_view_t){ .order = TOP_BY_NAME });
	static const char *const wanted[] = {
		"udp4",
		"XDP QUEUE",
		"eth1 0",
		"LATENCY",
		"1.77 µs",
		">4.29 s",
		"NXDOMAIN",
		"malformed",
		"AAAA",
		"60%",
		"█",
		"sort: name",
		"version",
		"1.0",
	};
	for (size_t i = 0; i < KNOT_LEN(wanted); i++) {
		if (strstr(text, wanted[i]) == NULL) {
			fail_msg("no %s in\n%s", wanted[i], text);
		}
	}
	assert_null(strstr(text, "\x1B[0"));
	free(text);
	text = screen(made, (top_terminal_t){ .width = 100, .height = 50, .color = true }, (top_view_t){ 0 });
	assert_non_null(strstr(text, "\x1B[0;1"));
	free(text);
}

/* A name with an escape sequence must not reach the terminal. */
static void hostile_names(void **state)
{
	made_t *made = *state;
	add(&made->after, "zone - \x1B]0;x\x07\xFF\xC2\x9By 100");
	top_rates_free(&made->rates);
	top_rates(&made->before, &made->after, &made->rates);
	char *text = screen(made, (top_terminal_t){ .width = 100, .height = 50, .unicode = true }, (top_view_t){ 0 });
	assert_non_null(strstr(text, "?]0;x???y"));
	free(text);
}

static void text_and_json(void **state)
{
	made_t *made = *state;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	top_text(&made->rates, out);
	fputs("--\n", out);
	top_json(&made->rates, out);
	fclose(out);
	assert_string_equal(text,
			"queries 110.0 320\nserver version 1.0\nprotocol tcp4 10.0 20\nprotocol udp4 100.0 300\nrcode "
			"NOERROR 100.0 300\n"
			"rcode NXDOMAIN 50.0 150\ntype A 20.0 40\ntype AAAA 30.0 60\nzone b. 5.0 10\nzone a. 5.0 10\n"
			"queue eth0/0 10.0 30\nqueue eth1/0 10.0 20\ndrops malformed 2.0 4\n"
			"latency udp4 p50=1766ns p90=1996ns p99=2048ns p99.9=>4294967296ns\n"
			"--\n"
			"{\"seconds\": 2.000, \"queries\": {\"rate\": 110.000, \"total\": 320}, "
			"\"server\": [{\"id\": \"version\", \"data\": \"1.0\"}], "
			"\"protocol\": [{\"id\": \"tcp4\", \"rate\": 10.000, \"total\": 20}, {\"id\": \"udp4\", "
			"\"rate\": 100.000, \"total\": 300}], "
			"\"rcode\": [{\"id\": \"NOERROR\", \"rate\": 100.000, \"total\": 300}, {\"id\": \"NXDOMAIN\", "
			"\"rate\": 50.000, \"total\": 150}], "
			"\"type\": [{\"id\": \"A\", \"rate\": 20.000, \"interval\": 40, \"total\": 40}, "
			"{\"id\": \"AAAA\", \"rate\": 30.000, \"interval\": 60, \"total\": 60}], "
			"\"zone\": [{\"id\": \"b.\", \"rate\": 5.000, \"interval\": 10, \"total\": 10}, "
			"{\"id\": \"a.\", \"rate\": 5.000, \"interval\": 10, \"total\": 10}], "
			"\"queue\": [{\"item\": \"eth0\", \"id\": \"0\", \"rate\": 10.000, \"total\": 30}, "
			"{\"item\": \"eth1\", \"id\": \"0\", \"rate\": 10.000, \"total\": 20}], "
			"\"drops\": [{\"id\": \"malformed\", \"rate\": 2.000, \"total\": 4}], "
			"\"latency\": [{\"id\": \"udp4\", \"rate\": 50.500, \"p50\": 1766, \"p90\": 1996, \"p99\": "
			"2048, "
			"\"p99.9\": 4294967296, \"p99.9-exceeded\": true}]}\n");
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rates_between_samples),
		TEST(quantiles),
		TEST(no_time_no_rates),
		TEST(orders),
		TEST(screen_without_colours),
		TEST(screen_sizes),
		TEST(narrow_screens),
		TEST(screen_shows),
		TEST(hostile_names),
		TEST(text_and_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
