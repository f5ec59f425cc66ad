/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The keys of a zone while they are worked on: a list that owns them, in the order in which they were added. Values of
 * kasp_key_t whose public key is the list's. One owner; no locks.
 */
#pragma once

#include "src/kasp/key.h"

/** Zero: empty. Free it with keys_set_done(). */
typedef struct {
	kasp_key_t *keys; /* owned, with the public keys */
	size_t count, max;
} keys_set_t;

/** Add a copy of a key. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t keys_set_add(keys_set_t *set, const kasp_key_t *key);

/** Add a copy of each of another list. KNOT_ENOMEM: the list is as it was. */
KNOT_MUST_USE knot_err_t keys_set_copy(keys_set_t *set, const keys_set_t *from);

/** Take the index-th out. */
void keys_set_remove(keys_set_t *set, size_t index);

void keys_set_done(keys_set_t *set);
