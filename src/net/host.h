/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What belongs to this host, as its routing tables and devices say, for the kernel program that leaves the rest alone.
 *
 * host_read() asks the kernel by rtnetlink; everything behind that is pure: messages become facts (host_see()), facts
 * become what the program of one interface has to know (host_of()). doc/adr/0028-whose-packet.md.
 *
 * - An address is the host's if the longest prefix in the table "local" says so, or a route of type `local` in another
 *   table that unmarked packets may reach (AnyIP), or that of a VRF. 127.0.0.0/8 and ::1 are only on the loopback
 * device.
 * - A MAC is the host's if a device of this network namespace has it that is the interface, is stacked on it (VLAN,
 *   macvlan), is its master (bridge, bond), or a port of the same bridge.
 * - A VLAN is the host's if a VLAN device that is up is stacked on the interface or its master.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "xdp/kxdp.h"

/** What a device's master or the device itself is: what it does with the frames it gets. */
typedef enum {
	HOST_LINK_OTHER, /* not known: nothing can be said of its frames */
	HOST_LINK_PLAIN, /* a device of the machine, or none of those below */
	HOST_LINK_VLAN,
	HOST_LINK_UPPER, /* has some of the frames of the device below: macvlan, ipvlan */
	HOST_LINK_BRIDGE,
	HOST_LINK_BOND, /* also a team */
	HOST_LINK_VRF,
} host_link_kind_t;

typedef struct {
	uint32_t ifindex;
	uint32_t lower; /* of a VLAN or upper device, the one it is made on; 0: none, or in another network namespace */
	uint32_t master; /* 0: none */
	host_link_kind_t kind;
	bool is_up, is_loopback;
	bool has_mac;
	uint8_t mac[6];
	uint8_t tag[4]; /* HOST_LINK_VLAN: type and id in network order */
} host_link_t;

typedef struct {
	uint8_t addr[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t bits;
	uint8_t type; /* RTN_LOCAL … */
	bool is_ipv4;
	uint32_t table;
	uint32_t ifindex; /* 0: none */
} host_route_t;

/** What the kernel says. Zeros: nothing is known. */
typedef struct {
	host_link_t *links; /* owned */
	size_t link_count;
	host_route_t *routes; /* owned */
	size_t route_count;
	uint32_t *tables; /* owned: that packets without a mark may reach */
	size_t table_count;
	bool is_complete; /* nothing was left out for want of memory, and there was no error */
} host_facts_t;

/** Ask the kernel. Some system calls, and time in proportion to links and local routes. Free with host_facts_done(). */
void host_read(host_facts_t *ret_facts);

/** The same by a socket of netlink_open(). */
void host_read_by(int fd, host_facts_t *ret_facts);

void host_facts_done(host_facts_t *facts);

/** Add what a message of a dump says; messages of other kinds are skipped. Want of memory clears is_complete. */
void host_see(host_facts_t *facts, unsigned type, knot_bytes_t body);

/**
 * What the program on an interface has to know.
 *
 * ret_host: known[] is owned by the caller, free() it (through a cast). What can't be known isn't checked: incomplete
 * facts, a master that does with frames what can't be known, more than KXDP_KNOWN_MAX entries. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t host_of(const host_facts_t *facts, uint32_t ifindex, kxdp_host_t *ret_host);
