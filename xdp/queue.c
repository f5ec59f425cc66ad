/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One AF_XDP socket with memory and rings of its own.
 *
 * A frame is always in exactly one place: the fill ring (the kernel may receive into it), the receive ring, the
 * caller's hands, the send ring, the completion ring, or `free_frames`. A reply goes out in the frame its query came
 * in, so frames move fill → receive → caller → send → completion → free → fill, and nothing is copied.
 */
#include "xdp/queue.h"

#include "xdp/iface.h"
#include "xdp/socket.h"

#include <assert.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
enum {
	PREFETCH_AHEAD = 3, /* frames */
};

struct kxdp_queue {
	struct xsk_ring_cons rx;
	struct xsk_ring_cons cq;
	struct xsk_ring_prod tx;
	struct xsk_ring_prod fq;
	uint8_t *memory;       /* frame_count frames; of `mapping` */
	uint64_t *free_frames; /* stack of frame addresses (offsets in memory); owned */
	uint32_t free_count;
	uint32_t frame_count;
	uint32_t tx_reserved; /* descriptors written, not submitted yet */
	uint16_t mtu;
	bool allow_partial;
	bool busy_poll;
	int fd; /* of `socket` */
	kxdp_iface_t *iface; /* borrowed */
	kxdp_socket_t socket; /* owned */
	kxdp_mapping_t mapping; /* owned; its rings are copied to the top */
	/* Written by the queue's thread only, read by others. */
	uint64_t received[KXDP_VERDICT_COUNT];
	uint64_t replied;
	uint64_t tx_full;
};

static void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Give free frames to the kernel for receiving, as many as the fill ring takes. */
static void refill(kxdp_queue_t *q)
{
	uint32_t count = xsk_prod_nb_free(&q->fq, q->free_count);
	count = count < q->free_count ? count : q->free_count;
	uint32_t index;
	if (count == 0 || xsk_ring_prod__reserve(&q->fq, count, &index) != count) {
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		*xsk_ring_prod__fill_addr(&q->fq, index + i) = q->free_frames[--q->free_count];
	}
	xsk_ring_prod__submit(&q->fq, count);
	if (xsk_ring_prod__needs_wakeup(&q->fq)) {
		(void)recvfrom(q->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	}
}

static void release_frame(kxdp_queue_t *q, uint64_t address)
{
	assert(q->free_count < q->frame_count);
	q->free_frames[q->free_count++] = address & ~(uint64_t)(KXDP_FRAME_SIZE - 1);
}

static knot_err_t open_steps(kxdp_queue_t *q, unsigned queue, kxdp_fault_t *ret_fault)
{
	knot_err_t err = kxdp_iface_open_socket(q->iface, queue, &q->socket, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	const uint32_t ring_size = q->iface->ring_size;
	int errnum = kxdp_socket_map(&q->socket, ring_size, &q->mapping);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, q->iface->name, "mapping the AF_XDP socket");
	}
	q->rx = q->mapping.rx;
	q->cq = q->mapping.cq;
	q->tx = q->mapping.tx;
	q->fq = q->mapping.fq;
	q->memory = q->mapping.memory;
	q->fd = q->socket.fd;
	q->frame_count = q->socket.frame_count;
	q->free_frames = calloc(q->frame_count, sizeof(*q->free_frames));
	if (q->free_frames == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, q->iface->name, "allocating frames");
	}
	for (uint32_t i = ring_size; i < q->frame_count; i++) { /* those in front are in the fill ring */
		release_frame(q, (uint64_t)i * KXDP_FRAME_SIZE);
	}
	return KNOT_OK;
}

knot_err_t kxdp_queue_open(kxdp_iface_t *iface, unsigned queue, kxdp_queue_t **ret_queue, kxdp_fault_t *ret_fault)
{
	assert(queue < iface->queue_max);
	kxdp_queue_t *q = calloc(1, sizeof(*q));
	if (q == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, iface->name, "opening a queue");
	}
	q->iface = iface;
	q->mtu = iface->mtu;
	q->allow_partial = iface->allow_partial;
	q->busy_poll = iface->busypoll_budget > 0;
	q->fd = q->socket.fd = q->socket.memory_fd = -1;
	knot_err_t err = open_steps(q, queue, ret_fault);
	if (err != KNOT_OK) {
		kxdp_queue_close(q);
		return err;
	}
	iface->copies |= !q->socket.zero_copy;
	*ret_queue = q;
	return KNOT_OK;
}

void kxdp_queue_close(kxdp_queue_t *take_queue)
{
	if (take_queue != NULL) {
		kxdp_socket_close(&take_queue->socket, &take_queue->mapping);
		free(take_queue->free_frames);
		free(take_queue);
	}
}

/* Descriptors submitted that the kernel has not taken yet. */
static uint32_t tx_waiting(const kxdp_queue_t *q)
{
	return q->tx.cached_prod - q->tx_reserved - __atomic_load_n(q->tx.consumer, __ATOMIC_ACQUIRE);
}

unsigned kxdp_wait(kxdp_queue_t *q, int timeout_ms, int wake_fd)
{
	if (!q->busy_poll && xsk_cons_nb_avail(&q->rx, 1) > 0) {
		return KXDP_WAIT_PACKETS; /* under load no system call is needed to know that there is work */
	}
	if (tx_waiting(q) > 0) {
		kxdp_flush(q);
		if (tx_waiting(q) > 0 && (timeout_ms < 0 || timeout_ms > 1)) {
			timeout_ms = 1; /* the device is full: come back soon */
		}
	}
	struct pollfd pfds[] = { { .fd = q->fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };
	if (poll(pfds, wake_fd >= 0 ? 2 : 1, timeout_ms) <= 0) {
		return 0;
	}
	return ((pfds[0].revents & POLLIN) != 0 ? KXDP_WAIT_PACKETS : 0u) |
	       ((pfds[0].revents & (POLLERR | POLLNVAL)) != 0 ? KXDP_WAIT_GONE : 0u) |
	       (pfds[1].revents != 0 ? KXDP_WAIT_WOKEN : 0u);
}

size_t kxdp_receive(kxdp_queue_t *q, kxdp_packet_t *ret_packets, size_t max)
{
	assert(max <= KXDP_BATCH_MAX);
	uint32_t index;
	uint32_t count = xsk_ring_cons__peek(&q->rx, (uint32_t)max, &index);
	if (count == 0) {
		return 0;
	}
	size_t good = 0, whole = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (i + PREFETCH_AHEAD < count) {
			__builtin_prefetch(q->memory + xsk_ring_cons__rx_desc(&q->rx, index + i + PREFETCH_AHEAD)->addr,
					   1);
		}
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, index + i);
		size_t room = KXDP_FRAME_SIZE - (desc->addr & (KXDP_FRAME_SIZE - 1));
		kxdp_verdict_t verdict =
			kxdp_frame_parse(q->memory + desc->addr, desc->len, room, q->mtu, &ret_packets[good]);
		if (verdict == KXDP_OK) {
			good++;
			whole++;
			continue;
		}
		counter_add(&q->received[verdict], 1);
		if (verdict == KXDP_PARTIAL_CHECKSUM && q->allow_partial) {
			good++;
		} else {
			release_frame(q, desc->addr);
		}
	}
	xsk_ring_cons__release(&q->rx, count);
	counter_add(&q->received[KXDP_OK], whole);
	return good;
}

static void collect(kxdp_queue_t *q)
{
	uint32_t index;
	uint32_t count = xsk_ring_cons__peek(&q->cq, q->iface->ring_size, &index);
	for (uint32_t i = 0; i < count; i++) {
		release_frame(q, *xsk_ring_cons__comp_addr(&q->cq, index + i));
	}
	if (count > 0) {
		xsk_ring_cons__release(&q->cq, count);
	}
}

/* One call normally; more only while the kernel takes less than a batch at a time and moves on (copy mode before 6.17).
 */
static void kick(kxdp_queue_t *q)
{
	uint32_t waiting = tx_waiting(q);
	while (waiting > 0 && xsk_ring_prod__needs_wakeup(&q->tx)) {
		ssize_t ret = sendto(q->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		uint32_t left = tx_waiting(q);
		if (ret >= 0 || left >= waiting) {
			return;
		}
		waiting = left;
	}
}

void kxdp_flush(kxdp_queue_t *q)
{
	if (q->tx_reserved > 0) {
		xsk_ring_prod__submit(&q->tx, q->tx_reserved);
		counter_add(&q->replied, q->tx_reserved);
		q->tx_reserved = 0;
	}
	kick(q);
	collect(q);
	refill(q);
}

bool kxdp_reply(kxdp_queue_t *q, const kxdp_packet_t *packet, size_t payload_len)
{
	uint32_t index;
	if (xsk_ring_prod__reserve(&q->tx, 1, &index) != 1) {
		kxdp_flush(q);
		if (xsk_ring_prod__reserve(&q->tx, 1, &index) != 1) {
			counter_add(&q->tx_full, 1);
			kxdp_drop(q, packet);
			return false;
		}
	}
	uint8_t *start;
	size_t len = kxdp_frame_reply(packet, payload_len, &start);
	*xsk_ring_prod__tx_desc(&q->tx, index) =
		(struct xdp_desc){ .addr = (uint64_t)(start - q->memory), .len = (uint32_t)len };
	q->tx_reserved++;
	return true;
}

void kxdp_drop(kxdp_queue_t *q, const kxdp_packet_t *packet)
{
	release_frame(q, (uint64_t)(packet->frame - q->memory));
}

static uint32_t ring_fill(const uint32_t *producer, const uint32_t *consumer)
{
	uint32_t taken = __atomic_load_n(consumer, __ATOMIC_RELAXED);
	return __atomic_load_n(producer, __ATOMIC_RELAXED) - taken;
}

void kxdp_queue_stats(const kxdp_queue_t *q, kxdp_stats_t *ret_stats)
{
	struct xdp_statistics kernel = { 0 };
	socklen_t len = sizeof(kernel);
	(void)getsockopt(q->fd, SOL_XDP, XDP_STATISTICS, &kernel, &len); /* older kernels fill in less */
	*ret_stats = (kxdp_stats_t){
		.rx_dropped = kernel.rx_dropped,
		.rx_invalid = kernel.rx_invalid_descs,
		.tx_invalid = kernel.tx_invalid_descs,
		.rx_full = kernel.rx_ring_full,
		.fq_empty = kernel.rx_fill_ring_empty_descs,
		.tx_empty = kernel.tx_ring_empty_descs,
		.tx_busy = ring_fill(q->tx.producer, q->cq.consumer),
		.fq_fill = ring_fill(q->fq.producer, q->fq.consumer),
		.rx_fill = ring_fill(q->rx.producer, q->rx.consumer),
		.tx_fill = ring_fill(q->tx.producer, q->tx.consumer),
		.cq_fill = ring_fill(q->cq.producer, q->cq.consumer),
		.replied = __atomic_load_n(&q->replied, __ATOMIC_RELAXED),
		.tx_full = __atomic_load_n(&q->tx_full, __ATOMIC_RELAXED),
	};
	for (size_t i = 0; i < KXDP_VERDICT_COUNT; i++) {
		ret_stats->received[i] = __atomic_load_n(&q->received[i], __ATOMIC_RELAXED);
	}
}
