/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: signing a whole zone in one walk through its names. */
#pragma once

#include "src/sign/run.h"

/** Sign everything that the run's transaction has, keys' records and NSEC3PARAM put as planned. Errors as sign_zone().
 */
KNOT_MUST_USE knot_err_t sign_whole(sign_run_t *run);
