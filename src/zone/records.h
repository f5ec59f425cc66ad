/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The records of a version, one by one and in full: for listing, writing and comparing, not for answering.
 *
 * Readers: as contents.h says. Cost: a copy of each record's RDATA into scratch memory of the caller.
 */
#pragma once

#include "libknot/rr/rdata.h"
#include "src/zone/contents.h"

/** A record, borrowed during the call that shows it. */
typedef struct {
	knot_name_t owner; /* lower case */
	uint16_t type;
	uint32_t ttl;       /* seconds */
	knot_bytes_t rdata; /* uncompressed, canonical */
} zone_rr_t;

/** Looks at a record; false ends the walk. */
typedef bool (*zone_rr_cb)(const zone_rr_t *rr, void *ctx);

/**
 * Visit the records of a node of `zone`: RRsets by type, then the signatures. scratch: KNOT_RDATA_MAX bytes.
 * False: `visit` ended it.
 */
bool zone_each_of_node(
		const zone_contents_t *zone, const zone_node_t *node, uint8_t *scratch, zone_rr_cb visit, void *ctx);

/** Visit those of the apex, with scratch memory of its own. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_read_apex(const zone_contents_t *zone, zone_rr_cb visit, void *ctx);

/** Visit the records of the whole zone in canonical order of owners, those of the NSEC3 chain last. As above. */
bool zone_each_record(const zone_contents_t *zone, uint8_t *scratch, zone_rr_cb visit, void *ctx);

/** Visit the records of one name, if it is there: `owner` in lower case. As above. */
bool zone_each_of_name(const zone_contents_t *zone, knot_name_t owner, uint8_t *scratch, zone_rr_cb visit, void *ctx);
