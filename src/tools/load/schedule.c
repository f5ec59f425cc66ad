/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/schedule.h"

#include <assert.h>
#include <math.h>

/* The first batch of this thread in the piece: threads take turns, evenly. */
static double schedule_phase_ns(const schedule_cursor_t *c)
{
	return c->interval_ns * c->thread / c->schedule->threads;
}

static void schedule_enter_piece(schedule_cursor_t *c)
{
	const schedule_t *s = c->schedule;
	c->group = 0;
	if (c->piece < s->piece_count) {
		const double per_batch = 1e9 * s->batch * s->threads;
		c->interval_ns = per_batch / s->pieces[c->piece].rate;
	}
}

static uint64_t schedule_due_in_pieces(schedule_cursor_t *c)
{
	const schedule_t *s = c->schedule;
	for (; c->piece < s->piece_count; c->piece++, schedule_enter_piece(c)) {
		const schedule_piece_t *piece = &s->pieces[c->piece];
		double offset_ns = schedule_phase_ns(c) + (double)c->group * c->interval_ns;
		uint64_t due_ns = piece->begin_ns + (uint64_t)offset_ns;
		if (due_ns < piece->end_ns) {
			return due_ns;
		}
	}
	return UINT64_MAX;
}

/*
 * How long a recording takes when it begins again at its end: the pause before that is the mean of those in it, so the
 * rate is the recording's. One that has no length (a single query, equal times) says nothing of a rate: each second.
 */
static uint64_t schedule_loop_ns(const schedule_t *s)
{
	uint64_t last_ns = s->time_count > 1 ? s->times_ns[s->time_count - 1] : 0;
	return last_ns > 0 ? last_ns + last_ns / (s->time_count - 1) : 1000000000;
}

static uint64_t schedule_due_in_recording(schedule_cursor_t *c)
{
	const schedule_t *s = c->schedule;
	while (c->next >= s->time_count) {
		if (!s->loop || s->time_count == 0) {
			return UINT64_MAX;
		}
		c->base_ns += schedule_loop_ns(s);
		c->next -= s->time_count;
	}
	return c->base_ns + s->times_ns[c->next];
}

static void schedule_find_due(schedule_cursor_t *c)
{
	uint64_t due_ns = c->schedule->times_ns != NULL ? schedule_due_in_recording(c) : schedule_due_in_pieces(c);
	c->due_ns = due_ns < c->schedule->end_ns ? due_ns : UINT64_MAX;
}

void schedule_begin(const schedule_t *schedule, unsigned thread, schedule_cursor_t *ret_cursor)
{
	assert(schedule->batch > 0 && thread < schedule->threads);
	*ret_cursor = (schedule_cursor_t){ .schedule = schedule, .thread = thread, .next = thread };
	schedule_enter_piece(ret_cursor);
	schedule_find_due(ret_cursor);
}

void schedule_advance(schedule_cursor_t *c)
{
	if (c->schedule->times_ns != NULL) {
		c->next += c->schedule->threads;
		schedule_find_due(c);
	} else if (++c->in_group == c->schedule->batch) {
		c->in_group = 0;
		c->group++;
		schedule_find_due(c);
	}
}

size_t schedule_ramp(double from, double to, double step, uint64_t step_ns, schedule_piece_t *ret_pieces)
{
	step = fabs(step);
	if (from != to && step == 0) {
		return 0;
	}
	double steps = from == to ? 0 : floor(fabs(to - from) / step + 1e-9);
	if (steps + 1 > SCHEDULE_PIECES_MAX) {
		return 0;
	}
	size_t count = (size_t)steps + 1;
	for (size_t i = 0; i < count; i++) {
		ret_pieces[i] = (schedule_piece_t){
			.begin_ns = i * step_ns,
			.end_ns = (i + 1) * step_ns,
			.rate = from + (from < to ? step : -step) * (double)i,
		};
	}
	return count;
}

uint64_t schedule_piece_messages(const schedule_t *s, size_t piece)
{
	uint64_t sum = 0;
	for (unsigned thread = 0; thread < s->threads; thread++) {
		schedule_cursor_t c = { .schedule = s, .thread = thread, .piece = piece };
		schedule_enter_piece(&c);
		const schedule_piece_t *p = &s->pieces[piece];
		uint64_t end_ns = p->end_ns < s->end_ns ? p->end_ns : s->end_ns;
		double room_ns = (double)(end_ns > p->begin_ns ? end_ns - p->begin_ns : 0) - schedule_phase_ns(&c);
		sum += room_ns > 0 ? (uint64_t)ceil(room_ns / c.interval_ns) * s->batch : 0;
	}
	return sum;
}
