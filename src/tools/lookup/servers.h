/* SPDX-License-Identifier: BSD-2-Clause */
/** Whom to ask: names and addresses of command lines and of resolv.conf as addresses with ports. */
#pragma once

#include "src/tools/lookup/lookup.h"

enum { LOOKUP_ADDRESSES_MAX = 32 };

/** The servers of a query, those of resolv.conf if it names none, with the ports that they have. */
void lookup_servers(const lookup_query_t *query, lookup_hosts_t *ret_hosts);

/** The addresses of a server, which has a service. What can't be resolved is said. Returns how many. */
size_t lookup_resolve(lookup_t *lookup, const lookup_query_t *query, const lookup_host_t *host,
		exchange_address_t ret_addresses[static LOOKUP_ADDRESSES_MAX]);

/** The local address of a query; AF_UNSPEC: any. False: it can't be one, which is said. */
bool lookup_local(lookup_t *lookup, const lookup_query_t *query, exchange_address_t *ret_address);
