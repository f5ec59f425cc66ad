/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/zone_edit.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/event/derive_zone.h"
#include "src/event/turn.h"
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

bool server_is_validated(server_t *server, knot_name_t name)
{
	return external_is_waiting(&server->externals, name);
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
	if (server_is_restoring(server, entry)) {
		log_zone(LOG_WARNING, edit->name, "zone restore pending, try opening control transaction later");
		return KNOT_ETRYAGAIN;
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

/* 0 if the zone isn't configured any more. */
static uint32_t zone_edit_default_ttl(const server_t *server, knot_name_t name)
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	return state_settings(state_load(&server->root, guard), name, &zone) ? zone.default_ttl : 0;
}

knot_err_t server_edit_enter(server_t *server, knot_name_t name, server_edit_t **ret_edit, edit_t *ret_changes)
{
	knot_err_t err = zone_edit_enter_open(server, name, ret_edit);
	if (err == KNOT_OK) {
		*ret_changes = (edit_t){ .txn = (*ret_edit)->update.txn,
			.origin = (*ret_edit)->name,
			.default_ttl = zone_edit_default_ttl(server, name),
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
	if (external_decide(&server->externals, name, false)) {
		return KNOT_OK;
	}
	knot_err_t err = zone_edit_enter_open(server, name, &edit);
	if (err == KNOT_OK) {
		zone_edit_end_entered(server, edit);
		server_edit_leave(server, edit);
	}
	return err;
}

/* ---- Committing ---- */

static knot_err_t zone_edit_work_commit(const turn_t *turn, void *ctx)
{
	server_edit_t *edit = ctx;
	if (!zone_is_same_version(edit->base, turn->current)) {
		return KNOT_ETRYAGAIN;
	}
	knot_err_t err = turn_publish(turn, &edit->update);
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
	if (external_decide(&server->externals, name, true)) {
		return KNOT_OK;
	}
	knot_err_t err = zone_edit_enter_open(server, name, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	err = turn_run(server, edit->name, author, true, zone_edit_work_commit, edit, ret_commit);
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
	err = err == KNOT_OK ? turn_publish(turn, &update) : err;
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
	return turn_run(server, name, author, false, zone_edit_work_set_serial, &copy, ret_commit);
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
	err = err == KNOT_OK ? turn_publish(turn, &update) : err;
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
	return turn_run(server, name, author, false, zone_edit_work_revert, &copy, ret_commit);
}

/* ---- The zone file ---- */

knot_err_t server_build_file(server_t *server, knot_name_t name, char reason[static FAULT_REASON_MAX],
		zone_contents_t **ret_contents)
{
	load_settings_t settings;
	load_report_t report = { .name = name, .stopping = &server->jobs.stopping, .reason = reason };
	reason[0] = '\0';
	knot_err_t err = load_settings(&server->root, name, &settings);
	zone_contents_t *contents;
	err = err == KNOT_OK ? load_build(&settings, &report, &contents) : err;
	if (err == KNOT_OK) {
		const update_policy_t policy = load_policy(&settings, &report);
		err = derived_preview(server, name, &policy.build, &contents);
		if (err != KNOT_OK) {
			zone_contents_free(contents);
		} else {
			*ret_contents = contents;
		}
	}
	if (err != KNOT_OK && err != KNOT_ENOZONE && reason[0] == '\0') {
		snprintf(reason, FAULT_REASON_MAX, "file '%.300s'", settings.path);
	}
	return err;
}
