/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones that are made of others, as the server makes them (src/update/derive.h). Internal to src/event.
 *
 * A commit of a zone tells those that are made of it what to look at, and plans the event `derive` of each, a moment
 * later, so that many commits become one. The first contents of such a zone wait until all zones that it is made of
 * have some; later it keeps what it has of one that has none.
 */
#pragma once

#include "src/event/derivations.h"
#include "src/event/internal.h"

/** A zone being made, by the thread that has its turn. */
typedef struct derived_set {
	derive_t derive;          /* its sources' contents are held */
	derived_names_t *names;   /* owned */
	derive_source_t *sources; /* owned, with their contents */
	derive_marks_t marks;     /* owned: what is to be looked at */
	zone_contents_t *own;     /* owned; derive.own */
	bool has_other_sources;   /* than when it was loaded last */
	bool is_awaiting;         /* a source has no contents, and doesn't wait for this zone itself */
	bool is_too_early;        /* a source hasn't been loaded yet, nor has that failed */
	bool is_done;             /* set it when all that is marked was looked at */
	bool is_waiting;          /* set it when the zone can't be made before it has all sources */
} derived_set_t;

/** Begin. is_load: log what is wrong with sources. KNOT_ENOENT: the zone isn't made of others, but if
 * ret_set->has_other_sources it was until now; there is nothing to close. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t derived_open(server_t *server, knot_name_t zone, bool is_load, derived_set_t *ret_set)
		SYS_EXCLUDES(server->jobs.lock);

/** True if the settings say that the zone is made of others than when it was loaded last. */
bool derived_differs(const server_t *server, const conf_zone_t *zone) SYS_REQUIRES(server->jobs.lock);

/** End: what isn't done remains to be looked at. */
void derived_close(server_t *server, derived_set_t *set) SYS_EXCLUDES(server->jobs.lock);

/** Note what the zone's own file, or its primary, says. NULL: nothing. Held. Without memory it is unknown. */
void derived_note_own(derived_set_t *set, const zone_contents_t *own);

/** Put everything right in a transaction on `base`. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t derived_apply_all(const derived_set_t *set, const zone_contents_t *base, zone_txn_t *txn);

/** Make *contents, which are the zone's own, the whole zone. Errors of zone_txn_build(); *contents stays then. */
KNOT_MUST_USE knot_err_t derived_complete(
		const derived_set_t *set, const zone_build_params_t *params, zone_contents_t **contents);

/** The same for contents that are looked at only, if the zone is made of others; not in its turn. KNOT_ENOMEM, and
 * errors of zone_txn_build(); *contents stays then. */
KNOT_MUST_USE knot_err_t derived_preview(server_t *server, knot_name_t zone, const zone_build_params_t *params,
		zone_contents_t **contents) SYS_EXCLUDES(server->jobs.lock);

/** Look at what is marked in the zone's contents, unless a source is still being loaded, and publish what that changes.
 * In the zone's turn. outcome: as that of a job. Errors of turn_publish(), logged. */
KNOT_MUST_USE knot_err_t derived_follow(server_t *server, entry_t *entry, derived_set_t *set, bool is_forced,
		job_outcome_t *outcome) SYS_EXCLUDES(server->jobs.lock);

/** True if the first contents have to wait; set->is_waiting then. Logs which zone hasn't any, unless that is being
 * loaded. */
bool derived_must_wait(derived_set_t *set);

/** What a new version of a zone means to others. Owned. */
typedef struct derived_news derived_news_t;

/** Find that out, before `next` is published in place of `now`. from: what changed the zone. NULL: nothing. */
derived_news_t *derived_compare(server_t *server, knot_name_t zone, update_source_t from, const zone_contents_t *now,
		const zone_contents_t *next) SYS_EXCLUDES(server->jobs.lock);

/** Tell them, when it is published. NULL is allowed. */
void derived_tell(server_t *server, derived_news_t *take_news) SYS_EXCLUDES(server->jobs.lock);
