/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Connections of a TCP stack over AF_XDP that have requests to be answered later, and how many: the stack knows nothing
 * of those. A hash table of what waits now; the worker's thread alone. Connections may have ended meanwhile: each is
 * counted until its last reply came back.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint64_t conn; /* 0: a free slot */
	uint32_t count;
	bool is_ended; /* the peer sends no more: to be closed behind the last reply */
} later_conn_t;

/** Zero it to begin. */
typedef struct {
	later_conn_t *slots; /* owned */
	size_t room;         /* a power of two, or 0 */
	size_t used;
} later_conns_t;

void later_conns_done(later_conns_t *conns);

/** What is known of a connection, until the next call of another function; NULL: nothing waits for it. */
later_conn_t *later_conns_find(const later_conns_t *conns, uint64_t conn);

/** One request more. conn: not 0. KNOT_ENOMEM: it isn't counted. */
KNOT_MUST_USE knot_err_t later_conns_add(later_conns_t *conns, uint64_t conn);

/** One less; as it is then, count 0 when it was the last. Nothing if it isn't known. */
later_conn_t later_conns_sub(later_conns_t *conns, uint64_t conn);
