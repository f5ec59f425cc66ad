/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The client's side of DNS over QUIC (RFC 9250) for many connections: datagrams and time in, datagrams and the next
 * deadline out. Connections are src/transport's; here is which one a query goes to, what becomes of it, and when each
 * has to be looked at.
 *
 * A connection per query: a new one begins with the ticket of one before, so that its query leaves in 0-RTT where the
 * server allows it, and is closed behind the answer. In mode R connections are kept: a query goes to one that is idle,
 * else to a new one, else, when there are as many as may be, to another stream of one that waits for answers. Queries
 * that find no connection wait, and their latency counts from when they were due.
 *
 * Each connection has a port of its own; ports are taken in turn, so that what still comes for one that is over finds
 * nobody. Debug modes are options.h's. Pure, but for the files of qlog. A client is its thread's.
 */
#pragma once

#include "src/tools/load/options.h"
#include "src/tools/load/worker.h"

enum {
	QUIC_CLIENT_CONNS_MAX = 60000,
	QUIC_CLIENT_QUERIES_MAX = 16,    /* that wait on one connection */
	QUIC_CLIENT_DATAGRAM_MAX = 1200, /* of those that we send */
};

typedef struct quic_client quic_client_t;

typedef struct {
	char mode;            /* mode_t_load */
	bool full_handshakes; /* no tickets */
	uint32_t conns;       /* at a time, 1 to QUIC_CLIENT_CONNS_MAX */
	uint32_t ports;       /* of the shell's, at least `conns` */
	const char *qlog_dir; /* borrowed; NULL: none */
} quic_client_params_t;

/** worker: borrowed, with zero_ids. NULL: no memory. */
quic_client_t *quic_client_new(worker_t *worker, const quic_client_params_t *params);

/** Connections end without a word. NULL is allowed. */
void quic_client_free(quic_client_t *take_client);

/** The next query is due: give it to a connection. False: none is free now. */
bool quic_client_next(quic_client_t *client, uint64_t now_ns);

/** A datagram from the server came to this port. */
void quic_client_receive(quic_client_t *client, uint32_t port, knot_bytes_t datagram, uint64_t now_ns);

/** The system says that nobody listens there (ICMP). */
void quic_client_refuse(quic_client_t *client, uint32_t port);

/** The next datagram to be sent; false: none now. *ret_len: of what was written to bytes. */
bool quic_client_send(quic_client_t *client, uint64_t now_ns, uint8_t bytes[static QUIC_CLIENT_DATAGRAM_MAX],
		size_t *ret_len, uint32_t *ret_port);

/** When quic_client_expire() has something to do; UINT64_MAX: not before something comes. */
uint64_t quic_client_deadline_ns(const quic_client_t *client);

/** Retransmissions, and queries whose time is over. quic_client_send() has the rest. */
void quic_client_expire(quic_client_t *client, uint64_t now_ns);

/** No more queries follow: connections that wait for no answer are closed; without `waits` the others, too. */
void quic_client_finish(quic_client_t *client, bool waits, uint64_t now_ns);

/** Connections that aren't over. */
uint32_t quic_client_open_count(const quic_client_t *client);
