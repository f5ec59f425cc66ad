/* SPDX-License-Identifier: BSD-2-Clause */
/* Applying a configuration: its zones are merged with the present ones, and zones that changed are loaded. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/catalog/settings.h"
#include "src/event/children.h"
#include "src/event/derive_zone.h"
#include "src/event/internal.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

/* ---- Building the state ---- */

/** A snapshot with a set of zones. members: that come, or NULL. */
static knot_err_t reload_build_state(conf_t *conf, const zonedb_t *old, zone_set_t *set, server_build_t *ret_build)
{
	bool same_zones = set->zones == NULL;
	zonedb_t *db = same_zones ? zonedb_ref(old) : zonedb_next(old, set->zones, set->count);
	state_t *state;
	knot_err_t err = db != NULL ? state_new(conf, db, &state) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		zonedb_free(db);
		return err;
	}
	*ret_build = (server_build_t){ .state = state, .fresh = set->fresh, .same_zones = same_zones };
	ret_build->leaving = set->leaving;
	ret_build->leaving_count = set->leaving_count;
	set->leaving = NULL;
	return KNOT_OK;
}

knot_err_t server_build(conf_t *conf, const zonedb_t *old, members_t *members, server_build_t *ret_build)
{
	zone_set_t set;
	knot_err_t err = zone_set_merge(conf, old, members, &set);
	if (err != KNOT_OK) {
		return err;
	}
	err = reload_build_state(conf, old, &set, ret_build);
	if (err != KNOT_OK) {
		zone_set_discard(&set, old);
		return err;
	}
	zone_set_done(&set);
	return KNOT_OK;
}

static void reload_free_fresh(entry_t *entry, void *ctx)
{
	(void)ctx;
	entry_free(entry);
}

/** Forget what server_build() made, with its configuration. */
static void reload_discard_build(const server_build_t *made, const zonedb_t *old)
{
	const zonedb_t *zones = made->state->zones;
	if (!made->same_zones) {
		zone_set_each_missing(zonedb_zones(zones), zonedb_count(zones), zonedb_zones(old), zonedb_count(old),
				reload_free_fresh, NULL);
	}
	free(made->leaving);
	state_free(made->state);
}

/* ---- What is to be loaded ---- */

/** Why a zone is to be loaded. */
typedef struct {
	load_source_t source; /* of its contents, without files */
	int64_t sync_s;       /* `zonefile-sync` */
	bool is_new;
	bool is_needed;
	bool is_signed; /* it is signed here: by what the configuration says now */
} reason_t;

/* True if the contents are what a load would give. */
static bool reload_is_current(const load_source_t *source, const conf_zone_t *zone)
{
	char path[PATH_MAX];
	return source->print != 0 && conf_zone_file(zone, path, sizeof(path)) == KNOT_OK &&
	       source_is_current(source, path, settings_number(zone));
}

/** Zones gathered so that the lock is taken once for many. */
typedef struct {
	server_t *server;
	const conf_t *conf;
	const conf_t *old; /* the configuration before; NULL: the same */
	struct {
		zone_t *zone;
		size_t index; /* of the configuration; SIZE_MAX: a member of a catalog */
	} zones[SERVER_CHUNK];
	size_t count;
} asking_t;

/* False: its template is gone. Members change under the reload lock, which this thread has. */
static bool reload_settings(const asking_t *asking, size_t i, conf_zone_t *ret_zone)
{
	size_t index = asking->zones[i].index;
	if (index == SIZE_MAX) {
		return catalog_member_settings(asking->conf, asking->zones[i].zone, ret_zone);
	}
	*ret_zone = conf_zone(asking->conf, index);
	return true;
}

/*
 * Under lock: compare zones without looking at their files, except for zones that are made from several. The time when
 * files are written may have changed, too.
 */
static void reload_look_at_entries(const asking_t *asking, reason_t *ret_reasons)
		SYS_REQUIRES(asking->server->jobs.lock)
{
	for (size_t i = 0; i < asking->count; i++) {
		entry_t *entry = entry_of(asking->zones[i].zone);
		reason_t *reason = &ret_reasons[i];
		conf_zone_t zone;
		reason->is_signed = false;
		reason->is_new = !entry->tried && !entry->is_running && entry->events == 0;
		/* A running job owns `source`; only another job sees changes made meanwhile. */
		reason->is_needed = reason->is_new || entry->is_running;
		reason->source = (load_source_t){ .print = reason->is_needed ? 0 : entry->source.print };
		bool has = reload_settings(asking, i, &zone);
		bool is_made_otherwise = has && !reason->is_new && derived_differs(asking->server, &zone);
		reason->is_needed = reason->is_needed || is_made_otherwise;
		if (!reason->is_needed && has && entry->source.files != NULL) {
			reason->is_needed = !reload_is_current(&entry->source, &zone);
		}
		/* What a zone isn't made of any more mustn't be written to its file before that is read. */
		if (!is_made_otherwise) {
			server_replan_flush(asking->server, entry, asking->old, reason->sync_s);
		}
	}
}

/* Without the lock. False: none is to be loaded or signed. */
static bool reload_look_at_files(const asking_t *asking, reason_t *reasons)
{
	bool is_any = false;
	for (size_t i = 0; i < asking->count; i++) {
		conf_zone_t zone;
		if (!reload_settings(asking, i, &zone)) {
			continue;
		}
		if (reasons[i].is_new) {
			log_zone(LOG_INFO, zone.name, "zone will be loaded");
		}
		reasons[i].is_needed = reasons[i].is_needed || !reload_is_current(&reasons[i].source, &zone);
		reasons[i].is_signed = zone.dnssec_signing;
		is_any = is_any || reasons[i].is_needed || reasons[i].is_signed;
	}
	return is_any;
}

/*
 * Request loads of zones that have a reason: only this thread, under the reload lock, changes the set. The settings of
 * a zone are part of its source.
 */
static void reload_ask_gathered(asking_t *asking)
{
	reason_t reasons[SERVER_CHUNK];
	for (size_t i = 0; i < asking->count; i++) {
		conf_zone_t zone;
		bool has = reload_settings(asking, i, &zone);
		reasons[i].sync_s = has ? zone.zonefile_sync_s : -1;
		zone_restrict_queries(asking->zones[i].zone, has && catalog_is_restricted(&zone));
		zone_follow_children(asking->zones[i].zone, has && zone.delegation.count > 0);
	}
	sys_mutex_lock(&asking->server->jobs.lock);
	reload_look_at_entries(asking, reasons);
	sys_mutex_unlock(&asking->server->jobs.lock);
	if (reload_look_at_files(asking, reasons)) {
		sys_mutex_lock(&asking->server->jobs.lock);
		for (size_t i = 0; i < asking->count; i++) {
			entry_t *entry = entry_of(asking->zones[i].zone);
			if (reasons[i].is_needed) {
				(void)jobs_ask(&asking->server->jobs, entry, EVENT_LOAD, 0);
			} else if (reasons[i].is_signed) {
				(void)jobs_ask(&asking->server->jobs, entry, EVENT_DNSSEC, 0);
			}
		}
		sys_mutex_unlock(&asking->server->jobs.lock);
	}
	asking->count = 0;
}

static void reload_ask_zone(asking_t *asking, zone_t *zone, size_t index)
{
	asking->zones[asking->count].zone = zone;
	asking->zones[asking->count++].index = index;
	if (asking->count == SERVER_CHUNK) {
		reload_ask_gathered(asking);
	}
}

/* Where a zone of the set is in a configuration, if zones come in their order. at: 0 at first. */
static size_t reload_find_next(const conf_t *conf, size_t *at, knot_name_t name)
{
	int order = 1;
	while (*at < conf->zone_count && (order = knot_name_cmp(conf_zone_name(conf, *at), name)) < 0) {
		(*at)++;
	}
	return *at < conf->zone_count && order == 0 ? *at : SIZE_MAX;
}

/** Check all zones and their files. */
static void reload_ask_all(server_t *server, const conf_t *old, const conf_t *conf)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	zone_t *const *zones = zonedb_zones(server->zones);
	size_t at = 0;
	for (size_t i = 0; i < zonedb_count(server->zones); i++) {
		reload_ask_zone(&asking, zones[i], reload_find_next(conf, &at, zone_name(zones[i])));
	}
	reload_ask_gathered(&asking);
}

static bool reload_settings_at(const conf_t *conf, size_t index, const zone_t *zone, conf_zone_t *ret_zone)
{
	if (index == SIZE_MAX) {
		return catalog_member_settings(conf, zone, ret_zone);
	}
	*ret_zone = conf_zone(conf, index);
	return true;
}

/** Check zones whose settings changed. */
static void reload_ask_different(server_t *server, const conf_t *old, const conf_t *conf)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	zone_t *const *zones = zonedb_zones(server->zones);
	size_t at = 0, old_at = 0;
	for (size_t i = 0; i < zonedb_count(server->zones); i++) {
		size_t index = reload_find_next(conf, &at, zone_name(zones[i]));
		size_t old_index = reload_find_next(old, &old_at, zone_name(zones[i]));
		conf_zone_t before, after;
		bool is_same = reload_settings_at(old, old_index, zones[i], &before) &&
			       reload_settings_at(conf, index, zones[i], &after) && conf_zone_same(&before, &after) &&
			       before.zonefile_sync_s == after.zonefile_sync_s;
		if (!is_same) {
			reload_ask_zone(&asking, zones[i], index);
		}
	}
	reload_ask_gathered(&asking);
}

/* Members may have other settings with the settings of their catalog, and come or go with it. */
static void reload_ask_members(asking_t *asking)
{
	zone_t *const *zones = zonedb_zones(asking->server->zones);
	for (size_t i = 0; i < zonedb_count(asking->server->zones); i++) {
		if (zone_member(zones[i]) != NULL) {
			reload_ask_zone(asking, zones[i], SIZE_MAX);
		}
	}
}

/** Check zones that the transaction names; nothing else in it is about zones but those of catalogs. */
static void reload_ask_named(server_t *server, const conf_t *old, const conf_t *conf, const conf_txn_t *txn)
{
	asking_t asking = { .server = server, .conf = conf, .old = old };
	conf_change_t change;
	size_t pos = 0, index;
	bool has_catalog = false;
	while (conf_txn_next_change(txn, &pos, &change)) {
		if (change.section != CONF_S_ZONE) {
			continue;
		}
		knot_name_t name = knot_name_of(change.id.data);
		if (conf_zone_find(old, name, &index)) {
			has_catalog = has_catalog || conf_zone(old, index).catalog_role == CONF_CATALOG_INTERPRET;
		}
		if (conf_zone_find(conf, name, &index)) {
			has_catalog = has_catalog || conf_zone(conf, index).catalog_role == CONF_CATALOG_INTERPRET;
			reload_ask_zone(&asking, zonedb_find(server->zones, name), index);
		}
	}
	if (has_catalog) {
		reload_ask_members(&asking);
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
		has = change.section == CONF_S_TEMPLATE || change.section == CONF_S_DATABASE ||
		      change.section == CONF_S_POLICY || change.section == CONF_S_KEYSTORE;
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
	derivations_drop(&removed->server->derivations, zone_name(entry_zone(entry)));
	rests_drop(&removed->server->rests, zone_name(entry_zone(entry)));
	children_forget(removed->server, zone_name(entry_zone(entry)));
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

/* Members that are configured now. */
static void reload_end_members(const server_build_t *made)
{
	zone_t **leaving = made->leaving;
	for (size_t i = 0; i < made->leaving_count; i++) {
		zone_member_t *member = zone_set_member(leaving[i], NULL);
		sys_rcu_wait();
		free(member);
	}
	free(leaving);
}

/* Put the new zones in place and free the removed ones, after the readers of the old set have ended. */
static void reload_adopt_zones(server_t *server, const server_build_t *made)
{
	reload_end_members(made);
	if (made->same_zones) {
		return;
	}
	const zonedb_t *old = server->zones, *zones = made->state->zones;
	size_t gone_count = zonedb_count(old) - (zonedb_count(zones) - made->fresh);
	removed_t removed = { .server = server, .entries = malloc((gone_count + 1) * sizeof(entry_t *)) };
	sys_mutex_lock(&server->jobs.lock);
	server->zones = zones;
	if (gone_count > 0) { /* else a zone more doesn't look at all others */
		zone_set_each_missing(zonedb_zones(old), zonedb_count(old), zonedb_zones(zones), zonedb_count(zones),
				reload_remove_entry, &removed);
		saves_entries_changed(&server->saves);
	}
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

/* Room for all zones that may be queued. Removed zones may still be queried here. */
static knot_err_t reload_reserve(server_t *server, size_t count)
{
	sys_mutex_lock(&server->jobs.lock);
	knot_err_t err = jobs_reserve(&server->jobs, count);
	err = err == KNOT_OK ? saves_reserve(&server->saves, count) : err;
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

/* Nothing fails from here on. Commands may find zones by name that the published set doesn't list yet. */
static void reload_link(server_t *server, const server_build_t *made)
{
	made->state->notices = server->notices;
	sys_mutex_lock(&server->jobs.lock);
	server->jobs.untried += made->fresh;
	zonedb_link(made->state->zones);
	sys_mutex_unlock(&server->jobs.lock);
}

/* ---- Members of catalogs ---- */

/* Zones that stay, with what their catalog says of them now. */
static void reload_set_members(members_t *members)
{
	bool is_any = false;
	for (size_t i = 0; i < members->count; i++) {
		member_change_t *change = &members->changes[i];
		if ((change->kind == MEMBER_STAYS || change->kind == MEMBER_RENEWS) && change->zone != NULL) {
			change->member = zone_set_member(change->zone, change->member);
			is_any = true;
		}
	}
	if (is_any) {
		sys_rcu_wait(); /* members_done() frees those of before */
	}
}

static void reload_ask_changed(server_t *server, const conf_t *conf, const members_t *members)
{
	asking_t asking = { .server = server, .conf = conf };
	for (size_t i = 0; i < members->count; i++) {
		const member_change_t *change = &members->changes[i];
		if (change->kind == MEMBER_RENEWS && change->zone != NULL) {
			sys_mutex_lock(&server->jobs.lock);
			(void)jobs_ask(&server->jobs, entry_of(change->zone), EVENT_PURGE, 0);
			sys_mutex_unlock(&server->jobs.lock);
		} else if (change->kind != MEMBER_GOES && change->zone != NULL) {
			reload_ask_zone(&asking, change->zone, SIZE_MAX);
		}
		if (change->kind == MEMBER_COMES && change->zone != NULL) {
			log_zone(LOG_INFO, members_name(change), "zone added from catalog");
		}
	}
	reload_ask_gathered(&asking);
}

static knot_err_t reload_build_members(const server_t *server, members_t *members, server_build_t *ret_made)
{
	zone_set_t set;
	state_t *state;
	knot_err_t err = zone_set_change(server->zones, members, &set);
	if (err != KNOT_OK) {
		return err;
	}
	zonedb_t *db = zonedb_next(server->zones, set.zones, set.count);
	err = db != NULL ? state_new_zones(server->root.state_rcu, db, &state) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		zonedb_free(db);
		zone_set_discard(&set, server->zones);
		return err;
	}
	*ret_made = (server_build_t){ .state = state, .fresh = set.fresh };
	zone_set_done(&set);
	return KNOT_OK;
}

knot_err_t server_apply_members(server_t *server, members_t *members)
{
	server_build_t made;
	members_sort(members);
	knot_err_t err = reload_reserve(server, zonedb_count(server->zones) + members->count);
	err = err == KNOT_OK ? reload_build_members(server, members, &made) : err;
	if (err != KNOT_OK) {
		return err;
	}
	reload_link(server, &made);
	state_t *old = state_publish(&server->root, made.state);
	reload_adopt_zones(server, &made);
	reload_set_members(members);
	state_free(old);
	server_purge_members(server, made.state->conf, members);
	reload_ask_changed(server, made.state->conf, members);
	return KNOT_OK;
}

/* ---- Another configuration ---- */

/* Catalogs that list zones of the configuration may have others to list. */
static void reload_ask_catalogs(server_t *server, const conf_t *conf)
{
	for (size_t i = 0; conf_has_catalogs(conf) && i < conf->zone_count; i++) {
		if (conf_zone(conf, i).catalog_role == CONF_CATALOG_GENERATE) {
			sys_mutex_lock(&server->jobs.lock);
			entry_t *entry = server_find_entry(server, conf_zone_name(conf, i));
			(void)jobs_ask(&server->jobs, entry, EVENT_LOAD, 0);
			sys_mutex_unlock(&server->jobs.lock);
		}
	}
}

/* A state with the zones of the configuration and of the database, for catalogs that are interpreted from now on. */
static knot_err_t reload_prepare(server_t *server, conf_t *conf, members_t *ret_members, server_build_t *ret_made)
{
	knot_err_t err = catalogs_read_new(&server->catalogs, server->root.state_rcu->conf, conf, ret_members);
	if (err == KNOT_OK) {
		err = reload_reserve(server, conf->zone_count + zonedb_count(server->zones) + ret_members->count);
	}
	/* The set changes only here, under the reload lock. */
	return err == KNOT_OK ? server_build(conf, server->zones, ret_members, ret_made) : err;
}

knot_err_t server_apply(server_t *server, conf_t *take_conf, const server_change_t *change)
{
	conf_t *conf = take_conf;
	members_t members;
	server_build_t made;
	state_expect_threads(conf);
	knot_err_t err = reload_prepare(server, conf, &members, &made);
	if (err != KNOT_OK) {
		members_done(&members);
		conf_free(conf);
		return err;
	}
	err = change->keep != NULL ? change->keep(change->ctx) : KNOT_OK;
	if (err != KNOT_OK) {
		members_done(&members);
		reload_discard_build(&made, server->zones);
		return err;
	}
	reload_link(server, &made);
	(void)server_open_logs(conf, server->params.uid, server->params.gid);
	reload_tell_what_waits(server, conf);
	remote_configure(server->remote, &conf->server);
	state_t *old = state_publish(&server->root, made.state);
	catalogs_forget(&server->catalogs, &members, made.leaving, made.leaving_count);
	reload_adopt_zones(server, &made);
	reload_ask(server, old->conf, conf, change->txn);
	reload_ask_changed(server, conf, &members);
	reload_ask_catalogs(server, conf);
	state_free(old);
	images_retry(server->saves.images);
	members_done(&members);
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
