/* SPDX-License-Identifier: BSD-2-Clause */
/** What operators may ask of zones that are signed, by the server or elsewhere. */
#pragma once

#include "src/event/server.h"

/** KNOT_OK if the zone is signed by the server and has contents; errors as of server_zone_sign(). */
KNOT_MUST_USE knot_err_t server_zone_check_signing(server_t *server, knot_name_t name);

/**
 * Plan the event `re-sign` for now. how: EVENT_DROPS_SIGNATURES, EVENT_ROLLS_KSK, EVENT_ROLLS_ZSK or 0. ret_ticket: may
 * be NULL. KNOT_ENOTSUP: the zone isn't signed by the server. KNOT_EEMPTYZONE: it has no contents. Others as
 * server_zone_ask().
 */
KNOT_MUST_USE knot_err_t server_zone_sign(
		server_t *server, knot_name_t name, unsigned how, server_ticket_t *ret_ticket);

/**
 * The parent has the DS of the KSK that waits for it. delay_s: how long caches may have the old one; 0: it is taken
 * out of the zone as soon as possible. Waits for the zone's job; then the zone is signed. KNOT_ENOREADY: no KSK waits.
 * KNOT_ENOTSUP, KNOT_EEMPTYZONE: as above. KNOT_ENOZONE, and errors of the key database.
 */
KNOT_MUST_USE knot_err_t server_zone_confirm_ksk(server_t *server, knot_name_t name, uint32_t delay_s);

/** Plan a proof of all signatures and the chain of what is served. ret_ticket: may be NULL. KNOT_EEMPTYZONE: it has no
 * contents. Others as server_zone_ask(). */
KNOT_MUST_USE knot_err_t server_zone_validate(server_t *server, knot_name_t name, server_ticket_t *ret_ticket);
