/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What every kind of worker gets: sockets, the published state, and the means to end it.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/net/net.h"
#include "src/net/tcp_clients.h"
#include "src/net/traffic.h"
#include "src/net/vlan.h"
#include "src/sys/thread.h"
#include "xdp/queue.h"
#include "xdp/tcp/tcp.h"

#include <stdatomic.h>

typedef struct {
	int fd;
	const conf_addr_t *addr; /* borrowed from net_t */
	bool wildcard;           /* bound to 0.0.0.0 or ::, see listen_is_wildcard() */
} worker_socket_t;

typedef struct worker worker_t;

/** The XDP workers that run, as a published list that never changes: each change of the set publishes another. */
typedef struct {
	size_t count;        /* what the limits of TCP are divided by; at least one for a worker that asks */
	worker_t *workers[]; /* valid within the section; a worker leaves the list before it is stopped */
} worker_set_t;

/** Shared by the workers of a net_t; tcp_clients is locked per TCP connection, never per packet. */
typedef struct {
	const state_root_t *state;
	sys_counters_t *counters;  /* NET_COUNT_* */
	sys_counters_t *traffic;   /* TRAFFIC_… */
	looks_t looks;             /* looks.list_rcu: RCU_LOAD() */
	kxdp_priv_t *priv;         /* borrowed; may be NULL */
	worker_set_t *xdp_rcu;     /* RCU_LOAD(); never NULL while workers run */
	vlan_table_t *vlans_rcu;   /* VLAN devices of the host, for routes that name them; NULL: none */
	tcp_clients_t tcp_clients; /* of all socket workers */
} worker_shared_t;

struct worker {
	sys_thread_t thread;
	worker_shared_t *shared; /* borrowed */
	int stop_fd; /* eventfd, borrowed: readable when the worker has to end; XDP workers look at `stop` */
	worker_socket_t *sockets; /* owned array; the descriptors belong to net_t */
	size_t socket_count;
	/* XDP workers: */
	kxdp_queue_t *queue; /* borrowed */
	unsigned ifindex;
	unsigned queue_index;
	atomic_bool stop;   /* has to end; xdp_worker_stop() */
	atomic_bool failed; /* set by the worker: its queue is of no use any more; net replaces or closes it */
	/* RCU_LOAD() at the start of a read section that lasts from kxdp_receive() to kxdp_flush(), then
	 * kxdp_queue_tap(): outside of the section the queue must have no tap. NULL: no capture. */
	kxdp_tap_t *tap_rcu;
	void *memory; /* owned: allocated before the thread starts, so that it can't fail later; of the worker's kind */
};

/** Allocate what a worker of the kind needs into worker->memory. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t udp_worker_init(worker_t *worker);
KNOT_MUST_USE knot_err_t tcp_worker_init(worker_t *worker);
KNOT_MUST_USE knot_err_t xdp_worker_init(worker_t *worker);

/** Tell an XDP worker to end: it answers what has arrived and returns soon. */
void xdp_worker_stop(worker_t *worker);

/** Free worker->memory and what hangs on it; the thread has ended, or never started. */
void xdp_worker_done(worker_t *worker);

/** Statistics of the worker's TCP stack. False: it has none. From any thread while the worker isn't done. */
bool xdp_worker_tcp_stats(const worker_t *worker, kxdp_tcp_stats_t *ret_stats);

/** Thread functions; arg is a worker_t. They return soon after they were told to stop, and at the latest 250 ms after
 * `stop` was set; what has arrived by then is answered. */
void udp_worker_run(void *arg);
void tcp_worker_run(void *arg);
void xdp_worker_run(void *arg);
