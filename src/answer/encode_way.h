/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the encoder's two ways have in common: the order in which a plan is spelled, and what is left out when it does
 * not fit. A way is a row of functions that put one thing each; encode_put_plan() calls them. It is compiled into each
 * way with a row that is a constant, so that the calls are direct: hence a header.
 */
#pragma once

#include "src/answer/plan.h"

enum {
	ENCODE_EXTRAS_TRACKED = 256, /* extras of one RRset whose presence is remembered for their signatures' sake */
};

/** A plan being spelled. */
typedef struct {
	answer_plan_t *plan;
	knot_msg_writer_t w;
	uint16_t question_end; /* where the question's name ends: suffixes of it are counted from here */
	uint8_t apex_len;
	bool truncated;
	bool stop;       /* something required did not fit: the message ends here */
	bool beyond;     /* BLOCKS: a pointer would have to lead beyond 0x3FFF: start over with records */
	uint16_t rotate; /* RECORDS */
	size_t lacking;  /* BLOCKS: the fewest bytes that any block lacked, 0: all fitted */
} encoder_t;

/** Where an RRset of ADDITIONAL gets its owner from: a name in the RDATA of an RRset that was put. */
typedef struct {
	const answer_item_t *item;
	uint32_t name_off; /* of the name in the item's body */
} encode_owner_t;

/** A way: each function puts all of something, or nothing and returns false. */
typedef struct {
	/** An RRset of the plan, or its signatures. */
	bool (*put_rrset)(encoder_t *e, answer_item_t *item, knot_section_t section, bool sigs);
	/** The CNAME that a DNAME stands for, RFC 6672 2.2. */
	bool (*put_synthesis)(encoder_t *e, answer_item_t *item);
	/** Addresses that are compiled into a referral. */
	bool (*put_glue)(encoder_t *e, encode_owner_t owner, const zone_block_t *block);
	/** An RRset of a link's target in ADDITIONAL, or its signatures. */
	bool (*put_linked)(encoder_t *e, encode_owner_t owner, const zone_node_t *node, const zone_rrset_t *set,
			bool sigs);
} encode_way_t;

/** Spell all of e->plan. */
void encode_by_blocks(encoder_t *e);
void encode_by_records(encoder_t *e);

/* ---- The order ---- */

/* On the way of most answers. */
#define ENCODE_INLINE static inline __attribute__((always_inline))
/* Beside it: once in a way's code, where the compiler finds that `way` is a constant, too. */
#define ENCODE_APART static __attribute__((noinline, unused))

ENCODE_INLINE bool encode_put_item(encoder_t *e, const encode_way_t *way, answer_item_t *item, knot_section_t section)
{
	switch ((answer_item_kind_t)item->kind) {
	case ANSWER_ITEM_RRSET: return way->put_rrset(e, item, section, false);
	case ANSWER_ITEM_SIGS: return true; /* comes with the signatures */
	case ANSWER_ITEM_SYNTHESIS: return way->put_synthesis(e, item);
	}
	return false;
}

ENCODE_INLINE void encode_put_section(
		encoder_t *e, const encode_way_t *way, unsigned begin, unsigned end, knot_section_t section)
{
	answer_item_t *items = e->plan->items;
	bool any_sigs = false;
	for (unsigned i = begin; i < end && !e->stop; i++) {
		e->stop = !encode_put_item(e, way, &items[i], section);
		any_sigs |= items[i].with_sigs;
	}
	for (unsigned i = begin; any_sigs && i < end && !e->stop; i++) {
		if (items[i].with_sigs) {
			e->stop = !way->put_rrset(e, &items[i], section, true);
		}
	}
}

/** What a link's target gives: addresses and, for SVCB and HTTPS, the RRset of the same type (RFC 9460 4.2). */
typedef struct {
	const zone_node_t *node; /* NULL: no such name */
	const zone_rrset_t *sets[3];
	unsigned count;
} encode_target_t;

ENCODE_INLINE encode_target_t encode_find_target(const encoder_t *e, const zone_extra_t *extra, uint16_t type)
{
	encode_target_t t = { .node = zone_link_get(e->plan->zone, extra->link) };
	const uint16_t types[] = { KNOT_TYPE_A, KNOT_TYPE_AAAA, type };
	unsigned wanted = type == KNOT_TYPE_SVCB || type == KNOT_TYPE_HTTPS ? 3 : 2;
	for (unsigned i = 0; t.node != NULL && i < wanted; i++) {
		t.sets[t.count] = zone_node_rrset(&e->plan->zone->arena, t.node, types[i]);
		t.count += t.sets[t.count] != NULL;
	}
	return t;
}

/*
 * NSEC or NSEC3 of a target that lacks one of the types asked for along with SVCB and HTTPS, or its signature: as Knot,
 * beyond RFC 9460. owner_off: where the owner stands, 0: nowhere yet. Returns where it stands now (KNOT_MSG_HEADER_LEN
 * if the way finds owners itself); 0: did not fit.
 */
ENCODE_APART uint16_t encode_put_target_proof(
		encoder_t *e, const encode_way_t *way, const encode_target_t *t, bool sigs, uint16_t owner_off)
{
	const zone_node_t *node;
	if (t->node->flags & ZONE_NODE_GLUE) {
		return 0;
	}
	const zone_rrset_t *set = answer_type_proof(e->plan->zone, t->node, &node);
	answer_plan_t *plan = e->plan;
	if (set == NULL) {
		return 0;
	}
	answer_item_t item = { .node = node, .set = set, .kind = ANSWER_ITEM_RRSET, .owner = ANSWER_NAMES_MAX - 1 };
	answer_name_t *name = &plan->names[item.owner];
	*name = (answer_name_t){ .name = zone_node_owner(node), .kind = ANSWER_NAME_SPELLED, .off = owner_off };
	if (!way->put_rrset(e, &item, KNOT_SECTION_ADDITIONAL, sigs)) {
		return 0;
	}
	return name->off != 0 ? name->off : KNOT_MSG_HEADER_LEN;
}

ENCODE_INLINE bool encode_has_target_proof(const encoder_t *e, const answer_item_t *item, const encode_target_t *t)
{
	return t->node != NULL && t->count < 3 && e->plan->zone->is_signed &&
	       (zone_rrset_type(item->set) == KNOT_TYPE_SVCB || zone_rrset_type(item->set) == KNOT_TYPE_HTTPS);
}

/** Which extras of an RRset are in the message and may have signatures: four bits for each. */
typedef struct {
	uint64_t sets[ENCODE_EXTRAS_TRACKED / 64];
	uint16_t proofs[ENCODE_EXTRAS_TRACKED / 4]; /* where the owner of a target's denial stands; set with its bit */
} encode_present_t;

static inline bool encode_is_present(const encode_present_t *present, unsigned bit)
{
	return bit < ENCODE_EXTRAS_TRACKED && (present->sets[bit / 64] >> bit % 64 & 1) != 0;
}

/* What the target of the i-th extra gives. */
ENCODE_APART void encode_put_target(encoder_t *e, const encode_way_t *way, encode_owner_t owner,
		const zone_extra_t *extra, unsigned i, bool sigs, encode_present_t *present)
{
	const answer_item_t *item = owner.item;
	bool wants_sigs = e->plan->query->edns.dnssec_ok;
	encode_target_t t = encode_find_target(e, extra, zone_rrset_type(item->set));
	for (unsigned k = 0; k < t.count; k++) {
		unsigned bit = 4 * i + k;
		if (sigs) {
			if (encode_is_present(present, bit)) {
				(void)way->put_linked(e, owner, t.node, t.sets[k], true);
			}
			continue;
		}
		if (way->put_linked(e, owner, t.node, t.sets[k], false) && bit < ENCODE_EXTRAS_TRACKED && wants_sigs &&
				zone_rrset_has_sigs(t.sets[k])) {
			present->sets[bit / 64] |= (uint64_t)1 << bit % 64;
		}
	}
	unsigned bit = 4 * i + 3; /* stands for the denial */
	if (!wants_sigs || bit >= ENCODE_EXTRAS_TRACKED || !encode_has_target_proof(e, item, &t)) {
		return;
	}
	if (!sigs) {
		present->proofs[i] = encode_put_target_proof(e, way, &t, false, 0);
		present->sets[bit / 64] |= (uint64_t)(present->proofs[i] != 0) << bit % 64;
	} else if (encode_is_present(present, bit)) {
		(void)encode_put_target_proof(e, way, &t, true, present->proofs[i]);
	}
}

/* Additional data of one RRset: what its names' targets have. First the RRsets, then the signatures of those that fit.
 */
ENCODE_INLINE void encode_put_extras(
		encoder_t *e, const encode_way_t *way, const answer_item_t *item, bool sigs, encode_present_t *present)
{
	zone_extra_iter_t iter = zone_extras_begin(item->node, item->set);
	zone_extra_t extra;
	for (unsigned i = 0; !e->beyond && zone_extras_next(&iter, &extra); i++) {
		encode_owner_t owner = { item, extra.name_off };
		if (extra.type == 0) {
			encode_put_target(e, way, owner, &extra, i, sigs, present);
		} else if (!sigs && !way->put_glue(e, owner, &extra.block)) {
			e->truncated = true;
		}
	}
}

ENCODE_INLINE void encode_put_additional(encoder_t *e, const encode_way_t *way)
{
	const answer_plan_t *plan = e->plan;
	for (unsigned i = 0; i < plan->item_count && !e->stop; i++) {
		const answer_item_t *item = &plan->items[i];
		if (item->kind != ANSWER_ITEM_RRSET || !zone_rrset_has_extras(item->node, item->set)) {
			continue;
		}
		encode_present_t present;
		memset(present.sets, 0, sizeof(present.sets));
		encode_put_extras(e, way, item, false, &present);
		if (present.sets[0] | present.sets[1] | present.sets[2] | present.sets[3]) {
			encode_put_extras(e, way, item, true, &present);
		}
	}
}

ENCODE_INLINE void encode_put_plan(encoder_t *e, const encode_way_t *way)
{
	const answer_plan_t *plan = e->plan;
	if (plan->authority_begin > 0) {
		encode_put_section(e, way, 0, plan->authority_begin, KNOT_SECTION_ANSWER);
	}
	encode_put_section(e, way, plan->authority_begin, plan->item_count, KNOT_SECTION_AUTHORITY);
	encode_put_additional(e, way);
}
