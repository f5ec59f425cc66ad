/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the threads that sign. The one that has the pool prepares the next piece of work meanwhile, and takes part
 * at its end; the others start with the first piece that is worth it and wait in between. What is signed doesn't depend
 * on their number.
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

/**
 * Begin to hash all names and to sign_set() all sets, in other threads if there are any. The names and sets are theirs
 * until sign_pool_finish(), which must have been called for the piece before. Signatures stay until the next but one.
 */
void sign_pool_start(sign_pool_t *pool, sign_set_t *sets, size_t set_count, sign_hash_t *hashes, size_t hash_count);

/** Take part until all of it is done. The first error of any. */
KNOT_MUST_USE knot_err_t sign_pool_finish(sign_pool_t *pool);

/** Add what has been done to *result. */
void sign_pool_sum(const sign_pool_t *pool, sign_result_t *result);

/** What has been started is left undone. NULL is allowed. */
void sign_pool_free(sign_pool_t *take_pool);
