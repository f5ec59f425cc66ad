/* SPDX-License-Identifier: BSD-2-Clause */
/* The sinks of a transfer, and how its result becomes the zone. */
#include <stdlib.h>
#include <string.h>

#include "src/event/derive_zone.h"
#include "src/event/refresh.h"
#include "src/event/signing.h"
#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/diff.h"

/* ---- The zone's SOA ---- */

typedef struct {
	uint8_t *soa;
	uint32_t ttl;
	size_t len;
} refresh_soa_t;

static bool refresh_visit_soa(const zone_rr_t *rr, void *ctx)
{
	refresh_soa_t *found = ctx;
	if (rr->type == KNOT_TYPE_SOA && rr->rdata.len <= KNOT_SOA_LEN_MAX) {
		memcpy(found->soa, rr->rdata.data, rr->rdata.len);
		found->len = rr->rdata.len;
		found->ttl = rr->ttl;
	}
	return found->len == 0;
}

size_t refresh_copy_soa(const zone_contents_t *contents, knot_name_t name, uint8_t ret_soa[static KNOT_SOA_LEN_MAX],
		uint32_t *ret_ttl)
{
	refresh_soa_t found = { .soa = ret_soa };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch != NULL) {
		(void)zone_each_of_name(contents, name, scratch, refresh_visit_soa, &found);
		free(scratch);
	}
	if (ret_ttl != NULL) {
		*ret_ttl = found.ttl;
	}
	return found.len;
}

timers_soa_t refresh_timers_of(const zone_contents_t *contents, knot_name_t name)
{
	uint8_t soa[KNOT_SOA_LEN_MAX];
	size_t len = refresh_copy_soa(contents, name, soa, NULL);
	return len > 0 ? timers_soa_of((knot_bytes_t){ soa, len }) : (timers_soa_t){ 0 };
}

/* ---- Sinks ---- */

static knot_err_t refresh_sink_begin(stream_in_kind_t kind, uint32_t serial, void *ctx)
{
	refresh_run_t *run = ctx;
	refresh_transfer_t *transfer = run->transfer;
	(void)serial;
	if (kind == STREAM_IN_AXFR) {
		if (run->request.query.type == KNOT_TYPE_IXFR) {
			refresh_log(run, LOG_INFO, "IXFR, incoming", "receiving AXFR-style IXFR");
		}
		refresh_log(run, LOG_INFO, "AXFR, incoming", "started");
		transfer->builder = zone_builder_new(run->params.zone);
		return transfer->builder != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	refresh_log(run, LOG_INFO, "IXFR, incoming", "started");
	const zone_contents_t *base = zone_contents(entry_zone(run->entry));
	if (base == NULL) {
		transfer->is_void = true; /* the zone has expired since it was asked for */
		return KNOT_OK;
	}
	knot_err_t err = update_begin(run->params.zone, UPDATE_TRANSFER, base, &transfer->update);
	transfer->has_update = err == KNOT_OK;
	return err;
}

/* The primary's SOA with a serial of ours. */
static knot_err_t refresh_put_soa(zone_txn_t *txn, const zone_rr_t *rr, uint32_t serial)
{
	uint8_t soa[KNOT_SOA_LEN_MAX];
	if (rr->rdata.len > sizeof(soa)) {
		return KNOT_EMALF;
	}
	memcpy(soa, rr->rdata.data, rr->rdata.len);
	knot_soa_set_serial((knot_mut_bytes_t){ soa, rr->rdata.len }, serial);
	knot_err_t err = zone_txn_remove_all(txn, rr->owner, KNOT_TYPE_SOA);
	return err == KNOT_OK ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, (knot_bytes_t){ soa, rr->rdata.len })
			      : err;
}

static knot_err_t refresh_sink_change(refresh_transfer_t *transfer, const zone_rr_t *rr, bool is_added)
{
	/* The primary's records aren't those that the zone has. */
	if (transfer->ignores_zonemd && rr->type == KNOT_TYPE_ZONEMD &&
			knot_name_eq(rr->owner, transfer->update.origin)) {
		return KNOT_OK;
	}
	zone_txn_t *txn = transfer->update.txn;
	if (transfer->is_signed && rr->type == KNOT_TYPE_SOA) {
		return is_added ? refresh_put_soa(txn, rr, transfer->update.base->serial) : KNOT_OK;
	}
	knot_err_t err = is_added ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				  : zone_txn_remove(txn, rr->owner, rr->type, rr->rdata);
	bool is_misfit = err == KNOT_EISRECORD || err == KNOT_ENORECORD;
	return is_misfit && transfer->is_benevolent ? KNOT_OK : err;
}

static knot_err_t refresh_sink_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	refresh_transfer_t *transfer = ((refresh_run_t *)ctx)->transfer;
	if (transfer->is_void) {
		return KNOT_OK;
	}
	return transfer->has_update ? refresh_sink_change(transfer, rr, is_added)
				    : zone_builder_put(transfer->builder, rr->owner, rr->type, rr->ttl, rr->rdata);
}

static knot_err_t refresh_sink_changeset(uint32_t from, uint32_t to, void *ctx)
{
	(void)from, (void)to, (void)ctx;
	return KNOT_OK; /* all changesets of a transfer are one change of the zone */
}

static void refresh_sink_foreign(knot_name_t owner, void *ctx)
{
	char name[KNOT_NAME_TEXT_MAX];
	const refresh_run_t *run = ctx;
	(void)knot_name_print(owner, name);
	log_zone(LOG_WARNING, run->params.zone, "zone loader, ignoring out-of-zone data, owner %s", name);
}

void refresh_begin_transfer(refresh_run_t *run)
{
	conf_zone_t zone;
	refresh_transfer_t *transfer = run->transfer;
	const stream_in_sink_t sink = { refresh_sink_begin, refresh_sink_record, refresh_sink_changeset,
		refresh_sink_foreign, run };
	stream_in_query_t query = { .zone = run->params.zone,
		.id = run->request.id,
		.type = run->request.query.type,
		.serial = run->refresh.serial,
		.is_one_by_one = run->params.is_one_by_one };
	if (refresh_settings(run, &zone)) {
		query.size_max = zone.zone_max_size;
		transfer->is_benevolent = zone.ixfr_benevolent;
		transfer->ignores_zonemd = zone.zonemd_generate != CONF_ZONEMD_NONE;
		transfer->is_signed = zone.dnssec_signing;
	}
	stream_in_begin(&transfer->stream, &query, &sink);
	transfer->begun_ns = sys_clock_ns();
	transfer->is_begun = true;
}

void refresh_drop_transfer(refresh_run_t *run)
{
	refresh_transfer_t *transfer = run->transfer;
	if (transfer != NULL) {
		zone_builder_discard(transfer->builder);
		if (transfer->has_update) {
			update_end(&transfer->update);
		}
		free(transfer);
		run->transfer = NULL;
	}
}

void refresh_look_at_expire(refresh_run_t *run)
{
	refresh_t *refresh = &run->refresh;
	uint64_t now_s = sys_clock_wall(), expire_s = refresh->state.next_expire_s;
	if (expire_s == 0 || expire_s > now_s || zone_contents(entry_zone(run->entry)) == NULL) {
		return;
	}
	if (run->transfer != NULL && run->transfer->has_update) {
		update_end(&run->transfer->update);
		run->transfer->has_update = false;
		run->transfer->is_void = true;
	}
	refresh_drop_contents(run->server, run->entry);
	refresh_expire(refresh, now_s);
	run->has_expired = true;
}

/* ---- Applying ---- */

/** Differences on their way into a transaction. */
typedef struct {
	zone_txn_t *txn;
	const derive_t *derive; /* the zone is made of others; NULL: it isn't */
	bool is_signed;         /* it is signed here */
	uint32_t serial;        /* that it keeps then, until it is changed */
	knot_err_t err;
} refresh_merge_t;

/* Types of which the primary's records aren't the zone's: all that signing makes, and keys that the primary lacks. */
static bool refresh_is_of_signer(uint16_t type, bool is_added)
{
	bool is_key = type == KNOT_TYPE_DNSKEY || type == KNOT_TYPE_CDS || type == KNOT_TYPE_CDNSKEY ||
		      type == KNOT_TYPE_ZONEMD;
	return changes_is_of_signer(type) || (is_key && !is_added);
}

/* A zone that is made of others, or signed here, has serials of its own, and what comes from those isn't the primary's.
 */
static knot_err_t refresh_merge_own(refresh_merge_t *merge, const zone_rr_t *rr, bool is_added)
{
	bool is_derived = merge->derive != NULL && derive_is_derived(merge->derive, rr);
	if (is_derived && (!is_added || merge->derive->kind == DERIVE_INCLUDE)) {
		return KNOT_OK;
	}
	if (merge->is_signed && refresh_is_of_signer(rr->type, is_added)) {
		return KNOT_OK;
	}
	if (rr->type != KNOT_TYPE_SOA) {
		knot_err_t err = is_added ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
					  : zone_txn_remove(merge->txn, rr->owner, rr->type, rr->rdata);
		return err == KNOT_EISRECORD ? KNOT_OK : err;
	}
	return is_added ? refresh_put_soa(merge->txn, rr, merge->serial) : KNOT_OK;
}

static bool refresh_merge_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	refresh_merge_t *merge = ctx;
	if (merge->derive != NULL || merge->is_signed) {
		merge->err = refresh_merge_own(merge, rr, is_added);
		return merge->err == KNOT_OK;
	}
	merge->err = is_added ? zone_txn_put(merge->txn, rr->owner, rr->type, rr->ttl, rr->rdata)
			      : zone_txn_remove(merge->txn, rr->owner, rr->type, rr->rdata);
	return merge->err == KNOT_OK;
}

/* The differences to what is served as edits of that. */
static knot_err_t refresh_begin_difference(
		refresh_run_t *run, const derived_set_t *set, const zone_contents_t *base, const zone_contents_t *next)
{
	update_t *update = &run->transfer->update;
	knot_err_t err = update_begin(run->params.zone, UPDATE_TRANSFER, base, update);
	if (err != KNOT_OK) {
		return err;
	}
	run->transfer->has_update = true;
	refresh_merge_t merge = { .txn = update->txn,
		.derive = set != NULL ? &set->derive : NULL,
		.is_signed = run->transfer->is_signed,
		.serial = base->serial };
	err = zone_diff(base, next, refresh_merge_record, &merge);
	err = err == KNOT_OK ? merge.err : err;
	return err == KNOT_OK && set != NULL ? derived_apply_all(set, base, update->txn) : err;
}

/* What has come is the zone's own: the first contents get the rest, or wait for it. */
static knot_err_t refresh_complete(
		derived_set_t *set, const turn_t *turn, const zone_build_params_t *params, zone_contents_t **next)
{
	derived_note_own(set, *next);
	if (turn->current != NULL) {
		return KNOT_OK;
	}
	return derived_must_wait(set) ? KNOT_ETRYAGAIN : derived_complete(set, params, next);
}

static knot_err_t refresh_build(refresh_run_t *run, const turn_t *turn, derived_set_t *set)
{
	zone_contents_t *next;
	refresh_transfer_t *transfer = run->transfer;
	load_report_t report = { .name = turn->name, .reason = turn->commit->reason };
	const update_policy_t policy = load_policy(&turn->settings, &report);
	zone_builder_t *builder = transfer->builder;
	transfer->builder = NULL;
	knot_err_t err = zone_builder_finish(builder, &policy.build, &next);
	if (err != KNOT_OK) {
		return err;
	}
	err = set != NULL ? refresh_complete(set, turn, &policy.build, &next) : KNOT_OK;
	if (err != KNOT_OK) {
		zone_contents_free(next);
		return err;
	}
	if ((run->action.is_difference || transfer->is_signed) && turn->current != NULL) {
		err = refresh_begin_difference(run, set, turn->current, next);
		zone_contents_free(next);
		return err;
	}
	update_begin_whole(turn->name, UPDATE_TRANSFER, turn->current, next, &transfer->update);
	transfer->has_update = true;
	return KNOT_OK;
}

static refresh_failure_t refresh_class_of(knot_err_t err)
{
	static const struct {
		knot_err_t err;
		refresh_failure_t failure;
	} classes[] = {
		{ KNOT_OK, REFRESH_FINE },
		{ KNOT_ENOMEM, REFRESH_LOCAL },
		{ KNOT_ENOZONE, REFRESH_LOCAL },
		{ KNOT_ESEMCHECK, REFRESH_INVALID },
		{ KNOT_ENOSOA, REFRESH_INVALID },
		{ KNOT_EGUARDRAIL, REFRESH_REJECTED },
		{ KNOT_EEXTERNAL, REFRESH_REJECTED },
	};
	for (size_t i = 0; i < KNOT_LEN(classes); i++) {
		if (classes[i].err == err) {
			return classes[i].failure;
		}
	}
	return REFRESH_UNSTORED;
}

static void refresh_log_unapplied(const refresh_run_t *run, refresh_failure_t failure, knot_err_t err)
{
	const char *operation = run->transfer->stream.kind == STREAM_IN_AXFR ? "AXFR, incoming" : "IXFR, incoming";
	if (failure == REFRESH_UNSTORED) {
		refresh_log(run, LOG_WARNING, operation, "failed to store changes (%s)", knot_strerror(err));
	} else {
		refresh_log(run, LOG_WARNING, operation, "failed (%s)", knot_strerror(err));
	}
}

refresh_event_t refresh_apply(refresh_run_t *run)
{
	static const server_author_t author = { .who = "" };
	server_commit_t commit = { 0 };
	turn_t turn = { .server = run->server,
		.entry = run->entry,
		.name = run->params.zone,
		.current = zone_contents(entry_zone(run->entry)),
		.author = &author,
		.commit = &commit };
	const struct {
		bool is_there;
		uint32_t serial;
	} before = { turn.current != NULL, turn.current != NULL ? turn.current->serial : 0 };
	uint64_t begun_ns = run->transfer->begun_ns;
	knot_err_t err = load_settings(&run->server->root, turn.name, &turn.settings);
	/* Only checks without which a zone can't be served: the primary is responsible for the rest. */
	turn.settings.checks = turn.settings.checks == ZONE_CHECKS_SOFT ? ZONE_CHECKS_SOFT : ZONE_CHECKS_OFF;
	derived_set_t set;
	knot_err_t set_err = derived_open(run->server, turn.name, false, &set);
	bool is_derived = set_err == KNOT_OK;
	err = err == KNOT_OK && set_err == KNOT_ENOMEM ? set_err : err;
	err = err == KNOT_OK && run->transfer->builder != NULL ? refresh_build(run, &turn, is_derived ? &set : NULL)
							       : err;
	err = err == KNOT_OK ? turn_publish(&turn, &run->transfer->update) : err;
	if (is_derived) {
		set.is_done = err == KNOT_OK;
		derived_close(run->server, &set);
	}
	refresh_event_t event = { .kind = REFRESH_EVENT_APPLIED, .now_s = sys_clock_wall(), .err = err };
	event.applied.failure = run->transfer->update.has_bad_zonemd ? REFRESH_INVALID : refresh_class_of(err);
	event.applied.took_ms = (sys_clock_ns() - begun_ns) / 1000000;
	const zone_contents_t *now = zone_contents(entry_zone(run->entry));
	bool is_signed = run->transfer->is_signed;
	if (err == KNOT_OK && is_signed) {
		signing_note_primary_serial(run->server, turn.name, run->transfer->stream.serial_reached);
	}
	if (err != KNOT_OK) {
		refresh_log_unapplied(run, event.applied.failure, err);
	} else {
		event.applied.serial = is_signed ? run->transfer->stream.serial_reached : now->serial;
		event.applied.has_own = is_signed;
		event.applied.own_serial = now->serial;
		event.applied.has_own_old = before.is_there;
		event.applied.own_old = before.serial;
		event.applied.soa = refresh_timers_of(now, turn.name);
	}
	refresh_drop_transfer(run);
	return event;
}
