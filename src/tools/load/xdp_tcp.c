/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP over a queue of an interface. */
#include "src/tools/load/inbox.h"
#include "src/tools/load/tcp_client.h"
#include "src/tools/load/xdp_lane.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	HEADERS_IPV4 = 20 + 20, /* of IP and TCP: what an MSS leaves for the data */
	HEADERS_IPV6 = 40 + 20,
	WINDOW = 65535,
	RECEIVE_ROUNDS = 4,
	RESENDS_PER_TURN = 64,
};

typedef struct {
	lane_t *lane;
	tcp_client_t *client; /* owned */
	kxdp_flow_t flow;
	kxdp_frame_t frame; /* taken for the next segment; bytes NULL: none */
} xdp_tcp_t;

/* A frame to write a payload in. False: none now. */
static bool xdp_tcp_take_frame(xdp_tcp_t *x)
{
	return x->frame.bytes != NULL || xdp_lane_take(x->lane, &x->frame);
}

static void xdp_tcp_send_segment(xdp_tcp_t *x, const tcp_client_out_t *out)
{
	if (out->flags == 0) {
		return; /* the frame stays for the next one */
	}
	const kxdp_path_t *path = &x->lane->gun->interfaces[x->lane->interface].route.path;
	xdp_lane_set_local(x->lane, out->port, out->address, &x->flow);
	const kxdp_segment_t segment = {
		.flow = x->flow,
		.seq = out->seq,
		.ack = out->ack,
		.window = WINDOW,
		.mss = out->mss,
		.scale = -1,
		.flags = out->flags,
	};
	size_t header_len = kxdp_segment_header_len(&segment);
	uint8_t *header = x->frame.payload - header_len, *start;
	kxdp_segment_write(&segment, header);
	size_t len = kxdp_frame_build(path, &x->flow, IPPROTO_TCP, 0, header, header_len + out->len, &start);
	/* One that finds no room is lost like any on the way, and is sent again. */
	(void)xdp_lane_send(x->lane, start, len);
	x->frame.bytes = NULL;
}

static unsigned xdp_tcp_send(xdp_tcp_t *x)
{
	worker_t *w = &x->lane->worker;
	const uint64_t now_ns = gun_now(x->lane->gun);
	unsigned sent = 0;
	tcp_client_out_t out;
	while (sent < xdp_lane_batch(x->lane) && worker_due(w) <= now_ns && xdp_tcp_take_frame(x)) {
		tcp_client_next(x->client, now_ns, x->frame.payload, &out);
		xdp_tcp_send_segment(x, &out);
		sent++;
	}
	return sent;
}

/* A segment of one of our connections: bytes[0..len) from the TCP header on. */
static void xdp_tcp_take(
		xdp_tcp_t *x, uint32_t port, const kxdp_flow_t *flow, const uint8_t *bytes, size_t len, uint64_t now_ns)
{
	kxdp_segment_t segment = { .flow = *flow };
	uint32_t address;
	if (!xdp_lane_address(x->lane, flow->local, &address) || !kxdp_segment_read(bytes, len, &segment)) {
		worker_add(&x->lane->worker.counts.unexpected, 1);
		return;
	}
	if (!xdp_tcp_take_frame(x)) {
		return; /* as if it had been lost */
	}
	tcp_client_out_t out;
	tcp_client_receive(x->client, port, address, &segment, now_ns, x->frame.payload, &out);
	xdp_tcp_send_segment(x, &out);
}

static void xdp_tcp_sort(xdp_tcp_t *x, const kxdp_packet_t *packet, uint64_t now_ns)
{
	lane_t *lane = x->lane;
	uint32_t port;
	worker_add(&lane->worker.counts.wire_bytes, xdp_lane_wire_len(packet));
	lane_t *owner = xdp_lane_owner(lane, packet->flow.local_port, &port);
	if (owner == lane) {
		xdp_tcp_take(x, port, &packet->flow, packet->payload, packet->payload_len, now_ns);
	} else if (owner != NULL) {
		(void)inbox_put(owner->inbox, &packet->flow, packet->payload, packet->payload_len);
	}
}

static size_t xdp_tcp_receive(xdp_tcp_t *x)
{
	kxdp_packet_t packets[GUN_BATCH_MAX];
	size_t sum = 0, count = GUN_BATCH_MAX;
	for (unsigned round = 0; round < RECEIVE_ROUNDS && count == GUN_BATCH_MAX; round++) {
		count = kxdp_receive(x->lane->queue, packets, GUN_BATCH_MAX);
		const uint64_t now_ns = count > 0 ? gun_now(x->lane->gun) : 0;
		for (size_t i = 0; i < count; i++) {
			if (packets[i].ip_proto == IPPROTO_TCP) {
				xdp_tcp_sort(x, &packets[i], now_ns);
			}
			kxdp_drop(x->lane->queue, &packets[i]);
		}
		kxdp_flush(x->lane->queue);
		sum += count;
	}
	const inbox_segment_t *segment;
	/* Not more than it holds: other threads may fill it as fast as it is emptied. */
	for (unsigned i = 0;
			i < INBOX_SLOTS && x->lane->inbox != NULL && (segment = inbox_take(x->lane->inbox)) != NULL;
			i++) {
		uint32_t port;
		if (xdp_lane_owner(x->lane, segment->flow.local_port, &port) == x->lane) {
			xdp_tcp_take(x, port, &segment->flow, segment->bytes, segment->len, gun_now(x->lane->gun));
		}
		sum++;
	}
	return sum;
}

static void xdp_tcp_resend(xdp_tcp_t *x)
{
	const uint64_t now_ns = gun_now(x->lane->gun);
	tcp_client_out_t out;
	for (unsigned i = 0; i < RESENDS_PER_TURN && xdp_tcp_take_frame(x) &&
			     tcp_client_resend(x->client, now_ns, x->frame.payload, &out);
			i++) {
		xdp_tcp_send_segment(x, &out);
	}
}

/* In modes that don't react nothing is waited for; else for all connections to be closed. */
static bool xdp_tcp_is_over(const xdp_tcp_t *x, lane_phase_t phase)
{
	return phase == LANE_ENDS || (phase == LANE_RECEIVES && tcp_client_open_count(x->client) == 0);
}

void xdp_tcp_run(lane_t *lane)
{
	const gun_t *gun = lane->gun;
	const bool is_ipv6 = gun->target.ss_family == AF_INET6;
	uint16_t mtu = gun->interfaces[lane->interface].route.path.mtu;
	xdp_tcp_t x = { .lane = lane, .flow = xdp_lane_flow(lane) };
	x.client = tcp_client_new(
			&lane->worker, gun->options->mode, (uint16_t)(mtu - (is_ipv6 ? HEADERS_IPV6 : HEADERS_IPV4)));
	if (x.client == NULL) {
		snprintf(lane->error, sizeof(lane->error), "not enough memory");
		return;
	}
	xdp_waker_t waker;
	uint64_t last_ns = 0;
	bool is_started = xdp_lane_open_waker(lane, &waker) && lane_start_sender(lane);
	while (is_started) {
		lane_phase_t phase = lane_phase(lane, gun_now(gun), &last_ns);
		if (lane_has_failed(lane) || (xdp_tcp_is_over(&x, phase) && lane_may_end(lane))) {
			break;
		}
		if (lane->worker.chains != NULL) {
			lane->worker.now_s = (uint64_t)time(NULL);
		}
		unsigned sent = phase == LANE_SENDS ? xdp_tcp_send(&x) : 0;
		xdp_tcp_resend(&x);
		kxdp_flush(lane->queue);
		size_t received = xdp_tcp_receive(&x);
		lane_yield(lane);
		if (!xdp_lane_is_there(lane, &waker)) {
			break;
		}
		if (sent == 0 && received == 0 && !xdp_lane_wait(lane, &waker, lane_sleep_ns(lane, gun_now(gun)))) {
			break;
		}
	}
	lane_stop_sender(lane);
	if (x.frame.bytes != NULL && lane->injector == NULL) {
		kxdp_frame_give_back(lane->queue, &x.frame);
	}
	tcp_client_free(x.client);
	xdp_lane_close_waker(&waker);
}
