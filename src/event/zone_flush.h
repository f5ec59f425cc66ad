/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * When zone files are written: after changes as `zonefile-sync` says, on request, and before the server ends. Also
 * freezing, which postpones that.
 *
 * Any thread registered for RCU, outside of read sections.
 */
#pragma once

#include "src/event/server.h"

/**
 * Request writing the zone file. ret_ticket: to wait for it; 0: nothing was requested.
 * KNOT_ENOZONE. With `zonefile-sync: -1` and without is_forced it only logs that writing is off. Without is_forced, a
 * zone file that changed since it was read is not overwritten: the job fails.
 */
KNOT_MUST_USE knot_err_t server_zone_flush(
		server_t *server, knot_name_t name, bool is_forced, server_ticket_t *ret_ticket);

/** Write the zone to <name>.zone in `folder`, now; nothing else changes. KNOT_EPARAM: folder is "". KNOT_ENOZONE,
 * KNOT_EEMPTYZONE, errors of flush_to_file(). */
KNOT_MUST_USE knot_err_t server_zone_dump(server_t *server, knot_name_t name, const char *folder);

/**
 * Freeze or thaw. While a zone is frozen, work that no command requested by name and that would change the zone or its
 * file waits. Wait for the ticket if a running job must end first. KNOT_ENOZONE.
 */
KNOT_MUST_USE knot_err_t server_zone_freeze(
		server_t *server, knot_name_t name, bool is_frozen, server_ticket_t *ret_ticket);

/**
 * Refuse outgoing transfers of a zone, or allow them again: now and, as far as `timer-db-sync` allows, after a restart.
 * KNOT_ENOZONE. Errors of timer_db_begin(): it holds until the server stops; logged.
 */
KNOT_MUST_USE knot_err_t server_zone_freeze_transfers(server_t *server, knot_name_t name, bool is_frozen);

/** True if the zone is frozen. */
bool server_zone_is_frozen(const server_t *server, knot_name_t name);
