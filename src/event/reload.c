/* SPDX-License-Identifier: BSD-2-Clause */
/* Applying a configuration: its zones are merged with the present ones, and zones that changed are loaded. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/internal.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

/* ---- Building the state ---- */

/** Zones of a configuration in canonical order: those that stay are those of the old set. */
typedef struct {
	zone_t **zones; /* owned; NULL: exactly those of the old set */
	size_t count;
	size_t fresh; /* made, not in the old set */
} merged_t;

/* Names of both are in lower case. */
static bool reload_is_same_name(knot_name_t a, knot_name_t b)
{
	return a.len == b.len && memcmp(a.wire, b.wire, a.len) == 0;
}

/* Calls `visit` with each zone of `a` that isn't in `b`; both are in canonical order. */
static void reload_each_missing(zone_t *const *a, size_t a_count, zone_t *const *b, size_t b_count,
		void (*visit)(entry_t *entry, void *ctx), void *ctx)
{
	size_t at = 0;
	for (size_t i = 0; i < a_count; i++) {
		while (at < b_count && b[at] != a[i] && knot_name_cmp(zone_name(b[at]), zone_name(a[i])) < 0) {
			at++;
		}
		if (at < b_count && b[at] == a[i]) {
			at++;
		} else {
			visit(entry_of(a[i]), ctx);
		}
	}
}

static void reload_free_fresh(entry_t *entry, void *ctx)
{
	(void)ctx;
	entry_free(entry);
}

static void reload_discard_merged(const merged_t *merged, const zonedb_t *old)
{
	if (merged->zones != NULL) {
		reload_each_missing(merged->zones, merged->count, zonedb_zones(old), zonedb_count(old),
				reload_free_fresh, NULL);
		free(merged->zones);
	}
}

static bool reload_has_same_zones(const conf_t *conf, const zonedb_t *old)
{
	bool is_same = conf->zone_count == zonedb_count(old);
	for (size_t i = 0; is_same && i < conf->zone_count; i++) {
		is_same = reload_is_same_name(conf_zone_name(conf, i), zone_name(zonedb_zones(old)[i]));
	}
	return is_same;
}

static knot_err_t reload_merge_zones(const conf_t *conf, const zonedb_t *old, merged_t *ret_merged)
{
	merged_t merged = { .count = 0 };
	zone_t *const *old_zones = zonedb_zones(old);
	size_t at = 0, old_count = zonedb_count(old);
	if (reload_has_same_zones(conf, old)) {
		*ret_merged = (merged_t){ .count = old_count };
		return KNOT_OK;
	}
	merged.zones = malloc((conf->zone_count + 1) * sizeof(zone_t *));
	if (merged.zones == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < conf->zone_count; i++) {
		knot_name_t name = conf_zone_name(conf, i);
		bool stays = false;
		while (at < old_count && !(stays = reload_is_same_name(zone_name(old_zones[at]), name)) &&
				knot_name_cmp(zone_name(old_zones[at]), name) < 0) {
			at++;
		}
		entry_t *entry = stays ? entry_of(old_zones[at]) : entry_new(name);
		if (entry == NULL) {
			reload_discard_merged(&merged, old);
			return KNOT_ENOMEM;
		}
		merged.zones[merged.count++] = entry_zone(entry);
		merged.fresh += stays ? 0 : 1;
	}
	*ret_merged = merged;
	return KNOT_OK;
}

knot_err_t server_build(conf_t *conf, const zonedb_t *old, server_build_t *ret_build)
{
	merged_t merged;
	knot_err_t err = reload_merge_zones(conf, old, &merged);
	if (err != KNOT_OK) {
		return err;
	}
	bool same_zones = merged.zones == NULL;
	zonedb_t *db = same_zones ? zonedb_ref(old) : zonedb_next(old, merged.zones, merged.count);
	state_t *state;
	err = db != NULL ? state_new(conf, db, &state) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		zonedb_free(db);
		reload_discard_merged(&merged, old);
		return err;
	}
	free(merged.zones);
	*ret_build = (server_build_t){ .state = state, .fresh = merged.fresh, .same_zones = same_zones };
	return KNOT_OK;
}

/** Forget what server_build() made, with its configuration. */
static void reload_discard_build(const server_build_t *made, const zonedb_t *old)
{
	const zonedb_t *zones = made->state->zones;
	if (!made->same_zones) {
		reload_each_missing(zonedb_zones(zones), zonedb_count(zones), zonedb_zones(old), zonedb_count(old),
				reload_free_fresh, NULL);
	}
	state_free(made->state);
}

/* ---- What is to be loaded ---- */

/** Why a zone is to be loaded. */
typedef struct {
	load_source_t source; /* of its contents, without files */
	int64_t sync_s;       /* `zonefile-sync` */
	bool is_new;
	bool is_needed;
} reason_t;

/* True if the contents are what a load would give. */
static bool reload_is_current(const load_source_t *source, const conf_zone_t *zone)
{
	char path[PATH_MAX];
	return source->print != 0 && conf_zone_file(zone, path, sizeof(path)) == KNOT_OK &&
	       source_is_current(source, path, settings_number(zone));
}

/** Zones of a configuration by their indexes, gathered so that the lock is taken once for many. */
typedef struct {
	server_t *server;
	const conf_t *conf;
	const conf_t *old; /* the configuration before; NULL: the same */
	uint32_t indexes[SERVER_CHUNK];
	size_t count;
} asking_t;

/*
 * Under lock: compare zones without looking at their files, except for zones that are made from several. The time when
 * files are written may have changed, too.
 */
static void reload_look_at_entries(const asking_t *asking, zone_t *const *zones, reason_t *ret_reasons)
		SYS_REQUIRES(asking->server->jobs.lock)
{
	for (size_t i = 0; i < asking->count; i++) {
		entry_t *entry = entry_of(zones[asking->indexes[i]]);
		reason_t *reason = &ret_reasons[i];
		reason->is_new = !entry->tried && !entry->is_running && entry->events == 0;
		/* A running job owns `source`; only another job sees changes made meanwhile. */
		reason->is_needed = reason->is_new || entry->is_running;
		reason->source = (load_source_t){ .print = reason->is_needed ? 0 : entry->source.print };
		if (!reason->is_needed && entry->source.files != NULL) {
			conf_zone_t zone = conf_zone(asking->conf, asking->indexes[i]);
			reason->is_needed = !reload_is_current(&entry->source, &zone);
		}
		server_replan_flush(asking->server, entry, asking->old, reason->sync_s);
	}
}

/* Without the lock. False: none is to be loaded. */
static bool reload_look_at_files(const asking_t *asking, reason_t *reasons)
{
	bool is_any = false;
	for (size_t i = 0; i < asking->count; i++) {
		conf_zone_t zone = conf_zone(asking->conf, asking->indexes[i]);
		if (reasons[i].is_new) {
			log_zone(LOG_INFO, zone.name, "zone will be loaded");
		}
		reasons[i].is_needed = reasons[i].is_needed || !reload_is_current(&reasons[i].source, &zone);
		is_any = is_any || reasons[i].is_needed;
	}
	return is_any;
}

/*
 * Request loads of zones that have a reason. The zones are those of the configuration: only this thread, under the
 * reload lock, changes the set. The settings of a zone are part of its source.
 */
static void reload_ask_gathered(asking_t *asking)
{
	zone_t *const *zones = zonedb_zones(asking->server->zones);
	reason_t reasons[SERVER_CHUNK];
	for (size_t i = 0; i < asking->count; i++) {
		reasons[i].sync_s = conf_zone(asking->conf, asking->indexes[i]).zonefile_sync_s;
	}
	sys_mutex_lock(&asking->server->jobs.lock);
	reload_look_at_entries(asking, zones, reasons);
	sys_mutex_unlock(&asking->server->jobs.lock);
	if (reload_look_at_files(asking, reasons)) {
		sys_mutex_lock(&asking->server->jobs.lock);
		for (size_t i = 0; i < asking->count; i++) {
			if (reasons[i].is_needed) {
				(void)jobs_ask(&asking->server->jobs, entry_of(zones[asking->indexes[i]]), EVENT_LOAD,
						0);
			}
		}
		sys_mutex_unlock(&asking->server->jobs.lock);
	}
	asking->count = 0;
}

static void reload_ask_index(asking_t *asking, size_t index)
{
	asking->indexes[asking->count++] = (uint32_t)index;
	if (asking->count == SERVER_CHUNK) {
		reload_ask_gathered(asking);
	}
}

/** Check all zones and their files. */
static void reload_ask_all(server_t *server, const conf_t *old, const conf_t *conf)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	for (size_t i = 0; i < conf->zone_count; i++) {
		reload_ask_index(&asking, i);
	}
	reload_ask_gathered(&asking);
}

/** Check zones whose settings changed. */
static void reload_ask_different(server_t *server, const conf_t *old, const conf_t *conf)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	size_t at = 0;
	for (size_t i = 0; i < conf->zone_count; i++) {
		knot_name_t name = conf_zone_name(conf, i);
		int order = 1;
		while (at < old->zone_count && (order = knot_name_cmp(conf_zone_name(old, at), name)) < 0) {
			at++;
		}
		bool is_same = false;
		if (at < old->zone_count && order == 0) {
			conf_zone_t before = conf_zone(old, at), after = conf_zone(conf, i);
			is_same = conf_zone_same(&before, &after) && before.zonefile_sync_s == after.zonefile_sync_s;
		}
		if (!is_same) {
			reload_ask_index(&asking, i);
		}
	}
	reload_ask_gathered(&asking);
}

/** Check zones that the transaction names; nothing else in it is about zones. */
static void reload_ask_named(server_t *server, const conf_t *old, const conf_t *conf, const conf_txn_t *txn)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	conf_change_t change;
	size_t pos = 0, index;
	while (conf_txn_next_change(txn, &pos, &change)) {
		if (change.section == CONF_S_ZONE && conf_zone_find(conf, knot_name_of(change.id.data), &index)) {
			reload_ask_index(&asking, index);
		}
	}
	reload_ask_gathered(&asking);
}

/** True if zones that the transaction doesn't name may have other settings. */
static bool reload_changes_templates(const conf_txn_t *txn)
{
	conf_change_t change;
	size_t pos = 0;
	bool has = false;
	while (!has && conf_txn_next_change(txn, &pos, &change)) {
		has = change.section == CONF_S_TEMPLATE || change.section == CONF_S_DATABASE;
	}
	return has;
}

static void reload_ask(server_t *server, const conf_t *old, const conf_t *conf, const conf_txn_t *txn)
{
	if (txn == NULL) {
		reload_ask_all(server, old, conf);
	} else if (reload_changes_templates(txn)) {
		reload_ask_different(server, old, conf);
	} else {
		reload_ask_named(server, old, conf, txn);
	}
}

/** Zones that were removed. */
typedef struct {
	server_t *server;
	entry_t **entries; /* owned, to be freed without lock; NULL: no memory for that */
	size_t count;
	server_edit_t *edits[SERVER_CHUNK]; /* owned: open transactions on them, begun after the reload had looked for
					       any */
	size_t edit_count;
	update_list_t updates; /* owned: requests that wait for them */
} removed_t;

/** Abort the transaction on a zone that is removed: no command could end it later. */
static void reload_drop_edit(removed_t *removed, entry_t *entry) SYS_REQUIRES(removed->server->jobs.lock)
{
	if (!entry->edited) {
		return;
	}
	server_edit_t *edit = server_edit_drop(removed->server, zone_name(entry_zone(entry)));
	if (removed->edit_count < KNOT_LEN(removed->edits)) {
		removed->edits[removed->edit_count++] = edit;
	} else {
		server_edit_free(removed->server, edit);
	}
}

/* Requests for a zone that is removed are answered as those for any that isn't there. */
static void reload_take_updates(removed_t *removed, entry_t *entry) SYS_REQUIRES(removed->server->jobs.lock)
{
	update_list_t list = updates_take(&removed->server->updates, zone_name(entry_zone(entry)), SIZE_MAX);
	for (update_request_t *next, *r = list.first; r != NULL; r = next) {
		next = r->next;
		r->rcode = KNOT_RCODE_NOTAUTH;
		r->next = removed->updates.first;
		removed->updates.first = r;
	}
}

static void reload_remove_entry(entry_t *entry, void *ctx)
{
	removed_t *removed = ctx;
	sys_mutex_assert_held(&removed->server->jobs.lock);
	reload_drop_edit(removed, entry);
	reload_take_updates(removed, entry);
	faults_drop(&removed->server->faults, zone_name(entry_zone(entry)));
	rests_drop(&removed->server->rests, zone_name(entry_zone(entry)));
	server_compact_forget(removed->server, entry);
	server_backup_forget(removed->server, entry);
	removed->server->jobs.untried -= entry->tried ? 0 : 1;
	if (!jobs_let_go(&removed->server->jobs, entry)) {
		return;
	}
	if (removed->entries != NULL) {
		removed->entries[removed->count++] = entry;
	} else {
		entry_free(entry);
	}
}

/* Put the new zones in place and free the removed ones, after the readers of the old set have ended. */
static void reload_adopt_zones(server_t *server, const server_build_t *made)
{
	if (made->same_zones) {
		return;
	}
	const zonedb_t *old = server->zones, *zones = made->state->zones;
	size_t gone_count = zonedb_count(old) - (zonedb_count(zones) - made->fresh);
	removed_t removed = { .server = server, .entries = malloc((gone_count + 1) * sizeof(entry_t *)) };
	sys_mutex_lock(&server->jobs.lock);
	server->zones = zones;
	reload_each_missing(zonedb_zones(old), zonedb_count(old), zonedb_zones(zones), zonedb_count(zones),
			reload_remove_entry, &removed);
	saves_entries_changed(&server->saves);
	pthread_cond_broadcast(&server->jobs.ended);
	sys_mutex_unlock(&server->jobs.lock);
	for (size_t i = 0; i < removed.count; i++) {
		entry_free(removed.entries[i]);
	}
	for (size_t i = 0; i < removed.edit_count; i++) {
		server_edit_free(server, removed.edits[i]);
	}
	free(removed.entries);
	updates_answer(&server->updates, &removed.updates);
}

/* ---- From one configuration to the next ---- */

static bool reload_is_among(const conf_diff_t *diff, const char *name)
{
	size_t i = 0;
	while (i < diff->restart_count && strcmp(diff->restart[i], name) != 0) {
		i++;
	}
	return i < diff->restart_count;
}

/** Log items that only a restart applies, once when they change. A change back to the running value needs no restart.
 */
static void reload_tell_what_waits(const server_t *server, const conf_t *conf)
{
	conf_diff_t changed = conf_diff(server->root.state_rcu->conf, conf);
	conf_diff_t waiting = conf_diff(server->started, conf);
	for (size_t i = 0; i < changed.restart_count; i++) {
		if (reload_is_among(&waiting, changed.restart[i])) {
			log_server(LOG_WARNING, "changes of %s require restart to take effect", changed.restart[i]);
		}
	}
}

knot_err_t server_apply(server_t *server, conf_t *take_conf, const server_change_t *change)
{
	conf_t *conf = take_conf;
	state_expect_threads(conf);
	sys_mutex_lock(&server->jobs.lock);
	/* Removed zones may still be queried here. */
	knot_err_t err = jobs_reserve(&server->jobs, conf->zone_count + zonedb_count(server->zones));
	err = err == KNOT_OK ? saves_reserve(&server->saves, conf->zone_count) : err;
	sys_mutex_unlock(&server->jobs.lock);
	server_build_t made;
	/* The set changes only here, under the reload lock. */
	err = err == KNOT_OK ? server_build(conf, server->zones, &made) : err;
	if (err != KNOT_OK) {
		conf_free(conf);
		return err;
	}
	made.state->notices = server->notices;
	err = change->keep != NULL ? change->keep(change->ctx) : KNOT_OK;
	if (err != KNOT_OK) {
		reload_discard_build(&made, server->zones);
		return err;
	}
	/* Nothing fails from here on. Commands may find zones by name that the published set doesn't list yet. */
	sys_mutex_lock(&server->jobs.lock);
	server->jobs.untried += made.fresh;
	zonedb_link(made.state->zones);
	sys_mutex_unlock(&server->jobs.lock);
	(void)server_open_logs(conf, server->params.uid, server->params.gid);
	reload_tell_what_waits(server, conf);
	remote_configure(server->remote, &conf->server);
	state_t *old = state_publish(&server->root, made.state);
	reload_adopt_zones(server, &made);
	reload_ask(server, old->conf, conf, change->txn);
	state_free(old);
	images_retry(server->saves.images);
	return KNOT_OK;
}

/** Read the configuration from the file or database of the server's parameters. */
static knot_err_t reload_read_conf(server_t *server, uint64_t *ret_version, conf_t **ret_conf)
{
	conf_db_t *db = server->params.db;
	bool is_db = db != NULL;
	const char *what = is_db ? "database" : "file", *path = is_db ? conf_db_path(db) : server->params.conf_path;
	log_server(LOG_INFO, "reloading configuration %s '%s'", what, path);
	knot_err_t err = is_db ? server_read_conf_db(db, server->params.host, ret_version, ret_conf)
			       : conf_load(path, server->params.host, server_conf_sink(), ret_conf);
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "failed to load configuration %s '%s' (%s)", what, path, knot_strerror(err));
	}
	return err;
}

static knot_err_t reload_locked(server_t *server) SYS_REQUIRES(server->reload_lock)
{
	bool conf_is_open = server_conf_is_open(server);
	if (conf_is_open || server_edits_are_open(server)) {
		log_server(LOG_WARNING, "reload aborted due to active %s transaction",
				conf_is_open ? "configuration" : "zone");
		return KNOT_ETXNMANY;
	}
	conf_t *conf;
	uint64_t version = server->edit.version;
	knot_err_t err = reload_read_conf(server, &version, &conf);
	if (err != KNOT_OK) {
		return err;
	}
	err = server_apply(server, conf, &(server_change_t){ 0 });
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "failed to reload configuration (%s)", knot_strerror(err));
		return err;
	}
	server->edit.version = version;
	log_server(LOG_INFO, "configuration reloaded");
	return KNOT_OK;
}

knot_err_t server_reload(server_t *server)
{
	sys_mutex_lock(&server->reload_lock);
	sys_notify_reloading();
	knot_err_t err = reload_locked(server);
	sys_notify_ready();
	sys_mutex_unlock(&server->reload_lock);
	return err;
}

void server_reload_zones(server_t *server)
{
	sys_mutex_lock(&server->reload_lock);
	log_server(LOG_INFO, "reloading zones");
	reload_ask_all(server, NULL, server->root.state_rcu->conf);
	sys_mutex_unlock(&server->reload_lock);
}
