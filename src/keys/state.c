/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/state.h"

static bool state_passed(uint64_t timer_s, uint64_t now_s)
{
	return timer_s != 0 && timer_s <= now_s;
}

keys_state_t keys_state(const kasp_times_t *t, uint64_t now_s)
{
	if (state_passed(t->remove, now_s)) {
		return KEYS_REMOVED;
	}
	if (state_passed(t->revoke, now_s)) {
		return KEYS_REVOKED;
	}
	if (state_passed(t->post_active, now_s)) {
		return state_passed(t->retire, now_s) ? KEYS_INVALID : KEYS_POST_ACTIVE;
	}
	/* The rest in the order of a key's life, from its end. */
	const struct {
		uint64_t timer_s;
		keys_state_t state;
	} rows[] = {
		{ t->retire, KEYS_RETIRED },
		{ t->retire_active, KEYS_RETIRE_ACTIVE },
		{ t->active, KEYS_ACTIVE },
		{ t->ready, KEYS_READY },
		{ t->publish, KEYS_PUBLISHED },
		{ t->pre_active, KEYS_PRE_ACTIVE },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (state_passed(rows[i].timer_s, now_s)) {
			return rows[i].state;
		}
	}
	return KEYS_INVALID;
}

/* True if another key with the role of a ZSK and the same algorithm is active. */
static bool state_has_other_zsk(const kasp_key_t *keys, size_t count, size_t index, uint64_t now_s)
{
	for (size_t i = 0; i < count; i++) {
		if (i != index && keys[i].is_zsk && keys[i].algorithm == keys[index].algorithm &&
				keys_state(&keys[i].times, now_s) == KEYS_ACTIVE) {
			return true;
		}
	}
	return false;
}

static bool state_is_ksk_plus(const kasp_key_t *key, const keys_use_t *use, uint64_t now_s)
{
	const kasp_times_t *t = &key->times;
	bool is_between = state_passed(t->retire_active, now_s) && !state_passed(t->retire, now_s);
	bool is_over = state_passed(t->retire, now_s) || state_passed(t->post_active, now_s) ||
		       state_passed(t->remove, now_s);
	return key->is_ksk && !is_over && ((use->is_public && !use->is_active) || is_between);
}

static bool state_is_zsk_plus(const kasp_key_t *keys, size_t count, size_t index, const keys_use_t *use, uint64_t now_s)
{
	const kasp_key_t *key = &keys[index];
	const kasp_times_t *t = &key->times;
	bool is_removed = state_passed(t->remove, now_s);
	bool is_before = state_passed(t->pre_active, now_s) && !state_passed(t->ready, now_s) &&
			 !state_passed(t->active, now_s);
	bool is_between = state_passed(t->retire_active, now_s) && !state_passed(t->retire, now_s);
	bool is_after = state_passed(t->post_active, now_s);
	if (!key->is_zsk || is_removed) {
		return false;
	}
	return is_before || is_after ||
	       ((use->is_ready || is_between) && !state_has_other_zsk(keys, count, index, now_s));
}

keys_use_t keys_use(const kasp_key_t *keys, size_t count, size_t index, uint64_t now_s)
{
	const kasp_key_t *key = &keys[index];
	const kasp_times_t *t = &key->times;
	keys_use_t use = { 0 };
	if (key->is_for_later) {
		return use;
	}
	if (key->is_ksk && state_passed(t->revoke, now_s) && !state_passed(t->remove, now_s)) {
		return (keys_use_t){ .is_public = true, .ksk_active_plus = true, .is_revoked = true };
	}
	bool is_gone = state_passed(t->post_active, now_s) || state_passed(t->remove, now_s);
	bool is_retired = state_passed(t->retire, now_s);
	use.is_public = state_passed(t->publish, now_s) && !is_gone && (!is_retired || key->is_zsk);
	use.is_ready = key->is_ksk && state_passed(t->ready, now_s) && !state_passed(t->active, now_s);
	use.is_active = state_passed(t->active, now_s) && !state_passed(t->retire_active, now_s) && !is_retired &&
			!state_passed(t->remove, now_s);
	use.ksk_active_plus = state_is_ksk_plus(key, &use, now_s);
	use.zsk_active_plus = state_is_zsk_plus(keys, count, index, &use, now_s);
	return use;
}

/** What the keys of an algorithm can do. */
typedef struct {
	bool has_ksk, has_zsk; /* in the zone */
	bool signs_keys, signs_zone;
} state_roles_t;

static state_roles_t state_roles_of(const kasp_key_t *keys, size_t count, uint8_t algorithm, uint64_t now_s)
{
	state_roles_t roles = { 0 };
	for (size_t i = 0; i < count; i++) {
		keys_use_t use = keys_use(keys, count, i, now_s);
		if (keys[i].algorithm != algorithm || keys[i].is_public_only || use.is_revoked) {
			continue;
		}
		roles.has_ksk |= use.is_public && keys[i].is_ksk;
		roles.has_zsk |= use.is_public && keys[i].is_zsk;
		roles.signs_keys |= keys_signs_keys(&keys[i], &use);
		roles.signs_zone |= keys_signs_zone(&keys[i], &use);
	}
	return roles;
}

knot_err_t keys_check(const kasp_key_t *keys, size_t count, bool is_offline_ksk, uint64_t now_s)
{
	bool is_any_complete = false;
	for (size_t i = 0; i < count; i++) {
		if (keys[i].is_public_only || !keys_use(keys, count, i, now_s).is_public) {
			continue;
		}
		state_roles_t roles = state_roles_of(keys, count, keys[i].algorithm, now_s);
		bool has_ksks = roles.has_ksk && roles.signs_keys, has_zsks = roles.has_zsk && roles.signs_zone;
		bool is_complete = is_offline_ksk ? has_ksks || has_zsks : has_ksks && has_zsks;
		if (!is_complete && (roles.has_ksk || roles.has_zsk)) {
			return KNOT_EKEYSET;
		}
		is_any_complete |= is_complete;
	}
	return is_any_complete ? KNOT_OK : KNOT_ENOSIGNKEYS;
}
