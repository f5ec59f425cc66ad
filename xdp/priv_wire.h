/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The protocol between daemon and helper: one message per request, one per reply, each of a fixed size.
 *
 * Over a SOCK_SEQPACKET pair, so that messages keep their borders; integers in host order: both ends are one program.
 * A request starts with its kind, and its length is that kind's: nothing has a variable size. The reply starts with the
 * result; its descriptors (SCM_RIGHTS) are in the order that each reply names. Structs have no padding, reserved fields
 * are 0, and both are checked.
 *
 * kxdp_priv_serve() is all that a hostile daemon can reach: it checks each field of a message, and only then calls the
 * kind's action. Actions check what depends on state (is this interface open?). Pure but for the actions; no
 * allocation.
 */
#pragma once

#include "xdp/bpf/abi.h"
#include "xdp/priv.h"

enum {
	PRIV_IFACES_MAX = 64, /* interfaces open at a time */
	PRIV_FDS_MAX = 4,     /* descriptors in a reply */
	PRIV_QUEUE_END = 4096,
	PRIV_DEVICE_MAX = 16, /* IF_NAMESIZE, as a size on the wire */
};

_Static_assert((int)PRIV_DEVICE_MAX == (int)IF_NAMESIZE, "names of interfaces");

/** Requests: ROW(constant, name of struct and action, what). The struct is priv_NAME_t. */
/* clang-format off */
#define PRIV_REQUESTS(ROW) \
	ROW(PRIV_OPEN, open, "load and attach the program") \
	ROW(PRIV_CONFIGURE, configure, "change what is ours") \
	ROW(PRIV_CLOSE, close, "detach") \
	ROW(PRIV_QUEUE, queue, "make an AF_XDP socket for a queue; it closes with its descriptors") \
	ROW(PRIV_START, start, "send the queue's packets to the socket, which was bound meanwhile") \
	ROW(PRIV_RULE_SET, rule_set, "add or change a rule") \
	ROW(PRIV_RULE_REMOVE, rule_remove, "remove a rule") \
	ROW(PRIV_BIND, bind, "bind a UDP or TCP socket to a low port") \
	ROW(PRIV_RAW, raw, "open a raw socket for sending") \
	ROW(PRIV_KNOW, know, "say what the host has: addresses, MACs, VLANs") \
	ROW(PRIV_HOST, host, "say which of it most packets are for, and what to check")

#define PRIV_KIND(constant, name, what) constant,
typedef enum {
	PRIV_NONE, /* not a request: zeroed memory is none */
	PRIV_REQUESTS(PRIV_KIND)
	PRIV_KIND_END,
} priv_kind_t;
#undef PRIV_KIND
/* clang-format on */

typedef struct {
	uint8_t addr[16]; /* IPv4 as ::ffff:a.b.c.d; zeros with any_addr */
	uint16_t port;    /* of the policy */
	uint8_t any_addr; /* 0 or 1 */
	uint8_t reserved;
} priv_listen_t;

/** Bits of priv_config_t.flags. */
enum {
	PRIV_CONFIG_UDP = 1,
	PRIV_CONFIG_TCP = 2,
	PRIV_CONFIG_ROUTE_CHECK = 4,
	PRIV_CONFIG_CLIENT = 8, /* only of PRIV_OPEN, and not with route check */
	PRIV_CONFIG_DROP = 16,  /* only with PRIV_CONFIG_CLIENT */
	PRIV_CONFIG_ALL = 31,
};

typedef struct {
	uint32_t flags;
	uint32_t listen_count;                  /* 1 to KXDP_LISTEN_MAX */
	priv_listen_t listens[KXDP_LISTEN_MAX]; /* zeros behind the count */
} priv_config_t;

typedef struct {
	uint32_t kind;
	uint32_t mode;                /* kxdp_mode_t */
	char ifname[PRIV_DEVICE_MAX]; /* 1–15 bytes, then zeros */
	priv_config_t config;
} priv_open_t;

typedef struct {
	uint32_t kind;
	uint32_t iface; /* of the reply to PRIV_OPEN */
	priv_config_t config;
} priv_configure_t;

typedef struct {
	uint32_t kind;
	uint32_t iface;
} priv_close_t;

typedef struct {
	uint32_t kind;
	uint32_t iface;
	uint32_t queue;           /* below PRIV_QUEUE_END and the interface's queue_max */
	uint32_t ring_size;       /* power of two, KXDP_RING_MIN to KXDP_RING_MAX */
	uint16_t busypoll_budget; /* 0 to PRIV_BUSYPOLL_MAX */
	uint16_t busypoll_timeout_us;
} priv_queue_t;

/** Goes with the PRIV_QUEUE before it: one socket per interface waits for this. */
typedef struct {
	uint32_t kind;
	uint32_t iface;
	uint32_t queue;
	uint32_t start; /* 1; 0: forget the socket */
} priv_start_t;

enum {
	PRIV_BUSYPOLL_MAX = 1024, /* more would keep one packet source busy for long; the kernel has 64 by default */
};

typedef struct {
	uint32_t kind;
	uint32_t iface;
	uint8_t addr[16];
	uint32_t prefix_len; /* 0 to 128 */
	uint32_t per_second; /* 0: drop everything; PRIV_RULE_REMOVE: 0 */
} priv_rule_set_t;

typedef priv_rule_set_t priv_rule_remove_t;

typedef struct {
	uint32_t kind;
	uint16_t family;              /* AF_INET, AF_INET6 */
	uint16_t type;                /* SOCK_DGRAM, SOCK_STREAM */
	uint16_t port;                /* below 1024, of the policy */
	uint16_t reuseport;           /* 0 or 1 */
	uint32_t scope;               /* IPv6 scope id; 0 for IPv4 */
	uint8_t addr[16];             /* IPv4: the first 4 bytes, then zeros */
	char device[PRIV_DEVICE_MAX]; /* "": any */
} priv_bind_t;

typedef struct {
	uint32_t kind;
	uint32_t family; /* AF_INET, AF_INET6 */
} priv_raw_t;

enum {
	PRIV_KNOWN_MAX = 32, /* entries in a message */
};

/** As kxdp_known_t. */
typedef struct {
	uint8_t data[16];
	uint8_t bits;
	uint8_t kind;
	uint8_t value; /* enum filter_known_value; 0: forget it */
	uint8_t reserved;
} priv_known_t;

typedef struct {
	uint32_t kind;
	uint32_t iface;
	uint32_t count;                       /* 1 to PRIV_KNOWN_MAX */
	priv_known_t entries[PRIV_KNOWN_MAX]; /* zeros behind the count */
} priv_know_t;

/** Bits of priv_host_t.flags. */
enum {
	PRIV_HOST_MAC = 1,
	PRIV_HOST_VLAN = 2,
	PRIV_HOST_ADDRESS = 4,
	PRIV_HOST_ALL = 7,
};

/** Any values of the host are good ones: they decide about nothing but whether a packet is the server's. */
typedef struct {
	uint32_t kind;
	uint32_t iface;
	uint32_t flags;
	struct filter_host host; /* counts up to FILTER_NEAR_MAX */
} priv_host_t;

typedef union {
	uint32_t kind;
	priv_open_t open;
	priv_configure_t configure;
	priv_close_t close;
	priv_queue_t queue;
	priv_start_t start;
	priv_rule_set_t rule_set;
	priv_rule_remove_t rule_remove;
	priv_bind_t bind;
	priv_raw_t raw;
	priv_know_t know;
	priv_host_t host;
} priv_request_t;

/** Bits of priv_opened_t.flags. */
enum {
	PRIV_OPENED_NATIVE = 1,
	PRIV_OPENED_SHARED = 2, /* joined a dispatcher */
	PRIV_OPENED_ALL = 3,
};

/** Reply to PRIV_OPEN. Descriptors: map of counters, map of rules, BPF link (not when shared). */
typedef struct {
	uint32_t iface;
	uint32_t index;     /* interface index */
	uint32_t queue_max; /* queues that the maps have room for */
	uint32_t flags;
} priv_opened_t;

/** Reply to PRIV_QUEUE. Descriptors: AF_XDP socket, memory. */
typedef struct {
	uint64_t memory_len; /* bytes of the memory to map */
	uint32_t frame_count;
	uint32_t reserved;
} priv_socket_t;

typedef struct {
	int32_t err;                                  /* knot_err_t */
	char text[sizeof(((kxdp_fault_t *)0)->text)]; /* of the fault when `err` says so */
	uint32_t fd_count;
	union {
		priv_opened_t opened;
		priv_socket_t socket;
		uint32_t rule;     /* PRIV_RULE_SET: index in the map of rules; PRIV_RULE_REMOVE: the same */
		uint32_t nonlocal; /* PRIV_BIND: 1 when the address isn't there */
	} u;
} priv_reply_t;

/** What the helper answers with: the message and descriptors, which are the helper's until they are sent. */
typedef struct {
	priv_reply_t reply;
	int fds[PRIV_FDS_MAX]; /* closed after sending */
} priv_answer_t;

/** The ports that requests may name, one bit each: those of DNS and of the configuration when the helper was forked. */
typedef struct {
	uint8_t ports[(UINT16_MAX + 1) / 8];
} priv_policy_t;

/** Allow a port, in host order. Port 0 is refused whatever the policy says. */
void kxdp_priv_policy_allow(priv_policy_t *policy, uint16_t port);

/** KNOT_EACCES, with the text for the operator: the policy refuses the port (in host order). */
KNOT_MUST_USE knot_err_t kxdp_priv_policy_check(const priv_policy_t *policy, uint16_t port, kxdp_fault_t *ret_fault);

/** One action per row: does what the checked request asks, fills in answer->reply.u and fds, or answer's fault. */
typedef struct {
#define PRIV_ACTION(constant, name, what)                                                                              \
	knot_err_t (*name)(void *state, const priv_##name##_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault);
	PRIV_REQUESTS(PRIV_ACTION)
#undef PRIV_ACTION
} priv_actions_t;

/**
 * Check a message and do what it asks for.
 *
 * message[0..len): as received, any alignment. policy: the ports that OPEN, CONFIGURE and BIND may name. state: handed
 * to the action. ret_answer: all of it is written. A message that fails the checks has KNOT_EINVAL (KNOT_EACCES: a port
 * against the policy) and no action is called.
 */
void kxdp_priv_serve(const priv_actions_t *actions, void *state, const priv_policy_t *policy, const void *message,
		size_t len, priv_answer_t *ret_answer);

/** Length of a request of this kind; 0: no such kind. */
size_t kxdp_priv_request_len(uint32_t kind);
