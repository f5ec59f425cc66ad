/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/frame.h"

#include "libknot/base/bytes.h"
#include "xdp/checksum.h"

#include <assert.h>

enum {
	MAC_LEN = 6,
	ETHER_LEN = 14, /* without tags */
	VLAN_LEN = 4,
	ETHERTYPE_OFF = 12,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86DD,
	TYPE_CTAG = 0x8100, /* IEEE 802.1Q */
	TYPE_STAG = 0x88A8,
	IPV4_LEN = 20, /* without options */
	IPV6_LEN = 40,
	UDP_LEN = 8,
	UDP_CHECKSUM_OFF = 6,
	TCP_LEN_MIN = 20,
	TCP_CHECKSUM_OFF = 16,
	MAPPED_LEN = 12,             /* ::ffff:0:0/96 */
	HOP_LIMIT = 64,              /* RFC 1700's default, as Linux sends */
	EXT_MAX = 8,                 /* IPv6 extension headers walked; real packets have 0 to 2 */
	IPV4_FRAGMENT_BITS = 0x3FFF, /* more-fragments flag and offset */
	IPV4_OPT_END = 0,
	IPV4_OPT_NOP = 1,
	IPV4_OPT_LSRR = 131,
	IPV4_OPT_SSRR = 137,
	IPV6_OPT_PAD1 = 0,
	IPV6_OPT_ACTION = 0xC0,
};

#define VERDICT_NAME(name, text) [name] = text,
static const char *const verdict_names[KXDP_VERDICT_COUNT] = { KXDP_VERDICTS(VERDICT_NAME) };

const char *kxdp_verdict_name(kxdp_verdict_t verdict)
{
	return (unsigned)verdict < KXDP_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

static const char *const kind_names[KXDP_KIND_COUNT] = {
	[KXDP_UDP4] = "udp4",
	[KXDP_UDP6] = "udp6",
	[KXDP_TCP4] = "tcp4",
	[KXDP_TCP6] = "tcp6",
	[KXDP_OTHER_KIND] = "other",
};

const char *kxdp_kind_name(kxdp_kind_t kind)
{
	return (unsigned)kind < KXDP_KIND_COUNT ? kind_names[kind] : "unknown";
}

/* A frame behind its Ethernet header. */
typedef struct {
	uint8_t *frame;
	size_t len, room;
	uint8_t *ip;
	size_t ip_room; /* bytes received from `ip` on */
	unsigned vlan_count, vlan_id;
	uint16_t mtu;
} link_t;

/* Protocol number and length: what the pseudo header has besides the addresses. RFC 768, 9293 3.1, 8200 8.1 */
static uint64_t pseudo_rest(uint8_t ip_proto, uint16_t len_be)
{
	return (uint64_t)htons(ip_proto) + len_be;
}

/*
 * udp[0..udp_room) is the IP packet's payload. *ret_len: the datagram's length. What is behind it is the surplus area:
 * RFC 768 allows it, receivers without UDP options ignore it, and the checksum doesn't cover it (RFC 9868 7, 18).
 */
static inline kxdp_verdict_t verify_udp(
		const uint8_t *udp, size_t udp_room, uint64_t address_sum, bool is_ipv6, size_t *ret_len)
{
	if (udp_room < UDP_LEN) {
		return KXDP_BAD_LENGTH;
	}
	size_t udp_len = load_be16(udp + 4);
	if (udp_len < UDP_LEN || udp_len > udp_room) {
		return KXDP_BAD_LENGTH;
	}
	*ret_len = udp_len;
	uint16_t checksum = load_raw16(udp + UDP_CHECKSUM_OFF);
	if (checksum == 0) {
		return is_ipv6 ? KXDP_BAD_UDP_CHECKSUM : KXDP_OK; /* RFC 768; RFC 8200 8.1 */
	}
	uint64_t pseudo = checksum_add(address_sum, pseudo_rest(IPPROTO_UDP, load_raw16(udp + 4)));
	if (checksum_fold(checksum_bytes(pseudo, udp, udp_len)) == 0xFFFF) {
		return KXDP_OK;
	}
	return checksum == checksum_fold(pseudo) ? KXDP_PARTIAL_CHECKSUM : KXDP_BAD_UDP_CHECKSUM;
}

static kxdp_verdict_t verify_tcp(const uint8_t *tcp, size_t tcp_room, uint64_t address_sum)
{
	if (tcp_room < TCP_LEN_MIN) {
		return KXDP_BAD_LENGTH;
	}
	size_t header_len = (tcp[12] >> 4) * 4u;
	if (header_len < TCP_LEN_MIN || header_len > tcp_room) {
		return KXDP_BAD_LENGTH;
	}
	uint64_t pseudo = checksum_add(address_sum, pseudo_rest(IPPROTO_TCP, htons((uint16_t)tcp_room)));
	if (checksum_fold(checksum_bytes(pseudo, tcp, tcp_room)) == 0xFFFF) {
		return KXDP_OK;
	}
	return load_raw16(tcp + TCP_CHECKSUM_OFF) == checksum_fold(pseudo) ? KXDP_PARTIAL_CHECKSUM
									   : KXDP_BAD_TCP_CHECKSUM;
}

/* Ports are at the same place in UDP and TCP. */
static void fill_addresses(kxdp_packet_t *p, const uint8_t *ip, const uint8_t *transport, bool is_ipv6)
{
	in_port_t remote_port_be = load_raw16(transport), local_port_be = load_raw16(transport + 2);
	if (is_ipv6) {
		p->remote.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = remote_port_be };
		p->local.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = local_port_be };
		memcpy(&p->remote.in6.sin6_addr, ip + 8, 16);
		memcpy(&p->local.in6.sin6_addr, ip + 24, 16);
	} else {
		p->remote.in = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_port = remote_port_be, .sin_addr.s_addr = load_raw32(ip + 12)
		};
		p->local.in = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_port = local_port_be, .sin_addr.s_addr = load_raw32(ip + 16)
		};
	}
}

static uint16_t payload_room(const link_t *l, const uint8_t *payload, size_t headers_len)
{
	size_t by_mtu = l->mtu > headers_len ? l->mtu - headers_len : 0;
	size_t by_frame = l->room - (size_t)(payload - l->frame);
	return (uint16_t)(by_mtu < by_frame ? by_mtu : by_frame);
}

/* What both protocols have in common. Inlined into all callers, so that no test for the family is left. */
static inline __attribute__((always_inline)) void fill_packet(
		const link_t *l, const uint8_t *transport, bool is_ipv6, uint8_t ip_proto, kxdp_packet_t *p)
{
	p->is_ipv6 = is_ipv6;
	p->is_routed = false;
	p->kind = (ip_proto == IPPROTO_TCP ? KXDP_TCP4 : KXDP_UDP4) + (is_ipv6 ? 1 : 0);
	p->ip_proto = ip_proto;
	p->ecn = is_ipv6 ? l->ip[1] >> 4 & 3 : l->ip[1] & 3;
	p->vlan_count = (uint8_t)l->vlan_count;
	p->vlan_id = (uint16_t)l->vlan_id;
	fill_addresses(p, l->ip, transport, is_ipv6);
	p->frame = l->frame;
	p->frame_len = (uint16_t)l->len;
	p->frame_room = (uint16_t)l->room;
	p->ip_off = (uint16_t)(l->ip - l->frame);
	p->path.via = KXDP_VIA_SAME;
}

/* A group address can't become a source (IEEE 802 8.2), port 0 means: no reply wanted (RFC 768). */
static inline bool is_answerable(const link_t *l, const uint8_t *transport)
{
	return ((l->frame[0] | l->frame[MAC_LEN]) & 1) == 0 && load_raw16(transport) != 0;
}

/* The last step: udp[0..udp_room) is the whole payload of the IP packet at l->ip, whose header is in order. */
static inline __attribute__((always_inline)) kxdp_verdict_t finish_udp(
		const link_t *l, uint8_t *udp, size_t udp_room, uint64_t address_sum, bool is_ipv6, kxdp_packet_t *p)
{
	size_t udp_len = 0;
	kxdp_verdict_t verdict = verify_udp(udp, udp_room, address_sum, is_ipv6, &udp_len);
	if (verdict != KXDP_OK && verdict != KXDP_PARTIAL_CHECKSUM) {
		return verdict;
	}
	if (!is_answerable(l, udp)) {
		return KXDP_BAD_ADDRESS;
	}
	p->payload = udp + UDP_LEN;
	assert(udp_len >= UDP_LEN && udp_len <= udp_room);
	p->payload_len = (uint16_t)(udp_len - UDP_LEN);
	p->payload_max = payload_room(l, udp + UDP_LEN, (is_ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN);
	fill_packet(l, udp, is_ipv6, IPPROTO_UDP, p);
	return verdict;
}

static __attribute__((noinline)) kxdp_verdict_t finish_tcp_apart(
		const link_t *l, uint8_t *tcp, size_t tcp_room, uint64_t address_sum, bool is_ipv6, kxdp_packet_t *p)
{
	kxdp_verdict_t verdict = verify_tcp(tcp, tcp_room, address_sum);
	if (verdict != KXDP_OK && verdict != KXDP_PARTIAL_CHECKSUM) {
		return verdict;
	}
	if (!is_answerable(l, tcp)) {
		return KXDP_BAD_ADDRESS;
	}
	p->payload = tcp;
	p->payload_len = (uint16_t)tcp_room;
	p->payload_max = 0;
	fill_packet(l, tcp, is_ipv6, IPPROTO_TCP, p);
	p->flow = kxdp_packet_flow(p);
	p->path = kxdp_packet_path(p);
	p->path.mtu = l->mtu;
	return verdict;
}

/* Out of the way of UDP's code, which keeps *l in registers: so a copy for TCP, made only here. */
static inline __attribute__((always_inline)) kxdp_verdict_t finish_tcp(
		const link_t *l, uint8_t *tcp, size_t tcp_room, uint64_t address_sum, bool is_ipv6, kxdp_packet_t *p)
{
	const link_t copy = *l;
	return finish_tcp_apart(&copy, tcp, tcp_room, address_sum, is_ipv6, p);
}

/* Source routes are refused as the kernel refuses them by default (RFC 7126 4.3, 4.4); what else is there only has to
 * be well-formed. */
static bool ipv4_options_ok(const uint8_t *option, const uint8_t *end)
{
	while (option < end && *option != IPV4_OPT_END) {
		if (*option == IPV4_OPT_NOP) {
			option++;
			continue;
		}
		if (*option == IPV4_OPT_LSRR || *option == IPV4_OPT_SSRR) {
			return false;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option) {
			return false;
		}
		option += option[1];
	}
	return true;
}

/* An address that no reply can go to or come from: this network, loopback, multicast, broadcast (RFC 1122 3.2.1.3). */
static bool ipv4_unusable(const uint8_t *addr)
{
	unsigned first = addr[0];
	if (first - 1 < 223) { /* 1 to 223 */
		return first == 127;
	}
	return first < 240 || load_raw32(addr) == 0xFFFFFFFF;
}

static inline kxdp_verdict_t parse_ipv4(const link_t *l, kxdp_packet_t *ret_packet)
{
	uint8_t *ip = l->ip;
	if (l->ip_room < IPV4_LEN) {
		return KXDP_BAD_LENGTH;
	}
	size_t header_len = (ip[0] & 0x0F) * 4u;
	if (ip[0] >> 4 != 4 || header_len < IPV4_LEN) {
		return KXDP_BAD_HEADER;
	}
	size_t total_len = load_be16(ip + 2);
	if (total_len < header_len || total_len > l->ip_room) {
		return KXDP_BAD_LENGTH;
	}
	uint64_t address_sum = load_raw64(ip + 12);
	uint64_t sum = checksum_add(checksum_add(load_raw64(ip), load_raw32(ip + 8)), address_sum);
	if (header_len > IPV4_LEN) {
		for (size_t off = IPV4_LEN; off < header_len; off += 4) {
			sum = checksum_add(sum, load_raw32(ip + off));
		}
	}
	if (checksum_fold(sum) != 0xFFFF) {
		return KXDP_BAD_IP_CHECKSUM;
	}
	if ((load_be16(ip + 6) & IPV4_FRAGMENT_BITS) != 0) {
		return KXDP_FRAGMENT;
	}
	uint8_t ip_proto = ip[9];
	if (ip_proto != IPPROTO_UDP && ip_proto != IPPROTO_TCP) {
		return KXDP_FOREIGN;
	}
	if (header_len > IPV4_LEN && !ipv4_options_ok(ip + IPV4_LEN, ip + header_len)) {
		return KXDP_BAD_HEADER;
	}
	if (ipv4_unusable(ip + 12) || ipv4_unusable(ip + 16)) {
		return KXDP_BAD_ADDRESS;
	}
	if (ip_proto == IPPROTO_TCP) {
		return finish_tcp(l, ip + header_len, total_len - header_len, address_sum, false, ret_packet);
	}
	return finish_udp(l, ip + header_len, total_len - header_len, address_sum, false, ret_packet);
}

/* Options of a hop-by-hop or destination-options header: an unknown one says by its top bits whether to skip it (RFC
 * 8200 4.2). */
static bool ipv6_options_ok(const uint8_t *option, const uint8_t *end)
{
	while (option < end) {
		if (*option == IPV6_OPT_PAD1) {
			option++;
			continue;
		}
		if ((*option & IPV6_OPT_ACTION) != 0 || end - option < 2 || option[1] + 2 > end - option) {
			return false;
		}
		option += option[1] + 2;
	}
	return true;
}

/* Walk to the UDP or TCP header: *io_header and *io_len move from the first header after the fixed one to it, *io_next
 * from the type of the one to that of the other. RFC 8200 4 */
static kxdp_verdict_t skip_extensions(unsigned *io_next, uint8_t **io_header, size_t *io_len)
{
	unsigned next = *io_next;
	uint8_t *header = *io_header;
	size_t len = *io_len;
	for (unsigned walked = 0; next != IPPROTO_UDP && next != IPPROTO_TCP; walked++) {
		if (next == IPPROTO_FRAGMENT) {
			return KXDP_FRAGMENT;
		}
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS) {
			return KXDP_FOREIGN;
		}
		if (walked == EXT_MAX || (next == IPPROTO_HOPOPTS && walked > 0)) {
			return KXDP_BAD_HEADER;
		}
		if (len < 8) {
			return KXDP_BAD_LENGTH;
		}
		size_t header_len = (header[1] + 1u) * 8;
		if (header_len > len) {
			return KXDP_BAD_LENGTH;
		}
		bool ok = next == IPPROTO_ROUTING ? header[3] == 0 /* no segments left: we are the last hop */
						  : ipv6_options_ok(header + 2, header + header_len);
		if (!ok) {
			return KXDP_BAD_HEADER;
		}
		next = header[0];
		header += header_len;
		len -= header_len;
	}
	*io_next = next;
	*io_header = header;
	*io_len = len;
	return KXDP_OK;
}

/* Unspecified, loopback, multicast, IPv4-mapped. */
static bool ipv6_unusable(const uint8_t *addr)
{
	if (addr[0] == 0xFF) {
		return true;
	}
	if (load_raw64(addr) != 0) {
		return false;
	}
	uint32_t high = load_be32(addr + 8), low = load_be32(addr + 12);
	return high == 0x0000FFFF || (high == 0 && low <= 1);
}

static inline kxdp_verdict_t parse_ipv6(const link_t *l, kxdp_packet_t *ret_packet)
{
	uint8_t *ip = l->ip;
	if (l->ip_room < IPV6_LEN) {
		return KXDP_BAD_LENGTH;
	}
	if (ip[0] >> 4 != 6) {
		return KXDP_BAD_HEADER;
	}
	size_t payload_len = load_be16(ip + 4);
	if (payload_len > l->ip_room - IPV6_LEN) {
		return KXDP_BAD_LENGTH;
	}
	uint8_t *transport = ip + IPV6_LEN;
	unsigned next = ip[6];
	if (next != IPPROTO_UDP) {
		kxdp_verdict_t verdict = skip_extensions(&next, &transport, &payload_len);
		if (verdict != KXDP_OK) {
			return verdict;
		}
	}
	if (ipv6_unusable(ip + 8) || ipv6_unusable(ip + 24)) {
		return KXDP_BAD_ADDRESS;
	}
	uint64_t source = checksum_add(load_raw64(ip + 8), load_raw64(ip + 16));
	uint64_t destination = checksum_add(load_raw64(ip + 24), load_raw64(ip + 32));
	uint64_t address_sum = checksum_add(source, destination);
	if (next == IPPROTO_TCP) {
		return finish_tcp(l, transport, payload_len, address_sum, true, ret_packet);
	}
	return finish_udp(l, transport, payload_len, address_sum, true, ret_packet);
}

kxdp_verdict_t kxdp_frame_parse(uint8_t *frame, size_t len, size_t room, uint16_t mtu, kxdp_packet_t *ret_packet)
{
	assert(len <= room && room <= UINT16_MAX);
	if (len < ETHER_LEN) {
		return KXDP_BAD_LENGTH;
	}
	uint16_t ether_type = load_raw16(frame + ETHERTYPE_OFF);
	size_t off = ETHER_LEN;
	unsigned vlan_count = 0, vlan_id = 0;
	while (ether_type == htons(TYPE_CTAG) || ether_type == htons(TYPE_STAG)) {
		if (vlan_count == KXDP_TAGS_MAX) {
			return KXDP_FOREIGN;
		}
		if (len - off < VLAN_LEN) {
			return KXDP_BAD_LENGTH;
		}
		vlan_id = load_be16(frame + off) & 0x0FFF;
		ether_type = load_raw16(frame + off + 2);
		off += VLAN_LEN;
		vlan_count++;
	}
	const link_t l = { .frame = frame,
		.len = len,
		.room = room,
		.ip = frame + off,
		.ip_room = len - off,
		.vlan_count = vlan_count,
		.vlan_id = vlan_id,
		.mtu = mtu };
	if (ether_type == htons(TYPE_IPV4)) {
		return parse_ipv4(&l, ret_packet);
	}
	if (ether_type == htons(TYPE_IPV6)) {
		return parse_ipv6(&l, ret_packet);
	}
	return KXDP_FOREIGN;
}

kxdp_kind_t kxdp_frame_kind(const uint8_t *frame, size_t len)
{
	size_t off = ETHERTYPE_OFF;
	for (unsigned tags = 0; len >= off + 2 && tags < KXDP_TAGS_MAX; tags++, off += VLAN_LEN) {
		uint16_t type = load_be16(frame + off);
		if (type != TYPE_CTAG && type != TYPE_STAG) {
			break;
		}
	}
	if (len < off + 2 + IPV4_LEN) {
		return KXDP_OTHER_KIND;
	}
	const uint8_t *ip = frame + off + 2, *end = frame + len;
	uint16_t type = load_be16(frame + off);
	if (type == TYPE_IPV4) {
		return ip[9] == IPPROTO_UDP ? KXDP_UDP4 : ip[9] == IPPROTO_TCP ? KXDP_TCP4 : KXDP_OTHER_KIND;
	}
	if (type != TYPE_IPV6) {
		return KXDP_OTHER_KIND;
	}
	unsigned next = ip[6];
	const uint8_t *header = ip + IPV6_LEN;
	for (unsigned walked = 0; next != IPPROTO_UDP && next != IPPROTO_TCP; walked++) {
		bool is_skipped = next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS ||
				  next == IPPROTO_FRAGMENT;
		if (!is_skipped || walked == EXT_MAX || end - header < 8) {
			return KXDP_OTHER_KIND;
		}
		size_t header_len = next == IPPROTO_FRAGMENT ? 8 : (header[1] + 1u) * 8;
		next = header[0];
		if (header_len > (size_t)(end - header)) {
			return KXDP_OTHER_KIND;
		}
		header += header_len;
	}
	return next == IPPROTO_UDP ? KXDP_UDP6 : KXDP_TCP6;
}

/* ---- Flows and paths ---- */

static void map_ipv4(uint8_t to[static 16], const struct in_addr *addr)
{
	memset(to, 0, MAPPED_LEN - 2);
	memset(to + MAPPED_LEN - 2, 0xFF, 2);
	memcpy(to + MAPPED_LEN, addr, 4);
}

kxdp_flow_t kxdp_packet_flow(const kxdp_packet_t *p)
{
	kxdp_flow_t flow = {
		.remote_port = ntohs(p->remote.in.sin_port), /* at the same place in in6 */
		.local_port = ntohs(p->local.in.sin_port),
	};
	if (p->is_ipv6) {
		memcpy(flow.remote, &p->remote.in6.sin6_addr, 16);
		memcpy(flow.local, &p->local.in6.sin6_addr, 16);
	} else {
		map_ipv4(flow.remote, &p->remote.in.sin_addr);
		map_ipv4(flow.local, &p->local.in.sin_addr);
	}
	return flow;
}

bool kxdp_flow_is_ipv4(const kxdp_flow_t *flow)
{
	return load_raw64(flow->remote) == 0 && load_raw32(flow->remote + 8) == htonl(0x0000FFFF);
}

kxdp_path_t kxdp_packet_path(const kxdp_packet_t *p)
{
	if (p->is_routed) {
		return p->path;
	}
	kxdp_path_t path = { .tag_count = p->vlan_count, .via = KXDP_VIA_SAME };
	memcpy(path.local_mac, p->frame, MAC_LEN);
	memcpy(path.remote_mac, p->frame + MAC_LEN, MAC_LEN);
	for (unsigned i = 0; i < p->vlan_count; i++) {
		const uint8_t *tag = p->frame + ETHERTYPE_OFF + i * VLAN_LEN;
		path.tags[i] = (kxdp_tag_t){ .type_be = load_raw16(tag), .control_be = load_raw16(tag + 2) };
	}
	return path;
}

/* ---- Out ---- */

/* Options and extension headers fall away: the Ethernet header with its tags moves up to the new IP header. */
static __attribute__((noinline, cold)) void move_ethernet(const kxdp_packet_t *p, uint8_t *start)
{
	memmove(start, p->frame, p->ip_off);
}

static void swap_macs(uint8_t *frame)
{
	uint32_t server_head = load_raw32(frame), client_head = load_raw32(frame + MAC_LEN);
	uint16_t server_tail = load_raw16(frame + 4), client_tail = load_raw16(frame + MAC_LEN + 4);
	memcpy(frame, &client_head, 4);
	memcpy(frame + 4, &client_tail, 2);
	memcpy(frame + MAC_LEN, &server_head, 4);
	memcpy(frame + MAC_LEN + 4, &server_tail, 2);
}

/* Up to the Ethernet minimum, within start[0..room). */
static size_t pad(uint8_t *start, size_t len, size_t room)
{
	size_t padded = room < KXDP_FRAME_MIN ? room : KXDP_FRAME_MIN;
	if (len >= padded) {
		return len;
	}
	memset(start + len, 0, padded - len);
	return padded;
}

/* Both return the sum of the two addresses. */
static uint64_t reply_ipv4(const kxdp_packet_t *p, uint8_t *ip, size_t udp_len)
{
	uint32_t source = p->local.in.sin_addr.s_addr, destination = p->remote.in.sin_addr.s_addr;
	uint64_t address_sum = (uint64_t)source + destination;
	uint16_t version_tos = htons((uint16_t)(0x4500 | p->ecn));
	uint16_t total_len = htons((uint16_t)(IPV4_LEN + udp_len));
	uint16_t ttl_proto = htons(HOP_LIMIT << 8 | IPPROTO_UDP);
	uint16_t checksum = (uint16_t)~checksum_fold(address_sum + version_tos + total_len + ttl_proto);
	memcpy(ip, &version_tos, 2);
	memcpy(ip + 2, &total_len, 2);
	memset(ip + 4, 0, 4); /* id, flags, offset */
	memcpy(ip + 8, &ttl_proto, 2);
	memcpy(ip + 10, &checksum, 2);
	memcpy(ip + 12, &source, 4);
	memcpy(ip + 16, &destination, 4);
	return address_sum;
}

static uint64_t reply_ipv6(const kxdp_packet_t *p, uint8_t *ip, size_t udp_len)
{
	ip[0] = 0x60;
	ip[1] = (uint8_t)(p->ecn << 4);
	ip[2] = ip[3] = 0;
	store_be16(ip + 4, (uint16_t)udp_len);
	ip[6] = IPPROTO_UDP;
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, &p->local.in6.sin6_addr, 16);
	memcpy(ip + 24, &p->remote.in6.sin6_addr, 16);
	uint64_t source_sum = checksum_bytes(0, p->local.in6.sin6_addr.s6_addr, 16);
	return checksum_bytes(source_sum, p->remote.in6.sin6_addr.s6_addr, 16);
}

/* Both write the IP header in front of transport[0..len) and return the sum of the two addresses. */
static uint64_t build_ipv4(const kxdp_flow_t *flow, uint8_t ecn, uint8_t *ip, size_t len)
{
	ip[0] = 0x45;
	ip[1] = ecn;
	store_be16(ip + 2, (uint16_t)(IPV4_LEN + len));
	ip[8] = HOP_LIMIT;
	memcpy(ip + 12, flow->local + MAPPED_LEN, 4);
	memcpy(ip + 16, flow->remote + MAPPED_LEN, 4);
	return (uint64_t)load_raw32(flow->local + MAPPED_LEN) + load_raw32(flow->remote + MAPPED_LEN);
}

/* What waits for the transport's checksum; see frame.h for the id. */
static void finish_ipv4(uint8_t *ip, uint8_t ip_proto, uint16_t transport_checksum, uint64_t address_sum)
{
	uint16_t id = ip_proto == IPPROTO_TCP ? transport_checksum : 0;
	memcpy(ip + 4, &id, 2);
	memset(ip + 6, 0, 2); /* flags, offset */
	ip[9] = ip_proto;
	uint64_t sum = address_sum + load_raw32(ip) + id + load_raw16(ip + 8);
	uint16_t checksum = (uint16_t)~checksum_fold(sum);
	memcpy(ip + 10, &checksum, 2);
}

static uint64_t build_ipv6(const kxdp_flow_t *flow, uint8_t ip_proto, uint8_t ecn, uint8_t *ip, size_t len)
{
	ip[0] = 0x60;
	ip[1] = (uint8_t)(ecn << 4);
	ip[2] = ip[3] = 0;
	store_be16(ip + 4, (uint16_t)len);
	ip[6] = ip_proto;
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, flow->local, 16);
	memcpy(ip + 24, flow->remote, 16);
	uint64_t source_sum = checksum_add(load_raw64(flow->local), load_raw64(flow->local + 8));
	return checksum_add(source_sum, checksum_add(load_raw64(flow->remote), load_raw64(flow->remote + 8)));
}

size_t kxdp_frame_build_ip(const kxdp_flow_t *flow, uint8_t ip_proto, uint8_t ecn, uint8_t *transport, size_t len,
		uint8_t **ret_start)
{
	assert(ip_proto == IPPROTO_UDP || ip_proto == IPPROTO_TCP);
	assert(len >= UDP_LEN && len <= UINT16_MAX - IPV4_LEN);
	bool is_ipv4 = kxdp_flow_is_ipv4(flow);
	uint8_t *ip = transport - (is_ipv4 ? IPV4_LEN : IPV6_LEN);
	uint64_t address_sum = is_ipv4 ? build_ipv4(flow, ecn, ip, len) : build_ipv6(flow, ip_proto, ecn, ip, len);
	uint8_t *field = transport + (ip_proto == IPPROTO_TCP ? TCP_CHECKSUM_OFF : UDP_CHECKSUM_OFF);
	memset(field, 0, 2);
	uint64_t pseudo = checksum_add(address_sum, pseudo_rest(ip_proto, htons((uint16_t)len)));
	uint16_t checksum = (uint16_t)~checksum_fold(checksum_bytes(pseudo, transport, len));
	if (checksum == 0 && ip_proto == IPPROTO_UDP) {
		checksum = 0xFFFF; /* 0 would say: none (RFC 768) */
	}
	memcpy(field, &checksum, 2);
	if (is_ipv4) {
		finish_ipv4(ip, ip_proto, checksum, address_sum);
	}
	*ret_start = ip;
	return (size_t)(transport - ip) + len;
}

/* Ethernet header with tags in front of the IP header; its first byte. */
static uint8_t *build_link(const kxdp_path_t *path, uint8_t *ip)
{
	assert(path->tag_count <= KXDP_TAGS_MAX);
	uint8_t *start = ip - ETHER_LEN - path->tag_count * VLAN_LEN;
	memcpy(start, path->remote_mac, MAC_LEN);
	memcpy(start + MAC_LEN, path->local_mac, MAC_LEN);
	uint8_t *at = start + ETHERTYPE_OFF;
	for (unsigned i = 0; i < path->tag_count; i++, at += VLAN_LEN) {
		memcpy(at, &path->tags[i].type_be, 2);
		memcpy(at + 2, &path->tags[i].control_be, 2);
	}
	store_be16(at, ip[0] >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6);
	return start;
}

size_t kxdp_frame_build(const kxdp_path_t *path, const kxdp_flow_t *flow, uint8_t ip_proto, uint8_t ecn,
		uint8_t *transport, size_t len, uint8_t **ret_start)
{
	uint8_t *ip;
	size_t ip_len = kxdp_frame_build_ip(flow, ip_proto, ecn, transport, len, &ip);
	uint8_t *start = build_link(path, ip);
	*ret_start = start;
	return pad(start, (size_t)(ip - start) + ip_len, KXDP_FRAME_MIN);
}

size_t kxdp_frame_reply_ip(const kxdp_packet_t *p, size_t payload_len, uint8_t **ret_start)
{
	assert(p->ip_proto == IPPROTO_UDP && payload_len <= p->payload_max);
	const kxdp_flow_t flow = kxdp_packet_flow(p);
	uint8_t *udp = p->payload - UDP_LEN;
	store_be16(udp, flow.local_port);
	store_be16(udp + 2, flow.remote_port);
	store_be16(udp + 4, (uint16_t)(UDP_LEN + payload_len));
	return kxdp_frame_build_ip(&flow, IPPROTO_UDP, p->ecn, udp, UDP_LEN + payload_len, ret_start);
}

static __attribute__((noinline)) size_t reply_routed(const kxdp_packet_t *p, size_t payload_len, uint8_t **ret_start)
{
	uint8_t *ip;
	size_t ip_len = kxdp_frame_reply_ip(p, payload_len, &ip);
	uint8_t *start = build_link(&p->path, ip);
	*ret_start = start;
	return pad(start, (size_t)(ip - start) + ip_len, (size_t)(p->frame + p->frame_room - start));
}

size_t kxdp_frame_reply(const kxdp_packet_t *p, size_t payload_len, uint8_t **ret_start)
{
	assert(payload_len <= p->payload_max);
	if (__builtin_expect(p->is_routed, 0)) {
		return reply_routed(p, payload_len, ret_start);
	}
	bool is_ipv6 = p->is_ipv6;
	size_t headers_len = (is_ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN;
	uint8_t *udp = p->payload - UDP_LEN;
	uint8_t *ip = p->payload - headers_len;
	uint8_t *start = ip - p->ip_off; /* p->frame or behind it */
	*ret_start = start;
	if (start != p->frame) {
		move_ethernet(p, start);
	}
	swap_macs(start);
	size_t udp_len = UDP_LEN + payload_len;
	uint64_t address_sum = is_ipv6 ? reply_ipv6(p, ip, udp_len) : reply_ipv4(p, ip, udp_len);

	uint16_t udp_len_be = htons((uint16_t)udp_len);
	uint16_t source_be = p->local.in.sin_port,
		 destination_be = p->remote.in.sin_port; /* at the same place in in6 */
	/* The UDP header is summed from its values: reading it back right after writing would wait for the stores. */
	uint64_t header_sum = checksum_add(
			address_sum, pseudo_rest(IPPROTO_UDP, udp_len_be) + udp_len_be + source_be + destination_be);
	uint16_t checksum = (uint16_t)~checksum_fold(checksum_bytes(header_sum, p->payload, payload_len));
	checksum = checksum != 0 ? checksum : 0xFFFF; /* 0 would say: none (RFC 768) */
	memcpy(udp, &source_be, 2);
	memcpy(udp + 2, &destination_be, 2);
	memcpy(udp + 4, &udp_len_be, 2);
	memcpy(udp + 6, &checksum, 2);

	size_t len = (size_t)(udp - start) + udp_len;
	return len >= KXDP_FRAME_MIN ? len : pad(start, len, p->frame_room - (size_t)(start - p->frame));
}
