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
	bool verifies_together; /* see validate_run_settle() */
	size_t fault_max;       /* faults that are listed, while the run goes on; 0: the first one ends it */
	uint64_t walks;         /* that were begun */
} validate_run_t;

/** Make `zone`, `options`, `verifies_together` and `fault_max` be there before. Errors as validate_zone(), of keys and
 * parameters. validate_run_done() is due, too. */
KNOT_MUST_USE knot_err_t validate_run_init(validate_run_t *run, unsigned thread_count);
void validate_run_done(validate_run_t *run);

/** Check the whole chain, or the signatures of the whole zone. Errors as validate_zone(). */
KNOT_MUST_USE knot_err_t validate_run_chain(validate_run_t *run);
KNOT_MUST_USE knot_err_t validate_run_signatures(validate_run_t *run);

/**
 * End the verification of signatures. False: one of several that were verified together is wrong; which one, and what
 * is wrong in front of it, is found by another run that verifies each. *io_err: the first error until now; KNOT_ENOMEM,
 * KNOT_ECRYPTO are added.
 */
KNOT_MUST_USE bool validate_run_settle(validate_run_t *run, knot_err_t *io_err);

/** What it comes to. err: what was returned until now; returns the same, or that something expires too soon. */
knot_err_t validate_run_end(const validate_run_t *run, knot_err_t err, validate_result_t *ret_result);

/** Whether the NSEC of a name leads to another one. KNOT_ENONSEC, KNOT_ENSECCHAIN. */
KNOT_MUST_USE knot_err_t validate_nsec_leads(
		validate_checker_t *checker, const zone_node_t *from, const zone_node_t *to);
