/* SPDX-License-Identifier: BSD-2-Clause */
/* What is planned is what the engine does when the time has come. */
#include "src/keys/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { START_S = 1700000000, DAY_S = 86400, HOUR_S = 3600 };

static conf_policy_t policy;

static keys_plan_params_t make_params(uint32_t days)
{
	policy = (conf_policy_t){ .algorithm = 13,
		.ksk_lifetime_s = 100 * DAY_S,
		.zsk_lifetime_s = 30 * DAY_S,
		.propagation_delay_s = HOUR_S,
		.delete_delay_s = DAY_S,
		.keytag_modulo = "0/1" };
	return (keys_plan_params_t){ .policy = &policy,
		.zsk_lifetime_s = policy.zsk_lifetime_s,
		.key_ttl_s = HOUR_S,
		.max_ttl_s = DAY_S,
		.from_s = START_S,
		.until_s = START_S + days * (uint64_t)DAY_S,
		.has_parent = true,
		.ds_after_s = DAY_S,
		.ds_ttl_s = DAY_S };
}

/* Hours since the start, name, event. */
static char *print_plan(const keys_plan_t *plan)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	for (size_t i = 0; i < plan->count; i++) {
		const keys_event_t *event = &plan->events[i];
		const kasp_key_t *key = &plan->keys.keys[event->key];
		fprintf(out, "%u %c%zu %s; ", (unsigned)((event->at_s - START_S) / HOUR_S), key->is_ksk ? 'K' : 'Z',
				event->key + 1, keys_event_name(event));
	}
	assert_int_equal(fclose(out), 0);
	return text;
}

static void check_plan(const keys_set_t *set, const keys_plan_params_t *params, const char *want)
{
	keys_plan_t plan;
	assert_int_equal(keys_plan(set, params, &plan), KNOT_OK);
	char *text = print_plan(&plan);
	assert_string_equal(text, want);
	free(text);
	keys_plan_done(&plan);
}

static void test_from_nothing(void **state)
{
	(void)state;
	const keys_set_t none = { .count = 0 };
	keys_plan_params_t params = make_params(31);
	check_plan(&none, &params,
			"0 K1 submit; 0 Z2 activate; 24 K1 activate; 720 Z3 publish; 722 Z3 activate; 722 Z2 retire; ");
	/* Nobody tells of the parent. */
	params.has_parent = false;
	check_plan(&none, &params, "0 K1 submit; 0 Z2 activate; 720 Z3 publish; 722 Z3 activate; 722 Z2 retire; ");
	policy.is_manual = true;
	check_plan(&none, &params, "");
}

static void test_ksk(void **state)
{
	(void)state;
	const keys_set_t none = { .count = 0 };
	keys_plan_params_t params = make_params(106);
	params.zsk_lifetime_s = 0;
	check_plan(&none, &params,
			"0 K1 submit; 0 Z2 activate; 24 K1 activate; 2400 K3 publish; 2402 K3 submit; 2426 K3 "
			"activate; "
			"2426 K1 replace; 2450 K1 remove; ");
}

/* Timers of a manual policy pass, and their reasons name numbers. */
static void test_timers(void **state)
{
	(void)state;
	keys_set_t set = { .count = 0 };
	keys_plan_params_t params = make_params(10);
	kasp_key_t key = { .id = "a",
		.algorithm = 13,
		.flags = 256,
		.tag = 7,
		.is_zsk = true,
		.times = { .publish = START_S + HOUR_S, .active = START_S + 2 * HOUR_S, .retire = START_S + DAY_S } };
	policy.is_manual = true;
	assert_int_equal(keys_set_add(&set, &key), KNOT_OK);
	check_plan(&set, &params, "1 Z1 publish; 2 Z1 activate; 24 Z1 retire; ");
	keys_plan_t plan;
	assert_int_equal(keys_plan(&set, &params, &plan), KNOT_OK);
	assert_string_equal(plan.events[1].why, "propagation-delay 1h and DNSKEY TTL 1h have passed");
	keys_plan_done(&plan);
	keys_set_done(&set);
}

/* The plan from each of its own instants is the rest of the plan. */
static void test_steps(void **state)
{
	(void)state;
	const keys_set_t none = { .count = 0 };
	keys_plan_params_t params = make_params(400);
	keys_plan_t whole, part, rest;
	assert_int_equal(keys_plan(&none, &params, &whole), KNOT_OK);
	assert_true(whole.count > 50 && !whole.is_cut);
	for (size_t i = 0; i + 1 < whole.count; i++) {
		keys_plan_params_t before = params, behind = params;
		before.until_s = whole.events[i].at_s;
		behind.from_s = whole.events[i].at_s;
		assert_int_equal(keys_plan(&none, &before, &part), KNOT_OK);
		/* Keys that are gone have no timers; ids of keys that will be made are the plan's own. */
		for (size_t j = 0; j < part.keys.count; j++) {
			part.keys.keys[j].id[0] = 'o';
		}
		assert_int_equal(keys_plan(&part.keys, &behind, &rest), KNOT_OK);
		assert_int_equal(part.count + rest.count, whole.count);
		for (size_t j = 0; j < rest.count; j++) {
			assert_int_equal(rest.events[j].at_s, whole.events[part.count + j].at_s);
			assert_int_equal(rest.events[j].to, whole.events[part.count + j].to);
		}
		keys_plan_done(&rest);
		keys_plan_done(&part);
	}
	keys_plan_done(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_nothing),
		cmocka_unit_test(test_ksk),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
