/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The metrics endpoint: an HTTP server for `server: metrics-listen:`, in one thread of its own.
 *
 * GET /metrics gives OpenMetrics or, to clients that don't ask for it, the text format before; `?zones=off` leaves
 * single zones out, `?zones=only` gives nothing else. / is a page that shows the numbers in a browser, /top what it
 * shows of zones and record types (metrics_top.h); /healthz and /ready are health.h's. Everything else is 404 or 405.
 * Limits: connections per address, bytes of a request, seconds without progress, seconds in all. HTTP itself is
 * libmicrohttpd's. No authentication, no TLS: for loopback, or a network of one's own. doc/manual/statistics.rst,
 * doc/adr/0023-metrics.md.
 */
#pragma once

#include "src/event/server.h"
#include "src/net/net.h"

typedef struct metrics metrics_t;

/** server, net: borrowed for its life. Nothing is bound yet. Errors of eventfd(), KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t metrics_new(server_t *server, net_t *net, metrics_t **ret_metrics);

/** Start the thread, which binds what the configuration says. An address that can't be bound is logged, the others
 * serve. */
KNOT_MUST_USE knot_err_t metrics_start(metrics_t *metrics);

/** A configuration was published: addresses that are new are bound, those that are gone are closed, others go on. Any
 * thread. */
void metrics_reconfigure(metrics_t *metrics);

/** End the thread, with open connections. */
void metrics_stop(metrics_t *metrics);

/** After metrics_stop(). NULL is allowed. */
void metrics_free(metrics_t *take_metrics);
