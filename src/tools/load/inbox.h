/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP segments and QUIC datagrams that came to another thread than the one whose connection they belong to: a bounded
 * queue, many senders, one reader. What doesn't fit is dropped, as on the network; both send it again.
 */
#pragma once

#include "xdp/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INBOX_SEGMENT_MAX = 1600, INBOX_SLOTS = 1024 };

typedef struct {
	kxdp_flow_t flow;
	uint16_t len;
	uint8_t bytes[INBOX_SEGMENT_MAX]; /* from the TCP header on, or the datagram */
} inbox_segment_t;

typedef struct inbox inbox_t;

/** NULL: errno says why. */
inbox_t *inbox_new(void);
void inbox_free(inbox_t *inbox);

/** Any thread. False: full, or too long. */
bool inbox_put(inbox_t *inbox, const kxdp_flow_t *flow, const uint8_t *bytes, size_t len);

/** The oldest, until the next call; NULL: none. The owner's thread. */
const inbox_segment_t *inbox_take(inbox_t *inbox);

/** Readable (poll()) once something came after inbox_begin_wait(). Owned by the inbox. */
int inbox_fd(const inbox_t *inbox);

/** The owner's thread goes to sleep: the next segment wakes it. False: there is one already. */
bool inbox_begin_wait(inbox_t *inbox);

/** The owner's thread is awake. */
void inbox_end_wait(inbox_t *inbox);
