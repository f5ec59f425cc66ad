/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Receive queues: packets in, replies and segments out, by one AF_XDP socket per queue.
 *
 * Owns: the socket's rings, its memory, and where each frame of it is. Not here: what is in the packets, TCP
 * (tcp/tcp.h), opening the socket (socket.h, by the privileged helper), threads.
 *
 * Threads: a queue is used by one thread at a time; kxdp_queue_stats() from any thread while the queue is open.
 *
 * Frames: each has one owner. A received packet's frame is the caller's until kxdp_reply() or kxdp_drop(), a frame from
 * kxdp_frame_take() until kxdp_send() or kxdp_frame_give_back(). None are given out to build something in while half of
 * all are on their way out, so what is built never starves what is received.
 *
 * Cost: no allocation, lock or system call per packet; one sendto() per kxdp_flush() that has something to send.
 *
 *     kxdp_packet_t packets[KXDP_BATCH_MAX];
 *     for (;;) {
 *         if (kxdp_wait(queue, 1000, -1) & KXDP_WAIT_GONE) { break; }
 *         size_t count = kxdp_receive(queue, packets, KXDP_BATCH_MAX);
 *         for (size_t i = 0; i < count; i++) {
 *             size_t len = answer(packets[i].payload, packets[i].payload_len, packets[i].payload_max);
 *             if (len > 0) { kxdp_reply(queue, &packets[i], len); } else { kxdp_drop(queue, &packets[i]); }
 *         }
 *         kxdp_flush(queue);
 *     }
 */
#pragma once

#include "xdp/frame.h"
#include "xdp/kxdp.h"
#include "xdp/tap.h"

/** One receive queue of an interface with its AF_XDP socket. */
typedef struct kxdp_queue kxdp_queue_t;

/**
 * Open the socket of one queue and direct the queue's packets to it.
 *
 * queue: [0..kxdp_iface_queue_max()). The queue borrows `iface`. KNOT_EBUSY: another socket is bound to this queue.
 */
KNOT_MUST_USE knot_err_t kxdp_queue_open(
		kxdp_iface_t *iface, unsigned queue, kxdp_queue_t **ret_queue, kxdp_fault_t *ret_fault);

/** The kernel gets the queue's packets again; frames not sent yet are lost. NULL is fine. */
void kxdp_queue_close(kxdp_queue_t *take_queue);

/** What kxdp_wait() returns; 0: time is over, or a signal came. */
enum {
	KXDP_WAIT_PACKETS = 1, /* there are packets */
	KXDP_WAIT_WOKEN = 2,   /* wake_fd is readable; only looked at when there were no packets at first */
	KXDP_WAIT_GONE = 4,    /* the interface has gone, the queue will never see a packet again: close it */
};

/**
 * Wait for packets, at most timeout_ms (-1: for ever). Also pushes out what the kernel did not take at the last flush,
 * and comes back soon when the device is full or kxdp_frame_take() found no frame.
 *
 * wake_fd: for other threads to end the wait (an eventfd, …), -1: none. It is not read. No system call is made when
 * packets are there: what else is to be done must be looked for in memory after each batch.
 * Returns bits KXDP_WAIT_*. An interface that is only down is not gone.
 */
unsigned kxdp_wait(kxdp_queue_t *queue, int timeout_ms, int wake_fd);

/**
 * Received, verified packets; never blocks. Frames that fail (see kxdp_verdict_t) are counted and given back.
 *
 * ret_packets[0..max), max at most KXDP_BATCH_MAX. Each returned packet must go to exactly one of kxdp_reply() (UDP),
 * kxdp_drop(). Returns their number, 0 to max. 0 doesn't mean that the ring is empty: call kxdp_flush() and kxdp_wait()
 * as always.
 */
size_t kxdp_receive(kxdp_queue_t *queue, kxdp_packet_t *ret_packets, size_t max);

/**
 * Queue the reply that was written to packet->payload[0..payload_len), payload_len up to packet->payload_max, of a
 * UDP packet whose path.via is KXDP_VIA_SAME. For other ways: kxdp_frame_reply() or kxdp_frame_reply_ip(), hand the
 * bytes on, kxdp_count(), kxdp_drop().
 *
 * The frame belongs to the queue afterwards. Sent by the next kxdp_flush(). Returns false when the send ring stayed
 * full (the reply is dropped and counted).
 */
bool kxdp_reply(kxdp_queue_t *queue, const kxdp_packet_t *packet, size_t payload_len);

/** Give the packet's frame back without a reply. */
void kxdp_drop(kxdp_queue_t *queue, const kxdp_packet_t *packet);

/** A frame to build something in: KXDP_FRAME_SIZE bytes, nothing of it is initialised. */
typedef struct {
	uint8_t *bytes;
	uint8_t *payload;     /* in it: all headers fit in front (KXDP_HEADERS_MAX, and a TCP header's 60 bytes) */
	uint16_t payload_max; /* bytes from there on, at least 1500 */
} kxdp_frame_t;

/**
 * A free frame. False: none now, as too much is on its way out: kxdp_flush(), and try again after the next kxdp_wait().
 */
bool kxdp_frame_take(kxdp_queue_t *queue, kxdp_frame_t *ret_frame);

/** Give a taken frame back unsent. */
void kxdp_frame_give_back(kxdp_queue_t *queue, const kxdp_frame_t *frame);

/**
 * Queue a whole Ethernet frame, start[0..len), within a taken frame: as kxdp_frame_build() made it, or a copy of one.
 * The frame belongs to the queue afterwards. Sent by the next kxdp_flush(). Returns false when the send ring stayed
 * full (dropped and counted).
 */
bool kxdp_send(kxdp_queue_t *queue, const uint8_t *start, size_t len);

/** Send what was queued, collect frames that have been sent, give free frames to the kernel for receiving. Call once
 * per batch. */
void kxdp_flush(kxdp_queue_t *queue);

/**
 * From now on show received and sent frames to `tap`; NULL: to none. time_ns: of what follows, since the Epoch.
 * Received frames are shown by kxdp_receive(), also bad ones; sent ones by kxdp_flush(). To be called before
 * kxdp_receive(), for each batch; one pointer is tested per batch when there is no tap.
 */
void kxdp_queue_tap(kxdp_queue_t *queue, kxdp_tap_t *tap, uint64_t time_ns);

/** What became of what we send, one row each {constant, field}; counted by kind of packet. */
/* clang-format off */
#define KXDP_OUTCOMES(ROW) \
	ROW(KXDP_REPLIED, replied)                /* UDP replies put into the send ring, by kxdp_reply() */ \
	ROW(KXDP_SENT, sent)                      /* frames put there by kxdp_send(): TCP segments, replies of other queues */ \
	ROW(KXDP_TX_FULL, tx_full)                /* replies dropped by kxdp_reply() for want of room in the send ring */ \
	ROW(KXDP_SEND_FULL, send_full)            /* frames dropped by kxdp_send() for want of room there */ \
	ROW(KXDP_RELAYED, relayed)                /* handed to a queue of another interface: this and what follows by kxdp_count() */ \
	ROW(KXDP_RELAY_FAILED, relay_failed)      /* dropped: no such queue, or its inbox is full */ \
	ROW(KXDP_BY_KERNEL, by_kernel)            /* sent by the kernel */ \
	ROW(KXDP_KERNEL_LIMITED, kernel_limited)  /* dropped: too many for the kernel */ \
	ROW(KXDP_KERNEL_FAILED, kernel_failed)    /* dropped: the kernel refused it */

#define KXDP_OUTCOME_ENUM(constant, name) constant,
typedef enum {
	KXDP_OUTCOMES(KXDP_OUTCOME_ENUM)
	KXDP_OUTCOME_COUNT,
} kxdp_outcome_t;
/* clang-format on */

/** Count what the caller did with a reply or segment of its own. From the queue's thread. */
void kxdp_count(kxdp_queue_t *queue, kxdp_kind_t kind, kxdp_outcome_t outcome);

enum {
	KXDP_BATCH_ROWS = 8, /* 0 packets, 1, 2–3, 4–7, 8–15, 16–31, 32–63, 64 */
};

#define KXDP_OUTCOME_FIELD(constant, name) uint64_t name;

/** Counters of a queue since it was opened. */
typedef struct {
	/*
	 * The kernel's, XDP_STATISTICS. A packet that the program redirected here is, once and exactly,
	 *     in received[], or still in the ring (rx_fill), or in rx_full (the receive ring was full), or in
	 * rx_dropped (no frame to receive into, or larger than a frame has room for). So redirected = received +
	 * rx_fill + rx_full + rx_dropped: checked on veth in native and generic mode with overload and with large
	 * frames (tests/xdp/test_queue.py, Linux 6.18; the same in net/xdp/xsk.c since 5.9). fq_empty is no other fate:
	 * in copy mode it counts those of rx_dropped that found no frame, with zero copy a driver's attempts to get
	 * frames, and what the device has no frame for is lost before the program sees it (ethtool -S tells).
	 */
	uint64_t rx_dropped, rx_invalid, tx_invalid, rx_full, fq_empty, tx_empty;
	/* Fill levels now, in descriptors: frames handed to the kernel for sending and not back, and the four rings. */
	uint32_t tx_busy, fq_fill, rx_fill, tx_fill, cq_fill;
	/* Ours: sums over all kinds. */
	uint64_t received[KXDP_VERDICT_COUNT]; /* frames by verdict; accepted partial checksums count as
						  KXDP_PARTIAL_CHECKSUM */
	KXDP_OUTCOMES(KXDP_OUTCOME_FIELD)
	/* … and by kind. */
	struct {
		uint64_t received[KXDP_VERDICT_COUNT];
		KXDP_OUTCOMES(KXDP_OUTCOME_FIELD)
	} of[KXDP_KIND_COUNT];
	uint64_t batches[KXDP_BATCH_ROWS]; /* calls of kxdp_receive() by frames taken from the ring, also bad ones */
} kxdp_stats_t;

/** Counters of one queue. A system call; not for the packet path. */
void kxdp_queue_stats(const kxdp_queue_t *queue, kxdp_stats_t *ret_stats);

/** Add `part` to `sum`, fill levels too. */
void kxdp_stats_add(kxdp_stats_t *sum, const kxdp_stats_t *part);
