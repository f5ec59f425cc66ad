/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Signatures over the records of the apex by a key-signing key that isn't where the zone is: making them in advance,
 * and checking those that came. Pure.
 */
#pragma once

#include "src/kasp/offline.h"
#include "src/sign/plan.h"

/** Sign the DNSKEY, CDNSKEY and CDS records by the plan's keys that sign keys, and add the signatures. Errors of
 * libdnssec, KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_offline(knot_name_t zone, const sign_plan_t *plan, kasp_offline_t *offline);

/**
 * Check that each set has a signature by one of its own DNSKEYs with the SEP flag, which is good from now_s until
 * until_s (0: at now_s). KNOT_ENOSIG: one hasn't, or there are no DNSKEYs. KNOT_EEXPIRES: it doesn't last. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t sign_offline_check(
		knot_name_t zone, const kasp_offline_t *offline, uint64_t now_s, uint64_t until_s);
