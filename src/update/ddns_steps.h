/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the steps by which a message is applied (ddns.h). */
#pragma once

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "src/update/ddns.h"

struct ddns {
	update_t *update; /* borrowed */
	ddns_message_cb on_message;
	void *ctx;
	uint8_t rdata[KNOT_RDATA_MAX]; /* of the record that is being read */
};

/** A record of the message: its sections and types were checked when the message was read. */
typedef struct {
	knot_name_t owner; /* as sent */
	uint16_t type, class;
	uint32_t ttl;
	knot_bytes_t rdata; /* uncompressed, in ddns->rdata; empty for class ANY, and for NONE among the prerequisites
			     */
	bool has_rdata;     /* there are bytes in the message */
} ddns_rr_t;

/**
 * Read the next record of the message. False: at the end, or KNOT_EMALF in *ret_err: it can't be read. The owner lies
 * in *raw, the rest is as ddns_rr_t says.
 */
bool ddns_next(ddns_t *ddns, knot_message_t *message, knot_message_rr_t *raw, ddns_rr_t *ret_rr, knot_err_t *ret_err);

/** Write a line; the arguments as for printf(). */
void ddns_say(const ddns_t *ddns, ddns_level_t level, bool names_zone, const char *format, ...)
		__attribute__((format(printf, 4, 5)));

/**
 * Check the prerequisites, which are the next records of the message; it is left behind them. KNOT_EPREREQ with the
 * rcode that says which was not met. KNOT_EMALF, KNOT_EOUTOFZONE. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t ddns_check_prereqs(ddns_t *ddns, knot_message_t *message, uint16_t *ret_rcode);

/** Check that a record may stand among the updates (RFC 2136 3.4.1). KNOT_EOUTOFZONE, KNOT_EMALF, KNOT_EDENIED.
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t ddns_check_update(const ddns_t *ddns, const ddns_rr_t *rr);

/** Add or delete as a checked record says (RFC 2136 3.4.2). What the rules forbid is ignored. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t ddns_apply_update(const ddns_t *ddns, const ddns_rr_t *rr);
