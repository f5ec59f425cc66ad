/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filter programs of captures, as clients send them. What is accepted is run on a few frames: it must end, and read
 * nothing but the frame.
 */
#include "src/control/capture_filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bpf_insn insns[CAPTURE_FILTER_MAX];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (text == NULL) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	size_t count;
	if (capture_filter_scan(text, insns, &count) == KNOT_OK) {
		static const unsigned lens[] = { 0, 14, 60, 300 };
		for (size_t i = 0; i < KNOT_LEN(lens); i++) {
			/* Of exact size, so that a read behind it is seen. */
			uint8_t *frame = malloc(lens[i]);
			if (frame != NULL) {
				memset(frame, 0x45, lens[i]);
				(void)bpf_filter(insns, frame, lens[i], lens[i]);
			}
			free(frame);
		}
	}
	free(text);
	return 0;
}
