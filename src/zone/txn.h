/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Changes to a version, record by record. They can be read back and compared before they are published.
 *
 * A transaction keeps the records of the names that it touches; everything else is read from the version that it began
 * on. The new version shares the memory of that one; what is made are nodes of names that changed and of those that
 * depend on them, so time and memory follow the change (patch.h). What few changes need, another NSEC3 chain or new
 * records for a great part of the names, is built from scratch. Old versions leave memory behind, which
 * zone_txn_freshen() bounds. Any thread; one call at a time. Nothing is published or logged here.
 */
#pragma once

#include "src/zone/build.h"
#include "src/zone/records.h"

typedef struct zone_txn zone_txn_t;

/**
 * Begin on top of `base`, which must stay until the end; NULL: an empty zone. params: origin is copied. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_txn_begin(
		const zone_contents_t *base, const zone_build_params_t *params, zone_txn_t **ret_txn);

/**
 * Add a record. owner: any case, in the zone; rdata: uncompressed and checked; ttl becomes that of the whole RRset.
 * KNOT_EISRECORD: it is there already (its TTL is changed). KNOT_EOUTOFZONE. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_txn_put(
		zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

/** Remove a record. KNOT_ENORECORD: there is none like it. KNOT_EOUTOFZONE. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_txn_remove(zone_txn_t *txn, knot_name_t owner, uint16_t type, knot_bytes_t rdata);

/**
 * Remove the records of a type at a name, or, for type 0, of all types but SOA.
 * KNOT_ENONODE: the name has no records. KNOT_ENOENT: none of this type. KNOT_EOUTOFZONE. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_txn_remove_all(zone_txn_t *txn, knot_name_t owner, uint16_t type);

/**
 * Mark what the transaction is now, to come back to it with zone_txn_rollback(). Marks are numbers: later ones are gone
 * after a rollback to an earlier one. From the first mark on each step is noted, until zone_txn_unmark().
 */
size_t zone_txn_mark(zone_txn_t *txn);

/** Undo each step that was taken since the mark, which remains. Cost: that of the steps. */
void zone_txn_rollback(zone_txn_t *txn, size_t mark);

/** Forget all marks and what was noted for them. */
void zone_txn_unmark(zone_txn_t *txn);

/** The zone's name, and the version that the transaction began on (NULL: none). */
knot_name_t zone_txn_origin(const zone_txn_t *txn);
const zone_contents_t *zone_txn_base(const zone_txn_t *txn);

/** True if a step named it, so that its records may be others than those of the version. Any case. */
bool zone_txn_is_touched(const zone_txn_t *txn, knot_name_t owner);

/**
 * Visit all records as they are now: as zone_each_record(), but NSEC3 records of touched names come in the order of
 * owners. `visit` may change names in front of the one that it is shown. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_txn_each(const zone_txn_t *txn, zone_rr_cb visit, void *ctx);

/** Visit the records of a name as they are now, by type. KNOT_ENONODE: the name has none. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_txn_each_of(const zone_txn_t *txn, knot_name_t owner, zone_rr_cb visit, void *ctx);

/** The TTL of an RRset as it is now; of signatures: of one of them. KNOT_ENOENT: there is none. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_txn_find_ttl(const zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t *ret_ttl);

/**
 * KNOT_OK if the name is there now: it is the apex, or has records, or is an empty non-terminal. KNOT_ENONODE.
 * KNOT_ENOMEM. Cost, of a name without records: that of zone_txn_find_below().
 */
KNOT_MUST_USE knot_err_t zone_txn_find(zone_txn_t *txn, knot_name_t owner);

/**
 * KNOT_OK if a name strictly below `owner` has records now, glue included, those of an NSEC3 chain not. KNOT_ENONODE.
 * KNOT_ENOMEM. Cost: a search, and one for each name below that lost its records since the last question about this
 * name; the first question: one for each name that was touched.
 */
KNOT_MUST_USE knot_err_t zone_txn_find_below(zone_txn_t *txn, knot_name_t owner);

/** True if a name strictly above `owner` has a DNAME now. Cost: a walk down the trees, and a search for each name
 * above. */
bool zone_txn_is_below_dname(const zone_txn_t *txn, knot_name_t owner);

/**
 * Visit what the version had and has no more (`added` false), or what is new. In canonical order, but a SOA that was
 * replaced comes first. A record whose TTL changed is both. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_txn_diff(const zone_txn_t *txn, bool added, zone_rr_cb visit, void *ctx);

/** True if some record was changed, added or removed. False with *ret_err for KNOT_ENOMEM. */
bool zone_txn_is_changed(const zone_txn_t *txn, knot_err_t *ret_err);

/**
 * Make the new version. The transaction stays as it is, also on failure. base: the version that the transaction began
 * on, or, if that was a hold (zone_image_hold()), the version held: the new one shares its memory; NULL: it shares
 * none. params: as for zone_txn_begin(), but of this moment. KNOT_ENOSOA, KNOT_ESEMCHECK, KNOT_EZONESIZE, KNOT_ENOMEM.
 * The old version doesn't change; its owner must free it as always.
 */
KNOT_MUST_USE knot_err_t zone_txn_build(const zone_txn_t *txn, const zone_contents_t *base,
		const zone_build_params_t *params, zone_contents_t **ret_zone);

/** zone_txn_build() that shares no memory, and that params->should_stop gives up: KNOT_ESTOPPED. */
KNOT_MUST_USE knot_err_t zone_txn_rebuild(
		const zone_txn_t *txn, const zone_build_params_t *params, zone_contents_t **ret_zone);

/**
 * If the zone is small and many commits have left much of a version's memory unused, a version that is built from
 * scratch with the same records; the one that is given is freed. Otherwise, or without memory, that one. Not of a
 * published version. Larger zones: compact.h, renew.h.
 */
zone_contents_t *zone_txn_freshen(zone_contents_t *take_zone);

/** zone_txn_build() on the version that it began on, with the parameters of the beginning, and zone_txn_freshen(). The
 * transaction is gone, also on failure. */
KNOT_MUST_USE knot_err_t zone_txn_commit(zone_txn_t *take_txn, zone_contents_t **ret_zone);

/** Forget the changes. NULL is allowed. */
void zone_txn_discard(zone_txn_t *txn);
