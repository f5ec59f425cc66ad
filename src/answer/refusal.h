/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Reasons to send an error instead of an answer, and what each sends: one row in refusal.def. Constants; any thread.
 */
#pragma once

#include "libknot/msg/query.h"

typedef enum {
	ANSWER_REFUSAL_NONE, /* there is none: go on */
#define REFUSAL(name, rcode, ede, counted) ANSWER_REFUSAL_##name,
#define REFUSAL_WAY(name, way)             ANSWER_REFUSAL_##name,
#include "src/answer/refusal.def"
#undef REFUSAL
#undef REFUSAL_WAY
	ANSWER_REFUSAL_END,
} answer_refusal_t;

/** What is sent instead of an answer. */
typedef enum {
	ANSWER_REFUSAL_ERROR,    /* the rcode */
	ANSWER_REFUSAL_TRUNCATE, /* NOERROR, TC and no records: ask over TCP */
	ANSWER_REFUSAL_DROP,     /* nothing at all */
} answer_refusal_way_t;

typedef struct {
	answer_refusal_way_t way;
	uint16_t rcode;   /* extended */
	uint16_t ede;     /* KNOT_EDE_* or KNOT_EDE_NONE */
	uint16_t counted; /* rcode for statistics */
} answer_refusal_row_t;

/** By answer_refusal_t; NONE is NOERROR. */
extern const answer_refusal_row_t answer_refusal_rows[ANSWER_REFUSAL_END];
