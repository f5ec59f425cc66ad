/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/route.h"

#include "src/sys/netlink.h"
#include "xdp/kxdp.h"
#include "xdp/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NEIGHBOUR_TRIES = 50, NEIGHBOUR_WAIT_MS = 20, VLAN_TYPE = 0x8100 };

static const void *route_address(const struct sockaddr_storage *sa, size_t *ret_len)
{
	if (sa->ss_family == AF_INET6) {
		*ret_len = 16;
		return &((const struct sockaddr_in6 *)sa)->sin6_addr;
	}
	*ret_len = 4;
	return &((const struct sockaddr_in *)sa)->sin_addr;
}

bool route_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	size_t len, other_len;
	const void *left = route_address(a, &len), *right = route_address(b, &other_len);
	return a->ss_family == b->ss_family && memcmp(left, right, len) == 0;
}

bool route_resolve(const char *target, uint16_t port, struct sockaddr_storage *ret_target,
		char ret_error[static ROUTE_ERROR_MAX])
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG };
	const struct addrinfo numeric = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST
	};
	struct addrinfo *found = NULL;
	int code = getaddrinfo(target, NULL, &numeric, &found);
	if (code != 0) {
		code = getaddrinfo(target, NULL, &hints, &found);
	}
	if (code != 0) {
		snprintf(ret_error, ROUTE_ERROR_MAX, "invalid target '%.100s' (%s)", target, gai_strerror(code));
		return false;
	}
	*ret_target = (struct sockaddr_storage){ 0 };
	memcpy(ret_target, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	/* The port is at the same place in both. */
	((struct sockaddr_in *)ret_target)->sin_port = htons(port);
	return true;
}

/* ---- Near ---- */

typedef struct {
	uint8_t family;
	uint8_t bits;
	uint8_t addr[16];
} prefix_t;

/* Near wherever the packet goes: it can't go far. */
static const prefix_t never_far[] = {
	{ AF_INET, 8, { 127 } },
	{ AF_INET, 16, { 169, 254 } }, /* RFC 3927 */
	{ AF_INET6, 128, { [15] = 1 } },
	{ AF_INET6, 10, { 0xFE, 0x80 } },
};

/* Near if there is no gateway between. */
static const prefix_t near_if_direct[] = {
	{ AF_INET, 8, { 10 } },
	{ AF_INET, 12, { 172, 16 } },
	{ AF_INET, 16, { 192, 168 } },
	{ AF_INET, 10, { 100, 64 } },   /* RFC 6598 */
	{ AF_INET, 15, { 198, 18 } },   /* RFC 2544 */
	{ AF_INET, 24, { 192, 0, 2 } }, /* RFC 5737 */
	{ AF_INET, 24, { 198, 51, 100 } },
	{ AF_INET, 24, { 203, 0, 113 } },
	{ AF_INET6, 7, { 0xFC } },              /* RFC 4193 */
	{ AF_INET6, 48, { 0x20, 0x01, 0, 2 } }, /* RFC 5180 */
	{ AF_INET6, 32, { 0x20, 0x01, 0x0D, 0xB8 } },
};

static bool route_in_prefixes(const struct sockaddr_storage *sa, const prefix_t *prefixes, size_t count)
{
	size_t len;
	const uint8_t *addr = route_address(sa, &len);
	for (size_t i = 0; i < count; i++) {
		const prefix_t *prefix = &prefixes[i];
		unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
		bool is_in = prefix->family == sa->ss_family && memcmp(addr, prefix->addr, whole) == 0 &&
			     (rest == 0 || (addr[whole] ^ prefix->addr[whole]) >> (8 - rest) == 0);
		if (is_in) {
			return true;
		}
	}
	return false;
}

bool route_is_near(const struct sockaddr_storage *target, bool is_local, bool is_direct, bool is_veth)
{
	return is_local || route_in_prefixes(target, never_far, sizeof(never_far) / sizeof(never_far[0])) ||
	       (is_direct && (is_veth || route_in_prefixes(target, near_if_direct,
							 sizeof(near_if_direct) / sizeof(near_if_direct[0]))));
}

/* ---- The kernel's tables ---- */

typedef struct {
	struct nlmsghdr header;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
	};
	uint8_t attributes[128];
	size_t used;
} request_t;

static void request_put(request_t *r, uint16_t type, const void *data, size_t len)
{
	struct rtattr attribute = { .rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(len) };
	memcpy(r->attributes + r->used, &attribute, sizeof(attribute));
	memcpy(r->attributes + r->used + sizeof(attribute), data, len);
	r->used += RTA_ALIGN(RTA_LENGTH(len));
}

/* rtmsg and ndmsg have the same length, so attributes begin at the same place. */
_Static_assert(sizeof(struct rtmsg) == sizeof(struct ndmsg), "one place for attributes");

static size_t request_len(const request_t *r)
{
	return offsetof(request_t, attributes) + r->used;
}

typedef struct {
	route_t *route;
	struct sockaddr_storage next_hop;  /* family AF_UNSPEC: none between */
	struct sockaddr_storage found_for; /* of the neighbour */
	bool found;
	uint8_t mac[6];
} seen_t;

static void route_set_address(struct sockaddr_storage *sa, int family, knot_bytes_t value)
{
	size_t len;
	*sa = (struct sockaddr_storage){ .ss_family = (sa_family_t)family };
	void *to = (void *)(uintptr_t)route_address(sa, &len);
	memcpy(to, value.data, value.len < len ? value.len : len);
}

static void route_see_route(unsigned type, knot_bytes_t body, void *ctx)
{
	seen_t *seen = ctx;
	struct rtmsg header;
	if (type != RTM_NEWROUTE || body.len < sizeof(header)) {
		return;
	}
	memcpy(&header, body.data, sizeof(header));
	seen->found = true;
	seen->route->is_local = header.rtm_type == RTN_LOCAL;
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ body.data + sizeof(header), body.len - sizeof(header) });
	for (netlink_attribute_t a; netlink_next_attribute(&attributes, &a);) {
		switch (a.type) {
		case RTA_OIF: seen->route->ifindex = netlink_u32(&a, 0); break;
		case RTA_PREFSRC: route_set_address(&seen->route->source, header.rtm_family, a.value); break;
		case RTA_GATEWAY: route_set_address(&seen->next_hop, header.rtm_family, a.value); break;
		case RTA_VIA: /* a family, then the address: a gateway of IPv6 for IPv4 (RFC 5549) */
			if (a.value.len == 18) {
				route_set_address(&seen->next_hop, AF_INET6, (knot_bytes_t){ a.value.data + 2, 16 });
			}
			break;
		default: break;
		}
	}
}

static bool route_ask(const struct sockaddr_storage *target, unsigned ifindex, seen_t *seen, knot_err_t *ret_err)
{
	int fd = netlink_open();
	if (fd < 0) {
		*ret_err = knot_err_of_errno(errno);
		return false;
	}
	size_t len;
	const void *addr = route_address(target, &len);
	request_t request = { .header = { .nlmsg_type = RTM_GETROUTE },
		.route = { .rtm_family = (unsigned char)target->ss_family, .rtm_dst_len = (unsigned char)(len * 8) } };
	request_put(&request, RTA_DST, addr, len);
	if (ifindex != 0) {
		request_put(&request, RTA_OIF, &(uint32_t){ ifindex }, 4);
	}
	*ret_err = netlink_request(fd, &request, request_len(&request), route_see_route, seen);
	close(fd);
	return *ret_err == KNOT_OK && seen->found;
}

static bool route_is_veth(unsigned ifindex)
{
	kxdp_link_t link;
	return kxdp_link_query(ifindex, &link) && strcmp(link.kind, "veth") == 0;
}

static void route_print(const struct sockaddr_storage *sa, char ret_text[static INET6_ADDRSTRLEN])
{
	size_t len;
	const void *addr = route_address(sa, &len);
	inet_ntop(sa->ss_family, addr, ret_text, INET6_ADDRSTRLEN);
}

bool route_find(const struct sockaddr_storage *target, const char *interface, route_t *ret_route,
		char ret_error[static ROUTE_ERROR_MAX])
{
	char text[INET6_ADDRSTRLEN];
	route_print(target, text);
	unsigned ifindex = interface != NULL ? if_nametoindex(interface) : 0;
	if (interface != NULL && ifindex == 0) {
		snprintf(ret_error, ROUTE_ERROR_MAX, "no interface '%s'", interface);
		return false;
	}
	*ret_route = (route_t){ 0 };
	seen_t seen = { .route = ret_route };
	knot_err_t err;
	if (!route_ask(target, ifindex, &seen, &err)) {
		snprintf(ret_error, ROUTE_ERROR_MAX, "can't find route to '%s'%s%s (%s)", text,
				interface != NULL ? " by " : "", interface != NULL ? interface : "",
				knot_strerror(err != KNOT_OK ? err : KNOT_ENOENT));
		return false;
	}
	ret_route->is_direct = seen.next_hop.ss_family == AF_UNSPEC;
	ret_route->ifindex = ifindex != 0 ? ifindex : ret_route->ifindex;
	if (if_indextoname(ret_route->ifindex, ret_route->ifname) == NULL) {
		snprintf(ret_error, ROUTE_ERROR_MAX, "the route to '%s' has no interface", text);
		return false;
	}
	ret_route->is_near = route_is_near(
			target, ret_route->is_local, ret_route->is_direct, route_is_veth(ret_route->ifindex));
	return true;
}

/* ---- Neighbours ---- */

static void route_see_neighbour(unsigned type, knot_bytes_t body, void *ctx)
{
	seen_t *seen = ctx;
	struct ndmsg header;
	if (type != RTM_NEWNEIGH || body.len < sizeof(header)) {
		return;
	}
	memcpy(&header, body.data, sizeof(header));
	if (header.ndm_ifindex != (int)seen->route->ifindex ||
			(header.ndm_state & (NUD_FAILED | NUD_INCOMPLETE)) != 0) {
		return;
	}
	struct sockaddr_storage addr = { 0 };
	knot_bytes_t mac = { 0 };
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ body.data + sizeof(header), body.len - sizeof(header) });
	for (netlink_attribute_t a; netlink_next_attribute(&attributes, &a);) {
		if (a.type == NDA_DST) {
			route_set_address(&addr, header.ndm_family, a.value);
		} else if (a.type == NDA_LLADDR) {
			mac = a.value;
		}
	}
	if (mac.len == sizeof(seen->mac) && route_same_address(&addr, &seen->found_for)) {
		memcpy(seen->mac, mac.data, mac.len);
		seen->found = true;
	}
}

/* One look at the table. */
static bool route_look_for_neighbour(int fd, const seen_t *of, seen_t *seen)
{
	request_t request = { .header = { .nlmsg_type = RTM_GETNEIGH },
		.neighbour = { .ndm_family = (unsigned char)of->found_for.ss_family } };
	*seen = *of;
	return netlink_dump(fd, &request, request_len(&request), route_see_neighbour, seen) == KNOT_OK && seen->found;
}

/* Have the kernel find the neighbour, as if it had something to send to it: it asks by ARP or NDP, and that is all. */
static void route_solicit(int fd, const seen_t *of)
{
	size_t len;
	const void *addr = route_address(&of->found_for, &len);
	request_t request = { .header = { .nlmsg_type = RTM_NEWNEIGH, .nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE },
		.neighbour = { .ndm_family = (unsigned char)of->found_for.ss_family,
				.ndm_ifindex = (int)of->route->ifindex,
				.ndm_flags = NTF_USE } };
	request_put(&request, NDA_DST, addr, len);
	(void)!netlink_request(fd, &request, request_len(&request), NULL, NULL);
}

static bool route_find_neighbour(const struct sockaddr_storage *hop, route_t *route)
{
	int fd = netlink_open();
	seen_t of = { .route = route, .found_for = *hop }, seen;
	bool found = false;
	for (unsigned i = 0; fd >= 0 && i < NEIGHBOUR_TRIES && !found; i++) {
		found = route_look_for_neighbour(fd, &of, &seen);
		if (!found) {
			route_solicit(fd, &of);
			(void)nanosleep(&(struct timespec){ .tv_nsec = NEIGHBOUR_WAIT_MS * 1000000l }, NULL);
		}
	}
	if (fd >= 0) {
		close(fd);
	}
	if (found) {
		memcpy(route->path.remote_mac, seen.mac, sizeof(seen.mac));
	}
	return found;
}

static bool route_own_mac(const char *ifname, uint8_t ret_mac[static 6])
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	bool is_good = fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &request) == 0;
	if (fd >= 0) {
		close(fd);
	}
	if (is_good) {
		memcpy(ret_mac, request.ifr_hwaddr.sa_data, 6);
	}
	return is_good;
}

bool route_find_path(const struct sockaddr_storage *target, const options_t *o, route_t *route,
		char ret_error[static ROUTE_ERROR_MAX])
{
	char text[INET6_ADDRSTRLEN];
	route->path = (kxdp_path_t){
		.via = KXDP_VIA_SAME,
		.mtu = kxdp_device_query(route->ifname).mtu,
		.ifindex = route->ifindex,
	};
	if (o->vlan != 0) {
		route->path.tag_count = 1;
		route->path.tags[0] = (kxdp_tag_t){ htons(VLAN_TYPE), htons(o->vlan) };
	}
	if (o->has_local_mac) {
		memcpy(route->path.local_mac, o->local_mac, 6);
	} else if (!route_own_mac(route->ifname, route->path.local_mac)) {
		snprintf(ret_error, ROUTE_ERROR_MAX, "can't get the MAC address of '%s' (%s), use -L", route->ifname,
				strerror(errno));
		return false;
	}
	if (o->has_remote_mac) {
		memcpy(route->path.remote_mac, o->remote_mac, 6);
		return true;
	}
	route_t again = { .ifindex = 0 };
	seen_t seen = { .route = &again };
	knot_err_t err;
	bool found = route_ask(target, route->ifindex, &seen, &err);
	const struct sockaddr_storage *hop = found && seen.next_hop.ss_family != AF_UNSPEC ? &seen.next_hop : target;
	if (!route_find_neighbour(hop, route)) {
		route_print(hop, text);
		snprintf(ret_error, ROUTE_ERROR_MAX,
				"can't get the MAC address of '%s' on '%s' (no reply by ARP or NDP), use -R", text,
				route->ifname);
		return false;
	}
	return true;
}
