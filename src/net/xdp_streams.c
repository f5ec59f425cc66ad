/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_streams.h"

#include "src/sys/limits.h"

#include <assert.h>
#include <stdlib.h>

enum {
	FRAME_HEAD = 2,
	FRAME_MAX = NET_TCP_MESSAGE_MAX + FRAME_HEAD,
	STREAMS_MAX = 1024, /* per worker: all are looked at in a turn */
	/* Messages per turn, of all transfers: 0.2 ms, with TSIG 0.4, that a query waits. */
	MESSAGES_MAX = 8,
};

knot_err_t xdp_streams_init(xdp_streams_t *streams, transfer_service_t *service, int wake_fd)
{
	streams->service = service;
	return transfer_waker_new(wake_fd, &streams->waker);
}

void xdp_streams_done(xdp_streams_t *streams, uint64_t now_us)
{
	for (size_t i = 0; i < streams->count; i++) {
		transfer_service_end(streams->service, streams->items[i].transfer, now_us);
	}
	transfer_waker_drop(streams->waker);
	free(streams->items);
	*streams = (xdp_streams_t){ .count = 0 };
}

static bool streams_make_room(xdp_streams_t *streams)
{
	enum { ROOM_MIN = 16 };
	if (streams->count < streams->room) {
		return true;
	}
	size_t room = streams->room == 0 ? ROOM_MIN : 2 * streams->room;
	xdp_stream_t *items = realloc(streams->items, room * sizeof(*items));
	if (items == NULL) {
		return false;
	}
	streams->items = items;
	streams->room = room;
	return true;
}

bool xdp_streams_have_room(const xdp_streams_t *streams)
{
	return streams->count < STREAMS_MAX;
}

bool xdp_streams_begin(xdp_streams_t *streams, kxdp_tcp_conn_t conn, const answer_source_t *source,
		const answer_aside_t *aside, uint64_t now_us)
{
	assert(streams->service != NULL && xdp_streams_find(streams, conn) == NULL && xdp_streams_have_room(streams));
	transfer_out_t *transfer = NULL;
	if (streams_make_room(streams)) {
		transfer = transfers_begin(streams->service, streams->waker, source, aside, now_us);
	}
	if (transfer == NULL) {
		return false;
	}
	streams->items[streams->count++] = (xdp_stream_t){ .conn = conn, .transfer = transfer };
	streams->wants_turn = true;
	return true;
}

xdp_stream_t *xdp_streams_find(const xdp_streams_t *streams, kxdp_tcp_conn_t conn)
{
	for (size_t i = 0; i < streams->count; i++) {
		if (streams->items[i].conn == conn) {
			return &streams->items[i];
		}
	}
	return NULL;
}

/* Messages as far as there is room for the longest, at most `max`. Returns how many. */
static unsigned stream_put(const xdp_stream_t *stream, kxdp_tcp_t *stack, uint8_t *frame, uint64_t now_s, unsigned max)
{
	unsigned count = 0;
	while (count < max && transfer_out_state(stream->transfer) == TRANSFER_OUT_READY &&
			kxdp_tcp_room(stack, stream->conn) >= FRAME_MAX) {
		size_t len = transfer_out_next(
				stream->transfer, (knot_mut_bytes_t){ frame + FRAME_HEAD, NET_TCP_MESSAGE_MAX }, now_s);
		store_be16(frame, (uint16_t)len);
		count++;
		if (!kxdp_tcp_write(stack, stream->conn, frame, FRAME_HEAD + len)) {
			kxdp_tcp_abort(stack, stream->conn); /* no memory: a transfer with a message missing is worse */
		}
	}
	return count;
}

/* It is done, or its connection has gone. The last one takes its place. */
static void streams_end(xdp_streams_t *streams, kxdp_tcp_t *stack, size_t at, uint64_t now_us)
{
	xdp_stream_t stream = streams->items[at];
	streams->items[at] = streams->items[--streams->count];
	transfer_service_end(streams->service, stream.transfer, now_us);
	kxdp_tcp_release(stack, stream.conn);
	if (stream.is_ended) {
		kxdp_tcp_close(stack, stream.conn);
	} else {
		kxdp_tcp_resume(stack, stream.conn);
	}
}

void xdp_streams_go_on(xdp_streams_t *streams, kxdp_tcp_t *stack, uint8_t *frame, uint64_t now_us, uint64_t now_s)
{
	unsigned left = MESSAGES_MAX;
	for (size_t unseen = streams->count; unseen > 0 && left > 0; unseen--) {
		size_t at = streams->next < streams->count ? streams->next : 0;
		const xdp_stream_t *stream = &streams->items[at];
		/* A share of what a turn may do; those that are left out are the first of the next one. */
		unsigned share = left > MESSAGES_MAX / 4 ? MESSAGES_MAX / 4 : left;
		left -= stream_put(stream, stack, frame, now_s, share);
		streams->next = at + 1;
		if (!kxdp_tcp_is_open(stack, stream->conn) ||
				transfer_out_state(stream->transfer) > TRANSFER_OUT_READY) {
			streams_end(streams, stack, at, now_us);
			streams->next = at;
		}
	}
	streams->wants_turn = left < MESSAGES_MAX && streams->count > 0;
}
