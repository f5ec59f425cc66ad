/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/facts.h"

#include "src/zone/nsec3_records.h"

#include <assert.h>

/* Find in the apex node the NSEC3PARAM whose parameters were taken. Its RDATA holds no names, so it is stored
 * unchanged.
 */
static void facts_move_salt(zone_contents_t *zone)
{
	zone_nsec3_params_t *params = &zone->nsec3_params;
	if (params->algorithm == 0) {
		params->salt = NULL;
		return;
	}
	enum { SALT_OFF = 5 };
	zone_block_t block = zone_rrset_body(zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC3PARAM));
	for (const uint8_t *rr = block.bytes; rr < block.bytes + block.len;) {
		knot_bytes_t rdata = { rr + ZONE_RR_RDATA_OFF, load_be16(rr + ZONE_RR_RDATA_LEN_OFF) };
		if (rdata.data[1] == 0 && zone_nsec3_has_params(rdata, params)) {
			params->salt = rdata.data + SALT_OFF;
			return;
		}
		rr = rdata.data + rdata.len;
	}
	assert(false); /* the record was compiled into the apex */
}

void zone_facts_note(zone_contents_t *zone, zone_ref_t apex)
{
	zone->arena = *zone_arena_view(zone->store);
	zone->apex = zone_at(&zone->arena, apex);
	facts_move_salt(zone);
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	assert(soa != NULL);
	/* The RDATA of the SOA, which ends with the minimum, is the first RR that there is. */
	const uint8_t *rr = zone_rrset_body(soa).bytes;
	knot_bytes_t rdata = { rr + ZONE_RR_RDATA_OFF, load_be16(rr + ZONE_RR_RDATA_LEN_OFF) };
	uint32_t ttl = load_be32(rr + ZONE_RR_TTL_OFF), minimum = load_be32(rdata.data + rdata.len - 4);
	zone->serial = knot_soa_serial(rdata);
	zone->soa_minimum_ttl = minimum < ttl ? minimum : ttl;
	zone->is_signed = false;
	for (unsigned i = 0; i < zone_node_rrset_count(zone->apex); i++) {
		zone->is_signed =
				zone->is_signed || zone_rrset_has_sigs(zone_node_rrset_at(&zone->arena, zone->apex, i));
	}
	zone->has_nsec = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC) != NULL;
}
