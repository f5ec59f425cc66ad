/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading as load_plan() says: one function for each base. What is logged about files and journal comes in Knot's
 * order, at the end or before the first fault.
 */
#include "src/event/load.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/load_plan.h"
#include "src/event/publish.h"
#include "src/sys/log.h"
#include "src/update/serial.h"
#include "src/zone/diff.h"

enum { LOADING_LINES_MAX = 4, LOADING_LINE_MAX = 96 };

/** A load on its way. */
typedef struct {
	const load_env_t *env;
	zone_t *zone;
	load_source_t *source; /* of what is served */
	load_settings_t settings;
	load_plan_t plan;
	journal_info_t journal; /* all zero: nothing is there */
	knot_err_t journal_err; /* what it has can't be read */
	zone_contents_t *image; /* owned; NULL: none */
	load_source_t image_source;
	load_report_t report;
	char lines[LOADING_LINES_MAX][LOADING_LINE_MAX]; /* what has been done and isn't logged yet */
	unsigned line_count;
	bool has_between; /* the zone got a serial and lost it again, as nothing else differs */
	uint32_t between;
	load_outcome_t outcome;
} loading_t;

/* What is served and what new contents follow on; NULL: nothing, or only what was to be had without the journal. */
static const zone_contents_t *load_served(const loading_t *loading)
{
	return *loading->env->is_behind ? NULL : zone_contents(loading->zone);
}

/* ---- Log ---- */

__attribute__((format(printf, 2, 3))) static void load_note(loading_t *loading, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	assert(loading->line_count < LOADING_LINES_MAX);
	vsnprintf(loading->lines[loading->line_count++], LOADING_LINE_MAX, format, args);
	va_end(args);
}

static void load_write_notes(loading_t *loading)
{
	for (unsigned i = 0; i < loading->line_count; i++) {
		log_zone(LOG_INFO, loading->report.name, "%s", loading->lines[i]);
	}
	loading->line_count = 0;
}

static void load_log_end(loading_t *loading, const update_effects_t *effects, uint64_t size)
{
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
			effects->serial_to, (unsigned long long)size, is_image ? ", from image" : "");
	sys_log_write_gathered();
}

/* The lines that Knot writes after the messages about single faults. */
static void load_log_failure(const loading_t *loading, knot_err_t err)
{
	log_zone(LOG_ERR, loading->report.name, "failed to parse zone file '%s' (%s)", loading->settings.path,
			knot_strerror(err));
	if (err == KNOT_ENOENT) {
		log_zone(LOG_INFO, loading->report.name, "zone not found");
	}
}

void load_warn_of_serial(knot_name_t name, uint32_t before, uint32_t after, bool is_same)
{
	int32_t step = (int32_t)(after - before); /* RFC 1982 3.2 */
	if (step < 0) {
		log_zone(LOG_WARNING, name, "serial went back, %u -> %u, secondaries keep the old version", before,
				after);
	} else if (step == 0 && !is_same) {
		log_zone(LOG_WARNING, name, "contents changed, but not the serial %u, secondaries keep the old version",
				after);
	}
}

/* ---- Publishing ---- */

static bool load_note_difference(const zone_rr_t *rr, bool is_added, void *ctx)
{
	(void)rr;
	(void)is_added;
	*(bool *)ctx = true;
	return false;
}

/* True if the records are the same, or if there is no memory to compare. */
static bool load_is_same(const zone_contents_t *a, const zone_contents_t *b)
{
	bool differs = false;
	return zone_diff(a, b, load_note_difference, &differs) != KNOT_OK || !differs;
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

static publish_t load_begin_publish(loading_t *loading, load_source_t *take_next)
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

/* Serve a version in place of what is served. */
static knot_err_t load_publish_whole(
		loading_t *loading, update_source_t from, zone_contents_t *take_contents, load_source_t *take_source)
{
	const zone_contents_t *old = load_served(loading);
	bool is_same = old != NULL && old->serial == take_contents->serial && load_is_same(old, take_contents);
	uint64_t size = take_contents->wire_size;
	update_policy_t policy = load_policy(&loading->settings, &loading->report);
	policy.stores = from == UPDATE_FILE && !is_same ? load_choose_store(loading, take_contents->serial)
							: UPDATE_STORES_NOTHING;
	publish_t publish = load_begin_publish(loading, take_source);
	update_t update;
	update_effects_t effects;
	update_begin_whole(loading->report.name, from, old, take_contents, &update);
	update.reason = loading->report.reason;
	update.is_forced = loading->env->is_forced;
	knot_err_t err = publish_update(&publish, &update, old, &policy, &effects);
	update_end(&update);
	if (err != KNOT_OK) {
		return err;
	}
	if (publish.has_stored && policy.stores == UPDATE_STORES_ALL) {
		load_note(loading, "zone stored to journal, serial %u", effects.serial_to);
	}
	load_log_end(loading, &effects, size);
	if (effects.has_base) {
		load_warn_of_serial(loading->report.name, effects.serial_from, effects.serial_to, is_same);
	}
	return KNOT_OK;
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
static void load_note_flushed(const loading_t *loading, uint32_t serial)
{
	const journal_info_t *info = &loading->journal;
	bool is_known = info->has_flushed && (int32_t)(serial - info->serial_flushed) <= 0; /* RFC 1982 3.2 */
	if (loading->plan.has_changes && info->has_changes && serial != info->serial_first && !is_known) {
		changes_mark_flushed(loading->env->journal, loading->report.name, serial);
	}
}

/* Apply what the journal has after the serial of *contents, and note that they are ahead of the file then. */
static knot_err_t load_apply(loading_t *loading, zone_contents_t **contents, load_source_t *source)
{
	if (!loading->plan.has_changes || !loading->journal.has_changes) {
		return KNOT_OK;
	}
	changes_span_t span;
	load_write_notes(loading); /* what doesn't fit is logged behind them */
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	knot_err_t err = changes_apply(loading->env->journal, &policy.build, contents, &span);
	if (err == KNOT_OK && span.count > 0) {
		load_note(loading, "changes from journal applied, serial %u -> %u", span.from, span.to);
		err = source_go_ahead(source, loading->settings.path, loading->settings.number, &span.from);
		loading->outcome = loading->outcome == LOAD_FROM_IMAGE ? LOAD_FROM_IMAGE_AND_CHANGES : loading->outcome;
	}
	return err;
}

/* Read the file and apply the changes after it. If they don't fit, the zone that is served stays, or, if there is none,
 * the file alone is served. */
static knot_err_t load_read_and_apply(loading_t *loading, zone_contents_t **ret_contents, load_source_t *ret_source)
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

static knot_err_t load_from_file(loading_t *loading)
{
	zone_contents_t *contents;
	load_source_t source;
	loading->outcome = LOAD_FROM_FILE;
	knot_err_t err = load_read_and_apply(loading, &contents, &source);
	if (err != KNOT_OK) {
		return err;
	}
	if (source_is_ahead(loading->source) && !source_is_ahead(&source)) {
		log_zone(LOG_NOTICE, loading->report.name,
				"zone file changed, it replaces changes that were not written to it");
	}
	return load_publish_whole(loading, UPDATE_FILE, contents, &source);
}

/* ---- The file's differences ---- */

enum { LOAD_SOA_NUMBERS_LEN = 20 }; /* bytes behind the names of a SOA, the serial first */

/** Differences on their way into a transaction. */
typedef struct {
	zone_txn_t *txn;
	bool ignores_serial;
	uint32_t serial; /* that SOAs get if it ignores theirs */
	knot_err_t err;
} load_merge_t;

/* A SOA of the file with the serial of the base: if nothing else differs, it is there already. */
static knot_err_t load_merge_soa(load_merge_t *merge, const zone_rr_t *rr)
{
	uint8_t rdata[2 * KNOT_NAME_MAX + LOAD_SOA_NUMBERS_LEN];
	assert(rr->rdata.len <= sizeof(rdata) && rr->rdata.len > LOAD_SOA_NUMBERS_LEN); /* the version was checked */
	memcpy(rdata, rr->rdata.data, rr->rdata.len);
	store_be32(rdata + rr->rdata.len - LOAD_SOA_NUMBERS_LEN, merge->serial);
	knot_err_t err = zone_txn_remove_all(merge->txn, rr->owner, KNOT_TYPE_SOA);
	return err == KNOT_OK ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl,
						(knot_bytes_t){ rdata, rr->rdata.len })
			      : err;
}

static bool load_merge_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	load_merge_t *merge = ctx;
	if (rr->type == KNOT_TYPE_SOA && merge->ignores_serial) {
		merge->err = is_added ? load_merge_soa(merge, rr) : KNOT_OK;
	} else {
		merge->err = is_added ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				      : zone_txn_remove(merge->txn, rr->owner, rr->type, rr->rdata);
	}
	return merge->err == KNOT_OK;
}

/* The differences between two versions as edits of the first. */
static knot_err_t load_diff(const loading_t *loading, const zone_contents_t *base, const zone_contents_t *file,
		update_t *ret_update)
{
	update_t update;
	knot_err_t err = update_begin(loading->report.name, UPDATE_FILE, base, &update);
	if (err != KNOT_OK) {
		return err;
	}
	load_merge_t merge = {
		.txn = update.txn, .ignores_serial = loading->plan.ignores_serial, .serial = base->serial
	};
	err = zone_diff(base, file, load_merge_record, &merge);
	err = err == KNOT_OK ? merge.err : err;
	if (err != KNOT_OK) {
		update_end(&update);
		return err;
	}
	*ret_update = update;
	return KNOT_OK;
}

static const char *load_name_fault(load_serial_t fault)
{
	return fault == LOAD_SERIAL_LOWER ? "decreased" : "incomparable";
}

/* True if the serial of the file fits; logs otherwise. */
static bool load_check_serial(loading_t *loading, const zone_contents_t *base, const zone_contents_t *file)
{
	load_serial_t fault = loading->plan.ignores_serial ? LOAD_SERIAL_GOOD
							   : load_compare_serials(base->serial, file->serial);
	if (fault == LOAD_SERIAL_GOOD) {
		return true;
	}
	load_write_notes(loading);
	if (load_served(loading) != NULL) {
		log_zone(LOG_WARNING, loading->report.name, "zone file changed with %s SOA serial",
				load_name_fault(fault));
	} else {
		log_zone(LOG_WARNING, loading->report.name,
				"zone file changed with SOA serial %s, ignoring zone file and loading from journal",
				load_name_fault(fault));
	}
	return false;
}

/* Publish the differences. *ret_published: false if there are none; take_next stays then. */
static knot_err_t load_publish_diff(loading_t *loading, update_t *update, const zone_contents_t *base,
		uint32_t file_serial, load_source_t *take_next, bool *ret_published)
{
	update_policy_t policy = load_policy(&loading->settings, &loading->report);
	knot_err_t err;
	bool is_served = load_served(loading) != NULL;
	*ret_published = zone_txn_is_changed(update->txn, &err);
	uint32_t serial = base->serial, next = update_serial_next(serial, policy.serial_policy, policy.build.now_s);
	if (err == KNOT_OK && loading->plan.ignores_serial) {
		load_note(loading, "zone file parsed, serial updated %u -> %u", file_serial, next);
		loading->has_between = !*ret_published;
		loading->between = next;
	}
	/* The serial step gives another serial than the file's. */
	bool is_bumped = loading->plan.ignores_serial || file_serial == serial;
	if (err == KNOT_OK && *ret_published && is_bumped) {
		err = source_go_ahead(take_next, loading->settings.path, loading->settings.number, &file_serial);
	}
	if (err != KNOT_OK || !*ret_published) {
		return err;
	}
	publish_t publish = load_begin_publish(loading, take_next);
	update_effects_t effects;
	update->reason = loading->report.reason;
	update->is_forced = loading->env->is_forced;
	update->is_ahead = source_is_ahead(&publish.next);
	err = publish_update(&publish, update, base, &policy, &effects);
	if (err == KNOT_OK) {
		effects.has_base = is_served;
		load_log_end(loading, &effects, zone_contents(loading->zone)->wire_size);
	}
	return err;
}

/* There are no differences: what is served stays, and is what the file gives. */
static void load_keep_served(loading_t *loading, const zone_contents_t *served, load_source_t *take_next)
{
	const update_effects_t effects = {
		.has_base = true, .serial_from = served->serial, .serial_to = served->serial
	};
	source_clear(loading->source);
	*loading->source = *take_next;
	*take_next = (load_source_t){ 0 };
	load_log_end(loading, &effects, served->wire_size);
}

static knot_err_t load_merge_file(loading_t *loading, const zone_contents_t *base, zone_contents_t *file,
		load_source_t *take_next, bool *ret_published)
{
	update_t update;
	knot_err_t err = load_diff(loading, base, file, &update);
	if (err != KNOT_OK) {
		return err;
	}
	err = load_publish_diff(loading, &update, base, file->serial, take_next, ret_published);
	update_end(&update);
	return err;
}

static knot_err_t load_into_served(loading_t *loading)
{
	const zone_contents_t *served = load_served(loading);
	zone_contents_t *file;
	load_source_t next;
	bool is_published = false;
	loading->outcome = LOAD_FROM_FILE;
	knot_err_t err = load_read_and_apply(loading, &file, &next);
	if (err != KNOT_OK) {
		return err;
	}
	err = load_check_serial(loading, served, file) ? KNOT_OK : KNOT_ERANGE;
	err = err == KNOT_OK ? load_merge_file(loading, served, file, &next, &is_published) : err;
	if (err == KNOT_OK && !is_published) {
		load_keep_served(loading, served, &next);
	}
	zone_contents_free(file);
	source_clear(&next);
	return err;
}

/* ---- The journal ---- */

/* The file's differences to the journal's version; without any, that version. */
static knot_err_t load_journal_and_file(loading_t *loading, zone_contents_t *take_base)
{
	zone_contents_t *file;
	load_source_t next;
	bool is_published = false;
	knot_err_t err = load_read_and_apply(loading, &file, &next);
	if (err != KNOT_OK) {
		zone_contents_free(take_base);
		return err;
	}
	bool is_good = load_check_serial(loading, take_base, file);
	uint32_t file_serial = file->serial;
	/* What isn't in a file that is the same as ever was committed, and stays. */
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	if (is_good && loading->plan.ignores_serial &&
			changes_lead_from(loading->env->journal, &policy.build, file, take_base)) {
		load_note(loading, "zone file parsed, serial %u, not changed", file_serial);
		is_good = false;
	}
	if (is_good) {
		err = load_merge_file(loading, take_base, file, &next, &is_published);
	} else {
		err = source_go_ahead(&next, loading->settings.path, loading->settings.number, &file_serial);
	}
	zone_contents_free(file);
	/* The file breaks a guard rail: the journal's version is served, and the load has failed all the same. */
	bool is_held_back = err == KNOT_EGUARDRAIL && load_served(loading) == NULL;
	if ((err == KNOT_OK && !is_published) || is_held_back) {
		knot_err_t base_err = load_publish_whole(loading, UPDATE_JOURNAL, take_base, &next);
		err = is_held_back && base_err == KNOT_OK ? KNOT_EGUARDRAIL : base_err;
	} else {
		zone_contents_free(take_base);
	}
	source_clear(&next);
	return err;
}

static knot_err_t load_from_journal(loading_t *loading)
{
	zone_contents_t *base;
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	loading->outcome = LOAD_FROM_JOURNAL;
	knot_err_t err = changes_read_zone(loading->env->journal, &policy.build, &base);
	if (err != KNOT_OK && loading->settings.load != CONF_ZONEFILE_NONE && loading->plan.reads_file) {
		loading->plan.base = LOAD_BASE_FILE;
		return load_from_file(loading);
	}
	if (err != KNOT_OK) {
		return err;
	}
	load_note(loading, "zone loaded from journal, serial %u", base->serial);
	if (loading->plan.reads_file) {
		return load_journal_and_file(loading, base);
	}
	/* The file isn't what these contents were made from, so no image of them may be taken for one of the file. */
	load_source_t next = { 0 };
	uint32_t unknown = 0;
	err = source_go_ahead(&next, loading->settings.path, loading->settings.number, &unknown);
	if (err != KNOT_OK) {
		zone_contents_free(base);
		return err;
	}
	next.files->has_serial = false;
	return load_publish_whole(loading, UPDATE_JOURNAL, base, &next);
}

/* ---- The image, or nothing ---- */

/* The image, if there is one of the present files. If not, and there is one, the log says why. */
static void load_read_image(loading_t *loading)
{
	images_query_t query = {
		.name = loading->report.name, .path = loading->settings.path, .settings = loading->settings.number
	};
	char reason[IMAGES_REASON_MAX];
	switch (images_read(loading->env->images, &query, &loading->image, &loading->image_source, reason)) {
	case IMAGES_READ:
	case IMAGES_NONE: break;
	case IMAGES_STALE: log_zone(LOG_INFO, query.name, "image not used (%s)", reason); break;
	case IMAGES_DAMAGED:
		log_zone(LOG_WARNING, query.name, "image not used (%s), rebuilding from zone file", reason);
		break;
	}
}

/* ---- What the image doesn't lead to ---- */

static bool load_find_any(const journal_entry_t *entry, void *ctx)
{
	(void)entry, (void)ctx;
	return false;
}

/* True if something else than the image may lead to the journal's last version. */
static bool load_has_other_base(const loading_t *loading)
{
	const sources_t *files = loading->image_source.files;
	if (loading->journal.has_whole) {
		return true;
	}
	/* What the file gives is the image, or a change begins at the serial that the file had. */
	return source_is_ahead(&loading->image_source) &&
	       (!files->has_serial || journal_each_from(loading->env->journal, loading->report.name, files->serial,
						      load_find_any, NULL) != KNOT_ENOENT);
}

/* The whole zone in the journal, or the file. */
static knot_err_t load_other_base(loading_t *loading, zone_contents_t **ret_contents, load_source_t *ret_source)
{
	if (!loading->journal.has_whole) {
		return load_read_and_apply(loading, ret_contents, ret_source);
	}
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	load_source_t source;
	knot_err_t err = source_of_changes(&loading->image_source, loading->settings.path, loading->settings.number,
			&loading->image->serial, &source);
	if (err != KNOT_OK) {
		return err;
	}
	err = changes_read_zone(loading->env->journal, &policy.build, ret_contents);
	if (err != KNOT_OK) {
		source_clear(&source);
		return err;
	}
	load_note(loading, "zone loaded from journal, serial %u", (*ret_contents)->serial);
	*ret_source = source;
	return KNOT_OK;
}

/*
 * The journal has a newer version, but nothing leads to it from the image. Take it from elsewhere, if it is there. What
 * isn't newer than the image, after all, is older history.
 */
static void load_pass_image(loading_t *loading)
{
	zone_contents_t *contents;
	load_source_t source = { 0 };
	if (!load_has_other_base(loading) || load_other_base(loading, &contents, &source) != KNOT_OK) {
		return; /* logged */
	}
	if ((int32_t)(contents->serial - loading->image->serial) <= 0) {
		zone_contents_free(contents);
		source_clear(&source);
		return;
	}
	zone_contents_free(loading->image);
	source_clear(&loading->image_source);
	loading->image = contents;
	loading->image_source = source;
	loading->plan.base = loading->journal.has_whole ? LOAD_BASE_JOURNAL : LOAD_BASE_FILE;
	loading->outcome = loading->journal.has_whole ? LOAD_FROM_JOURNAL : LOAD_FROM_FILE;
}

static knot_err_t load_from_image(loading_t *loading)
{
	const sources_t *files = loading->image_source.files;
	const journal_info_t *journal = &loading->journal;
	loading->outcome = LOAD_FROM_IMAGE;
	if (!source_is_ahead(&loading->image_source)) {
		load_note_flushed(loading, loading->image->serial);
	} else if (files->has_serial) {
		load_note_flushed(loading, files->serial);
	}
	knot_err_t err = load_apply(loading, &loading->image, &loading->image_source);
	if (err != KNOT_OK) {
		log_zone(LOG_WARNING, loading->report.name, "failed to load journal (%s)", knot_strerror(err));
	} else if (loading->plan.has_changes && (journal->has_whole || journal->has_changes) &&
			(int32_t)(journal->serial_last - loading->image->serial) > 0) {
		load_pass_image(loading);
	}
	zone_contents_t *contents = loading->image;
	loading->image = NULL;
	return load_publish_whole(loading, UPDATE_FILE, contents, &loading->image_source);
}

static knot_err_t load_nothing(loading_t *loading)
{
	log_zone(LOG_INFO, loading->report.name, "zone not found");
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
		.is_served = load_served(loading) != NULL,
	};
	facts.is_current = facts.is_served && source_is_current(loading->source, settings->path, settings->number);
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
	if (loading->journal_err != KNOT_OK) {
		return load_run_alone(loading, facts.is_served);
	}
	knot_err_t err = load_run_plan(loading);
	if (err == KNOT_OK) {
		*loading->env->is_behind = false;
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
		*ret_outcome = err == KNOT_OK ? loading->outcome : LOAD_FAILED;
	} else if (err != KNOT_ENOZONE) {
		load_log_failure(loading, err);
	}
	zone_contents_free(loading->image);
	source_clear(&loading->image_source);
	free(loading);
	return err;
}
