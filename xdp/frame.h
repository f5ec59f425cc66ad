/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Ethernet frames with one UDP datagram or TCP segment: taken apart and verified, turned into the reply in place, or
 * built around bytes to be sent.
 *
 * Pure: bytes in, bytes out; no socket, no ring, no state; safe from any thread. Ethernet II, up to two VLAN tags
 * (0x8100, 0x88a8), IPv4 with options, IPv6 with hop-by-hop, routing and destination options, UDP, TCP. Nothing of what
 * a peer sends is trusted: lengths are strict and checksums are verified, a packet that fails has a verdict instead of
 * a reply. What is in a TCP header but ports and checksum: tcp/segment.h. RFC 768, 791, 1122 3.2.1.3, 6864,
 * 7126 4.3–4.4, 8200, 9293 3.1; checksums RFC 1071.
 *
 * What is sent has TTL and hop limit 64 and, over IPv4, the don't-fragment bit clear: no ICMP reaches the code that
 * sends, so a router with a smaller MTU had better fragment than complain. UDP has id 0 (answers that are small enough
 * to need no fragments, RFC 9715). TCP segments have their TCP checksum as id. RFC 6864 4.3 wants the ids of
 * datagrams that may be fragmented to differ for minutes, which 16 bits can't keep at our rates anyway; so, without
 * a counter, two segments on their way together have the same id with probability 2^-16, and their fragments put
 * together wrongly pass the TCP checksum with the same probability again.
 */
#pragma once

#include "xdp/path.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What became of a received frame: one row per verdict {enum, name in statistics}. */
/* clang-format off */
#define KXDP_VERDICTS(ROW) \
	ROW(KXDP_OK, "ok")                        /* a whole, verified datagram or segment */ \
	ROW(KXDP_FOREIGN, "foreign")              /* not IP, neither UDP nor TCP: the kernel program should have kept it */ \
	ROW(KXDP_FRAGMENT, "fragment")            /* first, middle or last; also an atomic IPv6 fragment */ \
	ROW(KXDP_BAD_LENGTH, "bad-length")        /* cut short, or lengths that contradict each other */ \
	ROW(KXDP_BAD_HEADER, "bad-header")        /* version, refused options or routing header, option area malformed */ \
	ROW(KXDP_BAD_ADDRESS, "bad-address")      /* can't be replied to: multicast, loopback, unspecified, port 0 */ \
	ROW(KXDP_BAD_IP_CHECKSUM, "bad-ip-checksum") \
	ROW(KXDP_BAD_UDP_CHECKSUM, "bad-udp-checksum")   /* also: zero over IPv6 */ \
	ROW(KXDP_BAD_TCP_CHECKSUM, "bad-tcp-checksum") \
	ROW(KXDP_PARTIAL_CHECKSUM, "partial-checksum")   /* left to a device that never computed it, see below */

#define KXDP_VERDICT_ENUM(name, text) name,
typedef enum {
	KXDP_VERDICTS(KXDP_VERDICT_ENUM)
	KXDP_VERDICT_COUNT,
} kxdp_verdict_t;
/* clang-format on */

/** "ok", "bad-length" …; static. */
const char *kxdp_verdict_name(kxdp_verdict_t verdict);

typedef union {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} kxdp_addr_t;

/** Protocol and family, for counting. UDP or TCP, plus 1 for IPv6. */
typedef enum {
	KXDP_UDP4,
	KXDP_UDP6,
	KXDP_TCP4,
	KXDP_TCP6,
	KXDP_OTHER_KIND, /* too malformed to say */
	KXDP_KIND_COUNT,
} kxdp_kind_t;

/** "udp4" …, "other"; static. */
const char *kxdp_kind_name(kxdp_kind_t kind);

enum {
	KXDP_HEADERS_MAX = 62, /* bytes in front of a UDP or TCP header: Ethernet, two tags, IPv6 */
	KXDP_FRAME_MIN = 60,   /* IEEE 802.3 minimum without FCS */
	KXDP_REPLY_HEADROOM =
			16, /* bytes in front of a received frame that its reply may need: a route has more tags */
};

/** A received datagram or segment, and all that its reply needs. Everything it points to lies in the frame. */
typedef struct {
	uint8_t *payload;     /* UDP: the datagram's payload; the reply's payload is written to the same place. TCP: the
				 segment, from its header on */
	uint16_t payload_len; /* bytes received */
	uint16_t payload_max; /* room for the reply's payload: neither the frame nor the MTU is exceeded; may be <
				 payload_len; TCP: 0 */
	bool is_ipv6;
	bool is_routed; /* the reply takes `path`; else simply the way that the packet came, to the MAC it came from */
	uint8_t kind;   /* kxdp_kind_t, see kxdp_packet_kind() */
	uint8_t ip_proto;    /* IPPROTO_UDP or IPPROTO_TCP */
	uint8_t ecn;         /* the two bits of RFC 3168, as received; a reply carries them back */
	uint8_t vlan_count;  /* tags in front of the IP header, 0–2; a reply that isn't routed keeps them */
	uint16_t vlan_id;    /* of the inner tag, 0–4095; 0 without a tag */
	kxdp_addr_t remote;  /* source address and port; scope id 0 */
	kxdp_addr_t local;   /* destination address and port */
	uint8_t *frame;      /* the Ethernet header */
	uint16_t frame_len;  /* bytes received, with Ethernet header and padding */
	uint16_t frame_room; /* bytes that may be written */
	uint16_t ip_off;     /* IP header's offset in the frame: 14, 18 or 22 */
	/* The reply's way. path.via always holds; the rest for TCP, and for UDP that is routed (kxdp_packet_path()
	 * gives it for all). The caller may change it before the reply is made, and set is_routed. */
	kxdp_path_t path;
	kxdp_flow_t flow; /* TCP only; kxdp_packet_flow() gives it for all */
} kxdp_packet_t;

/** For counting. */
static inline kxdp_kind_t kxdp_packet_kind(const kxdp_packet_t *packet)
{
	return packet->kind;
}

/**
 * Take a received frame apart.
 *
 * frame[0..len): received bytes. frame[0..room): writable memory the reply may grow into (len <= room <= 65535).
 * mtu: of the interface, bytes of IP packet; what payload_max is computed from.
 * ret_packet: written when the verdict is KXDP_OK or KXDP_PARTIAL_CHECKSUM, else untouched. Of TCP path is the
 * way back, KXDP_VIA_SAME with ifindex 0 and mtu as given.
 *
 * KXDP_PARTIAL_CHECKSUM: a kernel that sends to a virtual device (veth, tap, virtio) leaves UDP and TCP checksums to
 * the device and writes the sum of the pseudo header in its place. When no hardware follows, the packet arrives like
 * that. The value is recognized exactly, all else is verified; the caller decides whether that is good enough on its
 * link.
 */
kxdp_verdict_t kxdp_frame_parse(uint8_t *frame, size_t len, size_t room, uint16_t mtu, kxdp_packet_t *ret_packet);

/** Kind of any frame, as far as its headers let one see: for counting those that failed. */
kxdp_kind_t kxdp_frame_kind(const uint8_t *frame, size_t len);

/** The two ends. */
kxdp_flow_t kxdp_packet_flow(const kxdp_packet_t *packet);

/** The reply's way: packet->path if it is routed, else back to where the frame came from, ifindex and mtu 0. */
kxdp_path_t kxdp_packet_path(const kxdp_packet_t *packet);

/**
 * Turn the frame of a UDP `packet` into the reply: MAC addresses, IP addresses and ports swapped, VLAN tags kept (or
 * MAC addresses and tags as packet->path says, if it is routed), IPv4 without options, id 0, fragmentable, TTL 64, IPv6
 * without extension headers, hop limit 64, flow label 0, TOS and traffic class only ECN, header and UDP checksums
 * filled in.
 *
 * payload_len: bytes that the caller wrote to packet->payload, 0 to packet->payload_max.
 * ret_start: the reply's first byte; at packet->frame or (when options fell away) behind it; up to KXDP_REPLY_HEADROOM
 * bytes in front of it when it is routed, which must be writable then.
 * Returns the reply's length, padded with zeros to 60 bytes (IEEE 802.3 minimum without FCS) if the frame has room for
 * that.
 */
size_t kxdp_frame_reply(const kxdp_packet_t *packet, size_t payload_len, uint8_t **ret_start);

/** The same, but only the IP packet: to be sent through the kernel. ret_start: the IP header. Returns its length. */
size_t kxdp_frame_reply_ip(const kxdp_packet_t *packet, size_t payload_len, uint8_t **ret_start);

/**
 * Put headers around what is to be sent from flow->local to flow->remote: Ethernet with tags as `path` says, IPv4 or
 * IPv6 without options, and the checksum of IP header and transport[0..len).
 *
 * transport[0..len): UDP or TCP header with payload, everything in it filled in but the checksum. The KXDP_HEADERS_MAX
 * bytes in front must be writable, and behind it as many as make the frame KXDP_FRAME_MIN bytes long.
 * ip_proto: IPPROTO_UDP or IPPROTO_TCP. ecn: 0–3. len: at most 65,535 less the IPv4 header.
 * ret_start: the frame's first byte. Returns its length, padded with zeros to 60 bytes.
 */
size_t kxdp_frame_build(const kxdp_path_t *path, const kxdp_flow_t *flow, uint8_t ip_proto, uint8_t ecn,
		uint8_t *transport, size_t len, uint8_t **ret_start);

/** The same, but only the IP packet, without padding: to be sent through the kernel. ret_start: the IP header. */
size_t kxdp_frame_build_ip(const kxdp_flow_t *flow, uint8_t ip_proto, uint8_t ecn, uint8_t *transport, size_t len,
		uint8_t **ret_start);

/** True: an IPv4 address written as an IPv6 one, ::ffff:a.b.c.d. */
bool kxdp_flow_is_ipv4(const kxdp_flow_t *flow);
