/* SPDX-License-Identifier: BSD-2-Clause */
/** What was decided about a child, as edits of its parent. Internal to src/event. */
#pragma once

#include "src/event/child_run.h"
#include "src/zone/txn.h"

/**
 * Edit the delegation as the result says, all or nothing. KNOT_ETRYAGAIN: it isn't any more what the decision was made
 * with. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t child_apply(zone_txn_t *txn, knot_name_t child, const child_result_t *result);
