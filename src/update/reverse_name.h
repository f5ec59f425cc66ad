/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Names of addresses below in-addr.arpa and ip6.arpa (RFC 1035 3.5, RFC 3596 2.5). Pure.
 */
#pragma once

#include "libknot/name/name.h"

enum { REVERSE_ADDRESS_MAX = 16 }; /* bytes of an IPv6 address */

/** The name of an address of 4 or 16 bytes, lower case, at most 75 bytes. */
knot_name_t reverse_name(knot_bytes_t address, uint8_t ret_wire[static KNOT_NAME_MAX]);

/**
 * The address that a name in lower case is of; returns its length, 4 or 16. 0: it is no such name, or isn't written as
 * reverse_name() does (a leading zero, another number of labels).
 */
size_t reverse_address(knot_name_t name, uint8_t ret_address[static REVERSE_ADDRESS_MAX]);

/** True if the name, lower case, is ip6.arpa or below it. */
bool reverse_is_ip6(knot_name_t name);
