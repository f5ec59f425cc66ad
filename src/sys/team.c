/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/team.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/sys/lock.h"
#include "src/sys/thread.h"

enum { STEP = 16 /* pieces of work that a thread takes at once */ };

typedef struct {
	sys_team_t *team;
	unsigned number;
	sys_thread_t thread;
	unsigned round; /* that it has done */
} member_t;

struct sys_team {
	sys_team_params_t params;
	member_t *members; /* owned; the first is the thread that has the team */
	unsigned started;
	size_t count;
	atomic_size_t next;   /* piece of work */
	atomic_size_t failed; /* the first piece with an error; SIZE_MAX: none */
	sys_mutex_t lock;     /* of what follows */
	pthread_cond_t work, done;
	knot_err_t err; /* of piece `failed` */
	unsigned round, running;
	bool is_ending;
	bool is_full; /* no thread could be started any more */
};

static void team_note_error(sys_team_t *team, size_t number, knot_err_t err)
{
	sys_mutex_lock(&team->lock);
	if (number < team->failed) {
		team->failed = number;
		team->err = err;
	}
	sys_mutex_unlock(&team->lock);
}

/* Pieces are taken in ascending order, so nobody leaves one that stands in front of a piece with an error. */
static void member_work(member_t *member)
{
	sys_team_t *team = member->team;
	size_t at;
	while ((at = atomic_fetch_add(&team->next, STEP)) < team->count) {
		size_t end = at + STEP < team->count ? at + STEP : team->count;
		for (size_t i = at; i < end && i < team->failed; i++) {
			knot_err_t err = team->params.do_piece(team->params.ctx, member->number, i);
			if (err != KNOT_OK) {
				team_note_error(team, i, err);
			}
		}
	}
}

static void member_run(void *arg)
{
	member_t *member = arg;
	sys_team_t *team = member->team;
	sys_mutex_lock(&team->lock);
	for (;;) {
		while (!team->is_ending && team->round == member->round) {
			sys_mutex_wait(&team->lock, &team->work);
		}
		if (team->is_ending) {
			break;
		}
		member->round = team->round;
		sys_mutex_unlock(&team->lock);
		sys_thread_step_aside();
		member_work(member);
		sys_mutex_lock(&team->lock);
		if (--team->running == 0) {
			pthread_cond_signal(&team->done);
		}
	}
	sys_mutex_unlock(&team->lock);
}

sys_team_t *sys_team_new(const sys_team_params_t *params)
{
	assert(params->member_count > 0 && params->piece_min > 0);
	sys_team_t *team = calloc(1, sizeof(*team));
	member_t *members = calloc(params->member_count, sizeof(*members));
	if (team == NULL || members == NULL) {
		free(team);
		free(members);
		return NULL;
	}
	team->params = *params;
	team->members = members;
	sys_mutex_init(&team->lock);
	pthread_cond_init(&team->work, NULL);
	pthread_cond_init(&team->done, NULL);
	for (unsigned i = 0; i < params->member_count; i++) {
		members[i].team = team;
		members[i].number = i;
	}
	return team;
}

/* Start threads as far as there is work for them. One that can't be started isn't missed. */
static void team_grow(sys_team_t *team)
{
	size_t wanted = team->count / team->params.piece_min;
	while (!team->is_full && team->started + 1 < team->params.member_count && team->started < wanted) {
		member_t *member = &team->members[team->started + 1];
		member->round = team->round;
		member->thread = (sys_thread_t){ .cpu = -1, .yields = true, .run = member_run, .arg = member };
		(void)snprintf(member->thread.name, sizeof(member->thread.name), "%.10s-%u", team->params.name,
				(team->started + 1) % 1000);
		if (sys_thread_start(&member->thread) != KNOT_OK) {
			team->is_full = true;
			return;
		}
		team->started++;
	}
}

void sys_team_start(sys_team_t *team, size_t count)
{
	assert(team->running == 0);
	team->count = count;
	team->next = 0;
	team->failed = SIZE_MAX;
	team->err = KNOT_OK;
	team_grow(team);
	sys_mutex_lock(&team->lock);
	team->round++;
	team->running = team->started;
	pthread_cond_broadcast(&team->work);
	sys_mutex_unlock(&team->lock);
}

knot_err_t sys_team_finish(sys_team_t *team)
{
	member_work(&team->members[0]);
	sys_mutex_lock(&team->lock);
	while (team->running > 0) {
		sys_mutex_wait(&team->lock, &team->done);
	}
	sys_mutex_unlock(&team->lock);
	return team->err;
}

void sys_team_free(sys_team_t *team)
{
	if (team == NULL) {
		return;
	}
	team->next = SIZE_MAX / 2; /* what is left is let go */
	sys_mutex_lock(&team->lock);
	team->is_ending = true;
	pthread_cond_broadcast(&team->work);
	sys_mutex_unlock(&team->lock);
	for (unsigned i = 0; i < team->started; i++) {
		sys_thread_join(&team->members[i + 1].thread);
	}
	pthread_cond_destroy(&team->work);
	pthread_cond_destroy(&team->done);
	sys_mutex_done(&team->lock);
	free(team->members);
	free(team);
}
