/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The rail of keys: a version that is valid by its own keys, but not for those who have cached DS, DNSKEY or data of
 * the versions before it, isn't published. Internal to src/event. What is dangerous: src/keys/caches.h, ADR 62.
 */
#pragma once

#include "src/keys/zone_keys.h"
#include "src/update/update.h"
#include "src/zone/contents.h"

/**
 * Compare the version with what is served (NULL: nothing is) and with the timers of the zone's keys. reason: as
 * update_t.reason. KNOT_EGUARDRAIL: it is held back. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t key_rail_check(const zone_keys_env_t *env, const zone_keys_t *keys,
		const conf_policy_times_t *times, const zone_contents_t *served, const zone_contents_t *next,
		char *reason);

/**
 * Keys whose last step isn't served take it now: their timers, which others count from, are set to env->now_s, and the
 * log tells it. served: NULL: nothing is. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t key_rail_wait(
		const zone_keys_env_t *env, zone_keys_t *keys, const zone_contents_t *served, bool *ret_is_changed);
