/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the records of the apex that a plan wants: DNSKEY, CDS, CDNSKEY and NSEC3PARAM. */
#pragma once

#include "src/sign/run.h"

/** Put DNSKEY, CDS and CDNSKEY into the transaction as planned. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_apex_keys(sign_run_t *run);

/** Put NSEC3PARAM as planned. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_apex_chain(sign_run_t *run);
