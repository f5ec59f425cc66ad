/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nghttp2 between bytes and messages. Its callbacks only write into the stream they are about; events are made when a
 * stream is closed, and wait in a list until they are taken. Memory: a request and at most one message of reply for
 * each of TRANSPORT_STREAMS_MAX streams.
 */
#include "src/transport/http.h"

#include "src/transport/http_request.h"
#include "src/transport/tls_layer.h"

#include <assert.h>
#include <stdlib.h>

enum {
	BODY_MIN = 512,
	CHUNK_LEN = 1 << 14,     /* plaintext that nghttp2 gets at once */
	PENDING_ENOUGH = 1 << 16 /* bytes to send that are made before some of them have gone */
};

/** A query, its request, and what has come of the reply. */
typedef struct http_stream {
	struct http_stream *next;
	uint64_t number; /* the caller's name for it */
	int32_t id;      /* nghttp2's, another one after a redirection */
	uint8_t *request;
	size_t request_len, request_sent;
	unsigned status;
	bool is_dns; /* the content type is */
	bool is_closed, is_cancelled, is_over_limit;
	uint32_t code; /* why it was reset, 0: it wasn't */
	uint8_t *body;
	size_t body_len, body_max;
	char *location; /* of a redirection; NULL: none */
} http_stream_t;

typedef struct {
	transport_t base;
	bool is_tls;
	bool uses_get;
	bool has_begun; /* nghttp2 has the session: TLS is open */
	tls_layer_t layer;
	transport_in_t in; /* without TLS */
	transport_out_t out;
	nghttp2_session *session;
	http_stream_t *streams; /* all that aren't taken, oldest first */
	http_stream_t *taken;   /* whose body the caller has */
	unsigned stream_count, redirect_count;
	uint64_t next_number;
	unsigned last_status;
	bool has_goaway;
	uint32_t goaway_code;
	http_url_t url;
	char *path_room; /* of GET */
} http_t;

static http_t *http_of(transport_t *t)
{
	return (http_t *)t;
}

/* ---- Streams ---- */

static void http_stream_free(http_stream_t *take_stream)
{
	if (take_stream != NULL) {
		free(take_stream->request);
		free(take_stream->body);
		free(take_stream->location);
		free(take_stream);
	}
}

static void http_stream_unlink(http_t *http, http_stream_t *stream)
{
	http_stream_t **at = &http->streams;
	while (*at != stream) {
		at = &(*at)->next;
	}
	*at = stream->next;
	http->stream_count--;
}

/* What has come is forgotten, for another reply to the same query. */
static void http_stream_reset(http_stream_t *stream)
{
	free(stream->location);
	stream->location = NULL;
	stream->request_sent = stream->body_len = 0;
	stream->status = 0;
	stream->is_dns = stream->is_closed = false;
}

/* The same limit for each message: a peer can't make it longer. */
static bool http_stream_add_body(http_stream_t *stream, const uint8_t *data, size_t len)
{
	size_t need = stream->body_len + len;
	if (need > TRANSPORT_MESSAGE_MAX) {
		stream->is_over_limit = true;
		return false;
	}
	if (need > stream->body_max) {
		size_t max = stream->body_max > 0 ? 2 * stream->body_max : BODY_MIN;
		max = max < need ? need : max;
		uint8_t *body = realloc(stream->body, max);
		if (body == NULL) {
			return false;
		}
		stream->body = body;
		stream->body_max = max;
	}
	memcpy(stream->body + stream->body_len, data, len);
	stream->body_len = need;
	return true;
}

/* ---- Callbacks of nghttp2 ---- */

static ssize_t http_on_read(nghttp2_session *session, int32_t id, uint8_t *room, size_t len, uint32_t *flags,
		nghttp2_data_source *source, void *ctx)
{
	http_stream_t *stream = source->ptr;
	size_t left = stream->request_len - stream->request_sent;
	(void)session, (void)id, (void)ctx;
	len = len < left ? len : left;
	memcpy(room, stream->request + stream->request_sent, len);
	stream->request_sent += len;
	if (stream->request_sent == stream->request_len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)len;
}

static int http_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
	http_stream_t *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	knot_str_t key = { (const char *)name, name_len }, text = { (const char *)value, value_len };
	(void)flags;
	if (stream == NULL) {
		return 0;
	}
	if (knot_str_eq(key, KNOT_STR(":status"))) {
		stream->status = http_status_of(text);
		((http_t *)ctx)->last_status = stream->status;
	} else if (knot_str_eq(key, KNOT_STR("content-type"))) {
		stream->is_dns = http_is_dns_type(text);
	} else if (knot_str_eq(key, KNOT_STR("location")) && stream->location == NULL) {
		stream->location = strndup(text.data, text.len);
	}
	return 0;
}

static int http_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *ctx)
{
	http_stream_t *stream = nghttp2_session_get_stream_user_data(session, id);
	(void)flags, (void)ctx;
	if (stream == NULL || stream->is_over_limit || http_stream_add_body(stream, data, len)) {
		return 0;
	}
	return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM) == 0
			       ? 0
			       : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int http_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
	http_stream_t *stream = nghttp2_session_get_stream_user_data(session, id);
	(void)ctx;
	if (stream != NULL) {
		stream->is_closed = true;
		stream->code = code;
	}
	return 0;
}

static int http_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	http_t *http = ctx;
	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		http->has_goaway = true;
		http->goaway_code = frame->goaway.error_code;
	}
	return 0;
}

static nghttp2_session *http_new_session(http_t *http)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session = NULL;
	if (nghttp2_session_callbacks_new(&callbacks) != 0) {
		return NULL;
	}
	nghttp2_session_callbacks_set_on_header_callback(callbacks, http_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, http_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, http_on_close);
	if (nghttp2_session_client_new(&session, callbacks, http) != 0) {
		session = NULL;
	}
	nghttp2_session_callbacks_del(callbacks);
	return session;
}

/* ---- Bytes out ---- */

static size_t http_unsent(const http_t *http)
{
	return transport_out_left(http->is_tls ? &http->layer.out : &http->out);
}

static bool http_write(http_t *http, knot_bytes_t plain)
{
	if (http->is_tls) {
		return tls_layer_write(&http->layer, plain, &http->base);
	}
	if (transport_out_add(&http->out, plain.data, plain.len) != KNOT_OK) {
		transport_stop(&http->base, TRANSPORT_END_MEMORY, "HTTP, out of memory");
		return false;
	}
	return true;
}

/* nghttp2 has nothing more to do: GOAWAY was sent or received, and no stream is open. */
static void http_look_at_end(http_t *http)
{
	if (!http->has_begun || nghttp2_session_want_read(http->session) != 0 ||
			nghttp2_session_want_write(http->session) != 0) {
		return;
	}
	if (!http->has_goaway) {
		transport_stop(&http->base, TRANSPORT_END_PROTOCOL, "HTTP, the server breaks HTTP/2");
	} else if (http->goaway_code != NGHTTP2_NO_ERROR) {
		transport_stop(&http->base, TRANSPORT_END_REFUSED, "HTTP, peer has closed the connection (%s)",
				nghttp2_http2_strerror(http->goaway_code));
	} else {
		transport_stop(&http->base, TRANSPORT_END_BY_PEER, "HTTP, peer has closed the connection");
	}
}

/* What nghttp2 has to send, up to a bound: the rest when this has gone. */
static void http_send(http_t *http)
{
	while (http->has_begun && http->base.state != TRANSPORT_ENDED && http_unsent(http) < PENDING_ENOUGH) {
		const uint8_t *data;
		ssize_t len = nghttp2_session_mem_send(http->session, &data);
		if (len < 0) {
			transport_stop(&http->base, TRANSPORT_END_MEMORY, "HTTP, failed to send (%s)",
					nghttp2_strerror((int)len));
		}
		if (len <= 0 || !http_write(http, (knot_bytes_t){ data, (size_t)len })) {
			return;
		}
	}
}

static knot_bytes_t http_pending(transport_t *t, uint64_t now_ns)
{
	http_t *http = http_of(t);
	(void)now_ns;
	if (http->is_tls && http->layer.begins && t->state != TRANSPORT_ENDED) {
		(void)tls_layer_shake(&http->layer, t);
	}
	http_send(http);
	http_look_at_end(http);
	return transport_out_pending(http->is_tls ? &http->layer.out : &http->out);
}

static void http_note_sent(transport_t *t, size_t len, uint64_t now_ns)
{
	http_t *http = http_of(t);
	(void)now_ns;
	transport_out_note_sent(http->is_tls ? &http->layer.out : &http->out, len);
}

/* ---- Requests ---- */

static int32_t http_submit(http_t *http, http_stream_t *stream)
{
	http_fields_t fields;
	nghttp2_data_provider body = { .source = { .ptr = stream }, .read_callback = http_on_read };
	if (http->uses_get) {
		http_fields_get(&http->url, (knot_bytes_t){ stream->request, stream->request_len }, http->path_room,
				&fields);
	} else {
		http_fields_post(&http->url, stream->request_len, &fields);
	}
	stream->id = nghttp2_submit_request(
			http->session, NULL, fields.fields, fields.count, http->uses_get ? NULL : &body, stream);
	return stream->id;
}

static bool http_is_redirection(unsigned status)
{
	return status == 301 || status == 302 || status == 307 || status == 308;
}

/* Ask again where the reply says. If that isn't to be, the reply is what there is. */
static void http_redirect(http_t *http, http_stream_t *stream)
{
	http_url_t to;
	if (!stream->is_closed || stream->is_cancelled || stream->code != 0 || !http_is_redirection(stream->status) ||
			stream->location == NULL || http->redirect_count >= TRANSPORT_HTTP_REDIRECTS_MAX ||
			http->base.state == TRANSPORT_ENDED ||
			!http_url_follow(&http->url, knot_str_of(stream->location), &to)) {
		return;
	}
	trust_note(&http->layer.check.notes, TRANSPORT_NOTE_WARNING, "HTTP redirect (%s%s)->(%s%s)",
			http->url.authority, http->url.path, to.authority, to.path);
	http->url = to;
	http->redirect_count++;
	http_stream_reset(stream);
	stream->is_closed = http_submit(http, stream) < 0;
}

static void http_follow_redirections(http_t *http)
{
	for (http_stream_t *stream = http->streams; stream != NULL; stream = stream->next) {
		http_redirect(http, stream);
	}
}

/* ---- Bytes in ---- */

/* The connection carries HTTP/2 from now on. */
static void http_begin(http_t *http)
{
	static const nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 } };
	if (http->has_begun || (http->is_tls && !http->layer.is_open) || http->base.state == TRANSPORT_ENDED) {
		return;
	}
	if (http->is_tls && !http->layer.has_alpn) {
		tls_layer_close(&http->layer);
		transport_stop(&http->base, TRANSPORT_END_HANDSHAKE, "HTTP, the server doesn't speak HTTP/2 (ALPN)");
		return;
	}
	if (nghttp2_submit_settings(http->session, NGHTTP2_FLAG_NONE, settings, KNOT_LEN(settings)) != 0) {
		transport_stop(&http->base, TRANSPORT_END_MEMORY, "HTTP, out of memory");
		return;
	}
	http->has_begun = true;
	http->base.state = TRANSPORT_OPEN;
}

static void http_read_plain(http_t *http, knot_bytes_t plain)
{
	ssize_t len = nghttp2_session_mem_recv(http->session, plain.data, plain.len);
	if (len < 0) {
		http_send(http); /* the GOAWAY that says why */
		transport_stop(&http->base, TRANSPORT_END_PROTOCOL, "HTTP, failed to receive reply (%s)",
				nghttp2_strerror((int)len));
		return;
	}
	http_follow_redirections(http);
	http_look_at_end(http);
}

static void http_read_records(http_t *http)
{
	uint8_t plain[CHUNK_LEN];
	size_t len;
	do {
		len = http->has_begun ? tls_layer_read(&http->layer, (knot_mut_bytes_t){ plain, sizeof(plain) },
							&http->base)
				      : 0;
		if (len > 0) {
			http_read_plain(http, (knot_bytes_t){ plain, len });
		}
	} while (len > 0);
}

static knot_mut_bytes_t http_room(transport_t *t)
{
	http_t *http = http_of(t);
	return http->is_tls ? tls_layer_room(&http->layer) : transport_in_room(&http->in, CHUNK_LEN);
}

static void http_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	http_t *http = http_of(t);
	(void)now_ns;
	if (http->is_tls) {
		tls_layer_note_received(&http->layer, len, t);
		http_begin(http);
		http_read_records(http);
		return;
	}
	assert(len <= http->in.max - http->in.len);
	http_begin(http);
	http_read_plain(http, (knot_bytes_t){ http->in.data + http->in.len, len });
}

static void http_note_eof(transport_t *t, uint64_t now_ns)
{
	http_t *http = http_of(t);
	(void)now_ns;
	if (!http->is_tls) {
		bool is_cut = http->stream_count > 0;
		transport_stop(t, is_cut ? TRANSPORT_END_CUT : TRANSPORT_END_BY_PEER,
				"HTTP, peer has closed the connection");
		return;
	}
	http->layer.has_eof = true;
	if (tls_layer_shake(&http->layer, t)) {
		http_begin(http);
		http_read_records(http);
	}
}

/* ---- Messages ---- */

static http_stream_t *http_stream_new(knot_bytes_t message, uint64_t number)
{
	http_stream_t *stream = calloc(1, sizeof(*stream));
	if (stream == NULL || (stream->request = malloc(message.len)) == NULL) {
		free(stream);
		return NULL;
	}
	memcpy(stream->request, message.data, message.len);
	stream->request_len = message.len;
	stream->number = number;
	return stream;
}

static knot_err_t http_put(transport_t *t, knot_bytes_t message, uint64_t *ret_stream)
{
	http_t *http = http_of(t);
	if (http->has_goaway) {
		return KNOT_ECONNRESET;
	}
	if (http->stream_count >= TRANSPORT_STREAMS_MAX) {
		return KNOT_EAGAIN;
	}
	http_stream_t *stream = http_stream_new(message, http->next_number);
	if (stream == NULL) {
		return KNOT_ENOMEM;
	}
	int32_t id = http_submit(http, stream);
	if (id < 0) {
		http_stream_free(stream);
		return id == NGHTTP2_ERR_NOMEM ? KNOT_ENOMEM : KNOT_ECONNRESET;
	}
	http_stream_t **at = &http->streams;
	while (*at != NULL) {
		at = &(*at)->next;
	}
	*at = stream;
	http->stream_count++;
	*ret_stream = http->next_number++;
	return KNOT_OK;
}

static transport_event_t http_event(const http_stream_t *stream)
{
	transport_event_t event = { .kind = TRANSPORT_MESSAGE, .stream = stream->number };
	if (stream->code != 0 || stream->is_over_limit || stream->status == 0) {
		event.kind = TRANSPORT_STREAM_CUT;
		event.code = stream->code;
	} else if (stream->status != 200) {
		event.kind = TRANSPORT_HTTP_STATUS;
		event.code = stream->status;
	} else if (!stream->is_dns) {
		event.kind = TRANSPORT_HTTP_TYPE;
	} else {
		event.message = (knot_bytes_t){ stream->body, stream->body_len };
	}
	return event;
}

/* The first stream that is closed; those that nobody wants any more are dropped. */
static http_stream_t *http_find_closed(http_t *http)
{
	for (http_stream_t *next, *stream = http->streams; stream != NULL; stream = next) {
		next = stream->next;
		if (!stream->is_closed) {
			continue;
		}
		if (stream->is_cancelled) {
			http_stream_unlink(http, stream);
			http_stream_free(stream);
		} else {
			return stream;
		}
	}
	return NULL;
}

static bool http_take(transport_t *t, transport_event_t *ret_event)
{
	http_t *http = http_of(t);
	http_stream_free(http->taken);
	http->taken = http_find_closed(http);
	if (http->taken == NULL) {
		return false;
	}
	http_stream_unlink(http, http->taken);
	*ret_event = http_event(http->taken);
	return true;
}

/* nghttp2 may still refer to it, so it goes when it is closed. */
static void http_cancel(transport_t *t, uint64_t number)
{
	http_t *http = http_of(t);
	for (http_stream_t *stream = http->streams; stream != NULL; stream = stream->next) {
		if (stream->number == number && !stream->is_cancelled) {
			stream->is_cancelled = true;
			if (!stream->is_closed) {
				(void)nghttp2_submit_rst_stream(
						http->session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
			}
		}
	}
}

/* ---- Life ---- */

static void http_close(transport_t *t, uint64_t now_ns)
{
	http_t *http = http_of(t);
	(void)now_ns;
	if (http->has_begun) {
		(void)nghttp2_session_terminate_session(http->session, NGHTTP2_NO_ERROR);
		http_send(http);
	}
	if (http->is_tls) {
		tls_layer_close(&http->layer);
	}
}

static void http_describe(const transport_t *t, transport_session_t *ret_session)
{
	const http_t *http = (const http_t *)t;
	if (http->is_tls && http->layer.is_open) {
		tls_session_describe(http->layer.session, "TLS session ", ret_session);
	}
	if (http->last_status != 0) {
		transport_session_add(ret_session, "HTTP session (HTTP/2-%s)-(%s%s)-(status: %u)",
				http->uses_get ? "GET" : "POST", http->url.authority, http->url.path,
				http->last_status);
	}
}

static knot_err_t http_ticket(const transport_t *t, knot_mut_bytes_t *ret_ticket)
{
	const http_t *http = (const http_t *)t;
	return http->is_tls && http->layer.is_open ? tls_session_ticket(http->layer.session, ret_ticket) : KNOT_ENOENT;
}

static void http_free(transport_t *take_t)
{
	http_t *http = http_of(take_t);
	nghttp2_session_del(http->session); /* first: it refers to the streams */
	while (http->streams != NULL) {
		http_stream_t *stream = http->streams;
		http_stream_unlink(http, stream);
		http_stream_free(stream);
	}
	http_stream_free(http->taken);
	tls_layer_done(&http->layer);
	transport_in_done(&http->in);
	transport_out_done(&http->out);
	free(http->path_room);
	free(http);
}

static const transport_ops_t http_ops = {
	.kind = TRANSPORT_HTTP,
	.free = http_free,
	.room = http_room,
	.note_received = http_note_received,
	.note_eof = http_note_eof,
	.take = http_take,
	.put = http_put,
	.cancel = http_cancel,
	.pending = http_pending,
	.note_sent = http_note_sent,
	.close = http_close,
	.describe = http_describe,
	.ticket = http_ticket,
};

knot_err_t transport_http_new(
		const transport_tls_params_t *tls, const transport_http_params_t *params, transport_t **ret_t)
{
	http_t *http = calloc(1, sizeof(*http));
	if (http == NULL) {
		return KNOT_ENOMEM;
	}
	http->base = (transport_t){ .ops = &http_ops, .state = TRANSPORT_OPENING };
	http->uses_get = params->uses_get;
	http->session = http_new_session(http);
	http->path_room = params->uses_get ? malloc(HTTP_PATH_MAX) : NULL;
	knot_str_t path = knot_str_of(params->path != NULL ? params->path : "/dns-query");
	knot_err_t err = http->session == NULL || (params->uses_get && http->path_room == NULL) ? KNOT_ENOMEM : KNOT_OK;
	if (err == KNOT_OK && !http_url_set(&http->url, knot_str_of(params->authority), path)) {
		err = KNOT_EINVAL;
	}
	if (err == KNOT_OK && tls != NULL) {
		transport_tls_params_t late = *tls;
		late.uses_early_data = false;
		err = tls_layer_init(&http->layer, &late, "h2");
		http->is_tls = err == KNOT_OK;
	}
	if (err != KNOT_OK) {
		http_free(&http->base);
		return err;
	}
	if (!http->is_tls) {
		http_begin(http);
	}
	*ret_t = &http->base;
	return KNOT_OK;
}
