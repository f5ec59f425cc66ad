/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/top_rates.h"

#include "src/tools/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1e9

const char *const top_panel_names[TOP_PANELS] = {
	[TOP_SERVER] = "server",
	[TOP_PROTOCOL] = "protocol",
	[TOP_RCODE] = "rcode",
	[TOP_TYPE] = "type",
	[TOP_ZONE] = "zone",
	[TOP_QUEUE] = "queue",
	[TOP_LATENCY] = "latency",
	[TOP_DROPS] = "drops",
};

const double top_quantiles[TOP_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
const char *const top_quantile_names[TOP_QUANTILES] = { "p50", "p90", "p99", "p99.9" };

/* ---- Samples ---- */

void top_sample_add(top_sample_t *sample, const knot_ctl_data_t *unit)
{
	const char *section = (*unit)[KNOT_CTL_IDX_SECTION], *sub = (*unit)[KNOT_CTL_IDX_ITEM];
	const char *key = (*unit)[KNOT_CTL_IDX_ID], *text = (*unit)[KNOT_CTL_IDX_DATA];
	if (section == NULL || text == NULL) {
		return;
	}
	if (strcmp(section, "time") == 0) {
		sample->time_ns = strtoull(text, NULL, 10);
		return;
	}
	for (size_t i = 0; i < TOP_PANELS; i++) {
		if (strcmp(section, top_panel_names[i]) != 0) {
			continue;
		}
		if (sample->panels[i].count == sample->panels[i].max) {
			sample->panels[i].max = 2 * sample->panels[i].max + 16;
			sample->panels[i].counts = must(
					realloc(sample->panels[i].counts, sample->panels[i].max * sizeof(top_count_t)));
		}
		sample->panels[i].counts[sample->panels[i].count++] = (top_count_t){
			.sub = must(strdup(sub != NULL ? sub : "")),
			.key = must(strdup(key != NULL ? key : "")),
			.text = must(strdup(text)),
			.value = strtoull(text, NULL, 10),
		};
	}
}

void top_sample_free(top_sample_t *sample)
{
	for (size_t i = 0; i < TOP_PANELS; i++) {
		for (size_t j = 0; j < sample->panels[i].count; j++) {
			free(sample->panels[i].counts[j].sub);
			free(sample->panels[i].counts[j].key);
			free(sample->panels[i].counts[j].text);
		}
		free(sample->panels[i].counts);
	}
	*sample = (top_sample_t){ 0 };
}

/* ---- Rates ---- */

/* The count is usually at the same place in both samples: try `hint` first. */
static const top_count_t *top_rates_find_count(
		const top_sample_t *sample, top_panel_t panel, size_t hint, const top_count_t *like)
{
	size_t count = sample->panels[panel].count;
	for (size_t i = 0; i < count; i++) {
		const top_count_t *found = &sample->panels[panel].counts[(hint + i) % count];
		if (strcmp(found->key, like->key) == 0 && strcmp(found->sub, like->sub) == 0) {
			return found;
		}
	}
	return NULL;
}

/* The growth of a count since the earlier sample. */
static uint64_t top_rates_measure_growth(
		const top_sample_t *before, top_panel_t panel, size_t index, const top_count_t *after)
{
	/* The server counts these per sample already. */
	if (panel == TOP_ZONE || panel == TOP_TYPE) {
		return after->value;
	}
	const top_count_t *old = top_rates_find_count(before, panel, index, after);
	return old != NULL && old->value <= after->value ? after->value - old->value : after->value;
}

static void top_rates_fill_panel(
		const top_sample_t *before, const top_sample_t *after, top_panel_t panel, top_rates_t *rates)
{
	size_t count = after->panels[panel].count;
	top_row_t *rows = must(calloc(count + 1, sizeof(*rows)));
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		const top_count_t *now = &after->panels[panel].counts[i];
		uint64_t grown = top_rates_measure_growth(before, panel, i, now);
		rows[i] = (top_row_t){
			.sub = now->sub,
			.key = now->key,
			.text = now->text,
			.total = now->value,
			.rate = rates->seconds > 0 ? (double)grown / rates->seconds : 0,
		};
		sum += rows[i].rate;
	}
	for (size_t i = 0; i < count; i++) {
		rows[i].share = sum > 0 ? rows[i].rate / sum : 0;
	}
	rates->panels[panel].rows = rows;
	rates->panels[panel].count = count;
	rates->panels[panel].sum = sum;
}

/*
 * A bucket of a histogram: how many took at most `bound` ns (below zero: any time), and longer than the bucket before.
 */
typedef struct {
	double bound;
	uint64_t count;
} bucket_t;

static int top_rates_compare_buckets(const void *a, const void *b)
{
	double x = ((const bucket_t *)a)->bound, y = ((const bucket_t *)b)->bound;
	if ((x < 0) != (y < 0)) {
		return x < 0 ? 1 : -1;
	}
	return x < y ? -1 : x > y;
}

/* Where a bucket begins. Bounds are 1024, 1536, 2048, 3072, … 2^32 ns (doc/formats/top.md), and empty buckets are
 * missing. */
#define BOUND_FIRST_NS 1024.0
#define BOUND_LAST_NS  4294967296.0

static double top_rates_find_lower_bound(double bound)
{
	if (bound < 0) {
		return BOUND_LAST_NS;
	}
	if (bound <= BOUND_FIRST_NS) {
		return 0;
	}
	uint64_t ns = (uint64_t)bound;
	return (ns & (ns - 1)) == 0 ? bound * 3 / 4 : bound * 2 / 3;
}

/* Where the quantile lies, as if the values of a bucket were spread evenly in it. */
static double top_rates_find_quantile(const bucket_t *buckets, size_t count, uint64_t sum, double which)
{
	double wanted = which * (double)sum, seen = 0;
	for (size_t i = 0; i < count; i++) {
		double more = (double)buckets[i].count;
		if (more > 0 && seen + more >= wanted) {
			double lower = top_rates_find_lower_bound(buckets[i].bound);
			return buckets[i].bound < 0 ? -lower
						    : lower + (buckets[i].bound - lower) * (wanted - seen) / more;
		}
		seen += more;
	}
	return -BOUND_LAST_NS; /* reached only by rounding */
}

static void top_rates_fill_latency(
		const top_sample_t *before, const top_sample_t *after, const char *protocol, top_rates_t *rates)
{
	size_t max = after->panels[TOP_LATENCY].count, count = 0;
	bucket_t *buckets = must(calloc(max, sizeof(*buckets)));
	uint64_t sum = 0, total = 0;
	for (size_t i = 0; i < max; i++) {
		const top_count_t *now = &after->panels[TOP_LATENCY].counts[i];
		if (strcmp(now->sub, protocol) == 0) {
			uint64_t grown = top_rates_measure_growth(before, TOP_LATENCY, i, now);
			buckets[count++] =
					(bucket_t){ strcmp(now->key, "inf") == 0 ? -1 : strtod(now->key, NULL), grown };
			sum += grown;
			total += now->value;
		}
	}
	if (sum > 0 && rates->seconds > 0) {
		qsort(buckets, count, sizeof(*buckets), top_rates_compare_buckets);
		top_latency_t *latency = &rates->latencies[rates->latency_count++];
		*latency = (top_latency_t){
			.protocol = protocol, .total = total, .rate = (double)sum / rates->seconds
		};
		for (size_t i = 0; i < TOP_QUANTILES; i++) {
			latency->ns[i] = top_rates_find_quantile(buckets, count, sum, top_quantiles[i]);
		}
	}
	free(buckets);
}

static void top_rates_fill_latencies(const top_sample_t *before, const top_sample_t *after, top_rates_t *rates)
{
	size_t count = after->panels[TOP_LATENCY].count;
	rates->latencies = must(calloc(count + 1, sizeof(*rates->latencies)));
	for (size_t i = 0; i < count; i++) {
		const char *protocol = after->panels[TOP_LATENCY].counts[i].sub;
		bool is_first = true;
		for (size_t j = 0; j < i && is_first; j++) {
			is_first = strcmp(after->panels[TOP_LATENCY].counts[j].sub, protocol) != 0;
		}
		if (is_first) {
			top_rates_fill_latency(before, after, protocol, rates);
		}
	}
}

void top_rates(const top_sample_t *before, const top_sample_t *after, top_rates_t *ret_rates)
{
	*ret_rates = (top_rates_t){
		.seconds = after->time_ns > before->time_ns ? (double)(after->time_ns - before->time_ns) / NS_PER_S : 0,
	};
	for (size_t i = 0; i < TOP_PANELS; i++) {
		if (i != TOP_LATENCY) {
			top_rates_fill_panel(before, after, (top_panel_t)i, ret_rates);
		}
	}
	top_rates_fill_latencies(before, after, ret_rates);
	ret_rates->queries = ret_rates->panels[TOP_PROTOCOL].sum;
	for (size_t i = 0; i < ret_rates->panels[TOP_PROTOCOL].count; i++) {
		ret_rates->total += ret_rates->panels[TOP_PROTOCOL].rows[i].total;
	}
}

void top_rates_free(top_rates_t *rates)
{
	for (size_t i = 0; i < TOP_PANELS; i++) {
		free(rates->panels[i].rows);
	}
	free(rates->latencies);
	*rates = (top_rates_t){ 0 };
}

/* ---- Order ---- */

static int top_rates_compare_names(const void *a, const void *b)
{
	return strcmp(((const top_row_t *)a)->key, ((const top_row_t *)b)->key);
}

static int top_rates_compare_rates(const void *a, const void *b)
{
	double x = ((const top_row_t *)a)->rate, y = ((const top_row_t *)b)->rate;
	return x > y ? -1 : x < y ? 1 : top_rates_compare_names(a, b);
}

static int top_rates_compare_totals(const void *a, const void *b)
{
	uint64_t x = ((const top_row_t *)a)->total, y = ((const top_row_t *)b)->total;
	return x > y ? -1 : x < y ? 1 : top_rates_compare_names(a, b);
}

static int top_rates_compare_latencies(const void *a, const void *b)
{
	const top_latency_t *x = a, *y = b;
	return x->total > y->total ? -1 : x->total < y->total ? 1 : strcmp(x->protocol, y->protocol);
}

void top_sort(top_rates_t *rates, top_order_t order)
{
	qsort(rates->panels[TOP_PROTOCOL].rows, rates->panels[TOP_PROTOCOL].count, sizeof(top_row_t),
			top_rates_compare_totals);
	qsort(rates->latencies, rates->latency_count, sizeof(top_latency_t), top_rates_compare_latencies);
	static int (*const compare[TOP_ORDERS])(const void *, const void *) = {
		[TOP_BY_RATE] = top_rates_compare_rates,
		[TOP_BY_TOTAL] = top_rates_compare_totals,
		[TOP_BY_NAME] = top_rates_compare_names,
	};
	static const top_panel_t sorted[] = { TOP_RCODE, TOP_TYPE, TOP_ZONE, TOP_DROPS };
	for (size_t i = 0; i < KNOT_LEN(sorted); i++) {
		qsort(rates->panels[sorted[i]].rows, rates->panels[sorted[i]].count, sizeof(top_row_t), compare[order]);
	}
}
