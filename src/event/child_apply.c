/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/child_apply.h"

/* What a name has of a type now. */
typedef struct {
	reply_set_t *set;
	bool is_full;
} apply_reading_t;

static bool apply_take(const zone_rr_t *rr, void *ctx)
{
	apply_reading_t *reading = ctx;
	reading->is_full |= rr->type == reading->set->type && !reply_set_add(reading->set, rr->ttl, rr->rdata);
	return true;
}

/* KNOT_ETRYAGAIN: others than those. */
static knot_err_t apply_compare(const zone_txn_t *txn, knot_name_t owner, const reply_set_t *wanted)
{
	reply_set_t set;
	apply_reading_t reading = { .set = &set };
	reply_set_begin(&set, wanted->type);
	knot_err_t err = zone_txn_each_of(txn, owner, apply_take, &reading);
	err = err == KNOT_ENONODE ? KNOT_OK : err;
	return err == KNOT_OK && (reading.is_full || !reply_set_eq(&set, wanted)) ? KNOT_ETRYAGAIN : err;
}

/* The set in place of what there is. */
static knot_err_t apply_set(zone_txn_t *txn, knot_name_t owner, const reply_set_t *set, uint32_t ttl)
{
	knot_err_t err = zone_txn_remove_all(txn, owner, set->type);
	err = err == KNOT_ENONODE || err == KNOT_ENOENT ? KNOT_OK : err;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		err = zone_txn_put(txn, owner, set->type, ttl, reply_rdata(set, i));
	}
	return err;
}

static knot_err_t apply_csync(zone_txn_t *txn, knot_name_t child, const child_result_t *result)
{
	const child_csync_answer_t *answer = &result->csync_answer;
	uint32_t ttl = result->ns.ttl;
	knot_err_t err = answer->has_ns ? apply_set(txn, child, &answer->ns, ttl) : KNOT_OK;
	for (size_t i = 0; i < answer->host_count; i++) {
		for (unsigned j = 0; j < 2 && err == KNOT_OK; j++) {
			bool is_wanted = answer->has_address[j] && answer->hosts[i].addresses[j].count > 0;
			err = is_wanted ? apply_set(txn, answer->hosts[i].name, &answer->hosts[i].addresses[j], ttl)
					: KNOT_OK;
		}
	}
	return err;
}

knot_err_t child_apply(zone_txn_t *txn, knot_name_t child, const child_result_t *result)
{
	bool has_ds = (result->wants & CHILD_WANTS_DS) != 0 && result->ds_answer.verdict == CHILD_CHANGE;
	bool has_csync = (result->wants & CHILD_WANTS_CSYNC) != 0 && result->csync_answer.verdict == CHILD_CHANGE;
	knot_err_t err = apply_compare(txn, child, &result->ds.set);
	err = err == KNOT_OK ? apply_compare(txn, child, &result->ns.set) : err;
	if (err != KNOT_OK) {
		return err;
	}
	size_t mark = zone_txn_mark(txn);
	/* A child that had no DS record has the TTL of its NS records. */
	uint32_t ttl = result->ds.set.count > 0 ? result->ds.ttl : result->ns.ttl;
	err = has_ds ? apply_set(txn, child, &result->ds_answer.ds, ttl) : KNOT_OK;
	err = err == KNOT_OK && has_csync ? apply_csync(txn, child, result) : err;
	if (err != KNOT_OK) {
		zone_txn_rollback(txn, mark);
	}
	zone_txn_unmark(txn);
	return err;
}
