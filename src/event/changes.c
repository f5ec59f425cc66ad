/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/faults.h"
#include "src/event/name_list.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/update/serial.h"
#include "src/zone/diff.h"

static void changes_log_notice(const char *path, const char *text)
{
	log_server(LOG_WARNING, "journal, '%s' (%s)", path, text);
}

knot_err_t changes_open(const conf_database_t *conf, journal_t **ret_journal)
{
	const journal_params_t params = {
		.path = conf->journal_db,
		.size_max = conf->journal_db_max_size,
		.is_asynchronous = conf->journal_mode == CONF_JOURNAL_ASYNCHRONOUS,
		.on_notice = changes_log_notice,
	};
	journal_reason_t reason = { .text = "" };
	knot_err_t err = journal_open(&params, ret_journal, &reason);
	bool is_closed = false;
	if (err == KNOT_OK && journal_reopen(*ret_journal, &is_closed, &reason) != KNOT_OK) {
		log_server(LOG_ERR,
				"journal, failed to open '%s' (%s), zones are served without changes that only it has, "
				"and can't be changed before it could be opened",
				params.path, reason.text);
	} else if (err == KNOT_OK && reason.text[0] != '\0') {
		changes_log_notice(params.path, reason.text);
	}
	return err;
}

knot_err_t changes_reopen(journal_t *journal, char *reason)
{
	journal_reason_t why = { .text = "" };
	bool was_closed;
	knot_err_t err = journal_reopen(journal, &was_closed, &why);
	if (err != KNOT_OK) {
		snprintf(reason, FAULT_REASON_MAX, "journal, %s", why.text);
	} else if (was_closed) {
		log_server(LOG_INFO, "journal opened");
	}
	return err;
}

/* ---- Storing ---- */

static knot_err_t changes_put(const changes_store_t *to, const journal_limits_t *limits, const update_record_t *record,
		journal_reason_t *reason)
{
	journal_change_t change = {
		.serial_from = record->serial_from,
		.serial_to = record->serial_to,
		.time_s = sys_clock_wall(),
		.source = (uint8_t)record->source,
		.removed = record->removed,
		.added = record->added,
		.zone_size = record->zone_size,
		.payload = record->payload,
	};
	snprintf(change.who, sizeof(change.who), "%s", record->who);
	if (record->is_whole) {
		change.serial_from = change.serial_to;
		return journal_put_zone(to->journal, record->origin, &change, limits, reason);
	}
	return journal_append(to->journal, record->origin, &change, limits, reason);
}

/* The limits are reached. What isn't in the zone file, as that can't be written or another program's is there, can't be
 * dropped, but merged. */
static knot_err_t changes_make_room(const changes_store_t *to, const update_record_t *record, journal_reason_t *reason)
{
	journal_limits_t limits = to->limits;
	log_zone(LOG_NOTICE, record->origin,
			"journal, flushing the zone to allow old changesets cleanup to free space");
	if (to->flush(to->ctx) != KNOT_OK) {
		log_zone(LOG_NOTICE, record->origin, "journal, zone file not written, merging old changesets instead");
		limits.may_merge = true;
	}
	knot_err_t err = changes_put(to, &limits, record, reason);
	return err == KNOT_EAGAIN ? KNOT_ESPACE : err;
}

knot_err_t changes_store(const changes_store_t *to, const update_record_t *record, char *reason)
{
	journal_reason_t why = { .text = "" };
	knot_err_t err = changes_put(to, &to->limits, record, &why);
	err = err == KNOT_EAGAIN ? changes_make_room(to, record, &why) : err;
	if (err != KNOT_OK && reason[0] == '\0') {
		snprintf(reason, UPDATE_REASON_MAX, "journal%s%.300s", why.text[0] != '\0' ? ", " : "", why.text);
	}
	return err;
}

void changes_mark_flushed(journal_t *journal, knot_name_t name, uint32_t serial)
{
	journal_reason_t why = { .text = "" };
	knot_err_t err = journal_mark_flushed(journal, name, serial, &why);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_zone(LOG_WARNING, name, "failed to note in the journal that the zone file was written (%s)",
				why.text[0] != '\0' ? why.text : knot_strerror(err));
	}
}

/* ---- Applying ---- */

/** The changes that one transaction gets. */
typedef struct {
	zone_txn_t *txn;
	unsigned count;     /* of changes that were applied */
	uint32_t serial;    /* reached */
	uint32_t serial_to; /* where the change leads that is being applied */
	knot_err_t err;     /* a change doesn't fit, or there is no memory */
	knot_err_t damage;  /* what ended it, with what came before being right */
} changes_applying_t;

static bool changes_apply_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	changes_applying_t *applying = ctx;
	applying->err = is_added ? zone_txn_put(applying->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				 : zone_txn_remove(applying->txn, rr->owner, rr->type, rr->rdata);
	return applying->err == KNOT_OK;
}

static bool changes_apply_one(const journal_entry_t *entry, void *ctx)
{
	changes_applying_t *applying = ctx;
	size_t mark = zone_txn_mark(applying->txn);
	changeset_kind_t kind = entry->kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP;
	applying->serial_to = entry->change.serial_to;
	applying->damage = changeset_each(entry->change.payload, kind, changes_apply_record, applying);
	if (applying->damage != KNOT_OK || applying->err != KNOT_OK) {
		zone_txn_rollback(applying->txn, mark);
		return false;
	}
	zone_txn_unmark(applying->txn);
	applying->serial = entry->change.serial_to;
	applying->count++;
	return true;
}

/* Apply what begins at applying->serial. */
static knot_err_t changes_follow(journal_t *journal, knot_name_t name, changes_applying_t *applying)
{
	uint32_t first = applying->serial;
	knot_err_t err = journal_each_from(journal, name, first, changes_apply_one, applying);
	if (applying->err != KNOT_OK) {
		log_zone(LOG_ERR, name, "failed to apply journal changes, serial %u -> %u (%s)", applying->serial,
				applying->serial_to, knot_strerror(applying->err));
		return applying->err;
	}
	err = applying->damage != KNOT_OK ? applying->damage : err;
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_zone(LOG_ERR, name, "failed to read journal changes after serial %u (%s), later ones are lost",
				applying->serial, knot_strerror(err));
	}
	return KNOT_OK;
}

/* End with the version that the transaction makes of `base`. */
static knot_err_t changes_build(zone_txn_t *take_txn, const zone_contents_t *base, const zone_build_params_t *params,
		zone_contents_t **ret_contents)
{
	zone_contents_t *next;
	knot_err_t err = zone_txn_build(take_txn, base, params, &next);
	zone_txn_discard(take_txn);
	if (err == KNOT_OK) {
		*ret_contents = zone_txn_freshen(next);
	}
	return err;
}

knot_err_t changes_apply(journal_t *journal, const zone_build_params_t *params, zone_contents_t **contents,
		changes_span_t *ret_span)
{
	changes_applying_t applying = { .serial = (*contents)->serial };
	*ret_span = (changes_span_t){ 0, applying.serial, applying.serial };
	knot_err_t err = zone_txn_begin(*contents, params, &applying.txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = changes_follow(journal, params->origin, &applying);
	if (err != KNOT_OK || applying.count == 0) {
		zone_txn_discard(applying.txn);
		return err;
	}
	zone_contents_t *next;
	err = changes_build(applying.txn, *contents, params, &next);
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, params->origin, "failed to apply journal changes, serial %u -> %u (%s)",
				ret_span->from, applying.serial, knot_strerror(err));
		return err;
	}
	zone_contents_free(*contents);
	*contents = next;
	*ret_span = (changes_span_t){ applying.count, ret_span->from, applying.serial };
	return KNOT_OK;
}

knot_err_t changes_read_zone(journal_t *journal, const zone_build_params_t *params, zone_contents_t **ret_contents)
{
	changes_applying_t applying = { .serial = 0 };
	knot_err_t err = zone_txn_begin(NULL, params, &applying.txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = journal_read_zone(journal, params->origin, changes_apply_one, &applying);
	err = err == KNOT_OK ? applying.damage : err;
	err = err == KNOT_OK ? applying.err : err;
	if (err == KNOT_OK) {
		err = changes_follow(journal, params->origin, &applying);
	}
	if (err == KNOT_OK) {
		err = changes_build(applying.txn, NULL, params, ret_contents);
	} else {
		zone_txn_discard(applying.txn);
	}
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_zone(LOG_ERR, params->origin, "failed to load zone from journal, serial %u (%s)", applying.serial,
				knot_strerror(err));
	}
	return err;
}

/* ---- Signed zones ---- */

bool changes_is_of_signer(uint16_t type)
{
	return type == KNOT_TYPE_RRSIG || type == KNOT_TYPE_NSEC || type == KNOT_TYPE_NSEC3 ||
	       type == KNOT_TYPE_NSEC3PARAM;
}

static bool changes_repeat_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	changes_applying_t *applying = ctx;
	if (rr->type == KNOT_TYPE_SOA || changes_is_of_signer(rr->type)) {
		return true;
	}
	knot_err_t err = is_added ? zone_txn_put(applying->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				  : zone_txn_remove(applying->txn, rr->owner, rr->type, rr->rdata);
	applying->err = err == KNOT_ENOMEM ? err : KNOT_OK;
	return applying->err == KNOT_OK;
}

static bool changes_repeat_one(const journal_entry_t *entry, void *ctx)
{
	changes_applying_t *applying = ctx;
	bool is_newer = update_serial_is_newer(entry->change.serial_to, applying->serial);
	if (entry->kind == JOURNAL_NOTE || entry->kind == JOURNAL_WHOLE || !is_newer) {
		return true;
	}
	applying->serial_to = entry->change.serial_to;
	if (entry->change.source != UPDATE_FILE) {
		applying->damage =
				changeset_each(entry->change.payload, CHANGESET_STEP, changes_repeat_record, applying);
		applying->count++;
	}
	return applying->err == KNOT_OK && applying->damage == KNOT_OK;
}

knot_err_t changes_repeat(journal_t *journal, const zone_build_params_t *params, zone_contents_t **contents,
		changes_span_t *ret_span)
{
	zone_contents_t *next;
	uint32_t serial = (*contents)->serial;
	changes_applying_t applying = { .serial = serial, .serial_to = serial };
	*ret_span = (changes_span_t){ 0, serial, serial };
	knot_err_t err = zone_txn_begin(*contents, params, &applying.txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = journal_each(journal, params->origin, changes_repeat_one, &applying);
	err = applying.err != KNOT_OK ? applying.err : applying.damage != KNOT_OK ? applying.damage : err;
	if (err == KNOT_OK && applying.serial_to != serial) {
		err = update_set_serial(applying.txn, params->origin, applying.serial_to);
	}
	if ((err != KNOT_OK && err != KNOT_ENOENT) || applying.serial_to == serial) {
		zone_txn_discard(applying.txn);
		return err == KNOT_ENOENT ? KNOT_OK : err;
	}
	err = changes_build(applying.txn, *contents, params, &next);
	if (err == KNOT_OK) {
		zone_contents_free(*contents);
		*contents = next;
		*ret_span = (changes_span_t){ applying.count, serial, applying.serial_to };
	}
	return err;
}

/* ---- Since the file was loaded ---- */

/** The changes that came from elsewhere than the file. */
typedef struct {
	uint32_t serial;  /* of the file */
	uint64_t loaded;  /* number of the last entry that came from a file */
	uint64_t written; /* of the last one that leads to the file's serial, as in a file that the server wrote; 0:
			     none */
	uint64_t last;    /* what comes after it is done again */
	const derive_t *derive; /* whose records don't count; NULL: all count */
	zone_txn_t *txn;
	knot_err_t err;
} changes_since_t;

static bool changes_find_last_file(const journal_entry_t *entry, void *ctx)
{
	changes_since_t *since = ctx;
	if (entry->kind == JOURNAL_NOTE) {
		return true;
	}
	since->loaded = entry->change.source == UPDATE_FILE ? entry->number : since->loaded;
	since->written = entry->change.serial_to == since->serial ? entry->number : since->written;
	return true;
}

static bool changes_redo_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	changes_since_t *since = ctx;
	const zone_rr_t record = { rr->owner, rr->type, rr->ttl, rr->rdata };
	if (rr->type == KNOT_TYPE_SOA || (since->derive != NULL && derive_is_derived(since->derive, &record))) {
		since->err = KNOT_OK;
	} else {
		since->err = is_added ? zone_txn_put(since->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				      : zone_txn_remove(since->txn, rr->owner, rr->type, rr->rdata);
	}
	return since->err == KNOT_OK;
}

static bool changes_redo(const journal_entry_t *entry, void *ctx)
{
	changes_since_t *since = ctx;
	if ((entry->kind == JOURNAL_STEP || entry->kind == JOURNAL_MERGED) && entry->number > since->last) {
		knot_err_t err = changeset_each(entry->change.payload, CHANGESET_STEP, changes_redo_record, since);
		since->err = since->err == KNOT_OK ? err : since->err;
	}
	return since->err == KNOT_OK;
}

/** Differences of what counts. */
typedef struct {
	const derive_t *derive;
	uint8_t soa[KNOT_SOA_LEN_MAX]; /* the one that went, with serial 0 */
	size_t soa_len;
	bool differs;
} changes_own_t;

static bool changes_look_at_soa(changes_own_t *own, const zone_rr_t *rr, bool is_added)
{
	uint8_t soa[KNOT_SOA_LEN_MAX];
	if (rr->rdata.len > sizeof(soa)) {
		return true;
	}
	memcpy(soa, rr->rdata.data, rr->rdata.len);
	knot_soa_set_serial((knot_mut_bytes_t){ soa, rr->rdata.len }, 0);
	if (is_added) {
		return own->soa_len != rr->rdata.len || memcmp(own->soa, soa, rr->rdata.len) != 0;
	}
	memcpy(own->soa, soa, rr->rdata.len);
	own->soa_len = rr->rdata.len;
	return false;
}

static bool changes_look_at_own(const zone_rr_t *rr, bool is_added, void *ctx)
{
	changes_own_t *own = ctx;
	own->differs = rr->type == KNOT_TYPE_SOA ? changes_look_at_soa(own, rr, is_added)
						 : !derive_is_derived(own->derive, rr);
	return !own->differs;
}

static knot_err_t changes_compare_own(
		const derive_t *derive, const zone_contents_t *a, const zone_contents_t *b, bool *ret_differs)
{
	changes_own_t own = { .derive = derive };
	knot_err_t err = zone_diff(a, b, changes_look_at_own, &own);
	*ret_differs = own.differs;
	return err;
}

/* True if the file with the changes after since->last is `now`. */
static bool changes_lead_after(journal_t *journal, const zone_build_params_t *params, const zone_contents_t *file,
		const zone_contents_t *now, changes_since_t *since)
{
	zone_contents_t *next;
	bool differs = true;
	if (zone_txn_begin(file, params, &since->txn) != KNOT_OK) {
		return false;
	}
	since->err = KNOT_OK;
	knot_err_t err = journal_each(journal, params->origin, changes_redo, since);
	err = err == KNOT_OK ? since->err : err;
	if (err != KNOT_OK) {
		zone_txn_discard(since->txn);
		return false;
	}
	if (changes_build(since->txn, file, params, &next) != KNOT_OK) {
		return false;
	}
	err = since->derive == NULL ? zone_differs(next, now, ZONE_DIFFERS_BUT_SERIAL, &differs)
				    : changes_compare_own(since->derive, next, now, &differs);
	zone_contents_free(next);
	return err == KNOT_OK && !differs;
}

bool changes_lead_from(journal_t *journal, const zone_build_params_t *params, const derive_t *derive,
		const zone_contents_t *file, const zone_contents_t *now)
{
	changes_since_t since = { .serial = file->serial, .derive = derive };
	if (journal_each(journal, params->origin, changes_find_last_file, &since) != KNOT_OK) {
		return false;
	}
	since.last = since.loaded; /* what was merged since then has nothing of before, as the limits say */
	if (changes_lead_after(journal, params, file, now, &since)) {
		return true;
	}
	since.last = since.written;
	return since.written > since.loaded && changes_lead_after(journal, params, file, now, &since);
}

/* ---- Removing ---- */

knot_err_t changes_drop(journal_t *journal, knot_name_t name)
{
	journal_reason_t why = { .text = "" };
	knot_err_t err = journal_drop(journal, name, &why);
	if (err == KNOT_OK || err == KNOT_ENOENT) {
		return KNOT_OK;
	}
	log_zone(LOG_ERR, name, "failed to purge journal (%s)%s%s", knot_strerror(err), why.text[0] != '\0' ? ", " : "",
			why.text);
	return err;
}

knot_err_t changes_drop_if(journal_t *journal, bool (*wanted)(knot_name_t name, void *ctx), void *ctx)
{
	name_list_t names = { .wanted = wanted, .ctx = ctx };
	knot_err_t err = journal_each_zone(journal, name_list_visit, &names);
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	err = err == KNOT_OK && names.is_full ? KNOT_ENOMEM : err;
	for (knot_name_t name; name_list_take(&names, &name, 1) > 0;) {
		knot_err_t drop_err = changes_drop(journal, name);
		err = err == KNOT_OK ? drop_err : err;
	}
	name_list_free(&names);
	return err;
}
