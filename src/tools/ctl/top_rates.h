/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What `knotc top` shows, as numbers: counts of two replies of the command `top`, and the rates between them.
 *
 * Pure: units in, numbers out; nothing is printed, no clock is read. Memory failures end the tool.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/control/control.h"

#include <stdbool.h>
#include <stdint.h>

/** The panels of the reply, in its SECTIONs. */
typedef enum {
	TOP_SERVER,
	TOP_PROTOCOL,
	TOP_RCODE,
	TOP_TYPE,
	TOP_ZONE,
	TOP_QUEUE,
	TOP_LATENCY,
	TOP_DROPS,
	TOP_PANELS,
} top_panel_t;

/** Name of a panel, as in SECTION. */
extern const char *const top_panel_names[TOP_PANELS];

/** One count. */
typedef struct {
	char *sub;      /* owned; the interface of a queue, the protocol of a latency; "" if there is none */
	char *key;      /* owned */
	char *text;     /* owned; as it came */
	uint64_t value; /* 0 if it is no number */
} top_count_t;

/** One reply. Start with zeros; free with top_sample_free(). */
typedef struct {
	uint64_t time_ns;
	struct {
		top_count_t *counts; /* owned */
		size_t count, max;
	} panels[TOP_PANELS];
} top_sample_t;

/** Take a unit of a reply; one of another panel is left out. */
void top_sample_add(top_sample_t *sample, const knot_ctl_data_t *unit);
void top_sample_free(top_sample_t *take_sample);

/** A line of a panel. Strings are borrowed from the later sample. */
typedef struct {
	const char *sub, *key, *text;
	uint64_t total; /* since the server's start; of zones and types: since the look began */
	double rate;    /* per second */
	double share;   /* of the panel's rates, 0–1 */
} top_row_t;

/** Latency of one protocol, in nanoseconds; below zero: longer than minus that many (the last bucket has no end). */
enum { TOP_QUANTILES = 4 };
extern const double top_quantiles[TOP_QUANTILES]; /* 0.5, 0.9, 0.99, 0.999 */
extern const char *const top_quantile_names[TOP_QUANTILES];
typedef struct {
	const char *protocol;
	uint64_t total; /* queries since the server's start */
	double rate;
	double ns[TOP_QUANTILES];
} top_latency_t;

/** Rates between two samples. Free with top_rates_free(), before the samples. */
typedef struct {
	double seconds;
	double queries; /* per second, the sum of the protocols */
	uint64_t total; /* queries since the server's start */
	struct {
		top_row_t *rows; /* owned */
		size_t count;
		double sum;
	} panels[TOP_PANELS];     /* without latency */
	top_latency_t *latencies; /* owned; those with queries */
	size_t latency_count;
} top_rates_t;

/**
 * Rates from `before` to `after`. A count that went back (the server was started again) counts from zero. Samples of
 * the same time: nothing has a rate.
 */
void top_rates(const top_sample_t *before, const top_sample_t *after, top_rates_t *ret_rates);
void top_rates_free(top_rates_t *take_rates);

/** How the rows of a panel are sorted. Protocols are always sorted by their totals, so that they keep their places;
 * queues and facts are not. */
typedef enum { TOP_BY_RATE, TOP_BY_TOTAL, TOP_BY_NAME, TOP_ORDERS } top_order_t;
void top_sort(top_rates_t *rates, top_order_t order);
