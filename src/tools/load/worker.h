/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The core of the generator, one per thread: (schedule, profile, seed, time) → messages; replies → verdicts, counters
 * and latencies. Pure: no socket, clock or thread inside; shells (xdp_udp.c, xdp_tcp.c, socket_udp.c, socket_tcp.c)
 * move the bytes.
 *
 * Threads: everything of a worker is its thread's, but for what workers share (flight.h), and for counters and
 * histograms, which others may read.
 */
#pragma once

#include "libknot/msg/rcode.h"
#include "src/tools/load/flight.h"
#include "src/tools/load/histogram.h"
#include "src/tools/load/message.h"
#include "src/tools/load/schedule.h"

typedef struct judge judge_t; /* judge.h */

/** What is counted, ROW(name, text). */
/* clang-format off */
#define WORKER_COUNTS(ROW) \
	ROW(sent, "queries sent") \
	ROW(sent_bytes, "bytes of them") \
	ROW(unsent, "queries that couldn't be sent") \
	ROW(replies, "DNS messages received") \
	ROW(reply_bytes, "bytes of them") \
	ROW(wire_bytes, "bytes of Ethernet frames received") \
	ROW(malformed, "replies that are no DNS reply") \
	ROW(matched, "replies that answer a query that waits for one") \
	ROW(duplicate, "replies to a query that has been answered") \
	ROW(late, "replies that came after the timeout") \
	ROW(unexpected, "replies to no query of ours") \
	ROW(truncated, "matched replies with TC") \
	ROW(bad_tsig, "matched replies whose TSIG is wrong") \
	ROW(opened, "connections opened") \
	ROW(established, "connections established") \
	ROW(closed, "connections closed") \
	ROW(reset, "connections that the server reset or refused") \
	ROW(refused, "queries whose connection or stream was lost without a reply") \
	ROW(resent, "TCP segments sent again") \
	ROW(messages, "messages of transfers") \
	ROW(records, "records of transfers") \
	ROW(bad_frames, "frames with a wrong checksum or length") \
	ROW(verified, "replies compared with the zone") \
	ROW(wrong, "of them, wrong") \
	ROW(unverified, "replies that can't be compared with the zone")
/* clang-format on */

typedef struct {
#define WORKER_COUNT_FIELD(name, text) uint64_t name;
	WORKER_COUNTS(WORKER_COUNT_FIELD)
#undef WORKER_COUNT_FIELD
	uint64_t rcodes[KNOT_RCODE_SLOTS]; /* of all replies, by slot */
} worker_counts_t;

/** The same for all workers. */
typedef struct {
	message_plan_t message;
	schedule_t schedule;
	uint64_t timeout_ns;
	uint64_t step_ns;    /* of a ramp; 0: one step */
	unsigned step_count; /* at least 1 */
	uint32_t addresses;  /* local ones, at least 1 */
} worker_plan_t;

/** Of one step of a ramp. */
typedef struct {
	uint64_t sent, matched;
} worker_step_t;

typedef struct {
	const worker_plan_t *plan; /* borrowed */
	unsigned thread;
	uint64_t first;  /* number of the first query, from 1 */
	uint64_t number; /* of the next query */
	uint64_t now_s;  /* UNIX time, for TSIG; set by the shell */
	bool zero_ids;   /* as in worker_params_t */
	schedule_cursor_t cursor;
	flight_t flight;
	worker_counts_t counts;
	worker_step_t *steps;      /* owned: step_count */
	histogram_t *latency;      /* owned: step_count */
	histogram_t *delay;        /* owned: step_count; how late queries left */
	message_cookie_t *cookies; /* owned: one per address; NULL: no cookies */
	knot_tsig_chain_t *chains; /* owned: one per slot of the window; NULL: unsigned */
	judge_t *judge;            /* borrowed; NULL: nothing is compared */
} worker_t;

/** Add to a counter that other threads read. */
static inline void worker_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

typedef struct {
	unsigned thread;
	uint64_t window; /* both: flight_window() */
	uint32_t ports;
	bool shared;    /* other threads may get our replies */
	bool zero_ids;  /* all messages have id 0 (RFC 9250 4.2.1): replies are matched by worker_receive_number() */
	uint64_t first; /* number to begin with: another one for each run, so that a server that has connections of the
			   run before doesn't take ours for them. Not 0; what is sent doesn't depend on it */
} worker_params_t;

/** False: no memory. */
bool worker_init(worker_t *worker, const worker_plan_t *plan, const worker_params_t *params);
void worker_done(worker_t *worker);

/** A query to be sent. */
typedef struct {
	size_t len;
	uint64_t number;
	uint32_t port;    /* number of source port or socket */
	uint32_t address; /* number of the local address */
	uint16_t id;
} worker_query_t;

/** When the next query is due, UINT64_MAX: no more. */
static inline uint64_t worker_due(const worker_t *worker)
{
	return worker->cursor.due_ns;
}

/**
 * The next query, which is under way from now on. now_ns: at or after worker_due(). bytes: room of MESSAGE_MAX.
 * tcp_framing: 2 bytes of length in front, which len then counts.
 */
void worker_next(worker_t *worker, uint64_t now_ns, bool tcp_framing, uint8_t *bytes, worker_query_t *ret_query);

/** The message of a query that is under way, made from its number again. bytes: room of MESSAGE_MAX. Returns its
 * length. */
size_t worker_make_again(worker_t *worker, uint64_t number, uint8_t *bytes);

/** The query just made couldn't be sent. */
void worker_unsend(worker_t *worker, const worker_query_t *query);

/** The connection or stream of a query is over, and it has no answer. */
void worker_lose(worker_t *worker, uint64_t number);

typedef struct {
	uint32_t port, address; /* where it came to, as in worker_query_t */
	uint64_t now_ns;
	knot_bytes_t message;
} worker_reply_t;

/**
 * A reply that came to `receiver` for a query of `owner` (the same, or another thread's). What it is counts with the
 * receiver.
 */
flight_verdict_t worker_receive(worker_t *receiver, worker_t *owner, const worker_reply_t *reply);

/** As above, where the query is known: by its connection. */
flight_verdict_t worker_receive_number(worker_t *worker, uint64_t number, const worker_reply_t *reply);

/** A transfer, message by message. */
typedef struct {
	uint32_t soas;   /* records of type SOA so far */
	uint32_t serial; /* of the first */
	uint32_t records;
	bool is_increments; /* of an IXFR: differences follow */
} worker_transfer_t;

typedef enum { TRANSFER_MORE, TRANSFER_DONE, TRANSFER_BAD } worker_transfer_state_t;

/** A message of a transfer: counted, not matched; the last one is then to be given to worker_receive_number(). */
worker_transfer_state_t worker_receive_transfer(worker_t *worker, worker_transfer_t *transfer, knot_bytes_t message);

/** Add counters of a worker, or of sums, to a sum. */
void worker_counts_add(worker_counts_t *sum, const worker_counts_t *part);

/** All latencies and all delays of a worker. */
void worker_times_add(histogram_t *latency, histogram_t *delay, const worker_t *worker);
