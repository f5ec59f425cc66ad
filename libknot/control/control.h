/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Control sockets: a connection that exchanges control units, client side included.
 *
 * Functions, types and numbers are those that users of libknot know (the Python package libknot calls them by name), so
 * this header's ABI is fixed: unit types, item indices, `char *` items, return codes that are negative on failure.
 * The bytes on the wire are made and read by control/unit.h. One connection per knot_ctl_t, one thread at a time.
 */
#pragma once

#include "libknot/base/err.h"

#include <stddef.h>

typedef enum {
	KNOT_CTL_TYPE_END = 0,   /* end of the connection */
	KNOT_CTL_TYPE_DATA = 1,  /* a unit of data */
	KNOT_CTL_TYPE_EXTRA = 2, /* another value of the unit before */
	KNOT_CTL_TYPE_BLOCK = 3, /* end of a command or of its reply */
} knot_ctl_type_t;

typedef enum {
	KNOT_CTL_IDX_CMD = 0,
	KNOT_CTL_IDX_FLAGS, /* "F" force, "B" blocking */
	KNOT_CTL_IDX_ERROR,
	KNOT_CTL_IDX_SECTION,
	KNOT_CTL_IDX_ITEM,
	KNOT_CTL_IDX_ID,
	KNOT_CTL_IDX_ZONE,
	KNOT_CTL_IDX_OWNER,
	KNOT_CTL_IDX_TTL,
	KNOT_CTL_IDX_TYPE,
	KNOT_CTL_IDX_DATA,
	KNOT_CTL_IDX_FILTERS,
	KNOT_CTL_IDX__COUNT,
} knot_ctl_idx_t;

/** Items of a unit, NUL-terminated; NULL: not there. */
typedef const char *knot_ctl_data_t[KNOT_CTL_IDX__COUNT];

typedef struct knot_ctl knot_ctl_t;

/** A connection object, not connected, timeout 30 s; NULL: no memory. Free with knot_ctl_free(). */
KNOT_EXPORT knot_ctl_t *knot_ctl_alloc(void);

/** Close and free. NULL is allowed. */
KNOT_EXPORT void knot_ctl_free(knot_ctl_t *ctx);

/** Time limit of each later operation on the socket, in milliseconds; 0 or less: none. */
KNOT_EXPORT void knot_ctl_set_timeout(knot_ctl_t *ctx, int timeout_ms);

/** The same for each later call as a whole, however often it waits for a peer that sends or takes little at a time. 0
 * or less: none. */
KNOT_EXPORT void knot_ctl_set_call_timeout(knot_ctl_t *ctx, int timeout_ms);

/**
 * Keep up to `bytes` of DATA and EXTRA units in memory before any is sent without BLOCK or END; at least 64 KiB, the
 * default. For callers that must not wait for the socket for a while. Not more memory is used than units need.
 */
KNOT_EXPORT void knot_ctl_set_buffer(knot_ctl_t *ctx, size_t bytes);

/**
 * Connect to the UNIX socket at `path`. KNOT_ENOENT, KNOT_EACCES, KNOT_ECONNREFUSED, KNOT_ETIMEOUT …: to be reported
 * with the path. KNOT_ESPACE: path too long for a socket address (107 bytes at most).
 */
KNOT_EXPORT KNOT_MUST_USE int knot_ctl_connect(knot_ctl_t *ctx, const char *path);

/** Take over a connected stream socket (the server's side, from accept()); `take_fd` is closed by knot_ctl_close(). */
KNOT_EXPORT void knot_ctl_adopt(knot_ctl_t *ctx, int take_fd);

/** Close the connection; what was not sent yet is dropped. Nothing if there is none. */
KNOT_EXPORT void knot_ctl_close(knot_ctl_t *ctx);

/**
 * Send a unit. DATA and EXTRA wait in a buffer until it is full or BLOCK or END is sent. data: NULL: no items; ignored
 * for BLOCK and END.
 * KNOT_ERANGE: an item over 65535 bytes, nothing was sent. KNOT_ECTLTYPE: no such type. KNOT_ETIMEOUT,
 * KNOT_ECONNCLOSED and errno codes: the connection is unusable.
 */
KNOT_EXPORT KNOT_MUST_USE int knot_ctl_send(knot_ctl_t *ctx, knot_ctl_type_t type, knot_ctl_data_t *data);

/**
 * Receive a unit. data: NULL: items are not wanted. The items are owned by ctx and valid until the next call.
 * KNOT_ECONNCLOSED: the peer closed.  KNOT_EINVAL: not the protocol; close.  KNOT_ERANGE: a unit over
 * KNOT_CTL_UNIT_MAX; close. KNOT_ETIMEOUT and errno codes: as for sending.
 */
KNOT_EXPORT KNOT_MUST_USE int knot_ctl_receive(knot_ctl_t *ctx, knot_ctl_type_t *type, knot_ctl_data_t *data);
