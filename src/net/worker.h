/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What every kind of worker is given: sockets, the published state, and how it is told to end.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/net/net.h"
#include "src/sys/thread.h"
#include "xdp/kxdp.h"

#include <stdatomic.h>

typedef struct {
	int fd;
	const conf_addr_t *addr; /* borrowed from net_t */
	bool wildcard;           /* bound to 0.0.0.0 or ::, see listen_is_wildcard() */
} worker_socket_t;

/** Shared by the workers of a net_t; the atomic is touched per TCP connection, never per packet. */
typedef struct {
	const state_root_t *state;
	sys_counters_t *counters; /* NET_COUNT_* */
	int stop_fd;              /* eventfd: readable when workers have to end */
	atomic_uint tcp_clients;  /* connections open in all workers */
} worker_shared_t;

typedef struct {
	sys_thread_t thread;
	worker_shared_t *shared;  /* borrowed */
	worker_socket_t *sockets; /* owned array; the descriptors belong to net_t */
	size_t socket_count;
	kxdp_queue_t *queue; /* XDP workers: borrowed */
	void *memory;        /* owned: allocated before the thread starts, so that it can't fail later */
} worker_t;

/** Allocate what a worker of the kind needs into worker->memory. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t udp_worker_init(worker_t *worker);
KNOT_MUST_USE knot_err_t tcp_worker_init(worker_t *worker);
KNOT_MUST_USE knot_err_t xdp_worker_init(worker_t *worker);

/** Thread functions; arg is a worker_t. They return soon after shared->stop_fd became readable. */
void udp_worker_run(void *arg);
void tcp_worker_run(void *arg);
void xdp_worker_run(void *arg);
