/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/nsec3_records.h"

#include <assert.h>

enum { SALT_OFF = 5 }; /* in the RDATA of NSEC3 and NSEC3PARAM: algorithm, flags, iterations, length of the salt */

zone_nsec3_params_t zone_nsec3_params_of(const zone_record_t *records)
{
	const zone_record_t *first = NULL;
	for (const zone_record_t *r = records; r != NULL; r = r->next) {
		bool is_usable = r->type == KNOT_TYPE_NSEC3PARAM && r->rdata[0] == 1 && r->rdata[1] == 0;
		if (is_usable && (first == NULL || knot_rdata_cmp((knot_bytes_t){ r->rdata, r->rdata_len },
								   (knot_bytes_t){ first->rdata, first->rdata_len }) <
								   0)) {
			first = r;
		}
	}
	if (first == NULL) {
		return (zone_nsec3_params_t){ 0 };
	}
	return (zone_nsec3_params_t){ .algorithm = first->rdata[0],
		.iterations = load_be16(first->rdata + 2),
		.salt_len = first->rdata[4],
		.salt = first->rdata + SALT_OFF };
}

bool zone_nsec3_has_params(knot_bytes_t rdata, const zone_nsec3_params_t *params)
{
	return rdata.data[0] == params->algorithm && load_be16(rdata.data + 2) == params->iterations &&
	       rdata.data[4] == params->salt_len && memcmp(rdata.data + SALT_OFF, params->salt, params->salt_len) == 0;
}

static int digit_of(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'v' ? c - 'a' + 10 : -1;
}

bool zone_nsec3_owner_hash(knot_name_t name, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	if (name.wire[0] != ZONE_NSEC3_LABEL_LEN) {
		return false;
	}
	for (unsigned i = 0; i < ZONE_NSEC3_LABEL_LEN; i += 8) { /* eight digits are five bytes */
		uint64_t bits = 0;
		for (unsigned j = 0; j < 8; j++) {
			int digit = digit_of(name.wire[1 + i + j]);
			if (digit < 0) {
				return false;
			}
			bits = bits << 5 | (unsigned)digit;
		}
		for (unsigned j = 0; j < 5; j++) {
			ret_hash[i / 8 * 5 + j] = (uint8_t)(bits >> (32 - 8 * j));
		}
	}
	return true;
}

void zone_nsec3_place(knot_name_t next, zone_node_params_t *node)
{
	uint8_t own_hash[ZONE_NSEC3_HASH_LEN], next_hash[ZONE_NSEC3_HASH_LEN];
	bool are_hashes = zone_nsec3_owner_hash(node->owner, own_hash) && zone_nsec3_owner_hash(next, next_hash);
	assert(are_hashes);
	(void)are_hashes;
	node->is_chain = true;
	node->own_prefix = load_be32(own_hash);
	node->next_prefix = load_be32(next_hash);
}

void zone_nsec3_give_hints(
		zone_node_params_t *node, const zone_nsec3_params_t *params, zone_nsec3_find_cb find, void *ctx)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t wildcard;
	if (params->iterations > ZONE_NSEC3_HINTED_ITERATIONS_MAX) {
		return;
	}
	node->nsec3 = find(node->owner, ctx);
	if (!(node->flags & ZONE_NODE_CUT) && knot_name_wildcard_below(node->owner, wire, &wildcard)) {
		node->nsec3_wildcard = find(wildcard, ctx);
	}
}
