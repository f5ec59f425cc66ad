/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The way to the target: interface, source address, MAC addresses, as the kernel's tables say. And whether the target
 * is near: on this host, or on a private network of its own that it shares with this host's link.
 */
#pragma once

#include "src/tools/load/options.h"
#include "xdp/path.h"

typedef struct {
	char ifname[IF_NAMESIZE];
	unsigned ifindex;
	bool is_local;                  /* the target is this host itself */
	bool is_direct;                 /* no gateway between */
	bool is_near;                   /* a rate needn't be given; see route_is_near() */
	struct sockaddr_storage source; /* port 0 */
	kxdp_path_t path;               /* for AF_XDP */
} route_t;

enum { ROUTE_ERROR_MAX = 256 };

/**
 * Resolve the target: an address, or a name by the system's resolver. ret_target: with the port. ret_error: the text of
 * a failure.
 */
bool route_resolve(const char *target, uint16_t port, struct sockaddr_storage *ret_target,
		char ret_error[static ROUTE_ERROR_MAX]);

/** Look the way up. interface: NULL: any. */
bool route_find(const struct sockaddr_storage *target, const char *interface, route_t *ret_route,
		char ret_error[static ROUTE_ERROR_MAX]);

/**
 * Fill in path: the MAC addresses of the interface and of the next hop, which the kernel is made to find, and which
 * may take a second. options: what was given instead.
 */
bool route_find_path(const struct sockaddr_storage *target, const options_t *options, route_t *io_route,
		char ret_error[static ROUTE_ERROR_MAX]);

/**
 * Near is: the loopback network, link-local addresses, addresses of this host; and, without a gateway between,
 * addresses for private use (RFC 1918, 6598, 4193), benchmarks (RFC 2544, 5180) and documentation (RFC 5737, 3849), and
 * whatever is at the other end of a veth link. Pure but for the kind of the interface, which is an argument.
 */
bool route_is_near(const struct sockaddr_storage *target, bool is_local, bool is_direct, bool is_veth);

/** Two addresses of one family are the same; ports don't count. */
bool route_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
