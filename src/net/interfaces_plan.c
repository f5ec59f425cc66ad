/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/interfaces_plan.h"

#include <assert.h>
#include <errno.h>

enum {
	/* Another program may be detached, memory may come back: nothing announces that. */
	RETRY_MS = 10000,
	HURRY_MS = 500,
	/* A queue that fails this soon after it was opened won't do better the next time. */
	FRAGILE_MS = 10000,
};

static interfaces_step_t *plan_add_step(interfaces_plan_t *plan, interfaces_step_kind_t kind, const xdp_want_t *want)
{
	assert(plan->count < KNOT_LEN(plan->steps));
	assert(plan->count == 0 || plan->steps[plan->count - 1].kind < kind);
	interfaces_step_t *step = &plan->steps[plan->count++];
	*step = (interfaces_step_t){ .kind = kind, .want = want };
	return step;
}

static void plan_add_keep(interfaces_plan_t *plan, const xdp_want_t *want, knot_err_t err, const char *reason)
{
	interfaces_step_t *step = plan_add_step(plan, INTERFACES_KEEP, want);
	step->err = err;
	step->reason = reason;
}

/* A lack of descriptors or memory, which looks like a lack of the interface. */
static bool plan_is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == ENOBUFS;
}

static bool plan_device_differs(const kxdp_device_t *a, const kxdp_device_t *b)
{
	return a->index != b->index || a->is_up != b->is_up || a->queue_count != b->queue_count || a->mtu != b->mtu;
}

/* Drivers set up all rings again for these two; veth forgets the program on queues that are added. */
static bool plan_is_rebuilt(const interfaces_view_t *view)
{
	return view->device.queue_count != view->have.device->queue_count || view->device.mtu != view->have.device->mtu;
}

/*
 * Closed is only what can be opened again: without the helper nothing can, and a port that it refuses it would refuse
 * then. Rings that the driver rebuilt need new sockets all the same: these get the settings in force.
 */
static void plan_add_reopen(const interfaces_view_t *view, bool is_rebuilt, interfaces_plan_t *plan)
{
	if (view->helper_lost) {
		plan_add_keep(plan, view->want, KNOT_ECONNCLOSED, "the privileged helper has ended");
	} else if (view->refused.err == KNOT_OK) {
		(void)plan_add_step(plan, INTERFACES_REOPEN, view->want);
	} else {
		plan_add_keep(plan, view->want, view->refused.err, view->refused.text);
		if (is_rebuilt) {
			(void)plan_add_step(plan, INTERFACES_REOPEN, view->have.want);
		}
	}
}

static void plan_add_open_steps(const interfaces_view_t *view, bool news, interfaces_plan_t *plan)
{
	const xdp_want_t *in_force = view->have.want;
	const bool is_rebuilt = plan_is_rebuilt(view);
	assert(view->refused.err == KNOT_OK || !xdp_want_serves_alike(view->want, in_force));
	if (is_rebuilt) {
		(void)plan_add_step(plan, INTERFACES_REBUILT, view->want);
	}
	if (news && (is_rebuilt || !xdp_want_opens_alike(view->want, in_force))) {
		plan_add_reopen(view, is_rebuilt, plan);
	} else if (news && !xdp_want_serves_alike(view->want, in_force)) {
		if (view->refused.err != KNOT_OK && !view->helper_lost) {
			plan_add_keep(plan, view->want, view->refused.err, view->refused.text);
		} else {
			(void)plan_add_step(plan, INTERFACES_CONFIGURE, view->want);
		}
	}
	(void)plan_add_step(plan, INTERFACES_REPAIR, view->want);
}

static void plan_add_closed_steps(
		const interfaces_view_t *view, net_xdp_state_t state, bool news, interfaces_plan_t *plan)
{
	if (view->want->ifname[0] == '\0') {
		plan_add_step(plan, INTERFACES_NO_ADDRESS, view->want)->is_news = news;
		return;
	}
	const bool is_time = view->have.retry_ms != 0 && view->now_ms >= view->have.retry_ms;
	const bool is_still_gone = view->device.index == 0 && state == NET_XDP_GONE;
	if (news || (is_time && !is_still_gone)) {
		plan_add_step(plan, INTERFACES_OPEN, view->want)->is_news = news;
	}
}

void interfaces_plan_make(const interfaces_view_t *view, interfaces_plan_t *ret_plan)
{
	assert(xdp_want_meets(view->want, view->have.want));
	assert(view->have.open_index == 0 || view->want->ifname[0] != '\0');
	*ret_plan = (interfaces_plan_t){ .count = 0 };
	if (plan_is_shortage(view->device_errno)) {
		return;
	}
	bool news = view->again || plan_device_differs(&view->device, view->have.device) ||
		    !xdp_want_opens_alike(view->want, view->have.asked) ||
		    !xdp_want_serves_alike(view->want, view->have.asked);
	bool is_open = view->have.open_index != 0;
	net_xdp_state_t state = view->have.state;
	if (is_open && view->device.index != view->have.open_index) {
		bool is_there = view->device.index != 0;
		plan_add_step(ret_plan, INTERFACES_LOSE, view->want)->reason =
				is_there ? "was replaced by another of its name" : "is gone, waiting for it";
		is_open = false;
		state = NET_XDP_GONE;
		news = is_there;
	}
	(void)plan_add_step(ret_plan, INTERFACES_NOTE, view->want);
	if (is_open) {
		plan_add_open_steps(view, news, ret_plan);
	} else {
		plan_add_closed_steps(view, state, news, ret_plan);
	}
	plan_add_step(ret_plan, INTERFACES_SOCKETS, view->want)->is_news = news;
}

/* ---- What follows from a result ---- */

static bool plan_has_code(const knot_err_t *codes, size_t count, knot_err_t err)
{
	for (size_t i = 0; i < count; i++) {
		if (codes[i] == err) {
			return true;
		}
	}
	return false;
}

xdp_level_t interfaces_plan_level(xdp_level_t level, knot_err_t err, bool zero_copy)
{
	static const knot_err_t shared[] = { KNOT_EPERM, KNOT_EACCES, KNOT_EBUSY, KNOT_ENODEV, KNOT_ECONNCLOSED };
	assert(level < XDP_LEVEL_SOCKETS);
	if (plan_has_code(shared, KNOT_LEN(shared), err)) {
		return XDP_LEVEL_SOCKETS;
	}
	return level + 1 == XDP_LEVEL_COPY && !zero_copy ? XDP_LEVEL_EMULATED : level + 1;
}

uint64_t interfaces_plan_retry(knot_err_t err, uint64_t now_ms)
{
	/* Time won't heal these. */
	static const knot_err_t lasting[] = { KNOT_EPERM, KNOT_EACCES, KNOT_EINVAL, KNOT_ECONNCLOSED, KNOT_ENOTSUP };
	return plan_has_code(lasting, KNOT_LEN(lasting), err) ? 0 : now_ms + RETRY_MS;
}

uint64_t interfaces_plan_hurry(knot_err_t err, uint64_t tried_ms, uint64_t retry_ms)
{
	return err == KNOT_EBUSY ? tried_ms + HURRY_MS : retry_ms;
}

net_xdp_state_t interfaces_plan_state(knot_err_t err)
{
	return err == KNOT_OK ? NET_XDP_UP : err == KNOT_ENODEV ? NET_XDP_GONE : NET_XDP_SOCKETS;
}

interfaces_queue_fate_t interfaces_plan_queue(uint64_t age_ms, bool helper_lost)
{
	if (helper_lost) {
		return INTERFACES_QUEUE_CLOSE;
	}
	return age_ms < FRAGILE_MS ? INTERFACES_QUEUE_LOWER : INTERFACES_QUEUE_REOPEN;
}
