/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/update.h"

#include "src/update/serial.h"
#include "src/update/proof_step.h"
#include "src/update/sign_step.h"
#include "src/update/steps.h"
#include "src/update/zonemd_step.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

const char *update_source_name(unsigned source)
{
	static const char *const names[] = {
#define UPDATE_SOURCE_ROW(id, name) [UPDATE_##id] = name,
		UPDATE_SOURCES(UPDATE_SOURCE_ROW)
#undef UPDATE_SOURCE_ROW
	};
	return source < UPDATE_SOURCE_COUNT ? names[source] : "unknown";
}

knot_err_t update_begin(knot_name_t origin, update_source_t source, const zone_contents_t *base, update_t *ret_update)
{
	const zone_build_params_t params = { .origin = origin };
	zone_txn_t *txn;
	knot_err_t err = zone_txn_begin(base, &params, &txn);
	if (err == KNOT_OK) {
		*ret_update = (update_t){
			.origin = origin, .source = source, .who = "", .is_ahead = true, .base = base, .txn = txn
		};
	}
	return err;
}

void update_begin_whole(knot_name_t origin, update_source_t source, const zone_contents_t *base,
		zone_contents_t *take_next, update_t *ret_update)
{
	assert(take_next != NULL);
	*ret_update = (update_t){
		.origin = origin, .source = source, .who = "", .is_ahead = true, .base = base, .next = take_next
	};
}

void update_end(update_t *update)
{
	zone_txn_discard(update->txn);
	zone_contents_free(update->next);
	changeset_discard(&update->changes);
	free(update->payload);
	*update = (update_t){ 0 };
}

size_t update_mark(update_t *update)
{
	return zone_txn_mark(update->txn);
}

void update_rollback(update_t *update, size_t mark)
{
	zone_txn_rollback(update->txn, mark);
}

/* ---- Serial ---- */

/* A change that doesn't set another serial gets the next one, as otherwise no secondary would fetch it. */
static knot_err_t update_run_serial(update_t *update)
{
	uint32_t serial;
	const update_policy_t *policy = update->policy;
	if (update->txn == NULL || update->base == NULL || !update_serial(update->txn, update->origin, &serial)) {
		return KNOT_OK; /* that there is no SOA is found when the version is built */
	}
	if (serial != update->base->serial && (policy->signing == NULL || !policy->signing->steps_serial)) {
		return KNOT_OK;
	}
	uint32_t next = policy->signing != NULL ? update_signed_serial(update, serial)
						: update_serial_next(serial, &policy->serials, policy->build.now_s);
	knot_err_t err = update_set_serial(update->txn, update->origin, next);
	return err == KNOT_OK ? update_sign_set(update, update->txn, KNOT_TYPE_SOA) : err;
}

static void update_undo_edits(update_t *update)
{
	if (update->txn != NULL) {
		update_rollback(update, update->mark);
	}
}

/* ---- Build: nodes, facts, checks ---- */

static knot_err_t update_miss_soa(const update_t *update)
{
	static const char text[] = "missing SOA at the zone apex";
	const zone_build_params_t *params = &update->policy->build;
	if (update->reason != NULL) {
		snprintf(update->reason, UPDATE_REASON_MAX, "%s", text);
	}
	if (params->on_message != NULL) {
		params->on_message(&(zone_message_t){ .level = ZONE_MESSAGE_ERROR,
						   .text = "check, error (missing SOA at the zone apex)" },
				params->ctx);
	}
	return KNOT_ESEMCHECK;
}

static knot_err_t update_run_build(update_t *update)
{
	if (update->txn == NULL) {
		return KNOT_OK;
	}
	zone_contents_t *next;
	knot_err_t err = zone_txn_build(update->txn, update->base, &update->policy->build, &next);
	if (err == KNOT_OK) {
		update->next = zone_txn_freshen(next);
	}
	return err == KNOT_ENOSOA ? update_miss_soa(update) : err;
}

static void update_undo_build(update_t *update)
{
	if (update->txn != NULL) {
		zone_contents_free(update->next);
		update->next = NULL;
	}
}

/* ---- Rails: what the new version must keep of the one that is served ---- */

static knot_err_t update_run_rails(update_t *update)
{
	char *rail = update->effects.rail;
	knot_err_t err = rails_check(&update->policy->rails, update->base, update->next, update->is_forced, rail);
	if (err != KNOT_OK && update->reason != NULL) {
		snprintf(update->reason, UPDATE_REASON_MAX, "%s", rail);
	}
	return err;
}

/* ---- Catalog: what the version says to the server ---- */

static knot_err_t update_run_inspect(update_t *update)
{
	const update_env_t *env = update->env;
	return env->inspect != NULL ? env->inspect(update->base, update->next, env->ctx) : KNOT_OK;
}

/* ---- Changes: what differs ---- */

typedef struct {
	update_t *update;
	bool is_added;
} update_listing_t;

static bool update_list_record(const zone_rr_t *rr, void *ctx)
{
	const update_listing_t *listing = ctx;
	const changeset_rr_t change = { .owner = rr->owner, .type = rr->type, .ttl = rr->ttl, .rdata = rr->rdata };
	changeset_put(&listing->update->changes, &change, listing->is_added);
	return true;
}

static knot_err_t update_list_whole(update_t *update)
{
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	update_listing_t added = { update, true };
	(void)zone_each_record(update->next, scratch, update_list_record, &added);
	free(scratch);
	return KNOT_OK;
}

static knot_err_t update_list_edits(update_t *update)
{
	update_listing_t removed = { update, false }, added = { update, true };
	knot_err_t err = zone_txn_diff(update->txn, false, update_list_record, &removed);
	return err == KNOT_OK ? zone_txn_diff(update->txn, true, update_list_record, &added) : err;
}

/* True if a payload of all records is to be stored. */
static bool update_is_whole(const update_t *update)
{
	bool is_replaced = update->txn == NULL && update->policy->stores == UPDATE_STORES_ALL;
	/* The first version has no SOA to begin a step with. */
	return is_replaced || (update->base == NULL && update->policy->stores != UPDATE_STORES_NOTHING);
}

static knot_err_t update_run_changes(update_t *update)
{
	bool is_whole = update_is_whole(update), is_step = update->txn != NULL && update->base != NULL;
	knot_err_t err = is_whole              ? update_list_whole(update)
			 : update->txn != NULL ? update_list_edits(update)
					       : KNOT_OK;
	if (err != KNOT_OK) {
		return err;
	}
	update->effects.removed = update->changes.count[false];
	update->effects.added = update->changes.count[true];
	if (update->policy->stores == UPDATE_STORES_NOTHING || !(is_whole || is_step)) {
		changeset_discard(&update->changes);
		return KNOT_OK;
	}
	return changeset_finish(&update->changes, is_whole ? CHANGESET_WHOLE : CHANGESET_STEP, &update->payload,
			&update->payload_len);
}

static void update_undo_changes(update_t *update)
{
	changeset_discard(&update->changes);
	free(update->payload);
	update->payload = NULL;
	update->payload_len = 0;
}

/* ---- Store and publish ---- */

static knot_err_t update_store_payload(const update_t *update, bool is_whole, char *reason)
{
	const update_effects_t *effects = &update->effects;
	bool may_be_whole = !is_whole && update->policy->stores == UPDATE_STORES_ALL;
	const update_record_t record = {
		.origin = update->origin,
		.source = update->source,
		.who = update->who,
		.is_whole = is_whole,
		.may_be_whole = may_be_whole,
		.has_base = update->base != NULL,
		.serial_from = update->base != NULL ? update->base->serial : 0,
		.serial_to = update->next->serial,
		.removed = effects->removed,
		.added = effects->added,
		.zone_size = update->next->wire_size,
		.payload = { update->payload, update->payload_len },
	};
	return update->env->store(&record, reason, update->env->ctx);
}

/* The step doesn't fit to what is stored: the whole new version takes the place of that. */
static knot_err_t update_store_instead(update_t *update, char *reason)
{
	update_undo_changes(update);
	knot_err_t err = update_list_whole(update);
	err = err == KNOT_OK ? changeset_finish(&update->changes, CHANGESET_WHOLE, &update->payload,
					       &update->payload_len)
			     : err;
	reason[0] = '\0';
	return err == KNOT_OK ? update_store_payload(update, true, reason) : err;
}

static knot_err_t update_run_store(update_t *update)
{
	char unused[UPDATE_REASON_MAX] = "";
	char *reason = update->reason != NULL ? update->reason : unused;
	if (update->policy->stores == UPDATE_STORES_NOTHING) {
		return KNOT_OK;
	}
	bool is_whole = update_is_whole(update);
	knot_err_t err = update_store_payload(update, is_whole, reason);
	bool fits_nowhere = err == KNOT_ESEMCHECK || err == KNOT_EMALF;
	bool may_be_whole = !is_whole && update->policy->stores == UPDATE_STORES_ALL;
	return fits_nowhere && may_be_whole ? update_store_instead(update, reason) : err;
}

static knot_err_t update_run_publish(update_t *update)
{
	update_effects_t *effects = &update->effects;
	effects->is_published = true;
	effects->is_ahead = update->is_ahead;
	effects->has_base = update->base != NULL;
	effects->serial_from = update->base != NULL ? update->base->serial : 0;
	effects->serial_to = update->next->serial;
	update->env->publish(update->next, update->env->ctx);
	update->next = NULL;
	return KNOT_OK;
}

/* ---- Steps ---- */

/* What can't be undone comes last: what is stored is published, and publishing can't fail. */
const update_step_t *update_steps(size_t *ret_count)
{
	static const update_step_t steps[] = {
		{ "sign", update_run_sign, update_undo_edits },
		{ "serial", update_run_serial, update_undo_edits },
		{ "build", update_run_build, update_undo_build },
		{ "zonemd", update_run_zonemd, NULL },
		{ "validate", update_run_proof, NULL },
		{ "rails", update_run_rails, NULL },
		{ "catalog", update_run_inspect, NULL },
		{ "changes", update_run_changes, update_undo_changes },
		{ "journal", update_run_store, NULL },
		{ "publish", update_run_publish, NULL },
	};
	*ret_count = KNOT_LEN(steps);
	return steps;
}

knot_err_t update_run(update_t *update, const update_step_t *steps, size_t count)
{
	knot_err_t err = KNOT_OK;
	size_t at = 0;
	while (at < count && !update->is_over && (err = steps[at].run(update)) == KNOT_OK) {
		at++;
	}
	/* The step that failed may have got half way: an undo takes that, too. */
	for (size_t i = at + 1; err != KNOT_OK && i > 0; i--) {
		if (steps[i - 1].undo != NULL) {
			steps[i - 1].undo(update);
		}
	}
	return err;
}

knot_err_t update_commit(update_t *update, const zone_contents_t *base, const update_policy_t *policy,
		const update_env_t *env, update_effects_t *ret_effects)
{
	assert((base == NULL) == (update->base == NULL));
	*ret_effects = (update_effects_t){ 0 };
	knot_err_t err = KNOT_OK;
	bool is_full = policy->signing != NULL && policy->signing->is_full;
	bool is_new = update->txn == NULL || base == NULL || is_full || zone_txn_is_changed(update->txn, &err);
	if (err != KNOT_OK || !is_new) {
		return err;
	}
	update->base = base;
	update->policy = policy;
	update->env = env;
	update->effects = (update_effects_t){ 0 };
	update->is_over = update->has_unsigned = update->has_zonemd = false;
	update->proof.is_done = false;
	update->mark = update->txn != NULL ? update_mark(update) : 0;
	size_t count;
	const update_step_t *steps = update_steps(&count);
	err = update_run(update, steps, count);
	if (err != KNOT_OK) {
		return err;
	}
	if (update->txn != NULL) {
		zone_txn_unmark(update->txn);
	}
	*ret_effects = update->effects;
	return KNOT_OK;
}
