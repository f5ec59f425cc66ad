/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: a version that is being proven: its keys, one checker for each thread, the first fault; and the walks
 * through the whole of it.
 */
#pragma once

#include "src/sys/team.h"
#include "src/validate/names.h"

typedef struct {
	const zone_contents_t *zone;       /* borrowed */
	const validate_options_t *options; /* borrowed */
	validate_keys_t keys;              /* owned */
	validate_checker_t *checkers;      /* owned: the first is the calling thread's */
	unsigned checker_count;
	bool has_nsec3; /* the zone has an NSEC3PARAM: else it has NSEC */
	validate_fault_t fault;
	size_t fault_max; /* faults that are listed, while the run goes on; 0: the first one ends it */
	uint64_t walks;   /* that were begun */
} validate_run_t;

/** Errors as validate_zone(), of keys and parameters. validate_run_done() is due, too. */
KNOT_MUST_USE knot_err_t validate_run_init(validate_run_t *run, const zone_contents_t *zone,
		const validate_options_t *options, unsigned thread_count, size_t fault_max);
void validate_run_done(validate_run_t *run);

/** Check the whole chain, or the signatures of the whole zone. Errors as validate_zone(). */
KNOT_MUST_USE knot_err_t validate_run_chain(validate_run_t *run);
KNOT_MUST_USE knot_err_t validate_run_signatures(validate_run_t *run);

/** What it comes to. err: what was returned until now; returns the same, or that something expires too soon. */
knot_err_t validate_run_end(const validate_run_t *run, knot_err_t err, validate_result_t *ret_result);

/** Whether the NSEC of a name leads to another one. KNOT_ENONSEC, KNOT_ENSECCHAIN. */
KNOT_MUST_USE knot_err_t validate_nsec_leads(
		validate_checker_t *checker, const zone_node_t *from, const zone_node_t *to);
