/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/jobs.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/sys/clock.h"
#include "src/sys/process.h"

static entry_t *take_queued(jobs_t *jobs)
{
	entry_t *entry = queue_take(&jobs->queue);
	if (entry != NULL) {
		entry->queued = false;
	}
	return entry;
}

void jobs_init(jobs_t *jobs, unsigned worker_count, const jobs_params_t *params)
{
	*jobs = (jobs_t){ .worker_count = worker_count, .calls = *params };
	sys_mutex_init(&jobs->lock);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&jobs->work, &monotonic);
	pthread_cond_init(&jobs->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void jobs_deinit(jobs_t *jobs)
{
	for (entry_t *entry; (entry = take_queued(jobs)) != NULL;) {
		if (entry->gone) {
			entry_free(entry);
		}
	}
	queue_deinit(&jobs->queue);
	free(jobs->workers);
	sys_mutex_done(&jobs->lock);
	pthread_cond_destroy(&jobs->work);
	pthread_cond_destroy(&jobs->ended);
}

/* ---- The queue. Under lock. ---- */

static void number_job(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock)
{
	entry->asked = ++jobs->last_ticket;
	/* Tickets wrap: a job that ended 2^31 jobs ago must not look newer than this one. */
	if (!entry->tried || entry->asked - entry->done > INT32_MAX / 2) {
		entry->done = entry->asked - 1;
	}
}

static void push_job(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock)
{
	entry->job = JOB_PENDING;
	entry->since_s = (uint32_t)sys_clock_wall();
	number_job(jobs, entry);
	/* An urgent entry that was worked on out of turn still has its place in the queue. */
	if (!entry->queued) {
		entry->queued = true;
		queue_put(&jobs->queue, entry);
	}
	if (jobs->idle > 0) {
		pthread_cond_signal(&jobs->work);
	}
}

knot_err_t jobs_reserve(jobs_t *jobs, size_t count)
{
	return queue_reserve(&jobs->queue, jobs->queue.count + count);
}

server_ticket_t jobs_ask(jobs_t *jobs, entry_t *entry, unsigned work)
{
	entry->work |= work & (WORK_LOAD | WORK_FLUSH | WORK_FORCE);
	switch (entry->job) {
	case JOB_NONE: push_job(jobs, entry); break;
	case JOB_PENDING: break; /* not started: it will do what the caller wants */
	case JOB_RUNNING: break; /* it is queued again when that ends */
	}
	/* While a job runs, its follower gets the next number when it is queued; waiting for any larger number is
	 * right. */
	return entry->job == JOB_RUNNING ? entry->asked + 1 : entry->asked;
}

void jobs_wake(jobs_t *jobs)
{
	pthread_cond_signal(&jobs->work);
}

bool jobs_let_go(entry_t *entry)
{
	entry->gone = entry->job != JOB_NONE || entry->queued;
	return !entry->gone;
}

/* ---- The pool ---- */

static void begin_job(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock)
{
	entry->job = JOB_RUNNING;
	entry->since_s = (uint32_t)sys_clock_wall();
	jobs->running++;
}

static void end_job(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result) SYS_REQUIRES(jobs->lock)
{
	entry->job = JOB_NONE;
	entry->doing = 0;
	entry->done = entry->asked;
	assert(!outcome.keeps_result || (result == KNOT_OK && outcome.load == LOAD_UNCHANGED));
	if (!outcome.keeps_result) {
		entry->result = (int16_t)result;
		jobs->errors += result != KNOT_OK;
	}
	if (!entry->tried && !entry->gone) {
		jobs->untried--;
	}
	entry->tried = true;
	jobs->running--;
	if (!entry->gone) {
		jobs->calls.after(entry, outcome, jobs->calls.ctx);
	}
	free(outcome.reason);
	if (entry->work != 0 && entry->job == JOB_NONE && !entry->gone) {
		push_job(jobs, entry);
	}
	/* Not for each of a million zones at start. */
	bool is_idle = jobs->queue.count == 0 && jobs->running == 0;
	if (jobs->awaited > 0 || is_idle || jobs->untried == 0) {
		pthread_cond_broadcast(&jobs->ended);
	}
}

static void tell_if_idle(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	if (jobs->queue.count == 0 && jobs->running == 0) {
		pthread_cond_broadcast(&jobs->ended);
	}
}

/* A job of a zone that isn't configured any more. */
static void drop_gone(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock)
{
	tell_if_idle(jobs);
	sys_mutex_unlock(&jobs->lock);
	entry_free(entry);
	sys_mutex_lock(&jobs->lock);
}

void jobs_wait(jobs_t *jobs)
{
	jobs->awaited++;
	sys_mutex_wait(&jobs->lock, &jobs->ended);
	jobs->awaited--;
}

void jobs_begin(jobs_t *jobs, entry_t *entry)
{
	number_job(jobs, entry);
	begin_job(jobs, entry);
}

void jobs_end(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result)
{
	end_job(jobs, entry, outcome, result);
	if (entry->gone && !entry->queued) {
		sys_mutex_unlock(&jobs->lock);
		entry_free(entry);
		sys_mutex_lock(&jobs->lock);
	}
}

/* Give memory back after many jobs: what they used meanwhile is scattered between what they made. */
static void give_memory_back(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	jobs->queue.was_long = false;
	sys_mutex_unlock(&jobs->lock);
	sys_memory_trim();
	sys_mutex_lock(&jobs->lock);
}

static entry_t *next_job(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	entry_t *urgent = jobs->queue.count > 0 ? jobs->calls.urgent(jobs->calls.ctx) : NULL;
	return urgent != NULL && urgent->job == JOB_PENDING ? urgent : take_queued(jobs);
}

/* Wait for work, or until something is due. */
static void wait_for_work(jobs_t *jobs, uint64_t due_ms) SYS_REQUIRES(jobs->lock)
{
	jobs->idle++;
	if (due_ms == 0) {
		sys_mutex_wait(&jobs->lock, &jobs->work);
	} else {
		struct timespec end = sys_clock_until(CLOCK_MONOTONIC, due_ms);
		(void)sys_mutex_wait_until(&jobs->lock, &jobs->work, &end);
	}
	jobs->idle--;
}

/* Under lock, which is released meanwhile. */
static void run_job(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock)
{
	unsigned work = entry->work;
	entry->work = 0;
	begin_job(jobs, entry);
	entry->doing = work & (WORK_LOAD | WORK_FLUSH);
	sys_mutex_unlock(&jobs->lock);
	job_outcome_t outcome = { .load = LOAD_UNCHANGED };
	knot_err_t result = jobs->calls.run(entry, work, &outcome, jobs->calls.ctx);
	sys_mutex_lock(&jobs->lock);
	jobs_end(jobs, entry, outcome, result);
}

static void run_jobs(void *arg)
{
	jobs_t *jobs = arg;
	sys_mutex_lock(&jobs->lock);
	while (!jobs->stopping) {
		uint64_t due_ms = jobs->calls.due(jobs->calls.ctx);
		entry_t *entry = next_job(jobs);
		if (entry == NULL && jobs->queue.was_long) {
			give_memory_back(jobs);
			continue;
		}
		if (entry == NULL) {
			wait_for_work(jobs, due_ms);
			continue;
		}
		if (entry->gone && entry->job != JOB_RUNNING) {
			drop_gone(jobs, entry);
			continue;
		}
		if (entry->job != JOB_PENDING) {
			tell_if_idle(jobs); /* a worker did it out of turn, or is doing so */
			continue;
		}
		run_job(jobs, entry);
	}
	sys_mutex_unlock(&jobs->lock);
}

knot_err_t jobs_start(jobs_t *jobs)
{
	jobs->workers = calloc(jobs->worker_count, sizeof(*jobs->workers));
	if (jobs->workers == NULL) {
		return KNOT_ENOMEM;
	}
	for (unsigned i = 0; i < jobs->worker_count; i++) {
		sys_thread_t *thread = &jobs->workers[i];
		*thread = (sys_thread_t){ .cpu = -1, .run = run_jobs, .arg = jobs };
		snprintf(thread->name, sizeof(thread->name), "bg-%u", i % 100000);
		knot_err_t err = sys_thread_start(thread);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

void jobs_stop(jobs_t *jobs)
{
	sys_mutex_lock(&jobs->lock);
	__atomic_store_n(&jobs->stopping, true, __ATOMIC_RELAXED); /* loads look at it without the lock */
	pthread_cond_broadcast(&jobs->work);
	pthread_cond_broadcast(&jobs->ended);
	sys_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->worker_count && jobs->workers != NULL; i++) {
		sys_thread_join(&jobs->workers[i]);
	}
}
