/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: memory for what is made while a piece of a zone is signed, given back all at once. One owner; no locks.
 */
#pragma once

#include "libknot/name/name.h"

typedef struct sign_block sign_block_t;

/** Zero: empty. */
typedef struct {
	sign_block_t *first, *now; /* owned; blocks behind `now` wait for use */
	size_t used;               /* bytes of `now` */
	size_t total;              /* bytes since the last reset */
	bool failed;               /* there was no memory once */
} sign_mem_t;

/** Memory, aligned for any type, until the next reset. NULL: out of memory, and `failed` stays set. */
void *sign_mem_alloc(sign_mem_t *mem, size_t len);

/** A copy. `data` NULL: out of memory. */
knot_bytes_t sign_mem_copy(sign_mem_t *mem, knot_bytes_t bytes);

/** A copy of a name in lower case. `wire` NULL: out of memory. */
knot_name_t sign_mem_name(sign_mem_t *mem, knot_name_t name);

/** All of it may be used again. */
void sign_mem_reset(sign_mem_t *mem);

void sign_mem_done(sign_mem_t *mem);
