/* SPDX-License-Identifier: BSD-2-Clause */
/** What rtnetlink says of one interface; no privilege needed. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
	uint32_t rx_queues; /* that the device was made with: an upper bound of what `ethtool -L` can set; 0: not said
			     */
	uint32_t mtu;
	uint32_t flags;      /* IFF_UP … */
	uint32_t lower;      /* the interface below (VLAN, macvlan); 0: none */
	uint32_t upper;      /* bridge, bond or team that it is a port of; 0: none */
	uint16_t type;       /* ARPHRD_ETHER … */
	char kind[16];       /* "veth", "vlan", "bond" …; "" for hardware */
	char upper_kind[16]; /* of `upper`: "bridge", "bond" …; "" */
} kxdp_link_t;

/** Ask for the interface with this index. False: no such interface, or no netlink. */
bool kxdp_link_query(unsigned ifindex, kxdp_link_t *ret_link);
