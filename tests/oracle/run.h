/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: a zone under commits, each of which is compared with a build from scratch: what the versions show
 * (same.h), answers (asked.h), what checks say (said.h), memory in use, differences, the zone file; and what compaction
 * makes of the version.
 */
#pragma once

#include "tests/oracle/asked.h"
#include "tests/oracle/faults.h"
#include "tests/oracle/said.h"
#include "tests/oracle/world.h"

#include "src/zone/compact.h"

enum { RUN_WHY_MAX = 2 * KNOT_NAME_TEXT_MAX };

typedef enum {
	RUN_OK,
	RUN_REFUSED, /* by a semantic check: the state before stays */
	RUN_WRONG,   /* run->why says what */
} run_outcome_t;

/** What was looked at, over all runs. */
typedef struct {
	uint64_t commits, refused, shared, slices, renewed_hints, slow_looks;
} run_counts_t;

typedef struct {
	const world_t *w;
	asked_t *asked;
	run_counts_t *counts;
	bool is_thorough;         /* ask everything after each commit */
	bool is_answers_only;     /* for the oracle's own test: see what answers show */
	const fault_row_t *fault; /* put into each version; NULL: none */
	bool has_fault;           /* it was applied to the last version */
	uint32_t serial;
	zone_contents_t *zone, *past; /* owned; past: a hold of some version before */
	chain_t chain;                /* of the state */
	said_t said[3];               /* of the whole, before and now, and of the commit */
	unsigned now;                 /* which of said[0..1] is that of the state */
	zone_compaction_t *pass;
	char why[RUN_WHY_MAX];
} run_t;

/** Begin with a zone that is built from the records of a state. Zero the run but for what the caller sets. */
run_outcome_t run_begin(run_t *run, const world_state_t *state);

/** Commit what leads from one state to another. */
run_outcome_t run_step(run_t *run, const world_state_t *before, const world_state_t *after);

void run_end(run_t *run);
