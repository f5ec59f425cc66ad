/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writes a message record by record, with every name compressed against the names before it.
 *
 * For the paths where generality counts more than speed: transfers, tools, tests, answers that compiled blocks can't
 * give. Compression remembers name suffixes by hash in a table of fixed size; when it is full, later names merely
 * compress less. The writer borrows the caller's buffer, allocates nothing, and fails by record: a record that does
 * not fit leaves the message as it was. RFC 1035 4.1, RFC 3597 4 (which RDATA names are compressed), RFC 6891, RFC
 * 8914.
 */
#pragma once

#include "libknot/msg/query.h"

typedef enum {
	KNOT_SECTION_QUESTION,
	KNOT_SECTION_ANSWER,
	KNOT_SECTION_AUTHORITY,
	KNOT_SECTION_ADDITIONAL,
} knot_section_t;

enum {
	KNOT_MSG_SUFFIX_SLOTS = 1024,  /* remembered suffixes; a power of two */
	KNOT_MSG_POINTER_MAX = 0x3FFF, /* largest offset that a compression pointer can name */
};

typedef struct {
	uint8_t *data;      /* borrowed: the message */
	size_t max;         /* limit of the message in bytes; lower it to reserve room for OPT or TSIG */
	size_t len;         /* written so far, header included */
	uint16_t counts[4]; /* records per section */
	size_t opt_off;     /* where an OPT's RDLENGTH stands while options are put, else 0 */
	uint16_t suffixes[KNOT_MSG_SUFFIX_SLOTS]; /* offsets by hash, 0: empty */
} knot_msg_writer_t;

/** What can be undone: everything put after the mark. */
typedef struct {
	size_t len;
	uint16_t counts[4];
} knot_msg_mark_t;

/** Start a message in `out` (at least KNOT_MSG_HEADER_LEN bytes; more than 65535 are not used). flags: KNOT_FLAG_*,
 * opcode, rcode. */
KNOT_EXPORT void knot_msg_begin(knot_msg_writer_t *w, knot_mut_bytes_t out, uint16_t id, uint16_t flags);

/**
 * Go on with a message whose first `len` bytes are there: header and, when question_name.wire is set, one question.
 * Its bytes, letter case included, stay as they are.
 */
KNOT_EXPORT void knot_msg_continue(knot_msg_writer_t *w, knot_mut_bytes_t out, size_t len, knot_name_t question_name);

/** KNOT_ESPACE: does not fit; nothing was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_question(
		knot_msg_writer_t *w, knot_name_t name, uint16_t type, uint16_t class);

/** One record; sections only in ascending order. rdata: uncompressed, checked. KNOT_ESPACE: nothing was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_rr(knot_msg_writer_t *w, knot_section_t section, knot_name_t owner,
		uint16_t type, uint16_t class, uint32_t ttl, knot_bytes_t rdata);

/** Append OPT; options follow with knot_msg_put_option(). rcode: its upper 8 bits go here (RFC 6891 6.1.3). flags: DO
 * is 0x8000. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_opt(
		knot_msg_writer_t *w, uint16_t udp_payload, uint16_t rcode, uint8_t version, uint16_t flags);

/** One option of the OPT put last. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_option(knot_msg_writer_t *w, uint16_t code, knot_bytes_t data);

/** An extended DNS error with optional text (RFC 8914 2). */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_ede(knot_msg_writer_t *w, uint16_t info_code, knot_str_t text);

KNOT_EXPORT knot_msg_mark_t knot_msg_mark(const knot_msg_writer_t *w);
KNOT_EXPORT void knot_msg_rollback(knot_msg_writer_t *w, const knot_msg_mark_t *mark);

/** Write the section counts; returns the length of the message. More may be put afterwards. */
KNOT_EXPORT size_t knot_msg_finish(knot_msg_writer_t *w);
