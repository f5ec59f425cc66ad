/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A message as it is going to be presented: checked record by record, with what stands apart from its sections:
 * question, OPT (RFC 6891), TSIG (RFC 8945).
 *
 * Pure. What is read points into the message, which has to stay. What can't be read has a reason and a place, so that
 * the rest can be shown.
 */
#pragma once

#include "libknot/msg/message.h"
#include "libknot/msg/tsig.h"

typedef struct {
	knot_bytes_t wire; /* borrowed */
	uint16_t id, flags;
	uint16_t counts[4]; /* as in the header */
	unsigned rcode;     /* with OPT's bits; instead of NOTAUTH the error of TSIG */

	bool has_question; /* the first one */
	knot_name_t qname; /* in qname_wire */
	uint16_t qtype, qclass;

	bool has_opt;
	uint16_t opt_payload;
	uint32_t opt_ttl; /* extended rcode, version, flags */
	knot_bytes_t options;
	size_t opt_off; /* where the record starts */

	bool has_tsig;
	knot_tsig_t tsig; /* its key's name in key_wire */
	knot_bytes_t tsig_rdata;

	size_t end;        /* bytes that were read; less than the message has: data trail, or `fault` is set */
	const char *fault; /* NULL, or what is wrong with the message, at the record that starts at `fault_off`. Static
			    */
	size_t fault_off;

	uint8_t qname_wire[KNOT_NAME_MAX], key_wire[KNOT_NAME_MAX];
} present_message_t;

/**
 * Read a message. False: it is malformed; what came before the fault is set. ret_message must not be copied: it points
 * into itself.
 */
bool present_read(knot_bytes_t wire, present_message_t *ret_message);

static inline unsigned present_flags_opcode(uint16_t flags)
{
	return (flags & KNOT_OPCODE_MASK) >> 11;
}

/** RDATA of an UPDATE's or of a query's record that says nothing: printed as nothing. */
static inline bool present_is_empty(const knot_message_rr_t *rr)
{
	return rr->rdata_len == 0 && (rr->class == KNOT_CLASS_ANY || rr->class == KNOT_CLASS_NONE);
}
