/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel program: which packets of an interface are ours?
 *
 * Ours goes to the AF_XDP socket of its queue, everything else to the kernel, so the interface behaves as without us
 * for everybody else. Only what is ours is ever dropped: for a block rule, or because no reply could leave. The program
 * only finds the destination; lengths and checksums are verified in user space, where a bad packet can be counted by
 * its fault.
 *
 * Each packet gets exactly one fate, which is counted on the queue that it came in on (abi.h): one atomic addition.
 *
 * Loading needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: the verifier refuses others a header's variable length.
 *
 * Each parser takes a cursor, checks its bounds, and leaves the cursor behind what it read. Ethernet types and IP
 * protocols have types of their own: an integer that is the one here and the other there can't be mixed up.
 */
#include "abi.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define INLINE static __always_inline

enum {
	VLAN_MAX = 2,
	VLAN_ID_BITS = 0x0FFF,
	KNOWN_LEN = 8,          /* bits of filter_known.kind */
	EXT_MAX = 8,            /* IPv6 extension headers walked, as in frame.c */
	FRAGMENT_BITS = 0x3FFF, /* IPv4 more-fragments flag and offset */
	LOOPBACK_IFINDEX = 1,   /* `lo` is a network namespace's first device */
	FAMILY_IPV4 = 2,        /* AF_INET, AF_INET6 */
	FAMILY_IPV6 = 10,
	LIMIT_TRIES = 16,
	LIMIT_SKEW_BITS = 44, /* 1/256 ns: the clocks of two CPUs are never so far apart; 69 s */
	MAPPED_LEN = 96,      /* bits of ::ffff:0:0/96 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FILTER_CONFIG_SLOTS);
	__type(key, __u32);
	__type(value, struct filter_config);
} filter_config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_active SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, FILTER_QUEUE_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} filter_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_QUEUE_MAX);
	__type(key, __u32);
	__type(value, struct filter_counts);
} filter_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FILTER_KNOWN_MAX);
	__type(key, struct filter_known);
	__type(value, __u32);
} filter_known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FILTER_RULE_MAX);
	__type(key, struct filter_prefix);
	__type(value, __u32);
} filter_prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_RULE_MAX);
	__type(key, __u32);
	__type(value, struct filter_rule);
} filter_rules SEC(".maps");

typedef struct {
	const void *pos;
	const void *end;
} cursor_t;

typedef struct {
	__be16 be;
} ether_type_t;

typedef struct {
	__u8 number;
} ip_proto_t;

/* The parsers' findings. `fate`: 0 (FILTER_RECEIVED, which is none) as long as the packet may be ours. */
typedef struct {
	enum filter_count fate;
	ether_type_t type;
	const struct ethhdr *eth;
	__be32 outer_be, inner_be; /* type and id of each tag that names a VLAN; 0: there is none */
} l2_t;

typedef struct {
	enum filter_count fate;
	ip_proto_t proto;
	__u8 is_ipv6;
	const void *ip; /* struct iphdr or ipv6hdr, whole */
} l3_t;

typedef struct {
	enum filter_count fate;
	__u8 protos; /* the one bit */
	__u8 opens;  /* a query, or a connection to be */
	__be16 source_be, dest_be;
} l4_t;

/* The next `len` bytes, and the cursor behind them; NULL if there are fewer. */
INLINE const void *take(cursor_t *c, __u32 len)
{
	const void *p = c->pos;
	if (p + len > c->end) {
		return NULL;
	}
	c->pos = p + len;
	return p;
}

INLINE int is_tag(ether_type_t type)
{
	return type.be == bpf_htons(ETH_P_8021Q) || type.be == bpf_htons(ETH_P_8021AD);
}

/* VLAN id 0 is a priority without a VLAN (IEEE 802.1Q 6.9.1): as if the tag weren't there. */
INLINE void add_tag(l2_t *l2, __be16 control_be)
{
	__u32 id = bpf_ntohs(control_be) & VLAN_ID_BITS;
	__be32 tag_be = id != 0 ? bpf_htonl((__u32)bpf_ntohs(l2->type.be) << 16 | id) : 0;
	if (l2->outer_be == 0) {
		l2->outer_be = tag_be;
	} else {
		l2->inner_be = tag_be;
	}
}

INLINE l2_t parse_ethernet(cursor_t *c)
{
	l2_t l2 = { .fate = FILTER_PASS_MALFORMED };
	const struct ethhdr *eth = take(c, sizeof(*eth));
	if (eth == NULL) {
		return l2;
	}
	l2.eth = eth;
	l2.type.be = eth->h_proto;
#pragma unroll
	for (int i = 0; i < VLAN_MAX; i++) {
		if (!is_tag(l2.type)) {
			break;
		}
		const __be16 *tag = take(c, 4); /* control information, type */
		if (tag == NULL) {
			return l2;
		}
		add_tag(&l2, tag[0]);
		l2.type.be = tag[1];
	}
	l2.fate = is_tag(l2.type) ? FILTER_PASS_TAGS : FILTER_RECEIVED;
	return l2;
}

INLINE l3_t parse_ipv4(cursor_t *c)
{
	l3_t l3 = { .fate = FILTER_PASS_MALFORMED };
	const struct iphdr *ip = take(c, sizeof(*ip));
	if (ip == NULL || ip->version != 4 || ip->ihl < 5) {
		return l3;
	}
	/* The whole header from its start: of a difference the verifier can't see that it isn't negative. */
	c->pos = ip;
	if (take(c, ip->ihl * 4) == NULL) {
		return l3;
	}
	l3.ip = ip;
	l3.proto.number = ip->protocol;
	l3.fate = (ip->frag_off & bpf_htons(FRAGMENT_BITS)) != 0 ? FILTER_PASS_FRAGMENT : FILTER_RECEIVED;
	return l3;
}

/* The fate of an IPv6 packet whose walk ends at a header that is none of those walked. */
INLINE enum filter_count fate_of_last(__u8 number)
{
	switch (number) {
	case IPPROTO_FRAGMENT: return FILTER_PASS_FRAGMENT;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS: /* more than EXT_MAX */
	case IPPROTO_ESP:
	case IPPROTO_AH:
	case IPPROTO_MH: return FILTER_PASS_HEADER; /* authentication, mobility */
	default: return FILTER_RECEIVED;
	}
}

/* Headers that only the kernel can judge (authentication, mobility, segments left …) end the walk. */
INLINE l3_t parse_ipv6(cursor_t *c)
{
	l3_t l3 = { .fate = FILTER_PASS_MALFORMED, .is_ipv6 = 1 };
	const struct ipv6hdr *ip = take(c, sizeof(*ip));
	if (ip == NULL || ip->version != 6) {
		return l3;
	}
	l3.ip = ip;
	__u8 number = ip->nexthdr;
	for (int i = 0; i < EXT_MAX; i++) {
		if (number != IPPROTO_HOPOPTS && number != IPPROTO_ROUTING && number != IPPROTO_DSTOPTS) {
			break;
		}
		const __u8 *ext = take(c, 8); /* next header, length in 8 bytes without the first 8, … */
		if (ext == NULL) {
			return l3;
		}
		if (number == IPPROTO_ROUTING && ext[3] != 0) {
			l3.fate = FILTER_PASS_HEADER;
			return l3;
		}
		if (take(c, ext[1] * 8) == NULL) {
			return l3;
		}
		number = ext[0];
	}
	l3.proto.number = number;
	l3.fate = fate_of_last(number);
	return l3;
}

INLINE l3_t parse_ip(cursor_t *c, ether_type_t type)
{
	if (type.be == bpf_htons(ETH_P_IP)) {
		return parse_ipv4(c);
	}
	if (type.be == bpf_htons(ETH_P_IPV6)) {
		return parse_ipv6(c);
	}
	return (l3_t){ .fate = FILTER_PASS_NOT_IP };
}

INLINE l4_t parse_udp(cursor_t *c)
{
	const struct udphdr *udp = take(c, sizeof(*udp));
	if (udp == NULL) {
		return (l4_t){ .fate = FILTER_PASS_MALFORMED };
	}
	return (l4_t){ .protos = FILTER_PROTO_UDP, .opens = 1, .source_be = udp->source, .dest_be = udp->dest };
}

INLINE l4_t parse_tcp(cursor_t *c)
{
	const struct tcphdr *tcp = take(c, sizeof(*tcp));
	if (tcp == NULL) {
		return (l4_t){ .fate = FILTER_PASS_MALFORMED };
	}
	return (l4_t){ .protos = FILTER_PROTO_TCP,
		.opens = tcp->syn && !tcp->ack,
		.source_be = tcp->source,
		.dest_be = tcp->dest };
}

INLINE l4_t parse_transport(cursor_t *c, ip_proto_t proto)
{
	if (proto.number == IPPROTO_UDP) {
		return parse_udp(c);
	}
	if (proto.number == IPPROTO_TCP) {
		return parse_tcp(c);
	}
	return (l4_t){ .fate = FILTER_PASS_PROTOCOL };
}

/* What a listen is compared with. */
struct destination {
	__u32 addr[4]; /* as in struct filter_listen */
	__be16 port_be;
	__u8 protos; /* the one bit */
	__u8 zero;
};

INLINE struct destination destination_of(const l3_t *l3, const l4_t *l4)
{
	struct destination d = { .port_be = l4->dest_be, .protos = l4->protos };
	if (l3->is_ipv6) {
		const struct ipv6hdr *ip = l3->ip;
		__builtin_memcpy(d.addr, &ip->daddr, 16);
	} else {
		const struct iphdr *ip = l3->ip;
		d.addr[2] = bpf_htonl(0xFFFF);
		d.addr[3] = ip->daddr;
	}
	return d;
}

INLINE const struct filter_config *active_config(void)
{
	__u32 zero = 0;
	const __u32 *slot = bpf_map_lookup_elem(&filter_active, &zero);
	return slot != NULL ? bpf_map_lookup_elem(&filter_config, slot) : NULL;
}

/*
 * FILTER_RECEIVED: it is ours, by its address. FILTER_PASS_NOT_LOCAL: it is ours if the address is the host's. Else
 * FILTER_PASS_*: it is not.
 *
 * Not inlined and not static: the verifier looks at it once instead of for each way through the headers, 13,000
 * instructions in all instead of 107,000.
 */
__attribute__((noinline)) int find_listen(const struct destination *d)
{
	const struct filter_config *config = active_config();
	if (d == NULL || config == NULL) {
		return FILTER_PASS_PORT;
	}
	int fate = FILTER_PASS_PORT;
	for (__u32 i = 0; i < FILTER_LISTEN_MAX; i++) {
		if (i >= config->listen_count) {
			break;
		}
		const struct filter_listen *listen = &config->listens[i];
		if (listen->port_be != d->port_be || !(listen->protos & d->protos)) {
			continue;
		}
		if (listen->any_addr) {
			fate = FILTER_PASS_NOT_LOCAL;
			continue;
		}
		const __u32 *addr = (const __u32 *)listen->addr;
		if (addr[3] == d->addr[3] && addr[2] == d->addr[2] && addr[1] == d->addr[1] && addr[0] == d->addr[0]) {
			return FILTER_RECEIVED;
		}
		fate = fate == FILTER_PASS_PORT ? FILTER_PASS_ADDRESS : fate;
	}
	return fate;
}

/* As find_listen(). The usual case is decided here: one port at any address. */
INLINE enum filter_count match(const struct filter_config *config, const l3_t *l3, const l4_t *l4)
{
	const struct filter_listen *first = &config->listens[0];
	int is_port = config->listen_count > 0 && first->port_be == l4->dest_be && (first->protos & l4->protos);
	if (config->listen_count <= 1 && (!is_port || first->any_addr)) {
		return is_port ? FILTER_PASS_NOT_LOCAL : FILTER_PASS_PORT;
	}
	const struct destination destination = destination_of(l3, l4);
	return find_listen(&destination);
}

/* ---- What the host has ---- */

/*
 * 1: it is the host's. Not inlined and not static, as find_listen().
 */
__attribute__((noinline)) int is_known(const struct filter_known *key)
{
	if (key == NULL) {
		return 0;
	}
	const __u32 *value = bpf_map_lookup_elem(&filter_known, key);
	return value != NULL && *value == FILTER_KNOWN_YES;
}

INLINE int is_own_mac(const struct filter_config *config, const __u8 *mac)
{
	const __u16 *a = (const __u16 *)mac, *b = (const __u16 *)config->host.mac;
	if (a[0] == b[0] && a[1] == b[1] && a[2] == b[2]) {
		return 1;
	}
	struct filter_known key = { .len = KNOWN_LEN + 48, .kind = FILTER_KNOWN_MAC };
	__builtin_memcpy(key.data, mac, 6);
	return is_known(&key);
}

INLINE int is_own_vlan(const l2_t *l2)
{
	if (l2->outer_be == 0) {
		return 1;
	}
	struct filter_known key = { .len = KNOWN_LEN + 64, .kind = FILTER_KNOWN_VLAN };
	__builtin_memcpy(key.data, &l2->outer_be, 4);
	__builtin_memcpy(key.data + 4, &l2->inner_be, 4);
	return is_known(&key);
}

/* Where the few addresses of most hosts are found: the map costs more than all the rest (doc/adr/0028). */
INLINE int is_near4(const struct filter_host *host, const struct iphdr *ip)
{
	__be32 addr_be = ip->daddr;
#pragma unroll
	for (int i = 0; i < FILTER_NEAR_MAX; i++) {
		if (i >= host->ipv4_count) {
			break;
		}
		if (host->ipv4_be[i] == addr_be) {
			return 1;
		}
	}
	return 0;
}

INLINE int is_near6(const struct filter_host *host, const struct ipv6hdr *ip)
{
	const __u32 *addr = ip->daddr.s6_addr32;
#pragma unroll
	for (int i = 0; i < FILTER_NEAR_MAX; i++) {
		if (i >= host->ipv6_count) {
			break;
		}
		const __u32 *near = (const __u32 *)host->ipv6[i];
		if (near[3] == addr[3] && near[2] == addr[2] && near[1] == addr[1] && near[0] == addr[0]) {
			return 1;
		}
	}
	return 0;
}

INLINE int is_own_address(const struct filter_config *config, const l3_t *l3)
{
	struct filter_known key = { .len = KNOWN_LEN + 128, .kind = FILTER_KNOWN_ADDRESS };
	if (l3->is_ipv6) {
		const struct ipv6hdr *ip = l3->ip;
		if (is_near6(&config->host, ip)) {
			return 1;
		}
		__builtin_memcpy(key.data, &ip->daddr, 16);
	} else {
		const struct iphdr *ip = l3->ip;
		if (is_near4(&config->host, ip)) {
			return 1;
		}
		key.data[10] = key.data[11] = 0xFF;
		__builtin_memcpy(key.data + 12, &ip->daddr, 4);
	}
	return is_known(&key);
}

/* A reply would go to all hosts of the link. RFC 1122 3.2.1.3 */
INLINE int is_broadcast_source(const struct filter_config *config, const l3_t *l3)
{
	const struct iphdr *ip = l3->ip;
	if (l3->is_ipv6 || (ip->saddr & config->host.broadcast_mask_be) != config->host.broadcast_bits_be) {
		return 0;
	}
	struct filter_known key = { .len = KNOWN_LEN + 128, .kind = FILTER_KNOWN_BROADCAST };
	key.data[10] = key.data[11] = 0xFF;
	__builtin_memcpy(key.data + 12, &ip->saddr, 4);
	return is_known(&key);
}

/* Is a packet that a listen takes for this host? FILTER_RECEIVED: yes. `fate`: of find_listen(). */
INLINE enum filter_count check_host(
		const struct filter_config *config, const l2_t *l2, const l3_t *l3, enum filter_count fate)
{
	__u32 flags = config->flags;
	if (l2->eth->h_dest[0] & 1) {
		return FILTER_PASS_GROUP;
	}
	if ((flags & FILTER_CHECK_MAC) && !is_own_mac(config, l2->eth->h_dest)) {
		return FILTER_PASS_OTHER_MAC;
	}
	if ((flags & FILTER_CHECK_VLAN) && !is_own_vlan(l2)) {
		return FILTER_PASS_OTHER_VLAN;
	}
	if (!(flags & FILTER_CHECK_ADDRESS)) {
		return FILTER_RECEIVED;
	}
	if (fate == FILTER_PASS_NOT_LOCAL && !is_own_address(config, l3)) {
		return FILTER_PASS_NOT_LOCAL;
	}
	return is_broadcast_source(config, l3) ? FILTER_PASS_BROADCAST : FILTER_RECEIVED;
}

/*
 * One query more: does it come too early? If not, it is remembered.
 *
 * No query can come earlier than `tolerance` and `interval` before it is due. Where it seems to, the time wrapped
 * around since the prefix was heard of, or the rule had a slower limit: the query is in time.
 */
INLINE int above_limit(struct filter_rule *rule, __u64 interval)
{
	__u64 now = bpf_ktime_get_ns() << 8;
	__s64 tolerance = (__s64)rule->tolerance;
	__s64 early_max = tolerance + (__s64)interval + (1ll << LIMIT_SKEW_BITS);
	for (int i = 0; i < LIMIT_TRIES; i++) {
		__u64 due = *(volatile __u64 *)&rule->due;
		__s64 early = (__s64)(due - now);
		if (early > tolerance && early <= early_max) {
			return 1;
		}
		early = early > tolerance ? 0 : early;
		__u64 next = (early > 0 ? due : now) + interval;
		if (__sync_val_compare_and_swap(&rule->due, due, next) == due) {
			return 0;
		}
	}
	return 1; /* as many other CPUs let a query pass meanwhile */
}

INLINE enum filter_count apply_rules(const l3_t *l3, const l4_t *l4)
{
	struct filter_prefix source = { .len = 128 };
	if (l3->is_ipv6) {
		const struct ipv6hdr *ip = l3->ip;
		__builtin_memcpy(source.addr, &ip->saddr, 16);
	} else {
		const struct iphdr *ip = l3->ip;
		source.addr[10] = source.addr[11] = 0xFF;
		__builtin_memcpy(source.addr + 12, &ip->saddr, 4);
	}
	const __u32 *index = bpf_map_lookup_elem(&filter_prefixes, &source);
	struct filter_rule *rule = index != NULL ? bpf_map_lookup_elem(&filter_rules, index) : NULL;
	/* The longest match of an IPv4 source is an IPv6 prefix, such as ::/0: no IPv4 prefix has it. */
	if (rule == NULL || (!l3->is_ipv6 && rule->prefix_len < MAPPED_LEN)) {
		return FILTER_RECEIVED;
	}
	__sync_fetch_and_add(&rule->matched, 1);
	__u64 interval = rule->interval;
	if (interval != 0 && !(l4->opens && above_limit(rule, interval))) {
		return FILTER_RECEIVED;
	}
	__sync_fetch_and_add(&rule->dropped, 1);
	return interval != 0 ? FILTER_DROP_LIMITED : FILTER_DROP_BLOCKED;
}

INLINE int is_link_local(const struct in6_addr *addr)
{
	return addr->s6_addr[0] == 0xFE && (addr->s6_addr[1] & 0xC0) == 0x80;
}

/* The question to the routing table: the way of a packet that this machine sends to where this one came from. Asking as
 * if it came in by `lo` makes it one of this machine's, for rules, too. */
INLINE void reply_of(struct bpf_fib_lookup *fib, const l3_t *l3, const l4_t *l4)
{
	fib->ifindex = LOOPBACK_IFINDEX;
	fib->l4_protocol = l3->proto.number;
	fib->sport = l4->dest_be;
	fib->dport = l4->source_be;
	if (l3->is_ipv6) {
		const struct ipv6hdr *ip = l3->ip;
		fib->family = FAMILY_IPV6;
		__builtin_memcpy(fib->ipv6_src, &ip->daddr, 16);
		__builtin_memcpy(fib->ipv6_dst, &ip->saddr, 16);
	} else {
		const struct iphdr *ip = l3->ip;
		fib->family = FAMILY_IPV4;
		fib->ipv4_src = ip->daddr;
		fib->ipv4_dst = ip->saddr;
	}
}

/* Put `meta` in front of the frame. FILTER_RECEIVED: done. */
INLINE enum filter_count put_meta(struct xdp_md *ctx, const struct filter_meta *meta)
{
	/* What another program left there, which a dispatcher ran before, goes. */
	int others = (int)(ctx->data - ctx->data_meta);
	if (bpf_xdp_adjust_meta(ctx, others - (int)sizeof(*meta)) != 0) {
		return FILTER_PASS_NO_META;
	}
	/* Word by word, volatile: clang 14 loses half of the stores of a plain copy. */
	volatile __u32 *to = (void *)(long)ctx->data_meta;
	const __u32 *from = (const __u32 *)meta;
	if ((void *)to + sizeof(*meta) > (void *)(long)ctx->data) {
		return FILTER_PASS_NO_META;
	}
#pragma unroll
	for (unsigned i = 0; i < sizeof(*meta) / 4; i++) {
		to[i] = from[i];
	}
	return FILTER_RECEIVED;
}

INLINE void set_route(struct filter_meta *meta, const struct bpf_fib_lookup *fib)
{
	meta->way = FILTER_WAY_ROUTE;
	meta->ifindex = fib->ifindex;
	__builtin_memcpy(meta->remote_mac, fib->dmac, sizeof(meta->remote_mac));
	__builtin_memcpy(meta->local_mac, fib->smac, sizeof(meta->local_mac));
	meta->tag_type_be = fib->h_vlan_proto;
	meta->tag_control_be = fib->h_vlan_TCI;
	meta->mtu = fib->mtu_result;
}

/* Kernels before 6.2 succeed also when the neighbour's address has been asked for but isn't known. */
INLINE int has_neighbour(const struct bpf_fib_lookup *fib)
{
	return (fib->dmac[0] | fib->dmac[1] | fib->dmac[2] | fib->dmac[3] | fib->dmac[4] | fib->dmac[5]) != 0;
}

/* The way of a reply. FILTER_RECEIVED: *ret_meta says it. */
INLINE enum filter_count find_way(struct xdp_md *ctx, const l3_t *l3, const l4_t *l4, struct filter_meta *ret_meta)
{
	ret_meta->magic = FILTER_META_MAGIC;
	ret_meta->way = FILTER_WAY_KERNEL;
	if (l3->is_ipv6 && is_link_local(&((const struct ipv6hdr *)l3->ip)->saddr)) {
		ret_meta->way = FILTER_WAY_BACK;
		return FILTER_RECEIVED;
	}
	struct bpf_fib_lookup fib = { 0 };
	reply_of(&fib, l3, l4);
	switch (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		if (has_neighbour(&fib)) {
			set_route(ret_meta, &fib);
		}
		return FILTER_RECEIVED;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
	case BPF_FIB_LKUP_RET_PROHIBIT: return FILTER_DROP_UNROUTABLE;
	case BPF_FIB_LKUP_RET_NOT_FWDED: return FILTER_PASS_NO_ROUTE;
	default: return FILTER_RECEIVED; /* no neighbour; `lo` doesn't forward; a tunnel: the kernel's */
	}
}

INLINE enum filter_count check_route(struct xdp_md *ctx, const l3_t *l3, const l4_t *l4)
{
	struct filter_meta meta = { 0 };
	enum filter_count fate = find_way(ctx, l3, l4, &meta);
	return fate == FILTER_RECEIVED ? put_meta(ctx, &meta) : fate;
}

/* A packet that is ours. */
INLINE enum filter_count admit(struct xdp_md *ctx, const struct filter_config *config, const l3_t *l3, const l4_t *l4,
		int may_put_meta)
{
	if (config->flags & FILTER_RULES) {
		enum filter_count fate = apply_rules(l3, l4);
		if (fate != FILTER_RECEIVED) {
			return fate;
		}
	}
	if (bpf_redirect_map(&filter_sockets, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT) {
		return FILTER_PASS_NO_SOCKET;
	}
	/* Read before the frame gets its metadata: that ends the packet pointers' life. */
	enum filter_count redirected = l4->protos == FILTER_PROTO_UDP ? FILTER_UDP4 : FILTER_TCP4;
	redirected += l3->is_ipv6;
	if (config->flags & FILTER_ROUTE_CHECK) {
		enum filter_count fate = may_put_meta ? check_route(ctx, l3, l4) : FILTER_PASS_NO_META;
		if (fate != FILTER_RECEIVED) {
			return fate;
		}
	}
	return redirected;
}

INLINE enum filter_count decide(struct xdp_md *ctx, int may_put_meta)
{
	cursor_t c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	l2_t l2 = parse_ethernet(&c);
	if (l2.fate != FILTER_RECEIVED) {
		return l2.fate;
	}
	l3_t l3 = parse_ip(&c, l2.type);
	if (l3.fate != FILTER_RECEIVED) {
		return l3.fate;
	}
	l4_t l4 = parse_transport(&c, l3.proto);
	if (l4.fate != FILTER_RECEIVED) {
		return l4.fate;
	}
	const struct filter_config *config = active_config();
	if (config == NULL) {
		return FILTER_PASS_PORT;
	}
	enum filter_count fate = match(config, &l3, &l4);
	if (fate != FILTER_RECEIVED && fate != FILTER_PASS_NOT_LOCAL) {
		return fate;
	}
	fate = check_host(config, &l2, &l3, fate);
	return fate == FILTER_RECEIVED ? admit(ctx, config, &l3, &l4, may_put_meta) : fate;
}

/* The queue's counters; the first queue's for one that the map has no room for. */
INLINE struct filter_counts *counts_of(__u32 queue)
{
	__u32 zero = 0;
	struct filter_counts *counts = bpf_map_lookup_elem(&filter_counts, &queue);
	return counts != NULL ? counts : bpf_map_lookup_elem(&filter_counts, &zero);
}

/* The rows of a group, one bit each. */
#define BIT_IF_REDIRECTED(constant, name, group, what) | ((group) == FILTER_GROUP_REDIRECTED ? 1u << (constant) : 0)
#define BIT_IF_DROPPED(constant, name, group, what)    | ((group) == FILTER_GROUP_DROPPED ? 1u << (constant) : 0)

INLINE int action_of(__u32 fate)
{
	if ((0u FILTER_COUNTS(BIT_IF_REDIRECTED)) >> fate & 1) {
		return XDP_REDIRECT;
	}
	return (0u FILTER_COUNTS(BIT_IF_DROPPED)) >> fate & 1 ? XDP_DROP : XDP_PASS;
}

INLINE int finish(struct filter_counts *counts, enum filter_count decided)
{
	__u32 fate = decided & (FILTER_COUNT_MAX - 1); /* so that the verifier knows */
	__sync_fetch_and_add(&counts->packets[fate], 1);
	return action_of(fate);
}

INLINE int filter(struct xdp_md *ctx, int may_put_meta)
{
	struct filter_counts *counts = counts_of(ctx->rx_queue_index);
	return counts != NULL ? finish(counts, decide(ctx, may_put_meta)) : XDP_PASS;
}

SEC("xdp")
int bowline_filter(struct xdp_md *ctx)
{
	return filter(ctx, 1);
}

/*
 * The same without route check: what it would ask for is passed. Kernels from 6.13 on let a program that moves packet
 * pointers join only dispatchers that say so, as those of libxdp 1.5.5 and later do.
 */
SEC("xdp")
int bowline_plain(struct xdp_md *ctx)
{
	return filter(ctx, 0);
}

/* ---- A client's ---- */

INLINE struct destination source_of(const l3_t *l3, const l4_t *l4)
{
	struct destination d = { .port_be = l4->source_be, .protos = l4->protos };
	if (l3->is_ipv6) {
		const struct ipv6hdr *ip = l3->ip;
		__builtin_memcpy(d.addr, &ip->saddr, 16);
	} else {
		const struct iphdr *ip = l3->ip;
		d.addr[2] = bpf_htonl(0xFFFF);
		d.addr[3] = ip->saddr;
	}
	return d;
}

INLINE enum filter_count decide_client(struct xdp_md *ctx)
{
	cursor_t c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	l2_t l2 = parse_ethernet(&c);
	if (l2.fate != FILTER_RECEIVED) {
		return l2.fate;
	}
	l3_t l3 = parse_ip(&c, l2.type);
	if (l3.fate != FILTER_RECEIVED) {
		return l3.fate;
	}
	l4_t l4 = parse_transport(&c, l3.proto);
	if (l4.fate != FILTER_RECEIVED) {
		return l4.fate;
	}
	const struct filter_config *config = active_config();
	if (config == NULL || bpf_ntohs(l4.dest_be) < FILTER_CLIENT_PORT_MIN) {
		return FILTER_PASS_PORT;
	}
	const struct destination source = source_of(&l3, &l4);
	int fate = find_listen(&source);
	if (fate != FILTER_RECEIVED) {
		return fate == FILTER_PASS_PORT ? FILTER_PASS_PORT : FILTER_PASS_ADDRESS;
	}
	if (config->flags & FILTER_CLIENT_DROP) {
		return FILTER_DROP_BLOCKED;
	}
	if (bpf_redirect_map(&filter_sockets, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT) {
		return FILTER_PASS_NO_SOCKET;
	}
	return (l4.protos == FILTER_PROTO_UDP ? FILTER_UDP4 : FILTER_TCP4) + l3.is_ipv6;
}

SEC("xdp")
int bowline_client(struct xdp_md *ctx)
{
	struct filter_counts *counts = counts_of(ctx->rx_queue_index);
	return counts != NULL ? finish(counts, decide_client(ctx)) : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
