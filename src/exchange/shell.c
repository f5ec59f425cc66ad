/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/shell.h"

#include "src/sys/clock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum { STEP_OK, STEP_BLOCKED, STEP_FAILED, STEP_STRAY } step_t;

static bool shell_is_blocked(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK;
}

/* ---- Sending ---- */

static ssize_t shell_send_bytes(shell_t *shell, knot_bytes_t bytes, bool is_datagram)
{
	struct iovec parts[2] = {
		{ shell->prefix + shell->prefix_sent, shell->prefix_len - shell->prefix_sent },
		{ (void *)bytes.data, bytes.len },
	};
	bool has_prefix = parts[0].iov_len > 0;
	struct msghdr message = { .msg_iov = parts + !has_prefix, .msg_iovlen = 1u + has_prefix };
	if (is_datagram && !shell->is_connected) {
		message.msg_name = &shell->peer;
		message.msg_namelen = exchange_address_len(&shell->peer);
	}
	ssize_t sent = sendmsg(shell->fd, &message, MSG_NOSIGNAL);
	if (sent < 0 || !has_prefix) {
		return sent;
	}
	size_t of_prefix = (size_t)sent < parts[0].iov_len ? (size_t)sent : parts[0].iov_len;
	shell->prefix_sent += is_datagram ? 0 : of_prefix;
	return sent - (ssize_t)of_prefix;
}

/* All that is pending, as far as the socket takes it. */
static step_t shell_send_pending(shell_t *shell, transport_t *t)
{
	bool is_datagram = transport_is_datagram(t), has_error = false;
	for (;;) {
		knot_bytes_t bytes = transport_pending(t, sys_clock_ns());
		if (bytes.len == 0) {
			return STEP_OK;
		}
		ssize_t sent = shell_send_bytes(shell, bytes, is_datagram);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0 && is_datagram && errno == ECONNREFUSED && !has_error) {
			has_error = true; /* told of an earlier datagram: this one hasn't been tried */
			continue;
		}
		if (sent < 0 && shell_is_blocked(errno)) {
			return STEP_BLOCKED;
		}
		if (sent >= 0 || is_datagram) { /* a datagram that can't be sent is as good as lost */
			transport_note_sent(t, is_datagram ? bytes.len : (size_t)sent, sys_clock_ns());
		}
		if (sent < 0) {
			shell->error = errno;
			return STEP_FAILED;
		}
	}
}

void shell_flush(shell_t *shell, transport_t *t)
{
	if (shell->fd >= 0) {
		(void)shell_send_pending(shell, t);
	}
}

/* ---- Receiving ---- */

static bool shell_is_from_peer(const shell_t *shell, const exchange_address_t *from, socklen_t len)
{
	const exchange_address_t *peer = &shell->peer;
	if (peer->sa.sa_family == AF_UNIX) {
		return true; /* a path may be another name of the socket */
	}
	if (len < sizeof(sa_family_t) || from->sa.sa_family != peer->sa.sa_family) {
		return false;
	}
	return peer->sa.sa_family == AF_INET ? from->in.sin_port == peer->in.sin_port &&
							       from->in.sin_addr.s_addr == peer->in.sin_addr.s_addr
					     : from->in6.sin6_port == peer->in6.sin6_port &&
							       memcmp(&from->in6.sin6_addr, &peer->in6.sin6_addr,
									       sizeof(from->in6.sin6_addr)) == 0;
}

/* One piece. The transport that has no room has something to take first, and isn't asked to receive. */
static step_t shell_receive_piece(shell_t *shell, transport_t *t)
{
	knot_mut_bytes_t room = transport_room(t);
	if (room.len == 0) {
		return STEP_BLOCKED;
	}
	exchange_address_t from = { .sa = { .sa_family = AF_UNSPEC } };
	struct iovec part = { room.data, room.len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	bool checks_source = transport_is_datagram(t) && !shell->is_connected;
	if (checks_source) {
		message.msg_name = &from;
		message.msg_namelen = sizeof(from);
	}
	ssize_t len = recvmsg(shell->fd, &message, 0);
	if (len < 0) {
		shell->error = errno;
		return shell_is_blocked(errno) || errno == EINTR ? STEP_BLOCKED : STEP_FAILED;
	}
	if (checks_source && !shell_is_from_peer(shell, &from, message.msg_namelen)) {
		shell->stray = from;
		return STEP_STRAY;
	}
	if (len == 0 && !transport_is_datagram(t)) {
		if (!shell->has_eof) {
			shell->has_eof = true;
			transport_note_eof(t, sys_clock_ns());
		}
		return STEP_BLOCKED;
	}
	transport_note_received(t, (size_t)len, sys_clock_ns());
	return STEP_OK;
}

/* ---- Waiting ---- */

/* For poll(): milliseconds, rounded up, so that it doesn't wake up before the time. */
static int shell_wait_ms(uint64_t until_ns, uint64_t now_ns)
{
	if (until_ns == SHELL_NEVER_NS) {
		return -1;
	}
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	uint64_t left_ms = left_ns / 1000000 + (left_ns % 1000000 != 0);
	return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

/* Until the socket can be read (or written, if something is pending), or a time has come. */
static void shell_wait_ready(shell_t *shell, transport_t *t, bool is_blocked, uint64_t until_ns)
{
	uint64_t timer_ns = transport_deadline_ns(t);
	if (transport_kind(t) != TRANSPORT_STREAM && !transport_is_datagram(t)) {
		/* Servers whose records wait for our acknowledgement (Nagle's algorithm) get it now and not 40 ms
		 * later. The kernel forgets the wish; for others than TCP it's an error that doesn't matter. */
		int on = 1;
		(void)setsockopt(shell->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	}
	bool reads = !shell->has_eof && transport_room(t).len > 0;
	struct pollfd poll_fd = { .fd = shell->fd,
		.events = (short)((reads ? POLLIN : 0) | (is_blocked ? POLLOUT : 0)) };
	(void)poll(&poll_fd, 1, shell_wait_ms(timer_ns < until_ns ? timer_ns : until_ns, sys_clock_ns()));
}

/* A peer that doesn't take any more may have said why before. An end after that is no end in order. */
static shell_result_t shell_fail_to_send(shell_t *shell, transport_t *t, shell_until_cb until, void *ctx)
{
	int error = shell->error;
	if (transport_kind(t) == TRANSPORT_DATAGRAM) { /* no reply will come, and nobody sends it again */
		return SHELL_SEND;
	}
	shell->has_eof = true;
	while (!transport_is_datagram(t) && shell_receive_piece(shell, t) == STEP_OK && !until(ctx)) {}
	shell->error = error;
	return until(ctx) ? SHELL_DONE : transport_state(t) == TRANSPORT_ENDED ? SHELL_ENDED : SHELL_SEND;
}

shell_result_t shell_run(shell_t *shell, transport_t *t, shell_until_cb until, void *ctx, uint64_t until_ns)
{
	for (;;) {
		step_t sending = shell_send_pending(shell, t);
		if (sending == STEP_FAILED) {
			return shell_fail_to_send(shell, t, until, ctx);
		}
		if (until(ctx)) {
			return SHELL_DONE;
		}
		if (transport_state(t) == TRANSPORT_ENDED && sending == STEP_OK) {
			return SHELL_ENDED;
		}
		if (sys_clock_ns() >= until_ns) {
			return SHELL_TIMEOUT;
		}
		shell_wait_ready(shell, t, sending == STEP_BLOCKED, until_ns);
		step_t received = shell_receive_piece(shell, t);
		if (received == STEP_STRAY) {
			return SHELL_SOURCE;
		}
		if (received == STEP_FAILED) {
			return SHELL_RECEIVE;
		}
		uint64_t now_ns = sys_clock_ns();
		if (now_ns >= transport_deadline_ns(t)) {
			transport_expire(t, now_ns);
		}
	}
}

void shell_done(shell_t *shell)
{
	if (shell->fd >= 0) {
		close(shell->fd);
		shell->fd = -1;
	}
}
