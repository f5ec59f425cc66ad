/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging changes in the journal when storing one of them had no time for it; while the zone goes on changing. */
#include <stdlib.h>

#include "src/event/internal.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/process.h"

enum {
	MERGES_MAX = 2, /* at once: each takes memory of a multiple of what it merges, and a worker */
	AGAIN_MS = 500, /* when so many go on already */
};

/** What goes on when the zone's turn has ended. */
typedef struct {
	server_t *server;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name; /* of wire[] */
	journal_limits_t limits;
} merge_t;

/* The image, and what is being saved as the next one: a start goes on from there. */
static size_t merge_find_borders(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	const merge_t *merge = ctx;
	return images_serials(merge->server->saves.images, merge->name, ret_serials);
}

static void merge_run(void *take_ctx)
{
	merge_t *merge = take_ctx;
	journal_reason_t reason = { .text = "" };
	knot_err_t err = journal_merge(
			merge->server->journal, merge->name, &merge->limits, &merge->server->jobs.stopping, &reason);
	if (err != KNOT_OK) {
		log_zone(LOG_WARNING, merge->name, "failed to merge changes in the journal (%s)%s%s",
				knot_strerror(err), reason.text[0] != '\0' ? ", " : "", reason.text);
	}
	sys_memory_trim(); /* seldom, and of megabytes */
	atomic_fetch_sub(&merge->server->merges, 1);
	free(merge);
}

knot_err_t server_run_merge(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how;
	outcome->keeps_result = true;
	if (atomic_fetch_add(&server->merges, 1) >= MERGES_MAX) {
		atomic_fetch_sub(&server->merges, 1);
		return KNOT_OK; /* server_plan_merge() plans it again */
	}
	merge_t *merge = calloc(1, sizeof(*merge));
	load_settings_t *settings = calloc(1, sizeof(*settings));
	if (merge == NULL || settings == NULL ||
			load_settings(&server->root, entry_name(entry), settings) == KNOT_ENOZONE) {
		free(merge);
		free(settings);
		atomic_fetch_sub(&server->merges, 1);
		return KNOT_OK; /* without memory it is tried again, too */
	}
	knot_name_lower(entry_name(entry), merge->wire);
	merge->server = server;
	merge->name = knot_name_of(merge->wire);
	merge->limits = settings->limits;
	merge->limits.borders = merge_find_borders;
	merge->limits.borders_ctx = merge;
	outcome->then = merge_run;
	outcome->then_ctx = merge;
	free(settings);
	return KNOT_OK;
}

void server_plan_merge(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	bool has_begun = ended == EVENT_MERGE && outcome.then != NULL;
	if (!has_begun && journal_wants_merge(server->journal, entry_name(entry))) {
		uint64_t wait_ms = ended == EVENT_MERGE ? AGAIN_MS : 0;
		(void)jobs_plan(&server->jobs, entry, EVENT_MERGE, sys_clock_ms() + wait_ms, 0);
	}
}
