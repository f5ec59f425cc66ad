/* SPDX-License-Identifier: BSD-2-Clause */
/** NSEC3 hashes of names (RFC 5155 5) with GnuTLS, and the owner names made from them. No state, any thread. */
#pragma once

#include "src/zone/contents.h"

enum { ZONE_NSEC3_HASH_LEN = 20, ZONE_NSEC3_LABEL_LEN = 32 }; /* SHA-1; base32hex of it without padding */

/** Hash `name` (lower case). False: the algorithm isn't 1, or GnuTLS can't make the hash. */
bool zone_nsec3_hash(const zone_nsec3_params_t *params, knot_name_t name, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN]);

/** The owner `<base32hex(hash of name)>.<apex>`, lower case, in ret_wire. False as above, or if it is too long. */
bool zone_nsec3_owner(const zone_nsec3_params_t *params, knot_name_t name, knot_name_t apex,
		uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_owner);
