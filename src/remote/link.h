/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One connection to another server, without its socket: bytes and time in, bytes and time out.
 *
 * Questions are pipelined (RFC 7766 6.2.1.1): each has a slot, whose number is a part of its message ID, so that
 * answers may come in any order and transfers share a connection. Signatures are made and verified here. It owns its
 * two buffers and no request; what it lets go of it reports to the request's on_end(), or hands back by
 * link_take(). One thread.
 */
#pragma once

#include "src/remote/request.h"

enum {
	LINK_ROOM = 256,     /* questions that wait for their answer */
	LINK_ROUNDS_MAX = 4, /* limits of time that a question may wait while others are answered */
};

typedef struct {
	remote_request_t *slots[LINK_ROOM]; /* borrowed */
	unsigned count, stream_count;
	unsigned next_slot;
	uint16_t key; /* hides the slots in message IDs */
	uint8_t *out; /* owned: what is to be sent */
	size_t out_len, out_sent, out_max;
	uint8_t *in; /* owned: what has come of the next message, with its length in front */
	size_t in_len, in_max;
	uint64_t progress_ms; /* when the last message came */
	uint64_t first_ms;    /* no question has waited since before */
	uint64_t answered;    /* messages that were answers */
	bool is_over;         /* takes no questions any more: it is closed when the rest has ended */
} link_t;

/** key: a random number. */
void link_init(link_t *link, uint16_t key);
void link_done(link_t *link);

/** True if it takes another question. */
static inline bool link_has_room(const link_t *link)
{
	return !link->is_over && link->count < LINK_ROOM;
}

/** Ask. KNOT_ENOMEM, errors of remote_query_write(): the request isn't taken. */
KNOT_MUST_USE knot_err_t link_put(link_t *link, remote_request_t *request, uint64_t now_ms, uint64_t now_s);

/** What is to be sent now; len 0: nothing. */
static inline knot_bytes_t link_pending(const link_t *link)
{
	return (knot_bytes_t){ link->out + link->out_sent, link->out_len - link->out_sent };
}

/** So much of it was sent. */
void link_note_sent(link_t *link, size_t len);

/** Where the next bytes go that come; len 0: out of memory. */
knot_mut_bytes_t link_room(link_t *link);

/** What ends a request: called when it has no slot any more, and before its on_end(). err: KNOT_OK: it was answered. */
typedef void (*link_ended_cb)(remote_request_t *request, knot_err_t err, void *ctx);

/** So many have come: whole messages go to their requests. */
void link_note_received(link_t *link, size_t len, uint64_t now_ms, uint64_t now_s, link_ended_cb ended, void *ctx);

/** End requests whose time is over. timeout_ms: for each message; 0: no limit. */
void link_expire(link_t *link, uint64_t now_ms, uint64_t timeout_ms, link_ended_cb ended, void *ctx);

/** Take back a request that has no answer yet, in order of slots; NULL: there is none. */
remote_request_t *link_take(link_t *link);
