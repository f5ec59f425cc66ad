/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/pool.h"

#include <stdlib.h>

#include "src/sys/team.h"

enum { WORTH_A_THREAD = 64 /* sets: about a millisecond of ECDSA, many times what starting a thread costs */ };

struct sign_pool {
	const sign_plan_t *plan;
	sys_team_t *team;        /* owned */
	sign_signer_t **signers; /* owned, and each of them: one for each thread */
	unsigned signer_count;
	sign_set_t *sets;
	sign_hash_t *hashes;
	size_t hash_count;
};

/* Pieces of work: hashes, then sets. */
static knot_err_t pool_do(void *ctx, unsigned member, size_t number)
{
	const sign_pool_t *pool = ctx;
	if (number < pool->hash_count) {
		sign_hash_t *hash = &pool->hashes[number];
		return zone_nsec3_hash(&pool->plan->nsec3, hash->name, hash->hash) ? KNOT_OK : KNOT_ERROR;
	}
	return sign_set(pool->signers[member], &pool->sets[number - pool->hash_count]);
}

sign_pool_t *sign_pool_new(const sign_plan_t *plan, knot_name_t origin)
{
	unsigned count = plan->thread_count > 0 ? plan->thread_count : 1;
	sign_pool_t *pool = calloc(1, sizeof(*pool));
	sign_signer_t **signers = calloc(count, sizeof(*signers));
	if (pool == NULL || signers == NULL) {
		free(pool);
		free(signers);
		return NULL;
	}
	*pool = (sign_pool_t){ .plan = plan, .signers = signers };
	const sys_team_params_t params = {
		.name = "sign", .member_count = count, .piece_min = WORTH_A_THREAD, .do_piece = pool_do, .ctx = pool
	};
	pool->team = sys_team_new(&params);
	bool is_good = pool->team != NULL;
	for (; is_good && pool->signer_count < count; pool->signer_count += is_good) {
		signers[pool->signer_count] = sign_signer_new(plan, origin);
		is_good = signers[pool->signer_count] != NULL;
	}
	if (!is_good) {
		sign_pool_free(pool);
		return NULL;
	}
	return pool;
}

void sign_pool_start(sign_pool_t *pool, sign_set_t *sets, size_t set_count, sign_hash_t *hashes, size_t hash_count)
{
	pool->sets = sets;
	pool->hashes = hashes;
	pool->hash_count = hash_count;
	for (unsigned i = 0; i < pool->signer_count; i++) {
		sign_signer_next(pool->signers[i]);
	}
	sys_team_start(pool->team, hash_count + set_count);
}

knot_err_t sign_pool_finish(sign_pool_t *pool)
{
	return sys_team_finish(pool->team);
}

void sign_pool_sum(const sign_pool_t *pool, sign_result_t *result)
{
	for (unsigned i = 0; i < pool->signer_count; i++) {
		uint64_t expiration_s = sign_signer_expiration_s(pool->signers[i]);
		result->rrsig_count += sign_signer_count(pool->signers[i]);
		if (expiration_s != 0 &&
				(result->earliest_expiration_s == 0 || expiration_s < result->earliest_expiration_s)) {
			result->earliest_expiration_s = expiration_s;
		}
	}
}

void sign_pool_free(sign_pool_t *pool)
{
	if (pool == NULL) {
		return;
	}
	sys_team_free(pool->team); /* first: it may be at work */
	for (unsigned i = 0; i < pool->signer_count; i++) {
		sign_signer_free(pool->signers[i]);
	}
	free(pool->signers);
	free(pool);
}
