/* SPDX-License-Identifier: BSD-2-Clause */
/** What of a message is shown, and how. Plain data; any thread. */
#pragma once

#include "libknot/text/rdata_text.h"

typedef enum {
	PRESENT_FULL,  /* as dig's: commented sections */
	PRESENT_SHORT, /* RDATA of the answer section only */
	PRESENT_HOST,  /* sentences */
	PRESENT_JSON,  /* RFC 8427 */
} present_format_t;

/** Bits of `shows`. */
enum {
	PRESENT_HEADER = 1 << 0,
	PRESENT_COMMENTS = 1 << 1, /* headings of sections */
	PRESENT_EDNS = 1 << 2,
	PRESENT_QUESTION = 1 << 3,
	PRESENT_ANSWER = 1 << 4,
	PRESENT_AUTHORITY = 1 << 5,
	PRESENT_ADDITIONAL = 1 << 6,
	PRESENT_TSIG = 1 << 7,
	PRESENT_STATS = 1 << 8,
	PRESENT_CLASS = 1 << 9, /* of each record */
	PRESENT_TTL = 1 << 10,
	PRESENT_OPT_TEXT = 1 << 11,    /* unknown EDNS options as text where they are */
	PRESENT_OPT_PRESENT = 1 << 12, /* EDNS as one line of NAME=value */
	PRESENT_ALL = PRESENT_HEADER | PRESENT_EDNS | PRESENT_QUESTION | PRESENT_ANSWER | PRESENT_AUTHORITY |
		      PRESENT_ADDITIONAL | PRESENT_TSIG | PRESENT_STATS,
};

typedef struct {
	present_format_t format;
	uint32_t shows;           /* PRESENT_* */
	knot_rdata_style_t rdata; /* its print_name is that of owners, too */
} present_style_t;

/** All of a message, in full. */
static inline present_style_t present_style(void)
{
	return (present_style_t){
		.shows = PRESENT_ALL | PRESENT_COMMENTS | PRESENT_CLASS | PRESENT_TTL,
		.rdata = { .print_name = knot_name_print },
	};
}
