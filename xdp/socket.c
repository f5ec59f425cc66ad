/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/socket.h"

#include "xdp/iface.h"

#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* Linux 6.17: packets one sendto() takes in copy mode, 32 before */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

enum {
	HUGE_PAGE_LEN = 2 << 20,
	PAGE_LEN = 4096,
};

/* ---- Memory ---- */

/* At an address that huge pages fit, and all there, so that no packet waits for a page fault. MAP_FAILED with errno. */
static void *map_memory(int fd, size_t len)
{
	uint8_t *room = mmap(NULL, len + HUGE_PAGE_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED) {
		return MAP_FAILED;
	}
	size_t before = (HUGE_PAGE_LEN - (uintptr_t)room % HUGE_PAGE_LEN) % HUGE_PAGE_LEN;
	void *memory = mmap(room + before, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
	int errnum = errno;
	if (memory == MAP_FAILED) {
		munmap(room, len + HUGE_PAGE_LEN);
		errno = errnum;
		return MAP_FAILED;
	}
	if (before > 0) {
		munmap(room, before);
	}
	size_t end = (before + len + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
	munmap(room + end, len + HUGE_PAGE_LEN - end);
	return memory;
}

/* A memfd of `len` bytes, mapped; -1 with errno. */
static int make_memory(size_t len, unsigned flags, void **ret_memory)
{
	int fd = memfd_create("bowline-frames", MFD_CLOEXEC | flags);
	if (fd < 0) {
		return -1;
	}
	void *memory = ftruncate(fd, (off_t)len) == 0 ? map_memory(fd, len) : MAP_FAILED;
	if (memory == MAP_FAILED) {
		int errnum = errno;
		close(fd);
		errno = errnum;
		return -1;
	}
	*ret_memory = memory;
	return fd;
}

/*
 * Huge pages when the system has some reserved, else pages that the kernel joins (Linux 6.1), before they are pinned.
 */
static int map_frames(kxdp_socket_t *s, void **ret_memory)
{
	size_t len = (size_t)s->frame_count * KXDP_FRAME_SIZE;
	size_t huge_len = (len + HUGE_PAGE_LEN - 1) / HUGE_PAGE_LEN * HUGE_PAGE_LEN;
	s->memory_len = huge_len;
	s->memory_fd = make_memory(huge_len, MFD_HUGETLB, ret_memory);
	if (s->memory_fd >= 0) {
		return 0;
	}
	s->memory_len = len < HUGE_PAGE_LEN ? len : huge_len;
	s->memory_fd = make_memory(s->memory_len, 0, ret_memory);
	if (s->memory_fd < 0) {
		return errno;
	}
	(void)madvise(*ret_memory, s->memory_len, MADV_HUGEPAGE);
	if (len >= HUGE_PAGE_LEN) {
		(void)madvise(*ret_memory, s->memory_len, MADV_COLLAPSE);
	}
	return 0;
}

/* ---- The helper's side ---- */

static bool socket_set_option(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, option, value, len) == 0;
}

static int socket_set_busy_poll(int fd, const kxdp_socket_params_t *params)
{
	int prefer = 1, timeout_us = params->busypoll_timeout_us, budget = params->busypoll_budget;
	return setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &prefer, sizeof(prefer)) == 0 &&
					       setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &timeout_us,
							       sizeof(timeout_us)) == 0 &&
					       setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget,
							       sizeof(budget)) == 0
			       ? 0
			       : errno;
}

/* Returns 0 or an errno value. */
static int register_memory(const kxdp_socket_t *s, void *memory, uint32_t size)
{
	struct xdp_umem_reg umem = {
		.addr = (uint64_t)(uintptr_t)memory,
		.len = (uint64_t)s->frame_count * KXDP_FRAME_SIZE,
		.chunk_size = KXDP_FRAME_SIZE,
	};
	return socket_set_option(s->fd, XDP_UMEM_REG, &umem, sizeof(umem)) &&
					       socket_set_option(s->fd, XDP_UMEM_FILL_RING, &size, sizeof(size)) &&
					       socket_set_option(
							       s->fd, XDP_UMEM_COMPLETION_RING, &size, sizeof(size)) &&
					       socket_set_option(s->fd, XDP_RX_RING, &size, sizeof(size)) &&
					       socket_set_option(s->fd, XDP_TX_RING, &size, sizeof(size))
			       ? 0
			       : errno;
}

static knot_err_t socket_make_steps(const kxdp_socket_params_t *params, kxdp_socket_t *s, kxdp_fault_t *ret_fault)
{
	void *memory = NULL;
	int errnum = map_frames(s, &memory);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, params->ifname, "allocating frames");
	}
	s->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	errnum = s->fd >= 0 ? register_memory(s, memory, params->ring_size) : errno;
	munmap(memory, s->memory_len); /* the kernel holds the pages */
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, params->ifname, "making the AF_XDP socket");
	}
	errnum = params->busypoll_budget > 0 ? socket_set_busy_poll(s->fd, params) : 0;
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, params->ifname, "setting up busy polling");
	}
	return KNOT_OK;
}

knot_err_t kxdp_socket_make(const kxdp_socket_params_t *params, kxdp_socket_t *ret_socket, kxdp_fault_t *ret_fault)
{
	kxdp_socket_t s = { .fd = -1, .memory_fd = -1, .frame_count = 2 * params->ring_size };
	knot_err_t err = socket_make_steps(params, &s, ret_fault);
	if (err != KNOT_OK) {
		kxdp_socket_close(&s, NULL);
		return err;
	}
	*ret_socket = s;
	return KNOT_OK;
}

/* ---- The daemon's side ---- */

/* A ring's parts; libxdp's inline functions work on them. */
typedef struct {
	uint32_t *producer, *consumer, *flags;
	void *entries;
} ring_t;

static bool map_ring(int fd, const struct xdp_ring_offset *offset, uint64_t at, size_t entries_len,
		kxdp_mapping_t *mapping, size_t number, ring_t *ret_ring)
{
	size_t len = offset->desc + entries_len;
	uint8_t *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)at);
	if (base == MAP_FAILED) {
		return false;
	}
	mapping->maps[number].at = base;
	mapping->maps[number].len = len;
	*ret_ring = (ring_t){
		.producer = (uint32_t *)(base + offset->producer),
		.consumer = (uint32_t *)(base + offset->consumer),
		.flags = (uint32_t *)(base + offset->flags),
		.entries = base + offset->desc,
	};
	return true;
}

static struct xsk_ring_prod producer_of(const ring_t *ring, uint32_t size)
{
	return (struct xsk_ring_prod){
		.cached_prod = *ring->producer,
		.cached_cons = *ring->consumer + size, /* libxdp keeps it one ring ahead */
		.mask = size - 1,
		.size = size,
		.producer = ring->producer,
		.consumer = ring->consumer,
		.ring = ring->entries,
		.flags = ring->flags,
	};
}

static struct xsk_ring_cons consumer_of(const ring_t *ring, uint32_t size)
{
	return (struct xsk_ring_cons){
		.cached_prod = *ring->producer,
		.cached_cons = *ring->consumer,
		.mask = size - 1,
		.size = size,
		.producer = ring->producer,
		.consumer = ring->consumer,
		.ring = ring->entries,
		.flags = ring->flags,
	};
}

static bool socket_map_all(const kxdp_socket_t *s, uint32_t size, kxdp_mapping_t *m)
{
	m->memory = map_memory(s->memory_fd, s->memory_len);
	if (m->memory == MAP_FAILED) {
		m->memory = NULL;
		return false;
	}
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof(offsets);
	if (getsockopt(s->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len) != 0) {
		return false;
	}
	const size_t descs_len = size * sizeof(struct xdp_desc), addrs_len = size * sizeof(uint64_t);
	ring_t rx, tx, fq, cq;
	if (!map_ring(s->fd, &offsets.rx, XDP_PGOFF_RX_RING, descs_len, m, 0, &rx) ||
			!map_ring(s->fd, &offsets.tx, XDP_PGOFF_TX_RING, descs_len, m, 1, &tx) ||
			!map_ring(s->fd, &offsets.fr, XDP_UMEM_PGOFF_FILL_RING, addrs_len, m, 2, &fq) ||
			!map_ring(s->fd, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, addrs_len, m, 3, &cq)) {
		return false;
	}
	m->rx = consumer_of(&rx, size);
	m->cq = consumer_of(&cq, size);
	m->tx = producer_of(&tx, size);
	m->fq = producer_of(&fq, size);
	return true;
}

int kxdp_socket_map(const kxdp_socket_t *socket, uint32_t ring_size, kxdp_mapping_t *ret_mapping)
{
	kxdp_mapping_t mapping = { 0 };
	if (!socket_map_all(socket, ring_size, &mapping)) {
		int errnum = errno;
		kxdp_socket_t none = { .fd = -1, .memory_fd = -1, .memory_len = socket->memory_len };
		kxdp_socket_close(&none, &mapping);
		return errnum;
	}
	*ret_mapping = mapping;
	return 0;
}

static bool socket_fill_ring(kxdp_mapping_t *mapping)
{
	uint32_t size = mapping->fq.size, index = 0;
	uint32_t room = xsk_ring_prod__reserve(&mapping->fq, size, &index);
	for (uint32_t i = 0; i < room; i++) {
		*xsk_ring_prod__fill_addr(&mapping->fq, index + i) = (uint64_t)i * KXDP_FRAME_SIZE;
	}
	xsk_ring_prod__submit(&mapping->fq, room);
	return room == size;
}

int kxdp_socket_bind(kxdp_socket_t *socket, kxdp_mapping_t *mapping, unsigned ifindex, unsigned queue, bool zero_copy)
{
	const struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = (uint16_t)((zero_copy ? XDP_ZEROCOPY : XDP_COPY) | XDP_USE_NEED_WAKEUP),
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue,
	};
	if (!socket_fill_ring(mapping)) {
		return EINVAL;
	}
	if (bind(socket->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		return errno;
	}
	/* Refused by older kernels and by rings smaller than that, where it doesn't matter. */
	int batch = KXDP_BATCH_MAX;
	(void)socket_set_option(socket->fd, XDP_MAX_TX_SKB_BUDGET, &batch, sizeof(batch));
	struct xdp_options options = { 0 };
	socklen_t len = sizeof(options);
	socket->zero_copy = getsockopt(socket->fd, SOL_XDP, XDP_OPTIONS, &options, &len) == 0 &&
			    (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
	return 0;
}

void kxdp_socket_close(kxdp_socket_t *socket, kxdp_mapping_t *mapping)
{
	for (size_t i = 0; mapping != NULL && i < KNOT_LEN(mapping->maps); i++) {
		if (mapping->maps[i].at != NULL) {
			munmap(mapping->maps[i].at, mapping->maps[i].len);
		}
	}
	if (mapping != NULL && mapping->memory != NULL) {
		munmap(mapping->memory, socket->memory_len);
	}
	if (socket->fd >= 0) {
		close(socket->fd);
	}
	if (socket->memory_fd >= 0) {
		close(socket->memory_fd);
	}
	socket->fd = socket->memory_fd = -1;
}
