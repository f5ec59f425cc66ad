/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Changes of a zone to be sent as IXFR: read out of the journal once, shared by all receivers that need the same.
 *
 * Immutable once read, and counted. Reading is from the disk, within a read transaction of LMDB, so it is for a thread
 * that may wait, never for one that answers (out_service.h). What is read is checked, and several changes are made one
 * if that is smaller.
 */
#pragma once

#include "src/journal/changeset.h"
#include "src/journal/journal.h"

#include <stdatomic.h>

/** A change as its payload of changeset.h: old SOA, what is removed, new SOA, what is added. */
typedef struct {
	uint32_t serial_from, serial_to;
	size_t len;
	uint8_t *data; /* owned */
} steps_out_step_t;

typedef struct steps_out steps_out_t;

/** Why there are no steps. */
typedef enum {
	STEPS_OUT_OK,
	STEPS_OUT_INCOMPLETE, /* none begins with the client's version, or they don't lead to the one that is sent: that
				 came as a whole, or changes on both sides of it were merged meanwhile */
	STEPS_OUT_UNUSABLE,   /* they can't be read, or are too large, or there is no memory */
} steps_out_verdict_t;

/** Bytes that all steps together may take. Lives longer than they do. */
typedef struct {
	size_t max;
	atomic_size_t used;
} steps_out_budget_t;

/**
 * Read the changes of `zone` from serial_from to serial_to. len_max: bytes that they may take; more than the budget has
 * left is UNUSABLE, too. Condensing takes about five times the bytes for a moment, so it is left out above
 * STEPS_OUT_MERGE_MAX bytes. OK: *ret_steps has one user.
 */
steps_out_verdict_t steps_out_read(journal_t *journal, steps_out_budget_t *budget, knot_name_t zone,
		uint32_t serial_from, uint32_t serial_to, size_t len_max, steps_out_t **ret_steps);

enum { STEPS_OUT_MERGE_MAX = 4 << 20 };

/** The changes in order, at least one. */
const steps_out_step_t *steps_out_list(const steps_out_t *steps, size_t *ret_count);

/** Bytes of all payloads. */
size_t steps_out_len(const steps_out_t *steps);

/** One more user. Any thread. */
steps_out_t *steps_out_ref(steps_out_t *steps);

/** One user less: the last one frees them. Any thread. NULL is allowed. */
void steps_out_drop(steps_out_t *take_steps);

/** Steps through the records of a payload that was checked. */
typedef struct {
	knot_bytes_t payload;
	size_t pos;
	uint16_t left; /* records of the RRset in work */
	knot_name_t owner;
	uint16_t type;
} steps_out_records_t;

static inline steps_out_records_t steps_out_records(const steps_out_step_t *step)
{
	return (steps_out_records_t){ .payload = { step->data, step->len } };
}

/** The next record, borrowed from the payload; false at the end. */
bool steps_out_next(steps_out_records_t *records, changeset_rr_t *ret_rr);
