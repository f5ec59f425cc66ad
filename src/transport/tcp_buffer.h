/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Bytes of one TCP connection on the way in and out: RFC 7766 8 framing (two bytes of length before each message),
 * pure.
 *
 * A connection that waits for its next request or has sent everything holds no memory: what was read whole is answered
 * from the worker's own buffers, only the rest (a part of a request, replies that the peer didn't take yet) is kept
 * here. One thread at a time. No I/O.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

/** The next whole message in a run of framed bytes. */
typedef enum {
	TCP_FRAME_WHOLE, /* *ret_message is set, *pos moved behind it */
	TCP_FRAME_PART,  /* more bytes are needed; *pos stays */
} tcp_frame_t;

/** Step through framed bytes; start with *pos = 0. ret_message borrows from bytes; may have length 0. */
tcp_frame_t tcp_frame_next(knot_bytes_t bytes, size_t *pos, knot_bytes_t *ret_message);

/** Bytes still missing to the end of the first message, at least 1; `bytes` holds no whole one. */
size_t tcp_frame_missing(knot_bytes_t bytes);

/** Bytes kept for later. All zero: empty. */
typedef struct {
	uint8_t *data; /* owned */
	size_t len;    /* kept */
	size_t max;    /* allocated */
} tcp_rest_t;

/** Append a copy. KNOT_ENOMEM: nothing changed; close the connection. bytes may be empty. */
KNOT_MUST_USE knot_err_t tcp_rest_append(tcp_rest_t *rest, knot_bytes_t bytes);

/** Drop the first `len` bytes, freeing the memory when none are left. */
void tcp_rest_drop(tcp_rest_t *rest, size_t len);

/** Drop everything. */
void tcp_rest_done(tcp_rest_t *rest);

/** Follows message borders in what has been sent, so that a time limit can be per message. */
typedef struct {
	uint32_t body_left; /* bytes of the current message that have not been sent */
	uint8_t head_len;   /* length bytes seen, 0–2 */
	uint8_t head[2];
} tcp_progress_t;

/** Account for `sent` bytes. Returns the number of messages whose last byte was among them. */
size_t tcp_progress(tcp_progress_t *progress, knot_bytes_t sent);
