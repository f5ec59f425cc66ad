/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/zone_flush.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/catalog/settings.h"
#include "src/event/flush.h"
#include "src/event/internal.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/image.h"

enum {
	RETRY_MS = 60 * 1000, /* after a failure: a full disk is seldom emptied within seconds */
	STOP_MS = 60 * 1000,  /* of writing when the server stops; systemd's default limit is 90 s */
};

/* ---- The job ---- */

static void zone_flush_log_written(knot_name_t name, const load_source_t *source, uint32_t serial)
{
	const sources_t *files = source->files;
	if (source_is_ahead(source) && !files->has_serial) {
		log_zone(LOG_INFO, name, "zone file updated, serial %u", serial);
	} else {
		log_zone(LOG_INFO, name, "zone file updated, serial %u -> %u",
				source_is_ahead(source) ? files->serial : serial, serial);
	}
}

static void zone_flush_log_failed(knot_name_t name, const char *path, knot_err_t err)
{
	log_zone(LOG_WARNING, name, "failed to update zone file (%s), file '%s'", knot_strerror(err), path);
}

knot_err_t server_run_flush(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	knot_name_t name = entry_name(entry);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	bool is_forced = (how & EVENT_BY_FORCE) != 0;
	load_settings_t settings;
	knot_err_t err = load_settings(&server->root, name, &settings);
	if (err == KNOT_ENOZONE || contents == NULL) {
		return KNOT_OK;
	}
	bool is_wanted = source_is_ahead(&entry->source) && settings.sync_s >= 0;
	if (!is_wanted && (how & EVENT_BY_OPERATOR) == 0) {
		return KNOT_OK;
	}
	sources_t *written;
	if (err == KNOT_OK) {
		bool may_replace = is_forced || source_may_be_replaced(&entry->source, settings.path, settings.number);
		err = may_replace ? flush_to_file(contents, &settings.skip, settings.path, settings.number,
						    is_forced ? 0 : FLUSH_KEEPS_NEWER, &written)
				  : KNOT_EAGAIN;
	}
	if (err == KNOT_EAGAIN) {
		log_zone(LOG_WARNING, name,
				"zone file '%s' changed since it was read, not overwritten, reload it or use force "
				"command to override it",
				settings.path);
		outcome->is_flush_refused = true;
		outcome->reason = strdup("the zone file changed since it was read: reload it, or overwrite it with -f");
		return KNOT_EFILE;
	}
	if (err != KNOT_OK) {
		outcome->is_to_be_flushed_later = true;
		outcome->reason = strdup("zone file not written");
		zone_flush_log_failed(name, settings.path, err);
		return err;
	}
	zone_flush_log_written(name, &entry->source, contents->serial);
	source_clear(&entry->source);
	entry->source = (load_source_t){ .print = sources_print(written), .files = written };
	outcome->is_flushed = true;
	changes_mark_flushed(server->journal, name, contents->serial);
	return KNOT_OK;
}

/* ---- Times. Under the lock of the jobs. ---- */

static int64_t zone_flush_sync_of(const conf_t *conf, const zone_t *of)
{
	conf_zone_t zone;
	return catalog_zone_settings(conf, of, &zone) ? zone.zonefile_sync_s : -1;
}

static int64_t zone_flush_current_sync(const server_t *server, entry_t *entry)
{
	RCU_READ_SECTION(guard);
	return zone_flush_sync_of(state_load(&server->root, guard)->conf, entry_zone(entry));
}

static uint64_t zone_flush_after(uint64_t since_ms, int64_t sync_s)
{
	return since_ms + (uint64_t)sync_s * 1000;
}

static bool zone_flush_is_planned(const entry_t *entry)
{
	return (entry->events & (event_set_t)1 << EVENT_FLUSH) != 0;
}

/* The file has been written, or that failed: a period begins with each attempt. */
static void zone_flush_plan_next(server_t *server, entry_t *entry, int64_t sync_s, job_outcome_t outcome)
		SYS_REQUIRES(server->jobs.lock)
{
	if (outcome.is_flush_refused) {
		return; /* the next change plans it again */
	}
	uint64_t now_ms = sys_clock_ms();
	if (outcome.is_to_be_flushed_later) {
		(void)jobs_plan(&server->jobs, entry, EVENT_FLUSH, now_ms + RETRY_MS, 0);
	}
	if (sync_s > 0) {
		(void)jobs_plan(&server->jobs, entry, EVENT_FLUSH, zone_flush_after(now_ms, sync_s), 0);
	}
}

void server_plan_flush(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	bool is_renewed = outcome.load != LOAD_UNCHANGED && outcome.load != LOAD_FAILED;
	if (ended != EVENT_FLUSH && !is_renewed) {
		return; /* what is planned stays so */
	}
	/* What a load saw is good unless a reload came meanwhile, which leaves the event behind
	 * (server_replan_flush()). */
	bool is_known = outcome.has_sync && !zone_flush_is_planned(entry);
	int64_t sync_s = is_known ? outcome.sync_s : zone_flush_current_sync(server, entry);
	bool is_served = zone_contents(entry_zone(entry)) != NULL, is_ahead = source_is_ahead(&entry->source);
	if (!is_served || sync_s < 0 || (sync_s == 0 && !is_ahead)) {
		jobs_cancel(&server->jobs, entry, EVENT_FLUSH);
	} else if (ended == EVENT_FLUSH) {
		zone_flush_plan_next(server, entry, sync_s, outcome);
	} else if (sync_s == 0 || (is_ahead && outcome.load != LOAD_EDITED && outcome.load != LOAD_FROM_FILE &&
						  !zone_flush_is_planned(entry))) {
		/* When the file was written last isn't known after this restart: so now. */
		(void)jobs_ask(&server->jobs, entry, EVENT_FLUSH, 0);
	} else if (!zone_flush_is_planned(entry)) {
		(void)jobs_plan(&server->jobs, entry, EVENT_FLUSH, zone_flush_after(sys_clock_ms(), sync_s), 0);
	}
}

/* The period counts from the last attempt, as far as that is known. */
static uint64_t zone_flush_last(const server_t *server, entry_t *entry, const conf_t *before)
		SYS_REQUIRES(server->jobs.lock)
{
	agenda_item_t item;
	bool is_planned = agenda_find(&server->jobs.agenda, entry, EVENT_FLUSH, &item);
	RCU_READ_SECTION(guard);
	(void)guard;
	int64_t before_s = is_planned ? zone_flush_sync_of(before, entry_zone(entry)) : 0;
	if (before_s > 0) {
		return item.due_ms - (uint64_t)before_s * 1000;
	}
	return source_is_ahead(&entry->source) ? 0 : sys_clock_ms();
}

void server_replan_flush(server_t *server, entry_t *entry, const conf_t *before, int64_t sync_s)
{
	if (before != NULL && entry->is_running) {
		/* The job may have the settings of before. So the event comes behind it, and sees what is to be done.
		 */
		(void)jobs_ask(&server->jobs, entry, EVENT_FLUSH, 0);
		return;
	}
	if (before == NULL || zone_contents(entry_zone(entry)) == NULL) {
		return;
	}
	if (sync_s > 0) {
		uint64_t due_ms = zone_flush_after(zone_flush_last(server, entry, before), sync_s);
		jobs_cancel(&server->jobs, entry, EVENT_FLUSH);
		(void)jobs_plan(&server->jobs, entry, EVENT_FLUSH, due_ms, 0);
	} else if (sync_s == 0 && source_is_ahead(&entry->source)) {
		(void)jobs_ask(&server->jobs, entry, EVENT_FLUSH, 0);
	} else if (zone_flush_is_planned(entry)) {
		jobs_cancel(&server->jobs, entry, EVENT_FLUSH);
	}
}

void server_restore_flush(server_t *server, entry_t *entry, uint64_t last_s)
{
	int64_t sync_s = zone_flush_current_sync(server, entry);
	uint64_t now_s = sys_clock_wall();
	if (last_s == 0 || sync_s <= 0) {
		return;
	}
	/* If the clock was set back meanwhile, it is no later than a period from now. */
	uint64_t due_s = last_s < now_s ? last_s + (uint64_t)sync_s : now_s + (uint64_t)sync_s;
	uint64_t wait_s = due_s > now_s ? due_s - now_s : 0;
	(void)jobs_plan(&server->jobs, entry, EVENT_FLUSH, sys_clock_ms() + wait_s * 1000, 0);
}

uint64_t server_last_flush(const server_t *server, entry_t *entry)
{
	agenda_item_t item;
	int64_t sync_s = zone_flush_is_planned(entry) ? zone_flush_current_sync(server, entry) : 0;
	if (sync_s <= 0 || !agenda_find(&server->jobs.agenda, entry, EVENT_FLUSH, &item)) {
		return 0;
	}
	uint64_t due_s = server_wall_of(item.due_ms);
	return due_s > (uint64_t)sync_s ? due_s - (uint64_t)sync_s : 0;
}

server_ticket_t server_flush_ticket(const server_t *server, const entry_t *entry)
{
	agenda_item_t item;
	bool is_due = agenda_find(&server->jobs.agenda, entry, EVENT_FLUSH, &item) && item.due_ms <= sys_clock_ms() &&
		      !jobs_is_held(entry, &item);
	return is_due ? item.ticket : 0;
}

/* ---- On request ---- */

knot_err_t server_zone_flush(server_t *server, knot_name_t name, bool is_forced, server_ticket_t *ret_ticket)
{
	load_settings_t settings;
	*ret_ticket = 0;
	if (load_settings(&server->root, name, &settings) == KNOT_ENOZONE) {
		return KNOT_ENOZONE;
	}
	if (settings.sync_s < 0 && !is_forced) {
		log_zone(LOG_WARNING, name, "zonefile synchronization disabled, use force command to override it");
		return KNOT_OK;
	}
	return server_zone_ask(server, name, EVENT_FLUSH, is_forced ? EVENT_BY_FORCE : 0, ret_ticket);
}

knot_err_t server_path_in_folder(
		const server_t *server, knot_name_t name, const char *folder, char ret_path[static PATH_MAX])
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	if (folder[0] == '\0') {
		return KNOT_EPARAM;
	}
	if (!state_settings(state_load(&server->root, guard), name, &zone)) {
		return KNOT_ENOZONE;
	}
	zone.storage = folder;
	zone.file = "%s.zone";
	return conf_zone_file(&zone, ret_path, PATH_MAX);
}

/* A hold on the served version, for work that takes long. */
static knot_err_t zone_flush_hold_contents(const server_t *server, knot_name_t name, zone_contents_t **ret_held)
{
	RCU_READ_SECTION(guard);
	const zone_t *zone = zonedb_find(state_load(&server->root, guard)->zones, name);
	if (zone == NULL) {
		return KNOT_ENOZONE;
	}
	const zone_contents_t *contents = zone_contents(zone);
	if (contents == NULL) {
		return KNOT_EEMPTYZONE;
	}
	zone_contents_t *held = zone_image_hold(contents);
	if (held == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_held = held;
	return KNOT_OK;
}

knot_err_t server_zone_dump(server_t *server, knot_name_t name, const char *folder)
{
	char path[PATH_MAX];
	zone_contents_t *held = NULL;
	knot_err_t err = server_path_in_folder(server, name, folder, path);
	if (err != KNOT_OK) {
		return err;
	}
	load_settings_t settings;
	settings.skip.count = 0;
	err = zone_flush_hold_contents(server, name, &held);
	if (err == KNOT_OK) {
		(void)load_settings(&server->root, name, &settings); /* its own path doesn't matter */
		err = flush_to_file(held, &settings.skip, path, 0, 0, NULL);
	}
	zone_contents_free(held);
	if (err != KNOT_OK) {
		/* Of several zones the reply says only that some failed. */
		zone_flush_log_failed(name, path, err);
	}
	return err;
}

/* ---- Freezing ---- */

knot_err_t server_zone_freeze(server_t *server, knot_name_t name, bool is_frozen, server_ticket_t *ret_ticket)
{
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, name);
	if (entry == NULL) {
		sys_mutex_unlock(&server->jobs.lock);
		return KNOT_ENOZONE;
	}
	entry->frozen = is_frozen;
	*ret_ticket = entry->is_running ? entry->ticket : 0;
	jobs_release(&server->jobs, entry);
	pthread_cond_broadcast(&server->jobs.ended); /* whoever waits for what is held back now goes on */
	sys_mutex_unlock(&server->jobs.lock);
	log_zone(LOG_INFO, name, "zone updates %s", is_frozen ? "frozen" : "unfrozen");
	return KNOT_OK;
}

typedef struct {
	timer_sync_t times;
	bool is_taken;
} zone_flush_once_t;

static bool zone_flush_next_time(timer_sync_t *ret_times, void *ctx)
{
	zone_flush_once_t *once = ctx;
	bool is_new = !once->is_taken;
	once->is_taken = true;
	*ret_times = once->times;
	return is_new;
}

knot_err_t server_zone_freeze_transfers(server_t *server, knot_name_t name, bool is_frozen)
{
	bool is_kept;
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(&server->root, guard);
		zone_t *zone = zonedb_find(state->zones, name);
		if (zone == NULL) {
			return KNOT_ENOZONE;
		}
		zone_freeze_transfers(zone, is_frozen);
		is_kept = state->conf->database.timer_db_sync_s != CONF_TIMERS_NEVER;
	}
	log_zone(LOG_INFO, name, "outgoing XFR %s", is_frozen ? "frozen" : "unfrozen");
	zone_flush_once_t once = { .times = { .zone = name, .mask = 1u << TIMER_XFR_OUT_FROZEN } };
	once.times.values.at[TIMER_XFR_OUT_FROZEN] = is_frozen;
	return is_kept ? timer_sync_write(server->timers, name, zone_flush_next_time, &once) : KNOT_OK;
}

bool server_zone_is_frozen(const server_t *server, knot_name_t name)
{
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	bool is_frozen = entry != NULL && entry->frozen;
	sys_mutex_unlock(server_lock(server));
	return is_frozen;
}

/* ---- The end ---- */

/*
 * The workers have ended, but the thread that saves images still reads entries: so take the zone as a job does. Under
 * the lock of the jobs, which is released meanwhile.
 */
static void zone_flush_at_end(server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	job_outcome_t outcome = { .load = LOAD_UNCHANGED };
	jobs_begin(&server->jobs, entry);
	sys_mutex_unlock(&server->jobs.lock);
	knot_err_t err = server_run_flush(server, entry, 0, &outcome); /* logs */
	sys_mutex_lock(&server->jobs.lock);
	jobs_end(&server->jobs, entry, outcome, err);
}

void server_flush_all(server_t *server)
{
	uint64_t end_ms = sys_clock_ms() + STOP_MS;
	/* Commands still run, but the set of zones doesn't change any more, and no command can begin work on a zone. */
	sys_mutex_lock(&server->reload_lock);
	sys_mutex_lock(&server->jobs.lock);
	zone_t *const *zones = zonedb_zones(server->zones);
	for (size_t i = 0, count = zonedb_count(server->zones); i < count && sys_clock_ms() < end_ms; i++) {
		entry_t *entry = entry_of(zones[i]);
		while (entry->is_running) {
			jobs_wait(&server->jobs);
		}
		if (source_is_ahead(&entry->source) && !entry->frozen && zone_flush_current_sync(server, entry) >= 0) {
			zone_flush_at_end(server, entry);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	sys_mutex_unlock(&server->reload_lock);
}

/* Why changes of a zone, which is ahead of its file, are gone at the next start; NULL: its image keeps them. */
static const char *zone_flush_explain_loss(server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	load_settings_t settings = { .content = CONF_JOURNAL_NONE };
	if (load_settings(&server->root, entry_name(entry), &settings) != KNOT_OK) {
		settings.path[0] = '\0';
	}
	bool is_journaled = settings.content != CONF_JOURNAL_NONE;
	bool is_saved = is_journaled || (images_exist(server->saves.images) && entry->save == SAVE_NONE);
	bool is_replaced = settings.load == CONF_ZONEFILE_WHOLE &&
			   !source_is_current(&entry->source, settings.path, settings.number);
	if (is_saved && !is_replaced) {
		return NULL;
	}
	return source_may_be_replaced(&entry->source, settings.path, settings.number)
			       ? "neither zone file nor image could be written"
			       : "the zone file changed since it was read";
}

void server_report_lost(server_t *server)
{
	sys_mutex_lock(&server->reload_lock);
	sys_mutex_lock(&server->jobs.lock);
	zone_t *const *zones = zonedb_zones(server->zones);
	for (size_t i = 0, count = zonedb_count(server->zones); i < count; i++) {
		entry_t *entry = entry_of(zones[i]);
		const char *why = source_is_ahead(&entry->source) ? zone_flush_explain_loss(server, entry) : NULL;
		if (why != NULL) {
			const zone_contents_t *contents = zone_contents(zones[i]);
			log_zone(LOG_ERR, entry_name(entry), "changes are lost, %s, serial %u", why,
					contents != NULL ? contents->serial : 0);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	sys_mutex_unlock(&server->reload_lock);
}
