/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * AF_XDP worker: one thread per queue. A batch is received, answered in its own frames within one read section, and
 * sent with one kick.
 */
#include "src/net/request.h"
#include "src/net/worker.h"
#include "src/sys/limits.h"

#include <stdlib.h>

_Static_assert((int)NET_XDP_BATCH <= (int)KXDP_BATCH_MAX, "one receive call");
_Static_assert((int)NET_XDP_BATCH <= (int)ANSWER_BATCH_MAX, "one call to warm");

/* What the answer engine asks for; smaller frames (tiny MTU) can't carry a DNS reply. */
enum { REPLY_ROOM_MIN = 512 };

knot_err_t xdp_worker_init(worker_t *worker)
{
	(void)worker;
	return KNOT_OK;
}

void xdp_worker_done(worker_t *worker)
{
	free(worker->memory);
	worker->memory = NULL;
}

bool xdp_worker_tcp_stats(const worker_t *worker, kxdp_tcp_stats_t *ret_stats)
{
	(void)worker;
	(void)ret_stats;
	return false; /* UDP only */
}

static void answer_packet(const state_t *state, kxdp_queue_t *queue, const kxdp_packet_t *packet,
			  const answer_hint_t *hint)
{
	size_t len = 0;
	if (packet->payload_max >= REPLY_ROOM_MIN) {
		answer_source_t source = {
			.transport = ANSWER_UDP,
			.remote = &packet->remote.sa,
			.local = &packet->local.sa,
		};
		len = request_answer(state, &source, hint, packet->is_ipv6 ? MODULE_UDP6_XDP : MODULE_UDP4_XDP,
				     (knot_bytes_t){ packet->payload, packet->payload_len },
				     (knot_mut_bytes_t){ packet->payload, packet->payload_max });
	}
	if (len > 0) {
		kxdp_reply(queue, packet, len);
	} else {
		kxdp_drop(queue, packet);
	}
}

static void answer_batch(const worker_t *worker, const kxdp_packet_t *packets, size_t count)
{
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(worker->shared->state, guard);
	knot_bytes_t requests[NET_XDP_BATCH];
	for (size_t i = 0; i < count; i++) {
		requests[i] = (knot_bytes_t){ packets[i].payload, packets[i].payload_len };
	}
	answer_hint_t hints[NET_XDP_BATCH];
	answer_warm(state->zones, requests, count, hints);
	for (size_t i = 0; i < count; i++) {
		answer_packet(state, worker->queue, &packets[i], &hints[i]);
	}
}

void xdp_worker_run(void *arg)
{
	worker_t *worker = arg;
	kxdp_packet_t packets[NET_XDP_BATCH];
	while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
		size_t count = kxdp_receive(worker->queue, packets, NET_XDP_BATCH);
		if (count > 0) {
			answer_batch(worker, packets, count);
		}
		kxdp_flush(worker->queue);
		if (count == 0) {
			(void)kxdp_wait(worker->queue, NET_POLL_MS / 4, -1);
		}
	}
}
