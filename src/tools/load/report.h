/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What kxdpgun prints: Knot's text or lines of JSON, and what is ours behind it. Values in, bytes to a stream out.
 */
#pragma once

#include "src/tools/load/gun.h"

/** Sums over the lanes at one moment. */
typedef struct {
	worker_counts_t counts;
	uint64_t since_ns, until_ns; /* since the start */
	uint64_t waiting;            /* queries that may be answered in time still */
	histogram_t latency;
	histogram_t delay;
} report_sample_t;

void report_take(const gun_t *gun, report_sample_t *ret_sample);

/** What happened between two samples. NULL `before`: since the start. */
void report_difference(const report_sample_t *before, const report_sample_t *after, report_sample_t *ret_difference);

/** What is printed before threads start. */
void report_header(const gun_t *gun, FILE *out);

/** A line for each thread that has ended. */
void report_threads(const gun_t *gun, FILE *out);

typedef enum {
	REPORT_SUM,      /* the end */
	REPORT_SO_FAR,   /* SIGUSR1: from the start */
	REPORT_PERIODIC, /* -S: since the period before */
} report_kind_t;

void report_stats(const gun_t *gun, const report_sample_t *sample, report_kind_t kind, FILE *out);

/** The table of a ramp, with the knee. */
void report_ramp(const gun_t *gun, FILE *out);

/** Wrong answers that were kept. */
void report_wrong(const gun_t *gun, FILE *out);

/** Files: --latency. False: can't be written, which has been said. */
bool report_latency_file(const char *path, const histogram_t *latency);

/** Queries that have no reply in time: sent, not matched, not waiting. */
static inline uint64_t report_lost(const report_sample_t *sample)
{
	uint64_t over = sample->counts.matched + sample->waiting;
	return sample->counts.sent > over ? sample->counts.sent - over : 0;
}
