/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * AF_XDP sockets, in steps: the helper, which has the privileges, makes the socket and registers its memory; the daemon
 * maps rings and memory, fills a ring and binds (Linux before 6.4 maps no ring of a socket that is bound); then the
 * helper enters it into the program's map of sockets, and packets arrive.
 *
 * The memory is a memfd, so that both can map it; the kernel pins its pages when the helper registers it, so the
 * daemon needs no lockable memory. Nothing of the socket stays in the helper: it closes when the daemon's descriptors
 * and mappings are gone, and then leaves the program's map automatically.
 */
#pragma once

#include "xdp/kxdp.h"

#include <xdp/xsk.h>

typedef struct {
	const char *ifname;       /* for faults */
	uint32_t ring_size;       /* a power of two */
	uint16_t busypoll_budget; /* 0: no busy polling */
	uint16_t busypoll_timeout_us;
} kxdp_socket_params_t;

typedef struct {
	int fd;               /* owned */
	int memory_fd;        /* owned */
	uint64_t memory_len;  /* bytes of the memfd, at least frame_count × KXDP_FRAME_SIZE */
	uint32_t frame_count; /* 2 × ring_size: one ring's worth to receive into while another is on its way out */
	bool zero_copy;       /* once it is bound */
} kxdp_socket_t;

/**
 * Make a socket with memory and rings, not bound. CAP_NET_RAW; CAP_IPC_LOCK where RLIMIT_MEMLOCK is small;
 * CAP_NET_ADMIN for busy polling. Nothing stays open on failure; errors as kxdp_iface_open().
 */
KNOT_MUST_USE knot_err_t kxdp_socket_make(
		const kxdp_socket_params_t *params, kxdp_socket_t *ret_socket, kxdp_fault_t *ret_fault);

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

/** Map memory and rings, not bound yet; no privilege needed. Returns 0 or an errno value; nothing stays mapped then. */
KNOT_MUST_USE int kxdp_socket_map(const kxdp_socket_t *socket, uint32_t ring_size, kxdp_mapping_t *ret_mapping);

/**
 * Put frames 0 to ring_size - 1 into the fill ring, so that there is room for the first packets, and bind. No privilege
 * needed. After a failure use another socket: what is left of this one differs between kernels.
 *
 * Sets socket->zero_copy. Returns 0 or an errno value; EBUSY: another socket is bound to the queue.
 */
KNOT_MUST_USE int kxdp_socket_bind(
		kxdp_socket_t *socket, kxdp_mapping_t *mapping, unsigned ifindex, unsigned queue, bool zero_copy);

/** Unmap and close. The socket is gone afterwards unless another process holds it. */
void kxdp_socket_close(kxdp_socket_t *socket, kxdp_mapping_t *mapping);
