/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Metrics as text: OpenMetrics 1.0, or the format 0.0.4 of Prometheus that was before.
 *
 * Written to a buffer that grows. A family is begun with its name, type, unit and help; its samples follow. What the
 * two formats do differently (the name of a counter's family, the type info, UNIT, EOF) is decided here only. No I/O;
 * one thread. https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
	METRICS_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
	METRICS_PROMETHEUS,  /* text/plain; version=0.0.4 */
} metrics_format_t;

typedef enum {
	METRICS_COUNTER, /* only grows; its samples end in _total */
	METRICS_GAUGE,
	METRICS_HISTOGRAM, /* its samples end in _bucket, _count, _sum */
	METRICS_INFO,      /* a 1 with labels; its sample ends in _info */
	METRICS_UNKNOWN,   /* a gauge whose name, given by others, would break the rules for one */
} metrics_type_t;

/** A family. All borrowed, static. */
typedef struct {
	const char *name; /* without the ending that the type gives its samples; ends in the unit, if there is one */
	metrics_type_t type;
	const char *unit; /* "seconds", "bytes"; NULL: none */
	const char *help; /* one line, a sentence without final dot */
} metrics_family_t;

enum { METRICS_LABELS_MAX = 4 };

/** Labels of a sample, in order; the first without a name ends them. */
typedef struct {
	const char *name;
	const char *value; /* any UTF-8; escaped when written */
} metrics_label_t;

typedef struct {
	char *data; /* owned */
	size_t len, max;
	metrics_format_t format;
	bool failed; /* no memory: what was written is not whole */
	const metrics_family_t *family;
} metrics_text_t;

/** Free the buffer. */
void metrics_text_done(metrics_text_t *text);

/** Begin a family: TYPE, UNIT, HELP. `family` is borrowed until the next one. */
void metrics_family(metrics_text_t *text, const metrics_family_t *family);

/** A sample of the family, a counter, gauge or info. labels: NULL, or ended by one without a name, or
 * METRICS_LABELS_MAX. */
void metrics_sample(metrics_text_t *text, const metrics_label_t *labels, uint64_t value);

/** The same with a fraction. */
void metrics_sample_real(metrics_text_t *text, const metrics_label_t *labels, double value);

/**
 * A bucket of a histogram: values up to `bound` (infinity: all), of which there were `count` (all smaller ones, too).
 */
void metrics_bucket(metrics_text_t *text, const metrics_label_t *labels, double bound, uint64_t count);

/** After the buckets: count and sum of all values. */
void metrics_histogram_end(metrics_text_t *text, const metrics_label_t *labels, uint64_t count, double sum);

/** The last line of OpenMetrics. */
void metrics_end(metrics_text_t *text);

/** Value of the HTTP header Content-Type. Static. */
const char *metrics_content_type(metrics_format_t format);

/** What a client that sends this header Accept (NULL: none) gets: OpenMetrics if it says that it takes it as gladly as
 * text. RFC 9110 12.5.1. */
metrics_format_t metrics_negotiate(const char *accept);
