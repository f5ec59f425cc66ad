/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the records of one name as a list on the heap, for comparing and editing them. One owner; any thread.
 */
#pragma once

#include "src/zone/node_build.h"
#include "src/zone/records.h"

/** A record by itself, in canonical form; rdata: at most KNOT_RDATA_MAX bytes. NULL: out of memory. */
zone_record_t *zone_record_new(uint16_t type, uint32_t ttl, knot_bytes_t rdata);

void zone_records_free(zone_record_t *take_first);

/** The records that a version (NULL: an empty zone) has at a name in lower case, in no particular order. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_records_load(const zone_contents_t *zone, knot_name_t owner, zone_record_t **ret_first);

/** The order of records of one name: by type, signatures last as in a node, then by RDATA. <0, 0, >0. */
int zone_record_cmp(const zone_record_t *a, const zone_record_t *b);

/**
 * The records as an array in that order. Free it with free(). NULL: there are none, or no memory (*ret_err becomes
 * KNOT_ENOMEM; otherwise it stays).
 */
zone_record_t **zone_records_sort(const zone_record_t *first, size_t *ret_count, knot_err_t *ret_err);

/**
 * Visit the records of `ours` that `theirs` doesn't have with the same TTL, sorted as above. *ret_goes_on: false if
 * `visit` ended it. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_records_diff(knot_name_t owner, const zone_record_t *ours, const zone_record_t *theirs,
		zone_rr_cb visit, void *ctx, bool *ret_goes_on);
