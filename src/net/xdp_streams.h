/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Transfers over the TCP stack of one AF_XDP worker: at most one per connection, whose messages are made as its peer
 * acknowledges what was sent before. doc/adr/0051-transfers-over-af-xdp.md.
 *
 * A turn makes a few messages, of one connection after the other, so that queries have their turn soon. What a peer
 * doesn't take is bounded by the stack's output buffer of its connection. One thread: the worker's. No system call but
 * one per transfer, if its service sleeps.
 */
#pragma once

#include "src/net/transfers.h"
#include "xdp/tcp/tcp.h"

typedef struct {
	kxdp_tcp_conn_t conn;
	transfer_out_t *transfer; /* owned until it is given to the service at its end */
	bool is_ended;            /* the peer sends no more: close the connection behind the transfer */
} xdp_stream_t;

typedef struct {
	transfer_service_t *service; /* borrowed; NULL: there can't be any */
	transfer_waker_t *waker;     /* owned; wakes the worker */
	xdp_stream_t *items;         /* owned */
	size_t count, room;
	size_t next;     /* whose turn it is */
	bool wants_turn; /* there is more to do at once */
} xdp_streams_t;

/**
 * Zero it before. wake_fd: an eventfd that wakes the worker, non-blocking; duplicated.
 * KNOT_ENOMEM, or an errno code.
 */
KNOT_MUST_USE knot_err_t xdp_streams_init(xdp_streams_t *streams, transfer_service_t *service, int wake_fd);

/** End what there is, and free it. now_us: monotonic. */
void xdp_streams_done(xdp_streams_t *streams, uint64_t now_us);

/** Is there room for one more? False: too many. */
bool xdp_streams_have_room(const xdp_streams_t *streams);

/**
 * Begin the transfer that the engine decided on, in its read section; there is room. The caller holds the connection
 * (kxdp_tcp_hold()), which is released at the transfer's end. False: no memory.
 */
bool xdp_streams_begin(xdp_streams_t *streams, kxdp_tcp_conn_t conn, const answer_source_t *source,
		const answer_aside_t *aside, uint64_t now_us);

/** The transfer of a connection, until the next call of another function; NULL: none. */
xdp_stream_t *xdp_streams_find(const xdp_streams_t *streams, kxdp_tcp_conn_t conn);

/**
 * Go on with all of them, as far as their peers and a turn allow; end those that are done, or whose connection has
 * gone. frame: for a message of NET_TCP_MESSAGE_MAX bytes and its length. now_s: UNIX time.
 */
void xdp_streams_go_on(xdp_streams_t *streams, kxdp_tcp_t *stack, uint8_t *frame, uint64_t now_us, uint64_t now_s);
