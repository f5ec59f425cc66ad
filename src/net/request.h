/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One request from whichever transport: answer it, note it, tell the modules. The step between receive and send.
 *
 * Over UDP who asks may be somebody else. Two limits keep the server out of loops of errors with what answers anything:
 * nothing is sent to ports of services that do, and replies to what can't be understood have a rate. Neither concerns
 * a query that is one.
 */
#pragma once

#include "libknot/base/rate.h"
#include "src/net/traffic.h"

/** What a UDP worker keeps of its limits. Zero it to begin. Of the worker's thread. */
typedef struct {
	uint64_t now_us;    /* of the batch in work: the worker sets it */
	knot_rate_t errors; /* NET_ERRORS_PER_S */
} request_limits_t;

/**
 * Answer a request; see answer_message(). Returns the reply's length, 0: send nothing.
 * batch: of the worker, begun with `state`. limits: of the worker; NULL for a stream, whose peer is who it says. Within
 * a read section that `state` was loaded in. No allocation, lock or system call.
 */
size_t request_answer(traffic_batch_t *batch, request_limits_t *limits, const state_t *state,
		const answer_source_t *source, const answer_hint_t *hint, knot_bytes_t request, knot_mut_bytes_t out);
