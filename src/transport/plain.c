/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/plain.h"

#include "src/transport/ops.h"

#include <assert.h>
#include <stdlib.h>

enum { STREAM_IN_MAX = 1 << 18 }; /* more than a whole message behind a part of one: room() is never 0 after take() */

typedef struct {
	transport_t base;
	transport_in_t in;
	transport_out_t out;
} plain_t;

_Static_assert(STREAM_IN_MAX > 2 * (2 + TRANSPORT_MESSAGE_MAX), "a message fits behind another one");

static plain_t *plain_of(transport_t *t)
{
	return (plain_t *)t;
}

static void plain_free(transport_t *take_t)
{
	plain_t *plain = plain_of(take_t);
	transport_in_done(&plain->in);
	transport_out_done(&plain->out);
	free(plain);
}

static knot_bytes_t plain_pending(transport_t *t, uint64_t now_ns)
{
	(void)now_ns;
	return transport_out_pending(&plain_of(t)->out);
}

static void plain_note_sent(transport_t *t, size_t len, uint64_t now_ns)
{
	(void)now_ns;
	transport_out_note_sent(&plain_of(t)->out, len);
}

static transport_t *plain_new(const transport_ops_t *ops)
{
	plain_t *plain = calloc(1, sizeof(*plain));
	if (plain == NULL) {
		return NULL;
	}
	plain->base = (transport_t){ .ops = ops, .state = TRANSPORT_OPEN };
	return &plain->base;
}

/* ---- Streams ---- */

static knot_mut_bytes_t plain_stream_room(transport_t *t)
{
	return transport_in_room(&plain_of(t)->in, STREAM_IN_MAX);
}

static void plain_stream_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	transport_in_t *in = &plain_of(t)->in;
	(void)now_ns;
	assert(len <= in->max - in->len);
	in->len += len;
}

static void plain_stream_note_eof(transport_t *t, uint64_t now_ns)
{
	transport_in_t rest = plain_of(t)->in; /* a copy: what is whole is still to be taken */
	knot_bytes_t message;
	(void)now_ns;
	while (transport_in_next(&rest, &message)) {}
	if (rest.pos < rest.len) {
		transport_stop(t, TRANSPORT_END_CUT, "the connection was closed within a message");
	} else {
		transport_stop(t, TRANSPORT_END_BY_PEER, "the peer has closed the connection");
	}
}

static bool plain_stream_take(transport_t *t, transport_event_t *ret_event)
{
	knot_bytes_t message;
	if (!transport_in_next(&plain_of(t)->in, &message)) {
		return false;
	}
	*ret_event = (transport_event_t){ .kind = TRANSPORT_MESSAGE, .message = message };
	return true;
}

static knot_err_t plain_stream_put(transport_t *t, knot_bytes_t message, uint64_t *stream)
{
	*stream = 0;
	return transport_out_add_framed(&plain_of(t)->out, message);
}

static const transport_ops_t plain_stream_ops = {
	.kind = TRANSPORT_STREAM,
	.free = plain_free,
	.room = plain_stream_room,
	.note_received = plain_stream_note_received,
	.note_eof = plain_stream_note_eof,
	.take = plain_stream_take,
	.put = plain_stream_put,
	.pending = plain_pending,
	.note_sent = plain_note_sent,
};

transport_t *transport_stream_new(void)
{
	return plain_new(&plain_stream_ops);
}

/* ---- Datagrams ---- */

static knot_mut_bytes_t plain_datagram_room(transport_t *t)
{
	transport_in_t *in = &plain_of(t)->in;
	if (in->pos < in->len) {
		return (knot_mut_bytes_t){ .len = 0 };
	}
	in->pos = in->len = 0;
	if (in->data == NULL) {
		in->data = malloc(TRANSPORT_MESSAGE_MAX);
		in->max = in->data != NULL ? TRANSPORT_MESSAGE_MAX : 0;
	}
	return (knot_mut_bytes_t){ in->data, in->max };
}

static void plain_datagram_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	transport_in_t *in = &plain_of(t)->in;
	(void)now_ns;
	assert(in->len == 0 && len <= in->max);
	in->len = len;
}

static bool plain_datagram_take(transport_t *t, transport_event_t *ret_event)
{
	transport_in_t *in = &plain_of(t)->in;
	if (in->pos == in->len) {
		return false;
	}
	*ret_event = (transport_event_t){ .kind = TRANSPORT_MESSAGE, .message = { in->data, in->len } };
	in->pos = in->len;
	return true;
}

static knot_err_t plain_datagram_put(transport_t *t, knot_bytes_t message, uint64_t *stream)
{
	plain_t *plain = plain_of(t);
	*stream = 0;
	return transport_out_left(&plain->out) > 0 ? KNOT_EAGAIN
						   : transport_out_add(&plain->out, message.data, message.len);
}

static const transport_ops_t plain_datagram_ops = {
	.kind = TRANSPORT_DATAGRAM,
	.is_datagram = true,
	.free = plain_free,
	.room = plain_datagram_room,
	.note_received = plain_datagram_note_received,
	.take = plain_datagram_take,
	.put = plain_datagram_put,
	.pending = plain_pending,
	.note_sent = plain_note_sent,
};

transport_t *transport_datagram_new(void)
{
	return plain_new(&plain_datagram_ops);
}
