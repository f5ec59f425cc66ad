/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What is found out about a request that few requests are: one that is signed, asks for a transfer, notifies, or
 * updates. Written by stages GATE and DECIDE, read by the caller of answer_message(), which lends it (answer_turn_t).
 *
 * Good until the caller's next request, if the report has ANSWER_EFFECT_NOTED. Nothing in it points into the request,
 * in whose place the reply may have been made. What points into the configuration or the zone is valid in the read
 * section, or as long as the caller holds it: conf_hold() for the key of the chain.
 */
#pragma once

#include "src/access/access.h"
#include "src/answer/answer.h"

/** What the log says of the request, besides its permission and its key. */
typedef enum {
	ANSWER_NOTE_NONE,
	ANSWER_NOTE_NOTIFY,         /* a NOTIFY was accepted */
	ANSWER_NOTE_NOTIFY_INVALID, /* a NOTIFY that isn't about the SOA */
	ANSWER_NOTE_NOTIFY_CHILD,   /* a NOTIFY about a child was accepted */
	ANSWER_NOTE_UP_TO_DATE,     /* an IXFR whose serial isn't older than the zone's */
	ANSWER_NOTE_FROZEN,         /* transfers of the zone are frozen */
	ANSWER_NOTE_MALFORMED,      /* an IXFR without the SOA that it must have */
	ANSWER_NOTE_END,
} answer_note_t;

/** What verifying the request's signature gave. */
typedef enum {
	ANSWER_TSIG_OK, /* it is good, or wasn't looked at */
	ANSWER_TSIG_BADSIG,
	ANSWER_TSIG_BADTIME,
	ANSWER_TSIG_FAILED, /* the cryptographic library doesn't do it */
} answer_tsig_t;

typedef struct answer_aside {
	/* Permission. */
	conf_action_t action;
	access_verdict_t verdict;
	/* Signature. The reply is signed if chain.key isn't NULL: by FINISH, or by the caller that takes the request.
	   Until an answer was signed, the chain may be copied. */
	bool has_tsig;
	knot_name_t key;                 /* has_tsig: the key's name as sent; its bytes are the next member's */
	uint8_t key_wire[KNOT_NAME_MAX]; /* 〃 */
	answer_tsig_t tsig;
	knot_tsig_chain_t chain;
	/* What is asked for. */
	answer_note_t note;
	bool is_ixfr;                    /* a transfer: the differences from `serial`, if they can be had */
	bool provides_ixfr;              /* 〃: the zone's provide-ixfr */
	bool has_serial;                 /* NOTIFY: the primary's serial was sent along */
	bool has_bad_record;             /* NOTIFY: something else was sent in its place */
	uint16_t child_type;             /* NOTIFY about a child: CDS or CSYNC */
	uint32_t serial;                 /* IXFR: the client's; NOTIFY: the primary's, 0 if it wasn't sent */
	const zone_contents_t *contents; /* ANSWER_EFFECT_STREAM: the version to send */
	knot_bytes_t template;           /* 〃: see answer_message(); in `out` */
} answer_aside_t;
