/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The pool of background workers, and what they do next: the event of the agenda that is due first and may run.
 * Internal to src/event.
 *
 * A zone has one job at a time, so that it has one writer without a mutex of its own. The lock of the pool guards its
 * fields, the fields of every entry that say so, and the server's list of entries. An event that may not run yet (its
 * zone is worked on, is frozen, or is edited) is parked in the agenda and released by what ends that.
 */
#pragma once

#include "src/event/agenda.h"
#include "src/event/entry.h"
#include "src/sys/lock.h"
#include "src/sys/thread.h"

/** What a job has done. */
typedef struct {
	load_outcome_t load;         /* LOAD_UNCHANGED: also when nothing was to be loaded */
	bool is_flushed;             /* the zone file was written */
	bool is_to_be_flushed_later; /* it could not be written */
	bool is_derived;             /* it was made of others as they are now, or that failed */
	bool is_to_be_derived_later; /* it failed */
	bool is_flush_refused; /* another program changed it: not to be written until a command requests it again */
	bool goes_on;  /* the job has only begun: what it waits for ends it with jobs_end(), perhaps it has already */
	bool is_quiet; /* nobody is notified of the new version */
	bool keeps_result; /* a success says nothing about the failure that the zone has */
	bool is_behind;    /* of EVENT_LOAD: as load_env_t has it */
	bool has_sync;     /* the next is known */
	int64_t sync_s;    /* `zonefile-sync` as it was while the job ran; seconds */
	char *reason;      /* owned, freed by jobs_end(): details of a failure; NULL: none */
	/* What a worker does when the zone's turn has ended; the entry may be gone then. NULL: nothing. Of events only.
	 */
	void (*then)(void *then_ctx);
	void *then_ctx;
} job_outcome_t;

/** A piece of a job that goes on, to be done by a worker. Of the caller; in place until `run` is called. */
typedef struct job_step {
	struct job_step *next;
	void (*run)(void *ctx);
	void *ctx;
} job_step_t;

/** What the pool calls. */
typedef struct {
	/* Runs an event, without the lock. ret_outcome: for `after`. */
	knot_err_t (*run)(entry_t *entry, event_t event, unsigned how, job_outcome_t *ret_outcome, void *ctx);
	entry_t *(*urgent)(void *ctx); /* a zone to be loaded before others, or NULL; with the lock */
	/* A job of a zone that is still configured ended; with the lock. */
	void (*after)(entry_t *entry, event_t event, knot_err_t result, job_outcome_t outcome, void *ctx);
	void *ctx;
} jobs_params_t;

enum {
	/* Refreshes that go on at once: those of a million zones take the memory of so many, and one that is asked for
	   by NOTIFY, which isn't counted, has few before it. */
	JOBS_REFRESHES_MAX = 4096,
	/* Times before all others: what is due then has been asked for since the process began. */
	JOBS_DUE_BY_NOTIFY = 0,
	JOBS_DUE_BY_OPERATOR = 1,
	JOBS_SPARES_MAX = 256, /* workers that have somebody in their places while they wait for something outside */
};

/** What a worker does that may last, as others hold what it needs. In its frame. */
typedef struct jobs_stall {
	struct jobs_stall *next;
	entry_t *entry;    /* the zone that it has */
	uint64_t since_ms; /* sys_clock_ms() */
	bool is_out;       /* another thread works in its place */
} jobs_stall_t;

enum { JOBS_STALL_MS = 5 * 1000 };

typedef struct {
	sys_mutex_t lock;     /* all below */
	pthread_cond_t work;  /* something is due earlier than before, or stopping; clock: monotonic */
	pthread_cond_t ended; /* a job ended while one is awaited, all zones were tried, no work is left, or stopping;
				 clock: monotonic */
	agenda_t agenda SYS_GUARDED_BY(lock);
	agenda_t refreshes SYS_GUARDED_BY(lock); /* of EVENT_REFRESH, as so many at once begin, however many are due */
	job_step_t *steps SYS_GUARDED_BY(lock);  /* pieces of jobs that go on, in order; *last_step: the end */
	job_step_t **last_step SYS_GUARDED_BY(lock);
	unsigned idle SYS_GUARDED_BY(lock);    /* workers that wait for something to be due */
	unsigned awaited SYS_GUARDED_BY(lock); /* threads that wait for the job of a zone to end */
	size_t untried SYS_GUARDED_BY(lock);   /* entries never tried */
	bool has_started SYS_GUARDED_BY(lock); /* each zone of the start was tried */
	unsigned running SYS_GUARDED_BY(lock);
	unsigned refreshing SYS_GUARDED_BY(lock); /* of these, runs of EVENT_REFRESH */
	uint64_t errors SYS_GUARDED_BY(lock);     /* jobs that failed */
	bool stopping SYS_GUARDED_BY(lock);

	unsigned outside SYS_GUARDED_BY(lock);          /* workers that stepped out */
	unsigned spare_count SYS_GUARDED_BY(lock);      /* threads in their places */
	struct jobs_spare *spares SYS_GUARDED_BY(lock); /* owned: these, and those that have ended */

	jobs_stall_t *stalls SYS_GUARDED_BY(lock); /* what goes on and may last */

	jobs_params_t calls;
	sys_thread_t *workers; /* owned */
	unsigned worker_count;
} jobs_t;

/** Initialize, without starting workers; each of `worker_count` will call params->run. */
void jobs_init(jobs_t *jobs, unsigned worker_count, const jobs_params_t *params);

/** Free what it owns, after jobs_stop() and before entries are freed. */
void jobs_deinit(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/** Start the workers. */
KNOT_MUST_USE knot_err_t jobs_start(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/** Let running jobs end, forget the others, end the workers. Without the lock. */
void jobs_stop(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/** Let a worker do a piece of a job that goes on, before other work. Without the lock, and before jobs_stop(). */
void jobs_go_on(jobs_t *jobs, job_step_t *step) SYS_EXCLUDES(jobs->lock);

/**
 * The calling worker will wait for something outside, perhaps for long: another thread works in its place until
 * jobs_step_in(). If there is none to be had, the pool has one worker less meanwhile. Without the lock.
 */
void jobs_step_out(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/** The worker is back. */
void jobs_step_in(jobs_t *jobs) SYS_EXCLUDES(jobs->lock);

/**
 * What follows usually takes no time, but may wait for another process or a device: if it does for JOBS_STALL_MS,
 * another thread works in the calling worker's place. entry: of which it has the turn. stall: in place until
 * jobs_goes_on(). Without the lock.
 */
void jobs_may_stall(jobs_t *jobs, entry_t *entry, jobs_stall_t *stall) SYS_EXCLUDES(jobs->lock);

/** It is over. */
void jobs_goes_on(jobs_t *jobs, jobs_stall_t *stall) SYS_EXCLUDES(jobs->lock);

/** To be called now and then: look for those that last. tell: is called for each, once, with the lock; its zone. */
void jobs_look_for_stalls(jobs_t *jobs, uint64_t now_ms, void (*tell)(knot_name_t zone)) SYS_EXCLUDES(jobs->lock);

/* ---- With the lock held ---- */

/** Where an event is planned. */
static inline agenda_t *jobs_agenda(jobs_t *jobs, event_t event) SYS_REQUIRES(jobs->lock)
{
	return event == EVENT_REFRESH ? &jobs->refreshes : &jobs->agenda;
}

/** Look at a planned event; false: it isn't planned. */
static inline bool jobs_find(const jobs_t *jobs, const entry_t *entry, event_t event, agenda_item_t *ret_item)
		SYS_REQUIRES(jobs->lock)
{
	return agenda_find(event == EVENT_REFRESH ? &jobs->refreshes : &jobs->agenda, entry, event, ret_item);
}

/** How many events are due and not parked. */
size_t jobs_count_due(const jobs_t *jobs) SYS_REQUIRES(jobs->lock);

/** Make room for the events of `count` zones in all. Call it before any is planned. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t jobs_reserve(jobs_t *jobs, size_t count) SYS_REQUIRES(jobs->lock);

/**
 * Plan an event at `due_ms`, sys_clock_ms(); a time that has passed is now. If it is planned already, the earlier time
 * holds. how: EVENT_BY_…. Returns the ticket to wait for.
 */
server_ticket_t jobs_plan(jobs_t *jobs, entry_t *entry, event_t event, uint64_t due_ms, unsigned how)
		SYS_REQUIRES(jobs->lock);

/** Plan an event now. */
server_ticket_t jobs_ask(jobs_t *jobs, entry_t *entry, event_t event, unsigned how) SYS_REQUIRES(jobs->lock);

/** Cancel a planned event, unless an operator requested it. */
void jobs_cancel(jobs_t *jobs, entry_t *entry, event_t event) SYS_REQUIRES(jobs->lock);

/** Look again at events of the zone that could not run: it was thawed, or its transaction ended. */
void jobs_release(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock);

/** The start needn't wait for the zone any more: its job has ended, or waits for something outside. */
void jobs_note_tried(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock);

/** True if freezing or a transaction holds the event back. */
bool jobs_is_held(const entry_t *entry, const agenda_item_t *item);

/** True if one of these events of the zone waits for a worker: it is due, and nothing but running jobs holds it back.
 */
bool jobs_is_pending(const jobs_t *jobs, const entry_t *entry, event_set_t events) SYS_REQUIRES(jobs->lock);

/** True if no job runs and nothing is due that may run. */
bool jobs_are_idle(const jobs_t *jobs) SYS_REQUIRES(jobs->lock);

/** Work on the zone in the calling thread as if it were a job; none of it may run. End it with jobs_end(). */
void jobs_begin(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock);

/** End the work. The entry may be freed by this. */
void jobs_end(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result) SYS_REQUIRES(jobs->lock);

/** Wait until some job ended, or the pool stops. */
void jobs_wait(jobs_t *jobs) SYS_REQUIRES(jobs->lock);

/** True if the event of a ticket has run, was cancelled, or is the zone's no more. */
bool jobs_has_ended(const jobs_t *jobs, const entry_t *entry, server_ticket_t ticket) SYS_REQUIRES(jobs->lock);

/**
 * Let go of an entry that isn't configured any more and that no reader has. True: the caller frees it, without a lock;
 * false: the thread that works on it frees it.
 */
bool jobs_let_go(jobs_t *jobs, entry_t *entry) SYS_REQUIRES(jobs->lock);
