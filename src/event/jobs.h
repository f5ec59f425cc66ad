/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The pool of background workers and the queue of zones that wait for one. Within src/event only.
 *
 * A zone has one job at a time, so that it has one writer without a mutex of its own. The lock of the pool guards its fields,
 * the fields of every entry that say so, and the server's list of entries.
 */
#pragma once

#include "src/event/entry.h"
#include "src/sys/thread.h"

typedef struct {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t work;  /* a job is waiting, or stopping */
	pthread_cond_t ended; /* a job ended, or stopping; clock: monotonic */
	entry_t *first, *last;
	size_t pending;
	size_t untried; /* entries never tried */
	unsigned running;
	server_ticket_t last_ticket;
	uint64_t errors; /* jobs that failed */
	bool stopping;

	knot_err_t (*run)(entry_t *entry, void *ctx); /* does a job; called without the lock */
	void (*after)(entry_t *entry, void *ctx);     /* it was done, and the zone is still configured; called with the lock */
	void *ctx;
	sys_thread_t *workers; /* owned */
	unsigned worker_count;
} jobs_t;

/** Without workers; run is called with ctx by each of `worker_count` later. */
void jobs_init(jobs_t *jobs, unsigned worker_count, knot_err_t (*run)(entry_t *entry, void *ctx),
	       void (*after)(entry_t *entry, void *ctx), void *ctx);

/** After jobs_stop(). */
void jobs_deinit(jobs_t *jobs);

/** Start the workers. */
KNOT_MUST_USE knot_err_t jobs_start(jobs_t *jobs);

/** Let running jobs end, forget the others, end the workers. Without the lock. */
void jobs_stop(jobs_t *jobs);

/* ---- With the lock held ---- */

/** Ask for a job of the zone and get the ticket to wait for. */
server_ticket_t jobs_ask(jobs_t *jobs, entry_t *entry);

/** Work on the zone in the calling thread as if it were a job; entry->job is JOB_NONE. To be ended with jobs_end(). */
void jobs_begin(jobs_t *jobs, entry_t *entry);

/** The work ended. The entry may be gone afterwards. */
void jobs_end(jobs_t *jobs, entry_t *entry, knot_err_t result);

/**
 * The entry isn't configured any more and no reader has it: its job is dropped, and it is freed now or by its running job.
 */
void jobs_free_entry(jobs_t *jobs, entry_t *take_entry);
