/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Requests for dynamic updates that wait, by zone (doc/adr/0040-dynamic-update.md).
 *
 * Memory is bounded for all zones together, from the moment that a request is put until it has been answered. What a
 * zone has waiting, and what a source has anywhere, may be at most as much as is free: so the first gets half, the next
 * a quarter, and whoever fills its part leaves room for others. A source is an IPv4 address or an IPv6 network of 56
 * bits; sources are told apart by a keyed hash, so that a few may share a part, and nobody chooses with whom.
 *
 * Clients that wait for answers before they go on come back all at once when a batch is answered. A batch that began
 * with the first of them would leave the others to the next one, so that each waits for two commits; updates_gather()
 * waits a part of what a commit takes for as many as were there before.
 *
 * Requests and who owns them: src/update/request.h. Any thread.
 */
#pragma once

#include "src/event/gather.h"
#include "src/sys/lock.h"
#include "src/update/request.h"

/** Requests in the order in which they came. */
typedef struct {
	update_request_t *first, **end; /* owned */
	size_t count;
} update_list_t;

enum { UPDATES_SOURCES = 4096 /* counters of sources */ };

typedef struct {
	sys_mutex_t lock;
	size_t max;                                           /* bytes */
	uint64_t seed;                                        /* of the hash of sources */
	bool is_closed SYS_GUARDED_BY(lock);                  /* the process ends: there is no room any more */
	size_t used SYS_GUARDED_BY(lock);                     /* of all that was put and isn't answered */
	void *zones SYS_GUARDED_BY(lock);                     /* owned: of tsearch(); zones for which some wait */
	size_t sources[UPDATES_SOURCES] SYS_GUARDED_BY(lock); /* bytes of each */
	pthread_cond_t gathered; /* a zone has as many as one waits for; clock: monotonic */
	gather_t gather SYS_GUARDED_BY(lock);
} updates_t;

/** max: bytes of memory; seed: secret. */
void updates_init(updates_t *updates, size_t max, uint64_t seed);

/** Free it. Nothing waits any more. */
void updates_deinit(updates_t *updates);

/**
 * Let a request wait. count_max: requests that may wait for the zone; 0: as many as there is room for. The request's
 * rcode becomes NOERROR. KNOT_ESPACE: no room, or count_max wait already; KNOT_ENOMEM: the caller still has it.
 * ret_is_first: none was waiting for the zone, so the event must be planned.
 */
KNOT_MUST_USE knot_err_t updates_put(updates_t *updates, knot_name_t zone, size_t count_max,
		update_request_t *take_request, bool *ret_is_first) SYS_EXCLUDES(updates->lock);

/**
 * Wait until as many requests wait for a zone as are to be expected, briefly. One that comes alone doesn't wait. Worker
 * of the zone only.
 */
void updates_gather(updates_t *updates, knot_name_t zone) SYS_EXCLUDES(updates->lock);

/** A batch of a zone took so long, and is to be answered now: what updates_gather() expects. Before updates_answer().
 */
void updates_note_batch(updates_t *updates, knot_name_t zone, size_t answered, uint64_t took_ns)
		SYS_EXCLUDES(updates->lock);

/** Take at most count_max of those that wait for a zone, the oldest. They still count as used. */
update_list_t updates_take(updates_t *updates, knot_name_t zone, size_t count_max) SYS_EXCLUDES(updates->lock);

/** What waits for a zone. */
typedef enum {
	UPDATES_NONE,
	UPDATES_NEW,  /* all came after updates_take() */
	UPDATES_LEFT, /* updates_take() left some */
} updates_waiting_t;

updates_waiting_t updates_wait(updates_t *updates, knot_name_t zone) SYS_EXCLUDES(updates->lock);

/** Give requests that were taken back to their transports, with their rcodes. */
void updates_answer(updates_t *updates, update_list_t *take_list) SYS_EXCLUDES(updates->lock);

/** Answer all that wait, for any zone, with `rcode`, and let none wait any more: the process ends. */
void updates_drop(updates_t *updates, uint16_t rcode) SYS_EXCLUDES(updates->lock);
