/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tls.h"

#include "src/transport/tls_layer.h"

#include <stdlib.h>

/* Plaintext: a whole message behind a part of one, and the largest record. */
enum { PLAIN_IN_MAX = 2 * (2 + TRANSPORT_MESSAGE_MAX) + (1 << 14) };

typedef struct {
	transport_t base;
	tls_layer_t layer;
	transport_in_t in;   /* decrypted, not taken */
	transport_out_t out; /* waits for the end of the handshake */
	size_t early_len;    /* bytes of `out` that are early data as well */
} tls_t;

static tls_t *tls_of(transport_t *t)
{
	return (tls_t *)t;
}

static void tls_free(transport_t *take_t)
{
	tls_t *tls = tls_of(take_t);
	tls_layer_done(&tls->layer);
	transport_in_done(&tls->in);
	transport_out_done(&tls->out);
	free(tls);
}

/* ---- Out ---- */

/* The handshake is over: what waited is sent, but for early data that the server has taken. */
static void tls_send_waiting(tls_t *tls)
{
	if (tls->base.state != TRANSPORT_OPENING || !tls->layer.is_open) {
		return;
	}
	tls->base.state = TRANSPORT_OPEN;
	transport_out_note_sent(&tls->out, tls->layer.is_early_taken ? tls->early_len : 0);
	(void)tls_layer_write(&tls->layer, transport_out_pending(&tls->out), &tls->base);
	transport_out_done(&tls->out);
}

static void tls_put_early(tls_t *tls, size_t len)
{
	knot_bytes_t waiting = transport_out_pending(&tls->out);
	if (tls_layer_takes_early(&tls->layer) &&
			tls_layer_write_early(&tls->layer, (knot_bytes_t){ waiting.data + waiting.len - len, len })) {
		tls->early_len += len;
	}
}

static knot_err_t tls_put(transport_t *t, knot_bytes_t message, uint64_t *stream)
{
	tls_t *tls = tls_of(t);
	*stream = 0;
	if (transport_out_left(&tls->layer.out) + transport_out_left(&tls->out) > TRANSPORT_PENDING_MAX / 2) {
		return KNOT_EAGAIN;
	}
	knot_err_t err = transport_out_add_framed(&tls->out, message);
	if (err != KNOT_OK) {
		return err;
	}
	if (t->state == TRANSPORT_OPENING) {
		tls_put_early(tls, 2 + message.len);
		return KNOT_OK;
	}
	bool is_sent = tls_layer_write(&tls->layer, transport_out_pending(&tls->out), t);
	transport_out_note_sent(&tls->out, transport_out_left(&tls->out));
	return is_sent ? KNOT_OK : KNOT_ECONNRESET;
}

static knot_bytes_t tls_pending(transport_t *t, uint64_t now_ns)
{
	tls_t *tls = tls_of(t);
	(void)now_ns;
	if (tls->layer.begins && t->state != TRANSPORT_ENDED) {
		(void)tls_layer_shake(&tls->layer, t); /* the client's first flight */
	}
	return transport_out_pending(&tls->layer.out);
}

static void tls_note_sent(transport_t *t, size_t len, uint64_t now_ns)
{
	(void)now_ns;
	transport_out_note_sent(&tls_of(t)->layer.out, len);
}

/* ---- In ---- */

static knot_mut_bytes_t tls_room(transport_t *t)
{
	return tls_layer_room(&tls_of(t)->layer);
}

/* Decrypt what has come, as far as there is room for it; the rest waits for tls_take(). */
static void tls_read_records(tls_t *tls)
{
	size_t len;
	do {
		knot_mut_bytes_t room = transport_in_room(&tls->in, PLAIN_IN_MAX);
		len = room.len > 0 ? tls_layer_read(&tls->layer, room, &tls->base) : 0;
		tls->in.len += len;
	} while (len > 0);
}

static void tls_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	(void)now_ns;
	tls_layer_note_received(&tls_of(t)->layer, len, t);
	tls_send_waiting(tls_of(t));
	tls_read_records(tls_of(t));
}

static void tls_note_eof(transport_t *t, uint64_t now_ns)
{
	(void)now_ns;
	tls_of(t)->layer.has_eof = true;
	tls_read_records(tls_of(t));
}

static bool tls_take(transport_t *t, transport_event_t *ret_event)
{
	tls_t *tls = tls_of(t);
	knot_bytes_t message;
	if (!transport_in_next(&tls->in, &message)) {
		tls_read_records(tls);
		if (!transport_in_next(&tls->in, &message)) {
			/* An end in order within a message is none. */
			bool is_cut = t->end == TRANSPORT_END_BY_PEER && tls->in.pos < tls->in.len;
			t->end = is_cut ? TRANSPORT_END_CUT : t->end;
			return false;
		}
	}
	*ret_event = (transport_event_t){ .kind = TRANSPORT_MESSAGE, .message = message };
	return true;
}

/* ---- End ---- */

static void tls_close(transport_t *t, uint64_t now_ns)
{
	(void)now_ns;
	tls_layer_close(&tls_of(t)->layer);
}

static void tls_describe(const transport_t *t, transport_session_t *ret_session)
{
	const tls_t *tls = (const tls_t *)t;
	if (tls->layer.is_open) {
		tls_session_describe(tls->layer.session, "TLS session ", ret_session);
	}
}

static knot_err_t tls_ticket(const transport_t *t, knot_mut_bytes_t *ret_ticket)
{
	const tls_t *tls = (const tls_t *)t;
	return tls->layer.is_open ? tls_session_ticket(tls->layer.session, ret_ticket) : KNOT_ENOENT;
}

static const transport_ops_t tls_ops = {
	.kind = TRANSPORT_TLS,
	.free = tls_free,
	.room = tls_room,
	.note_received = tls_note_received,
	.note_eof = tls_note_eof,
	.take = tls_take,
	.put = tls_put,
	.pending = tls_pending,
	.note_sent = tls_note_sent,
	.close = tls_close,
	.describe = tls_describe,
	.ticket = tls_ticket,
};

knot_err_t transport_tls_new(const transport_tls_params_t *params, transport_t **ret_t)
{
	tls_t *tls = calloc(1, sizeof(*tls));
	if (tls == NULL) {
		return KNOT_ENOMEM;
	}
	tls->base = (transport_t){ .ops = &tls_ops, .state = TRANSPORT_OPENING };
	knot_err_t err = tls_layer_init(&tls->layer, params, "dot");
	if (err != KNOT_OK) {
		free(tls);
		return err;
	}
	*ret_t = &tls->base;
	return KNOT_OK;
}
