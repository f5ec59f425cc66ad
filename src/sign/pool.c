/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/pool.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/sys/lock.h"
#include "src/sys/thread.h"

enum {
	STEP = 16,          /* pieces of work that a thread takes at once */
	WORTH_A_THREAD = 64 /* sets: about 2 ms of ECDSA, many times what starting a thread costs */
};

typedef struct {
	sign_pool_t *pool;
	sign_signer_t *signer; /* owned */
	sys_thread_t thread;
	unsigned round; /* that it has done */
} member_t;

struct sign_pool {
	const sign_plan_t *plan;
	member_t *members; /* owned; the first is the thread that runs the pool */
	unsigned member_count, started;
	sign_set_t *sets;
	sign_hash_t *hashes;
	size_t set_count, hash_count;
	atomic_size_t next; /* piece of work: hashes, then sets */
	_Atomic knot_err_t err;
	sys_mutex_t lock; /* of what follows */
	pthread_cond_t work, done;
	unsigned round, running;
	bool is_ending;
	bool is_full; /* no thread could be started any more */
};

static knot_err_t pool_do(const sign_pool_t *pool, sign_signer_t *signer, size_t number)
{
	if (number < pool->hash_count) {
		sign_hash_t *hash = &pool->hashes[number];
		return zone_nsec3_hash(&pool->plan->nsec3, hash->name, hash->hash) ? KNOT_OK : KNOT_ERROR;
	}
	return sign_set(signer, &pool->sets[number - pool->hash_count]);
}

static void member_work(member_t *member)
{
	sign_pool_t *pool = member->pool;
	size_t total = pool->hash_count + pool->set_count, at;
	while ((at = atomic_fetch_add(&pool->next, STEP)) < total) {
		size_t end = at + STEP < total ? at + STEP : total;
		for (size_t i = at; i < end; i++) {
			knot_err_t err = pool_do(pool, member->signer, i), none = KNOT_OK;
			if (err != KNOT_OK) {
				(void)atomic_compare_exchange_strong(&pool->err, &none, err);
				return;
			}
		}
	}
}

static void member_run(void *arg)
{
	member_t *member = arg;
	sign_pool_t *pool = member->pool;
	sys_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->is_ending && pool->round == member->round) {
			sys_mutex_wait(&pool->lock, &pool->work);
		}
		if (pool->is_ending) {
			break;
		}
		member->round = pool->round;
		sys_mutex_unlock(&pool->lock);
		sys_thread_step_aside();
		member_work(member);
		sys_mutex_lock(&pool->lock);
		if (--pool->running == 0) {
			pthread_cond_signal(&pool->done);
		}
	}
	sys_mutex_unlock(&pool->lock);
}

sign_pool_t *sign_pool_new(const sign_plan_t *plan, knot_name_t origin)
{
	unsigned count = plan->thread_count > 0 ? plan->thread_count : 1;
	sign_pool_t *pool = calloc(1, sizeof(*pool));
	member_t *members = calloc(count, sizeof(*members));
	if (pool == NULL || members == NULL) {
		free(pool);
		free(members);
		return NULL;
	}
	pool->plan = plan;
	pool->members = members;
	sys_mutex_init(&pool->lock);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	for (; pool->member_count < count; pool->member_count++) {
		member_t *member = &members[pool->member_count];
		member->pool = pool;
		member->signer = sign_signer_new(plan, origin);
		if (member->signer == NULL) {
			sign_pool_free(pool);
			return NULL;
		}
	}
	return pool;
}

/* Start threads as far as there is work for them. One that can't be started isn't missed. */
static void pool_grow(sign_pool_t *pool)
{
	size_t wanted = (pool->hash_count + pool->set_count) / WORTH_A_THREAD;
	while (!pool->is_full && pool->started + 1 < pool->member_count && pool->started < wanted) {
		member_t *member = &pool->members[pool->started + 1];
		member->round = pool->round;
		member->thread = (sys_thread_t){ .cpu = -1, .yields = true, .run = member_run, .arg = member };
		(void)snprintf(member->thread.name, sizeof(member->thread.name), "sign-%u", pool->started + 1);
		if (sys_thread_start(&member->thread) != KNOT_OK) {
			pool->is_full = true;
			return;
		}
		pool->started++;
	}
}

void sign_pool_start(sign_pool_t *pool, sign_set_t *sets, size_t set_count, sign_hash_t *hashes, size_t hash_count)
{
	assert(pool->running == 0);
	pool->sets = sets;
	pool->set_count = set_count;
	pool->hashes = hashes;
	pool->hash_count = hash_count;
	pool->next = 0;
	pool->err = KNOT_OK;
	pool_grow(pool);
	for (unsigned i = 0; i < pool->started + 1; i++) {
		sign_signer_next(pool->members[i].signer);
	}
	sys_mutex_lock(&pool->lock);
	pool->round++;
	pool->running = pool->started;
	pthread_cond_broadcast(&pool->work);
	sys_mutex_unlock(&pool->lock);
}

knot_err_t sign_pool_finish(sign_pool_t *pool)
{
	member_work(&pool->members[0]);
	sys_mutex_lock(&pool->lock);
	while (pool->running > 0) {
		sys_mutex_wait(&pool->lock, &pool->done);
	}
	sys_mutex_unlock(&pool->lock);
	return pool->err;
}

void sign_pool_sum(const sign_pool_t *pool, sign_result_t *result)
{
	for (unsigned i = 0; i < pool->member_count; i++) {
		uint64_t expiration_s = sign_signer_expiration_s(pool->members[i].signer);
		result->rrsig_count += sign_signer_count(pool->members[i].signer);
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
	pool->next = SIZE_MAX / 2; /* what is left is let go */
	sys_mutex_lock(&pool->lock);
	pool->is_ending = true;
	pthread_cond_broadcast(&pool->work);
	sys_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++) {
		sys_thread_join(&pool->members[i + 1].thread);
	}
	for (unsigned i = 0; i < pool->member_count; i++) {
		sign_signer_free(pool->members[i].signer);
	}
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->done);
	sys_mutex_done(&pool->lock);
	free(pool->members);
	free(pool);
}
