/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A zone's turn that isn't a worker's: a command, or later another source of changes, has the zone to itself and
 * publishes a version of it. Internal to src/event.
 */
#pragma once

#include "src/event/internal.h"
#include "src/event/load.h"
#include "src/update/update.h"

/** The zone in the hands of a caller that may publish a version. */
typedef struct {
	server_t *server;
	entry_t *entry; /* held by server_begin_work() */
	const zone_contents_t *current;
	load_settings_t settings;
	knot_name_t name;
	const server_author_t *author; /* borrowed */
	server_commit_t *commit;       /* borrowed: gets the results */
	unsigned how;                  /* of signing: signing_ask_t */
} turn_t;

/** False: changes that were acknowledged aren't loaded yet, and a change of an older version would replace them. */
bool turn_may_change(server_t *server, const entry_t *entry) SYS_EXCLUDES(server->jobs.lock);

/**
 * Take the zone from the workers, do work that may publish a version, and plan writing the zone file. Waits for the
 * zone's job. is_edit: the work commits the zone's open transaction; else KNOT_ETXNMANY if there is one. commit: gets
 * the results, zeroed before. KNOT_ENOZONE, KNOT_ECTLBUSY: the server stops; KNOT_EAGAIN: changes that were
 * acknowledged aren't loaded yet; errors of the work.
 */
KNOT_MUST_USE knot_err_t turn_run(server_t *server, knot_name_t name, const server_author_t *author, bool is_edit,
		knot_err_t (*work)(const turn_t *turn, void *ctx), void *ctx, server_commit_t *commit)
		SYS_EXCLUDES(server->jobs.lock);

/**
 * Publish the edits of an update that began on turn->current, as durably as `journal-content` says. The contents are
 * ahead of the zone file then. Errors of publish_update(), with details in turn->commit.
 */
KNOT_MUST_USE knot_err_t turn_publish(const turn_t *turn, update_t *update);
