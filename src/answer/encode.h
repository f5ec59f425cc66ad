/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A plan becomes bytes: compiled blocks copied behind the question, their compression pointers resolved, space
 * rules applied. All truncation is decided here.
 *
 * Order within a section: the RRsets, then their signatures, so that what is left out first is what can be asked for
 * again. ANSWER and AUTHORITY must fit, else TC (RFC 2181 9); ADDITIONAL is left out RRset by RRset, and only in-domain
 * glue of a referral sets TC (RFC 9471 3.1). No allocation; one copy per block and one store per compression pointer.
 * Answers with offsets beyond what a pointer can name, or with rotated RRsets, go record by record through
 * libknot/msg/writer.h; so do UDP answers that fit only when names are compressed against all of the question.
 */
#pragma once

#include "src/answer/plan.h"

typedef struct {
	size_t len;         /* of the message so far, header and question included */
	uint16_t counts[4]; /* records per section; [0] is the question's */
	bool truncated;     /* TC */
	bool too_big;       /* an RRset fits no message even without a UDP limit: answer SERVFAIL */
	bool first_authority_is_soa;
} answer_encoded_t;

enum { ANSWER_ROTATE_NONE = 0 };

/**
 * Write the sections of `plan` into the message in `out`, behind header and question, which are in place.
 *
 * out.len: limit of the message in bytes, what the caller reserves for OPT already taken off; at most 65535.
 * is_udp: what does not fit is truncated; else it is `too_big`. rotate: start each RRset of ANSWER with the record of
 * this number modulo the set's size. Header fields are the caller's to write.
 */
answer_encoded_t answer_encode(answer_plan_t *plan, knot_mut_bytes_t out, bool is_udp, uint16_t rotate);
