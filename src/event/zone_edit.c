/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/zone_edit.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/event/zone_flush.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/update/serial.h"
#include "src/zone/image.h"

/* An edit is in the map while it is open, and freed with the last reference. Its lock is taken before that of the jobs.
 */
struct server_edit {
	sys_mutex_t lock;      /* held by the caller that works with it */
	unsigned refs;         /* the map, and threads that have it or wait for it; under the lock of the jobs */
	bool is_open;          /* in the map; under the lock of the jobs */
	uint64_t since_s;      /* wall clock: when it began */
	zone_contents_t *base; /* owned: a hold on the version that it began on; NULL: there were no contents */
	update_t update;       /* owned; all zero until it has begun */
	bool is_benevolent;
	knot_name_t name; /* of wire[] */
	uint8_t wire[];   /* lower case */
};

static int cmp_edits(const void *va, const void *vb)
{
	const server_edit_t *a = va, *b = vb;
	return knot_name_cmp(a->name, b->name);
}

/* ---- The map. Under the lock of the jobs. ---- */

static server_edit_t *find_edit(const server_t *server, knot_name_t name) SYS_REQUIRES(server->jobs.lock)
{
	const server_edit_t wanted = { .name = name };
	server_edit_t **found = tfind(&wanted, &server->edits, cmp_edits);
	return found != NULL ? *found : NULL;
}

/* True: the caller frees it, without the lock. */
static bool drop_ref(server_edit_t *edit)
{
	return --edit->refs == 0;
}

static void free_edit(server_edit_t *edit)
{
	update_end(&edit->update);
	zone_contents_free(edit->base);
	sys_mutex_done(&edit->lock);
	free(edit);
}

static knot_err_t add_edit(server_t *server, server_edit_t *edit, entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	if (tsearch(edit, &server->edits, cmp_edits) == NULL) {
		return KNOT_ENOMEM;
	}
	edit->is_open = true;
	edit->refs = 1;
	entry->edited = true;
	server->edit_count++;
	return KNOT_OK;
}

/* End the edit; work that waited for its end goes on. The caller drops the map's reference. */
static void remove_edit(server_t *server, server_edit_t *edit) SYS_REQUIRES(server->jobs.lock)
{
	(void)tdelete(edit, &server->edits, cmp_edits);
	edit->is_open = false;
	server->edit_count--;
	entry_t *entry = server_find_entry(server, edit->name);
	if (entry != NULL) {
		entry->edited = false;
		jobs_release(&server->jobs, entry);
	}
}

bool server_edits_are_open(const server_t *server)
{
	sys_mutex_lock(server_lock(server));
	bool are_open = server->edit_count > 0;
	sys_mutex_unlock(server_lock(server));
	return are_open;
}

bool server_edit_is_open(const server_t *server, knot_name_t name)
{
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	bool is_open = entry != NULL && entry->edited;
	sys_mutex_unlock(server_lock(server));
	return is_open;
}

bool server_edit_find_open(const server_t *server, knot_name_t name, server_open_t *ret_open)
{
	sys_mutex_lock(server_lock(server));
	const server_edit_t *edit = name.wire != NULL ? find_edit(server, name) : NULL;
	if (edit == NULL && server->edits != NULL) {
		edit = *(server_edit_t **)server->edits;
	}
	if (edit != NULL) {
		ret_open->since_s = edit->since_s;
		(void)knot_name_print(edit->name, ret_open->zone);
	}
	sys_mutex_unlock(server_lock(server));
	return edit != NULL;
}

void server_edits_free(server_t *server)
{
	while (server->edits != NULL) {
		server_edit_t *edit = *(server_edit_t **)server->edits;
		(void)tdelete(edit, &server->edits, cmp_edits);
		free_edit(edit);
	}
}

/* ---- Beginning and ending ---- */

static server_edit_t *new_edit(knot_name_t name, bool is_benevolent)
{
	server_edit_t *edit = calloc(1, sizeof(*edit) + name.len);
	if (edit != NULL) {
		knot_name_lower(name, edit->wire);
		edit->name = (knot_name_t){ edit->wire, name.len, name.label_count };
		edit->is_benevolent = is_benevolent;
		edit->since_s = sys_clock_wall();
		sys_mutex_init(&edit->lock);
	}
	return edit;
}

/* Under the lock of the jobs, and while the zone has no job, so that its contents don't change meanwhile. */
static knot_err_t begin_on(server_t *server, server_edit_t *edit, entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	if (entry->edited) {
		return KNOT_ETXNMANY;
	}
	if (contents != NULL) {
		edit->base = zone_image_hold(contents);
		if (edit->base == NULL) {
			return KNOT_ENOMEM;
		}
	}
	knot_err_t err = update_begin(edit->name, UPDATE_CONTROL, edit->base, &edit->update);
	return err == KNOT_OK ? add_edit(server, edit, entry) : err;
}

knot_err_t server_edit_begin(server_t *server, knot_name_t name, bool is_benevolent)
{
	if (server_conf_is_open(server)) {
		return KNOT_ETXNMANY;
	}
	server_edit_t *edit = new_edit(name, is_benevolent);
	if (edit == NULL) {
		return KNOT_ENOMEM;
	}
	entry_t *entry;
	sys_mutex_lock(&server->jobs.lock);
	knot_err_t err = server_wait_for_rest(server, name, &entry);
	err = err == KNOT_OK ? begin_on(server, edit, entry) : err;
	sys_mutex_unlock(&server->jobs.lock);
	if (err != KNOT_OK) {
		free_edit(edit);
	}
	return err;
}

/* The open edit of a zone, with its lock held. */
static knot_err_t edit_enter_open(server_t *server, knot_name_t name, server_edit_t **ret_edit) SYS_UNCHECKED_LOCKS
{
	sys_mutex_lock(&server->jobs.lock);
	bool is_configured = server_find_entry(server, name) != NULL;
	server_edit_t *edit = find_edit(server, name);
	if (edit != NULL) {
		edit->refs++;
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (edit == NULL) {
		return is_configured ? KNOT_ETXNNONE : KNOT_ENOZONE;
	}
	sys_mutex_lock(&edit->lock);
	sys_mutex_lock(&server->jobs.lock);
	bool is_open = edit->is_open; /* it may have ended while this waited */
	sys_mutex_unlock(&server->jobs.lock);
	if (!is_open) {
		server_edit_leave(server, edit);
		return KNOT_ETXNNONE;
	}
	*ret_edit = edit;
	return KNOT_OK;
}

void server_edit_leave(server_t *server, server_edit_t *take_edit) SYS_UNCHECKED_LOCKS
{
	sys_mutex_unlock(&take_edit->lock);
	sys_mutex_lock(&server->jobs.lock);
	bool is_last = drop_ref(take_edit);
	sys_mutex_unlock(&server->jobs.lock);
	if (is_last) {
		free_edit(take_edit);
	}
}

knot_err_t server_edit_enter(server_t *server, knot_name_t name, server_edit_t **ret_edit, edit_t *ret_changes)
{
	load_settings_t settings = { .default_ttl = 0 };
	knot_err_t err = edit_enter_open(server, name, ret_edit);
	if (err == KNOT_OK) {
		(void)load_settings(&server->root, name, &settings); /* none of its errors concerns the TTL */
		*ret_changes = (edit_t){ .txn = (*ret_edit)->update.txn,
			.origin = (*ret_edit)->name,
			.default_ttl = settings.default_ttl,
			.is_benevolent = (*ret_edit)->is_benevolent };
	}
	return err;
}

/* End an edit that was entered. */
static void edit_end_entered(server_t *server, server_edit_t *edit)
{
	sys_mutex_lock(&server->jobs.lock);
	if (edit->is_open) {
		remove_edit(server, edit);
		(void)drop_ref(edit); /* the caller still has one */
	}
	sys_mutex_unlock(&server->jobs.lock);
}

server_edit_t *server_edit_drop(server_t *server, knot_name_t name)
{
	server_edit_t *edit = find_edit(server, name);
	if (edit == NULL) {
		return NULL;
	}
	remove_edit(server, edit);
	log_zone(LOG_WARNING, edit->name, "control transaction aborted");
	return drop_ref(edit) ? edit : NULL;
}

void server_edit_free(server_edit_t *take_edit)
{
	if (take_edit != NULL) {
		free_edit(take_edit);
	}
}

knot_err_t server_edit_abort(server_t *server, knot_name_t name)
{
	server_edit_t *edit;
	knot_err_t err = edit_enter_open(server, name, &edit);
	if (err == KNOT_OK) {
		edit_end_entered(server, edit);
		server_edit_leave(server, edit);
	}
	return err;
}

/* ---- Publishing ---- */

/** A zone in the hands of a caller that may publish a version. */
typedef struct {
	entry_t *entry; /* held by server_begin_work() */
	const zone_contents_t *current;
	load_settings_t settings;
	knot_name_t name;
	server_commit_t *commit; /* borrowed: gets the results */
} turn_t;

/* Commit the edits. Contents are ahead of the file then. */
static knot_err_t zone_edit_publish(const turn_t *turn, update_t *update)
{
	load_report_t report = { .name = turn->name, .reason = turn->commit->reason };
	const update_policy_t policy = load_policy(&turn->settings, &report);
	publish_t publish = { .zone = entry_zone(turn->entry), .source = &turn->entry->source };
	uint32_t serial = turn->current != NULL ? turn->current->serial : 0;
	knot_err_t err = source_of_changes(publish.source, turn->settings.path, turn->settings.number,
			turn->current != NULL ? &serial : NULL, &publish.next);
	if (err != KNOT_OK) {
		return err;
	}
	update_effects_t effects;
	update->reason = turn->commit->reason;
	err = publish_update(&publish, update, turn->current, &policy, &effects);
	if (err == KNOT_OK && effects.has_base) {
		load_warn_of_serial(turn->name, effects.serial_from, effects.serial_to, true);
	}
	turn->commit->removed = effects.removed;
	turn->commit->added = effects.added;
	return err;
}

/* True if the version that is served is the one that was held. Both have the same chunks then. */
static bool is_same_version(const zone_contents_t *held, const zone_contents_t *current)
{
	return held == NULL || current == NULL
			       ? held == current
			       : held->apex == current->apex && held->serial == current->serial &&
						 zone_image_lineage(held) == zone_image_lineage(current);
}

/*
 * Take the zone from the workers, do work that may publish a version, and schedule writing the zone file. Returns the
 * error of the work. is_edit: of the open transaction; else KNOT_ETXNMANY if there is one.
 */
static knot_err_t work_on_zone(server_t *server, knot_name_t name, bool is_edit,
		knot_err_t (*work)(const turn_t *turn, void *ctx), void *ctx, server_commit_t *commit)
{
	turn_t turn = { .name = name, .commit = commit };
	knot_err_t err = load_settings(&server->root, name, &turn.settings);
	if (err == KNOT_ENOZONE) {
		return err;
	}
	sys_mutex_lock(&server->jobs.lock);
	err = server_begin_work(server, name, &turn.entry);
	if (err == KNOT_OK && turn.entry->edited && !is_edit) {
		jobs_end(&server->jobs, turn.entry, (job_outcome_t){ .load = LOAD_UNCHANGED, .keeps_result = true },
				KNOT_OK);
		err = KNOT_ETXNMANY;
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (err != KNOT_OK) {
		return err;
	}
	turn.current = zone_contents(entry_zone(turn.entry));
	err = work(&turn, ctx);
	bool is_new = zone_contents(entry_zone(turn.entry)) != turn.current;
	job_outcome_t outcome = { .load = is_new ? LOAD_EDITED : LOAD_UNCHANGED, .keeps_result = !is_new };
	sys_mutex_lock(&server->jobs.lock);
	/* A refusal is reported to the operator and doesn't count as a failed update. */
	jobs_end(&server->jobs, turn.entry, outcome, KNOT_OK);
	entry_t *entry = server_find_entry(server, name);
	if (is_new && entry != NULL) {
		commit->ticket = server_flush_ticket(server, entry);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

static knot_err_t work_commit(const turn_t *turn, void *ctx)
{
	server_edit_t *edit = ctx;
	if (!is_same_version(edit->base, turn->current)) {
		return KNOT_ETRYAGAIN;
	}
	knot_err_t err = zone_edit_publish(turn, &edit->update);
	if (err == KNOT_OK && turn->commit->removed + turn->commit->added > 0) {
		log_control_zone(LOG_INFO, turn->name,
				"control, transaction committed, records: %zu removed, %zu added",
				turn->commit->removed, turn->commit->added);
	}
	return err;
}

knot_err_t server_edit_commit(server_t *server, knot_name_t name, server_commit_t *ret_commit)
{
	server_edit_t *edit;
	*ret_commit = (server_commit_t){ 0 };
	knot_err_t err = edit_enter_open(server, name, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	err = work_on_zone(server, edit->name, true, work_commit, edit, ret_commit);
	if (err == KNOT_OK) {
		edit_end_entered(server, edit);
	}
	server_edit_leave(server, edit);
	return err;
}

/* ---- The serial alone ---- */

static knot_err_t zone_edit_set_serial(const turn_t *turn, const server_serial_t *serial)
{
	uint32_t before = turn->current->serial;
	uint32_t wanted = serial->is_increment ? before + serial->number : serial->number;
	if (wanted == before) {
		return KNOT_OK;
	}
	if (!update_serial_is_newer(wanted, before) && !serial->may_decrease) {
		return KNOT_ERANGE;
	}
	update_t update;
	knot_err_t err = update_begin(turn->name, UPDATE_CONTROL, turn->current, &update);
	if (err != KNOT_OK) {
		return err;
	}
	err = update_set_serial(update.txn, turn->name, wanted);
	err = err == KNOT_OK ? zone_edit_publish(turn, &update) : err;
	update_end(&update);
	return err;
}

static knot_err_t work_set_serial(const turn_t *turn, void *ctx)
{
	return turn->current != NULL ? zone_edit_set_serial(turn, ctx) : KNOT_EEMPTYZONE;
}

knot_err_t server_set_serial(
		server_t *server, knot_name_t name, const server_serial_t *serial, server_ticket_t *ret_ticket)
{
	server_serial_t copy = *serial;
	server_commit_t commit = { .ticket = 0 };
	knot_err_t err = work_on_zone(server, name, false, work_set_serial, &copy, &commit);
	*ret_ticket = commit.ticket;
	return err;
}
