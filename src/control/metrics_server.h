/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The metrics of the server as a whole: build, process, traffic, zones by state, XDP queues, and everything that
 * `stats` shows. Those of single zones are in metrics_render.c. Names and meanings: doc/manual/statistics.rst.
 */
#pragma once

#include "src/control/counters.h"
#include "src/control/metrics_text.h"

/** What the metrics are about. */
typedef struct {
	server_t *server; /* borrowed */
	net_t *net;       /* borrowed */
	double started;   /* when the process was started, in seconds since 1970 */
} metrics_source_t;

/**
 * Write all of them. Reads files of /proc and asks the kernel about XDP, so not within a read section. No memory:
 * text->failed.
 */
void metrics_server(metrics_text_t *text, const metrics_source_t *source);

enum { METRICS_NAME_MAX = 96 };

/**
 * A family for an item of `stats` ("knot_stats_") or `zone-stats` ("knot_zone_stats_"). help: borrowed. ret_name:
 * memory for its name.
 */
metrics_family_t metrics_item_family(const char *prefix, const char *item, sys_counter_kind_t kind, const char *help,
		char ret_name[static METRICS_NAME_MAX]);
