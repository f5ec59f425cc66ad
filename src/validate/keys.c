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

static knot_err_t keys_reserve(validate_keys_t *keys)
{
	enum { ROOM_MIN = 8 };
	if (keys->count < keys->room) {
		return KNOT_OK;
	}
	size_t room = keys->room > 0 ? 2 * keys->room : ROOM_MIN;
	void *grown = realloc(keys->keys, room * sizeof(*keys->keys));
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	keys->keys = grown;
	keys->room = room;
	return KNOT_OK;
}

/* One that isn't a zone key (RFC 4034 2.1.1), or of an algorithm without code, verifies nothing. */
static knot_err_t keys_add(validate_keys_t *keys, knot_bytes_t rdata)
{
	dnssec_key_t *key;
	if (keys_reserve(keys) != KNOT_OK) {
		return KNOT_ENOMEM;
	}
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

static uint32_t keys_place(uint16_t tag, uint8_t algorithm)
{
	return (uint32_t)tag << 8 | algorithm;
}

/* Those of one tag stay in the order of their records. */
static int keys_compare(const void *va, const void *vb)
{
	const validate_key_t *a = va, *b = vb;
	uint32_t a_place = keys_place(a->tag, a->algorithm), b_place = keys_place(b->tag, b->algorithm);
	return a_place != b_place ? (a_place < b_place ? -1 : 1)
				  : knot_rdata_cmp(dnssec_key_rdata(a->key), dnssec_key_rdata(b->key));
}

static void keys_sort(validate_keys_t *keys)
{
	if (keys->count > 0) {
		qsort(keys->keys, keys->count, sizeof(*keys->keys), keys_compare);
	}
	for (size_t i = 1; i < keys->count; i++) {
		validate_key_t *last = &keys->keys[i - 1], *key = &keys->keys[i];
		if (last->tag == key->tag && last->algorithm == key->algorithm) {
			last->is_shared_tag = key->is_shared_tag = true;
		}
	}
}

size_t validate_keys_first(const validate_keys_t *keys, uint16_t tag, uint8_t algorithm)
{
	size_t low = 0, high = keys->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const validate_key_t *key = &keys->keys[middle];
		if (keys_place(key->tag, key->algorithm) < keys_place(tag, algorithm)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

knot_err_t validate_keys_read(const zone_contents_t *zone, validate_keys_t *ret_keys)
{
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_DNSKEY);
	if (set == NULL) {
		return KNOT_ENOSIGNKEYS;
	}
	validate_keys_t keys = { .keys = NULL };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = scratch != NULL ? KNOT_OK : KNOT_ENOMEM;
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
	keys_sort(&keys);
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
