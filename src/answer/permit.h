/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Of stage GATE: permission and signature of a request about a zone, and the SOA that such requests carry. Pure; the
 * verification of a MAC may allocate inside GnuTLS if the request is long.
 */
#pragma once

#include "src/answer/aside.h"

/**
 * May the source of `request` do `action` with the zone that the request names? First the rules, which know name and
 * algorithm of the key, then the MAC. Fills in `aside` and starts its chain: with the request's MAC if it's authentic
 * or late, without a key where the reply has no TSIG. source->turn isn't NULL. Returns NONE or a reason.
 */
answer_refusal_t answer_permit(const answer_env_t *env, const answer_source_t *source, const answer_request_t *request,
		conf_action_t action, answer_aside_t *ret_aside);

typedef enum {
	ANSWER_SOA_NONE,  /* the section is empty */
	ANSWER_SOA_OTHER, /* its first record is something else, or another zone's */
	ANSWER_SOA_FOUND,
} answer_soa_t;

/** Look for an SOA of the question's name at the beginning of a section: of ANSWER or AUTHORITY. */
answer_soa_t answer_read_soa(const knot_query_t *query, knot_section_t section, uint32_t *ret_serial);
