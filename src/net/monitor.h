/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Waiting for changes of the system's interfaces: rtnetlink tells of links, addresses, local routes and rules
 * (rtnetlink(7)). The kernel doesn't report changes of channels (`ethtool -L`), so the waiting thread checks them
 * every second.
 *
 * It doesn't say what changed: messages get lost when many come at once, so callers query the present state
 * afterwards.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>

typedef struct {
	int netlink_fd; /* -1: changes are seen by looking only */
	int wake_fd;
} monitor_t;

/** Open both descriptors. An errno code when there is no eventfd; without netlink it goes on without. */
KNOT_MUST_USE knot_err_t monitor_init(monitor_t *monitor);

void monitor_done(monitor_t *monitor);

/** Wait for a change (true), for monitor_wake(), or `timeout_ms`. Changes that come at once are one. */
bool monitor_wait(monitor_t *monitor, int timeout_ms);

/** End a wait, from any thread. */
void monitor_wake(const monitor_t *monitor);
