/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which versions have to be proven to be validly signed, and what is logged and planned of it. Internal to src/event.
 *
 * Of zones that are signed here each version is proven before it is published: what a change made, and of large whole
 * versions a sample, with all of it in the background later. Of zones with `dnssec-validation` all of what comes.
 */
#pragma once

#include "src/event/internal.h"
#include "src/update/update.h"

typedef struct {
	server_t *server;
	zone_t *zone;
	bool is_wanted;
	bool is_signed_here;
	bool is_sampled; /* of whole versions */
	bool has_digest; /* a ZONEMD record is generated */
	update_proof_t proof;
} validating_t;

/** What is to be proven of a commit. base: as of update_commit(). */
validating_t validating_begin(server_t *server, zone_t *zone, const update_t *update, const zone_contents_t *base);

/** Log what came of it, and plan the event. err: of the commit. */
void validating_end(const validating_t *validating, knot_err_t err, const update_t *update);

/** Plan a proof of all of the served version, as nothing is known of it. In the zone's turn. */
void validating_plan_all(server_t *server, zone_t *zone) SYS_EXCLUDES(server->jobs.lock);
