/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies sent by the kernel through raw sockets, when the route check found no neighbour or couldn't be made: the
 * kernel routes them (source address given, so that policy rules apply), asks for the neighbour, and lets its firewall
 * see them. The next packets to the same neighbour go over AF_XDP.
 *
 * The sockets come from the privileged helper (SOCK_RAW, IPPROTO_RAW, IP_HDRINCL and IPV6_HDRINCL). One kernel_path_t
 * per worker; the descriptors may be shared. Costs a system call per packet: therefore bounded.
 */
#pragma once

#include "xdp/path.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	/* Packets per second and worker, on average and at once. A route that needs the kernel for every packet (no
	 * forwarding on `lo`, fragments) still serves a busy small server; a flood of queries from unused addresses
	 * costs a worker less than a tenth of its time. */
	KERNEL_PATH_RATE = 20000,
	KERNEL_PATH_BURST = 2000,
};

typedef struct {
	int fd4, fd6;       /* borrowed; -1: none */
	uint64_t tokens_us; /* time that is paid for: a packet costs 1,000,000 / KERNEL_PATH_RATE */
	uint64_t last_us;
} kernel_path_t;

typedef enum {
	KERNEL_PATH_SENT,
	KERNEL_PATH_LIMITED, /* dropped: too many */
	KERNEL_PATH_FAILED,  /* dropped: no socket, no route, not our address … */
} kernel_path_result_t;

void kernel_path_init(kernel_path_t *path, int fd4, int fd6, uint64_t now_us);

/**
 * Send packet[0..len): an IPv4 or IPv6 packet with all checksums, without a link header. ifindex: where to, if the
 * destination is a link-local address; unused otherwise. now_us: of a monotonic clock. Never blocks.
 */
kernel_path_result_t kernel_path_send(
		kernel_path_t *path, uint32_t ifindex, const uint8_t *packet, size_t len, uint64_t now_us);
