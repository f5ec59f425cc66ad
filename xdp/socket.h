/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * AF_XDP sockets: opened by the helper, which has the privileges, and mapped by the daemon, which has none.
 *
 * The memory is a memfd, so that both can map it; the kernel pins its pages when the helper registers it, so the daemon
 * needs no lockable memory. Nothing of the socket stays in the helper: it closes when the daemon's descriptors and
 * mappings are gone, and then leaves the program's map of sockets by itself.
 */
#pragma once

#include "xdp/kxdp.h"

#include <xdp/xsk.h>

typedef struct {
	unsigned ifindex;
	const char *ifname; /* for faults */
	unsigned queue;
	uint32_t ring_size; /* a power of two */
	bool try_zero_copy;
	uint16_t busypoll_budget; /* 0: no busy polling */
	uint16_t busypoll_timeout_us;
} kxdp_socket_params_t;

/** A socket bound to its queue, with ring_size frames in the fill ring: 0, 1, 2 …; the other frames are free. */
typedef struct {
	int fd;               /* owned */
	int memory_fd;        /* owned */
	uint64_t memory_len;  /* bytes of the memfd, at least frame_count × KXDP_FRAME_SIZE */
	uint32_t frame_count; /* 2 × ring_size: one ring's worth to receive into while another is on its way out */
	bool zero_copy;
} kxdp_socket_t;

/**
 * Open, register memory, bind. CAP_NET_RAW, and CAP_IPC_LOCK where RLIMIT_MEMLOCK is small.
 *
 * Zero copy when wanted and possible, else copies. KNOT_EBUSY: another socket is bound to the queue. Others as
 * kxdp_iface_open(). Nothing stays open on failure.
 */
KNOT_MUST_USE knot_err_t kxdp_socket_open(const kxdp_socket_params_t *params, kxdp_socket_t *ret_socket,
					  kxdp_fault_t *ret_fault);

/** A socket as this process sees it. */
typedef struct {
	struct xsk_ring_cons rx;
	struct xsk_ring_cons cq;
	struct xsk_ring_prod tx;
	struct xsk_ring_prod fq;
	uint8_t *memory; /* mapped, memory_len bytes */
	struct {
		void *at;
		size_t len;
	} maps[4]; /* of the rings */
} kxdp_mapping_t;

/** Map memory and rings; no privilege needed. Returns 0 or an errno value; nothing stays mapped then. */
KNOT_MUST_USE int kxdp_socket_map(const kxdp_socket_t *socket, uint32_t ring_size, kxdp_mapping_t *ret_mapping);

/** Unmap and close. The socket is gone afterwards if nobody else holds it. */
void kxdp_socket_close(kxdp_socket_t *socket, kxdp_mapping_t *mapping);
