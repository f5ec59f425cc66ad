/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * NOTIFY to a zone's parent: CDS, CDNSKEY or CSYNC records have come (conf `dsync-notify`). Internal to src/event.
 *
 * The event `DSYNC-notify` begins a question (question.h): a resolver, or a server of the parent, is asked for the
 * parent's DSYNC record and for the addresses of its target, of which the first that answers gets a NOTIFY for each
 * type that the zone has. Which records the parent accepts is up to its own check; a NOTIFY that is lost, or one too
 * many, changes only when it looks. So nothing of this outlives the process. RFC 9859.
 */
#pragma once

#include "src/event/internal.h"

enum { DSYNC_TOLD_MAX = 64 };

/** The CDS, CDNSKEY and CSYNC records of a version, as hashes. Those beyond DSYNC_TOLD_MAX aren't looked at. */
typedef struct {
	uint64_t hashes[DSYNC_TOLD_MAX];
	size_t count;
} dsync_told_t;

/** contents: NULL: none. */
dsync_told_t dsync_told_read(const zone_contents_t *contents);

/** Plan the event if records came. In the zone's turn. */
void dsync_notify_follow(server_t *server, entry_t *entry, const dsync_told_t *before, const dsync_told_t *after,
		const conf_policy_t *policy) SYS_EXCLUDES(server->jobs.lock);
