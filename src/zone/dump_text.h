/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal to dump.c and dump_parts.c: the lines of a zone file on their way to a descriptor, and the parts that a file
 * has.
 */
#pragma once

#include "libknot/text/rdata_text.h"
#include "libknot/text/rr_text.h"
#include "src/zone/records.h"

enum {
	ZONE_LINE_MAX = KNOT_RR_OWNER_TEXT_MAX + 32 + KNOT_RDATA_TEXT_MAX, /* bytes: of one line */
	ZONE_DUMP_BUFFER = 2 * ZONE_LINE_MAX,
};

/** A file's parts, in order. */
typedef enum { DUMP_SOA, DUMP_DATA, DUMP_RRSIG, DUMP_NSEC, DUMP_NSEC3, DUMP_NSEC3_RRSIG, DUMP_PARTS } zone_dump_part_t;

zone_dump_part_t zone_dump_part_of(uint16_t type, knot_bytes_t rdata);

/** The heading of a part; NULL: it has none. */
const char *zone_dump_heading(zone_dump_part_t part);

/** Text that is collected, and written in large pieces. */
typedef struct {
	int fd;
	knot_err_t err;  /* sticky: a negated errno of write(2), KNOT_ENOMEM */
	bool is_held;    /* the text is kept and grows, until this is false */
	char *text;      /* owned */
	size_t len, max; /* bytes */
	uint64_t count;  /* records */
	size_t owner_len;
	uint8_t owner_wire_len; /* of the name whose text is kept; 0: none */
	uint8_t owner_wire[KNOT_NAME_MAX];
	char owner[KNOT_RR_OWNER_TEXT_MAX];
	uint16_t type; /* whose text is kept */
	size_t type_len;
	char type_text[KNOT_TYPE_TEXT_MAX];
} zone_dump_text_t;

/** KNOT_ENOMEM: also in text->err. */
KNOT_MUST_USE knot_err_t zone_dump_text_init(zone_dump_text_t *text, int fd);

/** What is not flushed is lost. */
void zone_dump_text_done(zone_dump_text_t *text);

/** Add a string of at most ZONE_LINE_MAX bytes, or a line. Failures: in text->err. */
void zone_dump_text_put(zone_dump_text_t *text, const char *string);
void zone_dump_text_put_rr(zone_dump_text_t *text, const zone_rr_t *rr);

/** The comments at the head and the end of a file. */
void zone_dump_text_put_head(zone_dump_text_t *text, const char *program);
void zone_dump_text_put_end(zone_dump_text_t *text, uint64_t record_count, uint64_t now_s);

/** Write what has been collected. */
void zone_dump_text_flush(zone_dump_text_t *text);
