/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/xdp_sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { QUEUES = 2 };

/* Two queues whose packets are all accounted for: 100 + 10 × queue received, one in most rows. */
static void fill(net_xdp_queue_status_t *queue, unsigned index)
{
	static const kxdp_filter_count_t filter[] = {
		{ "received", "all", 0 },
		{ "redirected-udp4", "", 0 },
		{ "redirected-tcp4", "", 0 },
		{ "passed-other-port", "", 7 },
		{ "dropped-blocked", "", 5 },
	};
	*queue = (net_xdp_queue_status_t){ .index = index, .has_tcp = true, .filter_count = KNOT_LEN(filter) };
	memcpy(queue->filter, filter, sizeof(filter));
	kxdp_stats_t *stats = &queue->stats;
	stats->rx_full = 3;
	stats->rx_dropped = 2;
	stats->rx_fill = 4;
	stats->received[KXDP_BAD_LENGTH] = 6;
	stats->received[KXDP_PARTIAL_CHECKSUM] = stats->of[KXDP_UDP4].received[KXDP_PARTIAL_CHECKSUM] = 8;
	stats->of[KXDP_UDP4].received[KXDP_OK] = 30 + 10 * index;
	stats->of[KXDP_UDP4].replied = 20;
	stats->of[KXDP_UDP4].relayed = 2;
	stats->of[KXDP_UDP4].by_kernel = 1;
	stats->of[KXDP_UDP4].tx_full = 1;
	stats->of[KXDP_UDP4].kernel_failed = 1;
	stats->of[KXDP_TCP4].received[KXDP_OK] = 35;
	stats->of[KXDP_UDP4].send_full = 7; /* replies that other queues handed over */
	stats->of[KXDP_TCP4].sent = 99;     /* segments of ours are no fates of packets that came */
	queue->tcp = (kxdp_tcp_stats_t){ .dropped_unknown = 4, .dropped_limit = 1, .clients = 5 };
	queue->filter[0].packets = 100 + 10 * index;
	queue->filter[1].packets = 3 + 2 + 4 + 6 + 8 + 30 + 10 * index;
	queue->filter[2].packets = 35;
}

static uint64_t sum_of(const xdp_sheet_t *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->row_count; i++) {
		if (strcmp(sheet->rows[i].name, name) == 0) {
			return xdp_sheet_sum(sheet, &sheet->rows[i]);
		}
	}
	fail_msg("no row %s", name);
	return 0;
}

static void every_packet_in_one_row(void **state)
{
	(void)state;
	net_xdp_queue_status_t queues[QUEUES];
	net_xdp_iface_status_t iface = { .ifname = "a", .tcp = true, .queues = queues, .queue_count = QUEUES };
	for (unsigned i = 0; i < QUEUES; i++) {
		fill(&queues[i], i);
	}
	/* Partial checksums are answered on virtual links, and refused elsewhere. */
	for (int is_virtual = 0; is_virtual <= 1; is_virtual++) {
		queues[0].filter[0].packets = queues[1].filter[0].packets - 10;
		iface.tcp = is_virtual; /* switched off, the stack is still there */
		xdp_sheet_t sheet;
		assert_int_equal(xdp_sheet_make(&iface, is_virtual, &sheet), KNOT_OK);
		assert_int_equal(xdp_sheet_difference(&sheet, 0), 0);
		assert_int_equal(xdp_sheet_difference(&sheet, 1), 0);
		assert_int_equal(sum_of(&sheet, "received"), 210);
		assert_int_equal(sum_of(&sheet, "answered-udp4"), 46);
		assert_int_equal(sum_of(&sheet, "no-reply"), 5 + 15 + (is_virtual ? 16 : 0));
		assert_int_equal(sum_of(&sheet, "dropped-partial-checksum"), is_virtual ? 0 : 16);
		assert_int_equal(sum_of(&sheet, "taken-tcp"), 60);
		assert_int_equal(sum_of(&sheet, "dropped-tcp-unknown"), 8);
		assert_int_equal(sum_of(&sheet, "passed-other-port"), 14);
		assert_int_equal(sum_of(&sheet, "tcp-clients"), 10);
		xdp_sheet_free(&sheet);
		/* A packet more that nothing accounts for; one fate too many. */
		queues[0].filter[0].packets++;
		queues[1].stats.rx_full++;
		assert_int_equal(xdp_sheet_make(&iface, is_virtual, &sheet), KNOT_OK);
		assert_int_equal(xdp_sheet_difference(&sheet, 0), 1);
		assert_int_equal(xdp_sheet_difference(&sheet, 1), -1);
		xdp_sheet_free(&sheet);
		queues[1].stats.rx_full--;
	}
}

/* A row's name says its group, and no two are alike: clients make keys of them. */
static void names(void **state)
{
	(void)state;
	net_xdp_queue_status_t queue;
	fill(&queue, 0);
	net_xdp_iface_status_t iface = { .ifname = "a", .tcp = true, .queues = &queue, .queue_count = 1 };
	xdp_sheet_t sheet;
	assert_int_equal(xdp_sheet_make(&iface, true, &sheet), KNOT_OK);
	for (size_t i = 0; i < sheet.row_count; i++) {
		const char *name = sheet.rows[i].name;
		size_t len = strlen(sheet.rows[i].group);
		assert_memory_equal(name, sheet.rows[i].group, len);
		assert_true(name[len] == '\0' || name[len] == '-');
		assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name));
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(name, sheet.rows[j].name);
		}
	}
	xdp_sheet_free(&sheet);
}

static void without_queues_or_tcp(void **state)
{
	(void)state;
	net_xdp_iface_status_t iface = { .ifname = "a" };
	xdp_sheet_t sheet;
	assert_int_equal(xdp_sheet_make(&iface, false, &sheet), KNOT_OK);
	assert_int_equal(sum_of(&sheet, "no-reply"), 0);
	for (size_t i = 0; i < sheet.row_count; i++) {
		assert_string_not_equal(sheet.rows[i].group, "tcp");
	}
	xdp_sheet_free(&sheet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_packet_in_one_row),
		cmocka_unit_test(names),
		cmocka_unit_test(without_queues_or_tcp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
