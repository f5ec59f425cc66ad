/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load_steps.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sys/log.h"
#include "src/update/serial.h"
#include "src/zone/diff.h"

/* ---- Log ---- */

void load_note(loading_t *loading, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	assert(loading->line_count < LOADING_LINES_MAX);
	vsnprintf(loading->lines[loading->line_count++], LOADING_LINE_MAX, format, args);
	va_end(args);
}

void load_write_notes(loading_t *loading)
{
	for (unsigned i = 0; i < loading->line_count; i++) {
		log_zone(LOG_INFO, loading->report.name, "%s", loading->lines[i]);
	}
	loading->line_count = 0;
}

void load_note_end(loading_t *loading, const update_effects_t *effects, uint64_t size)
{
	loading->has_end = true;
	loading->end = *effects;
	loading->end_size = size;
}

void load_note_signed(loading_t *loading, uint32_t file_serial, uint32_t serial)
{
	if (loading->settings.is_signed && !loading->plan.ignores_serial && serial != file_serial) {
		loading->has_between = true;
		loading->between = file_serial;
	}
}

void load_log_end(loading_t *loading)
{
	const update_effects_t *effects = &loading->end;
	if (!loading->has_end) {
		return;
	}
	loading->has_end = false;
	sys_log_gathered_t lines;
	char before[16] = "none", by_way[32] = "";
	if (effects->has_base) {
		snprintf(before, sizeof(before), "%u", effects->serial_from);
	}
	if (loading->has_between) {
		snprintf(by_way, sizeof(by_way), " -> %u", loading->between);
	}
	bool is_image = loading->plan.base == LOAD_BASE_IMAGE;
	sys_log_gather(&lines);
	load_write_notes(loading);
	log_zone(LOG_INFO, loading->report.name, "loaded, serial %s%s -> %u, %llu bytes%s", before, by_way,
			effects->serial_to, (unsigned long long)loading->end_size, is_image ? ", from image" : "");
	sys_log_write_gathered();
	if (loading->warns_of_serial && effects->has_base) {
		load_warn_of_serial(loading->report.name, effects->serial_from, effects->serial_to, loading->is_same);
	}
}

/* The lines that Knot writes after the messages about single faults. */
void load_log_failure(const loading_t *loading, knot_err_t err)
{
	bool is_bootstrapped = err == KNOT_ENOENT && loading->env->has_primaries;
	log_zone(is_bootstrapped ? LOG_INFO : LOG_ERR, loading->report.name, "failed to parse zone file '%s' (%s)",
			loading->settings.path, knot_strerror(err));
	if (err == KNOT_ENOENT && !is_bootstrapped) {
		log_zone(LOG_INFO, loading->report.name, "zone not found");
	}
}

void load_warn_of_serial(knot_name_t name, uint32_t before, uint32_t after, bool is_same)
{
	int32_t step = (int32_t)(after - before); /* RFC 1982 3.2 */
	if (step < 0) {
		log_zone(LOG_WARNING, name,
				"updated SOA serial is lower than current, serial %u -> %u, secondaries keep the old "
				"version",
				before, after);
	} else if (step == 0 && !is_same) {
		log_zone(LOG_WARNING, name, "contents changed, but not the serial %u, secondaries keep the old version",
				after);
	}
}

/* ---- Publishing ---- */

/* True if the records are the same, or if there is no memory to compare. */
static bool load_is_same(const zone_contents_t *a, const zone_contents_t *b)
{
	bool differs;
	return zone_differs(a, b, ZONE_DIFFERS_AT_ALL, &differs) != KNOT_OK || !differs;
}

static knot_err_t load_flush_is_needless(void *ctx)
{
	/* The file that is loaded is newer than what was served. */
	const loading_t *loading = ctx;
	const zone_contents_t *served = load_served(loading);
	if (served != NULL) {
		changes_mark_flushed(loading->env->journal, loading->report.name, served->serial);
	}
	return KNOT_OK;
}

publish_t load_begin_publish(loading_t *loading, load_source_t *take_next)
{
	publish_t publish = {
		.zone = loading->zone,
		.source = loading->source,
		.next = *take_next,
		.store = { .journal = loading->env->journal,
				.limits = loading->settings.limits,
				.flush = load_flush_is_needless,
				.ctx = loading },
		.images = loading->env->images,
		.outside = loading->outcome == LOAD_FROM_FILE ? loading->env->server : NULL,
		.server = loading->env->server,
		.catalogs = loading->settings.catalog_role == CONF_CATALOG_INTERPRET ? loading->env->server : NULL,
		.is_unsigned = loading->is_unsigned,
		.is_known = loading->is_known,
		.may_go_unstored = true,
	};
	*take_next = (load_source_t){ 0 };
	return publish;
}

/* What the journal gets of a whole version. */
static update_store_t load_choose_store(const loading_t *loading, uint32_t serial)
{
	const journal_info_t *info = &loading->journal;
	bool is_served = load_served(loading) != NULL;
	bool has_any = info->has_whole || info->has_changes || info->notes > 0;
	if (loading->journal_err != KNOT_OK) {
		return UPDATE_STORES_NOTHING;
	}
	switch (loading->settings.content) {
	case CONF_JOURNAL_NONE: break;
	case CONF_JOURNAL_CHANGES:
		/* A note for the zone's history, if it has one: a million zones don't write one at each reload. */
		return is_served && has_any ? UPDATE_STORES_CHANGES : UPDATE_STORES_NOTHING;
	case CONF_JOURNAL_ALL:
		return is_served || !info->has_whole || info->serial_last != serial ? UPDATE_STORES_ALL
										    : UPDATE_STORES_NOTHING;
	}
	return UPDATE_STORES_NOTHING;
}

/* True if what is served, or what the journal ends with, has the serial: no version is asked about again. */
static bool load_is_known(const loading_t *loading, uint32_t serial)
{
	const journal_info_t *info = &loading->journal;
	const zone_contents_t *served = load_served(loading);
	bool has_any = info->has_whole || info->has_changes || info->notes > 0;
	return (served != NULL && served->serial == serial) || (has_any && info->serial_last == serial);
}

knot_err_t load_publish_whole(
		loading_t *loading, update_source_t from, zone_contents_t *take_contents, load_source_t *take_source)
{
	const zone_contents_t *old = load_served(loading);
	uint32_t serial = take_contents->serial;
	bool is_same = old != NULL && old->serial == take_contents->serial && load_is_same(old, take_contents);
	uint64_t size = take_contents->wire_size;
	update_policy_t policy = load_policy(&loading->settings, &loading->report);
	policy.stores = from == UPDATE_FILE && !is_same ? load_choose_store(loading, take_contents->serial)
							: UPDATE_STORES_NOTHING;
	publish_t publish = load_begin_publish(loading, take_source);
	if (from != UPDATE_FILE || load_is_known(loading, take_contents->serial)) {
		publish.outside = NULL;
	}
	update_t update;
	update_effects_t effects;
	update_begin_whole(loading->report.name, from, old, take_contents, &update);
	update.reason = loading->report.reason;
	update.is_forced = loading->env->is_forced;
	update.keeps_zonemd = true; /* see load_refresh_zonemd() */
	if (policy.verifies_zonemd) {
		load_write_notes(loading);
	}
	knot_err_t err = publish_update(&publish, &update, old, &policy, &effects);
	update_end(&update);
	if (err != KNOT_OK) {
		return err;
	}
	if (publish.has_stored && policy.stores == UPDATE_STORES_ALL) {
		load_note(loading, "zone stored to journal, serial %u", effects.serial_to);
	}
	load_note_signed(loading, serial, effects.serial_to);
	load_note_end(loading, &effects, effects.is_signed ? zone_contents(loading->zone)->wire_size : size);
	loading->warns_of_serial = true;
	loading->is_same = is_same;
	return KNOT_OK;
}

/* ---- Signing ---- */

/* A zone that isn't signed yet and is larger than this, in bytes of wire form, is signed while it is built a second
 * time, and the journal doesn't get what was added: the image has it. */
enum { LOAD_SIGNED_IN_STEP_MAX = 16 * 1024 * 1024 };

/* The version with its signatures follows on the one without them, in the journal, too. *ret_published false: it needs
 * no signatures, and is the caller's with its source. */
static knot_err_t load_publish_step(
		loading_t *loading, zone_contents_t *contents, load_source_t *source, bool *ret_published)
{
	update_t update;
	update_effects_t effects;
	bool has_base = load_served(loading) != NULL;
	uint32_t before = has_base ? load_served(loading)->serial : 0;
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	knot_err_t err = update_begin(loading->report.name, UPDATE_FILE, contents, &update);
	if (err != KNOT_OK) {
		return err;
	}
	publish_t publish = load_begin_publish(loading, source);
	publish.may_step_unstored = true;
	update.reason = loading->report.reason;
	update.is_forced = loading->env->is_forced;
	load_write_notes(loading);
	err = publish_update(&publish, &update, contents, &policy, &effects);
	update_end(&update);
	*ret_published = err == KNOT_OK && effects.is_published;
	if (*ret_published) {
		load_note_signed(loading, effects.serial_from, effects.serial_to);
		effects.has_base = has_base;
		effects.serial_from = before;
		load_note_end(loading, &effects, zone_contents(loading->zone)->wire_size);
		loading->warns_of_serial = true;
	} else if (err == KNOT_OK) {
		*source = publish.next;
	}
	return err;
}

knot_err_t load_publish(loading_t *loading, update_source_t from, bool is_of_file, zone_contents_t *take_contents,
		load_source_t *take_source)
{
	const load_settings_t *settings = &loading->settings;
	bool is_due = settings->is_signed && (is_of_file || !take_contents->is_signed), is_published = false;
	loading->is_unsigned = !is_due;
	loading->is_known = !is_of_file && !is_due;
	uint32_t serial = loading->file_serial != 0 ? loading->file_serial : take_contents->serial;
	knot_err_t err = is_due ? source_go_ahead(take_source, settings->path, settings->number, &serial) : KNOT_OK;
	bool is_repeated = take_contents->serial != serial; /* what only the journal has must stay in it */
	bool is_step = take_contents->is_signed || is_repeated || take_contents->wire_size <= LOAD_SIGNED_IN_STEP_MAX;
	if (err == KNOT_OK && is_due && is_step) {
		err = load_publish_step(loading, take_contents, take_source, &is_published);
		loading->is_unsigned = true;
	}
	if (err == KNOT_OK && !is_published) {
		return load_publish_whole(loading, from, take_contents, take_source);
	}
	zone_contents_free(take_contents);
	source_clear(take_source);
	return err;
}

/* ---- ZONEMD ---- */

/* Another version may not be in the file. */
static knot_err_t load_flush_nothing(void *ctx)
{
	(void)ctx;
	return KNOT_EFILE;
}

static knot_err_t load_publish_zonemd(loading_t *loading, const zone_contents_t *base)
{
	load_source_t next;
	uint32_t serial = base->serial;
	update_t update;
	update_effects_t effects = { 0 };
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	knot_err_t err = update_begin(loading->report.name, UPDATE_FILE, base, &update);
	if (err != KNOT_OK) {
		return err;
	}
	err = update_set_serial(
			update.txn, update.origin, update_serial_next(serial, &policy.serials, policy.build.now_s));
	err = err == KNOT_OK ? source_of_changes(loading->source, loading->settings.path, loading->settings.number,
					       &serial, &next)
			     : err;
	if (err == KNOT_OK) {
		publish_t publish = load_begin_publish(loading, &next);
		publish.store.flush = load_flush_nothing;
		publish.outside = NULL; /* the records were looked at */
		publish.may_go_unstored = false;
		err = publish_update(&publish, &update, base, &policy, &effects);
	}
	update_end(&update);
	if (err == KNOT_OK) {
		loading->has_between = true;
		loading->between = effects.serial_from;
		loading->end.serial_to = effects.serial_to;
		loading->end_size = zone_contents(loading->zone)->wire_size;
	}
	return err;
}

void load_refresh_zonemd(loading_t *loading)
{
	const zone_contents_t *base = load_served(loading);
	bool is_due = false;
	if (!loading->has_end || base == NULL || loading->settings.zonemd == CONF_ZONEMD_NONE) {
		return;
	}
	knot_err_t err = update_zonemd_is_due(base, loading->settings.zonemd, &is_due);
	err = err == KNOT_OK && is_due ? load_publish_zonemd(loading, base) : err;
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, loading->report.name, "failed to update ZONEMD record (%s)", knot_strerror(err));
	}
}

/* ---- The file ---- */

/* Read the file. The caller owns both results. */
static knot_err_t load_read_file(loading_t *loading, zone_contents_t **ret_contents, load_source_t *ret_source)
{
	sources_t *sources = calloc(1, sizeof(*sources));
	if (sources == NULL) {
		return KNOT_ENOMEM;
	}
	sources->settings = loading->settings.number;
	loading->report.sources = sources;
	knot_err_t err = load_build(&loading->settings, &loading->report, ret_contents);
	loading->report.sources = NULL;
	if (err == KNOT_OK) {
		*ret_source = (load_source_t){ .print = sources_print(sources), .files = sources };
		return KNOT_OK;
	}
	sources_free(sources);
	load_write_notes(loading);
	if (loading->report.reason[0] == '\0') {
		snprintf(loading->report.reason, FAULT_REASON_MAX, "file '%.300s'", loading->settings.path);
	}
	if (err != KNOT_ESTOPPED) { /* the server ends: nothing is wrong with the file */
		load_log_failure(loading, err);
	}
	return err;
}

/*
 * The zone file has the version `serial`. A crash may come between the file and its note in the journal, which would
 * then merge changes past that version, and none would lead on from the file.
 */
void load_note_flushed(const loading_t *loading, uint32_t serial)
{
	const journal_info_t *info = &loading->journal;
	bool is_known = info->has_flushed && (int32_t)(serial - info->serial_flushed) <= 0; /* RFC 1982 3.2 */
	if (loading->plan.has_changes && info->has_changes && serial != info->serial_first && !is_known) {
		changes_mark_flushed(loading->env->journal, loading->report.name, serial);
	}
}

knot_err_t load_apply(loading_t *loading, zone_contents_t **contents, load_source_t *source)
{
	if (!loading->plan.has_changes || !loading->journal.has_changes) {
		return KNOT_OK;
	}
	changes_span_t span;
	load_write_notes(loading); /* what doesn't fit is logged behind them */
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	bool is_signed = loading->settings.is_signed && loading->outcome == LOAD_FROM_FILE;
	knot_err_t err = is_signed ? changes_repeat(loading->env->journal, &policy.build, contents, &span)
				   : changes_apply(loading->env->journal, &policy.build, contents, &span);
	if (err == KNOT_OK && span.count > 0) {
		load_note(loading, "changes from journal applied, serial %u -> %u", span.from, span.to);
		err = source_go_ahead(source, loading->settings.path, loading->settings.number, &span.from);
		loading->outcome = loading->outcome == LOAD_FROM_IMAGE ? LOAD_FROM_IMAGE_AND_CHANGES : loading->outcome;
	}
	return err;
}

knot_err_t load_read_and_apply(loading_t *loading, zone_contents_t **ret_contents, load_source_t *ret_source)
{
	zone_contents_t *contents;
	load_source_t source = { 0 };
	knot_err_t err = load_read_file(loading, &contents, &source);
	if (err != KNOT_OK) {
		return err;
	}
	if (!loading->plan.ignores_serial) {
		load_note(loading, "zone file parsed, serial %u", contents->serial);
	}
	loading->file_serial = contents->serial;
	if (loading->env->derived != NULL) {
		derived_note_own(loading->env->derived, contents);
	}
	load_note_flushed(loading, contents->serial);
	err = load_apply(loading, &contents, &source);
	if (err != KNOT_OK) {
		load_write_notes(loading);
		log_zone(LOG_WARNING, loading->report.name, "failed to load journal (%s)", knot_strerror(err));
	}
	if (err != KNOT_OK && load_served(loading) != NULL) {
		zone_contents_free(contents);
		source_clear(&source);
		return err;
	}
	*ret_contents = contents;
	*ret_source = source;
	return KNOT_OK;
}
