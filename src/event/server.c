/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/saves.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

struct server {
	state_root_t root;
	server_params_t params;
	jobs_t jobs;
	saves_t saves;
	pthread_mutex_t reload_lock; /* one reload at a time; taken before the lock of the jobs */
	entry_t **entries;           /* owned, in the order of conf_zone(); replaced by a reload; under the lock of the jobs */
	size_t entry_count;
};

/* Under lock. */
static entry_t *find_entry(const server_t *server, knot_name_t name)
{
	return entry_find(server->entries, server->entry_count, name);
}

/* ---- Start and stop ---- */

static knot_err_t run_job(entry_t *entry, void *ctx)
{
	server_t *server = ctx;
	load_outcome_t outcome;
	knot_err_t err = load_zone(&server->root, server->saves.images, entry->zone, &entry->source, &outcome);
	entry->outcome = (uint8_t)outcome;
	return err;
}

/* Under lock. */
static void after_job(entry_t *entry, void *ctx)
{
	server_t *server = ctx;
	if (entry->outcome == LOAD_FROM_FILE || entry->outcome == LOAD_FROM_IMAGE) {
		entry->has_contents = true;
		entry->from_image = entry->outcome == LOAD_FROM_IMAGE;
	} else if (entry->outcome == LOAD_DROPPED) {
		entry->has_contents = false;
	}
	saves_after_job(&server->saves, entry);
}

knot_err_t server_start(server_t *server)
{
	knot_err_t err = images_start(server->saves.images);
	return err == KNOT_OK ? jobs_start(&server->jobs) : err;
}

void server_stop(server_t *server)
{
	jobs_stop(&server->jobs);
	images_stop(server->saves.images);
}

/* ---- What is saved; under lock ---- */

static entry_t *saves_find(knot_name_t name, void *ctx)
{
	return find_entry(ctx, name);
}

static entry_t *saves_at(size_t index, void *ctx)
{
	const server_t *server = ctx;
	return server->entries[index];
}

static size_t saves_count(void *ctx)
{
	const server_t *server = ctx;
	return server->entry_count;
}

static knot_err_t open_images(server_t *server, const conf_database_t *conf)
{
	server->saves = (saves_t){
		.jobs = &server->jobs, .find = saves_find, .at = saves_at, .count = saves_count, .ctx = server
	};
	return saves_open(&server->saves, conf);
}

/* ---- Building the state ---- */

/* Entries of a configuration: those that stay are taken from `old`, new ones made. Both are in canonical order. */
static knot_err_t merge_entries(const conf_t *conf, entry_t *const *old, size_t old_count, entry_t **ret_entries)
{
	size_t at = 0;
	for (size_t i = 0; i < conf->zone_count; i++) {
		knot_name_t name = conf_zone_name(conf, i);
		while (at < old_count && knot_name_cmp(entry_name(old[at]), name) < 0) {
			at++;
		}
		bool stays = at < old_count && knot_name_eq(entry_name(old[at]), name);
		ret_entries[i] = stays ? old[at] : entry_new(name);
		if (ret_entries[i] == NULL) {
			return KNOT_ENOMEM;
		}
	}
	return KNOT_OK;
}

/* True if `entry` is in the sorted list. */
static bool has_entry(entry_t *const *entries, size_t count, const entry_t *entry)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (entries[middle] == entry) {
			return true;
		}
		if (knot_name_cmp(entry_name(entry), entry_name(entries[middle])) < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return false;
}

static void free_new_entries(entry_t **entries, size_t count, entry_t *const *old, size_t old_count)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i] != NULL && !has_entry(old, old_count, entries[i])) {
			entry_free(entries[i]);
		}
	}
	free(entries);
}

static knot_err_t make_zonedb(entry_t *const *entries, size_t count, zonedb_t **ret_db)
{
	zone_t **zones = malloc((count > 0 ? count : 1) * sizeof(*zones));
	if (zones == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		zones[i] = entries[i]->zone;
	}
	*ret_db = zonedb_new(zones, count);
	free(zones);
	return *ret_db != NULL ? KNOT_OK : KNOT_ENOMEM;
}

/* Chains of all zones that have modules, parallel to the zones; NULL where there are none. */
static knot_err_t make_chains(const conf_t *conf, module_chain_t ***ret_chains)
{
	module_chain_t **chains = calloc(conf->zone_count > 0 ? conf->zone_count : 1, sizeof(*chains));
	knot_err_t err = chains != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; i < conf->zone_count && err == KNOT_OK; i++) {
		conf_zone_t zone = conf_zone(conf, i);
		if (zone.modules.count > 0) {
			err = module_chain_new(conf, zone.modules, &chains[i]);
		}
	}
	*ret_chains = chains;
	return err;
}

static void free_chains(module_chain_t **chains, size_t count)
{
	for (size_t i = 0; chains != NULL && i < count; i++) {
		module_chain_free(chains[i]);
	}
	free(chains);
}

/** Everything that a configuration needs before it can be published. */
typedef struct {
	entry_t **entries;
	size_t count;
	module_chain_t **chains;
	state_t *state;
} build_t;

/* On failure nothing is left and conf is still the caller's. */
static knot_err_t build(conf_t *conf, entry_t *const *old, size_t old_count, build_t *ret_build)
{
	build_t made = { .count = conf->zone_count };
	zonedb_t *db = NULL;
	made.entries = calloc(made.count > 0 ? made.count : 1, sizeof(entry_t *));
	if (made.entries == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = merge_entries(conf, old, old_count, made.entries);
	err = err == KNOT_OK ? make_zonedb(made.entries, made.count, &db) : err;
	err = err == KNOT_OK ? make_chains(conf, &made.chains) : err;
	err = err == KNOT_OK ? state_new(conf, db, &made.state) : err;
	if (err != KNOT_OK) {
		free_chains(made.chains, made.count);
		zonedb_free(db);
		free_new_entries(made.entries, made.count, old, old_count);
		return err;
	}
	*ret_build = made;
	return KNOT_OK;
}

/* Swap the zones' chains: afterwards `chains` holds the old ones, to be freed after a grace period. */
static void swap_chains(const build_t *made)
{
	for (size_t i = 0; i < made->count; i++) {
		made->chains[i] = zone_set_modules(made->entries[i]->zone, made->chains[i]);
	}
}

knot_err_t server_new(conf_t *take_conf, const server_params_t *params, server_t **ret_server)
{
	server_t *server = calloc(1, sizeof(*server));
	if (server == NULL) {
		return KNOT_ENOMEM;
	}
	build_t made;
	knot_err_t err = open_images(server, &take_conf->database);
	err = err == KNOT_OK ? build(take_conf, NULL, 0, &made) : err;
	if (err != KNOT_OK) {
		saves_close(&server->saves);
		free(server);
		return err;
	}
	swap_chains(&made);
	free_chains(made.chains, made.count);
	server->params = *params;
	pthread_mutex_init(&server->reload_lock, NULL);
	jobs_init(&server->jobs, take_conf->server.background_workers, run_job, after_job, server);
	server->entries = made.entries;
	server->entry_count = made.count;
	server->jobs.untried = made.count;
	(void)state_publish(&server->root, made.state);
	*ret_server = server;
	return KNOT_OK;
}

void server_free(server_t *server)
{
	if (server == NULL) {
		return;
	}
	for (size_t i = 0; i < server->entry_count; i++) {
		entry_free(server->entries[i]);
	}
	free(server->entries);
	state_free(server->root.state_rcu);
	pthread_mutex_destroy(&server->reload_lock);
	jobs_deinit(&server->jobs);
	saves_close(&server->saves);
	free(server);
}

const state_root_t *server_state(const server_t *server)
{
	return &server->root;
}

/* ---- Zones ---- */

void server_load_zones(server_t *server)
{
	pthread_mutex_lock(&server->jobs.lock);
	if (server->entry_count == 0) {
		log_server(LOG_WARNING, "no zones loaded");
	} else {
		log_server(LOG_INFO, "loading %zu zones", server->entry_count);
	}
	for (size_t i = 0; i < server->entry_count; i++) {
		log_zone(LOG_INFO, entry_name(server->entries[i]), "zone will be loaded");
		(void)jobs_ask(&server->jobs, server->entries[i]);
	}
	pthread_mutex_unlock(&server->jobs.lock);
}

bool server_is_loading(const server_t *server)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->jobs.lock;
	pthread_mutex_lock(lock);
	bool loading = server->jobs.untried > 0;
	pthread_mutex_unlock(lock);
	return loading;
}

static struct timespec deadline_after(unsigned timeout_ms)
{
	uint64_t ns = sys_clock_ns() + (uint64_t)timeout_ms * 1000000;
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

bool server_wait_loaded(server_t *server, unsigned timeout_ms)
{
	struct timespec deadline = deadline_after(timeout_ms);
	pthread_mutex_lock(&server->jobs.lock);
	int timed_out = 0;
	while (server->jobs.untried > 0 && !server->jobs.stopping && timed_out == 0) {
		timed_out = pthread_cond_timedwait(&server->jobs.ended, &server->jobs.lock, &deadline);
	}
	bool loaded = server->jobs.untried == 0;
	pthread_mutex_unlock(&server->jobs.lock);
	return loaded;
}

knot_err_t server_zone_reload(server_t *server, knot_name_t name, server_ticket_t *ret_ticket)
{
	pthread_mutex_lock(&server->jobs.lock);
	entry_t *entry = find_entry(server, name);
	if (entry != NULL) {
		server_ticket_t ticket = jobs_ask(&server->jobs, entry);
		if (ret_ticket != NULL) {
			*ret_ticket = ticket;
		}
	}
	pthread_mutex_unlock(&server->jobs.lock);
	return entry != NULL ? KNOT_OK : KNOT_ENOZONE;
}

knot_err_t server_zone_wait(server_t *server, knot_name_t name, server_ticket_t ticket)
{
	knot_err_t result = KNOT_OK;
	pthread_mutex_lock(&server->jobs.lock);
	for (;;) {
		const entry_t *entry = find_entry(server, name);
		if (entry == NULL) {
			break;
		}
		if (entry->done >= ticket) {
			result = entry->result;
			break;
		}
		if (server->jobs.stopping) {
			result = KNOT_ECTLBUSY;
			break;
		}
		pthread_cond_wait(&server->jobs.ended, &server->jobs.lock);
	}
	pthread_mutex_unlock(&server->jobs.lock);
	return result;
}

/* Take the zone out of the hands of the workers. Under lock, which is given up while waiting. */
static knot_err_t begin_work(server_t *server, knot_name_t name, entry_t **ret_entry)
{
	for (;;) {
		entry_t *entry = find_entry(server, name);
		if (entry == NULL) {
			return KNOT_ENOZONE;
		}
		if (entry->job == JOB_NONE) {
			jobs_begin(&server->jobs, entry);
			*ret_entry = entry;
			return KNOT_OK;
		}
		if (server->jobs.stopping) {
			return KNOT_ECTLBUSY;
		}
		pthread_cond_wait(&server->jobs.ended, &server->jobs.lock);
	}
}

knot_err_t server_zone_purge(server_t *server, knot_name_t name, unsigned what)
{
	entry_t *entry;
	pthread_mutex_lock(&server->jobs.lock);
	knot_err_t err = begin_work(server, name, &entry);
	if (err != KNOT_OK) {
		pthread_mutex_unlock(&server->jobs.lock);
		return err;
	}
	if ((what & (SERVER_PURGE_CONTENTS | SERVER_PURGE_IMAGE)) != 0) {
		entry->save = SAVE_NONE;
	}
	pthread_mutex_unlock(&server->jobs.lock);
	if ((what & SERVER_PURGE_CONTENTS) != 0) {
		load_drop(entry->zone, &entry->source);
	}
	if ((what & SERVER_PURGE_FILE) != 0) {
		err = load_remove_file(&server->root, name);
	}
	if ((what & SERVER_PURGE_IMAGE) != 0) {
		size_t removed;
		knot_err_t image_err = images_remove(server->saves.images, &name, 1, &removed);
		err = err == KNOT_OK ? image_err : err;
	}
	pthread_mutex_lock(&server->jobs.lock);
	entry->outcome = (what & SERVER_PURGE_CONTENTS) != 0 ? LOAD_DROPPED : LOAD_UNCHANGED;
	jobs_end(&server->jobs, entry, err);
	pthread_mutex_unlock(&server->jobs.lock);
	return err;
}

/** Names of images, one after the other in wire form. */
typedef struct {
	const server_t *server;
	uint8_t *wires; /* owned */
	size_t len, max;
	size_t count;
	bool failed;
} orphans_t;

static bool add_orphan(knot_name_t name, void *ctx)
{
	orphans_t *orphans = ctx;
	{
		RCU_READ_SECTION(guard);
		if (zonedb_find(state_load(&orphans->server->root, guard)->zones, name) != NULL) {
			return true;
		}
	}
	if (orphans->max - orphans->len < KNOT_NAME_MAX) {
		size_t max = 2 * orphans->max + KNOT_NAME_MAX;
		uint8_t *grown = realloc(orphans->wires, max);
		if (grown == NULL) {
			orphans->failed = true;
			return false;
		}
		orphans->wires = grown;
		orphans->max = max;
	}
	memcpy(orphans->wires + orphans->len, name.wire, name.len);
	orphans->len += name.len;
	orphans->count++;
	return true;
}

static knot_err_t remove_orphans(server_t *server, const orphans_t *orphans)
{
	enum { BATCH = 1024 };
	knot_name_t names[BATCH];
	knot_err_t err = KNOT_OK;
	size_t pos = 0;
	for (size_t done = 0; done < orphans->count && err == KNOT_OK;) {
		size_t count = 0, removed;
		while (count < BATCH && done < orphans->count) {
			names[count] = knot_name_of(orphans->wires + pos);
			pos += names[count++].len;
			done++;
		}
		err = images_remove(server->saves.images, names, count, &removed);
	}
	return err;
}

knot_err_t server_purge_orphans(server_t *server, knot_name_t name)
{
	orphans_t orphans = { .server = server };
	knot_err_t err = KNOT_OK;
	if (name.wire != NULL) {
		(void)add_orphan(name, &orphans);
	} else {
		err = images_each(server->saves.images, add_orphan, &orphans);
	}
	err = orphans.failed ? KNOT_ENOMEM : err;
	err = err == KNOT_OK ? remove_orphans(server, &orphans) : err;
	free(orphans.wires);
	return err;
}

server_origin_t server_zone_origin(const server_t *server, knot_name_t name)
{
	server_origin_t origin = SERVER_ORIGIN_NONE;
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->jobs.lock;
	pthread_mutex_lock(lock);
	const entry_t *entry = find_entry(server, name);
	if (entry != NULL && entry->has_contents) {
		origin = entry->from_image ? SERVER_ORIGIN_IMAGE : SERVER_ORIGIN_FILE;
	}
	pthread_mutex_unlock(lock);
	return origin;
}

knot_err_t server_zone_image(const server_t *server, knot_name_t name, images_info_t *ret_info)
{
	images_query_t query = { .name = name };
	char path[PATH_MAX];
	knot_err_t err;
	{
		RCU_READ_SECTION(guard);
		const conf_t *conf = state_load(&server->root, guard)->conf;
		size_t index;
		if (!conf_zone_find(conf, name, &index)) {
			return KNOT_ENOZONE;
		}
		conf_zone_t zone = conf_zone(conf, index);
		query.settings = settings_number(&zone);
		err = conf_zone_file(&zone, path, sizeof(path));
	}
	if (err == KNOT_OK) {
		query.path = path;
		images_info(server->saves.images, &query, ret_info);
	}
	return err;
}

server_event_status_t server_zone_event(const server_t *server, knot_name_t name, server_event_t event)
{
	server_event_status_t status = { .state = SERVER_EVENT_IDLE };
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->jobs.lock;
	pthread_mutex_lock(lock);
	const entry_t *entry = event == SERVER_EVENT_LOAD ? find_entry(server, name) : NULL;
	if (entry != NULL && entry->job != JOB_NONE) {
		status.state = entry->job == JOB_RUNNING ? SERVER_EVENT_RUNNING : SERVER_EVENT_PENDING;
		status.since_s = entry->since_s;
	}
	pthread_mutex_unlock(lock);
	return status;
}

void server_wait_idle(server_t *server)
{
	pthread_mutex_lock(&server->jobs.lock);
	while ((server->jobs.pending > 0 || server->jobs.running > 0) && !server->jobs.stopping) {
		pthread_cond_wait(&server->jobs.ended, &server->jobs.lock);
	}
	pthread_mutex_unlock(&server->jobs.lock);
}

server_workers_t server_workers(const server_t *server)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->jobs.lock;
	pthread_mutex_lock(lock);
	server_workers_t workers = {
		.workers = server->jobs.worker_count,
		.running = server->jobs.running,
		.pending = server->jobs.pending,
	};
	pthread_mutex_unlock(lock);
	return workers;
}

uint64_t server_update_errors(const server_t *server)
{
	pthread_mutex_lock((pthread_mutex_t *)&server->jobs.lock);
	uint64_t count = server->jobs.errors;
	pthread_mutex_unlock((pthread_mutex_t *)&server->jobs.lock);
	return count;
}

/* ---- Reload ---- */

static void log_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	int level = fault->severity == CONF_ERROR     ? LOG_ERR
		    : fault->severity == CONF_WARNING ? LOG_WARNING
						      : LOG_NOTICE;
	log_server(level, "%s", fault->text);
}

conf_sink_t server_conf_sink(void)
{
	return (conf_sink_t){ .fault = log_fault };
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

/* Ask for loading where there is a reason. old: configuration before, NULL when it stays. */
static void ask_changed(server_t *server, const conf_t *conf, const conf_t *old)
{
	for (size_t i = 0; i < conf->zone_count; i++) {
		conf_zone_t zone = conf_zone(conf, i);
		size_t old_index;
		bool settings_differ = false;
		if (old != NULL && conf_zone_find(old, zone.name, &old_index)) {
			conf_zone_t before = conf_zone(old, old_index);
			settings_differ = !conf_zone_same(&before, &zone);
		}
		pthread_mutex_lock(&server->jobs.lock);
		entry_t *entry = find_entry(server, zone.name);
		if (entry != NULL) {
			bool is_new = !entry->tried && entry->job == JOB_NONE;
			if (is_new) {
				log_zone(LOG_INFO, zone.name, "zone will be loaded");
			}
			/* While a job runs it owns `source`; what changed meanwhile is seen only by another one. */
			if (is_new || settings_differ || entry->job == JOB_RUNNING ||
			    !source_is_current(&entry->source, &zone)) {
				(void)jobs_ask(&server->jobs, entry);
			}
		}
		pthread_mutex_unlock(&server->jobs.lock);
	}
}

/* Put the new entries in place and let those that went go. After the readers of the old zone database have gone. */
static void adopt_entries(server_t *server, const build_t *made)
{
	pthread_mutex_lock(&server->jobs.lock);
	entry_t **old = server->entries;
	size_t old_count = server->entry_count;
	server->entries = made->entries;
	server->entry_count = made->count;
	server->jobs.untried = 0;
	for (size_t i = 0; i < made->count; i++) {
		server->jobs.untried += made->entries[i]->tried ? 0 : 1;
	}
	for (size_t i = 0; i < old_count; i++) {
		if (!has_entry(made->entries, made->count, old[i])) {
			jobs_free_entry(&server->jobs, old[i]);
		}
	}
	saves_entries_changed(&server->saves);
	pthread_cond_broadcast(&server->jobs.ended);
	pthread_mutex_unlock(&server->jobs.lock);
	free(old);
}

static knot_err_t reload_locked(server_t *server)
{
	log_server(LOG_INFO, "reloading configuration file '%s'", server->params.conf_path);
	conf_t *conf;
	knot_err_t err = conf_load(server->params.conf_path, server->params.host, server_conf_sink(), &conf);
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "failed to load configuration file '%s' (%s)", server->params.conf_path,
			   knot_strerror(err));
		return err;
	}
	state_expect_threads(conf);
	build_t made;
	/* Entries change only here, under the reload lock. */
	err = build(conf, server->entries, server->entry_count, &made);
	if (err != KNOT_OK) {
		conf_free(conf);
		log_server(LOG_ERR, "failed to reload configuration (%s)", knot_strerror(err));
		return err;
	}
	conf_diff_t diff = conf_diff(server->root.state_rcu->conf, conf);
	(void)server_open_logs(conf, server->params.uid, server->params.gid);
	for (size_t i = 0; i < diff.restart_count; i++) {
		log_server(LOG_WARNING, "changes of %s require restart to take effect", diff.restart[i]);
	}
	swap_chains(&made);
	state_t *old = state_publish(&server->root, made.state);
	free_chains(made.chains, made.count);
	adopt_entries(server, &made);
	ask_changed(server, conf, old->conf);
	state_free(old);
	images_retry(server->saves.images);
	log_server(LOG_INFO, "configuration reloaded");
	return KNOT_OK;
}

knot_err_t server_reload(server_t *server)
{
	pthread_mutex_lock(&server->reload_lock);
	sys_notify_reloading();
	knot_err_t err = reload_locked(server);
	sys_notify_ready();
	pthread_mutex_unlock(&server->reload_lock);
	return err;
}

void server_reload_zones(server_t *server)
{
	pthread_mutex_lock(&server->reload_lock);
	log_server(LOG_INFO, "reloading zones");
	ask_changed(server, server->root.state_rcu->conf, NULL);
	pthread_mutex_unlock(&server->reload_lock);
}
