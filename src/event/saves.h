/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which zones' newest versions are not on disk yet, and handing them to the writer of images. Within src/event only.
 *
 * What waits is a state in each entry; to find it without a list of a million, the few that came last are listed, and when there are more,
 * all entries are looked at, slice by slice.
 */
#pragma once

#include "src/event/images.h"
#include "src/event/jobs.h"

enum { SAVES_RECENT_MAX = 256 };

/** Under the lock of the jobs, but what is set once. */
typedef struct {
	jobs_t *jobs;                                      /* borrowed */
	images_t *images;                                  /* owned */
	entry_t *(*find)(knot_name_t name, void *ctx);     /* the zone's entry or NULL; called with the lock */
	entry_t *(*at)(size_t index, void *ctx);           /* an entry of the list */
	size_t (*count)(void *ctx);                        /* its length */
	void (*now_and_then)(const char *path, void *ctx); /* as images_params_t says */
	void *ctx;
	entry_t *recent[SAVES_RECENT_MAX];
	unsigned recent_count;
	size_t scan_at, scan_left; /* entries that may wait without being listed: the next ones of the list, around its end */
} saves_t;

/** Open the images. saves->jobs, find, at, count and ctx are set by the caller; *saves must stay in place. */
KNOT_MUST_USE knot_err_t saves_open(saves_t *saves, const conf_database_t *conf);

/** After images_stop(). */
void saves_close(saves_t *saves);

/* ---- With the lock held ---- */

/** A job of the zone ended. */
void saves_after_job(saves_t *saves, entry_t *entry, load_outcome_t outcome);

/** The list of entries was replaced; some may be gone. */
void saves_entries_changed(saves_t *saves);
