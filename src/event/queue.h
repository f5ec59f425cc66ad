/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A queue of entries: a ring of pointers with room made beforehand, so that adding one can't fail. Internal to
 * src/event.
 *
 * It costs eight bytes for each entry that waits, instead of a link in each of a million entries that mostly don't.
 * When the ring gets empty after it was long, its memory goes back to the system while the room stays reserved. Not
 * thread-safe: under the lock of the jobs.
 */
#pragma once

#include "src/event/entry.h"

typedef struct {
	entry_t **ring; /* owned, mapped */
	size_t room;    /* entries that fit */
	size_t first, count;
	size_t longest; /* since it was empty */
	bool was_long;  /* it got empty after it was long; for the caller to clear */
} queue_t;

/** Free what it holds, not the entries. An all-zero queue is empty. */
void queue_deinit(queue_t *queue);

/** Make room for `room` entries in all. KNOT_ENOMEM: it is as before. */
KNOT_MUST_USE knot_err_t queue_reserve(queue_t *queue, size_t room);

/** Append. There must be room. */
void queue_put(queue_t *queue, entry_t *entry);

/** Take the first, or NULL. */
entry_t *queue_take(queue_t *queue);
