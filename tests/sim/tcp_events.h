/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Events of a simulation, first in time first out; events of the same time in the order in which they were added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A TCP segment on its way, without payload: that follows from key and offset. */
typedef struct {
	uint64_t key; /* stream that the payload is part of */
	uint32_t off; /* of the payload in that stream */
	uint32_t seq, ack;
	uint16_t window, mss, len;
	int8_t scale;
	uint8_t flags;
	uint8_t ecn;
	uint8_t incarnation; /* of the client that sent it */
} sim_packet_t;

typedef enum {
	SIM_START,        /* a client begins */
	SIM_CLIENT_TIMER, /* a client's timer */
	SIM_TO_SERVER,
	SIM_TO_CLIENT,
	SIM_SERVER_WAKE, /* the stack's next timer, or it has more to send */
	SIM_FLOOD,       /* forged SYNs */
	SIM_CONFIGURE,   /* other limits */
	SIM_STOP,        /* abort everything */
} sim_event_kind_t;

typedef struct {
	uint64_t time; /* microseconds */
	sim_event_kind_t kind;
	uint32_t slot; /* which client */
	sim_packet_t packet;
} sim_event_t;

typedef struct {
	uint64_t time;
	uint32_t order, index;
} sim_heap_entry_t;

typedef struct {
	sim_event_t *pool;      /* owned */
	uint32_t *unused;       /* owned; indexes of pool */
	sim_heap_entry_t *heap; /* owned; a binary heap */
	size_t count, room;
	uint32_t order;
} sim_events_t;

/** Room is added as needed; exits when memory is out. */
void sim_events_add(sim_events_t *events, const sim_event_t *event);

/** False: there is none. */
bool sim_events_take(sim_events_t *events, sim_event_t *ret_event);

/** Time of the first; UINT64_MAX: there is none. */
uint64_t sim_events_time(const sim_events_t *events);

void sim_events_done(sim_events_t *events);
