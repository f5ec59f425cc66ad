/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: which NSEC3 records are the chain that is answered from, and where each stands in it (RFC 5155). */
#pragma once

#include "src/zone/contents.h"
#include "src/zone/node_build.h"
#include "src/zone/nsec3_hash.h"

/**
 * The NSEC3PARAM that answers follow, of an apex's records: the first usable one in canonical order, as there may be
 * two while the salt changes. Those with flags are ignored (RFC 5155 4.1.2). The salt borrows from the record;
 * algorithm 0: there is none.
 */
zone_nsec3_params_t zone_nsec3_params_of(const zone_record_t *records);

/** True if the RDATA of an NSEC3 has these parameters. */
bool zone_nsec3_has_params(knot_bytes_t rdata, const zone_nsec3_params_t *params);

/** The hash that the owner of an NSEC3 names. False: its first label isn't one. */
bool zone_nsec3_owner_hash(knot_name_t owner, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN]);

/**
 * Make `node` a node of the chain: sets is_chain and the prefixes of its own hash and of the one behind it. next: the
 * owner behind it in the zone, whatever its RDATA says, as answers go by that. Both owners name hashes.
 */
void zone_nsec3_place(knot_name_t next, zone_node_params_t *node);

/** What the chain says of a name's hash. */
typedef zone_nsec3_hint_t (*zone_nsec3_find_cb)(knot_name_t name, void *ctx);

/** With more iterations there are no hints: to hash each name would take hours, which a primary could choose. */
enum { ZONE_NSEC3_HINTED_ITERATIONS_MAX = 500 };

/** Set the hints of an authoritative name's node. Nothing is synthesized below a cut, so that has one only. */
void zone_nsec3_give_hints(
		zone_node_params_t *node, const zone_nsec3_params_t *params, zone_nsec3_find_cb find, void *ctx);
