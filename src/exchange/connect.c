/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/connect.h"

#include "src/sys/clock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

static bool connect_uses_datagrams(exchange_kind_t kind)
{
	return kind == EXCHANGE_UDP || kind == EXCHANGE_QUIC;
}

/* Options that make it better and whose lack is no failure. */
static void connect_set_options(int fd, const exchange_params_t *params)
{
	int on = 1;
	int family = params->server.sa.sa_family;
	if (family == AF_UNIX) {
		return;
	}
	if (!connect_uses_datagrams(params->kind)) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (params->uses_fast_open) {
			(void)setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
		}
	} else if (family == AF_INET) {
		/* A refusal by ICMP is an error of the socket, so nobody waits for the time limit. */
		(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	} else {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	}
}

/* A datagram socket of the UNIX domain gets replies only if it has a name: the kernel gives one to the empty address.
 */
static int connect_bind(int fd, const exchange_params_t *params)
{
	bool needs_name = params->server.sa.sa_family == AF_UNIX && connect_uses_datagrams(params->kind);
	if (params->local.sa.sa_family != AF_UNSPEC) {
		int on = 1;
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(fd, &params->local.sa, exchange_address_len(&params->local));
	}
	struct sockaddr unnamed = { .sa_family = AF_UNIX };
	return needs_name ? bind(fd, &unnamed, sizeof(unnamed.sa_family)) : 0;
}

static exchange_end_t connect_fail(int fd, exchange_end_t end)
{
	int err = errno;
	close(fd);
	errno = err;
	return end;
}

exchange_end_t connect_begin(const exchange_params_t *params, connect_t *ret)
{
	int family = params->server.sa.sa_family;
	bool is_datagram = connect_uses_datagrams(params->kind);
	*ret = (connect_t){ .fd = -1 };
	int fd = socket(family, (is_datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return EXCHANGE_SOCKET;
	}
	connect_set_options(fd, params);
	if (connect_bind(fd, params) != 0) {
		return connect_fail(fd, EXCHANGE_BIND);
	}
	/* UDP isn't connected, so that datagrams of others can be told about. */
	bool is_connected = params->kind != EXCHANGE_UDP;
	bool is_pending = false;
	if (is_connected && connect(fd, &params->server.sa, exchange_address_len(&params->server)) != 0) {
		is_pending = errno == EINPROGRESS;
		if (!is_pending) {
			return connect_fail(fd, EXCHANGE_CONNECT);
		}
	}
	*ret = (connect_t){ .fd = fd, .is_connected = is_connected, .is_pending = is_pending };
	return EXCHANGE_OK;
}

exchange_end_t connect_finish(const connect_t *connection, uint64_t until_ns)
{
	struct pollfd poll_fd = { .fd = connection->fd, .events = POLLOUT };
	while (poll_fd.revents == 0) {
		uint64_t now_ns = sys_clock_ns();
		if (now_ns >= until_ns) {
			return EXCHANGE_TIMEOUT;
		}
		uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
		(void)poll(&poll_fd, 1, until_ns == UINT64_MAX || left_ms > INT32_MAX ? -1 : (int)left_ms);
	}
	int err = 0;
	socklen_t len = sizeof(err);
	if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0 || err != 0) {
		errno = err != 0 ? err : errno;
		return EXCHANGE_CONNECT;
	}
	return EXCHANGE_OK;
}

static bool connect_get_name(int fd, exchange_address_t *ret_local)
{
	socklen_t len = sizeof(*ret_local);
	return getsockname(fd, &ret_local->sa, &len) == 0;
}

static bool connect_is_wildcard(const exchange_address_t *address)
{
	return (address->sa.sa_family == AF_INET && address->in.sin_addr.s_addr == INADDR_ANY) ||
	       (address->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr));
}

void connect_find_local(int fd, const exchange_address_t *server, exchange_address_t *ret_local)
{
	exchange_address_t local = { .sa = { .sa_family = AF_UNSPEC } };
	if (connect_get_name(fd, &local) && connect_is_wildcard(&local)) {
		/* Which address the kernel takes is seen on a connected socket; UDP sends nothing for that. */
		exchange_address_t routed;
		int probe = socket(server->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (probe >= 0 && connect(probe, &server->sa, exchange_address_len(server)) == 0 &&
				connect_get_name(probe, &routed)) {
			in_port_t port = local.sa.sa_family == AF_INET ? local.in.sin_port : local.in6.sin6_port;
			local = routed;
			*(local.sa.sa_family == AF_INET ? &local.in.sin_port : &local.in6.sin6_port) = port;
		}
		if (probe >= 0) {
			close(probe);
		}
	}
	*ret_local = local;
}
