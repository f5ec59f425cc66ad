/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What is counted about an XDP interface, as rows with a value per queue: what came in, what became of each packet, and
 * more about the same packets. Within src/control only.
 */
#pragma once

#include "src/net/net.h"

enum { XDP_SHEET_NAME_MAX = 48 };

typedef enum {
	XDP_ROW_RECEIVED, /* one row: packets that came in */
	XDP_ROW_FATE,     /* what became of them: each is in one of these rows */
	XDP_ROW_COUNT,    /* more about packets that are in other rows too */
	XDP_ROW_LEVEL,    /* of now: a sum over queues means nothing */
} xdp_row_kind_t;

typedef struct {
	xdp_row_kind_t kind;
	sys_counter_kind_t counts;     /* whether it only grows */
	const char *group;             /* "passed"; static */
	const char *help;              /* one sentence; static */
	char name[XDP_SHEET_NAME_MAX]; /* "passed-fragment": distinct within the sheet, begins with its group */
	uint64_t *values;              /* owned: one per queue */
} xdp_row_t;

typedef struct xdp_sheet {
	const net_xdp_iface_status_t *iface; /* borrowed */
	xdp_row_t *rows;                     /* owned */
	size_t row_count, row_max;
	bool failed;
} xdp_sheet_t;

/**
 * Rows of an interface. is_virtual: kxdp_device_t's, says what partial checksums count as. KNOT_ENOMEM. Free with
 * xdp_sheet_free().
 */
KNOT_MUST_USE knot_err_t xdp_sheet_make(const net_xdp_iface_status_t *iface, bool is_virtual, xdp_sheet_t *ret_sheet);
void xdp_sheet_free(xdp_sheet_t *sheet);

/** Called for a row without values, borrowed during the call. Return false to end. */
typedef bool (*xdp_describe_cb)(const xdp_row_t *row, void *ctx);

/** Describe every row that an interface can have, in order. False: the callback ended it. */
bool xdp_sheet_describe(xdp_describe_cb cb, void *ctx);

/** Sum of a row over the queues. */
uint64_t xdp_sheet_sum(const xdp_sheet_t *sheet, const xdp_row_t *row);

/** Packets of a queue (index in iface->queues) that are in no row of fates; negative: in too many. */
int64_t xdp_sheet_difference(const xdp_sheet_t *sheet, size_t queue);
