/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel program: which packets of an interface are ours?
 *
 * Ours goes to the AF_XDP socket of its queue, everything else to the kernel: nothing is dropped here, so the interface
 * behaves as without us for everybody else. The program only finds the destination; lengths and checksums are verified
 * in user space, where a bad packet can be counted by its fault.
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
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define INLINE static __always_inline

enum {
	VLAN_MAX = 2,
	EXT_MAX = 8,            /* IPv6 extension headers walked, as in frame.c */
	FRAGMENT_BITS = 0x3FFF, /* IPv4 more-fragments flag and offset */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_config);
} filter_config SEC(".maps");

/* Queue → AF_XDP socket. User space sets max_entries to the number of queues. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} filter_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FILTER_VERDICT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} filter_counts SEC(".maps");

typedef struct {
	void *pos;
	void *end;
} cursor_t;

typedef struct {
	__be16 be;
} ether_type_t;

typedef struct {
	__u8 number;
} ip_proto_t;

typedef struct {
	ether_type_t type;
	__u8 ok;
	__u8 group; /* to a group address */
} l2_t;

typedef struct {
	__u8 dst[16]; /* IPv4 as ::ffff:a.b.c.d */
	ip_proto_t proto;
	__u8 ok;
	__u8 fragment;
} l3_t;

/* The next `len` bytes, and the cursor behind them; NULL if there are fewer. */
INLINE void *take(cursor_t *c, __u32 len)
{
	void *p = c->pos;
	if (p + len > c->end) {
		return NULL;
	}
	c->pos = p + len;
	return p;
}

INLINE l2_t parse_ethernet(cursor_t *c)
{
	l2_t l2 = { 0 };
	struct ethhdr *eth = take(c, sizeof(*eth));
	if (eth == NULL) {
		return l2;
	}
	l2.group = eth->h_dest[0] & 1;
	l2.type.be = eth->h_proto;
#pragma unroll
	for (int i = 0; i < VLAN_MAX; i++) {
		if (l2.type.be != bpf_htons(ETH_P_8021Q) && l2.type.be != bpf_htons(ETH_P_8021AD)) {
			break;
		}
		__be16 *tag = take(c, 4); /* control information, type */
		if (tag == NULL) {
			return l2;
		}
		l2.type.be = tag[1];
	}
	l2.ok = 1;
	return l2;
}

INLINE l3_t parse_ipv4(cursor_t *c)
{
	l3_t l3 = { 0 };
	struct iphdr *ip = take(c, sizeof(*ip));
	if (ip == NULL || ip->version != 4 || ip->ihl < 5) {
		return l3;
	}
	if (take(c, (ip->ihl - 5) * 4) == NULL) {
		return l3;
	}
	l3.dst[10] = l3.dst[11] = 0xFF;
	__builtin_memcpy(l3.dst + 12, &ip->daddr, 4);
	l3.proto.number = ip->protocol;
	l3.fragment = (ip->frag_off & bpf_htons(FRAGMENT_BITS)) != 0;
	l3.ok = 1;
	return l3;
}

/* Headers that only the kernel can judge (authentication, mobility, segments left …) end the walk: `ok` stays 0 or the
 * protocol is not UDP, and the packet passes. */
INLINE l3_t parse_ipv6(cursor_t *c)
{
	l3_t l3 = { 0 };
	struct ipv6hdr *ip = take(c, sizeof(*ip));
	if (ip == NULL || ip->version != 6) {
		return l3;
	}
	__builtin_memcpy(l3.dst, &ip->daddr, 16);
	l3.proto.number = ip->nexthdr;
	for (int i = 0; i < EXT_MAX; i++) {
		__u8 number = l3.proto.number;
		if (number == IPPROTO_FRAGMENT) {
			l3.fragment = 1;
			break;
		}
		if (number != IPPROTO_HOPOPTS && number != IPPROTO_ROUTING && number != IPPROTO_DSTOPTS) {
			break;
		}
		__u8 *ext = take(c, 8); /* next header, length in 8 bytes without the first 8, … */
		if (ext == NULL || (number == IPPROTO_ROUTING && ext[3] != 0)) {
			return l3;
		}
		if (take(c, ext[1] * 8) == NULL) {
			return l3;
		}
		l3.proto.number = ext[0];
	}
	l3.ok = 1;
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
	return (l3_t){ 0 };
}

INLINE int same_address(const __u8 *a, const __u8 *b)
{
	const __u32 *x = (const __u32 *)a, *y = (const __u32 *)b;
	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

INLINE int is_ours(const l3_t *l3, __be16 port_be)
{
	__u32 zero = 0;
	const struct filter_config *config = bpf_map_lookup_elem(&filter_config, &zero);
	if (config == NULL) {
		return 0;
	}
	for (__u32 i = 0; i < FILTER_LISTEN_MAX; i++) {
		if (i >= config->listen_count) {
			break;
		}
		const struct filter_listen *listen = &config->listens[i];
		if (listen->port_be == port_be && listen->ip_proto == l3->proto.number &&
		    (listen->any_addr || same_address(listen->addr, l3->dst))) {
			return 1;
		}
	}
	return 0;
}

INLINE enum filter_verdict decide(struct xdp_md *ctx)
{
	cursor_t c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	l2_t l2 = parse_ethernet(&c);
	if (!l2.ok) {
		return FILTER_PASS_FOREIGN;
	}
	l3_t l3 __attribute__((aligned(8))) = parse_ip(&c, l2.type);
	if (!l3.ok) {
		return FILTER_PASS_FOREIGN;
	}
	if (l3.fragment) {
		return FILTER_PASS_FRAGMENT; /* the kernel puts it together; whole, it reaches the ordinary socket */
	}
	if (l3.proto.number != IPPROTO_UDP) {
		return FILTER_PASS_FOREIGN;
	}
	struct udphdr *udp = take(&c, sizeof(*udp));
	if (udp == NULL) {
		return FILTER_PASS_FOREIGN;
	}
	if (!is_ours(&l3, udp->dest)) {
		return FILTER_PASS_OTHER;
	}
	return l2.group ? FILTER_PASS_GROUP : FILTER_REDIRECTED;
}

INLINE void count(enum filter_verdict verdict)
{
	__u32 index = verdict;
	__u64 *counter = bpf_map_lookup_elem(&filter_counts, &index);
	if (counter != NULL) {
		*counter += 1;
	}
}

SEC("xdp")
int bowline_filter(struct xdp_md *ctx)
{
	enum filter_verdict verdict = decide(ctx);
	int action = XDP_PASS;
	if (verdict == FILTER_REDIRECTED) {
		action = bpf_redirect_map(&filter_sockets, ctx->rx_queue_index, XDP_PASS);
		if (action != XDP_REDIRECT) {
			verdict = FILTER_PASS_NO_SOCKET;
		}
	}
	count(verdict);
	return action;
}

char _license[] SEC("license") = "Dual BSD/GPL";
