/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/refresh.h"

#include <assert.h>

/* What became of a remote. */
typedef enum { TRIAL_NONE, TRIAL_UPDATED, TRIAL_CURRENT, TRIAL_OUTDATED, TRIAL_FAILED } trial_t;

/* {an IXFR is tried again as AXFR; the whole run ends: with IXFR, with AXFR}. The next primary is asked otherwise. */
static const struct {
	bool falls_back, stops_ixfr, stops_axfr;
} failure_rows[REFRESH_FAILURE_COUNT] = {
	[REFRESH_BAD_STREAM] = { .falls_back = true },
	[REFRESH_UNFIT] = { .falls_back = true },
	[REFRESH_UNSTORED] = { .falls_back = true, .stops_axfr = true },
	[REFRESH_UNSIGNED] = { .stops_axfr = true },
	[REFRESH_LOCAL] = { .stops_ixfr = true, .stops_axfr = true },
	[REFRESH_EXPIRED] = { 0 },
	[REFRESH_UNRELATED] = { 0 },
	[REFRESH_INVALID] = { 0 },
	[REFRESH_REJECTED] = { 0 },
};

refresh_failure_t refresh_failure_of(const stream_in_t *stream)
{
	assert(stream->state == STREAM_IN_FAILED);
	switch (stream->fault) {
	case STREAM_IN_EXPIRED: return REFRESH_EXPIRED;
	case STREAM_IN_SINK: return stream->err == KNOT_ENOMEM ? REFRESH_LOCAL : REFRESH_UNFIT;
	case STREAM_IN_MALFORMED:
	case STREAM_IN_TRUNCATED:
	case STREAM_IN_RCODE:
	case STREAM_IN_UNSUPPORTED:
	case STREAM_IN_BAD_SOA:
	case STREAM_IN_ZONE_SIZE:
	case STREAM_IN_TRANSFER_SIZE:
	case STREAM_IN_ENDLESS:
	case STREAM_IN_FAULT_COUNT: break;
	}
	return REFRESH_BAD_STREAM;
}

/* ---- Notes ---- */

static refresh_note_t *refresh_note(const refresh_t *r, refresh_step_t *step, refresh_note_kind_t kind)
{
	assert(step->note_count < REFRESH_NOTES_MAX);
	refresh_note_t *note = &step->notes[step->note_count++];
	*note = (refresh_note_t){ .kind = kind, .role = r->role, .remote = r->remote, .address = r->address };
	return note;
}

static void refresh_note_trim(const refresh_t *r, refresh_step_t *step, const char *timer, timers_trim_t trim)
{
	if (trim != TIMERS_AS_IS) {
		refresh_note_t *note = refresh_note(r, step, REFRESH_NOTE_TRIMMED);
		note->timer = timer;
		note->trim = trim;
	}
}

static void refresh_note_expire(const refresh_t *r, refresh_note_t *note, uint64_t now_s)
{
	note->has_expire = r->state.next_expire_s > 0;
	note->expire_s = r->state.next_expire_s > now_s ? r->state.next_expire_s - now_s : 0;
}

/* ---- Timers ---- */

static uint64_t refresh_left(const refresh_t *r, uint64_t now_s)
{
	return r->state.next_expire_s > now_s ? r->state.next_expire_s - now_s : 0;
}

static void refresh_set_expire(
		refresh_t *r, timers_option_t option, uint64_t left_s, uint64_t now_s, refresh_step_t *step)
{
	const timers_conf_t *conf = &r->params->conf;
	if (conf->is_catalog) {
		r->state.next_expire_s = 0;
		return;
	}
	timers_interval_t expire = timers_expire(&r->soa, conf, option, left_s);
	refresh_note_trim(r, step, "expire", expire.trim);
	r->state.next_expire_s = now_s + expire.seconds;
}

/* The run is over: plan the next one. */
static void refresh_end(refresh_t *r, uint64_t now_s, refresh_step_t *step)
{
	const timers_conf_t *conf = &r->params->conf;
	bool is_ok = r->err == KNOT_OK;
	timers_interval_t wait;
	if (is_ok) {
		wait = timers_refresh(&r->soa, conf, r->params->zone);
		r->state.bootstrap_failures = 0;
	} else if (r->has_contents) {
		wait = timers_retry(&r->soa, conf);
	} else {
		wait = timers_bootstrap(conf, r->state.bootstrap_failures, r->params->random);
		r->state.bootstrap_failures += r->state.bootstrap_failures < UINT8_MAX;
	}
	refresh_note_trim(r, step, is_ok ? "refresh" : "retry", wait.trim);
	r->state.is_last_ok = is_ok;
	r->state.next_refresh_s = r->wants_again ? now_s : now_s + wait.seconds;
	if (r->wait_s > 0 && r->wait_s < r->state.next_refresh_s) {
		r->state.next_refresh_s = r->wait_s > now_s ? r->wait_s : now_s; /* the run may have been slow */
	}
	if (!is_ok) {
		refresh_note_t *note = refresh_note(r, step, REFRESH_NOTE_FAILED);
		note->err = r->err;
		note->time_s = r->state.next_refresh_s;
		refresh_note_expire(r, note, now_s);
	}
	r->is_over = true;
	step->action = (refresh_action_t){ .kind = REFRESH_END };
}

/* ---- Asking ---- */

static void refresh_ask(refresh_t *r, refresh_action_kind_t what, bool keeps_connection, refresh_step_t *step)
{
	r->phase = (uint8_t)what;
	step->action = (refresh_action_t){ .kind = what,
		.remote = r->remote,
		.address = r->address,
		.keeps_connection = keeps_connection,
		.has_edns = !r->params->remotes[r->remote].has_no_edns };
}

/* The first question to an address. */
static void refresh_ask_first(refresh_t *r, refresh_step_t *step)
{
	bool is_retransfer = r->params->is_retransfer && !r->is_updated;
	bool is_whole = !r->has_contents || is_retransfer || r->params->is_always_whole;
	refresh_ask(r, is_whole ? REFRESH_ASK_AXFR : REFRESH_ASK_SOA, false, step);
}

/* A question behind the SOA query. Without EDNS some servers close the connection after each answer. */
static void refresh_ask_transfer(refresh_t *r, refresh_action_kind_t what, refresh_step_t *step)
{
	refresh_ask(r, what, !r->params->remotes[r->remote].has_no_edns, step);
}

/* Chooses the next remote: notifier, pinned one, others. False: there are no more. */
static bool refresh_choose(refresh_t *r)
{
	const refresh_params_t *p = r->params;
	bool is_pinned = p->pin_tolerance_s > 0 && p->pinned != REFRESH_NO_REMOTE && p->pinned != p->notifier;
	if (r->tried_count == 0 && p->notifier != REFRESH_NO_REMOTE) {
		r->role = REFRESH_ROLE_NOTIFIER;
		r->remote = p->notifier;
	} else if (is_pinned && r->role != REFRESH_ROLE_PINNED && r->next_remote == 0) {
		r->role = REFRESH_ROLE_PINNED;
		r->remote = p->pinned;
	} else {
		r->role = REFRESH_ROLE_NONE;
		while (r->next_remote == p->notifier || (is_pinned && r->next_remote == p->pinned)) {
			r->next_remote++;
		}
		/* Also marks that the others have begun. */
		r->remote = r->next_remote++;
	}
	return r->remote < p->remote_count;
}

static void refresh_try_next(refresh_t *r, uint64_t now_s, refresh_step_t *step)
{
	uint16_t remote = r->remote, address = r->address;
	if (!refresh_choose(r)) {
		r->remote = remote;
		r->address = address;
		if (r->tried_count > 0 && r->outdated_count == r->tried_count) {
			refresh_note(r, step, REFRESH_NOTE_ALL_OUTDATED);
		}
		bool is_failed = r->trial == TRIAL_FAILED && !r->is_updated;
		r->err = is_failed ? KNOT_ENOMASTER : KNOT_OK;
		refresh_end(r, now_s, step);
		return;
	}
	r->tried_count++;
	r->address = 0;
	r->is_answered = false;
	refresh_ask_first(r, step);
}

/* ---- Ends of a trial ---- */

static void refresh_fail(refresh_t *r, knot_err_t err, uint64_t now_s, refresh_step_t *step)
{
	refresh_note(r, step, REFRESH_NOTE_ADDRESS_FAILED)->err = err;
	refresh_note(r, step, REFRESH_NOTE_NOT_USABLE);
	r->trial = TRIAL_FAILED;
	refresh_try_next(r, now_s, step);
}

static void refresh_on_nothing_new(refresh_t *r, trial_t trial, uint64_t now_s, refresh_step_t *step)
{
	r->trial = (uint8_t)trial;
	r->outdated_count += trial == TRIAL_OUTDATED;
	if (r->role == REFRESH_ROLE_NOTIFIER) {
		refresh_note(r, step,
				trial == TRIAL_OUTDATED ? REFRESH_NOTE_NOTIFIER_OUTDATED
							: REFRESH_NOTE_NOTIFIER_UP_TO_DATE);
	}
	refresh_try_next(r, now_s, step);
}

/* The primary has the same serial: what it says of its own expiration can't shorten what is left. */
static void refresh_on_current(refresh_t *r, timers_option_t option, refresh_note_kind_t kind, uint32_t serial,
		uint64_t now_s, refresh_step_t *step)
{
	r->confirmer = r->remote;
	refresh_set_expire(r, option, refresh_left(r, now_s), now_s, step);
	refresh_note_t *note = refresh_note(r, step, kind);
	note->serial = serial;
	refresh_note_expire(r, note, now_s);
	refresh_on_nothing_new(r, TRIAL_CURRENT, now_s, step);
}

static void refresh_fall_back(refresh_t *r, knot_err_t err, refresh_step_t *step)
{
	refresh_note(r, step, REFRESH_NOTE_FALLBACK)->err = err;
	refresh_ask(r, REFRESH_ASK_AXFR, false, step);
}

/* A transfer that can't be used. */
static void refresh_on_failure(refresh_t *r, refresh_failure_t failure, bool is_ixfr, const refresh_event_t *event,
		refresh_step_t *step)
{
	bool stops = is_ixfr ? failure_rows[failure].stops_ixfr : failure_rows[failure].stops_axfr;
	if (stops) {
		refresh_note(r, step, REFRESH_NOTE_ADDRESS_FAILED)->err = event->err;
		r->err = event->err;
		refresh_end(r, event->now_s, step);
	} else if (is_ixfr && failure_rows[failure].falls_back) {
		refresh_fall_back(r, event->err, step);
	} else {
		refresh_fail(r, event->err, event->now_s, step);
	}
}

/* ---- Events ---- */

static void refresh_on_lost(refresh_t *r, const refresh_event_t *event, refresh_step_t *step)
{
	r->is_answered = r->is_answered || event->is_answered;
	if (!r->is_answered && r->address + 1 < r->params->remotes[r->remote].address_count) {
		refresh_note(r, step, REFRESH_NOTE_ADDRESS_FAILED)->err = event->err;
		r->address++;
		refresh_ask_first(r, step);
	} else {
		refresh_fail(r, event->err, event->now_s, step);
	}
}

static void refresh_on_forged(refresh_t *r, const refresh_event_t *event, refresh_step_t *step)
{
	r->is_answered = true;
	if (r->phase == REFRESH_ASK_IXFR) {
		refresh_fall_back(r, event->err, step);
	} else {
		refresh_fail(r, event->err, event->now_s, step);
	}
}

/* A primary has something newer. If another one is pinned, that one has some time to catch up. */
static void refresh_on_newer(refresh_t *r, uint32_t serial, uint64_t now_s, refresh_step_t *step)
{
	const refresh_params_t *p = r->params;
	bool is_other = p->pin_tolerance_s > 0 && r->remote != p->pinned && !r->is_updated;
	if (is_other && p->pinned != REFRESH_NO_REMOTE) {
		if (r->state.pin_hit_s == 0) {
			r->state.pin_hit_s = now_s;
		}
		uint64_t end_s = r->state.pin_hit_s + p->pin_tolerance_s;
		if (now_s < end_s) {
			r->wait_s = end_s;
			refresh_note(r, step, REFRESH_NOTE_WAITING)->serial = serial;
			r->trial = TRIAL_CURRENT;
			refresh_try_next(r, now_s, step);
			return;
		}
	}
	refresh_note(r, step, REFRESH_NOTE_OUTDATED)->serial = serial;
	refresh_ask_transfer(r, is_other ? REFRESH_ASK_AXFR : REFRESH_ASK_IXFR, step);
}

static void refresh_on_soa(refresh_t *r, const refresh_event_t *event, refresh_step_t *step)
{
	assert(r->phase == REFRESH_ASK_SOA);
	const soa_answer_t *answer = &event->answer;
	r->is_answered = true;
	if (answer->verdict == SOA_ANSWER_RCODE) {
		refresh_note(r, step, REFRESH_NOTE_RCODE)->rcode = answer->rcode;
		refresh_fail(r, KNOT_EDENIED, event->now_s, step);
	} else if (answer->verdict == SOA_ANSWER_MALFORMED) {
		refresh_note(r, step, REFRESH_NOTE_MALFORMED);
		if (r->params->is_soft) {
			refresh_ask(r, REFRESH_ASK_AXFR, false, step);
		} else {
			refresh_fail(r, KNOT_EMALF, event->now_s, step);
		}
	} else if (!r->has_contents) { /* it has expired meanwhile: there is nothing to compare */
		refresh_ask_transfer(r, REFRESH_ASK_AXFR, step);
	} else if (answer->serial == r->serial) {
		const timers_option_t option = { answer->has_expire, answer->expire_s };
		refresh_on_current(r, option, REFRESH_NOTE_UP_TO_DATE, answer->serial, event->now_s, step);
	} else if (answer->serial - r->serial <= UINT32_C(1) << 31) { /* RFC 1982: newer; at 2^31 they don't compare */
		refresh_on_newer(r, answer->serial, event->now_s, step);
	} else {
		refresh_note(r, step, REFRESH_NOTE_REMOTE_OUTDATED)->serial = answer->serial;
		refresh_on_nothing_new(r, TRIAL_OUTDATED, event->now_s, step);
	}
}

static void refresh_on_stream(refresh_t *r, const refresh_event_t *event, refresh_step_t *step)
{
	assert(r->phase == REFRESH_ASK_IXFR || r->phase == REFRESH_ASK_AXFR);
	bool is_asked = r->phase == REFRESH_ASK_IXFR, is_whole = event->stream.kind == STREAM_IN_AXFR;
	r->is_answered = true;
	if (!r->has_contents && !is_whole && event->stream.state != STREAM_IN_FAILED) {
		refresh_fall_back(r, KNOT_EEMPTYZONE, step); /* it has expired meanwhile: there is nothing to change */
	} else if (event->stream.state == STREAM_IN_UP_TO_DATE) {
		refresh_on_current(r, event->stream.expire, REFRESH_NOTE_IXFR_UP_TO_DATE, event->stream.serial,
				event->now_s, step);
	} else if (event->stream.state == STREAM_IN_FAILED) {
		/* A whole zone in answer to IXFR would fail again if it were asked for by AXFR. */
		refresh_on_failure(r, event->stream.failure, is_asked && !is_whole, event, step);
	} else {
		assert(event->stream.state == STREAM_IN_DONE);
		r->option = event->stream.expire;
		r->is_partial = event->stream.serial != event->stream.serial_reached;
		step->action = (refresh_action_t){ .kind = REFRESH_APPLY,
			.remote = r->remote,
			.address = r->address,
			.is_difference = is_whole && r->has_contents && r->params->wants_difference &&
					 (is_asked || r->params->is_always_whole) };
		r->is_changes = is_asked && !is_whole; /* changesets: a failure may fall back */
		r->phase = REFRESH_APPLY;
	}
}

static void refresh_on_applied(refresh_t *r, const refresh_event_t *event, refresh_step_t *step)
{
	assert(r->phase == REFRESH_APPLY);
	if (event->applied.failure != REFRESH_FINE) {
		refresh_on_failure(r, event->applied.failure, r->is_changes, event, step);
		return;
	}
	bool had_contents = r->has_contents, has_own = event->applied.has_own;
	uint32_t old = r->serial;
	r->has_contents = r->is_updated = true;
	r->serial = event->applied.serial;
	r->soa = event->applied.soa;
	r->source = r->confirmer = r->remote;
	r->source_address = r->address;
	r->trial = TRIAL_UPDATED;
	r->wants_again = r->is_partial;
	r->wait_s = r->state.pin_hit_s = 0;
	refresh_set_expire(r, r->option, 0, event->now_s, step);
	refresh_note_t *note = refresh_note(r, step, REFRESH_NOTE_UPDATED);
	note->serial = has_own ? event->applied.own_serial : r->serial;
	note->old_serial = has_own ? event->applied.own_old : old;
	note->has_old_serial = has_own ? event->applied.has_own_old : had_contents;
	note->has_remote_serial = has_own;
	note->remote_serial = r->serial;
	note->took_ms = event->applied.took_ms;
	refresh_note_expire(r, note, event->now_s);
	if (r->role == REFRESH_ROLE_NOTIFIER && r->params->has_more_notifiers && !r->wants_again) {
		refresh_try_next(r, event->now_s, step); /* another one may have sent it for something newer */
	} else {
		r->err = KNOT_OK;
		refresh_end(r, event->now_s, step);
	}
}

static void (*const event_rows[])(refresh_t *r, const refresh_event_t *event, refresh_step_t *step) = {
	[REFRESH_EVENT_LOST] = refresh_on_lost,
	[REFRESH_EVENT_FORGED] = refresh_on_forged,
	[REFRESH_EVENT_SOA] = refresh_on_soa,
	[REFRESH_EVENT_STREAM] = refresh_on_stream,
	[REFRESH_EVENT_APPLIED] = refresh_on_applied,
};

void refresh_begin(refresh_t *refresh, const refresh_params_t *params, uint64_t now_s, refresh_step_t *ret_step)
{
	assert(params->remote_count > 0);
	assert(params->notifier == REFRESH_NO_REMOTE || params->notifier < params->remote_count);
	assert(params->pinned == REFRESH_NO_REMOTE || params->pinned < params->remote_count);
	*refresh = (refresh_t){ .params = params,
		.state = params->state,
		.has_contents = params->has_contents,
		.serial = params->serial,
		.soa = params->soa,
		.confirmer = REFRESH_NO_REMOTE };
	if (params->is_by_operator) {
		refresh->state.bootstrap_failures = 0;
	}
	*ret_step = (refresh_step_t){ 0 };
	refresh_try_next(refresh, now_s, ret_step);
}

void refresh_next(refresh_t *refresh, const refresh_event_t *event, refresh_step_t *ret_step)
{
	assert(!refresh->is_over);
	*ret_step = (refresh_step_t){ 0 };
	event_rows[event->kind](refresh, event, ret_step);
}

void refresh_expire(refresh_t *refresh, uint64_t now_s)
{
	assert(!refresh->is_over);
	timers_expired(&refresh->state, now_s);
	refresh->has_contents = false;
	refresh->wait_s = 0;
}
