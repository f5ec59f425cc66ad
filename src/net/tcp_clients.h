/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The TCP clients of all socket workers: how many there are, from which sources, and which one is closed when there
 * are too many. RFC 7766 6.2.2 (limits, also per client), 6.2.3 (idle connections are closed first).
 *
 * A source (xdp/tcp/source.h) has at most its share. A client over the share, or one that comes when the limit is
 * reached, takes the place of the idlest connection of the source that would have the most: its own or another. Idle
 * counts from the last query that was answered.
 *
 *   levels:   [1] ── source ── source        sources by the number of their clients; `top` is the highest in use
 *             [3] ── source
 *                     │
 *                  client ── client ── client        idlest first
 *
 * Order without a lock per query: a worker writes the time of an answer into its own client. Lists hold the time that
 * was last read of it (`seen_ms`), which is never later than the true one. So if the first of a list has not changed
 * since, it is the idlest; if it has, it is read again and moved. doc/adr/0027-tcp-clients.md.
 *
 * Threads: any; one lock, taken once when a connection begins and once when it ends. A client of another worker is
 * closed by shutdown(): its worker is woken up, finds `evicted` set and closes it.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sys/lock.h"
#include "xdp/tcp/siphash.h"

typedef struct tcp_source tcp_source_t;

/** One connection, inside of its worker's record of it. */
typedef struct tcp_client {
	int fd;                       /* owned by the worker; open from tcp_clients_enter() to tcp_clients_leave() */
	_Atomic uint64_t answered_ms; /* when a query was last answered, at first when it came; the worker writes it */
	atomic_bool evicted;          /* it has to be closed: set once by any thread */
	tcp_source_t *source SYS_GUARDED_BY(clients->lock); /* NULL: not counted, or not any more */
	struct tcp_client *prev SYS_GUARDED_BY(clients->lock), *next SYS_GUARDED_BY(clients->lock);
	uint64_t seen_ms SYS_GUARDED_BY(clients->lock); /* `answered_ms` when it was last read, or earlier */
} tcp_client_t;

typedef struct tcp_clients {
	sys_mutex_t lock;
	atomic_uint count; /* may be read without the lock */
	kxdp_siphash_key_t key;
	tcp_source_t **buckets SYS_GUARDED_BY(lock); /* owned: chains of sources; a power of two of them */
	uint32_t bucket_count SYS_GUARDED_BY(lock);
	uint32_t source_count SYS_GUARDED_BY(lock);
	struct tcp_level *levels SYS_GUARDED_BY(lock); /* owned: by the number of clients; [0..level_room) */
	uint32_t level_room SYS_GUARDED_BY(lock);
	uint32_t top SYS_GUARDED_BY(lock); /* the most clients of a source; 0: there is none */
} tcp_clients_t;

/** What became of a client that came. */
typedef enum {
	TCP_CLIENT_ADMITTED,
	TCP_CLIENT_REPLACED, /* admitted, and another one has to go */
	TCP_CLIENT_REFUSED,  /* no memory, or clients_max is 0: close it */
} tcp_client_verdict_t;

/** Make an empty set; all zero before. KNOT_ENOMEM, or no random bytes: nothing to undo. */
KNOT_MUST_USE knot_err_t tcp_clients_init(tcp_clients_t *clients);

/** Free the set, which has no clients. Not initialized (all zero): nothing. */
void tcp_clients_done(tcp_clients_t *clients);

/**
 * Count a new connection. client: all zero but for fd; borrowed until tcp_clients_leave(), unless refused.
 * source: kxdp_source_of(). clients_max: of all workers together, may be another one each time. now_ms: of any clock
 * that all callers share.
 */
tcp_client_verdict_t tcp_clients_enter(tcp_clients_t *clients, tcp_client_t *client, uint64_t source,
		uint32_t clients_max, uint64_t now_ms) SYS_EXCLUDES(clients->lock);

/** The connection ends: call before its descriptor is closed. */
void tcp_clients_leave(tcp_clients_t *clients, tcp_client_t *client) SYS_EXCLUDES(clients->lock);

/** Clients now. */
static inline unsigned tcp_clients_count(const tcp_clients_t *clients)
{
	return atomic_load_explicit(&clients->count, memory_order_relaxed);
}

/** A query of it was answered. Of its worker; no lock. */
static inline void tcp_client_answered(tcp_client_t *client, uint64_t now_ms)
{
	atomic_store_explicit(&client->answered_ms, now_ms, memory_order_relaxed);
}

/** When a query was last answered, or the connection came. */
static inline uint64_t tcp_client_answered_ms(const tcp_client_t *client)
{
	return atomic_load_explicit(&client->answered_ms, memory_order_relaxed);
}

/** True if it has to make room: its worker closes it. */
static inline bool tcp_client_is_evicted(const tcp_client_t *client)
{
	return atomic_load_explicit(&client->evicted, memory_order_relaxed);
}
