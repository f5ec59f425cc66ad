/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the records of one name in order, for editing them: types ascending, signatures last, then by RDATA.
 *
 * An RRset's TTL is that of its first record, so that a change of it is one step; the TTLs of the others mean nothing
 * until zone_record_set_link(). Signatures have their own. Finding takes a binary search, a change moves the pointers
 * behind it. One owner; any thread.
 */
#pragma once

#include "src/zone/record_list.h"

/** Zero: none. */
typedef struct {
	zone_record_t **at; /* owned, and each of them */
	size_t count, max;  /* max: room in `at` */
} zone_record_set_t;

/** The records that a version has at a name in lower case. The set is empty before. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_record_set_load(
		const zone_contents_t *zone, knot_name_t owner, zone_record_set_t *ret_set);

void zone_record_set_clear(zone_record_set_t *set);

/** Make room for one more. Room never shrinks, so what was taken can be put back without. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_record_set_reserve(zone_record_set_t *set);

/** True if there is a record with this type and RDATA: *ret_pos is its position; else the one where it belongs. */
bool zone_record_set_find(const zone_record_set_t *set, const zone_record_t *like, size_t *ret_pos);

/** The positions [*ret_begin..*ret_end) of a type; empty: there is none. */
void zone_record_set_range(const zone_record_set_t *set, uint16_t type, size_t *ret_begin, size_t *ret_end);

/** The record that has the TTL of an RRset; of signatures: the first of them. NULL: there is none. */
zone_record_t *zone_record_set_first(const zone_record_set_t *set, uint16_t type);

/** Put a record where zone_record_set_find() says. There is room. */
void zone_record_set_put(zone_record_set_t *set, size_t pos, zone_record_t *take_record);

/** Take a record out. The RRset keeps its TTL. */
zone_record_t *zone_record_set_take(zone_record_set_t *set, size_t pos);

/** The records as a list, each with its TTL. Valid until the set is changed. NULL: there are none. */
const zone_record_t *zone_record_set_link(const zone_record_set_t *set);
