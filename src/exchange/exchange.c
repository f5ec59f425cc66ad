/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/exchange.h"

#include "src/exchange/connect.h"
#include "src/exchange/proxy.h"
#include "src/exchange/shell.h"
#include "src/sys/clock.h"
#include "src/transport/plain.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROBLEM_MAX = 512 };

_Static_assert(PROXY_HEADER_MAX <= sizeof(((shell_t *)0)->prefix), "room for the header");

struct exchange {
	exchange_params_t params; /* strings are owned */
	shell_t shell;
	transport_t *transport;
	uint64_t stream;         /* of the message that was sent last */
	transport_event_t event; /* what the last receive() has taken */
	unsigned http_status;
	exchange_address_t local;
	exchange_end_t failed; /* what can only be freed */
	char peer[EXCHANGE_TEXT_MAX + 16];
	char problem[PROBLEM_MAX];
};

/* ---- New ---- */

/** What each kind has; rows in the order of exchange_kind_t. */
static const struct {
	const char *protocol; /* as Knot's utilities call it */
	bool is_datagram;
} kind_rows[] = {
	[EXCHANGE_UDP] = { "UDP", true },
	[EXCHANGE_TCP] = { "TCP", false },
	[EXCHANGE_TLS] = { "TCP", false },
	[EXCHANGE_HTTPS] = { "TCP", false },
	[EXCHANGE_QUIC] = { "QUIC", true },
};

static void exchange_set_prefix(exchange_t *x)
{
	const exchange_params_t *params = &x->params;
	if (params->proxy_source != NULL && params->proxy_destination != NULL && params->kind != EXCHANGE_QUIC) {
		x->shell.prefix_len = proxy_write(params->proxy_source, params->proxy_destination,
				kind_rows[params->kind].is_datagram, x->shell.prefix);
	}
	x->params.proxy_source = x->params.proxy_destination = NULL; /* the caller's */
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
	return x;
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
	shell_done(&take_x->shell);
	free(take_x);
}

/* ---- What went wrong ---- */

/** Sentences without an own reason; "%s" is the peer. */
static const char *const problem_texts[] = {
	[EXCHANGE_SOCKET] = "can't create socket for %s",
	[EXCHANGE_BIND] = "can't assign address %s",
	[EXCHANGE_CONNECT] = "can't connect to %s",
	[EXCHANGE_SEND] = "can't send query to %s",
	[EXCHANGE_RECEIVE] = "can't receive reply from %s",
	[EXCHANGE_TIMEOUT] = "response timeout for %s",
	[EXCHANGE_CLOSED] = "can't receive reply from %s",
	[EXCHANGE_SOURCE] = "unexpected reply source %s",
	[EXCHANGE_MEMORY] = "out of memory, %s",
};

static bool exchange_is_final(const exchange_t *x, exchange_end_t end)
{
	bool may_go_on = end == EXCHANGE_TIMEOUT || end == EXCHANGE_SOURCE || end == EXCHANGE_HTTP ||
			 ((end == EXCHANGE_RECEIVE || end == EXCHANGE_SEND) && x->params.kind == EXCHANGE_UDP);
	return !may_go_on || x->transport == NULL;
}

static exchange_end_t exchange_fail_text(exchange_t *x, exchange_end_t end, const char *format, const char *what)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(x->problem, sizeof(x->problem), format, what);
#pragma GCC diagnostic pop
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
	return exchange_fail_text(x, end, problem_texts[end], what);
}

static exchange_end_t exchange_fail_shell(exchange_t *x, shell_result_t result)
{
	switch (result) {
	case SHELL_SEND: return exchange_fail(x, EXCHANGE_SEND);
	case SHELL_RECEIVE: return exchange_fail(x, EXCHANGE_RECEIVE);
	case SHELL_SOURCE: return exchange_fail(x, EXCHANGE_SOURCE);
	case SHELL_TIMEOUT: return exchange_fail(x, EXCHANGE_TIMEOUT);
	case SHELL_ENDED: return exchange_fail(x, EXCHANGE_CLOSED);
	case SHELL_DONE: break;
	}
	return EXCHANGE_OK;
}

/* ---- Open ---- */

static uint64_t exchange_until_ns(const exchange_t *x)
{
	uint32_t timeout_ms = x->params.timeout_ms;
	return timeout_ms == 0 ? SHELL_NEVER_NS : sys_clock_ns() + (uint64_t)timeout_ms * 1000000;
}

static transport_t *exchange_new_transport(const exchange_t *x)
{
	return x->params.kind == EXCHANGE_UDP ? transport_datagram_new() : transport_stream_new();
}

static bool exchange_has_opened(void *ctx)
{
	exchange_t *x = ctx;
	return transport_state(x->transport) == TRANSPORT_OPEN;
}

exchange_end_t exchange_open(exchange_t *x)
{
	connect_t connection;
	assert(x->shell.fd < 0 && x->transport == NULL);
	if (x->params.kind > EXCHANGE_TCP) { /* the encrypted ones come in the next commits */
		return exchange_fail_text(x, EXCHANGE_HANDSHAKE, "no encryption yet for %s", x->peer);
	}
	uint64_t until_ns = exchange_until_ns(x);
	exchange_end_t end = connect_begin(&x->params, &connection);
	if (end != EXCHANGE_OK) {
		return exchange_fail(x, end);
	}
	x->shell.fd = connection.fd;
	x->shell.is_connected = connection.is_connected;
	if (connection.is_pending) {
		end = connect_finish(&connection, until_ns);
	}
	if (end != EXCHANGE_OK) {
		return end == EXCHANGE_TIMEOUT ? exchange_fail_text(x, end, "connection timeout for %s", x->peer)
					       : exchange_fail(x, end);
	}
	x->transport = exchange_new_transport(x);
	if (x->transport == NULL) {
		return exchange_fail(x, EXCHANGE_MEMORY);
	}
	return exchange_fail_shell(x, shell_run(&x->shell, x->transport, exchange_has_opened, x, until_ns));
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
	assert(x->transport != NULL);
	x->http_status = 0;
	knot_err_t err = transport_put(x->transport, message, &x->stream);
	if (err != KNOT_OK) {
		return exchange_fail(x, err == KNOT_ENOMEM ? EXCHANGE_MEMORY : EXCHANGE_SEND);
	}
	return exchange_fail_shell(x, shell_run(&x->shell, x->transport, exchange_has_sent, x, exchange_until_ns(x)));
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

exchange_end_t exchange_receive(exchange_t *x, knot_bytes_t *ret_message)
{
	if (x->failed != EXCHANGE_OK) {
		return x->failed;
	}
	assert(x->transport != NULL);
	shell_result_t result = shell_run(&x->shell, x->transport, exchange_has_received, x, exchange_until_ns(x));
	if (result != SHELL_DONE) {
		return exchange_fail_shell(x, result);
	}
	if (x->event.kind != TRANSPORT_MESSAGE) {
		return exchange_fail(x, EXCHANGE_CLOSED);
	}
	*ret_message = x->event.message;
	return EXCHANGE_OK;
}

/* ---- What is known ---- */

const char *exchange_problem(const exchange_t *x)
{
	return x->problem;
}

const char *exchange_peer_text(const exchange_t *x)
{
	return x->peer;
}

const exchange_address_t *exchange_remote(const exchange_t *x)
{
	return &x->params.server;
}

const exchange_address_t *exchange_stray(const exchange_t *x)
{
	return &x->shell.stray;
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

unsigned exchange_http_status(const exchange_t *x)
{
	return x->http_status;
}

bool exchange_is_open(const exchange_t *x)
{
	return x->failed == EXCHANGE_OK && x->transport != NULL && transport_state(x->transport) == TRANSPORT_OPEN;
}

knot_bytes_t exchange_ticket(exchange_t *x)
{
	(void)x;
	return (knot_bytes_t){ .len = 0 };
}
