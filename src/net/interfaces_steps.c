/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking the steps of a plan: opening and closing an interface and its queues. */
#include "src/net/interfaces.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "xdp/priv.h"

/* ---- Closing ---- */

/* Workers of lanes [from..to) leave the list, end, and their queues are closed. Their counters stay. */
static void steps_close_lanes(interfaces_t *set, xdp_interface_t *item, unsigned from, unsigned to)
		SYS_REQUIRES(set->change)
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
		sys_mutex_lock(&set->look);
		xdp_past_add_lane(&item->past[q], &lane);
		item->lanes[q] = (xdp_lane_t){ 0 };
		sys_mutex_unlock(&set->look);
		xdp_lane_close(&lane);
		sys_mutex_lock(&set->look);
		xdp_past_count_lost(&item->past[q], item->iface, q);
		sys_mutex_unlock(&set->look);
	}
}

void interfaces_close(interfaces_t *set, xdp_interface_t *item)
{
	steps_close_lanes(set, item, 0, item->lane_max);
	if (item->iface != NULL) {
		interfaces_keep_block_counts(set, item->iface);
	}
	sys_mutex_lock(&set->look);
	kxdp_iface_t *iface = item->iface;
	xdp_lane_t *lanes = item->lanes;
	for (unsigned q = 0; q < item->lane_max; q++) {
		xdp_past_add_program(&item->past[q], iface, q);
	}
	item->iface = NULL;
	item->lanes = NULL;
	item->lane_max = 0;
	sys_mutex_unlock(&set->look);
	free(lanes);
	kxdp_iface_close(iface);
}

/* ---- Opening ---- */

static kxdp_options_t steps_make_options(const xdp_want_t *want, xdp_level_t level)
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
static knot_err_t steps_open_lanes(interfaces_t *set, xdp_interface_t *item, unsigned from, unsigned to,
		kxdp_fault_t *ret_fault) SYS_REQUIRES(set->change)
{
	knot_err_t err = KNOT_OK;
	for (unsigned q = from; q < to && err == KNOT_OK; q++) {
		xdp_lane_t lane;
		if (item->lanes[q].queue != NULL) {
			continue;
		}
		err = xdp_lane_open(set, item, item->iface, q, &lane, ret_fault);
		if (err == KNOT_OK) {
			sys_mutex_lock(&set->look);
			item->lanes[q] = lane;
			sys_mutex_unlock(&set->look);
		}
	}
	return err;
}

/* Publish new workers, then start them. */
static knot_err_t steps_start_lanes(interfaces_t *set, xdp_interface_t *item, kxdp_fault_t *ret_fault)
		SYS_REQUIRES(set->change)
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

static knot_err_t steps_open_level(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level,
		kxdp_fault_t *ret_fault) SYS_REQUIRES(set->change)
{
	kxdp_options_t options = steps_make_options(want, level);
	kxdp_iface_t *iface;
	knot_err_t err = kxdp_iface_open(set->shared->priv, &options, &iface, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	unsigned max = kxdp_iface_queue_max(iface);
	xdp_lane_t *lanes = calloc(max, sizeof(*lanes));
	if (lanes == NULL || xdp_past_reserve(set, item, max) != KNOT_OK) {
		free(lanes);
		kxdp_iface_close(iface);
		*ret_fault = (kxdp_fault_t){ .err = KNOT_ENOMEM, .text = "not enough memory" };
		return KNOT_ENOMEM;
	}
	/* Before there is a queue, so that not even the first packet passes the rules. */
	interfaces_set_blocks(set, iface);
	interfaces_set_host(set, iface);
	sys_mutex_lock(&set->look);
	item->iface = iface;
	item->was_up = true;
	item->lanes = lanes;
	item->lane_max = max;
	item->want = *want;
	sys_mutex_unlock(&set->look);
	err = steps_open_lanes(set, item, 0, kxdp_iface_queue_count(iface), ret_fault);
	err = err == KNOT_OK ? steps_start_lanes(set, item, ret_fault) : err;
	if (err != KNOT_OK) {
		interfaces_close(set, item);
	}
	return err;
}

/*
 * Open at the level, or a lower one. ret_fault: why the last level but the one reached failed; text "": none did.
 * XDP_LEVEL_SOCKETS opens nothing: KNOT_EINVAL.
 */
static knot_err_t steps_open_best(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, xdp_level_t level,
		xdp_level_t *ret_level, kxdp_fault_t *ret_fault) SYS_REQUIRES(set->change)
{
	assert(item->iface == NULL);
	*ret_fault = (kxdp_fault_t){ 0 };
	knot_err_t err = KNOT_EINVAL;
	while (level < XDP_LEVEL_SOCKETS) {
		kxdp_fault_t fault;
		err = steps_open_level(set, item, want, level, &fault);
		if (err == KNOT_OK) {
			break;
		}
		*ret_fault = fault;
		level = interfaces_plan_level(level, err, want->zero_copy);
	}
	*ret_level = level;
	return err;
}

static void steps_log_up(const xdp_interface_t *item)
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

static void steps_set_state(interfaces_t *set, xdp_interface_t *item, net_xdp_state_t state, xdp_level_t level,
		const kxdp_fault_t *fault) SYS_REQUIRES(set->change)
{
	assert((state == NET_XDP_UP) == (item->iface != NULL));
	sys_mutex_lock(&set->look);
	item->state = state;
	item->level = level;
	item->fault = *fault;
	sys_mutex_unlock(&set->look);
}

/* A change that fails is tried again at the next reload, not with every look. */
static void steps_log_unchanged(const xdp_want_t *want, knot_err_t err, const char *why)
{
	static sys_log_repeats_t repeats;
	/* A port that the helper's policy lacks is no failure: it takes a restart, as other items do. */
	sys_log_repeated(&repeats, SYS_LOG_SERVER, err == KNOT_EACCES ? LOG_WARNING : LOG_ERR,
			"failed to change XDP interface %s (%s), it goes on as before", want->ifname, why);
}

/* ---- Queues that failed ---- */

/* Open the next level, because a queue can't work at this one. */
static void steps_lower_level(interfaces_t *set, xdp_interface_t *item, unsigned queue, const kxdp_fault_t *why)
		SYS_REQUIRES(set->change)
{
	const xdp_want_t want = item->want;
	kxdp_fault_t fault;
	xdp_level_t level = interfaces_plan_level(item->level, KNOT_EIO, want.zero_copy);
	interfaces_close(set, item);
	if (steps_open_best(set, item, &want, level, &level, &fault) == KNOT_OK) {
		steps_set_state(set, item, NET_XDP_UP, level, why);
		log_server(LOG_WARNING, "XDP interface %s, queue %u failed (%s), using %s mode instead", want.ifname,
				queue, why->text, kxdp_iface_mode_text(item->iface));
		return;
	}
	steps_set_state(set, item, NET_XDP_SOCKETS, XDP_LEVEL_BEST, fault.text[0] != '\0' ? &fault : why);
	item->retry_ms = interfaces_plan_retry(KNOT_EIO, sys_clock_ms()); /* whatever the error: it was open before */
	log_server(LOG_WARNING, "XDP interface %s, queue %u failed (%s), using ordinary sockets instead", want.ifname,
			queue, item->fault.text);
}

/* False: the interface has another level now, or none, and with it other queues. */
static bool steps_repair_queue(interfaces_t *set, xdp_interface_t *item, unsigned q) SYS_REQUIRES(set->change)
{
	assert(q < item->lane_max);
	kxdp_fault_t fault = { .err = KNOT_EIO, .text = "its socket failed twice" };
	knot_err_t err = KNOT_EIO;
	const uint64_t age_ms = sys_clock_ms() - item->lanes[q].opened_ms;
	steps_close_lanes(set, item, q, q + 1);
	switch (interfaces_plan_queue(age_ms, interfaces_lost_helper(set))) {
	case INTERFACES_QUEUE_CLOSE:
		log_server(LOG_ERR,
				"XDP interface %s, queue %u failed and can't be opened without the privileged helper, "
				"restart the server",
				item->want.ifname, q);
		return true;
	case INTERFACES_QUEUE_REOPEN:
		err = steps_open_lanes(set, item, q, q + 1, &fault);
		err = err == KNOT_OK ? steps_start_lanes(set, item, &fault) : err;
		break;
	case INTERFACES_QUEUE_LOWER: break;
	}
	if (err == KNOT_OK) {
		log_server(LOG_NOTICE, "XDP interface %s, reopened queue %u after its socket failed", item->want.ifname,
				q);
		return true;
	}
	steps_lower_level(set, item, q, &fault);
	return false;
}

/* ---- Steps: the functions of INTERFACES_STEPS ---- */

static knot_err_t step_lose(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	log_server(LOG_WARNING, "XDP interface %s %s", item->want.ifname, step->reason);
	interfaces_close(set, item);
	kxdp_fault_t fault = { .err = KNOT_ENODEV, .text = "no such interface" };
	steps_set_state(set, item, NET_XDP_GONE, XDP_LEVEL_BEST, &fault);
	return KNOT_OK;
}

static knot_err_t step_note(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	item->asked = *step->want;
	sys_mutex_lock(&set->look);
	item->device = view->device;
	if (item->iface == NULL) {
		item->want = *step->want;
	}
	sys_mutex_unlock(&set->look);
	return KNOT_OK;
}

static knot_err_t step_rebuilt(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)set;
	(void)item;
	log_server(LOG_INFO, "XDP interface %s changed, queues %u, MTU %u", step->want->ifname,
			view->device.queue_count, view->device.mtu);
	return KNOT_OK;
}

static knot_err_t step_keep(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)set;
	(void)item;
	(void)view;
	steps_log_unchanged(step->want, step->err, step->reason);
	return step->err;
}

/* If the new settings can't be had, the old ones can: they were in force a moment ago. */
static knot_err_t step_reopen(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	assert(item->iface != NULL);
	const xdp_want_t want = *step->want, before = item->want; /* opening changes the item's */
	const xdp_level_t level_before = item->level;
	xdp_level_t level;
	kxdp_fault_t fault, ignored;
	interfaces_close(set, item);
	knot_err_t err = steps_open_best(set, item, &want, XDP_LEVEL_BEST, &level, &fault);
	if (err == KNOT_OK) {
		steps_set_state(set, item, NET_XDP_UP, level, &fault);
		steps_log_up(item);
		return KNOT_OK;
	}
	if (steps_open_best(set, item, &before, level_before, &level, &ignored) == KNOT_OK) {
		steps_set_state(set, item, NET_XDP_UP, level, &ignored);
		steps_log_unchanged(&want, err, fault.text);
		return err;
	}
	steps_set_state(set, item, NET_XDP_SOCKETS, XDP_LEVEL_BEST, &fault);
	item->retry_ms = interfaces_plan_retry(KNOT_EIO, sys_clock_ms()); /* whatever the error: it was open before */
	log_server(LOG_ERR, "failed to reopen XDP interface %s (%s), using ordinary sockets instead", want.ifname,
			fault.text);
	return err;
}

static knot_err_t step_configure(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	assert(item->iface != NULL);
	const xdp_want_t *want = step->want;
	kxdp_fault_t fault;
	kxdp_config_t config = xdp_want_config(want);
	knot_err_t err = kxdp_iface_configure(item->iface, &config, &fault);
	if (err != KNOT_OK) {
		steps_log_unchanged(want, err, fault.text);
		return err;
	}
	sys_mutex_lock(&set->look);
	item->want = *want;
	sys_mutex_unlock(&set->look);
	log_server(LOG_INFO, "changed XDP interface %s, listening on %s, %s%s", want->ifname, want->text,
			xdp_want_protocols(want), want->route_check ? ", route check" : "");
	return KNOT_OK;
}

static knot_err_t step_repair(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	(void)step;
	bool has_queues = item->iface != NULL;
	for (unsigned q = 0; has_queues && q < item->lane_max; q++) {
		const xdp_worker_t *worker = item->lanes[q].worker;
		if (worker != NULL && atomic_load_explicit(&worker->failed, memory_order_acquire)) {
			has_queues = steps_repair_queue(set, item, q);
		}
	}
	return KNOT_OK;
}

/* The same failure as before is logged only if something changed. That it failed is no error: sockets serve. */
static knot_err_t step_open(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	const xdp_want_t *want = step->want;
	const kxdp_fault_t before = item->fault;
	kxdp_fault_t fault;
	xdp_level_t level;
	if (step->is_news) {
		log_server(LOG_INFO, "binding to XDP interface %s", want->text);
	}
	knot_err_t err = steps_open_best(set, item, want, item->level, &level, &fault);
	steps_set_state(set, item, interfaces_plan_state(err), level, &fault);
	if (err == KNOT_OK) {
		steps_log_up(item);
		return KNOT_OK;
	}
	item->level = XDP_LEVEL_BEST; /* of the next try */
	item->tried_ms = sys_clock_ms();
	item->retry_ms = interfaces_plan_retry(err, item->tried_ms);
	if (step->is_news || strcmp(before.text, fault.text) != 0) {
		log_server(LOG_WARNING, "failed to initialize XDP interface %s (%s), using ordinary sockets instead",
				want->ifname, fault.text);
	}
	return KNOT_OK;
}

static knot_err_t step_no_address(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	if (step->is_news) {
		log_server(LOG_WARNING, "no XDP interface for address %s (%s), using ordinary sockets instead",
				step->want->text, step->want->fault.text);
	}
	steps_set_state(set, item, NET_XDP_GONE, XDP_LEVEL_BEST, &step->want->fault);
	return KNOT_OK;
}

static knot_err_t step_sockets(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view,
		const interfaces_step_t *step) SYS_REQUIRES(set->change)
{
	(void)view;
	return interfaces_follow_sockets(set, item, step->want, step->is_news && item->state != NET_XDP_UP);
}

knot_err_t interfaces_take_steps(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view)
{
#define STEP_FUNCTION(constant, name, what) [constant] = step_##name,
	static knot_err_t (*const functions[INTERFACES_STEP_KINDS])(interfaces_t * set, xdp_interface_t * item,
			const interfaces_view_t *view,
			const interfaces_step_t *step) = { INTERFACES_STEPS(STEP_FUNCTION) };
#undef STEP_FUNCTION
	sys_mutex_assert_held(&set->change); /* steps are called through pointers */
	interfaces_plan_t plan;
	interfaces_plan_make(view, &plan);
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < plan.count; i++) {
		knot_err_t err = functions[plan.steps[i].kind](set, item, view, &plan.steps[i]);
		first = first == KNOT_OK ? err : first;
	}
	return first;
}
