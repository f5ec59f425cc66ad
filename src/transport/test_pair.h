/* SPDX-License-Identifier: BSD-2-Clause */
/** A client and a server joined in memory: bytes go over in pieces of any size. For stream transports. */
#pragma once

#include "src/transport/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/** How much goes over at once. */
typedef struct {
	size_t piece; /* 0: a random size */
	uint32_t seed;
} test_cut_t;

static inline size_t test_cut_next(test_cut_t *cut, size_t max)
{
	if (cut->piece != 0) {
		return cut->piece < max ? cut->piece : max;
	}
	cut->seed = cut->seed * 1664525 + 1013904223;
	uint32_t r = cut->seed >> 8;
	size_t piece = (r & 1) != 0 ? 1 + (r >> 1) % 7 : 1 + (r >> 1) % 3000;
	return piece < max ? piece : max;
}

/** Move what `from` has pending to `to`, one piece. False: there is nothing, or `to` wants nothing. */
static inline bool test_pair_move(transport_t *from, transport_t *to, test_cut_t *cut, uint64_t now_ns)
{
	knot_bytes_t bytes = transport_pending(from, now_ns);
	if (bytes.len == 0) {
		return false;
	}
	knot_mut_bytes_t room = transport_room(to);
	if (room.len == 0) {
		return false;
	}
	size_t len = test_cut_next(cut, bytes.len < room.len ? bytes.len : room.len);
	memcpy(room.data, bytes.data, len);
	transport_note_sent(from, len, now_ns);
	transport_note_received(to, len, now_ns);
	return true;
}

/** Move in both directions until nothing moves. */
static inline void test_pair_run(transport_t *a, transport_t *b, test_cut_t *cut, uint64_t now_ns)
{
	bool moves = true;
	while (moves) {
		moves = test_pair_move(a, b, cut, now_ns);
		moves = test_pair_move(b, a, cut, now_ns) || moves;
	}
}
