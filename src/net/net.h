/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Workers that answer: UDP, TCP and AF_XDP. Receive, answer, send, nothing else.
 *
 * net_new() binds every listen address and sets up XDP, logging as Knot does; net_start() starts the threads. Each
 * batch is one RCU read section with one snapshot of the state. Counters are rows per thread; see sys/counters.h.
 */
#pragma once

#include "src/state/state.h"
#include "src/sys/counters.h"
#include "xdp/kxdp.h"

typedef struct net net_t;

/** Threads that a configuration asks for, as `status workers` prints them. */
typedef struct {
	unsigned udp;
	unsigned tcp;
	unsigned xdp;
} net_workers_t;

/** Counters of section `server` in `stats`. */
enum {
	NET_COUNT_TCP_IO_TIMEOUT,
	NET_COUNT_TCP_IDLE_TIMEOUT,
	NET_COUNT_END,
};

/**
 * Bind the sockets that `conf` asks for and reserve counter rows for the workers: call before any other set of counters
 * is made. Every failure is logged as one line that names the address; the first one's code is returned and nothing
 * stays open. XDP that can't be had is logged and replaced by ordinary sockets on the interface's addresses. Copies
 * what it needs of conf. priv: does what needs a privilege; borrowed until net_free(), may be NULL.
 */
KNOT_MUST_USE knot_err_t net_new(const conf_t *conf, kxdp_priv_t *priv, net_t **ret_net);

/** Start the workers: from now on requests are answered. state: borrowed until net_stop(). */
KNOT_MUST_USE knot_err_t net_start(net_t *net, const state_root_t *state);

/** End and join the workers. Batches in work are finished; TCP connections are closed. */
void net_stop(net_t *net);

/** Close sockets, detach XDP. After net_stop(). NULL is allowed. */
void net_free(net_t *net);

net_workers_t net_workers(const net_t *net);

/** NET_COUNT_*; read with sys_counters_sum(). Never NULL. */
const sys_counters_t *net_counters(const net_t *net);

/** Interfaces that have XDP. */
size_t net_xdp_count(const net_t *net);

/** One interface's statistics: counters are sums over its queues, fill levels their averages. index < net_xdp_count().
 */
typedef struct {
	const char *ifname; /* lives as long as net */
	unsigned queue_count;
	kxdp_stats_t stats;
} net_xdp_stats_t;

void net_xdp_stats(const net_t *net, size_t index, net_xdp_stats_t *ret_stats);
