/* SPDX-License-Identifier: BSD-2-Clause */
/* `plan`: the calendar of a zone's keys, as a table, as JSON, or as a picture (plan_svg.c). */
#include "src/keys/plan.h"

#include "libdnssec/algorithm.h"
#include "libknot/base/json.h"
#include "src/tools/managekeys/plan_svg.h"

#include <stdlib.h>
#include <string.h>

/* ---- Options ---- */

static bool plan_read_time(const char *option, const char *text, uint64_t now_s, uint64_t *ret_s)
{
	return text == NULL || attributes_read_time(text, now_s, ret_s) ||
	       keymgr_complain("invalid %s '%s': a time such as +180d or 20271231000000", option, text);
}

/* A policy of the configuration, or that of the same name in another file. *ret_conf: the file's, to be freed. */
static const conf_policy_t *plan_find_policy(const keymgr_t *run, conf_t **ret_conf)
{
	char error[CONF_CHOICE_ERROR_MAX];
	const char *wanted = run->plan.policy;
	const conf_policy_t *found = wanted != NULL ? conf_find_policy(run->conf, wanted) : run->env.policy;
	if (found != NULL) {
		return found;
	}
	const conf_choice_t choice = { .config = wanted };
	if (!conf_choice_load(&choice, ret_conf, error)) {
		(void)keymgr_complain(
				"policy '%s' is neither in the configuration nor a file with one (%s)", wanted, error);
		return NULL;
	}
	found = conf_find_policy(*ret_conf, run->env.policy->id);
	if (found == NULL) {
		(void)keymgr_complain("file '%s' has no policy '%s'", wanted, run->env.policy->id);
	}
	return found;
}

/* Change what options say. */
static bool plan_change_params(const keymgr_t *run, keys_plan_params_t *params)
{
	uint64_t after_s = params->ds_after_s, ttl_s = params->ds_ttl_s;
	bool is_good = plan_read_time("--until", run->plan.until, run->env.now_s, &params->until_s) &&
		       plan_read_time("--ds-after", run->plan.ds_after, 0, &after_s) &&
		       plan_read_time("--ds-ttl", run->plan.ds_ttl, 0, &ttl_s);
	params->has_parent = params->has_parent || run->plan.ds_after != NULL;
	params->ds_after_s = after_s < UINT32_MAX ? (uint32_t)after_s : UINT32_MAX;
	params->ds_ttl_s = ttl_s < UINT32_MAX ? (uint32_t)ttl_s : UINT32_MAX;
	return is_good;
}

/* ---- Output ---- */

void plan_print_name(const keys_plan_t *plan, size_t key, char ret_name[static PLAN_NAME_MAX])
{
	if (key < plan->old_count) {
		(void)snprintf(ret_name, PLAN_NAME_MAX, "%u", plan->keys.keys[key].tag);
	} else {
		(void)snprintf(ret_name, PLAN_NAME_MAX, "%s", plan->keys.keys[key].id);
	}
}

static void plan_print_table(const keys_plan_t *plan, uint64_t now_s, list_times_t times)
{
	for (size_t i = 0; i < plan->count; i++) {
		const keys_event_t *event = &plan->events[i];
		const kasp_key_t *key = &plan->keys.keys[event->key];
		char when[LIST_TIME_MAX], name[PLAN_NAME_MAX];
		keymgr_print_time(event->at_s, now_s, times, when);
		plan_print_name(plan, event->key, name);
		printf("%-20s  %s %-8s %-9s %s\n", when, keymgr_role(key->is_ksk, key->is_zsk), name,
				keys_event_name(event), event->why);
	}
}

static void plan_put_event(const keys_plan_t *plan, const keys_event_t *event, knot_json_t *json)
{
	const kasp_key_t *key = &plan->keys.keys[event->key];
	const dnssec_algorithm_t *algorithm = dnssec_algorithm_find(key->algorithm);
	bool is_old = event->key < plan->old_count;
	char when[LIST_TIME_MAX];
	keymgr_print_time(event->at_s, 0, LIST_ISO, when);
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "time", when);
	knot_json_uint(json, "timestamp", event->at_s);
	knot_json_text(json, "action", keys_event_name(event));
	knot_json_text(json, "role", keymgr_role(key->is_ksk, key->is_zsk));
	knot_json_text(json, "id", key->id);
	if (is_old) {
		knot_json_uint(json, "tag", key->tag);
	} else {
		knot_json_null(json, "tag");
	}
	knot_json_text(json, "algorithm", algorithm != NULL ? algorithm->name : "");
	knot_json_text(json, "from", keys_state_name(event->from));
	knot_json_text(json, "to", keys_state_name(event->to));
	knot_json_bool(json, "assumed", event->is_assumed);
	knot_json_text(json, "why", event->why);
	knot_json_close(json);
}

static bool plan_print_json(const keys_plan_t *plan)
{
	knot_json_t json = knot_json_of(knot_json_to_file, stdout);
	knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (size_t i = 0; i < plan->count; i++) {
		plan_put_event(plan, &plan->events[i], &json);
	}
	knot_json_close(&json);
	return knot_json_end(&json);
}

/* What the plan can't know. */
static void plan_warn(const keys_plan_t *plan, const keys_plan_params_t *params)
{
	if (params->policy->is_manual) {
		fprintf(stderr, "warning: the policy is manual, so only timers that are set are in the plan\n");
	}
	bool waits = false;
	for (size_t i = 0; i < plan->count; i++) {
		waits = waits || plan->events[i].to == KEYS_READY;
	}
	for (size_t i = 0; i < plan->old_count; i++) {
		waits = waits || keys_state(&plan->keys.keys[i].times, params->until_s) == KEYS_READY;
	}
	if (waits && !params->has_parent) {
		fprintf(stderr, "warning: a KSK waits for its DS at the parent, of which the policy knows nothing; "
				"--ds-after says when it is there\n");
	}
	if (plan->is_cut) {
		fprintf(stderr, "warning: there is more, only the first %zu events are in the plan\n", plan->count);
	}
}

static knot_err_t plan_show(const keymgr_t *run, const keys_plan_t *plan, const keys_plan_params_t *params)
{
	plan_warn(plan, params);
	if (run->plan.wants_svg) {
		plan_print_svg(plan, params, run->zone_text, stdout);
		return KNOT_OK;
	}
	if (run->is_json) {
		return plan_print_json(plan) ? KNOT_OK : KNOT_EFILE;
	}
	plan_print_table(plan, run->env.now_s, run->argument_count > 0 ? keymgr_times_of(run->arguments[0]) : LIST_ISO);
	return KNOT_OK;
}

done_t keymgr_run_plan(const keymgr_t *run)
{
	zone_keys_t keys;
	keys_plan_params_t params;
	keys_plan_t plan;
	conf_t *other = NULL;
	const conf_policy_t *policy = plan_find_policy(run, &other);
	if (policy == NULL) {
		conf_free(other);
		return (done_t){ .err = KNOT_EPARAM, .is_told = true };
	}
	knot_err_t err = zone_keys_load(&run->env, &keys);
	if (err == KNOT_OK) {
		params = keys_plan_params(policy, run->env.zone, &keys, run->env.now_s);
		err = plan_change_params(run, &params) ? KNOT_OK : KNOT_EPARAM;
		err = err == KNOT_OK ? keys_plan(&keys.set, &params, &plan) : err;
		zone_keys_done(&keys);
	}
	if (err == KNOT_OK) {
		err = plan_show(run, &plan, &params);
		keys_plan_done(&plan);
	}
	conf_free(other);
	return keymgr_shown(err);
}
