/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What happens when the wall clock is set, while the server runs or before it starts. Internal to src/event.
 *
 * Which of two clocks was right can't be known. So a jump is logged with both times, events that are planned by the
 * wall clock are planned again, keys aren't rolled before caches have forgotten what was served before the jump, and
 * nothing is signed by a clock that is behind that of the signatures that are served. doc/adr/0069-clocks-that-jump.md
 */
#pragma once

#include "src/event/internal.h"
#include "src/keys/set.h"
#include "src/zone/contents.h"

/** When what is served was signed, by the server's own keys. */
typedef struct {
	bool is_known;
	uint64_t signed_s;  /* wall clock: when the newest signature of the SOA was made */
	uint64_t expires_s; /* when the last one of them expires */
} clock_signed_t;

/** Look at a version (NULL: there is none). Without memory: it isn't known. */
clock_signed_t clock_read_signed(const zone_contents_t *served, const keys_set_t *set, uint64_t now_s);

/**
 * True if the clock is behind what was done before: signatures are of later times, by more than an hour, or keys that
 * the server made itself (automatic), by any time, as they would lose their timers. *ret_then_s: the latest.
 */
bool clock_is_behind(const clock_signed_t *signed_at, const keys_set_t *set, bool is_automatic, uint64_t now_s,
		uint64_t *ret_then_s);

/** That the signatures that the zone is served with had expired when this process saw them first. */
void clock_note_expired(server_t *server, zone_t *zone) SYS_EXCLUDES(server->jobs.lock);

/**
 * For how many seconds from now the zone's keys must not be rolled, as the clock has jumped, or the zone's signatures
 * were found expired, not longer than hold_s ago.
 */
uint64_t clock_hold_s(server_t *server, zone_t *zone, uint64_t hold_s) SYS_EXCLUDES(server->jobs.lock);
