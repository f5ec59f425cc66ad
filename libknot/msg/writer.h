/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writes a message: header, question, records, OPT with its options, TSIG. Everything that this project sends is
 * written here, but for the compiled blocks that answers copy between question and OPT (src/answer/encode_blocks.c).
 *
 * A writer is a cursor over the caller's buffer: it allocates nothing and fails by record, so a record that doesn't
 * fit leaves the message as it was. What has to follow the records is reserved before they are put and released after
 * them. What replies need for each query is inline. Names are spelled out until knot_msg_compress() gives the writer a
 * table to compress them with. RFC 1035 4.1, RFC 3597 4 (which RDATA names are compressed), RFC 6891, RFC 8914.
 *
 * Order: begin or begin_reply, put_question, compress, reserve, put_rr …, release, put_opt, options, knot_tsig_put()
 * (tsig.h), finish; all but the first and the last where needed.
 */
#pragma once

#include "libknot/base/assert.h"
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
	KNOT_OPT_LEN = 11,             /* bytes of an OPT record without options */
	KNOT_OPTION_HEAD_LEN = 4,      /* bytes of an option before its data */
	KNOT_EDE_LEN = 2,              /* bytes of an extended error's data without text */
};

/**
 * Suffixes of names that are in a message. When the table is full, later names merely compress less. Of the caller, for
 * as long as records are put.
 */
typedef struct {
	uint16_t suffixes[KNOT_MSG_SUFFIX_SLOTS]; /* offsets by hash, 0: empty */
	bool is_exact;                            /* names that differ in letter case are others */
} knot_msg_names_t;

typedef struct {
	uint8_t *data;           /* borrowed: the message */
	size_t len;              /* bytes written so far, the header's included */
	size_t max;              /* limit of `len`, without what is reserved */
	uint16_t counts[4];      /* records per section */
	uint16_t reserved;       /* bytes behind max */
	uint16_t opt_off;        /* where the OPT's RDLENGTH stands, 0: there is none */
	knot_msg_names_t *names; /* borrowed; NULL: names are spelled out */
} knot_msg_writer_t;

/** What can be undone: everything put after the mark. */
typedef struct {
	size_t len;
	uint16_t counts[4];
} knot_msg_mark_t;

/** Start a message in `out`: at least KNOT_MSG_HEADER_LEN bytes; more than 65535 are not used. */
static inline void knot_msg_begin(knot_msg_writer_t *w, knot_mut_bytes_t out)
{
	assert(out.len >= KNOT_MSG_HEADER_LEN);
	*w = (knot_msg_writer_t){
		.data = out.data,
		.len = KNOT_MSG_HEADER_LEN,
		.max = out.len < KNOT_MSG_MAX ? out.len : KNOT_MSG_MAX,
	};
}

/**
 * Start the reply to a request, with its question, if it has one, as it came: letter case included. out: as above, with
 * room for the question; it may be the request's own buffer.
 */
static inline void knot_msg_begin_reply(knot_msg_writer_t *w, knot_mut_bytes_t out, const knot_query_t *request)
{
	knot_msg_begin(w, out);
	if (out.data != request->wire.data) {
		memcpy(out.data + w->len, request->wire.data + w->len, request->question_len);
	}
	w->len += request->question_len;
	w->counts[KNOT_SECTION_QUESTION] = request->question_len > 0;
}

/** KNOT_ESPACE: does not fit; nothing was written. The name is never compressed. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_question(
		knot_msg_writer_t *w, knot_name_t name, uint16_t type, uint16_t class);

/** Compress names from now on, against each other and the question. names: any content. */
KNOT_EXPORT void knot_msg_compress(knot_msg_writer_t *w, knot_msg_names_t *names);

/** The same, but each name keeps its letter case: only equal bytes are shared (RFC 4343 4.1 lets it be lost). */
KNOT_EXPORT void knot_msg_compress_exact(knot_msg_writer_t *w, knot_msg_names_t *names);

/** Let the message, with what is reserved, be `len` bytes long at most. Nothing beyond that was written. */
static inline void knot_msg_limit(knot_msg_writer_t *w, size_t len)
{
	w->max = len - w->reserved < w->max ? len - w->reserved : w->max;
}

/** Keep `len` bytes free for what follows the records. False: there aren't as many; none were reserved. */
static inline bool knot_msg_reserve(knot_msg_writer_t *w, size_t len)
{
	if (len > w->max - w->len) {
		return false;
	}
	w->max -= len;
	w->reserved = (uint16_t)(w->reserved + len);
	return true;
}

/** Give back all that was reserved: what follows is what it was for. */
static inline void knot_msg_release(knot_msg_writer_t *w)
{
	w->max += w->reserved;
	w->reserved = 0;
}

/** One record; sections only in ascending order. rdata: uncompressed, checked. KNOT_ESPACE: nothing was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_rr(knot_msg_writer_t *w, knot_section_t section, knot_name_t owner,
		uint16_t type, uint16_t class, uint32_t ttl, knot_bytes_t rdata);

/**
 * The OPT record, RFC 6891 6.1; options follow. rcode: its upper eight bits go here. flags: DO is 0x8000. KNOT_ESPACE:
 * nothing was written.
 */
static inline KNOT_MUST_USE knot_err_t knot_msg_put_opt(
		knot_msg_writer_t *w, uint16_t udp_payload, uint16_t rcode, uint8_t version, uint16_t flags)
{
	KNOT_ASSERT_SLOW(w->opt_off == 0);
	if (w->max - w->len < KNOT_OPT_LEN) {
		return KNOT_ESPACE;
	}
	uint8_t *at = w->data + w->len;
	at[0] = 0; /* the root */
	/* Two fields per store: half the instructions of one by one. */
	store_be32(at + 1, (uint32_t)KNOT_TYPE_OPT << 16 | udp_payload);
	store_be32(at + 5, (uint32_t)(rcode >> 4) << 24 | (uint32_t)version << 16 | flags);
	store_be16(at + 9, 0);
	w->opt_off = (uint16_t)(w->len + KNOT_OPT_LEN - 2);
	w->len += KNOT_OPT_LEN;
	w->counts[KNOT_SECTION_ADDITIONAL]++;
	return KNOT_OK;
}

/**
 * Begin an option of the OPT that was put last: returns where its `len` bytes of data go, which the caller writes at
 * once. NULL: does not fit; nothing was written.
 */
static inline uint8_t *knot_msg_open_option(knot_msg_writer_t *w, uint16_t code, size_t len)
{
	KNOT_ASSERT_SLOW(w->opt_off != 0);
	if (len > KNOT_MSG_MAX || w->max - w->len < KNOT_OPTION_HEAD_LEN + len) {
		return NULL;
	}
	uint8_t *at = w->data + w->len;
	store_be32(at, (uint32_t)code << 16 | (uint32_t)len);
	w->len += KNOT_OPTION_HEAD_LEN + len;
	store_be16(w->data + w->opt_off, (uint16_t)(w->len - w->opt_off - 2));
	return at + KNOT_OPTION_HEAD_LEN;
}

/** One option of the OPT that was put last. KNOT_ESPACE: nothing was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_option(knot_msg_writer_t *w, uint16_t code, knot_bytes_t data);

/** An extended DNS error with optional text (RFC 8914 2). KNOT_ESPACE: nothing was written. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_msg_put_ede(knot_msg_writer_t *w, uint16_t info_code, knot_str_t text);

KNOT_EXPORT knot_msg_mark_t knot_msg_mark(const knot_msg_writer_t *w);
KNOT_EXPORT void knot_msg_rollback(knot_msg_writer_t *w, const knot_msg_mark_t *mark);

/**
 * Flags of the reply to a request: its opcode and RD (RFC 1035 4.1.1, RFC 4035 3.1.6 for AD and CD), and QR. flags: AA
 * and TC, or 0. rcode: its lower four bits go here.
 */
static inline uint16_t knot_msg_reply_flags(const knot_query_t *request, uint16_t flags, uint16_t rcode)
{
	KNOT_ASSERT_SLOW((flags & (KNOT_OPCODE_MASK | KNOT_RCODE_MASK)) == 0);
	uint32_t kept = request->flags & (KNOT_OPCODE_MASK | KNOT_FLAG_RD);
	return (uint16_t)(KNOT_FLAG_QR | kept | flags | (rcode & KNOT_RCODE_MASK));
}

/** Write the header; returns the length of the message. flags: KNOT_FLAG_*, opcode, rcode. */
static inline size_t knot_msg_finish(knot_msg_writer_t *w, uint16_t id, uint16_t flags)
{
	uint8_t *h = w->data;
	store_be32(h, (uint32_t)id << 16 | flags);
	store_be32(h + 4, (uint32_t)w->counts[0] << 16 | w->counts[1]);
	store_be32(h + 8, (uint32_t)w->counts[2] << 16 | w->counts[3]);
	return w->len;
}
