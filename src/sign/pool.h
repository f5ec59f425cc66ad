/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the threads that sign. The one that runs the pool takes part; the others start with the first work that is
 * worth it and wait in between. What is signed doesn't depend on their number.
 */
#pragma once

#include "src/sign/set.h"

/** A name to be hashed for NSEC3. */
typedef struct {
	knot_name_t name;
	uint8_t hash[ZONE_NSEC3_HASH_LEN]; /* out */
	uint32_t bitmap;                   /* of the caller */
} sign_hash_t;

typedef struct sign_pool sign_pool_t;

/** plan, origin: borrowed. NULL: out of memory. */
sign_pool_t *sign_pool_new(const sign_plan_t *plan, knot_name_t origin);

/** Hash all names, and sign_set() all sets. Their new signatures stay until the next run. The first error of any. */
KNOT_MUST_USE knot_err_t sign_pool_run(
		sign_pool_t *pool, sign_set_t *sets, size_t set_count, sign_hash_t *hashes, size_t hash_count);

/** Add what has been done to *result. */
void sign_pool_sum(const sign_pool_t *pool, sign_result_t *result);

/** NULL is allowed. */
void sign_pool_free(sign_pool_t *take_pool);
