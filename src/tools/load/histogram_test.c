/* SPDX-License-Identifier: BSD-2-Clause */
/* Percentiles against sorted arrays. */
#include "src/tools/load/histogram.h"

#include "src/tools/load/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { VALUES = 100000 };

static histogram_t histogram, other, sum;
static uint64_t values[VALUES];

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Values of very different size: an exponent, then a mantissa. */
static uint64_t random_value(uint64_t number)
{
	uint64_t dice = hash_number(number);
	return (dice >> 8) >> (24 + dice % 30);
}

static void test_percentiles_of_random_values(void **state)
{
	(void)state;
	memset(&histogram, 0, sizeof(histogram));
	for (size_t i = 0; i < VALUES; i++) {
		values[i] = random_value(i);
		histogram_add(&histogram, values[i]);
	}
	qsort(values, VALUES, sizeof(*values), compare_values);
	static const double percents[] = { 0, 0.001, 1, 25, 50, 75, 90, 99, 99.9, 99.99, 99.999, 100 };
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		size_t at = (size_t)ceil(percents[i] / 100 * VALUES - 1e-6);
		uint64_t truth = values[at > 0 ? at - 1 : 0];
		uint64_t found = histogram_percentile(&histogram, percents[i]);
		assert_true(found >= truth);
		assert_true(found - truth <= truth / 1000);
	}
	assert_int_equal(histogram_percentile(&histogram, 100), values[VALUES - 1]);
	assert_int_equal(histogram.max_ns, values[VALUES - 1]);
	assert_int_equal(histogram.min_ns, values[0]);
}

static void test_buckets(void **state)
{
	(void)state;
	size_t before = 0;
	for (uint64_t value = 0; value < (uint64_t)1 << 43; value += 1 + value / 3000) {
		size_t bucket = histogram_bucket(value);
		assert_true(bucket < HISTOGRAM_BUCKETS && bucket >= before && bucket <= before + 1);
		if (value >> HISTOGRAM_VALUE_BITS == 0) {
			assert_true(histogram_bucket_end(bucket) >= value);
			assert_true(bucket == 0 || histogram_bucket_end(bucket - 1) < value);
		}
		before = bucket;
	}
	for (size_t bucket = 1; bucket < HISTOGRAM_BUCKETS; bucket++) {
		assert_int_equal(histogram_bucket(histogram_bucket_end(bucket)), bucket);
		assert_int_equal(histogram_bucket(histogram_bucket_end(bucket - 1) + 1), bucket);
	}
}

static void test_merge_and_difference(void **state)
{
	(void)state;
	memset(&histogram, 0, sizeof(histogram));
	memset(&other, 0, sizeof(other));
	memset(&sum, 0, sizeof(sum));
	for (uint64_t i = 1; i <= 1000; i++) {
		histogram_add(&histogram, i);
		histogram_add(&other, i * 1000);
	}
	histogram_merge(&sum, &histogram);
	histogram_merge(&sum, &other);
	assert_int_equal(sum.count, 2000);
	assert_int_equal(sum.min_ns, 1);
	assert_int_equal(sum.max_ns, 1000000);
	assert_int_equal(histogram_percentile(&sum, 50), 1000);
	static histogram_t difference;
	histogram_difference(&histogram, &sum, &difference);
	assert_int_equal(difference.count, 1000);
	assert_int_equal(difference.sum_ns, other.sum_ns);
	assert_int_equal(histogram_percentile(&difference, 50), histogram_percentile(&other, 50));
}

static void test_empty(void **state)
{
	(void)state;
	memset(&sum, 0, sizeof(sum));
	assert_int_equal(histogram_percentile(&sum, 99), 0);
	assert_int_equal(histogram_mean(&sum), 0);
}

static void test_table(void **state)
{
	(void)state;
	memset(&histogram, 0, sizeof(histogram));
	for (uint64_t i = 1; i <= 10000; i++) {
		histogram_add(&histogram, i * 1000);
	}
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	assert_int_equal(histogram_write_table(&histogram, 5, out), 0);
	fclose(out);
	double value, share, before_value = 0, before_share = 0;
	unsigned long long count;
	char rest[32];
	size_t rows = 0;
	char *saved = NULL;
	for (char *line = strtok_r(text, "\n", &saved); line != NULL; line = strtok_r(NULL, "\n", &saved)) {
		if (sscanf(line, "%lf %lf %llu %31s", &value, &share, &count, rest) == 4) {
			assert_true(value >= before_value && share >= before_share);
			assert_true(fabs(share - (double)count / 10000) < 1e-9);
			assert_true(fabs(value - (double)count / 1000) <= value / 1000); /* value i is i us */
			before_value = value;
			before_share = share;
			rows++;
		}
	}
	assert_true(rows > 20 && share == 1.0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles_of_random_values),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_merge_and_difference),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
