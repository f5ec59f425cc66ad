/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/frame.h"

#include "libknot/base/bytes.h"
#include "xdp/checksum.h"

#include <assert.h>

enum {
	MAC_LEN = 6,
	ETHER_LEN = 14,           /* without tags */
	VLAN_LEN = 4,
	VLAN_MAX = 2,
	ETHER_MIN = 60,           /* IEEE 802.3 minimum without FCS */
	ETHERTYPE_OFF = 12,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86DD,
	TYPE_CTAG = 0x8100,       /* IEEE 802.1Q */
	TYPE_STAG = 0x88A8,
	IPV4_LEN = 20,            /* without options */
	IPV6_LEN = 40,
	UDP_LEN = 8,
	HOP_LIMIT = 64,           /* RFC 1700's default, as Linux sends */
	EXT_MAX = 8,              /* IPv6 extension headers walked; real packets have 0 to 2 */
	IPV4_FRAGMENT_BITS = 0x3FFF,   /* more-fragments flag and offset */
	IPV4_OPT_END = 0, IPV4_OPT_NOP = 1, IPV4_OPT_LSRR = 131, IPV4_OPT_SSRR = 137,
	IPV6_OPT_PAD1 = 0, IPV6_OPT_ACTION = 0xC0,
};

#define VERDICT_NAME(name, text) [name] = text,
static const char *const verdict_names[KXDP_VERDICT_COUNT] = { KXDP_VERDICTS(VERDICT_NAME) };

const char *kxdp_verdict_name(kxdp_verdict_t verdict)
{
	return (unsigned)verdict < KXDP_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

/* Where things are in a frame whose IP header is in order. */
typedef struct {
	uint8_t *udp;
	size_t udp_room;          /* bytes of IP payload from `udp` on */
	uint64_t address_sum;     /* of both addresses */
	bool is_ipv6;
	uint8_t ecn;
} datagram_t;

/* Source routes are refused as the kernel refuses them by default (RFC 7126 4.3, 4.4); what else is there only has to be well-formed. */
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
	uint8_t first = addr[0];
	return first == 0 || first == 127 || (first & 0xF0) == 0xE0 || load_raw32(addr) == 0xFFFFFFFF;
}

static kxdp_verdict_t parse_ipv4(uint8_t *ip, size_t len, datagram_t *ret)
{
	if (len < IPV4_LEN) {
		return KXDP_BAD_LENGTH;
	}
	size_t header_len = (ip[0] & 0x0F) * 4u;
	if (ip[0] >> 4 != 4 || header_len < IPV4_LEN) {
		return KXDP_BAD_HEADER;
	}
	size_t total_len = load_be16(ip + 2);
	if (total_len < header_len || total_len > len) {
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
	if (ip[9] != IPPROTO_UDP) {
		return KXDP_FOREIGN;
	}
	if (header_len > IPV4_LEN && !ipv4_options_ok(ip + IPV4_LEN, ip + header_len)) {
		return KXDP_BAD_HEADER;
	}
	if (ipv4_unusable(ip + 12) || ipv4_unusable(ip + 16)) {
		return KXDP_BAD_ADDRESS;
	}
	*ret = (datagram_t){ .udp = ip + header_len, .udp_room = total_len - header_len, .address_sum = address_sum,
	                     .is_ipv6 = false, .ecn = ip[1] & 3 };
	return KXDP_OK;
}

/* Options of a hop-by-hop or destination-options header: an unknown one says by its top bits whether to skip it (RFC 8200 4.2). */
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

/* Walk to the UDP header: *io_header and *io_len move from the first header after the fixed one to it. RFC 8200 4 */
static kxdp_verdict_t skip_extensions(unsigned next, uint8_t **io_header, size_t *io_len)
{
	uint8_t *header = *io_header;
	size_t len = *io_len;
	for (unsigned walked = 0; next != IPPROTO_UDP; walked++) {
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
		bool ok = next == IPPROTO_ROUTING ? header[3] == 0   /* no segments left: we are the last hop */
		                                  : ipv6_options_ok(header + 2, header + header_len);
		if (!ok) {
			return KXDP_BAD_HEADER;
		}
		next = header[0];
		header += header_len;
		len -= header_len;
	}
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

static kxdp_verdict_t parse_ipv6(uint8_t *ip, size_t len, datagram_t *ret)
{
	if (len < IPV6_LEN) {
		return KXDP_BAD_LENGTH;
	}
	if (ip[0] >> 4 != 6) {
		return KXDP_BAD_HEADER;
	}
	size_t payload_len = load_be16(ip + 4);
	if (payload_len > len - IPV6_LEN) {
		return KXDP_BAD_LENGTH;
	}
	uint8_t *udp = ip + IPV6_LEN;
	unsigned next = ip[6];
	if (next != IPPROTO_UDP) {
		kxdp_verdict_t verdict = skip_extensions(next, &udp, &payload_len);
		if (verdict != KXDP_OK) {
			return verdict;
		}
	}
	if (ipv6_unusable(ip + 8) || ipv6_unusable(ip + 24)) {
		return KXDP_BAD_ADDRESS;
	}
	uint64_t source = checksum_add(load_raw64(ip + 8), load_raw64(ip + 16));
	uint64_t destination = checksum_add(load_raw64(ip + 24), load_raw64(ip + 32));
	*ret = (datagram_t){ .udp = udp, .udp_room = payload_len, .address_sum = checksum_add(source, destination),
	                     .is_ipv6 = true, .ecn = ip[1] >> 4 & 3 };
	return KXDP_OK;
}

/* Protocol number and UDP length: what the pseudo header has besides the addresses. RFC 768, RFC 8200 8.1 */
static uint64_t pseudo_rest(uint16_t udp_len_be)
{
	return (uint64_t)htons(IPPROTO_UDP) + udp_len_be;
}

static kxdp_verdict_t verify_udp(const datagram_t *d)
{
	if (d->udp_room < UDP_LEN || load_be16(d->udp + 4) != d->udp_room) {
		return KXDP_BAD_LENGTH;
	}
	uint16_t checksum = load_raw16(d->udp + 6);
	if (checksum == 0) {
		return d->is_ipv6 ? KXDP_BAD_UDP_CHECKSUM : KXDP_OK;   /* RFC 768; RFC 8200 8.1 */
	}
	uint64_t pseudo = checksum_add(d->address_sum, pseudo_rest(load_raw16(d->udp + 4)));
	if (checksum_fold(checksum_bytes(pseudo, d->udp, d->udp_room)) == 0xFFFF) {
		return KXDP_OK;
	}
	return checksum == checksum_fold(pseudo) ? KXDP_PARTIAL_CHECKSUM : KXDP_BAD_UDP_CHECKSUM;
}

static void fill_addresses(kxdp_packet_t *p, const uint8_t *ip, const uint8_t *udp)
{
	in_port_t remote_port_be = load_raw16(udp), local_port_be = load_raw16(udp + 2);
	if (p->is_ipv6) {
		p->remote.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = remote_port_be };
		p->local.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = local_port_be };
		memcpy(&p->remote.in6.sin6_addr, ip + 8, 16);
		memcpy(&p->local.in6.sin6_addr, ip + 24, 16);
	} else {
		p->remote.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = remote_port_be,
		                                     .sin_addr.s_addr = load_raw32(ip + 12) };
		p->local.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = local_port_be,
		                                    .sin_addr.s_addr = load_raw32(ip + 16) };
	}
}

static uint16_t payload_room(const kxdp_packet_t *p, uint16_t mtu)
{
	size_t headers_len = (p->is_ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN;
	size_t by_mtu = mtu > headers_len ? mtu - headers_len : 0;
	size_t by_frame = p->frame_room - (size_t)(p->payload - p->frame);
	return (uint16_t)(by_mtu < by_frame ? by_mtu : by_frame);
}

kxdp_verdict_t kxdp_frame_parse(uint8_t *frame, size_t len, size_t room, uint16_t mtu, kxdp_packet_t *ret_packet)
{
	assert(len <= room && room <= UINT16_MAX);
	if (len < ETHER_LEN) {
		return KXDP_BAD_LENGTH;
	}
	unsigned ether_type = load_be16(frame + ETHERTYPE_OFF);
	size_t off = ETHER_LEN;
	unsigned vlan_count = 0, vlan_id = 0;
	while (ether_type == TYPE_CTAG || ether_type == TYPE_STAG) {
		if (vlan_count == VLAN_MAX) {
			return KXDP_FOREIGN;
		}
		if (len - off < VLAN_LEN) {
			return KXDP_BAD_LENGTH;
		}
		vlan_id = load_be16(frame + off) & 0x0FFF;
		ether_type = load_be16(frame + off + 2);
		off += VLAN_LEN;
		vlan_count++;
	}

	datagram_t d;
	kxdp_verdict_t verdict;
	if (ether_type == TYPE_IPV4) {
		verdict = parse_ipv4(frame + off, len - off, &d);
	} else if (ether_type == TYPE_IPV6) {
		verdict = parse_ipv6(frame + off, len - off, &d);
	} else {
		return KXDP_FOREIGN;
	}
	if (verdict != KXDP_OK) {
		return verdict;
	}
	verdict = verify_udp(&d);
	if (verdict != KXDP_OK && verdict != KXDP_PARTIAL_CHECKSUM) {
		return verdict;
	}
	/* A group address can't become a source (IEEE 802 8.2), port 0 means: no reply wanted (RFC 768). */
	if (((frame[0] | frame[MAC_LEN]) & 1) != 0 || load_raw16(d.udp) == 0) {
		return KXDP_BAD_ADDRESS;
	}
	kxdp_packet_t *p = ret_packet;
	p->is_ipv6 = d.is_ipv6;
	p->ecn = d.ecn;
	p->frame = frame;
	p->frame_len = (uint16_t)len;
	p->frame_room = (uint16_t)room;
	p->ip_off = (uint16_t)off;
	p->vlan_count = (uint8_t)vlan_count;
	p->vlan_id = (uint16_t)vlan_id;
	p->ip_proto = IPPROTO_UDP;
	p->payload = d.udp + UDP_LEN;
	p->payload_len = (uint16_t)(d.udp_room - UDP_LEN);
	p->payload_max = payload_room(p, mtu);
	fill_addresses(p, frame + off, d.udp);
	return verdict;
}

/* The Ethernet header with its tags, turned round, in front of the IP header at `ip`. Source and target may overlap. */
static uint8_t *reply_ethernet(const kxdp_packet_t *p, uint8_t *ip)
{
	uint8_t *start = ip - p->ip_off;
	const uint8_t *from = p->frame;
	uint64_t to_from = load_raw64(from);
	uint32_t from_rest = load_raw32(from + 8);
	if (start != from) {
		memmove(start + ETHERTYPE_OFF, from + ETHERTYPE_OFF, p->ip_off - ETHERTYPE_OFF);
	}
	uint8_t macs[2 * MAC_LEN];
	memcpy(macs, &to_from, sizeof(to_from));
	memcpy(macs + sizeof(to_from), &from_rest, sizeof(from_rest));
	memcpy(start, macs + MAC_LEN, MAC_LEN);
	memcpy(start + MAC_LEN, macs, MAC_LEN);
	return start;
}

/* Both return the sum of the two addresses. */
static uint64_t reply_ipv4(const kxdp_packet_t *p, uint8_t *ip, size_t udp_len)
{
	uint32_t source = p->local.in.sin_addr.s_addr, destination = p->remote.in.sin_addr.s_addr;
	uint64_t address_sum = (uint64_t)source + destination;
	ip[0] = 0x45;
	ip[1] = p->ecn;
	store_be16(ip + 2, (uint16_t)(IPV4_LEN + udp_len));
	memset(ip + 4, 0, 4);             /* id, flags, offset */
	ip[8] = HOP_LIMIT;
	ip[9] = IPPROTO_UDP;
	uint32_t words = htons((uint16_t)(0x4500 | p->ecn));
	words += htons((uint16_t)(IPV4_LEN + udp_len));
	words += htons(HOP_LIMIT << 8 | IPPROTO_UDP);
	uint16_t checksum = (uint16_t)~checksum_fold(address_sum + words);
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
	return checksum_bytes(0, ip + 8, 32);
}

size_t kxdp_frame_reply(const kxdp_packet_t *p, size_t payload_len, uint8_t **ret_start)
{
	assert(payload_len <= p->payload_max);
	size_t ip_len = p->is_ipv6 ? IPV6_LEN : IPV4_LEN;
	size_t udp_len = UDP_LEN + payload_len;
	uint8_t *udp = p->payload - UDP_LEN;
	uint8_t *ip = udp - ip_len;       /* options and extension headers fall away: never in front of the old header */
	uint8_t *start = reply_ethernet(p, ip);
	uint64_t address_sum = p->is_ipv6 ? reply_ipv6(p, ip, udp_len) : reply_ipv4(p, ip, udp_len);

	uint16_t ports[2] = { p->local.in.sin_port, p->remote.in.sin_port };   /* at the same place in in6 */
	memcpy(udp, ports, 4);
	store_be16(udp + 4, (uint16_t)udp_len);
	memset(udp + 6, 0, 2);
	uint64_t pseudo = checksum_add(address_sum, pseudo_rest(htons((uint16_t)udp_len)));
	uint16_t checksum = (uint16_t)~checksum_fold(checksum_bytes(pseudo, udp, udp_len));
	if (checksum == 0) {
		checksum = 0xFFFF;        /* 0 would say: none (RFC 768) */
	}
	memcpy(udp + 6, &checksum, 2);

	size_t len = p->ip_off + ip_len + udp_len;
	size_t room = p->frame_room - (size_t)(start - p->frame);
	size_t padded = room < ETHER_MIN ? room : ETHER_MIN;
	if (len < padded) {
		memset(start + len, 0, padded - len);
		len = padded;
	}
	*ret_start = start;
	return len;
}
