/* SPDX-License-Identifier: BSD-2-Clause */
/** What lanes over ordinary sockets share. */
#pragma once

#include "src/tools/load/gun.h"

#include <sys/epoll.h>

/** A non-blocking socket that is bound to the local address, if one was given, and connected (TCP: connecting). -1:
 * lane->error says why, or errno is EAGAIN where the system has no port or descriptor now. */
int socket_lane_open(lane_t *lane, int type);

/** UDP sockets of a lane, each of which is a port. */
typedef struct {
	int epoll_fd; /* its events have a socket's index */
	int *fds;     /* owned */
	unsigned count;
} socket_ports_t;

/** Open as many as there are clients. False: lane->error says why; socket_ports_close() is to be called all the same.
 */
bool socket_ports_open(lane_t *lane, socket_ports_t *ret_ports);

void socket_ports_close(socket_ports_t *ports);

/** Wait for events, sleep_ns at most; no more than `max` are written. Returns how many. */
unsigned socket_lane_wait(int epoll_fd, uint64_t sleep_ns, struct epoll_event *ret_events, unsigned max);

/** Let this process have `count` descriptors. False: lane->error says that it may not. */
bool socket_lane_allow(lane_t *lane, unsigned count);
