/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How a request came in: address family, transport, and whether over AF_XDP. One fact, one value: what an answer may
 * be, what is counted and what modules see are read from it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** In the order of mod-stats' sub-keys. */
typedef enum {
	ANSWER_UDP4,
	ANSWER_TCP4,
	ANSWER_QUIC4,
	ANSWER_TLS4,
	ANSWER_UDP6,
	ANSWER_TCP6,
	ANSWER_QUIC6,
	ANSWER_TLS6,
	ANSWER_UDP4_XDP,
	ANSWER_TCP4_XDP,
	ANSWER_QUIC4_XDP,
	ANSWER_UDP6_XDP,
	ANSWER_TCP6_XDP,
	ANSWER_QUIC6_XDP,
	ANSWER_PROTOCOL_END,
} answer_protocol_t;

/** True for datagrams: size limits and TC apply, and the source may be forged. False: a stream, up to 65535 bytes.
 */
static inline bool answer_is_udp(answer_protocol_t protocol)
{
	enum { UDP = 1 << ANSWER_UDP4 | 1 << ANSWER_UDP6 | 1 << ANSWER_UDP4_XDP | 1 << ANSWER_UDP6_XDP };
	return (UDP >> protocol & 1) != 0;
}

/** Protocol of a socket's requests; a UNIX socket counts as IPv6, as in Knot. is_stream: TCP, else datagrams. */
static inline answer_protocol_t answer_protocol_of_socket(sa_family_t remote_family, bool is_stream)
{
	if (remote_family == AF_INET) {
		return is_stream ? ANSWER_TCP4 : ANSWER_UDP4;
	}
	return is_stream ? ANSWER_TCP6 : ANSWER_UDP6;
}

/** Text of a protocol as statistics show it: "udp4-xdp". Static. */
const char *answer_protocol_name(answer_protocol_t protocol);

/** True for a protocol that this server speaks: the others are never counted. */
bool answer_protocol_is_spoken(answer_protocol_t protocol);
