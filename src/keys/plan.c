/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan on its way. */
typedef struct {
	const keys_plan_params_t *params;
	keys_plan_t *plan;
	keys_set_t set; /* the keys that are left, in the engine's hands */
	unsigned made;
	uint64_t now_s;
	uint8_t public[2]; /* of a key that isn't made: its number */
} planning_t;

static const char *const state_names[] = {
	[KEYS_INVALID] = "none",
	[KEYS_PRE_ACTIVE] = "pre-active",
	[KEYS_PUBLISHED] = "published",
	[KEYS_READY] = "ready",
	[KEYS_ACTIVE] = "active",
	[KEYS_RETIRE_ACTIVE] = "retire-active",
	[KEYS_RETIRED] = "retired",
	[KEYS_POST_ACTIVE] = "post-active",
	[KEYS_REVOKED] = "revoked",
	[KEYS_REMOVED] = "removed",
};

const char *keys_state_name(keys_state_t state)
{
	return state_names[state];
}

const char *keys_event_name(const keys_event_t *event)
{
	static const char *const words[] = {
		[KEYS_INVALID] = "delete",
		[KEYS_PRE_ACTIVE] = "generate",
		[KEYS_PUBLISHED] = "publish",
		[KEYS_READY] = "submit",
		[KEYS_ACTIVE] = "activate",
		[KEYS_RETIRE_ACTIVE] = "replace",
		[KEYS_RETIRED] = "retire",
		[KEYS_POST_ACTIVE] = "unpublish",
		[KEYS_REVOKED] = "revoke",
		[KEYS_REMOVED] = "remove",
	};
	return words[event->to];
}

/* ---- Keys that are only thought of ---- */

/* Ids of the plan's own: no key has such a one, as it isn't hexadecimal. */
static knot_err_t plan_generate(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx)
{
	planning_t *planning = ctx;
	kasp_key_t key = { .algorithm = wanted->algorithm, .flags = wanted->flags };
	(void)snprintf(key.id, sizeof(key.id), "new-%u", ++planning->made);
	unsigned remainder, modulo;
	conf_policy_tags(planning->params->policy, &remainder, &modulo);
	/* Tags of their own, which the policy allows: the engine would look for another one. */
	key.tag = (uint16_t)(remainder + planning->made * modulo);
	store_be16(planning->public, (uint16_t)planning->made);
	key.public = (knot_bytes_t){ planning->public, sizeof(planning->public) };
	*ret_key = key;
	return KNOT_OK;
}

static void plan_discard(const kasp_key_t *key, void *ctx)
{
	(void)key, (void)ctx;
}

/* ---- Why ---- */

static void plan_print_time(uint64_t span_s, char *ret_text, size_t max)
{
	static const struct {
		uint64_t unit_s;
		char letter;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t len = 0;
	ret_text[0] = '\0';
	for (size_t i = 0; i < KNOT_LEN(units); i++) {
		if (span_s >= units[i].unit_s || (i + 1 == KNOT_LEN(units) && len == 0)) {
			int ret = snprintf(ret_text + len, max - len, "%" PRIu64 "%c", span_s / units[i].unit_s,
					units[i].letter);
			len += ret > 0 && (size_t)ret < max - len ? (size_t)ret : 0;
			span_s %= units[i].unit_s;
		}
	}
}

/* A delay that the state that ends has, by its parts. */
static void plan_explain_delay(const keys_plan_params_t *params, bool is_of_keys, char why[static KEYS_PLAN_WHY_MAX])
{
	char delay[48], ttl[48];
	plan_print_time(params->policy->propagation_delay_s, delay, sizeof(delay));
	plan_print_time(is_of_keys ? params->key_ttl_s : params->max_ttl_s, ttl, sizeof(ttl));
	(void)snprintf(why, KEYS_PLAN_WHY_MAX, "propagation-delay %s and %s TTL %s have passed", delay,
			is_of_keys ? "DNSKEY" : "the highest", ttl);
}

static void plan_explain_activation(const planning_t *planning, const kasp_key_t *key, keys_event_t *event)
{
	char text[48];
	const keys_plan_params_t *params = planning->params;
	if (!key->is_ksk) {
		plan_explain_delay(params, true, event->why);
		return;
	}
	event->is_assumed = params->has_parent && event->from == KEYS_READY;
	plan_print_time(params->ds_after_s, text, sizeof(text));
	(void)snprintf(event->why, sizeof(event->why), "the parent has its DS%s%s%s",
			event->is_assumed ? ", assumed " : "", event->is_assumed ? text : "",
			event->is_assumed ? " after its submission" : "");
}

static void plan_explain(const planning_t *planning, const kasp_key_t *key, keys_event_t *event)
{
	char text[48];
	const conf_policy_t *policy = planning->params->policy;
	char *why = event->why;
	uint32_t lifetime_s;
	bool has_lifetime;
	if (event->from == KEYS_INVALID && (event->to == KEYS_READY || event->to == KEYS_ACTIVE)) {
		(void)snprintf(why, KEYS_PLAN_WHY_MAX, "the zone gets its first keys");
		return;
	}
	switch (event->to) {
	case KEYS_PRE_ACTIVE: (void)snprintf(why, KEYS_PLAN_WHY_MAX, "the policy has another algorithm"); break;
	case KEYS_PUBLISHED:
		if (event->from == KEYS_PRE_ACTIVE) {
			plan_explain_delay(planning->params, false, why);
			break;
		}
		lifetime_s = key->is_ksk ? policy->ksk_lifetime_s : planning->params->zsk_lifetime_s;
		has_lifetime = lifetime_s > 0;
		plan_print_time(lifetime_s, text, sizeof(text));
		(void)snprintf(why, KEYS_PLAN_WHY_MAX, "a rollover begins%s%s", has_lifetime ? ", lifetime " : "",
				has_lifetime ? text : "");
		break;
	case KEYS_READY: plan_explain_delay(planning->params, true, why); break;
	case KEYS_ACTIVE: plan_explain_activation(planning, key, event); break;
	case KEYS_RETIRE_ACTIVE:
	case KEYS_RETIRED:
	case KEYS_POST_ACTIVE: (void)snprintf(why, KEYS_PLAN_WHY_MAX, "another key has taken over"); break;
	case KEYS_REVOKED: (void)snprintf(why, KEYS_PLAN_WHY_MAX, "its timer says so"); break;
	case KEYS_REMOVED:
		if (event->from == KEYS_RETIRE_ACTIVE) {
			plan_print_time(planning->params->ds_ttl_s, text, sizeof(text));
			(void)snprintf(why, KEYS_PLAN_WHY_MAX, "no cache has its DS any more, after %s", text);
		} else {
			plan_explain_delay(planning->params, key->is_ksk, why);
		}
		break;
	case KEYS_INVALID:
		plan_print_time(policy->delete_delay_s, text, sizeof(text));
		(void)snprintf(why, KEYS_PLAN_WHY_MAX, "delete-delay %s has passed", text);
		break;
	}
}

/* ---- What has changed ---- */

static size_t plan_find(const keys_set_t *set, const char *id)
{
	size_t at = 0;
	while (at < set->count && strcmp(set->keys[at].id, id) != 0) {
		at++;
	}
	return at;
}

static knot_err_t plan_add(planning_t *planning, size_t key, keys_state_t from, keys_state_t to)
{
	keys_plan_t *plan = planning->plan;
	if (plan->count == KEYS_PLAN_MAX) {
		plan->is_cut = true;
		return KNOT_OK;
	}
	if ((plan->count & (plan->count - 1)) == 0) {
		keys_event_t *grown = realloc(plan->events, (plan->count > 0 ? 2 * plan->count : 1) * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		plan->events = grown;
	}
	keys_event_t *event = &plan->events[plan->count++];
	*event = (keys_event_t){ .at_s = planning->now_s, .key = key, .from = from, .to = to };
	plan_explain(planning, &plan->keys.keys[key], event);
	return KNOT_OK;
}

/* Of one time: keys that come before those that go, KSKs before ZSKs. The order of ids says nothing. */
static int plan_compare_events(const void *left, const void *right, void *ctx)
{
	const keys_set_t *keys = ctx;
	const keys_event_t *a = left, *b = right;
	/* States are in the order of a key's life; the end of it is the first. */
	unsigned step_a = (unsigned)a->to - 1, step_b = (unsigned)b->to - 1;
	if (step_a != step_b) {
		return step_a < step_b ? -1 : 1;
	}
	const kasp_key_t *key_a = &keys->keys[a->key], *key_b = &keys->keys[b->key];
	if (key_a->is_ksk != key_b->is_ksk) {
		return key_a->is_ksk ? -1 : 1;
	}
	return key_a->tag != key_b->tag ? (key_a->tag < key_b->tag ? -1 : 1) : strcmp(key_a->id, key_b->id);
}

/* Compare what the plan knows of each key with what it is now. last_s: when it was looked at last. */
static knot_err_t plan_compare(planning_t *planning, uint64_t last_s)
{
	keys_set_t *known = &planning->plan->keys;
	const size_t first = planning->plan->count;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < known->count && err == KNOT_OK; i++) {
		kasp_key_t *before = &known->keys[i];
		size_t at = plan_find(&planning->set, before->id);
		keys_state_t from = keys_state(&before->times, last_s);
		bool is_gone = at == planning->set.count;
		keys_state_t to = is_gone ? KEYS_INVALID : keys_state(&planning->set.keys[at].times, planning->now_s);
		if (from != to) {
			err = plan_add(planning, i, from, to);
		}
		before->times = is_gone ? (kasp_times_t){ 0 } : planning->set.keys[at].times;
	}
	for (size_t i = 0; i < planning->set.count && err == KNOT_OK; i++) {
		const kasp_key_t *key = &planning->set.keys[i];
		if (plan_find(known, key->id) == known->count) {
			err = keys_set_add(known, key);
			keys_state_t to = keys_state(&key->times, planning->now_s);
			err = err == KNOT_OK && to != KEYS_INVALID
					      ? plan_add(planning, known->count - 1, KEYS_INVALID, to)
					      : err;
		}
	}
	if (planning->plan->count > first) {
		qsort_r(&planning->plan->events[first], planning->plan->count - first, sizeof(keys_event_t),
				plan_compare_events, known);
	}
	return err;
}

/* ---- Time ---- */

static uint64_t plan_earlier(uint64_t a_s, uint64_t b_s)
{
	return a_s == 0 || (b_s != 0 && b_s < a_s) ? b_s : a_s;
}

/* When the parent has the DS of a key that waits for it; 0: none waits, or nobody knows. */
static uint64_t plan_parent_due(const planning_t *planning)
{
	uint64_t due_s = 0;
	for (size_t i = 0; i < planning->set.count && planning->params->has_parent; i++) {
		const kasp_key_t *key = &planning->set.keys[i];
		if (key->is_ksk && keys_state(&key->times, planning->now_s) == KEYS_READY) {
			uint64_t after_s = planning->params->ds_after_s; /* never at once: it is a step of its own */
			due_s = plan_earlier(due_s, key->times.ready + (after_s > 0 ? after_s : 1));
		}
	}
	return due_s;
}

/* Do what is due at this time. *ret_next_s: when there is more; 0: never. */
static knot_err_t plan_step(planning_t *planning, uint64_t *ret_next_s)
{
	const keys_plan_params_t *from = planning->params;
	const keys_params_t params = { .policy = from->policy,
		.zsk_lifetime_s = from->zsk_lifetime_s,
		.key_ttl_s = from->key_ttl_s,
		.max_ttl_s = from->max_ttl_s,
		.now_s = planning->now_s };
	const keys_maker_t maker = { .generate = plan_generate, .discard = plan_discard, .ctx = planning };
	keys_outcome_t outcome;
	uint64_t due_s = plan_parent_due(planning);
	if (due_s != 0 && due_s <= planning->now_s && !from->policy->is_manual) {
		knot_err_t err = keys_confirm(&planning->set, planning->now_s, from->ds_ttl_s);
		if (err != KNOT_OK && err != KNOT_ENOREADY) {
			return err;
		}
	}
	knot_err_t err = keys_run(&planning->set, &params, &maker, &outcome);
	if (err != KNOT_OK) {
		return err;
	}
	uint64_t next_s = outcome.next.kind != KEYS_NOTHING ? outcome.next.due_s : 0;
	next_s = plan_earlier(next_s, outcome.next_timer_s);
	next_s = from->policy->is_manual ? next_s : plan_earlier(next_s, plan_parent_due(planning));
	/* A step that is due already and changes nothing would be the last one. */
	*ret_next_s = next_s > planning->now_s ? next_s : 0;
	return KNOT_OK;
}

static knot_err_t plan_run(planning_t *planning)
{
	uint64_t last_s = planning->params->from_s, next_s = last_s;
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && next_s != 0 && next_s <= planning->params->until_s && !planning->plan->is_cut) {
		planning->now_s = next_s;
		err = plan_step(planning, &next_s);
		err = err == KNOT_OK ? plan_compare(planning, last_s) : err;
		last_s = planning->now_s;
	}
	return err;
}

keys_plan_params_t keys_plan_params(
		const conf_policy_t *policy, knot_name_t zone, const zone_keys_t *keys, uint64_t now_s)
{
	enum { YEAR_S = 365 * 86400, DAY_S = 86400, ASSUMED_TTL_S = 3600 };
	const conf_submission_t *submission = policy->submission.count > 0 ? policy->submission.data[0] : NULL;
	const conf_policy_times_t times = conf_policy_times(policy, zone, ASSUMED_TTL_S, ASSUMED_TTL_S);
	return (keys_plan_params_t){ .policy = policy,
		.zsk_lifetime_s = times.zsk_lifetime_s,
		.key_ttl_s = keys->has_ttls ? keys->key_ttl_s : times.dnskey_ttl_s,
		.max_ttl_s = keys->has_ttls ? keys->max_ttl_s : times.zone_max_ttl_s,
		.from_s = now_s,
		.until_s = now_s + YEAR_S,
		.has_parent = submission != NULL,
		.ds_after_s = submission != NULL ? submission->check_interval_s : 0,
		.ds_ttl_s = DAY_S + (submission != NULL ? submission->parent_delay_s : 0) };
}

knot_err_t keys_plan(const keys_set_t *now, const keys_plan_params_t *params, keys_plan_t *ret_plan)
{
	keys_plan_t plan = { .old_count = now->count };
	planning_t planning = { .params = params, .plan = &plan };
	knot_err_t err = keys_set_copy(&plan.keys, now);
	err = err == KNOT_OK ? keys_set_copy(&planning.set, now) : err;
	err = err == KNOT_OK ? plan_run(&planning) : err;
	keys_set_done(&planning.set);
	if (err != KNOT_OK) {
		keys_plan_done(&plan);
		return err;
	}
	*ret_plan = plan;
	return KNOT_OK;
}

void keys_plan_done(keys_plan_t *plan)
{
	keys_set_done(&plan->keys);
	free(plan->events);
	*plan = (keys_plan_t){ .count = 0 };
}
