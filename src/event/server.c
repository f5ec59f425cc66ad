/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/event/asked.h"
#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

entry_t *server_find_entry(const server_t *server, knot_name_t name)
{
	zone_t *zone = zonedb_find(server->zones, name);
	return zone != NULL ? entry_of(zone) : NULL;
}

/* ---- Start and stop ---- */

/* Its byte has other flags, too, which change while the job runs. */
static bool server_is_first_load(server_t *server, const entry_t *entry)
{
	sys_mutex_lock(&server->jobs.lock);
	bool is_first = !entry->tried;
	sys_mutex_unlock(&server->jobs.lock);
	return is_first;
}

knot_err_t server_run_load(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	char reason[FAULT_REASON_MAX];
	if (server_is_first_load(server, entry)) {
		timer_values_t timers = timer_sync_read(server->timers, entry_name(entry));
		sys_mutex_lock(&server->jobs.lock);
		server_restore_flush(server, entry, timers.at[TIMER_LAST_FLUSH]);
		sys_mutex_unlock(&server->jobs.lock);
		takeover_zone(&server->takeover, server->journal, entry_name(entry));
	}
	const load_env_t env = { .root = &server->root,
		.images = server->saves.images,
		.journal = server->journal,
		.stopping = &server->jobs.stopping,
		.ret_sync_s = &outcome->sync_s,
		.is_forced = (how & EVENT_BY_FORCE) != 0 };
	outcome->sync_s = INT64_MIN;
	knot_err_t err = load_zone(&env, entry_zone(entry), &entry->source, &outcome->load, reason);
	outcome->has_sync = outcome->sync_s != INT64_MIN;
	outcome->reason = err != KNOT_OK ? strdup(reason) : NULL;
	return err;
}

void server_plan_nothing(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}

/* Without lock. */
static knot_err_t run_event(entry_t *entry, event_t event, unsigned how, job_outcome_t *ret_outcome, void *ctx)
{
	static knot_err_t (*const runs[EVENT_COUNT])(server_t *, entry_t *, unsigned, job_outcome_t *) = {
#define EVENT(id, name, rules, run, plan) [EVENT_##id] = run,
#define EVENT_ABSENT(id, name, rules)
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT
	};
	knot_err_t err = runs[event](ctx, entry, how, ret_outcome);
	if (err != KNOT_OK && err != KNOT_ESTOPPED) { /* the server ends: nothing is wrong with the zone */
		log_zone(LOG_ERR, entry_name(entry), "zone event '%s' failed (%s)", event_row(event)->name,
				knot_strerror(err));
	}
	return err;
}

/* Under lock: zones that are queried and have no contents yet go first. */
static entry_t *urgent_job(void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	zone_t *zone = zonedb_take_wanted(server->zones);
	return zone != NULL ? entry_of(zone) : NULL;
}

/* Under lock. */
static void after_job(entry_t *entry, event_t event, knot_err_t result, job_outcome_t outcome, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	zone_unwant(entry_zone(entry));
	server->refusals += result == KNOT_EGUARDRAIL;
	bool is_image = outcome.load == LOAD_FROM_IMAGE || outcome.load == LOAD_FROM_IMAGE_AND_CHANGES;
	if (is_image || outcome.load == LOAD_FROM_FILE || outcome.load == LOAD_FROM_JOURNAL) {
		entry->from_image = is_image;
	}
	if (result != KNOT_OK) {
		faults_put(&server->faults, entry_name(entry), result, outcome.reason != NULL ? outcome.reason : "",
				entry->since_s);
	} else if (entry->result == KNOT_OK) {
		faults_drop(&server->faults, entry_name(entry));
	}
	saves_after_job(&server->saves, entry, outcome);
#define EVENT(id, name, rules, run, plan) plan(server, entry, event, outcome);
#define EVENT_ABSENT(id, name, rules)
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT
	if (server->jobs.untried == 0 && server->loaded_fd >= 0) {
		(void)eventfd_write(server->loaded_fd, 1);
	}
}

knot_err_t server_start(server_t *server)
{
	knot_err_t err = images_start(server->saves.images);
	return err == KNOT_OK ? jobs_start(&server->jobs) : err;
}

void server_note_loaded(server_t *server)
{
	takeover_end(&server->takeover);
}

/* ---- What is saved; under lock ---- */

static entry_t *saves_find(knot_name_t name, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return server_find_entry(server, name);
}

static entry_t *saves_at(size_t index, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return entry_of(zonedb_zones(server->zones)[index]);
}

static size_t saves_count(void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return zonedb_count(server->zones);
}

/* False: there is no folder. */
static bool asked_path(const char *folder, char path[static PATH_MAX])
{
	return folder != NULL && snprintf(path, PATH_MAX, "%s/asked", folder) < PATH_MAX;
}

/* Not under lock. */
static void note_asked(const char *folder, void *ctx)
{
	const server_t *server = ctx;
	char path[PATH_MAX];
	if (asked_path(folder, path)) {
		asked_write(path, &server->root, false);
	}
}

/* Path and settings_number() of a zone's file. KNOT_ENOZONE: not configured. Not under lock. */
static knot_err_t file_of_zone(
		const server_t *server, knot_name_t name, char ret_path[static PATH_MAX], uint64_t *ret_settings)
{
	RCU_READ_SECTION(guard);
	const conf_t *conf = state_load(&server->root, guard)->conf;
	size_t index;
	if (!conf_zone_find(conf, name, &index)) {
		return KNOT_ENOZONE;
	}
	conf_zone_t zone = conf_zone(conf, index);
	*ret_settings = settings_number(&zone);
	return conf_zone_file(&zone, ret_path, PATH_MAX);
}

static sources_t *describe_file(knot_name_t name, void *ctx)
{
	char path[PATH_MAX];
	uint64_t settings;
	return file_of_zone(ctx, name, path, &settings) == KNOT_OK ? sources_of_file(path, settings) : NULL;
}

static knot_err_t open_images(server_t *server, const conf_database_t *conf)
{
	server->saves = (saves_t){ .jobs = &server->jobs,
		.find = saves_find,
		.at = saves_at,
		.count = saves_count,
		.now_and_then = note_asked,
		.describe = describe_file,
		.ctx = server };
	return saves_open(&server->saves, conf);
}

void server_stop(server_t *server)
{
	jobs_stop(&server->jobs);
	server_flush_all(server);
	server_write_timers(server);
	images_stop(server->saves.images);
	server_report_lost(server);
	char path[PATH_MAX];
	if (asked_path(images_path(server->saves.images), path)) {
		asked_write(path, &server->root, true);
	}
}

knot_err_t server_new(conf_t *take_conf, const server_params_t *params, server_t **ret_server) SYS_UNCHECKED_LOCKS
{
	server_t *server = calloc(1, sizeof(*server));
	if (server == NULL) {
		return KNOT_ENOMEM;
	}
	jobs_params_t calls = { .run = run_event, .urgent = urgent_job, .after = after_job, .ctx = server };
	jobs_init(&server->jobs, take_conf->server.background_workers, &calls);
	zonedb_t *none = zonedb_new(NULL, 0);
	server_build_t made;
	knot_err_t err = none != NULL ? jobs_reserve(&server->jobs, take_conf->zone_count) : KNOT_ENOMEM;
	err = err == KNOT_OK ? open_images(server, &take_conf->database) : err;
	err = err == KNOT_OK ? changes_open(&take_conf->database, &server->journal) : err;
	err = err == KNOT_OK ? takeover_begin(&server->takeover, take_conf->database.journal_db) : err;
	if (err == KNOT_OK && (server->timers = timer_sync_open(&take_conf->database)) == NULL) {
		err = KNOT_ENOMEM;
	}
	err = err == KNOT_OK ? saves_reserve(&server->saves, take_conf->zone_count) : err;
	conf_t *started = err == KNOT_OK ? conf_copy_groups(take_conf, params->host) : NULL;
	err = err == KNOT_OK && started == NULL ? KNOT_ENOMEM : err;
	err = err == KNOT_OK ? server_build(take_conf, none, &made) : err;
	zonedb_free(none);
	if (err != KNOT_OK) {
		conf_free(started);
		jobs_deinit(&server->jobs);
		saves_close(&server->saves);
		timer_db_close(server->timers);
		takeover_done(&server->takeover);
		journal_close(server->journal);
		free(server);
		return err;
	}
	server->params = *params;
	server->started = started;
	server->loaded_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sys_mutex_init(&server->reload_lock);
	edits_init(&server->edits);
	server->edit.version = params->db_version;
	server->zones = made.state->zones;
	server->jobs.untried = made.fresh;
	(void)state_publish(&server->root, made.state);
	*ret_server = server;
	return KNOT_OK;
}

void server_free(server_t *server)
{
	if (server == NULL) {
		return;
	}
	conf_edit_close(server);
	server_compact_deinit(server);
	jobs_deinit(&server->jobs);
	edits_done(&server->edits);
	faults_free(&server->faults);
	for (size_t i = 0; i < zonedb_count(server->zones); i++) {
		entry_free(entry_of(zonedb_zones(server->zones)[i]));
	}
	state_free(server->root.state_rcu);
	conf_free(server->started);
	sys_mutex_done(&server->reload_lock);
	saves_close(&server->saves);
	timer_db_close(server->timers);
	takeover_done(&server->takeover);
	journal_close(server->journal);
	if (server->loaded_fd >= 0) {
		close(server->loaded_fd);
	}
	free(server);
}

const state_root_t *server_state(const server_t *server)
{
	return &server->root;
}

/* ---- Zones ---- */

/* Zones that were queried before the restart go first. */
static void ask_lately_asked(server_t *server)
{
	char path[PATH_MAX];
	asked_t *asked = asked_path(images_path(server->saves.images), path) ? asked_read(path) : NULL;
	zone_t *const *zones = zonedb_zones(server->zones);
	for (size_t i = 0, count = asked != NULL ? zonedb_count(server->zones) : 0; i < count; i++) {
		if (asked_has(asked, zone_name(zones[i]))) {
			sys_mutex_lock(&server->jobs.lock);
			(void)jobs_ask(&server->jobs, entry_of(zones[i]), EVENT_LOAD, 0);
			sys_mutex_unlock(&server->jobs.lock);
		}
	}
	asked_free(asked);
}

void server_load_zones(server_t *server)
{
	/* The set changes only in a reload, and this comes before. */
	zone_t *const *zones = zonedb_zones(server->zones);
	size_t count = zonedb_count(server->zones);
	log_server(LOG_INFO, "loading %zu zones", count);
	if (count == 0) {
		log_server(LOG_WARNING, "no zones loaded");
	}
	ask_lately_asked(server);
	sys_log_gathered_t lines;
	for (size_t first = 0; first < count; first += SERVER_CHUNK) {
		size_t end = first + SERVER_CHUNK < count ? first + SERVER_CHUNK : count;
		sys_log_gather(&lines);
		for (size_t i = first; i < end; i++) {
			log_zone(LOG_INFO, zone_name(zones[i]), "zone will be loaded");
		}
		sys_log_write_gathered();
		sys_mutex_lock(&server->jobs.lock);
		for (size_t i = first; i < end; i++) {
			(void)jobs_ask(&server->jobs, entry_of(zones[i]), EVENT_LOAD, 0);
		}
		sys_mutex_unlock(&server->jobs.lock);
	}
}

bool server_is_loading(const server_t *server)
{
	sys_mutex_lock(server_lock(server));
	bool loading = server->jobs.untried > 0;
	sys_mutex_unlock(server_lock(server));
	return loading;
}

int server_loaded_fd(const server_t *server)
{
	return server->loaded_fd;
}

bool server_wait_loaded(server_t *server, unsigned timeout_ms)
{
	struct timespec deadline = sys_clock_until(CLOCK_MONOTONIC, timeout_ms);
	sys_mutex_lock(&server->jobs.lock);
	bool is_late = false;
	while (server->jobs.untried > 0 && !server->jobs.stopping && !is_late) {
		is_late = !sys_mutex_wait_until(&server->jobs.lock, &server->jobs.ended, &deadline);
	}
	bool loaded = server->jobs.untried == 0;
	sys_mutex_unlock(&server->jobs.lock);
	return loaded;
}

knot_err_t server_zone_reload(server_t *server, knot_name_t name, bool is_forced, server_ticket_t *ret_ticket)
{
	unsigned how = EVENT_BY_OPERATOR | (is_forced ? EVENT_BY_FORCE : 0);
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, name);
	knot_err_t err = entry == NULL ? KNOT_ENOZONE : entry->edited && ret_ticket != NULL ? KNOT_ETXNMANY : KNOT_OK;
	if (err == KNOT_OK) {
		server_ticket_t ticket = jobs_ask(&server->jobs, entry, EVENT_LOAD, how);
		if (ret_ticket != NULL) {
			*ret_ticket = ticket;
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

/* True if the event was held back after it had been planned: freezing may last for days. */
static bool server_is_held(const server_t *server, const entry_t *entry, server_ticket_t ticket)
		SYS_REQUIRES(server->jobs.lock)
{
	agenda_item_t item;
	event_t event = agenda_event_of(ticket);
	return event != EVENT_NONE && agenda_find(&server->jobs.agenda, entry, event, &item) && item.ticket == ticket &&
	       jobs_is_held(entry, &item);
}

knot_err_t server_zone_wait(server_t *server, knot_name_t name, server_ticket_t ticket)
{
	knot_err_t result = KNOT_OK;
	sys_mutex_lock(&server->jobs.lock);
	for (;;) {
		entry_t *entry = server_find_entry(server, name);
		if (entry == NULL || server_is_held(server, entry, ticket)) {
			break;
		}
		if (jobs_has_ended(&server->jobs, entry, ticket)) {
			bool is_failed = entry->result != KNOT_OK && entry->failed == agenda_event_of(ticket);
			result = is_failed ? (knot_err_t)entry->result : KNOT_OK;
			break;
		}
		if (server->jobs.stopping) {
			result = KNOT_ECTLBUSY;
			break;
		}
		jobs_wait(&server->jobs);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return result;
}

knot_err_t server_wait_for_rest(server_t *server, knot_name_t name, entry_t **ret_entry)
{
	for (;;) {
		entry_t *entry = server_find_entry(server, name);
		if (entry == NULL) {
			return KNOT_ENOZONE;
		}
		if (server->jobs.stopping) {
			return KNOT_ECTLBUSY; /* server_flush_all() waits for zones that have work now */
		}
		if (!entry->is_running && !jobs_is_pending(&server->jobs, entry, (event_set_t)1 << EVENT_LOAD)) {
			*ret_entry = entry;
			return KNOT_OK;
		}
		jobs_wait(&server->jobs);
	}
}

knot_err_t server_begin_work(server_t *server, knot_name_t name, entry_t **ret_entry)
{
	knot_err_t err = server_wait_for_rest(server, name, ret_entry);
	if (err == KNOT_OK) {
		jobs_begin(&server->jobs, *ret_entry);
	}
	return err;
}

knot_err_t server_zone_purge(server_t *server, knot_name_t name, unsigned what)
{
	entry_t *entry;
	sys_mutex_lock(&server->jobs.lock);
	knot_err_t err = server_begin_work(server, name, &entry);
	if (err != KNOT_OK) {
		sys_mutex_unlock(&server->jobs.lock);
		return err;
	}
	if ((what & (SERVER_PURGE_CONTENTS | SERVER_PURGE_IMAGE)) != 0) {
		entry->save = SAVE_NONE;
	}
	server_edit_t *edit = (what & SERVER_PURGE_CONTENTS) != 0 ? server_edit_drop(server, name) : NULL;
	sys_mutex_unlock(&server->jobs.lock);
	server_edit_free(server, edit);
	if ((what & SERVER_PURGE_CONTENTS) != 0) {
		publish_drop(entry_zone(entry), &entry->source);
	}
	if ((what & SERVER_PURGE_FILE) != 0) {
		err = load_remove_file(&server->root, name);
	}
	if ((what & SERVER_PURGE_IMAGE) != 0) {
		size_t removed;
		knot_err_t image_err = images_remove(server->saves.images, &name, 1, &removed);
		err = err == KNOT_OK ? image_err : err;
	}
	if ((what & SERVER_PURGE_JOURNAL) != 0) {
		knot_err_t journal_err = changes_drop(server->journal, name);
		err = err == KNOT_OK ? journal_err : err;
	}
	if ((what & SERVER_PURGE_TIMERS) != 0) {
		knot_err_t timers_err = timer_sync_drop(server->timers, name, NULL, NULL);
		err = err == KNOT_OK ? timers_err : err;
	}
	sys_mutex_lock(&server->jobs.lock);
	job_outcome_t outcome = { .load = (what & SERVER_PURGE_CONTENTS) != 0 ? LOAD_DROPPED : LOAD_UNCHANGED };
	jobs_end(&server->jobs, entry, outcome, err);
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

static bool is_configured(knot_name_t name, void *ctx)
{
	const server_t *server = ctx;
	RCU_READ_SECTION(guard);
	return zonedb_find(state_load(&server->root, guard)->zones, name) != NULL;
}

static bool is_orphan(knot_name_t name, void *ctx)
{
	return !is_configured(name, ctx);
}

knot_err_t server_purge_orphans(server_t *server, knot_name_t name)
{
	if (name.wire == NULL) {
		knot_err_t err = images_remove_if(server->saves.images, is_orphan, server);
		knot_err_t journal_err = changes_drop_if(server->journal, is_orphan, server);
		knot_err_t timers_err = timer_sync_drop(server->timers, name, is_orphan, server);
		err = err == KNOT_OK ? journal_err : err;
		return err == KNOT_OK ? timers_err : err;
	}
	if (!is_orphan(name, server)) {
		return KNOT_OK;
	}
	size_t removed;
	knot_err_t err = images_remove(server->saves.images, &name, 1, &removed);
	knot_err_t journal_err = changes_drop(server->journal, name);
	knot_err_t timers_err = timer_sync_drop(server->timers, name, NULL, NULL);
	err = err == KNOT_OK ? journal_err : err;
	return err == KNOT_OK ? timers_err : err;
}

knot_err_t server_purge_images(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	saves_forget(&server->saves);
	sys_mutex_unlock(&server->jobs.lock);
	return images_remove_if(server->saves.images, is_configured, server);
}

server_origin_t server_zone_origin(const server_t *server, knot_name_t name)
{
	server_origin_t origin = SERVER_ORIGIN_NONE;
	sys_mutex_lock(server_lock(server));
	entry_t *entry = server_find_entry(server, name);
	if (entry != NULL && zone_contents(entry_zone(entry)) != NULL) {
		origin = entry->from_image ? SERVER_ORIGIN_IMAGE : SERVER_ORIGIN_FILE;
	}
	sys_mutex_unlock(server_lock(server));
	return origin;
}

knot_err_t server_zone_image(const server_t *server, knot_name_t name, images_info_t *ret_info)
{
	images_query_t query = { .name = name };
	char path[PATH_MAX];
	knot_err_t err = file_of_zone(server, name, path, &query.settings);
	if (err == KNOT_OK) {
		query.path = path;
		images_info(server->saves.images, &query, ret_info);
	}
	return err;
}

uint64_t server_wall_of(uint64_t when_ms)
{
	uint64_t now_ms = sys_clock_ms(), now_s = sys_clock_wall();
	return when_ms > now_ms ? now_s + (when_ms - now_ms + 999) / 1000 : now_s - (now_ms - when_ms) / 1000;
}

static server_event_status_t event_of(const server_t *server, const entry_t *entry, event_t event)
		SYS_REQUIRES(server->jobs.lock)
{
	agenda_item_t item;
	if (entry->is_running && agenda_event_of(entry->ticket) == event) {
		return (server_event_status_t){ SERVER_EVENT_RUNNING, entry->since_s };
	}
	if (!agenda_find(&server->jobs.agenda, entry, event, &item)) {
		return (server_event_status_t){ .state = SERVER_EVENT_IDLE };
	}
	return (server_event_status_t){
		.state = jobs_is_held(entry, &item)      ? SERVER_EVENT_FROZEN
			 : item.due_ms <= sys_clock_ms() ? SERVER_EVENT_PENDING
							 : SERVER_EVENT_PLANNED,
		.since_s = server_wall_of(item.due_ms),
	};
}

server_event_status_t server_zone_event(const server_t *server, knot_name_t name, event_t event)
{
	server_event_status_t status = { .state = SERVER_EVENT_IDLE };
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	if (entry != NULL) {
		status = event_of(server, entry, event);
	}
	sys_mutex_unlock(server_lock(server));
	return status;
}

/* ---- Zones in trouble ---- */

/* Under lock. */
static bool server_fault_of(const server_t *server, const entry_t *entry, server_fault_t *ret_fault)
		SYS_REQUIRES(server->jobs.lock)
{
	if (entry->result == KNOT_OK) {
		return false;
	}
	const fault_facts_t *facts = faults_find(&server->faults, zone_name(entry_zone((entry_t *)entry)));
	ret_fault->err = entry->result;
	ret_fault->first_s = facts != NULL ? facts->since_s : entry->since_s;
	ret_fault->last_s = entry->since_s;
	snprintf(ret_fault->reason, sizeof(ret_fault->reason), "%s", facts != NULL ? facts->reason : "");
	return true;
}

bool server_zone_fault(const server_t *server, knot_name_t name, server_fault_t *ret_fault)
{
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	bool is_failed = entry != NULL && server_fault_of(server, entry, ret_fault);
	sys_mutex_unlock(server_lock(server));
	return is_failed;
}

void server_each_fault(const server_t *server, void (*visit)(knot_name_t name, const server_fault_t *fault, void *ctx),
		void *ctx)
{
	for (size_t first = 0, total = 1; first < total; first += SERVER_CHUNK) {
		sys_mutex_lock(server_lock(server));
		total = zonedb_count(server->zones);
		for (size_t i = first; i < total && i < first + SERVER_CHUNK; i++) {
			zone_t *zone = zonedb_zones(server->zones)[i];
			server_fault_t fault;
			if (server_fault_of(server, entry_of(zone), &fault)) {
				visit(zone_name(zone), &fault, ctx);
			}
		}
		sys_mutex_unlock(server_lock(server));
	}
}

void server_wait_idle(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	while (!jobs_are_idle(&server->jobs) && !server->jobs.stopping) {
		sys_mutex_wait(&server->jobs.lock, &server->jobs.ended);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

server_workers_t server_workers(const server_t *server)
{
	sys_mutex_lock(server_lock(server));
	server_workers_t workers = {
		.workers = server->jobs.worker_count,
		.running = server->jobs.running,
		.pending = agenda_count_due(&server->jobs.agenda, sys_clock_ms()),
	};
	sys_mutex_unlock(server_lock(server));
	return workers;
}

server_failures_t server_failures(const server_t *server)
{
	sys_mutex_lock(server_lock(server));
	server_failures_t failures = { .errors = server->jobs.errors, .refusals = server->refusals };
	sys_mutex_unlock(server_lock(server));
	return failures;
}

/* ---- What a configuration says of logs ---- */

static void log_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	int level = fault->severity == CONF_ERROR     ? LOG_ERR
		    : fault->severity == CONF_WARNING ? LOG_WARNING
						      : LOG_NOTICE;
	const char *hint = fault->hint != NULL ? fault->hint : "";
	log_server(level, "%s%s%s", fault->text, *hint != '\0' ? ", " : "", hint);
}

conf_sink_t server_conf_sink(void)
{
	return (conf_sink_t){ .fault = log_fault };
}

knot_err_t server_read_conf_db(conf_db_t *db, const conf_host_t *host, uint64_t *ret_version, conf_t **ret_conf)
{
	conf_store_t *store;
	uint64_t version;
	knot_err_t err = conf_db_read(db, server_conf_sink(), &store, &version);
	err = err == KNOT_OK ? conf_make(store, conf_db_path(db), host, server_conf_sink(), ret_conf) : err;
	if (err == KNOT_OK) {
		*ret_version = version;
	}
	return err;
}

knot_err_t server_open_logs(const conf_t *conf, uid_t uid, gid_t gid)
{
	_Static_assert((int)SYS_LOG_SOURCE_COUNT == (int)CONF_LOG_SOURCE_COUNT, "the same sources in the same order");
	sys_log_target_t *targets = calloc(conf->log_count > 0 ? conf->log_count : 1, sizeof(*targets));
	if (targets == NULL) {
		return KNOT_ENOMEM;
	}
	static const sys_log_kind_t kinds[] = {
		[CONF_LOG_STDOUT] = SYS_LOG_TO_STDOUT,
		[CONF_LOG_STDERR] = SYS_LOG_TO_STDERR,
		[CONF_LOG_SYSLOG] = SYS_LOG_TO_SYSLOG,
		[CONF_LOG_FILE] = SYS_LOG_TO_FILE,
	};
	for (size_t i = 0; i < conf->log_count; i++) {
		targets[i] = (sys_log_target_t){ .kind = kinds[conf->logs[i].kind], .path = conf->logs[i].target };
		memcpy(targets[i].levels, conf->logs[i].levels, sizeof(targets[i].levels));
	}
	knot_err_t err = sys_log_open(targets, conf->log_count, uid, gid);
	free(targets);
	return err;
}
