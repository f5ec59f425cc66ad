/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The records that differ between two versions of a zone, whatever made them.
 *
 * Versions that come from one another share memory; what they share is skipped, so the cost follows the difference, and
 * the depth of the trees. Versions that share none, such as one from the file and one from edits, are compared name by
 * name: a pass over both. Pure; any thread that holds both versions.
 */
#pragma once

#include "src/zone/records.h"

/** Looks at a record that was removed, or added. False ends the comparison. */
typedef bool (*zone_diff_cb)(const zone_rr_t *rr, bool is_added, void *ctx);

/**
 * Visit the records of `before` that `after` doesn't have, and the other way round; NULL is an empty zone. Names are in
 * canonical order, those of an NSEC3 chain among the others; at each name what was removed comes first, both ordered by
 * type, signatures last, and RDATA. A record whose TTL changed is removed and added. The serial is a difference like
 * any other. KNOT_OK also if `visit` ended it. KNOT_ENOMEM: some may have been visited; the memory needed follows the
 * number of names that differ.
 */
KNOT_MUST_USE knot_err_t zone_diff(
		const zone_contents_t *before, const zone_contents_t *after, zone_diff_cb visit, void *ctx);

/** What counts as a difference. */
typedef enum {
	ZONE_DIFFERS_AT_ALL,
	ZONE_DIFFERS_BUT_SERIAL, /* whatever the serials are */
} zone_differs_t;

/** Whether two versions differ: zone_diff() up to the first difference that counts. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_differs(
		const zone_contents_t *before, const zone_contents_t *after, zone_differs_t what, bool *ret_differs);

/** Whether two RRsets, of nodes of one name in two versions, have the same records; and also the same signatures. */
bool zone_rrset_has_same_records(const zone_rrset_t *a, const zone_rrset_t *b);
bool zone_rrset_is_same(const zone_rrset_t *a, const zone_rrset_t *b);

/** Whether two nodes of one name surely have the same records and signatures: what refers to other names isn't
 * compared. */
bool zone_node_is_same(const zone_contents_t *before, const zone_node_t *a, const zone_contents_t *after,
		const zone_node_t *b);
