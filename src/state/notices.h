/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * NOTIFYs on their way from threads that answer to the thread that plans refreshes.
 *
 * A ring of fixed size: whoever answers puts without a lock, an allocation or a wait, so it may be within a read
 * section; one thread takes. A wake-up costs a write to an eventfd, once until the taker has come.
 */
#pragma once

#include <sys/socket.h>

#include "libknot/base/err.h"
#include "libknot/name/name.h"

enum { NOTICES_MAX = 4096 }; /* a power of 2 */

/** An address without its port. All zero: none, or one of another family. */
typedef struct {
	uint8_t family; /* AF_INET, AF_INET6, or 0 */
	uint8_t bytes[16];
} notice_addr_t;

/** A NOTIFY that was accepted. */
typedef struct {
	notice_addr_t from;
	uint16_t child_type;         /* of a child: CDS or CSYNC; 0: of a zone's SOA */
	uint8_t zone[KNOT_NAME_MAX]; /* wire format, lower case: of the zone, or the child */
} notice_t;

typedef struct notices notices_t;

/** KNOT_ENOMEM, an errno code. */
KNOT_MUST_USE knot_err_t notices_new(notices_t **ret_notices);

/** NULL is allowed. */
void notices_free(notices_t *take_notices);

/** Readable when something was put. */
int notices_fd(const notices_t *notices);

/** Any thread. False: the ring is full, and notices_take_lost() will say so. */
bool notices_put(notices_t *notices, knot_name_t zone, const struct sockaddr *from);

/** NOTIFYs about children that a source network (/24, /56) may put within a second; what comes beyond is counted. */
enum { NOTICES_CHILDREN_PER_S = 32 };

/** A NOTIFY about a child of a zone; type: CDS or CSYNC; now_us: monotonic. As above. False also if the source has put
 * too many, which isn't `lost`. */
bool notices_put_child(
		notices_t *notices, knot_name_t child, uint16_t type, const struct sockaddr *from, uint64_t now_us);

/** How many NOTIFYs about children came from sources that had put too many, in all. Any thread. */
uint64_t notices_limited(const notices_t *notices);

/** The network that a source counts as, for limits: /24 or /56. */
notice_addr_t notice_addr_net(notice_addr_t addr);

/** Call it before notices_take(): from now on something that is put makes the descriptor readable. One thread. */
void notices_begin_taking(notices_t *notices);

/** One of them, in order. False: there are no more. One thread. */
bool notices_take(notices_t *notices, notice_t *ret_notice);

/** How many found no room since the last call. */
uint64_t notices_take_lost(notices_t *notices);

/** The address in `addr`, which may be NULL. */
notice_addr_t notice_addr_of(const struct sockaddr *addr);

/** True if it is one and both are the same. */
bool notice_addr_eq(const notice_addr_t *a, const notice_addr_t *b);
