/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/roll.h"

#include "src/keys/records.h"

#include <assert.h>

enum { TAG_TRIES_MIN = 40, TAG_TRIES_PER_MODULO = 10, ROUNDS_MAX = 1000 };

/** A run on its way. */
typedef struct {
	keys_set_t *set;
	const keys_params_t *params;
	const keys_maker_t *maker;
	keys_outcome_t *outcome;
} roll_t;

const char *keys_kind_name(keys_kind_t kind)
{
	static const char *const names[] = {
		[KEYS_NOTHING] = "none",
		[KEYS_GENERATE] = "generate",
		[KEYS_PUBLISH] = "publish",
		[KEYS_SUBMIT] = "submit",
		[KEYS_REPLACE] = "replace",
		[KEYS_RETIRE] = "retire",
		[KEYS_REMOVE] = "remove",
		[KEYS_DELETE] = "invalid", /* as Knot's log calls it */
	};
	return names[kind];
}

static void roll_note(roll_t *roll, keys_note_t note)
{
	if (roll->outcome->note_count < KEYS_NOTES_MAX) {
		roll->outcome->notes[roll->outcome->note_count++] = note;
	}
}

static keys_state_t roll_state(const roll_t *roll, size_t index)
{
	return keys_state(&roll->set->keys[index].times, roll->params->now_s);
}

/* Keys that others made, that wait, or that are gone have no part in rollovers. */
static bool roll_counts(const kasp_key_t *key, uint64_t now_s)
{
	return !key->is_public_only && !key->is_for_later && keys_state(&key->times, now_s) != KEYS_REMOVED;
}

bool keys_is_rolling(const keys_set_t *set, uint64_t now_s)
{
	size_t ksks = 0, zsks = 0;
	for (size_t i = 0; i < set->count; i++) {
		const kasp_key_t *key = &set->keys[i];
		if (!roll_counts(key, now_s)) {
			continue;
		}
		switch (keys_state(&key->times, now_s)) {
		case KEYS_PRE_ACTIVE:
		case KEYS_PUBLISHED:
		case KEYS_RETIRE_ACTIVE:
		case KEYS_POST_ACTIVE: return true;
		case KEYS_READY: ksks += key->is_ksk; break;
		case KEYS_ACTIVE:
			ksks += key->is_ksk;
			zsks += key->is_zsk;
			break;
		case KEYS_INVALID:
		case KEYS_RETIRED:
		case KEYS_REVOKED:
		case KEYS_REMOVED: break;
		}
	}
	return ksks > 1 || zsks > 1;
}

/* ---- New keys ---- */

static bool roll_has_tag(const roll_t *roll, uint16_t tag)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		if (roll->set->keys[i].tag == tag) {
			return true;
		}
	}
	return false;
}

/* A tag that is free and that this signer may have. */
static bool roll_fits_tag(const roll_t *roll, uint16_t tag)
{
	unsigned remainder, modulo;
	conf_policy_tags(roll->params->policy, &remainder, &modulo);
	return tag % modulo == remainder && !roll_has_tag(roll, tag);
}

/* A key whose tag another signer takes for its own does harm, so this many are made that fewer than one in 20,000 isn't
 * found. Knot DNS makes 40, of which none may fit: with a modulo of 256, in six of seven cases. */
static unsigned roll_tries(const roll_t *roll)
{
	unsigned remainder, modulo;
	conf_policy_tags(roll->params->policy, &remainder, &modulo);
	return TAG_TRIES_PER_MODULO * modulo > TAG_TRIES_MIN ? TAG_TRIES_PER_MODULO * modulo : TAG_TRIES_MIN;
}

static knot_err_t roll_generate_fitting(roll_t *roll, const keys_wanted_t *wanted, kasp_key_t *ret_key)
{
	const keys_maker_t *maker = roll->maker;
	const unsigned tries = roll_tries(roll);
	for (unsigned i = 1;; i++) {
		knot_err_t err = maker->generate(wanted, ret_key, maker->ctx);
		if (err != KNOT_OK) {
			return err;
		}
		if (roll_fits_tag(roll, ret_key->tag)) {
			return KNOT_OK;
		}
		if (i == tries) {
			roll_note(roll, (keys_note_t){ .kind = KEYS_NOTE_CONFLICT, .tag = ret_key->tag });
			return KNOT_OK;
		}
		maker->discard(ret_key, maker->ctx);
	}
}

/* A key that was made for later use, and is such as is wanted now. */
static kasp_key_t *roll_find_for_later(roll_t *roll, const keys_wanted_t *wanted)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		kasp_key_t *key = &roll->set->keys[i];
		if (key->is_for_later && key->is_ksk == wanted->is_ksk && key->is_zsk == wanted->is_zsk &&
				key->algorithm == wanted->algorithm && keys_has_size(key, wanted->bits)) {
			return key;
		}
	}
	return NULL;
}

static bool roll_has_id(const roll_t *roll, const char *id)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		if (strcmp(roll->set->keys[i].id, id) == 0) {
			return true;
		}
	}
	return false;
}

/* The key that the other zones of the policy have. KNOT_ENOENT: there is none, or this zone has it: a successor of that
 * is wanted. */
static knot_err_t roll_share(roll_t *roll, const keys_wanted_t *wanted, kasp_key_t *ret_key)
{
	knot_err_t err = roll->maker->share(wanted, ret_key, roll->maker->ctx);
	return err == KNOT_OK && roll_has_id(roll, ret_key->id) ? KNOT_ENOENT : err;
}

static knot_err_t roll_get_key(roll_t *roll, const keys_wanted_t *wanted, kasp_key_t *ret_key)
{
	const keys_maker_t *maker = roll->maker;
	bool is_shared = wanted->is_ksk && roll->params->policy->is_ksk_shared && maker->share != NULL;
	knot_err_t err = is_shared ? roll_share(roll, wanted, ret_key) : KNOT_ENOENT;
	if (err != KNOT_ENOENT) {
		return err;
	}
	err = roll_generate_fitting(roll, wanted, ret_key);
	return err == KNOT_OK && is_shared ? maker->note_shared(ret_key, maker->ctx) : err;
}

/* Add a key of the policy's algorithm with these timers, and `created`. */
static knot_err_t roll_add_key(roll_t *roll, bool is_ksk, bool is_zsk, kasp_times_t times)
{
	const conf_policy_t *policy = roll->params->policy;
	const keys_wanted_t wanted = {
		.is_ksk = is_ksk,
		.is_zsk = is_zsk,
		.algorithm = policy->algorithm,
		.bits = is_ksk ? policy->ksk_bits : policy->zsk_bits,
		.flags = (uint16_t)(DNSSEC_FLAG_ZONE | (is_ksk ? DNSSEC_FLAG_SEP : 0) |
				    (policy->has_adt ? DNSSEC_FLAG_ADT : 0)),
	};
	roll->outcome->is_changed = true;
	kasp_key_t *later = roll_find_for_later(roll, &wanted);
	if (later != NULL) {
		times.created = later->times.created;
		later->times = times;
		later->is_for_later = false;
		return KNOT_OK;
	}
	kasp_key_t key = { 0 };
	knot_err_t err = roll_get_key(roll, &wanted, &key);
	if (err != KNOT_OK) {
		return err;
	}
	times.created = roll->params->now_s;
	key.times = times;
	key.algorithm = wanted.algorithm;
	key.is_ksk = is_ksk;
	key.is_zsk = is_zsk;
	return keys_set_add(roll->set, &key);
}

/* ---- What the keys lack ---- */

static bool roll_has_any_ksk(const roll_t *roll)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		if (roll->set->keys[i].is_ksk && roll_counts(&roll->set->keys[i], roll->params->now_s)) {
			return true;
		}
	}
	return false;
}

static bool roll_has_any_zsk(const roll_t *roll)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		const kasp_key_t *key = &roll->set->keys[i];
		if (key->is_zsk && !key->is_ksk && roll_counts(key, roll->params->now_s)) {
			return true;
		}
	}
	return false;
}

/* The submission of the first KSK begins at once: no resolver has another one. */
static knot_err_t roll_make_first(roll_t *roll)
{
	uint64_t now_s = roll->params->now_s;
	bool is_csk = roll->params->policy->is_single_type;
	knot_err_t err = roll_add_key(roll, true, is_csk, (kasp_times_t){ .publish = now_s, .ready = now_s });
	return err != KNOT_OK || is_csk
			       ? err
			       : roll_add_key(roll, false, true, (kasp_times_t){ .publish = now_s, .active = now_s });
}

static bool roll_has_algorithm(const roll_t *roll, uint8_t algorithm)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		const kasp_key_t *key = &roll->set->keys[i];
		if (key->algorithm == algorithm && roll_counts(key, roll->params->now_s) &&
				roll_state(roll, i) != KEYS_INVALID) {
			return true;
		}
	}
	return false;
}

/* One key for all, or one for each role: whether the keys in use are such as the policy wants. */
static bool roll_has_scheme(const roll_t *roll)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		const kasp_key_t *key = &roll->set->keys[i];
		keys_state_t state = roll_state(roll, i);
		bool is_used = state == KEYS_READY || state == KEYS_ACTIVE || state == KEYS_PUBLISHED ||
			       state == KEYS_PRE_ACTIVE;
		if (roll_counts(key, roll->params->now_s) && is_used && key->is_ksk) {
			return key->is_zsk == roll->params->policy->is_single_type;
		}
	}
	return true;
}

static knot_err_t roll_start(roll_t *roll, kasp_times_t times, keys_note_kind_t note)
{
	bool is_csk = roll->params->policy->is_single_type;
	roll_note(roll, (keys_note_t){ .kind = note });
	knot_err_t err = roll_add_key(roll, true, is_csk, times);
	return err == KNOT_OK && !is_csk ? roll_add_key(roll, false, true, times) : err;
}

static knot_err_t roll_start_forced(roll_t *roll)
{
	bool is_csk = roll->params->policy->is_single_type,
	     is_rolling = keys_is_rolling(roll->set, roll->params->now_s);
	bool wants_ksk = roll->params->forces_ksk || (is_csk && roll->params->forces_zsk);
	bool wants_zsk = roll->params->forces_zsk && !is_csk;
	const kasp_times_t times = { .publish = roll->params->now_s };
	knot_err_t err = KNOT_OK;
	if (wants_ksk) {
		roll_note(roll, (keys_note_t){ .kind = is_rolling ? KEYS_NOTE_KSK_IGNORED : KEYS_NOTE_KSK_STARTED });
		err = is_rolling ? KNOT_OK : roll_add_key(roll, true, is_csk, times);
	}
	if (wants_zsk && err == KNOT_OK) {
		roll_note(roll, (keys_note_t){ .kind = is_rolling ? KEYS_NOTE_ZSK_IGNORED : KEYS_NOTE_ZSK_STARTED });
		err = is_rolling ? KNOT_OK : roll_add_key(roll, false, true, times);
	}
	return err;
}

/* An engine that plans by itself sets no timers ahead: those of an operator would be in its way. */
static void roll_clear_future(roll_t *roll)
{
	for (size_t i = 0; i < roll->set->count; i++) {
		kasp_times_t *t = &roll->set->keys[i].times;
		uint64_t *timers[] = { &t->pre_active, &t->publish, &t->ready, &t->active, &t->retire_active,
			&t->retire, &t->remove };
		size_t count = t->retire_active == 0 ? KNOT_LEN(timers) : KNOT_LEN(timers) - 2;
		bool is_cleared = false;
		for (size_t j = 0; j < count; j++) {
			if (*timers[j] > roll->params->now_s) {
				*timers[j] = 0;
				is_cleared = true;
			}
		}
		if (is_cleared) {
			roll_note(roll, (keys_note_t){ .kind = KEYS_NOTE_CLEARED, .tag = roll->set->keys[i].tag });
			roll->outcome->is_changed = true;
		}
	}
}

/* ---- Replacing ---- */

/* The old active key with the role of a KSK makes room for a new one. */
static void roll_release_ksk(kasp_key_t *old, const kasp_key_t *new, uint64_t now_s, uint32_t delay_s)
{
	old->times.retire_active = now_s;
	if (old->algorithm != new->algorithm) {
		old->times.post_active = now_s + delay_s;
	} else if (old->is_zsk) {
		old->times.retire = now_s + delay_s;
	} else {
		old->times.remove = now_s + delay_s;
	}
}

static void roll_replace_ksk(keys_set_t *set, size_t index, uint64_t now_s, uint32_t delay_s)
{
	kasp_key_t *new = &set->keys[index];
	for (size_t i = 0; i < set->count; i++) {
		kasp_key_t *old = &set->keys[i];
		keys_state_t state = keys_state(&old->times, now_s);
		if (i == index || !roll_counts(old, now_s)) {
			continue;
		}
		if (old->is_ksk && state == KEYS_ACTIVE) {
			roll_release_ksk(old, new, now_s, delay_s);
		} else if (!old->is_ksk && old->algorithm != new->algorithm &&
				(state == KEYS_ACTIVE || state == KEYS_RETIRE_ACTIVE)) {
			old->times.post_active = now_s + delay_s;
		} else if (!old->is_ksk && new->is_zsk && state == KEYS_ACTIVE) {
			old->times.retire = now_s;
		}
	}
	new->times.active = now_s;
}

static void roll_replace_zsk(keys_set_t *set, size_t index, uint64_t now_s)
{
	kasp_key_t *new = &set->keys[index];
	for (size_t i = 0; i < set->count; i++) {
		kasp_key_t *old = &set->keys[i];
		if (i == index || old->is_ksk || !roll_counts(old, now_s) ||
				keys_state(&old->times, now_s) != KEYS_ACTIVE) {
			continue;
		}
		if (old->algorithm == new->algorithm) {
			old->times.retire = now_s;
		} else {
			old->times.retire_active = now_s;
		}
	}
	new->times.active = now_s;
}

knot_err_t keys_confirm(keys_set_t *set, uint64_t now_s, uint32_t delay_s)
{
	for (size_t i = 0; i < set->count; i++) {
		bool is_ready = set->keys[i].is_ksk && roll_counts(&set->keys[i], now_s) &&
				keys_state(&set->keys[i].times, now_s) == KEYS_READY;
		if (is_ready) {
			roll_replace_ksk(set, i, now_s, delay_s);
			return KNOT_OK;
		}
	}
	return KNOT_ENOREADY;
}

/* ---- What is due ---- */

/* The earlier of two timers, of which one may not be set. */
static uint64_t roll_earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The next thing that an active key brings about: its successor. */
static uint64_t roll_end_of_life(const roll_t *roll, const kasp_key_t *key)
{
	const keys_params_t *params = roll->params;
	uint32_t lifetime_s = key->is_ksk ? params->policy->ksk_lifetime_s : params->zsk_lifetime_s;
	bool may_roll = lifetime_s > 0 && key->algorithm == params->policy->algorithm &&
			!(params->rolls_only_zsk && key->is_ksk) && !keys_is_rolling(roll->set, params->now_s);
	uint64_t since_s = key->is_ksk && key->times.created != 0 ? key->times.created : key->times.active;
	return may_roll ? since_s + lifetime_s : 0;
}

/* Of a key that still signs, because its successor's signatures aren't everywhere: only where no timer says when. */
static uint64_t roll_end_of_signing(const kasp_key_t *key, uint64_t wait_s)
{
	const kasp_times_t *t = &key->times;
	bool has_later = t->retire != 0 || t->remove != 0 || t->post_active != 0;
	return key->is_ksk && !has_later ? t->retire_active + wait_s : 0;
}

/* What the key needs next; due_s 0: nothing. */
static keys_action_t roll_next_of(const roll_t *roll, size_t index)
{
	const kasp_key_t *key = &roll->set->keys[index];
	const kasp_times_t *t = &key->times;
	const conf_policy_t *policy = roll->params->policy;
	uint64_t key_s = (uint64_t)policy->propagation_delay_s + roll->params->key_ttl_s;
	uint64_t data_s = (uint64_t)policy->propagation_delay_s + roll->params->max_ttl_s;
	uint32_t timeout_s = policy->submission.count > 0 ? policy->submission.data[0]->timeout_s : 0;
	uint64_t gone_s = key->is_ksk ? key_s + (key->is_zsk ? roll->params->max_ttl_s : 0) : data_s;
	keys_action_t action = { .is_ksk = key->is_ksk, .is_zsk = key->is_zsk, .tag = key->tag, .index = index };
	switch (roll_state(roll, index)) {
	case KEYS_PRE_ACTIVE:
		action.kind = KEYS_PUBLISH;
		action.due_s = t->pre_active + data_s;
		break;
	case KEYS_PUBLISHED:
		action.kind = key->is_ksk ? KEYS_SUBMIT : KEYS_REPLACE;
		action.due_s = t->publish + key_s;
		break;
	case KEYS_READY:
		action.kind = KEYS_REPLACE;
		action.due_s = key->is_ksk && timeout_s > 0 ? t->ready + timeout_s : 0;
		break;
	case KEYS_ACTIVE:
		action.kind = KEYS_GENERATE;
		action.due_s = roll_end_of_life(roll, key);
		break;
	case KEYS_RETIRE_ACTIVE:
		action.kind = KEYS_RETIRE;
		action.due_s = roll_end_of_signing(key, key_s);
		break;
	case KEYS_POST_ACTIVE:
		action.kind = KEYS_REMOVE;
		action.due_s = t->post_active + key_s;
		break;
	case KEYS_RETIRED:
		action.kind = KEYS_REMOVE;
		action.due_s = roll_earlier(t->retire, t->remove) + gone_s;
		break;
	case KEYS_REMOVED:
		action.kind = KEYS_DELETE;
		action.due_s = roll->params->keeps_future ? 0 : t->remove + policy->delete_delay_s;
		break;
	case KEYS_INVALID:
	case KEYS_REVOKED: break;
	}
	if (action.due_s == 0) {
		action.kind = KEYS_NOTHING;
	}
	return action;
}

static keys_action_t roll_next(const roll_t *roll)
{
	keys_action_t first = { .kind = KEYS_NOTHING };
	for (size_t i = 0; i < roll->set->count; i++) {
		const kasp_key_t *key = &roll->set->keys[i];
		if (key->is_public_only || key->is_for_later) {
			continue;
		}
		keys_action_t action = roll_next_of(roll, i);
		/* Deleting is done by whatever run comes next: nothing waits for it. */
		bool is_late = action.kind == KEYS_DELETE && action.due_s > roll->params->now_s;
		if (action.kind != KEYS_NOTHING && !is_late &&
				(first.kind == KEYS_NOTHING || action.due_s < first.due_s)) {
			first = action;
		}
	}
	return first;
}

static knot_err_t roll_generate(roll_t *roll, const keys_action_t *action)
{
	const kasp_times_t times = { .publish = roll->params->now_s };
	roll_note(roll, (keys_note_t){ .kind = action->is_ksk ? KEYS_NOTE_KSK_STARTED : KEYS_NOTE_ZSK_STARTED });
	return roll_add_key(roll, action->is_ksk, action->is_zsk, times);
}

/* Another KSK that waits for its DS has waited long enough: its successor takes its place. */
static void roll_submit(roll_t *roll, kasp_key_t *key)
{
	uint64_t now_s = roll->params->now_s;
	for (size_t i = 0; i < roll->set->count; i++) {
		kasp_key_t *other = &roll->set->keys[i];
		if (other != key && other->is_ksk && roll_counts(other, now_s) && roll_state(roll, i) == KEYS_READY) {
			other->times.active = now_s;
		}
	}
	key->times.ready = now_s;
}

static void roll_delete(roll_t *roll, size_t index)
{
	keys_outcome_t *outcome = roll->outcome;
	if (outcome->deleted_count < KEYS_DELETED_MAX) {
		kasp_key_t *deleted = &outcome->deleted[outcome->deleted_count++];
		*deleted = roll->set->keys[index];
		deleted->public = (knot_bytes_t){ NULL, 0 };
		keys_set_remove(roll->set, index);
	}
}

static knot_err_t roll_act(roll_t *roll, const keys_action_t *action)
{
	kasp_key_t *key = &roll->set->keys[action->index];
	uint64_t now_s = roll->params->now_s;
	roll->outcome->is_changed = true;
	switch (action->kind) {
	case KEYS_NOTHING: break;
	case KEYS_GENERATE: return roll_generate(roll, action);
	case KEYS_PUBLISH: key->times.publish = now_s; break;
	case KEYS_SUBMIT: roll_submit(roll, key); break;
	case KEYS_REPLACE:
		if (key->is_ksk) {
			roll_replace_ksk(roll->set, action->index, now_s, 0);
		} else {
			roll_replace_zsk(roll->set, action->index, now_s);
		}
		break;
	case KEYS_RETIRE: key->times.retire = now_s; break;
	case KEYS_REMOVE: key->times.remove = now_s; break;
	case KEYS_DELETE: roll_delete(roll, action->index); break;
	}
	return KNOT_OK;
}

/* Another algorithm or scheme by the policy. */
static knot_err_t roll_follow_policy(roll_t *roll)
{
	uint64_t now_s = roll->params->now_s;
	if (keys_is_rolling(roll->set, now_s)) {
		return KNOT_OK;
	}
	if (!roll_has_algorithm(roll, roll->params->policy->algorithm)) {
		return roll_start(roll, (kasp_times_t){ .pre_active = now_s }, KEYS_NOTE_ALGORITHM_STARTED);
	}
	return roll_has_scheme(roll) ? KNOT_OK
				     : roll_start(roll, (kasp_times_t){ .publish = now_s }, KEYS_NOTE_SCHEME_STARTED);
}

/*
 * What isn't due by a timer: first keys, rollovers that another policy or the operator asks for. The policy goes first:
 * a new key of an algorithm or scheme that isn't in use yet, published at once as a forced rollover does it, would be
 * one that not all records are signed with.
 */
static knot_err_t roll_begin(roll_t *roll)
{
	bool follows_policy = !roll->params->rolls_only_zsk,
	     is_forced = roll->params->forces_ksk || roll->params->forces_zsk;
	if (!roll_has_any_ksk(roll) && follows_policy) {
		return roll_make_first(roll);
	}
	if (!follows_policy && !roll_has_any_zsk(roll)) {
		return roll_add_key(roll, false, true,
				(kasp_times_t){ .publish = roll->params->now_s, .active = roll->params->now_s });
	}
	knot_err_t err = follows_policy ? roll_follow_policy(roll) : KNOT_OK;
	return err == KNOT_OK && is_forced ? roll_start_forced(roll) : err;
}

static uint64_t roll_next_timer(const roll_t *roll)
{
	uint64_t next_s = 0;
	for (size_t i = 0; i < roll->set->count; i++) {
		const kasp_times_t *t = &roll->set->keys[i].times;
		const uint64_t timers[] = { t->pre_active, t->publish, t->ready, t->active, t->retire_active, t->retire,
			t->post_active, t->remove, t->revoke };
		for (size_t j = 0; j < KNOT_LEN(timers); j++) {
			if (timers[j] > roll->params->now_s) {
				next_s = roll_earlier(next_s, timers[j]);
			}
		}
	}
	return next_s;
}

/* Each run says so again, as Knot's does: until the DS is there, somebody has to do something. */
static void roll_note_submissions(roll_t *roll)
{
	const keys_set_t *set = roll->set;
	for (size_t i = 0; i < set->count; i++) {
		if (keys_use(set->keys, set->count, i, roll->params->now_s).is_ready) {
			roll_note(roll, (keys_note_t){ .kind = KEYS_NOTE_SUBMISSION, .tag = set->keys[i].tag });
		}
	}
}

static knot_err_t roll_automatically(roll_t *roll)
{
	if (!roll->params->keeps_future) {
		roll_clear_future(roll);
	}
	knot_err_t err = roll_begin(roll);
	keys_action_t action = { .kind = KEYS_NOTHING };
	/* An action that changes nothing would go on for ever: there is none, but a fault must not hang the server. */
	for (unsigned i = 0; err == KNOT_OK && i < ROUNDS_MAX; i++) {
		action = roll_next(roll);
		if (action.kind == KEYS_NOTHING || action.due_s > roll->params->now_s) {
			break;
		}
		err = roll_act(roll, &action);
		if (err != KNOT_OK) {
			roll_note(roll, (keys_note_t){ KEYS_NOTE_FAILED, action.kind, action.tag, err });
		}
	}
	roll->outcome->next = action;
	roll_note_submissions(roll);
	return err;
}

knot_err_t keys_run(
		keys_set_t *set, const keys_params_t *params, const keys_maker_t *maker, keys_outcome_t *ret_outcome)
{
	roll_t roll = { set, params, maker, ret_outcome };
	knot_err_t err = KNOT_OK;
	*ret_outcome = (keys_outcome_t){ .is_changed = false };
	if (!params->policy->is_manual || params->keeps_future) {
		err = roll_automatically(&roll);
	} else if (params->forces_ksk || params->forces_zsk) {
		roll_note(&roll, (keys_note_t){ .kind = KEYS_NOTE_MANUAL });
	}
	ret_outcome->next_timer_s = roll_next_timer(&roll);
	return err;
}
