/* SPDX-License-Identifier: BSD-2-Clause */
/** Dynamic updates of zones: from transports to the event that applies them. */
#pragma once

#include "src/event/server.h"
#include "src/event/updates.h"

/** What became of a request that a transport hands over. */
typedef enum {
	SERVER_UPDATE_WAITS,     /* the transport gets it back when it is to be answered */
	SERVER_UPDATE_NO_ZONE,   /* not configured (any more): NOTAUTH */
	SERVER_UPDATE_FROZEN,    /* REFUSED with EDE 14: enough wait for the zone to be thawed */
	SERVER_UPDATE_NO_ROOM,   /* REFUSED: this source, this zone or all of them have filled what they may */
	SERVER_UPDATE_NO_MEMORY, /* SERVFAIL */
} server_update_t;

/**
 * Let an update wait for its zone: it is applied together with others in one commit, and given back by its `done` with
 * the rcode when the change is durable and served, or refused. Unless it waits, the caller still has it. It takes the
 * lock of the jobs, so not within an RCU read section: workers hand over what a batch of packets brought behind it.
 */
KNOT_MUST_USE server_update_t server_update_put(server_t *server, knot_name_t zone, update_request_t *take_request);
