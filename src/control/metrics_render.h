/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A whole exposition of metrics, made piece by piece while it is sent: memory and read sections stay small, however
 * many zones there are. One thread.
 */
#pragma once

#include "src/control/metrics_server.h"

typedef struct metrics_render metrics_render_t;

enum {
	METRICS_SERVER = 1, /* metrics of the server as a whole */
	METRICS_ZONES = 2,  /* metrics of each zone */
};

/** source: copied. parts: METRICS_SERVER, METRICS_ZONES or both. NULL: no memory. */
metrics_render_t *metrics_render_new(const metrics_source_t *source, metrics_format_t format, unsigned parts);

/** NULL is allowed. */
void metrics_render_free(metrics_render_t *take_render);

/** The next bytes: buffer[0..returned), as many as there is room for. 0: that was all. -1: no memory, what was given is
 * not whole. */
long metrics_render_read(metrics_render_t *render, char *buffer, size_t max);
