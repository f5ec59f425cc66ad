/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where a packet goes: the two ends of a conversation (flow), and the way on the link to one of them (path).
 *
 * Values without pointers and without padding: they may be compared and hashed as bytes.
 */
#pragma once

#include <stdint.h>

/** The two ends. IPv4 addresses are IPv4-mapped (::ffff:a.b.c.d, RFC 4291 2.5.5.2). */
typedef struct {
	uint8_t remote[16];
	uint8_t local[16];
	uint16_t remote_port; /* host order */
	uint16_t local_port;
} kxdp_flow_t;

enum {
	KXDP_TAGS_MAX = 2, /* VLAN tags in front of the IP header */
};

/** A VLAN tag as in the frame. */
typedef struct {
	uint16_t type_be;    /* 0x8100 (IEEE 802.1Q), 0x88a8 (802.1ad) */
	uint16_t control_be; /* priority, drop eligible, VLAN id */
} kxdp_tag_t;

/** How a packet to the remote end leaves. All zero but for what is used, so that equal paths are equal bytes. */
typedef struct {
	uint8_t remote_mac[6]; /* next hop */
	uint8_t local_mac[6];
	kxdp_tag_t tags[KXDP_TAGS_MAX]; /* outer first */
	uint8_t tag_count;
	uint8_t via;      /* kxdp_via_t */
	uint16_t mtu;     /* bytes of IP packet that this way takes, at most the interface's MTU */
	uint32_t ifindex; /* leaves here; with KXDP_VIA_SAME the interface it came in on */
} kxdp_path_t;

/** What sends the packet. */
typedef enum {
	KXDP_VIA_SAME,   /* the queue that the query came in on */
	KXDP_VIA_OTHER,  /* a queue of interface `ifindex` */
	KXDP_VIA_KERNEL, /* the kernel: it finds route and neighbour */
} kxdp_via_t;

_Static_assert(sizeof(kxdp_flow_t) == 36, "no padding");
_Static_assert(sizeof(kxdp_path_t) == 28, "no padding");
