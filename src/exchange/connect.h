/* SPDX-License-Identifier: BSD-2-Clause */
/** Sockets of a client: made, bound, connected without blocking beyond a time. For this folder only. */
#pragma once

#include "src/exchange/exchange.h"

/** A socket for the kind of transport, bound and on its way to the server. */
typedef struct {
	int fd;            /* -1 on failure */
	bool is_connected; /* else datagrams need an address */
	bool is_pending;   /* a connection is under way: connect_finish() */
} connect_t;

/** EXCHANGE_OK, _SOCKET, _BIND, _CONNECT with errno. On failure there is no socket. */
exchange_end_t connect_begin(const exchange_params_t *params, connect_t *ret);

/** Wait for a connection that is under way. EXCHANGE_OK, _CONNECT with errno, _TIMEOUT. The socket stays the caller's.
 */
exchange_end_t connect_finish(const connect_t *connection, uint64_t until_ns);

/** The address that a socket sends from to `server`, without sending anything; AF_UNSPEC if that can't be found. */
void connect_find_local(int fd, const exchange_address_t *server, exchange_address_t *ret_local);
