/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/run.h"

#include "libknot/rr/rrtype.h"
#include "src/zone/diff.h"
#include "src/zone/dump.h"
#include "src/zone/image.h"
#include "src/zone/test_use.h"
#include "tests/oracle/same.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SLICES = 2, /* of compaction after a commit, less than */
	SLICE_STEPS = 100,
	QUESTIONS = 6,  /* after a commit … */
	ALL_EACH = 100, /* … and all of them after every such one */
	DIFF_EACH = 15,
	DUMP_EACH = 60,
};

static run_outcome_t run_wrong(run_t *run, const char *what, knot_name_t at, const char *detail)
{
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(at, owner);
	snprintf(run->why, sizeof(run->why), "serial %u, at %.255s: %s%s%.255s", (unsigned)run->serial, owner, what,
			detail[0] != '\0' ? ": " : "", detail);
	return RUN_WRONG;
}

/* ---- What checks say ---- */

static zone_build_params_t run_params(const run_t *run, said_t *said)
{
	zone_build_params_t params = run->w->params;
	params.on_message = said_add;
	params.ctx = said;
	said->count = 0;
	return params;
}

static void run_touch(const run_t *run, const world_step_t *step, said_touched_t *touched)
{
	touched->count = 0;
	said_touch(touched, world_origin);
	for (size_t i = 0; i < run->w->count; i++) {
		if (world_differs(run->w, i, step->before, step->after)) {
			said_touch(touched, run->w->records[i].owner);
		}
	}
}

static const char *run_said_fault(run_t *run, const world_step_t *step, const char **ret_text)
{
	static said_touched_t touched; /* large */
	said_t *whole = &run->said[1 - run->now], *commit = &run->said[2];
	run_touch(run, step, &touched);
	return said_fault(commit, whole, &run->said[run->now], &touched, ret_text);
}

/* ---- Answers ---- */

static bool run_ask_some(run_t *run, const world_step_t *step, uint64_t *random, knot_name_t *ret_at)
{
	const world_t *w = run->w;
	bool is_same = true;
	for (size_t i = 0; i < w->count && is_same; i++) {
		if (world_differs(w, i, step->before, step->after)) {
			*ret_at = w->records[i].owner;
			is_same = asked_one_of(run->asked, *ret_at, world_number(random)) &&
				  asked_one_of(run->asked, *ret_at, world_number(random));
		}
	}
	for (unsigned i = 0; i < QUESTIONS && is_same && w->count > 0; i++) {
		*ret_at = w->records[world_draw(random, (unsigned)w->count)].owner;
		*ret_at = world_draw(random, 8) == 0 ? world_origin : *ret_at;
		is_same = asked_one_of(run->asked, *ret_at, world_number(random));
	}
	return is_same;
}

static run_outcome_t run_ask(
		run_t *run, zone_contents_t *zone, zone_contents_t *want, const world_step_t *step, uint64_t *random)
{
	knot_name_t at = world_origin;
	bool wants_all = run->is_thorough || run->serial % ALL_EACH == 0;
	run->counts->slow_looks += wants_all;
	asked_begin(run->asked, zone, want);
	bool is_same = wants_all ? asked_everything(run->asked, &at) : run_ask_some(run, step, random, &at);
	asked_end(run->asked);
	return is_same ? RUN_OK : run_wrong(run, "another answer", at, asked_text(run->asked));
}

/* ---- Differences, and the zone file ---- */

static bool apply_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	zone_txn_t *txn = ctx;
	knot_err_t err = is_added ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				  : zone_txn_remove(txn, rr->owner, rr->type, rr->rdata);
	chain_check(err == KNOT_OK, "a record of a difference");
	return true;
}

/* What differs between two versions makes the second one of the first. */
static run_outcome_t run_diff(run_t *run, const zone_contents_t *from, const zone_contents_t *to)
{
	zone_txn_t *txn;
	zone_contents_t *made;
	zone_build_params_t params = run->w->params;
	knot_name_t at;
	params.checks = ZONE_CHECKS_SOFT;
	chain_check(zone_txn_begin(from, &params, &txn) == KNOT_OK, "a transaction");
	chain_check(zone_diff(from, to, apply_record, txn) == KNOT_OK, "a difference");
	chain_check(zone_txn_build(txn, from, &params, &made) == KNOT_OK, "a version from a difference");
	zone_txn_discard(txn);
	const char *fault = same_fault(made, to, 1, 0, &at);
	run_outcome_t outcome = fault == NULL ? RUN_OK : run_wrong(run, "a difference leads elsewhere", at, fault);
	zone_contents_free(made);
	return outcome;
}

static char *run_dump_of(const zone_contents_t *zone, size_t *ret_len)
{
	int fd = memfd_create("oracle", MFD_CLOEXEC);
	bool is_written = fd >= 0 && zone_dump(zone, fd, &(zone_dump_params_t){ .program = "oracle" }) == KNOT_OK;
	*ret_len = is_written ? (size_t)lseek(fd, 0, SEEK_END) : 0;
	char *text = malloc(*ret_len + 1);
	chain_check(is_written && text != NULL && pread(fd, text, *ret_len, 0) == (ssize_t)*ret_len, "a dump");
	text[*ret_len] = '\0';
	close(fd);
	return text;
}

static run_outcome_t run_dump(run_t *run, const zone_contents_t *zone, const zone_contents_t *want)
{
	size_t len, want_len;
	char *text = run_dump_of(zone, &len), *want_text = run_dump_of(want, &want_len);
	bool is_same = len == want_len && memcmp(text, want_text, len) == 0;
	free(text);
	free(want_text);
	return is_same ? RUN_OK : run_wrong(run, "another zone file", world_origin, "");
}

static run_outcome_t run_look_back(run_t *run, const zone_contents_t *next, const zone_contents_t *want)
{
	run_outcome_t outcome = run_diff(run, run->zone, want);                 /* without common memory */
	outcome = outcome == RUN_OK ? run_diff(run, next, run->past) : outcome; /* backwards, over many commits */
	zone_contents_free(run->past);
	run->past = zone_image_hold(next);
	chain_check(run->past != NULL, "memory");
	return outcome;
}

/* ---- Compaction ---- */

/* Do a slice of a pass, or begin one. */
static run_outcome_t run_compact(run_t *run, zone_contents_t **zone, const zone_contents_t *want, uint64_t *random)
{
	zone_contents_t *next;
	bool is_done;
	run->pass = run->pass != NULL ? run->pass : zone_compaction_new();
	chain_check(run->pass != NULL, "memory");
	size_t steps = 1 + world_draw(random, SLICE_STEPS);
	chain_check(zone_compact_slice(run->pass, *zone, steps, &next, &is_done) == KNOT_OK, "a slice");
	if (is_done) {
		zone_compaction_free(run->pass);
		run->pass = NULL;
	}
	if (next == NULL) {
		return RUN_OK;
	}
	knot_name_t at;
	unsigned before = same_stale_hints(*zone), after = same_stale_hints(next);
	bool has_apex = (*zone)->apex == next->apex;
	const char *fault = same_fault(next, want, 1, 0, &at);
	fault = fault == NULL && !has_apex ? "the apex was moved" : fault;
	fault = fault == NULL && after > before ? "hints became stale" : fault;
	fault = fault == NULL ? use_fault(next) : fault;
	run->counts->slices++;
	run->counts->renewed_hints += before - after;
	zone_contents_free(*zone);
	*zone = next;
	return fault == NULL ? RUN_OK : run_wrong(run, "compaction", at, fault);
}

/* ---- All ---- */

static run_outcome_t run_compare(run_t *run, zone_contents_t **zone, zone_contents_t *want, const world_step_t *step)
{
	uint64_t random = step->after->seed;
	knot_name_t at = world_origin;
	const char *text = "", *fault = run->is_answers_only ? NULL : same_fault(*zone, want, 1, 0, &at);
	if (fault == NULL && run->fault == NULL) {
		fault = (*zone)->max_ttl < want->max_ttl ? "max_ttl is too low" : run_said_fault(run, step, &text);
		fault = fault == NULL ? use_fault(*zone) : fault;
	}
	if (fault != NULL) {
		return run_wrong(run, fault, at, text);
	}
	run_outcome_t outcome = run_ask(run, *zone, want, step, &random);
	for (unsigned i = world_draw(&random, SLICES); i > 0 && outcome == RUN_OK && run->fault == NULL; i--) {
		outcome = run_compact(run, zone, want, &random);
	}
	bool wants_diff = run->is_thorough || run->serial % DIFF_EACH == 0;
	if (outcome == RUN_OK && run->fault == NULL && wants_diff) {
		outcome = run_look_back(run, *zone, want);
	}
	bool wants_dump = run->is_thorough || run->serial % DUMP_EACH == 0;
	return outcome == RUN_OK && wants_dump && !run->is_answers_only ? run_dump(run, *zone, want) : outcome;
}

run_outcome_t run_begin(run_t *run, const world_state_t *state)
{
	run->serial = 1;
	run->chain = world_chain(run->w, state, run->serial);
	zone_build_params_t params = run_params(run, &run->said[0]);
	knot_err_t err = world_build(run->w, state, &run->chain, run->serial, &params, &run->zone);
	if (err != KNOT_OK) {
		chain_done(&run->chain);
		run->zone = NULL;
		return RUN_REFUSED;
	}
	run->now = 0;
	run->past = zone_image_hold(run->zone);
	chain_check(run->past != NULL, "memory");
	return RUN_OK;
}

/* The fault of the oracle's own test. */
static void run_put_fault(run_t *run, zone_contents_t **zone, uint64_t random)
{
	zone_contents_t *forged = run->fault != NULL ? fault_put(run->fault, *zone, random) : NULL;
	run->has_fault = forged != NULL;
	if (forged != NULL) {
		zone_contents_free(*zone);
		*zone = forged;
	}
}

run_outcome_t run_step(run_t *run, const world_state_t *before, const world_state_t *after)
{
	run->serial++;
	chain_t chain = world_chain(run->w, after, run->serial);
	const world_step_t step = { before, after, &run->chain, &chain };
	zone_build_params_t whole = run_params(run, &run->said[1 - run->now]), params = run_params(run, &run->said[2]);
	zone_contents_t *want = NULL, *zone = NULL;
	knot_err_t want_err = world_build(run->w, after, &chain, run->serial, &whole, &want);
	knot_err_t err = world_commit(run->w, run->zone, &step, run->serial, &params, &zone);
	run_outcome_t outcome = err == KNOT_OK ? RUN_OK : RUN_REFUSED;
	if (err != want_err) {
		outcome = run_wrong(run, "another verdict", world_origin, knot_strerror(err));
	} else if (err == KNOT_OK) {
		run->counts->shared += zone_image_lineage(zone) == zone_image_lineage(run->zone);
		run_put_fault(run, &zone, after->seed);
		outcome = run_compare(run, &zone, want, &step);
	}
	run->counts->commits++;
	run->counts->refused += outcome == RUN_REFUSED;
	zone_contents_free(want);
	if (outcome == RUN_OK) {
		zone_contents_free(run->zone);
		chain_done(&run->chain);
		run->zone = zone;
		run->chain = chain;
		run->now = 1 - run->now;
	} else {
		zone_contents_free(zone);
		chain_done(&chain);
		run->serial -= outcome == RUN_REFUSED;
	}
	return outcome;
}

void run_end(run_t *run)
{
	zone_compaction_free(run->pass);
	zone_contents_free(run->past);
	zone_contents_free(run->zone);
	chain_done(&run->chain);
}
