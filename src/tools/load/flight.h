/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Queries under way: each reply is matched to its query, once.
 *
 * A thread numbers its queries. Number, source port and message id are one bijection: number n leaves from port
 * n mod ports with id (n / ports) mod 65536. So a reply's port and id say which query it answers, and the slot of that
 * query, n mod window, says whether it was ever sent, whether it has been answered, with what question, and when it was
 * due. A slot is taken again after `window` queries; the query that is still there then is lost.
 *
 * Threads: the owner sends; replies may come to any thread (a network card spreads them as it likes), so a slot is
 * claimed by compare and exchange. No allocation after flight_init(), no lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a reply is. Rows: {constant, name in JSON, text}. */
/* clang-format off */
#define FLIGHT_VERDICTS(ROW) \
	ROW(FLIGHT_MATCHED, "matched", "answers a query that waits for it") \
	ROW(FLIGHT_DUPLICATE, "duplicate", "answers a query that has been answered") \
	ROW(FLIGHT_LATE, "late", "answers a query that was given up, after the timeout") \
	ROW(FLIGHT_UNEXPECTED, "unexpected", "answers no query: id, port, address or question differ")

#define FLIGHT_ENUM(constant, name, text) constant,
typedef enum {
	FLIGHT_VERDICTS(FLIGHT_ENUM)
	FLIGHT_VERDICT_COUNT,
} flight_verdict_t;
#undef FLIGHT_ENUM
/* clang-format on */

enum {
	FLIGHT_WINDOW_MIN = 1 << 10,
	FLIGHT_WINDOW_MAX = 1 << 24,
};

/** A query. */
typedef struct {
	uint64_t number;   /* shifted by 2, with the state below; 0: never used */
	uint64_t due_ns;   /* its intended time: what latency counts from */
	uint64_t sent_ns;  /* when it left: what the timeout counts from */
	uint32_t query;    /* of the list */
	uint32_t question; /* hash of the question sent */
} flight_slot_t;

typedef struct {
	flight_slot_t *slots; /* owned: window */
	uint64_t mask;        /* window - 1 */
	uint32_t ports;       /* source ports, or sockets, of this thread */
	bool shared;          /* other threads receive our replies, too */
} flight_t;

/**
 * The window for a rate and a time: a power of two that `ports` has room for. Fewer than wanted when ports × 65536 are
 * fewer. ports_max: available; *ret_ports: how many to use, so that numbers stay a bijection.
 */
uint64_t flight_window(double rate, uint64_t timeout_ns, uint32_t ports_max, uint32_t *ret_ports);

/** False: no memory. */
bool flight_init(flight_t *flight, uint64_t window, uint32_t ports, bool shared);
void flight_done(flight_t *flight);

/** Where query `number` goes. */
static inline uint32_t flight_port(const flight_t *flight, uint64_t number)
{
	return (uint32_t)(number % flight->ports);
}

static inline uint16_t flight_id(const flight_t *flight, uint64_t number)
{
	return (uint16_t)(number / flight->ports);
}

enum { FLIGHT_WAITING = 1, FLIGHT_ANSWERED = 2, FLIGHT_GIVEN_UP = 3, FLIGHT_STATE = 3 };

/** Enter a query before it is sent; `query` has everything but the state. */
static inline void flight_send(flight_t *flight, const flight_slot_t *query)
{
	flight_slot_t *slot = &flight->slots[query->number & flight->mask];
	if (flight->shared) {
		/* Before what follows for all threads; ThreadSanitizer doesn't know fences. */
		(void)__atomic_exchange_n(&slot->number, 0, __ATOMIC_SEQ_CST);
	}
	slot->due_ns = query->due_ns;
	slot->sent_ns = query->sent_ns;
	slot->query = query->query;
	slot->question = query->question;
	__atomic_store_n(&slot->number, query->number << 2 | FLIGHT_WAITING, __ATOMIC_RELEASE);
}

/** The newest query that could have this port and id; what the slot says decides. */
static inline flight_slot_t *flight_slot(const flight_t *flight, uint32_t port, uint16_t id)
{
	return &flight->slots[((uint64_t)id * flight->ports + port) & flight->mask];
}

/** A reply, as far as matching goes. */
typedef struct {
	uint32_t port; /* number of the port or socket that it came to */
	uint16_t id;
	bool has_question; /* a reply that couldn't read the query has none */
	uint32_t question; /* hash */
	uint64_t now_ns, timeout_ns;
} flight_reply_t;

/** Match a reply to what is in `slot`, and take the query from there. ret_query: the query, unless FLIGHT_UNEXPECTED.
 */
flight_verdict_t flight_receive(
		flight_t *flight, flight_slot_t *slot, const flight_reply_t *reply, flight_slot_t *ret_query);

/** The query's connection failed: what answers it from now on is late. True: it was waiting. */
bool flight_give_up(flight_t *flight, uint64_t number);

/** Queries that wait and may be answered in time still: those sent after `since_ns`. */
uint64_t flight_waiting(const flight_t *flight, uint64_t since_ns);
