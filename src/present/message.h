/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Messages as text, in the form of Knot's kdig. Pure: time and addresses are arguments.
 *
 * A message is put by its parts, in this order: head (header, EDNS, question, records, TSIG), foot. A transfer is put
 * by heading, records of each message, foot.
 */
#pragma once

#include "src/present/codes.h"
#include "src/present/read.h"
#include "src/present/style.h"
#include "src/present/text.h"

#include <time.h>

/** What is known of a message beside its bytes: its foot. */
typedef struct {
	bool is_query;     /* sent, not received */
	bool is_transfer;  /* what was received are several messages */
	size_t len;        /* bytes */
	size_t messages;   /* of a transfer */
	size_t records;    /* of a transfer */
	struct tm when;    /* when it was sent or received, in the user's zone */
	double elapsed_ms; /* since the query, or that it took to send it */
	const char *peer;  /* "192.0.2.1@53(UDP)" */
} present_foot_t;

/** The records of the line put last, to print what repeats only once. Starts as zeros, of one style. */
typedef struct {
	uint8_t owner_wire[KNOT_NAME_MAX];
	uint8_t owner_len; /* 0: there was none */
	uint16_t type, type_len;
	char type_text[KNOT_TYPE_TEXT_MAX];
	size_t owner_text_len;
	char owner_text[KNOT_NAME_TEXT_MAX + 32];
} present_columns_t;

/** The name of a message's rcode, or of what is wrong with its TSIG. Returns ret_text or a static text. */
const char *present_status(const present_message_t *message, char ret_text[static PRESENT_CODE_MAX]);

/** All but the foot. */
void present_message_put(present_text_t *text, const present_style_t *style, const present_message_t *message);

/** The foot, behind a blank line but for transfers. */
void present_foot_put(present_text_t *text, const present_foot_t *foot);

/** The time of the one who has sent a TSIG, in seconds since 1970: with BADTIME it is in the other data (RFC
 * 8945 5.2.3). */
uint64_t present_tsig_time(const knot_tsig_t *tsig);

/** The RDATA of a TSIG, RFC 8945 4.2, which has no presentation form of its own. */
void present_tsig_put_rdata(present_text_t *text, const present_style_t *style, const knot_tsig_t *tsig);

/** The line of a message's TSIG, with its heading. */
void present_tsig_put(present_text_t *text, const present_style_t *style, const present_message_t *message);

/** ";; AXFR for example." */
void present_transfer_put(present_text_t *text, const present_style_t *style, knot_name_t zone, uint16_t qtype);

/** One record in full; rdata: unpacked, checked. */
void present_record_put(present_text_t *text, const present_style_t *style, present_columns_t *columns,
		const knot_message_rr_t *rr, knot_bytes_t rdata);

/** One record in short. */
void present_rdata_put(present_text_t *text, const present_style_t *style, uint16_t type, knot_bytes_t rdata);

/**
 * What can be read of a malformed message: the reason, its header and records up to the fault, and the bytes from there
 * on in hex. All lines are comments.
 */
void present_wreck_put(present_text_t *text, const present_style_t *style, const present_message_t *message);
