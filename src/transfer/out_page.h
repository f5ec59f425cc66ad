/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: one message of a transfer, filled with compiled blocks or with records.
 *
 * Owners come in canonical order, so an owner is spelled as far as it differs from the one before, and then a pointer
 * leads to where the rest stands. That place, and those of all its suffixes, which RDATA of the block may point at, are
 * kept by the length of the suffix: names that share a suffix share its place.
 */
#pragma once

#include "libknot/msg/writer.h"
#include "src/journal/changeset.h"
#include "src/zone/node.h"

typedef enum {
	OUT_PUT_OK,
	OUT_PUT_FULL,  /* it goes into the next message; nothing was written, or the message has enough */
	OUT_PUT_NEVER, /* it fits no message */
} out_put_t;

typedef struct {
	knot_msg_writer_t w;
	knot_name_t owner;       /* the last one that was put, or the apex; borrowed */
	const zone_node_t *node; /* whose owner that is; NULL: the apex of the question */
	uint8_t apex_len;
	uint16_t label_offs[KNOT_LABEL_COUNT_MAX]; /* bytes of `owner` before each label above the apex */
	unsigned label_count;                      /* of them */
	uint16_t suffixes[KNOT_NAME_MAX + 1];      /* offsets in the message of owner's suffixes, by their length */
	bool has_names;
	knot_msg_names_t names; /* once records were put */
} out_page_t;

/** Begin a message in room[0..KNOT_MSG_MAX). head: header and question, whose name is the apex in any case. */
void out_page_begin(out_page_t *page, knot_mut_bytes_t room, knot_bytes_t head, knot_name_t apex);

/** Put a block, the RRset's or its signatures', with the owner of its node. */
out_put_t out_page_put_block(out_page_t *page, const zone_node_t *node, const zone_block_t *block);

/** Put a record. Not to be followed by a block but the apex's. */
out_put_t out_page_put_rr(out_page_t *page, const changeset_rr_t *rr);

/** The message has enough. */
static inline bool out_page_is_full(const out_page_t *page)
{
	return page->w.len > KNOT_MSG_POINTER_MAX;
}
