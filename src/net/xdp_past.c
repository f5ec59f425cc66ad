/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What queues had counted before they were closed. Sockets, workers and kernel programs take their counters with them;
 * these are added here, queue by queue, so that no counter ever goes back. Holding `change`.
 */
#include "src/net/interfaces.h"

#include <assert.h>
#include <stdlib.h>

#include "xdp/bpf/abi.h"

_Static_assert((int)FILTER_COUNT_ROWS <= (int)NET_FILTER_COUNTS_MAX, "all rows of the kernel program");

knot_err_t xdp_past_reserve(interfaces_t *set, xdp_interface_t *item, unsigned count)
{
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&set->look);
	if (count > item->past_count) {
		xdp_past_t *past = realloc(item->past, count * sizeof(*past));
		err = past != NULL ? KNOT_OK : KNOT_ENOMEM;
		if (err == KNOT_OK) {
			for (unsigned q = item->past_count; q < count; q++) {
				past[q] = (xdp_past_t){ .was_open = false };
			}
			item->past = past;
			item->past_count = count;
		}
	}
	sys_mutex_unlock(&set->look);
	return err;
}

/* The worker has ended, the queue is open still. */
void xdp_past_add_lane(xdp_past_t *past, const xdp_lane_t *lane)
{
	kxdp_stats_t last;
	kxdp_queue_stats(lane->queue, &last);
	last.tx_busy = last.fq_fill = last.rx_fill = last.tx_fill = last.cq_fill = 0;
	kxdp_stats_add(&past->stats, &last);
	past->was_open = true;
	kxdp_tcp_stats_t tcp;
	if (xdp_worker_tcp_stats(lane->worker, &tcp)) {
		kxdp_tcp_stats_add(&past->tcp, &tcp);
		past->has_tcp = true;
	}
}

void xdp_past_add_program(xdp_past_t *past, const kxdp_iface_t *iface, unsigned queue)
{
	kxdp_filter_count_t counts[NET_FILTER_COUNTS_MAX];
	size_t count = kxdp_iface_filter_counts(iface, queue, counts, KNOT_LEN(counts));
	for (size_t i = 0; i < count; i++) {
		past->filter[i] += counts[i].packets;
	}
}

/*
 * Nothing is under way to a queue that was closed: what the program sent there, and the queue hasn't counted, was in
 * the receive ring and is lost.
 */
void xdp_past_count_lost(xdp_past_t *past, const kxdp_iface_t *iface, unsigned queue)
{
	static const enum filter_count redirected[] = { FILTER_UDP4, FILTER_UDP6, FILTER_TCP4, FILTER_TCP6 };
	kxdp_filter_count_t counts[NET_FILTER_COUNTS_MAX];
	(void)kxdp_iface_filter_counts(iface, queue, counts, KNOT_LEN(counts));
	uint64_t sent = 0, seen = past->stats.rx_full + past->stats.rx_dropped;
	for (size_t i = 0; i < KNOT_LEN(redirected); i++) {
		sent += past->filter[redirected[i]] + counts[redirected[i]].packets;
	}
	for (size_t i = 0; i < KXDP_VERDICT_COUNT; i++) {
		seen += past->stats.received[i];
	}
	past->lost = sent > seen && sent - seen > past->lost ? sent - seen : past->lost;
}
