/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Give back the memory that only older versions used, in slices: each makes a version with the same records, in which
 * some of what lies in the most wasteful chunks has been copied to new ones. Between slices there may be commits. A
 * chunk that has become empty goes with the last version that uses it, so that all of it takes little more memory than
 * there was.
 *
 * A pass chooses chunks and goes through all trees and the link table once. It copies an eighth of the version at most.
 * RRsets that nodes share stay where they are, in chunks of their own; so does the apex node. Pure; one thread at a
 * time, which must be the one that may make the next version.
 */
#pragma once

#include "src/zone/contents.h"

/** What remains to be done of a pass. */
typedef struct zone_compaction zone_compaction_t;

enum { ZONE_COMPACT_RECORDS = 1000 }; /* smaller zones are built from scratch, which takes less than 2 ms */

/** Bytes of a version's memory that it doesn't use. */
uint64_t zone_wasted(const zone_contents_t *zone);

/** True if so much of a version's memory is wasted, and that much more than the last pass has `left`, that a pass is
 * worth while. Never for small zones, whose commits build them from scratch. */
bool zone_needs_compaction(const zone_contents_t *zone, uint64_t left);

/** Begin a pass. NULL: out of memory. */
zone_compaction_t *zone_compaction_new(void);

/** End a pass, at any time. NULL is allowed. */
void zone_compaction_free(zone_compaction_t *take_pass);

enum { ZONE_COMPACT_STEPS = 50000 }; /* of a slice: about 20 ns each */

/**
 * Do the next slice of a pass on the newest version of the zone. *ret_zone: the version to be published, or NULL if the
 * slice has only looked; it frees as always. If it isn't published, end the pass. *ret_is_done: the pass has ended; it
 * also ends when a version was built from scratch meanwhile and has little waste.
 * steps: how much to do, at least 1. KNOT_ENOMEM: the pass can go on later.
 */
KNOT_MUST_USE knot_err_t zone_compact_slice(zone_compaction_t *pass, const zone_contents_t *zone, size_t steps,
		zone_contents_t **ret_zone, bool *ret_is_done);
