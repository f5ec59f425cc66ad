/* SPDX-License-Identifier: BSD-2-Clause */
/** Lines of JSON: Knot's schema 20240530, with members of ours. */
#pragma once

#include "src/tools/load/report.h"

typedef struct {
	double rate;
	uint64_t due, sent, matched;
	double loss_percent;
	uint64_t p99_ns, delay_p99_ns; /* delay: how late queries left */
	bool is_good;                  /* within the limits of the knee */
} report_step_t;

/** What a ramp found. */
typedef struct {
	double rate;           /* the highest that was served well; 0: none */
	bool is_open;          /* all rates were: the knee may be higher */
	bool is_late;          /* the lowest that wasn't may be the generator's fault */
	uint64_t delay_p99_ns; /* how late its queries left; if all were good, those of the last step */
} report_knee_t;

void report_json_header(const gun_t *gun, FILE *out);
void report_json_thread(const gun_t *gun, const lane_t *lane, FILE *out);
void report_json_stats(const gun_t *gun, const report_sample_t *sample, report_kind_t kind, double seconds, FILE *out);
void report_json_step(const report_step_t *step, const histogram_t *latency, FILE *out);
void report_json_knee(const options_t *options, const report_knee_t *knee, FILE *out);
void report_json_wrong(const judge_wrong_t *wrong, FILE *out);
