/* SPDX-License-Identifier: BSD-2-Clause */
/** What the kinds of transport share: the table of calls that each fills, and buffers with bounds. For this folder
 * only. */
#pragma once

#include "src/transport/transport.h"

#include <stdarg.h>

/** One row per kind; calls as in transport.h, which has checked the state before. NULL: the kind has nothing to do. */
typedef struct {
	transport_kind_t kind;
	bool is_datagram;
	void (*free)(transport_t *take_t);
	knot_mut_bytes_t (*room)(transport_t *t);
	void (*note_received)(transport_t *t, size_t len, uint64_t now_ns);
	void (*note_eof)(transport_t *t, uint64_t now_ns);
	bool (*take)(transport_t *t, transport_event_t *ret_event);
	knot_err_t (*put)(transport_t *t, knot_bytes_t message, uint64_t *stream);
	void (*finish)(transport_t *t, uint64_t stream);
	void (*cancel)(transport_t *t, uint64_t stream);
	knot_bytes_t (*pending)(transport_t *t, uint64_t now_ns);
	void (*note_sent)(transport_t *t, size_t len, uint64_t now_ns);
	uint64_t (*deadline_ns)(const transport_t *t);
	void (*expire)(transport_t *t, uint64_t now_ns);
	void (*close)(transport_t *t, uint64_t now_ns);
	void (*describe)(const transport_t *t, transport_session_t *ret_session);
	knot_err_t (*ticket)(const transport_t *t, knot_mut_bytes_t *ret_ticket);
} transport_ops_t;

/** The head of each kind's object. */
struct transport {
	const transport_ops_t *ops;
	transport_state_t state;
	transport_end_t end;
	char reason[TRANSPORT_REASON_MAX];
};

/** The connection is over; the first reason counts. */
void transport_stop(transport_t *t, transport_end_t end, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Add a line to a description; what doesn't fit is cut. */
void transport_session_add(transport_session_t *session, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Bytes that came and aren't taken ---- */

/** data[pos..len) is kept. Zeros: empty. */
typedef struct {
	uint8_t *data; /* owned */
	size_t pos, len, max;
} transport_in_t;

/** Room behind what is kept, growing up to `max` in all, moving it to the front; len 0: full, or out of memory. */
knot_mut_bytes_t transport_in_room(transport_in_t *in, size_t max);

/** The next message with two bytes of length in front; false: it isn't whole. Borrowed until transport_in_room(). */
bool transport_in_next(transport_in_t *in, knot_bytes_t *ret_message);

void transport_in_done(transport_in_t *in);

/* ---- Bytes that wait to be sent ---- */

/** data[sent..len) is pending. Zeros: empty. */
typedef struct {
	uint8_t *data; /* owned */
	size_t sent, len, max;
} transport_out_t;

static inline size_t transport_out_left(const transport_out_t *out)
{
	return out->len - out->sent;
}

/** Append. KNOT_EAGAIN: more than TRANSPORT_PENDING_MAX would wait. KNOT_ENOMEM. Either way nothing changed. */
KNOT_MUST_USE knot_err_t transport_out_add(transport_out_t *out, const void *data, size_t len);

/** Append a message behind two bytes of its length, or nothing. Errors as above; KNOT_ERANGE as transport_put(). */
KNOT_MUST_USE knot_err_t transport_out_add_framed(transport_out_t *out, knot_bytes_t message);

static inline knot_bytes_t transport_out_pending(const transport_out_t *out)
{
	return (knot_bytes_t){ out->data + out->sent, out->len - out->sent };
}

void transport_out_note_sent(transport_out_t *out, size_t len);
void transport_out_done(transport_out_t *out);
