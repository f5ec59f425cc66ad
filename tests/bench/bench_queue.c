/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A queue with its rings in plain memory: a batch received, replied to and flushed; nanoseconds per query, best of five
 * runs. No kernel is involved, so this is what a worker pays besides answering and system calls. Instructions:
 * valgrind --tool=callgrind --toggle-collect=handle_batch.
 */
#include "libknot/base/bytes.h"
#include "xdp/iface.h"
#include "xdp/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 2048, FRAMES = 2 * RING, RX_AT = 256, ROUNDS = 2000, RUNS = 5, QUERY_LEN = 48 };

typedef struct {
	uint32_t producer, consumer, flags;
	union {
		uint64_t addrs[RING];
		struct xdp_desc descs[RING];
	} at;
} ring_t;

static uint8_t memory[(size_t)FRAMES * KXDP_FRAME_SIZE] __attribute__((aligned(4096)));
static ring_t rx, tx, fq, cq;

/* In place of iface.c's, which asks the helper for a socket. */
knot_err_t kxdp_iface_open_socket(kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket,
		kxdp_mapping_t *ret_mapping, kxdp_fault_t *ret_fault)
{
	(void)iface, (void)queue, (void)ret_fault;
#define CONSUMER(r)                                                                                                    \
	{ .mask = RING - 1,                                                                                            \
		.size = RING,                                                                                          \
		.producer = &r.producer,                                                                               \
		.consumer = &r.consumer,                                                                               \
		.flags = &r.flags,                                                                                     \
		.ring = &r.at }
#define PRODUCER(r)                                                                                                    \
	{                                                                                                              \
		.cached_cons = RING, .mask = RING - 1, .size = RING, .producer = &r.producer, .consumer = &r.consumer, \
		.flags = &r.flags, .ring = &r.at                                                                       \
	}
	*ret_socket = (kxdp_socket_t){ .fd = -1, .memory_fd = -1, .frame_count = FRAMES };
	*ret_mapping = (kxdp_mapping_t){
		.rx = CONSUMER(rx),
		.cq = CONSUMER(cq),
		.tx = PRODUCER(tx),
		.fq = PRODUCER(fq),
		.memory = memory,
	};
	for (uint32_t i = 0; i < RING; i++) {
		fq.at.addrs[i] = (uint64_t)i * KXDP_FRAME_SIZE;
	}
	ret_mapping->fq.cached_prod = fq.producer = RING;
	return KNOT_OK;
}

/* In place of socket.c's and fault.c's. */
void kxdp_socket_close(kxdp_socket_t *socket, kxdp_mapping_t *mapping)
{
	(void)socket, (void)mapping;
}

knot_err_t kxdp_fault_errno(kxdp_fault_t *ret_fault, int errnum, const char *ifname, const char *doing)
{
	(void)ret_fault, (void)errnum, (void)ifname, (void)doing;
	abort();
}

/* As a query frame: what would be built for a packet to port 53. */
static size_t make_query(uint8_t *frame)
{
	kxdp_flow_t flow = { .remote_port = 53, .local_port = 40000 };
	flow.remote[10] = flow.remote[11] = flow.local[10] = flow.local[11] = 0xFF;
	memcpy(flow.remote + 12, "\xC0\x00\x02\x01", 4);
	memcpy(flow.local + 12, "\xC0\x00\x02\x02", 4);
	const kxdp_path_t path = { .remote_mac = { 2 }, .local_mac = { 2 } };
	uint8_t *udp = frame + 34, *start;
	memset(udp, 0, 8 + QUERY_LEN);
	store_be16(udp, flow.local_port);
	store_be16(udp + 2, flow.remote_port);
	store_be16(udp + 4, 8 + QUERY_LEN);
	return kxdp_frame_build(&path, &flow, IPPROTO_UDP, 0, udp, 8 + QUERY_LEN, &start);
}

static void deliver_batch(void)
{
	for (unsigned i = 0; i < KXDP_BATCH_MAX; i++) {
		uint64_t addr = fq.at.addrs[fq.consumer++ % RING] + RX_AT;
		size_t len = make_query(memory + addr);
		rx.at.descs[rx.producer++ % RING] = (struct xdp_desc){ .addr = addr, .len = (uint32_t)len };
	}
}

static void complete_batch(void)
{
	while (tx.consumer != tx.producer) {
		cq.at.addrs[cq.producer++ % RING] = tx.at.descs[tx.consumer++ % RING].addr;
	}
}

/* Global, so that callgrind finds it. */
void handle_batch(kxdp_queue_t *queue);

__attribute__((noinline)) void handle_batch(kxdp_queue_t *queue)
{
	kxdp_packet_t packets[KXDP_BATCH_MAX];
	size_t count = kxdp_receive(queue, packets, KXDP_BATCH_MAX);
	for (size_t i = 0; i < count; i++) {
		kxdp_reply(queue, &packets[i], QUERY_LEN);
	}
	kxdp_flush(queue);
}

static double run_ns(kxdp_queue_t *queue)
{
	double ns = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		deliver_batch();
		struct timespec begin, end;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		handle_batch(queue);
		clock_gettime(CLOCK_MONOTONIC, &end);
		ns += (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
		complete_batch();
	}
	return ns / ((double)ROUNDS * KXDP_BATCH_MAX);
}

int main(void)
{
	struct kxdp_iface iface = { .ring_size = RING, .mtu = 1500, .index = 1, .queue_max = 1 };
	kxdp_queue_t *queue;
	kxdp_fault_t fault;
	if (kxdp_queue_open(&iface, 0, &queue, &fault) != KNOT_OK) {
		return 1;
	}
	double best = 0;
	for (unsigned run = 0; run < RUNS; run++) {
		double ns = run_ns(queue);
		best = best == 0 || ns < best ? ns : best;
	}
	kxdp_stats_t stats;
	kxdp_queue_stats(queue, &stats);
	bool all = stats.replied == (uint64_t)RUNS * ROUNDS * KXDP_BATCH_MAX;
	printf("queue, query and reply of %d bytes in batches of %d: %.1f ns\n", QUERY_LEN, KXDP_BATCH_MAX, best);
	kxdp_queue_close(queue);
	return all ? 0 : 1;
}
