/* SPDX-License-Identifier: BSD-2-Clause */
/* QUIC over a queue of an interface. */
#include "src/tools/load/inbox.h"
#include "src/tools/load/quic_lane.h"
#include "src/tools/load/xdp_lane.h"

enum { RECEIVE_ROUNDS = 4 };

typedef struct {
	lane_t *lane;
	quic_client_t *client; /* owned */
	kxdp_flow_t flow;
	kxdp_frame_t frame; /* taken for the next datagram; bytes NULL: none */
} xdp_quic_t;

static void xdp_quic_send(xdp_quic_t *x)
{
	lane_t *lane = x->lane;
	size_t len;
	uint32_t port;
	while ((x->frame.bytes != NULL || xdp_lane_take(lane, &x->frame)) &&
			quic_client_send(x->client, gun_now(lane->gun), x->frame.payload, &len, &port)) {
		xdp_lane_set_local(lane, port, 0, &x->flow);
		/* One that finds no room is lost like any on the way, and is sent again. */
		(void)xdp_lane_send_udp(lane, &x->flow, &x->frame, len);
		x->frame.bytes = NULL;
	}
	kxdp_flush(lane->queue);
}

/* A datagram for one of our ports. */
static void xdp_quic_take(xdp_quic_t *x, const kxdp_flow_t *flow, knot_bytes_t datagram)
{
	uint32_t port, address;
	if (xdp_lane_owner(x->lane, flow->local_port, &port) == x->lane &&
			xdp_lane_address(x->lane, flow->local, &address)) {
		quic_client_receive(x->client, port, datagram, gun_now(x->lane->gun));
	}
}

static void xdp_quic_sort(xdp_quic_t *x, const kxdp_packet_t *packet)
{
	lane_t *lane = x->lane;
	uint32_t port;
	const kxdp_flow_t flow = kxdp_packet_flow(packet);
	lane_t *owner = xdp_lane_owner(lane, flow.local_port, &port);
	worker_add(&lane->worker.counts.wire_bytes, xdp_lane_wire_len(packet));
	if (owner == lane) {
		xdp_quic_take(x, &flow, (knot_bytes_t){ packet->payload, packet->payload_len });
	} else if (owner != NULL) {
		(void)inbox_put(owner->inbox, &flow, packet->payload, packet->payload_len);
	}
}

static size_t xdp_quic_receive(xdp_quic_t *x)
{
	kxdp_packet_t packets[GUN_BATCH_MAX];
	size_t sum = 0, count = GUN_BATCH_MAX;
	for (unsigned round = 0; round < RECEIVE_ROUNDS && count == GUN_BATCH_MAX; round++) {
		count = kxdp_receive(x->lane->queue, packets, GUN_BATCH_MAX);
		for (size_t i = 0; i < count; i++) {
			if (packets[i].ip_proto == IPPROTO_UDP) {
				xdp_quic_sort(x, &packets[i]);
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
		xdp_quic_take(x, &segment->flow, (knot_bytes_t){ segment->bytes, segment->len });
		sum++;
	}
	return sum;
}

/* A turn. False: it is over. */
static bool xdp_quic_turn(xdp_quic_t *x, uint64_t *io_last_ns, xdp_waker_t *waker)
{
	lane_t *lane = x->lane;
	quic_lane_turn_t turn = quic_lane_begin_turn(lane, x->client, io_last_ns);
	xdp_quic_send(x);
	if (quic_lane_is_over(x->client, &turn) && lane_may_end(x->lane)) {
		return false;
	}
	size_t received = xdp_quic_receive(x);
	lane_yield(lane);
	if (!xdp_lane_is_there(lane, waker)) {
		return false;
	}
	return turn.begun > 0 || received > 0 || xdp_lane_wait(lane, waker, quic_lane_sleep_ns(lane, x->client));
}

void xdp_quic_run(lane_t *lane)
{
	xdp_quic_t x = { .lane = lane, .flow = xdp_lane_flow(lane) };
	x.client = quic_lane_new_client(lane, lane->worker.flight.ports);
	if (x.client == NULL) {
		return;
	}
	xdp_waker_t waker;
	uint64_t last_ns = 0;
	bool goes_on = xdp_lane_open_waker(lane, &waker) && lane_start_sender(lane);
	while (goes_on && !lane_has_failed(lane)) {
		goes_on = xdp_quic_turn(&x, &last_ns, &waker);
	}
	lane_stop_sender(lane);
	if (x.frame.bytes != NULL && lane->injector == NULL) {
		kxdp_frame_give_back(lane->queue, &x.frame);
	}
	quic_client_free(x.client);
	xdp_lane_close_waker(&waker);
}
