/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load_steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/sys/log.h"

/* ---- Without reading anything ---- */

static knot_err_t load_nothing(loading_t *loading)
{
	if (!loading->env->has_primaries) {
		log_zone(LOG_INFO, loading->report.name, "zone not found");
	}
	return KNOT_ENOENT;
}

static knot_err_t load_keep(loading_t *loading)
{
	if (loading->settings.load != CONF_ZONEFILE_NONE) {
		log_zone(LOG_INFO, loading->report.name, "zone file not changed, serial %u",
				zone_contents(loading->zone)->serial);
	}
	loading->outcome = LOAD_UNCHANGED;
	return KNOT_OK;
}

/* ---- Facts ---- */

/* One that is ahead of its file stays good when settings change, but not if the zone is made of others now. */
static void load_drop_image_of_others(loading_t *loading)
{
	const sources_t *files = loading->image_source.files;
	if (loading->env->derived != NULL && files != NULL && files->settings != loading->settings.number) {
		zone_contents_free(loading->image);
		source_clear(&loading->image_source);
		loading->image = NULL;
		log_zone(LOG_INFO, loading->report.name, "image not used (settings changed)");
	}
}

/* The image, if there is one of the present files. If not, and there is one, the log says why. */
static void load_read_image(loading_t *loading)
{
	images_query_t query = {
		.name = loading->report.name, .path = loading->settings.path, .settings = loading->settings.number
	};
	char reason[IMAGES_REASON_MAX];
	switch (images_read(loading->env->images, &query, &loading->image, &loading->image_source, reason)) {
	case IMAGES_READ: load_drop_image_of_others(loading); break;
	case IMAGES_NONE: break;
	case IMAGES_STALE: log_zone(LOG_INFO, query.name, "image not used (%s)", reason); break;
	case IMAGES_DAMAGED:
		log_zone(LOG_WARNING, query.name, "image not used (%s), rebuilding from zone file", reason);
		break;
	}
}

static bool load_note_source(const journal_entry_t *entry, void *ctx)
{
	*(uint8_t *)ctx = entry->change.source;
	return false;
}

/* True if the journal's whole zone came from no file, and no file has it. */
static bool load_is_only_in_journal(const loading_t *loading)
{
	uint8_t source = UPDATE_FILE;
	if (!loading->journal.has_whole || loading->journal.has_flushed ||
			journal_read_zone(loading->env->journal, loading->report.name, load_note_source, &source) !=
					KNOT_OK) {
		return false;
	}
	return source != UPDATE_FILE;
}

/* What the journal has. Of a damaged one that is nothing. */
static void load_look_into_journal(loading_t *loading)
{
	knot_err_t err = journal_info(loading->env->journal, loading->report.name, &loading->journal);
	if (err != KNOT_OK) {
		loading->journal = (journal_info_t){ .has_whole = false };
	}
	if (err != KNOT_OK && err != KNOT_ENOENT && err != KNOT_EMALF &&
			loading->settings.content != CONF_JOURNAL_NONE) {
		loading->journal_err = err;
	}
}

static load_facts_t load_find_facts(loading_t *loading)
{
	struct stat info;
	const load_settings_t *settings = &loading->settings;
	load_facts_t facts = {
		.load = settings->load,
		.content = settings->content,
		.is_signed = settings->is_signed,
		.is_served = load_served(loading) != NULL,
	};
	facts.is_current = facts.is_served && source_is_current(loading->source, settings->path, settings->number) &&
			   !loading->env->is_made_otherwise;
	if (!facts.is_current) {
		load_look_into_journal(loading);
	}
	if (!facts.is_served && settings->load != CONF_ZONEFILE_NONE) {
		load_read_image(loading);
	}
	facts.has_image = loading->image != NULL;
	facts.has_whole = loading->journal.has_whole;
	facts.has_file = !facts.has_whole || source_stat(settings->path, &info) != KNOT_ENOENT;
	facts.is_only_journal = !facts.has_file && load_is_only_in_journal(loading);
	return facts;
}

static knot_err_t load_run_plan(loading_t *loading)
{
	static knot_err_t (*const runs[])(loading_t *) = {
		[LOAD_BASE_KEEP] = load_keep,
		[LOAD_BASE_NOTHING] = load_nothing,
		[LOAD_BASE_IMAGE] = load_from_image,
		[LOAD_BASE_FILE] = load_from_file,
		[LOAD_BASE_JOURNAL] = load_from_journal,
		[LOAD_BASE_SERVED] = load_into_served,
	};
	return runs[loading->plan.base](loading);
}

/* The journal can't be read. What is served stays; if nothing is, an older version is better than none. */
static knot_err_t load_run_alone(loading_t *loading, bool is_served)
{
	char why[FAULT_REASON_MAX] = "";
	knot_err_t journal_err = changes_reopen(loading->env->journal, why), err = KNOT_OK;
	journal_err = journal_err != KNOT_OK ? journal_err : loading->journal_err;
	loading->plan.has_changes = false;
	if (!is_served) {
		*loading->env->is_behind = true;
		err = loading->plan.base != LOAD_BASE_NOTHING ? load_run_plan(loading) : KNOT_OK;
	}
	load_log_end(loading);
	log_zone(LOG_ERR, loading->report.name, "failed to load journal (%s)%s", knot_strerror(journal_err),
			is_served ? "" : ", changes that only it has aren't served, and new ones are refused");
	if (loading->report.reason[0] == '\0') {
		snprintf(loading->report.reason, FAULT_REASON_MAX, "%s", why);
	}
	return err == KNOT_OK ? journal_err : err;
}

static knot_err_t load_run(loading_t *loading)
{
	const load_facts_t facts = load_find_facts(loading);
	loading->plan = load_plan(&facts);
	if (loading->env->is_made_otherwise && loading->env->derived == NULL) {
		loading->plan.has_changes = false; /* they brought records of other zones */
	}
	if (loading->journal_err != KNOT_OK) {
		return load_run_alone(loading, facts.is_served);
	}
	knot_err_t err = load_run_plan(loading);
	if (err == KNOT_OK) {
		*loading->env->is_behind = false;
		load_refresh_zonemd(loading);
	}
	return err;
}

knot_err_t load_zone(const load_env_t *env, zone_t *zone, load_source_t *source, load_outcome_t *ret_outcome,
		char ret_reason[static FAULT_REASON_MAX])
{
	*ret_outcome = LOAD_FAILED;
	ret_reason[0] = '\0';
	loading_t *loading = calloc(1, sizeof(*loading));
	if (loading == NULL) {
		return KNOT_ENOMEM;
	}
	loading->env = env;
	loading->zone = zone;
	loading->source = source;
	loading->report = (load_report_t){ .name = zone_name(zone), .stopping = env->stopping, .reason = ret_reason };
	knot_err_t err = load_settings(env->root, loading->report.name, &loading->settings);
	if (err == KNOT_OK) {
		*env->ret_sync_s = loading->settings.sync_s;
		err = load_run(loading);
		load_log_end(loading);
		*ret_outcome = err == KNOT_OK ? loading->outcome : LOAD_FAILED;
	} else if (err != KNOT_ENOZONE) {
		load_log_failure(loading, err);
	}
	zone_contents_free(loading->image);
	source_clear(&loading->image_source);
	free(loading);
	return err;
}
