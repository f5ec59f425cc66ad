/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The kernel program against its model (tests/xdp/filter_model.c) on frames that the fuzzer chooses. Needs root: the
 * kernel runs the program (BPF_PROG_TEST_RUN). Without it the target does nothing.
 *
 * Input: one byte for the set-up, then, if its highest bit is set, the frame itself, else choices that make one.
 */
#include "tests/xdp/filter_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IS_FRAME = 0x80, ETHERNET_LEN = 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int usable = -1;
	static filter_t filter;
	static const model_t *model;
	if (usable < 0) {
		usable = filter_enter_namespace();
		filter = usable ? filter_load() : (filter_t){ .socket = -1 };
	}
	if (!usable || size < 1) {
		return 0;
	}
	const model_t *wanted = &case_models[(data[0] & ~IS_FRAME) % case_model_count];
	if (model != wanted) {
		case_apply(&filter, wanted);
		model = wanted;
	}
	uint8_t frame[CASE_FRAME_MAX];
	size_t len = size - 1;
	if ((data[0] & IS_FRAME) == 0) {
		choices_t choices = { .bytes = data + 1, .len = size - 1 };
		len = case_frame(&choices, frame);
	} else if (len < ETHERNET_LEN || len > sizeof(frame)) {
		return 0;
	} else {
		memcpy(frame, data + 1, len);
	}
	if (case_compare(&filter, model, frame, len) == FILTER_RECEIVED) {
		abort();
	}
	return 0;
}
