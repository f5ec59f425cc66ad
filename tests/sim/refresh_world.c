/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/refresh_world.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	NEVER_S = INT32_MAX,
	EPOCH_S = 1000000000,
	TIMEOUT_S = 5,
	RUN_MAX_S = 6 * 3600, /* no run takes longer: a slow transfer per remote, at most an hour, and the fallback */
	BACK_OFF_MAX_S = 7230,
};

typedef struct {
	uint32_t serial;
	bool is_up;
	uint64_t toggle_s;  /* when it dies or returns */
	uint64_t catches_s; /* when it gets the origin's version */
	uint64_t notify_s;  /* when its NOTIFY arrives */
} primary_t;

typedef struct {
	const world_weather_t *weather;
	world_counts_t *counts;
	char *fault;
	bool is_faulty;
	sim_random_t random;
	uint64_t now_s;
	/* The origin and the primaries. */
	uint32_t origin;
	uint64_t change_s;
	primary_t primaries[WORLD_REMOTES_MAX];
	/* The secondary. */
	uint8_t zone_wire[16];
	refresh_remote_t remotes[WORLD_REMOTES_MAX];
	refresh_params_t params;
	timers_state_t state;
	timer_values_t disk; /* what a restart finds */
	timers_state_t disk_master;
	uint64_t restart_s;
	bool has_contents, has_expire_option;
	uint32_t serial;
	uint16_t notifier;
	unsigned notifier_count;
	/* The run. */
	bool is_running, is_clean, has_waited;
	refresh_t run;
	refresh_step_t step;
	uint64_t answer_s; /* when its question is answered */
	uint64_t run_s;    /* when it began */
	unsigned questions;
	uint32_t seen_serial, start_serial; /* the newest serial that a SOA answer had; ours at the beginning */
	bool has_seen;
	uint32_t stream_serial, stream_reached;
	timers_option_t option;
	/* What must hold. */
	uint64_t expected_expire_s; /* 0: none */
	uint64_t behind_s;          /* since when an alive primary is newer; 0: none is */
	uint64_t budget_s;          /* what failures since then excuse */
	unsigned failures;          /* runs in a row without contents */
} world_t;

__attribute__((format(printf, 3, 4))) static void check(world_t *w, bool holds, const char *format, ...)
{
	if (holds || w->is_faulty) {
		return;
	}
	w->is_faulty = true;
	int len = snprintf(w->fault, WORLD_FAULT_MAX, "after %llu s: ", (unsigned long long)(w->now_s - EPOCH_S));
	va_list args;
	va_start(args, format);
	vsnprintf(w->fault + len, (size_t)(WORLD_FAULT_MAX - len), format, args);
	va_end(args);
}

static uint64_t after(world_t *w, uint64_t average_s)
{
	return average_s == 0 ? w->now_s + (uint64_t)NEVER_S : w->now_s + sim_between(&w->random, 1, 2 * average_s);
}

/* ---- Primaries ---- */

static uint16_t remote_count(const world_t *w)
{
	return w->params.remote_count;
}

static bool is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < UINT32_C(1) << 31;
}

static void change(world_t *w)
{
	w->origin += (uint32_t)sim_between(&w->random, 1, 3);
	w->change_s = after(w, w->weather->change_s);
	for (uint16_t i = 0; i < remote_count(w); i++) {
		w->primaries[i].catches_s = w->now_s + sim_below(&w->random, 120);
	}
}

static void toggle(world_t *w, primary_t *primary)
{
	primary->is_up = !primary->is_up;
	/* Some stay away for longer than the zone lives. */
	uint64_t down_s = sim_chance(&w->random, 50000) ? 40 * 86400 : w->weather->down_s;
	primary->toggle_s = after(w, primary->is_up ? w->weather->up_s : down_s);
}

/* A primary that is down gets the version when it returns. */
static void catch_up(world_t *w, primary_t *primary)
{
	if (!primary->is_up) {
		primary->catches_s = primary->toggle_s + 1;
		return;
	}
	primary->catches_s = w->now_s + (uint64_t)NEVER_S;
	primary->serial = w->origin;
	if (!sim_chance(&w->random, w->weather->notify_lost)) {
		primary->notify_s = w->now_s + sim_below(&w->random, 3);
	}
}

/* ---- The secondary ---- */

static void begin_run(world_t *w)
{
	check(w, !w->is_running, "two runs at once");
	refresh_params_t *p = &w->params;
	p->has_contents = w->has_contents;
	p->serial = w->serial;
	p->state = w->state;
	p->notifier = w->notifier;
	p->has_more_notifiers = w->notifier_count > 1;
	p->pinned = w->state.has_last_primary ? w->state.last_primary[0] : REFRESH_NO_REMOTE;
	p->random = (uint32_t)sim_random(&w->random);
	w->notifier = REFRESH_NO_REMOTE;
	w->notifier_count = 0;
	w->is_running = w->is_clean = true;
	w->has_waited = false;
	w->run_s = w->now_s;
	w->questions = 0;
	w->seen_serial = w->start_serial = w->serial;
	w->has_seen = false;
	w->counts->runs++;
}

static bool is_pin_waited(const refresh_step_t *step)
{
	for (unsigned i = 0; i < step->note_count; i++) {
		if (step->notes[i].kind == REFRESH_NOTE_WAITING) {
			return true;
		}
	}
	return false;
}

/* Written when the secondary stops, and now and then. */
static void save(world_t *w)
{
	w->disk = (timer_values_t){ 0 };
	timers_state_put(&w->state, &w->disk);
	w->disk_master = w->state;
}

static void check_plan(world_t *w)
{
	const timers_state_t *state = &w->run.state;
	const timers_soa_t *soa = &w->params.soa;
	uint64_t wait_s = state->next_refresh_s - w->now_s;
	uint64_t most = w->run.err == KNOT_OK ? soa->refresh_s : w->has_contents ? soa->retry_s : BACK_OFF_MAX_S;
	check(w, state->next_refresh_s >= w->now_s && wait_s <= most, "next refresh in %llu s, at most %llu",
			(unsigned long long)wait_s, (unsigned long long)most);
	if (w->run.err != KNOT_OK && !w->has_contents) {
		uint64_t base = 5 * (uint64_t)w->failures * w->failures;
		base = base < 7200 ? base : 7200;
		check(w, wait_s >= base && wait_s <= base + 30, "back-off %u of %llu s", w->failures,
				(unsigned long long)wait_s);
		w->failures++;
	} else {
		w->failures = 0;
	}
	check(w, state->next_expire_s == w->expected_expire_s, "expires at %llu, not %llu",
			(unsigned long long)state->next_expire_s, (unsigned long long)w->expected_expire_s);
}

static void end_run(world_t *w)
{
	w->is_running = false;
	check_plan(w);
	bool is_ok = w->run.err == KNOT_OK;
	w->counts->failed_runs += !is_ok;
	w->counts->clean_runs += w->is_clean;
	w->counts->waits += w->has_waited;
	check(w, !w->is_clean || is_ok, "a run without a failure has failed");
	check(w,
			!w->is_clean || w->has_waited || !w->has_seen || !is_newer(w->seen_serial, w->serial) ||
					w->params.is_one_by_one,
			"serial %u was seen, %u is served", w->seen_serial, w->serial);
	check(w,
			!w->is_clean || w->has_waited || !w->has_seen || !is_newer(w->seen_serial, w->start_serial) ||
					w->serial != w->start_serial,
			"a newer version was not followed");
	w->state = w->run.state;
	if (w->run.is_updated) {
		w->state.has_last_primary = true;
		w->state.last_primary[0] = (uint8_t)w->run.source;
	}
	if (!w->is_clean) {
		w->budget_s += BACK_OFF_MAX_S + w->params.soa.retry_s + (w->now_s - w->run_s);
	}
	if (sim_chance(&w->random, 100000)) {
		save(w);
	}
}

/* When the answer to a question comes, or isn't waited for any longer. */
static void take_step(world_t *w)
{
	const refresh_action_t *action = &w->step.action;
	w->has_waited = w->has_waited || is_pin_waited(&w->step);
	if (action->kind == REFRESH_END) {
		end_run(w);
		return;
	}
	uint64_t took_s = sim_below(&w->random, 2);
	if (action->kind != REFRESH_APPLY) {
		check(w, action->remote < remote_count(w), "no such remote");
		check(w, action->address < w->remotes[action->remote].address_count, "no such address");
		w->counts->questions++;
		check(w, ++w->questions <= 4u * remote_count(w), "a run without an end");
		if (action->kind != REFRESH_ASK_SOA) {
			bool is_slow = sim_chance(&w->random, w->weather->slow);
			took_s = sim_below(&w->random, is_slow ? 3600 : 20);
		}
	}
	w->answer_s = w->now_s + took_s;
}

static void on_notify(world_t *w, uint16_t remote)
{
	primary_t *primary = &w->primaries[remote];
	primary->notify_s = w->now_s + (uint64_t)NEVER_S;
	if (w->has_contents && primary->serial == w->serial) {
		return;
	}
	w->counts->notifies++;
	w->notifier_count += w->notifier != remote;
	w->notifier = remote;
	w->state.next_refresh_s = w->now_s;
	if (w->is_running) {
		w->run.state.next_refresh_s = w->now_s; /* the run plans again: world_step() comes back to it */
	}
}

static void expire(world_t *w)
{
	check(w, w->expected_expire_s == w->now_s, "expired now, not at %llu",
			(unsigned long long)w->expected_expire_s);
	w->counts->expirations++;
	w->has_contents = false;
	w->expected_expire_s = 0;
	w->failures = 0;
	if (w->is_running) {
		refresh_expire(&w->run, w->now_s);
	} else {
		timers_expired(&w->state, w->now_s);
	}
}

/* It is down for a while; the file of the zone is there again afterwards, unless the zone has expired. */
static void restart(world_t *w)
{
	w->counts->restarts++;
	w->is_running = false;
	if (sim_chance(&w->random, 700000)) {
		save(w); /* not a crash */
	}
	uint64_t away_s = sim_below(&w->random, sim_chance(&w->random, 100000) ? 20 * 86400 : 600);
	w->now_s += away_s;
	w->behind_s += w->behind_s > 0 ? away_s : 0; /* that time doesn't count */
	w->budget_s += BACK_OFF_MAX_S + w->params.soa.refresh_s;
	w->restart_s = after(w, w->weather->restart_s);
	w->state = timers_state_of(&w->disk);
	memcpy(w->state.last_primary, w->disk_master.last_primary, sizeof(w->state.last_primary));
	w->state.has_last_primary = w->disk_master.has_last_primary;
	uint64_t expire_s = w->state.next_expire_s;
	bool is_expired = timers_start(&w->state, w->now_s);
	check(w, is_expired == (expire_s > 0 && expire_s <= w->now_s), "expired at the start: %d", is_expired);
	w->has_contents = w->has_contents && !is_expired;
	w->expected_expire_s = is_expired ? 0 : expire_s;
	timers_loaded(&w->state, w->has_contents, w->now_s);
	w->failures = 0;
}

/* ---- Answers ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static timers_option_t say_expire(world_t *w)
{
	if (!w->has_expire_option) {
		return (timers_option_t){ 0 };
	}
	return (timers_option_t){ true, (uint32_t)sim_between(&w->random, 2, 2 * (uint64_t)w->params.soa.expire_s) };
}

/* The rule of RFC 7314, written a second time. */
static void expect_expire(world_t *w, timers_option_t option, bool is_transfer)
{
	uint64_t full = w->params.soa.expire_s, wait = full;
	uint64_t left = w->expected_expire_s > w->now_s ? w->expected_expire_s - w->now_s : 0;
	if (option.is_said) {
		wait = is_transfer || option.seconds > left ? option.seconds : left;
	}
	w->expected_expire_s = w->now_s + min_u64(wait, full);
}

static void answer_soa(world_t *w, const primary_t *primary, refresh_event_t *event)
{
	event->kind = REFRESH_EVENT_SOA;
	timers_option_t option = say_expire(w);
	event->answer = (soa_answer_t){
		.serial = primary->serial, .has_expire = option.is_said, .expire_s = option.seconds
	};
	if (!w->has_seen || is_newer(primary->serial, w->seen_serial)) {
		w->seen_serial = primary->serial;
		w->has_seen = true;
	}
	if (w->run.has_contents && primary->serial == w->serial) {
		expect_expire(w, option, false);
	}
}

static void answer_transfer(world_t *w, const primary_t *primary, bool is_ixfr, refresh_event_t *event)
{
	event->kind = REFRESH_EVENT_STREAM;
	event->stream.kind = is_ixfr && sim_chance(&w->random, 900000) ? STREAM_IN_IXFR : STREAM_IN_AXFR;
	event->stream.state = STREAM_IN_DONE;
	event->stream.serial = event->stream.serial_reached = primary->serial;
	event->stream.expire = say_expire(w);
	if (is_ixfr && !is_newer(primary->serial, w->serial)) { /* it went back between the questions: never here */
		event->stream.state = STREAM_IN_UP_TO_DATE;
		expect_expire(w, event->stream.expire, false);
		return;
	}
	if (sim_chance(&w->random, w->weather->broken)) {
		event->stream.state = STREAM_IN_FAILED;
		event->stream.failure = sim_chance(&w->random, 800000) ? REFRESH_BAD_STREAM : REFRESH_EXPIRED;
		event->err = KNOT_EMALF;
		w->is_clean = false;
		w->counts->fallbacks++;
		return;
	}
	if (is_ixfr && event->stream.kind == STREAM_IN_IXFR && w->params.is_one_by_one &&
			primary->serial - w->serial > 1) {
		event->stream.serial_reached = w->serial + 1;
	}
	w->stream_reached = event->stream.serial_reached;
	w->option = event->stream.expire;
}

static void answer_apply(world_t *w, refresh_event_t *event)
{
	event->kind = REFRESH_EVENT_APPLIED;
	event->applied.soa = w->params.soa;
	if (sim_chance(&w->random, w->weather->broken)) {
		static const refresh_failure_t failures[] = { REFRESH_UNFIT, REFRESH_INVALID, REFRESH_REJECTED,
			REFRESH_UNSTORED, REFRESH_LOCAL };
		event->applied.failure = failures[sim_below(&w->random, KNOT_LEN(failures))];
		event->err = KNOT_ESEMCHECK;
		w->is_clean = false;
		return;
	}
	event->applied.serial = w->stream_reached;
	w->serial = w->stream_reached;
	w->has_contents = true;
	w->counts->updates++;
	expect_expire(w, w->option, true);
	w->behind_s = 0;
}

static void on_answer(world_t *w)
{
	refresh_event_t event = { .now_s = w->now_s };
	const refresh_action_t *action = &w->step.action;
	const primary_t *primary = &w->primaries[action->remote];
	if (action->kind == REFRESH_APPLY) {
		answer_apply(w, &event);
	} else if (!primary->is_up || sim_chance(&w->random, w->weather->lost)) {
		w->now_s += min_u64(TIMEOUT_S, sim_below(&w->random, 9));
		event = (refresh_event_t){ .kind = REFRESH_EVENT_LOST,
			.now_s = w->now_s,
			.err = KNOT_ETIMEOUT,
			.is_answered = sim_chance(&w->random, 200000) };
		w->is_clean = false;
	} else if (action->kind == REFRESH_ASK_SOA) {
		answer_soa(w, primary, &event);
	} else {
		answer_transfer(w, primary, action->kind == REFRESH_ASK_IXFR, &event);
	}
	refresh_next(&w->run, &event, &w->step);
	take_step(w);
}

/* ---- Time ---- */

/* How long has an alive primary been newer? */
static void check_behind(world_t *w)
{
	bool is_behind = false;
	for (uint16_t i = 0; i < remote_count(w); i++) {
		const primary_t *primary = &w->primaries[i];
		is_behind = is_behind || (primary->is_up && (!w->has_contents || is_newer(primary->serial, w->serial)));
	}
	if (!is_behind) {
		w->behind_s = 0;
	} else if (w->behind_s == 0) {
		w->behind_s = w->now_s;
		w->budget_s = 0;
	}
	uint64_t lag = w->behind_s == 0 ? 0 : w->now_s - w->behind_s;
	/* A run that has begun before may end in between. */
	uint64_t most = w->params.soa.refresh_s + w->params.pin_tolerance_s + w->budget_s + RUN_MAX_S;
	check(w, lag <= most, "an alive primary was newer for %llu s, at most %llu", (unsigned long long)lag,
			(unsigned long long)most);
	w->counts->behind_max_s = lag > w->counts->behind_max_s ? lag : w->counts->behind_max_s;
}

static uint64_t next_time(const world_t *w)
{
	uint64_t next = min_u64(w->change_s, w->restart_s);
	for (uint16_t i = 0; i < remote_count(w); i++) {
		const primary_t *primary = &w->primaries[i];
		next = min_u64(next, min_u64(primary->toggle_s, min_u64(primary->catches_s, primary->notify_s)));
	}
	next = min_u64(next, w->is_running ? w->answer_s : w->state.next_refresh_s);
	if (w->has_contents && w->expected_expire_s > 0) {
		next = min_u64(next, w->expected_expire_s);
	}
	return next;
}

static void world_step(world_t *w)
{
	uint64_t next = next_time(w);
	w->now_s = next > w->now_s ? next : w->now_s;
	const timers_state_t *state = w->is_running ? &w->run.state : &w->state;
	check(w, !w->has_contents || state->next_expire_s == w->expected_expire_s, "expires at %llu, not %llu",
			(unsigned long long)state->next_expire_s, (unsigned long long)w->expected_expire_s);
	if (w->has_contents && state->next_expire_s > 0 && state->next_expire_s <= w->now_s) {
		w->now_s = state->next_expire_s > w->now_s - TIMEOUT_S ? state->next_expire_s : w->now_s;
		expire(w);
	}
	if (w->change_s <= w->now_s) {
		change(w);
	}
	for (uint16_t i = 0; i < remote_count(w); i++) {
		primary_t *primary = &w->primaries[i];
		if (primary->toggle_s <= w->now_s) {
			toggle(w, primary);
		}
		if (primary->catches_s <= w->now_s) {
			catch_up(w, primary);
		}
		if (primary->notify_s <= w->now_s) {
			on_notify(w, i);
		}
	}
	if (w->restart_s <= w->now_s) {
		restart(w);
	} else if (w->is_running && w->answer_s <= w->now_s) {
		on_answer(w);
	} else if (!w->is_running && w->state.next_refresh_s <= w->now_s) {
		begin_run(w);
		refresh_begin(&w->run, &w->params, w->now_s, &w->step);
		take_step(w);
	}
	/* A NOTIFY that came during the run. */
	if (!w->is_running && w->notifier != REFRESH_NO_REMOTE) {
		w->state.next_refresh_s = w->now_s;
	}
	check_behind(w);
}

static void world_begin(world_t *w, uint64_t seed)
{
	w->random.state = seed;
	w->now_s = EPOCH_S;
	w->origin = (uint32_t)sim_random(&w->random);
	w->change_s = after(w, w->weather->change_s);
	w->restart_s = after(w, w->weather->restart_s);
	w->notifier = REFRESH_NO_REMOTE;
	w->has_expire_option = sim_chance(&w->random, 500000);
	sim_random_t *random = &w->random;
	int len = snprintf((char *)w->zone_wire + 1, 9, "%08x", (unsigned)sim_random(random));
	w->zone_wire[0] = (uint8_t)len;
	refresh_params_t *p = &w->params;
	*p = (refresh_params_t){ .zone = { w->zone_wire, 10, 1 },
		.remotes = w->remotes,
		.remote_count = (uint16_t)sim_between(random, 1, WORLD_REMOTES_MAX) };
	p->pin_tolerance_s = sim_chance(random, 300000) ? (uint32_t)sim_between(random, 60, 7200) : 0;
	p->is_one_by_one = sim_chance(random, 200000);
	p->soa.refresh_s = (uint32_t)sim_between(random, 600, 86400);
	p->soa.retry_s = (uint32_t)sim_between(random, 60, 7200);
	p->soa.expire_s = (uint32_t)sim_between(random, 2 * (uint64_t)p->soa.refresh_s, 20 * 86400);
	p->conf = (timers_conf_t){ 2, UINT32_MAX, 1, UINT32_MAX, 3, UINT32_MAX,
		.jitter = (uint32_t)sim_below(random, 50), .is_jitter_percent = true };
	for (uint16_t i = 0; i < p->remote_count; i++) {
		w->remotes[i] = (refresh_remote_t){ (uint16_t)sim_between(random, 1, 2), sim_chance(random, 200000) };
		primary_t *primary = &w->primaries[i];
		primary->serial = w->origin;
		toggle(w, primary);
		primary->catches_s = primary->notify_s = w->now_s + (uint64_t)NEVER_S;
	}
	timers_loaded(&w->state, false, w->now_s);
}

bool world_run(uint64_t seed, const world_weather_t *weather, uint64_t seconds, world_counts_t *counts,
		char ret_fault[static WORLD_FAULT_MAX])
{
	world_t w = { .weather = weather, .counts = counts, .fault = ret_fault };
	world_begin(&w, seed);
	while (!w.is_faulty && w.now_s < EPOCH_S + seconds) {
		world_step(&w);
	}
	return !w.is_faulty;
}
