/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Connections of the control sockets: one thread accepts, a bounded number of slots serve one connection each.
 *
 * A slot's thread is started when a connection needs it, and stays. The slots are shared out evenly among the sockets,
 * so that clients that fill one socket don't close the others. Where all slots of a socket are taken and another client
 * connects, the connection that has waited longest for its peer (for a request, the rest of one, or for its reply to be
 * read) is closed to make room; a connection whose command runs, or whose request waits for the slot's thread, is not.
 * While no connection can be closed, the next one waits in the kernel's queue. doc/adr/0022-control-connections.md. Not
 * here: what a connection says (session.h), how sockets are made (control.h).
 */
#pragma once

#include "src/control/peer_wait.h"

#include "libknot/base/err.h"

#include <stddef.h>

enum {
	SLOTS_MAX = 64,        /* as many commits share a write to disk; a slot that is not used costs nothing */
	SLOTS_SOCKETS_MAX = 4, /* as the configuration's schema */
	/*
	 * A connection may wait so long before it can be closed for another one: a client with a request needs less.
	 */
	SLOTS_GRACE_MS = 250,
	/*
	 * … and so much longer where its request lies in the socket, or its reply was read: the slot's thread is about
	 * to run, however busy the machine is.
	 */
	SLOTS_SPARE_MS = 1000,
};

typedef struct slots slots_t;

/**
 * Serve a connection until its end and close it. socket: index of the listening socket. wait: to be kept up to date.
 */
typedef void (*slots_serve_t)(void *ctx, int take_fd, unsigned socket, peer_wait_t *wait);

/** fds: listening sockets, not blocking; 1–4, borrowed for the life of the slots. NULL: no memory, no descriptor. */
slots_t *slots_new(const int *fds, size_t count, slots_serve_t serve, void *ctx);

/** Start the threads. */
KNOT_MUST_USE knot_err_t slots_start(slots_t *slots);

/** End open connections and all threads. */
void slots_stop(slots_t *slots);

/** Free. After slots_stop(). NULL is allowed. */
void slots_free(slots_t *slots);
