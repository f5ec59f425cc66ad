/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Packets for the tests of frame parser and kernel program: a builder with a textbook checksum (nothing of frame.c is
 * used to check frame.c), and rows {what, packet, verdict of the parser, verdict of the kernel program}.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "xdp/bpf/abi.h"
#include "xdp/frame.h"

#include <ctype.h>
#include <stdlib.h>

enum { FRAME_MAX = 2048, MTU = 1500, TTL_SENT = 57, ECN_SENT = 2, TCP_CHECKSUM_AT = 16 };

typedef enum { AT_NOTHING, AT_FRAME, AT_IP, AT_UDP, AT_TCP = AT_UDP, AT_PAYLOAD } anchor_t;

typedef struct {
	anchor_t at;
	unsigned off;
	uint8_t value;
} patch_t;

typedef struct {
	const char *what;
	const char *tags;        /* hex of the VLAN tags */
	const char *extra;       /* hex of IPv4 options, or of IPv6 extension headers */
	const char *tcp_options; /* hex, a multiple of 4 bytes */
	bool v6;
	bool tcp;
	bool swapped;  /* the direction of the reply */
	bool as_reply; /* the fields a reply has */
	bool no_checksum, partial_checksum;
	uint8_t first_next; /* IPv6: type of the first extension header */
	unsigned payload_len, padding, cut;
	unsigned surplus; /* bytes of the IP packet behind the UDP datagram */
	patch_t set;      /* replaces a byte before checksums are computed */
	patch_t spoil;    /* XORed to a byte afterwards */
	kxdp_verdict_t want;
	enum filter_count filter; /* default: redirected */
} row_t;

typedef struct {
	uint8_t bytes[FRAME_MAX];
	size_t len;
	size_t ip_off, udp_off; /* of the IP header, and of the UDP or TCP header */
	size_t payload_off;
} frame_t;

static size_t put_hex(uint8_t *to, const char *text)
{
	size_t len = 0;
	for (const char *p = text; p != NULL && *p != '\0';) {
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		char digits[3] = { p[0], p[1], '\0' };
		to[len++] = (uint8_t)strtoul(digits, NULL, 16);
		p += 2;
	}
	return len;
}

static uint16_t naive_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		while (sum > 0xFFFF) {
			sum = (sum & 0xFFFF) + (sum >> 16);
		}
	}
	return (uint16_t)sum;
}

static void apply(frame_t *f, patch_t patch, bool xor)
{
	size_t base[] = { [AT_FRAME] = 0, [AT_IP] = f->ip_off, [AT_UDP] = f->udp_off, [AT_PAYLOAD] = f->payload_off };
	if (patch.at != AT_NOTHING) {
		uint8_t *byte = &f->bytes[base[patch.at] + patch.off];
		*byte = xor? *byte ^ patch.value : patch.value;
	}
}

static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 0x0A }, { 2, 0, 0, 0, 0, 0x0B } }; /* client, server */
static const uint8_t ips4[2][4] = { { 192, 0, 2, 2 }, { 198, 51, 100, 1 } };
static const uint8_t ips6[2][16] = { { 0x20, 1, 0x0D, 0xB8, [15] = 2 }, { 0x20, 1, 0x0D, 0xB8, 0, 9, [15] = 1 } };
static const uint16_t ports[2] = { 40000, 53 };

static void fill_transport_checksum(frame_t *f, const row_t *row, size_t transport_len)
{
	uint8_t *ip = f->bytes + f->ip_off, *transport = f->bytes + f->udp_off;
	uint8_t *field = transport + (row->tcp ? TCP_CHECKSUM_AT : 6);
	uint32_t rest = (row->tcp ? 6 : 17) + (uint32_t)transport_len;
	uint32_t pseudo = naive_sum(rest, row->v6 ? ip + 8 : ip + 12, row->v6 ? 32 : 8);
	if (row->partial_checksum) {
		store_be16(field, naive_sum(pseudo, NULL, 0));
		return;
	}
	uint16_t checksum = (uint16_t)~naive_sum(pseudo, transport, transport_len);
	store_be16(field, checksum != 0 || row->tcp ? checksum : 0xFFFF);
}

static void fill_checksums(frame_t *f, const row_t *row, size_t transport_len)
{
	uint8_t *ip = f->bytes + f->ip_off;
	if (!row->no_checksum) {
		fill_transport_checksum(f, row, transport_len);
	}
	if (!row->v6) {
		if (row->as_reply && row->tcp) {
			memcpy(ip + 4, f->bytes + f->udp_off + TCP_CHECKSUM_AT, 2);
		}
		store_be16(ip + 10, (uint16_t)~naive_sum(0, ip, f->udp_off - f->ip_off));
	}
}

/* Returns its length. */
static size_t put_tcp_header(uint8_t *tcp, const row_t *row)
{
	size_t len = 20 + put_hex(tcp + 20, row->tcp_options);
	store_be32(tcp + 4, 0x01020304);
	store_be32(tcp + 8, 0xF5F6F7F8);
	tcp[12] = (uint8_t)(len / 4 << 4);
	tcp[13] = 0x18; /* PSH, ACK */
	store_be16(tcp + 14, 0x4000);
	return len;
}

static void build(frame_t *f, const row_t *row)
{
	memset(f, 0, sizeof(*f));
	unsigned from = row->swapped ? 1 : 0, to = 1 - from;
	uint8_t *p = f->bytes;
	memcpy(p, macs[to], 6);
	memcpy(p + 6, macs[from], 6);
	p += 12;
	p += put_hex(p, row->tags);
	store_be16(p, row->v6 ? 0x86DD : 0x0800);
	uint8_t *ip = p + 2;
	f->ip_off = (size_t)(ip - f->bytes);
	size_t extra_len = put_hex(ip + (row->v6 ? 40 : 20), row->as_reply ? NULL : row->extra);
	f->udp_off = f->ip_off + (row->v6 ? 40 : 20) + extra_len;
	uint8_t *udp = f->bytes + f->udp_off;
	size_t header_len = row->tcp ? put_tcp_header(udp, row) : 8;
	size_t udp_len = header_len + row->payload_len, surplus = row->as_reply ? 0 : row->surplus;
	f->payload_off = f->udp_off + header_len;
	if (row->v6) {
		store_be32(ip, 0x60000000 | ECN_SENT << 20 | (row->as_reply ? 0 : 0xC0u << 20 | 0x12345));
		store_be16(ip + 4, (uint16_t)(extra_len + udp_len + surplus));
		ip[6] = extra_len > 0 ? row->first_next : row->tcp ? 6 : 17;
		ip[7] = row->as_reply ? 64 : TTL_SENT;
		memcpy(ip + 8, ips6[from], 16);
		memcpy(ip + 24, ips6[to], 16);
	} else {
		ip[0] = (uint8_t)(0x45 + extra_len / 4);
		ip[1] = row->as_reply ? ECN_SENT : 0xC0 | ECN_SENT;
		store_be16(ip + 2, (uint16_t)(20 + extra_len + udp_len + surplus));
		store_be32(ip + 4, row->as_reply ? 0 : 0xABCD4000); /* id; don't fragment */
		ip[8] = row->as_reply ? 64 : TTL_SENT;
		ip[9] = row->tcp ? 6 : 17;
		memcpy(ip + 12, ips4[from], 4);
		memcpy(ip + 16, ips4[to], 4);
	}
	store_be16(udp, ports[from]);
	store_be16(udp + 2, ports[to]);
	if (!row->tcp) {
		store_be16(udp + 4, (uint16_t)udp_len);
	}
	for (unsigned i = 0; i < row->payload_len; i++) {
		f->bytes[f->payload_off + i] = (uint8_t)(i * 7 + 1);
	}
	memset(f->bytes + f->udp_off + udp_len, 0xA5, surplus);
	f->len = f->udp_off + udp_len + surplus + row->padding - row->cut;
	apply(f, row->set, false);
	fill_checksums(f, row, udp_len);
	apply(f, row->spoil, true);
}

#define PADN_8 "11 00 01 04 00000000" /* next header UDP; PadN over the rest */

/* clang-format off */
static const row_t rows[] = {
	{ "IPv4", .payload_len = 40 },
	{ "IPv4, no payload", .payload_len = 0, .padding = 18 },
	{ "IPv4, odd payload", .payload_len = 31 },
	{ "IPv4, padded to the Ethernet minimum", .payload_len = 5, .padding = 13 },
	{ "IPv4, payload of a full MTU", .payload_len = MTU - 28 },
	{ "IPv4, no UDP checksum", .payload_len = 33, .no_checksum = true },
	{ "IPv4, checksum left to the device", .payload_len = 33, .partial_checksum = true, .want = KXDP_PARTIAL_CHECKSUM },
	{ "IPv4, one tag", .payload_len = 40, .tags = "8100 6064" },
	{ "IPv4, service tag", .payload_len = 40, .tags = "88A8 0FFF" },
	{ "IPv4, two tags", .payload_len = 40, .tags = "88A8 0001 8100 0002" },
	{ "IPv4, three tags", .payload_len = 40, .tags = "88A8 0001 8100 0002 8100 0003", .want = KXDP_FOREIGN,
	  .filter = FILTER_PASS_TAGS },
	{ "IPv4, options: no-op, end", .payload_len = 40, .extra = "01010100" },
	{ "IPv4, options: router alert", .payload_len = 40, .extra = "94040000" },
	{ "IPv4, options: record route, 40 bytes", .payload_len = 40, .tags = "8100 0005",
	  .extra = "07270400000000000000000000000000000000000000000000000000000000000000000000000000" },
	{ "IPv4, options: loose source route", .payload_len = 40, .extra = "8307040102030400", .want = KXDP_BAD_HEADER },
	{ "IPv4, options: strict source route", .payload_len = 40, .extra = "01890704010203 0400 000000", .want = KXDP_BAD_HEADER },
	{ "IPv4, option longer than the header", .payload_len = 40, .extra = "07050000", .want = KXDP_BAD_HEADER },
	{ "IPv4, option without length", .payload_len = 40, .extra = "01010107", .want = KXDP_BAD_HEADER },
	{ "IPv4, option of length 0", .payload_len = 40, .extra = "07000000", .want = KXDP_BAD_HEADER },
	{ "IPv4, version 5", .payload_len = 40, .set = { AT_IP, 0, 0x55 }, .want = KXDP_BAD_HEADER,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv4, header length 16", .payload_len = 40, .set = { AT_IP, 0, 0x44 }, .want = KXDP_BAD_HEADER,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv4, header length beyond the packet", .payload_len = 4, .set = { AT_IP, 0, 0x4F }, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv4, total length beyond the frame", .payload_len = 40, .set = { AT_IP, 3, 69 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, total length below the header", .payload_len = 40, .set = { AT_IP, 3, 19 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, total length cuts the UDP header", .payload_len = 40, .set = { AT_IP, 3, 27 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, cut by a byte", .payload_len = 40, .cut = 1, .want = KXDP_BAD_LENGTH },
	{ "IPv4, cut in the UDP header", .payload_len = 40, .cut = 44, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv4, cut in the IP header", .payload_len = 0, .cut = 9, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv4, first fragment", .payload_len = 40, .set = { AT_IP, 6, 0x20 }, .want = KXDP_FRAGMENT,
	  .filter = FILTER_PASS_FRAGMENT },
	{ "IPv4, later fragment", .payload_len = 40, .set = { AT_IP, 7, 0x01 }, .want = KXDP_FRAGMENT,
	  .filter = FILTER_PASS_FRAGMENT },
	{ "IPv4, ICMP", .payload_len = 40, .set = { AT_IP, 9, 1 }, .want = KXDP_FOREIGN,
	  .filter = FILTER_PASS_PROTOCOL },
	{ "IPv4, header checksum wrong", .payload_len = 40, .spoil = { AT_IP, 10, 0x01 }, .want = KXDP_BAD_IP_CHECKSUM },
	{ "IPv4, TTL spoilt", .payload_len = 40, .spoil = { AT_IP, 8, 0x80 }, .want = KXDP_BAD_IP_CHECKSUM },
	{ "IPv4, option spoilt", .payload_len = 40, .extra = "01010100", .spoil = { AT_IP, 23, 1 }, .want = KXDP_BAD_IP_CHECKSUM },
	{ "IPv4, UDP checksum wrong", .payload_len = 40, .spoil = { AT_UDP, 7, 0x01 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv4, port spoilt", .payload_len = 40, .spoil = { AT_UDP, 1, 0x10 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv4, last byte spoilt", .payload_len = 31, .spoil = { AT_PAYLOAD, 30, 0x80 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv4, padding is not summed", .payload_len = 1, .padding = 9, .spoil = { AT_PAYLOAD, 5, 0xFF } },
	{ "IPv4, UDP length too long", .payload_len = 40, .set = { AT_UDP, 5, 49 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, UDP length too short for its checksum", .payload_len = 40, .set = { AT_UDP, 5, 47 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv4, UDP length below its header", .payload_len = 40, .set = { AT_UDP, 5, 7 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, surplus of 8 bytes", .payload_len = 40, .surplus = 8 },
	{ "IPv4, surplus of a byte, odd payload", .payload_len = 31, .surplus = 1 },
	{ "IPv4, surplus and padding", .payload_len = 5, .surplus = 4, .padding = 9 },
	{ "IPv4, surplus behind an empty datagram", .payload_len = 0, .surplus = 20 },
	{ "IPv4, surplus, no UDP checksum", .payload_len = 33, .surplus = 3, .no_checksum = true },
	{ "IPv4, surplus, UDP checksum wrong", .payload_len = 40, .surplus = 8, .spoil = { AT_UDP, 7, 0x01 },
	  .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv4, surplus spoilt, which no checksum covers", .payload_len = 40, .surplus = 8, .spoil = { AT_PAYLOAD, 41, 0xFF } },
	{ "IPv4, UDP length 0", .payload_len = 40, .set = { AT_UDP, 5, 0 }, .want = KXDP_BAD_LENGTH },
	{ "IPv4, from 0.0.0.0/8", .payload_len = 40, .set = { AT_IP, 12, 0 }, .want = KXDP_BAD_ADDRESS },
	{ "IPv4, from loopback", .payload_len = 40, .set = { AT_IP, 12, 127 }, .want = KXDP_BAD_ADDRESS },
	{ "IPv4, from multicast", .payload_len = 40, .set = { AT_IP, 12, 239 }, .want = KXDP_BAD_ADDRESS },
	{ "IPv4, to multicast", .payload_len = 40, .set = { AT_IP, 16, 224 }, .want = KXDP_BAD_ADDRESS },
	{ "IPv4, to a group MAC", .payload_len = 40, .set = { AT_FRAME, 0, 3 }, .want = KXDP_BAD_ADDRESS,
	  .filter = FILTER_PASS_GROUP },
	{ "IPv4, from a group MAC", .payload_len = 40, .set = { AT_FRAME, 6, 3 }, .want = KXDP_BAD_ADDRESS },
	{ "ARP", .payload_len = 20, .set = { AT_FRAME, 13, 0x06 }, .want = KXDP_FOREIGN,
	  .filter = FILTER_PASS_NOT_IP },
	{ "IPv4 behind the type of IPv6", .payload_len = 40, .set = { AT_FRAME, 12, 0x86 }, .spoil = { AT_FRAME, 13, 0xDD },
	  .want = KXDP_BAD_HEADER, .filter = FILTER_PASS_MALFORMED },
	{ "tag cut", .tags = "8100 0005", .cut = 8 + 20 + 1, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },

	{ "IPv6", .v6 = true, .payload_len = 40 },
	{ "IPv6, no payload", .v6 = true, .payload_len = 0 },
	{ "IPv6, odd payload", .v6 = true, .payload_len = 31 },
	{ "IPv6, surplus of 8 bytes", .v6 = true, .payload_len = 40, .surplus = 8 },
	{ "IPv6, surplus behind extension headers", .v6 = true, .payload_len = 31, .surplus = 11, .first_next = 60, .extra = PADN_8 },
	{ "IPv6, surplus, no UDP checksum", .v6 = true, .payload_len = 40, .surplus = 8, .no_checksum = true,
	  .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv6, two tags", .v6 = true, .payload_len = 40, .tags = "88A8 0001 8100 0002" },
	{ "IPv6, padded", .v6 = true, .payload_len = 4, .padding = 7 },
	{ "IPv6, payload of a full MTU", .v6 = true, .payload_len = MTU - 48 },
	{ "IPv6, no UDP checksum", .v6 = true, .payload_len = 40, .no_checksum = true, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv6, checksum left to the device", .v6 = true, .payload_len = 40, .partial_checksum = true,
	  .want = KXDP_PARTIAL_CHECKSUM },
	{ "IPv6, hop-by-hop options", .v6 = true, .payload_len = 40, .first_next = 0, .extra = PADN_8 },
	{ "IPv6, hop-by-hop, destination options, router alert", .v6 = true, .payload_len = 40, .first_next = 0,
	  .extra = "3C 00 0502 0000 0100" "11 01 01 0C 000000000000000000000000", .tags = "8100 0001" },
	{ "IPv6, destination options of 24 bytes", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "11 02 00 00 00 01 11 0000000000000000000000000000000000" },
	{ "IPv6, routing header, no segments left", .v6 = true, .payload_len = 40, .first_next = 43, .extra = "11 00 04 00 00000000" },
	{ "IPv6, routing header, a segment left", .v6 = true, .payload_len = 40, .first_next = 43,
	  .extra = "11 00 04 01 00000000", .want = KXDP_BAD_HEADER,
	  .filter = FILTER_PASS_HEADER },
	{ "IPv6, unknown option to be skipped", .v6 = true, .payload_len = 40, .first_next = 60, .extra = "11 00 1E 04 00000000" },
	{ "IPv6, unknown option to be refused", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "11 00 5E 04 00000000", .want = KXDP_BAD_HEADER },
	{ "IPv6, option longer than its header", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "11 00 01 05 00000000", .want = KXDP_BAD_HEADER },
	{ "IPv6, hop-by-hop not first", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "00 00 01 04 00000000" PADN_8, .want = KXDP_BAD_HEADER },
	{ "IPv6, eight extension headers", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000"
	           "3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000" PADN_8 },
	{ "IPv6, nine extension headers", .v6 = true, .payload_len = 40, .first_next = 60,
	  .extra = "3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000"
	           "3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000 3C 00 01 04 00000000" PADN_8,
	  .want = KXDP_BAD_HEADER,
	  .filter = FILTER_PASS_HEADER },
	{ "IPv6, fragment", .v6 = true, .payload_len = 40, .first_next = 44, .extra = "11 00 0001 00000007", .want = KXDP_FRAGMENT,
	  .filter = FILTER_PASS_FRAGMENT },
	{ "IPv6, atomic fragment", .v6 = true, .payload_len = 40, .first_next = 44, .extra = "11 00 0000 00000007",
	  .want = KXDP_FRAGMENT,
	  .filter = FILTER_PASS_FRAGMENT },
	{ "IPv6, authentication header", .v6 = true, .payload_len = 40, .first_next = 51, .extra = PADN_8, .want = KXDP_FOREIGN,
	  .filter = FILTER_PASS_HEADER },
	{ "IPv6, no next header", .v6 = true, .payload_len = 40, .set = { AT_IP, 6, 59 }, .want = KXDP_FOREIGN,
	  .filter = FILTER_PASS_PROTOCOL },
	{ "IPv6, extension header beyond the packet", .v6 = true, .payload_len = 0, .first_next = 60,
	  .extra = "11 02 01 04 00000000", .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv6, extension header is all there is", .v6 = true, .first_next = 60, .extra = PADN_8, .cut = 8,
	  .set = { AT_IP, 5, 8 }, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv6, cut in the extension header", .v6 = true, .first_next = 60, .extra = PADN_8, .cut = 9,
	  .set = { AT_IP, 5, 7 }, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv6, version 4", .v6 = true, .payload_len = 40, .set = { AT_IP, 0, 0x40 }, .want = KXDP_BAD_HEADER,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv6, payload length 0 (jumbogram)", .v6 = true, .payload_len = 40, .set = { AT_IP, 5, 0 }, .want = KXDP_BAD_LENGTH },
	{ "IPv6, payload length beyond the frame", .v6 = true, .payload_len = 40, .set = { AT_IP, 5, 49 }, .want = KXDP_BAD_LENGTH },
	{ "IPv6, cut in the IP header", .v6 = true, .cut = 9, .want = KXDP_BAD_LENGTH,
	  .filter = FILTER_PASS_MALFORMED },
	{ "IPv6, payload spoilt", .v6 = true, .payload_len = 40, .spoil = { AT_PAYLOAD, 39, 1 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv6, address spoilt", .v6 = true, .payload_len = 40, .spoil = { AT_IP, 20, 1 }, .want = KXDP_BAD_UDP_CHECKSUM },
	{ "IPv6, from multicast", .v6 = true, .payload_len = 40, .set = { AT_IP, 8, 0xFF }, .want = KXDP_BAD_ADDRESS },
	{ "IPv6, to multicast", .v6 = true, .payload_len = 40, .set = { AT_IP, 24, 0xFF }, .want = KXDP_BAD_ADDRESS },
};

#define PADN_8_TCP "06 00 01 04 00000000"

/* What is different with TCP. */
static const row_t tcp_rows[] = {
	{ "TCP4", .tcp = true, .payload_len = 40 },
	{ "TCP4, no payload", .tcp = true },
	{ "TCP4, no payload, padded", .tcp = true, .padding = 6 },
	{ "TCP4, odd payload", .tcp = true, .payload_len = 31 },
	{ "TCP4, options of TCP", .tcp = true, .payload_len = 17, .tcp_options = "0101080A0102030405060708" },
	{ "TCP4, longest header", .tcp = true, .payload_len = 9, .tags = "8100 0005",
	  .tcp_options = "0204 05B4 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0101 0100" },
	{ "TCP4, options of IP", .tcp = true, .payload_len = 40, .extra = "01010100" },
	{ "TCP4, two tags", .tcp = true, .payload_len = 40, .tags = "88A8 0001 8100 0002" },
	{ "TCP4, payload of a full MTU", .tcp = true, .payload_len = MTU - 40 },
	{ "TCP4, checksum left to the device", .tcp = true, .payload_len = 33, .partial_checksum = true,
	  .want = KXDP_PARTIAL_CHECKSUM },
	{ "TCP4, no checksum", .tcp = true, .payload_len = 33, .no_checksum = true, .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP4, checksum wrong", .tcp = true, .payload_len = 40, .spoil = { AT_TCP, 17, 1 }, .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP4, sequence number spoilt", .tcp = true, .payload_len = 40, .spoil = { AT_TCP, 4, 0x80 },
	  .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP4, last byte spoilt", .tcp = true, .payload_len = 31, .spoil = { AT_PAYLOAD, 30, 0x80 },
	  .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP4, padding is not summed", .tcp = true, .payload_len = 1, .padding = 5, .spoil = { AT_PAYLOAD, 3, 0xFF } },
	{ "TCP4, cut in the header", .tcp = true, .set = { AT_IP, 3, 39 }, .want = KXDP_BAD_LENGTH },
	{ "TCP4, data offset below the header", .tcp = true, .payload_len = 40, .set = { AT_TCP, 12, 0x40 },
	  .want = KXDP_BAD_LENGTH },
	{ "TCP4, data offset beyond the segment", .tcp = true, .payload_len = 3, .set = { AT_TCP, 12, 0x60 },
	  .want = KXDP_BAD_LENGTH },
	{ "TCP4, first fragment", .tcp = true, .payload_len = 40, .set = { AT_IP, 6, 0x20 }, .want = KXDP_FRAGMENT,
	  .filter = FILTER_PASS_FRAGMENT },
	{ "TCP4, from multicast", .tcp = true, .payload_len = 40, .set = { AT_IP, 12, 239 }, .want = KXDP_BAD_ADDRESS },
	{ "TCP4, to a group MAC", .tcp = true, .payload_len = 40, .set = { AT_FRAME, 0, 3 }, .want = KXDP_BAD_ADDRESS,
	  .filter = FILTER_PASS_GROUP },
	{ "TCP6", .tcp = true, .v6 = true, .payload_len = 40 },
	{ "TCP6, no payload", .tcp = true, .v6 = true },
	{ "TCP6, odd payload", .tcp = true, .v6 = true, .payload_len = 31, .padding = 3 },
	{ "TCP6, one tag, options of TCP", .tcp = true, .v6 = true, .payload_len = 40, .tags = "8100 0005",
	  .tcp_options = "020405A0 01030307" },
	{ "TCP6, hop-by-hop options", .tcp = true, .v6 = true, .payload_len = 40, .first_next = 0, .extra = PADN_8_TCP },
	{ "TCP6, payload of a full MTU", .tcp = true, .v6 = true, .payload_len = MTU - 60 },
	{ "TCP6, checksum left to the device", .tcp = true, .v6 = true, .payload_len = 33, .partial_checksum = true,
	  .want = KXDP_PARTIAL_CHECKSUM },
	{ "TCP6, no checksum", .tcp = true, .v6 = true, .payload_len = 33, .no_checksum = true,
	  .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP6, payload spoilt", .tcp = true, .v6 = true, .payload_len = 40, .spoil = { AT_PAYLOAD, 39, 1 },
	  .want = KXDP_BAD_TCP_CHECKSUM },
	{ "TCP6, cut in the header", .tcp = true, .v6 = true, .set = { AT_IP, 5, 19 }, .want = KXDP_BAD_LENGTH },
	{ "TCP6, data offset beyond the segment", .tcp = true, .v6 = true, .payload_len = 3, .set = { AT_TCP, 12, 0xF0 },
	  .want = KXDP_BAD_LENGTH },
	{ "TCP6, fragment", .tcp = true, .v6 = true, .payload_len = 40, .first_next = 44, .extra = "06 00 0001 00000007",
	  .want = KXDP_FRAGMENT, .filter = FILTER_PASS_FRAGMENT },
};
/* clang-format on */
