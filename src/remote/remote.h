/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Requests to other servers: one thread that asks, for as many zones as there are.
 *
 * It owns connections, over TCP and UNIX sockets, and a queue per server. Plain questions to one server share few
 * connections, and pace.h says how many are on their way; urgent ones go first; a transfer goes on the connection of
 * the question before it, or gets its own; one that waits for a connection follows on that of a transfer that has ended
 * (RFC 5936 4.1), unless the server was seen to close it then. Idle connections are kept as `remote-pool-limit` says. A
 * server that can't be reached isn't tried for `remote-retry-delay`. It knows no zone: what an answer means is up to
 * the one who asked.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/remote/request.h"

typedef struct remote remote_t;

enum {
	REMOTE_LINKS_MAX = 4,   /* connections to one server for plain questions */
	REMOTE_URGENT_MAX = 2,  /* for urgent ones */
	REMOTE_STREAMS_MAX = 8, /* transfers from one server at a time with connections of their own */
	REMOTE_TRIES_MAX = 3,   /* a question whose connection was closed after others had been answered on it */
};

/** With the limits of a configuration. KNOT_ENOMEM, an errno code. */
KNOT_MUST_USE knot_err_t remote_new(const conf_server_t *conf, remote_t **ret_remote);

/** The limits of another configuration. Any thread. */
void remote_configure(remote_t *remote, const conf_server_t *conf);

/** Let the thread call ring(ctx) whenever a descriptor is readable. Once, before remote_start(). An errno code. */
KNOT_MUST_USE knot_err_t remote_set_bell(remote_t *remote, int fd, void (*ring)(void *ctx), void *ctx);

/** Start the thread "remote". An errno code. */
KNOT_MUST_USE knot_err_t remote_start(remote_t *remote);

/** End all requests with KNOT_ESTOPPED, and the thread. Later ones are refused. */
void remote_stop(remote_t *remote);

/** After remote_stop(). NULL is allowed. */
void remote_free(remote_t *take_remote);

/**
 * Ask; callbacks come from the thread "remote", none before this returns unless it is that thread. From any thread,
 * also from a callback. KNOT_ESTOPPED: the server ends. KNOT_ENOTSUP: the remote is asked over QUIC or TLS, which isn't
 * built.
 */
KNOT_MUST_USE knot_err_t remote_ask(remote_t *remote, remote_request_t *request);
