/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones that are made of others, as edits of a version: `reverse-generate` and `include-from`.
 *
 * Which records are derived can be seen from a record and the sources alone, so nothing is kept about a version:
 *
 *   reverse   PTR records that point to a name in a source. Each is right if that name has the address there. One that
 *             isn't, but that the zone's own file has, stays.
 *   include   everything at and below the apex of a source. It is right if the source has it, too.
 *
 * All else is the zone's own and is never touched. A change of a source becomes marks (derive_mark_change()), whose
 * number follows the change; derive_apply() looks at what is marked and puts it right. Doing so again changes nothing,
 * so a mark too many costs time only, and what was missed is found by marking all.
 *
 * A name belongs to the longest source that it is in. What isn't copied by `include`: signatures and denial (RRSIG,
 * NSEC, NSEC3, NSEC3PARAM), as they are another zone's; of the apex SOA, NS, DNSKEY, CDS, CDNSKEY, ZONEMD, too. A PTR
 * record isn't put beside a CNAME of the zone's own (RFC 2317 4) nor below a DNAME, where it would make the zone
 * invalid. The TTL of a PTR RRset is the lowest of its addresses.
 *
 * Pure; any thread that holds the versions. Names are lower case.
 */
#pragma once

#include "src/zone/txn.h"

typedef enum { DERIVE_REVERSE, DERIVE_INCLUDE } derive_kind_t;

/** A zone that records come from. */
typedef struct {
	knot_name_t name;
	const zone_contents_t *contents; /* borrowed; NULL: none */
	bool is_awaited;                 /* has no contents now: what came from it stays. Else it counts as empty */
} derive_source_t;

/** How a zone is made. Borrowed. */
typedef struct {
	derive_kind_t kind;
	knot_name_t zone;
	const derive_source_t *sources; /* as derive_sort() sorts them */
	size_t source_count;
	bool is_own_known;          /* else what isn't right stays (DERIVE_REVERSE) */
	const zone_contents_t *own; /* what the zone's file or primary says; NULL: nothing */
} derive_t;

enum { DERIVE_MARKS_MAX = 1 << 16 }; /* when there are more, all is looked at, which takes no memory */

/** What is to be looked at: owners in the zone, with what a PTR record there would point to. All zero: nothing. */
typedef struct {
	uint8_t *data; /* owned */
	size_t len, max, count;
	bool is_all;
} derive_marks_t;

void derive_marks_done(derive_marks_t *marks);

/** Mark all. */
void derive_mark_all(derive_marks_t *marks);

/** Add what others mark. Without memory all is marked. */
void derive_marks_add(derive_marks_t *marks, const derive_marks_t *more);

/** True if nothing is marked. */
static inline bool derive_marks_are_empty(const derive_marks_t *marks)
{
	return marks->count == 0 && !marks->is_all;
}

/** Sort sources by name, and drop those that are there twice. */
void derive_sort(derive_source_t *sources, size_t *count);

/** True if records of the zone like this one are derived, if the sources give them. */
bool derive_is_derived(const derive_t *derive, const zone_rr_t *rr);

/** Mark what a new version of the source `name` may change. before, after: NULL: no contents. Costs what zone_diff()
 * does. Without memory all is marked. */
void derive_mark_change(derive_kind_t kind, knot_name_t zone, knot_name_t name, const zone_contents_t *before,
		const zone_contents_t *after, derive_marks_t *marks);

/** Mark what a new version of the zone itself, made by someone else, may have got wrong. As above. */
void derive_mark_edit(const derive_t *derive, const zone_contents_t *before, const zone_contents_t *after,
		derive_marks_t *marks);

/**
 * Put right what is marked. base: the version that `txn` began on, NULL: an empty zone. What the transaction has
 * changed already is looked at in any case. Cost: of each mark a few searches; if all is marked, passes over the
 * sources and the zone. KNOT_ENOMEM: `txn` is to be thrown away.
 */
KNOT_MUST_USE knot_err_t derive_apply(
		const derive_t *derive, const derive_marks_t *marks, const zone_contents_t *base, zone_txn_t *txn);
