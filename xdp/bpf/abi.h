/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * What the kernel program and user space agree on: maps, their values, what is counted, what stands in front of a
 * frame.
 *
 * Programs, of which one is attached: bowline_filter, and bowline_plain, which can't do FILTER_ROUTE_CHECK (it passes
 * what is ours then) but can join any dispatcher; bowline_client, for which ours are replies: what comes from the
 * address and port of a listen to a port from FILTER_CLIENT_PORT_MIN on. It looks at no rules and not at what the host
 * has.
 *
 * Only <linux/types.h> types; integers ending in _be are in network order, the others in host order. Addresses are
 * IPv6, IPv4 ones as ::ffff:a.b.c.d.
 *
 * Maps:
 *   filter_config   array, 2 of struct filter_config: one is in use, the other may be written
 *   filter_active   array, 1 of __u32: which one is in use, 0 or 1
 *   filter_sockets  XSKMAP, queue → AF_XDP socket
 *   filter_counts   array, queue → struct filter_counts; can be mapped into memory
 *   filter_known    LPM trie, struct filter_known → __u32, enum filter_known_value: what the host has
 *   filter_prefixes LPM trie, struct filter_prefix → __u32, index in filter_rules
 *   filter_rules    array, FILTER_RULE_MAX of struct filter_rule; can be mapped into memory
 *
 * User space sets max_entries of filter_sockets and filter_counts to the interface's receive queues
 * (IFLA_NUM_RX_QUEUES: the number that the device was made with, an upper bound of what `ethtool -L` can set) before it
 * loads the program.
 */
#pragma once

#include <linux/types.h>

enum {
	FILTER_LISTEN_MAX = 16,
	FILTER_CONFIG_SLOTS = 2,
	FILTER_QUEUE_MAX = 64, /* queues when user space sets no other number */
	FILTER_RULE_MAX = 4096,
	FILTER_KNOWN_MAX = 16384,
	FILTER_NEAR_MAX = 4,
	FILTER_CLIENT_PORT_MIN = 2000,
};

/** Bits of filter_listen.protos. */
enum {
	FILTER_PROTO_UDP = 1,
	FILTER_PROTO_TCP = 2,
};

/** One destination that is ours. */
struct filter_listen {
	__u8 addr[16];
	__be16 port_be;
	__u8 protos;    /* FILTER_PROTO_*; 0: nothing */
	__u8 any_addr;  /* 1: `addr` doesn't matter */
	__u32 reserved; /* 0 */
};

/** Bits of filter_config.flags. */
enum {
	FILTER_ROUTE_CHECK = 1, /* look up the reply's way; every redirected frame has a struct filter_meta in front */
	FILTER_RULES = 2,       /* there are block rules: look for the source's */
	/* filter_known and filter_host are complete, so that what isn't there isn't this host's: */
	FILTER_CHECK_MAC = 4,
	FILTER_CHECK_VLAN = 8,
	FILTER_CHECK_ADDRESS = 16, /* of destinations that a listen with any_addr takes, and broadcast sources */
	FILTER_CLIENT_DROP = 32,   /* bowline_client: drop what is ours, counted as FILTER_DROP_BLOCKED */
	FILTER_CHECK_ALL = FILTER_CHECK_MAC | FILTER_CHECK_VLAN | FILTER_CHECK_ADDRESS,
};

/** The usual case of what is in filter_known, decided without looking there. */
struct filter_host {
	__u8 mac[6];     /* of the interface */
	__u8 ipv4_count; /* 0 to FILTER_NEAR_MAX */
	__u8 ipv6_count; /* 〃 */
	/* Addresses of the host that most packets are for; all of them are in filter_known, too. */
	__u8 ipv6[FILTER_NEAR_MAX][16];
	__be32 ipv4_be[FILTER_NEAR_MAX];
	/* In these bits all IPv4 broadcast addresses of the host agree. None: mask 0, bits not 0. */
	__be32 broadcast_mask_be;
	__be32 broadcast_bits_be;
};

/**
 * Value of the map "filter_config".
 *
 * To change it: write the whole value into the slot that filter_active doesn't name, then that slot's number into
 * filter_active. Every packet sees the one or the other.
 */
struct filter_config {
	__u32 listen_count; /* 0 to FILTER_LISTEN_MAX; those that most packets are for go first */
	__u32 flags;
	struct filter_host host;
	struct filter_listen listens[FILTER_LISTEN_MAX];
};

/** filter_known.kind */
enum filter_known_kind {
	FILTER_KNOWN_ADDRESS,   /* data: the address, IPv6; len: 8 + bits of the prefix */
	FILTER_KNOWN_MAC,       /* data: a unicast MAC other than filter_host's, zeros; len: 8 + 48 */
	FILTER_KNOWN_VLAN,      /* data: type and VLAN id of each tag, in network order, as on the wire; len: 8 + 64 */
	FILTER_KNOWN_BROADCAST, /* data: an IPv4 broadcast address as IPv6; len: 8 + 128 */
	FILTER_KNOWN_KINDS,
};

/** Key of the map "filter_known": what this host has. The longest prefix of an address decides. */
struct filter_known {
	__u32 len;
	__u8 kind;
	__u8 data[16]; /* bits behind `len` are 0 */
	__u8 zero[3];
};

/** Value of the map "filter_known". */
enum filter_known_value {
	FILTER_KNOWN_YES = 1,
	FILTER_KNOWN_NO = 2, /* within a prefix of the host's, but not the host's: a broadcast address, say */
};

/** What becomes of a packet. */
enum filter_group {
	FILTER_GROUP_RECEIVED,   /* not a fate: the sum of all */
	FILTER_GROUP_REDIRECTED, /* to the queue's AF_XDP socket */
	FILTER_GROUP_PASSED,     /* to the kernel, as if no program were there */
	FILTER_GROUP_DROPPED,
};

/**
 * What is counted: ROW(constant, name, group, what); what: the counter's help text. Each packet counts in exactly one
 * row, the first below (but for "redirected") that applies. The program doesn't count "received", it would cost as much
 * again: it is the sum of the others, which user space forms. What came from elsewhere to compare it with is the
 * device's own rx_packets.
 */
/* clang-format off */
#define FILTER_COUNTS(ROW) \
	ROW(FILTER_RECEIVED, "received", FILTER_GROUP_RECEIVED, "Packets that reached the kernel program") \
	ROW(FILTER_UDP4, "redirected-udp4", FILTER_GROUP_REDIRECTED, "UDP over IPv4, handed to the server's socket") \
	ROW(FILTER_UDP6, "redirected-udp6", FILTER_GROUP_REDIRECTED, "UDP over IPv6, handed to the server's socket") \
	ROW(FILTER_TCP4, "redirected-tcp4", FILTER_GROUP_REDIRECTED, "TCP over IPv4, handed to the server's socket") \
	ROW(FILTER_TCP6, "redirected-tcp6", FILTER_GROUP_REDIRECTED, "TCP over IPv6, handed to the server's socket") \
	ROW(FILTER_PASS_MALFORMED, "passed-malformed", FILTER_GROUP_PASSED, "Left to the kernel: cut short within a header, or a wrong version or header length") \
	ROW(FILTER_PASS_TAGS, "passed-vlan-tags", FILTER_GROUP_PASSED, "Left to the kernel: more than two VLAN tags") \
	ROW(FILTER_PASS_NOT_IP, "passed-not-ip", FILTER_GROUP_PASSED, "Left to the kernel: ARP and whatever else is not IP") \
	ROW(FILTER_PASS_FRAGMENT, "passed-fragment", FILTER_GROUP_PASSED, "Fragments: the kernel puts them together for the ordinary sockets") \
	ROW(FILTER_PASS_HEADER, "passed-extension", FILTER_GROUP_PASSED, "Left to the kernel: IPv6 extension headers that only it can judge, or too many") \
	ROW(FILTER_PASS_PROTOCOL, "passed-other-protocol", FILTER_GROUP_PASSED, "Left to the kernel: neither UDP nor TCP, such as ICMP") \
	ROW(FILTER_PASS_PORT, "passed-other-port", FILTER_GROUP_PASSED, "Left to the kernel: UDP or TCP to a port that is not in xdp.listen") \
	ROW(FILTER_PASS_ADDRESS, "passed-other-address", FILTER_GROUP_PASSED, "Left to the kernel: a port of xdp.listen at another address") \
	ROW(FILTER_PASS_GROUP, "passed-group", FILTER_GROUP_PASSED, "Left to the kernel: for the server, but sent to a multicast or broadcast MAC address") \
	ROW(FILTER_PASS_OTHER_MAC, "passed-other-mac", FILTER_GROUP_PASSED, "Left to the kernel: for the server, but sent to another host's MAC address") \
	ROW(FILTER_PASS_OTHER_VLAN, "passed-other-vlan", FILTER_GROUP_PASSED, "Left to the kernel: for the server, but on a VLAN that this host has no device for that is up") \
	ROW(FILTER_PASS_NOT_LOCAL, "passed-not-local", FILTER_GROUP_PASSED, "Left to the kernel: a port of xdp.listen at an address that is not this host's") \
	ROW(FILTER_PASS_BROADCAST, "passed-broadcast-source", FILTER_GROUP_PASSED, "Left to the kernel: for the server, but from the broadcast address of one of this host's networks") \
	ROW(FILTER_DROP_BLOCKED, "dropped-blocked", FILTER_GROUP_DROPPED, "From a prefix that xdp-block or xdp.block blocks") \
	ROW(FILTER_DROP_LIMITED, "dropped-rate-limited", FILTER_GROUP_DROPPED, "Beyond the rate that xdp-block or xdp.block allows the prefix") \
	ROW(FILTER_PASS_NO_SOCKET, "passed-no-socket", FILTER_GROUP_PASSED, "For the server, on a queue without an AF_XDP socket: the ordinary sockets answer") \
	ROW(FILTER_DROP_UNROUTABLE, "dropped-unroutable", FILTER_GROUP_DROPPED, "With xdp.route-check: no reply may go there (blackhole, unreachable, prohibit)") \
	ROW(FILTER_PASS_NO_ROUTE, "passed-no-route", FILTER_GROUP_PASSED, "With xdp.route-check: no route for a reply") \
	ROW(FILTER_PASS_NO_META, "passed-no-metadata", FILTER_GROUP_PASSED, "With xdp.route-check: no room for metadata in front of the frame, for want of the driver's support")

#define FILTER_COUNT_ENUM(constant, name, group, what) constant,
enum filter_count {
	FILTER_COUNTS(FILTER_COUNT_ENUM)
	FILTER_COUNT_ROWS,
	FILTER_COUNT_MAX = 32, /* rows that there is room for */
};
/* clang-format on */

/**
 * Value of the map "filter_counts": the packets of one queue since the program was loaded, by enum filter_count.
 *
 * 256 bytes, so that queues don't share cache lines. Mapped into memory: value of queue q at offset q × sizeof. Read
 * with relaxed atomic loads. Queues beyond the map's end count at queue 0.
 */
struct filter_counts {
	__u64 packets[FILTER_COUNT_MAX];
};

/** Key of the map "filter_prefixes". */
struct filter_prefix {
	__u32 len;     /* bits of `addr`: 0 to 128, an IPv4 prefix's length plus 96 */
	__u8 addr[16]; /* bits behind `len` are 0 */
};

/**
 * Value of the map "filter_rules": what is done with packets that are ours from the sources of a prefix.
 *
 * A limit counts UDP packets and, of TCP, those that open a connection. It is a generic cell rate algorithm
 * (ITU-T I.371): a query is due `interval` after the one before; one that comes more than `tolerance` before it is due
 * is dropped. So in any span of t seconds not more than t × rate + burst + 1 pass, on however many CPUs, and queries
 * that come evenly at the rate all pass. Time is in 1/256 ns: 1/256 ns is exact enough for 10 million per second
 * (4e-5); values wrap around after 2.3 years of uptime. A `due` further ahead than any query can have put it is one
 * that wrapped around (of a prefix that was silent for more than a year, or of a new rule on a machine that has been up
 * for so long), and counts as past. See limit.h for the values.
 *
 * To add a rule: write the value (`prefix_len`, counters and `due` 0) to a free index, then the prefix. To remove it:
 * the prefix first; packets in flight may still count for a moment. To change a limit: write `tolerance`, then
 * `interval`.
 */
struct filter_rule {
	__u64 interval;   /* 1/256 ns between queries; 0: drop everything */
	__u64 tolerance;  /* 1/256 ns */
	__u64 due;        /* the program's: when the next query is due */
	__u64 matched;    /* packets */
	__u64 dropped;    /* packets of these */
	__u64 prefix_len; /* of its key: IPv4 sources obey none shorter than 96, which are IPv6 prefixes */
	__u64 reserved[2];
};

/** filter_meta.way: how a reply leaves. */
enum filter_way {
	FILTER_WAY_BACK = 1, /* to where the packet came from: a link-local address */
	FILTER_WAY_ROUTE,    /* by interface `ifindex` with the MACs and the tag below */
	FILTER_WAY_KERNEL,   /* the kernel knows: neighbour unknown, or no look-up possible */
};

enum {
	FILTER_META_MAGIC = 0xB0E1,
};

/**
 * Stands right in front of the frame (AF_XDP: the bytes before the descriptor's address) when FILTER_ROUTE_CHECK is
 * set: the way of a reply as the routing table says, for a packet that this machine sends.
 *
 * `ifindex` may be a device that is not a port, such as a VLAN device: kernels up to 6.18 don't resolve it.
 * A frame that was redirected before the flag was set has anything there: check `magic`, else ask the kernel.
 */
struct filter_meta {
	__u16 magic; /* FILTER_META_MAGIC */
	__u8 way;    /* enum filter_way; the rest is 0 unless FILTER_WAY_ROUTE */
	__u8 reserved;
	__u32 ifindex;
	__u8 remote_mac[6]; /* of the next hop */
	__u8 local_mac[6];
	__be16 tag_type_be;    /* VLAN tag; 0: none */
	__be16 tag_control_be; /* priority, drop eligible, VLAN id */
	__u16 mtu;             /* of the path as far as it is known, bytes of IP packet; 0: not known at all */
	__u16 zero;
};
