/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NOTIFY in both directions: what primaries say to the zone, and what it says to secondaries; doc/adr/0047.
 *
 * A run tells all secondaries of a zone at once and goes on beside the zone's turn, so that one that is down holds up
 * neither changes nor the others. All fields of a run that change are under the lock of the jobs; a request that is on
 * its way is the thread "remote"'s. RFC 1996.
 */
#include "src/event/children.h"
#include "src/event/refresh.h"

#include <stdlib.h>
#include <string.h>

#include "libknot/msg/message.h"
#include "src/catalog/settings.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

enum {
	NOTIFY_REMEMBERED = 64, /* servers of a zone of which it is known which failed; with more, all are told again */
	NOTIFY_START_MS = 1000, /* between attempts while zones are loaded for the first time, as nothing is answered */
};

typedef struct {
	remote_request_t request; /* first: callbacks get it */
	notify_run_t *run;
	uint32_t serial;
	uint16_t rcode;
	bool is_malformed;
	/* Under the lock of the jobs: */
	bool is_busy, is_retry;
	bool is_due; /* busy, and to be told of a newer version afterwards */
	bool has_failed;
	uint8_t soa[KNOT_SOA_LEN_MAX];
} notify_target_t;

struct notify_run {
	server_t *server;
	conf_t *conf; /* held */
	knot_name_t zone;
	uint8_t wire[KNOT_NAME_MAX];
	size_t count;
	/* Under the lock of the jobs: */
	unsigned holders; /* targets that are busy, and whoever starts some */
	entry_t *entry;   /* whose turn the run has, as an operator asked for it; NULL: none */
	bool is_stopped;
	notify_target_t targets[];
};

/* ---- What the log says ---- */

__attribute__((format(printf, 3, 4))) static void notify_log(
		const notify_target_t *target, int level, const char *format, ...)
{
	char peer[REMOTE_PEER_TEXT_MAX], text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	const remote_request_t *request = &target->request;
	remote_print_peer(request->remote, request->address, request->is_pooled ? " TCP/pool" : " TCP", peer);
	log_zone(level, target->run->zone, "notify, outgoing, %s%s%s", peer, target->is_retry ? "retry, " : "", text);
}

/* ---- A run ---- */

static size_t notify_count_remotes(const conf_zone_t *zone)
{
	size_t count = 0;
	for (size_t i = 0; i < zone->notify.count; i++) {
		count += zone->notify.data[i]->count;
	}
	return count;
}

/* NULL: out of memory. */
static notify_run_t *notify_new(server_t *server, conf_t *conf, const conf_zone_t *zone)
{
	size_t count = notify_count_remotes(zone), at = 0;
	notify_run_t *run = calloc(1, sizeof(*run) + count * sizeof(run->targets[0]));
	if (run == NULL) {
		return NULL;
	}
	run->server = server;
	run->conf = conf_hold(conf);
	memcpy(run->wire, zone->name.wire, zone->name.len);
	run->zone = knot_name_of(run->wire);
	run->count = count;
	for (size_t i = 0; i < zone->notify.count; i++) {
		for (size_t j = 0; j < zone->notify.data[i]->count; j++, at++) {
			run->targets[at].run = run;
			run->targets[at].request.remote = zone->notify.data[i]->remotes[j];
		}
	}
	return run;
}

/* Which of its servers failed: a set as rest_t has it. Under the lock of the jobs. */
static uint64_t notify_failures(const notify_run_t *run)
{
	uint64_t failed = 0;
	for (size_t i = 0; i < run->count; i++) {
		if (run->targets[i].has_failed) {
			failed |= run->count > NOTIFY_REMEMBERED ? UINT64_MAX : UINT64_C(1) << i;
		}
	}
	return failed;
}

static uint32_t notify_retry_s(const notify_run_t *run, const zone_t *of, const zone_contents_t *contents)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	(void)guard;
	if (contents == NULL || !catalog_zone_settings(run->conf, of, &zone)) {
		return 1;
	}
	const timers_conf_t conf = refresh_conf_of(&zone);
	const timers_soa_t soa = refresh_timers_of(contents, run->zone);
	uint32_t seconds = timers_retry(&soa, &conf).seconds;
	return seconds > 0 ? seconds : 1;
}

/* Keep what the run has found out. server: the run's. */
static void notify_keep(server_t *server, const notify_run_t *run, rest_t *rest, entry_t *entry)
		SYS_REQUIRES(server->jobs.lock)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	rest->notify = NULL;
	rest->notify_failed = notify_failures(run);
	if (rest->notify_failed == 0 && run->count > 0) {
		rest->last_notified = timer_of_serial(run->targets[0].serial);
	} else if (rest->notify_failed != 0) {
		uint64_t due_ms = sys_clock_ms() + UINT64_C(1000) * notify_retry_s(run, entry_zone(entry), contents);
		(void)jobs_plan(&server->jobs, entry, EVENT_NOTIFY, due_ms, 0);
	}
	server_plan_timers(server, entry, EVENT_NOTIFY, (job_outcome_t){ .load = LOAD_UNCHANGED });
}

/* One that held the run doesn't any more. The last one ends it. */
static void notify_release(notify_run_t *take_run)
{
	notify_run_t *run = take_run;
	server_t *server = run->server;
	sys_mutex_lock(&server->jobs.lock);
	if (--run->holders > 0) {
		sys_mutex_unlock(&server->jobs.lock);
		return;
	}
	entry_t *entry = server_find_entry(server, run->zone);
	rest_t *rest = entry != NULL ? rests_find(&server->rests, run->zone) : NULL;
	if (rest != NULL && rest->notify == run && !run->is_stopped) {
		notify_keep(server, run, rest, entry);
	}
	bool has_failed = !run->is_stopped && notify_failures(run) != 0;
	if (has_failed) {
		log_zone(LOG_ERR, run->zone, "zone event '%s' failed (%s)", event_row(EVENT_NOTIFY)->name,
				knot_strerror(KNOT_ERROR));
	}
	if (run->entry != NULL) {
		job_outcome_t outcome = { .load = LOAD_UNCHANGED, .keeps_result = run->is_stopped };
		jobs_end(&server->jobs, run->entry, outcome, has_failed ? KNOT_ERROR : KNOT_OK);
	}
	sys_mutex_unlock(&server->jobs.lock);
	conf_free(run->conf);
	free(run);
}

/* ---- Telling ---- */

/* The SOA that is told: of the version that is served now. False: there is none any more. */
static bool notify_read_soa(notify_target_t *target)
{
	const notify_run_t *run = target->run;
	remote_query_t *query = &target->request.query;
	RCU_READ_SECTION(guard);
	const zone_t *zone = zonedb_find(state_load(&run->server->root, guard)->zones, run->zone);
	const zone_contents_t *contents = zone != NULL ? zone_contents(zone) : NULL;
	if (contents == NULL) {
		return false;
	}
	target->serial = contents->serial;
	query->soa.data = target->soa;
	query->soa.len = refresh_copy_soa(contents, run->zone, target->soa, &query->soa_ttl);
	return query->soa.len > 0;
}

static remote_verdict_t notify_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	notify_target_t *target = (notify_target_t *)request;
	knot_message_t message;
	target->is_malformed = knot_message_begin(bytes, &message) != KNOT_OK;
	target->rcode = target->is_malformed ? 0 : message.flags & KNOT_RCODE_MASK;
	return REMOTE_DONE;
}

static void notify_on_end(remote_request_t *request, knot_err_t err);

static void notify_ask(notify_target_t *target)
{
	remote_request_t *request = &target->request;
	request->on_message = notify_on_message;
	request->on_end = notify_on_end;
	request->is_urgent = true;
	request->is_pooled = false;
	request->query.opcode = KNOT_OPCODE_NOTIFY;
	request->query.type = KNOT_TYPE_SOA;
	request->query.zone = target->run->zone;
	request->query.has_edns = !request->remote->no_edns;
	knot_err_t err = notify_read_soa(target) ? remote_ask(target->run->server->remote, request) : KNOT_ESTOPPED;
	if (err != KNOT_OK) {
		notify_on_end(request, err);
	}
}

/* True: the next address is to be asked. */
static bool notify_log_end(notify_target_t *target, knot_err_t err, bool *ret_has_failed)
{
	char rcode[STREAM_IN_RCODE_TEXT_MAX];
	*ret_has_failed = err != KNOT_OK;
	if (err != KNOT_OK) {
		notify_log(target, LOG_WARNING, "failed (%s)", knot_strerror(err));
		return target->request.address + 1 < target->request.remote->addresses.count;
	}
	if (target->rcode != 0) {
		stream_in_print_rcode(target->rcode, rcode);
		notify_log(target, LOG_WARNING, "server responded with error '%s'", rcode);
	} else {
		notify_log(target, LOG_INFO, "serial %u", target->serial);
	}
	return false;
}

static void notify_on_end(remote_request_t *request, knot_err_t err)
{
	notify_target_t *target = (notify_target_t *)request;
	notify_run_t *run = target->run;
	bool has_failed = false, is_stopped = err == KNOT_ESTOPPED;
	err = err == KNOT_OK && target->is_malformed ? KNOT_EMALF : err;
	if (!is_stopped && notify_log_end(target, err, &has_failed)) {
		request->address++;
		notify_ask(target);
		return;
	}
	sys_mutex_lock(&run->server->jobs.lock);
	bool is_due = target->is_due && !is_stopped;
	target->is_due = false;
	target->is_busy = is_due;
	target->has_failed = has_failed;
	run->is_stopped |= is_stopped;
	sys_mutex_unlock(&run->server->jobs.lock);
	if (is_due) {
		target->is_retry = false;
		request->address = 0;
		notify_ask(target);
	} else {
		notify_release(run);
	}
}

/* ---- The event ---- */

/*
 * Note which servers get a NOTIFY. ret_start: those that the caller asks, as it holds the run. Under jobs.lock, as
 * notify_join(): the compiler's analysis doesn't know that all runs have the same server.
 */
static void notify_mark(notify_run_t *run, bool is_all, uint64_t failed, bool *ret_start)
{
	bool knows = !is_all && run->count <= NOTIFY_REMEMBERED;
	for (size_t i = 0; i < run->count; i++) {
		notify_target_t *target = &run->targets[i];
		ret_start[i] = false;
		if (knows && (failed >> i & 1) == 0) {
			continue;
		}
		if (target->is_busy) {
			target->is_due |= is_all;
			continue;
		}
		target->is_busy = ret_start[i] = true;
		target->is_retry = !is_all;
		target->has_failed = false;
		target->request.address = 0;
		run->holders++;
	}
}

static void notify_go(notify_run_t *run, const bool *start)
{
	for (size_t i = 0; i < run->count; i++) {
		if (start[i]) {
			notify_ask(&run->targets[i]);
		}
	}
	notify_release(run);
}

/* The zone's run that goes on with the same configuration, or the new one. Held. */
static notify_run_t *notify_join(rest_t *rest, notify_run_t *fresh)
{
	notify_run_t *run = rest->notify != NULL && rest->notify->conf == fresh->conf ? rest->notify : fresh;
	rest->notify = run;
	run->holders++;
	return run;
}

static conf_t *notify_hold_conf(const server_t *server)
{
	RCU_READ_SECTION(guard);
	return conf_hold(state_load(&server->root, guard)->conf);
}

/* Zones are being loaded for the first time: nothing is answered yet, so who is told could fetch nothing. */
static bool notify_waits(server_t *server, entry_t *entry, unsigned how)
{
	sys_mutex_lock(&server->jobs.lock);
	bool waits = server->jobs.untried > 0 && (how & EVENT_BY_OPERATOR) == 0;
	if (waits) {
		(void)jobs_plan(&server->jobs, entry, EVENT_NOTIFY, sys_clock_ms() + NOTIFY_START_MS, 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return waits;
}

static knot_err_t notify_run(
		server_t *server, entry_t *entry, notify_run_t *take_fresh, unsigned how, job_outcome_t *outcome)
{
	bool *start = calloc(take_fresh->count, sizeof(*start));
	sys_mutex_lock(&server->jobs.lock);
	rest_t *rest = start != NULL ? rests_get(&server->rests, entry_name(entry)) : NULL;
	notify_run_t *run = rest != NULL ? notify_join(rest, take_fresh) : NULL;
	if (run != NULL) {
		bool is_all = rest->notifies_all || (how & EVENT_BY_OPERATOR) != 0;
		notify_mark(run, is_all, rest->notify_failed, start);
		rest->notifies_all = false;
		if ((how & EVENT_BY_OPERATOR) != 0) {
			run->entry = entry;
			outcome->goes_on = true;
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (run != take_fresh) {
		conf_free(take_fresh->conf);
		free(take_fresh);
	}
	if (run != NULL) {
		notify_go(run, start);
	}
	free(start);
	return run != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static bool notify_settings(const conf_t *conf, entry_t *entry, conf_zone_t *ret_zone)
{
	RCU_READ_SECTION(guard);
	(void)guard;
	return catalog_zone_settings(conf, entry_zone(entry), ret_zone);
}

knot_err_t server_run_notify(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	conf_zone_t zone;
	if (zone_contents(entry_zone(entry)) == NULL) {
		log_zone(LOG_DEBUG, entry_name(entry), "notify, zone is not loaded, skipping");
		return KNOT_OK;
	}
	if (notify_waits(server, entry, how)) {
		return KNOT_OK;
	}
	knot_err_t err = KNOT_OK;
	conf_t *conf = notify_hold_conf(server);
	if (notify_settings(conf, entry, &zone) && notify_count_remotes(&zone) > 0) {
		notify_run_t *fresh = notify_new(server, conf, &zone);
		err = fresh != NULL ? notify_run(server, entry, fresh, how, outcome) : KNOT_ENOMEM;
	}
	conf_free(conf);
	return err;
}

/* False: nothing is notified of the zone. */
static bool notify_is_wanted(const server_t *server, knot_name_t name, uint32_t *ret_delay_s)
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	if (!state_settings(state_load(&server->root, guard), name, &zone)) {
		return false;
	}
	*ret_delay_s = zone.notify_delay_s;
	return zone.notify.count > 0;
}

void server_plan_notify(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	bool is_new = outcome.load != LOAD_UNCHANGED && outcome.load != LOAD_FAILED && outcome.load != LOAD_DROPPED;
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	uint32_t delay_s, last;
	if (!is_new || outcome.is_quiet || contents == NULL || !notify_is_wanted(server, entry_name(entry), &delay_s)) {
		return;
	}
	rest_t *rest = rests_get(&server->rests, entry_name(entry));
	bool is_known = rest != NULL && timer_is_serial(rest->last_notified, &last) && last == contents->serial;
	if (rest == NULL || (ended == EVENT_LOAD && is_known)) {
		return;
	}
	rest->notifies_all = true;
	(void)jobs_plan(&server->jobs, entry, EVENT_NOTIFY, sys_clock_ms() + UINT64_C(1000) * delay_s, 0);
}

void server_restore_notify(server_t *server, entry_t *entry, uint64_t last_notified)
{
	uint32_t delay_s;
	if (last_notified != 0 && notify_is_wanted(server, entry_name(entry), &delay_s)) {
		rest_t *rest = rests_get(&server->rests, entry_name(entry));
		if (rest != NULL) {
			rest->last_notified = last_notified;
		}
	}
}

/* ---- What primaries say ---- */

static void notify_take(server_t *server, const notice_t *notice) SYS_REQUIRES(server->jobs.lock)
{
	if (notice->child_type != 0) {
		children_take(server, notice);
		return;
	}
	knot_name_t name = knot_name_of(notice->zone);
	entry_t *entry = server_find_entry(server, name);
	if (entry == NULL) {
		return;
	}
	rest_t *rest = server_is_secondary(server, name) ? rests_get(&server->rests, name) : NULL;
	if (rest != NULL) {
		bool is_other = rest->notifier.family != 0 && !notice_addr_eq(&rest->notifier, &notice->from);
		rest->has_more_notifiers |= is_other;
		rest->notifier = notice->from;
		rest->is_notified = true;
	}
	/* What isn't loaded yet has nothing to be compared. */
	(void)jobs_plan(&server->jobs, entry, EVENT_REFRESH, entry->tried ? JOBS_DUE_BY_NOTIFY : sys_clock_ms(), 0);
}

void server_take_notices(void *ctx)
{
	server_t *server = ctx;
	notice_t notice;
	notices_begin_taking(server->notices);
	while (notices_take(server->notices, &notice)) {
		sys_mutex_lock(&server->jobs.lock);
		notify_take(server, &notice);
		sys_mutex_unlock(&server->jobs.lock);
	}
	uint64_t lost = notices_take_lost(server->notices);
	if (lost > 0) {
		log_server(LOG_WARNING,
				"notify, incoming, too many at once, %llu ignored, their zones are refreshed when due",
				(unsigned long long)lost);
	}
}
