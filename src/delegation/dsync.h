/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where a parent wants to be told that a child has changed its CDS, CDNSKEY or CSYNC records: names that are asked for
 * DSYNC records, and what the records say. Pure. RFC 9859 2 and 4.1.
 */
#pragma once

#include "libknot/msg/message.h"
#include "libknot/name/name.h"

enum { DSYNC_SCHEME_NOTIFY = 1 };

/**
 * A step of the search. Of the name `city.ise.mie.jp`: `city._dsync.ise.mie.jp` (above 1), `city.ise.mie._dsync.jp`
 * (above 3), and the latter without what stands before `_dsync` (is_bare).
 */
typedef struct {
	unsigned above; /* labels of the child that stand before `_dsync` */
	bool is_bare;   /* they are left out */
} dsync_step_t;

/** The first step; of a child that isn't the root. */
static inline dsync_step_t dsync_first(void)
{
	return (dsync_step_t){ .above = 1 };
}

/** The name of a step. False: it would be too long. */
bool dsync_name(knot_name_t child, dsync_step_t step, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name);

/**
 * The step after a negative answer. apex: the owner of its SOA. False: the parent has no target. Ends, whatever
 * answers say: `above` grows, and then `is_bare` is set once.
 */
bool dsync_next(knot_name_t child, dsync_step_t *step, knot_name_t apex);

/** A record: whom to tell about what. */
typedef struct {
	uint16_t type; /* CDS or CSYNC */
	uint8_t scheme;
	uint16_t port;
	uint8_t target_wire[KNOT_NAME_MAX];
	knot_name_t target; /* of target_wire */
} dsync_record_t;

/** Read RDATA without compression. KNOT_EMALF. */
KNOT_MUST_USE knot_err_t dsync_read(knot_bytes_t rdata, dsync_record_t *ret_record);

/** What an answer to a step says. */
typedef enum {
	DSYNC_FOUND,    /* there are records */
	DSYNC_NEGATIVE, /* there are none; `apex` is the zone that says so */
	DSYNC_USELESS,  /* an error, a referral, or nothing that can be read */
} dsync_verdict_t;

typedef struct {
	/* By type: the record with the scheme NOTIFY; type 0: none. More than one, which mustn't be: the first. */
	dsync_record_t cds, csync;
	uint8_t apex_wire[KNOT_NAME_MAX];
	knot_name_t apex; /* NEGATIVE */
} dsync_answer_t;

/** Read an answer. Aliases in it are the resolver's. */
dsync_verdict_t dsync_read_answer(knot_bytes_t message, dsync_answer_t *ret_answer);
