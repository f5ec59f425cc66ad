/* SPDX-License-Identifier: BSD-2-Clause */
/** The live screen of a run (--top). Pure: samples in, a grid of text out. */
#pragma once

#include "src/tools/load/report.h"

enum { SCREEN_HISTORY_MAX = 512 };

/** What is shown beside the samples. Strings are borrowed. */
typedef struct {
	const char *title, *target;
	double target_rate;    /* of now; 0: none, a recording is played */
	double duration_s;     /* of the run */
	const double *history; /* replies per second, the oldest first */
	size_t history_count;
} screen_view_t;

typedef struct {
	unsigned width, height;
	bool color, unicode;
} screen_terminal_t;

/** total: from the start; period: since the sample before. False: no memory. */
bool screen_draw(const screen_view_t *view, const report_sample_t *total, const report_sample_t *period,
		const screen_terminal_t *terminal, FILE *out);

/** Show the run on the terminal until it is over, or the user ends it. False: standard output is no terminal. */
bool screen_run(gun_t *gun, report_sample_t samples[static 3]);
