/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Dynamic update: the meaning of one UPDATE message for a zone (RFC 2136 3, with Knot's rules for what may be changed).
 *
 * A message is applied to the edits of an update_t (update.h) whole or not at all: a mark is set before it, and a
 * message that is refused is rolled back to it, so those before and after it in the same transaction stay. Messages see
 * what earlier ones did. Here is neither access control, nor signatures (RFC 3007), nor the serial of the new version:
 * those are the caller's, before and after.
 *
 * Pure: bytes in, a response code out, lines for the log by a callback. Cost: that of the records of the message, a
 * search each; the zone is never walked. The sections of a message are given as "prerequisites" and "updates".
 */
#pragma once

#include "libknot/msg/rcode.h"
#include "src/update/update.h"

/** How much a line matters. */
typedef enum { DDNS_DEBUG, DDNS_NOTICE, DDNS_WARNING } ddns_level_t;

enum { DDNS_TEXT_MAX = 1024 }; /* bytes of a line with its NUL; data that would not fit is left out */

/** A line for the log. Borrowed during the call. */
typedef struct {
	ddns_level_t level;
	bool names_zone; /* the line is about the zone; else it is written without one, as Knot does */
	const char *text;
} ddns_message_t;

typedef void (*ddns_message_cb)(const ddns_message_t *message, void *ctx);

/** What became of a message. */
typedef struct {
	uint16_t rcode;   /* KNOT_RCODE_…, for the reply */
	const char *what; /* what failed: "prerequisites not met", "broken update format", "failed to apply"; static */
	knot_err_t err;   /* why: its text stands in parentheses behind it; KNOT_OK if rcode is NOERROR */
} ddns_result_t;

typedef struct ddns ddns_t;

/**
 * Begin to apply messages to the edits of `update`, which is borrowed until ddns_end() and has a transaction. The zone
 * may have no version yet: then an update that brings a SOA makes the first. on_message may be NULL. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t ddns_begin(update_t *update, ddns_message_cb on_message, void *ctx, ddns_t **ret_ddns);

/**
 * Apply a message: any bytes, of which the caller has read that it is an UPDATE for this zone. Prerequisites come
 * first, then the format of all updates, then these one by one (RFC 2136 3.2, 3.4.1, 3.4.2). Unless the rcode is
 * NOERROR the edits are as they were. NOERROR doesn't say that something has changed.
 */
ddns_result_t ddns_apply(ddns_t *ddns, knot_bytes_t message);

/** The end; the edits stay in the update_t. NULL is allowed. */
void ddns_end(ddns_t *ddns);
