/* SPDX-License-Identifier: BSD-2-Clause */
/** The header that tells a server which addresses a proxy forwards for: PROXY protocol version 2, binary. Pure. */
#pragma once

#include "src/exchange/exchange.h"

enum { PROXY_HEADER_MAX = 16 + 36 };

/**
 * Write the header of command PROXY for a datagram or a stream; addresses are both IPv4 or both IPv6, which is
 * asserted. Returns its length.
 */
size_t proxy_write(const exchange_address_t *source, const exchange_address_t *destination, bool is_datagram,
		uint8_t ret_header[static PROXY_HEADER_MAX]);
