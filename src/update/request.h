/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A request for a dynamic update between the transport that received it and the queue of its zone. Neither knows the
 * other: transports hand requests over to a sink, and get them back by a function of their own.
 *
 * A request has one owner at any time: its transport, the queue, the event that applies it, and its transport again.
 */
#pragma once

#include "libknot/name/name.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/** A request, the head of what its transport keeps of it. */
typedef struct update_request {
	struct update_request *next;
	const struct sockaddr *remote; /* in the same allocation */
	knot_bytes_t message; /* in the same allocation: the UPDATE; checked: form, zone, access, signature, which
				 it has no more, unless it is foreign */
	size_t size;          /* bytes of the allocation */
	uint16_t rcode;       /* of the answer */
	bool is_foreign;      /* signed by a key that only the zone's primary knows: not verified */
	knot_bytes_t reply;   /* before `make`, of a foreign one: what the primary said, borrowed; none: len 0 */
	/*
	 * Both from a thread of the events, without locks: make the answer, as the rcode is known; then take it back to
	 * be sent. The answers of a batch are all made before the first is sent, so that the transport wakes up once.
	 */
	void (*make)(struct update_request *request);
	void (*done)(struct update_request *take_request);
} update_request_t;

/** What became of a request that a transport hands over. */
typedef enum {
	UPDATE_WAITS,     /* the transport gets it back when it is to be answered */
	UPDATE_NO_ZONE,   /* not configured (any more): NOTAUTH */
	UPDATE_FROZEN,    /* REFUSED with EDE 14: enough wait for the zone to be thawed */
	UPDATE_NO_ROOM,   /* REFUSED: this source, this zone or all of them have filled what they may */
	UPDATE_NO_MEMORY, /* SERVFAIL */
	UPDATE_PUT_END,
} update_put_t;

/** Where transports hand requests over. */
typedef struct {
	/**
	 * Let a request wait for its zone: it is applied together with others in one commit, and given back by its
	 * `done`, with the rcode, when the change is durable and served, or refused. Unless it waits, the caller still
	 * has it. zone: any case. Any thread; it takes locks, so not within an RCU read section.
	 */
	update_put_t (*put)(void *ctx, knot_name_t zone, update_request_t *take_request);
	void *ctx;
} update_sink_t;
