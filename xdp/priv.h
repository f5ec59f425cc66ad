/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The privileged helper: the few steps that need a privilege, done by a process of their own.
 *
 * The process that parses packets runs without capabilities. Before it gives them up it forks a helper that keeps them
 * and does nothing but serve requests over a socket pair: load and attach the kernel program, open AF_XDP and raw
 * sockets, bind low ports; descriptors come back over the pair. Each request is checked in the helper as if a hostile
 * process had sent it. Protocol and checks: priv_wire.h. Why it is so: doc/adr/0010-privileged-helper.md.
 *
 * Life: kxdp_priv_start() while there is one thread and the privileges are still there. The helper ends when the pair's
 * other end closes, also when the daemon is killed; then every program is detached and changed settings are restored.
 * It ignores the signals that end a daemon. When the helper ends first, everything that was opened goes on working;
 * requests fail with KNOT_ECONNCLOSED from then on.
 *
 * Threads: all functions but start and stop from any thread; requests are served one after the other.
 *
 * Cost: two system calls and a process switch per request; opening an interface may take a second.
 */
#pragma once

#include "xdp/kxdp.h"

typedef struct {
	/* The ports of the configuration read at start, in host order; borrowed for the call. An interface can be
	 * opened or configured, and a socket bound, only with one of these, 53 or 853. Ports from 1024 on need no
	 * privilege to be bound: the helper refuses, bind them without it. */
	const uint16_t *ports;
	size_t port_count;
	char **argv;   /* of main(): overwritten in the helper, for ps; NULL: stays */
	bool detached; /* the process leaves its terminal: hold no standard stream open */
} kxdp_priv_params_t;

/**
 * Fork the helper.
 *
 * KNOT_EPERM: the process has none of the privileges that a helper would be good for (CAP_NET_ADMIN, CAP_NET_RAW,
 * CAP_NET_BIND_SERVICE): go on without one. Everything that takes a `kxdp_priv_t *` takes NULL for that and says what
 * is missing. Others: errno values of fork() and socketpair().
 */
KNOT_MUST_USE knot_err_t kxdp_priv_start(
		const kxdp_priv_params_t *params, kxdp_priv_t **ret_priv, kxdp_fault_t *ret_fault);

/** End the helper and wait until it has cleaned up. Interfaces and queues must be closed before. NULL is fine. */
void kxdp_priv_stop(kxdp_priv_t *take_priv);

/**
 * False once the helper has ended. A system call; it doesn't wait for a request that runs, which finds out itself.
 * NULL: false.
 */
bool kxdp_priv_alive(kxdp_priv_t *priv);

/**
 * Would the helper refuse to open or configure an interface with this port, in host order? KNOT_EACCES and the fault
 * that the request would have: it would. No system call, works without the helper. NULL: refuses nothing.
 */
KNOT_MUST_USE knot_err_t kxdp_priv_check_port(const kxdp_priv_t *priv, uint16_t port, kxdp_fault_t *ret_fault);

typedef struct {
	int type;                    /* SOCK_DGRAM or SOCK_STREAM */
	const struct sockaddr *addr; /* AF_INET or AF_INET6 with the port, below 1024 */
	char device[IF_NAMESIZE];    /* SO_BINDTODEVICE; "": any */
	bool reuseport;              /* SO_REUSEPORT */
} kxdp_bind_t;

/**
 * A UDP or TCP socket bound to a low port, close-on-exec, with IPV6_V6ONLY, and SO_REUSEADDR for TCP. Other options and
 * listen() are the caller's. An address that isn't there (yet) is bound all the same (IP_FREEBIND), *ret_nonlocal says
 * so.
 *
 * KNOT_EACCES: a port that the helper doesn't bind, see kxdp_priv_params_t. KNOT_EADDRINUSE and so on: of bind().
 */
KNOT_MUST_USE knot_err_t kxdp_priv_bind(
		kxdp_priv_t *priv, const kxdp_bind_t *bind, int *ret_fd, bool *ret_nonlocal, kxdp_fault_t *ret_fault);

/**
 * A raw socket for sending whole IP packets through the kernel's routing: AF_INET with IP_HDRINCL, AF_INET6 with
 * IPV6_HDRINCL; close-on-exec, non-blocking. It receives nothing (a filter drops all).
 */
KNOT_MUST_USE knot_err_t kxdp_priv_raw_socket(kxdp_priv_t *priv, int family, int *ret_fd, kxdp_fault_t *ret_fault);
