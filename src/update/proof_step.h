/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the proof that a new version is validly signed (src/validate), before anything is stored. */
#pragma once

#include "src/update/update.h"

/** Prove update->next, and a digest that was generated for it. Errors of validate_zone() and zonemd_verify() with
 * update->proof; that something expires soon is none. */
KNOT_MUST_USE knot_err_t update_run_proof(update_t *update);
