/* SPDX-License-Identifier: BSD-2-Clause */
/** Whom to ask: names and addresses of command lines and of resolv.conf as addresses with ports. */
#pragma once

#include "src/tools/lookup/lookup.h"

enum { LOOKUP_ADDRESSES_MAX = 128 };

/**
 * All addresses of a query's servers, in order. What can't be resolved is said. Returns how many.
 */
size_t lookup_servers(lookup_t *lookup, const lookup_query_t *query,
		exchange_address_t ret_addresses[static LOOKUP_ADDRESSES_MAX]);

/** The local address of a query; AF_UNSPEC: any. False: it can't be one, which is said. */
bool lookup_local(lookup_t *lookup, const lookup_query_t *query, exchange_address_t *ret_address);
