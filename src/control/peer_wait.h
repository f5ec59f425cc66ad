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

/** since_ms: sys_clock_ms() at the beginning; 0: it doesn't wait; PEER_WAIT_TAKEN: it was taken away. */
typedef struct {
	_Atomic uint64_t since_ms;
} peer_wait_t;

#define PEER_WAIT_TAKEN UINT64_MAX

/** A wait begins; since_ms: not 0, may lie back (what a slow peer sends byte by byte is one wait). */
static inline void peer_wait_begin(peer_wait_t *wait, uint64_t since_ms)
{
	assert(since_ms != 0 && since_ms != PEER_WAIT_TAKEN);
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
