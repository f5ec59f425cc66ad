/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Ethernet frames with one UDP datagram: taken apart and verified, and turned into the reply in place.
 *
 * Pure: bytes in, bytes out; no socket, no ring, no state; safe from any thread. Ethernet II, up to two VLAN tags
 * (0x8100, 0x88a8), IPv4 with options, IPv6 with hop-by-hop, routing and destination options, UDP. Nothing of what a
 * peer sends is trusted: lengths are strict and checksums are verified, a packet that fails has a verdict instead of a
 * reply. RFC 768, 791, 1122 3.2.1.3, 6864, 7126 4.3–4.4, 8200; checksums RFC 1071.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What became of a received frame: one row per verdict {enum, name in statistics}. */
/* clang-format off */
#define KXDP_VERDICTS(ROW) \
	ROW(KXDP_OK, "ok")                        /* a whole, verified datagram */ \
	ROW(KXDP_FOREIGN, "foreign")              /* not IP, not UDP: the kernel program should have kept it */ \
	ROW(KXDP_FRAGMENT, "fragment")            /* first, middle or last; also an atomic IPv6 fragment */ \
	ROW(KXDP_BAD_LENGTH, "bad-length")        /* cut short, or lengths that contradict each other */ \
	ROW(KXDP_BAD_HEADER, "bad-header")        /* version, refused options or routing header, option area malformed */ \
	ROW(KXDP_BAD_ADDRESS, "bad-address")      /* can't be replied to: multicast, loopback, unspecified, port 0 */ \
	ROW(KXDP_BAD_IP_CHECKSUM, "bad-ip-checksum") \
	ROW(KXDP_BAD_UDP_CHECKSUM, "bad-udp-checksum")   /* also: zero over IPv6 */ \
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

/** A received datagram, and all that its reply needs. Everything it points to lies in the frame. */
typedef struct {
	uint8_t *payload;     /* the datagram's payload; the reply's payload is written to the same place */
	uint16_t payload_len; /* bytes received */
	uint16_t payload_max; /* room for the reply's payload: neither the frame nor the MTU is exceeded; may be <
				 payload_len */
	bool is_ipv6;
	uint8_t ecn;         /* the two bits of RFC 3168, as received; a reply carries them back */
	uint8_t vlan_count;  /* tags in front of the IP header, 0–2; a reply keeps them */
	uint8_t ip_proto;    /* IPPROTO_UDP */
	uint16_t vlan_id;    /* of the inner tag, 0–4095; 0 without a tag */
	kxdp_addr_t remote;  /* source address and port; scope id 0 */
	kxdp_addr_t local;   /* destination address and port */
	uint8_t *frame;      /* the Ethernet header */
	uint16_t frame_len;  /* bytes received, with Ethernet header and padding */
	uint16_t frame_room; /* bytes that may be written */
	uint16_t ip_off;     /* IP header's offset in the frame: 14, 18 or 22 */
} kxdp_packet_t;

/**
 * Take a received frame apart.
 *
 * frame[0..len): received bytes. frame[0..room): writable memory the reply may grow into (len <= room <= 65535).
 * mtu: of the interface, bytes of IP packet; what payload_max is computed from.
 * ret_packet: written when the verdict is KXDP_OK or KXDP_PARTIAL_CHECKSUM, else untouched.
 *
 * KXDP_PARTIAL_CHECKSUM: a kernel that sends to a virtual device (veth, tap, virtio) leaves the UDP checksum to the
 * device and writes the sum of the pseudo header in its place. When no hardware follows, the packet arrives like that.
 * The value is recognized exactly, all else is verified; the caller decides whether that is good enough on its link.
 */
kxdp_verdict_t kxdp_frame_parse(uint8_t *frame, size_t len, size_t room, uint16_t mtu, kxdp_packet_t *ret_packet);

/**
 * Turn the frame of `packet` into the reply: MAC addresses, IP addresses and ports swapped, VLAN tags kept, IPv4
 * without options, id 0, fragmentable, TTL 64, IPv6 without extension headers, hop limit 64, flow label 0, TOS and
 * traffic class only ECN, header and UDP checksums filled in.
 *
 * payload_len: bytes that the caller wrote to packet->payload, 0 to packet->payload_max.
 * ret_start: the reply's first byte; at packet->frame or (when options fell away) behind it.
 * Returns the reply's length, padded with zeros to 60 bytes (IEEE 802.3 minimum without FCS) if the frame has room for
 * that.
 */
size_t kxdp_frame_reply(const kxdp_packet_t *packet, size_t payload_len, uint8_t **ret_start);
