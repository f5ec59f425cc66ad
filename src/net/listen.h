/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Listening sockets for UDP and TCP: options and binding. Failures are logged here, one line each, naming the address.
 */
#pragma once

#include "src/conf/conf.h"
#include "xdp/priv.h"

#include <sys/un.h>

typedef struct {
	bool reuseport;    /* SO_REUSEPORT: several sockets share the address */
	kxdp_priv_t *priv; /* binds where the process may not (any more); may be NULL */
	bool silent;       /* a failure is the caller's to log */
} listen_options_t;

/**
 * A bound datagram socket, blocking, with a short time limit for sending; for an AF_UNIX address its path gets the
 * ending LISTEN_DGRAM_SUFFIX, because one path can't be a stream and a datagram socket. A socket file that no program
 * serves is replaced, any other file is KNOT_EADDRINUSE. An address that isn't there
 * (yet) is bound all the same (IP_FREEBIND) with a warning unless `quiet`.
 */
KNOT_MUST_USE knot_err_t listen_udp(const conf_addr_t *addr, listen_options_t options, bool quiet, int *ret_fd);

/** A listening, non-blocking stream socket. As above. */
KNOT_MUST_USE knot_err_t listen_tcp(const conf_addr_t *addr, listen_options_t options, bool quiet, int *ret_fd);

/** What to do after accept() failed. */
typedef enum {
	LISTEN_ACCEPT_LATER, /* no connection waits: go on when the socket is readable */
	LISTEN_ACCEPT_NEXT,  /* one connection was lost, or a signal came: the next one may wait */
	LISTEN_ACCEPT_PAUSE, /* descriptors or memory ran out: the connection still waits, so give it time */
} listen_accept_t;

/**
 * Sort an errno of accept(). Linux reports pending network errors of the new connection here, and they say nothing
 * about the listening socket (accept(2), "Error handling").
 */
listen_accept_t listen_accept_after(int err);

#define LISTEN_DGRAM_SUFFIX ".dgram"

/** The path of the datagram socket beside a stream socket. False: doesn't fit. */
bool listen_dgram_addr(const conf_addr_t *addr, conf_addr_t *ret_addr);

/**
 * True if a program has a socket at the path of an AF_UNIX address: its file must not be replaced. type: of the socket
 * that is to be there (SOCK_STREAM, SOCK_DGRAM). The program sees at most a connection that ends at once.
 */
bool listen_is_served(const struct sockaddr_un *addr, int type);

/** Remove the socket file of an AF_UNIX address; nothing for others, and no file that isn't a socket. */
void listen_unlink(const conf_addr_t *addr);

/** True for 0.0.0.0 and ::, where the address asked is known from each packet only. */
bool listen_is_wildcard(const conf_addr_t *addr);
