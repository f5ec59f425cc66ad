/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/node.h"

#include "libknot/rr/rdata.h"

#include <assert.h>

enum { RR_RDATA_OFF = 12 };      /* owner pointer, type, class, TTL, RDLENGTH */

zone_rr_iter_t zone_rr_begin(const zone_node_t *node, const zone_rrset_t *set, bool sigs)
{
	return (zone_rr_iter_t){ .node = node, .set = set, .sigs = sigs };
}

/* Follow a placeholder of the body and spell the name it names. A body's pointers lead backwards, so this ends. */
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
	uint32_t at = iter->pos + RR_RDATA_OFF, end = at + rdata_len;
	knot_writer_t w = knot_writer_of(scratch);
	while (iter->pointer < block.pointer_count && zone_block_pointer(&block, iter->pointer) < end) {
		uint32_t pointer = zone_block_pointer(&block, iter->pointer++);
		knot_write(&w, block.bytes + at, pointer - at);
		expand(iter, load_be16(block.bytes + pointer), &w);
		at = pointer + 2;
	}
	knot_write(&w, block.bytes + at, end - at);
	assert(!w.failed);               /* it was no longer than KNOT_RDATA_MAX before it was compressed */
	*ret_ttl = load_be32(rr + 6);
	*ret_rdata = (knot_bytes_t){ w.data, w.len };
	iter->pos = end;
	return true;
}
