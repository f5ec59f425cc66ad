/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Several changes made one: A to B and B to C give A to C; a whole zone and what follows give the whole zone after it.
 *
 * A record that is added and later removed, or removed and later added with the same TTL, is in neither part of the
 * result. Records are the same if owner (letters' case aside), type and RDATA are. Pure; cost and memory are in
 * proportion to all records that are given. No state, any thread.
 */
#pragma once

#include "src/journal/changeset.h"

typedef struct changeset_merger changeset_merger_t;

/** Begin. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t changeset_merge_begin(changeset_merger_t **ret_merger);

/**
 * Add the next change; a whole zone only as the first. The payload is borrowed until the end. KNOT_EMALF: damaged,
 * KNOT_ENOMEM; then only changeset_merge_discard() may follow.
 */
KNOT_MUST_USE knot_err_t changeset_merge_add(changeset_merger_t *merger, knot_bytes_t payload, changeset_kind_t kind);

/**
 * The result, of the kind that was added first: free(). ret_removed, ret_added: records, SOAs included. KNOT_ENOMEM,
 * KNOT_ENOSOA (nothing was added). Ends the merger, whatever is returned.
 */
KNOT_MUST_USE knot_err_t changeset_merge_finish(changeset_merger_t *take_merger, uint8_t **ret_data, size_t *ret_len,
		uint32_t *ret_removed, uint32_t *ret_added);

/** End it without a result. NULL is allowed. */
void changeset_merge_discard(changeset_merger_t *take_merger);
