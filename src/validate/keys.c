/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/keys.h"

#include <stdlib.h>

#include "libknot/rr/rdata.h"
#include "libknot/rr/rrtype.h"

bool validate_algorithms_has(const validate_algorithms_t *set, const validate_algorithms_t *wanted)
{
	bool has = true;
	for (size_t i = 0; i < KNOT_LEN(set->bits); i++) {
		has = has && (wanted->bits[i] & ~set->bits[i]) == 0;
	}
	return has;
}

/* One that isn't a zone key (RFC 4034 2.1.1), or of an algorithm without code, verifies nothing. */
static knot_err_t keys_add(validate_keys_t *keys, knot_bytes_t rdata)
{
	dnssec_key_t *key;
	knot_err_t err = dnssec_key_from_rdata(rdata, &key);
	if (err == KNOT_EKEYALGORITHM || (err == KNOT_OK && !(dnssec_key_flags(key) & DNSSEC_FLAG_ZONE))) {
		dnssec_key_free(err == KNOT_OK ? key : NULL);
		return KNOT_OK;
	}
	if (err != KNOT_OK) {
		return err == KNOT_ENOMEM ? err : KNOT_EPUBLICKEY;
	}
	uint16_t flags = dnssec_key_flags(key);
	validate_key_t *put = &keys->keys[keys->count++];
	*put = (validate_key_t){ .key = key,
		.tag = dnssec_key_tag(key),
		.algorithm = dnssec_key_algorithm(key),
		.signs_keys = flags & DNSSEC_FLAG_SEP,
		.is_revoked = flags & DNSSEC_FLAG_REVOKE };
	if (!put->is_revoked) {
		validate_algorithms_add(&keys->algorithms, put->algorithm);
	}
	if (put->signs_keys && !put->is_revoked) {
		validate_algorithms_add(&keys->key_algorithms, put->algorithm);
	}
	return KNOT_OK;
}

static void keys_compare_tags(validate_keys_t *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		for (size_t k = 0; k < keys->count; k++) {
			keys->keys[i].is_shared_tag |= i != k && keys->keys[i].tag == keys->keys[k].tag &&
						       keys->keys[i].algorithm == keys->keys[k].algorithm;
		}
	}
}

knot_err_t validate_keys_read(const zone_contents_t *zone, validate_keys_t *ret_keys)
{
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_DNSKEY);
	if (set == NULL) {
		return KNOT_ENOSIGNKEYS;
	}
	validate_keys_t keys = { .keys = calloc(zone_rrset_rr_count(set), sizeof(*keys.keys)) };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = keys.keys != NULL && scratch != NULL ? KNOT_OK : KNOT_ENOMEM;
	zone_rr_iter_t iter = zone_rr_begin(zone->apex, set, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	while (err == KNOT_OK && zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		err = keys_add(&keys, rdata);
	}
	free(scratch);
	if (err != KNOT_OK) {
		validate_keys_done(&keys);
		return err;
	}
	keys_compare_tags(&keys);
	*ret_keys = keys;
	return KNOT_OK;
}

void validate_keys_done(validate_keys_t *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		dnssec_key_free(keys->keys[i].key);
	}
	free(keys->keys);
	*keys = (validate_keys_t){ 0 };
}
