/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Giving back the memory that only older versions of a zone used, a slice per job, so that commits come in between.
 * Few zones are being compacted at once: what remains to be done of a pass is in a list.
 */
#include <stdlib.h>

#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/compact.h"

enum {
	REST_MS = 1,     /* between two slices: for commits that wait */
	SAVING_MS = 20,  /* while a version is saved: until it is looked at again */
	SAVING_PART = 2, /* a pass doesn't wait for that when more than this part of what is used is wasted */
};

struct compaction {
	compaction_t *next;
	const entry_t *entry;    /* only compared */
	zone_compaction_t *pass; /* owned; NULL: it has ended, and has left much waste */
	uint64_t left;           /* bytes of waste that were left by the pass before */
};

static compaction_t **compact_find(server_t *server, const entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	compaction_t **at = &server->compactions;
	while (*at != NULL && (*at)->entry != entry) {
		at = &(*at)->next;
	}
	return at;
}

/* True if a version is being saved: whatever is moved, its memory isn't given back. Saves don't begin in a pass, so one
 * waits for the other, unless a disk is so slow that more would be wasted than moving takes. */
static bool compact_waits(const entry_t *entry, const zone_contents_t *contents)
{
	return entry->is_saving && zone_wasted(contents) <= contents->live_size / SAVING_PART;
}

/* Take what is known of the zone from the list, or make it. NULL: out of memory, or not now. */
static compaction_t *compact_take(server_t *server, const entry_t *entry, const zone_contents_t *contents)
{
	sys_mutex_lock(&server->jobs.lock);
	compaction_t **at = compact_find(server, entry), *found = *at;
	if (compact_waits(entry, contents) || renewal_has(server, entry)) {
		sys_mutex_unlock(&server->jobs.lock);
		return NULL;
	}
	if (found != NULL) {
		*at = found->next;
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (found == NULL) {
		found = calloc(1, sizeof(*found));
	}
	if (found != NULL) {
		found->entry = entry;
	}
	return found;
}

static void compact_free(compaction_t *take_compaction)
{
	zone_compaction_free(take_compaction->pass);
	free(take_compaction);
}

/* Keep it if there is more to do. Not of a zone that was removed meanwhile: another one may get its address. */
static void compact_keep(server_t *server, entry_t *entry, compaction_t *take_compaction, bool has_more)
{
	sys_mutex_lock(&server->jobs.lock);
	entry->is_compacted = take_compaction->pass != NULL;
	if (entry->gone || !has_more) {
		compact_free(take_compaction);
	} else {
		take_compaction->next = server->compactions;
		server->compactions = take_compaction;
	}
	sys_mutex_unlock(&server->jobs.lock);
}

void server_compact_forget(server_t *server, entry_t *entry)
{
	compaction_t **at = compact_find(server, entry), *found = *at;
	if (found != NULL) {
		*at = found->next;
		compact_free(found);
	}
	renewal_forget(server, entry);
	entry->is_compacted = false;
}

void server_compact_deinit(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	while (server->compactions != NULL) {
		compaction_t *first = server->compactions;
		server->compactions = first->next;
		compact_free(first);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* The next slice of the pass, which may end it. */
static void compact_run_slice(entry_t *entry, compaction_t *compaction)
{
	zone_t *zone = entry_zone(entry);
	zone_contents_t *next = NULL;
	bool is_done = true;
	knot_err_t err = zone_compact_slice(compaction->pass, zone_contents(zone), ZONE_COMPACT_STEPS, &next, &is_done);
	if (err == KNOT_OK && next != NULL) {
		publish_moved(zone, next);
	}
	if (err != KNOT_OK || is_done) {
		zone_compaction_free(compaction->pass);
		compaction->pass = NULL;
		compaction->left = zone_wasted(zone_contents(zone));
		log_zone(LOG_DEBUG, entry_name(entry), "memory compacted (%s)", knot_strerror(err));
	}
}

knot_err_t server_run_compact(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how;
	outcome->keeps_result = true;
	renewal_run(server, entry);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	compaction_t *compaction = contents != NULL ? compact_take(server, entry, contents) : NULL;
	if (compaction == NULL) {
		return KNOT_OK; /* it is planned again if there is waste */
	}
	if (compaction->pass == NULL && zone_needs_compaction(contents, compaction->left)) {
		compaction->pass = zone_compaction_new();
	}
	if (compaction->pass != NULL) {
		compact_run_slice(entry, compaction);
	}
	bool has_more = compaction->pass != NULL || zone_needs_compaction(zone_contents(entry_zone(entry)), 0);
	compact_keep(server, entry, compaction, has_more);
	return KNOT_OK;
}

void server_plan_compact(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)ended;
	(void)outcome;
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	if (contents == NULL) {
		return;
	}
	const compaction_t *compaction = *compact_find(server, entry);
	bool has_pass = compaction != NULL && compaction->pass != NULL;
	uint64_t left = compaction != NULL ? compaction->left : 0;
	unsigned wait_ms = renewal_wait_ms(server, entry, contents);
	if (!renewal_has(server, entry) && (has_pass || zone_needs_compaction(contents, left))) {
		wait_ms = compact_waits(entry, contents) ? SAVING_MS : REST_MS;
	}
	if (wait_ms > 0) {
		(void)jobs_plan(&server->jobs, entry, EVENT_COMPACT, sys_clock_ms() + wait_ms, 0);
	}
}
