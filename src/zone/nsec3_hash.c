/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/nsec3_hash.h"

#include <gnutls/crypto.h>

#include "libknot/base/encode.h"

bool zone_nsec3_hash(const zone_nsec3_params_t *params, knot_name_t name, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	if (params->algorithm != 1) {
		return false;
	}
	uint8_t input[KNOT_NAME_MAX + 255];
	knot_name_lower(name, input);
	size_t len = name.len;
	for (unsigned i = 0; i <= params->iterations; i++) {
		if (params->salt_len > 0) {
			memcpy(input + len, params->salt, params->salt_len);
		}
		if (gnutls_hash_fast(GNUTLS_DIG_SHA1, input, len + params->salt_len, ret_hash) != 0) {
			return false;
		}
		len = ZONE_NSEC3_HASH_LEN;
		memcpy(input, ret_hash, len);
	}
	return true;
}

bool zone_nsec3_owner(const zone_nsec3_params_t *params, knot_name_t name, knot_name_t apex,
		uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_owner)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	size_t len = 1u + ZONE_NSEC3_LABEL_LEN + apex.len;
	if (len > KNOT_NAME_MAX || !zone_nsec3_hash(params, name, hash)) {
		return false;
	}
	ret_wire[0] = ZONE_NSEC3_LABEL_LEN;
	(void)knot_base32hex_print((knot_bytes_t){ hash, sizeof(hash) }, (char *)ret_wire + 1);
	memcpy(ret_wire + 1 + ZONE_NSEC3_LABEL_LEN, apex.wire, apex.len);
	*ret_owner = (knot_name_t){ ret_wire, (uint8_t)len, (uint8_t)(apex.label_count + 1) };
	return true;
}
