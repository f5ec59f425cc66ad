/* SPDX-License-Identifier: BSD-2-Clause */
/** What lanes of QUIC do alike, whatever carries their datagrams. */
#pragma once

#include "src/tools/load/gun.h"
#include "src/tools/load/quic_client.h"

/** A client as the options want it. NULL: lane->error says why. */
quic_client_t *quic_lane_new_client(lane_t *lane, uint32_t ports);

typedef struct {
	lane_phase_t phase;
	unsigned begun; /* queries */
} quic_lane_turn_t;

/** The beginning of a turn: queries that are due, connections whose time has come. What they send is to be sent next.
 */
quic_lane_turn_t quic_lane_begin_turn(lane_t *lane, quic_client_t *client, uint64_t *io_last_ns);

/** True if nothing is left to wait for; after sending. */
bool quic_lane_is_over(const quic_client_t *client, const quic_lane_turn_t *turn);

/** How long the lane may sleep, until the next query or what is to be done on a connection. */
uint64_t quic_lane_sleep_ns(const lane_t *lane, const quic_client_t *client);
