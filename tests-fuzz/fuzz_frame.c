/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Ethernet frames of any shape: what passes the parser lies within the frame, its reply too, and the reply passes the
 * parser. The same for replies that take another way, and for segments built into another frame.
 *
 * Input: one byte of flags, two bytes that choose reply length and room, the frame. With flag 1 checksums are made
 * right first (with a textbook sum), so that the fuzzer gets behind them. Flag 2: the reply is routed, with as many
 * tags as flags 4 and 8 say.
 */
#include "xdp/frame.h"

#include "libknot/base/bytes.h"

#include <stdlib.h>

enum { MTU = 1500, FIX_CHECKSUMS = 1, ROUTED = 2, TAGS_SHIFT = 2, TCP = 6, UDP = 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static uint16_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	}
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)((sum & 0xFFFF) + (sum >> 16));
}

/* Only for packets that are otherwise in order: UDP or TCP at the end of the IP packet, wherever that is. */
static void fix_checksums(uint8_t *frame, size_t len)
{
	size_t off = 12;
	while (len >= off + 6 && (load_be16(frame + off) == 0x8100 || load_be16(frame + off) == 0x88A8)) {
		off += 4;
	}
	if (len < off + 2 + 40) {
		return;
	}
	bool v6 = load_be16(frame + off) == 0x86DD;
	uint8_t *ip = frame + off + 2;
	size_t header_len = v6 ? 40 : (ip[0] & 15) * 4u;
	size_t end = v6 ? 40u + load_be16(ip + 4) : load_be16(ip + 2);
	if (end > len - off - 2 || header_len < 20 || header_len > end) {
		return;
	}
	if (!v6) {
		store_be16(ip + 10, 0);
		store_be16(ip + 10, (uint16_t)~sum16(0, ip, header_len));
	}
	/* Extension headers say how long they are; follow them as far as they go. */
	unsigned next = v6 ? ip[6] : ip[9];
	while (v6 && (next == 0 || next == 43 || next == 60) && header_len + 8 <= end) {
		next = ip[header_len];
		header_len += (ip[header_len + 1] + 1u) * 8;
	}
	bool tcp = next == TCP;
	if (header_len + (tcp ? 20 : 8) > end) {
		return;
	}
	uint8_t *transport = ip + header_len, *field = transport + (tcp ? 16 : 6);
	size_t transport_len = end - header_len;
	if (!tcp) {
		store_be16(transport + 4, (uint16_t)transport_len);
	}
	store_be16(field, 0);
	uint32_t pseudo = (tcp ? TCP : UDP) + (uint32_t)transport_len + sum16(0, v6 ? ip + 8 : ip + 12, v6 ? 32 : 8);
	uint16_t checksum = (uint16_t)~sum16(pseudo, transport, transport_len);
	store_be16(field, checksum != 0 || tcp ? checksum : 0xFFFF);
}

static void check_packet(const kxdp_packet_t *p, const uint8_t *frame, size_t len, size_t room)
{
	check(p->frame == frame && p->frame_len == len && p->frame_room == room);
	bool tcp = p->ip_proto == IPPROTO_TCP;
	check(tcp || p->ip_proto == IPPROTO_UDP);
	check(p->payload >= frame + (tcp ? 34 : 42) && p->payload + p->payload_len <= frame + len);
	check(tcp ? p->payload_max == 0 && p->payload_len >= 20 : p->payload + p->payload_max <= frame + room);
	check(p->path.via == KXDP_VIA_SAME && !p->is_routed);
	check(kxdp_frame_kind(frame, len) == kxdp_packet_kind(p));
	check(p->ip_off == 14 + 4 * p->vlan_count && p->vlan_count <= 2);
	check(p->remote.sa.sa_family == (p->is_ipv6 ? AF_INET6 : AF_INET));
}

static bool same_addr(const kxdp_addr_t *a, const kxdp_addr_t *b)
{
	if (a->sa.sa_family == AF_INET) {
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr && a->in.sin_port == b->in.sin_port;
	}
	return a->in6.sin6_port == b->in6.sin6_port && memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16) == 0;
}

/* A reply or segment is in order, and goes the other way. */
static void check_sent(const kxdp_packet_t *p, uint8_t *start, size_t total, size_t payload_len, unsigned tag_count)
{
	kxdp_packet_t again;
	size_t ip_off = 14 + 4 * tag_count, ports_off = ip_off + (p->is_ipv6 ? 40 : 20);
	if (load_be16(start + ports_off) == 0 || load_be16(start + ports_off + 2) == 0) {
		return; /* port 0: nothing that our parser takes back */
	}
	check(kxdp_frame_parse(start, total, total, MTU, &again) == KXDP_OK);
	check(again.payload_len == payload_len && again.ecn == p->ecn && again.vlan_count == tag_count);
	check(again.ip_proto == p->ip_proto);
	check(same_addr(&again.remote, &p->local) && same_addr(&again.local, &p->remote));
}

static void route(kxdp_packet_t *p, uint8_t flags)
{
	const kxdp_path_t back = kxdp_packet_path(p);
	p->path = back;
	p->path.tag_count = (uint8_t)((flags >> TAGS_SHIFT) % (KXDP_TAGS_MAX + 1));
	for (unsigned i = 0; i < p->path.tag_count; i++) {
		p->path.tags[i] = (kxdp_tag_t){ .type_be = htons(0x8100), .control_be = htons((uint16_t)i) };
	}
	p->is_routed = true;
}

static void check_reply(kxdp_packet_t *p, uint8_t *memory, uint8_t flags, unsigned chosen)
{
	size_t reply_len = chosen % (p->payload_max + 1u);
	unsigned tag_count = p->vlan_count;
	if (flags & ROUTED) {
		route(p, flags);
		tag_count = p->path.tag_count;
	}
	memset(p->payload, (int)chosen, reply_len);
	uint8_t *start;
	size_t total = kxdp_frame_reply(p, reply_len, &start);
	check(start >= ((flags & ROUTED) ? memory : p->frame) && start + total <= p->frame + p->frame_room);
	check_sent(p, start, total, reply_len, tag_count);
}

/* Ports swapped, in memory that is as large as it has to be. */
static void check_segment(kxdp_packet_t *p, uint8_t flags)
{
	if (flags & ROUTED) {
		route(p, flags);
	}
	size_t len = p->payload_len, room = KXDP_HEADERS_MAX + (len < 46 ? 46 : len);
	uint8_t *memory = malloc(room), *segment = memory + KXDP_HEADERS_MAX, *start;
	memcpy(segment, p->payload, len);
	memcpy(segment, p->payload + 2, 2);
	memcpy(segment + 2, p->payload, 2);
	check(p->flow.remote_port == load_be16(p->payload) && p->flow.local_port == load_be16(p->payload + 2));
	size_t total = kxdp_frame_build(&p->path, &p->flow, IPPROTO_TCP, p->ecn, segment, len, &start);
	check(start >= memory && start + total <= memory + room);
	check_sent(p, start, total, len, p->path.tag_count);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size > 4096) {
		return 0;
	}
	uint8_t flags = data[0];
	unsigned chosen = load_be16(data + 1);
	size_t len = size - 3, room = len + (chosen & 0x7F);
	uint8_t *memory = malloc(KXDP_REPLY_HEADROOM + room), *frame = memory + KXDP_REPLY_HEADROOM;
	memcpy(frame, data + 3, len);
	if (flags & FIX_CHECKSUMS) {
		fix_checksums(frame, len);
	}
	uint8_t *exact = malloc(len > 0 ? len : 1);
	memcpy(exact, frame, len);
	kxdp_packet_t p;
	kxdp_verdict_t verdict = kxdp_frame_parse(frame, len, room, MTU, &p);
	check(verdict < KXDP_VERDICT_COUNT && kxdp_verdict_name(verdict)[0] != '\0');
	check(memcmp(frame, exact, len) == 0);
	free(exact);
	if (verdict == KXDP_OK || verdict == KXDP_PARTIAL_CHECKSUM) {
		check_packet(&p, frame, len, room);
		if (p.ip_proto == IPPROTO_TCP) {
			check_segment(&p, flags);
		} else {
			check_reply(&p, memory, flags, chosen);
		}
	}
	free(memory);
	return 0;
}
