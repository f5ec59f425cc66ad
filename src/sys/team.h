/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Threads that do numbered pieces of work together with the one that has the team, which prepares the next round
 * meanwhile and takes part at the end of each. The others start with the first round that is worth it, and wait in
 * between. One thread uses a team; pieces of a round are independent of each other.
 */
#pragma once

#include "libknot/base/err.h"

#include <stddef.h>

typedef struct sys_team sys_team_t;

/** Do one piece. member: number of the thread that does it, from 0: for what each has for itself. */
typedef knot_err_t (*sys_team_do_t)(void *ctx, unsigned member, size_t number);

typedef struct {
	const char *name;      /* of the threads, with a number behind it; at most 10 bytes */
	unsigned member_count; /* threads that work, with the calling one: at least 1 */
	unsigned piece_min;    /* pieces of work that are worth another thread */
	sys_team_do_t do_piece;
	void *ctx; /* borrowed */
} sys_team_params_t;

/** params: copied; what it points to is borrowed. NULL: out of memory. */
sys_team_t *sys_team_new(const sys_team_params_t *params);

/** Begin a round of `count` pieces, in other threads if there are any. The one before must have been finished. */
void sys_team_start(sys_team_t *team, size_t count);

/**
 * Take part until all is done. The error of the piece with the lowest number that had one: all in front of it have been
 * done, of those behind it some.
 */
KNOT_MUST_USE knot_err_t sys_team_finish(sys_team_t *team);

/** What has been started is left undone. NULL is allowed. */
void sys_team_free(sys_team_t *take_team);
