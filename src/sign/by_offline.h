/* SPDX-License-Identifier: BSD-2-Clause */
/** Records of the apex that a key-signing key elsewhere has signed, in the place of those that a plan has (policy item
 * offline-ksk). Reads the key database. */
#pragma once

#include "src/kasp/offline.h"
#include "src/keys/zone_keys.h"
#include "src/sign/plan.h"

/** What holds now. Zero: nothing. Free it with sign_by_offline_done(). */
typedef struct {
	kasp_offline_t records;
	knot_bytes_t *rdatas; /* owned: views of the records, in their order */
	uint64_t next_s;      /* when the next ones begin to hold; 0: there are none */
	uint64_t last_s;      /* the same of the last ones; 0: as above */
} sign_by_offline_t;

/** Find the records that hold at env->now_s and put them into the plan, which borrows them. KNOT_ENOENT: there are
 * none. KNOT_EMALF and others of the key database; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_by_offline(const zone_keys_env_t *env, sign_by_offline_t *ret_offline, sign_plan_t *plan);

void sign_by_offline_done(sign_by_offline_t *offline);
