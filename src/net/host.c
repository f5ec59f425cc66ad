/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/host.h"

#include "src/sys/netlink.h"
#include "xdp/bpf/abi.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAC_LEN = 6,
	MAPPED_BITS = 96, /* of ::ffff:0:0/96 */
	ALL_BITS = 128,
	STACK_MAX = 8,  /* devices on each other; the kernel allows as many */
	READ_TRIES = 3, /* a dump that something changed in the middle of */
	GROW_MIN = 64,
	BYTE_BITS = 8,
};

/* ---- Facts ---- */

/* Room for one more of `size` bytes in array[0..count), which grows by doubling. False: no memory, all as before. */
static bool host_make_room(void **array, size_t count, size_t size)
{
	if (count != 0 && (count < GROW_MIN || (count & (count - 1)) != 0)) {
		return true;
	}
	size_t room = count < GROW_MIN ? GROW_MIN : count * 2;
	void *larger = realloc(*array, room * size);
	*array = larger != NULL ? larger : *array;
	return larger != NULL;
}

static bool host_text_is(knot_bytes_t value, const char *text)
{
	size_t len = strlen(text);
	return value.len >= len && memcmp(value.data, text, len) == 0 && (value.len == len || value.data[len] == '\0');
}

static host_link_kind_t host_kind_of(knot_bytes_t name)
{
	static const struct {
		const char *name;
		host_link_kind_t kind;
	} rows[] = {
		{ "vlan", HOST_LINK_VLAN },
		{ "macvlan", HOST_LINK_UPPER },
		{ "macvtap", HOST_LINK_UPPER },
		{ "ipvlan", HOST_LINK_UPPER },
		{ "ipvtap", HOST_LINK_UPPER },
		{ "bridge", HOST_LINK_BRIDGE },
		{ "bond", HOST_LINK_BOND },
		{ "team", HOST_LINK_BOND },
		{ "vrf", HOST_LINK_VRF },
		{ "openvswitch", HOST_LINK_OTHER },
		{ "batadv", HOST_LINK_OTHER },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (host_text_is(name, rows[i].name)) {
			return rows[i].kind;
		}
	}
	return HOST_LINK_PLAIN;
}

static void host_see_vlan(knot_bytes_t data, host_link_t *link)
{
	netlink_attributes_t attributes = netlink_attributes(data);
	netlink_attribute_t attribute;
	store_be16(link->tag, 0x8100);
	while (netlink_next_attribute(&attributes, &attribute)) {
		uint16_t number;
		if (attribute.value.len != sizeof(number)) {
			continue;
		}
		memcpy(&number, attribute.value.data, sizeof(number));
		if (attribute.type == IFLA_VLAN_ID) {
			store_be16(link->tag + 2, number & 0x0FFF);
		} else if (attribute.type == IFLA_VLAN_PROTOCOL) {
			memcpy(link->tag, &number, sizeof(number)); /* in network order already */
		}
	}
}

static void host_see_link_info(knot_bytes_t info, host_link_t *link)
{
	netlink_attributes_t attributes = netlink_attributes(info);
	netlink_attribute_t attribute;
	knot_bytes_t data = { NULL, 0 };
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_INFO_KIND) {
			link->kind = host_kind_of(attribute.value);
		} else if (attribute.type == IFLA_INFO_DATA) {
			data = attribute.value;
		}
	}
	if (link->kind == HOST_LINK_VLAN) {
		host_see_vlan(data, link);
	}
}

static void host_see_link(host_facts_t *facts, knot_bytes_t body)
{
	struct ifinfomsg header;
	if (body.len < sizeof(header) ||
			!host_make_room((void **)&facts->links, facts->link_count, sizeof(*facts->links))) {
		facts->is_complete = false;
		return;
	}
	memcpy(&header, body.data, sizeof(header));
	host_link_t link = {
		.ifindex = (uint32_t)header.ifi_index,
		.kind = HOST_LINK_PLAIN,
		.is_up = (header.ifi_flags & IFF_UP) != 0,
		.is_loopback = (header.ifi_flags & IFF_LOOPBACK) != 0,
	};
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ body.data + sizeof(header), body.len - sizeof(header) });
	netlink_attribute_t attribute;
	bool is_elsewhere = false;
	while (netlink_next_attribute(&attributes, &attribute)) {
		switch (attribute.type) {
		case IFLA_LINK: link.lower = netlink_u32(&attribute, 0); break;
		case IFLA_LINK_NETNSID: is_elsewhere = true; break;
		case IFLA_MASTER: link.master = netlink_u32(&attribute, 0); break;
		case IFLA_LINKINFO: host_see_link_info(attribute.value, &link); break;
		case IFLA_ADDRESS:
			link.has_mac = attribute.value.len == MAC_LEN;
			if (link.has_mac) {
				memcpy(link.mac, attribute.value.data, MAC_LEN);
			}
			break;
		default: break;
		}
	}
	/* Of others, such as veth, IFLA_LINK is no device below. */
	bool is_upper = link.kind == HOST_LINK_VLAN || link.kind == HOST_LINK_UPPER;
	link.lower = is_upper && !is_elsewhere ? link.lower : 0;
	facts->links[facts->link_count++] = link;
}

/* The last address of a prefix and the bits behind it are 0 already: the kernel sees to that, and so does this. */
static void host_clear_tail(uint8_t addr[static 16], unsigned bits)
{
	for (unsigned bit = bits; bit < ALL_BITS; bit++) {
		addr[bit / BYTE_BITS] &= (uint8_t) ~(0x80 >> bit % BYTE_BITS);
	}
}

static void host_see_route(host_facts_t *facts, knot_bytes_t body)
{
	struct rtmsg header;
	if (body.len < sizeof(header)) {
		return;
	}
	memcpy(&header, body.data, sizeof(header));
	bool is_ipv4 = header.rtm_family == AF_INET;
	size_t addr_len = is_ipv4 ? 4 : 16;
	if ((!is_ipv4 && header.rtm_family != AF_INET6) || header.rtm_dst_len > addr_len * BYTE_BITS ||
			(header.rtm_type != RTN_LOCAL && header.rtm_type != RTN_BROADCAST &&
					header.rtm_table != RT_TABLE_LOCAL)) {
		return;
	}
	host_route_t route = {
		.bits = (uint8_t)(header.rtm_dst_len + (is_ipv4 ? MAPPED_BITS : 0)),
		.type = header.rtm_type,
		.is_ipv4 = is_ipv4,
		.table = header.rtm_table,
	};
	route.addr[10] = route.addr[11] = is_ipv4 ? 0xFF : 0;
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ body.data + sizeof(header), body.len - sizeof(header) });
	netlink_attribute_t attribute;
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == RTA_DST && attribute.value.len == addr_len) {
			memcpy(route.addr + 16 - addr_len, attribute.value.data, addr_len);
		} else if (attribute.type == RTA_TABLE) {
			route.table = netlink_u32(&attribute, route.table);
		} else if (attribute.type == RTA_OIF) {
			route.ifindex = netlink_u32(&attribute, 0);
		}
	}
	host_clear_tail(route.addr, route.bits);
	if (!host_make_room((void **)&facts->routes, facts->route_count, sizeof(*facts->routes))) {
		facts->is_complete = false;
		return;
	}
	facts->routes[facts->route_count++] = route;
}

static void host_see_rule(host_facts_t *facts, knot_bytes_t body)
{
	struct fib_rule_hdr header;
	if (body.len < sizeof(header)) {
		return;
	}
	memcpy(&header, body.data, sizeof(header));
	uint32_t table = header.table, mark = 0;
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ body.data + sizeof(header), body.len - sizeof(header) });
	netlink_attribute_t attribute;
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == FRA_TABLE) {
			table = netlink_u32(&attribute, table);
		} else if (attribute.type == FRA_FWMARK) {
			mark = netlink_u32(&attribute, 0);
		}
	}
	bool is_wanted = header.action == FR_ACT_TO_TBL && mark == 0 && table != 0;
	if (!is_wanted) {
		return;
	}
	if (!host_make_room((void **)&facts->tables, facts->table_count, sizeof(*facts->tables))) {
		facts->is_complete = false;
		return;
	}
	facts->tables[facts->table_count++] = table;
}

void host_see(host_facts_t *facts, unsigned type, knot_bytes_t body)
{
	switch (type) {
	case RTM_NEWLINK: host_see_link(facts, body); break;
	case RTM_NEWROUTE: host_see_route(facts, body); break;
	case RTM_NEWRULE: host_see_rule(facts, body); break;
	default: break;
	}
}

void host_facts_done(host_facts_t *facts)
{
	free(facts->links);
	free(facts->routes);
	free(facts->tables);
	*facts = (host_facts_t){ 0 };
}

/* ---- Asking ---- */

static void host_see_message(unsigned type, knot_bytes_t body, void *ctx)
{
	host_see(ctx, type, body);
}

static knot_err_t host_dump_links(int fd, host_facts_t *facts)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = { .header = { .nlmsg_type = RTM_GETLINK } };
	return netlink_dump(fd, &request, sizeof(request), host_see_message, facts);
}

static knot_err_t host_dump_rules(int fd, uint8_t family, host_facts_t *facts)
{
	struct {
		struct nlmsghdr header;
		struct fib_rule_hdr rule;
	} request = { .header = { .nlmsg_type = RTM_GETRULE }, .rule = { .family = family } };
	return netlink_dump(fd, &request, sizeof(request), host_see_message, facts);
}

/* table: 0: all. type: 0: all. */
static knot_err_t host_dump_routes(int fd, uint8_t family, uint8_t table, uint8_t type, host_facts_t *facts)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
	} request = {
		.header = { .nlmsg_type = RTM_GETROUTE },
		.route = { .rtm_family = family, .rtm_table = table, .rtm_type = type },
	};
	return netlink_dump(fd, &request, sizeof(request), host_see_message, facts);
}

/* A kernel without IPv6, without rules, or with a table that has had no route yet: there is nothing, which is known. */
static knot_err_t host_ignore_absence(knot_err_t err)
{
	bool is_absent = err == KNOT_ENOTSUP || err == KNOT_ENOENT || err == knot_err_of_errno(EAFNOSUPPORT);
	return is_absent ? KNOT_OK : err;
}

static knot_err_t host_dump_family(int fd, uint8_t family, host_facts_t *facts)
{
	knot_err_t err = host_ignore_absence(host_dump_rules(fd, family, facts));
	if (err == KNOT_OK) {
		err = host_ignore_absence(host_dump_routes(fd, family, RT_TABLE_LOCAL, 0, facts));
	}
	return err == KNOT_OK ? host_ignore_absence(host_dump_routes(fd, family, 0, RTN_LOCAL, facts)) : err;
}

void host_read_by(int fd, host_facts_t *ret_facts)
{
	knot_err_t err = KNOT_EAGAIN;
	*ret_facts = (host_facts_t){ 0 };
	for (unsigned i = 0; i < READ_TRIES && err == KNOT_EAGAIN; i++) {
		host_facts_done(ret_facts);
		ret_facts->is_complete = true;
		err = host_dump_links(fd, ret_facts);
		err = err == KNOT_OK ? host_dump_family(fd, AF_INET, ret_facts) : err;
		err = err == KNOT_OK ? host_dump_family(fd, AF_INET6, ret_facts) : err;
	}
	ret_facts->is_complete = ret_facts->is_complete && err == KNOT_OK;
}

void host_read(host_facts_t *ret_facts)
{
	int fd = netlink_open();
	*ret_facts = (host_facts_t){ 0 };
	if (fd >= 0) {
		host_read_by(fd, ret_facts);
		close(fd);
	}
}

/* ---- Devices ---- */

static const host_link_t *host_find_link(const host_facts_t *facts, uint32_t ifindex)
{
	for (size_t i = 0; ifindex != 0 && i < facts->link_count; i++) {
		if (facts->links[i].ifindex == ifindex) {
			return &facts->links[i];
		}
	}
	return NULL;
}

static host_link_kind_t host_master_kind(const host_facts_t *facts, const host_link_t *link)
{
	const host_link_t *master = host_find_link(facts, link->master);
	if (link->master == 0) {
		return HOST_LINK_PLAIN;
	}
	bool is_usual = master != NULL && (master->kind == HOST_LINK_BRIDGE || master->kind == HOST_LINK_BOND ||
							  master->kind == HOST_LINK_VRF);
	return is_usual ? master->kind : HOST_LINK_OTHER;
}

/* The interface, or its master, or the master's: frames that the interface receives become theirs. */
static bool host_is_base(const host_facts_t *facts, const host_link_t *link, uint32_t ifindex)
{
	for (unsigned i = 0; i < STACK_MAX && link != NULL; i++) {
		if (link->ifindex == ifindex) {
			return true;
		}
		link = host_find_link(facts, link->master);
	}
	return false;
}

/* True if a device is made on a base of the interface, at whatever height. */
static bool host_is_stacked(const host_facts_t *facts, const host_link_t *own, const host_link_t *link)
{
	for (unsigned i = 0; i < STACK_MAX && link != NULL; i++) {
		if (host_is_base(facts, own, link->ifindex)) {
			return true;
		}
		link = host_find_link(facts, link->lower);
	}
	return false;
}

/* ---- What is known ---- */

typedef struct {
	kxdp_known_t *known; /* owned */
	size_t count;
	bool no_memory;
} host_list_t;

static void host_add(host_list_t *list, uint8_t kind, uint8_t bits, const uint8_t *data, size_t len, uint8_t value)
{
	if (list->no_memory || !host_make_room((void **)&list->known, list->count, sizeof(*list->known))) {
		list->no_memory = true;
		return;
	}
	kxdp_known_t *known = &list->known[list->count++];
	*known = (kxdp_known_t){ .kind = kind, .bits = bits, .value = value };
	memcpy(known->data, data, len);
}

static void host_add_macs(const host_facts_t *facts, const host_link_t *own, host_list_t *list)
{
	bool is_port = host_master_kind(facts, own) == HOST_LINK_BRIDGE;
	for (size_t i = 0; i < facts->link_count; i++) {
		const host_link_t *link = &facts->links[i];
		bool is_ours = host_is_stacked(facts, own, link) || (is_port && link->master == own->master);
		if (is_ours && link->has_mac && memcmp(link->mac, own->mac, MAC_LEN) != 0) {
			host_add(list, FILTER_KNOWN_MAC, MAC_LEN * BYTE_BITS, link->mac, MAC_LEN, FILTER_KNOWN_YES);
		}
	}
}

static void host_add_vlans(const host_facts_t *facts, const host_link_t *own, host_list_t *list)
{
	enum { TAG_LEN = 4, TAGS_MAX = 2 };
	for (size_t i = 0; i < facts->link_count; i++) {
		const host_link_t *link = &facts->links[i];
		if (link->kind != HOST_LINK_VLAN || !link->is_up || !host_is_stacked(facts, own, link)) {
			continue;
		}
		/* From the inner tag, the upper device's, to the outer one. */
		uint8_t tags[TAGS_MAX][TAG_LEN] = { 0 };
		unsigned count = 0;
		for (; link != NULL && !host_is_base(facts, own, link->ifindex);
				link = host_find_link(facts, link->lower)) {
			if (link->kind == HOST_LINK_VLAN && count++ < TAGS_MAX) {
				memcpy(tags[1], tags[0], TAG_LEN);
				memcpy(tags[0], link->tag, TAG_LEN);
			}
		}
		if (count <= TAGS_MAX) {
			host_add(list, FILTER_KNOWN_VLAN, sizeof(tags) * BYTE_BITS, tags[0], sizeof(tags),
					FILTER_KNOWN_YES);
		}
	}
}

static bool host_may_reach(const host_facts_t *facts, const host_route_t *route)
{
	bool is_usual = route->table == RT_TABLE_LOCAL || route->table == RT_TABLE_MAIN ||
			route->table == RT_TABLE_DEFAULT;
	for (size_t i = 0; !is_usual && i < facts->table_count; i++) {
		is_usual = facts->tables[i] == route->table;
	}
	const host_link_t *link = host_find_link(facts, route->ifindex);
	return is_usual || (link != NULL && host_master_kind(facts, link) == HOST_LINK_VRF);
}

static bool host_is_loopback(const host_route_t *route)
{
	static const uint8_t one[16] = { [15] = 1 };
	return route->is_ipv4 ? route->addr[12] == 127 : memcmp(route->addr, one, sizeof(one)) == 0;
}

static void host_add_routes(const host_facts_t *facts, const host_link_t *own, host_list_t *list)
{
	for (size_t i = 0; i < facts->route_count; i++) {
		const host_route_t *route = &facts->routes[i];
		if (!host_may_reach(facts, route) || (host_is_loopback(route) && !own->is_loopback)) {
			continue;
		}
		host_add(list, FILTER_KNOWN_ADDRESS, route->bits, route->addr, sizeof(route->addr),
				route->type == RTN_LOCAL ? FILTER_KNOWN_YES : FILTER_KNOWN_NO);
		if (route->type == RTN_BROADCAST && route->is_ipv4 && route->bits == ALL_BITS) {
			host_add(list, FILTER_KNOWN_BROADCAST, ALL_BITS, route->addr, sizeof(route->addr),
					FILTER_KNOWN_YES);
		}
	}
}

/* By kxdp_known_compare(); of several values FILTER_KNOWN_YES comes first. */
static int host_compare(const void *a, const void *b)
{
	const kxdp_known_t *left = a, *right = b;
	int order = kxdp_known_compare(left, right);
	return order != 0 ? order : left->value - right->value;
}

static void host_sort(host_list_t *list)
{
	size_t count = 0;
	if (list->count > 1) {
		qsort(list->known, list->count, sizeof(*list->known), host_compare);
	}
	for (size_t i = 0; i < list->count; i++) {
		if (count == 0 || kxdp_known_compare(&list->known[count - 1], &list->known[i]) != 0) {
			list->known[count++] = list->known[i];
		}
	}
	list->count = count;
}

/* ---- The usual case ---- */

static bool host_is_near(const kxdp_host_t *host, const host_route_t *route)
{
	for (unsigned i = 0; i < host->ipv4_count && route->is_ipv4; i++) {
		if (memcmp(&host->ipv4_be[i], route->addr + 12, 4) == 0) {
			return true;
		}
	}
	for (unsigned i = 0; i < host->ipv6_count && !route->is_ipv4; i++) {
		if (memcmp(host->ipv6[i], route->addr, 16) == 0) {
			return true;
		}
	}
	return false;
}

static void host_add_near(kxdp_host_t *host, const host_route_t *route)
{
	if (host_is_near(host, route)) {
		return;
	}
	if (route->is_ipv4 && host->ipv4_count < KXDP_NEAR_MAX) {
		memcpy(&host->ipv4_be[host->ipv4_count++], route->addr + 12, 4);
	} else if (!route->is_ipv4 && host->ipv6_count < KXDP_NEAR_MAX) {
		memcpy(host->ipv6[host->ipv6_count++], route->addr, 16);
	}
}

/* Addresses of the interface itself first, link-local ones last, as long as there is room. */
static void host_choose_near(const host_facts_t *facts, const host_link_t *own, kxdp_host_t *host)
{
	for (unsigned turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < facts->route_count; i++) {
			const host_route_t *route = &facts->routes[i];
			bool is_link_local = route->addr[0] == 0xFE && (route->addr[1] & 0xC0) == 0x80;
			unsigned wanted = is_link_local ? 2 : route->ifindex == own->ifindex ? 0 : 1;
			if (turn == wanted && route->type == RTN_LOCAL && route->bits == ALL_BITS &&
					host_may_reach(facts, route) && !host_is_loopback(route)) {
				host_add_near(host, route);
			}
		}
	}
}

/* In these bits all broadcast addresses agree; with none, no address does. */
static void host_set_broadcast(const host_list_t *list, kxdp_host_t *host)
{
	uint32_t mask = 0, bits = 1;
	bool any = false;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t addr;
		if (list->known[i].kind != FILTER_KNOWN_BROADCAST) {
			continue;
		}
		memcpy(&addr, list->known[i].data + 12, sizeof(addr));
		mask = any ? mask & ~(addr ^ bits) : UINT32_MAX;
		bits = addr & mask;
		any = true;
	}
	host->broadcast_mask_be = mask;
	host->broadcast_bits_be = bits;
}

knot_err_t host_of(const host_facts_t *facts, uint32_t ifindex, kxdp_host_t *ret_host)
{
	const host_link_t *own = host_find_link(facts, ifindex);
	kxdp_host_t host = { 0 };
	host_list_t list = { 0 };
	if (own != NULL && facts->is_complete) {
		host_link_kind_t master = host_master_kind(facts, own);
		host.check_mac = own->has_mac && master != HOST_LINK_OTHER;
		host.check_vlan = master != HOST_LINK_OTHER && master != HOST_LINK_BRIDGE;
		host.check_address = true;
		memcpy(host.mac, own->mac, MAC_LEN);
		host_add_macs(facts, own, &list);
		host_add_vlans(facts, own, &list);
		host_add_routes(facts, own, &list);
		host_sort(&list);
		host_choose_near(facts, own, &host);
		host_set_broadcast(&list, &host);
	}
	if (list.no_memory) {
		free(list.known);
		return KNOT_ENOMEM;
	}
	if (list.count > KXDP_KNOWN_MAX) {
		free(list.known);
		list = (host_list_t){ 0 };
		host = (kxdp_host_t){ 0 };
	}
	host.known = list.known;
	host.known_count = list.count;
	*ret_host = host;
	return KNOT_OK;
}
