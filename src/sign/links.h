/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: a chain that changes at some of its names: which records have to be written, and what comes next to each.
 *
 * The chain is a ring in the order of owners: names themselves for NSEC, hashes for NSEC3. What lies between two
 * changed names stays as it is in the version, but for the last one in front of a changed name. So the search touches
 * the neighbours and nothing else.
 */
#pragma once

#include "src/sign/mem.h"
#include "src/zone/contents.h"

/** A name that may change in the chain. */
typedef struct {
	knot_name_t owner;   /* of the record in the chain, lower case */
	bool is_member;      /* is to be in the chain */
	knot_bytes_t bitmap; /* if it is */
} sign_change_t;

enum { SIGN_NO_CHANGE = -1 };

/** A record of the new chain. */
typedef struct {
	knot_name_t owner;
	int64_t change; /* its number; SIGN_NO_CHANGE: a neighbour, which keeps its bitmap */
	bool is_open;   /* what follows in the list is not its next one, which stays */
} sign_stop_t;

/** Zero: empty. */
typedef struct {
	sign_stop_t *stops; /* owned; the names are borrowed of the changes and the version */
	size_t count, max;
} sign_stops_t;

/**
 * Find the records. changes: in ascending order, each name once. type: NSEC or NSEC3. The next one behind the last stop
 * is the first. KNOT_ENOMEM. Free the list with sign_stops_done().
 */
KNOT_MUST_USE knot_err_t sign_stops_find(const zone_contents_t *base, uint16_t type, const sign_change_t *changes,
		size_t change_count, sign_stops_t *ret_stops);

void sign_stops_done(sign_stops_t *stops);
