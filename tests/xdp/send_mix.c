/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * send_mix INTERFACE SERVER-MAC SERVER-IPV4 SERVER-IPV6 PORT FRAMES WINDOW: a known mix of frames on a packet socket,
 * as fast as they go.
 *
 * After each WINDOW frames it says how many were sent ("sent 128") and waits for a line: no receiver is too slow for
 * it.
 *
 * Prints "kind=frames" for each kind of the table below; which kind comes when is random (KNOT_SEED), how many of each
 * is what was printed. Their sources (192.0.2.200, 2001:db8::200; 203.0.113.5 to be blocked, 203.0.113.130 to be
 * limited) are not this machine's, so nothing is sent but the mix when replies come.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KNOT_LEN(array) (sizeof(array) / sizeof((array)[0]))

enum { FRAME_MAX = 3000, BATCH = 32, JUMBO = 2800, SYN = 0x02, ACK = 0x10 };

/* Bytes to change are counted from the IP header (`ip`) or what is behind it (`transport`). */
typedef struct {
	const char *name;
	const char *tags, *extra; /* hex: VLAN tags; IPv4 options or IPv6 extension headers */
	const char *source;       /* NULL: the client that isn't there */
	const char *destination;  /* NULL: the server */
	uint8_t first_next;       /* IPv6: type of the first extension header */
	uint8_t proto;            /* 0: UDP */
	uint8_t tcp_flags;
	uint8_t first_mac_byte;
	uint16_t port;        /* 0: the server's */
	uint16_t ether_type;  /* 0: as the address family says */
	uint16_t payload_len; /* 0: a DNS query */
	uint16_t cut_to;      /* bytes of the frame that are left; 0: all */
	bool v6;
	struct {
		unsigned off;
		uint8_t value;
	} ip_set, ip_spoilt, transport_set, transport_spoilt; /* spoilt: XOR, after checksums; value 0: not */
} kind_t;

#define PADN_8 "11 00 01 04 00000000"

static const kind_t kinds[] = {
	{ .name = "udp4" },
	{ "udp6", .v6 = true },
	{ "vlan", .tags = "8100 0064" },
	{ "qinq", .tags = "88A8 0007 8100 0064", .v6 = true },
	{ "three-tags", .tags = "88A8 0007 8100 0064 8100 0065" },
	{ "ipv4-options", .extra = "94040000" },
	{ "source-route", .extra = "8307040102030400" },
	{ "extension-headers", .v6 = true, .first_next = 0, .extra = "3C 00 01 04 00000000" PADN_8 },
	{ "authentication-header", .v6 = true, .first_next = 51, .extra = PADN_8 },
	{ "fragment4", .ip_set = { 6, 0x20 } },
	{ "fragment6", .v6 = true, .first_next = 44, .extra = "11 00 0001 00000007" },
	{ "bad-ip-checksum", .ip_spoilt = { 8, 0x80 } },
	{ "bad-udp-checksum", .v6 = true, .transport_spoilt = { 7, 0x55 } },
	{ "bad-udp-length", .transport_set = { 5, 3 } },
	{ "ip-longer-than-frame", .ip_set = { 2, 4 } },
	{ "short", .cut_to = 30 },
	{ "jumbo", .payload_len = JUMBO },
	{ "other-port", .port = 5555 },
	{ "other-address4", .destination = "192.0.2.77" },
	{ "other-address6", .v6 = true, .destination = "2001:db8::77" },
	{ "icmp", .proto = 1 },
	{ "icmp6", .v6 = true, .proto = 58 },
	{ "sctp", .proto = 132 },
	{ "arp", .ether_type = 0x0806 },
	{ "multicast-mac", .first_mac_byte = 0x33 },
	{ "from-loopback", .source = "127.0.0.9" },
	{ "blocked", .source = "203.0.113.5" },
	{ "limited", .source = "203.0.113.130" },
	{ "tcp4-syn", .proto = 6, .tcp_flags = SYN },
	{ "tcp6-ack", .v6 = true, .proto = 6, .tcp_flags = ACK },
	{ "tcp4-bad-checksum", .proto = 6, .tcp_flags = SYN, .transport_spoilt = { 16, 0x55 } },
	{ "tcp4-other-port", .proto = 6, .tcp_flags = SYN, .port = 5555 },
};

typedef struct {
	uint8_t bytes[FRAME_MAX];
	size_t len;
} frame_t;

typedef struct {
	uint8_t client_mac[6], server_mac[6];
	const char *server4, *server6;
	uint16_t port;
} ends_t;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint8_t *put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

static uint8_t *put_hex(uint8_t *p, const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		if (isspace((unsigned char)*text)) {
			continue;
		}
		char digits[3] = { text[0], text[1], '\0' };
		*p++ = (uint8_t)strtoul(digits, NULL, 16);
		text++;
	}
	return p;
}

static uint32_t sum(uint32_t total, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		total += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		total = (total & 0xFFFF) + (total >> 16);
	}
	return total;
}

static void scan(const char *text, uint8_t *ret_addr, bool v6)
{
	if (inet_pton(v6 ? AF_INET6 : AF_INET, text, ret_addr) != 1) {
		fprintf(stderr, "%s: not an address\n", text);
		exit(2);
	}
}

/* A query for the SOA of "example."; what comes behind the first bytes of a large payload doesn't matter. */
static size_t put_payload(uint8_t *p, const kind_t *kind)
{
	static const uint8_t query[] = { 0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e',
		0, 0, 6, 0, 1 };
	if (kind->proto == IPPROTO_TCP) {
		return 0;
	}
	memcpy(p, query, sizeof(query));
	return kind->payload_len > 0 ? kind->payload_len : sizeof(query);
}

static size_t put_transport(uint8_t *p, const kind_t *kind, const ends_t *ends, uint16_t source_port)
{
	uint8_t *end = put16(p, source_port);
	end = put16(end, kind->port != 0 ? kind->port : ends->port);
	if (kind->proto == IPPROTO_TCP) {
		p[7] = 1; /* sequence number */
		p[12] = 5 << 4;
		p[13] = kind->tcp_flags;
		return 20;
	}
	if (kind->proto != 0) {
		p[0] = kind->proto == IPPROTO_ICMP ? 8 : 128; /* echo request; for others just bytes */
		p[1] = 0;
	}
	size_t len = 8 + put_payload(p + 8, kind);
	put16(p + 4, (unsigned)len);
	return len;
}

static void put_checksum(uint8_t *ip, uint8_t *transport, size_t len, const kind_t *kind)
{
	unsigned proto = kind->proto != 0 ? kind->proto : IPPROTO_UDP;
	uint32_t pseudo = sum((uint32_t)(proto + len), ip + (kind->v6 ? 8 : 12), kind->v6 ? 32 : 8);
	unsigned off = proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 2;
	uint32_t total = sum(proto == IPPROTO_ICMP ? 0 : pseudo, transport, len);
	put16(transport + off, total == 0xFFFF ? 0xFFFF : ~total);
}

static void put_addresses(uint8_t *ip, const kind_t *kind, const ends_t *ends)
{
	const char *source = kind->v6 ? "2001:db8::200" : "192.0.2.200";
	const char *destination = kind->v6 ? ends->server6 : ends->server4;
	scan(kind->source != NULL ? kind->source : source, ip + (kind->v6 ? 8 : 12), kind->v6);
	scan(kind->destination != NULL ? kind->destination : destination, ip + (kind->v6 ? 24 : 16), kind->v6);
}

static uint8_t *put_ip(uint8_t *ip, const kind_t *kind, const ends_t *ends)
{
	uint8_t proto = kind->proto != 0 ? kind->proto : IPPROTO_UDP;
	uint8_t *transport = put_hex(ip + (kind->v6 ? 40 : 20), kind->extra);
	put_addresses(ip, kind, ends);
	if (kind->v6) {
		ip[0] = 0x60;
		ip[6] = kind->extra != NULL ? kind->first_next : proto;
		ip[7] = 64;
	} else {
		ip[0] = (uint8_t)(0x40 + (transport - ip) / 4);
		put16(ip + 4, 0x1234);
		ip[8] = 64;
		ip[9] = proto;
	}
	return transport;
}

static void build(frame_t *f, const kind_t *kind, const ends_t *ends, uint16_t source_port)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->bytes, ends->server_mac, 6);
	memcpy(f->bytes + 6, ends->client_mac, 6);
	f->bytes[0] = kind->first_mac_byte != 0 ? kind->first_mac_byte : f->bytes[0];
	uint8_t *ip = put_hex(f->bytes + 12, kind->tags);
	ip = put16(ip, kind->ether_type != 0 ? kind->ether_type : kind->v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	uint8_t *transport = put_ip(ip, kind, ends);
	size_t len = put_transport(transport, kind, ends, source_port);
	size_t ip_len = (size_t)(transport - ip) + len;
	put16(ip + (kind->v6 ? 4 : 2), (unsigned)(kind->v6 ? ip_len - 40 : ip_len));
	ip[kind->ip_set.off] = kind->ip_set.value != 0 ? kind->ip_set.value : ip[kind->ip_set.off];
	uint8_t *changed = &transport[kind->transport_set.off];
	*changed = kind->transport_set.value != 0 ? kind->transport_set.value : *changed;
	if (!kind->v6) {
		put16(ip + 10, ~sum(0, ip, (size_t)(transport - ip)));
	}
	put_checksum(ip, transport, len, kind);
	ip[kind->ip_spoilt.off] ^= kind->ip_spoilt.value;
	transport[kind->transport_spoilt.off] ^= kind->transport_spoilt.value;
	f->len = kind->cut_to != 0 ? kind->cut_to : (size_t)(transport - f->bytes) + len;
}

static int open_socket(const char *ifname, uint8_t ret_mac[static 6])
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0); /* protocol 0: it receives nothing */
	struct ifreq ifr = { 0 };
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(ifname) };
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr) != 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		die(ifname);
	}
	memcpy(ret_mac, ifr.ifr_hwaddr.sa_data, 6);
	return fd;
}

/* All of them, however long that takes: a full queue is waited for. */
static void send_all(int fd, struct mmsghdr *messages, unsigned count)
{
	for (unsigned done = 0; done < count;) {
		int sent = sendmmsg(fd, messages + done, count - done, 0);
		if (sent > 0) {
			done += (unsigned)sent;
		} else if (errno == ENOBUFS || errno == EAGAIN || errno == EINTR) {
			usleep(100);
		} else {
			die("sending");
		}
	}
}

/* Until the receiver says that the frames have arrived. */
static void wait_received(unsigned long sent)
{
	printf("sent %lu\n", sent);
	fflush(stdout);
	char line[16];
	if (fgets(line, sizeof(line), stdin) == NULL) {
		exit(1);
	}
}

enum { PORTS = 16 }; /* source ports of each kind, for the queues' sake */

static void send_mix(int fd, const ends_t *ends, unsigned long frames, unsigned long window, uint64_t random)
{
	static frame_t built[KNOT_LEN(kinds)][PORTS];
	unsigned long counts[KNOT_LEN(kinds)] = { 0 };
	for (size_t k = 0; k < KNOT_LEN(kinds); k++) {
		for (unsigned p = 0; p < PORTS; p++) {
			build(&built[k][p], &kinds[k], ends, (uint16_t)(40000 + p * 7));
		}
	}
	unsigned long waited = 0;
	for (unsigned long sent = 0; sent < frames;) {
		struct mmsghdr messages[BATCH] = { 0 };
		struct iovec parts[BATCH];
		unsigned count = frames - sent < BATCH ? (unsigned)(frames - sent) : BATCH;
		for (unsigned i = 0; i < count; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			size_t k = (random >> 32) % KNOT_LEN(kinds);
			frame_t *f = &built[k][(random >> 20) % PORTS];
			parts[i] = (struct iovec){ .iov_base = f->bytes, .iov_len = f->len };
			messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
			counts[k]++;
		}
		send_all(fd, messages, count);
		sent += count;
		if (sent - waited >= window) {
			wait_received(sent);
			waited = sent;
		}
	}
	for (size_t k = 0; k < KNOT_LEN(kinds); k++) {
		printf("%s=%lu\n", kinds[k].name, counts[k]);
	}
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fprintf(stderr, "usage: send_mix INTERFACE SERVER-MAC SERVER-IPV4 SERVER-IPV6 PORT FRAMES WINDOW\n");
		return 2;
	}
	ends_t ends = { .server4 = argv[3], .server6 = argv[4], .port = (uint16_t)strtoul(argv[5], NULL, 10) };
	uint8_t *mac = ends.server_mac;
	if (sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) !=
			6) {
		return 2;
	}
	const char *seed_text = getenv("KNOT_SEED");
	uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 1;
	fprintf(stderr, "KNOT_SEED=%llu\n", (unsigned long long)seed);
	int fd = open_socket(argv[1], ends.client_mac);
	send_mix(fd, &ends, strtoul(argv[6], NULL, 10), strtoul(argv[7], NULL, 10), seed * 0x9E3779B97F4A7C15 | 1);
	close(fd);
	return 0;
}
