/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * What the kernel program and user space agree on: maps, their values, verdicts.
 *
 * Only <linux/types.h> types; integers ending in _be are in network order, the others in host order.
 */
#pragma once

#include <linux/types.h>

enum {
	FILTER_LISTEN_MAX = 16,
};

/** One destination that is ours. */
struct filter_listen {
	__u8 addr[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
	__be16 port_be;
	__u8 ip_proto;  /* IPPROTO_UDP */
	__u8 any_addr;  /* 1: `addr` doesn't matter */
	__u32 reserved; /* 0 */
};

/** Value of the map "filter_config" (array, one entry). */
struct filter_config {
	__u32 listen_count; /* 0 to FILTER_LISTEN_MAX */
	__u32 reserved;     /* 0 */
	struct filter_listen listens[FILTER_LISTEN_MAX];
};

/**
 * Verdicts: index in the map "filter_counts" (per-CPU array of __u64), name.
 * REDIRECTED is the only one that does not leave the packet to the kernel.
 */
/* clang-format off */
#define FILTER_VERDICTS(ROW) \
	ROW(FILTER_REDIRECTED, "redirected") \
	ROW(FILTER_PASS_FOREIGN, "passed-foreign")         /* not IP or not UDP, cut short, headers we don't walk */ \
	ROW(FILTER_PASS_GROUP, "passed-group")             /* Ethernet broadcast or multicast */ \
	ROW(FILTER_PASS_FRAGMENT, "passed-fragment") \
	ROW(FILTER_PASS_OTHER, "passed-other-destination") /* address or port is not ours */ \
	ROW(FILTER_PASS_NO_SOCKET, "passed-no-socket")     /* ours, on a queue without a socket */

#define FILTER_VERDICT_ENUM(name, text) name,
enum filter_verdict {
	FILTER_VERDICTS(FILTER_VERDICT_ENUM)
	FILTER_VERDICT_COUNT,
};
/* clang-format on */
