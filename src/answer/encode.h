/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A plan becomes records of a message: behind the question, space rules applied. All truncation is decided here.
 *
 * Order within a section: the RRsets, then their signatures, so that what is left out first is what can be asked for
 * again. ANSWER and AUTHORITY must fit, else TC (RFC 2181 9); ADDITIONAL is left out RRset by RRset, and only in-domain
 * glue of a referral sets TC (RFC 9471 3.1). No allocation.
 *
 * There are two ways to spell what a plan lists (encode_way.h): compiled blocks, copied with one store per compression
 * pointer (encode_blocks.c), and records, one after the other through libknot/msg/writer.h (encode_records.c). Answers
 * with offsets beyond what a pointer can name, or with rotated RRsets, go by records; so do UDP answers that fit only
 * when names are compressed against all of the question.
 */
#pragma once

#include "src/answer/plan.h"

typedef struct {
	bool truncated; /* TC */
	bool too_big;   /* an RRset fits no message even without a UDP limit: answer SERVFAIL. No record was put */
	bool first_authority_is_soa;
} answer_encoded_t;

enum { ANSWER_ROTATE_NONE = 0 };

/**
 * Put the sections of `plan` behind the question, which `w` has, up to its limit.
 *
 * is_udp: what does not fit is truncated; else it is `too_big`. rotate: start each RRset of ANSWER with the record of
 * this number modulo the set's size.
 */
answer_encoded_t answer_encode(answer_plan_t *plan, knot_msg_writer_t *w, bool is_udp, uint16_t rotate);
