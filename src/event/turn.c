/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/publish.h"
#include "src/event/zone_flush.h"
#include "src/sys/log.h"

bool turn_may_change(server_t *server, const entry_t *entry)
{
	sys_mutex_lock(&server->jobs.lock);
	bool is_behind = entry->is_behind;
	sys_mutex_unlock(&server->jobs.lock);
	return !is_behind;
}

/** What a commit needs to make room in the journal. */
typedef struct {
	const turn_t *turn;
	publish_t *publish;
} turn_flush_t;

/* Where the contents will come from: the same file, and changes. */
static knot_err_t turn_source(const turn_t *turn, load_source_t *ret_source)
{
	uint32_t serial = turn->current != NULL ? turn->current->serial : 0;
	return source_of_changes(&turn->entry->source, turn->settings.path, turn->settings.number,
			turn->current != NULL ? &serial : NULL, ret_source);
}

/* The journal is full: write the zone file, so that changes which it has may go. */
static knot_err_t turn_write_file(void *ctx)
{
	const turn_flush_t *flush = ctx;
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
		err = turn_source(turn, &flush->publish->next);
	}
	return err;
}

/*
 * The first version of a zone, by a transfer: its image is saved soon, and if the server is killed before, it asks its
 * primary again. To list and to store all of it would only delay its first answer. But if the journal has something of
 * before, that mustn't be taken for what follows this version.
 */
static bool turn_is_first_transfer(const turn_t *turn, const update_t *update)
{
	journal_info_t info;
	return update->source == UPDATE_TRANSFER && turn->current == NULL && images_exist(turn->server->saves.images) &&
	       journal_info(turn->server->journal, turn->name, &info) == KNOT_ENOENT;
}

knot_err_t turn_publish(const turn_t *turn, update_t *update)
{
	load_report_t report = { .name = turn->name, .reason = turn->commit->reason };
	update_policy_t policy = load_policy(&turn->settings, &report);
	if (policy.stores == UPDATE_STORES_CHANGES && turn_is_first_transfer(turn, update)) {
		policy.stores = UPDATE_STORES_NOTHING;
	}
	if (update->source == UPDATE_DDNS) {
		policy.build.checks =
				ZONE_CHECKS_SOFT; /* as in Knot: one update that a check refuses would fail others */
		policy.build.on_message = NULL;
	}
	publish_t publish = { .zone = entry_zone(turn->entry),
		.how = turn->how,
		.source = &turn->entry->source,
		.images = turn->server->saves.images,
		.outside = update->source == UPDATE_DDNS || update->source == UPDATE_TRANSFER ||
							   update->source == UPDATE_DERIVED ||
							   update->source == UPDATE_CHILD ||
							   update->source == UPDATE_SIGNER
					   ? turn->server
					   : NULL,
		.server = turn->server,
		.catalogs = turn->settings.catalog_role == CONF_CATALOG_INTERPRET ? turn->server : NULL };
	turn_flush_t flush = { turn, &publish };
	publish.store = (changes_store_t){ .journal = turn->server->journal,
		.limits = turn->settings.limits,
		.flush = turn_write_file,
		.ctx = &flush };
	knot_err_t err = turn_source(turn, &publish.next);
	if (err != KNOT_OK) {
		return err;
	}
	update_effects_t effects;
	update->reason = turn->commit->reason;
	update->who = turn->author->who;
	update->is_forced = turn->author->is_forced;
	err = publish_update(&publish, update, turn->current, &policy, &effects);
	if (err == KNOT_OK && effects.is_published && effects.has_base) {
		load_warn_of_serial(turn->name, effects.serial_from, effects.serial_to, true);
	}
	source_clear(&publish.next); /* there was nothing to publish */
	turn->commit->is_not_stored = publish.is_not_stored;
	turn->commit->is_not_signed = publish.is_not_signed;
	turn->commit->flaw = publish.flaw;
	turn->commit->removed = effects.removed;
	turn->commit->added = effects.added;
	return err;
}

/* The last version isn't known: a change of an older one would replace what was acknowledged. */
static knot_err_t turn_refuse_behind(const turn_t *turn)
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

knot_err_t turn_run(server_t *server, knot_name_t name, const server_author_t *author, bool is_edit,
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
	err = is_behind ? turn_refuse_behind(&turn) : work(&turn, ctx);
	bool is_new = zone_contents(entry_zone(turn.entry)) != turn.current;
	job_outcome_t outcome = { .load = is_new ? LOAD_EDITED : LOAD_UNCHANGED, .keeps_result = !is_new };
	bool is_fault = err != KNOT_OK && (commit->is_not_stored || commit->is_not_signed);
	outcome.reason = is_fault ? strdup(commit->reason) : NULL;
	sys_mutex_lock(&server->jobs.lock);
	/* What is refused for what it says is reported to the operator and isn't the zone's fault. */
	jobs_end(&server->jobs, turn.entry, outcome, is_fault ? err : KNOT_OK);
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
