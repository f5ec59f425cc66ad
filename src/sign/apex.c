/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/apex.h"

#include "src/sign/sign.h"

static bool is_listed(const knot_bytes_t *list, size_t count, knot_bytes_t rdata)
{
	bool found = false;
	for (size_t i = 0; !found && i < count; i++) {
		found = knot_rdata_cmp(list[i], rdata) == 0;
	}
	return found;
}

/* A record, unless it is there with this TTL. */
static knot_err_t apex_put(sign_run_t *run, const sign_name_t *apex, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	for (size_t i = 0; i < apex->count; i++) {
		const sign_rr_t *rr = &apex->rrs[i];
		if (rr->type == type && rr->ttl == ttl && knot_rdata_cmp(rr->rdata, rdata) == 0) {
			return KNOT_OK;
		}
	}
	run->is_changed = true;
	knot_err_t err = zone_txn_put(run->txn, run->origin, type, ttl, rdata);
	return err == KNOT_EISRECORD ? KNOT_OK : err;
}

/* Make a set what it is to be. is_whole: records that aren't known go. */
static knot_err_t apex_make(
		sign_run_t *run, const sign_name_t *apex, uint16_t type, const sign_key_set_t *set, bool is_whole)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < apex->count; i++) {
		const sign_rr_t *rr = &apex->rrs[i];
		bool goes = rr->type == type && (is_whole ? !is_listed(set->rdatas, set->rdata_count, rr->rdata)
							  : is_listed(set->gone, set->gone_count, rr->rdata));
		if (goes) {
			run->is_changed = true;
			err = zone_txn_remove(run->txn, run->origin, type, rr->rdata);
		}
	}
	for (size_t i = 0; err == KNOT_OK && i < set->rdata_count; i++) {
		err = apex_put(run, apex, type, set->ttl, set->rdatas[i]);
	}
	return err;
}

knot_err_t sign_apex_keys(sign_run_t *run)
{
	const sign_plan_t *plan = run->plan;
	if (plan->manages == SIGN_MANAGES_NONE) {
		return KNOT_OK;
	}
	bool is_whole = plan->manages == SIGN_MANAGES_FULL;
	sign_name_t apex = { 0 };
	knot_err_t err = sign_name_load(&apex, run->txn, run->origin, SIGN_PART_REST);
	err = err == KNOT_OK ? apex_make(run, &apex, KNOT_TYPE_DNSKEY, &plan->dnskey, is_whole) : err;
	err = err == KNOT_OK ? apex_make(run, &apex, KNOT_TYPE_CDS, &plan->cds, is_whole) : err;
	err = err == KNOT_OK ? apex_make(run, &apex, KNOT_TYPE_CDNSKEY, &plan->cdnskey, is_whole) : err;
	sign_name_done(&apex);
	return err;
}

knot_err_t sign_apex_chain(sign_run_t *run)
{
	if (run->plan->chain == SIGN_CHAIN_KEPT) {
		return KNOT_OK;
	}
	uint8_t rdata[SIGN_NSEC3_HEAD_MAX];
	knot_bytes_t wanted = { rdata, sign_nsec3param_print(&run->plan->nsec3, rdata) };
	sign_key_set_t set = {
		.ttl = run->chain_ttl, .rdatas = &wanted, .rdata_count = run->plan->chain == SIGN_CHAIN_NSEC3
	};
	sign_name_t apex = { 0 };
	knot_err_t err = sign_name_load(&apex, run->txn, run->origin, SIGN_PART_REST);
	err = err == KNOT_OK ? apex_make(run, &apex, KNOT_TYPE_NSEC3PARAM, &set, true) : err;
	sign_name_done(&apex);
	return err;
}

static knot_err_t apex_sign_set(sign_run_t *run, uint16_t type)
{
	size_t set;
	sign_name_t apex = { 0 };
	knot_err_t err = sign_name_load(&apex, run->txn, run->origin, SIGN_PART_REST);
	for (size_t i = 0; i < apex.count; i++) {
		apex.rrs[i].belief = SIGN_BELIEF_STALE;
	}
	err = err == KNOT_OK ? sign_run_add_set(run, &apex, type, true, &set) : err;
	err = err == KNOT_OK ? sign_run_flush(run) : err;
	sign_name_done(&apex);
	return err;
}

knot_err_t sign_apex_set(zone_txn_t *txn, uint16_t type, const sign_plan_t *plan, sign_result_t *ret_result)
{
	sign_run_t run;
	knot_err_t err = sign_run_init(&run, txn, NULL, plan);
	err = err == KNOT_OK ? apex_sign_set(&run, type) : err;
	if (err == KNOT_OK) {
		*ret_result = sign_run_result(&run);
	}
	sign_run_done(&run);
	return err;
}
