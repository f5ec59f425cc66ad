/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The calendar of a zone's keys: what each of them will do, when and why.
 *
 * It lets keys_run() work on a copy of the keys at each time at which something is due, and notes what has changed: so
 * the plan is what the server will do, as long as policy and TTLs stay and the parent does what is assumed of it. Keys
 * that will be made have numbers and no tags. Pure; no private key is touched.
 */
#pragma once

#include "src/keys/zone_keys.h"

enum { KEYS_PLAN_MAX = 10000, KEYS_PLAN_WHY_MAX = 160 };

/** What to plan. */
typedef struct {
	const conf_policy_t *policy; /* borrowed */
	uint32_t zsk_lifetime_s;     /* as keys_params_t has them */
	uint32_t key_ttl_s, max_ttl_s;
	uint64_t from_s, until_s; /* seconds since 1970 */
	bool has_parent;          /* the parent is assumed to have a new DS ds_after_s after its submission */
	uint32_t ds_after_s;
	uint32_t ds_ttl_s; /* of the DS records, with conf `parent-delay`: how long the old key stays behind */
} keys_plan_params_t;

/** Something that happens to a key. */
typedef struct {
	uint64_t at_s;
	size_t key;        /* index in the plan's keys */
	keys_state_t from; /* KEYS_INVALID: it is made, or there was no timer */
	keys_state_t to;   /* KEYS_INVALID: it is deleted */
	bool is_assumed;   /* it waits for the parent, of which nothing is known */
	char why[KEYS_PLAN_WHY_MAX];
} keys_event_t;

/** A plan. Free it with keys_plan_done(). */
typedef struct {
	keys_set_t keys;      /* all keys of the time, as they are at its end */
	size_t old_count;     /* so many of them are there already; those behind have no tag */
	keys_event_t *events; /* owned; by time */
	size_t count;
	bool is_cut; /* there are more than KEYS_PLAN_MAX */
} keys_plan_t;

/**
 * What follows from a policy (its submission section says what is assumed of the parent) and what is kept of the zone:
 * for a year from now on. Change what is to be otherwise.
 */
keys_plan_params_t keys_plan_params(
		const conf_policy_t *policy, knot_name_t zone, const zone_keys_t *keys, uint64_t now_s);

/** Make it. Errors of keys_run(); KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t keys_plan(const keys_set_t *now, const keys_plan_params_t *params, keys_plan_t *ret_plan);

void keys_plan_done(keys_plan_t *plan);

/** The word for what happens: "generate", "publish", "submit", "activate", "retire" ... */
const char *keys_event_name(const keys_event_t *event);

/** The word for a state: "published", "ready" ... */
const char *keys_state_name(keys_state_t state);
