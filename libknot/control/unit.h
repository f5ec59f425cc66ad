/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The bytes of control units: pure encoder and decoder.
 *
 *     type byte (0 END, 1 DATA, 2 EXTRA, 3 BLOCK), then for DATA and EXTRA any number of items:
 *     code (16 + index) | length, 2 bytes big-endian | value without NUL
 *
 * A DATA or EXTRA unit ends where the next type byte is seen, so it can be handed over only when that byte is there.
 * Items before any type byte belong to the unit that follows. A code given twice: the last one wins. No state, no I/O.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/control/control.h"

enum {
	KNOT_CTL_ITEM_MAX = 65535, /* bytes of a value */
	KNOT_CTL_UNIT_MAX =
			1 + KNOT_CTL_IDX__COUNT * (3 + KNOT_CTL_ITEM_MAX), /* bytes of a unit without doubled items */
};

typedef enum {
	KNOT_CTL_SCAN_UNIT, /* a whole unit */
	KNOT_CTL_SCAN_MORE, /* not whole yet: read more and scan again */
	KNOT_CTL_SCAN_BAD,  /* a byte that is neither type nor item code: close the connection */
} knot_ctl_scan_t;

typedef struct {
	knot_ctl_type_t type;
	knot_bytes_t items[KNOT_CTL_IDX__COUNT]; /* borrowed; data NULL: not there */
} knot_ctl_unit_t;

/** How far a unit was scanned that is not whole yet; all zero before the first byte. Offsets, as the bytes may move. */
typedef struct {
	size_t pos; /* bytes that need not be looked at again */
	bool has_type;
	knot_ctl_type_t type;
	struct {
		size_t off, len;
	} items[KNOT_CTL_IDX__COUNT]; /* of values; off 0: not there */
} knot_ctl_scanner_t;

/**
 * As knot_ctl_scan(), going on where the last call with this scanner stopped: `bytes` begins with the same bytes as
 * then. A unit that comes in small pieces costs as much as one that comes at once. After KNOT_CTL_SCAN_UNIT the scanner
 * is at the start of the next unit.
 */
KNOT_EXPORT knot_ctl_scan_t knot_ctl_scan_on(
		knot_ctl_scanner_t *scanner, knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used);

/**
 * Scan the unit at the start of `bytes`. ret_unit and ret_used (bytes that it takes) are set for KNOT_CTL_SCAN_UNIT.
 */
KNOT_EXPORT knot_ctl_scan_t knot_ctl_scan(knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used);

/**
 * Bytes that a unit takes. data: NULL: no items; ignored for BLOCK and END.
 * KNOT_ERANGE: an item is too long.  KNOT_ECTLTYPE: no such type.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_ctl_unit_len(
		knot_ctl_type_t type, const knot_ctl_data_t *data, size_t *ret_len);

/** Write a unit that knot_ctl_unit_len() accepted; `failed` if it doesn't fit. */
KNOT_EXPORT void knot_ctl_unit_write(knot_writer_t *writer, knot_ctl_type_t type, const knot_ctl_data_t *data);
