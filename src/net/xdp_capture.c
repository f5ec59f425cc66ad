/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures: a tap on each queue's worker. A worker has the tap for one read section at a time (xdp_worker.h), so a tap
 * that was taken away is out of use after a grace period.
 */
#include "src/net/interfaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct net_capture {
	kxdp_tap_options_t options;
	char ifname[IF_NAMESIZE];                           /* "": all */
	net_capture_source_t *sources SYS_GUARDED_BY(look); /* owned, with their taps; changed under `change`, too */
	size_t count SYS_GUARDED_BY(look);
	bool is_over SYS_GUARDED_BY(change); /* no more taps */
};

static bool wants(const net_capture_t *capture, const xdp_interface_t *item)
{
	return capture->ifname[0] == '\0' || strcmp(capture->ifname, item->want.ifname) == 0;
}

kxdp_tap_t *interfaces_tap(interfaces_t *set, const xdp_interface_t *item, unsigned queue)
{
	net_capture_t *capture = set->capture;
	kxdp_tap_t *tap;
	if (capture == NULL || capture->is_over || !wants(capture, item) ||
			kxdp_tap_new(&capture->options, &tap) != KNOT_OK) {
		return NULL;
	}
	net_capture_source_t source = { .ifindex = kxdp_iface_index(item->iface), .queue = queue, .tap = tap };
	snprintf(source.ifname, sizeof(source.ifname), "%s", item->want.ifname);
	sys_mutex_lock(&set->look);
	net_capture_source_t *sources = realloc(capture->sources, (capture->count + 1) * sizeof(*sources));
	if (sources != NULL) {
		capture->sources = sources;
		sources[capture->count++] = source;
	}
	sys_mutex_unlock(&set->look);
	if (sources == NULL) {
		kxdp_tap_free(tap);
		return NULL;
	}
	return tap;
}

static void free_capture(net_capture_t *capture)
{
	for (size_t i = 0; i < capture->count; i++) {
		kxdp_tap_free(capture->sources[i].tap);
	}
	free(capture->sources);
	free(capture);
}

/* Taps for the queues that are open. False: not all of them could be made. */
static bool capture_put_taps(interfaces_t *set, const net_capture_t *capture) SYS_REQUIRES(set->change)
{
	for (size_t i = 0; i < set->count; i++) {
		const xdp_interface_t *item = set->items[i];
		for (unsigned q = 0; q < item->lane_max && wants(capture, item); q++) {
			xdp_worker_t *worker = item->lanes[q].worker;
			kxdp_tap_t *tap = worker != NULL ? interfaces_tap(set, item, q) : NULL;
			if (worker != NULL && tap == NULL) {
				return false;
			}
			if (worker != NULL) {
				RCU_PUBLISH(worker->tap_rcu, tap);
			}
		}
	}
	return true;
}

static void capture_take_taps(interfaces_t *set) SYS_REQUIRES(set->change)
{
	for (size_t i = 0; i < set->count; i++) {
		for (unsigned q = 0; q < set->items[i]->lane_max; q++) {
			if (set->items[i]->lanes[q].worker != NULL) {
				RCU_PUBLISH(set->items[i]->lanes[q].worker->tap_rcu, (kxdp_tap_t *)NULL);
			}
		}
	}
	sys_rcu_wait();
}

static knot_err_t capture_start_taps(interfaces_t *set, net_capture_t *capture) SYS_REQUIRES(set->change)
{
	bool any = false;
	for (size_t i = 0; i < set->count; i++) {
		any |= wants(capture, set->items[i]) && set->items[i]->want.ifname[0] != '\0';
	}
	if (!any) {
		return KNOT_ENODEV;
	}
	set->capture = capture;
	if (!capture_put_taps(set, capture)) {
		set->capture = NULL;
		capture_take_taps(set);
		return KNOT_ENOMEM;
	}
	return KNOT_OK;
}

knot_err_t interfaces_capture(
		interfaces_t *set, const char *ifname, const kxdp_tap_options_t *options, net_capture_t **ret_capture)
{
	if (ifname != NULL && strlen(ifname) >= IF_NAMESIZE) {
		return KNOT_ENODEV; /* its beginning may be the name of another */
	}
	net_capture_t *capture = calloc(1, sizeof(*capture));
	if (capture == NULL) {
		return KNOT_ENOMEM;
	}
	capture->options = *options;
	snprintf(capture->ifname, sizeof(capture->ifname), "%s", ifname != NULL ? ifname : "");
	sys_mutex_lock(&set->change);
	knot_err_t err = set->capture == NULL ? capture_start_taps(set, capture) : KNOT_EBUSY;
	sys_mutex_unlock(&set->change);
	if (err != KNOT_OK) {
		free_capture(capture);
		return err;
	}
	*ret_capture = capture;
	return KNOT_OK;
}

size_t interfaces_capture_sources(
		interfaces_t *set, const net_capture_t *capture, net_capture_source_t *ret_sources, size_t max)
{
	sys_mutex_lock(&set->look);
	size_t count = capture->count;
	size_t copied = count < max ? count : max;
	if (copied > 0) {
		memcpy(ret_sources, capture->sources, copied * sizeof(*ret_sources));
	}
	sys_mutex_unlock(&set->look);
	return count;
}

void interfaces_capture_end(interfaces_t *set, net_capture_t *capture)
{
	sys_mutex_lock(&set->change);
	capture->is_over = true;
	capture_take_taps(set);
	sys_mutex_unlock(&set->change);
}

void interfaces_capture_stop(interfaces_t *set, net_capture_t *take_capture)
{
	if (take_capture == NULL) {
		return;
	}
	sys_mutex_lock(&set->change);
	set->capture = NULL;
	capture_take_taps(set);
	sys_mutex_unlock(&set->change);
	free_capture(take_capture);
}
