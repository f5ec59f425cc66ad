/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What one client source is, and how many connections it may have: the same for TCP over AF_XDP and over sockets.
 *
 * An IPv4 address is a source. So is an IPv6 /64, because a client that has one of its addresses usually has them all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** The key of a source. remote: as in IPv6, an IPv4 address as ::ffff:a.b.c.d. */
static inline uint64_t kxdp_source_of(const uint8_t remote[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	/* An IPv4 address takes the place of a prefix in ::/16, which is given to no network (RFC 4291 2.4). */
	bool is_ipv4 = memcmp(remote, mapped, sizeof(mapped)) == 0;
	uint64_t prefix;
	memcpy(&prefix, is_ipv4 ? remote + 8 : remote, sizeof(prefix));
	return prefix;
}

/** Connections that one source may have, of clients_max in all; at least 1. */
static inline uint32_t kxdp_source_share(uint32_t clients_max)
{
	enum {
		SHARE_PART = 8,    /* an eighth of all, */
		SHARE_MIN = 1024,  /* or more of few: a resolver farm behind one address may have as many, */
		SHARE_PART_MAX = 2 /* but never more than half, so that there is always room for others. */
	};
	uint32_t share = clients_max / SHARE_PART > SHARE_MIN ? clients_max / SHARE_PART : SHARE_MIN;
	uint32_t most = clients_max / SHARE_PART_MAX > 0 ? clients_max / SHARE_PART_MAX : 1;
	return share < most ? share : most;
}
