/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/roll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/*
 * Time runs from action to action. P, K, M and D are powers of ten, so a time shows which of them it is made of: P+K is
 * 1100, P+M 11000 …
 */
enum { P = 1000, K = 100, M = 10000, D = 7, START = 100000000 };

typedef struct {
	conf_policy_t policy;
	keys_set_t set;
	uint64_t now_s;
	uint16_t last_tag;
	unsigned discarded;
	char log[2000]; /* what happened, with seconds since the start */
} world_t;

static knot_err_t make_key(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx)
{
	static const uint8_t public[] = { 1 };
	world_t *world = ctx;
	*ret_key = (kasp_key_t){ .tag = ++world->last_tag, .flags = wanted->flags, .public = { public, 1 } };
	snprintf(ret_key->id, sizeof(ret_key->id), "%040x", ret_key->tag);
	return KNOT_OK;
}

static void discard_key(const kasp_key_t *key, void *ctx)
{
	(void)key;
	((world_t *)ctx)->discarded++;
}

static void begin(world_t *world)
{
	*world = (world_t){ .now_s = START,
		.policy = { .algorithm = 13,
				.propagation_delay_s = P,
				.keytag_modulo = "0/1",
				.cds_publish = CONF_CDS_ROLLOVER } };
}

static void say(world_t *world, const char *text)
{
	size_t len = strlen(world->log);
	snprintf(world->log + len, sizeof(world->log) - len, "%s%llu %s", len > 0 ? "; " : "",
			(unsigned long long)(world->now_s - START), text);
}

/* The states of all keys, as tag, role and letter. */
static void say_keys(world_t *world)
{
	static const char *const names[] = { "invalid", "pre", "pub", "ready", "active", "retact", "retired", "post",
		"revoked", "removed" };
	char text[200] = "";
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		size_t len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s%c%u %s", i > 0 ? ", " : "",
				key->is_ksk && key->is_zsk ? 'C'
				: key->is_ksk              ? 'K'
							   : 'Z',
				key->tag, names[keys_state(&key->times, world->now_s)]);
	}
	say(world, text);
}

static keys_outcome_t run(world_t *world, bool forces_ksk, bool forces_zsk)
{
	const keys_maker_t maker = { .generate = make_key, .discard = discard_key, .ctx = world };
	const keys_params_t params = { .policy = &world->policy,
		.zsk_lifetime_s = world->policy.zsk_lifetime_s,
		.key_ttl_s = K,
		.max_ttl_s = M,
		.now_s = world->now_s,
		.forces_ksk = forces_ksk,
		.forces_zsk = forces_zsk };
	keys_outcome_t outcome;
	assert_int_equal(keys_run(&world->set, &params, &maker, &outcome), KNOT_OK);
	return outcome;
}

/* Run until something happens, which is the log's next line; a KSK that is ready is confirmed. False: nothing will. */
static bool go_on(world_t *world, keys_outcome_t *outcome)
{
	if (keys_confirm(&world->set, world->now_s, D) == KNOT_OK) {
		say_keys(world);
	}
	*outcome = run(world, false, false);
	uint64_t next_s = outcome->next.kind != KEYS_NOTHING ? outcome->next.due_s : 0;
	if (outcome->next_timer_s != 0 && (next_s == 0 || outcome->next_timer_s < next_s)) {
		next_s = outcome->next_timer_s;
	}
	if (next_s == 0) {
		return false;
	}
	assert_true(next_s > world->now_s);
	world->now_s = next_s;
	*outcome = run(world, false, false);
	say_keys(world);
	return true;
}

static void check_log(world_t *world, const char *want)
{
	if (strcmp(world->log, want) != 0) {
		fail_msg("\n%s\nnot\n%s", world->log, want);
	}
	keys_set_done(&world->set);
}

/* A zone with keys that are used since long. */
static void settle(world_t *world)
{
	keys_outcome_t outcome = run(world, false, false);
	assert_true(outcome.is_changed);
	assert_int_equal(keys_confirm(&world->set, world->now_s, 0), KNOT_OK);
	assert_false(keys_is_rolling(&world->set, world->now_s));
	assert_false(run(world, false, false).is_changed);
	world->log[0] = '\0';
}

static void roll_out(world_t *world)
{
	keys_outcome_t outcome;
	for (unsigned i = 0; i < 20 && go_on(world, &outcome); i++) {}
}

static void test_first_keys(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	keys_outcome_t outcome = run(&world, false, false);
	say_keys(&world);
	assert_int_equal(outcome.note_count, 1);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_SUBMISSION);
	assert_int_equal(outcome.next.kind, KEYS_NOTHING);
	check_log(&world, "0 K1 ready, Z2 active");
	begin(&world);
	world.policy.is_single_type = true;
	(void)run(&world, false, false);
	say_keys(&world);
	check_log(&world, "0 C1 ready");
}

static void test_zsk(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	keys_outcome_t outcome = run(&world, false, true);
	say_keys(&world);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_ZSK_STARTED);
	assert_int_equal(outcome.next.kind, KEYS_REPLACE);
	assert_int_equal(run(&world, false, true).notes[0].kind, KEYS_NOTE_ZSK_IGNORED);
	roll_out(&world);
	check_log(&world, "0 K1 active, Z2 active, Z3 pub; 1100 K1 active, Z2 retired, Z3 active; 12100 K1 active, Z3 "
			  "active");
}

static void test_ksk(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	keys_outcome_t outcome = run(&world, true, false);
	say_keys(&world);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_KSK_STARTED);
	assert_int_equal(outcome.next.kind, KEYS_SUBMIT);
	roll_out(&world);
	check_log(&world, "0 K1 active, Z2 active, K3 pub; 1100 K1 active, Z2 active, K3 ready; 1100 K1 retact, Z2 "
			  "active, K3 active; "
			  "1107 Z2 active, K3 active");
}

static void test_csk(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	world.policy.is_single_type = true;
	settle(&world);
	(void)run(&world, true, false);
	say_keys(&world);
	roll_out(&world);
	/* The old one signs DNSKEY until D, and stays public until its signatures are nowhere: P+K+M. */
	check_log(&world, "0 C1 active, C2 pub; 1100 C1 active, C2 ready; 1100 C1 retact, C2 active; 1107 C1 retired, "
			  "C2 active; "
			  "12207 C2 active");
}

static void test_algorithm(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	world.policy.algorithm = 8;
	keys_outcome_t outcome = run(&world, false, false);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_ALGORITHM_STARTED);
	say_keys(&world);
	roll_out(&world);
	check_log(&world, "0 K1 active, Z2 active, K3 pre, Z4 pre; 11000 K1 active, Z2 active, K3 pub, Z4 pub; "
			  "12100 K1 active, Z2 retact, K3 ready, Z4 active; 12100 K1 retact, Z2 retact, K3 active, Z4 "
			  "active; "
			  "12107 K1 post, Z2 post, K3 active, Z4 active; 13207 K3 active, Z4 active");
}

/* Forced together with another algorithm or scheme: that goes first, or a key would be published that doesn't sign. */
static void test_forced_with_another_policy(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		world_t world;
		begin(&world);
		world.policy.is_single_type = i == 1;
		settle(&world);
		world.policy.algorithm = i == 0 ? 8 : 13;
		world.policy.is_single_type = false;
		keys_outcome_t outcome = run(&world, true, true);
		assert_int_equal(outcome.note_count, 3);
		assert_int_equal(
				outcome.notes[0].kind, i == 0 ? KEYS_NOTE_ALGORITHM_STARTED : KEYS_NOTE_SCHEME_STARTED);
		assert_int_equal(outcome.notes[1].kind, KEYS_NOTE_KSK_IGNORED);
		assert_int_equal(outcome.notes[2].kind, KEYS_NOTE_ZSK_IGNORED);
		say_keys(&world);
		check_log(&world, i == 0 ? "0 K1 active, Z2 active, K3 pre, Z4 pre" : "0 C1 active, K2 pub, Z3 pub");
	}
}

static void test_scheme(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	world.policy.is_single_type = true;
	keys_outcome_t outcome = run(&world, false, false);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_SCHEME_STARTED);
	say_keys(&world);
	roll_out(&world);
	check_log(&world, "0 K1 active, Z2 active, C3 pub; 1100 K1 active, Z2 active, C3 ready; 1100 K1 retact, Z2 "
			  "retired, C3 active; "
			  "1107 Z2 retired, C3 active; 12100 C3 active");
}

/* Lifetimes begin rollovers by themselves, one after the other. */
static void test_lifetimes(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	world.policy.zsk_lifetime_s = 50000;
	settle(&world);
	keys_outcome_t outcome;
	for (unsigned i = 0; i < 4; i++) {
		assert_true(go_on(&world, &outcome));
	}
	check_log(&world, "50000 K1 active, Z2 active, Z3 pub; 51100 K1 active, Z2 retired, Z3 active; 62100 K1 "
			  "active, Z3 active; "
			  "101100 K1 active, Z3 active, Z4 pub");
}

/* Without a submission's timeout a KSK waits for ever; with one it takes over by itself. */
static void test_submission_timeout(void **state)
{
	(void)state;
	static const conf_submission_t submission = { .timeout_s = 500 };
	static const conf_submission_t *const list[] = { &submission };
	world_t world;
	begin(&world);
	world.policy.submission = (conf_submissions_t){ list, 1 };
	keys_outcome_t outcome = run(&world, false, false);
	assert_int_equal(outcome.next.kind, KEYS_REPLACE);
	assert_int_equal(outcome.next.due_s, START + 500);
	world.now_s += 500;
	(void)run(&world, false, false);
	say_keys(&world);
	check_log(&world, "500 K1 active, Z2 active");
}

static void test_manual(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	world.policy.is_manual = true;
	keys_outcome_t outcome = run(&world, true, false);
	assert_false(outcome.is_changed);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_MANUAL);
	assert_int_equal(world.set.count, 0);
	keys_set_done(&world.set);
}

/* Timers that an operator has set ahead are cleared; a key for later is taken instead of a new one. */
static void test_timers_and_keys_of_operators(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	world.set.keys[1].times.retire = START + 5;
	static const uint8_t public[] = { 9 };
	const kasp_key_t later = {
		.algorithm = 13, .tag = 77, .is_zsk = true, .is_for_later = true, .public = { public, 1 }
	};
	assert_int_equal(keys_set_add(&world.set, &later), KNOT_OK);
	keys_outcome_t outcome = run(&world, false, true);
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_CLEARED);
	assert_int_equal(outcome.notes[0].tag, 2);
	say_keys(&world);
	assert_int_equal(world.set.keys[2].times.publish, START);
	assert_int_equal(world.last_tag, 2);
	check_log(&world, "0 K1 active, Z2 active, Z77 pub");
}

static void test_tags(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	world.policy.keytag_modulo = "3/5";
	(void)run(&world, false, false);
	assert_int_equal(world.set.keys[0].tag, 3);
	assert_int_equal(world.set.keys[1].tag, 8);
	assert_int_equal(world.discarded, 6);
	keys_set_done(&world.set);
	begin(&world);
	world.policy.keytag_modulo = "255/256"; /* the more seldom a tag fits, the more are tried */
	(void)run(&world, false, false);
	assert_int_equal(world.set.keys[0].tag, 255);
	assert_int_equal(world.set.keys[1].tag, 511);
	keys_set_done(&world.set);
	begin(&world);
	for (uint16_t tag = 1; tag <= 40; tag++) {
		kasp_key_t key = { .algorithm = 13,
			.tag = tag,
			.is_zsk = true,
			.is_public_only = true,
			.public = { (const uint8_t *)"", 1 } };
		assert_int_equal(keys_set_add(&world.set, &key), KNOT_OK);
	}
	keys_outcome_t outcome = run(&world, false, false); /* none in 40 tries fits: the last one is taken */
	assert_int_equal(outcome.notes[0].kind, KEYS_NOTE_CONFLICT);
	assert_int_equal(world.set.keys[40].tag, 40);
	keys_set_done(&world.set);
}

static void test_delete_delay(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	world.policy.delete_delay_s = 50000;
	settle(&world);
	(void)run(&world, false, true);
	world.now_s += P + K;
	(void)run(&world, false, false);
	world.now_s += P + M;
	assert_int_equal(run(&world, false, false).deleted_count, 0);
	assert_int_equal(world.set.count, 3);
	assert_int_equal(keys_state(&world.set.keys[1].times, world.now_s), KEYS_REMOVED);
	assert_int_equal(run(&world, false, false).next.kind, KEYS_NOTHING); /* whatever comes next deletes it */
	world.now_s += 50000;
	keys_outcome_t outcome = run(&world, false, false);
	assert_int_equal(outcome.deleted_count, 1);
	assert_int_equal(outcome.deleted[0].tag, 2);
	assert_int_equal(world.set.count, 2);
	keys_set_done(&world.set);
}

static void test_nothing_is_ready(void **state)
{
	(void)state;
	world_t world;
	begin(&world);
	settle(&world);
	assert_int_equal(keys_confirm(&world.set, world.now_s, 0), KNOT_ENOREADY);
	keys_set_t copy = { 0 };
	assert_int_equal(keys_set_copy(&copy, &world.set), KNOT_OK);
	assert_int_equal(copy.count, 2);
	assert_ptr_not_equal(copy.keys[0].public.data, world.set.keys[0].public.data);
	keys_set_done(&copy);
	keys_set_done(&world.set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_keys),
		cmocka_unit_test(test_zsk),
		cmocka_unit_test(test_ksk),
		cmocka_unit_test(test_csk),
		cmocka_unit_test(test_algorithm),
		cmocka_unit_test(test_forced_with_another_policy),
		cmocka_unit_test(test_scheme),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_submission_timeout),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_timers_and_keys_of_operators),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_delete_delay),
		cmocka_unit_test(test_nothing_is_ready),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
