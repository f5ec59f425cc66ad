/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A version built from scratch with the same records as another. It shares RRsets as well as can be, and its numbers
 * begin with 1: commits share only with what is shared already, and never give a number out again.
 *
 * Small zones are built in the zone's turn, larger ones beside it: from a hold on the version of the moment. What
 * commits change meanwhile is applied to the new version afterwards. Both versions are there until it is published.
 * Pure; any thread that holds the versions.
 */
#pragma once

#include "src/zone/contents.h"

/** True if a version built from scratch may be worth while: the zone is small (ZONE_COMPACT_RECORDS), commits have
 * changed it since it was built, and a fifth of its memory is wasted; or it has grown by an eighth since it was built
 * or weighed, or most of its numbers are unused. */
bool zone_needs_renewal(const zone_contents_t *zone);

/**
 * Weigh a larger zone that needs renewal: true if a build from scratch would save more than an eighth of the
 * memory that it uses, or most of its numbers are unused. A zone that grew by records that have nothing in common would
 * save nothing, but need twice its memory meanwhile. Looks at all RRsets: some 150 ns a name; 8 to 16 bytes for each
 * record, 4 MiB at most, and a bit for each number. should_stop: as for zone_renew(); then, or out of memory: false.
 */
bool zone_renewal_pays(const zone_contents_t *zone, bool (*should_stop)(void *ctx), void *ctx);

/** The version with the same records and memory that needs no renewal until it has grown again. It shares the memory of
 * `zone`, of which it is the successor. NULL: out of memory. */
zone_contents_t *zone_renew_later(const zone_contents_t *zone);

/** The version built from scratch. Cost: that of loading the zone without reading its file. should_stop: asked now and
 * then; true gives it up; NULL: never. NULL: that, or out of memory. */
zone_contents_t *zone_renew(const zone_contents_t *zone, bool (*should_stop)(void *ctx), void *ctx);

/**
 * Apply to a version with the records of `from` what differs in `to`, which commits made of `from`. *fresh is replaced;
 * on failure it stays. records_max: more aren't applied. KNOT_ERANGE: there are more. KNOT_ETRYAGAIN: `to` doesn't come
 * from `from`, or the difference needs a build from scratch. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_renew_follow(
		const zone_contents_t *from, const zone_contents_t *to, size_t records_max, zone_contents_t **fresh);

/** Make the version the successor of `zone`, which has the same records, so that zone_is_same_version() knows it. */
void zone_renew_end(zone_contents_t *fresh, const zone_contents_t *zone);

/** True if `now` is the version of which `held` is a hold, or was only moved since (compact.h), or built again. NULL:
 * no version, which is the same only as that. */
bool zone_is_same_version(const zone_contents_t *held, const zone_contents_t *now);
