/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/xdp/filter_model.h"

#include <string.h>

/* What is known of a packet so far. Offsets are into the frame. */
typedef struct {
	const uint8_t *bytes;
	size_t len;
	size_t off; /* of the next header */
	unsigned type;
	bool is_ipv6;
	uint8_t source[16], destination[16];
	unsigned proto;
	unsigned port;
	bool is_syn;
	uint8_t vlans[8]; /* of each tag that names a VLAN: type, id */
	unsigned vlan_count;
} seen_t;

/* Each step below returns FILTER_RECEIVED to go on, or the packet's fate. */

static unsigned word(const seen_t *s, size_t off)
{
	return s->bytes[off] * 256u + s->bytes[off + 1];
}

static enum filter_count see_ethernet(seen_t *s)
{
	if (s->len < 14) {
		return FILTER_PASS_MALFORMED;
	}
	s->type = word(s, 12);
	s->off = 14;
	for (unsigned tags = 0; s->type == 0x8100 || s->type == 0x88A8; tags++) {
		if (tags == 2) {
			return FILTER_PASS_TAGS;
		}
		if (s->off + 4 > s->len) {
			return FILTER_PASS_MALFORMED;
		}
		unsigned id = word(s, s->off) % 4096;
		if (id != 0) { /* 0: a priority only. IEEE 802.1Q */
			uint8_t *vlan = s->vlans + 4 * s->vlan_count++;
			vlan[0] = (uint8_t)(s->type / 256);
			vlan[1] = (uint8_t)(s->type % 256);
			vlan[2] = (uint8_t)(id / 256);
			vlan[3] = (uint8_t)(id % 256);
		}
		s->type = word(s, s->off + 2);
		s->off += 4;
	}
	return s->type == 0x0800 || s->type == 0x86DD ? FILTER_RECEIVED : FILTER_PASS_NOT_IP;
}

/* RFC 791 3.1 */
static enum filter_count see_ipv4(seen_t *s)
{
	const uint8_t *ip = s->bytes + s->off;
	if (s->len - s->off < 20) {
		return FILTER_PASS_MALFORMED;
	}
	size_t header_len = ip[0] % 16 * 4u;
	if (ip[0] / 16 != 4 || header_len < 20 || header_len > s->len - s->off) {
		return FILTER_PASS_MALFORMED;
	}
	bool more_fragments = (ip[6] & 0x20) != 0;
	unsigned fragment_offset = ip[6] % 32 * 256u + ip[7];
	if (more_fragments || fragment_offset != 0) {
		return FILTER_PASS_FRAGMENT;
	}
	memset(s->source + 10, 0xFF, 2);
	memset(s->destination + 10, 0xFF, 2);
	memcpy(s->source + 12, ip + 12, 4);
	memcpy(s->destination + 12, ip + 16, 4);
	s->proto = ip[9];
	s->off += header_len;
	return FILTER_RECEIVED;
}

/* RFC 8200 4: hop-by-hop 0, routing 43, fragment 44, ESP 50, authentication 51, destination options 60; mobility 135 */
static enum filter_count see_ipv6(seen_t *s)
{
	const uint8_t *ip = s->bytes + s->off;
	if (s->len - s->off < 40 || ip[0] / 16 != 6) {
		return FILTER_PASS_MALFORMED;
	}
	s->is_ipv6 = true;
	memcpy(s->source, ip + 8, 16);
	memcpy(s->destination, ip + 24, 16);
	s->proto = ip[6];
	s->off += 40;
	unsigned walked = 0;
	while (s->proto == 0 || s->proto == 43 || s->proto == 60) {
		if (walked++ == 8) {
			return FILTER_PASS_HEADER;
		}
		if (s->len - s->off < 8) {
			return FILTER_PASS_MALFORMED;
		}
		const uint8_t *header = s->bytes + s->off;
		if (s->proto == 43 && header[3] > 0) { /* segments left */
			return FILTER_PASS_HEADER;
		}
		size_t header_len = 8 + header[1] * 8u;
		if (header_len > s->len - s->off) {
			return FILTER_PASS_MALFORMED;
		}
		s->proto = header[0];
		s->off += header_len;
	}
	if (s->proto == 44) {
		return FILTER_PASS_FRAGMENT;
	}
	return s->proto == 50 || s->proto == 51 || s->proto == 135 ? FILTER_PASS_HEADER : FILTER_RECEIVED;
}

static enum filter_count see_transport(seen_t *s)
{
	bool udp = s->proto == 17, tcp = s->proto == 6;
	if (!udp && !tcp) {
		return FILTER_PASS_PROTOCOL;
	}
	if (s->len - s->off < (udp ? 8 : 20)) {
		return FILTER_PASS_MALFORMED;
	}
	s->port = word(s, s->off + 2);
	s->is_syn = tcp && (s->bytes[s->off + 13] & 0x12) == 0x02; /* SYN without ACK */
	return FILTER_RECEIVED;
}

/* Is a port a listen's, is an address, and is that because any is? */
typedef struct {
	bool port, addr, any;
} listens_t;

static listens_t find_listens(const model_t *model, const seen_t *s)
{
	unsigned proto_bit = s->proto == 17 ? FILTER_PROTO_UDP : FILTER_PROTO_TCP;
	listens_t found = { false, false, false };
	for (size_t i = 0; i < model->config.listen_count; i++) {
		const struct filter_listen *l = &model->config.listens[i];
		uint8_t port_be[2] = { (uint8_t)(s->port >> 8), (uint8_t)s->port };
		if (memcmp(&l->port_be, port_be, 2) == 0 && (l->protos & proto_bit) != 0) {
			found.port = true;
			found.any |= l->any_addr == 1;
			found.addr |= l->any_addr == 0 && memcmp(l->addr, s->destination, 16) == 0;
		}
	}
	return found;
}

static bool covers(const struct filter_prefix *prefix, const uint8_t addr[static 16])
{
	for (unsigned bit = 0; bit < prefix->len; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);
		if (((prefix->addr[bit / 8] ^ addr[bit / 8]) & mask) != 0) {
			return false;
		}
	}
	return true;
}

/* What the host has says the longest entry of the kind that covers the bits. */
static bool is_known(const model_t *model, enum filter_known_kind kind, const uint8_t *data, size_t len)
{
	uint8_t bits[16] = { 0 };
	const struct filter_known *longest = NULL;
	bool known = false;
	memcpy(bits, data, len);
	for (size_t i = 0; i < model->known_count; i++) {
		const struct filter_known *key = &model->known[i].key;
		struct filter_prefix prefix = { .len = key->len - 8 };
		memcpy(prefix.addr, key->data, 16);
		bool longer = longest == NULL || key->len > longest->len;
		if (key->kind == kind && longer && prefix.len <= len * 8 && covers(&prefix, bits)) {
			longest = key;
			known = model->known[i].value == FILTER_KNOWN_YES;
		}
	}
	return known;
}

/* Of what a listen takes: is it for this host? In the order of the rows. */
static enum filter_count see_host(const model_t *model, const seen_t *s, listens_t listens)
{
	unsigned flags = model->config.flags;
	if ((s->bytes[0] & 1) != 0) { /* IEEE 802 group bit */
		return FILTER_PASS_GROUP;
	}
	bool own_mac = memcmp(s->bytes, model->config.host.mac, 6) == 0;
	if ((flags & FILTER_CHECK_MAC) != 0 && !own_mac && !is_known(model, FILTER_KNOWN_MAC, s->bytes, 6)) {
		return FILTER_PASS_OTHER_MAC;
	}
	if ((flags & FILTER_CHECK_VLAN) != 0 && s->vlan_count > 0 &&
			!is_known(model, FILTER_KNOWN_VLAN, s->vlans, sizeof(s->vlans))) {
		return FILTER_PASS_OTHER_VLAN;
	}
	if ((flags & FILTER_CHECK_ADDRESS) == 0) {
		return FILTER_RECEIVED;
	}
	if (!listens.addr && !is_known(model, FILTER_KNOWN_ADDRESS, s->destination, 16)) {
		return FILTER_PASS_NOT_LOCAL;
	}
	bool broadcast = !s->is_ipv6 && is_known(model, FILTER_KNOWN_BROADCAST, s->source, 16);
	return broadcast ? FILTER_PASS_BROADCAST : FILTER_RECEIVED;
}

static int longest_rule(const model_t *model, const seen_t *s)
{
	int found = -1;
	for (size_t i = 0; i < model->rule_count; i++) {
		bool longer = found < 0 || model->rules[i].prefix.len > model->rules[found].prefix.len;
		bool same_family = s->is_ipv6 || model->rules[i].prefix.len >= 96;
		if (longer && same_family && covers(&model->rules[i].prefix, s->source)) {
			found = (int)i;
		}
	}
	return found;
}

static enum filter_count redirected(const seen_t *s)
{
	if (s->proto == 17) {
		return s->is_ipv6 ? FILTER_UDP6 : FILTER_UDP4;
	}
	return s->is_ipv6 ? FILTER_TCP6 : FILTER_TCP4;
}

/* Multicast, link-local, loopback: addresses that stay on a link, of which no IPv6 routing table says anything. RFC
 * 4291 2.4 */
static bool stays_on_link(const uint8_t addr[static 16])
{
	static const uint8_t loopback[16] = { [15] = 1 };
	return addr[0] == 0xFF || (addr[0] == 0xFE && addr[1] >> 6 == 2) || memcmp(addr, loopback, 16) == 0;
}

/* Where `lo` doesn't forward, there is no way to find a route; the reply is the kernel's, or goes back on the link. */
static model_result_t check_route(const seen_t *s, model_result_t result)
{
	if (s->is_ipv6 && s->source[0] == 0xFE && s->source[1] >> 6 == 2) {
		result.way = FILTER_WAY_BACK;
	} else if (s->is_ipv6 && (stays_on_link(s->source) || stays_on_link(s->destination))) {
		result.fate = FILTER_PASS_NO_ROUTE;
	} else {
		result.way = FILTER_WAY_KERNEL;
	}
	return result;
}

model_result_t model_run(const model_t *model, const uint8_t *packet, size_t len)
{
	seen_t s = { .bytes = packet, .len = len };
	model_result_t result = { .rule = -1 };
	result.fate = see_ethernet(&s);
	if (result.fate == FILTER_RECEIVED) {
		result.fate = s.type == 0x0800 ? see_ipv4(&s) : see_ipv6(&s);
	}
	if (result.fate == FILTER_RECEIVED) {
		result.fate = see_transport(&s);
	}
	if (result.fate == FILTER_RECEIVED) {
		listens_t listens = find_listens(model, &s);
		result.fate = !listens.port                   ? FILTER_PASS_PORT
			      : !listens.addr && !listens.any ? FILTER_PASS_ADDRESS
							      : see_host(model, &s, listens);
	}
	if (result.fate != FILTER_RECEIVED) {
		return result;
	}
	result.rule = (model->config.flags & FILTER_RULES) != 0 ? longest_rule(model, &s) : -1;
	if (result.rule >= 0 && model->rules[result.rule].per_second == 0) {
		result.fate = FILTER_DROP_BLOCKED;
	} else if (!model->has_socket) {
		result.fate = FILTER_PASS_NO_SOCKET;
	} else {
		result.fate = redirected(&s);
	}
	bool routed = (model->config.flags & FILTER_ROUTE_CHECK) != 0 && result.fate == redirected(&s);
	if (routed && model->is_plain) {
		result.fate = FILTER_PASS_NO_META;
		return result;
	}
	return routed ? check_route(&s, result) : result;
}
