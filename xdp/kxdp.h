/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * AF_XDP for a server of UDP and TCP: interfaces whose kernel program picks out our packets.
 *
 * Owns: loading and attaching the kernel program (bpf/filter.bpf.c). Not here: queues to receive and send on (queue.h),
 * frames (frame.h), TCP (tcp/tcp.h), threads, logging.
 *
 * Life: kxdp_priv_start() (priv.h) makes the helper that has the privileges; kxdp_iface_open() attaches the program;
 * kxdp_queue_open() for each of its queues adds a socket; until then, and for a queue without a socket, packets go to
 * the kernel. The calling process needs no privilege for any of it, then or later; the helper needs CAP_BPF
 * and CAP_PERFMON (or CAP_SYS_ADMIN), CAP_NET_ADMIN, CAP_NET_RAW and, where RLIMIT_MEMLOCK is small, CAP_IPC_LOCK. The
 * program is detached by kxdp_iface_close() or when the process ends for whatever reason.
 *
 * Threads: opening, closing, configuring and rules of one interface from one thread at a time;
 * kxdp_iface_filter_counts() and kxdp_iface_rules() from any thread while the interface is open.
 */
#pragma once

#include "libknot/base/err.h"

#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	KXDP_BATCH_MAX = 64,  /* packets one kxdp_receive() can return */
	KXDP_LISTEN_MAX = 16, /* listens per interface */
	KXDP_RING_MIN = 4,
	KXDP_RING_MAX = 32768,
	KXDP_RING_DEFAULT = 2048,
	KXDP_FRAME_SIZE = 2048, /* bytes per frame of a queue's memory, 256 of them headroom of the kernel */
};

/** Why something could not be opened. `text` names what to do about it. */
typedef struct {
	knot_err_t err; /* KNOT_EPERM, KNOT_ENOTSUP, KNOT_EBUSY, KNOT_ENODEV, KNOT_EINVAL, KNOT_ENOMEM … */
	char text[224]; /* "no permission, XDP needs CAP_BPF, …"; without interface name and final dot */
} kxdp_fault_t;

/** Destination that is ours. */
typedef struct {
	struct sockaddr_storage addr; /* AF_INET or AF_INET6: only this address (its port is ignored); AF_UNSPEC: any */
	uint16_t port;                /* host order, not 0 */
} kxdp_listen_t;

typedef enum {
	KXDP_MODE_AUTO,     /* native, else emulated */
	KXDP_MODE_NATIVE,   /* in the driver or nothing */
	KXDP_MODE_EMULATED, /* generic XDP: any device, slower */
} kxdp_mode_t;

typedef enum {
	KXDP_CHECKSUM_AUTO,   /* partial checksums count as good on virtual links (veth, tap, virtio, bridge, loopback)
				 only */
	KXDP_CHECKSUM_STRICT, /* every UDP checksum must be whole */
} kxdp_checksum_t;

/** What of the traffic is ours. May change while the interface is open. */
typedef struct {
	const kxdp_listen_t *listens; /* borrowed for the call */
	size_t listen_count;          /* 1 to KXDP_LISTEN_MAX */
	bool udp;                     /* neither: nothing is ours */
	bool tcp;
	bool route_check; /* frames carry the route of their reply in their metadata (struct filter_meta in bpf/abi.h)
			   */
	/*
	 * A client: ours is what comes *from* a listen's address and port to a port from 2000 on. For opening only, not
	 * with route_check.
	 */
	bool client;
	bool drop; /* of a client: drop it in the kernel */
} kxdp_config_t;

typedef struct {
	const char *ifname;
	kxdp_config_t config;
	bool zero_copy;           /* false: don't even try */
	uint32_t ring_size;       /* descriptors per ring, a power of two, KXDP_RING_MIN to KXDP_RING_MAX */
	uint16_t busypoll_budget; /* packets per busy poll; 0: no busy polling */
	uint16_t busypoll_timeout_us;
	kxdp_mode_t mode;
	kxdp_checksum_t checksum;
} kxdp_options_t;

/** The helper that does what needs a privilege; priv.h. */
typedef struct kxdp_priv kxdp_priv_t;
/** An interface with our program attached. */
typedef struct kxdp_iface kxdp_iface_t;

/**
 * The interface that has the address `sa` (AF_INET or AF_INET6).
 *
 * ret_ifname: its name. KNOT_ENODEV: no interface has it; KNOT_EPARAMCONFL: more than one has: name the interface
 * instead.
 */
KNOT_MUST_USE knot_err_t kxdp_iface_of_address(
		const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault);

/**
 * Load the kernel program and attach it to an interface: native mode if the driver can, else emulated.
 *
 * Alone, the program hangs on a BPF link. Where libxdp's dispatcher is attached, it joins the programs there, which
 * need the BPF file system for that (doc/adr/0004-bpf-link-instead-of-dispatcher.md).
 *
 * priv: borrowed until the interface is closed. NULL: KNOT_EPERM.
 * On failure nothing is left attached and *ret_fault is filled in. KNOT_EPERM: no permission. KNOT_ENOTSUP: kernel or
 * driver can't. KNOT_EBUSY: another XDP program is attached. KNOT_ENODEV: no such interface. KNOT_EINVAL: options (ring
 * size not a power of two, …). KNOT_ECONNCLOSED: the helper has ended. In each case a server goes on with ordinary
 * sockets.
 */
KNOT_MUST_USE knot_err_t kxdp_iface_open(
		kxdp_priv_t *priv, const kxdp_options_t *options, kxdp_iface_t **ret_iface, kxdp_fault_t *ret_fault);

/**
 * Change what is ours, while packets flow; the program stays attached and every packet meets either the old or the new
 * configuration. Errors as kxdp_iface_open(), the old configuration stays.
 */
KNOT_MUST_USE knot_err_t kxdp_iface_configure(
		kxdp_iface_t *iface, const kxdp_config_t *config, kxdp_fault_t *ret_fault);

/** Something that the host has: enum filter_known_kind in bpf/abi.h says what `data` is. */
typedef struct {
	uint8_t kind;
	uint8_t bits;     /* of `data`, 0 to 128; an IPv4 prefix's length plus 96 */
	uint8_t data[16]; /* bits behind `bits` are 0 */
	uint8_t value;    /* enum filter_known_value */
} kxdp_known_t;

enum {
	KXDP_KNOWN_MAX = 16384,
	KXDP_NEAR_MAX = 4,
};

/**
 * What belongs to this host, so that packets for others are left to the kernel. Each check can be switched off where
 * what the host has isn't known.
 */
typedef struct {
	const kxdp_known_t *known; /* borrowed; each once, ordered by kxdp_known_compare() */
	size_t known_count;        /* up to KXDP_KNOWN_MAX */
	bool check_mac, check_vlan, check_address;
	uint8_t mac[6];                 /* of the interface */
	uint8_t ipv4_count, ipv6_count; /* addresses that most packets are for, all of them known, too */
	uint8_t ipv6[KXDP_NEAR_MAX][16];
	uint32_t ipv4_be[KXDP_NEAR_MAX];
	uint32_t broadcast_mask_be, broadcast_bits_be; /* as in struct filter_host */
} kxdp_host_t;

/** Order of what is known: by kind, bits and data; the value doesn't count. */
static inline int kxdp_known_compare(const kxdp_known_t *a, const kxdp_known_t *b)
{
	if (a->kind != b->kind) {
		return a->kind < b->kind ? -1 : 1;
	}
	if (a->bits != b->bits) {
		return a->bits < b->bits ? -1 : 1;
	}
	return memcmp(a->data, b->data, sizeof(a->data));
}

/**
 * Tell the program what the host has, while packets flow. Only what differs from the last time is sent: no request when
 * nothing does. Until the first call nothing is checked. host.c.
 *
 * Nothing of the host's is missing at any time. If old and new entries together are more than KXDP_KNOWN_MAX, nothing
 * is checked for as long as the change takes.
 *
 * KNOT_ENOMEM, or as kxdp_iface_configure(): nothing is checked from then on, as far as the helper can still do that.
 * Call again: the next call brings the program to what it asks for, whatever the failed one left.
 */
KNOT_MUST_USE knot_err_t kxdp_iface_set_host(kxdp_iface_t *iface, const kxdp_host_t *host, kxdp_fault_t *ret_fault);

/** Detach the program and free the interface; its queues must be closed before. NULL is fine. */
void kxdp_iface_close(kxdp_iface_t *take_iface);

const char *kxdp_iface_name(const kxdp_iface_t *iface);

/** Interface index at the time of opening. An interface that was removed and returned has another one: close it and
 * open it again. */
unsigned kxdp_iface_index(const kxdp_iface_t *iface);

/** True: joined libxdp's dispatcher, other programs run before or after ours. */
bool kxdp_iface_is_shared(const kxdp_iface_t *iface);

/**
 * Receive queues when it was opened (combined and receive-only channels), at least 1; 1 when the driver doesn't say.
 */
unsigned kxdp_iface_queue_count(const kxdp_iface_t *iface);

/** Queues that may be opened without reopening the interface, when channels are added: at least the count. */
unsigned kxdp_iface_queue_max(const kxdp_iface_t *iface);

/** Facts about a device. Each has a value that is right when the driver doesn't say. */
typedef struct {
	unsigned index;       /* 0: no such interface; all else is meaningless then */
	unsigned queue_count; /* receive queues now: combined and receive-only channels, at least 1 */
	unsigned queue_max;   /* queues the driver can be set to, at least queue_count */
	uint16_t mtu;         /* bytes of IP packet */
	bool is_up;
	bool is_virtual; /* packets come from a kernel on this machine without passing a wire */
	char driver[32]; /* "" when it doesn't say */
} kxdp_device_t;

/** Ask the kernel; no privilege needed. Some system calls: for following changes (`ethtool -L`), not for packets. */
kxdp_device_t kxdp_device_query(const char *ifname);

/**
 * The mode reached, for the log: "native", "native/copy", "emulated" or "emulated/copy".
 *
 * "/copy" after "native": a queue's socket opened so far has no zero copy; after "emulated" (which always copies): zero
 * copy was disabled by the options. Ask after the queues have been opened.
 */
const char *kxdp_iface_mode_text(const kxdp_iface_t *iface);

/** True if the driver runs the kernel program, and a queue opened so far has no zero copy: "native/copy". */
bool kxdp_iface_copies(const kxdp_iface_t *iface);

/** What the kernel program did with the packets of one queue, by fate; one row per fate in bpf/abi.h. */
typedef struct {
	const char *name; /* "redirected", "passed-fragment", …; static */
	const char *what; /* one sentence about it; static */
	uint64_t packets;
} kxdp_filter_count_t;

/**
 * Counters of the interface's kernel program, read from memory it shares: no system call.
 *
 * iface: NULL: all rows are 0. queue: [0..kxdp_iface_queue_max()), or KXDP_ALL_QUEUES for the sum.
 * ret_counts[0..max): filled in, always the same rows in the same order. Returns their number.
 */
size_t kxdp_iface_filter_counts(const kxdp_iface_t *iface, unsigned queue, kxdp_filter_count_t *ret_counts, size_t max);

#define KXDP_ALL_QUEUES UINT_MAX

/** Sources to drop or to limit in the kernel program; only packets that are ours count. */
typedef struct {
	uint8_t addr[16];    /* IPv6, or IPv4 as ::ffff:a.b.c.d; bits behind the prefix are 0 */
	uint8_t prefix_len;  /* bits of `addr`, 0–128: an IPv4 prefix has 96 more */
	uint32_t per_second; /* packets let through; 0: none */
} kxdp_rule_t;

typedef struct {
	kxdp_rule_t rule;
	uint64_t matched; /* packets of these sources */
	uint64_t dropped; /* of those, dropped */
} kxdp_rule_count_t;

/**
 * Add a rule, or change the limit of the one with this prefix. The longest prefix that matches a packet decides.
 * KNOT_ESPACE: too many rules. KNOT_EINVAL: bits behind the prefix.
 */
KNOT_MUST_USE knot_err_t kxdp_rule_set(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault);

/** Remove the rule with this address and prefix length (per_second is ignored). KNOT_ENOENT: there is none. */
KNOT_MUST_USE knot_err_t kxdp_rule_remove(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault);

/** Rules with their counters since each was added, no order. ret_rules[0..max). Returns the number of rules. */
size_t kxdp_iface_rules(kxdp_iface_t *iface, kxdp_rule_count_t *ret_rules, size_t max);
