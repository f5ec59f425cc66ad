/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Cases for comparing the kernel program with its model: set-ups, and frames made from a stream of choices, which come
 * from a random number generator or from a fuzzer.
 */
#pragma once

#include "tests/xdp/filter_model.h"
#include "xdp/filter_run.h"

enum { CASE_FRAME_MAX = 1600 };

/** Where choices come from. */
typedef struct {
	const uint8_t *bytes; /* NULL: random numbers */
	size_t len;           /* left of `bytes`; behind them come zeros */
	uint64_t random;      /* state, not 0 */
} choices_t;

/** The set-ups: case_models[0..case_model_count). */
extern const model_t case_models[];
extern const size_t case_model_count;

/** Make the kernel program's surroundings those of a model. */
void case_apply(filter_t *filter, const model_t *model);

/** A frame: mostly well-formed and near to what the set-ups ask for, sometimes spoilt, sometimes arbitrary. Returns its
 * length, 14 to CASE_FRAME_MAX. */
size_t case_frame(choices_t *choices, uint8_t ret_frame[static CASE_FRAME_MAX]);

/** Run program and model on a frame. Returns the fate; FILTER_RECEIVED when they differ: said on stderr, with the
 * frame. */
enum filter_count case_compare(const filter_t *filter, const model_t *model, const uint8_t *frame, size_t len);
