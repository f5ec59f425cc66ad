/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Section `statistics`: a thread that writes all counters as a YAML document every so many seconds.
 *
 * The file is appended to, or written beside itself and renamed, so that a reader never sees half a document.
 */
#pragma once

#include "src/control/counters.h"
#include "src/event/server.h"
#include "src/net/net.h"

#include <stdio.h>

typedef struct statistics_dump statistics_dump_t;

/** A dump of server and net, both borrowed; nothing runs yet. NULL: no memory. */
statistics_dump_t *statistics_dump_new(server_t *server, net_t *net);

/** Start the thread; it follows the configuration's timer. */
KNOT_MUST_USE knot_err_t statistics_dump_start(statistics_dump_t *dump);

/** A new configuration was published: look at the timer again. Any thread. */
void statistics_dump_reconfigure(statistics_dump_t *dump);

/** End the thread. */
void statistics_dump_stop(statistics_dump_t *dump);

/** Free after statistics_dump_stop(). NULL is allowed. */
void statistics_dump_free(statistics_dump_t *dump);

/** Write one document. when: its time stamp. False: a write failed. Within an RCU read section. */
bool statistics_print(FILE *out, const struct timespec *when, const state_t *state, const net_t *net,
		const counters_reading_t *reading);
