/* SPDX-License-Identifier: BSD-2-Clause */
/* Removing what is kept of zones: contents, zone file, image, journal, times. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/event/signing.h"
#include "src/sys/log.h"

/* Knot's words: "failed to purge journal (…)". */
static knot_err_t zone_purge_log(knot_name_t name, const char *part, knot_err_t err)
{
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, name, "failed to purge %s (%s)", part, knot_strerror(err));
	}
	return err;
}

/* From each database, whatever becomes of the others; the first error. */
static knot_err_t zone_purge_databases(server_t *server, knot_name_t name, unsigned what)
{
	knot_err_t errs[3] = { KNOT_OK, KNOT_OK, KNOT_OK };
	size_t removed;
	if ((what & SERVER_PURGE_IMAGE) != 0) {
		errs[0] = zone_purge_log(name, "image", images_remove(server->saves.images, &name, 1, &removed));
	}
	if ((what & SERVER_PURGE_JOURNAL) != 0) {
		errs[1] = zone_purge_log(name, "journal", changes_drop(server->journal, name));
	}
	if ((what & SERVER_PURGE_TIMERS) != 0) {
		errs[2] = zone_purge_log(name, "timers", timer_sync_drop(server->timers, name, NULL, NULL));
	}
	return errs[0] != KNOT_OK ? errs[0] : errs[1] != KNOT_OK ? errs[1] : errs[2];
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
	server_edit_t *edit = NULL;
	if ((what & SERVER_PURGE_CONTENTS) != 0) {
		edit = server_edit_drop(server, name);
		/* What an image gives later may have the same numbers, but not what a pass has made of them. */
		server_compact_forget(server, entry);
	}
	sys_mutex_unlock(&server->jobs.lock);
	server_edit_free(server, edit);
	if ((what & SERVER_PURGE_CONTENTS) != 0) {
		publish_drop(entry_zone(entry), &entry->source);
	}
	if ((what & SERVER_PURGE_FILE) != 0) {
		err = zone_purge_log(name, "zone file", load_remove_file(&server->root, name));
	}
	knot_err_t database_err = zone_purge_databases(server, name, what);
	err = err == KNOT_OK ? database_err : err;
	bool keys = (what & SERVER_PURGE_KEYS) != 0, data = (what & SERVER_PURGE_KASP) != 0;
	if (keys || data) {
		database_err = signing_purge(server, entry_zone(entry), keys, data);
		err = err == KNOT_OK ? zone_purge_log(name, keys ? "keys" : "KASP DB", database_err) : err;
	}
	sys_mutex_lock(&server->jobs.lock);
	job_outcome_t outcome = { .load = (what & SERVER_PURGE_CONTENTS) != 0 ? LOAD_DROPPED : LOAD_UNCHANGED };
	jobs_end(&server->jobs, entry, outcome, err);
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

/* ---- Members of catalogs ---- */

/* The file of a zone that is never written isn't the server's to remove. */
static void zone_purge_file(const conf_zone_t *zone)
{
	char path[PATH_MAX];
	if (zone->zonefile_sync_s >= 0 && conf_zone_file(zone, path, sizeof(path)) == KNOT_OK && unlink(path) != 0 &&
			errno != ENOENT) {
		log_zone(LOG_ERR, zone->name, "failed to purge zone file (%s)",
				knot_strerror(knot_err_of_errno(errno)));
	}
}

static int zone_purge_compare(const void *name, const void *change)
{
	return knot_name_cmp(*(const knot_name_t *)name, members_name(change));
}

static bool zone_purge_goes(knot_name_t name, void *ctx)
{
	const members_t *members = ctx;
	const member_change_t *found =
			bsearch(&name, members->changes, members->count, sizeof(*members->changes), zone_purge_compare);
	return found != NULL && found->kind == MEMBER_GOES && found->member != NULL;
}

enum { ZONE_PURGE_SINGLY = 16 }; /* zones; of more, each database is gone through once */

static void zone_purge_stored(server_t *server, members_t *members, size_t going)
{
	if (going > ZONE_PURGE_SINGLY) {
		(void)!images_remove_if(server->saves.images, zone_purge_goes, members);
		(void)!changes_drop_if(server->journal, zone_purge_goes, members);
		(void)!timer_sync_drop(server->timers, (knot_name_t){ 0 }, zone_purge_goes, members);
		return;
	}
	for (size_t i = 0; i < members->count; i++) {
		if (members->changes[i].kind == MEMBER_GOES && members->changes[i].member != NULL) {
			(void)!zone_purge_databases(server, members_name(&members->changes[i]),
					SERVER_PURGE_IMAGE | SERVER_PURGE_JOURNAL | SERVER_PURGE_TIMERS);
		}
	}
}

void server_purge_members(server_t *server, const conf_t *conf, members_t *members)
{
	size_t going = 0;
	for (size_t i = 0; i < members->count; i++) {
		const member_change_t *change = &members->changes[i];
		conf_zone_t zone;
		if (change->kind != MEMBER_GOES || change->member == NULL) {
			continue;
		}
		going++;
		if (conf_member(conf, members_name(change), zone_member_catalog(change->member),
				    zone_member_group(change->member), &zone)) {
			zone_purge_file(&zone);
		}
	}
	if (going == 0) {
		return;
	}
	zone_purge_stored(server, members, going);
	for (size_t i = 0; i < members->count; i++) {
		if (members->changes[i].kind == MEMBER_GOES && members->changes[i].member != NULL) {
			log_zone(LOG_NOTICE, members_name(&members->changes[i]), "zone purged");
		}
	}
}

/* Its unique id is another (RFC 9432 5.4): it begins as a new zone. */
knot_err_t server_run_purge(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how;
	knot_name_t name = entry_name(entry);
	{
		conf_zone_t zone;
		RCU_READ_SECTION(guard);
		if (state_settings(state_load(&server->root, guard), name, &zone)) {
			zone_purge_file(&zone);
		}
	}
	sys_mutex_lock(&server->jobs.lock);
	entry->save = SAVE_NONE;
	server_edit_t *edit = server_edit_drop(server, name);
	server_compact_forget(server, entry);
	rest_t *rest = rests_find(&server->rests, name);
	if (rest != NULL) {
		rest->timers = (timers_state_t){ 0 };
		rest->last_notified = 0;
	}
	sys_mutex_unlock(&server->jobs.lock);
	server_edit_free(server, edit);
	publish_clear(entry_zone(entry), &entry->source);
	outcome->load = LOAD_DROPPED;
	knot_err_t err = zone_purge_databases(
			server, name, SERVER_PURGE_IMAGE | SERVER_PURGE_JOURNAL | SERVER_PURGE_TIMERS);
	if (err == KNOT_OK) {
		log_zone(LOG_NOTICE, name, "zone purged");
	}
	return err;
}

void server_plan_purge(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)outcome;
	if (ended == EVENT_PURGE) {
		(void)jobs_ask(&server->jobs, entry, EVENT_LOAD, 0);
	}
}

static bool zone_purge_is_configured(knot_name_t name, void *ctx)
{
	const server_t *server = ctx;
	RCU_READ_SECTION(guard);
	return zonedb_find(state_load(&server->root, guard)->zones, name) != NULL;
}

static bool zone_purge_is_orphan(knot_name_t name, void *ctx)
{
	return !zone_purge_is_configured(name, ctx);
}

knot_err_t server_purge_orphans(server_t *server, knot_name_t name)
{
	if (name.wire != NULL) {
		unsigned all = SERVER_PURGE_IMAGE | SERVER_PURGE_JOURNAL | SERVER_PURGE_TIMERS;
		return zone_purge_is_orphan(name, server) ? zone_purge_databases(server, name, all) : KNOT_OK;
	}
	knot_err_t err = images_remove_if(server->saves.images, zone_purge_is_orphan, server);
	knot_err_t journal_err = changes_drop_if(server->journal, zone_purge_is_orphan, server);
	knot_err_t timers_err = timer_sync_drop(server->timers, name, zone_purge_is_orphan, server);
	return err != KNOT_OK ? err : journal_err != KNOT_OK ? journal_err : timers_err;
}

knot_err_t server_purge_images(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	saves_forget(&server->saves);
	sys_mutex_unlock(&server->jobs.lock);
	return images_remove_if(server->saves.images, zone_purge_is_configured, server);
}
