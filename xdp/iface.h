/* SPDX-License-Identifier: BSD-2-Clause */
/** What interface and queue share inside the library. */
#pragma once

#include "xdp/bpf/abi.h"
#include "xdp/kxdp.h"
#include "xdp/priv_wire.h"
#include "xdp/socket.h"

#include <pthread.h>

/** A rule of the interface and its place in the map. */
typedef struct {
	kxdp_rule_t rule;
	uint32_t index;
} kxdp_iface_rule_t;

struct kxdp_iface {
	char name[IF_NAMESIZE];
	unsigned index;
	unsigned queue_count;
	unsigned queue_max;
	uint16_t mtu;
	bool native;
	bool shared;        /* in libxdp's dispatcher */
	bool zero_copy;     /* may be tried */
	bool allow_partial; /* a partial checksum is good enough on this link */
	bool copies;        /* a queue was opened without zero copy: atomic, as others may look meanwhile */
	bool route_check;   /* atomic: read by queues; frames may have a struct filter_meta in front */
	uint32_t ring_size;
	uint16_t busypoll_budget;
	uint16_t busypoll_timeout_us;
	kxdp_priv_t *priv;                  /* borrowed */
	uint32_t id;                        /* the helper's number for it */
	int link_fd;                        /* owned: the program stays when the helper is gone; -1: shared */
	const struct filter_counts *counts; /* mapped: queue_max */
	const struct filter_rule *counted;  /* mapped: FILTER_RULE_MAX */
	kxdp_known_t *known; /* owned: what the program knows of the host, as kxdp_host_t has it; value 0: unsure */
	size_t known_count;
	priv_host_t host;           /* sent last; `kind` 0: never */
	pthread_mutex_t rules_lock; /* covers the two below: set by one thread, listed by others */
	kxdp_iface_rule_t *rules;   /* owned */
	size_t rule_count;
};

/**
 * Have the socket of a queue made, map it, bind it (zero copy when wanted and possible), and have the queue's packets
 * sent to it. queue: below iface->queue_max. Frames 0 to ring_size - 1 are in the fill ring afterwards.
 */
KNOT_MUST_USE knot_err_t kxdp_iface_open_socket(kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket,
		kxdp_mapping_t *ret_mapping, kxdp_fault_t *ret_fault);

/** Fill in a fault: what failed and what to do, from an errno value (of a step that is named) or from a text of the
 * caller's. */
knot_err_t kxdp_fault(kxdp_fault_t *ret_fault, knot_err_t err, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/** Fault for an errno value met while `doing` something ("binding the socket"). */
knot_err_t kxdp_fault_errno(kxdp_fault_t *ret_fault, int errnum, const char *ifname, const char *doing);

/**
 * Run `step(ctx)` until it doesn't return EBUSY, for at most a second. The kernel releases links and sockets of a
 * process that ended a moment after the process: a server that restarts at once would fail otherwise. Returns the
 * step's result: 0 or an errno value.
 */
int kxdp_retry_busy(int (*step)(void *ctx), void *ctx);

/** Detach a program that Knot DNS or kxdpgun left on the interface, switched off. See leftover.c. */
void kxdp_detach_leftovers(unsigned ifindex);
