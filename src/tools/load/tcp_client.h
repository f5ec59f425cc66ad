/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The client's side of TCP for millions of short connections: a connection is 24 bytes, and each event makes at most
 * one segment. A pure machine: numbers of queries, segments and time in, segments out; what a query says is made again
 * from its number when it is sent.
 *
 * Beside xdp/tcp, which is a server's: that one keeps what a peer may ask for again in buffers, has windows, congestion
 * control and timers for each connection, and limits for peers that mean harm. A client that sends one small query and
 * reads one answer needs none of it (doc/adr/0068). RFC 9293 as far as that goes: in-order reception, duplicate
 * acknowledgements for the rest, one retransmission timer of fixed length (RFC 6298 2.1: one second) that asks three
 * times.
 *
 * Debug modes are Knot's (options.h).
 */
#pragma once

#include "src/tools/load/options.h"
#include "src/tools/load/worker.h"
#include "xdp/tcp/segment.h"

enum {
	TCP_CLIENT_CONNS_MAX = 1 << 24,
	TCP_CLIENT_RESEND_NS = 1000000000,
	TCP_CLIENT_RESEND_MAX = 3,
};

typedef struct tcp_client tcp_client_t;

/** A segment to be sent; flags 0: none. Its payload has been written to the room that the call was given. */
typedef struct {
	uint32_t port, address; /* as in worker_query_t */
	uint32_t seq, ack;
	uint16_t mss; /* of a SYN */
	uint8_t flags;
	size_t len;
} tcp_client_out_t;

/** worker: borrowed; its flight says how many ports there are. mss: for the peer. NULL: no memory. */
tcp_client_t *tcp_client_new(worker_t *worker, char mode, uint16_t mss);
void tcp_client_free(tcp_client_t *take_client);

/**
 * The next query is due: open a connection, or use one that is idle. payload: room for MESSAGE_MAX + 2 bytes, here and
 * below. *ret_out: SYN or query.
 */
void tcp_client_next(tcp_client_t *client, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out);

/** A segment came to this port and address. */
void tcp_client_receive(tcp_client_t *client, uint32_t port, uint32_t address, const kxdp_segment_t *segment,
		uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out);

/** The next segment that has to be sent again. False: none now. */
bool tcp_client_resend(tcp_client_t *client, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out);

/** Connections that are open, half-open or closing. */
uint64_t tcp_client_open_count(const tcp_client_t *client);
