/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Any message, read record by record without copying: for answers of other servers, updates, transfers, tests.
 *
 * (Queries on the hot path go through query.h.) Strict bounds: a view that opened may still turn out malformed at any
 * record; then `failed` is set and no more records come. No allocation. RFC 1035 4.1.
 */
#pragma once

#include "libknot/msg/writer.h"

typedef struct {
	knot_bytes_t wire; /* borrowed: the whole message */
	uint16_t id, flags;
	uint16_t counts[4];     /* by knot_section_t */
	size_t pos;             /* next record */
	knot_section_t section; /* of the next record */
	uint16_t left;          /* records of `section` not read yet */
	bool failed;
} knot_message_t;

typedef struct {
	knot_section_t section;
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner; /* expanded into owner_wire, so a record must not be copied by value with its owner */
	uint16_t type, class;
	uint32_t ttl;     /* 0 for a question */
	size_t off;       /* where the record starts in the message */
	size_t rdata_off; /* RDATA as in the message: see knot_rdata_unpack() for its names */
	uint16_t rdata_len;
} knot_message_rr_t;

/** Open a view. KNOT_EMALF: shorter than a header. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_message_begin(knot_bytes_t wire, knot_message_t *ret_message);

/** The next record, questions first; false at the end or at a malformed record (message->failed tells). */
KNOT_EXPORT bool knot_message_next(knot_message_t *message, knot_message_rr_t *ret_rr);

/** True when everything was read well and nothing follows the last record. */
KNOT_EXPORT bool knot_message_is_whole(const knot_message_t *message);
