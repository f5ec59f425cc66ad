/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/out_page.h"

#include "libknot/base/assert.h"

void out_page_begin(out_page_t *page, knot_mut_bytes_t room, knot_bytes_t head, knot_name_t apex)
{
	knot_msg_begin(&page->w, room);
	memcpy(room.data + KNOT_MSG_HEADER_LEN, head.data + KNOT_MSG_HEADER_LEN, head.len - KNOT_MSG_HEADER_LEN);
	page->w.len = head.len;
	page->w.counts[KNOT_SECTION_QUESTION] = 1;
	page->owner = apex;
	page->node = NULL;
	page->apex_len = apex.len;
	page->label_count = 0;
	page->has_names = false;
	for (size_t at = 0; at < apex.len; at += 1u + apex.wire[at]) {
		page->suffixes[apex.len - at] = (uint16_t)(KNOT_MSG_HEADER_LEN + at);
	}
}

/* ---- Blocks ---- */

/* An owner in place of the last one. */
typedef struct {
	knot_name_t name;
	unsigned spelled_len; /* bytes of labels that are spelled */
	unsigned label_count; /* above the apex */
	uint16_t label_offs[KNOT_LABEL_COUNT_MAX];
} page_owner_t;

/* Which labels of `name`, which is in the zone, don't stand in the message. */
static inline void page_compare_owner(const out_page_t *page, knot_name_t name, page_owner_t *ret_owner)
{
	unsigned count = 0, end = (unsigned)(name.len - page->apex_len);
	for (unsigned at = 0; at < end; at += 1u + name.wire[at]) {
		ret_owner->label_offs[count++] = (uint16_t)at;
	}
	const knot_name_t before = page->owner;
	unsigned mine = count, its = page->label_count, its_end = (unsigned)(before.len - page->apex_len);
	while (mine > 0 && its > 0) {
		unsigned at = ret_owner->label_offs[mine - 1], its_at = page->label_offs[its - 1];
		if (end - at != its_end - its_at || memcmp(name.wire + at, before.wire + its_at, end - at) != 0) {
			break;
		}
		end = at;
		its_end = its_at;
		mine--;
		its--;
	}
	ret_owner->name = name;
	ret_owner->spelled_len = end;
	ret_owner->label_count = count;
}

/* Bytes of it: the labels, then the end of a name of the root zone or a pointer. */
static inline size_t page_owner_len(const page_owner_t *owner)
{
	return owner->spelled_len + (owner->name.len - owner->spelled_len == 1 && owner->spelled_len > 0 ? 1u : 2u);
}

/* Write the owner at the end of the message, whose length stays. */
static inline void page_write_owner(out_page_t *page, const page_owner_t *owner, size_t len)
{
	uint8_t *to = page->w.data + page->w.len;
	unsigned spelled = owner->spelled_len;
	memcpy(to, owner->name.wire, spelled);
	if (len - spelled == 1) {
		to[spelled] = 0;
	} else {
		store_be16(to + spelled, (uint16_t)(0xC000 | page->suffixes[owner->name.len - spelled]));
	}
}

/* The owner stands in the message. */
static inline void page_take_owner(out_page_t *page, const zone_node_t *node, const page_owner_t *owner, size_t at)
{
	for (unsigned i = 0; i < owner->label_count; i++) {
		page->label_offs[i] = owner->label_offs[i];
		if (owner->label_offs[i] < owner->spelled_len) {
			page->suffixes[owner->name.len - owner->label_offs[i]] = (uint16_t)(at + owner->label_offs[i]);
		}
	}
	page->label_count = owner->label_count;
	page->owner = owner->name;
	page->node = node;
}

/* Resolve the pointers of a block whose byte 0 is at `base` or would be. False: one leads too far. */
static inline bool page_resolve(
		const out_page_t *page, const zone_node_t *node, const zone_block_t *block, size_t base, bool has_owner)
{
	uint8_t *to = page->w.data + base;
	uint16_t owner_off = page->suffixes[node->owner_len];
	uint8_t *rr = to;
	for (unsigned i = 0; i < block->rr_count; i++) {
		if (i > 0 || has_owner) {
			store_be16(rr, (uint16_t)(0xC000 | owner_off));
		}
		rr += ZONE_RR_RDATA_OFF + load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
	}
	size_t beyond = owner_off;
	for (unsigned i = 0; i < block->pointer_count; i++) {
		uint8_t *p = to + zone_block_pointer(block, i);
		uint16_t placeholder = load_be16(p) & ZONE_PTR_MSG_MAX;
		size_t off = placeholder & ZONE_PTR_BODY ? base + (placeholder & ZONE_PTR_BODY_MAX)
							 : page->suffixes[node->owner_len - placeholder];
		beyond |= off;
		store_be16(p, (uint16_t)(0xC000 | off));
	}
	return beyond <= KNOT_MSG_POINTER_MAX;
}

/* The first block of a node: its owner is spelled as far as needed. */
static out_put_t page_put_first(out_page_t *page, const zone_node_t *node, const zone_block_t *block)
{
	page_owner_t owner;
	page_compare_owner(page, zone_node_owner(node), &owner);
	size_t owner_len = page_owner_len(&owner), at = page->w.len;
	if (owner_len + block->len - 2 > page->w.max - at) {
		return OUT_PUT_FULL;
	}
	if (at + owner_len > KNOT_MSG_POINTER_MAX) {
		return OUT_PUT_FULL; /* what follows couldn't point at its labels */
	}
	page_write_owner(page, &owner, owner_len);
	page_take_owner(page, node, &owner, at);
	memcpy(page->w.data + at + owner_len, block->bytes + 2, block->len - 2);
	if (!page_resolve(page, node, block, at + owner_len - 2, false)) {
		return OUT_PUT_FULL;
	}
	page->w.len = at + owner_len + block->len - 2;
	return OUT_PUT_OK;
}

static out_put_t page_put_next(out_page_t *page, const zone_node_t *node, const zone_block_t *block)
{
	size_t at = page->w.len;
	if (block->len > page->w.max - at) {
		return OUT_PUT_FULL;
	}
	memcpy(page->w.data + at, block->bytes, block->len);
	if (!page_resolve(page, node, block, at, true)) {
		return OUT_PUT_FULL;
	}
	page->w.len = at + block->len;
	return OUT_PUT_OK;
}

out_put_t out_page_put_block(out_page_t *page, const zone_node_t *node, const zone_block_t *block)
{
	out_put_t put = page->node == node ? page_put_next(page, node, block) : page_put_first(page, node, block);
	if (put == OUT_PUT_OK) {
		page->w.counts[KNOT_SECTION_ANSWER] = (uint16_t)(page->w.counts[KNOT_SECTION_ANSWER] + block->rr_count);
	}
	return put;
}

/* ---- Records ---- */

out_put_t out_page_put_rr(out_page_t *page, const changeset_rr_t *rr)
{
	if (!page->has_names) {
		knot_msg_compress(&page->w, &page->names);
		page->has_names = true;
	}
	knot_err_t err = knot_msg_put_rr(
			&page->w, KNOT_SECTION_ANSWER, rr->owner, rr->type, KNOT_CLASS_IN, rr->ttl, rr->rdata);
	return err == KNOT_OK ? OUT_PUT_OK : OUT_PUT_FULL;
}
