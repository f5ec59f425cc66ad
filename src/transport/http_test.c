/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/http.h"

#include "src/transport/http_request.h"
#include "src/transport/test_pair.h"
#include "src/transport/test_pki.h"
#include "src/transport/tls_layer.h"

/* ---- URLs and fields ---- */

static void test_follow(void **state)
{
	(void)state;
	static const struct {
		const char *location, *authority, *path; /* authority NULL: not followed */
	} rows[] = {
		{ "/other", "dns.example", "/other" },
		{ "https://a.example/b?c", "a.example", "/b?c" },
		{ "HTTPS://a.example:8443/b", "a.example:8443", "/b" },
		{ "https://a.example", "a.example", "/" },
		{ "//a.example/b", "a.example", "/b" },
		{ "http://a.example/b", NULL, NULL },
		{ "https:/b", NULL, NULL },
		{ "https:", NULL, NULL },
		{ "other", NULL, NULL },
		{ "", NULL, NULL },
		{ "//", NULL, NULL },
		{ "///b", NULL, NULL },
		{ "/with space", NULL, NULL },
		{ "/with\x7f", NULL, NULL },
		{ "/fragment#x", NULL, NULL },
	};
	http_url_t from, to;
	assert_true(http_url_set(&from, KNOT_STR("dns.example"), KNOT_STR("/dns-query")));
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		bool is_followed = http_url_follow(&from, knot_str_of(rows[i].location), &to);
		assert_int_equal(is_followed, rows[i].authority != NULL);
		if (is_followed) {
			assert_string_equal(to.authority, rows[i].authority);
			assert_string_equal(to.path, rows[i].path);
		}
	}
	char long_path[TRANSPORT_HTTP_URL_MAX + 2];
	memset(long_path, '/', sizeof(long_path));
	assert_true(http_url_set(&to, KNOT_STR("a"), (knot_str_t){ long_path, TRANSPORT_HTTP_URL_MAX }));
	assert_false(http_url_set(&to, KNOT_STR("a"), (knot_str_t){ long_path, TRANSPORT_HTTP_URL_MAX + 1 }));
	assert_false(http_url_set(&to, KNOT_STR("a/b"), KNOT_STR("/")));
	assert_false(http_url_set(&to, KNOT_STR(""), KNOT_STR("/")));
}

static void test_get_path(void **state)
{
	(void)state;
	static char room[HTTP_PATH_MAX];
	static uint8_t longest[TRANSPORT_MESSAGE_MAX];
	http_fields_t fields;
	http_url_t url;
	/* The example of RFC 8484 4.1.1. */
	static const uint8_t query[] = "\0\0\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
	assert_true(http_url_set(&url, KNOT_STR("dnsserver.example.net"), KNOT_STR("/dns-query")));
	http_fields_get(&url, (knot_bytes_t){ query, sizeof(query) - 1 }, room, &fields);
	static const char want[] = "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB";
	assert_int_equal(fields.fields[3].valuelen, sizeof(want) - 1);
	assert_memory_equal(fields.fields[3].value, want, sizeof(want) - 1);
	assert_true(http_url_set(&url, KNOT_STR("a"), KNOT_STR("/q?x=1")));
	http_fields_get(&url, (knot_bytes_t){ (const uint8_t *)"\xff\xff\xfe", 3 }, room, &fields);
	assert_memory_equal(fields.fields[3].value, "/q?x=1&dns=___-", 15);
	http_fields_get(&url, (knot_bytes_t){ longest, sizeof(longest) }, room, &fields);
	assert_in_range(fields.fields[3].valuelen, 87000, HTTP_PATH_MAX);
}

static void test_types(void **state)
{
	(void)state;
	assert_true(http_is_dns_type(KNOT_STR("application/dns-message")));
	assert_true(http_is_dns_type(KNOT_STR("Application/DNS-Message; x=y")));
	assert_false(http_is_dns_type(KNOT_STR("application/dns-message2")));
	assert_false(http_is_dns_type(KNOT_STR("application/dns-json")));
	assert_false(http_is_dns_type(KNOT_STR("")));
	assert_int_equal(http_status_of(KNOT_STR("200")), 200);
	assert_int_equal(http_status_of(KNOT_STR("20x")), 0);
	assert_int_equal(http_status_of(KNOT_STR("2000")), 0);
}

/* ---- A server, made of nghttp2 and of TLS or nothing below ---- */

/** What the server does with a request; the first row whose path is that of the request counts. */
typedef struct {
	const char *path;
	const char *status, *type, *location;
	size_t body_len; /* of 'b'; 0: the request's own body, or for GET "got" */
	bool resets, goes_away, is_silent;
} page_t;

static const page_t pages[] = {
	{ "/dns-query", "200", "application/dns-message", NULL, 0, false, false, false },
	{ "/longest", "200", "application/dns-message", NULL, TRANSPORT_MESSAGE_MAX, false, false, false },
	{ "/too-long", "200", "application/dns-message", NULL, TRANSPORT_MESSAGE_MAX + 1, false, false, false },
	{ "/endless", "200", "application/dns-message", NULL, 10 << 20, false, false, false },
	{ "/html", "200", "text/html", NULL, 20, false, false, false },
	{ "/no-type", "200", NULL, NULL, 20, false, false, false },
	{ "/busy", "503", "text/plain", NULL, 20, false, false, false },
	{ "/moved", "301", NULL, "/dns-query", 20, false, false, false },
	{ "/found", "302", NULL, "https://other.example/dns-query", 20, false, false, false },
	{ "/temporary", "307", NULL, "//third.example/moved", 20, false, false, false },
	{ "/see-other", "303", NULL, "/dns-query", 20, false, false, false },
	{ "/loop", "308", NULL, "/loop", 20, false, false, false },
	{ "/to-http", "301", NULL, "http://dns.example/dns-query", 20, false, false, false },
	{ "/nowhere", "301", NULL, NULL, 20, false, false, false },
	{ "/reset", NULL, NULL, NULL, 0, true, false, false },
	{ "/away", NULL, NULL, NULL, 0, false, true, false },
	{ "/silence", NULL, NULL, NULL, 0, false, false, true },
	{ NULL, "404", "text/plain", NULL, 3, false, false, false },
};

typedef struct {
	int32_t id;
	char method[8], authority[64], path[200], type[64];
	uint8_t body[TRANSPORT_MESSAGE_MAX];
	size_t body_len, reply_len, reply_sent;
	const page_t *page;
} request_t;

typedef struct {
	transport_t base; /* for the TLS layer */
	bool is_tls;
	tls_layer_t layer;
	transport_out_t out;
	transport_in_t in;
	nghttp2_session *session;
	unsigned request_count;
	request_t requests[64];
	request_t last; /* answered */
} http_server_t;

static request_t *server_find(http_server_t *server, int32_t id)
{
	for (size_t i = 0; i < KNOT_LEN(server->requests); i++) {
		if (server->requests[i].id == id) {
			return &server->requests[i];
		}
	}
	return NULL;
}

static int server_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	(void)session;
	request_t *request = server_find(ctx, 0);
	assert_non_null(request);
	*request = (request_t){ .id = frame->hd.stream_id };
	return 0;
}

static int server_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
	(void)session, (void)flags, (void)name_len;
	request_t *request = server_find(ctx, frame->hd.stream_id);
	const struct {
		const char *name;
		char *to;
		size_t max;
	} rows[] = { { ":method", request->method, sizeof(request->method) },
		{ ":authority", request->authority, sizeof(request->authority) },
		{ ":path", request->path, sizeof(request->path) },
		{ "content-type", request->type, sizeof(request->type) } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (strcmp((const char *)name, rows[i].name) == 0) {
			(void)snprintf(rows[i].to, rows[i].max, "%.*s", (int)value_len, (const char *)value);
		}
	}
	return 0;
}

static int server_on_data(
		nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *ctx)
{
	(void)session, (void)flags;
	request_t *request = server_find(ctx, id);
	assert_true(len <= sizeof(request->body) - request->body_len);
	memcpy(request->body + request->body_len, data, len);
	request->body_len += len;
	return 0;
}

static ssize_t server_on_read(nghttp2_session *session, int32_t id, uint8_t *room, size_t len, uint32_t *flags,
		nghttp2_data_source *source, void *ctx)
{
	(void)session, (void)id, (void)ctx;
	request_t *request = source->ptr;
	size_t left = request->reply_len - request->reply_sent;
	len = len < left ? len : left;
	if (request->page->body_len > 0) {
		memset(room, 'b', len);
	} else if (request->body_len > 0) {
		memcpy(room, request->body + request->reply_sent, len);
	} else {
		static const char got[] = "got";
		memcpy(room, got + request->reply_sent, len);
	}
	request->reply_sent += len;
	*flags |= request->reply_sent == request->reply_len ? NGHTTP2_DATA_FLAG_EOF : 0;
	return (ssize_t)len;
}

static void server_answer(http_server_t *server, request_t *request)
{
	nghttp2_nv fields[3];
	size_t count = 0;
	const page_t *page = pages;
	while (page->path != NULL && (strncmp(request->path, page->path, strlen(page->path)) != 0)) {
		page++;
	}
	request->page = page;
	server->request_count++;
	server->last = *request;
	if (page->resets) {
		nghttp2_submit_rst_stream(server->session, 0, request->id, NGHTTP2_REFUSED_STREAM);
	} else if (page->goes_away) {
		nghttp2_session_terminate_session(server->session, NGHTTP2_NO_ERROR);
	}
	if (page->status == NULL) {
		return;
	}
	request->reply_len = page->body_len > 0 ? page->body_len : request->body_len > 0 ? request->body_len : 3;
	const char *const names[] = { ":status", "content-type", "location" };
	const char *const values[] = { page->status, page->type, page->location };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		if (values[i] != NULL) {
			fields[count++] = (nghttp2_nv){ (uint8_t *)names[i], (uint8_t *)values[i], strlen(names[i]),
				strlen(values[i]), 0 };
		}
	}
	nghttp2_data_provider body = { .source = { .ptr = request }, .read_callback = server_on_read };
	assert_int_equal(nghttp2_submit_response(server->session, request->id, fields, count, &body), 0);
}

static int server_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	(void)session;
	bool is_end = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
		      (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	if (is_end) {
		server_answer(ctx, server_find(ctx, frame->hd.stream_id));
	}
	return 0;
}

static int server_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
	(void)session, (void)code;
	request_t *request = server_find(ctx, id);
	if (request != NULL) {
		request->id = 0;
	}
	return 0;
}

static http_server_t *server_new(const transport_identity_t *identity, const char *alpn)
{
	nghttp2_session_callbacks *callbacks;
	http_server_t *server = calloc(1, sizeof(*server));
	server->base.state = TRANSPORT_OPENING;
	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, server_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, server_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, server_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, server_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, server_on_close);
	assert_int_equal(nghttp2_session_server_new(&server->session, callbacks, server), 0);
	nghttp2_session_callbacks_del(callbacks);
	assert_int_equal(nghttp2_submit_settings(server->session, 0, NULL, 0), 0);
	if (identity != NULL) {
		transport_tls_params_t params = { .role = TRANSPORT_SERVER, .identity = identity };
		server->is_tls = true;
		assert_int_equal(tls_layer_init(&server->layer, &params, alpn), KNOT_OK);
	}
	return server;
}

static void server_free(http_server_t *server)
{
	nghttp2_session_del(server->session);
	tls_layer_done(&server->layer);
	transport_out_done(&server->out);
	transport_in_done(&server->in);
	free(server);
}

static void server_receive(http_server_t *server, const uint8_t *data, size_t len)
{
	if (!server->is_tls) {
		assert_int_equal(nghttp2_session_mem_recv(server->session, data, len), len);
		return;
	}
	knot_mut_bytes_t room = tls_layer_room(&server->layer);
	assert_true(len <= room.len);
	memcpy(room.data, data, len);
	tls_layer_note_received(&server->layer, len, &server->base);
	uint8_t plain[5000];
	while (server->layer.is_open &&
			(len = tls_layer_read(&server->layer, (knot_mut_bytes_t){ plain, sizeof(plain) },
					 &server->base)) > 0) {
		(void)nghttp2_session_mem_recv(server->session, plain, len);
	}
}

static transport_out_t *server_pending(http_server_t *server)
{
	transport_out_t *out = server->is_tls ? &server->layer.out : &server->out;
	while (server->base.state != TRANSPORT_ENDED && (!server->is_tls || server->layer.is_open) &&
			transport_out_left(out) < 100000) {
		const uint8_t *data;
		ssize_t len = nghttp2_session_mem_send(server->session, &data);
		if (len <= 0) {
			break;
		}
		if (server->is_tls) {
			assert_true(tls_layer_write(
					&server->layer, (knot_bytes_t){ data, (size_t)len }, &server->base));
		} else {
			assert_int_equal(transport_out_add(out, data, (size_t)len), KNOT_OK);
		}
	}
	return out;
}

/* Until nothing moves. */
static void run(transport_t *client, http_server_t *server, test_cut_t *cut)
{
	for (;;) {
		knot_bytes_t bytes = transport_pending(client, 0);
		size_t len = test_cut_next(cut, bytes.len < 1000 ? bytes.len : 1000);
		bool moves = bytes.len > 0;
		if (bytes.len > 0) {
			server_receive(server, bytes.data, len);
			transport_note_sent(client, len, 0);
		}
		transport_out_t *out = server_pending(server);
		bytes = transport_out_pending(out);
		knot_mut_bytes_t room = transport_room(client);
		if (bytes.len > 0 && room.len > 0) {
			len = test_cut_next(cut, bytes.len < room.len ? bytes.len : room.len);
			memcpy(room.data, bytes.data, len);
			transport_out_note_sent(out, len);
			transport_note_received(client, len, 0);
			moves = true;
		}
		if (!moves) {
			return;
		}
	}
}

/* ---- Requests ---- */

static transport_t *client_new(const char *path, bool uses_get)
{
	transport_t *client;
	transport_http_params_t params = { .uses_get = uses_get, .authority = "dns.example", .path = path };
	assert_int_equal(transport_http_new(NULL, &params, &client), KNOT_OK);
	return client;
}

static uint64_t put(transport_t *t, const char *text)
{
	uint64_t stream = 99999;
	assert_int_equal(transport_put(t, test_pki_bytes(text), &stream), KNOT_OK);
	return stream;
}

static void assert_takes(transport_t *t, uint64_t stream, const char *want)
{
	transport_event_t event;
	assert_true(transport_take(t, &event));
	assert_int_equal(event.kind, TRANSPORT_MESSAGE);
	assert_int_equal(event.stream, stream);
	assert_int_equal(event.message.len, strlen(want));
	assert_memory_equal(event.message.data, want, strlen(want));
}

static void test_any_cut(void **state)
{
	(void)state;
	static const size_t pieces[] = { 1, 2, 3, 9, 10, 1000, SIZE_MAX, 0, 0, 0 };
	for (size_t i = 0; i < 2 * KNOT_LEN(pieces); i++) {
		bool uses_get = i % 2 == 1;
		test_cut_t cut = { pieces[i / 2], (uint32_t)i };
		transport_t *client = client_new(NULL, uses_get);
		http_server_t *server = server_new(NULL, NULL);
		uint64_t first = put(client, "a query"), second = put(client, "another query");
		run(client, server, &cut);
		assert_string_equal(server->last.method, uses_get ? "GET" : "POST");
		assert_string_equal(server->last.authority, "dns.example");
		assert_string_equal(server->last.path, uses_get ? "/dns-query?dns=YW5vdGhlciBxdWVyeQ" : "/dns-query");
		assert_string_equal(server->last.type, uses_get ? "" : "application/dns-message");
		assert_takes(client, first, uses_get ? "got" : "a query");
		assert_takes(client, second, uses_get ? "got" : "another query");
		uint64_t third = put(client, "later");
		run(client, server, &cut);
		assert_takes(client, third, uses_get ? "got" : "later");
		transport_session_t session;
		transport_describe(client, &session);
		assert_int_equal(session.count, 1);
		assert_string_equal(session.lines[0],
				uses_get ? "HTTP session (HTTP/2-GET)-(dns.example/dns-query)-(status: 200)"
					 : "HTTP session (HTTP/2-POST)-(dns.example/dns-query)-(status: 200)");
		transport_close(client, 0);
		run(client, server, &cut);
		assert_int_equal(nghttp2_session_want_read(server->session), 0);
		transport_free(client);
		server_free(server);
	}
}

static void test_pages(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		transport_event_kind_t want;
		uint64_t code;
		size_t len;
		unsigned request_count;
		const char *authority; /* of the last request */
	} rows[] = {
		{ "/dns-query", TRANSPORT_MESSAGE, 0, 5, 1, "dns.example" },
		{ "/longest", TRANSPORT_MESSAGE, 0, TRANSPORT_MESSAGE_MAX, 1, "dns.example" },
		{ "/too-long", TRANSPORT_STREAM_CUT, NGHTTP2_ENHANCE_YOUR_CALM, 0, 1, "dns.example" },
		{ "/endless", TRANSPORT_STREAM_CUT, NGHTTP2_ENHANCE_YOUR_CALM, 0, 1, "dns.example" },
		{ "/html", TRANSPORT_HTTP_TYPE, 0, 0, 1, "dns.example" },
		{ "/no-type", TRANSPORT_HTTP_TYPE, 0, 0, 1, "dns.example" },
		{ "/busy", TRANSPORT_HTTP_STATUS, 503, 0, 1, "dns.example" },
		{ "/unknown", TRANSPORT_HTTP_STATUS, 404, 0, 1, "dns.example" },
		{ "/moved", TRANSPORT_MESSAGE, 0, 5, 2, "dns.example" },
		{ "/found", TRANSPORT_MESSAGE, 0, 5, 2, "other.example" },
		{ "/temporary", TRANSPORT_MESSAGE, 0, 5, 3, "third.example" },
		{ "/see-other", TRANSPORT_HTTP_STATUS, 303, 0, 1, "dns.example" },
		{ "/loop", TRANSPORT_HTTP_STATUS, 308, 0, 1 + TRANSPORT_HTTP_REDIRECTS_MAX, "dns.example" },
		{ "/to-http", TRANSPORT_HTTP_STATUS, 301, 0, 1, "dns.example" },
		{ "/nowhere", TRANSPORT_HTTP_STATUS, 301, 0, 1, "dns.example" },
		{ "/reset", TRANSPORT_STREAM_CUT, NGHTTP2_REFUSED_STREAM, 0, 1, "dns.example" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_cut_t cut = { SIZE_MAX, 0 };
		transport_t *client = client_new(rows[i].path, false);
		http_server_t *server = server_new(NULL, NULL);
		transport_event_t event;
		uint64_t stream = put(client, "query");
		for (unsigned round = 0; round < 20; round++) {
			run(client, server, &cut);
			if (transport_take(client, &event)) {
				break;
			}
			assert_in_range(round, 0, 18);
		}
		print_message("%s\n", rows[i].path);
		assert_int_equal(event.kind, rows[i].want);
		assert_int_equal(event.stream, stream);
		assert_int_equal(event.code, rows[i].code);
		assert_int_equal(event.message.len, rows[i].len);
		assert_int_equal(server->request_count, rows[i].request_count);
		assert_string_equal(server->last.authority, rows[i].authority);
		/* One bad reply takes nothing with it. */
		assert_int_equal(transport_state(client), TRANSPORT_OPEN);
		transport_free(client);
		server_free(server);
	}
}

static void test_going_away(void **state)
{
	(void)state;
	test_cut_t cut = { SIZE_MAX, 0 };
	uint64_t stream;
	transport_t *client = client_new("/away", false);
	http_server_t *server = server_new(NULL, NULL);
	transport_event_t event;
	put(client, "query");
	run(client, server, &cut);
	assert_false(transport_take(client, &event)); /* a query that came before may still be answered */
	assert_int_equal(transport_put(client, test_pki_bytes("query"), &stream), KNOT_ECONNRESET);
	transport_note_eof(client, 0);
	assert_int_equal(transport_end(client), TRANSPORT_END_CUT);
	transport_free(client);
	server_free(server);
	client = client_new("/dns-query", false);
	server = server_new(NULL, NULL);
	stream = put(client, "query");
	run(client, server, &cut);
	nghttp2_session_terminate_session(server->session, NGHTTP2_NO_ERROR);
	run(client, server, &cut);
	assert_int_equal(transport_end(client), TRANSPORT_END_BY_PEER);
	assert_takes(client, stream, "query");
	transport_free(client);
	server_free(server);
}

/* As many as are let in; what is cancelled makes room when it is closed. */
static void test_many_streams(void **state)
{
	(void)state;
	test_cut_t cut = { SIZE_MAX, 0 };
	uint64_t stream = 0;
	transport_event_t event;
	transport_t *client = client_new("/silence", false);
	http_server_t *server = server_new(NULL, NULL);
	for (unsigned i = 0; i < TRANSPORT_STREAMS_MAX; i++) {
		assert_int_equal(transport_put(client, test_pki_bytes("query"), &stream), KNOT_OK);
		transport_cancel(client, stream);
		run(client, server, &cut);
		assert_false(transport_take(client, &event));
	}
	for (unsigned i = 0; i < TRANSPORT_STREAMS_MAX; i++) {
		assert_int_equal(transport_put(client, test_pki_bytes("query"), &stream), KNOT_OK);
	}
	assert_int_equal(transport_put(client, test_pki_bytes("query"), &stream), KNOT_EAGAIN);
	transport_cancel(client, 1000); /* unknown: nothing */
	transport_note_eof(client, 0);
	assert_int_equal(transport_end(client), TRANSPORT_END_CUT);
	transport_free(client);
	server_free(server);
}

static void test_garbage(void **state)
{
	(void)state;
	static const char
			*const rows[] = { "HTTP/1.1 400 Bad Request\r\n\r\nand more, so that it is longer than a frame",
				"\0\0\5\0\0\0\0\0\1abcde" /* DATA on a stream that isn't open, before SETTINGS */ };
	static const size_t lens[] = { 69, 14 };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		transport_t *client = client_new(NULL, false);
		put(client, "query");
		assert_true(transport_pending(client, 0).len > 0);
		knot_mut_bytes_t room = transport_room(client);
		memcpy(room.data, rows[i], lens[i]);
		transport_note_received(client, lens[i], 0);
		assert_true(transport_pending(client, 0).len > 0); /* says goodbye */
		assert_int_equal(transport_end(client), TRANSPORT_END_PROTOCOL);
		transport_event_t event;
		assert_false(transport_take(client, &event));
		transport_free(client);
	}
}

/* ---- Over TLS ---- */

static void test_tls(void **state)
{
	(void)state;
	test_pki_t pki;
	static const char *const alpns[] = { "h2", "dot" };
	static const size_t pieces[] = { 1, 100, SIZE_MAX, 0 };
	test_pki_new(&pki);
	transport_identity_t *identity = test_pki_identity(&pki.good);
	for (size_t i = 0; i < KNOT_LEN(alpns) * KNOT_LEN(pieces); i++) {
		bool is_h2 = i % 2 == 0;
		test_cut_t cut = { pieces[i / 2], (uint32_t)i };
		transport_t *client;
		transport_tls_params_t tls = { .hostname = "dns.example" };
		transport_http_params_t params = { .authority = "dns.example" };
		assert_int_equal(transport_http_new(&tls, &params, &client), KNOT_OK);
		http_server_t *server = server_new(identity, alpns[i % 2]);
		uint64_t stream = put(client, "query over TLS");
		run(client, server, &cut);
		if (is_h2) {
			assert_takes(client, stream, "query over TLS");
			transport_session_t session;
			transport_describe(client, &session);
			assert_int_equal(session.count, 2);
			assert_non_null(strstr(session.lines[0], "TLS session (TLS1.3)-("));
			transport_close(client, 0);
			run(client, server, &cut);
			assert_int_equal(server->base.end, TRANSPORT_END_BY_PEER);
		} else {
			assert_int_equal(transport_end(client), TRANSPORT_END_HANDSHAKE);
		}
		transport_free(client);
		server_free(server);
	}
	transport_identity_free(identity);
	test_pki_free(&pki);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_get_path),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_any_cut),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_going_away),
		cmocka_unit_test(test_many_streams),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_tls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
