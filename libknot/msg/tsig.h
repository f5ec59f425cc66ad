/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The TSIG record that ends a signed message (RFC 8945): read out of a message, and put at the end of one.
 *
 * Nothing here computes or checks a MAC. No allocation; what is read is borrowed from the message. Any thread.
 */
#pragma once

#include "libknot/msg/writer.h"

enum { KNOT_TSIG_FIXED_LEN = 16 /* bytes of RDATA behind the algorithm's name, without MAC and other data */ };

typedef struct {
	knot_name_t key;       /* the key's name: the record's owner */
	knot_name_t algorithm; /* put: in lower case */
	uint64_t time_s;       /* time signed, 48 bits */
	uint16_t fudge_s;
	knot_bytes_t mac; /* len 0: unsigned */
	uint16_t original_id;
	uint16_t error;     /* an rcode, KNOT_RCODE_BADKEY for example */
	knot_bytes_t other; /* other data: of BADTIME the server's time, 6 bytes */
	size_t off;         /* read: where the record starts in the message. Put: not looked at */
} knot_tsig_t;

/**
 * Read the TSIG of a message. key_wire: room for its owner, which may be compressed. KNOT_EMALF: the last record is
 * none, it can't be read, or something follows it: answer FORMERR (RFC 8945 5.2). Class and TTL, which no MAC covers as
 * they were sent, must be ANY and 0 (4.2).
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_tsig_read(
		knot_bytes_t message, uint8_t key_wire[static KNOT_NAME_MAX], knot_tsig_t *ret_tsig);

/** Put a TSIG as the last record; its names are spelled out (RFC 8945 4.2). KNOT_ESPACE: nothing
 * was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_tsig_put(knot_msg_writer_t *w, const knot_tsig_t *tsig);
