/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * New versions that wait until another program has looked at them (conf `external-validation`). Internal to src/event.
 *
 * A version that is ready waits, within its commit and before anything is stored, for zone-commit or zone-abort, at
 * most for `timeout`. The worker that has the zone's turn waits with it, and the pool gets another one in its place
 * (jobs_step_out()), so other zones go on. Which versions wait is in a list with a lock of its own.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/event/server.h"
#include "src/sys/lock.h"

typedef struct external_wait external_wait_t;

typedef struct {
	sys_mutex_t lock;
	pthread_cond_t decided;                      /* clock: monotonic */
	external_wait_t *first SYS_GUARDED_BY(lock); /* versions that wait; in the frames of those that wait for them */
	bool is_over SYS_GUARDED_BY(lock);           /* the server stops: nothing is asked any more */
} externals_t;

void externals_init(externals_t *externals);
void externals_done(externals_t *externals);

/** Versions that wait are refused, and so are all that come. Before jobs_stop(). */
void externals_stop(externals_t *externals) SYS_EXCLUDES(externals->lock);

/**
 * Write the files that the zone's `external` block names, announce the version, and wait for the decision. base: what
 * is served, or NULL. In the zone's turn, in a thread of the pool. KNOT_OK also if the zone has no such block.
 * KNOT_EEXTERNAL: refused, or there was no decision in time; reason: which of these. Errors of writing files.
 */
KNOT_MUST_USE knot_err_t external_ask(
		server_t *server, zone_t *zone, const zone_contents_t *base, const zone_contents_t *next, char *reason);

/** Decide about the version of a zone that waits; false: none does. */
bool external_decide(externals_t *externals, knot_name_t name, bool is_accepted) SYS_EXCLUDES(externals->lock);

/** True while a version of the zone waits. */
bool external_is_waiting(externals_t *externals, knot_name_t name) SYS_EXCLUDES(externals->lock);
