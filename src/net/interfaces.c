/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/interfaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "xdp/priv.h"
#include <assert.h>

/* ---- The list of workers ---- */

knot_err_t interfaces_publish(interfaces_t *set)
{
	sys_mutex_assert_held(&set->change);
	size_t max = 0, count = 0;
	for (size_t i = 0; i < set->count; i++) {
		max += set->items[i]->lane_max;
	}
	xdp_worker_set_t *list = calloc(1, sizeof(*list) + max * sizeof(list->workers[0]));
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
	xdp_worker_set_t *old = set->shared->xdp_rcu;
	RCU_PUBLISH(set->shared->xdp_rcu, list);
	sys_rcu_wait();
	free(old);
	return KNOT_OK;
}

bool interfaces_lost_helper(const interfaces_t *set)
{
	return set->shared->priv != NULL && !kxdp_priv_alive(set->shared->priv);
}

/* ---- Following ---- */

static xdp_interface_t *interfaces_find_item(const interfaces_t *set, const xdp_want_t *want) SYS_REQUIRES(set->change)
{
	for (size_t i = 0; i < set->count; i++) {
		if (xdp_want_meets(&set->items[i]->want, want)) {
			return set->items[i];
		}
	}
	return NULL;
}

static void interfaces_remove_item(interfaces_t *set, size_t index) SYS_REQUIRES(set->change)
{
	assert(index < set->count);
	xdp_interface_t *item = set->items[index];
	if (item->iface != NULL) {
		log_server(LOG_INFO, "closing XDP interface %s", item->want.ifname);
		interfaces_close(set, item);
	}
	sys_mutex_lock(&set->look);
	set->count--;
	memmove(&set->items[index], &set->items[index + 1], (set->count - index) * sizeof(*set->items));
	sys_mutex_unlock(&set->look);
	sockets_free(item->sockets);
	free(item->past);
	free(item);
}

/* What the helper says about the first port of `want` that it refuses; KNOT_OK: it refuses none. */
static kxdp_fault_t interfaces_find_refused(const interfaces_t *set, const xdp_want_t *want)
{
	kxdp_fault_t fault = { .err = KNOT_OK };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < want->listen_count && err == KNOT_OK; i++) {
		err = kxdp_priv_check_port(set->shared->priv, want->listens[i].port, &fault);
	}
	return fault;
}

/* again: see interfaces_follow_published(). */
static knot_err_t interfaces_follow_one(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, bool again)
		SYS_REQUIRES(set->change)
{
	const interfaces_have_t have = {
		.want = &item->want,
		.asked = &item->asked,
		.device = &item->device,
		.open_index = item->iface != NULL ? kxdp_iface_index(item->iface) : 0,
		.level = item->level,
		.state = item->state,
		.retry_ms = item->retry_ms,
	};
	errno = 0;
	kxdp_device_t device = want->ifname[0] != '\0' ? kxdp_device_query(want->ifname) : (kxdp_device_t){ 0 };
	const interfaces_view_t view = {
		.want = want,
		.have = have,
		.device = device,
		.device_errno = errno,
		.refused = interfaces_find_refused(set, want),
		.helper_lost = interfaces_lost_helper(set),
		.again = again,
		.now_ms = sys_clock_ms(),
	};
	return interfaces_take_steps(set, item, &view);
}

/* Room for all items that there are and will be. */
static knot_err_t interfaces_reserve_items(interfaces_t *set, size_t more) SYS_REQUIRES(set->change)
{
	sys_mutex_lock(&set->look);
	xdp_interface_t **items = realloc(set->items, (set->count + more + 1) * sizeof(*items));
	set->items = items != NULL ? items : set->items;
	sys_mutex_unlock(&set->look);
	return items != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t interfaces_add_item(interfaces_t *set, const xdp_want_t *want, xdp_interface_t **ret_item)
		SYS_REQUIRES(set->change)
{
	xdp_interface_t *item = calloc(1, sizeof(*item));
	if (item == NULL) {
		return KNOT_ENOMEM;
	}
	item->want = *want;
	sys_mutex_lock(&set->look);
	set->items[set->count++] = item;
	sys_mutex_unlock(&set->look);
	*ret_item = item;
	return KNOT_OK;
}

static void interfaces_log_bad_wants(const xdp_plan_t *plan, knot_err_t err)
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
static knot_err_t interfaces_follow_wants(interfaces_t *set, const xdp_plan_t *plan, bool again)
		SYS_REQUIRES(set->change)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < set->count; i++) {
		set->items[i]->planned = false;
	}
	for (size_t i = 0; i < plan->count; i++) {
		const xdp_want_t *want = &plan->wants[i];
		xdp_interface_t *item = interfaces_find_item(set, want);
		bool is_new = item == NULL;
		knot_err_t err = is_new ? interfaces_add_item(set, want, &item) : KNOT_OK;
		if (err == KNOT_OK) {
			item->planned = true;
			err = interfaces_follow_one(set, item, want, again || is_new);
		}
		first = first == KNOT_OK ? err : first;
	}
	for (size_t i = set->count; i > 0; i--) {
		if (!set->items[i - 1]->planned) {
			interfaces_remove_item(set, i - 1);
		}
	}
	return first;
}

static void interfaces_watch_helper(interfaces_t *set) SYS_REQUIRES(set->change)
{
	if (!set->helper_lost && interfaces_lost_helper(set)) {
		set->helper_lost = true;
		log_server(LOG_ERR, "the helper process that has the privileges for XDP ended, "
				    "answering goes on, changes of XDP require restart");
	}
}

/* event: see interfaces_follow(). again: see interfaces_follow_published(). */
static knot_err_t interfaces_follow_locked(interfaces_t *set, conf_xdp_t *take_conf, bool event, bool again)
		SYS_REQUIRES(set->change)
{
	const conf_xdp_t *conf = take_conf != NULL ? take_conf : set->conf;
	if (conf == NULL) {
		return KNOT_OK;
	}
	xdp_plan_t plan;
	knot_err_t err = xdp_plan_make(conf, kxdp_iface_of_address, &plan);
	err = err == KNOT_OK ? interfaces_reserve_items(set, plan.count) : err;
	bool is_refused = err == KNOT_ESPACE;
	if (take_conf != NULL && is_refused) {
		free(take_conf);
	} else if (take_conf != NULL) {
		free(set->conf);
		set->conf = take_conf;
	}
	if (err != KNOT_OK) {
		if (err != set->plan_err || take_conf != NULL) {
			interfaces_log_bad_wants(&plan, err);
		}
		set->plan_err = err;
		xdp_plan_done(&plan);
		return err;
	}
	set->plan_err = KNOT_OK;
	err = take_conf != NULL ? interfaces_follow_blocks(set) : KNOT_OK;
	interfaces_watch_helper(set);
	bool is_retry = set->host_retry_ms != 0 && sys_clock_ms() >= set->host_retry_ms;
	if (event || again || take_conf != NULL || is_retry) {
		interfaces_follow_host(set);
	}
	vlan_follow(&set->shared->vlans_rcu, set->conf->route_check);
	knot_err_t followed = interfaces_follow_wants(set, &plan, again);
	xdp_plan_done(&plan);
	return followed != KNOT_OK ? followed : err;
}

/* What another program kept us from is tried again soon after something happened. */
static void interfaces_hurry_retries(interfaces_t *set) SYS_REQUIRES(set->change)
{
	for (size_t i = 0; i < set->count; i++) {
		xdp_interface_t *item = set->items[i];
		if (item->iface == NULL) {
			item->retry_ms = interfaces_plan_hurry(item->fault.err, item->tried_ms, item->retry_ms);
		}
	}
}

knot_err_t interfaces_follow(interfaces_t *set, conf_xdp_t *take_conf, bool event)
{
	sys_mutex_lock(&set->change);
	if (event) {
		interfaces_hurry_retries(set);
	}
	knot_err_t err = interfaces_follow_locked(set, take_conf, event, false);
	sys_mutex_unlock(&set->change);
	return err;
}

knot_err_t interfaces_follow_published(interfaces_t *set, const state_root_t *root, bool again)
{
	knot_err_t err = KNOT_ENOMEM;
	conf_xdp_t *conf;
	sys_mutex_lock(&set->change);
	{
		RCU_READ_SECTION(guard);
		conf = conf_xdp_copy(&state_load(root, guard)->conf->xdp);
	}
	if (conf != NULL) {
		err = interfaces_follow_locked(set, conf, false, again);
	}
	sys_mutex_unlock(&set->change);
	return err;
}

/* ---- Life ---- */

knot_err_t interfaces_init(
		interfaces_t *set, worker_shared_t *shared, const sockets_t *main, const sockets_options_t *fallback)
{
	*set = (interfaces_t){ .shared = shared, .main = main, .fallback = *fallback };
	sys_mutex_init(&set->change);
	sys_mutex_init(&set->look);
	shared->xdp_rcu = calloc(1, sizeof(*shared->xdp_rcu));
	return shared->xdp_rcu != NULL ? KNOT_OK : KNOT_ENOMEM;
}

knot_err_t interfaces_start(interfaces_t *set)
{
	sys_mutex_lock(&set->change);
	set->started = true;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		xdp_interface_t *item = set->items[i];
		for (unsigned q = 0; q < item->lane_max && err == KNOT_OK; q++) {
			err = item->lanes[q].worker != NULL ? xdp_lane_start(&item->lanes[q]) : KNOT_OK;
		}
		err = err == KNOT_OK && item->sockets != NULL ? sockets_start(item->sockets) : err;
	}
	sys_mutex_unlock(&set->change);
	return err;
}

void interfaces_stop(interfaces_t *set)
{
	sys_mutex_lock(&set->change);
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
	sys_mutex_unlock(&set->change);
}

void interfaces_done(interfaces_t *set)
{
	if (set->shared == NULL) {
		return;
	}
	sys_mutex_lock(&set->change);
	while (set->count > 0) {
		interfaces_remove_item(set, set->count - 1);
	}
	sys_mutex_unlock(&set->change);
	free(set->items);
	free(set->conf);
	free(set->shared->xdp_rcu);
	free(set->shared->vlans_rcu);
	host_facts_done(&set->host);
	block_list_done(&set->run_time);
	block_list_done(&set->blocks);
	sys_mutex_done(&set->change);
	sys_mutex_done(&set->look);
}

bool interfaces_empty(interfaces_t *set)
{
	sys_mutex_lock(&set->look);
	bool is_empty = set->count == 0;
	sys_mutex_unlock(&set->look);
	return is_empty;
}

bool interfaces_serve(interfaces_t *set)
{
	bool any = false;
	sys_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count; i++) {
		any |= set->items[i]->iface != NULL ||
		       (set->items[i]->sockets != NULL && sockets_count(set->items[i]->sockets) > 0);
	}
	sys_mutex_unlock(&set->look);
	return any;
}

net_workers_t interfaces_workers(interfaces_t *set)
{
	net_workers_t sum = { .xdp = atomic_load_explicit(&set->worker_count, memory_order_relaxed) };
	sys_mutex_lock(&set->look);
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i]->sockets != NULL) {
			net_workers_t part = sockets_workers(set->items[i]->sockets);
			sum.udp += part.udp;
			sum.tcp += part.tcp;
		}
	}
	sys_mutex_unlock(&set->look);
	return sum;
}
