/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/sign_step.h"

#include "src/sign/sign.h"
#include "src/update/serial.h"
#include "src/update/zonemd_step.h"

#include <stdio.h>

static void sign_note(update_t *update, const sign_result_t *result)
{
	sign_result_t *all = &update->effects.signing;
	uint64_t a_s = all->earliest_expiration_s, b_s = result->earliest_expiration_s;
	all->is_changed = all->is_changed || result->is_changed;
	all->rrsig_count += result->rrsig_count;
	all->earliest_expiration_s = a_s == 0 || (b_s != 0 && b_s < a_s) ? b_s : a_s;
}

static knot_err_t sign_fail(update_t *update, knot_err_t err)
{
	update->has_unsigned = err != KNOT_OK;
	return err;
}

knot_err_t update_sign_set(update_t *update, zone_txn_t *txn, uint16_t type)
{
	if (update->policy->signing == NULL) {
		return KNOT_OK;
	}
	sign_result_t result;
	knot_err_t err = sign_apex_set(txn, type, update->policy->signing->plan, &result);
	if (err == KNOT_OK) {
		sign_note(update, &result);
	}
	return sign_fail(update, err);
}

uint32_t update_signed_serial(const update_t *update, uint32_t serial)
{
	const update_policy_t *policy = update->policy;
	const update_signing_t *signing = policy->signing;
	uint32_t next = update_serial_next(serial, &policy->serials, policy->build.now_s);
	bool is_behind = signing->has_floor && !update_serial_is_newer(next, signing->floor);
	return is_behind ? update_serial_next(signing->floor, &policy->serials, policy->build.now_s) : next;
}

/* ---- Edits ---- */

static knot_err_t sign_edits(update_t *update)
{
	const update_signing_t *signing = update->policy->signing;
	knot_err_t err = update_reserve_zonemd(update, update->txn);
	sign_result_t result;
	bool is_whole = signing->is_full;
	if (err != KNOT_OK) {
		return err;
	}
	err = is_whole ? sign_zone(update->txn, NULL, signing->plan, &result)
		       : sign_change(update->txn, signing->plan, &is_whole, &result);
	if (err != KNOT_OK) {
		return sign_fail(update, err);
	}
	update->effects.is_signed = true;
	update->effects.is_signed_whole = is_whole;
	sign_note(update, &result);
	update->is_over = update->base != NULL && !zone_txn_is_changed(update->txn, &err);
	return err;
}

/* ---- A whole version ---- */

/* The first version that a primary gives has its serial, unless the zone was signed before, or has serials of its own.
 */
static uint32_t sign_version_serial(const update_t *update)
{
	const update_policy_t *policy = update->policy;
	const update_signing_t *signing = policy->signing;
	if (update->source != UPDATE_TRANSFER) {
		return update_signed_serial(update, update->next->serial);
	}
	if (signing->has_floor) {
		return update_serial_next(signing->floor, &policy->serials, policy->build.now_s);
	}
	return policy->serials.policy == CONF_SERIAL_INCREMENT
			       ? update_serial_allowed(update->next->serial + (uint32_t)policy->serials.shift,
						 &policy->serials)
			       : update_signed_serial(update, update->next->serial);
}

static knot_err_t sign_set_serial(update_t *update, zone_txn_t *txn)
{
	return update_set_serial(txn, update->origin, sign_version_serial(update));
}

/* Most of the records are new: everything goes into a builder. */
static knot_err_t sign_first(update_t *update, zone_txn_t *txn, sign_result_t *ret_result)
{
	zone_build_params_t params = update->policy->build;
	zone_contents_t *next;
	params.on_message = NULL; /* what the checks say of the version was said before */
	zone_builder_t *builder = zone_builder_new(update->origin);
	knot_err_t err = builder != NULL ? sign_set_serial(update, txn) : KNOT_ENOMEM;
	const sign_sink_t sink = sign_to_builder(builder);
	err = err == KNOT_OK ? sign_zone(txn, &sink, update->policy->signing->plan, ret_result) : err;
	if (err != KNOT_OK) {
		zone_builder_discard(builder);
		return err;
	}
	err = zone_builder_finish(builder, &params, &next);
	if (err == KNOT_OK) {
		zone_contents_free(update->next);
		update->next = next;
	}
	return err;
}

static knot_err_t sign_again(update_t *update, zone_txn_t *txn, sign_result_t *ret_result)
{
	zone_build_params_t params = update->policy->build;
	zone_contents_t *next;
	params.on_message = NULL;
	knot_err_t err = sign_zone(txn, NULL, update->policy->signing->plan, ret_result);
	if (err != KNOT_OK || !zone_txn_is_changed(txn, &err)) {
		return err;
	}
	err = sign_set_serial(update, txn);
	err = err == KNOT_OK ? update_sign_set(update, txn, KNOT_TYPE_SOA) : err;
	err = err == KNOT_OK ? zone_txn_build(txn, update->next, &params, &next) : err;
	if (err == KNOT_OK) {
		zone_contents_free(update->next);
		update->next = zone_txn_freshen(next);
	}
	return err;
}

static knot_err_t sign_version(update_t *update)
{
	zone_txn_t *txn;
	sign_result_t result;
	const zone_build_params_t params = { .origin = update->origin };
	knot_err_t err = zone_txn_begin(update->next, &params, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = update_reserve_zonemd(update, txn);
	if (err == KNOT_OK) {
		err = update->next->is_signed ? sign_again(update, txn, &result) : sign_first(update, txn, &result);
	}
	zone_txn_discard(txn);
	if (err != KNOT_OK) {
		return sign_fail(update, err);
	}
	update->effects.is_signed = update->effects.is_signed_whole = true;
	sign_note(update, &result);
	return KNOT_OK;
}

knot_err_t update_run_sign(update_t *update)
{
	uint32_t serial;
	if (update->policy->signing == NULL) {
		return KNOT_OK;
	}
	if (update->txn == NULL) {
		return sign_version(update);
	}
	/* That there is no SOA is found when the version is built. */
	return update_serial(update->txn, update->origin, &serial) ? sign_edits(update) : KNOT_OK;
}
