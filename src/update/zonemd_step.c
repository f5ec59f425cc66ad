/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/zonemd_step.h"

#include "libknot/rr/rrtype.h"
#include "src/update/sign_step.h"
#include "src/zone/zonemd.h"

#include <stdio.h>

static knot_err_t zonemd_check(update_t *update)
{
	const update_policy_t *policy = update->policy;
	bool is_as_it_came = update->txn == NULL || policy->zonemd == CONF_ZONEMD_NONE;
	if (!policy->verifies_zonemd || !is_as_it_came) {
		return KNOT_OK;
	}
	knot_err_t err = zonemd_verify(update->next);
	update->has_bad_zonemd = err != KNOT_OK;
	if (err != KNOT_OK && update->reason != NULL) {
		snprintf(update->reason, UPDATE_REASON_MAX, "ZONEMD, verification failed");
	}
	if (update->env->on_zonemd != NULL) {
		update->env->on_zonemd(update->origin, err, update->env->ctx);
	}
	return err;
}

/* Replace the records in a transaction, and their signatures. record: NULL: with nothing. */
static knot_err_t zonemd_edit(update_t *update, zone_txn_t *txn, const zonemd_record_t *record)
{
	knot_name_t origin = update->origin;
	knot_err_t err = zone_txn_remove_all(txn, origin, KNOT_TYPE_ZONEMD);
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	if (err == KNOT_OK && record != NULL) {
		const knot_bytes_t rdata = { record->rdata, record->len };
		err = zone_txn_put(txn, origin, KNOT_TYPE_ZONEMD, record->ttl, rdata);
	}
	return err == KNOT_OK && record != NULL ? update_sign_set(update, txn, KNOT_TYPE_ZONEMD) : err;
}

/* What is looked for among the records of the apex, and what is found. */
typedef struct {
	unsigned algorithm;
	bool has_record, has_soa;
	uint32_t ttl, serial; /* of the SOA */
} zonemd_place_t;

static bool zonemd_look(const zone_rr_t *rr, void *ctx)
{
	enum { SCHEME_AT = 4, ALGORITHM_AT = 5 };
	zonemd_place_t *place = ctx;
	if (rr->type == KNOT_TYPE_SOA) {
		place->has_soa = true;
		place->ttl = rr->ttl;
		place->serial = knot_soa_serial(rr->rdata);
	}
	if (rr->type == KNOT_TYPE_ZONEMD && rr->rdata.len > ALGORITHM_AT) {
		place->has_record =
				place->has_record || (rr->rdata.data[SCHEME_AT] == ZONEMD_SCHEME_SIMPLE &&
								     rr->rdata.data[ALGORITHM_AT] == place->algorithm);
	}
	return true;
}

knot_err_t update_reserve_zonemd(const update_t *update, zone_txn_t *txn)
{
	conf_zonemd_t how = update->policy->zonemd;
	if (how == CONF_ZONEMD_NONE || update->keeps_zonemd) {
		return KNOT_OK;
	}
	zonemd_place_t place = { .algorithm = how };
	if (how != CONF_ZONEMD_REMOVE) {
		knot_err_t err = zone_txn_each_of(txn, update->origin, zonemd_look, &place);
		if (err != KNOT_OK || place.has_record || !place.has_soa) {
			return err;
		}
	}
	knot_err_t err = zone_txn_remove_all(txn, update->origin, KNOT_TYPE_ZONEMD);
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	if (err == KNOT_OK && how != CONF_ZONEMD_REMOVE) {
		uint8_t rdata[] = { 0, 0, 0, 0, ZONEMD_SCHEME_SIMPLE, (uint8_t)how, 0 };
		store_be32(rdata, place.serial);
		err = zone_txn_put(txn, update->origin, KNOT_TYPE_ZONEMD, place.ttl,
				(knot_bytes_t){ rdata, sizeof(rdata) });
	}
	return err;
}

/* Build the version again, with the record. What the checks say of it was said before. */
static knot_err_t zonemd_rebuild(update_t *update, zone_txn_t *txn, const zone_contents_t *base)
{
	zone_build_params_t params = update->policy->build;
	zone_contents_t *next;
	params.on_message = NULL;
	knot_err_t err = zone_txn_build(txn, base, &params, &next);
	if (err == KNOT_OK) {
		zone_contents_free(update->next);
		update->next = zone_txn_freshen(next);
	}
	return err;
}

static knot_err_t zonemd_put(update_t *update, const zonemd_record_t *record)
{
	if (update->txn != NULL) {
		knot_err_t err = zonemd_edit(update, update->txn, record);
		return err == KNOT_OK ? zonemd_rebuild(update, update->txn, update->base) : err;
	}
	zone_txn_t *txn;
	const zone_build_params_t params = { .origin = update->origin };
	knot_err_t err = zone_txn_begin(update->next, &params, &txn);
	if (err == KNOT_OK) {
		err = zonemd_edit(update, txn, record);
		err = err == KNOT_OK ? zonemd_rebuild(update, txn, update->next) : err;
		zone_txn_discard(txn);
	}
	return err;
}

static knot_err_t zonemd_generate(update_t *update)
{
	zonemd_record_t record;
	conf_zonemd_t how = update->policy->zonemd;
	if (how == CONF_ZONEMD_NONE || update->keeps_zonemd) {
		return KNOT_OK;
	}
	if (how == CONF_ZONEMD_REMOVE) {
		return zonemd_is_only(update->next, NULL) ? KNOT_OK : zonemd_put(update, NULL);
	}
	knot_err_t err = zonemd_make(update->next, how, &record);
	update->has_zonemd = err == KNOT_OK;
	if (err == KNOT_OK) {
		update->zonemd = record;
	}
	return err == KNOT_OK && !zonemd_is_only(update->next, &record) ? zonemd_put(update, &record) : err;
}

knot_err_t update_run_zonemd(update_t *update)
{
	knot_err_t err = zonemd_check(update);
	return err == KNOT_OK ? zonemd_generate(update) : err;
}

knot_err_t update_zonemd_is_due(const zone_contents_t *zone, conf_zonemd_t how, bool *ret_is_due)
{
	zonemd_record_t record;
	if (how == CONF_ZONEMD_NONE || how == CONF_ZONEMD_REMOVE) {
		*ret_is_due = how == CONF_ZONEMD_REMOVE && !zonemd_is_only(zone, NULL);
		return KNOT_OK;
	}
	knot_err_t err = zonemd_make(zone, how, &record);
	if (err == KNOT_OK) {
		*ret_is_due = !zonemd_is_only(zone, &record);
	}
	return err;
}
