/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/encode.h"

#include "libknot/base/assert.h"
#include "src/answer/encode_way.h"

enum {
	CHAIN_COMPRESSIBLE_MAX = 512, /* bytes; the names of an alias and of what follows it share what they like */
};

/* Rotation shows in ANSWER only, and only in sets of several records. */
static bool encode_plan_rotates(const answer_plan_t *plan, uint16_t rotate)
{
	for (unsigned i = 0; rotate != ANSWER_ROTATE_NONE && i < plan->authority_begin; i++) {
		if (plan->items[i].kind == ANSWER_ITEM_RRSET && zone_rrset_rr_count(plan->items[i].set) > 1) {
			return true;
		}
	}
	return false;
}

/* Servers' names that may end with the cut: none, unless a name in RDATA leads to the owner. */
static unsigned encode_servers_below(const zone_rrset_t *ns)
{
	zone_block_t block = zone_rrset_body(ns);
	for (unsigned i = 0; i < block.pointer_count; i++) {
		if ((load_be16(block.bytes + zone_block_pointer(&block, i)) & ZONE_PTR_MSG_MAX) == 0) {
			return block.rr_count;
		}
	}
	return 0;
}

/*
 * At most how many bytes shorter the message would be with every name compressed against every other. Blocks are
 * compressed when the zone is loaded, against their owner: what their names share with the rest of the question, or
 * with the target of an alias, is found only record by record. That is worth its time where it makes the difference.
 */
__attribute__((noinline)) static size_t encode_savings_max(const encoder_t *e)
{
	const answer_plan_t *plan = e->plan;
	if (plan->item_count == 0) {
		return 0;
	}
	const answer_item_t *first = &plan->items[0];
	size_t own_len = (size_t)plan->query->qname.len - e->apex_len;
	if (plan->authority_begin == 0 && !plan->authoritative) {
		size_t below = (size_t)plan->query->qname.len - first->node->owner_len;
		return below > 0 ? below * encode_servers_below(first->set) : 0;
	}
	bool is_chain = first->kind == ANSWER_ITEM_SYNTHESIS || zone_rrset_type(first->set) == KNOT_TYPE_CNAME ||
			zone_rrset_type(first->set) == KNOT_TYPE_DNAME;
	if (is_chain) {
		return CHAIN_COMPRESSIBLE_MAX;
	}
	if (plan->authority_begin > 0 && !(first->node->flags & ZONE_NODE_WILDCARD)) {
		return 0; /* its owner is the question */
	}
	return 2 * own_len; /* the two names of an SOA, the targets of a wildcard */
}

/* Only the question is left. */
static void encode_undo(encoder_t *e)
{
	const knot_msg_mark_t question = { .len = KNOT_MSG_HEADER_LEN + (size_t)e->plan->query->question_len,
		.counts = { 1 } };
	knot_msg_rollback(&e->w, &question);
}

__attribute__((noinline)) static void encode_start_over(encoder_t *e)
{
	encode_undo(e);
	e->truncated = e->stop = e->beyond = false;
	encode_by_records(e);
}

answer_encoded_t answer_encode(answer_plan_t *plan, knot_msg_writer_t *w, bool is_udp, uint16_t rotate)
{
	KNOT_ASSERT_SLOW(plan->authority_begin <= plan->item_count);
	KNOT_ASSERT_SLOW(w->len == KNOT_MSG_HEADER_LEN + (size_t)plan->query->question_len);
	encoder_t e;
	e.plan = plan;
	e.w = *w;
	e.question_end = (uint16_t)(KNOT_MSG_QNAME_OFF + plan->query->qname.len);
	e.apex_len = plan->zone->apex->owner_len;
	e.truncated = e.stop = e.beyond = false;
	e.lacking = 0;
	e.rotate = rotate;
	if (encode_plan_rotates(plan, rotate)) {
		encode_by_records(&e);
	} else {
		encode_by_blocks(&e);
		if (e.beyond || (e.lacking > 0 && is_udp && e.lacking <= encode_savings_max(&e))) {
			encode_start_over(&e);
		}
	}
	bool is_too_big = e.stop && !is_udp;
	if (is_too_big) {
		encode_undo(&e);
	}
	w->len = e.w.len;
	memcpy(w->counts, e.w.counts, sizeof(w->counts));
	return (answer_encoded_t){
		.truncated = e.truncated || (e.stop && is_udp),
		.too_big = is_too_big,
		.first_authority_is_soa = plan->item_count > plan->authority_begin &&
					  plan->items[plan->authority_begin].negative_ttl,
	};
}
