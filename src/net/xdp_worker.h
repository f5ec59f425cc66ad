/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A worker that answers over one AF_XDP queue: UDP, and TCP by a stack of its own (xdp.c).
 *
 * xdp_lane.c makes it with its queue and frees it. Between, it is in the published list of workers while others may
 * hand frames to it: it enters the list when it can take them, and is stopped a grace period after it left.
 *
 * Threads: what isn't atomic or published doesn't change while the thread runs; `memory` is the thread's own but for
 * the inbox and the statistics of TCP, which have functions.
 */
#pragma once

#include "src/net/relay.h"
#include "src/net/worker.h"
#include "src/sys/thread.h"
#include "xdp/queue.h"
#include "xdp/tcp/tcp.h"

#include <stdatomic.h>

typedef struct {
	sys_thread_t thread;
	worker_shared_t *shared; /* borrowed */
	kxdp_queue_t *queue;     /* borrowed */
	unsigned ifindex;        /* of the queue's interface */
	unsigned queue_index;    /* on that interface */
	/*
	 * Published by a capture; NULL: none. RCU_LOAD() at the start of a read section that lasts from kxdp_receive()
	 * to kxdp_flush(), then kxdp_queue_tap(): outside of the section the queue must have no tap.
	 */
	kxdp_tap_t *tap_rcu;
	atomic_bool stop;   /* set by xdp_worker_stop(): the worker has to end */
	atomic_bool failed; /* set by the worker: its queue can't be used any more; net replaces or closes it */
	void *memory;       /* owned: xdp_worker_init() to xdp_worker_done() */
} xdp_worker_t;

/** The XDP workers that run. A published list never changes: each change of the set publishes another one. */
struct xdp_worker_set {
	size_t count; /* what the limits of TCP are divided by; at least 1 for a worker that is in it */
	xdp_worker_t *workers[];
};

/** Allocate what the worker needs; shared, queue and interface are set. KNOT_ENOMEM, or what an eventfd may fail with.
 */
KNOT_MUST_USE knot_err_t xdp_worker_init(xdp_worker_t *worker);

/** Free it. The thread has ended or was never started. Not initialized (memory NULL): nothing. */
void xdp_worker_done(xdp_worker_t *worker);

/**
 * Thread function; arg is the xdp_worker_t. It returns soon after xdp_worker_stop(), and has then answered what had
 * arrived and reset its TCP connections; or with `failed` set, once the queue can't be used any more.
 */
void xdp_worker_run(void *arg);

/** Have the worker end soon. Any thread. */
void xdp_worker_stop(xdp_worker_t *worker);

/** Where other workers put frames that are to leave through this one's queue. Of a worker in the published list. */
relay_t *xdp_worker_inbox(const xdp_worker_t *worker);

/** Statistics of the worker's TCP stack. False: it has none. From any thread while the worker isn't done. */
bool xdp_worker_tcp_stats(const xdp_worker_t *worker, kxdp_tcp_stats_t *ret_stats);
