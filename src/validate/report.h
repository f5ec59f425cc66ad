/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What is wrong with the signatures and the chain of a version, as messages of semantic checks (src/zone/check.h). Time
 * and threads as validate.h says.
 */
#pragma once

#include "src/validate/validate.h"
#include "src/zone/check.h"

enum { VALIDATE_REPORT_MAX = 1000 }; /* faults that are told of one by one */

/**
 * A zone_prove_cb: tell of what is wrong, in the order of validate_faults_t; behind VALIDATE_REPORT_MAX faults, of how
 * many more there are. A zone without keys is zone_check()'s to tell of. KNOT_ENOMEM, KNOT_ECRYPTO.
 */
KNOT_MUST_USE knot_err_t validate_report(const zone_contents_t *zone, const zone_check_params_t *params);
