/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How an interface comes to what the configuration wants of it: a view of it in, steps out. Pure.
 *
 * interfaces.c looks (at the system, at the helper, at the clock), asks interfaces_plan_make() and takes the steps with
 * interfaces_steps.c. A step whose result isn't known beforehand has a function of its own here that says what follows
 * from the result: the next level, the time of the next try, what becomes of a queue.
 *
 * xdp_plan.h sorts the configuration's listens by interface; this compares one of those interfaces with what is there.
 */
#pragma once

#include "src/net/xdp_plan.h"

/** How an interface can be opened, best first. A failure leads to the next level. */
typedef enum {
	XDP_LEVEL_BEST,     /* as configured */
	XDP_LEVEL_COPY,     /* without zero copy */
	XDP_LEVEL_EMULATED, /* generic XDP, without the driver */
	XDP_LEVEL_SOCKETS,
} xdp_level_t;

/** What is in place for an interface. All pointers are borrowed. */
typedef struct {
	const xdp_want_t *want;      /* in force while open, else wanted last */
	const xdp_want_t *asked;     /* of the last plan, whether its steps worked or not */
	const kxdp_device_t *device; /* of the last plan */
	unsigned open_index;         /* index of the interface that is open; 0: none is */
	xdp_level_t level;           /* reached, or to be tried next */
	net_xdp_state_t state;
	uint64_t retry_ms; /* try to open it again then; 0: only after a change */
} interfaces_have_t;

/** Everything that a plan depends on. */
typedef struct {
	const xdp_want_t *want; /* borrowed; the same interface as have.want, see xdp_want_meets() */
	interfaces_have_t have;
	kxdp_device_t device; /* now; index 0: there is no such interface */
	int device_errno;     /* of the query for it */
	kxdp_fault_t refused; /* KNOT_EACCES: the helper refuses a port of `want`; KNOT_OK: it refuses none */
	bool helper_lost;     /* nothing that is closed can be opened again */
	bool again;           /* plan as after a change, though nothing changed */
	uint64_t now_ms;
} interfaces_view_t;

/** Steps: ROW(constant, name, what). A plan has them in this order. */
/* clang-format off */
#define INTERFACES_STEPS(ROW) \
	ROW(INTERFACES_LOSE, lose, "close what is open: the interface is gone, or another one has its name") \
	ROW(INTERFACES_NOTE, note, "remember what was seen and wanted") \
	ROW(INTERFACES_REBUILT, rebuilt, "log that the driver made other rings") \
	ROW(INTERFACES_KEEP, keep, "log why the interface goes on as before") \
	ROW(INTERFACES_REOPEN, reopen, "close the sockets, open them with other settings") \
	ROW(INTERFACES_CONFIGURE, configure, "change listens and protocols while packets flow") \
	ROW(INTERFACES_REPAIR, repair, "see to queues that failed: interfaces_plan_queue()") \
	ROW(INTERFACES_OPEN, open, "open it, at this level or a lower one") \
	ROW(INTERFACES_NO_ADDRESS, no_address, "no interface has the address of the listen") \
	ROW(INTERFACES_SOCKETS, sockets, "bind ordinary sockets if it isn't open, close them if it is")
/* clang-format on */

#define INTERFACES_STEP(constant, name, what) constant,
typedef enum {
	INTERFACES_STEPS(INTERFACES_STEP) INTERFACES_STEP_KINDS,
} interfaces_step_kind_t;
#undef INTERFACES_STEP

typedef struct {
	interfaces_step_kind_t kind;
	const xdp_want_t *want; /* to follow: the view's, or the one in force */
	bool is_news;           /* say it in the log, even if it was said before */
	knot_err_t err;         /* KEEP: of the change that isn't made */
	const char *reason;     /* LOSE, KEEP: for the log; static, or of the view */
} interfaces_step_t;

typedef struct {
	interfaces_step_t steps[INTERFACES_STEP_KINDS];
	size_t count;
} interfaces_plan_t;

/**
 * The steps for one interface. None if the system had no descriptor or memory to answer the query for the device: what
 * was seen may not be so. ret_plan borrows from the view.
 */
void interfaces_plan_make(const interfaces_view_t *view, interfaces_plan_t *ret_plan);

/**
 * The level to try after `err` at `level` (below XDP_LEVEL_SOCKETS). XDP_LEVEL_SOCKETS after an error that all levels
 * share, such as KNOT_EBUSY: another program is attached. zero_copy: configured; without it XDP_LEVEL_COPY is skipped,
 * as the best level is that already.
 */
xdp_level_t interfaces_plan_level(xdp_level_t level, knot_err_t err, bool zero_copy);

/** When opening is tried again after it failed with `err`: a time in milliseconds, 0: only after a change. */
uint64_t interfaces_plan_retry(knot_err_t err, uint64_t now_ms);

/**
 * The same, after the system announced a change of some interface: another program may have left this one. err: of the
 * failure at tried_ms. retry_ms: as it is now.
 */
uint64_t interfaces_plan_hurry(knot_err_t err, uint64_t tried_ms, uint64_t retry_ms);

/** The state of an interface whose opening ended with `err`. */
net_xdp_state_t interfaces_plan_state(knot_err_t err);

typedef enum {
	INTERFACES_QUEUE_REOPEN, /* open it again; if that fails, lower the level */
	INTERFACES_QUEUE_LOWER,  /* open the interface at the next level */
	INTERFACES_QUEUE_CLOSE,  /* it can't be opened again: the other queues go on, sockets get its packets */
} interfaces_queue_fate_t;

/** What becomes of a queue that failed age_ms after it was opened. */
interfaces_queue_fate_t interfaces_plan_queue(uint64_t age_ms, bool helper_lost);
