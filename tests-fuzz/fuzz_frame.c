/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Ethernet frames of any shape: what passes the parser lies within the frame, its reply too, and the reply passes the
 * parser.
 *
 * Input: one byte of flags, two bytes that choose reply length and room, the frame. With flag 1 checksums are made
 * right first (with a textbook sum), so that the fuzzer gets behind them.
 */
#include "xdp/frame.h"

#include "libknot/base/bytes.h"

#include <stdlib.h>

enum { MTU = 1500, FIX_CHECKSUMS = 1 };

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

/* Only for packets that are otherwise in order: UDP at the end of the IP packet, wherever that is. */
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
	unsigned next = ip[6];
	while (v6 && (next == 0 || next == 43 || next == 60) && header_len + 8 <= end) {
		next = ip[header_len];
		header_len += (ip[header_len + 1] + 1u) * 8;
	}
	if (header_len + 8 > end) {
		return;
	}
	uint8_t *udp = ip + header_len;
	size_t udp_len = end - header_len;
	store_be16(udp + 4, (uint16_t)udp_len);
	store_be16(udp + 6, 0);
	uint32_t pseudo = 17 + (uint32_t)udp_len + sum16(0, v6 ? ip + 8 : ip + 12, v6 ? 32 : 8);
	uint16_t checksum = (uint16_t)~sum16(pseudo, udp, udp_len);
	store_be16(udp + 6, checksum != 0 ? checksum : 0xFFFF);
}

static void check_packet(const kxdp_packet_t *p, const uint8_t *frame, size_t len, size_t room)
{
	check(p->frame == frame && p->frame_len == len && p->frame_room == room);
	check(p->payload >= frame + 42 && p->payload + p->payload_len <= frame + len);
	check(p->payload + p->payload_max <= frame + room);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size > 4096) {
		return 0;
	}
	uint8_t flags = data[0];
	unsigned chosen = load_be16(data + 1);
	size_t len = size - 3, room = len + (chosen & 0x7F);
	uint8_t *frame = malloc(room > 0 ? room : 1);
	memcpy(frame, data + 3, len);
	if (flags & FIX_CHECKSUMS) {
		fix_checksums(frame, len);
	}
	uint8_t *exact = malloc(len > 0 ? len : 1);
	memcpy(exact, frame, len);
	kxdp_packet_t p, again;
	kxdp_verdict_t verdict = kxdp_frame_parse(frame, len, room, MTU, &p);
	check(verdict < KXDP_VERDICT_COUNT && kxdp_verdict_name(verdict)[0] != '\0');
	check(memcmp(frame, exact, len) == 0);
	free(exact);
	if (verdict == KXDP_OK || verdict == KXDP_PARTIAL_CHECKSUM) {
		check_packet(&p, frame, len, room);
		size_t reply_len = chosen % (p.payload_max + 1u);
		memset(p.payload, (int)chosen, reply_len);
		uint8_t *start;
		size_t total = kxdp_frame_reply(&p, reply_len, &start);
		check(start >= frame && start + total <= frame + room);
		bool port_zero = load_be16(start + p.ip_off + (p.is_ipv6 ? 42 : 22)) == 0 ||
				 load_be16(start + p.ip_off + (p.is_ipv6 ? 40 : 20)) == 0;
		if (!port_zero) {
			check(kxdp_frame_parse(start, total, total, MTU, &again) == KXDP_OK);
			check(again.payload_len == reply_len && again.ecn == p.ecn && again.vlan_id == p.vlan_id);
			check(same_addr(&again.remote, &p.local) && same_addr(&again.local, &p.remote));
		}
	}
	free(frame);
	return 0;
}
