/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Workers that answer: UDP, TCP and AF_XDP. Receive, answer, send, nothing else.
 *
 * net_new() binds every listen address and sets up XDP, logging as Knot does; net_start() starts the threads. Each
 * batch is one RCU read section with one snapshot of the state. Counters are rows per thread; see sys/counters.h.
 */
#pragma once

#include "src/net/traffic.h"
#include "src/state/state.h"
#include "src/sys/counters.h"
#include "src/transfer/out_service.h"
#include "src/update/request.h"
#include "xdp/queue.h"
#include "xdp/tcp/tcp.h"

typedef struct net net_t;

/** Threads that a configuration asks for, as `status workers` prints them. */
typedef struct {
	unsigned udp;
	unsigned tcp;
	unsigned xdp;
} net_workers_t;

/** Counters of section `server` in `stats` that workers count: NET_COUNT_<name> of src/sys/counters.def. */
enum {
#define COUNTER_WORKER(name, item, help) NET_COUNT_##name,
#include "src/sys/counters.def"
	NET_COUNT_END,
};

/**
 * Bind the sockets that `conf` asks for and reserve counter rows for the workers: call before any other set of counters
 * is made. Every failure is logged as one line that names the address; the first one's code is returned and nothing
 * stays open. XDP that can't be had is logged and replaced by ordinary sockets on the interface's addresses. Copies
 * what it needs of conf. priv: does what needs a privilege; borrowed until net_free(), may be NULL.
 */
KNOT_MUST_USE knot_err_t net_new(const conf_t *conf, kxdp_priv_t *priv, net_t **ret_net);

/** Serve transfers with this service, which must live until net_stop(). Before net_start(). */
void net_set_transfers(net_t *net, transfer_service_t *transfers);

/**
 * Start the workers: from now on requests are answered. state: borrowed until net_stop(). updates: where dynamic
 * updates go to; what it borrows must last until net_stop(), too.
 */
KNOT_MUST_USE knot_err_t net_start(net_t *net, const state_root_t *state, update_sink_t updates);

/** End and join the workers. Batches in work are finished; TCP connections are closed. */
void net_stop(net_t *net);

/** Close sockets, detach XDP. After net_stop(). NULL is allowed. */
void net_free(net_t *net);

/** Whether net_start() succeeded and net_stop() was not called yet: queries are answered. Any thread. */
bool net_is_answering(const net_t *net);

/** Workers that run, or that net_start() will start. */
net_workers_t net_workers(net_t *net);

/** NET_COUNT_*; read with sys_counters_sum(). Never NULL. */
const sys_counters_t *net_counters(const net_t *net);

/** TRAFFIC_…; read with sys_counters_sum(). Never NULL. Counts since the start, also over reloads. */
const sys_counters_t *net_traffic(const net_t *net);

/**
 * A listening, non-blocking stream socket for something else than DNS; bound by the helper where this process may not.
 * A failure is the caller's to log. UNIX: listen_unlink() when it is closed. addr: borrowed.
 */
KNOT_MUST_USE knot_err_t net_listen(const net_t *net, const conf_addr_t *addr, int *ret_fd);

/** The lookers at the workers' traffic: for look_start(). */
looks_t *net_looks(net_t *net);

/** TCP connections that are open now over sockets. */
unsigned net_tcp_clients(const net_t *net);

/* ---- Changes while running ---- */

/**
 * Apply the published configuration: XDP interfaces, their addresses, ports, protocols, settings and block rules. Call
 * after each server_reload() that succeeded, from any thread; calls are served one after the other, and the last one
 * applies what was published last, so the order of two reloads doesn't matter. Before net_start() it does nothing:
 * net_start() applies what was published meanwhile.
 *
 * New sockets are opened before old ones are closed. An interface is reopened only if `ring-size`, `zero-copy` or
 * `busypoll-*` changed; all other changes apply while packets flow. A failure is logged in one line, the interface
 * keeps serving in its old state, and the first such error is returned; other interfaces are not affected. Items that
 * need a restart (server.listen, workers) are ignored. Doc: doc/adr/0011-live-changes.md.
 */
knot_err_t net_reconfigure(net_t *net);

/* ---- What can be seen ---- */

/** Sum of the counters that the sockets of all XDP queues of an interface have had since the start. */
typedef struct {
	char ifname[IF_NAMESIZE];
	unsigned queue_count; /* open now */
	kxdp_stats_t stats; /* counters never go back, also when queues come and go; fill levels: average over queues */
} net_xdp_stats_t;

/** Interfaces that were given to XDP since the start and still are in the configuration. */
size_t net_xdp_count(net_t *net);

/** One interface's statistics. False: there is no interface `index` (any more). */
bool net_xdp_stats(net_t *net, size_t index, net_xdp_stats_t *ret_stats);

enum {
	NET_FILTER_COUNTS_MAX = 40, /* rows of the kernel program's counters */
	NET_XDP_LISTEN_TEXT_MAX = 256,
};

typedef enum {
	NET_XDP_UP,      /* packets come through XDP */
	NET_XDP_GONE,    /* no such interface, or none with this address; it is taken when it comes */
	NET_XDP_SOCKETS, /* ordinary sockets serve instead; `reason` says why */
} net_xdp_state_t;

/** One receive queue with its worker. */
typedef struct {
	unsigned index;
	bool is_open;       /* else only counters are there */
	bool is_past;       /* not open, and no packet has come to it since the interface was opened last */
	kxdp_stats_t stats; /* counters never go back, also when queues come and go; levels are of now */
	bool has_tcp;
	kxdp_tcp_stats_t tcp;                              /* the same of the worker's stack, when has_tcp */
	uint64_t lost;                                     /* packets in the receive ring of a socket that was closed */
	uint32_t ring_size;                                /* descriptors in each ring; fill levels are in `stats` */
	kxdp_filter_count_t filter[NET_FILTER_COUNTS_MAX]; /* by fate; the same rows for every queue */
	size_t filter_count;
	int cpu; /* that the worker is pinned to; -1: none */
} net_xdp_queue_status_t;

typedef struct {
	char ifname[IF_NAMESIZE]; /* "": no interface has the address of `listen` */
	unsigned ifindex;         /* 0: gone */
	char driver[32];          /* "": it doesn't say */
	char mode[24];            /* kxdp_iface_mode_text(); "" when not up */
	unsigned mtu;             /* 0: gone */
	bool link_up;
	net_xdp_state_t state;
	char reason[sizeof(((kxdp_fault_t *)0)->text)]; /* why not up, or why in a lower mode; "" otherwise */
	char listen[NET_XDP_LISTEN_TEXT_MAX];           /* as configured, separated by blanks */
	bool udp, tcp, route_check;                     /* that are in force */
	net_xdp_queue_status_t *queues;                 /* that are or were open, or got packets, by index */
	size_t queue_count;
} net_xdp_iface_status_t;

/** A snapshot. */
typedef struct {
	net_xdp_iface_status_t *ifaces; /* in order of the configuration */
	size_t count;
	size_t worker_count; /* XDP workers of all interfaces: what the limits of TCP are divided by */
	bool helper_alive;   /* false: nothing that needs a privilege can be changed until a restart */
} net_xdp_status_t;

/** Everything about XDP now. Some system calls per queue. KNOT_ENOMEM. Free with net_xdp_status_free(). */
KNOT_MUST_USE knot_err_t net_xdp_status(net_t *net, net_xdp_status_t **ret_status);
void net_xdp_status_free(net_xdp_status_t *take_status);

/* ---- Blocking ---- */

enum {
	NET_BLOCK_MAX = 4096,        /* rules added at run time */
	NET_BLOCK_COMMENT_MAX = 128, /* bytes, with the final NUL */
};

/** A rule as it is in force on every XDP interface. */
typedef struct {
	conf_xdp_block_t rule; /* text: NULL */
	bool is_conf;     /* from the configuration; else set at run time, which goes before one of the same prefix */
	uint64_t matched; /* packets from these sources, over all interfaces; it stays when one is opened again */
	uint64_t dropped; /* of those */
	uint64_t end_ms;  /* when it ends, on sys_clock_ms(); 0: only when it is removed */
	char comment[NET_BLOCK_COMMENT_MAX]; /* of the one that added it; "": none */
} net_block_t;

/**
 * Add rules at run time, or replace those of the same prefixes; of `rules`, the rule, the end and the comment are
 * taken. They stay until their end, until they are removed or the server ends, also over reloads. All are added or
 * none: KNOT_ENOMEM. KNOT_ESPACE: too many rules. KNOT_ECONNCLOSED: the helper has ended. Others: an interface refused
 * one (the first error). On an error all is as before.
 */
KNOT_MUST_USE knot_err_t net_block_add(net_t *net, const net_block_t *rules, size_t count);

/**
 * Remove the rule that was added at run time for this prefix; a configured one of the same prefix is in force again.
 * KNOT_ENOENT: no rule has this prefix. KNOT_EPERM: it is from the configuration; change that and reload.
 * KNOT_ECONNCLOSED: the helper has ended; the rule stays in force.
 */
KNOT_MUST_USE knot_err_t net_block_remove(net_t *net, const conf_xdp_block_t *rule);

/** The rules in force, in order of prefixes. ret_rules: an array to free(), NULL when count is 0. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t net_block_list(net_t *net, net_block_t **ret_rules, size_t *ret_count);

/* ---- Capturing ---- */

/** Taps on the running queues; one capture at a time. */
typedef struct net_capture net_capture_t;

/** Where packets of a capture come from. */
typedef struct {
	char ifname[IF_NAMESIZE];
	unsigned ifindex;
	unsigned queue;
	kxdp_tap_t *tap; /* to drain, from one thread; owned by the capture */
} net_capture_source_t;

/**
 * Put a tap on each XDP queue: of one interface, or of all when ifname is NULL. Queues that open later get one, too;
 * the tap of a queue that is closed can be drained until the end. options: copied; what its filter points to is
 * borrowed until net_capture_stop(). KNOT_EBUSY: another capture runs. KNOT_ENODEV: no such XDP interface. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t net_capture_start(
		net_t *net, const char *ifname, const kxdp_tap_options_t *options, net_capture_t **ret_capture);

/**
 * The sources now: those of earlier calls first, in the same order. ret_sources[0..max). Returns how many there are.
 */
size_t net_capture_sources(net_t *net, const net_capture_t *capture, net_capture_source_t *ret_sources, size_t max);

/**
 * Take the taps away and wait until no worker uses them. What they hold can still be drained. Not within a read
 * section.
 */
void net_capture_end(net_t *net, net_capture_t *capture);

/** Take the taps away, wait until no worker uses them, free them. NULL is allowed. Not within a read section. */
void net_capture_stop(net_t *net, net_capture_t *take_capture);
