/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A group of listen addresses with ordinary sockets, and the UDP and TCP workers that serve all of them.
 *
 * One group serves `server.listen`; an XDP interface that can't have XDP has another one for as long as it can't. A
 * group doesn't change: other addresses are another group, opened before the old one is closed (`shared`).
 *
 * Threads: one at a time changes a group; sockets_serves() from any.
 */
#pragma once

#include "src/net/net.h"
#include "src/net/socket_worker.h"

typedef struct sockets sockets_t;

typedef struct {
	unsigned udp_workers, tcp_workers; /* at least 1 each */
	bool tcp_reuseport;                /* a listening TCP socket for each TCP worker */
	bool affinity;                     /* UDP: hand a packet to the socket of the CPU that received it */
	bool shared;  /* SO_REUSEPORT everywhere: another group may be bound to the same addresses for a while */
	bool lenient; /* an address that can't be bound is left out */
} sockets_options_t;

/**
 * Bind addrs[0..count) and prepare the workers. Every failure is logged as a line that names the address. Privileges
 * that the process doesn't have any more are the helper's (shared->priv). lenient: the first error is returned and the
 * group is there all the same; else nothing stays open. KNOT_ENOMEM always leaves nothing; *ret_sockets is NULL then.
 * shared: borrowed until sockets_free(); addrs are copied.
 */
KNOT_MUST_USE knot_err_t sockets_new(worker_shared_t *shared, const sockets_options_t *options,
		const conf_addr_t *addrs, size_t count, sockets_t **ret_sockets);

/** Start the workers. On failure those that run go on until sockets_free(). */
KNOT_MUST_USE knot_err_t sockets_start(sockets_t *sockets);

/** End and join the workers: what has arrived over UDP is answered, TCP connections are closed. */
void sockets_stop(sockets_t *sockets);

/** sockets_stop() and close everything. NULL is fine. */
void sockets_free(sockets_t *take_sockets);

/** Addresses that are bound. */
size_t sockets_count(const sockets_t *sockets);

/** Workers of the group: those that sockets_start() starts. */
net_workers_t sockets_workers(const sockets_t *sockets);

/** True if requests to this address and port come to the group, also through a wildcard address. NULL: false. */
bool sockets_serves(const sockets_t *sockets, const conf_addr_t *addr);

/** True if the group was made for exactly these addresses, in any order. NULL: no addresses. */
bool sockets_same(const sockets_t *sockets, const conf_addr_t *addrs, size_t count);
