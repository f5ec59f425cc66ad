/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether a connection waits for its peer, and since when: what decides which connection makes room for another one.
 *
 * Two threads: the one that serves the connection begins and ends waits; the one that accepts connections may take a
 * connection that waits. The first one wins, so a command is either not begun, or its connection stays.
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a connection waits for. */
typedef enum { PEER_WAIT_INPUT, PEER_WAIT_ROOM } peer_wait_for_t;

/** since_ms: sys_clock_ms() at the beginning; 0: it doesn't wait; PEER_WAIT_TAKEN: it was taken away. */
typedef struct {
	_Atomic uint64_t since_ms;
	_Atomic peer_wait_for_t what; /* set before the wait begins */
} peer_wait_t;

#define PEER_WAIT_TAKEN UINT64_MAX

/** A wait begins; since_ms: not 0, may lie back (what a slow peer sends byte by byte is one wait). */
static inline void peer_wait_begin(peer_wait_t *wait, peer_wait_for_t what, uint64_t since_ms)
{
	assert(since_ms != 0 && since_ms != PEER_WAIT_TAKEN);
	atomic_store(&wait->what, what);
	atomic_store(&wait->since_ms, since_ms);
}

/** The wait ends. False: the connection was taken away meanwhile; whatever came is not to be looked at. */
static inline bool peer_wait_end(peer_wait_t *wait)
{
	return atomic_exchange(&wait->since_ms, 0) != PEER_WAIT_TAKEN;
}

/** Take the connection if it still is in the wait that began at since_ms. */
static inline bool peer_wait_take(peer_wait_t *wait, uint64_t since_ms)
{
	return atomic_compare_exchange_strong(&wait->since_ms, &since_ms, PEER_WAIT_TAKEN);
}

/**
 * Which one makes room: of since_ms[0..count), each the beginning of a wait or 0 (it doesn't wait), the index of the
 * longest wait that has lasted for at least grace_ms; `count`: there is none.
 */
static inline size_t peer_wait_longest(const uint64_t *since_ms, size_t count, uint64_t now_ms, uint64_t grace_ms)
{
	size_t longest = count;
	uint64_t longest_ms = now_ms > grace_ms ? now_ms - grace_ms : 0;
	for (size_t i = 0; i < count; i++) {
		if (since_ms[i] != 0 && since_ms[i] <= longest_ms) {
			longest = i;
			longest_ms = since_ms[i];
		}
	}
	return longest;
}

/** When the thread that accepts first saw that a connection's peer had done its part (sent something, made room). */
typedef struct {
	uint64_t since_ms; /* the wait in which it saw that; 0: none */
	uint64_t seen_ms;
} peer_ready_t;

/**
 * Whether a wait is spared because its peer has done its part and the thread that serves the connection hasn't run yet.
 * Call it when the socket is ready for what the wait is for. Each wait is spared for spare_ms from the first such call
 * on: a peer that sends without end and never completes a unit has one wait, and so is spared once.
 */
static inline bool peer_ready_is_spared(peer_ready_t *ready, uint64_t since_ms, uint64_t now_ms, uint64_t spare_ms)
{
	if (ready->since_ms != since_ms) {
		*ready = (peer_ready_t){ since_ms, now_ms };
	}
	return now_ms - ready->seen_ms < spare_ms;
}
