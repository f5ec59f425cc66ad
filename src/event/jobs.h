/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The pool of background workers and the queue of zones that wait for one. Internal to src/event.
 *
 * A zone has one job at a time, so that it has one writer without a mutex of its own. The lock of the pool guards its
 * fields, the fields of every entry that say so, and the server's list of entries.
 */
#pragma once

#include "src/event/queue.h"
#include "src/sys/lock.h"
#include "src/sys/thread.h"

/** What a job has done. */
typedef struct {
	load_outcome_t load;         /* LOAD_UNCHANGED: also when nothing was to be loaded */
	bool is_flushed;             /* the zone file was written */
	bool is_to_be_flushed_later; /* it could not be written */
	bool is_flush_refused; /* another program changed it: not to be written until a command requests it again */
	bool keeps_result;     /* nothing was tried that says whether the zone loads: the last result still stands */
	char *reason;          /* owned, freed by jobs_end(): details of a failure; NULL: none */
} job_outcome_t;

/** What the pool calls. */
typedef struct {
	/* Does the work (WORK_…) of a job, without the lock. ret_outcome: for `after`. */
	knot_err_t (*run)(entry_t *entry, unsigned work, job_outcome_t *ret_outcome, void *ctx);
	entry_t *(*urgent)(void *ctx); /* an entry to be worked on before others, or NULL; with the lock */
	void (*after)(entry_t *entry, job_outcome_t outcome,
			void *ctx); /* a job ended, and the zone is still configured; with the lock */
	/* Asks for jobs whose time has come. Returns milliseconds until the next, 0: there is none. With the lock. */
	uint64_t (*due)(void *ctx);
	void *ctx;
} jobs_params_t;

typedef struct {
	sys_mutex_t lock;     /* all below */
	pthread_cond_t work;  /* a job is waiting, something else is due, or stopping; clock: monotonic */
	pthread_cond_t ended; /* a job ended while one is awaited, all zones were tried, no work is left, or stopping;
				 clock: monotonic */
	queue_t queue SYS_GUARDED_BY(lock);    /* jobs that wait */
	unsigned idle SYS_GUARDED_BY(lock);    /* workers that wait for a job */
	unsigned awaited SYS_GUARDED_BY(lock); /* threads that wait for the job of a zone to end */
	size_t untried SYS_GUARDED_BY(lock);   /* entries never tried */
	unsigned running SYS_GUARDED_BY(lock);
	server_ticket_t last_ticket SYS_GUARDED_BY(lock);
	uint64_t errors SYS_GUARDED_BY(lock); /* jobs that failed */
	bool stopping SYS_GUARDED_BY(lock);

	jobs_params_t calls;
	sys_thread_t *workers; /* owned */
	unsigned worker_count;
} jobs_t;

/** Initialize, without starting workers; each of `worker_count` will call params->run. */
void jobs_init(jobs_t *jobs, unsigned worker_count, const jobs_params_t *params);

/** Free what it owns, after jobs_stop() and before entries are freed. */
void jobs_deinit(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/** Start the workers. */
KNOT_MUST_USE knot_err_t jobs_start(jobs_t *jobs);

/** Let running jobs end, forget the others, end the workers. Without the lock. */
void jobs_stop(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/* ---- With the lock held ---- */

/** Make room for jobs of `count` entries beside those that wait already. Call it before jobs_ask(). KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t jobs_reserve(jobs_t *jobs, size_t count) SYS_REQUIRES(jobs->lock);

/** Request work (WORK_…) on the zone. Returns the ticket to wait for. */
server_ticket_t jobs_ask(jobs_t *jobs, entry_t *entry, unsigned work) SYS_REQUIRES(jobs->lock);

/** Wake workers to look for due work. */
void jobs_wake(jobs_t *jobs) SYS_REQUIRES(jobs->lock);

/** Work on the zone in the calling thread as if it were a job; entry->job must be JOB_NONE. End it with jobs_end(). */
void jobs_begin(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock);

/** End the work. The entry may be freed by this. */
void jobs_end(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result) SYS_REQUIRES(jobs->lock);

/** Wait until some job ended, or the pool stops. */
void jobs_wait(jobs_t *jobs) SYS_REQUIRES(jobs->lock);

/** True if the job of a ticket has ended. Tickets wrap. */
static inline bool jobs_has_ended(const entry_t *entry, server_ticket_t ticket)
{
	return (int32_t)(entry->done - ticket) >= 0;
}

/**
 * Let go of an entry that isn't configured any more and that no reader has. True: the caller frees it, without a lock;
 * false: the worker that runs its job, or takes it from the queue, frees it.
 */
bool jobs_let_go(entry_t *entry);
