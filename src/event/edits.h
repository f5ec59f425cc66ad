/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Open transactions on zones by the zone's name: a map with a lock of its own, so that commands that only read or
 * change a transaction don't meet the workers. Internal to src/event.
 *
 * A transaction is in the map while it is open, and freed with the last reference: the map's, and one for each thread
 * that has it or waits for it. Any thread.
 */
#pragma once

#include "src/event/zone_edit.h"
#include "src/sys/lock.h"
#include "src/update/update.h"

/** An open transaction. */
struct server_edit {
	sys_mutex_t lock;      /* held by the caller that works with it; before that of the map */
	unsigned refs;         /* under the lock of the map */
	bool is_open;          /* in the map; under its lock */
	uint64_t since_s;      /* wall clock: when it began */
	zone_contents_t *base; /* owned: a hold on the version that it began on; NULL: there were no contents */
	update_t update;       /* owned; all zero until it has begun */
	bool is_benevolent;
	knot_name_t name; /* of wire[] */
	uint8_t wire[];   /* lower case */
};

typedef struct {
	sys_mutex_t lock;
	void *map SYS_GUARDED_BY(lock); /* owned: of tsearch() */
	size_t count SYS_GUARDED_BY(lock);
} edits_t;

void edits_init(edits_t *edits);

/** Free the map with its transactions, when no thread uses them any more. */
void edits_done(edits_t *edits) SYS_EXCLUDES(edits->lock);

/** A transaction that isn't in the map; its caller has the reference. NULL: out of memory. */
server_edit_t *edits_new(knot_name_t name);

/** Put it into the map, which gets the caller's reference. KNOT_ENOMEM. KNOT_ETXNMANY: the zone has one. */
KNOT_MUST_USE knot_err_t edits_add(edits_t *edits, server_edit_t *take_edit) SYS_EXCLUDES(edits->lock);

/** The open transaction of a zone, with a reference for the caller; NULL: there is none. */
server_edit_t *edits_find(edits_t *edits, knot_name_t name) SYS_EXCLUDES(edits->lock);

/** Take it out of the map, whose reference goes; the caller has another one. False: it wasn't open any more. */
bool edits_remove(edits_t *edits, server_edit_t *edit) SYS_EXCLUDES(edits->lock);

/** True while it is in the map. */
bool edits_has(edits_t *edits, const server_edit_t *edit) SYS_EXCLUDES(edits->lock);

/** Give a reference back. */
void edits_unref(edits_t *edits, server_edit_t *take_edit) SYS_EXCLUDES(edits->lock);

/** The number of open transactions. */
size_t edits_count(edits_t *edits) SYS_EXCLUDES(edits->lock);

/** Any open transaction, as edits_find(). */
server_edit_t *edits_any(edits_t *edits) SYS_EXCLUDES(edits->lock);
