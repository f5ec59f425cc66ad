/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The zones and record types with the most queries, for the page of the metrics endpoint: /top.
 *
 * Workers count by zone and type only while a viewer looks (net/look.h). All viewers of the page share one look, which
 * begins with the first request and ends METRICS_TOP_IDLE_MS after the last. One thread.
 */
#pragma once

#include "src/net/net.h"

enum {
	METRICS_TOP_IDLE_MS = 5000,
	METRICS_TOP_PERIOD_MS =
			900 /* requests within it get the same counts: page and page take none from each other */
};

/** Start with zeros; end with metrics_top_stop(). */
typedef struct {
	look_t *look;         /* owned; NULL: workers don't count for us */
	bool is_busy;         /* LOOKS_MAX others look already */
	uint64_t asked_ms;    /* the last request */
	uint64_t taken_ms;    /* when `result` was taken, or the look began */
	uint64_t period_ms;   /* that `result` is of; 0: there is none yet */
	look_result_t result; /* of that period */
} metrics_top_t;

/**
 * The reply to a request, JSON, to be freed: doc/manual/statistics.rst, "Live page". root: the state whose zones are
 * named. Waits for readers, so not within a read section. NULL: out of memory.
 */
char *metrics_top_answer(metrics_top_t *top, looks_t *looks, const state_root_t *root, size_t *ret_len);

/** End the look if METRICS_TOP_IDLE_MS have passed without a request. Waits for readers. */
void metrics_top_end_idle(metrics_top_t *top, looks_t *looks);

void metrics_top_stop(metrics_top_t *top, looks_t *looks);
