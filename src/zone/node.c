/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/node.h"

#include "libknot/rr/rdata.h"

#include <assert.h>

/* ---- Wide nodes and RRsets ---- */

const zone_rrset_t *zone_wide_rrset_at(const zone_arena_view_t *arena, const zone_node_t *node, unsigned i)
{
	assert(zone_node_is_wide(node));
	const uint8_t *table = zone_node_table(node);
	uint32_t place = zone_load_u32(table + ZONE_WIDE_TABLE_HEAD + (size_t)i * ZONE_WIDE_ENTRY_LEN + 2);
	const uint8_t *p = table + (place & ~ZONE_WIDE_ENTRY_SHARED);
	return place & ZONE_WIDE_ENTRY_SHARED ? zone_at(arena, zone_load_u32(p)) : (const zone_rrset_t *)p;
}

const zone_rrset_t *zone_wide_rrset(const zone_arena_view_t *arena, const zone_node_t *node, uint16_t type)
{
	const uint8_t *entry = zone_node_table(node) + ZONE_WIDE_TABLE_HEAD;
	unsigned count = zone_node_rrset_count(node);
	for (unsigned i = 0; i < count; i++, entry += ZONE_WIDE_ENTRY_LEN) {
		if (zone_load_u16(entry) == type) {
			return zone_wide_rrset_at(arena, node, i);
		}
	}
	return NULL;
}

zone_block_t zone_wide_body(const zone_rrset_t *set)
{
	zone_block_t block = { .bytes = set->bytes + ZONE_RRSET_WIDE_BODY_OFF,
		.rr_count = zone_load_u16(set->bytes),
		.len = zone_load_u32(set->bytes + 2) };
	if (set->flags & ZONE_RRSET_HAS_POINTERS) {
		block.pointers = block.bytes + block.len + 2;
		block.pointer_count = zone_load_u16(block.pointers - 2);
		block.wide_pointers = set->flags & ZONE_RRSET_WIDE_POINTERS;
	}
	return block;
}

/* ---- Records ---- */

zone_rr_iter_t zone_rr_begin(const zone_node_t *node, const zone_rrset_t *set, bool sigs)
{
	return (zone_rr_iter_t){ .node = node, .set = set, .sigs = sigs };
}

/* Follow a placeholder of the body and write the name in full. A body's pointers lead backwards, so this ends. */
static void expand(const zone_rr_iter_t *iter, uint16_t placeholder, knot_writer_t *w)
{
	const uint8_t *body = zone_rrset_body(iter->set).bytes;
	for (;;) {
		unsigned to = placeholder & ZONE_PTR_MSG_MAX;
		const uint8_t *p = to & ZONE_PTR_BODY ? body + (to & ZONE_PTR_BODY_MAX) : iter->node->owner + to;
		while (*p != 0 && *p < 0xC0) {
			knot_write(w, p, 1u + *p);
			p += 1u + *p;
		}
		if (*p == 0) {
			knot_write_u8(w, 0);
			return;
		}
		placeholder = load_be16(p);
	}
}

bool zone_rr_next(zone_rr_iter_t *iter, knot_mut_bytes_t scratch, uint32_t *ret_ttl, knot_bytes_t *ret_rdata)
{
	zone_block_t block = iter->sigs ? zone_rrset_sigs(iter->set) : zone_rrset_body(iter->set);
	if (iter->pos >= block.len) {
		return false;
	}
	const uint8_t *rr = block.bytes + iter->pos;
	uint32_t rdata_len = load_be16(rr + 10);
	uint32_t at = iter->pos + ZONE_RR_RDATA_OFF, end = at + rdata_len;
	knot_writer_t w = knot_writer_of(scratch);
	while (iter->pointer < block.pointer_count && zone_block_pointer(&block, iter->pointer) < end) {
		uint32_t pointer = zone_block_pointer(&block, iter->pointer++);
		knot_write(&w, block.bytes + at, pointer - at);
		expand(iter, load_be16(block.bytes + pointer), &w);
		at = pointer + 2;
	}
	knot_write(&w, block.bytes + at, end - at);
	assert(!w.failed); /* it was no longer than KNOT_RDATA_MAX before it was compressed */
	*ret_ttl = load_be32(rr + 6);
	*ret_rdata = (knot_bytes_t){ w.data, w.len };
	iter->pos = end;
	return true;
}

size_t zone_rrset_size(const zone_rrset_t *set)
{
	const uint8_t *end = zone_rrset_behind_pointers(set);
	if (set->flags & ZONE_RRSET_HAS_SIGS) {
		zone_block_t sigs = zone_rrset_sigs(set);
		end = sigs.bytes + sigs.len;
	}
	if (set->flags & ZONE_RRSET_HAS_LINKS) {
		bool is_wide = set->flags & ZONE_RRSET_WIDE;
		size_t count = is_wide ? zone_load_u16(end) : *end;
		end += 1 + is_wide + count * ZONE_LINK_ENTRY_LEN;
	}
	return (size_t)(end - (const uint8_t *)set);
}

/* Place of the reference, in bytes from the table; 0: the RRset is part of the node. */
static size_t shared_place(const zone_node_t *node, unsigned i)
{
	assert(i < zone_node_rrset_count(node));
	bool is_wide = node->flags & ZONE_NODE_WIDE;
	const uint8_t *entries = zone_node_table(node) + (is_wide ? ZONE_WIDE_TABLE_HEAD : 0);
	uint32_t place = is_wide ? zone_load_u32(entries + (size_t)i * ZONE_WIDE_ENTRY_LEN + 2)
				 : zone_load_u16(entries + (size_t)i * ZONE_ENTRY_LEN + 2);
	uint32_t shared = is_wide ? ZONE_WIDE_ENTRY_SHARED : ZONE_ENTRY_SHARED;
	return place & shared ? place & ~shared : 0;
}

zone_ref_t zone_node_shared_ref(const zone_node_t *node, unsigned i)
{
	size_t place = shared_place(node, i);
	return place != 0 ? zone_load_u32(zone_node_table(node) + place) : 0;
}

/* RRsets stand in the order of the table, so the last one ends the node; without one the links do. */
size_t zone_node_size(const zone_node_t *node)
{
	bool is_wide = node->flags & ZONE_NODE_WIDE;
	const uint8_t *table = zone_node_table(node), *entries = table + (is_wide ? ZONE_WIDE_TABLE_HEAD : 0);
	size_t count = zone_node_rrset_count(node);
	const uint8_t *end = zone_node_links(node) + zone_node_links_len(node);
	if (count > 0) {
		uint32_t place = is_wide ? zone_load_u32(entries + (count - 1) * ZONE_WIDE_ENTRY_LEN + 2)
					 : zone_load_u16(entries + (count - 1) * ZONE_ENTRY_LEN + 2);
		uint32_t shared = is_wide ? ZONE_WIDE_ENTRY_SHARED : ZONE_ENTRY_SHARED;
		end = table + (place & ~shared);
		end += place & shared ? sizeof(zone_ref_t) : zone_rrset_size((const zone_rrset_t *)end);
	}
	return (size_t)(end - (const uint8_t *)node);
}
