/* SPDX-License-Identifier: BSD-2-Clause */
/* One queue of an XDP interface with its worker. */
#include "src/net/interfaces.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/sys/clock.h"

static bool is_taken(const interfaces_t *set, unsigned number) SYS_REQUIRES(set->change)
{
	for (size_t i = 0; i < set->count; i++) {
		for (unsigned q = 0; q < set->items[i]->lane_max; q++) {
			const xdp_lane_t *lane = &set->items[i]->lanes[q];
			if (lane->worker != NULL && lane->number == number) {
				return true;
			}
		}
	}
	return false;
}

/* The smallest number that no worker has: with it the CPU, so that workers that come and go stay spread. */
static unsigned free_number(const interfaces_t *set) SYS_REQUIRES(set->change)
{
	unsigned number = 0;
	while (is_taken(set, number)) {
		number++;
	}
	return number;
}

static xdp_worker_t *new_worker(
		const interfaces_t *set, kxdp_iface_t *iface, kxdp_queue_t *queue, unsigned index, unsigned number)
{
	xdp_worker_t *worker = calloc(1, sizeof(*worker));
	if (worker == NULL) {
		return NULL;
	}
	worker->shared = set->shared;
	worker->queue = queue;
	worker->ifindex = kxdp_iface_index(iface);
	worker->queue_index = index;
	worker->thread = (sys_thread_t){
		.cpu = sys_cpu_nth(number),
		.counts = true,
		.answers = true,
		.run = xdp_worker_run,
		.arg = worker,
	};
	snprintf(worker->thread.name, sizeof(worker->thread.name), "xdp-%u", number % 100000);
	return worker;
}

knot_err_t xdp_lane_open(interfaces_t *set, const xdp_interface_t *item, kxdp_iface_t *iface, unsigned queue,
		xdp_lane_t *ret_lane, kxdp_fault_t *ret_fault)
{
	xdp_lane_t lane = { .number = free_number(set), .opened_ms = sys_clock_ms() };
	knot_err_t err = kxdp_queue_open(iface, queue, &lane.queue, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	lane.worker = new_worker(set, iface, lane.queue, queue, lane.number);
	err = lane.worker != NULL ? xdp_worker_init(lane.worker) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		*ret_fault = (kxdp_fault_t){ .err = err };
		snprintf(ret_fault->text, sizeof(ret_fault->text), "making a worker: %s", knot_strerror(err));
		free(lane.worker);
		kxdp_queue_close(lane.queue);
		return err;
	}
	lane.worker->tap_rcu = interfaces_tap(set, item, queue);
	*ret_lane = lane;
	return KNOT_OK;
}

knot_err_t xdp_lane_start(xdp_lane_t *lane)
{
	return sys_thread_start(&lane->worker->thread);
}

void xdp_lane_stop(xdp_lane_t *lane)
{
	if (lane->worker != NULL) {
		xdp_worker_stop(lane->worker);
	}
}

void xdp_lane_close(xdp_lane_t *lane)
{
	if (lane->worker != NULL) {
		sys_thread_join(&lane->worker->thread);
		xdp_worker_done(lane->worker);
		free(lane->worker);
	}
	kxdp_queue_close(lane->queue);
	*lane = (xdp_lane_t){ 0 };
}
