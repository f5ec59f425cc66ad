/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/interfaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "xdp/priv.h"

enum {
	/* Another program may be detached, memory may come back: nobody tells. */
	RETRY_MS = 10000,
	HURRY_MS = 500,
	/* A queue that fails again so soon after it was opened won't do any better the next time. */
	FRAGILE_MS = 10000,
};

/* ---- The list of workers ---- */

knot_err_t interfaces_publish(interfaces_t *set)
{
	size_t max = 0, count = 0;
	for (size_t i = 0; i < set->count; i++) {
		max += set->items[i]->lane_max;
	}
	worker_set_t *list = calloc(1, sizeof(*list) + max * sizeof(list->workers[0]));
	if (list == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < set->count; i++) {
		const xdp_interface_t *item = set->items[i];
		for (unsigned q = 0; q < item->lane_max; q++) {
			const xdp_lane_t *lane = &item->lanes[q];
			if (lane->worker != NULL && !lane->leaving) {
				list->workers[count++] = lane->worker;
			}
		}
	}
	list->count = count;
	atomic_store_explicit(&set->worker_count, (unsigned)count, memory_order_relaxed);
	worker_set_t *old = set->shared->xdp_rcu;
	RCU_PUBLISH(set->shared->xdp_rcu, list);
	sys_rcu_wait();
	free(old);
	return KNOT_OK;
}

/* ---- Closing ---- */

/* Workers of lanes [from..to) leave the list, end, and their queues are closed. Their counters stay. */
static void close_lanes(interfaces_t *set, xdp_interface_t *item, unsigned from, unsigned to)
{
	bool any = false;
	for (unsigned q = from; q < to && q < item->lane_max; q++) {
		item->lanes[q].leaving = item->lanes[q].worker != NULL;
		any |= item->lanes[q].leaving;
	}
	if (!any) {
		return;
	}
	while (interfaces_publish(set) != KNOT_OK) {
		/* A worker that is in the list can't go. Memory for a few pointers will come. */
		(void)usleep(10000);
	}
	for (unsigned q = from; q < to && q < item->lane_max; q++) {
		xdp_lane_stop(&item->lanes[q]);
	}
	for (unsigned q = from; q < to && q < item->lane_max; q++) {
		xdp_lane_t lane = item->lanes[q];
		if (lane.worker == NULL) {
			continue;
		}
		sys_thread_join(&lane.worker->thread);
		kxdp_stats_t last;
		kxdp_queue_stats(lane.queue, &last);
		last.tx_busy = last.fq_fill = last.rx_fill = last.tx_fill = last.cq_fill = 0;
		pthread_mutex_lock(&set->look);
		kxdp_stats_add(&item->past, &last);
		item->lanes[q] = (xdp_lane_t){ 0 };
		pthread_mutex_unlock(&set->look);
		xdp_lane_close(&lane);
	}
}

static void close_iface(interfaces_t *set, xdp_interface_t *item)
{
	close_lanes(set, item, 0, item->lane_max);
	pthread_mutex_lock(&set->look);
	kxdp_iface_t *iface = item->iface;
	xdp_lane_t *lanes = item->lanes;
	item->iface = NULL;
	item->lanes = NULL;
	item->lane_max = 0;
	pthread_mutex_unlock(&set->look);
	free(lanes);
	kxdp_iface_close(iface);
}

/* ---- Opening ---- */

static kxdp_options_t options_of(const xdp_want_t *want, xdp_level_t level)
{
	return (kxdp_options_t){
		.ifname = want->ifname,
		.config = xdp_want_config(want),
		.zero_copy = want->zero_copy && level == XDP_LEVEL_BEST,
		.ring_size = want->ring_size,
		.busypoll_budget = want->busypoll_budget,
		.busypoll_timeout_us = want->busypoll_timeout_us,
		.mode = level == XDP_LEVEL_EMULATED ? KXDP_MODE_EMULATED : KXDP_MODE_AUTO,
	};
}

/* Open queues [from..to) that aren't; on failure those that were stay. */
static knot_err_t open_lanes(
		interfaces_t *set, xdp_interface_t *item, unsigned from, unsigned to, kxdp_fault_t *ret_fault)
{
	knot_err_t err = KNOT_OK;
	for (unsigned q = from; q < to && err == KNOT_OK; q++) {
		xdp_lane_t lane;
		if (item->lanes[q].queue != NULL) {
			continue;
		}
		err = xdp_lane_open(set, item, item->iface, q, &lane, ret_fault);
		if (err == KNOT_OK) {
			pthread_mutex_lock(&set->look);
			item->lanes[q] = lane;
			pthread_mutex_unlock(&set->look);
		}
	}
	return err;
}

/* Publish new workers, then start them. */
static knot_err_t start_lanes(interfaces_t *set, xdp_interface_t *item, kxdp_fault_t *ret_fault)
{
	knot_err_t err = interfaces_publish(set);
	for (unsigned q = 0; q < item->lane_max && set->started && err == KNOT_OK; q++) {
		if (item->lanes[q].worker != NULL && !item->lanes[q].worker->thread.started) {
			err = xdp_lane_start(&item->lanes[q]);
		}
	}
	if (err != KNOT_OK) {
		*ret_fault = (kxdp_fault_t){ .err = err };
		snprintf(ret_fault->text, sizeof(ret_fault->text), "starting workers: %s", knot_strerror(err));
	}
	return err;
}

static knot_err_t open_at(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level,
		kxdp_fault_t *ret_fault)
{
	kxdp_options_t options = options_of(want, level);
	kxdp_iface_t *iface;
	knot_err_t err = kxdp_iface_open(set->shared->priv, &options, &iface, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	unsigned max = kxdp_iface_queue_max(iface);
	xdp_lane_t *lanes = calloc(max, sizeof(*lanes));
	if (lanes == NULL) {
		kxdp_iface_close(iface);
		*ret_fault = (kxdp_fault_t){ .err = KNOT_ENOMEM, .text = "not enough memory" };
		return KNOT_ENOMEM;
	}
	/* Before there is a queue, so that not even the first packet passes the rules. */
	interfaces_set_blocks(set, iface);
	interfaces_set_host(set, iface);
	pthread_mutex_lock(&set->look);
	item->iface = iface;
	item->was_up = true;
	item->lanes = lanes;
	item->lane_max = max;
	item->want = *want;
	pthread_mutex_unlock(&set->look);
	err = open_lanes(set, item, 0, kxdp_iface_queue_count(iface), ret_fault);
	err = err == KNOT_OK ? start_lanes(set, item, ret_fault) : err;
	if (err != KNOT_OK) {
		close_iface(set, item);
	}
	return err;
}

/* Failures that another mode would share. */
static bool is_hopeless(knot_err_t err)
{
	static const knot_err_t codes[] = { KNOT_EPERM, KNOT_EACCES, KNOT_EBUSY, KNOT_ENODEV, KNOT_ECONNCLOSED };
	for (size_t i = 0; i < KNOT_LEN(codes); i++) {
		if (err == codes[i]) {
			return true;
		}
	}
	return false;
}

/* Open at the level, or a lower one. ret_fault: why the last level but the one reached failed; text "": none did. */
static knot_err_t open_best(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level,
		xdp_level_t *ret_level, kxdp_fault_t *ret_fault)
{
	*ret_fault = (kxdp_fault_t){ 0 };
	knot_err_t err = KNOT_EINVAL;
	for (; level < XDP_LEVEL_SOCKETS; level++) {
		if (level == XDP_LEVEL_COPY && !want->zero_copy) {
			continue; /* the level before was that */
		}
		kxdp_fault_t fault;
		err = open_at(set, item, want, level, &fault);
		if (err == KNOT_OK) {
			break;
		}
		*ret_fault = fault;
		if (is_hopeless(err)) {
			level = XDP_LEVEL_SOCKETS;
			break;
		}
	}
	*ret_level = level;
	return err;
}

static void log_up(const xdp_interface_t *item)
{
	const xdp_want_t *want = &item->want;
	for (size_t i = 0; i < want->listen_count; i++) {
		log_server(LOG_INFO, "initialized XDP interface %s, %s port %u, queues %u, %s mode%s", want->ifname,
				xdp_want_protocols(want), want->listens[i].port, kxdp_iface_queue_count(item->iface),
				kxdp_iface_mode_text(item->iface), want->route_check ? ", route check" : "");
	}
	if (item->fault.text[0] != '\0') {
		log_server(LOG_WARNING, "XDP interface %s can't have a better mode (%s)", want->ifname,
				item->fault.text);
	}
}

static void set_state(interfaces_t *set, xdp_interface_t *item, net_xdp_state_t state, xdp_level_t level,
		const kxdp_fault_t *fault)
{
	pthread_mutex_lock(&set->look);
	item->state = state;
	item->level = level;
	item->fault = *fault;
	pthread_mutex_unlock(&set->look);
}

/* quiet: the same failure as before is not told again. */
static void open_interface(
		interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level, bool quiet)
{
	kxdp_fault_t fault, before = item->fault;
	if (!quiet) {
		log_server(LOG_INFO, "binding to XDP interface %s", want->text);
	}
	knot_err_t err = open_best(set, item, want, level, &level, &fault);
	set_state(set, item,
			err == KNOT_OK       ? NET_XDP_UP
			: err == KNOT_ENODEV ? NET_XDP_GONE
					     : NET_XDP_SOCKETS,
			level, &fault);
	if (err == KNOT_OK) {
		log_up(item);
		return;
	}
	item->level = XDP_LEVEL_BEST; /* of the next try */
	bool is_lasting = err == KNOT_EPERM || err == KNOT_EACCES || err == KNOT_EINVAL || err == KNOT_ECONNCLOSED ||
			  err == KNOT_ENOTSUP;
	item->tried_ms = sys_clock_ms();
	item->retry_ms = is_lasting ? 0 : item->tried_ms + RETRY_MS;
	if (!quiet || strcmp(before.text, fault.text) != 0) {
		log_server(LOG_WARNING, "failed to initialize XDP interface %s (%s), using ordinary sockets instead",
				want->ifname, fault.text);
	}
}

/* ---- Changing ---- */

bool interfaces_lost_helper(const interfaces_t *set)
{
	return set->shared->priv != NULL && !kxdp_priv_alive(set->shared->priv);
}

/* A change that fails is tried again with every look, once a second. */
static void log_unchanged(const xdp_want_t *want, knot_err_t err, const char *why)
{
	static sys_log_repeats_t repeats;
	/* A port that the helper's policy lacks is no failure: it takes a restart, as other items do. */
	sys_log_repeated(&repeats, SYS_LOG_SERVER, err == KNOT_EACCES ? LOG_WARNING : LOG_ERR,
			"failed to change XDP interface %s (%s), it goes on as before", want->ifname, why);
}

/* Sockets anew, because of settings that they are made with. On failure as it was before. */
static knot_err_t reopen(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level)
{
	if (interfaces_lost_helper(set)) { /* what is closed now could not be opened again */
		log_unchanged(want, KNOT_ECONNCLOSED, "the privileged helper has ended");
		return KNOT_ECONNCLOSED;
	}
	const xdp_want_t before = item->want;
	const xdp_level_t level_before = item->level;
	kxdp_fault_t fault, ignored;
	close_iface(set, item);
	knot_err_t err = open_best(set, item, want, level, &level, &fault);
	if (err == KNOT_OK) {
		set_state(set, item, NET_XDP_UP, level, &fault);
		log_up(item);
		return KNOT_OK;
	}
	if (open_best(set, item, &before, level_before, &level, &ignored) == KNOT_OK) {
		set_state(set, item, NET_XDP_UP, level, &ignored);
		log_unchanged(want, err, fault.text);
		return err;
	}
	set_state(set, item, NET_XDP_SOCKETS, XDP_LEVEL_BEST, &fault);
	item->retry_ms = sys_clock_ms() + RETRY_MS;
	log_server(LOG_ERR, "failed to open XDP interface %s anew (%s), using ordinary sockets instead", want->ifname,
			fault.text);
	return err;
}

static knot_err_t configure(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want)
{
	kxdp_fault_t fault;
	kxdp_config_t config = xdp_want_config(want);
	knot_err_t err = kxdp_iface_configure(item->iface, &config, &fault);
	if (err != KNOT_OK) {
		log_unchanged(want, err, fault.text);
		return err;
	}
	pthread_mutex_lock(&set->look);
	item->want = *want;
	pthread_mutex_unlock(&set->look);
	log_server(LOG_INFO, "changed XDP interface %s, listening on %s, %s%s", want->ifname, want->text,
			xdp_want_protocols(want), want->route_check ? ", route check" : "");
	return KNOT_OK;
}

/* The next level, because a queue is of no use at this one. */
static void go_down(interfaces_t *set, xdp_interface_t *item, unsigned queue, const kxdp_fault_t *why)
{
	const xdp_want_t want = item->want;
	kxdp_fault_t fault;
	xdp_level_t level = item->level + 1;
	close_iface(set, item);
	if (open_best(set, item, &want, level, &level, &fault) == KNOT_OK) {
		set_state(set, item, NET_XDP_UP, level, why);
		log_server(LOG_WARNING, "XDP interface %s, queue %u failed (%s), using %s mode instead", want.ifname,
				queue, why->text, kxdp_iface_mode_text(item->iface));
		return;
	}
	set_state(set, item, NET_XDP_SOCKETS, XDP_LEVEL_BEST, fault.text[0] != '\0' ? &fault : why);
	item->retry_ms = sys_clock_ms() + RETRY_MS;
	log_server(LOG_WARNING, "XDP interface %s, queue %u failed (%s), using ordinary sockets instead", want.ifname,
			queue, item->fault.text);
}

/* A queue whose worker gave up: opened anew once, then the interface goes a level down. */
static void replace_failed(interfaces_t *set, xdp_interface_t *item)
{
	for (unsigned q = 0; q < item->lane_max; q++) {
		const xdp_lane_t *lane = &item->lanes[q];
		if (lane->worker == NULL || !atomic_load_explicit(&lane->worker->failed, memory_order_acquire)) {
			continue;
		}
		bool is_fragile = sys_clock_ms() - lane->opened_ms < FRAGILE_MS;
		kxdp_fault_t fault = { .err = KNOT_EIO, .text = "its socket failed twice" };
		close_lanes(set, item, q, q + 1);
		if (interfaces_lost_helper(
				    set)) { /* the other queues go on; this one's packets go to ordinary sockets */
			log_server(LOG_ERR,
					"XDP interface %s, queue %u failed and can't be opened without the privileged "
					"helper, "
					"restart the server",
					item->want.ifname, q);
			continue;
		}
		knot_err_t err = is_fragile ? KNOT_EIO : open_lanes(set, item, q, q + 1, &fault);
		err = err == KNOT_OK ? start_lanes(set, item, &fault) : err;
		if (err == KNOT_OK) {
			log_server(LOG_NOTICE, "XDP interface %s, opened queue %u anew after its socket failed",
					item->want.ifname, q);
			continue;
		}
		go_down(set, item, q, &fault);
		return;
	}
}

/* ---- Following ---- */

static xdp_interface_t *find_item(const interfaces_t *set, const xdp_want_t *want)
{
	for (size_t i = 0; i < set->count; i++) {
		if (xdp_want_meets(&set->items[i]->want, want)) {
			return set->items[i];
		}
	}
	return NULL;
}

static void remove_item(interfaces_t *set, size_t index)
{
	xdp_interface_t *item = set->items[index];
	if (item->iface != NULL) {
		log_server(LOG_INFO, "closing XDP interface %s", item->want.ifname);
		close_iface(set, item);
	}
	pthread_mutex_lock(&set->look);
	set->count--;
	memmove(&set->items[index], &set->items[index + 1], (set->count - index) * sizeof(*set->items));
	pthread_mutex_unlock(&set->look);
	sockets_free(item->sockets);
	free(item);
}

/* The interface is not there, or not the one that was opened. */
static void lose(interfaces_t *set, xdp_interface_t *item, unsigned index)
{
	log_server(LOG_WARNING, "XDP interface %s %s", item->want.ifname,
			index == 0 ? "is gone, waiting for it" : "was replaced by another of its name");
	close_iface(set, item);
	kxdp_fault_t fault = { .err = KNOT_ENODEV, .text = "no such interface" };
	set_state(set, item, NET_XDP_GONE, XDP_LEVEL_BEST, &fault);
}

static knot_err_t follow_open(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want,
		const kxdp_device_t *device, bool news)
{
	knot_err_t err = KNOT_OK;
	/* Drivers set all rings up anew for these two; veth forgets the program on queues that are added. */
	bool is_rebuilt = device->queue_count != item->device.queue_count || device->mtu != item->device.mtu;
	if (is_rebuilt) {
		log_server(LOG_INFO, "XDP interface %s changed, queues %u, MTU %u", want->ifname, device->queue_count,
				device->mtu);
	}
	if (news && (is_rebuilt || !xdp_want_opens_alike(want, &item->want))) {
		err = reopen(set, item, want, XDP_LEVEL_BEST);
	} else if (news && !xdp_want_serves_alike(want, &item->want)) {
		err = configure(set, item, want);
	}
	if (item->iface != NULL) {
		replace_failed(set, item);
	}
	return err;
}

static void follow_closed(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, const kxdp_device_t *device,
		bool news)
{
	pthread_mutex_lock(&set->look);
	item->want = *want;
	pthread_mutex_unlock(&set->look);
	if (want->ifname[0] == '\0') {
		if (news) {
			log_server(LOG_WARNING, "no XDP interface for address %s (%s), using ordinary sockets instead",
					want->text, want->fault.text);
		}
		set_state(set, item, NET_XDP_GONE, XDP_LEVEL_BEST, &want->fault);
		return;
	}
	bool is_time = item->retry_ms != 0 && sys_clock_ms() >= item->retry_ms;
	bool was_gone = item->state == NET_XDP_GONE && item->asked.ifname[0] != '\0';
	if (device->index == 0 && was_gone && !news) {
		return;
	}
	if (news || is_time) {
		open_interface(set, item, want, item->level, !news);
	}
}

/* Want of descriptors or memory, which looks like want of an interface. */
static bool is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == ENOBUFS;
}

static bool device_differs(const kxdp_device_t *a, const kxdp_device_t *b)
{
	return a->index != b->index || a->is_up != b->is_up || a->queue_count != b->queue_count || a->mtu != b->mtu;
}

/* again: see interfaces_follow_published(). */
static knot_err_t follow_one(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, bool again)
{
	errno = 0;
	kxdp_device_t device = want->ifname[0] != '\0' ? kxdp_device_query(want->ifname) : (kxdp_device_t){ 0 };
	if (is_shortage(errno)) {
		return KNOT_OK; /* what was seen may not be so; the next time */
	}
	bool news = again || device_differs(&device, &item->device) || !xdp_want_opens_alike(want, &item->asked) ||
		    !xdp_want_serves_alike(want, &item->asked);
	knot_err_t err = KNOT_OK;
	item->asked = *want;
	if (item->iface != NULL && device.index != kxdp_iface_index(item->iface)) {
		lose(set, item, device.index);
		news = device.index != 0;
	}
	if (item->iface != NULL) {
		err = follow_open(set, item, want, &device, news);
	} else {
		follow_closed(set, item, want, &device, news);
	}
	pthread_mutex_lock(&set->look);
	item->device = device;
	pthread_mutex_unlock(&set->look);
	knot_err_t bound = interfaces_follow_sockets(set, item, want, news && item->state != NET_XDP_UP);
	return err == KNOT_OK ? bound : err;
}

/* Room for all items that there are and will be. */
static knot_err_t make_room(interfaces_t *set, size_t more)
{
	pthread_mutex_lock(&set->look);
	xdp_interface_t **items = realloc(set->items, (set->count + more + 1) * sizeof(*items));
	set->items = items != NULL ? items : set->items;
	pthread_mutex_unlock(&set->look);
	return items != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t add_item(interfaces_t *set, const xdp_want_t *want, xdp_interface_t **ret_item)
{
	xdp_interface_t *item = calloc(1, sizeof(*item));
	if (item == NULL) {
		return KNOT_ENOMEM;
	}
	item->want = *want;
	pthread_mutex_lock(&set->look);
	set->items[set->count++] = item;
	pthread_mutex_unlock(&set->look);
	*ret_item = item;
	return KNOT_OK;
}

static void log_bad_plan(const xdp_plan_t *plan, knot_err_t err)
{
	static sys_log_repeats_t repeats;
	if (err == KNOT_ESPACE) {
		sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_ERR,
				"too many XDP listen addresses on interface %s, at most %d",
				plan->wants[plan->count - 1].ifname, KXDP_LISTEN_MAX);
	} else {
		sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_ERR, "failed to change XDP interfaces (%s)",
				knot_strerror(err));
	}
}

/* The new ones are opened before the old ones are closed. */
static knot_err_t follow_plan(interfaces_t *set, const xdp_plan_t *plan, bool again)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < set->count; i++) {
		set->items[i]->planned = false;
	}
	for (size_t i = 0; i < plan->count; i++) {
		const xdp_want_t *want = &plan->wants[i];
		xdp_interface_t *item = find_item(set, want);
		bool is_new = item == NULL;
		knot_err_t err = is_new ? add_item(set, want, &item) : KNOT_OK;
		if (err == KNOT_OK) {
			item->planned = true;
			err = follow_one(set, item, want, again || is_new);
		}
		first = first == KNOT_OK ? err : first;
	}
	for (size_t i = set->count; i > 0; i--) {
		if (!set->items[i - 1]->planned) {
			remove_item(set, i - 1);
		}
	}
	return first;
}

static void watch_helper(interfaces_t *set)
{
	if (!set->helper_lost && interfaces_lost_helper(set)) {
		set->helper_lost = true;
		log_server(LOG_ERR, "the helper process that has the privileges for XDP ended, "
				    "answering goes on, changes of XDP require restart");
	}
}

/* event: see interfaces_follow(). again: see interfaces_follow_published(). */
static knot_err_t follow_locked(interfaces_t *set, conf_xdp_t *take_conf, bool event, bool again)
{
	const conf_xdp_t *conf = take_conf != NULL ? take_conf : set->conf;
	if (conf == NULL) {
		return KNOT_OK;
	}
	xdp_plan_t plan;
	knot_err_t err = xdp_plan_make(conf, kxdp_iface_of_address, &plan);
	err = err == KNOT_OK ? make_room(set, plan.count) : err;
	bool is_refused = err == KNOT_ESPACE;
	if (take_conf != NULL && is_refused) {
		free(take_conf);
	} else if (take_conf != NULL) {
		free(set->conf);
		set->conf = take_conf;
	}
	if (err != KNOT_OK) {
		if (err != set->plan_err || take_conf != NULL) {
			log_bad_plan(&plan, err);
		}
		set->plan_err = err;
		xdp_plan_done(&plan);
		return err;
	}
	set->plan_err = KNOT_OK;
	err = take_conf != NULL ? interfaces_follow_blocks(set) : KNOT_OK;
	watch_helper(set);
	if (event || again || take_conf != NULL) {
		interfaces_follow_host(set);
	}
	vlan_follow(&set->shared->vlans_rcu, set->conf->route_check);
	knot_err_t followed = follow_plan(set, &plan, again);
	xdp_plan_done(&plan);
	return followed != KNOT_OK ? followed : err;
}

/* What another program kept us from is tried again soon after something happened. */
static void hurry(interfaces_t *set)
{
	for (size_t i = 0; i < set->count; i++) {
		xdp_interface_t *item = set->items[i];
		if (item->iface == NULL && item->fault.err == KNOT_EBUSY) {
			item->retry_ms = item->tried_ms + HURRY_MS;
		}
	}
}

knot_err_t interfaces_follow(interfaces_t *set, conf_xdp_t *take_conf, bool event)
{
	pthread_mutex_lock(&set->change);
	if (event) {
		hurry(set);
	}
	knot_err_t err = follow_locked(set, take_conf, event, false);
	pthread_mutex_unlock(&set->change);
	return err;
}

knot_err_t interfaces_follow_published(interfaces_t *set, const state_root_t *root, bool again)
{
	knot_err_t err = KNOT_ENOMEM;
	conf_xdp_t *conf;
	pthread_mutex_lock(&set->change);
	{
		RCU_READ_SECTION(guard);
		conf = conf_xdp_copy(&state_load(root, guard)->conf->xdp);
	}
	if (conf != NULL) {
		err = follow_locked(set, conf, false, again);
	}
	pthread_mutex_unlock(&set->change);
	return err;
}

/* ---- Life ---- */

knot_err_t interfaces_init(
		interfaces_t *set, worker_shared_t *shared, const sockets_t *main, const sockets_options_t *fallback)
{
	*set = (interfaces_t){ .shared = shared, .main = main, .fallback = *fallback };
	shared->xdp_rcu = calloc(1, sizeof(*shared->xdp_rcu));
	if (shared->xdp_rcu == NULL) {
		return KNOT_ENOMEM;
	}
	pthread_mutex_init(&set->change, NULL);
	pthread_mutex_init(&set->look, NULL);
	return KNOT_OK;
}

knot_err_t interfaces_start(interfaces_t *set)
{
	pthread_mutex_lock(&set->change);
	set->started = true;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		xdp_interface_t *item = set->items[i];
		for (unsigned q = 0; q < item->lane_max && err == KNOT_OK; q++) {
			err = item->lanes[q].worker != NULL ? xdp_lane_start(&item->lanes[q]) : KNOT_OK;
		}
		err = err == KNOT_OK && item->sockets != NULL ? sockets_start(item->sockets) : err;
	}
	pthread_mutex_unlock(&set->change);
	return err;
}

void interfaces_stop(interfaces_t *set)
{
	pthread_mutex_lock(&set->change);
	for (size_t i = 0; i < set->count; i++) {
		for (unsigned q = 0; q < set->items[i]->lane_max; q++) {
			xdp_lane_stop(&set->items[i]->lanes[q]);
		}
	}
	for (size_t i = 0; i < set->count; i++) {
		for (unsigned q = 0; q < set->items[i]->lane_max; q++) {
			if (set->items[i]->lanes[q].worker != NULL) {
				sys_thread_join(&set->items[i]->lanes[q].worker->thread);
			}
		}
		if (set->items[i]->sockets != NULL) {
			sockets_stop(set->items[i]->sockets);
		}
	}
	pthread_mutex_unlock(&set->change);
}

void interfaces_done(interfaces_t *set)
{
	if (set->shared == NULL) {
		return;
	}
	while (set->count > 0) {
		remove_item(set, set->count - 1);
	}
	free(set->items);
	free(set->conf);
	free(set->shared->xdp_rcu);
	free(set->shared->vlans_rcu);
	host_facts_done(&set->host);
	block_list_done(&set->run_time);
	block_list_done(&set->blocks);
	pthread_mutex_destroy(&set->change);
	pthread_mutex_destroy(&set->look);
}

bool interfaces_empty(interfaces_t *set)
{
	pthread_mutex_lock(&set->look);
	bool is_empty = set->count == 0;
	pthread_mutex_unlock(&set->look);
	return is_empty;
}

bool interfaces_serve(interfaces_t *set)
{
	bool any = false;
	pthread_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count; i++) {
		any |= set->items[i]->iface != NULL ||
		       (set->items[i]->sockets != NULL && sockets_count(set->items[i]->sockets) > 0);
	}
	pthread_mutex_unlock(&set->look);
	return any;
}

net_workers_t interfaces_workers(interfaces_t *set)
{
	net_workers_t sum = { .xdp = atomic_load_explicit(&set->worker_count, memory_order_relaxed) };
	pthread_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i]->sockets != NULL) {
			net_workers_t part = sockets_workers(set->items[i]->sockets);
			sum.udp += part.udp;
			sum.tcp += part.tcp;
		}
	}
	pthread_mutex_unlock(&set->look);
	return sum;
}
