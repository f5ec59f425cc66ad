/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load_steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/sys/log.h"
#include "src/update/serial.h"
#include "src/zone/diff.h"

/* The file of a zone that is made of others has only what is its own. On failure what the caller owns is gone. */
static knot_err_t load_complete(loading_t *loading, zone_contents_t **contents, load_source_t *source)
{
	derived_set_t *set = loading->env->derived;
	if (set == NULL) {
		return KNOT_OK;
	}
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	knot_err_t err = derived_must_wait(set) ? KNOT_ETRYAGAIN : derived_complete(set, &policy.build, contents);
	if (err != KNOT_OK) {
		zone_contents_free(*contents);
		source_clear(source);
	}
	set->is_done = err == KNOT_OK;
	return err;
}

knot_err_t load_from_file(loading_t *loading)
{
	zone_contents_t *contents;
	load_source_t source;
	loading->outcome = LOAD_FROM_FILE;
	knot_err_t err = load_read_and_apply(loading, &contents, &source);
	err = err == KNOT_OK ? load_complete(loading, &contents, &source) : err;
	if (err != KNOT_OK) {
		return err;
	}
	if (source_is_ahead(loading->source) && !source_is_ahead(&source)) {
		log_zone(LOG_NOTICE, loading->report.name,
				"zone file changed, it replaces changes that were not written to it");
	}
	return load_publish(loading, UPDATE_FILE, true, contents, &source);
}

/* ---- The file's differences ---- */

/** Differences on their way into a transaction. */
typedef struct {
	zone_txn_t *txn;
	const derive_t *derive; /* the zone is made of others; NULL: it isn't */
	knot_name_t origin;
	bool ignores_serial;
	bool ignores_zonemd; /* the zone has its own record */
	bool is_signed;      /* the zone has its own signatures and chain */
	const zone_skip_t *skip;
	uint32_t serial; /* that SOAs get if it ignores theirs */
	knot_err_t err;
} load_merge_t;

/* A SOA of the file with the serial of the base: if nothing else differs, it is there already. */
static knot_err_t load_merge_soa(load_merge_t *merge, const zone_rr_t *rr)
{
	uint8_t rdata[KNOT_SOA_LEN_MAX];
	assert(rr->rdata.len <= sizeof(rdata)); /* the version was checked */
	memcpy(rdata, rr->rdata.data, rr->rdata.len);
	knot_soa_set_serial((knot_mut_bytes_t){ rdata, rr->rdata.len }, merge->serial);
	knot_err_t err = zone_txn_remove_all(merge->txn, rr->owner, KNOT_TYPE_SOA);
	return err == KNOT_OK ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl,
						(knot_bytes_t){ rdata, rr->rdata.len })
			      : err;
}

/* What is derived isn't in the file, unless it is there for its own sake. */
static knot_err_t load_merge_derived(load_merge_t *merge, const zone_rr_t *rr, bool is_added)
{
	if (!is_added || merge->derive->kind == DERIVE_INCLUDE) {
		return KNOT_OK;
	}
	knot_err_t err = zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl, rr->rdata);
	return err == KNOT_EISRECORD ? KNOT_OK : err;
}

static bool load_merge_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	load_merge_t *merge = ctx;
	if (rr->type == KNOT_TYPE_ZONEMD && merge->ignores_zonemd && knot_name_eq(rr->owner, merge->origin)) {
		return true;
	}
	if ((merge->is_signed && changes_is_of_signer(rr->type)) || zone_skip_has(merge->skip, rr->type)) {
		return true;
	}
	if (merge->derive != NULL && derive_is_derived(merge->derive, rr)) {
		merge->err = load_merge_derived(merge, rr, is_added);
	} else if (rr->type == KNOT_TYPE_SOA && merge->ignores_serial) {
		merge->err = is_added ? load_merge_soa(merge, rr) : KNOT_OK;
	} else {
		merge->err = is_added ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				      : zone_txn_remove(merge->txn, rr->owner, rr->type, rr->rdata);
	}
	return merge->err == KNOT_OK;
}

/* A zone that is signed here has serials of its own, which may be ahead of its file's. */
static bool load_is_late(const loading_t *loading, const zone_contents_t *base, const zone_contents_t *file)
{
	return loading->settings.is_signed && loading->settings.load == CONF_ZONEFILE_WHOLE &&
	       load_compare_serials(base->serial, file->serial) != LOAD_SERIAL_GOOD;
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
	load_merge_t merge = { .txn = update.txn,
		.origin = update.origin,
		.ignores_serial = loading->plan.ignores_serial || load_is_late(loading, base, file),
		.ignores_zonemd = loading->settings.zonemd != CONF_ZONEMD_NONE,
		.is_signed = loading->settings.is_signed,
		.skip = &loading->settings.skip,
		.serial = base->serial };
	const derived_set_t *set = loading->env->derived;
	merge.derive = set != NULL ? &set->derive : NULL;
	err = loading->keeps_records ? KNOT_OK : zone_diff(base, file, load_merge_record, &merge);
	err = err == KNOT_OK ? merge.err : err;
	err = err == KNOT_OK && set != NULL ? derived_apply_all(set, base, update.txn) : err;
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

static void load_ignore_file(loading_t *loading, load_serial_t fault)
{
	load_write_notes(loading);
	log_zone(LOG_WARNING, loading->report.name,
			"zone file changed with SOA serial %s, ignoring zone file and loading from journal",
			load_name_fault(fault));
}

/* True if the serial of the file fits; logs otherwise. */
static bool load_check_serial(loading_t *loading, const zone_contents_t *base, const zone_contents_t *file)
{
	bool is_ignored = loading->plan.ignores_serial || load_is_late(loading, base, file);
	load_serial_t fault = is_ignored ? LOAD_SERIAL_GOOD : load_compare_serials(base->serial, file->serial);
	if (fault == LOAD_SERIAL_GOOD) {
		return true;
	}
	if (load_served(loading) != NULL) {
		load_write_notes(loading);
		log_zone(LOG_WARNING, loading->report.name, "zone file changed with %s SOA serial",
				load_name_fault(fault));
	} else {
		load_ignore_file(loading, fault);
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
	uint32_t serial = base->serial, next = update_serial_next(serial, &policy.serials, policy.build.now_s);
	if (err == KNOT_OK && loading->plan.ignores_serial) {
		load_note(loading, "zone file parsed, serial updated %u -> %u", file_serial, next);
		loading->has_between = !*ret_published;
		loading->between = next;
	}
	/* The serial step gives another serial than the file's. */
	bool is_bumped = loading->plan.ignores_serial || file_serial == serial || loading->settings.is_signed;
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
	update->keeps_zonemd = !is_bumped; /* see load_refresh_zonemd() */
	if (policy.verifies_zonemd) {
		load_write_notes(loading);
	}
	err = publish_update(&publish, update, base, &policy, &effects);
	*ret_published = err != KNOT_OK || effects.is_published;
	if (!*ret_published) {
		*take_next = publish.next; /* with its signatures it is what it was */
	} else if (err == KNOT_OK) {
		load_note_signed(loading, file_serial, effects.serial_to);
		effects.has_base = is_served;
		load_note_end(loading, &effects, zone_contents(loading->zone)->wire_size);
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
	load_note_end(loading, &effects, served->wire_size);
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
	if (loading->env->derived != NULL) {
		loading->env->derived->is_done = err == KNOT_OK;
	}
	return err;
}

knot_err_t load_into_served(loading_t *loading)
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
	const derived_set_t *set = loading->env->derived;
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	loading->keeps_records = set != NULL &&
				 changes_lead_from(loading->env->journal, &policy.build, &set->derive, file, served);
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

typedef struct {
	const zone_skip_t *skip;
	bool differs;
} load_compare_t;

static bool load_compare_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	load_compare_t *compare = ctx;
	(void)is_added;
	compare->differs = !zone_skip_has(compare->skip, rr->type);
	return !compare->differs;
}

/*
 * Serials may return, so a change that begins at the file's serial needn't be one of the file's version: if the changes
 * don't lead from the file to the journal's version, the file is an older one.
 */
static knot_err_t load_find_older(
		const loading_t *loading, const zone_contents_t *base, const zone_contents_t *file, bool *ret_is_older)
{
	*ret_is_older = false;
	bool is_applied = file->serial != loading->file_serial;
	if (!is_applied || loading->plan.ignores_serial) {
		return KNOT_OK;
	}
	load_compare_t compare = { &loading->settings.skip, false };
	knot_err_t err = zone_diff(file, base, load_compare_record, &compare);
	*ret_is_older = compare.differs;
	return err;
}

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
	bool is_older, is_good = load_check_serial(loading, take_base, file);
	uint32_t file_serial = file->serial;
	err = load_find_older(loading, take_base, file, &is_older);
	if (err == KNOT_OK && is_good && is_older) {
		load_ignore_file(loading, LOAD_SERIAL_LOWER);
		is_good = false;
	}
	/* What isn't in a file that is the same as ever was committed, and stays. */
	const derive_t *derive = loading->env->derived != NULL ? &loading->env->derived->derive : NULL;
	const update_policy_t policy = load_policy(&loading->settings, &loading->report);
	if (is_good && loading->plan.ignores_serial &&
			changes_lead_from(loading->env->journal, &policy.build, derive, file, take_base)) {
		changes_mark_flushed(loading->env->journal, loading->report.name, file_serial);
		load_note(loading, "zone file parsed, serial %u, not changed", file_serial);
		is_good = false;
	}
	if (err == KNOT_OK && is_good) {
		err = load_merge_file(loading, take_base, file, &next, &is_published);
	} else if (err == KNOT_OK) {
		err = source_go_ahead(&next, loading->settings.path, loading->settings.number, &file_serial);
	}
	zone_contents_free(file);
	/* The file breaks a guard rail: the journal's version is served, and the load has failed all the same. */
	bool is_held_back = err == KNOT_EGUARDRAIL && load_served(loading) == NULL;
	if ((err == KNOT_OK && !is_published) || is_held_back) {
		knot_err_t base_err = load_publish(loading, UPDATE_JOURNAL, false, take_base, &next);
		err = is_held_back && base_err == KNOT_OK ? KNOT_EGUARDRAIL : base_err;
	} else {
		zone_contents_free(take_base);
	}
	source_clear(&next);
	return err;
}

knot_err_t load_from_journal(loading_t *loading)
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
	return load_publish(loading, UPDATE_JOURNAL, false, base, &next);
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

knot_err_t load_from_image(loading_t *loading)
{
	const journal_info_t *journal = &loading->journal;
	loading->outcome = LOAD_FROM_IMAGE;
	if (!source_is_ahead(&loading->image_source)) {
		load_note_flushed(loading, loading->image->serial);
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
	return load_publish(loading, UPDATE_FILE, false, contents, &loading->image_source);
}
