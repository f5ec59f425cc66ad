/* SPDX-License-Identifier: BSD-2-Clause */
/** For benchmarks: frames as a client's. */
#pragma once

#include "xdp/frame.h"

#include <netinet/in.h>
#include <string.h>

enum { FRAME_SIZE = 2048, FRAME_HEADERS = 14 + 20 + 8 };

/**
 * A packet whose reply, written at its payload (kxdp_frame_reply()), is a question of the client 192.0.2.2 to port 53
 * of 192.0.2.1: the reply to a packet that never was, the writer needs only its addresses. frame: FRAME_SIZE bytes.
 */
static inline kxdp_packet_t client_packet(uint8_t *frame)
{
	memset(frame, 0, FRAME_HEADERS);
	frame[0] = frame[6] = 2;
	store_be16(frame + 12, 0x0800);
	kxdp_packet_t packet = {
		.payload = frame + FRAME_HEADERS,
		.payload_max = 1400,
		.frame = frame,
		.frame_room = FRAME_SIZE,
		.ip_off = 14,
	};
	packet.remote.in.sin_port = htons(53);
	packet.local.in.sin_port = htons(40000);
	packet.remote.in.sin_addr.s_addr = htonl(0xC0000201);
	packet.local.in.sin_addr.s_addr = htonl(0xC0000202);
	return packet;
}
