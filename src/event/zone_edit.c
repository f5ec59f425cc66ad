/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/zone_edit.h"

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
#include "src/zone/renew.h"

/* ---- Which are open ---- */

bool server_edits_are_open(const server_t *server)
{
	return edits_count((edits_t *)&server->edits) > 0;
}

bool server_edit_is_open(const server_t *server, knot_name_t name)
{
	edits_t *edits = (edits_t *)&server->edits;
	server_edit_t *edit = edits_find(edits, name);
	if (edit != NULL) {
		edits_unref(edits, edit);
	}
	return edit != NULL;
}

bool server_edit_find_open(const server_t *server, knot_name_t name, server_open_t *ret_open)
{
	edits_t *edits = (edits_t *)&server->edits;
	server_edit_t *edit = name.wire != NULL ? edits_find(edits, name) : NULL;
	edit = edit != NULL ? edit : edits_any(edits);
	if (edit == NULL) {
		return false;
	}
	ret_open->since_s = edit->since_s;
	(void)knot_name_print(edit->name, ret_open->zone);
	edits_unref(edits, edit);
	return true;
}

/* ---- Beginning and ending ---- */

/* Under the lock of the jobs, and while the zone has no job, so that its contents don't change meanwhile. */
static knot_err_t zone_edit_begin_on(server_t *server, server_edit_t *edit, entry_t *entry)
		SYS_REQUIRES(server->jobs.lock)
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
	err = err == KNOT_OK ? edits_add(&server->edits, edit) : err;
	entry->edited = err == KNOT_OK;
	return err;
}

knot_err_t server_edit_begin(server_t *server, knot_name_t name, bool is_benevolent)
{
	if (server_conf_is_open(server)) {
		return KNOT_ETXNMANY;
	}
	server_edit_t *edit = edits_new(name);
	if (edit == NULL) {
		return KNOT_ENOMEM;
	}
	edit->is_benevolent = is_benevolent;
	entry_t *entry;
	sys_mutex_lock(&server->jobs.lock);
	knot_err_t err = server_wait_for_rest(server, name, &entry);
	err = err == KNOT_OK ? zone_edit_begin_on(server, edit, entry) : err;
	sys_mutex_unlock(&server->jobs.lock);
	if (err != KNOT_OK) {
		edits_unref(&server->edits, edit);
	}
	return err;
}

static bool zone_edit_is_configured(server_t *server, knot_name_t name)
{
	sys_mutex_lock(&server->jobs.lock);
	bool is_configured = server_find_entry(server, name) != NULL;
	sys_mutex_unlock(&server->jobs.lock);
	return is_configured;
}

/* The open edit of a zone, with its lock held. */
static knot_err_t zone_edit_enter_open(server_t *server, knot_name_t name, server_edit_t **ret_edit) SYS_UNCHECKED_LOCKS
{
	server_edit_t *edit = edits_find(&server->edits, name);
	if (edit == NULL) {
		return zone_edit_is_configured(server, name) ? KNOT_ETXNNONE : KNOT_ENOZONE;
	}
	sys_mutex_lock(&edit->lock);
	if (!edits_has(&server->edits, edit)) { /* it has ended while this waited */
		server_edit_leave(server, edit);
		return KNOT_ETXNNONE;
	}
	*ret_edit = edit;
	return KNOT_OK;
}

void server_edit_leave(server_t *server, server_edit_t *take_edit) SYS_UNCHECKED_LOCKS
{
	sys_mutex_unlock(&take_edit->lock);
	edits_unref(&server->edits, take_edit);
}

knot_err_t server_edit_enter(server_t *server, knot_name_t name, server_edit_t **ret_edit, edit_t *ret_changes)
{
	load_settings_t settings = { .default_ttl = 0 };
	knot_err_t err = zone_edit_enter_open(server, name, ret_edit);
	if (err == KNOT_OK) {
		(void)load_settings(&server->root, name, &settings); /* none of its errors concerns the TTL */
		*ret_changes = (edit_t){ .txn = (*ret_edit)->update.txn,
			.origin = (*ret_edit)->name,
			.default_ttl = settings.default_ttl,
			.is_benevolent = (*ret_edit)->is_benevolent };
	}
	return err;
}

/* End the edit; work that waited for its end goes on. Under the lock of the jobs, so that the bit of the entry is
 * always what the map says. */
static void zone_edit_close(server_t *server, server_edit_t *edit) SYS_REQUIRES(server->jobs.lock)
{
	entry_t *entry = edits_remove(&server->edits, edit) ? server_find_entry(server, edit->name) : NULL;
	if (entry != NULL) {
		entry->edited = false;
		jobs_release(&server->jobs, entry);
	}
}

/* End an edit that was entered. */
static void zone_edit_end_entered(server_t *server, server_edit_t *edit)
{
	sys_mutex_lock(&server->jobs.lock);
	zone_edit_close(server, edit);
	sys_mutex_unlock(&server->jobs.lock);
}

server_edit_t *server_edit_drop(server_t *server, knot_name_t name)
{
	server_edit_t *edit = edits_find(&server->edits, name);
	if (edit != NULL) {
		zone_edit_close(server, edit);
		log_zone(LOG_WARNING, edit->name, "control transaction aborted");
	}
	return edit;
}

void server_edit_free(server_t *server, server_edit_t *take_edit)
{
	if (take_edit != NULL) {
		edits_unref(&server->edits, take_edit);
	}
}

knot_err_t server_edit_abort(server_t *server, knot_name_t name)
{
	server_edit_t *edit;
	knot_err_t err = zone_edit_enter_open(server, name, &edit);
	if (err == KNOT_OK) {
		zone_edit_end_entered(server, edit);
		server_edit_leave(server, edit);
	}
	return err;
}

/* ---- Publishing ---- */

/** A zone in the hands of a caller that may publish a version. */
typedef struct {
	server_t *server;
	entry_t *entry; /* held by server_begin_work() */
	const zone_contents_t *current;
	load_settings_t settings;
	knot_name_t name;
	const server_author_t *author; /* borrowed */
	server_commit_t *commit;       /* borrowed: gets the results */
} turn_t;

/** What a commit needs to make room in the journal. */
typedef struct {
	const turn_t *turn;
	publish_t *publish;
} zone_edit_flush_t;

/* Where the contents will come from: the same file, and changes. */
static knot_err_t zone_edit_source(const turn_t *turn, load_source_t *ret_source)
{
	uint32_t serial = turn->current != NULL ? turn->current->serial : 0;
	return source_of_changes(&turn->entry->source, turn->settings.path, turn->settings.number,
			turn->current != NULL ? &serial : NULL, ret_source);
}

/* The journal is full: write the zone file, so that changes which it has may go. */
static knot_err_t zone_edit_flush(void *ctx)
{
	const zone_edit_flush_t *flush = ctx;
	const turn_t *turn = flush->turn;
	job_outcome_t outcome = { .load = LOAD_UNCHANGED };
	knot_err_t err = server_run_flush(turn->server, turn->entry, 0, &outcome);
	free(outcome.reason);
	/* Nothing is written if a reload has just set zonefile-sync to -1: what only the journal has stays there. */
	if (err == KNOT_OK && source_is_ahead(&turn->entry->source)) {
		return KNOT_EFILE;
	}
	if (err == KNOT_OK) {
		if (turn->current != NULL) {
			changes_mark_flushed(turn->server->journal, turn->name, turn->current->serial);
		}
		source_clear(&flush->publish->next);
		err = zone_edit_source(turn, &flush->publish->next);
	}
	return err;
}

static update_store_t zone_edit_store(conf_journal_content_t content)
{
	static const update_store_t stores[] = {
		[CONF_JOURNAL_NONE] = UPDATE_STORES_NOTHING,
		[CONF_JOURNAL_CHANGES] = UPDATE_STORES_CHANGES,
		[CONF_JOURNAL_ALL] = UPDATE_STORES_ALL,
	};
	return stores[content];
}

/* Commit the edits. Contents are ahead of the file then. */
static knot_err_t zone_edit_publish(const turn_t *turn, update_t *update)
{
	load_report_t report = { .name = turn->name, .reason = turn->commit->reason };
	update_policy_t policy = load_policy(&turn->settings, &report);
	policy.stores = zone_edit_store(turn->settings.content);
	publish_t publish = {
		.zone = entry_zone(turn->entry), .source = &turn->entry->source, .images = turn->server->saves.images
	};
	zone_edit_flush_t flush = { turn, &publish };
	publish.store = (changes_store_t){ .journal = turn->server->journal,
		.limits = turn->settings.limits,
		.flush = zone_edit_flush,
		.ctx = &flush };
	knot_err_t err = zone_edit_source(turn, &publish.next);
	if (err != KNOT_OK) {
		return err;
	}
	update_effects_t effects;
	update->reason = turn->commit->reason;
	update->who = turn->author->who;
	update->is_forced = turn->author->is_forced;
	err = publish_update(&publish, update, turn->current, &policy, &effects);
	if (err == KNOT_OK && effects.has_base) {
		load_warn_of_serial(turn->name, effects.serial_from, effects.serial_to, true);
	}
	turn->commit->is_not_stored = publish.is_not_stored;
	turn->commit->removed = effects.removed;
	turn->commit->added = effects.added;
	return err;
}

/* The last version isn't known: a change of an older one would replace what was acknowledged. */
static knot_err_t zone_edit_refuse_behind(const turn_t *turn)
{
	char *reason = turn->commit->reason;
	knot_err_t err = changes_reopen(turn->server->journal, reason);
	if (err == KNOT_OK) {
		snprintf(reason, FAULT_REASON_MAX, "the zone is being loaded with the changes of its journal");
		err = KNOT_EAGAIN;
	}
	log_zone(LOG_ERR, turn->name, "change refused (%s, %s)", knot_strerror(err), reason);
	return err;
}

/*
 * Take the zone from the workers, do work that may publish a version, and schedule writing the zone file. Returns the
 * error of the work. is_edit: of the open transaction; else KNOT_ETXNMANY if there is one.
 */
static knot_err_t zone_edit_work(server_t *server, knot_name_t name, const server_author_t *author, bool is_edit,
		knot_err_t (*work)(const turn_t *turn, void *ctx), void *ctx, server_commit_t *commit)
{
	turn_t turn = { .server = server, .name = name, .author = author, .commit = commit };
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
	bool is_behind = err == KNOT_OK && turn.entry->is_behind;
	sys_mutex_unlock(&server->jobs.lock);
	if (err != KNOT_OK) {
		return err;
	}
	turn.current = zone_contents(entry_zone(turn.entry));
	err = is_behind ? zone_edit_refuse_behind(&turn) : work(&turn, ctx);
	bool is_new = zone_contents(entry_zone(turn.entry)) != turn.current;
	job_outcome_t outcome = { .load = is_new ? LOAD_EDITED : LOAD_UNCHANGED, .keeps_result = !is_new };
	outcome.reason = commit->is_not_stored ? strdup(commit->reason) : NULL;
	sys_mutex_lock(&server->jobs.lock);
	/* What is refused for what it says is reported to the operator and isn't the zone's fault. */
	jobs_end(&server->jobs, turn.entry, outcome, commit->is_not_stored ? err : KNOT_OK);
	server->refusals += err == KNOT_EGUARDRAIL;
	entry_t *entry = server_find_entry(server, name);
	if (is_behind && entry != NULL) {
		(void)jobs_ask(&server->jobs, entry, EVENT_LOAD, 0); /* the next attempt may find it loaded */
	}
	if (is_new && entry != NULL) {
		commit->ticket = server_flush_ticket(server, entry);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

static knot_err_t zone_edit_work_commit(const turn_t *turn, void *ctx)
{
	server_edit_t *edit = ctx;
	if (!zone_is_same_version(edit->base, turn->current)) {
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

knot_err_t server_edit_commit(
		server_t *server, knot_name_t name, const server_author_t *author, server_commit_t *ret_commit)
{
	server_edit_t *edit;
	*ret_commit = (server_commit_t){ 0 };
	knot_err_t err = zone_edit_enter_open(server, name, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	err = zone_edit_work(server, edit->name, author, true, zone_edit_work_commit, edit, ret_commit);
	if (err == KNOT_OK) {
		zone_edit_end_entered(server, edit);
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
	if (!update_serial_is_newer(wanted, before) && !turn->author->is_forced) {
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

static knot_err_t zone_edit_work_set_serial(const turn_t *turn, void *ctx)
{
	return turn->current != NULL ? zone_edit_set_serial(turn, ctx) : KNOT_EEMPTYZONE;
}

knot_err_t server_set_serial(server_t *server, knot_name_t name, const server_serial_t *serial,
		const server_author_t *author, server_commit_t *ret_commit)
{
	server_serial_t copy = *serial;
	*ret_commit = (server_commit_t){ 0 };
	return zone_edit_work(server, name, author, false, zone_edit_work_set_serial, &copy, ret_commit);
}

/* ---- Going back ---- */

static knot_err_t zone_edit_revert(const turn_t *turn, const history_target_t *target)
{
	update_t update;
	uint32_t before = turn->current->serial;
	knot_err_t err = update_begin(turn->name, UPDATE_REVERT, turn->current, &update);
	if (err != KNOT_OK) {
		return err;
	}
	err = history_go_back(turn->server->journal, turn->name, before, target, update.txn, turn->commit->reason);
	err = err == KNOT_OK ? zone_edit_publish(turn, &update) : err;
	update_end(&update);
	const zone_contents_t *now = zone_contents(entry_zone(turn->entry));
	if (err == KNOT_OK && now != turn->current) {
		log_control_zone(LOG_INFO, turn->name,
				"control, zone reverted, serial %u -> %u, records: %zu removed, %zu added", before,
				now->serial, turn->commit->removed, turn->commit->added);
	}
	return err;
}

static knot_err_t zone_edit_work_revert(const turn_t *turn, void *ctx)
{
	return turn->current != NULL ? zone_edit_revert(turn, ctx) : KNOT_EEMPTYZONE;
}

knot_err_t server_revert(server_t *server, knot_name_t name, const history_target_t *target,
		const server_author_t *author, server_commit_t *ret_commit)
{
	history_target_t copy = *target;
	*ret_commit = (server_commit_t){ .ticket = 0 };
	return zone_edit_work(server, name, author, false, zone_edit_work_revert, &copy, ret_commit);
}

/* ---- The zone file ---- */

knot_err_t server_build_file(server_t *server, knot_name_t name, char reason[static FAULT_REASON_MAX],
		zone_contents_t **ret_contents)
{
	load_settings_t settings;
	load_report_t report = { .name = name, .stopping = &server->jobs.stopping, .reason = reason };
	reason[0] = '\0';
	knot_err_t err = load_settings(&server->root, name, &settings);
	err = err == KNOT_OK ? load_build(&settings, &report, ret_contents) : err;
	if (err != KNOT_OK && err != KNOT_ENOZONE && reason[0] == '\0') {
		snprintf(reason, FAULT_REASON_MAX, "file '%.300s'", settings.path);
	}
	return err;
}
