/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One query from any transport: answer it, count it, pass it to the modules. The step between receive and send.
 *
 * Over UDP the source may be forged. Two limits keep the server out of loops of errors with hosts that answer any
 * packet: nothing is sent to the ports of such services, and error replies have a rate. Neither concerns valid
 * queries.
 */
#pragma once

#include "libknot/base/rate.h"
#include "src/net/traffic.h"
#include "src/sys/clock.h"

/** What a UDP worker keeps of its limits. Zero it to begin. Of the worker's thread. */
typedef struct {
	uint64_t now_us;    /* of the batch in work: the worker sets it */
	knot_rate_t errors; /* NET_ERRORS_PER_S */
} request_limits_t;

/** When a batch is answered. now_us: monotonic. */
static inline answer_clock_t request_clock(uint64_t now_us)
{
	return (answer_clock_t){ .now_us = now_us, .wall_s = (uint32_t)sys_clock_wall_coarse() };
}

/**
 * Answer a request that answer_read() made; see answer_message(). What should happen because of it is done here.
 * Returns the reply's length, 0: send nothing. batch: of the worker, begun with `state`. limits: of the worker; NULL
 * for a stream, whose source can't be forged. Within a read section that `state` was loaded in. No allocation, lock or
 * system call.
 */
size_t request_answer(traffic_batch_t *batch, request_limits_t *limits, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, knot_mut_bytes_t out);
