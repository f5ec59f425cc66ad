/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libknot/base/bytes.h"

static void write_all(metrics_text_t *text)
{
	static const metrics_family_t requests = { "test_requests", METRICS_COUNTER, NULL,
		"Say \"what\" \\ was asked\nfor" },
				      size = { "test_size_bytes", METRICS_GAUGE, "bytes", "Size" },
				      build = { "test_build", METRICS_INFO, NULL, "Build" },
				      time = { "test_time_seconds", METRICS_HISTOGRAM, "seconds", "Time" };
	const metrics_label_t labels[METRICS_LABELS_MAX] = { { "zone", "a\\.b\"c\n." }, { "type", "" } };
	metrics_family(text, &requests);
	metrics_sample(text, labels, UINT64_MAX);
	metrics_family(text, &size);
	metrics_sample(text, NULL, 5);
	metrics_sample_real(text, NULL, 0.1);
	metrics_sample_real(text, NULL, 3);
	metrics_sample_real(text, NULL, 1e300);
	metrics_family(text, &build);
	metrics_sample(text, (const metrics_label_t[METRICS_LABELS_MAX]){ { "version", "1" } }, 1);
	metrics_family(text, &time);
	const metrics_label_t udp[METRICS_LABELS_MAX] = { { "protocol", "udp4" } };
	metrics_bucket(text, udp, 1.024e-06, 1);
	metrics_bucket(text, udp, INFINITY, 2);
	metrics_histogram_end(text, udp, 2, 0.25);
	metrics_end(text);
}

static void expect(metrics_format_t format, const char *want)
{
	metrics_text_t text = { .format = format };
	write_all(&text);
	assert_false(text.failed);
	assert_int_equal(text.len, strlen(want));
	assert_memory_equal(text.data, want, text.len);
	metrics_text_done(&text);
	assert_null(text.data);
}

#define SAMPLES "test_requests_total{zone=\"a\\\\.b\\\"c\\n.\",type=\"\"} 18446744073709551615\n"

#define SIZES "test_size_bytes 5\ntest_size_bytes 0.1\ntest_size_bytes 3.0\ntest_size_bytes 1e+300\n"

#define TIMES                                                                                                          \
	"test_time_seconds_bucket{protocol=\"udp4\",le=\"1.024e-06\"} 1\n"                                             \
	"test_time_seconds_bucket{protocol=\"udp4\",le=\"+Inf\"} 2\n"                                                  \
	"test_time_seconds_count{protocol=\"udp4\"} 2\ntest_time_seconds_sum{protocol=\"udp4\"} 0.25\n"

static void test_openmetrics(void **state)
{
	(void)state;
	expect(METRICS_OPENMETRICS,
			"# TYPE test_requests counter\n# HELP test_requests Say \\\"what\\\" \\\\ was "
			"asked\\nfor\n" SAMPLES "# TYPE test_size_bytes gauge\n# UNIT test_size_bytes bytes\n# HELP "
			"test_size_bytes Size\n" SIZES
			"# TYPE test_build info\n# HELP test_build Build\ntest_build_info{version=\"1\"} 1\n"
			"# TYPE test_time_seconds histogram\n# UNIT test_time_seconds seconds\n# HELP "
			"test_time_seconds Time\n" TIMES "# EOF\n");
}

static void test_prometheus(void **state)
{
	(void)state;
	expect(METRICS_PROMETHEUS,
			"# TYPE test_requests_total counter\n# HELP test_requests_total Say \"what\" \\\\ was "
			"asked\\nfor\n" SAMPLES "# TYPE test_size_bytes gauge\n# HELP test_size_bytes Size\n" SIZES
			"# TYPE test_build_info gauge\n# HELP test_build_info Build\ntest_build_info{version=\"1\"} 1\n"
			"# TYPE test_time_seconds histogram\n# HELP test_time_seconds Time\n" TIMES);
}

static const struct {
	const char *what, *accept;
	metrics_format_t want;
} accept_rows[] = {
	{ "no header", NULL, METRICS_PROMETHEUS },
	{ "an empty one", "", METRICS_PROMETHEUS },
	{ "curl, a browser", "*/*", METRICS_PROMETHEUS },
	{ "Prometheus 2.42",
			"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
			"text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			METRICS_OPENMETRICS },
	{ "an equal quality", "text/plain, application/openmetrics-text", METRICS_OPENMETRICS },
	{ "a better text", "text/plain;q=0.9, application/openmetrics-text; version=1.0.0; q=0.5", METRICS_PROMETHEUS },
	{ "quality 0 is a refusal", "application/openmetrics-text;q=0", METRICS_PROMETHEUS },
	{ "a quality that is none", "application/openmetrics-text;q=x", METRICS_PROMETHEUS },
	{ "any case", "Application/OpenMetrics-Text", METRICS_OPENMETRICS },
	{ "a longer name", "application/openmetrics-texts", METRICS_PROMETHEUS },
	{ "odd commas", ",,  ,application/openmetrics-text,,", METRICS_OPENMETRICS },
	{ "a cut parameter", "application/openmetrics-text;", METRICS_OPENMETRICS },
};

static void test_negotiation(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(accept_rows); i++) {
		if (metrics_negotiate(accept_rows[i].accept) != accept_rows[i].want) {
			fail_msg("%s", accept_rows[i].what);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_prometheus),
		cmocka_unit_test(test_negotiation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
