/* SPDX-License-Identifier: BSD-2-Clause */
/** What lanes over AF_XDP share: ports and addresses, sleeping. */
#pragma once

#include "src/tools/load/gun.h"

enum {
	XDP_LANE_PAYLOAD_OFF = 128,
	XDP_LANE_PAYLOAD_MAX = 1500,
	XDP_LANE_INJECT_MAX = 512,
	XDP_LANE_UDP_HEADER_LEN = 8,
};

/** Frames that a turn may send. */
static inline unsigned xdp_lane_batch(const lane_t *lane)
{
	return lane->injector != NULL ? XDP_LANE_INJECT_MAX : GUN_BATCH_MAX;
}

/** The flow of a query. */
static inline void xdp_lane_set_local(const lane_t *lane, uint32_t port, uint32_t address, kxdp_flow_t *io_flow)
{
	const gun_t *gun = lane->gun;
	const uint8_t *base = gun->interfaces[lane->interface].base;
	io_flow->local_port = (uint16_t)(GUN_PORT_MIN + port * gun->lane_count + lane->index);
	store_be32(io_flow->local + 12, load_be32(base + 12) + address);
}

/** A flow with everything that doesn't change. */
static inline kxdp_flow_t xdp_lane_flow(const lane_t *lane)
{
	const gun_t *gun = lane->gun;
	kxdp_flow_t flow = { .remote_port = gun->target_port };
	memcpy(flow.remote, gun->target_addr, 16);
	memcpy(flow.local, gun->interfaces[lane->interface].base, 16);
	return flow;
}

/** Whose port this is; with *ret_port its number there. NULL: nobody's. */
static inline lane_t *xdp_lane_owner(const lane_t *lane, uint16_t local_port, uint32_t *ret_port)
{
	const gun_t *gun = lane->gun;
	if (local_port < GUN_PORT_MIN) {
		return NULL;
	}
	unsigned offset = local_port - (unsigned)GUN_PORT_MIN;
	lane_t *owner = &gun->lanes[offset % gun->lane_count];
	*ret_port = offset / gun->lane_count;
	return *ret_port < owner->worker.flight.ports ? owner : NULL;
}

/** Which of the local addresses of `owner` it is. False: none. */
static inline bool xdp_lane_address(const lane_t *owner, const uint8_t addr[static 16], uint32_t *ret_address)
{
	const uint8_t *base = owner->gun->interfaces[owner->interface].base;
	*ret_address = load_be32(addr + 12) - load_be32(base + 12);
	return memcmp(addr, base, 12) == 0 && *ret_address < owner->gun->plan.addresses;
}

/** A frame to build something in, as kxdp_frame_take(); from the injector's ring where the lane has one. */
static inline bool xdp_lane_take(const lane_t *lane, kxdp_frame_t *ret_frame)
{
	if (lane->injector == NULL) {
		return kxdp_frame_take(lane->queue, ret_frame);
	}
	uint8_t *bytes = kxdp_injector_take(lane->injector);
	*ret_frame = (kxdp_frame_t){ bytes, bytes + XDP_LANE_PAYLOAD_OFF, XDP_LANE_PAYLOAD_MAX };
	return bytes != NULL;
}

/** Send it, as kxdp_send(). */
static inline bool xdp_lane_send(const lane_t *lane, const uint8_t *start, size_t len)
{
	if (lane->injector == NULL) {
		return kxdp_send(lane->queue, start, len);
	}
	kxdp_injector_put(lane->injector, start, len);
	return true;
}

/** The same with a UDP datagram, whose payload of `len` bytes is at frame->payload. */
static inline bool xdp_lane_send_udp(const lane_t *lane, const kxdp_flow_t *flow, const kxdp_frame_t *frame, size_t len)
{
	const kxdp_path_t *path = &lane->gun->interfaces[lane->interface].route.path;
	const size_t udp_len = XDP_LANE_UDP_HEADER_LEN + len;
	uint8_t *udp = frame->payload - XDP_LANE_UDP_HEADER_LEN, *start;
	store_be16(udp, flow->local_port);
	store_be16(udp + 2, flow->remote_port);
	store_be16(udp + 4, (uint16_t)udp_len);
	size_t frame_len = kxdp_frame_build(path, flow, IPPROTO_UDP, 0, udp, udp_len, &start);
	return xdp_lane_send(lane, start, frame_len);
}

/** What ends kxdp_wait() besides packets. */
typedef struct {
	int timer_fd;      /* owned */
	int fd;            /* owned: an epoll of the timer and of the lane's inbox */
	uint64_t check_ns; /* when to look next whether the interface is there */
} xdp_waker_t;

/** False: lane->error says why. Close it in either case. */
bool xdp_lane_open_waker(lane_t *lane, xdp_waker_t *ret_waker);
void xdp_lane_close_waker(xdp_waker_t *waker);

/**
 * Look whether the interface is there, ten times per second. False: it has gone, lane->error says so. A wait that the
 * timer ends doesn't tell that, and a lane that injects is never told as it sends.
 */
bool xdp_lane_is_there(lane_t *lane, xdp_waker_t *waker);

/** Sleep until packets come, also to the inbox, or `sleep_ns` are over. False: as xdp_lane_is_there(). */
bool xdp_lane_wait(lane_t *lane, const xdp_waker_t *waker, uint64_t sleep_ns);

/** Ethernet bytes of a received packet, for the rate. */
static inline uint64_t xdp_lane_wire_len(const kxdp_packet_t *packet)
{
	return packet->frame_len;
}
