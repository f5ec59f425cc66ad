/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The way out of an AF_XDP worker: through its own queue, a worker of another interface, or the kernel.
 *
 * A route-checked packet says how its reply leaves (xdp/path.h). What is built here is sent, handed on or dropped, and
 * counted at the queue (KXDP_OUTCOMES). One thread, the worker's, within the read section that xdp_out_t was filled in.
 */
#pragma once

#include "src/net/kernel_path.h"
#include "src/net/vlan.h"
#include "src/net/xdp_worker.h"
#include "xdp/queue.h"

typedef struct {
	kxdp_queue_t *queue;         /* borrowed */
	uint32_t ifindex;            /* of the queue */
	unsigned queue_index;        /* workers of other interfaces are chosen by it */
	relay_t *inbox;              /* owned; its frames leave here */
	kernel_path_t kernel;        /* its descriptors are owned */
	uint64_t now_us;             /* per batch */
	const xdp_worker_set_t *set; /* per batch */
	const vlan_table_t *vlans;   /* per batch; NULL: none */
} xdp_out_t;

/** Make the inbox, ask the helper for raw sockets. KNOT_ENOMEM, errors of eventfd(). No raw sockets: counted later. */
KNOT_MUST_USE knot_err_t xdp_out_init(xdp_out_t *out, const xdp_worker_t *worker, uint64_t now_us);

void xdp_out_done(xdp_out_t *out);

/** Decide how the way that the routing table gave is gone: VLAN devices become tags, an interface without a worker
 * becomes the kernel's. Paths that are KXDP_VIA_SAME stay. */
void xdp_out_resolve(const xdp_out_t *out, kxdp_path_t *path);

/** Send the reply that was written to the payload of a UDP packet. The frame is given away. */
void xdp_out_reply(xdp_out_t *out, const kxdp_packet_t *packet, size_t payload_len);

/** Send a segment whose payload is at frame->payload. The frame is given away. */
void xdp_out_segment(xdp_out_t *out, const kxdp_frame_t *frame, const kxdp_segment_t *segment);

/** Send a datagram whose payload, [0..len), is at frame->payload, len up to frame->payload_max. The frame is given
 * away. */
void xdp_out_datagram(xdp_out_t *out, const kxdp_frame_t *frame, const kxdp_flow_t *flow, const kxdp_path_t *path,
		uint8_t ecn, size_t len);

/** Send what other workers handed on. False: there are no free frames for all of it. */
bool xdp_out_inbox(xdp_out_t *out);
