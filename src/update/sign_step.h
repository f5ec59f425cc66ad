/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: DNSSEC records of a new version (src/sign), before its serial is set, and what has to be signed behind it.
 *
 * Edits get what they lack in their own transaction, so that data and signatures are one change. A whole version gets
 * another one in its place. Cost: that of the signatures that are due.
 */
#pragma once

#include "src/update/update.h"

/** Sign the edits, or update->next. If nothing differs then, update->is_over. Errors of sign_zone(). */
KNOT_MUST_USE knot_err_t update_run_sign(update_t *update);

/** Sign a set of the apex that was changed behind the signer: SOA, ZONEMD. Nothing happens if the zone isn't signed.
 * Errors of sign_apex_set(). */
KNOT_MUST_USE knot_err_t update_sign_set(update_t *update, zone_txn_t *txn, uint16_t type);

/** The serial of the signed version: the next one after `serial`, and newer than what was signed before. */
uint32_t update_signed_serial(const update_t *update, uint32_t serial);
