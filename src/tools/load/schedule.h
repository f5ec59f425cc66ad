/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * When messages are due: pieces of constant rate, or the times of a recording. Pure.
 *
 * A message is due at its intended time whether or not those before it could leave or were answered (open loop): what
 * is late is sent as soon as it can, and its latency counts from the intended time. Messages come in batches, whose
 * members are due at the same time; a thread has every threads-th batch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCHEDULE_PIECES_MAX = 1024 };

/** Times are nanoseconds since the start of the run. */
typedef struct {
	uint64_t begin_ns, end_ns;
	double rate; /* messages per second of all threads together; above 0 */
} schedule_piece_t;

typedef struct {
	const schedule_piece_t *pieces; /* borrowed; one after the other */
	size_t piece_count;
	const uint64_t *times_ns; /* borrowed; a recording's, ascending; NULL: pieces */
	uint64_t time_count;
	bool loop;        /* of a recording: begin again at its end, at the recording's rate */
	uint64_t end_ns;  /* nothing is due from here on */
	unsigned batch;   /* messages per batch and thread, at least 1 */
	unsigned threads; /* at least 1 */
} schedule_t;

/** A thread's place in it. */
typedef struct {
	const schedule_t *schedule; /* borrowed */
	unsigned thread;
	size_t piece;
	uint64_t group;     /* batches of this thread in this piece so far */
	unsigned in_group;  /* messages of the batch so far */
	double interval_ns; /* between batches of this thread */
	uint64_t base_ns;   /* of the recording's present loop */
	uint64_t next;      /* of a recording: index of the next message */
	uint64_t due_ns;    /* of the next message; UINT64_MAX: there is none */
} schedule_cursor_t;

void schedule_begin(const schedule_t *schedule, unsigned thread, schedule_cursor_t *ret_cursor);

/** Go on to the message after the next. */
void schedule_advance(schedule_cursor_t *cursor);

/**
 * Steps of rate, from `from` to `to` by `step` (which is taken towards `to`, and its sign doesn't matter), `step_ns`
 * each. Returns their number, 0: more than SCHEDULE_PIECES_MAX, or a step of 0 between different rates.
 */
size_t schedule_ramp(double from, double to, double step, uint64_t step_ns, schedule_piece_t *ret_pieces);

/** Messages that all threads together have due in a piece. */
uint64_t schedule_piece_messages(const schedule_t *schedule, size_t piece);
