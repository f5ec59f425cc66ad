/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of the XDP interfaces. Takes `look` only: a change of interfaces may take seconds. */
#include "src/net/interfaces.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdp/priv.h"

static void divide_levels(kxdp_stats_t *sum, unsigned count)
{
	if (count > 1) {
		sum->tx_busy /= count;
		sum->fq_fill /= count;
		sum->rx_fill /= count;
		sum->tx_fill /= count;
		sum->cq_fill /= count;
	}
}

/* Counters of an interface that never was up aren't worth a line of `stats`. */
static bool was_up(const xdp_interface_t *item)
{
	return item->iface != NULL || item->was_up;
}

size_t interfaces_count(interfaces_t *set)
{
	size_t count = 0;
	sys_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count; i++) {
		count += was_up(set->items[i]);
	}
	sys_mutex_unlock(&set->look);
	return count;
}

static void sum_stats(const xdp_interface_t *item, net_xdp_stats_t *ret_stats)
{
	net_xdp_stats_t sum = { .queue_count = 0 };
	snprintf(sum.ifname, sizeof(sum.ifname), "%s", item->want.ifname);
	for (unsigned q = 0; q < item->past_count; q++) {
		kxdp_stats_add(&sum.stats, &item->past[q].stats);
	}
	for (unsigned q = 0; q < item->lane_max; q++) {
		if (item->lanes[q].queue != NULL) {
			kxdp_stats_t part;
			kxdp_queue_stats(item->lanes[q].queue, &part);
			kxdp_stats_add(&sum.stats, &part);
			sum.queue_count++;
		}
	}
	divide_levels(&sum.stats, sum.queue_count);
	*ret_stats = sum;
}

bool interfaces_stats(interfaces_t *set, size_t index, net_xdp_stats_t *ret_stats)
{
	bool is_there = false;
	sys_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count && !is_there; i++) {
		if (was_up(set->items[i]) && index-- == 0) {
			sum_stats(set->items[i], ret_stats);
			is_there = true;
		}
	}
	sys_mutex_unlock(&set->look);
	return is_there;
}

/* Packets come to queues without a socket, too: the kernel program counts them. */
static bool is_used(const net_xdp_queue_status_t *status)
{
	bool used = status->is_open;
	for (size_t i = 0; i < status->filter_count; i++) {
		used |= status->filter[i].packets > 0;
	}
	return used;
}

static void add_past(const xdp_past_t *past, net_xdp_queue_status_t *status)
{
	kxdp_stats_add(&status->stats, &past->stats);
	kxdp_tcp_stats_add(&status->tcp, &past->tcp);
	status->has_tcp |= past->has_tcp;
	status->lost = past->lost;
	for (size_t i = 0; i < status->filter_count; i++) {
		status->filter[i].packets += past->filter[i];
	}
}

static void fill_queue(const xdp_interface_t *item, unsigned queue, net_xdp_queue_status_t *status)
{
	*status = (net_xdp_queue_status_t){ .index = queue, .cpu = -1 };
	const bool is_there = queue < item->lane_max;
	status->filter_count = kxdp_iface_filter_counts(
			is_there ? item->iface : NULL, queue, status->filter, KNOT_LEN(status->filter));
	const xdp_lane_t *lane = is_there ? &item->lanes[queue] : NULL;
	if (lane != NULL && lane->worker != NULL) {
		status->is_open = true;
		status->ring_size = item->want.ring_size;
		status->cpu = lane->worker->thread.cpu;
		kxdp_queue_stats(lane->queue, &status->stats);
		status->has_tcp = xdp_worker_tcp_stats(lane->worker, &status->tcp);
	}
	status->is_past = !is_used(status);
	add_past(&item->past[queue], status);
}

static bool fill_interface(const xdp_interface_t *item, net_xdp_iface_status_t *status)
{
	const xdp_want_t *want = &item->want;
	*status = (net_xdp_iface_status_t){
		.ifindex = item->device.index,
		.mtu = item->device.index != 0 ? item->device.mtu : 0,
		.link_up = item->device.index != 0 && item->device.is_up,
		.state = item->state,
		.udp = want->udp,
		.tcp = want->tcp,
		.route_check = want->route_check,
	};
	_Static_assert(sizeof(status->driver) == sizeof(item->device.driver), "copied as a whole");
	_Static_assert(sizeof(status->listen) == sizeof(want->text), "copied as a whole");
	memcpy(status->ifname, want->ifname, sizeof(status->ifname));
	memcpy(status->driver, item->device.driver, sizeof(status->driver));
	memcpy(status->reason, item->fault.text, sizeof(status->reason));
	memcpy(status->listen, want->text, sizeof(status->listen));
	if (item->iface != NULL) {
		snprintf(status->mode, sizeof(status->mode), "%s", kxdp_iface_mode_text(item->iface));
	}
	assert(item->past_count >= item->lane_max);
	status->queues = calloc(item->past_count + 1, sizeof(*status->queues));
	if (status->queues == NULL) {
		return false;
	}
	for (unsigned q = 0; q < item->past_count; q++) {
		net_xdp_queue_status_t *queue = &status->queues[status->queue_count];
		fill_queue(item, q, queue);
		status->queue_count += is_used(queue) || item->past[q].was_open;
	}
	return true;
}

knot_err_t interfaces_status(interfaces_t *set, net_xdp_status_t **ret_status)
{
	net_xdp_status_t *status = calloc(1, sizeof(*status));
	if (status == NULL) {
		return KNOT_ENOMEM;
	}
	status->helper_alive = set->shared->priv != NULL && kxdp_priv_alive(set->shared->priv);
	sys_mutex_lock(&set->look);
	status->worker_count = atomic_load_explicit(&set->worker_count, memory_order_relaxed);
	status->ifaces = calloc(set->count + 1, sizeof(*status->ifaces));
	bool is_whole = status->ifaces != NULL;
	for (size_t i = 0; i < set->count && is_whole; i++) {
		is_whole = fill_interface(set->items[i], &status->ifaces[status->count++]);
	}
	sys_mutex_unlock(&set->look);
	if (!is_whole) {
		net_xdp_status_free(status);
		return KNOT_ENOMEM;
	}
	*ret_status = status;
	return KNOT_OK;
}

void net_xdp_status_free(net_xdp_status_t *take_status)
{
	if (take_status != NULL) {
		for (size_t i = 0; take_status->ifaces != NULL && i < take_status->count; i++) {
			free(take_status->ifaces[i].queues);
		}
		free(take_status->ifaces);
		free(take_status);
	}
}
