/* SPDX-License-Identifier: BSD-2-Clause */
/** What lanes over ordinary sockets share. */
#pragma once

#include "src/tools/load/gun.h"

/** A non-blocking socket that is bound to the local address, if one was given, and connected (TCP: connecting). -1:
 * lane->error says why, or errno is EAGAIN where the system has no port or descriptor now. */
int socket_lane_open(lane_t *lane, int type);

/** Let this process have `count` descriptors. False: lane->error says that it may not. */
bool socket_lane_allow(lane_t *lane, unsigned count);
