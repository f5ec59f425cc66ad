/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Histograms of durations: log-linear, every value within 0.1 % of its bucket's bounds (as HdrHistogram with three
 * significant digits), so that a percentile is as exact as its digits.
 *
 * One thread writes; another may read while it does, and sees counts that are a moment old. A histogram has a fixed
 * size and adding costs one counter; sums of histograms are exact, so each thread has its own and they are added at the
 * end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	/* Values below 2^11 have a bucket each; above, each doubling has 2^10 buckets: 1/1024 wide. */
	HISTOGRAM_HALF_BITS = 10,
	HISTOGRAM_VALUE_BITS = 41, /* values from 2^41 ns on (36 minutes) count as the last bucket */
	HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_HALF_BITS + 1) << HISTOGRAM_HALF_BITS,
};

/** Zeros: empty. 256 KiB. */
typedef struct {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns; /* exact */
	uint64_t min_ns; /* exact; meaningless when count is 0 */
	uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram_t;

/** The bucket of a value. */
static inline size_t histogram_bucket(uint64_t value)
{
	if (value >> HISTOGRAM_VALUE_BITS != 0) {
		return HISTOGRAM_BUCKETS - 1;
	}
	if (value < (uint64_t)2 << HISTOGRAM_HALF_BITS) {
		return (size_t)value;
	}
	unsigned exponent = (unsigned)(63 - __builtin_clzll(value)) - HISTOGRAM_HALF_BITS;
	return ((size_t)exponent << HISTOGRAM_HALF_BITS) + (size_t)(value >> exponent);
}

static inline void histogram_add(histogram_t *histogram, uint64_t value)
{
	uint64_t *bucket = &histogram->buckets[histogram_bucket(value)];
	__atomic_store_n(bucket, *bucket + 1, __ATOMIC_RELAXED);
	if (value > histogram->max_ns) {
		__atomic_store_n(&histogram->max_ns, value, __ATOMIC_RELAXED);
	}
	if (value < histogram->min_ns || histogram->count == 0) {
		__atomic_store_n(&histogram->min_ns, value, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&histogram->sum_ns, histogram->sum_ns + value, __ATOMIC_RELAXED);
	__atomic_store_n(&histogram->count, histogram->count + 1, __ATOMIC_RELAXED);
}

/** The largest value of a bucket. */
uint64_t histogram_bucket_end(size_t bucket);

/** Add `part` to `sum`. */
void histogram_merge(histogram_t *sum, const histogram_t *part);

/** What came between two states of the same histogram; `max_ns` and `min_ns` are then those of the buckets. */
void histogram_difference(const histogram_t *before, const histogram_t *after, histogram_t *ret_difference);

/**
 * The smallest value that `percent` (0 to 100) of all values don't exceed, up to the width of its bucket; never more
 * than the maximum. 0 when empty.
 */
uint64_t histogram_percentile(const histogram_t *histogram, double percent);

/** Mean, 0 when empty. */
uint64_t histogram_mean(const histogram_t *histogram);

/** What reports show, in order. */
enum { HISTOGRAM_SHOWN = 5 };
extern const double histogram_shown[HISTOGRAM_SHOWN];            /* 50, 90, 99, 99.9, 99.99 */
extern const char *const histogram_shown_names[HISTOGRAM_SHOWN]; /* "p50" … */

/**
 * Write a table of percentiles, in the columns of HdrHistogram's text format (its plotter reads it): value in
 * milliseconds, percentile as a fraction, number of values, 1/(1-percentile). Half of what is left per step of
 * `ticks` lines, down to the last value. False: the stream failed.
 */
int histogram_write_table(const histogram_t *histogram, unsigned ticks, FILE *out);
