/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/chain.h"

#include <stdlib.h>

#include "libknot/base/encode.h"
#include "libknot/rr/rrtype.h"
#include "src/zone/nsec3_records.h"

/* ---- Records ---- */

validate_nsec3_t validate_nsec3_of(const zone_contents_t *zone, const zone_node_t *node, uint8_t *scratch)
{
	validate_nsec3_t found = { .count = 0 };
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, node, KNOT_TYPE_NSEC3);
	knot_name_t owner = zone_node_owner(node);
	if (set == NULL || owner.label_count != zone_node_owner(zone->apex).label_count + 1u ||
			!zone_nsec3_owner_hash(owner, found.hash)) {
		return found;
	}
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	knot_mut_bytes_t room = { scratch, KNOT_RDATA_MAX };
	while (zone_rr_next(&iter, room, &ttl, &rdata)) {
		if (rdata.data[1] > 1 || !zone_nsec3_has_params(rdata, zone_nsec3_params(zone))) {
			continue;
		}
		if (found.count++ == 0) {
			found.rdata = rdata;
			found.is_opt_out = rdata.data[1] & 1;
			room = (knot_mut_bytes_t){ scratch + KNOT_RDATA_MAX, KNOT_RDATA_MAX };
		}
	}
	return found;
}

bool validate_nsec3_next(knot_bytes_t rdata, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	size_t at = 5 + (size_t)rdata.data[4];
	bool is_hash = rdata.len > at + ZONE_NSEC3_HASH_LEN && rdata.data[at] == ZONE_NSEC3_HASH_LEN;
	if (is_hash) {
		memcpy(ret_hash, rdata.data + at + 1, ZONE_NSEC3_HASH_LEN);
	}
	return is_hash;
}

/* ---- The chain ---- */

/* Where hashes begin, a quarter as many places as hashes. */
static knot_err_t chain_index(validate_chain_t *chain)
{
	while ((UINT64_C(4) << chain->place_bits) < chain->count) {
		chain->place_bits++;
	}
	size_t place_count = (size_t)1 << chain->place_bits, at = 0;
	chain->places = calloc(place_count + 1, sizeof(*chain->places));
	if (chain->places == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t place = 0; place <= place_count; place++) {
		while (at < chain->count &&
				(uint64_t)load_be32(chain->links[at].hash) >> (32 - chain->place_bits) < place) {
			at++;
		}
		chain->places[place] = (uint32_t)at;
	}
	return KNOT_OK;
}

typedef struct {
	const zone_contents_t *zone;
	validate_chain_t chain;
	uint8_t *scratch; /* owned */
	zone_tree_iter_t iter;
	uint8_t next[ZONE_NSEC3_HASH_LEN]; /* of the last record */
	bool has_next;
	knot_name_t broken;
} reading_t;

static knot_name_t link_owner(const reading_t *r, size_t number)
{
	return zone_node_owner(zone_at(&r->zone->arena, r->chain.links[number].ref));
}

/* The last record leads to this hash. */
static void reading_compare(reading_t *r, const uint8_t hash[static ZONE_NSEC3_HASH_LEN])
{
	bool leads = r->has_next && memcmp(r->next, hash, ZONE_NSEC3_HASH_LEN) == 0;
	if (!leads && r->broken.len == 0) {
		r->broken = link_owner(r, r->chain.count - 1);
	}
}

static void reading_read(reading_t *r)
{
	zone_tree_begin(&r->zone->arena, zone_nsec3_tree(r->zone), &r->iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&r->iter)) != 0;) {
		validate_nsec3_t nsec3 = validate_nsec3_of(r->zone, zone_at(&r->zone->arena, ref), r->scratch);
		if (nsec3.count == 0) {
			continue;
		}
		if (r->chain.count > 0) {
			reading_compare(r, nsec3.hash);
		}
		validate_link_t *link = &r->chain.links[r->chain.count++];
		memcpy(link->hash, nsec3.hash, sizeof(link->hash));
		link->ref = ref;
		link->is_opt_out = nsec3.is_opt_out;
		r->has_next = validate_nsec3_next(nsec3.rdata, r->next);
		if (nsec3.count > 1 && r->broken.len == 0) {
			r->broken = link_owner(r, r->chain.count - 1);
		}
	}
	if (r->chain.count > 0) {
		reading_compare(r, r->chain.links[0].hash);
	}
}

knot_err_t validate_chain_read(const zone_contents_t *zone, validate_chain_t *ret_chain, knot_name_t *ret_broken)
{
	reading_t *r = calloc(1, sizeof(*r));
	if (r == NULL) {
		return KNOT_ENOMEM;
	}
	r->zone = zone;
	r->scratch = malloc(VALIDATE_NSEC3_SCRATCH);
	r->chain.links = calloc((size_t)zone_nsec3_tree(zone)->count + 1, sizeof(*r->chain.links));
	knot_err_t err = r->scratch != NULL && r->chain.links != NULL ? KNOT_OK : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		reading_read(r);
		err = chain_index(&r->chain);
	}
	if (err == KNOT_OK) {
		*ret_chain = r->chain;
		*ret_broken = r->broken;
	} else {
		validate_chain_done(&r->chain);
	}
	free(r->scratch);
	free(r);
	return err;
}

void validate_chain_done(validate_chain_t *chain)
{
	free(chain->links);
	free(chain->places);
	*chain = (validate_chain_t){ 0 };
}

validate_cover_t validate_chain_find(const validate_chain_t *chain, const zone_contents_t *zone,
		const uint8_t hash[static ZONE_NSEC3_HASH_LEN])
{
	if (chain->count == 0) {
		return (validate_cover_t){ .node = NULL };
	}
	size_t place = (size_t)((uint64_t)load_be32(hash) >> (32 - chain->place_bits));
	size_t low = chain->places[place], high = chain->places[place + 1];
	while (low < high) { /* the first one behind `hash` */
		size_t middle = low + (high - low) / 2;
		if (memcmp(chain->links[middle].hash, hash, ZONE_NSEC3_HASH_LEN) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	validate_link_t *link = &chain->links[low > 0 ? low - 1 : chain->count - 1];
	bool is_match = memcmp(link->hash, hash, ZONE_NSEC3_HASH_LEN) == 0;
	if (is_match) {
		link->is_matched = true;
	}
	return (validate_cover_t){ zone_at(&zone->arena, link->ref), is_match, link->is_opt_out };
}

/* ---- A few records of it ---- */

static bool is_in_chain(const zone_contents_t *zone, zone_ref_t ref, uint8_t *scratch)
{
	return validate_nsec3_of(zone, zone_at(&zone->arena, ref), scratch).count > 0;
}

const zone_node_t *validate_tree_before(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch)
{
	const zone_tree_t *tree = zone_nsec3_tree(zone);
	zone_ref_t ref = zone_tree_below(&zone->arena, tree, owner);
	bool has_turned = false;
	for (;;) {
		if (ref == 0 && has_turned) {
			return NULL;
		}
		if (ref == 0) {
			has_turned = true;
			ref = zone_tree_last(&zone->arena, tree);
		} else if (is_in_chain(zone, ref, scratch)) {
			return zone_at(&zone->arena, ref);
		} else {
			ref = zone_tree_below(&zone->arena, tree, zone_leaf_owner(&zone->arena, ref));
		}
	}
}

const zone_node_t *validate_tree_behind(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch)
{
	const zone_tree_t *tree = zone_nsec3_tree(zone);
	zone_tree_iter_t iter;
	for (unsigned turn = 0; turn < 2; turn++) {
		if (turn == 0) {
			zone_tree_seek(&zone->arena, tree, owner, &iter);
		} else {
			zone_tree_begin(&zone->arena, tree, &iter);
		}
		for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
			bool is_itself = turn == 0 && knot_name_eq(zone_leaf_owner(&zone->arena, ref), owner);
			if (!is_itself && is_in_chain(zone, ref, scratch)) {
				return zone_at(&zone->arena, ref);
			}
		}
	}
	return NULL;
}

validate_cover_t validate_tree_find(
		const zone_contents_t *zone, const uint8_t hash[static ZONE_NSEC3_HASH_LEN], uint8_t *scratch)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t apex = zone_node_owner(zone->apex);
	knot_name_t owner = { wire, (uint8_t)(1 + ZONE_NSEC3_LABEL_LEN + apex.len), (uint8_t)(apex.label_count + 1) };
	wire[0] = ZONE_NSEC3_LABEL_LEN;
	(void)knot_base32hex_print((knot_bytes_t){ hash, ZONE_NSEC3_HASH_LEN }, (char *)wire + 1);
	memcpy(wire + 1 + ZONE_NSEC3_LABEL_LEN, apex.wire, apex.len);
	zone_ref_t ref = zone_tree_find(&zone->arena, zone_nsec3_tree(zone), owner);
	bool is_match = ref != 0 && is_in_chain(zone, ref, scratch);
	const zone_node_t *node = is_match ? zone_at(&zone->arena, ref) : validate_tree_before(zone, owner, scratch);
	bool is_opt_out = node != NULL && validate_nsec3_of(zone, node, scratch).is_opt_out;
	return (validate_cover_t){ node, is_match, is_opt_out };
}
