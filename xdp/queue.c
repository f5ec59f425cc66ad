/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One AF_XDP socket with memory and rings of its own.
 *
 * A frame is always in exactly one place: the fill ring (the kernel may receive into it), the receive ring, the
 * caller's hands, the send ring, the completion ring, or `free_frames`. A reply goes out in the frame its query came
 * in, so frames move fill → receive → caller → send → completion → free → fill, and nothing is copied. Frames to build
 * something in are taken from the free ones.
 *
 * There are two rings' worth of frames. Frames are given out only while less than one ring's is on its way out (taken,
 * in the send ring, not collected yet): the other is left to receive into. When all of it is full of received frames,
 * the fill ring gets a few frames less than it could, so that there are some to send what makes the received ones go
 * away.
 *
 * Route check: the kernel program writes the route of the reply in front of the frame. Frames lie where others lay
 * before, so what is there may be of an earlier packet, or of what was sent from it (bytes that a peer may have
 * chosen): the magic number is erased when a frame is given to the kernel, and all of them when route check is switched
 * on later (what is in the receive ring then goes through the kernel).
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
	PAYLOAD_OFF = 128,  /* of what is built in a frame */
	RX_OFF = 256,       /* of what is received: XDP_PACKET_HEADROOM */
	KINDS_OK = 4,       /* of kxdp_kind_t: those that a good packet can have */
};

_Static_assert((int)PAYLOAD_OFF >= (int)KXDP_HEADERS_MAX + 60, "all headers fit");
_Static_assert((int)RX_OFF >= (int)KXDP_REPLY_HEADROOM && RX_OFF >= sizeof(struct filter_meta), "they lie in front");

/* Written by the queue's thread only, read by others. */
typedef struct {
	uint64_t received[KXDP_VERDICT_COUNT];
	uint64_t outcomes[KXDP_OUTCOME_COUNT];
} counts_t;

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
	uint32_t replied[2];  /* of these, replies; by kind: KXDP_UDP4, KXDP_UDP6 */
	uint32_t taken;       /* frames of kxdp_frame_take() in the caller's hands */
	bool is_short;        /* kxdp_frame_take() found none */
	bool is_gone;         /* the interface was removed */
	bool route_check;     /* as at the last batch */
	kxdp_tap_t *tap;      /* borrowed; NULL: none */
	uint32_t ifindex;
	uint16_t mtu;
	bool allow_partial;
	bool busy_poll;
	int fd;                 /* of `socket` */
	kxdp_iface_t *iface;    /* borrowed */
	kxdp_socket_t socket;   /* owned */
	kxdp_mapping_t mapping; /* owned; its rings are copied to the top */
	counts_t of[KXDP_KIND_COUNT];
	uint64_t batches[KXDP_BATCH_ROWS]; /* as counts_t */
};

static void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

void kxdp_count(kxdp_queue_t *q, kxdp_kind_t kind, kxdp_outcome_t outcome)
{
	counter_add(&q->of[kind].outcomes[outcome], 1);
}

/* Where the kernel program puts what it knows of the packet received into this frame. */
static uint8_t *metadata_of(const kxdp_queue_t *q, uint64_t address)
{
	return q->memory + address + RX_OFF - sizeof(struct filter_meta);
}

/* Give free frames to the kernel for receiving, as many as the fill ring takes, but for some to send with. */
static void queue_refill_ring(kxdp_queue_t *q)
{
	uint32_t kept = q->frame_count / 8 < KXDP_BATCH_MAX ? q->frame_count / 8 : KXDP_BATCH_MAX;
	uint32_t can_give = q->free_count > kept ? q->free_count - kept : 0;
	uint32_t count = xsk_prod_nb_free(&q->fq, can_give);
	count = count < can_give ? count : can_give;
	uint32_t index;
	if (count == 0 || xsk_ring_prod__reserve(&q->fq, count, &index) != count) {
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = q->free_frames[--q->free_count];
		if (__builtin_expect(q->route_check, 0)) {
			memset(metadata_of(q, address) + offsetof(struct filter_meta, magic), 0, sizeof(uint16_t));
		}
		*xsk_ring_prod__fill_addr(&q->fq, index + i) = address;
	}
	xsk_ring_prod__submit(&q->fq, count);
	if (xsk_ring_prod__needs_wakeup(&q->fq)) {
		(void)recvfrom(q->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	}
}

static void queue_release_frame(kxdp_queue_t *q, uint64_t address)
{
	assert(q->free_count < q->frame_count);
	q->free_frames[q->free_count++] = address & ~(uint64_t)(KXDP_FRAME_SIZE - 1);
}

static knot_err_t queue_open_steps(kxdp_queue_t *q, unsigned queue, kxdp_fault_t *ret_fault)
{
	knot_err_t err = kxdp_iface_open_socket(q->iface, queue, &q->socket, &q->mapping, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	const uint32_t ring_size = q->iface->ring_size;
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
		queue_release_frame(q, (uint64_t)i * KXDP_FRAME_SIZE);
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
	/* Memory is new: no metadata to erase. */
	q->route_check = __atomic_load_n(&iface->route_check, __ATOMIC_RELAXED);
	q->mtu = iface->mtu;
	q->ifindex = iface->index;
	q->allow_partial = iface->allow_partial;
	q->busy_poll = iface->busypoll_budget > 0;
	q->fd = q->socket.fd = q->socket.memory_fd = -1;
	knot_err_t err = queue_open_steps(q, queue, ret_fault);
	if (err != KNOT_OK) {
		kxdp_queue_close(q);
		return err;
	}
	if (!q->socket.zero_copy) {
		__atomic_store_n(&iface->copies, true, __ATOMIC_RELAXED);
	}
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

/* ENXIO: unbound from an interface that was unregistered. One that is only down says ENETDOWN, and comes back. */
static void queue_note_error(kxdp_queue_t *q, int errnum)
{
	q->is_gone |= errnum == ENXIO || errnum == ENODEV;
}

/* Nothing came. poll() doesn't tell (since Linux 5.11) that the socket has no interface any more, receiving does. */
static void queue_check_interface(kxdp_queue_t *q)
{
	if (recvfrom(q->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL) < 0) {
		queue_note_error(q, errno);
	}
}

unsigned kxdp_wait(kxdp_queue_t *q, int timeout_ms, int wake_fd)
{
	if (!q->busy_poll && xsk_cons_nb_avail(&q->rx, 1) > 0) {
		return KXDP_WAIT_PACKETS; /* under load no system call is needed to know that there is work */
	}
	if (tx_waiting(q) > 0 || q->is_short) {
		kxdp_flush(q);
		if ((tx_waiting(q) > 0 || q->is_short) && (timeout_ms < 0 || timeout_ms > 1)) {
			timeout_ms = 1; /* the device is full: come back soon */
		}
		q->is_short = false;
	}
	struct pollfd pfds[] = { { .fd = q->fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };
	int ready = poll(pfds, wake_fd >= 0 ? 2 : 1, timeout_ms);
	if (ready == 0 || (ready > 0 && (pfds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)) {
		queue_check_interface(q);
	}
	unsigned what = q->is_gone ? KXDP_WAIT_GONE : 0;
	if (ready > 0) {
		what |= (pfds[0].revents & POLLIN) != 0 ? KXDP_WAIT_PACKETS : 0;
		what |= pfds[1].revents != 0 ? KXDP_WAIT_WOKEN : 0;
	}
	return what;
}

/* ---- Receiving ---- */

static __attribute__((noinline, cold)) void erase_metadata(kxdp_queue_t *q)
{
	for (uint32_t i = 0; i < q->frame_count; i++) {
		memset(metadata_of(q, (uint64_t)i * KXDP_FRAME_SIZE), 0, sizeof(struct filter_meta));
	}
}

/* The reply's way from what the kernel program found out. */
static kxdp_path_t path_of(const kxdp_queue_t *q, const struct filter_meta *meta, const kxdp_packet_t *p)
{
	kxdp_path_t path = { .via = KXDP_VIA_KERNEL, .mtu = q->mtu, .ifindex = q->ifindex };
	if (meta->magic != FILTER_META_MAGIC) {
		return path;
	}
	if (meta->way == FILTER_WAY_BACK) {
		path = kxdp_packet_path(p);
		path.mtu = q->mtu;
		path.ifindex = q->ifindex;
	} else if (meta->way == FILTER_WAY_ROUTE) {
		path.via = meta->ifindex == q->ifindex ? KXDP_VIA_SAME : KXDP_VIA_OTHER;
		path.ifindex = meta->ifindex;
		memcpy(path.remote_mac, meta->remote_mac, sizeof(path.remote_mac));
		memcpy(path.local_mac, meta->local_mac, sizeof(path.local_mac));
		if (meta->tag_type_be != 0) {
			path.tag_count = 1;
			path.tags[0] = (kxdp_tag_t){ meta->tag_type_be, meta->tag_control_be };
		}
		if (meta->mtu != 0 && (meta->mtu < path.mtu || path.via == KXDP_VIA_OTHER)) {
			path.mtu = meta->mtu;
		}
	}
	return path;
}

/* The way that the packet came: a reply that is swapped in place takes it. */
static bool is_way_back(const kxdp_path_t *path, const kxdp_packet_t *p)
{
	const kxdp_path_t back = kxdp_packet_path(p);
	return path->via == KXDP_VIA_SAME && memcmp(path->remote_mac, back.remote_mac, sizeof(back.remote_mac)) == 0 &&
	       memcmp(path->local_mac, back.local_mac, sizeof(back.local_mac)) == 0 &&
	       path->tag_count == back.tag_count && memcmp(path->tags, back.tags, sizeof(back.tags)) == 0;
}

static __attribute__((noinline)) void route(const kxdp_queue_t *q, const struct filter_meta *meta, kxdp_packet_t *p)
{
	const kxdp_path_t path = path_of(q, meta, p);
	bool is_back = is_way_back(&path, p);
	p->path = path;
	p->is_routed = !is_back;
	size_t headers_len = (p->is_ipv6 ? 40 : 20) + 8;
	size_t payload_max = path.mtu > headers_len ? path.mtu - headers_len : 0;
	if (p->payload_max > payload_max) {
		p->payload_max = (uint16_t)payload_max;
	}
}

static __attribute__((noinline, cold)) void show_received(const kxdp_queue_t *q, uint32_t index, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, index + i);
		kxdp_tap_put(q->tap, KXDP_INBOUND, q->memory + desc->addr, desc->len);
	}
}

/* A frame that is not simply good. True: it is taken all the same. */
static __attribute__((noinline)) bool judge(kxdp_queue_t *q, const struct xdp_desc *desc, kxdp_verdict_t verdict)
{
	kxdp_kind_t kind = kxdp_frame_kind(q->memory + desc->addr, desc->len);
	counter_add(&q->of[kind].received[verdict], 1);
	if (verdict == KXDP_PARTIAL_CHECKSUM && q->allow_partial) {
		return true;
	}
	queue_release_frame(q, desc->addr);
	return false;
}

static void count_batch(kxdp_queue_t *q, uint32_t count)
{
	counter_add(&q->batches[count == 0 ? 0 : 32 - __builtin_clz(count)], 1);
}

static void queue_follow_route_check(kxdp_queue_t *q)
{
	bool wanted = __atomic_load_n(&q->iface->route_check, __ATOMIC_RELAXED);
	if (__builtin_expect(wanted != q->route_check, 0)) {
		if (wanted) {
			erase_metadata(q);
		}
		q->route_check = wanted;
	}
}

size_t kxdp_receive(kxdp_queue_t *q, kxdp_packet_t *ret_packets, size_t max)
{
	assert(max <= KXDP_BATCH_MAX);
	uint32_t index;
	uint32_t count = xsk_ring_cons__peek(&q->rx, (uint32_t)max, &index);
	count_batch(q, count);
	if (count == 0) {
		return 0;
	}
	if (__builtin_expect(q->tap != NULL, 0)) {
		show_received(q, index, count);
	}
	queue_follow_route_check(q);
	const bool route_check = q->route_check;
	size_t good = 0;
	uint32_t whole[KINDS_OK] = { 0 };
	for (uint32_t i = 0; i < count; i++) {
		if (i + PREFETCH_AHEAD < count) {
			const uint8_t *ahead =
					q->memory + xsk_ring_cons__rx_desc(&q->rx, index + i + PREFETCH_AHEAD)->addr;
			__builtin_prefetch(ahead, 1);
			__builtin_prefetch(ahead + 64, 1); /* a query with EDNS ends there */
		}
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, index + i);
		uint8_t *frame = q->memory + desc->addr;
		struct filter_meta meta;
		if (__builtin_expect(route_check, 0)) {
			memcpy(&meta, frame - sizeof(meta), sizeof(meta));
		}
		size_t room = KXDP_FRAME_SIZE - (desc->addr & (KXDP_FRAME_SIZE - 1));
		kxdp_packet_t *packet = &ret_packets[good];
		kxdp_verdict_t verdict = kxdp_frame_parse(frame, desc->len, room, q->mtu, packet);
		if (verdict != KXDP_OK) {
			if (!judge(q, desc, verdict)) {
				continue;
			}
			whole[kxdp_packet_kind(packet)]--; /* counted already, under its verdict */
		}
		kxdp_kind_t kind = kxdp_packet_kind(packet);
		whole[kind]++;
		if (__builtin_expect(route_check, 0)) {
			route(q, &meta, packet);
		} else if (kind >= KXDP_TCP4) {
			packet->path.ifindex = q->ifindex;
		}
		good++;
	}
	xsk_ring_cons__release(&q->rx, count);
	for (unsigned kind = 0; kind < KINDS_OK; kind++) {
		counter_add(&q->of[kind].received[KXDP_OK], whole[kind]);
	}
	return good;
}

/* ---- Sending ---- */

static void queue_collect_completed(kxdp_queue_t *q)
{
	uint32_t index;
	uint32_t count = xsk_ring_cons__peek(&q->cq, q->iface->ring_size, &index);
	for (uint32_t i = 0; i < count; i++) {
		queue_release_frame(q, *xsk_ring_cons__comp_addr(&q->cq, index + i));
	}
	if (count > 0) {
		xsk_ring_cons__release(&q->cq, count);
	}
}

/*
 * One call normally; more only while the kernel takes less than a batch at a time and moves on (copy mode before 6.17).
 */
static void queue_wake_kernel(kxdp_queue_t *q)
{
	uint32_t waiting = tx_waiting(q);
	while (waiting > 0 && xsk_ring_prod__needs_wakeup(&q->tx)) {
		ssize_t ret = sendto(q->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		uint32_t left = tx_waiting(q);
		if (ret >= 0 || left >= waiting) {
			queue_note_error(q, ret < 0 ? errno : 0);
			return;
		}
		waiting = left;
	}
}

static __attribute__((noinline, cold)) void show_sent(kxdp_queue_t *q)
{
	for (uint32_t i = 0; i < q->tx_reserved; i++) {
		const struct xdp_desc *desc = xsk_ring_prod__tx_desc(&q->tx, q->tx.cached_prod - q->tx_reserved + i);
		kxdp_tap_put(q->tap, KXDP_OUTBOUND, q->memory + desc->addr, desc->len);
	}
}

void kxdp_flush(kxdp_queue_t *q)
{
	if (q->tx_reserved > 0) {
		if (__builtin_expect(q->tap != NULL, 0)) {
			show_sent(q);
		}
		xsk_ring_prod__submit(&q->tx, q->tx_reserved);
		q->tx_reserved = 0;
		for (unsigned kind = 0; kind < KNOT_LEN(q->replied); kind++) {
			counter_add(&q->of[kind].outcomes[KXDP_REPLIED], q->replied[kind]);
			q->replied[kind] = 0;
		}
	}
	queue_wake_kernel(q);
	queue_collect_completed(q);
	queue_refill_ring(q);
}

static __attribute__((noinline, cold)) bool reserve_again(kxdp_queue_t *q, uint32_t *ret_index)
{
	kxdp_flush(q);
	return xsk_ring_prod__reserve(&q->tx, 1, ret_index) == 1;
}

/* A place in the send ring; false: it stayed full. */
static inline bool queue_reserve_frame(kxdp_queue_t *q, uint32_t *ret_index)
{
	return xsk_ring_prod__reserve(&q->tx, 1, ret_index) == 1 || reserve_again(q, ret_index);
}

static void queue_put_frame(kxdp_queue_t *q, uint32_t index, const uint8_t *start, size_t len)
{
	*xsk_ring_prod__tx_desc(&q->tx, index) =
			(struct xdp_desc){ .addr = (uint64_t)(start - q->memory), .len = (uint32_t)len };
	q->tx_reserved++;
}

bool kxdp_reply(kxdp_queue_t *q, const kxdp_packet_t *packet, size_t payload_len)
{
	assert(packet->path.via == KXDP_VIA_SAME);
	uint32_t index;
	if (!queue_reserve_frame(q, &index)) {
		kxdp_count(q, kxdp_packet_kind(packet), KXDP_TX_FULL);
		kxdp_drop(q, packet);
		return false;
	}
	q->replied[packet->is_ipv6]++;
	uint8_t *start;
	size_t len = kxdp_frame_reply(packet, payload_len, &start);
	queue_put_frame(q, index, start, len);
	return true;
}

void kxdp_drop(kxdp_queue_t *q, const kxdp_packet_t *packet)
{
	queue_release_frame(q, (uint64_t)(packet->frame - q->memory));
}

/* Frames that can't be received into: in the caller's hands to build something, or sent and not collected. */
static uint32_t frames_out(const kxdp_queue_t *q)
{
	return q->taken + (q->tx.cached_prod - q->cq.cached_cons);
}

bool kxdp_frame_take(kxdp_queue_t *q, kxdp_frame_t *ret_frame)
{
	if (q->free_count == 0 || frames_out(q) >= q->frame_count / 2) {
		queue_collect_completed(q);
		if (q->free_count == 0 || frames_out(q) >= q->frame_count / 2) {
			q->is_short = true;
			return false;
		}
	}
	uint8_t *bytes = q->memory + q->free_frames[--q->free_count];
	q->taken++;
	/* Headers go in front of the payload; checksums read back what was written, and would wait for cold lines. */
	__builtin_prefetch(bytes + PAYLOAD_OFF - 64, 1);
	__builtin_prefetch(bytes + PAYLOAD_OFF, 1);
	if (q->free_count > 0) {
		__builtin_prefetch(q->memory + q->free_frames[q->free_count - 1] + PAYLOAD_OFF - 64, 1);
	}
	*ret_frame = (kxdp_frame_t){
		.bytes = bytes, .payload = bytes + PAYLOAD_OFF, .payload_max = KXDP_FRAME_SIZE - PAYLOAD_OFF
	};
	return true;
}

void kxdp_frame_give_back(kxdp_queue_t *q, const kxdp_frame_t *frame)
{
	assert(q->taken > 0);
	q->taken--;
	queue_release_frame(q, (uint64_t)(frame->bytes - q->memory));
}

bool kxdp_send(kxdp_queue_t *q, const uint8_t *start, size_t len)
{
	assert(q->taken > 0);
	kxdp_kind_t kind = kxdp_frame_kind(start, len);
	q->taken--;
	uint32_t index;
	if (!queue_reserve_frame(q, &index)) {
		kxdp_count(q, kind, KXDP_SEND_FULL);
		queue_release_frame(q, (uint64_t)(start - q->memory));
		return false;
	}
	queue_put_frame(q, index, start, len);
	kxdp_count(q, kind, KXDP_SENT);
	return true;
}

void kxdp_queue_tap(kxdp_queue_t *q, kxdp_tap_t *tap, uint64_t time_ns)
{
	q->tap = tap;
	if (tap != NULL) {
		kxdp_tap_batch(tap, time_ns);
	}
}

/* ---- Statistics ---- */

static uint32_t ring_fill(const uint32_t *producer, const uint32_t *consumer)
{
	uint32_t taken = __atomic_load_n(consumer, __ATOMIC_RELAXED);
	return __atomic_load_n(producer, __ATOMIC_RELAXED) - taken;
}

/* Counters of a kind, and their part of the sums. */
static void queue_read_counts(const counts_t *counts, kxdp_stats_t *stats, size_t kind)
{
	for (size_t i = 0; i < KXDP_VERDICT_COUNT; i++) {
		stats->of[kind].received[i] = __atomic_load_n(&counts->received[i], __ATOMIC_RELAXED);
		stats->received[i] += stats->of[kind].received[i];
	}
#define READ_OUTCOME(constant, name)                                                                                   \
	stats->of[kind].name = __atomic_load_n(&counts->outcomes[constant], __ATOMIC_RELAXED);                         \
	stats->name += stats->of[kind].name;
	KXDP_OUTCOMES(READ_OUTCOME)
#undef READ_OUTCOME
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
	};
	for (size_t kind = 0; kind < KXDP_KIND_COUNT; kind++) {
		queue_read_counts(&q->of[kind], ret_stats, kind);
	}
	for (size_t i = 0; i < KXDP_BATCH_ROWS; i++) {
		ret_stats->batches[i] = __atomic_load_n(&q->batches[i], __ATOMIC_RELAXED);
	}
}

static void add_all(uint64_t *sum, const uint64_t *part, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sum[i] += part[i];
	}
}

void kxdp_stats_add(kxdp_stats_t *sum, const kxdp_stats_t *part)
{
	sum->rx_dropped += part->rx_dropped;
	sum->rx_invalid += part->rx_invalid;
	sum->tx_invalid += part->tx_invalid;
	sum->rx_full += part->rx_full;
	sum->fq_empty += part->fq_empty;
	sum->tx_empty += part->tx_empty;
	sum->tx_busy += part->tx_busy;
	sum->fq_fill += part->fq_fill;
	sum->rx_fill += part->rx_fill;
	sum->tx_fill += part->tx_fill;
	sum->cq_fill += part->cq_fill;
	add_all(sum->received, part->received, KXDP_VERDICT_COUNT);
	add_all(sum->batches, part->batches, KXDP_BATCH_ROWS);
#define ADD_OUTCOME(constant, name) sum->name += part->name;
	KXDP_OUTCOMES(ADD_OUTCOME)
#undef ADD_OUTCOME
	for (size_t kind = 0; kind < KXDP_KIND_COUNT; kind++) {
		add_all(sum->of[kind].received, part->of[kind].received, KXDP_VERDICT_COUNT);
#define ADD_OUTCOME(constant, name) sum->of[kind].name += part->of[kind].name;
		KXDP_OUTCOMES(ADD_OUTCOME)
#undef ADD_OUTCOME
	}
}
