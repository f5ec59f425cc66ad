/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/by_offline.h"

#include <stdlib.h>

/* The times of what is stored, as seen from now. */
typedef struct {
	uint64_t now_s;
	uint64_t at_s;   /* of the records that hold */
	uint64_t next_s; /* of those behind; 0: there are none */
	uint64_t last_s;
	bool has_any; /* some hold */
} offline_times_t;

static bool offline_note_time(uint64_t when_s, void *ctx)
{
	offline_times_t *times = ctx;
	if (when_s <= times->now_s) {
		times->at_s = when_s;
		times->has_any = true;
	} else if (times->next_s == 0) {
		times->next_s = when_s;
	}
	times->last_s = when_s;
	return true;
}

static knot_err_t offline_load(const zone_keys_env_t *env, offline_times_t *times, kasp_offline_t *ret_records)
{
	kasp_txn_t *txn;
	*times = (offline_times_t){ .now_s = env->now_s };
	knot_err_t err = kasp_begin(env->kasp, false, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_each_offline(txn, env->zone, offline_note_time, times);
	if (err == KNOT_OK) {
		err = times->has_any ? kasp_get_offline(txn, env->zone, times->at_s, ret_records) : KNOT_ENOENT;
	}
	kasp_abort(txn);
	return err;
}

/* The views of a set; *at moves on. */
static sign_key_set_t offline_set(const kasp_offline_set_t *set, uint32_t dflt_ttl_s, knot_bytes_t **at)
{
	sign_key_set_t made = {
		.ttl = set->count > 0 ? set->rrs[0].ttl : dflt_ttl_s, .rdatas = *at, .rdata_count = set->count
	};
	for (size_t i = 0; i < set->count; i++) {
		*(*at)++ = set->rrs[i].rdata;
	}
	return made;
}

static knot_err_t offline_fill_plan(sign_by_offline_t *offline, sign_plan_t *plan)
{
	size_t count = 0;
	const kasp_offline_set_t *sets = offline->records.sets;
	for (size_t i = 0; i < KASP_OFFLINE_SETS; i++) {
		count += sets[i].count;
	}
	knot_bytes_t *at = calloc(count + 1, sizeof(*at));
	if (at == NULL) {
		return KNOT_ENOMEM;
	}
	offline->rdatas = at;
	plan->dnskey = offline_set(&sets[KASP_OFFLINE_DNSKEY], plan->dnskey.ttl, &at);
	plan->cdnskey = offline_set(&sets[KASP_OFFLINE_CDNSKEY], plan->cdnskey.ttl, &at);
	plan->cds = offline_set(&sets[KASP_OFFLINE_CDS], plan->cds.ttl, &at);
	const sign_key_set_t rrsigs = offline_set(&sets[KASP_OFFLINE_RRSIG], 0, &at);
	plan->has_key_rrsigs = true;
	plan->key_rrsigs = rrsigs.rdatas;
	plan->key_rrsig_count = rrsigs.rdata_count;
	return KNOT_OK;
}

knot_err_t sign_by_offline(const zone_keys_env_t *env, sign_by_offline_t *ret_offline, sign_plan_t *plan)
{
	offline_times_t times;
	sign_by_offline_t offline = { .next_s = 0 };
	knot_err_t err = offline_load(env, &times, &offline.records);
	err = err == KNOT_OK ? offline_fill_plan(&offline, plan) : err;
	if (err != KNOT_OK) {
		sign_by_offline_done(&offline);
		return err;
	}
	offline.last_s = times.next_s != 0 ? times.last_s : 0;
	offline.next_s = times.next_s;
	*ret_offline = offline;
	return KNOT_OK;
}

void sign_by_offline_done(sign_by_offline_t *offline)
{
	kasp_offline_done(&offline->records);
	free(offline->rdatas);
	*offline = (sign_by_offline_t){ .next_s = 0 };
}
