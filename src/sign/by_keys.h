/* SPDX-License-Identifier: BSD-2-Clause */
/** The plan of the signer that follows from a zone's policy and its keys. Values in, a plan out. */
#pragma once

#include "src/keys/zone_keys.h"
#include "src/sign/plan.h"

/** A plan with what it points to. Zero: none. */
typedef struct {
	sign_plan_t plan;
	sign_key_t *keys;       /* owned */
	keys_records_t records; /* owned */
} sign_by_keys_t;

/** Make it. env, keys (opened): borrowed for as long as the plan is used. Free with sign_by_keys_done(), also after
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_by_keys(const zone_keys_env_t *env, const zone_keys_t *keys,
		const conf_policy_times_t *times, sign_by_keys_t *ret_made);

void sign_by_keys_done(sign_by_keys_t *made);
