/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The encoder's usual way: compiled blocks, copied behind the question. One copy per block and one store per
 * compression pointer. It gives up where a pointer would lead beyond 0x3FFF.
 */
#include "src/answer/encode_way.h"

#include "libknot/base/assert.h"

/* Where what a block refers to stands. */
typedef struct {
	uint32_t owner_off;  /* the owner name */
	int32_t suffix_base; /* + r: the suffix of the node's owner that starts at r, when the question holds it */
	uint32_t body_base;  /* + x: what BODY-relative placeholders name */
} blocks_anchor_t;

/* The suffix of a node's owner whose last `tail_len` bytes are meant, for an owner that the question doesn't hold. */
__attribute__((noinline)) static uint32_t blocks_locate_suffix(
		const encoder_t *e, const answer_name_t *name, unsigned tail_len)
{
	if (tail_len <= e->apex_len) {
		return e->question_end - tail_len;
	}
	/* Step over the labels before it, through the pointers that end our own RDATA names. */
	unsigned skip = name->name.len - tail_len;
	uint32_t at = name->off;
	while (true) {
		uint8_t len = e->w.data[at];
		if (len >= 0xC0) {
			at = load_be16(e->w.data + at) & ZONE_PTR_MSG_MAX;
		} else if (skip == 0) {
			return at;
		} else {
			assert(len < skip);
			skip -= 1u + len;
			at += 1u + len;
		}
	}
}

static inline uint32_t blocks_resolve_pointer(const encoder_t *e, const answer_name_t *name, const zone_node_t *node,
		const blocks_anchor_t *anchor, uint16_t placeholder)
{
	uint16_t r = placeholder & ZONE_PTR_MSG_MAX;
	if (r & ZONE_PTR_BODY) {
		return anchor->body_base + (r & ZONE_PTR_BODY_MAX);
	}
	if (r == 0) {
		return anchor->owner_off;
	}
	if (name == NULL || name->kind == ANSWER_NAME_QUESTION) {
		return (uint32_t)(anchor->suffix_base + r);
	}
	return blocks_locate_suffix(e, name, node->owner_len - (unsigned)r);
}

/* Owners of RRs [first..count) of a block at `rr`: all the same name. */
static inline void blocks_put_owners(uint8_t *rr, unsigned first, unsigned count, uint32_t owner_off)
{
	uint16_t owner = (uint16_t)(0xC000 | owner_off);
	if (first == 0) {
		store_be16(rr, owner);
	}
	for (unsigned i = 1; i < count; i++) {
		rr += ZONE_RR_RDATA_OFF + load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
		store_be16(rr, owner);
	}
}

/* Copy a block and resolve its placeholders; `first` > 0: its first owner is written already and is left out. */
static inline bool blocks_put(encoder_t *e, const zone_block_t *block, const answer_name_t *name,
		const zone_node_t *node, const blocks_anchor_t *anchor, unsigned first, knot_section_t section)
{
	size_t skip = 2 * (size_t)first;
	uint8_t *to = e->w.data + e->w.len - skip; /* where the block's byte 0 would be */
	uint32_t beyond;
	memcpy(to + skip, block->bytes + skip, block->len - skip);
	blocks_put_owners(to, first, block->rr_count, anchor->owner_off);
	beyond = anchor->owner_off;
	for (unsigned i = 0; i < block->pointer_count; i++) {
		uint8_t *p = to + zone_block_pointer(block, i);
		uint32_t off = blocks_resolve_pointer(e, name, node, anchor, load_be16(p));
		beyond |= off;
		store_be16(p, (uint16_t)(0xC000 | off));
	}
	if (beyond > ZONE_PTR_MSG_MAX) {
		e->beyond = true;
		return false;
	}
	e->w.len += block->len - skip;
	e->w.counts[section] = (uint16_t)(e->w.counts[section] + block->rr_count);
	return true;
}

static inline bool blocks_fit(encoder_t *e, size_t len)
{
	KNOT_ASSERT_SLOW(e->w.len <= e->w.max);
	size_t room = e->w.max - e->w.len;
	if (len <= room) {
		return true;
	}
	if (e->lacking == 0 || len - room < e->lacking) {
		e->lacking = len - room;
	}
	return false;
}

/* Bytes of the longest suffix, by labels, that `name` has in common with the question: at least the apex. */
static unsigned blocks_shared_with_question(const encoder_t *e, knot_name_t name)
{
	const knot_query_t *q = e->plan->query;
	const uint8_t *own = name.wire, *asked = q->qname_lower;
	unsigned own_len = name.len, asked_len = q->qname.len;
	while (own_len != asked_len || memcmp(own, asked, own_len) != 0) {
		unsigned own_step = own_len >= asked_len ? 1u + *own : 0;
		unsigned asked_step = asked_len >= own_len ? 1u + *asked : 0;
		own += own_step;
		own_len -= own_step;
		asked += asked_step;
		asked_len -= asked_step;
	}
	return own_len;
}

/* Bytes of an owner that stands nowhere: its own labels, then a pointer to what it shares with the question. */
__attribute__((noinline)) static size_t blocks_spelled_len(const encoder_t *e, const answer_name_t *name)
{
	unsigned shared = blocks_shared_with_question(e, name->name);
	return name->name.len - shared + (shared == 1 ? 1u : 2u);
}

/* Write such an owner of `len` bytes. */
__attribute__((noinline)) static void blocks_spell_owner(
		const encoder_t *e, const answer_name_t *name, size_t len, uint8_t *to)
{
	if (len == name->name.len) {
		memcpy(to, name->name.wire, len); /* only the root is shared: shorter than a pointer to it */
		return;
	}
	size_t own_len = len - 2;
	memcpy(to, name->name.wire, own_len);
	store_be16(to + own_len, (uint16_t)(0xC000 | (e->question_end - (name->name.len - own_len))));
}

/* One block of the RRset or its signatures, with the owner `name`. ret_base: where its byte 0 is, or would be. */
static inline bool blocks_put_owned(encoder_t *e, const zone_block_t *block, answer_name_t *name,
		const zone_node_t *node, knot_section_t section, size_t *ret_base)
{
	bool spell = name->off == 0;
	size_t owner_len = spell ? blocks_spelled_len(e, name) : 2;
	if (!blocks_fit(e, block->len - 2 + owner_len)) {
		return false;
	}
	size_t start = e->w.len;
	if (spell) {
		blocks_spell_owner(e, name, owner_len, e->w.data + start);
		e->w.len += owner_len;
	}
	size_t base = start + owner_len - 2;
	blocks_anchor_t anchor = {
		.owner_off = spell ? (uint32_t)start : name->off,
		.suffix_base = e->question_end - node->owner_len,
		.body_base = (uint32_t)base,
	};
	if (start > ZONE_PTR_MSG_MAX && spell) {
		e->beyond = true;
		return false;
	}
	if (spell) {
		name->off = (uint16_t)start;
	}
	if (!blocks_put(e, block, name, node, &anchor, spell, section)) {
		e->w.len = start;
		return false;
	}
	*ret_base = base;
	return true;
}

__attribute__((noinline)) static void blocks_override_ttls(encoder_t *e, size_t base, size_t end, uint32_t ttl)
{
	/* The first owner may be spelled, but `base` is where it would begin as a pointer. */
	for (size_t at = base; at < end;) {
		store_be32(e->w.data + at + ZONE_RR_TTL_OFF, ttl);
		at += ZONE_RR_RDATA_OFF + load_be16(e->w.data + at + ZONE_RR_RDATA_LEN_OFF);
	}
}

/* The target of a CNAME as an owner: where that was written to. */
static inline void blocks_place_name(const answer_plan_t *plan, answer_name_t *name)
{
	if (name->kind == ANSWER_NAME_RDATA && name->off == 0) {
		name->off = (uint16_t)(plan->items[name->item].off + ZONE_RR_RDATA_OFF);
	}
}

static inline bool blocks_put_rrset(encoder_t *e, answer_item_t *item, knot_section_t section, bool sigs)
{
	answer_plan_t *plan = e->plan;
	answer_name_t *name = &plan->names[item->owner];
	if (zone_rrset_is_huge(item->set) && !sigs) {
		return false;
	}
	blocks_place_name(plan, name);
	zone_block_t block = sigs ? zone_rrset_sigs(item->set) : zone_rrset_body(item->set);
	size_t base;
	if (!blocks_put_owned(e, &block, name, item->node, section, &base)) {
		return false;
	}
	if (!sigs) {
		item->off = (uint16_t)base;
	}
	if (item->negative_ttl) {
		blocks_override_ttls(e, base, e->w.len, plan->zone->soa_minimum_ttl);
	}
	return true;
}

/* Labels of the owner before the DNAME's, then a pointer to where the DNAME leads. */
__attribute__((noinline)) static bool blocks_put_synthesis(encoder_t *e, answer_item_t *item)
{
	answer_plan_t *plan = e->plan;
	answer_name_t *name = &plan->names[item->owner];
	size_t prefix_len = (size_t)(name->name.len - item->node->owner_len);
	size_t target_off = plan->items[item->dname].off + (size_t)ZONE_RR_RDATA_OFF;
	blocks_place_name(plan, name);
	if (!blocks_fit(e, ZONE_RR_RDATA_OFF + prefix_len + 2)) {
		return false;
	}
	if (target_off > ZONE_PTR_MSG_MAX || e->w.len > ZONE_PTR_MSG_MAX) {
		e->beyond = true;
		return false;
	}
	uint8_t *rr = e->w.data + e->w.len;
	store_be16(rr, (uint16_t)(0xC000 | name->off));
	store_be16(rr + 2, KNOT_TYPE_CNAME);
	store_be16(rr + 4, KNOT_CLASS_IN);
	store_be32(rr + ZONE_RR_TTL_OFF, zone_rrset_ttl(item->set));
	store_be16(rr + ZONE_RR_RDATA_LEN_OFF, (uint16_t)(prefix_len + 2));
	memcpy(rr + ZONE_RR_RDATA_OFF, name->name.wire, prefix_len);
	store_be16(rr + ZONE_RR_RDATA_OFF + prefix_len, (uint16_t)(0xC000 | target_off));
	item->off = (uint16_t)e->w.len;
	e->w.len += ZONE_RR_RDATA_OFF + prefix_len + 2;
	e->w.counts[KNOT_SECTION_ANSWER]++;
	return true;
}

static inline bool blocks_put_glue(encoder_t *e, encode_owner_t owner, const zone_block_t *block)
{
	blocks_anchor_t anchor = { .owner_off = (uint32_t)owner.item->off + owner.name_off };
	return blocks_fit(e, block->len) &&
	       blocks_put(e, block, NULL, owner.item->node, &anchor, 0, KNOT_SECTION_ADDITIONAL);
}

static bool blocks_put_linked(
		encoder_t *e, encode_owner_t owner, const zone_node_t *node, const zone_rrset_t *set, bool sigs)
{
	if (zone_rrset_is_huge(set)) {
		return false;
	}
	zone_block_t block = sigs ? zone_rrset_sigs(set) : zone_rrset_body(set);
	if (!blocks_fit(e, block.len)) {
		return false;
	}
	/* What goes into ADDITIONAL has no compressed name but owners, so nothing but OWNER 0 is looked at. */
	blocks_anchor_t anchor = {
		.owner_off = (uint32_t)owner.item->off + owner.name_off,
		.body_base = (uint32_t)e->w.len,
		.suffix_base = e->question_end - node->owner_len,
	};
	return blocks_put(e, &block, NULL, node, &anchor, 0, KNOT_SECTION_ADDITIONAL);
}

void encode_by_blocks(encoder_t *e)
{
	static const encode_way_t way = { blocks_put_rrset, blocks_put_synthesis, blocks_put_glue, blocks_put_linked };
	encode_put_plan(e, &way);
}
