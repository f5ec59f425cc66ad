/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "src/catalog/settings.h"
#include "src/event/asked.h"
#include "src/event/derive_zone.h"
#include "src/event/children.h"
#include "src/event/ds_push.h"
#include "src/event/question.h"
#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/sys/dbus.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

entry_t *server_find_entry(const server_t *server, knot_name_t name)
{
	zone_t *zone = zonedb_find(server->zones, name);
	return zone != NULL ? entry_of(zone) : NULL;
}

enum { SERVER_RETRY_MS = 20 * 1000 }; /* of loading zones for which the journal can't be read; a million may wait */

/* ---- Start and stop ---- */

/* Their byte has other flags, too, which change while the job runs. */
static void server_look_at_flags(server_t *server, const entry_t *entry, bool *ret_is_first, bool *ret_is_behind)
{
	sys_mutex_lock(&server->jobs.lock);
	*ret_is_first = !entry->tried;
	*ret_is_behind = entry->is_behind;
	sys_mutex_unlock(&server->jobs.lock);
}

/* True if a load could only find once more what is served, as the journal can't be read yet. */
static bool server_waits_for_journal(server_t *server, entry_t *entry)
{
	char path[PATH_MAX], reason[FAULT_REASON_MAX];
	uint64_t settings;
	bool is_served = zone_contents(entry_zone(entry)) != NULL;
	return changes_reopen(server->journal, reason) != KNOT_OK &&
	       (!is_served || (server_zone_file(server, entry_name(entry), path, &settings) == KNOT_OK &&
					      source_is_current(&entry->source, path, settings)));
}

void server_follow_times(server_t *server, entry_t *entry)
{
	timer_values_t timers = timer_sync_read(server->timers, entry_name(entry));
	zone_freeze_transfers(entry_zone(entry), timers.at[TIMER_XFR_OUT_FROZEN] != 0);
	bool is_secondary = server_is_secondary(server, entry_name(entry));
	sys_mutex_lock(&server->jobs.lock);
	server_restore_flush(server, entry, timers.at[TIMER_LAST_FLUSH]);
	server_restore_notify(server, entry, timers.at[TIMER_LAST_NOTIFIED]);
	ds_push_restore(server, entry, timers.at[TIMER_NEXT_DS_PUSH]);
	rest_t *rest = is_secondary ? rests_get(&server->rests, entry_name(entry)) : NULL;
	if (rest != NULL) {
		rest->timers = timers_state_of(&timers);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* Before a secondary zone is loaded for the first time. True: its time was over while the server wasn't running. */
static bool server_has_expired(server_t *server, entry_t *entry)
{
	sys_mutex_lock(&server->jobs.lock);
	rest_t *rest = rests_find(&server->rests, entry_name(entry));
	bool has_expired = rest != NULL && timers_start(&rest->timers, sys_clock_wall());
	sys_mutex_unlock(&server->jobs.lock);
	if (has_expired) {
		log_zone(LOG_INFO, entry_name(entry), "zone had expired, will be bootstrapped");
	}
	return has_expired;
}

/* What a catalog needs of a load. */
static knot_err_t server_load_catalog(server_t *server, entry_t *entry, bool is_first, job_outcome_t *outcome)
{
	load_settings_t *settings = malloc(sizeof(*settings));
	if (settings == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = load_settings(&server->root, entry_name(entry), settings);
	conf_catalog_role_t role = err == KNOT_OK ? settings->catalog_role : CONF_CATALOG_NONE;
	free(settings);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	if (role == CONF_CATALOG_INTERPRET && outcome->load == LOAD_UNCHANGED && contents != NULL) {
		/* Perhaps it wasn't interpreted when it was loaded, or its members couldn't be stored. */
		return catalogs_repeat(server, entry_name(entry), contents);
	}
	bool is_new = false;
	if (role != CONF_CATALOG_GENERATE) {
		return err;
	}
	err = catalogs_list(server, entry, is_first, &is_new);
	outcome->load = is_new ? LOAD_EDITED : outcome->load;
	return err;
}

/* Before the zone is loaded: queries for catalogs need permission, and a zone that is made here needs no file. */
static bool server_look_at_role(server_t *server, entry_t *entry)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	bool has = state_settings(state_load(&server->root, guard), entry_name(entry), &zone);
	zone_restrict_queries(entry_zone(entry), has && catalog_is_restricted(&zone));
	zone_follow_children(entry_zone(entry), has && zone.delegation.count > 0);
	zone_renumber(entry_zone(entry), has && conf_zone_is_derived(&zone));
	return has && zone.catalog_role == CONF_CATALOG_GENERATE;
}

/* The zone is made of others, and what was loaded hasn't been compared with them. An operator has all looked at. */
static knot_err_t server_follow_sources(
		server_t *server, entry_t *entry, derived_set_t *set, unsigned how, job_outcome_t *outcome)
{
	if ((how & EVENT_BY_OPERATOR) != 0) {
		derive_mark_all(&set->marks);
	}
	return outcome->is_behind ? KNOT_OK : derived_follow(server, entry, set, (how & EVENT_BY_FORCE) != 0, outcome);
}

knot_err_t server_run_load(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	char reason[FAULT_REASON_MAX];
	bool is_first, is_secondary = server_is_secondary(server, entry_name(entry));
	bool is_generated = server_look_at_role(server, entry);
	server_look_at_flags(server, entry, &is_first, &outcome->is_behind);
	if (outcome->is_behind && (how & EVENT_BY_OPERATOR) == 0 && server_waits_for_journal(server, entry)) {
		outcome->keeps_result = true;
		return KNOT_OK;
	}
	if (is_first) {
		server_follow_times(server, entry);
		if (is_secondary && server_has_expired(server, entry)) {
			return KNOT_OK;
		}
	}
	if (zone_has_frozen_transfers(entry_zone(entry))) {
		log_zone(LOG_NOTICE, entry_name(entry), "outgoing XFR is still frozen");
	}
	if (is_first || outcome->is_behind) {
		takeover_zone(&server->takeover, server->journal, entry_name(entry));
	}
	derived_set_t set;
	knot_err_t set_err = derived_open(server, entry_name(entry), true, &set);
	if (set_err == KNOT_ENOMEM) {
		return set_err;
	}
	const load_env_t env = { .root = &server->root,
		.images = server->saves.images,
		.journal = server->journal,
		.stopping = &server->jobs.stopping,
		.ret_sync_s = &outcome->sync_s,
		.is_behind = &outcome->is_behind,
		.is_forced = (how & EVENT_BY_FORCE) != 0,
		.has_primaries = is_secondary || is_generated,
		.server = server,
		.is_made_otherwise = set.has_other_sources,
		.derived = set_err == KNOT_OK ? &set : NULL };
	outcome->sync_s = INT64_MIN;
	knot_err_t err = load_zone(&env, entry_zone(entry), &entry->source, &outcome->load, reason);
	bool waits = set_err == KNOT_OK && set.is_waiting && set.is_too_early;
	if (set_err == KNOT_OK && err == KNOT_OK && !set.is_done) {
		err = server_follow_sources(server, entry, &set, how, outcome);
	}
	if (set_err == KNOT_OK) {
		derived_close(server, &set);
	}
	if (waits && err == KNOT_ETRYAGAIN) {
		return KNOT_OK; /* for a zone that is being loaded */
	}
	outcome->has_sync = outcome->sync_s != INT64_MIN;
	if (err == KNOT_OK || (err == KNOT_ENOENT && is_generated)) {
		return server_load_catalog(server, entry, is_first, outcome);
	}
	if (err == KNOT_ENOENT && is_secondary) {
		log_zone(LOG_INFO, entry_name(entry), "zone will be bootstrapped");
		return KNOT_OK;
	}
	if (err != KNOT_OK && outcome->reason == NULL) {
		outcome->reason = strdup(reason);
	}
	return err;
}

void server_plan_load(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	if (ended != EVENT_LOAD) {
		return;
	}
	entry->is_behind = outcome.is_behind;
	if (outcome.is_behind) {
		(void)jobs_plan(&server->jobs, entry, EVENT_LOAD, sys_clock_ms() + SERVER_RETRY_MS, 0);
	}
}

/* Without lock. */
static knot_err_t server_run_event(entry_t *entry, event_t event, unsigned how, job_outcome_t *ret_outcome, void *ctx)
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
static entry_t *server_find_urgent(void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	zone_t *zone = zonedb_take_wanted(server->zones);
	return zone != NULL ? entry_of(zone) : NULL;
}

/* What the D-Bus knows as a failed update. */
static void server_announce_failure(knot_name_t name, event_t event, knot_err_t result)
{
	bool is_update = event == EVENT_LOAD || event == EVENT_REFRESH || event == EVENT_UPDATE;
	if (result == KNOT_OK || !is_update || !sys_dbus_has(SYS_DBUS_ZONE_UPDATED)) {
		return;
	}
	char zone[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(name, zone);
	sys_dbus_zone_not_updated(zone);
}

/* To those who wait until the start has tried all zones. */
static void server_tell_loaded(server_t *server) SYS_REQUIRES(server->jobs.lock)
{
	if (server->jobs.untried == 0 && server->loaded_fd >= 0) {
		(void)eventfd_write(server->loaded_fd, 1);
	}
}

/* Under lock. */
static void server_after_job(entry_t *entry, event_t event, knot_err_t result, job_outcome_t outcome, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	zone_unwant(entry_zone(entry));
	server->refusals += result == KNOT_EGUARDRAIL;
	server_announce_failure(entry_name(entry), event, result);
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
	server_tell_loaded(server);
}

void server_note_tried(server_t *server, entry_t *entry)
{
	sys_mutex_lock(&server->jobs.lock);
	jobs_note_tried(&server->jobs, entry);
	server_tell_loaded(server);
	sys_mutex_unlock(&server->jobs.lock);
}

knot_err_t server_start(server_t *server)
{
	knot_err_t err = images_start(server->saves.images);
	err = err == KNOT_OK ? transfer_service_new(server->journal, &server->transfers) : err;
	err = err == KNOT_OK ? remote_start(server->remote) : err;
	return err == KNOT_OK ? jobs_start(&server->jobs) : err;
}

void server_note_loaded(server_t *server)
{
	takeover_end(&server->takeover);
}

/* ---- What is saved; under lock ---- */

static entry_t *server_find_saved(knot_name_t name, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return server_find_entry(server, name);
}

static entry_t *server_saved_at(size_t index, void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return entry_of(zonedb_zones(server->zones)[index]);
}

static size_t server_count_saved(void *ctx)
{
	server_t *server = ctx;
	sys_mutex_assert_held(&server->jobs.lock);
	return zonedb_count(server->zones);
}

/* False: there is no folder. */
static bool server_asked_path(const char *folder, char path[static PATH_MAX])
{
	return folder != NULL && snprintf(path, PATH_MAX, "%s/asked", folder) < PATH_MAX;
}

/* Not under lock. */
static void server_note_asked(const char *folder, void *ctx)
{
	const server_t *server = ctx;
	char path[PATH_MAX];
	if (server_asked_path(folder, path)) {
		asked_write(path, &server->root, false);
	}
}

static sources_t *server_describe_file(knot_name_t name, void *ctx)
{
	char path[PATH_MAX];
	uint64_t settings;
	return server_zone_file(ctx, name, path, &settings) == KNOT_OK ? sources_of_file(path, settings) : NULL;
}

static knot_err_t server_open_saves(server_t *server, const conf_database_t *conf)
{
	server->saves = (saves_t){ .jobs = &server->jobs,
		.find = server_find_saved,
		.at = server_saved_at,
		.count = server_count_saved,
		.now_and_then = server_note_asked,
		.describe = server_describe_file,
		.ctx = server };
	return saves_open(&server->saves, conf);
}

void server_stop(server_t *server)
{
	remote_stop(server->remote); /* before the workers: what waits for an answer ends, some of it in a worker */
	externals_stop(&server->externals);
	jobs_stop(&server->jobs);
	updates_drop(&server->updates, KNOT_RCODE_SERVFAIL); /* while transports can still answer */
	catalogs_stop(server);
	server_backup_stop(server);
	server_flush_all(server);
	server_write_timers(server);
	images_stop(server->saves.images);
	server_report_lost(server);
	char path[PATH_MAX];
	if (server_asked_path(images_path(server->saves.images), path)) {
		asked_write(path, &server->root, true);
	}
}

/* Without random bytes the time: sources may then choose whom they share a part with. */
static uint64_t server_make_seed(void)
{
	uint64_t seed;
	return getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed) ? seed : sys_clock_ns();
}

knot_err_t server_new(conf_t *take_conf, const server_params_t *params, server_t **ret_server) SYS_UNCHECKED_LOCKS
{
	server_t *server = calloc(1, sizeof(*server));
	if (server == NULL) {
		return KNOT_ENOMEM;
	}
	jobs_params_t calls = {
		.run = server_run_event, .urgent = server_find_urgent, .after = server_after_job, .ctx = server
	};
	jobs_init(&server->jobs, take_conf->server.background_workers, &calls);
	zonedb_t *none = zonedb_new(NULL, 0);
	server_build_t made;
	members_t members = { .count = 0 };
	knot_err_t err = none != NULL ? catalogs_init(&server->catalogs, &take_conf->database) : KNOT_ENOMEM;
	err = err == KNOT_OK ? catalogs_read_new(&server->catalogs, NULL, take_conf, &members) : err;
	size_t zone_max = take_conf->zone_count + members.count;
	err = err == KNOT_OK ? jobs_reserve(&server->jobs, zone_max) : err;
	err = err == KNOT_OK ? server_open_saves(server, &take_conf->database) : err;
	err = err == KNOT_OK ? changes_open(&take_conf->database, &server->journal) : err;
	err = err == KNOT_OK ? takeover_begin(&server->takeover, server->journal, take_conf->database.journal_db) : err;
	if (err == KNOT_OK && (server->timers = timer_sync_open(&take_conf->database)) == NULL) {
		err = KNOT_ENOMEM;
	}
	err = err == KNOT_OK ? remote_new(&take_conf->server, &server->remote) : err;
	err = err == KNOT_OK ? notices_new(&server->notices) : err;
	if (err == KNOT_OK) {
		err = remote_set_bell(server->remote, notices_fd(server->notices), server_take_notices, server);
	}
	if (err == KNOT_OK && (server->children = calloc(1, sizeof(*server->children))) == NULL) {
		err = KNOT_ENOMEM;
	}
	err = err == KNOT_OK ? saves_reserve(&server->saves, zone_max) : err;
	conf_t *started = err == KNOT_OK ? conf_copy_groups(take_conf, params->host) : NULL;
	err = err == KNOT_OK && started == NULL ? KNOT_ENOMEM : err;
	err = err == KNOT_OK ? server_build(take_conf, none, &members, &made) : err;
	zonedb_free(none);
	if (err != KNOT_OK) {
		members_done(&members);
		catalogs_deinit(&server->catalogs);
		conf_free(started);
		jobs_deinit(&server->jobs);
		saves_close(&server->saves);
		timer_db_close(server->timers);
		takeover_done(&server->takeover);
		journal_close(server->journal);
		remote_free(server->remote);
		notices_free(server->notices);
		children_free(server->children);
		free(server);
		return err;
	}
	catalogs_forget(&server->catalogs, &members, NULL, 0);
	members_done(&members);
	server->params = *params;
	server->started = started;
	made.state->notices = server->notices;
	server->loaded_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sys_mutex_init(&server->reload_lock);
	edits_init(&server->edits);
	externals_init(&server->externals);
	sys_mutex_init(&server->kasp_lock);
	updates_init(&server->updates, SYS_UPDATES_MAX, server_make_seed());
	renewal_init(&server->renewal);
	server->edit.version = params->db_version;
	server->zones = made.state->zones;
	server->jobs.untried = made.fresh;
	zonedb_link(made.state->zones);
	(void)state_publish(&server->root, made.state);
	*ret_server = server;
	return KNOT_OK;
}

void server_free(server_t *server) SYS_UNCHECKED_LOCKS
{
	if (server == NULL) {
		return;
	}
	conf_edit_close(server);
	server_compact_deinit(server);
	renewal_done(server);
	jobs_deinit(&server->jobs);
	edits_done(&server->edits);
	externals_done(&server->externals);
	questions_free(server);
	children_free(server->children);
	kasp_close(server->kasp);
	sys_mutex_done(&server->kasp_lock);
	updates_drop(&server->updates, KNOT_RCODE_SERVFAIL);
	updates_deinit(&server->updates);
	catalogs_deinit(&server->catalogs);
	faults_free(&server->faults);
	derivations_free(&server->derivations);
	rests_free(&server->rests);
	remote_free(server->remote);
	notices_free(server->notices);
	for (size_t i = 0; i < zonedb_count(server->zones); i++) {
		entry_free(entry_of(zonedb_zones(server->zones)[i]));
	}
	state_free(server->root.state_rcu);
	conf_free(server->started);
	sys_mutex_done(&server->reload_lock);
	saves_close(&server->saves);
	timer_db_close(server->timers);
	takeover_done(&server->takeover);
	transfer_service_free(server->transfers);
	journal_close(server->journal);
	if (server->loaded_fd >= 0) {
		close(server->loaded_fd);
	}
	free(server);
}

transfer_service_t *server_transfers(const server_t *server)
{
	return server->transfers;
}

const state_root_t *server_state(const server_t *server)
{
	return &server->root;
}

/* ---- Zones ---- */

/* Zones that were queried before the restart go first. */
static void server_ask_lately_asked(server_t *server)
{
	char path[PATH_MAX];
	asked_t *asked = server_asked_path(images_path(server->saves.images), path) ? asked_read(path) : NULL;
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
	server_ask_lately_asked(server);
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

knot_err_t server_zone_ask(server_t *server, knot_name_t name, event_t event, unsigned how, server_ticket_t *ret_ticket)
{
	bool waits_for_edit = (event_row(event)->rules & EVENT_WAITS_FOR_EDIT) != 0;
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, name);
	if (entry == NULL) {
		err = KNOT_ENOZONE;
	} else if (waits_for_edit && entry->edited && ret_ticket != NULL) {
		err = KNOT_ETXNMANY;
	} else {
		/* A refresh goes before those that are due by themselves. */
		uint64_t due_ms = event == EVENT_REFRESH && entry->tried ? JOBS_DUE_BY_OPERATOR : sys_clock_ms();
		server_ticket_t ticket = jobs_plan(&server->jobs, entry, event, due_ms, EVENT_BY_OPERATOR | how);
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
	return event != EVENT_NONE && jobs_find(&server->jobs, entry, event, &item) && item.ticket == ticket &&
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
		.pending = jobs_count_due(&server->jobs),
	};
	sys_mutex_unlock(server_lock(server));
	return workers;
}

server_failures_t server_failures(const server_t *server)
{
	sys_mutex_lock(server_lock(server));
	server_failures_t failures = {
		.errors = server->jobs.errors, .refusals = server->refusals, .unproven = server->unproven
	};
	sys_mutex_unlock(server_lock(server));
	return failures;
}
