/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/by_keys.h"

#include <stdlib.h>

static sign_key_set_t by_keys_set(const keys_rdatas_t *wanted, const keys_rdatas_t *unwanted, uint32_t ttl_s)
{
	return (sign_key_set_t){ .ttl = ttl_s,
		.rdatas = wanted->rdatas,
		.rdata_count = wanted->count,
		.gone = unwanted->rdatas,
		.gone_count = unwanted->count };
}

static sign_chain_t by_keys_chain(const conf_policy_t *policy)
{
	if ((policy->unsafe.bits & CONF_UNSAFE_NSEC) != 0) {
		return SIGN_CHAIN_KEPT;
	}
	return policy->has_nsec3 ? SIGN_CHAIN_NSEC3 : SIGN_CHAIN_NSEC;
}

static sign_manages_t by_keys_manages(const conf_policy_t *policy)
{
	if ((policy->unsafe.bits & CONF_UNSAFE_DNSKEY) != 0) {
		return SIGN_MANAGES_NONE;
	}
	return policy->manages == CONF_MANAGES_FULL ? SIGN_MANAGES_FULL : SIGN_MANAGES_INCREMENTAL;
}

/* Keys without a private part have none to sign. */
static size_t by_keys_list(const zone_keys_env_t *env, const zone_keys_t *keys, sign_key_t *ret_keys)
{
	const keys_set_t *set = &keys->set;
	size_t count = 0;
	for (size_t i = 0; i < set->count; i++) {
		keys_use_t use = keys_use(set->keys, set->count, i, env->now_s);
		if (i < keys->opened_count && keys->opened[i] != NULL) {
			ret_keys[count++] = (sign_key_t){ .key = keys->opened[i],
				.signs_keys = keys_signs_keys(&set->keys[i], &use),
				.signs_zone = keys_signs_zone(&set->keys[i], &use) };
		}
	}
	return count;
}

knot_err_t sign_by_keys(const zone_keys_env_t *env, const zone_keys_t *keys, const conf_policy_times_t *times,
		sign_by_keys_t *ret_made)
{
	enum { CDS_TTL_S = 0 };
	const conf_policy_t *policy = env->policy;
	*ret_made = (sign_by_keys_t){ .keys = calloc(keys->set.count + 1, sizeof(sign_key_t)) };
	if (ret_made->keys == NULL) {
		return KNOT_ENOMEM;
	}
	keys_records_t *records = &ret_made->records;
	knot_err_t err = keys_records_make(keys->set.keys, keys->set.count, policy, env->zone, env->now_s, records);
	ret_made->plan = (sign_plan_t){
		.keys = ret_made->keys,
		.key_count = by_keys_list(env, keys, ret_made->keys),
		.manages = by_keys_manages(policy),
		.dnskey = by_keys_set(&records->dnskey, &records->no_dnskey, times->dnskey_ttl_s),
		.cds = by_keys_set(&records->cds, &records->no_cds, CDS_TTL_S),
		.cdnskey = by_keys_set(&records->cdnskey, &records->no_cdnskey, CDS_TTL_S),
		.chain = by_keys_chain(policy),
		.nsec3 = { .algorithm = 1,
				.iterations = policy->nsec3_iterations,
				.salt = keys->salt,
				.salt_len = (uint8_t)keys->salt_len },
		.is_opt_out = policy->has_opt_out,
		.now_s = env->now_s,
		.lifetime_s = policy->rrsig_lifetime_s,
		.refresh_s = times->refresh_s,
		.pre_refresh_s = times->pre_refresh_s,
		.spread_s = times->spread_s,
		.is_reproducible = policy->is_reproducible,
		.keeps_expired = (policy->unsafe.bits & CONF_UNSAFE_EXPIRED) != 0,
		.thread_count = policy->threads,
	};
	return err;
}

void sign_by_keys_done(sign_by_keys_t *made)
{
	free(made->keys);
	keys_records_done(&made->records);
	*made = (sign_by_keys_t){ .keys = NULL };
}
