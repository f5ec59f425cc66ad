/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/ops.h"
#include "src/transport/tcp_buffer.h"

#include <assert.h>
#include <stdlib.h>

enum { IN_MIN = 4096, OUT_MIN = 512, HEAD_LEN = 2 };

knot_mut_bytes_t transport_in_room(transport_in_t *in, size_t max)
{
	size_t kept = in->len - in->pos;
	if (in->pos > 0) {
		memmove(in->data, in->data + in->pos, kept);
		in->pos = 0;
		in->len = kept;
	}
	/* A peer that fills the room gets more of it: transfers are read in few calls. */
	if (in->max - in->len <= in->max / 2 && in->max < max) {
		size_t room = in->max == 0 ? IN_MIN : 4 * in->max;
		room = room < max ? room : max;
		uint8_t *data = realloc(in->data, room);
		if (data == NULL) {
			return (knot_mut_bytes_t){ .len = 0 };
		}
		in->data = data;
		in->max = room;
	}
	return (knot_mut_bytes_t){ in->data + in->len, in->max - in->len };
}

bool transport_in_next(transport_in_t *in, knot_bytes_t *ret_message)
{
	return tcp_frame_next((knot_bytes_t){ in->data, in->len }, &in->pos, ret_message) == TCP_FRAME_WHOLE;
}

void transport_in_done(transport_in_t *in)
{
	free(in->data);
	*in = (transport_in_t){ 0 };
}

static knot_err_t transport_out_make_room(transport_out_t *out, size_t len)
{
	if (out->sent > 0) {
		memmove(out->data, out->data + out->sent, out->len - out->sent);
		out->len -= out->sent;
		out->sent = 0;
	}
	if (len > TRANSPORT_PENDING_MAX - out->len) {
		return KNOT_EAGAIN;
	}
	if (out->max - out->len >= len) {
		return KNOT_OK;
	}
	size_t max = out->max > 0 ? 2 * out->max : OUT_MIN;
	max = max < out->len + len ? out->len + len : max;
	uint8_t *data = realloc(out->data, max);
	if (data == NULL) {
		return KNOT_ENOMEM;
	}
	out->data = data;
	out->max = max;
	return KNOT_OK;
}

knot_err_t transport_out_add(transport_out_t *out, const void *data, size_t len)
{
	knot_err_t err = transport_out_make_room(out, len);
	if (err == KNOT_OK && len > 0) {
		memcpy(out->data + out->len, data, len);
		out->len += len;
	}
	return err;
}

knot_err_t transport_out_add_framed(transport_out_t *out, knot_bytes_t message)
{
	if (message.len == 0 || message.len > TRANSPORT_MESSAGE_MAX) {
		return KNOT_ERANGE;
	}
	knot_err_t err = transport_out_make_room(out, HEAD_LEN + message.len);
	if (err == KNOT_OK) {
		store_be16(out->data + out->len, (uint16_t)message.len);
		memcpy(out->data + out->len + HEAD_LEN, message.data, message.len);
		out->len += HEAD_LEN + message.len;
	}
	return err;
}

void transport_out_note_sent(transport_out_t *out, size_t len)
{
	assert(len <= out->len - out->sent);
	out->sent += len;
	if (out->sent == out->len) {
		out->sent = out->len = 0;
	}
}

void transport_out_done(transport_out_t *out)
{
	free(out->data);
	*out = (transport_out_t){ 0 };
}
