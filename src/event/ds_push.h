/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The DS records of a zone, sent to its parent by dynamic update when new CDS records say so (conf `ds-push`).
 * Internal to src/event.
 *
 * Each server is asked for the zone that is the parent, which gets one update: the DS records go, and what the CDS
 * records say comes (RFC 2136, RFC 8078 4 for the removal of all). A server that can't be reached is tried again.
 */
#pragma once

#include "src/event/internal.h"

/** The servers of a zone's parent: those of the zone, else those of its policy. count 0: none. */
conf_groups_t ds_push_targets(const conf_policy_t *policy, const conf_zone_t *zone);

enum { DS_PUSH_CDS_MAX = 32 };

/** The CDS records of a version, as hashes of their RDATA. Those beyond DS_PUSH_CDS_MAX aren't looked at. */
typedef struct {
	uint64_t hashes[DS_PUSH_CDS_MAX];
	size_t count;
} ds_push_cds_t;

/** contents: NULL: none. */
ds_push_cds_t ds_push_read(const zone_contents_t *contents);

/** Plan the push that was planned before a restart. when_s: seconds since 1970; 0: none was. */
void ds_push_restore(server_t *server, entry_t *entry, uint64_t when_s) SYS_REQUIRES(server->jobs.lock);

/** Plan the push after `delay_s` if records came, forget it if some only went. In the zone's turn. */
void ds_push_follow(server_t *server, entry_t *entry, const ds_push_cds_t *before, const ds_push_cds_t *after,
		uint32_t delay_s) SYS_EXCLUDES(server->jobs.lock);
