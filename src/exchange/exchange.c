/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/exchange.h"

#include "src/exchange/connect.h"
#include "src/exchange/proxy.h"
#include "src/exchange/shell.h"
#include "src/sys/clock.h"
#include "src/transport/http.h"
#include "src/transport/plain.h"
#include "src/transport/quic.h"
#include "src/transport/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROBLEM_MAX = 512 };

_Static_assert(PROXY_HEADER_MAX <= sizeof(((shell_t *)0)->prefix), "room for the header");

struct exchange {
	exchange_params_t params; /* strings and the ticket are the caller's, and gone */
	shell_t shell;
	transport_t *transport; /* NULL: its settings can't be used */
	bool has_opened;
	bool begins_late;        /* the handshake waits for the first message, to take it along */
	uint64_t stream;         /* of the message that was sent last */
	transport_event_t event; /* what the last receive() has taken */
	exchange_address_t local;
	knot_mut_bytes_t ticket; /* owned */
	exchange_end_t failed;   /* what can only be freed */
	char peer[EXCHANGE_TEXT_MAX + 16];
	char problem[PROBLEM_MAX];
	char reason[TRANSPORT_REASON_MAX]; /* of the problem, if its sentence doesn't have it */
};

/* ---- New ---- */

static transport_tls_params_t exchange_tls_params(const exchange_params_t *params)
{
	return (transport_tls_params_t){ .role = TRANSPORT_CLIENT,
		.trust = params->trust,
		.hostname = params->hostname,
		.sni = params->sni,
		.ticket = params->ticket,
		.uses_early_data = params->uses_early_data,
		.wall_s = sys_clock_wall(),
		.note = params->note,
		.note_ctx = params->note_ctx };
}

static knot_err_t exchange_new_datagram(const exchange_params_t *params, transport_t **ret_t)
{
	(void)params;
	*ret_t = transport_datagram_new();
	return *ret_t != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t exchange_new_stream(const exchange_params_t *params, transport_t **ret_t)
{
	(void)params;
	*ret_t = transport_stream_new();
	return *ret_t != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t exchange_new_tls(const exchange_params_t *params, transport_t **ret_t)
{
	transport_tls_params_t tls = exchange_tls_params(params);
	return transport_tls_new(&tls, ret_t);
}

/*
 * The host of the URL. Without a name of its own a server is called by its address, without port, as Knot's utilities
 * do. An IPv6 address stands in brackets (RFC 3986 3.2.2), and its zone is of this machine only (RFC 6874 4).
 */
static const char *exchange_authority(const exchange_params_t *params, char room[static EXCHANGE_TEXT_MAX + 2])
{
	struct in6_addr ipv6;
	char *host = room + 1; /* a bracket has room before it */
	const char *given = params->http.authority;
	if (given == NULL && params->server.sa.sa_family == AF_UNIX) {
		return "localhost";
	}
	if (given != NULL && (strlen(given) > INET6_ADDRSTRLEN || inet_pton(AF_INET6, given, &ipv6) != 1)) {
		return given;
	}
	if (given != NULL) {
		memcpy(host, given, strlen(given) + 1);
	} else {
		char address[EXCHANGE_TEXT_MAX];
		exchange_address_print(&params->server, address);
		size_t len = strcspn(address, "@%");
		memcpy(host, address, len);
		host[len] = '\0';
	}
	if (inet_pton(AF_INET6, host, &ipv6) != 1) {
		return host;
	}
	room[0] = '[';
	size_t len = strlen(room);
	room[len] = ']';
	room[len + 1] = '\0';
	return room;
}

static knot_err_t exchange_new_https(const exchange_params_t *params, transport_t **ret_t)
{
	char room[EXCHANGE_TEXT_MAX + 2];
	transport_tls_params_t tls = exchange_tls_params(params);
	transport_http_params_t http = { .uses_get = params->http.uses_get,
		.authority = exchange_authority(params, room),
		.path = params->http.path };
	return transport_http_new(&tls, &http, ret_t);
}

static knot_err_t exchange_new_quic(const exchange_params_t *params, transport_t **ret_t)
{
	transport_tls_params_t tls = exchange_tls_params(params);
	transport_quic_params_t quic = { .handshake_ms = params->timeout_ms > 0 ? params->timeout_ms : UINT32_MAX };
	return transport_quic_new(&tls, &quic, sys_clock_ns(), ret_t);
}

/** What each kind has; rows in the order of exchange_kind_t. */
static const struct {
	const char *protocol; /* as Knot's utilities call it */
	bool is_datagram;
	const char *layer; /* of sentences about it; NULL: has none */
	knot_err_t (*new_transport)(const exchange_params_t *params, transport_t **ret_t);
} kind_rows[] = {
	[EXCHANGE_UDP] = { "UDP", true, NULL, exchange_new_datagram },
	[EXCHANGE_TCP] = { "TCP", false, NULL, exchange_new_stream },
	[EXCHANGE_TLS] = { "TCP", false, "TLS", exchange_new_tls },
	[EXCHANGE_HTTPS] = { "TCP", false, "TLS", exchange_new_https },
	[EXCHANGE_QUIC] = { "UDP", true, "QUIC", exchange_new_quic },
};

static void exchange_set_prefix(exchange_t *x)
{
	const exchange_params_t *params = &x->params;
	if (params->proxy_source.sa.sa_family != AF_UNSPEC && params->kind != EXCHANGE_QUIC) {
		x->shell.prefix_len = proxy_write(&params->proxy_source, &params->proxy_destination,
				kind_rows[params->kind].is_datagram, x->shell.prefix);
	}
}

exchange_t *exchange_new(const exchange_params_t *params)
{
	char address[EXCHANGE_TEXT_MAX];
	exchange_t *x = calloc(1, sizeof(*x));
	if (x == NULL) {
		return NULL;
	}
	x->params = *params;
	x->shell.fd = -1;
	x->shell.peer = params->server;
	x->local.sa.sa_family = AF_UNSPEC;
	exchange_set_prefix(x);
	exchange_address_print(&params->server, address);
	(void)snprintf(x->peer, sizeof(x->peer), "%s(%s)", address, kind_rows[params->kind].protocol);
	if (kind_rows[params->kind].new_transport != NULL &&
			kind_rows[params->kind].new_transport(params, &x->transport) == KNOT_ENOMEM) {
		free(x);
		return NULL;
	}
	x->begins_late = x->params.uses_early_data && x->params.ticket.len > 0 && x->params.kind != EXCHANGE_HTTPS;
	return x;
}

/* Who has it can go on with the session. */
static void exchange_drop_ticket(exchange_t *x)
{
	if (x->ticket.data != NULL) {
		explicit_bzero(x->ticket.data, x->ticket.len);
		free(x->ticket.data);
	}
}

void exchange_free(exchange_t *take_x)
{
	if (take_x == NULL) {
		return;
	}
	if (take_x->transport != NULL) {
		transport_close(take_x->transport, sys_clock_ns());
		shell_flush(&take_x->shell, take_x->transport);
	}
	transport_free(take_x->transport);
	exchange_drop_ticket(take_x);
	shell_done(&take_x->shell);
	free(take_x);
}

/* ---- What went wrong ---- */

/** Sentences that have no reason of their own; the peer follows. */
static const char *const problem_texts[] = {
	[EXCHANGE_SOCKET] = "can't create socket for",
	[EXCHANGE_BIND] = "can't assign address",
	[EXCHANGE_CONNECT] = "can't connect to",
	[EXCHANGE_SEND] = "can't send query to",
	[EXCHANGE_RECEIVE] = "can't receive reply from",
	[EXCHANGE_TIMEOUT] = "response timeout for",
	[EXCHANGE_CLOSED] = "can't receive reply from",
	[EXCHANGE_SOURCE] = "unexpected reply source",
	[EXCHANGE_MEMORY] = "out of memory, asking",
};

static bool exchange_is_final(const exchange_t *x, exchange_end_t end)
{
	bool may_go_on = (end == EXCHANGE_TIMEOUT && x->has_opened) || end == EXCHANGE_SOURCE || end == EXCHANGE_HTTP ||
			 end == EXCHANGE_STREAM ||
			 ((end == EXCHANGE_RECEIVE || end == EXCHANGE_SEND) && x->params.kind == EXCHANGE_UDP);
	return !may_go_on || x->shell.fd < 0;
}

__attribute__((format(printf, 3, 4))) static exchange_end_t exchange_fail_text(
		exchange_t *x, exchange_end_t end, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vsnprintf(x->problem, sizeof(x->problem), format, args);
	va_end(args);
	x->reason[0] = '\0';
	x->failed = exchange_is_final(x, end) ? end : x->failed;
	return end;
}

static exchange_end_t exchange_fail(exchange_t *x, exchange_end_t end)
{
	char address[EXCHANGE_TEXT_MAX];
	const char *what = x->peer;
	if (end == EXCHANGE_BIND || end == EXCHANGE_SOURCE) {
		exchange_address_print(end == EXCHANGE_BIND ? &x->params.local : &x->shell.stray, address);
		what = address;
	}
	if (end == EXCHANGE_BIND) {
		address[strcspn(address, "@")] = '\0';
	}
	return exchange_fail_text(x, end, "%s %s", problem_texts[end], what);
}

/* The same, for a reason in the words of the system or of the transport. */
static exchange_end_t exchange_fail_for(exchange_t *x, exchange_end_t end, const char *reason)
{
	(void)exchange_fail(x, end);
	(void)snprintf(x->reason, sizeof(x->reason), "%s", reason);
	return end;
}

/** What each end of a connection is to a client. */
static const exchange_end_t exchange_ends[] = {
	[TRANSPORT_END_NONE] = EXCHANGE_CLOSED,
	[TRANSPORT_END_CLOSED] = EXCHANGE_CLOSED,
	[TRANSPORT_END_BY_PEER] = EXCHANGE_CLOSED,
	[TRANSPORT_END_CUT] = EXCHANGE_CLOSED,
	[TRANSPORT_END_HANDSHAKE] = EXCHANGE_HANDSHAKE,
	[TRANSPORT_END_UNTRUSTED] = EXCHANGE_UNTRUSTED,
	[TRANSPORT_END_PROTOCOL] = EXCHANGE_PROTOCOL,
	[TRANSPORT_END_REFUSED] = EXCHANGE_PROTOCOL,
	[TRANSPORT_END_TIMEOUT] = EXCHANGE_TIMEOUT,
	[TRANSPORT_END_LIMIT] = EXCHANGE_PROTOCOL,
	[TRANSPORT_END_MEMORY] = EXCHANGE_MEMORY,
};

static void exchange_warn(const exchange_t *x, const char *text)
{
	if (x->params.note != NULL) {
		x->params.note(x->params.note_ctx, TRANSPORT_NOTE_WARNING, text);
	}
}

/* The connection has ended: its reason is the sentence while it opens, and later a warning before Knot's sentence. */
static exchange_end_t exchange_fail_ended(exchange_t *x, bool is_opening)
{
	exchange_end_t end = exchange_ends[transport_end(x->transport)];
	const char *reason = transport_reason(x->transport);
	if (is_opening || end == EXCHANGE_HANDSHAKE || end == EXCHANGE_UNTRUSTED) {
		bool is_own = end == EXCHANGE_UNTRUSTED || end == EXCHANGE_MEMORY || end == EXCHANGE_TIMEOUT;
		end = is_own ? end : EXCHANGE_HANDSHAKE;
		return exchange_fail_text(x, end, "%s", reason);
	}
	if (kind_rows[x->params.kind].layer == NULL) {
		return exchange_fail_for(x, end, reason);
	}
	exchange_warn(x, reason);
	return exchange_fail_text(x, end, "can't receive reply from %s", x->peer);
}

static exchange_end_t exchange_fail_timeout(exchange_t *x, bool is_opening)
{
	const char *layer = kind_rows[x->params.kind].layer;
	if (layer == NULL) {
		return exchange_fail(x, EXCHANGE_TIMEOUT);
	}
	if (is_opening) {
		return exchange_fail_text(x, EXCHANGE_TIMEOUT, "%s, peer took too long to respond", layer);
	}
	(void)snprintf(x->problem, sizeof(x->problem), "%s, peer took too long to respond", layer);
	exchange_warn(x, x->problem);
	return exchange_fail_text(x, EXCHANGE_TIMEOUT, "can't receive reply from %s", x->peer);
}

static exchange_end_t exchange_fail_system(exchange_t *x, exchange_end_t end, bool is_opening)
{
	return is_opening ? exchange_fail_text(x, EXCHANGE_HANDSHAKE, "%s, handshake failed (%s)",
					    kind_rows[x->params.kind].layer, strerror(x->shell.error))
			  : exchange_fail_for(x, end, strerror(x->shell.error));
}

static exchange_end_t exchange_fail_shell(exchange_t *x, shell_result_t result, bool is_opening)
{
	switch (result) {
	case SHELL_SEND: return exchange_fail_system(x, EXCHANGE_SEND, is_opening);
	case SHELL_RECEIVE: return exchange_fail_system(x, EXCHANGE_RECEIVE, is_opening);
	case SHELL_SOURCE: return exchange_fail(x, EXCHANGE_SOURCE);
	case SHELL_TIMEOUT: return exchange_fail_timeout(x, is_opening);
	case SHELL_ENDED: return exchange_fail_ended(x, is_opening);
	case SHELL_DONE: break;
	}
	return EXCHANGE_OK;
}

/* ---- Open ---- */

uint64_t exchange_until_ns(const exchange_t *x)
{
	uint32_t timeout_ms = x->params.timeout_ms;
	return timeout_ms == 0 ? SHELL_NEVER_NS : sys_clock_ns() + (uint64_t)timeout_ms * 1000000;
}

static bool exchange_has_opened(void *ctx)
{
	exchange_t *x = ctx;
	return transport_state(x->transport) == TRANSPORT_OPEN;
}

exchange_end_t exchange_open(exchange_t *x)
{
	connect_t connection;
	assert(x->shell.fd < 0);
	if (x->transport == NULL) {
		return exchange_fail_text(
				x, EXCHANGE_HANDSHAKE, "host name or session ticket can't be used for %s", x->peer);
	}
	uint64_t until_ns = exchange_until_ns(x);
	exchange_end_t end = connect_begin(&x->params, &connection);
	if (end != EXCHANGE_OK) {
		return exchange_fail_for(x, end, strerror(errno));
	}
	x->shell.fd = connection.fd;
	x->shell.is_connected = connection.is_connected;
	if (connection.is_pending) {
		end = connect_finish(&connection, until_ns);
	}
	if (end != EXCHANGE_OK) {
		return end == EXCHANGE_TIMEOUT ? exchange_fail_text(x, end, "connection timeout for %s", x->peer)
					       : exchange_fail_for(x, end, strerror(errno));
	}
	if (!x->begins_late) {
		end = exchange_fail_shell(
				x, shell_run(&x->shell, x->transport, exchange_has_opened, x, until_ns), true);
	}
	x->has_opened = end == EXCHANGE_OK;
	return end;
}

/* ---- Send and receive ---- */

static bool exchange_has_sent(void *ctx)
{
	exchange_t *x = ctx;
	return transport_pending(x->transport, sys_clock_ns()).len == 0;
}

exchange_end_t exchange_send(exchange_t *x, knot_bytes_t message)
{
	if (x->failed != EXCHANGE_OK) {
		return x->failed;
	}
	assert(x->shell.fd >= 0);
	knot_err_t err = transport_put(x->transport, message, &x->stream);
	if (err != KNOT_OK) {
		return exchange_fail(x, err == KNOT_ENOMEM ? EXCHANGE_MEMORY : EXCHANGE_SEND);
	}
	return exchange_fail_shell(
			x, shell_run(&x->shell, x->transport, exchange_has_sent, x, exchange_until_ns(x)), false);
}

static bool exchange_has_received(void *ctx)
{
	exchange_t *x = ctx;
	while (transport_take(x->transport, &x->event)) {
		if (x->event.stream == x->stream) {
			return true;
		}
	}
	return false;
}

/* This query's stream has ended without a message; the connection goes on. */
static exchange_end_t exchange_fail_event(exchange_t *x)
{
	bool is_http = x->event.kind == TRANSPORT_HTTP_STATUS || x->event.kind == TRANSPORT_HTTP_TYPE;
	if (x->event.kind == TRANSPORT_HTTP_TYPE) {
		exchange_warn(x, "HTTP, the reply's content type isn't application/dns-message");
	}
	return exchange_fail_text(x, is_http ? EXCHANGE_HTTP : EXCHANGE_STREAM, "can't receive reply from %s", x->peer);
}

exchange_end_t exchange_receive(exchange_t *x, uint64_t until_ns, knot_bytes_t *ret_message)
{
	if (x->failed != EXCHANGE_OK) {
		return x->failed;
	}
	assert(x->shell.fd >= 0);
	shell_result_t result = shell_run(&x->shell, x->transport, exchange_has_received, x, until_ns);
	if (result != SHELL_DONE) {
		return exchange_fail_shell(x, result, false);
	}
	if (x->event.kind == TRANSPORT_MESSAGE) {
		*ret_message = x->event.message;
		return EXCHANGE_OK;
	}
	return exchange_fail_event(x);
}

/* ---- What is known ---- */

const char *exchange_problem(const exchange_t *x)
{
	return x->problem;
}

const char *exchange_reason(const exchange_t *x)
{
	return x->reason;
}

const char *exchange_peer_text(const exchange_t *x)
{
	return x->peer;
}

const exchange_address_t *exchange_remote(const exchange_t *x)
{
	return &x->params.server;
}

const exchange_address_t *exchange_local(exchange_t *x)
{
	if (x->local.sa.sa_family == AF_UNSPEC && x->shell.fd >= 0) {
		connect_find_local(x->shell.fd, &x->params.server, &x->local);
	}
	return &x->local;
}

void exchange_describe(const exchange_t *x, transport_session_t *ret_session)
{
	ret_session->count = 0;
	if (x->transport != NULL) {
		transport_describe(x->transport, ret_session);
	}
}

bool exchange_is_open(const exchange_t *x)
{
	return x->failed == EXCHANGE_OK && x->transport != NULL && transport_state(x->transport) == TRANSPORT_OPEN;
}

knot_bytes_t exchange_ticket(exchange_t *x)
{
	knot_mut_bytes_t ticket;
	if (x->transport != NULL && transport_ticket(x->transport, &ticket) == KNOT_OK) {
		exchange_drop_ticket(x);
		x->ticket = ticket;
	}
	return (knot_bytes_t){ x->ticket.data, x->ticket.len };
}
