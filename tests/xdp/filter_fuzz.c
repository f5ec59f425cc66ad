/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter_fuzz [FRAMES]: the kernel program against its model (filter_model.c) on random frames, in every set-up.
 *
 * Prints how many frames had which fate; ends with 1 at the first difference, and with 77 without privileges. The same
 * frames each time; KNOT_SEED=n makes others.
 */
#include "tests/xdp/filter_case.h"

#include <inttypes.h>

int main(int argc, char **argv)
{
	unsigned long frames = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	const char *seed_text = getenv("KNOT_SEED");
	uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 1;
	printf("KNOT_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	if (!filter_enter_namespace()) {
		return 77;
	}
	filter_t filter = filter_load();
	choices_t choices = { .random = seed * 0x9E3779B97F4A7C15 | 1 };
	unsigned long fates[FILTER_COUNT_ROWS] = { 0 };
	for (size_t m = 0; m < case_model_count; m++) {
		case_apply(&filter, &case_models[m]);
		for (unsigned long i = 0; i < frames / case_model_count; i++) {
			uint8_t frame[CASE_FRAME_MAX];
			size_t len = case_frame(&choices, frame);
			enum filter_count fate = case_compare(&filter, &case_models[m], frame, len);
			if (fate == FILTER_RECEIVED) {
				return 1;
			}
			fates[fate]++;
		}
	}
	for (unsigned i = FILTER_RECEIVED + 1; i < FILTER_COUNT_ROWS; i++) {
		printf("%s=%lu\n", filter_names[i], fates[i]);
	}
	filter_unload(&filter);
	return 0;
}
