/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The exchange of kdig and knsupdate with a server, src/exchange, played from the bytes of a fuzzer: a target links
 * this instead of libexchange.a's objects.
 *
 * Bytes: what each exchange_receive() gives: a kind (played_event_t), and for messages a length (2 bytes) and the
 * message. At their end nothing comes any more.
 */
#pragma once

#include "libknot/base/bytes.h"

typedef enum {
	PLAYED_REPLY, /* a message, with QR and the query's ID */
	PLAYED_RAW,   /* a message as it is */
	PLAYED_TIMEOUT,
	PLAYED_CLOSED,
	PLAYED_SOURCE, /* a datagram of somebody else */
	PLAYED_COUNT,
} played_event_t;

/** A message is sent. is_beside: it isn't the question itself, but for the keys that +validate needs. */
typedef void (*played_query_cb)(bool is_beside);

/** bytes: borrowed. */
void played_begin(knot_bytes_t bytes, played_query_cb query);

/** The message that was received last, but for those beside; valid until the next one. */
knot_bytes_t played_reply(void);

/** Standard output goes to memory from now on, of which this is the descriptor; what is said to `stderr` is only made.
 */
int played_output(void);

/** Abort unless it holds. */
void played_check(bool holds);
