/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For benchmarks: the client's side of TCP connections to a worker's stack (src/net/xdp_tcp.h). The client takes every
 * reply at once, and acknowledges it with its next query, as a resolver does that keeps its connections.
 */
#pragma once

#include "src/net/xdp_tcp.h"

#include <string.h>

enum { CLIENT_TCP_MAX = 64, CLIENT_TCP_SEGMENT = 1500 };

/** A connection. All zero: not open. */
typedef struct {
	uint32_t seq, ack; /* of the client's next segment */
	uint8_t bytes[CLIENT_TCP_SEGMENT];
	kxdp_packet_t packet;
} client_tcp_t;

static inline kxdp_flow_t client_tcp_flow(unsigned number)
{
	return (kxdp_flow_t){
		.remote = { [10] = 0xff, 0xff, 192, 0, 2, (uint8_t)(100 + number) },
		.local = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.remote_port = 40000,
		.local_port = 53,
	};
}

/** The next segment of connection `number`, with a framed message of `len` bytes at message. It is to be received. */
static inline void client_tcp_send(
		client_tcp_t *client, unsigned number, uint8_t flags, const uint8_t *message, size_t len)
{
	kxdp_segment_t segment = { .seq = client->seq,
		.ack = client->ack,
		.window = 65535,
		.mss = flags & KXDP_TCP_SYN ? 1460 : 0,
		.scale = -1,
		.flags = flags };
	segment.flow = client_tcp_flow(number);
	size_t header = kxdp_segment_header_len(&segment), body = len > 0 ? 2 + len : 0;
	kxdp_segment_write(&segment, client->bytes);
	if (len > 0) {
		store_be16(client->bytes + header, (uint16_t)len);
		memcpy(client->bytes + header + 2, message, len);
	}
	client->seq += (uint32_t)body + (flags & KXDP_TCP_SYN ? 1 : 0);
	client->packet = (kxdp_packet_t){ .payload = client->bytes,
		.payload_len = (uint16_t)(header + body),
		.flow = segment.flow,
		.path = { .mtu = 1500, .ifindex = 2 } };
}

/** A segment of the stack's. */
static inline void client_tcp_take(client_tcp_t *client, const kxdp_segment_t *segment)
{
	client->ack = segment->seq + segment->len + (segment->flags & KXDP_TCP_SYN ? 1 : 0);
}
