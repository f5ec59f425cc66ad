/* SPDX-License-Identifier: BSD-2-Clause */
/** What signing says in the log, in Knot's words. Internal to src/event. */
#pragma once

#include "src/keys/prove.h"
#include "src/sign/by_offline.h"
#include "src/update/update.h"

/** "DNSSEC, what (error, details)". */
void signing_log_failure(const zone_keys_env_t *env, const char *what, knot_err_t err, const char *details);

/** A private key that can't be used. reason: as update_t.reason. */
void signing_log_flaw(const zone_keys_env_t *env, const keys_flaw_t *flaw, char *reason);

/** That the clock is behind what was signed, or made, at then_s. reason: ZONE_KEYS_REASON_MAX bytes. */
void signing_print_behind(uint64_t then_s, uint64_t now_s, char *ret_reason);

/** That what is served had expired when the server started, so that keys aren't rolled for hold_s seconds. */
void signing_log_expired(const zone_keys_env_t *env, uint64_t expired_s, uint64_t hold_s);

/** Why the keys can't be used. */
void signing_log_unusable(const zone_keys_env_t *env, const zone_keys_t *keys, knot_err_t err);

/** Values of the policy that don't fit the zone. */
void signing_log_policy(const zone_keys_env_t *env, const conf_policy_times_t *times);

/** What was done with the keys. */
void signing_log_notes(const zone_keys_env_t *env, const keys_outcome_t *outcome);

/** A line for each key, in the order in which they are published. */
void signing_log_keys(const zone_keys_env_t *env, const keys_set_t *set);

/** More CDS and CDNSKEY records than a rollover has. count: keys of which there are some. */
void signing_log_submitted(const zone_keys_env_t *env, size_t count);

/** What came of the search for records that were signed offline. offline: those that are used, to be told; NULL: not.
 */
void signing_log_offline(const zone_keys_env_t *env, knot_err_t err, const sign_by_offline_t *offline);

/** What was signed. */
void signing_log_result(const zone_keys_env_t *env, const update_effects_t *effects);

/** What comes next. next_s: 0: nothing. */
void signing_log_next(const zone_keys_env_t *env, const keys_outcome_t *outcome, uint64_t next_s);
