/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Catalog zones that the server makes of its own zones (RFC 9432 4), as edits of a transaction.
 *
 * A member's unique id is a hash of its name and of the time when it became a member, so that it is the same after a
 * restart and on each server that has these times, and another if a zone was removed and came back (RFC 9432 5.4).
 * Records, TTLs and ids are those of Knot DNS: either server goes on where the other has stopped. The serial is the
 * caller's (update_set_serial()). Pure; any thread.
 */
#pragma once

#include "src/catalog/set.h"
#include "src/zone/txn.h"

enum { CATALOG_ID_LEN = 16 }; /* lower-case hexadecimal digits */

/** The unique id of a member. member: any case. since_s: when it became a member, seconds since 1970. */
void catalog_id(knot_name_t member, uint64_t since_s, char ret_id[static CATALOG_ID_LEN]);

/** What is to be listed of a zone. Borrowed. */
typedef struct {
	knot_name_t member; /* any case */
	uint64_t since_s;
	knot_bytes_t group; /* at most CATALOG_GROUP_MAX bytes; empty: none */
} catalog_listing_t;

/**
 * Add what a catalog has without members: SOA with the serial, NS, version. To a transaction over an empty zone.
 * KNOT_EOUTOFZONE: names of the catalog would be too long. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t catalog_put_head(zone_txn_t *txn, knot_name_t catalog, uint32_t serial);

/** List a member, or give a listed one its group. Nothing changes if it is so already. Errors as above. */
KNOT_MUST_USE knot_err_t catalog_put_member(zone_txn_t *txn, knot_name_t catalog, const catalog_listing_t *listing);

/** Remove a member as it is listed; nothing happens if it isn't listed. Errors as above. */
KNOT_MUST_USE knot_err_t catalog_drop_member(zone_txn_t *txn, const catalog_member_t *listed);

/** Who knows since when zones are members. */
typedef struct {
	uint64_t (*since)(knot_name_t member, void *ctx); /* of a zone that is to be listed; seconds since 1970 */
	void (*gone)(knot_name_t member, void *ctx);      /* it isn't listed any more: its time is to be forgotten */
	void *ctx;
} catalog_times_t;

/**
 * Make `txn`, which is over `current`, list just the members of `wanted`, with their groups. Those that are listed keep
 * their unique ids, whatever their times: only others ask for one. If a member is listed twice, the first id in
 * canonical order stays. `wanted` gets sorted; owners in it don't matter. current NULL: there is no version yet, and
 * the head is the caller's. Cost: reading both lists; edits only of what differs. Errors of catalog_read(): `current`
 * isn't what this server makes. KNOT_EOUTOFZONE, KNOT_ENOMEM. With any of them, the transaction is to be discarded.
 */
KNOT_MUST_USE knot_err_t catalog_list_members(zone_txn_t *txn, knot_name_t catalog, const zone_contents_t *current,
		catalog_set_t *wanted, const catalog_times_t *times);
