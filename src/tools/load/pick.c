/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/pick.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void pick_in_turn(pick_t *pick, uint64_t count)
{
	assert(count > 0);
	*pick = (pick_t){ .count = count };
}

/* Vose's way: places that have too little are filled up from those that have too much. */
static void pick_share(struct pick_place *places, double *weights, uint32_t *small, uint32_t *large, uint64_t count)
{
	uint64_t small_count = 0, large_count = 0;
	for (uint64_t i = 0; i < count; i++) {
		places[i] = (struct pick_place){ UINT32_MAX, (uint32_t)i };
		if (weights[i] < 1) {
			small[small_count++] = (uint32_t)i;
		} else {
			large[large_count++] = (uint32_t)i;
		}
	}
	while (small_count > 0 && large_count > 0) {
		uint32_t least = small[--small_count], most = large[large_count - 1];
		places[least] = (struct pick_place){ (uint32_t)(weights[least] * UINT32_MAX), most };
		weights[most] -= 1 - weights[least];
		if (weights[most] < 1) {
			large_count--;
			small[small_count++] = most;
		}
	}
}

bool pick_zipf(pick_t *pick, uint64_t count, double exponent, uint64_t seed)
{
	assert(count > 0 && count <= UINT32_MAX);
	*pick = (pick_t){ .count = count, .seed = seed, .places = calloc(count, sizeof(*pick->places)) };
	double *weights = calloc(count, sizeof(*weights));
	uint32_t *small = calloc(count, sizeof(*small)), *large = calloc(count, sizeof(*large));
	bool is_good = pick->places != NULL && weights != NULL && small != NULL && large != NULL;
	if (is_good) {
		double sum = 0;
		for (uint64_t i = count; i > 0; i--) { /* the small ones first, so that none is lost in the sum */
			weights[i - 1] = pow((double)i, -exponent);
			sum += weights[i - 1];
		}
		for (uint64_t i = 0; i < count; i++) {
			weights[i] *= (double)count / sum;
		}
		pick_share(pick->places, weights, small, large, count);
	} else {
		pick_done(pick);
	}
	free(weights);
	free(small);
	free(large);
	return is_good;
}

void pick_done(pick_t *pick)
{
	free(pick->places);
	pick->places = NULL;
}
