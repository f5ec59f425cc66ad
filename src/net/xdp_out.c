/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_out.h"

#include "xdp/priv.h"

#include <assert.h>
#include <unistd.h>

_Static_assert((int)RELAY_FRAME_MAX >= (int)KXDP_FRAME_SIZE, "every frame can be handed on");

knot_err_t xdp_out_init(xdp_out_t *out, const xdp_worker_t *worker, uint64_t now_us)
{
	*out = (xdp_out_t){ .queue = worker->queue, .ifindex = worker->ifindex, .queue_index = worker->queue_index };
	kernel_path_init(&out->kernel, -1, -1, now_us);
	knot_err_t err = relay_new(&out->inbox);
	if (err != KNOT_OK || worker->shared->priv == NULL) {
		return err;
	}
	kxdp_fault_t fault;
	if (kxdp_priv_raw_socket(worker->shared->priv, AF_INET, &out->kernel.fd4, &fault) != KNOT_OK) {
		out->kernel.fd4 = -1;
	}
	if (kxdp_priv_raw_socket(worker->shared->priv, AF_INET6, &out->kernel.fd6, &fault) != KNOT_OK) {
		out->kernel.fd6 = -1;
	}
	return KNOT_OK;
}

void xdp_out_done(xdp_out_t *out)
{
	relay_free(out->inbox);
	if (out->kernel.fd4 >= 0) {
		close(out->kernel.fd4);
	}
	if (out->kernel.fd6 >= 0) {
		close(out->kernel.fd6);
	}
}

/*
 * A worker of the interface: always the same one for this worker, so that the segments of a connection stay in order.
 */
static const xdp_worker_t *worker_of(const xdp_out_t *out, uint32_t ifindex)
{
	size_t count = 0;
	for (size_t i = 0; i < out->set->count; i++) {
		count += out->set->workers[i]->ifindex == ifindex;
	}
	size_t wanted = count > 0 ? out->queue_index % count : 0;
	for (size_t i = 0; i < out->set->count && count > 0; i++) {
		const xdp_worker_t *worker = out->set->workers[i];
		if (worker->ifindex == ifindex && wanted-- == 0) {
			return worker;
		}
	}
	return NULL;
}

void xdp_out_resolve(const xdp_out_t *out, kxdp_path_t *path)
{
	if (path->via != KXDP_VIA_OTHER) {
		return;
	}
	if (!vlan_resolve(out->vlans, path)) {
		path->via = KXDP_VIA_KERNEL;
	} else if (path->ifindex == out->ifindex) {
		path->via = KXDP_VIA_SAME;
	} else if (worker_of(out, path->ifindex) == NULL) {
		path->via = KXDP_VIA_KERNEL;
	}
}

static void hand_on(xdp_out_t *out, kxdp_kind_t kind, uint32_t ifindex, const uint8_t *frame, size_t len)
{
	const xdp_worker_t *worker = worker_of(out, ifindex);
	bool ok = worker != NULL && relay_send(xdp_worker_inbox(worker), frame, len);
	kxdp_count(out->queue, kind, ok ? KXDP_RELAYED : KXDP_RELAY_FAILED);
}

static void give_kernel(xdp_out_t *out, kxdp_kind_t kind, uint32_t ifindex, const uint8_t *packet, size_t len)
{
	static const kxdp_outcome_t outcomes[] = {
		[KERNEL_PATH_SENT] = KXDP_BY_KERNEL,
		[KERNEL_PATH_LIMITED] = KXDP_KERNEL_LIMITED,
		[KERNEL_PATH_FAILED] = KXDP_KERNEL_FAILED,
	};
	kxdp_count(out->queue, kind, outcomes[kernel_path_send(&out->kernel, ifindex, packet, len, out->now_us)]);
}

void xdp_out_reply(xdp_out_t *out, const kxdp_packet_t *packet, size_t payload_len)
{
	if (packet->path.via == KXDP_VIA_SAME) {
		kxdp_reply(out->queue, packet, payload_len);
		return;
	}
	uint8_t *start;
	kxdp_kind_t kind = kxdp_packet_kind(packet);
	if (packet->path.via == KXDP_VIA_OTHER) {
		size_t len = kxdp_frame_reply(packet, payload_len, &start);
		hand_on(out, kind, packet->path.ifindex, start, len);
	} else {
		size_t len = kxdp_frame_reply_ip(packet, payload_len, &start);
		give_kernel(out, kind, out->ifindex, start, len);
	}
	kxdp_drop(out->queue, packet);
}

/* Put headers around transport[0..len), in the frame, and send it the way that `path` says. The frame is given away. */
static void xdp_out_transport(xdp_out_t *out, const kxdp_frame_t *frame, const kxdp_flow_t *flow,
		const kxdp_path_t *path, uint8_t ip_proto, uint8_t ecn, uint8_t *transport, size_t len)
{
	uint8_t *start;
	if (path->via == KXDP_VIA_SAME) {
		size_t frame_len = kxdp_frame_build(path, flow, ip_proto, ecn, transport, len, &start);
		kxdp_send(out->queue, start, frame_len);
		return;
	}
	bool is_ipv4 = kxdp_flow_is_ipv4(flow);
	kxdp_kind_t kind = ip_proto == IPPROTO_TCP ? (is_ipv4 ? KXDP_TCP4 : KXDP_TCP6)
			   : is_ipv4               ? KXDP_UDP4
						   : KXDP_UDP6;
	if (path->via == KXDP_VIA_OTHER) {
		size_t frame_len = kxdp_frame_build(path, flow, ip_proto, ecn, transport, len, &start);
		hand_on(out, kind, path->ifindex, start, frame_len);
	} else {
		size_t packet_len = kxdp_frame_build_ip(flow, ip_proto, ecn, transport, len, &start);
		give_kernel(out, kind, out->ifindex, start, packet_len);
	}
	kxdp_frame_give_back(out->queue, frame);
}

void xdp_out_segment(xdp_out_t *out, const kxdp_frame_t *frame, const kxdp_segment_t *segment)
{
	size_t header_len = kxdp_segment_header_len(segment);
	uint8_t *transport = frame->payload - header_len;
	kxdp_segment_write(segment, transport);
	xdp_out_transport(out, frame, &segment->flow, &segment->path, IPPROTO_TCP, segment->ecn, transport,
			header_len + segment->len);
}

void xdp_out_datagram(xdp_out_t *out, const kxdp_frame_t *frame, const kxdp_flow_t *flow, const kxdp_path_t *path,
		uint8_t ecn, size_t len)
{
	enum { UDP_HEADER_LEN = 8 };
	uint8_t *header = frame->payload - UDP_HEADER_LEN;
	assert(len <= frame->payload_max);
	store_be16(header, flow->local_port);
	store_be16(header + 2, flow->remote_port);
	store_be16(header + 4, (uint16_t)(UDP_HEADER_LEN + len));
	store_be16(header + 6, 0);
	xdp_out_transport(out, frame, flow, path, IPPROTO_UDP, ecn, header, UDP_HEADER_LEN + len);
}

bool xdp_out_inbox(xdp_out_t *out)
{
	for (unsigned i = 0; i < RELAY_SLOTS && relay_has(out->inbox); i++) {
		kxdp_frame_t frame;
		if (!kxdp_frame_take(out->queue, &frame)) {
			return false;
		}
		kxdp_send(out->queue, frame.bytes, relay_take(out->inbox, frame.bytes));
	}
	return true;
}
