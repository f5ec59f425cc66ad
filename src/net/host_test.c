/* SPDX-License-Identifier: BSD-2-Clause */
/* What belongs to a host: from facts by rows, and from messages of the kernel. */
#include "src/net/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xdp/bpf/abi.h"

#define LINK(number, kind_of, mac_end, ...)                                                                            \
	{                                                                                                              \
		.ifindex = number, .kind = HOST_LINK_##kind_of, .is_up = true, .has_mac = true,                        \
		.mac = { 2, 0, 0, 0, 0, mac_end }, __VA_ARGS__                                                         \
	}

enum { LO = 1, ETH, ETH1, VLAN5, QINQ, DOWN, MACVLAN, BRIDGE, PORT, PORT2, BOND, OVS, OVS_PORT, VRF, IN_VRF, FAR_VLAN };

static host_link_t links[] = {
	{ .ifindex = LO, .kind = HOST_LINK_PLAIN, .is_up = true, .is_loopback = true, .has_mac = true },
	LINK(ETH, PLAIN, 2, .master = 0),
	LINK(ETH1, PLAIN, 3, .master = BOND),
	LINK(VLAN5, VLAN, 2, .lower = ETH, .tag = { 0x81, 0, 0, 5 }),
	LINK(QINQ, VLAN, 5, .lower = VLAN5, .tag = { 0x88, 0xA8, 0, 7 }),
	{ .ifindex = DOWN, .kind = HOST_LINK_VLAN, .lower = ETH, .tag = { 0x81, 0, 0, 9 } },
	LINK(MACVLAN, UPPER, 7, .lower = ETH),
	LINK(BRIDGE, BRIDGE, 8, .master = 0),
	LINK(PORT, PLAIN, 9, .master = BRIDGE),
	LINK(PORT2, PLAIN, 10, .master = BRIDGE),
	LINK(BOND, BOND, 11, .master = 0),
	LINK(OVS, OTHER, 12, .master = 0),
	LINK(OVS_PORT, PLAIN, 13, .master = OVS),
	LINK(VRF, VRF, 14, .master = 0),
	LINK(IN_VRF, PLAIN, 15, .master = VRF),
	LINK(FAR_VLAN, VLAN, 16, .lower = BOND, .tag = { 0x81, 0, 0, 6 }),
};

static uint32_t tables[] = { RT_TABLE_LOCAL, 100 };

/* "10.0.0.0/8" or "2001:db8::1/128" */
static host_route_t route_of(const char *text, uint8_t type, uint32_t table, uint32_t ifindex)
{
	char addr[64];
	snprintf(addr, sizeof(addr), "%s", text);
	char *slash = strchr(addr, '/');
	*slash = '\0';
	host_route_t route = { .type = type, .table = table, .ifindex = ifindex, .bits = (uint8_t)atoi(slash + 1) };
	if (inet_pton(AF_INET, addr, route.addr + 12) == 1) {
		route.addr[10] = route.addr[11] = 0xFF;
		route.bits = (uint8_t)(route.bits + 96);
		route.is_ipv4 = true;
	} else {
		assert_int_equal(inet_pton(AF_INET6, addr, route.addr), 1);
	}
	return route;
}

static const struct {
	const char *prefix;
	uint8_t type;
	uint32_t table, ifindex;
} routes[] = {
	{ "127.0.0.0/8", RTN_LOCAL, RT_TABLE_LOCAL, LO },
	{ "::1/128", RTN_LOCAL, RT_TABLE_LOCAL, LO },
	{ "192.0.2.1/32", RTN_LOCAL, RT_TABLE_LOCAL, ETH },
	{ "192.0.2.255/32", RTN_BROADCAST, RT_TABLE_LOCAL, ETH },
	{ "2001:db8::1/128", RTN_LOCAL, RT_TABLE_LOCAL, ETH },
	{ "fe80::2/128", RTN_LOCAL, RT_TABLE_LOCAL, ETH },
	{ "2001:db8::/128", RTN_ANYCAST, RT_TABLE_LOCAL, ETH },
	{ "10.0.0.0/8", RTN_LOCAL, RT_TABLE_LOCAL, LO },
	{ "10.9.0.0/16", RTN_BLACKHOLE, RT_TABLE_LOCAL, 0 },
	{ "203.0.113.0/24", RTN_LOCAL, RT_TABLE_MAIN, LO },
	{ "198.18.0.0/15", RTN_LOCAL, 100, LO },
	{ "198.51.100.0/24", RTN_LOCAL, 200, LO },
	{ "198.51.200.1/32", RTN_LOCAL, 300, IN_VRF },
	{ "192.0.3.1/32", RTN_LOCAL, RT_TABLE_LOCAL, ETH1 },
};

static host_facts_t facts_of(host_route_t *room)
{
	for (size_t i = 0; i < KNOT_LEN(routes); i++) {
		room[i] = route_of(routes[i].prefix, routes[i].type, routes[i].table, routes[i].ifindex);
	}
	return (host_facts_t){
		.links = links,
		.link_count = KNOT_LEN(links),
		.routes = room,
		.route_count = KNOT_LEN(routes),
		.tables = tables,
		.table_count = KNOT_LEN(tables),
		.is_complete = true,
	};
}

/* The longest entry of a kind that covers data: its value; 0: none does. */
static unsigned value_of(const kxdp_host_t *host, unsigned kind, const uint8_t data[static 16])
{
	unsigned value = 0, longest = 0;
	for (size_t i = 0; i < host->known_count; i++) {
		const kxdp_known_t *k = &host->known[i];
		bool covers = k->kind == kind && k->bits >= longest;
		for (unsigned bit = 0; covers && bit < k->bits; bit++) {
			covers = ((k->data[bit / 8] ^ data[bit / 8]) & (0x80 >> bit % 8)) == 0;
		}
		value = covers ? k->value : value;
		longest = covers ? k->bits : longest;
	}
	return value;
}

static void test_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *addr;
		unsigned want;
	} rows[] = {
		{ "192.0.2.1/32", FILTER_KNOWN_YES },
		{ "192.0.2.2/32", 0 },
		{ "192.0.2.255/32", FILTER_KNOWN_NO },
		{ "192.0.3.1/32", FILTER_KNOWN_YES }, /* of another interface: the host's all the same */
		{ "127.0.0.1/32", 0 },
		{ "::1/128", 0 },
		{ "2001:db8::1/128", FILTER_KNOWN_YES },
		{ "2001:db8::/128", FILTER_KNOWN_NO },
		{ "fe80::2/128", FILTER_KNOWN_YES },
		{ "fe80::3/128", 0 },
		{ "10.1.2.3/32", FILTER_KNOWN_YES },
		{ "10.9.0.1/32", FILTER_KNOWN_NO },
		{ "203.0.113.9/32", FILTER_KNOWN_YES },
		{ "198.19.0.1/32", FILTER_KNOWN_YES },
		{ "198.51.100.1/32", 0 }, /* a table that no rule leads to, or only with a mark */
		{ "198.51.200.1/32", FILTER_KNOWN_YES },
		{ "8.8.8.8/32", 0 },
	};
	host_route_t room[KNOT_LEN(routes)];
	const host_facts_t facts = facts_of(room);
	kxdp_host_t host;
	assert_int_equal(host_of(&facts, ETH, &host), KNOT_OK);
	assert_true(host.check_mac && host.check_vlan && host.check_address);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		host_route_t at = route_of(rows[i].addr, 0, 0, 0);
		if (value_of(&host, FILTER_KNOWN_ADDRESS, at.addr) != rows[i].want) {
			fail_msg("%s", rows[i].addr);
		}
	}
	for (size_t i = 1; i < host.known_count; i++) {
		assert_true(kxdp_known_compare(&host.known[i - 1], &host.known[i]) < 0);
	}
	/* The interface's own come first; prefixes and loopback are not among them. */
	assert_int_equal(host.ipv4_count, 3);
	assert_int_equal(host.ipv4_be[0], htonl(0xC0000201));
	assert_int_equal(host.ipv6_count, 2);
	assert_int_equal(host.ipv6[0][0], 0x20);
	assert_int_equal(host.ipv6[1][0], 0xFE);
	assert_int_equal(host.broadcast_mask_be, UINT32_MAX);
	assert_int_equal(host.broadcast_bits_be, htonl(0xC00002FF));
	free((void *)(uintptr_t)host.known);
	assert_int_equal(host_of(&facts, LO, &host), KNOT_OK);
	host_route_t at = route_of("127.0.0.1/32", 0, 0, 0);
	assert_int_equal(value_of(&host, FILTER_KNOWN_ADDRESS, at.addr), FILTER_KNOWN_YES);
	free((void *)(uintptr_t)host.known);
}

static void test_devices(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint32_t ifindex;
		bool check_mac, check_vlan;
		const char *macs;  /* last bytes, beside its own */
		const char *vlans; /* outer.inner ids */
	} rows[] = {
		{ "VLANs, macvlan", ETH, true, true, "5 7", "5.0 5.7" },
		{ "port of a bond: the bond's, and VLANs on it", ETH1, true, true, "11 16", "6.0" },
		{ "bond", BOND, true, true, "16", "6.0" },
		{ "port of a bridge: any VLAN", PORT, true, false, "8 10", "" },
		{ "bridge", BRIDGE, true, true, "", "" },
		{ "port of a switch that nothing is known of", OVS_PORT, false, false, "12", "" },
		{ "in a VRF", IN_VRF, true, true, "14", "" },
	};
	host_route_t room[KNOT_LEN(routes)];
	const host_facts_t facts = facts_of(room);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		kxdp_host_t host;
		assert_int_equal(host_of(&facts, rows[i].ifindex, &host), KNOT_OK);
		char macs[64] = "", vlans[64] = "";
		for (size_t k = 0; k < host.known_count; k++) {
			const uint8_t *data = host.known[k].data;
			char *text = host.known[k].kind == FILTER_KNOWN_MAC    ? macs
				     : host.known[k].kind == FILTER_KNOWN_VLAN ? vlans
									       : NULL;
			if (text != NULL) {
				size_t len = strlen(text);
				snprintf(text + len, 64 - len, text == macs ? "%s%u" : "%s%u.%u", len > 0 ? " " : "",
						text == macs ? data[5] : data[3], data[7]);
			}
		}
		if (host.check_mac != rows[i].check_mac || host.check_vlan != rows[i].check_vlan ||
				strcmp(macs, rows[i].macs) != 0 || strcmp(vlans, rows[i].vlans) != 0) {
			fail_msg("%s: MACs %s, VLANs %s", rows[i].what, macs, vlans);
		}
		free((void *)(uintptr_t)host.known);
	}
}

static void test_nothing_is_known(void **state)
{
	(void)state;
	host_route_t room[KNOT_LEN(routes)];
	host_facts_t facts = facts_of(room);
	kxdp_host_t host;
	facts.is_complete = false;
	assert_int_equal(host_of(&facts, ETH, &host), KNOT_OK);
	assert_false(host.check_mac || host.check_vlan || host.check_address);
	assert_int_equal(host.known_count, 0);
	facts.is_complete = true;
	assert_int_equal(host_of(&facts, 999, &host), KNOT_OK);
	assert_false(host.check_mac || host.check_vlan || host.check_address);
	/* A host without addresses, and so without broadcast addresses. */
	facts.route_count = 0;
	assert_int_equal(host_of(&facts, OVS, &host), KNOT_OK);
	assert_true(host.check_address && host.known_count == 0 && host.ipv4_count == 0);
	assert_int_equal(host.broadcast_mask_be, 0);
	assert_int_not_equal(host.broadcast_bits_be, 0);
	free((void *)(uintptr_t)host.known);
}

static void test_broadcasts_agree(void **state)
{
	(void)state;
	host_route_t room[] = {
		route_of("192.0.2.255/32", RTN_BROADCAST, RT_TABLE_LOCAL, ETH),
		route_of("10.1.255.255/32", RTN_BROADCAST, RT_TABLE_LOCAL, ETH),
		route_of("172.16.0.63/32", RTN_BROADCAST, RT_TABLE_LOCAL, ETH),
	};
	host_facts_t facts = { .links = links,
		.link_count = KNOT_LEN(links),
		.routes = room,
		.route_count = KNOT_LEN(room),
		.is_complete = true };
	kxdp_host_t host;
	assert_int_equal(host_of(&facts, ETH, &host), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(room); i++) {
		uint32_t addr_be;
		memcpy(&addr_be, room[i].addr + 12, 4);
		assert_int_equal(addr_be & host.broadcast_mask_be, host.broadcast_bits_be);
		assert_int_equal(value_of(&host, FILTER_KNOWN_BROADCAST, room[i].addr), FILTER_KNOWN_YES);
	}
	assert_int_equal(ntohl(host.broadcast_mask_be) & 0x3F, 0x3F);
	free((void *)(uintptr_t)host.known);
}

/* Too much for the map: nothing is checked. */
static void test_too_much(void **state)
{
	(void)state;
	enum { COUNT = KXDP_KNOWN_MAX + 1 };
	host_route_t *room = calloc(COUNT, sizeof(*room));
	for (unsigned i = 0; i < COUNT; i++) {
		room[i] = route_of("10.0.0.0/32", RTN_LOCAL, RT_TABLE_LOCAL, ETH);
		room[i].addr[14] = (uint8_t)(i >> 8);
		room[i].addr[15] = (uint8_t)i;
	}
	host_facts_t facts = {
		.links = links, .link_count = 2, .routes = room, .route_count = COUNT, .is_complete = true
	};
	kxdp_host_t host;
	assert_int_equal(host_of(&facts, ETH, &host), KNOT_OK);
	assert_false(host.check_address || host.check_mac);
	facts.route_count = COUNT - 1;
	assert_int_equal(host_of(&facts, ETH, &host), KNOT_OK);
	assert_true(host.check_address);
	assert_int_equal(host.known_count, COUNT - 1);
	free((void *)(uintptr_t)host.known);
	free(room);
}

/* What the kernel says of the machine that the test runs on. */
static void test_kernel(void **state)
{
	(void)state;
	host_facts_t facts;
	kxdp_host_t host;
	host_read(&facts);
	assert_true(facts.is_complete);
	assert_true(facts.link_count > 0);
	assert_int_equal(host_of(&facts, LO, &host), KNOT_OK);
	assert_true(host.check_address);
	free((void *)(uintptr_t)host.known);
	host_facts_done(&facts);
}

/* One message of the kernel, as the reply to the next dump. */
static void send_reply(int fd, uint16_t type, const void *body, size_t len)
{
	struct {
		struct nlmsghdr header;
		uint8_t body[64];
	} message = { .header = { .nlmsg_len = (uint32_t)(sizeof(struct nlmsghdr) + len), .nlmsg_type = type } };
	assert_true(len <= sizeof(message.body));
	memcpy(message.body, body, len);
	assert_int_equal(send(fd, &message, message.header.nlmsg_len, 0), message.header.nlmsg_len);
}

/* As send_reply(), with the result that ends a dump, or that is all of it. */
static void send_result(int fd, uint16_t type, int result)
{
	const struct nlmsgerr body = { .error = result };
	send_reply(fd, type, &body, type == NLMSG_ERROR ? sizeof(body) : sizeof(body.error));
}

/* Kernels that have no rules, or no IPv6, say so: what else they have is known. Another error is none of these. */
static void test_what_kernels_lack(void **state)
{
	(void)state;
	static const struct {
		uint16_t type; /* of the message that says it */
		int result;
		bool is_known;
	} rows[] = {
		{ NLMSG_ERROR, -EOPNOTSUPP, true },   /* without CONFIG_IP_MULTIPLE_TABLES */
		{ NLMSG_ERROR, -EAFNOSUPPORT, true }, /* without IPv6 */
		{ NLMSG_DONE, -EAFNOSUPPORT, true }, { NLMSG_DONE, -ENOENT, true }, { NLMSG_ERROR, -EPERM, false },
		{ NLMSG_DONE, -EINVAL, false }, /* a request that the kernel doesn't understand */
	};
	static const uint8_t route[] = { AF_INET, 32, 0, 0, RT_TABLE_LOCAL, 2, 254, RTN_LOCAL, 0, 0, 0, 0, 8, 0, 1, 0,
		192, 0, 2, 1 };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int fds[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
		send_result(fds[1], NLMSG_DONE, 0);                /* links */
		send_result(fds[1], rows[i].type, rows[i].result); /* IPv4: rules */
		send_reply(fds[1], RTM_NEWROUTE, route, sizeof(route));
		send_result(fds[1], NLMSG_DONE, 0);
		send_result(fds[1], NLMSG_DONE, 0);
		send_result(fds[1], rows[i].type, rows[i].result); /* IPv6: rules and routes */
		send_result(fds[1], rows[i].type, rows[i].result);
		send_result(fds[1], rows[i].type, rows[i].result);
		host_facts_t facts;
		host_read_by(fds[0], &facts);
		assert_int_equal(facts.is_complete, rows[i].is_known);
		assert_int_equal(facts.route_count, rows[i].is_known ? 1 : 0);
		host_facts_done(&facts);
		close(fds[0]);
		close(fds[1]);
	}
}

/* Messages that end anywhere: each byte more or less is no reason to read behind the end. */
static void test_cut_messages(void **state)
{
	(void)state;
	static const uint8_t link[] = { 0, 0, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 5, 0, 2, 0, 0, 0, 10, 0,
		1, 0, 2, 0, 0, 0, 0, 9, 0, 0, 36, 0, 18, 0, 9, 0, 1, 0, 'v', 'l', 'a', 'n', 0, 0, 0, 0, 20, 0, 2, 0, 6,
		0, 1, 0, 44, 1, 0, 0, 6, 0, 5, 0, 0x88, 0xA8, 0, 0 };
	static const uint8_t route[] = { AF_INET, 32, 0, 0, RT_TABLE_LOCAL, 2, 254, RTN_LOCAL, 0, 0, 0, 0, 8, 0, 1, 0,
		192, 0, 2, 1, 8, 0, 4, 0, 2, 0, 0, 0, 8, 0, 15, 0, 255, 0, 0, 0 };
	const struct {
		unsigned type;
		const uint8_t *bytes;
		size_t len;
	} rows[] = { { RTM_NEWLINK, link, sizeof(link) }, { RTM_NEWROUTE, route, sizeof(route) },
		{ RTM_NEWRULE, route, sizeof(route) } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		for (size_t len = 0; len <= rows[i].len; len++) {
			uint8_t *copy = malloc(len + 1); /* malloc(0) may be NULL */
			memcpy(copy, rows[i].bytes, len);
			host_facts_t facts = { .is_complete = true };
			host_see(&facts, rows[i].type, (knot_bytes_t){ copy, len });
			if (len == rows[i].len && i == 0) {
				assert_int_equal(facts.links[0].kind, HOST_LINK_VLAN);
				assert_int_equal(facts.links[0].lower, 2);
				assert_memory_equal(facts.links[0].tag, ((const uint8_t[]){ 0x88, 0xA8, 1, 44 }), 4);
				assert_int_equal(facts.links[0].mac[5], 9);
			} else if (len == rows[i].len && i == 1) {
				assert_int_equal(facts.routes[0].bits, 128);
				assert_int_equal(facts.routes[0].ifindex, 2);
				assert_int_equal(facts.routes[0].addr[12], 192);
			}
			host_facts_done(&facts);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_nothing_is_known),
		cmocka_unit_test(test_broadcasts_agree),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_what_kernels_lack),
		cmocka_unit_test(test_cut_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
