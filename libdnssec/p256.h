/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: many signatures of P-256 by one key, verified with a table of the key's multiples (ADR 57).
 *
 * ECDSA verifies by u1·G + u2·Q (FIPS 186-4 6.4). OpenSSL has a table for G and none for a key Q, so that u2·Q takes
 * two thirds of the time; but it makes one for the generator of any group on this curve, and Q is a generator. A table
 * takes 150 KB, and as long as it saves with some 700 verifications, so it is made of a key that has verified more, and
 * kept for those who come later: for this process, of a bounded number of keys, the ones used last. Inversions of a
 * batch cost one, by Montgomery's trick.
 *
 * All arithmetic is the library's. What is found wrong here is verified once more by the library's own verification, so
 * that a mistake could refuse nothing that is good.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <stdbool.h>

enum {
	P256_PUBLIC_LEN = 64,    /* x | y */
	P256_SIGNATURE_LEN = 64, /* r | s */
	P256_HASH_LEN = 32,
	P256_BATCH = 32, /* signatures */
};

/** Multiples of one key: shared by threads. */
typedef struct p256_table p256_table_t;

/** Note that a key verifies `count` signatures more; the table if there is one now, to be given back. NULL: there is
 * none yet, or the library can't make one. Any thread; makes the table where it is called the first time after enough
 * signatures. */
p256_table_t *p256_table_take(const uint8_t public[static P256_PUBLIC_LEN], uint64_t count);
void p256_table_release(p256_table_t *table);

typedef struct {
	uint8_t hash[P256_HASH_LEN];
	uint8_t signature[P256_SIGNATURE_LEN];
} p256_item_t;

/** What one thread needs for verifying with a table. */
typedef struct p256 p256_t;

/** table: must stay. NULL: out of memory. */
p256_t *p256_new(const p256_table_t *table);
void p256_free(p256_t *take_p256);

/** Whether all of 1 to P256_BATCH signatures are the key's. False also if that can't be said. */
bool p256_verify(p256_t *p256, const p256_item_t *items, size_t count);
