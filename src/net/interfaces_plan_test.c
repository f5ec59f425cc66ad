/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/interfaces_plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { NOW = 1000000, PLAN_TEXT_MAX = 512 };

static const xdp_want_t want_eth0 = {
	.ifname = "eth0",
	.text = "eth0",
	.listens = { { .port = 53 } },
	.listen_count = 1,
	.udp = true,
	.zero_copy = true,
	.ring_size = 2048,
};

static const kxdp_device_t device_eth0 = { .index = 7, .queue_count = 2, .queue_max = 8, .mtu = 1500, .is_up = true };

/* What a row changes of an interface that is open as it is wanted. */
typedef enum {
	CHANGE_PORT = 1 << 0,     /* the configuration has another port */
	CHANGE_RING = 1 << 1,     /* ... another ring-size */
	CHANGE_ASKED = 1 << 2,    /* the last plan was for it already */
	CHANGE_CHANNELS = 1 << 3, /* the device has more queues */
	CHANGE_MTU = 1 << 4,      /* ... another MTU */
	CHANGE_DOWN = 1 << 5,     /* ... is down */
	CHANGE_GONE = 1 << 6,     /* there is no such device */
	CHANGE_REPLACED = 1 << 7, /* another device has the name */
	CHANGE_SHORTAGE = 1 << 8, /* no descriptors: the device seems to be gone */
	CHANGE_REFUSED = 1 << 9,  /* the helper refuses the port */
	CHANGE_HELPER = 1 << 10,  /* the helper has ended */
	CHANGE_AGAIN = 1 << 11,   /* an operator asks for it */
	CHANGE_NEW = 1 << 12,     /* never planned before */
	CHANGE_SOCKETS = 1 << 13, /* not open: sockets serve */
	CHANGE_ABSENT = 1 << 14,  /* not open: it is gone, and was so at the last look */
	CHANGE_TIME = 1 << 15,    /* the time of the next try has come */
	CHANGE_EARLY = 1 << 16,   /* ... has not come yet */
	CHANGE_ADDRESS = 1 << 17, /* no interface has the listen's address */
	CHANGE_TCP = 1 << 18,     /* the configuration has another protocol */
	CHANGE_ENODEV = 1 << 19,  /* as CHANGE_GONE, and the query said so */
} change_t;

typedef struct {
	xdp_want_t want, in_force, asked;
	kxdp_device_t before;
	interfaces_view_t view;
} world_t;

static void world_close(world_t *w, net_xdp_state_t state)
{
	w->view.have.open_index = 0;
	w->view.have.state = state;
	w->in_force = w->asked;
}

static void world_change_conf(world_t *w, unsigned changes)
{
	w->want.listens[0].port = changes & CHANGE_PORT ? 5300 : 53;
	w->want.ring_size = changes & CHANGE_RING ? 4096 : 2048;
	w->want.tcp = (changes & CHANGE_TCP) != 0;
	if (changes & CHANGE_ADDRESS) {
		w->want.ifname[0] = w->in_force.ifname[0] = w->asked.ifname[0] = '\0';
	}
	if (changes & CHANGE_ASKED) {
		w->asked = w->want;
	}
	if (changes & CHANGE_REFUSED) {
		w->view.refused = (kxdp_fault_t){ .err = KNOT_EACCES, .text = "port 5300" };
	}
}

static void world_change_device(world_t *w, unsigned changes)
{
	kxdp_device_t *device = &w->view.device;
	device->queue_count = changes & CHANGE_CHANNELS ? 5 : device->queue_count;
	device->mtu = changes & CHANGE_MTU ? 1400 : device->mtu;
	device->is_up = (changes & CHANGE_DOWN) == 0;
	device->index = changes & CHANGE_REPLACED ? 9 : device->index;
	if (changes & (CHANGE_GONE | CHANGE_SHORTAGE | CHANGE_ABSENT | CHANGE_ENODEV | CHANGE_ADDRESS)) {
		*device = (kxdp_device_t){ .queue_count = 1, .mtu = 1500 };
	}
	w->view.device_errno = changes & CHANGE_SHORTAGE ? EMFILE : changes & CHANGE_ENODEV ? ENODEV : 0;
	w->before = changes & (CHANGE_ABSENT | CHANGE_ADDRESS) ? *device : w->before;
}

static world_t *world_of(unsigned changes, world_t *w)
{
	*w = (world_t){ .want = want_eth0, .in_force = want_eth0, .asked = want_eth0, .before = device_eth0 };
	w->view = (interfaces_view_t){
		.want = &w->want,
		.have = { .want = &w->in_force, .asked = &w->asked, .device = &w->before, .open_index = 7 },
		.device = device_eth0,
		.helper_lost = (changes & CHANGE_HELPER) != 0,
		.again = (changes & CHANGE_AGAIN) != 0,
		.now_ms = NOW,
	};
	world_change_conf(w, changes);
	world_change_device(w, changes);
	if (changes & CHANGE_SOCKETS) {
		world_close(w, NET_XDP_SOCKETS);
	}
	if (changes & (CHANGE_ABSENT | CHANGE_ADDRESS)) {
		world_close(w, NET_XDP_GONE);
	}
	w->view.have.retry_ms = changes & CHANGE_TIME ? NOW : changes & CHANGE_EARLY ? NOW + 1 : 0;
	if (changes & CHANGE_NEW) {
		world_close(w, NET_XDP_UP);
		w->in_force = w->want;
		w->asked = (xdp_want_t){ .ifname = "" };
		w->before = (kxdp_device_t){ .index = 0 };
		w->view.again = true; /* as interfaces.c does for an interface that it just added */
	}
	return w;
}

/* Steps as words: "reopen" with "!" for news and "old" for the want in force; reasons in brackets. */
static void plan_print(const world_t *w, const interfaces_plan_t *plan, char *ret_text)
{
#define STEP_NAME(constant, name, what) [constant] = #name,
	static const char *const names[INTERFACES_STEP_KINDS] = { INTERFACES_STEPS(STEP_NAME) };
#undef STEP_NAME
	size_t len = 0;
	ret_text[0] = '\0';
	for (size_t i = 0; i < plan->count; i++) {
		const interfaces_step_t *step = &plan->steps[i];
		assert_true(step->want == &w->want || step->want == &w->in_force);
		len += (size_t)snprintf(ret_text + len, PLAN_TEXT_MAX - len, "%s%s%s%s", i > 0 ? " " : "",
				names[step->kind], step->is_news ? "!" : "", step->want != &w->want ? "-old" : "");
		if (step->reason != NULL) {
			len += (size_t)snprintf(ret_text + len, PLAN_TEXT_MAX - len, "(%s)", step->reason);
		}
		assert_true(len < PLAN_TEXT_MAX);
		assert_int_equal(step->err != KNOT_OK, step->kind == INTERFACES_KEEP);
	}
}

static void plans_have_these_steps(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		unsigned changes;
		const char *steps;
	} rows[] = {
		/* Open. */
		{ "nothing changed", 0, "note repair sockets" },
		{ "asked for", CHANGE_AGAIN, "note repair sockets!" },
		{ "another protocol", CHANGE_TCP, "note configure repair sockets!" },
		{ "another port", CHANGE_PORT, "note configure repair sockets!" },
		{ "it failed before", CHANGE_PORT | CHANGE_ASKED, "note repair sockets" },
		{ "it failed before, asked for", CHANGE_PORT | CHANGE_ASKED | CHANGE_AGAIN,
				"note configure repair sockets!" },
		{ "settings of sockets", CHANGE_RING, "note reopen repair sockets!" },
		{ "and a port", CHANGE_RING | CHANGE_PORT, "note reopen repair sockets!" },
		{ "they failed before", CHANGE_RING | CHANGE_ASKED, "note repair sockets" },
		{ "down", CHANGE_DOWN, "note repair sockets!" },
		{ "channels", CHANGE_CHANNELS, "note rebuilt reopen repair sockets!" },
		{ "MTU", CHANGE_MTU, "note rebuilt reopen repair sockets!" },
		{ "channels and a protocol", CHANGE_CHANNELS | CHANGE_TCP, "note rebuilt reopen repair sockets!" },
		{ "gone", CHANGE_GONE, "lose(is gone, waiting for it) note sockets" },
		{ "gone, as the system says", CHANGE_ENODEV, "lose(is gone, waiting for it) note sockets" },
		{ "gone, asked for", CHANGE_GONE | CHANGE_AGAIN, "lose(is gone, waiting for it) note sockets" },
		{ "replaced", CHANGE_REPLACED, "lose(was replaced by another of its name) note open! sockets!" },
		{ "no descriptors", CHANGE_SHORTAGE, "" },
		{ "no descriptors, another port", CHANGE_SHORTAGE | CHANGE_PORT, "" },
		/* A port that the helper refuses: nothing that is open may be closed for it. */
		{ "refused port", CHANGE_PORT | CHANGE_REFUSED, "note keep(port 5300) repair sockets!" },
		{ "refused port, said before", CHANGE_PORT | CHANGE_REFUSED | CHANGE_ASKED, "note repair sockets" },
		{ "refused port and settings of sockets", CHANGE_PORT | CHANGE_REFUSED | CHANGE_RING,
				"note keep(port 5300) repair sockets!" },
		{ "refused port, channels", CHANGE_PORT | CHANGE_REFUSED | CHANGE_CHANNELS,
				"note rebuilt keep(port 5300) reopen-old repair sockets!" },
		{ "refused port said before, channels", CHANGE_PORT | CHANGE_REFUSED | CHANGE_ASKED | CHANGE_CHANNELS,
				"note rebuilt keep(port 5300) reopen-old repair sockets!" },
		/* Without the helper: what is closed can't be opened again. */
		{ "no helper", CHANGE_HELPER, "note repair sockets" },
		{ "no helper, settings of sockets", CHANGE_HELPER | CHANGE_RING,
				"note keep(the privileged helper has ended) repair sockets!" },
		{ "no helper, channels", CHANGE_HELPER | CHANGE_CHANNELS,
				"note rebuilt keep(the privileged helper has ended) repair sockets!" },
		{ "no helper, another port", CHANGE_HELPER | CHANGE_PORT, "note configure repair sockets!" },
		{ "no helper, refused port", CHANGE_HELPER | CHANGE_PORT | CHANGE_REFUSED,
				"note configure repair sockets!" },
		{ "no helper, gone", CHANGE_HELPER | CHANGE_GONE, "lose(is gone, waiting for it) note sockets" },
		/* Not open. */
		{ "new", CHANGE_NEW, "note open! sockets!" },
		{ "new, not there", CHANGE_NEW | CHANGE_GONE, "note open! sockets!" },
		{ "new, refused port", CHANGE_NEW | CHANGE_PORT | CHANGE_REFUSED, "note open! sockets!" },
		{ "sockets", CHANGE_SOCKETS, "note sockets" },
		{ "sockets, too early", CHANGE_SOCKETS | CHANGE_EARLY, "note sockets" },
		{ "sockets, it is time", CHANGE_SOCKETS | CHANGE_TIME, "note open sockets" },
		{ "sockets, asked for", CHANGE_SOCKETS | CHANGE_AGAIN, "note open! sockets!" },
		{ "sockets, MTU", CHANGE_SOCKETS | CHANGE_MTU, "note open! sockets!" },
		{ "sockets, another port", CHANGE_SOCKETS | CHANGE_PORT, "note open! sockets!" },
		{ "sockets, no descriptors", CHANGE_SOCKETS | CHANGE_TIME | CHANGE_SHORTAGE, "" },
		{ "sockets, gone", CHANGE_SOCKETS | CHANGE_GONE, "note open! sockets!" },
		{ "absent", CHANGE_ABSENT, "note sockets" },
		{ "absent, it is time", CHANGE_ABSENT | CHANGE_TIME, "note sockets" },
		{ "absent, asked for", CHANGE_ABSENT | CHANGE_AGAIN, "note open! sockets!" },
		{ "no address", CHANGE_ADDRESS, "note no_address sockets" },
		{ "no address, it is time", CHANGE_ADDRESS | CHANGE_TIME, "note no_address sockets" },
		{ "no address, another port", CHANGE_ADDRESS | CHANGE_PORT, "note no_address! sockets!" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		world_t w;
		interfaces_plan_t plan;
		char steps[PLAN_TEXT_MAX];
		interfaces_plan_make(&world_of(rows[i].changes, &w)->view, &plan);
		plan_print(&w, &plan, steps);
		if (strcmp(steps, rows[i].steps) != 0) {
			fail_msg("%s: '%s', not '%s'", rows[i].what, steps, rows[i].steps);
		}
	}
}

/* An interface that came back after it was gone. */
static void what_returns_is_opened(void **state)
{
	(void)state;
	world_t w;
	interfaces_plan_t plan;
	char steps[PLAN_TEXT_MAX];
	world_of(CHANGE_ABSENT, &w)->view.device = device_eth0;
	interfaces_plan_make(&w.view, &plan);
	plan_print(&w, &plan, steps);
	assert_string_equal(steps, "note open! sockets!");
}

static void a_failed_level_leads_to_the_next(void **state)
{
	(void)state;
	static const struct {
		xdp_level_t level;
		knot_err_t err;
		bool zero_copy;
		xdp_level_t next;
	} rows[] = {
		{ XDP_LEVEL_BEST, KNOT_ENOTSUP, true, XDP_LEVEL_COPY },
		{ XDP_LEVEL_BEST, KNOT_EINVAL, true, XDP_LEVEL_COPY },
		{ XDP_LEVEL_BEST, KNOT_EIO, false, XDP_LEVEL_EMULATED },
		{ XDP_LEVEL_COPY, KNOT_EIO, true, XDP_LEVEL_EMULATED },
		{ XDP_LEVEL_EMULATED, KNOT_EIO, true, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_EMULATED, KNOT_ENOTSUP, false, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_BEST, KNOT_EPERM, true, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_BEST, KNOT_EACCES, true, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_BEST, KNOT_EBUSY, true, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_BEST, KNOT_ENODEV, false, XDP_LEVEL_SOCKETS },
		{ XDP_LEVEL_COPY, KNOT_ECONNCLOSED, true, XDP_LEVEL_SOCKETS },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		xdp_level_t next = interfaces_plan_level(rows[i].level, rows[i].err, rows[i].zero_copy);
		if (next != rows[i].next) {
			fail_msg("row %zu: level %d, not %d", i, (int)next, (int)rows[i].next);
		}
	}
}

static void failures_are_tried_again_if_time_can_heal_them(void **state)
{
	(void)state;
	static const struct {
		knot_err_t err;
		bool is_tried_again, is_hurried;
		net_xdp_state_t state;
	} rows[] = {
		{ KNOT_EBUSY, true, true, NET_XDP_SOCKETS },
		{ KNOT_ENOMEM, true, false, NET_XDP_SOCKETS },
		{ KNOT_EIO, true, false, NET_XDP_SOCKETS },
		{ KNOT_ENODEV, true, false, NET_XDP_GONE },
		{ KNOT_EPERM, false, false, NET_XDP_SOCKETS },
		{ KNOT_EACCES, false, false, NET_XDP_SOCKETS },
		{ KNOT_EINVAL, false, false, NET_XDP_SOCKETS },
		{ KNOT_ENOTSUP, false, false, NET_XDP_SOCKETS },
		{ KNOT_ECONNCLOSED, false, false, NET_XDP_SOCKETS },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const uint64_t retry = interfaces_plan_retry(rows[i].err, NOW);
		const uint64_t hurried = interfaces_plan_hurry(rows[i].err, NOW, retry);
		assert_int_equal(retry, rows[i].is_tried_again ? NOW + 10000 : 0);
		assert_int_equal(hurried, rows[i].is_hurried ? NOW + 500 : retry);
		assert_int_equal(interfaces_plan_state(rows[i].err), rows[i].state);
	}
	assert_int_equal(interfaces_plan_state(KNOT_OK), NET_XDP_UP);
}

static void a_failed_queue_is_opened_once_then_lowers_the_level(void **state)
{
	(void)state;
	assert_int_equal(interfaces_plan_queue(10000, false), INTERFACES_QUEUE_REOPEN);
	assert_int_equal(interfaces_plan_queue(9999, false), INTERFACES_QUEUE_LOWER);
	assert_int_equal(interfaces_plan_queue(10000, true), INTERFACES_QUEUE_CLOSE);
	assert_int_equal(interfaces_plan_queue(0, true), INTERFACES_QUEUE_CLOSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_have_these_steps),
		cmocka_unit_test(what_returns_is_opened),
		cmocka_unit_test(a_failed_level_leads_to_the_next),
		cmocka_unit_test(failures_are_tried_again_if_time_can_heal_them),
		cmocka_unit_test(a_failed_queue_is_opened_once_then_lowers_the_level),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
