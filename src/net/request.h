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
#include "src/answer/aside.h"
#include "src/net/later.h"
#include "src/net/traffic.h"
#include "src/sys/clock.h"

/** What a UDP worker keeps of its limits. Zero it to begin. Of the worker's thread. */
typedef struct {
	uint64_t now_us;    /* of the batch in work: the worker sets it */
	knot_rate_t errors; /* NET_ERRORS_PER_S */
} request_limits_t;

/**
 * What a worker does with requests that are more than an answer. Called by request_answer() in its read section, when
 * the request is decided and logged. What is given is borrowed during the call. A function that needs a lock, or may
 * wait, links what it takes and is done with it behind the section (doc/locks.md, rule 2).
 */
typedef struct {
	uint8_t takes; /* bits of ANSWER_EFFECT_…: for which of them there is a function */
	/** Send a transfer. */
	void (*stream)(void *ctx, const state_t *state, const answer_source_t *source, const answer_request_t *request,
			const answer_report_t *report, const answer_aside_t *aside);
	/** Apply the message of `request`, and answer it then. */
	void (*update)(void *ctx, const state_t *state, const answer_source_t *source, const answer_request_t *request,
			const answer_report_t *report, const answer_aside_t *aside);
} request_takers_t;

/** What a worker lends to its requests. Zero it to begin, and set the last two if there are takers. */
typedef struct {
	answer_turn_t answer; /* first: answer_source_t.turn of requests that are answered here points to it */
	answer_aside_t aside;
	const request_takers_t *takers; /* static; NULL: none */
	void *ctx;                      /* for them */
} request_turn_t;

/** Begin a batch. now_us: monotonic. */
static inline void request_turn_begin(request_turn_t *turn, uint64_t now_us)
{
	turn->answer = (answer_turn_t){
		.now_us = now_us,
		.wall_s = sys_clock_wall_coarse(),
		.aside = &turn->aside,
		.takes = (uint8_t)(ANSWER_EFFECT_REFRESH | ANSWER_EFFECT_CHILD |
				   (turn->takers != NULL ? turn->takers->takes : 0)),
	};
}

/**
 * Answer a request that answer_read() made; see answer_message(). What should happen because of it is done here.
 * Returns the reply's length, 0: send nothing, or the worker's taker has it. batch: of the worker, begun with `state`.
 * limits: of the worker; NULL for a stream, whose source can't be forged. Within a read section that `state` was loaded
 * in. No allocation, lock or system call.
 */
size_t request_answer(traffic_batch_t *batch, request_limits_t *limits, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, knot_mut_bytes_t out);

/**
 * Take an update, which is answered when it is durable and served: what request_takers_t.update does. The transport
 * finds it as outbox->made and says how its reply leaves. Counted when that is sent. No memory: dropped, counted.
 */
void request_take_later(later_outbox_t *outbox, traffic_batch_t *batch, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, const answer_aside_t *aside);

/** Count a request whose reply was made later and is sent, or given up, now: `now_ns` on sys_clock_ns(). */
void request_note_later(sys_counters_t *counters, const later_t *later, uint64_t now_ns);
