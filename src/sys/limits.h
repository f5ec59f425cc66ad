/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Bounds of everything in the daemon that could grow, and the reason of each.
 *
 * Bounds that the protocol sets live with the protocol (libknot); bounds that an operator sets live in the
 * configuration.
 */
#pragma once

enum {
	/* Bytes of requests for dynamic updates that wait for their zones: some 100,000 small ones, two seconds of the
	   fastest clients. */
	SYS_UPDATES_MAX = 64 * 1024 * 1024,
	/* Knot's line limit: scripts that read its log cut there. */
	SYS_LOG_MESSAGE_MAX = 511,
	/* Log lines that a command repeats in its reply; the log has all of them. */
	SYS_LOG_CAPTURE_MAX = 16,
	/* Repeats of one message: enough to see what happens, too few to fill a disk (one line a second in the long run
	   at most). */
	SYS_LOG_REPEAT_MAX = 5,
	SYS_LOG_REPEAT_MS = 10000,
	/* How long a writer waits for a reader of the log that has stopped. Then it drops lines, as a thread that logs
	   must go on. */
	SYS_LOG_WAIT_MS = 1000,

	/* Datagrams per system call: 32 amortize the call to some 30 ns each; more only adds latency. */
	NET_UDP_BATCH = 32,
	/* Largest request over UDP: what fits a datagram; requests of more than a few hundred bytes are rare. */
	NET_UDP_REQUEST_MAX = 65535,
	/* Room per UDP reply: udp-max-payload's upper bound; a reply is never larger. */
	NET_UDP_REPLY_MAX = 4096,
	/*
	 * Error replies (FORMERR, NOTIMP, BADVERS) per second and UDP worker, and that many at once: more than tools
	 * and tests send. It bounds a loop of errors with hosts that answer any packet.
	 */
	NET_ERRORS_PER_S = 1000,
	/* Frames taken from an AF_XDP ring at once: looked up as one batch: doc/architecture.md, "From query to
	   answer". */
	NET_XDP_BATCH = 64,

	/* RFC 7766 8: length field of 16 bits. */
	NET_TCP_MESSAGE_MAX = 65535,
	/* Connections accepted in one go, so that a flood of them doesn't starve those that are open. */
	NET_TCP_ACCEPT_BATCH = 64,
	/* Events taken from epoll at once. */
	NET_TCP_EVENTS = 64,
	/* listen(2) backlog; the kernel cuts it to net.core.somaxconn. */
	NET_TCP_LISTEN_BACKLOG = 4096,
	/* Bytes of replies that a connection has in the kernel's buffer beyond what the peer's window takes: more are
	   made when these have left, so that clients that don't read bind little memory and CPU. */
	NET_TCP_NOTSENT_MAX = 32768,
	/* RFC 9715 / Knot: segments that survive every path, IPv6 minimum MTU 1280 minus headers. */
	NET_TCP_MSS = 1220,

	/* Unanswered dynamic updates of a TCP connection: no more is read from it meanwhile. More than a client needs
	   to keep the server busy, few enough that memory is bounded by the clients. */
	NET_LATER_PER_CONN = 256,

	/* How long a worker sleeps at most before it looks whether it has to end, in milliseconds. */
	NET_POLL_MS = 1000,
};
