/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: ZONEMD records of a new version (RFC 8976), between its build and all that looks at it.
 *
 * A version that came as it is, by a file or a transfer, is verified as such; one that is made from edits is verified
 * unless its record is generated. A generated record replaces what the version has. Cost, if the policy wants any of
 * this: a digest of the whole version for each change.
 */
#pragma once

#include "src/update/update.h"

/** Verify update->next, then give it its record. Errors of zonemd_verify() with update->has_bad_zonemd, KNOT_EZONESIZE,
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t update_run_zonemd(update_t *update);

/** Before a transaction is signed: a record in the place of the one that is generated, or none if they are removed, so
 * that the chain knows the type. Nothing happens if no record is generated. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t update_reserve_zonemd(const update_t *update, zone_txn_t *txn);
