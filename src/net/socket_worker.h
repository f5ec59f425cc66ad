/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A worker that answers over sockets: UDP (udp.c) or TCP (tcp.c), on every address of its group (sockets.h).
 *
 * The group fills the record in, calls the init function of the kind, starts the thread with the run function, and at
 * the end makes `stop_fd` readable, joins the thread, closes `inbox` and frees `sockets` and `memory`. While the thread
 * runs, the record doesn't change and `memory` is the thread's own.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/net/later.h"
#include "src/net/worker.h"
#include "src/sys/thread.h"

/** A bound socket that the worker serves, alone or with others. */
typedef struct {
	int fd;                  /* borrowed from the group, as `addr` */
	const conf_addr_t *addr; /* as configured */
	bool wildcard;           /* bound to 0.0.0.0 or ::, see listen_is_wildcard() */
} worker_socket_t;

typedef struct {
	sys_thread_t thread;
	worker_shared_t *shared;  /* borrowed */
	worker_socket_t *sockets; /* owned; [0..socket_count), at least one */
	size_t socket_count;
	int stop_fd;          /* eventfd, borrowed: readable when the worker has to end */
	later_inbox_t *inbox; /* owned: replies that others made; the init function makes it */
	void *memory;         /* owned: all that the kind needs, in one allocation, so that running can't fail */
} socket_worker_t;

/** Make `inbox` and `memory`; `sockets` must be set. KNOT_ENOMEM, or what an eventfd may fail with. */
KNOT_MUST_USE knot_err_t udp_worker_init(socket_worker_t *worker);
KNOT_MUST_USE knot_err_t tcp_worker_init(socket_worker_t *worker);

/**
 * Thread functions; arg is the socket_worker_t. They return once stop_fd is readable: UDP answers what has arrived by
 * then, TCP closes its connections.
 */
void udp_worker_run(void *arg);
void tcp_worker_run(void *arg);
