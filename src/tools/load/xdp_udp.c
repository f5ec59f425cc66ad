/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP over a queue of an interface. */
#include "src/tools/load/xdp_lane.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { RECEIVE_ROUNDS = 4 };

/* Send what is due, at most a batch. Returns how many. */
static unsigned xdp_udp_send(lane_t *lane, kxdp_flow_t *flow)
{
	worker_t *w = &lane->worker;
	const uint64_t now_ns = gun_now(lane->gun);
	unsigned sent = 0;
	kxdp_frame_t frame;
	while (sent < xdp_lane_batch(lane) && worker_due(w) <= now_ns && xdp_lane_take(lane, &frame)) {
		worker_query_t query;
		worker_next(w, now_ns, false, frame.payload, &query);
		xdp_lane_set_local(lane, query.port, query.address, flow);
		if (!xdp_lane_send_udp(lane, flow, &frame, query.len)) {
			worker_unsend(w, &query);
		}
		sent++;
	}
	kxdp_flush(lane->queue);
	return sent;
}

static void xdp_udp_take(lane_t *lane, const kxdp_packet_t *packet, uint64_t now_ns)
{
	worker_t *w = &lane->worker;
	worker_add(&w->counts.wire_bytes, xdp_lane_wire_len(packet));
	const kxdp_flow_t flow = kxdp_packet_flow(packet);
	worker_reply_t reply = { .now_ns = now_ns, .message = { packet->payload, packet->payload_len } };
	lane_t *owner = xdp_lane_owner(lane, flow.local_port, &reply.port);
	if (owner == NULL || !xdp_lane_address(owner, flow.local, &reply.address)) {
		worker_add(&w->counts.replies, 1);
		worker_add(&w->counts.reply_bytes, packet->payload_len);
		worker_add(&w->counts.unexpected, 1);
		return;
	}
	(void)worker_receive(w, &owner->worker, &reply);
}

/* Returns how many packets came. */
static size_t xdp_udp_receive(lane_t *lane)
{
	kxdp_packet_t packets[GUN_BATCH_MAX];
	size_t sum = 0, count = GUN_BATCH_MAX;
	for (unsigned round = 0; round < RECEIVE_ROUNDS && count == GUN_BATCH_MAX; round++) {
		count = kxdp_receive(lane->queue, packets, GUN_BATCH_MAX);
		const uint64_t now_ns = count > 0 ? gun_now(lane->gun) : 0;
		for (size_t i = 0; i < count; i++) {
			if (packets[i].ip_proto == IPPROTO_UDP) {
				xdp_udp_take(lane, &packets[i], now_ns);
			}
			kxdp_drop(lane->queue, &packets[i]);
		}
		sum += count;
	}
	return sum;
}

void xdp_udp_run(lane_t *lane)
{
	kxdp_flow_t flow = xdp_lane_flow(lane);
	xdp_waker_t waker;
	uint64_t last_ns = 0;
	bool has_replies = !lane->gun->options->drop;
	bool is_started = xdp_lane_open_waker(lane, &waker) && lane_start_sender(lane);
	while (is_started) {
		uint64_t now_ns = gun_now(lane->gun);
		lane_phase_t phase = lane_phase(lane, now_ns, &last_ns);
		bool is_done = phase == LANE_ENDS || (phase == LANE_RECEIVES && !has_replies);
		if (lane_has_failed(lane) || (is_done && lane_may_end(lane))) {
			break;
		}
		if (lane->worker.chains != NULL) {
			lane->worker.now_s = (uint64_t)time(NULL);
		}
		unsigned sent = phase == LANE_SENDS ? xdp_udp_send(lane, &flow) : 0;
		size_t received = xdp_udp_receive(lane);
		if (phase != LANE_SENDS) {
			kxdp_flush(lane->queue);
		}
		lane_yield(lane);
		if (phase != LANE_SENDS) {
			lane_release_sender(lane);
		}
		if (!xdp_lane_is_there(lane, &waker)) {
			break;
		}
		if (sent == 0 && received == 0 &&
				!xdp_lane_wait(lane, &waker, lane_sleep_ns(lane, gun_now(lane->gun)))) {
			break;
		}
	}
	lane_stop_sender(lane);
	xdp_lane_close_waker(&waker);
}
