/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The XDP interfaces, their queues and workers, as they come and go.
 *
 * What is wanted (a configuration, by xdp_plan.h) and what there is (interfaces, their channels and addresses) are
 * compared by interfaces_follow(), and only the difference is changed, whatever caused it: a
 * reload, `ip link`, `ethtool -L`, a queue that failed.
 * doc/adr/0011-live-changes.md.
 *
 * Locks: `change` is held by a thread that changes anything, for as long as that takes; `look` while a pointer that
 * those who only look follow is changed, and while they look. What is changed under both may be read under either.
 * Order: change, look. Workers take neither.
 */
#pragma once

#include "src/net/block.h"
#include "src/net/host.h"
#include "src/net/interfaces_plan.h"
#include "src/net/sockets.h"
#include "src/net/xdp_worker.h"
#include "src/sys/lock.h"

/** A queue with its worker. */
typedef struct {
	kxdp_queue_t *queue;  /* owned; NULL: not open */
	xdp_worker_t *worker; /* owned */
	bool leaving;         /* not in the published list of workers any more */
	unsigned number;      /* of the thread: xdp-N */
	uint64_t opened_ms;
} xdp_lane_t;

/** What a queue had counted until it was closed, if it was. Levels are 0. */
typedef struct {
	bool was_open;
	bool has_tcp;
	kxdp_stats_t stats;
	kxdp_tcp_stats_t tcp;
	uint64_t filter[NET_FILTER_COUNTS_MAX]; /* of programs that were detached, by enum filter_count */
	uint64_t lost;                          /* packets that were in the receive ring of a socket that was closed */
} xdp_past_t;

typedef struct {
	xdp_want_t want;      /* in force while open, else wanted */
	xdp_want_t asked;     /* last tried, so that what failed isn't tried again every second */
	kxdp_device_t device; /* when it was last looked at */
	kxdp_iface_t *iface;  /* owned; NULL: not open */
	xdp_lane_t *lanes;    /* owned, by number of the queue */
	unsigned lane_max;
	xdp_level_t level; /* reached, or to be tried */
	net_xdp_state_t state;
	kxdp_fault_t fault;  /* why not up, or why not at the best level; text "" otherwise */
	uint64_t tried_ms;   /* when opening failed last */
	uint64_t retry_ms;   /* try again then; 0: only when something changed */
	sockets_t *sockets;  /* owned: serve instead; NULL: none needed */
	xdp_past_t *past;    /* owned, by number of the queue */
	unsigned past_count; /* not less than lane_max */
	bool planned;        /* while following */
	bool was_up;         /* at some time */
} xdp_interface_t;

typedef struct {
	worker_shared_t *shared; /* borrowed */
	const sockets_t *main;   /* borrowed: addresses that need no sockets in place of XDP; may be NULL */
	sockets_options_t fallback;
	sys_mutex_t change;
	sys_mutex_t look SYS_ACQUIRED_AFTER(change);
	bool started;     /* threads run */
	conf_xdp_t *conf; /* owned: what is followed */
	xdp_interface_t **
			items; /* owned, each of its own, in order of the configuration; array and count under `look` */
	size_t count;
	host_facts_t host;      /* when the system last said that something happened; see host.h */
	uint64_t host_retry_ms; /* a kernel program wasn't given what the host has: try again then; 0: not needed */
	block_list_t run_time;  /* rules set at run time */
	block_list_t blocks;    /* in force; their counters: of interfaces that were closed */
	net_capture_t *capture; /* the one that runs; NULL: none */
	bool helper_lost;       /* said so */
	knot_err_t plan_err;    /* of the last plan, said already */
	atomic_uint worker_count;
} interfaces_t;

/** An empty set. main: served already. Publishes an empty list of workers in `shared`. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t interfaces_init(
		interfaces_t *set, worker_shared_t *shared, const sockets_t *main, const sockets_options_t *fallback);

/** Stop and close everything. */
void interfaces_done(interfaces_t *set) SYS_EXCLUDES(set->change);

/**
 * Make the interfaces follow a configuration (take_conf: owned from now on, NULL: the same as before) and the system.
 * event: something happened to some interface, so another program may have gone from one. Logs. Returns the first error
 * of something that stayed as it was, or of sockets that could not be bound.
 */
knot_err_t interfaces_follow(interfaces_t *set, conf_xdp_t *take_conf, bool event) SYS_EXCLUDES(set->change);

/**
 * The same for the configuration that is published in `root`: while others publish, the last one wins. again: an
 * operator asked for it, so what failed is tried again although nothing changed.
 */
knot_err_t interfaces_follow_published(interfaces_t *set, const state_root_t *root, bool again)
		SYS_EXCLUDES(set->change);

/** Start the workers that are there; those that come later start at once. */
KNOT_MUST_USE knot_err_t interfaces_start(interfaces_t *set) SYS_EXCLUDES(set->change);

/** End and join the workers; nothing follows any more. */
void interfaces_stop(interfaces_t *set) SYS_EXCLUDES(set->change);

/** True if there is no interface to follow. */
bool interfaces_empty(interfaces_t *set) SYS_EXCLUDES(set->look);

/** True if some address is served: an interface is up, or sockets serve instead. */
bool interfaces_serve(interfaces_t *set) SYS_EXCLUDES(set->look);

/** Workers of sockets that serve instead of XDP, and XDP workers. */
net_workers_t interfaces_workers(interfaces_t *set) SYS_EXCLUDES(set->look);

/** True once the helper has ended: nothing can be opened, what is open must stay. False where there never was one. */
bool interfaces_lost_helper(const interfaces_t *set);

/** Publish the list of running workers and wait until no thread uses the old one. */
KNOT_MUST_USE knot_err_t interfaces_publish(interfaces_t *set) SYS_REQUIRES(set->change) SYS_EXCLUDES(set->look);

/* ---- Steps (interfaces_steps.c) ---- */

/** Make a plan of what is seen and take its steps, all of them. Logs. The first error. */
KNOT_MUST_USE knot_err_t interfaces_take_steps(interfaces_t *set, xdp_interface_t *item, const interfaces_view_t *view)
		SYS_REQUIRES(set->change) SYS_EXCLUDES(set->look);

/** Close an interface and its queues, keep their counters. One that isn't open is fine. */
void interfaces_close(interfaces_t *set, xdp_interface_t *item) SYS_REQUIRES(set->change) SYS_EXCLUDES(set->look);

/* ---- Captures (xdp_capture.c) ---- */

/** A tap for a queue that is being opened, when a capture runs that wants it; else NULL. */
kxdp_tap_t *interfaces_tap(interfaces_t *set, const xdp_interface_t *item, unsigned queue) SYS_REQUIRES(set->change)
		SYS_EXCLUDES(set->look);

/** What net.h promises under net_capture_… */
KNOT_MUST_USE knot_err_t interfaces_capture(interfaces_t *set, const char *ifname, const kxdp_tap_options_t *options,
		net_capture_t **ret_capture) SYS_EXCLUDES(set->change);
size_t interfaces_capture_sources(interfaces_t *set, const net_capture_t *capture, net_capture_source_t *ret_sources,
		size_t max) SYS_EXCLUDES(set->look);
void interfaces_capture_end(interfaces_t *set, net_capture_t *capture) SYS_EXCLUDES(set->change);
void interfaces_capture_stop(interfaces_t *set, net_capture_t *take_capture) SYS_EXCLUDES(set->change);

/* ---- Status (xdp_status.c): what net.h promises under net_xdp_… ---- */

size_t interfaces_count(interfaces_t *set) SYS_EXCLUDES(set->look);
bool interfaces_stats(interfaces_t *set, size_t index, net_xdp_stats_t *ret_stats) SYS_EXCLUDES(set->look);
KNOT_MUST_USE knot_err_t interfaces_status(interfaces_t *set, net_xdp_status_t **ret_status) SYS_EXCLUDES(set->look);

/* ---- Sockets in place of XDP (xdp_fallback.c) ---- */

/**
 * Sockets for the addresses of `want` while the interface isn't open, none while it is. news: say that there are no
 * addresses. The first error of an address that could not be bound; logged.
 */
KNOT_MUST_USE knot_err_t interfaces_follow_sockets(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want,
		bool news) SYS_REQUIRES(set->change) SYS_EXCLUDES(set->look);

/* ---- Lanes (xdp_lane.c) ---- */

/** Open a queue with a worker; neither is in the list of workers, or started, yet. */
KNOT_MUST_USE knot_err_t xdp_lane_open(interfaces_t *set, const xdp_interface_t *item, kxdp_iface_t *iface,
		unsigned queue, xdp_lane_t *ret_lane, kxdp_fault_t *ret_fault) SYS_REQUIRES(set->change);

/** Start the worker's thread. */
KNOT_MUST_USE knot_err_t xdp_lane_start(xdp_lane_t *lane);

/** Have the worker end; xdp_lane_close() waits for it. */
void xdp_lane_stop(xdp_lane_t *lane);

/** Join the worker, close the queue. An empty lane is fine. */
void xdp_lane_close(xdp_lane_t *lane);

/* ---- Counters of what was closed (xdp_past.c) ---- */

/** Make sure that item->past has `count` queues. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t xdp_past_reserve(interfaces_t *set, xdp_interface_t *item, unsigned count)
		SYS_EXCLUDES(set->look);

/** Add what the queue and worker of a lane counted. The worker has ended, the queue is still open. Under `look`. */
void xdp_past_add_lane(xdp_past_t *past, const xdp_lane_t *lane);

/** Once the queue is closed: count the packets that no one took out of its ring. Under `look`. */
void xdp_past_count_lost(xdp_past_t *past, const kxdp_iface_t *iface, unsigned queue);

/** Add what the kernel program counted, before it is detached. Under `look`. */
void xdp_past_add_program(xdp_past_t *past, const kxdp_iface_t *iface, unsigned queue);

/* ---- Block rules (xdp_block.c) ---- */

/** Bring all open interfaces from set->blocks to what configuration and run time ask for. First error; logged. */
knot_err_t interfaces_follow_blocks(interfaces_t *set) SYS_REQUIRES(set->change);

/** What net.h promises under net_block_… */
KNOT_MUST_USE knot_err_t interfaces_block(interfaces_t *set, const net_block_t *rules, size_t count)
		SYS_EXCLUDES(set->change);
KNOT_MUST_USE knot_err_t interfaces_unblock(interfaces_t *set, const conf_xdp_block_t *rule) SYS_EXCLUDES(set->change);
KNOT_MUST_USE knot_err_t interfaces_blocks(interfaces_t *set, net_block_t **ret_rules, size_t *ret_count)
		SYS_EXCLUDES(set->change);

/** Keep what rules have counted on an interface that is about to be closed. */
void interfaces_keep_block_counts(interfaces_t *set, kxdp_iface_t *iface) SYS_REQUIRES(set->change);

/** Remove the rules whose time is over, and log them. True: of those left, some have an end. */
bool interfaces_end_blocks(interfaces_t *set) SYS_EXCLUDES(set->change);

/* ---- What the host has (xdp_host.c) ---- */

/** Ask the system, and tell the programs of all open interfaces. Logs failures. */
void interfaces_follow_host(interfaces_t *set) SYS_REQUIRES(set->change);

/** Tell the program of an interface that was just opened. Logs failures. */
void interfaces_set_host(interfaces_t *set, kxdp_iface_t *iface) SYS_REQUIRES(set->change);

/** Give an interface that was just opened the rules in force. Logs failures. */
void interfaces_set_blocks(const interfaces_t *set, kxdp_iface_t *iface) SYS_REQUIRES(set->change);
