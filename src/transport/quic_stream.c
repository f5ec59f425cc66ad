/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of a QUIC connection: what is to be sent stays until it is acknowledged, what has come until it is taken, and
 * the peer gets room for more (flow control, RFC 9000 4) only when something is taken: so it can't fill our memory.
 */
#include "src/transport/quic_conn.h"

#include <assert.h>
#include <stdlib.h>

enum { HEAD_LEN = 2 };

/* ---- Life ---- */

knot_err_t quic_stream_new(quic_t *quic, int64_t id, quic_stream_t **ret_stream)
{
	if (quic->stream_count >= TRANSPORT_STREAMS_MAX) {
		return KNOT_EAGAIN;
	}
	quic_stream_t *stream = calloc(1, sizeof(*stream));
	if (stream == NULL) {
		return KNOT_ENOMEM;
	}
	stream->id = id;
	stream->number = quic->next_number++;
	*quic->streams_end = stream;
	quic->streams_end = &stream->next;
	quic->stream_count++;
	*ret_stream = stream;
	return KNOT_OK;
}

static void quic_stream_free_chunks(quic_t *quic, quic_stream_t *stream)
{
	while (stream->chunks != NULL) {
		quic_chunk_t *chunk = stream->chunks;
		stream->chunks = chunk->next;
		quic->waiting_len -= chunk->len;
		free(chunk);
	}
}

void quic_stream_drop(quic_t *quic, quic_stream_t *take_stream)
{
	quic_stream_t **at = &quic->streams;
	while (*at != take_stream) {
		at = &(*at)->next;
	}
	*at = take_stream->next;
	if (*at == NULL) {
		quic->streams_end = at;
	}
	quic->stream_count--;
	quic->given_back_len += take_stream->in.len - take_stream->in.pos;
	quic->given_back_streams++;
	quic_stream_free_chunks(quic, take_stream);
	transport_in_done(&take_stream->in);
	free(take_stream);
}

quic_stream_t *quic_stream_find(quic_t *quic, uint64_t number)
{
	quic_stream_t *stream = quic->streams;
	while (stream != NULL && stream->number != number) {
		stream = stream->next;
	}
	return stream;
}

void quic_stream_note_closed(quic_t *quic, quic_stream_t *stream)
{
	quic_stream_free_chunks(quic, stream);
	stream->is_closed = true;
	stream->out_sent = stream->out_end;
	stream->has_sent_fin = true;
}

/* ---- Out ---- */

knot_err_t quic_stream_put(quic_t *quic, quic_stream_t *stream, knot_bytes_t message)
{
	return quic_stream_put_part(quic, stream, message, message.len);
}

knot_err_t quic_stream_put_part(quic_t *quic, quic_stream_t *stream, knot_bytes_t message, size_t part_len)
{
	size_t len = HEAD_LEN + part_len;
	if (len > TRANSPORT_PENDING_MAX - quic->waiting_len) {
		return KNOT_EAGAIN;
	}
	quic_chunk_t *chunk = malloc(sizeof(*chunk) + len);
	if (chunk == NULL) {
		return KNOT_ENOMEM;
	}
	*chunk = (quic_chunk_t){ .begin = stream->out_end, .len = len };
	store_be16(chunk->data, (uint16_t)message.len);
	memcpy(chunk->data + HEAD_LEN, message.data, part_len);
	quic_chunk_t **at = &stream->chunks;
	while (*at != NULL) {
		at = &(*at)->next;
	}
	*at = chunk;
	stream->out_end += len;
	quic->waiting_len += len;
	return KNOT_OK;
}

void quic_stream_note_acked(quic_t *quic, quic_stream_t *stream, uint64_t end)
{
	while (stream->chunks != NULL && stream->chunks->begin + stream->chunks->len <= end) {
		quic_chunk_t *chunk = stream->chunks;
		stream->chunks = chunk->next;
		quic->waiting_len -= chunk->len;
		free(chunk);
	}
}

void quic_stream_restart_all(quic_t *quic)
{
	for (quic_stream_t *stream = quic->streams; stream != NULL; stream = stream->next) {
		stream->id = -1;
		stream->out_sent = 0;
		stream->has_sent_fin = stream->is_closed = false;
	}
}

void quic_stream_open_waiting(quic_t *quic)
{
	for (quic_stream_t *stream = quic->streams; stream != NULL; stream = stream->next) {
		stream->is_blocked = false;
		if (stream->id < 0 && !stream->is_closed &&
				ngtcp2_conn_open_bidi_stream(quic->conn, &stream->id, stream) != 0) {
			stream->id = -1;
		}
	}
}

static bool quic_stream_has_to_send(const quic_stream_t *stream)
{
	return stream->id >= 0 && !stream->is_blocked && !stream->is_closed &&
	       (stream->out_sent < stream->out_end || (stream->wants_fin && !stream->has_sent_fin));
}

quic_stream_t *quic_stream_find_sender(quic_t *quic)
{
	quic_stream_t *stream = quic->streams;
	while (stream != NULL && !quic_stream_has_to_send(stream)) {
		stream = stream->next;
	}
	return stream;
}

knot_bytes_t quic_stream_next_piece(const quic_stream_t *stream, bool *ret_is_last)
{
	const quic_chunk_t *chunk = stream->chunks;
	while (chunk != NULL && chunk->begin + chunk->len <= stream->out_sent) {
		chunk = chunk->next;
	}
	*ret_is_last = stream->wants_fin && (chunk == NULL || chunk->next == NULL);
	if (chunk == NULL) {
		return (knot_bytes_t){ .len = 0 };
	}
	size_t skip = (size_t)(stream->out_sent - chunk->begin);
	return (knot_bytes_t){ chunk->data + skip, chunk->len - skip };
}

/* ---- In ---- */

bool quic_stream_receive(quic_t *quic, quic_stream_t *stream, knot_bytes_t bytes)
{
	if (stream->is_cancelled || stream->has_ended) {
		quic->given_back_len += bytes.len;
		return true;
	}
	while (bytes.len > 0) {
		knot_mut_bytes_t room = transport_in_room(&stream->in, TRANSPORT_QUIC_STREAM_WINDOW);
		size_t len = bytes.len < room.len ? bytes.len : room.len;
		if (len == 0) {
			return false;
		}
		memcpy(room.data, bytes.data, len);
		stream->in.len += len;
		bytes.data += len;
		bytes.len -= len;
	}
	return true;
}

/* The peer may send as much more as was taken. */
static void quic_stream_give_back(quic_t *quic, quic_stream_t *stream, size_t len)
{
	quic->given_back_len += len;
	if (!stream->is_closed && stream->id >= 0) {
		(void)ngtcp2_conn_extend_max_stream_offset(quic->conn, stream->id, len);
	}
}

/* The next event of this stream; its last one is an end of some kind. */
static bool quic_stream_take_one(quic_t *quic, quic_stream_t *stream, transport_event_t *ret_event)
{
	knot_bytes_t message;
	if (stream->is_cancelled || stream->has_ended) {
		return false;
	}
	*ret_event = (transport_event_t){ .kind = TRANSPORT_MESSAGE, .stream = stream->number };
	if (transport_in_next(&stream->in, &message)) {
		ret_event->message = message;
		quic_stream_give_back(quic, stream, HEAD_LEN + message.len);
		return true;
	}
	bool is_whole = stream->has_fin && stream->in.pos == stream->in.len;
	if (!stream->is_reset && !stream->has_fin && !stream->is_closed) {
		return false;
	}
	stream->has_ended = true;
	ret_event->kind = is_whole && !stream->is_reset ? TRANSPORT_STREAM_END : TRANSPORT_STREAM_CUT;
	ret_event->code = stream->code;
	return true;
}

bool quic_stream_take(quic_t *quic, transport_event_t *ret_event)
{
	for (quic_stream_t *next, *stream = quic->streams; stream != NULL; stream = next) {
		next = stream->next;
		if (quic_stream_take_one(quic, stream, ret_event)) {
			return true;
		}
		if (stream->is_closed && (stream->has_ended || stream->is_cancelled)) {
			quic_stream_drop(quic, stream);
		}
	}
	return false;
}
