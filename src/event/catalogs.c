/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/catalogs.h"

#include <stdlib.h>
#include <string.h>

#include "src/catalog/apply.h"
#include "src/event/internal.h"
#include "src/sys/log.h"

knot_err_t catalogs_init(catalogs_t *catalogs, const conf_database_t *conf)
{
	const catalog_db_params_t params = { .path = conf->catalog_db, .size_max = conf->catalog_db_max_size };
	catalogs->db = catalog_db_new(&params);
	if (catalogs->db == NULL) {
		return KNOT_ENOMEM;
	}
	pthread_cond_init(&catalogs->work, NULL);
	catalogs->first = NULL;
	catalogs->last = &catalogs->first;
	return KNOT_OK;
}

void catalogs_drop(catalog_work_t *take_work)
{
	if (take_work != NULL) {
		catalog_set_done(&take_work->before);
		catalog_set_done(&take_work->after);
		free(take_work);
	}
}

void catalogs_deinit(catalogs_t *catalogs)
{
	if (catalogs->db == NULL) {
		return;
	}
	while (catalogs->first != NULL) {
		catalog_work_t *work = catalogs->first;
		catalogs->first = work->next;
		catalogs_drop(work);
	}
	pthread_cond_destroy(&catalogs->work);
	catalog_db_close(catalogs->db);
	catalogs->db = NULL;
}

static bool catalogs_is_interpreted(const conf_t *conf, knot_name_t catalog)
{
	size_t index;
	return conf_zone_find(conf, catalog, &index) && conf_zone(conf, index).catalog_role == CONF_CATALOG_INTERPRET;
}

/* ---- From the database ---- */

/** Records on their way out of the database. */
typedef struct {
	const conf_t *old, *conf; /* of catalogs_read_new() */
	knot_name_t catalog;      /* of catalogs_read_stored() */
	members_t *members;
	catalog_set_t *set;
	knot_err_t err;
} catalogs_reading_t;

static bool catalogs_take_new(const catalog_record_t *record, void *ctx)
{
	catalogs_reading_t *reading = ctx;
	knot_name_t member = record->entry.member;
	if (!catalogs_is_interpreted(reading->conf, record->catalog)) {
		log_zone(LOG_WARNING, member, "orphaned catalog member zone, ignoring");
		return true;
	}
	if (reading->old == NULL || !catalogs_is_interpreted(reading->old, record->catalog)) {
		reading->err = members_put(
				reading->members, MEMBER_COMES, member, record->catalog, record->entry.group);
	}
	return reading->err == KNOT_OK;
}

static bool catalogs_take_stored(const catalog_record_t *record, void *ctx)
{
	catalogs_reading_t *reading = ctx;
	if (knot_name_eq(record->catalog, reading->catalog)) {
		reading->err = catalog_set_put(reading->set, &record->entry);
	}
	return reading->err == KNOT_OK;
}

static knot_err_t catalogs_each(catalogs_t *catalogs, catalog_record_cb visit, catalogs_reading_t *reading)
{
	sys_lmdb_reason_t reason = { .text = "" };
	size_t damaged = 0;
	knot_err_t err = catalog_db_open(catalogs->db, &reason);
	if (err == KNOT_OK && reason.text[0] != '\0') {
		log_server(LOG_ERR, "failed to open persistent zone catalog (%s), a new one is made", reason.text);
	}
	err = err == KNOT_OK ? catalog_db_each(catalogs->db, visit, reading, &damaged, &reason) : err;
	if (damaged > 0) {
		log_server(LOG_WARNING, "catalog, %zu damaged records of the database are ignored", damaged);
	}
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_server(LOG_ERR, "catalog, failed to load member zones (%s%s%s)", knot_strerror(err),
				reason.text[0] != '\0' ? ", " : "", reason.text);
	}
	return err == KNOT_ENOENT ? reading->err : err != KNOT_OK ? err : reading->err;
}

/* True if `conf` interprets a catalog that `old` doesn't. */
static bool catalogs_has_new(const conf_t *old, const conf_t *conf)
{
	bool has = false;
	for (size_t i = 0; !has && conf_has_catalogs(conf) && i < conf->zone_count; i++) {
		has = conf_zone(conf, i).catalog_role == CONF_CATALOG_INTERPRET &&
		      (old == NULL || !catalogs_is_interpreted(old, conf_zone_name(conf, i)));
	}
	return has;
}

knot_err_t catalogs_read_new(catalogs_t *catalogs, const conf_t *old, const conf_t *conf, members_t *ret_members)
{
	*ret_members = (members_t){ .count = 0 };
	if (!catalogs_has_new(old, conf)) {
		return KNOT_OK;
	}
	catalogs_reading_t reading = { .old = old, .conf = conf, .members = ret_members };
	/* Without the database the server goes on: the catalogs' versions bring their members again. */
	(void)catalogs_each(catalogs, catalogs_take_new, &reading);
	if (reading.err != KNOT_OK) {
		members_done(ret_members);
		return reading.err;
	}
	members_sort(ret_members);
	return KNOT_OK;
}

static knot_err_t catalogs_drop_records(
		catalog_write_t *write, const members_t *members, zone_t *const *leaving, size_t leaving_count)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < members->count && err == KNOT_OK; i++) {
		if (members->changes[i].kind == MEMBER_GOES) {
			log_zone(LOG_WARNING, members_name(&members->changes[i]), "zone already configured, ignoring");
			err = catalog_write_drop(write, members_name(&members->changes[i]));
		}
	}
	for (size_t i = 0; i < leaving_count && err == KNOT_OK; i++) {
		err = catalog_write_drop(write, zone_name(leaving[i]));
	}
	return err;
}

void catalogs_forget(catalogs_t *catalogs, const members_t *members, zone_t *const *leaving, size_t leaving_count)
{
	bool has_any = leaving_count > 0;
	for (size_t i = 0; i < members->count && !has_any; i++) {
		has_any = members->changes[i].kind == MEMBER_GOES;
	}
	if (!has_any) {
		return;
	}
	sys_lmdb_reason_t reason = { .text = "" };
	catalog_write_t *write;
	knot_err_t err = catalog_db_begin(catalogs->db, &write, &reason);
	if (err == KNOT_OK) {
		err = catalogs_drop_records(write, members, leaving, leaving_count);
		if (err == KNOT_OK) {
			err = catalog_write_commit(write, &reason);
		} else {
			catalog_write_discard(write, &reason);
		}
	}
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "catalog, failed to apply changes (%s%s%s)", knot_strerror(err),
				reason.text[0] != '\0' ? ", " : "", reason.text);
	}
}

/* ---- From versions ---- */

static bool catalogs_count_change(const catalog_change_t *change, void *ctx)
{
	*(size_t *)ctx += change->kind != CATALOG_KEEP;
	return true;
}

knot_err_t catalogs_read(knot_name_t catalog, const zone_contents_t *before, const zone_contents_t *after,
		catalog_work_t **ret_work)
{
	catalog_work_t *work = calloc(1, sizeof(*work));
	if (work == NULL) {
		return KNOT_ENOMEM;
	}
	work->is_whole = before == NULL;
	work->name_len = catalog.len;
	work->label_count = catalog.label_count;
	knot_name_lower(catalog, work->name);
	knot_err_t err = catalog_check(after);
	if (err == KNOT_OK) {
		err = before != NULL ? catalog_read_diff(before, after, &work->before, &work->after)
				     : catalog_read(after, &work->after);
	}
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, catalog, "failed to process catalog zone (%s)", knot_strerror(err));
		catalogs_drop(work);
		return err;
	}
	*ret_work = work;
	return KNOT_OK;
}

static void catalogs_thread(void *arg);

/* False: it can't be started. */
static bool catalogs_start(server_t *server) SYS_REQUIRES(server->jobs.lock)
{
	sys_thread_t *thread = &server->catalogs.thread;
	if (!thread->started) {
		*thread = (sys_thread_t){
			.name = "catalogs", .cpu = -1, .yields = true, .run = catalogs_thread, .arg = server
		};
		return sys_thread_start(thread) == KNOT_OK;
	}
	return true;
}

void catalogs_put(server_t *server, catalog_work_t *take_work)
{
	size_t changes = 0;
	knot_name_t name = { take_work->name, take_work->name_len, take_work->label_count };
	catalog_compare(&take_work->before, &take_work->after, catalogs_count_change, &changes);
	if (changes == 0 && !take_work->is_whole) {
		catalogs_drop(take_work);
		return;
	}
	if (changes > 0) {
		log_zone(LOG_INFO, name, "enqueued %zu catalog updates", changes);
	}
	sys_mutex_lock(&server->jobs.lock);
	if (server->jobs.stopping || !catalogs_start(server)) {
		sys_mutex_unlock(&server->jobs.lock);
		catalogs_drop(take_work);
		return;
	}
	*server->catalogs.last = take_work;
	server->catalogs.last = &take_work->next;
	pthread_cond_signal(&server->catalogs.work);
	sys_mutex_unlock(&server->jobs.lock);
}

knot_err_t catalogs_repeat(server_t *server, knot_name_t catalog, const zone_contents_t *contents)
{
	catalog_work_t *work;
	knot_err_t err = catalogs_read(catalog, NULL, contents, &work);
	if (err == KNOT_OK) {
		catalogs_put(server, work);
	}
	return err;
}

/* ---- The thread ---- */

/** A work being applied. */
typedef struct {
	const conf_t *conf;
	knot_name_t catalog;
	members_t members;
	knot_err_t err;
} catalogs_applying_t;

static bool catalogs_is_configured(knot_name_t member, void *ctx)
{
	const catalogs_applying_t *applying = ctx;
	size_t index;
	return conf_zone_find(applying->conf, member, &index);
}

static void catalogs_take_change(const catalog_change_t *change, void *ctx)
{
	static const member_kind_t kinds[] = {
		[CATALOG_ADD] = MEMBER_COMES,
		[CATALOG_REMOVE] = MEMBER_GOES,
		[CATALOG_RENEW] = MEMBER_RENEWS,
		[CATALOG_REGROUP] = MEMBER_STAYS,
	};
	catalogs_applying_t *applying = ctx;
	char text[CATALOG_NOTE_TEXT_MAX];
	knot_name_t member = change->after.member.wire != NULL ? change->after.member : change->before.member;
	if (change->note != CATALOG_NOTHING) {
		catalog_note_print(change, text);
		log_zone(catalog_note_level(change->note), member, "%s", text);
	}
	if (change->kind != CATALOG_KEEP && applying->err == KNOT_OK) {
		applying->err = members_put(&applying->members, kinds[change->kind], member, applying->catalog,
				change->after.group);
	}
}

static knot_err_t catalogs_decide(catalogs_t *catalogs, catalogs_applying_t *applying, catalog_work_t *work,
		sys_lmdb_reason_t *ret_reason)
{
	const catalog_sink_t sink = { catalogs_is_configured, catalogs_take_change, applying };
	knot_err_t err = KNOT_OK;
	size_t changed;
	if (work->is_whole) {
		catalogs_reading_t reading = { .catalog = applying->catalog, .set = &work->before };
		err = catalogs_each(catalogs, catalogs_take_stored, &reading);
	}
	err = err == KNOT_OK ? catalog_apply(catalogs->db, applying->catalog, &work->before, &work->after, &sink,
					       &changed, ret_reason)
			     : err;
	return err == KNOT_OK ? applying->err : err;
}

static void catalogs_apply(server_t *server, catalog_work_t *work) SYS_REQUIRES(server->reload_lock)
{
	sys_lmdb_reason_t reason = { .text = "" };
	catalogs_applying_t applying = { .conf = server->root.state_rcu->conf,
		.catalog = { work->name, work->name_len, work->label_count } };
	if (!catalogs_is_interpreted(applying.conf, applying.catalog)) {
		return;
	}
	knot_err_t err = catalogs_decide(&server->catalogs, &applying, work, &reason);
	if (err == KNOT_OK && applying.members.count > 0) {
		log_server(LOG_INFO, "catalog, updating, %zu changes", applying.members.count);
		err = server_apply_members(server, &applying.members);
	}
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "catalog, failed to apply changes (%s%s%s)", knot_strerror(err),
				reason.text[0] != '\0' ? ", " : "", reason.text);
	}
	members_done(&applying.members);
}

static void catalogs_thread(void *arg)
{
	server_t *server = arg;
	catalogs_t *catalogs = &server->catalogs;
	sys_mutex_lock(&server->jobs.lock);
	while (!server->jobs.stopping) {
		catalog_work_t *work = catalogs->first;
		if (work == NULL) {
			sys_mutex_wait(&server->jobs.lock, &catalogs->work);
			continue;
		}
		catalogs->first = work->next;
		catalogs->last = catalogs->first != NULL ? catalogs->last : &catalogs->first;
		sys_mutex_unlock(&server->jobs.lock);
		sys_thread_step_aside();
		sys_mutex_lock(&server->reload_lock);
		catalogs_apply(server, work);
		sys_mutex_unlock(&server->reload_lock);
		catalogs_drop(work);
		sys_mutex_lock(&server->jobs.lock);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

void catalogs_stop(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	pthread_cond_signal(&server->catalogs.work);
	sys_mutex_unlock(&server->jobs.lock);
	sys_thread_join(&server->catalogs.thread);
}
