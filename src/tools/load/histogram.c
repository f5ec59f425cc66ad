/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/histogram.h"

#include <math.h>
#include <string.h>

const double histogram_shown[HISTOGRAM_SHOWN] = { 50, 90, 99, 99.9, 99.99 };
const char *const histogram_shown_names[HISTOGRAM_SHOWN] = { "p50", "p90", "p99", "p99.9", "p99.99" };

uint64_t histogram_bucket_end(size_t bucket)
{
	if (bucket < (size_t)2 << HISTOGRAM_HALF_BITS) {
		return bucket;
	}
	unsigned exponent = (unsigned)(bucket >> HISTOGRAM_HALF_BITS) - 1;
	uint64_t mantissa = bucket - ((size_t)exponent << HISTOGRAM_HALF_BITS);
	return ((mantissa + 1) << exponent) - 1;
}

static uint64_t histogram_load(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void histogram_merge(histogram_t *sum, const histogram_t *part)
{
	uint64_t min_ns = histogram_load(&part->min_ns), max_ns = histogram_load(&part->max_ns);
	uint64_t count = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t here = histogram_load(&part->buckets[i]);
		sum->buckets[i] += here;
		count += here;
	}
	if (count > 0) {
		sum->min_ns = sum->count == 0 || min_ns < sum->min_ns ? min_ns : sum->min_ns;
		sum->max_ns = max_ns > sum->max_ns ? max_ns : sum->max_ns;
	}
	sum->count += count;
	sum->sum_ns += histogram_load(&part->sum_ns);
}

void histogram_difference(const histogram_t *before, const histogram_t *after, histogram_t *ret_difference)
{
	memset(ret_difference, 0, sizeof(*ret_difference));
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t here = after->buckets[i] - before->buckets[i];
		ret_difference->buckets[i] = here;
		if (here > 0) {
			uint64_t end = histogram_bucket_end(i);
			ret_difference->min_ns = ret_difference->count == 0 ? end : ret_difference->min_ns;
			ret_difference->max_ns = end < after->max_ns ? end : after->max_ns;
			ret_difference->count += here;
		}
	}
	ret_difference->sum_ns = after->sum_ns - before->sum_ns;
}

uint64_t histogram_percentile(const histogram_t *histogram, double percent)
{
	if (histogram->count == 0) {
		return 0;
	}
	uint64_t wanted = (uint64_t)ceil(percent / 100 * (double)histogram->count - 1e-9);
	wanted = wanted < 1 ? 1 : wanted > histogram->count ? histogram->count : wanted;
	if (wanted == histogram->count) {
		return histogram->max_ns;
	}
	uint64_t seen = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= wanted) {
			uint64_t end = histogram_bucket_end(i);
			return end < histogram->max_ns ? end : histogram->max_ns;
		}
	}
	return histogram->max_ns;
}

uint64_t histogram_mean(const histogram_t *histogram)
{
	return histogram->count > 0 ? histogram->sum_ns / histogram->count : 0;
}

int histogram_write_table(const histogram_t *histogram, unsigned ticks, FILE *out)
{
	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
	/* Steps halve with what is left, so that each nine has as many lines. */
	uint64_t seen = 0;
	double wanted = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS && seen < histogram->count; i++) {
		seen += histogram->buckets[i];
		double reached = (double)seen / (double)histogram->count;
		if (histogram->buckets[i] == 0 || (reached < wanted && seen < histogram->count)) {
			continue;
		}
		uint64_t end = histogram_bucket_end(i);
		double value = (double)(end < histogram->max_ns ? end : histogram->max_ns) / 1e6;
		if (seen == histogram->count) {
			fprintf(out, "%12.6f %2.12f %10llu %14s\n", value, 1.0, (unsigned long long)seen, "inf");
			break;
		}
		fprintf(out, "%12.6f %2.12f %10llu %14.2f\n", value, reached, (unsigned long long)seen,
				1 / (1 - reached));
		double halves = floor(log2(1 / (1 - reached))) + 1;
		wanted = reached + 1 / (ticks * exp2(halves));
	}
	fprintf(out, "#[Mean    = %12.6f, Min           = %12.6f]\n#[Max     = %12.6f, Total count    = %12llu]\n",
			(double)histogram_mean(histogram) / 1e6,
			histogram->count > 0 ? (double)histogram->min_ns / 1e6 : 0.0, (double)histogram->max_ns / 1e6,
			(unsigned long long)histogram->count);
	return ferror(out) ? -1 : 0;
}
