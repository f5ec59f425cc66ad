/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
	const char *what;
	uint32_t clients;
	uint64_t buffer;
	size_t workers;
	uint32_t want_clients, want_source, want_half_open;
	uint64_t want_buffer_min, want_buffer_max;
} rows[] = {
	{ "defaults, one worker", 1000000, 100 << 20, 1, 1000000, 125000, 125000, 100 << 20, 100 << 20 },
	{ "divided by workers", 1000000, 100 << 20, 10, 100000, 12500, 12500, 10 << 20, 10 << 20 },
	{ "least of the configuration", 1024, 1 << 20, 1, 1024, 512, 128, 1 << 20, 1 << 20 },
	{ "a small table keeps room for one busy source", 4096, 1 << 20, 1, 4096, 1024, 512, 1 << 20, 1 << 20 },
	{ "many workers: the largest message still fits", 1024, 1 << 20, 1000, 16, 8, 16, 2 * 65537, 1 << 20 },
};

static void test_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const conf_xdp_t conf = {
			.tcp = true,
			.tcp_max_clients = rows[i].clients,
			.tcp_inbuf_max_size = rows[i].buffer,
			.tcp_outbuf_max_size = rows[i].buffer,
			.tcp_idle_close_timeout_s = 10,
			.tcp_idle_reset_timeout_s = 4294,
			.tcp_resend_timeout_s = 5,
		};
		kxdp_tcp_limits_t limits = xdp_tcp_limits(&conf, rows[i].workers, 1500);
		if (limits.clients_max != rows[i].want_clients || limits.per_source_max != rows[i].want_source ||
				limits.half_open_max != rows[i].want_half_open ||
				limits.outbuf_max < rows[i].want_buffer_min ||
				limits.outbuf_max > rows[i].want_buffer_max ||
				limits.inbuf_max < rows[i].want_buffer_min ||
				limits.inbuf_max > rows[i].want_buffer_max) {
			fail_msg("%s: clients %u, per source %u, half open %u, buffers %llu and %llu", rows[i].what,
					limits.clients_max, limits.per_source_max, limits.half_open_max,
					(unsigned long long)limits.inbuf_max, (unsigned long long)limits.outbuf_max);
		}
		assert_int_equal(limits.idle_close_us, 10000000);
		assert_int_equal(limits.idle_reset_us, 4294000000); /* more than 32 bits would hold in the end */
		assert_int_equal(limits.resend_us, 5000000);
		assert_int_equal(limits.mtu, 1500);
		assert_true(limits.resets_max > 0);
		/* One source: room for the longest message, never more than half. */
		assert_in_range(limits.out_source_max, 2 * 65537, limits.outbuf_max / 2);
		assert_in_range(limits.in_source_max, 131072, limits.inbuf_max / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
