/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/records.h"

#include <stdlib.h>

static bool each_of_set(const zone_node_t *node, const zone_rrset_t *set, bool sigs, uint8_t *scratch, zone_rr_cb visit,
		void *ctx)
{
	zone_rr_t rr = { .owner = zone_node_owner(node), .type = sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(set) };
	zone_rr_iter_t iter = zone_rr_begin(node, set, sigs);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &rr.ttl, &rr.rdata)) {
		if (!visit(&rr, ctx)) {
			return false;
		}
	}
	return true;
}

bool zone_each_of_node(
		const zone_contents_t *zone, const zone_node_t *node, uint8_t *scratch, zone_rr_cb visit, void *ctx)
{
	unsigned count = zone_node_rrset_count(node);
	for (unsigned sigs = 0; sigs < 2; sigs++) {
		for (unsigned i = 0; i < count; i++) {
			const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, node, i);
			if (!each_of_set(node, set, sigs, scratch, visit, ctx)) {
				return false;
			}
		}
	}
	return true;
}

knot_err_t zone_read_apex(const zone_contents_t *zone, zone_rr_cb visit, void *ctx)
{
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	(void)zone_each_of_node(zone, zone->apex, scratch, visit, ctx);
	free(scratch);
	return KNOT_OK;
}

bool zone_each_record(const zone_contents_t *zone, uint8_t *scratch, zone_rr_cb visit, void *ctx)
{
	zone_node_iter_t iter;
	zone_nodes_begin(zone, &iter);
	for (const zone_node_t *node; (node = zone_nodes_next(zone, &iter)) != NULL;) {
		if (!zone_each_of_node(zone, node, scratch, visit, ctx)) {
			return false;
		}
	}
	return true;
}

bool zone_each_of_name(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch, zone_rr_cb visit, void *ctx)
{
	const zone_tree_t *const trees[] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone) };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		zone_ref_t ref = zone_tree_find(&zone->arena, trees[i], owner);
		if (ref != 0 && !zone_each_of_node(zone, zone_at(&zone->arena, ref), scratch, visit, ctx)) {
			return false;
		}
	}
	return true;
}
