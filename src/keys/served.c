/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/served.h"

/* True if the data that is served has signatures of the algorithm. */
static bool served_is_signed(const keys_view_t *served, uint8_t algorithm)
{
	bool is_signed = false;
	for (size_t i = 0; i < served->count && !is_signed; i++) {
		is_signed = served->keys[i].signs_zone && served->keys[i].algorithm == algorithm;
	}
	return is_signed;
}

uint64_t *keys_unserved_timer(kasp_key_t *key, const keys_view_t *served, bool asks_parent, uint64_t now_s)
{
	const keys_seen_t *seen = keys_find_seen(served, key);
	bool is_public = seen != NULL && seen->public.len > 0, signs_zone = seen != NULL && seen->signs_zone;
	if (served->count == 0 || key->is_public_only || key->is_for_later) {
		return NULL;
	}
	switch (keys_state(&key->times, now_s)) {
	case KEYS_PRE_ACTIVE: return served_is_signed(served, key->algorithm) ? NULL : &key->times.pre_active;
	case KEYS_PUBLISHED: return is_public ? NULL : &key->times.publish;
	/* After a while it takes over even if nobody has said that its DS is there. */
	case KEYS_READY: return asks_parent && !(seen != NULL && seen->has_cds) ? &key->times.ready : NULL;
	case KEYS_RETIRED: return key->is_zsk && signs_zone ? &key->times.retire : NULL;
	case KEYS_POST_ACTIVE: return is_public ? &key->times.post_active : NULL;
	case KEYS_ACTIVE:
	case KEYS_RETIRE_ACTIVE:
	case KEYS_REVOKED:
	case KEYS_REMOVED:
	case KEYS_INVALID: break;
	}
	return NULL;
}
