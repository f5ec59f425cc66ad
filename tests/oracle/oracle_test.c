/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random commits to random zones: after each, the version that was made of the one before must show the same as one
 * that is built from the same records alone, and a check of the commit must say what a check of the whole zone says. A
 * failure is shrunk to the fewest commits and records that show it. KNOT_SEED=n replays from world n on, KNOT_COMMITS=n
 * makes so many.
 */
#include "tests/oracle/run.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One thread: nothing for ThreadSanitizer to find. The simulations make more: ./dev test sim commits. */
#if defined(__SANITIZE_THREAD__)
enum { COMMITS = 1500, FAULTS = 1 };
#else
enum { COMMITS = 20000, FAULTS = 5 };
#endif

enum {
	ROUNDS = 150, /* commits to a world */
	SHRINK_ROUNDS = 4,
};

typedef struct {
	world_t world;
	world_state_t states[ROUNDS + 1];
	size_t count; /* of states */
} history_t;

static asked_t *asked;
static run_counts_t counts;

/* ---- Shrinking ---- */

/* True if the commits go wrong when they begin with the first state built from scratch. */
static bool shrink_fails(const history_t *h, const fault_row_t *fault, bool is_answers_only, char *ret_why)
{
	run_counts_t unused = { 0 };
	run_t *run = calloc(1, sizeof(*run));
	assert_non_null(run);
	run->w = &h->world;
	run->asked = asked;
	run->counts = &unused;
	run->is_thorough = true;
	run->is_answers_only = is_answers_only;
	run->fault = fault;
	bool is_wrong = false;
	if (run_begin(run, &h->states[0]) == RUN_OK) {
		size_t at = 0; /* the state before, which a refused one doesn't become */
		for (size_t i = 1; i < h->count && !is_wrong; i++) {
			run_outcome_t outcome = run_step(run, &h->states[at], &h->states[i]);
			is_wrong = outcome == RUN_WRONG;
			at = outcome == RUN_OK ? i : at;
		}
	}
	memcpy(ret_why, run->why, RUN_WHY_MAX);
	run_end(run);
	free(run);
	return is_wrong;
}

typedef struct {
	history_t *h;
	const fault_row_t *fault;
	bool is_answers_only;
	char why[RUN_WHY_MAX]; /* of what is left */
} shrink_t;

/* Take a smaller history if it fails, too. */
static bool shrink_take(shrink_t *s, const history_t *smaller)
{
	char why[RUN_WHY_MAX];
	if (!shrink_fails(smaller, s->fault, s->is_answers_only, why)) {
		return false;
	}
	memcpy(s->h, smaller, sizeof(*s->h));
	memcpy(s->why, why, sizeof(why));
	return true;
}

/* Begin later, then leave out single commits. */
static bool shrink_commits(shrink_t *s, history_t *tried)
{
	size_t count = s->h->count;
	for (size_t first = count - 2; first > 0; first--) {
		*tried = *s->h;
		tried->count = count - first;
		memmove(tried->states, tried->states + first, tried->count * sizeof(tried->states[0]));
		if (shrink_take(s, tried)) {
			break;
		}
	}
	for (size_t i = 1; i + 1 < s->h->count;) {
		*tried = *s->h;
		tried->count--;
		memmove(&tried->states[i], &tried->states[i + 1], (tried->count - i) * sizeof(tried->states[0]));
		i += !shrink_take(s, tried);
	}
	return s->h->count < count;
}

/* Leave a record out of all states, or let it be as it was at the beginning. */
static bool shrink_records(shrink_t *s, history_t *tried)
{
	bool has_shrunk = false;
	for (size_t r = 0; r < s->h->world.count; r++) {
		bool is_used = false, is_changed = false;
		for (size_t i = 0; i < s->h->count; i++) {
			is_used = is_used || s->h->states[i].is_in[r];
			is_changed = is_changed || s->h->states[i].is_in[r] != s->h->states[0].is_in[r];
		}
		for (unsigned way = is_used ? 0 : 2; way < (is_changed ? 2 : 1); way++) {
			*tried = *s->h;
			for (size_t i = 0; i < tried->count; i++) {
				tried->states[i].is_in[r] = way > 0 && tried->states[0].is_in[r];
			}
			if (shrink_take(s, tried)) {
				has_shrunk = true;
				break;
			}
		}
	}
	return has_shrunk;
}

/* No chain, whole chains, one TTL. */
static bool shrink_rest(shrink_t *s, history_t *tried)
{
	bool has_shrunk = false;
	for (unsigned way = 0; way < 3; way++) {
		*tried = *s->h;
		for (size_t i = 0; i < tried->count; i++) {
			world_state_t *state = &tried->states[i];
			state->chain = way == 0 ? CHAIN_NONE : state->chain;
			state->missing = way == 1 ? 0 : state->missing;
			if (way == 2) {
				memset(state->ttls, 0, sizeof(state->ttls));
			}
		}
		bool is_less = memcmp(tried->states, s->h->states, sizeof(tried->states)) != 0;
		has_shrunk = (is_less && shrink_take(s, tried)) || has_shrunk;
	}
	return has_shrunk;
}

static void shrink_print(const shrink_t *s)
{
	static const char *const chains[CHAIN_COUNT] = { "none", "NSEC", "NSEC3", "NSEC3 with opt-out",
		"NSEC3 with salt" };
	const history_t *h = s->h;
	for (size_t i = 0; i < h->count; i++) {
		const world_state_t *state = &h->states[i], *before = i > 0 ? &h->states[i - 1] : NULL;
		print_message("%s %zu: chain %s", i == 0 ? "zone" : "commit", i, chains[state->chain]);
		print_message(state->missing != 0 ? " without record %u\n" : "\n", state->missing);
		for (size_t r = 0; r < h->world.count; r++) {
			bool was_in = before != NULL && before->is_in[r];
			if (before == NULL ? state->is_in[r] : world_differs(&h->world, r, before, state)) {
				print_message("  %c TTL %u: %s",
						!state->is_in[r] ? '-'
						: was_in         ? '~'
								 : '+',
						state->ttls[h->world.records[r].group], h->world.records[r].line);
			}
		}
	}
}

/* Leave out whatever the fault doesn't need. False: it doesn't appear again when everything is asked. */
static bool shrink(shrink_t *s)
{
	history_t *tried = malloc(sizeof(*tried));
	assert_non_null(tried);
	*tried = *s->h;
	bool is_repeated = shrink_take(s, tried);
	bool has_shrunk = is_repeated;
	for (unsigned i = 0; i < SHRINK_ROUNDS && has_shrunk; i++) {
		has_shrunk = shrink_commits(s, tried);
		has_shrunk = shrink_records(s, tried) || has_shrunk;
		has_shrunk = shrink_rest(s, tried) || has_shrunk;
	}
	free(tried);
	return is_repeated;
}

/* ---- Playing ---- */

/* Commits to a world, until something is wrong. True: it is; the history leads to it. */
static bool play(history_t *h, uint64_t seed, const fault_row_t *fault, bool is_answers_only, bool *ret_has_fault,
		char *ret_why)
{
	world_make(&h->world, seed);
	run_t *run = calloc(1, sizeof(*run));
	assert_non_null(run);
	run->w = &h->world;
	run->asked = asked;
	run->counts = &counts;
	run->is_answers_only = is_answers_only;
	run->is_thorough = is_answers_only;
	run->fault = fault;
	uint64_t random = ~seed * 0x9E3779B97F4A7C15u;
	world_begin(&h->world, &random, &h->states[0]);
	h->count = 1;
	run_outcome_t outcome = run_begin(run, &h->states[0]);
	*ret_has_fault = false;
	for (unsigned round = 0; outcome != RUN_WRONG && round < ROUNDS && !*ret_has_fault; round++) {
		world_state_t *before = &h->states[h->count - 1], *after = before + 1;
		world_change(&h->world, &random, before, after);
		outcome = run_step(run, before, after);
		if (outcome != RUN_REFUSED) {
			h->count++;
			*ret_has_fault = run->has_fault;
		}
	}
	memcpy(ret_why, run->why, RUN_WHY_MAX);
	run_end(run);
	free(run);
	return outcome == RUN_WRONG;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void test_random_commits(void **state)
{
	(void)state;
	uint64_t seed = number_of("KNOT_SEED", 1), commits = number_of("KNOT_COMMITS", COMMITS);
	history_t *h = malloc(sizeof(*h));
	assert_non_null(h);
	counts = (run_counts_t){ 0 };
	for (bool has_fault; counts.commits - counts.refused < commits; seed++) {
		shrink_t s = { .h = h };
		if (play(h, seed, NULL, false, &has_fault, s.why)) {
			print_message("%s\n", s.why);
			bool is_repeated = shrink(&s);
			shrink_print(&s);
			fail_msg("KNOT_SEED=%llu KNOT_COMMITS=1 %s: %s%s", (unsigned long long)seed,
					"build/tests/oracle/oracle_test", s.why,
					is_repeated ? "" : "; it can't be shrunk: not all was asked");
		}
	}
	free(h);
	print_message("%llu commits, %llu of them refused by checks, %llu shared the version before; %llu times all "
		      "was asked, "
		      "%llu questions\n",
			(unsigned long long)counts.commits, (unsigned long long)counts.refused,
			(unsigned long long)counts.shared, (unsigned long long)counts.slow_looks,
			(unsigned long long)asked_count(asked));
	print_message("%llu slices of compaction, which renewed %llu hints\n", (unsigned long long)counts.slices,
			(unsigned long long)counts.renewed_hints);
	assert_true(counts.shared > (counts.commits - counts.refused) / 2);
	assert_true(counts.slices > counts.commits / 3 && counts.renewed_hints > 0 && counts.refused > 0);
}

/* ---- The oracle itself ---- */

/* Each fault that is put into versions is found where it is, by what versions show, and by answers if these show it. */
static void test_finds_faults(void **state)
{
	(void)state;
	enum { FOUND = FAULTS, WORLDS = 600 };
	history_t *h = malloc(sizeof(*h));
	char why[RUN_WHY_MAX];
	assert_non_null(h);
	for (size_t i = 0; i < fault_row_count; i++) {
		const fault_row_t *fault = &fault_rows[i];
		unsigned put = 0, found = 0, answered = 0;
		for (uint64_t seed = 1; put < FOUND && seed < WORLDS; seed++) {
			bool has_fault;
			bool is_found = play(h, seed, fault, false, &has_fault, why);
			put += is_found || has_fault;
			found += is_found;
		}
		for (uint64_t seed = 1; answered == 0 && seed < WORLDS && fault->is_answered; seed++) {
			bool has_fault;
			answered += play(h, seed, fault, true, &has_fault, why);
		}
		if (put < FOUND || found < put || (fault->is_answered && answered == 0)) {
			fail_msg("%s: put %u times, found %u times, answered %u times", fault->what, put, found,
					answered);
		}
	}
	free(h);
}

/* What is left of a fault is small: one commit to a cut with its glue. */
static void test_shrinks(void **state)
{
	(void)state;
	const fault_row_t *glue = NULL;
	for (size_t i = 0; i < fault_row_count; i++) {
		glue = strcmp(fault_rows[i].what, "a copied address is another one") == 0 ? &fault_rows[i] : glue;
	}
	assert_non_null(glue);
	history_t *h = malloc(sizeof(*h));
	assert_non_null(h);
	shrink_t s = { .h = h, .fault = glue };
	bool has_fault = false;
	for (uint64_t seed = 1; !has_fault; seed++) {
		has_fault = play(h, seed, glue, false, &has_fault, s.why);
	}
	assert_true(shrink(&s));
	size_t records = 0;
	for (size_t i = 0; i < h->world.count; i++) {
		records += h->states[h->count - 1].is_in[i];
	}
	assert_int_equal(h->count, 2);
	assert_true(records <= 3);
	free(h);
}

/* Each type that may be in a zone is among those that worlds draw from. */
static void test_all_types(void **state)
{
	(void)state;
	bool *is_seen = calloc(UINT16_MAX + 1, sizeof(*is_seen));
	world_t *w = malloc(sizeof(*w));
	assert_true(is_seen != NULL && w != NULL);
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		world_make(w, seed);
		for (size_t i = 0; i < w->count; i++) {
			is_seen[w->records[i].type] = true;
		}
	}
	is_seen[KNOT_TYPE_SOA] = true; /* of the apex */
	for (unsigned type = 1; type <= UINT16_MAX; type++) {
		char text[KNOT_TYPE_TEXT_MAX];
		knot_rrtype_print((uint16_t)type, text);
		bool has_row = strncmp(text, "TYPE", 4) != 0 && !knot_rrtype_is_meta((uint16_t)type);
		if (has_row && !is_seen[type]) {
			fail_msg("no world has a record of type %s: add it to tests/oracle/world.c", text);
		}
	}
	free(w);
	free(is_seen);
}

static int begin(void **state)
{
	(void)state;
	asked = asked_new(world_origin);
	return 0;
}

static int end(void **state)
{
	(void)state;
	asked_free(asked);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_commits), cmocka_unit_test(test_finds_faults),
		cmocka_unit_test(test_shrinks), cmocka_unit_test(test_all_types) };
	return cmocka_run_group_tests(tests, begin, end);
}
