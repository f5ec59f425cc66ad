/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which zones' newest versions are not on disk yet, and handing them to the writer of images. Internal to src/event.
 *
 * A version that waits is a state in its entry and a place in the queue; the state decides.
 */
#pragma once

#include "src/event/images.h"
#include "src/event/jobs.h"
#include "src/event/queue.h"

/** Under the lock of the jobs, except members that are set once. */
typedef struct {
	jobs_t *jobs;                                      /* borrowed */
	images_t *images;                                  /* owned */
	entry_t *(*find)(knot_name_t name, void *ctx);     /* the zone's entry or NULL; called with the lock */
	entry_t *(*at)(size_t index, void *ctx);           /* an entry of the list */
	size_t (*count)(void *ctx);                        /* its length */
	void (*now_and_then)(const char *path, void *ctx); /* as images_params_t says */
	void *ctx;
	sources_t *(*describe)(knot_name_t name,
			void *ctx); /* describes the zone file as it is now; NULL: it can't; called without the lock */
	queue_t queue;              /* those that wait; SAVE_WAITING in the entry decides */
	bool is_incomplete;         /* the queue was full once: more entries wait than it holds */
} saves_t;

/** Open the images. saves->jobs, the functions and ctx are set by the caller; *saves must stay in place. */
KNOT_MUST_USE knot_err_t saves_open(saves_t *saves, const conf_database_t *conf);

/** Free what it owns, after images_stop(). */
void saves_close(saves_t *saves);

/* ---- With the lock held ---- */

/** Note that a job of the zone ended. */
void saves_after_job(saves_t *saves, entry_t *entry, job_outcome_t outcome);

/** Make room for `count` entries. Before their first job. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t saves_reserve(saves_t *saves, size_t count);

/** Drop versions that wait, or were taken and not saved yet. */
void saves_forget(saves_t *saves);

/** Note that the list of entries was replaced; some may be gone. */
void saves_entries_changed(saves_t *saves);
