/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/refresh.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/conf/value.h"
#include "src/event/publish.h"
#include "src/catalog/settings.h"
#include "src/event/signing.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

/* ---- Which zones ---- */

bool server_is_secondary(const server_t *server, knot_name_t name)
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	return state_settings(state_load(&server->root, guard), name, &zone) && zone.master.count > 0;
}

timers_conf_t refresh_conf_of(const conf_zone_t *zone)
{
	return (timers_conf_t){ .refresh_min_s = zone->refresh_min_s,
		.refresh_max_s = zone->refresh_max_s != 0 ? zone->refresh_max_s : UINT32_MAX,
		.retry_min_s = zone->retry_min_s,
		.retry_max_s = zone->retry_max_s != 0 ? zone->retry_max_s : UINT32_MAX,
		.expire_min_s = zone->expire_min_s,
		.expire_max_s = zone->expire_max_s != 0 ? zone->expire_max_s : UINT32_MAX,
		.jitter = (uint32_t)(zone->refresh_jitter & ~CONF_PERCENT),
		.is_jitter_percent = (zone->refresh_jitter & CONF_PERCENT) != 0 };
}

/* ---- The end ---- */

static void refresh_free(refresh_run_t *run)
{
	refresh_drop_transfer(run);
	conf_free(run->conf);
	free(run->remotes);
	free(run->facts);
	free(run);
}

/* The primary that delivered is preferred from now on. */
static void refresh_keep_source(refresh_run_t *run)
{
	refresh_t *refresh = &run->refresh;
	if (!refresh->is_updated) {
		return;
	}
	const conf_addr_t *from = &run->remotes[refresh->source]->addresses.data[refresh->source_address];
	static_assert(sizeof(struct sockaddr_in6) == TIMER_MASTER_LEN, "as the timer database has it");
	memset(refresh->state.last_primary, 0, sizeof(refresh->state.last_primary));
	refresh->state.has_last_primary = from->ss.ss_family != AF_UNIX;
	if (refresh->state.has_last_primary) {
		memcpy(refresh->state.last_primary, &from->ss,
				from->len < TIMER_MASTER_LEN ? from->len : TIMER_MASTER_LEN);
	}
}

/* End the run and the zone's turn. take_run is gone. */
static void refresh_finish(refresh_run_t *take_run, knot_err_t err)
{
	server_t *server = take_run->server;
	entry_t *entry = take_run->entry;
	job_outcome_t outcome = { .load = take_run->has_expired ? LOAD_DROPPED : LOAD_UNCHANGED };
	outcome.load = take_run->refresh.is_updated ? LOAD_EDITED : outcome.load;
	outcome.reason = err != KNOT_OK && take_run->reason[0] != '\0' ? strdup(take_run->reason) : NULL;
	outcome.is_quiet = take_run->refresh.is_updated &&
			   take_run->remotes[take_run->refresh.source]->block_notify_after_transfer;
	refresh_keep_source(take_run);
	timers_state_t state = take_run->refresh.state;
	uint16_t confirmer = take_run->refresh.confirmer;
	char *remote = confirmer != REFRESH_NO_REMOTE ? strdup(take_run->remotes[confirmer]->id) : NULL;
	if (err != KNOT_OK && err != KNOT_ESTOPPED) {
		log_zone(LOG_ERR, take_run->params.zone, "zone event '%s' failed (%s)", event_row(EVENT_REFRESH)->name,
				knot_strerror(err));
	}
	refresh_free(take_run);
	sys_mutex_lock(&server->jobs.lock);
	rest_t *rest = !entry->gone && err != KNOT_ESTOPPED ? rests_get(&server->rests, entry_name(entry)) : NULL;
	if (rest != NULL) {
		rest->timers = state;
	}
	if (rest != NULL && remote != NULL) {
		rests_confirm(&server->rests, rest, remote, sys_clock_wall());
	}
	outcome.keeps_result = err == KNOT_ESTOPPED;
	jobs_end(&server->jobs, entry, outcome, err == KNOT_ESTOPPED ? KNOT_OK : err);
	sys_mutex_unlock(&server->jobs.lock);
	free(remote);
}

/* ---- Asking ---- */

static remote_verdict_t refresh_on_soa(remote_request_t *request, knot_bytes_t message)
{
	static _Thread_local uint8_t scratch[KNOT_RDATA_MAX];
	refresh_run_t *run = (refresh_run_t *)request;
	const stream_in_query_t query = { .zone = run->params.zone, .id = request->id, .type = KNOT_TYPE_SOA };
	run->answer = soa_answer_read(&query, message, scratch);
	return REMOTE_DONE;
}

static remote_verdict_t refresh_on_transfer(remote_request_t *request, knot_bytes_t message)
{
	static _Thread_local uint8_t scratch[KNOT_RDATA_MAX];
	refresh_run_t *run = (refresh_run_t *)request;
	refresh_look_at_expire(run);
	if (!run->transfer->is_begun) {
		refresh_begin_transfer(run);
	}
	switch (stream_in_read(&run->transfer->stream, message, scratch)) {
	case STREAM_IN_MORE: return REMOTE_MORE;
	case STREAM_IN_DONE:
	case STREAM_IN_UP_TO_DATE: return REMOTE_DONE;
	case STREAM_IN_FAILED: break;
	}
	return REMOTE_DROP;
}

static void refresh_act(refresh_run_t *take_run, refresh_step_t *step);

static void refresh_go_on(refresh_run_t *take_run, const refresh_event_t *event)
{
	refresh_step_t step;
	refresh_next(&take_run->refresh, event, &step);
	refresh_act(take_run, &step);
}

static refresh_event_t refresh_event_of_loss(const refresh_run_t *run, knot_err_t err)
{
	bool is_signed = remote_key(run->request.remote) != NULL;
	bool is_forged = err == KNOT_TSIG_EBADSIG || err == KNOT_TSIG_EBADKEY || err == KNOT_TSIG_EBADTIME ||
			 (err == KNOT_EMALF && is_signed);
	return (refresh_event_t){ .kind = is_forged ? REFRESH_EVENT_FORGED : REFRESH_EVENT_LOST,
		.now_s = sys_clock_wall(),
		.err = err,
		.is_answered = run->request.is_answered };
}

static refresh_event_t refresh_event_of_stream(const refresh_run_t *run)
{
	const stream_in_t *stream = &run->transfer->stream;
	refresh_event_t event = { .kind = REFRESH_EVENT_STREAM, .now_s = sys_clock_wall() };
	event.stream.state = stream->state;
	event.stream.kind = stream->kind;
	event.stream.serial = stream->serial;
	event.stream.serial_reached = stream->serial_reached;
	event.stream.expire = (timers_option_t){ stream->has_expire, stream->expire_s };
	if (stream->state == STREAM_IN_FAILED) {
		event.stream.failure = refresh_failure_of(stream);
		event.err = stream_in_error(stream);
	}
	return event;
}

static void refresh_on_end(remote_request_t *request, knot_err_t err)
{
	refresh_run_t *run = (refresh_run_t *)request;
	refresh_event_t event;
	if (err == KNOT_ESTOPPED) {
		refresh_finish(run, err);
		return;
	}
	refresh_look_at_expire(run);
	if (err != KNOT_OK) {
		event = refresh_event_of_loss(run, err);
		if (request->is_stream) {
			refresh_log(run, LOG_WARNING, refresh_operation(run), "failed (%s)", knot_strerror(err));
		}
	} else if (request->is_stream) {
		refresh_log_stream(run);
		event = refresh_event_of_stream(run);
	} else {
		event = (refresh_event_t){
			.kind = REFRESH_EVENT_SOA, .now_s = sys_clock_wall(), .answer = run->answer
		};
	}
	bool is_whole = err == KNOT_OK && request->is_stream && run->transfer->stream.state == STREAM_IN_DONE &&
			!run->transfer->is_void;
	if (!is_whole) {
		refresh_drop_transfer(run);
	}
	refresh_go_on(run, &event);
}

static knot_err_t refresh_ask(refresh_run_t *run)
{
	static const uint16_t types[] = { [REFRESH_ASK_SOA] = KNOT_TYPE_SOA,
		[REFRESH_ASK_IXFR] = KNOT_TYPE_IXFR,
		[REFRESH_ASK_AXFR] = KNOT_TYPE_AXFR };
	const refresh_action_t *action = &run->action;
	remote_request_t *request = &run->request;
	request->query = (remote_query_t){ .type = types[action->kind],
		.zone = run->params.zone,
		.has_edns = action->has_edns,
		.has_expire = action->has_edns };
	request->remote = run->remotes[action->remote];
	request->address = action->address;
	request->keeps_connection = action->keeps_connection;
	request->is_stream = action->kind != REFRESH_ASK_SOA;
	request->is_urgent = run->params.is_by_operator || run->is_notified;
	request->on_message = request->is_stream ? refresh_on_transfer : refresh_on_soa;
	request->on_end = refresh_on_end;
	if (request->is_stream && (run->transfer = calloc(1, sizeof(*run->transfer))) == NULL) {
		return KNOT_ENOMEM;
	}
	const zone_contents_t *contents = zone_contents(entry_zone(run->entry));
	if (action->kind == REFRESH_ASK_IXFR && contents != NULL) {
		request->query.soa.data = run->transfer->soa;
		request->query.soa.len = refresh_copy_soa(
				contents, run->params.zone, run->transfer->soa, &request->query.soa_ttl);
		knot_soa_set_serial(
				(knot_mut_bytes_t){ run->transfer->soa, request->query.soa.len }, run->refresh.serial);
	}
	return remote_ask(run->server->remote, request);
}

static void refresh_run_apply(void *ctx)
{
	refresh_run_t *run = ctx;
	refresh_event_t event = refresh_apply(run);
	refresh_go_on(run, &event);
}

/* Do what is next. Nothing of the run may be touched afterwards: another thread may have it. */
static void refresh_act(refresh_run_t *take_run, refresh_step_t *step)
{
	refresh_run_t *run = take_run;
	for (;;) {
		refresh_log_notes(run, step);
		run->action = step->action;
		if (step->action.kind == REFRESH_END) {
			refresh_finish(run, run->refresh.err);
			return;
		}
		if (step->action.kind == REFRESH_APPLY) {
			run->step = (job_step_t){ .run = refresh_run_apply, .ctx = run };
			jobs_go_on(&run->server->jobs, &run->step);
			return;
		}
		knot_err_t err = refresh_ask(run);
		if (err == KNOT_OK) {
			return;
		}
		if (err == KNOT_ESTOPPED) {
			refresh_finish(run, err);
			return;
		}
		refresh_drop_transfer(run);
		refresh_event_t event = refresh_event_of_loss(run, err);
		refresh_next(&run->refresh, &event, step);
	}
}

/* ---- The beginning ---- */

static knot_err_t refresh_gather_remotes(refresh_run_t *run, const conf_zone_t *zone)
{
	size_t count = 0, at = 0;
	for (size_t i = 0; i < zone->master.count; i++) {
		count += zone->master.data[i]->count;
	}
	if (count == 0) {
		return KNOT_ENOTSUP;
	}
	count = count < REFRESH_NO_REMOTE ? count : REFRESH_NO_REMOTE - 1;
	run->remotes = calloc(count, sizeof(*run->remotes));
	run->facts = calloc(count, sizeof(*run->facts));
	if (run->remotes == NULL || run->facts == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < zone->master.count; i++) {
		for (size_t j = 0; j < zone->master.data[i]->count && at < count; j++, at++) {
			run->remotes[at] = zone->master.data[i]->remotes[j];
			run->facts[at] = (refresh_remote_t){ (uint16_t)run->remotes[at]->addresses.count,
				run->remotes[at]->no_edns };
		}
	}
	run->params.remotes = run->facts;
	run->params.remote_count = (uint16_t)count;
	return KNOT_OK;
}

static conf_t *refresh_hold_conf(const server_t *server)
{
	RCU_READ_SECTION(guard);
	return conf_hold(state_load(&server->root, guard)->conf);
}

/* The remote that has an address, whatever its port. */
static uint16_t refresh_remote_of(const refresh_run_t *run, const notice_addr_t *addr)
{
	for (uint16_t i = 0; i < run->params.remote_count; i++) {
		const conf_addrs_t *own = &run->remotes[i]->addresses;
		for (size_t j = 0; j < own->count; j++) {
			notice_addr_t one = notice_addr_of((const struct sockaddr *)&own->data[j].ss);
			if (notice_addr_eq(&one, addr)) {
				return i;
			}
		}
	}
	return REFRESH_NO_REMOTE;
}

/* The remote of the last transfer. Several may differ in their ports only. */
static uint16_t refresh_pinned_of(const refresh_run_t *run, const timers_state_t *state)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	if (!state->has_last_primary) {
		return REFRESH_NO_REMOTE;
	}
	memcpy(&addr, state->last_primary, TIMER_MASTER_LEN);
	for (uint16_t i = 0; i < run->params.remote_count; i++) {
		const conf_addrs_t *own = &run->remotes[i]->addresses;
		for (size_t j = 0; j < own->count; j++) {
			if (own->data[j].ss.ss_family != AF_UNIX &&
					memcmp(&own->data[j].ss, &addr, own->data[j].len) == 0) {
				return i;
			}
		}
	}
	const notice_addr_t host = notice_addr_of((const struct sockaddr *)&addr);
	return refresh_remote_of(run, &host);
}

/* What was kept of the zone since the last run. */
static void refresh_take_rest(refresh_run_t *run)
{
	sys_mutex_lock(&run->server->jobs.lock);
	rest_t *rest = rests_find(&run->server->rests, run->params.zone);
	if (rest != NULL) {
		run->params.state = rest->timers;
		run->params.is_retransfer = rest->is_retransfer;
		rest->is_retransfer = false;
		run->params.notifier = refresh_remote_of(run, &rest->notifier);
		run->params.has_more_notifiers = rest->has_more_notifiers;
		run->params.pinned = refresh_pinned_of(run, &rest->timers);
		run->is_notified = rest->is_notified;
		rest->notifier = (notice_addr_t){ 0 };
		rest->has_more_notifiers = rest->is_notified = false;
	}
	sys_mutex_unlock(&run->server->jobs.lock);
}

bool refresh_settings(const refresh_run_t *run, conf_zone_t *ret_zone)
{
	RCU_READ_SECTION(guard);
	(void)guard;
	return catalog_zone_settings(run->conf, entry_zone(run->entry), ret_zone);
}

static knot_err_t refresh_prepare(refresh_run_t *run, unsigned how)
{
	conf_zone_t zone;
	run->params.zone = entry_name(run->entry);
	run->conf = refresh_hold_conf(run->server);
	if (!refresh_settings(run, &zone)) {
		return KNOT_ENOZONE;
	}
	knot_err_t err = refresh_gather_remotes(run, &zone);
	const zone_contents_t *contents = zone_contents(entry_zone(run->entry));
	refresh_params_t *params = &run->params;
	params->notifier = params->pinned = REFRESH_NO_REMOTE;
	params->pin_tolerance_s = zone.master_pin_tolerance_s;
	params->is_by_operator = (how & EVENT_BY_OPERATOR) != 0;
	params->is_one_by_one = zone.ixfr_by_one;
	params->wants_difference = zone.ixfr_from_axfr;
	bool is_unknown = zone.dnssec_signing && !signing_primary_serial(run->server, params->zone, &params->serial);
	params->is_always_whole = conf_zone_is_derived(&zone) || is_unknown;
	params->is_soft = zone.semantic_checks == CONF_SEMCHECKS_SOFT;
	params->has_contents = contents != NULL;
	params->conf = refresh_conf_of(&zone);
	if (contents != NULL) {
		params->serial = zone.dnssec_signing && !is_unknown ? params->serial : contents->serial;
		params->soa = refresh_timers_of(contents, params->zone);
	}
	if (getrandom(&params->random, sizeof(params->random), 0) != (ssize_t)sizeof(params->random)) {
		params->random = (uint32_t)sys_clock_ns();
	}
	refresh_take_rest(run);
	return err;
}

knot_err_t server_run_refresh(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	refresh_step_t step;
	refresh_run_t *run = calloc(1, sizeof(*run));
	if (run == NULL) {
		return KNOT_ENOMEM;
	}
	run->server = server;
	run->entry = entry;
	knot_err_t err = refresh_prepare(run, how);
	if (err != KNOT_OK) {
		refresh_free(run);
		return err;
	}
	outcome->goes_on = true;
	refresh_begin(&run->refresh, &run->params, sys_clock_wall(), &step);
	refresh_act(run, &step);
	return KNOT_OK;
}

/* ---- When ---- */

static uint64_t refresh_due_ms(uint64_t wall_s)
{
	uint64_t now_s = sys_clock_wall();
	return sys_clock_ms() + (wall_s > now_s ? wall_s - now_s : 0) * 1000;
}

void server_plan_refresh(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	bool is_load = ended == EVENT_LOAD, is_over = ended == EVENT_REFRESH || ended == EVENT_EXPIRE;
	bool is_dropped = outcome.load == LOAD_DROPPED;
	if (!(is_load || is_over || is_dropped) || !server_is_secondary(server, entry_name(entry))) {
		return;
	}
	rest_t *rest = rests_get(&server->rests, entry_name(entry));
	if (rest == NULL) {
		return; /* out of memory: the next load plans it */
	}
	if (is_load) {
		timers_loaded(&rest->timers, zone_contents(entry_zone(entry)) != NULL, sys_clock_wall());
	} else if (is_dropped) {
		timers_expired(&rest->timers, sys_clock_wall());
	}
	(void)jobs_plan(&server->jobs, entry, EVENT_REFRESH, refresh_due_ms(rest->timers.next_refresh_s), 0);
}

void refresh_drop_contents(server_t *server, entry_t *entry)
{
	sys_mutex_lock(&server->jobs.lock);
	entry->save = SAVE_NONE;
	server_edit_t *edit = server_edit_drop(server, entry_name(entry));
	server_compact_forget(server, entry);
	sys_mutex_unlock(&server->jobs.lock);
	server_edit_free(server, edit);
	publish_drop(entry_zone(entry), &entry->source);
}

knot_err_t server_run_expire(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how;
	sys_mutex_lock(&server->jobs.lock);
	rest_t *rest = rests_find(&server->rests, entry_name(entry));
	uint64_t expire_s = rest != NULL ? rest->timers.next_expire_s : 0;
	bool is_due = expire_s != 0 && expire_s <= sys_clock_wall();
	sys_mutex_unlock(&server->jobs.lock);
	if (is_due) {
		refresh_drop_contents(server, entry);
		outcome->load = LOAD_DROPPED;
	}
	return KNOT_OK;
}

void server_plan_expire(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)outcome;
	const rest_t *rest = rests_find(&server->rests, entry_name(entry));
	bool has_contents = zone_contents(entry_zone(entry)) != NULL;
	if (rest == NULL || (ended != EVENT_LOAD && ended != EVENT_REFRESH && ended != EVENT_EXPIRE)) {
		return;
	}
	jobs_cancel(&server->jobs, entry, EVENT_EXPIRE);
	if (has_contents && rest->timers.next_expire_s != 0) {
		(void)jobs_plan(&server->jobs, entry, EVENT_EXPIRE, refresh_due_ms(rest->timers.next_expire_s), 0);
	}
}

/* ---- On request ---- */

knot_err_t server_zone_refresh(server_t *server, knot_name_t name, bool is_retransfer, server_ticket_t *ret_ticket)
{
	if (!server_is_secondary(server, name)) {
		return KNOT_ENOTSUP;
	}
	sys_mutex_lock(&server->jobs.lock);
	rest_t *rest = rests_get(&server->rests, name);
	if (rest != NULL && is_retransfer) {
		rest->is_retransfer = true;
	}
	sys_mutex_unlock(&server->jobs.lock);
	return rest != NULL ? server_zone_ask(server, name, EVENT_REFRESH, 0, ret_ticket) : KNOT_ENOMEM;
}
