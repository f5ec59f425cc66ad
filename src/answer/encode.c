/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/encode.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rdata.h"

#include <assert.h>

enum {
	CHAIN_COMPRESSIBLE_MAX = 512, /* bytes; the names of an alias and of what follows it share what they like */
	EXTRA_TRACKED = 256,          /* extras of one RRset whose presence is remembered for their signatures' sake */
};

typedef struct {
	answer_plan_t *plan;
	uint8_t *data;
	size_t max;
	size_t len;
	uint16_t question_end; /* where the question's name ends: suffixes of it are counted from here */
	uint8_t apex_len;
	uint16_t counts[4];
	bool truncated;
	bool stop;      /* something required did not fit: the message ends here */
	bool beyond;    /* a pointer would have to lead beyond 0x3FFF: start over, record by record */
	size_t lacking; /* the fewest bytes that any block lacked, 0: all fitted */
	uint16_t rotate;
	knot_msg_writer_t *slow; /* not NULL: write record by record */
} encoder_t;

/* Where what a block refers to stands. */
typedef struct {
	uint32_t owner_off;  /* the owner name */
	int32_t suffix_base; /* + r: the suffix of the node's owner that starts at r, when the question holds it */
	uint32_t body_base;  /* + x: what BODY-relative placeholders name */
} anchor_t;

/* The suffix of a node's owner whose last `tail_len` bytes are meant, for an owner that the question doesn't hold. */
__attribute__((noinline)) static uint32_t encode_locate_suffix(
		const encoder_t *e, const answer_name_t *name, unsigned tail_len)
{
	if (tail_len <= e->apex_len) {
		return e->question_end - tail_len;
	}
	/* Step over the labels before it, through the pointers that end our own RDATA names. */
	unsigned skip = name->name.len - tail_len;
	uint32_t at = name->off;
	while (true) {
		uint8_t len = e->data[at];
		if (len >= 0xC0) {
			at = load_be16(e->data + at) & ZONE_PTR_MSG_MAX;
		} else if (skip == 0) {
			return at;
		} else {
			assert(len < skip);
			skip -= 1u + len;
			at += 1u + len;
		}
	}
}

static inline uint32_t encode_resolve_pointer(const encoder_t *e, const answer_name_t *name, const zone_node_t *node,
		const anchor_t *anchor, uint16_t placeholder)
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
	return encode_locate_suffix(e, name, node->owner_len - (unsigned)r);
}

/* Owners of RRs [first..count) of a block at `rr`: all the same name. */
static inline void encode_put_owners(uint8_t *rr, unsigned first, unsigned count, uint32_t owner_off)
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
static inline bool encode_put_block(encoder_t *e, const zone_block_t *block, const answer_name_t *name,
		const zone_node_t *node, const anchor_t *anchor, unsigned first, knot_section_t section)
{
	size_t skip = 2 * (size_t)first;
	uint8_t *to = e->data + e->len - skip; /* where the block's byte 0 would be */
	uint32_t beyond;
	memcpy(to + skip, block->bytes + skip, block->len - skip);
	encode_put_owners(to, first, block->rr_count, anchor->owner_off);
	beyond = anchor->owner_off;
	for (unsigned i = 0; i < block->pointer_count; i++) {
		uint8_t *p = to + zone_block_pointer(block, i);
		uint32_t off = encode_resolve_pointer(e, name, node, anchor, load_be16(p));
		beyond |= off;
		store_be16(p, (uint16_t)(0xC000 | off));
	}
	if (beyond > ZONE_PTR_MSG_MAX) {
		e->beyond = true;
		return false;
	}
	e->len += block->len - skip;
	e->counts[section] = (uint16_t)(e->counts[section] + block->rr_count);
	return true;
}

static inline bool encode_block_fits(encoder_t *e, size_t len)
{
	KNOT_ASSERT_SLOW(e->len <= e->max);
	size_t room = e->max - e->len;
	if (len <= room) {
		return true;
	}
	if (e->lacking == 0 || len - room < e->lacking) {
		e->lacking = len - room;
	}
	return false;
}

/* Bytes of the longest suffix, by labels, that `name` has in common with the question: at least the apex. */
static unsigned encode_shared_with_question(const encoder_t *e, knot_name_t name)
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
__attribute__((noinline)) static size_t encode_spelled_len(const encoder_t *e, const answer_name_t *name)
{
	unsigned shared = encode_shared_with_question(e, name->name);
	return name->name.len - shared + (shared == 1 ? 1u : 2u);
}

/* Write such an owner of `len` bytes. */
__attribute__((noinline)) static void encode_spell_owner(
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
static inline bool encode_put_owned(encoder_t *e, const zone_block_t *block, answer_name_t *name,
		const zone_node_t *node, knot_section_t section, size_t *ret_base)
{
	bool spell = name->off == 0;
	size_t owner_len = spell ? encode_spelled_len(e, name) : 2;
	if (!encode_block_fits(e, block->len - 2 + owner_len)) {
		return false;
	}
	size_t start = e->len;
	if (spell) {
		encode_spell_owner(e, name, owner_len, e->data + start);
		e->len += owner_len;
	}
	size_t base = start + owner_len - 2;
	anchor_t anchor = {
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
	if (!encode_put_block(e, block, name, node, &anchor, spell, section)) {
		e->len = start;
		return false;
	}
	*ret_base = base;
	return true;
}

__attribute__((noinline)) static void encode_override_ttls(encoder_t *e, size_t base, size_t end, uint32_t ttl)
{
	/* The first owner may be spelled, but `base` is where it would begin as a pointer. */
	for (size_t at = base; at < end;) {
		store_be32(e->data + at + ZONE_RR_TTL_OFF, ttl);
		at += ZONE_RR_RDATA_OFF + load_be16(e->data + at + ZONE_RR_RDATA_LEN_OFF);
	}
}

/* Record by record (see encode.h): the same RRset through the general writer. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	bool sigs;
	knot_name_t owner;
	bool override_ttl;
	uint32_t ttl;
	uint32_t rotate;
} slow_set_t;

static bool encode_slow_put_run(encoder_t *e, const slow_set_t *s, knot_section_t section, uint32_t from, uint32_t to,
		knot_mut_bytes_t scratch)
{
	zone_rr_iter_t iter = zone_rr_begin(s->node, s->set, s->sigs);
	uint16_t type = s->sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(s->set);
	uint32_t ttl;
	knot_bytes_t rdata;
	for (uint32_t i = 0; zone_rr_next(&iter, scratch, &ttl, &rdata); i++) {
		if (i >= from && i < to &&
				knot_msg_put_rr(e->slow, section, s->owner, type, KNOT_CLASS_IN,
						s->override_ttl ? s->ttl : ttl, rdata) != KNOT_OK) {
			return false;
		}
	}
	return true;
}

__attribute__((noinline)) static bool encode_slow_put_set(encoder_t *e, const slow_set_t *s, knot_section_t section)
{
	uint8_t bytes[KNOT_RDATA_MAX];
	knot_mut_bytes_t scratch = { bytes, sizeof(bytes) };
	knot_msg_mark_t mark = knot_msg_mark(e->slow);
	uint16_t rr_count = zone_rrset_rr_count(s->set);
	uint32_t first = s->rotate != 0 && rr_count > 1 ? s->rotate % rr_count : 0;
	bool ok = encode_slow_put_run(e, s, section, first, UINT32_MAX, scratch) &&
		  (first == 0 || encode_slow_put_run(e, s, section, 0, first, scratch));
	if (!ok) {
		knot_msg_rollback(e->slow, &mark);
	}
	e->len = e->slow->len;
	e->counts[section] = e->slow->counts[section];
	return ok;
}

/* A copied block of addresses: its RDATA holds no names. */
static bool encode_slow_put_addresses(encoder_t *e, const zone_block_t *block, knot_name_t owner)
{
	knot_msg_mark_t mark = knot_msg_mark(e->slow);
	for (size_t at = 0; at < block->len;) {
		const uint8_t *rr = block->bytes + at;
		uint16_t len = load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
		if (knot_msg_put_rr(e->slow, KNOT_SECTION_ADDITIONAL, owner, load_be16(rr + 2), load_be16(rr + 4),
				    load_be32(rr + ZONE_RR_TTL_OFF),
				    (knot_bytes_t){ rr + ZONE_RR_RDATA_OFF, len }) != KNOT_OK) {
			knot_msg_rollback(e->slow, &mark);
			return false;
		}
		at += ZONE_RR_RDATA_OFF + len;
	}
	e->len = e->slow->len;
	e->counts[KNOT_SECTION_ADDITIONAL] = e->slow->counts[KNOT_SECTION_ADDITIONAL];
	return true;
}

__attribute__((noinline)) static bool encode_slow_put_rrset(
		encoder_t *e, const answer_item_t *item, knot_section_t section, bool sigs)
{
	const answer_plan_t *plan = e->plan;
	slow_set_t s = { item->node, item->set, sigs, plan->names[item->owner].name, item->negative_ttl,
		plan->zone->soa_minimum_ttl, section == KNOT_SECTION_ANSWER && !sigs ? e->rotate : 0 };
	return !zone_rrset_is_huge(item->set) && encode_slow_put_set(e, &s, section);
}

/* The target of a CNAME as an owner: where that was written to. */
static inline void encode_place_name(const answer_plan_t *plan, answer_name_t *name)
{
	if (name->kind == ANSWER_NAME_RDATA && name->off == 0) {
		name->off = (uint16_t)(plan->items[name->item].off + ZONE_RR_RDATA_OFF);
	}
}

static inline bool encode_put_rrset(encoder_t *e, answer_item_t *item, knot_section_t section, bool sigs)
{
	answer_plan_t *plan = e->plan;
	answer_name_t *name = &plan->names[item->owner];
	if (e->slow != NULL) {
		return encode_slow_put_rrset(e, item, section, sigs);
	}
	if (zone_rrset_is_huge(item->set) && !sigs) {
		return false;
	}
	encode_place_name(plan, name);
	zone_block_t block = sigs ? zone_rrset_sigs(item->set) : zone_rrset_body(item->set);
	size_t base;
	if (!encode_put_owned(e, &block, name, item->node, section, &base)) {
		return false;
	}
	if (!sigs) {
		item->off = (uint16_t)base;
	}
	if (item->negative_ttl) {
		encode_override_ttls(e, base, e->len, plan->zone->soa_minimum_ttl);
	}
	return true;
}

/*
 * The CNAME that a DNAME stands for: labels of the owner before the DNAME's, then where the DNAME leads. RFC 6672 2.2
 */
__attribute__((noinline)) static bool encode_put_synthesis(encoder_t *e, answer_item_t *item)
{
	answer_plan_t *plan = e->plan;
	answer_name_t *name = &plan->names[item->owner];
	size_t prefix_len = (size_t)(name->name.len - item->node->owner_len);
	if (e->slow != NULL) {
		uint8_t wire[KNOT_NAME_MAX], to[KNOT_NAME_MAX];
		knot_name_t target = answer_body_name(item->node, item->set, ZONE_RR_RDATA_OFF, to);
		memcpy(wire, name->name.wire, prefix_len);
		memcpy(wire + prefix_len, target.wire, target.len);
		bool ok = knot_msg_put_rr(e->slow, KNOT_SECTION_ANSWER, name->name, KNOT_TYPE_CNAME, KNOT_CLASS_IN,
					  zone_rrset_ttl(item->set),
					  (knot_bytes_t){ wire, prefix_len + target.len }) == KNOT_OK;
		e->len = e->slow->len;
		e->counts[KNOT_SECTION_ANSWER] = e->slow->counts[KNOT_SECTION_ANSWER];
		return ok;
	}
	size_t target_off = plan->items[item->dname].off + (size_t)ZONE_RR_RDATA_OFF;
	encode_place_name(plan, name);
	if (!encode_block_fits(e, ZONE_RR_RDATA_OFF + prefix_len + 2)) {
		return false;
	}
	if (target_off > ZONE_PTR_MSG_MAX || e->len > ZONE_PTR_MSG_MAX) {
		e->beyond = true;
		return false;
	}
	uint8_t *rr = e->data + e->len;
	store_be16(rr, (uint16_t)(0xC000 | name->off));
	store_be16(rr + 2, KNOT_TYPE_CNAME);
	store_be16(rr + 4, KNOT_CLASS_IN);
	store_be32(rr + ZONE_RR_TTL_OFF, zone_rrset_ttl(item->set));
	store_be16(rr + ZONE_RR_RDATA_LEN_OFF, (uint16_t)(prefix_len + 2));
	memcpy(rr + ZONE_RR_RDATA_OFF, name->name.wire, prefix_len);
	store_be16(rr + ZONE_RR_RDATA_OFF + prefix_len, (uint16_t)(0xC000 | target_off));
	item->off = (uint16_t)e->len;
	e->len += ZONE_RR_RDATA_OFF + prefix_len + 2;
	e->counts[KNOT_SECTION_ANSWER]++;
	return true;
}

static inline bool encode_put_item(encoder_t *e, answer_item_t *item, knot_section_t section)
{
	switch ((answer_item_kind_t)item->kind) {
	case ANSWER_ITEM_RRSET: return encode_put_rrset(e, item, section, false);
	case ANSWER_ITEM_SIGS: return true; /* comes with the signatures */
	case ANSWER_ITEM_SYNTHESIS: return encode_put_synthesis(e, item);
	}
	return false;
}

static void encode_put_section(encoder_t *e, unsigned begin, unsigned end, knot_section_t section)
{
	answer_item_t *items = e->plan->items;
	bool any_sigs = false;
	for (unsigned i = begin; i < end && !e->stop; i++) {
		e->stop = !encode_put_item(e, &items[i], section);
		any_sigs |= items[i].with_sigs;
	}
	for (unsigned i = begin; any_sigs && i < end && !e->stop; i++) {
		if (items[i].with_sigs) {
			e->stop = !encode_put_rrset(e, &items[i], section, true);
		}
	}
}

/* One RRset of a link's target, owned by the name at `owner_off` of the message. */
static bool encode_put_linked(encoder_t *e, const zone_node_t *node, const zone_rrset_t *set, bool sigs,
		uint32_t owner_off, knot_name_t owner)
{
	if (e->slow != NULL) {
		slow_set_t s = { .node = node, .set = set, .sigs = sigs, .owner = owner };
		return encode_slow_put_set(e, &s, KNOT_SECTION_ADDITIONAL);
	}
	if (zone_rrset_is_huge(set)) {
		return false;
	}
	zone_block_t block = sigs ? zone_rrset_sigs(set) : zone_rrset_body(set);
	if (!encode_block_fits(e, block.len)) {
		return false;
	}
	/* What goes into ADDITIONAL has no compressed name but owners, so nothing but OWNER 0 is looked at. */
	anchor_t anchor = {
		.owner_off = owner_off, .body_base = (uint32_t)e->len, .suffix_base = e->question_end - node->owner_len
	};
	return encode_put_block(e, &block, NULL, node, &anchor, 0, KNOT_SECTION_ADDITIONAL);
}

/* What a link's target gives: addresses and, for SVCB and HTTPS, the RRset of the same type (RFC 9460 4.2). */
typedef struct {
	const zone_node_t *node; /* NULL: no such name */
	const zone_rrset_t *sets[3];
	unsigned count;
} link_target_t;

static link_target_t encode_link_target(const encoder_t *e, const zone_extra_t *extra, uint16_t type)
{
	link_target_t t = { .node = zone_link_get(e->plan->zone, extra->link) };
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
 * beyond RFC 9460. owner_off: where the owner stands, 0: nowhere yet. Returns where it stands now; 0: did not fit.
 */
__attribute__((noinline)) static uint16_t encode_put_target_proof(
		encoder_t *e, const link_target_t *t, bool sigs, uint16_t owner_off)
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
	if (!encode_put_rrset(e, &item, KNOT_SECTION_ADDITIONAL, sigs)) {
		return 0;
	}
	return e->slow != NULL ? KNOT_MSG_HEADER_LEN : name->off; /* the general writer finds owners itself */
}

static bool encode_has_target_proof(const encoder_t *e, const answer_item_t *item, const link_target_t *t)
{
	return t->node != NULL && t->count < 3 && e->plan->zone->is_signed &&
	       (zone_rrset_type(item->set) == KNOT_TYPE_SVCB || zone_rrset_type(item->set) == KNOT_TYPE_HTTPS);
}

/* Which extras of an RRset are in the message and may have signatures. */
typedef struct {
	uint64_t sets[EXTRA_TRACKED / 64];
	uint16_t proofs[EXTRA_TRACKED / 4]; /* where the owner of a target's denial stands; set with its bit */
} extras_present_t;

/*
 * Additional data of one RRset: what its names' targets have. First the RRsets, then the signatures of those that fit.
 */
static void encode_put_extras(encoder_t *e, const answer_item_t *item, bool sigs, extras_present_t *present)
{
	zone_extra_iter_t iter = zone_extras_begin(item->node, item->set);
	zone_extra_t extra;
	bool wants_sigs = e->plan->query->edns.dnssec_ok;
	for (unsigned i = 0; !e->beyond && zone_extras_next(&iter, &extra); i++) {
		const zone_extra_t *x = &extra;
		uint32_t owner_off = (uint32_t)item->off + x->name_off;
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t owner = { 0 };
		bool fit = true;
		if (e->slow != NULL) {
			owner = answer_body_name(item->node, item->set, x->name_off, wire);
		}
		if (x->type != 0) {
			if (sigs) {
				continue;
			}
			if (e->slow != NULL) {
				fit = encode_slow_put_addresses(e, &x->block, owner);
			} else {
				anchor_t anchor = { .owner_off = owner_off };
				fit = encode_block_fits(e, x->block.len) &&
				      encode_put_block(e, &x->block, NULL, item->node, &anchor, 0,
						      KNOT_SECTION_ADDITIONAL);
			}
			e->truncated = e->truncated || !fit;
			continue;
		}
		link_target_t t = encode_link_target(e, x, zone_rrset_type(item->set));
		for (unsigned k = 0; k < t.count; k++) {
			unsigned bit = 4 * i + k;
			if (sigs) {
				if (bit < EXTRA_TRACKED && (present->sets[bit / 64] >> bit % 64 & 1)) {
					(void)encode_put_linked(e, t.node, t.sets[k], true, owner_off, owner);
				}
				continue;
			}
			if (encode_put_linked(e, t.node, t.sets[k], false, owner_off, owner)) {
				if (bit < EXTRA_TRACKED && wants_sigs && zone_rrset_has_sigs(t.sets[k])) {
					present->sets[bit / 64] |= (uint64_t)1 << bit % 64;
				}
			}
		}
		/* Bit 3 of an extra stands for the denial. */
		unsigned bit = 4 * i + 3;
		if (!wants_sigs || bit >= EXTRA_TRACKED || !encode_has_target_proof(e, item, &t)) {
			continue;
		}
		if (!sigs) {
			present->proofs[i] = encode_put_target_proof(e, &t, false, 0);
			present->sets[bit / 64] |= (uint64_t)(present->proofs[i] != 0) << bit % 64;
		} else if (present->sets[bit / 64] >> bit % 64 & 1) {
			(void)encode_put_target_proof(e, &t, true, present->proofs[i]);
		}
	}
}

static void encode_put_additional(encoder_t *e)
{
	const answer_plan_t *plan = e->plan;
	for (unsigned i = 0; i < plan->item_count && !e->stop; i++) {
		const answer_item_t *item = &plan->items[i];
		if (item->kind != ANSWER_ITEM_RRSET || !zone_rrset_has_extras(item->node, item->set)) {
			continue;
		}
		extras_present_t present;
		memset(present.sets, 0, sizeof(present.sets));
		encode_put_extras(e, item, false, &present);
		if (present.sets[0] | present.sets[1] | present.sets[2] | present.sets[3]) {
			encode_put_extras(e, item, true, &present);
		}
	}
}

static void encode_put_all(encoder_t *e)
{
	const answer_plan_t *plan = e->plan;
	if (plan->authority_begin > 0) {
		encode_put_section(e, 0, plan->authority_begin, KNOT_SECTION_ANSWER);
	}
	encode_put_section(e, plan->authority_begin, plan->item_count, KNOT_SECTION_AUTHORITY);
	encode_put_additional(e);
}

__attribute__((noinline)) static void encode_put_all_slowly(encoder_t *e, knot_mut_bytes_t out)
{
	answer_plan_t *plan = e->plan;
	const knot_query_t *q = plan->query;
	knot_msg_writer_t writer;
	size_t start = KNOT_MSG_HEADER_LEN + (size_t)q->question_len;
	knot_msg_continue(&writer, out, start, (knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count });
	e->slow = &writer;
	e->len = start;
	memset(e->counts, 0, sizeof(e->counts));
	e->counts[KNOT_SECTION_QUESTION] = 1;
	e->truncated = e->stop = e->beyond = false;
	encode_put_all(e);
	e->slow = NULL;
}

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

answer_encoded_t answer_encode(answer_plan_t *plan, knot_mut_bytes_t out, bool is_udp, uint16_t rotate)
{
	KNOT_ASSERT_SLOW(plan->authority_begin <= plan->item_count);
	encoder_t e;
	e.plan = plan;
	e.data = out.data;
	e.len = KNOT_MSG_HEADER_LEN + (size_t)plan->query->question_len;
	e.max = out.len > e.len ? out.len : e.len;
	e.question_end = (uint16_t)(KNOT_MSG_QNAME_OFF + plan->query->qname.len);
	e.apex_len = plan->zone->apex->owner_len;
	memset(e.counts, 0, sizeof(e.counts));
	e.counts[KNOT_SECTION_QUESTION] = 1;
	e.truncated = e.stop = e.beyond = false;
	e.lacking = 0;
	e.rotate = rotate;
	e.slow = NULL;
	if (encode_plan_rotates(plan, rotate)) {
		encode_put_all_slowly(&e, out);
	} else {
		encode_put_all(&e);
		if (e.beyond || (e.lacking > 0 && is_udp && e.lacking <= encode_savings_max(&e))) {
			encode_put_all_slowly(&e, out);
		}
	}
	answer_encoded_t ret = {
		.len = e.len, .truncated = e.truncated || (e.stop && is_udp), .too_big = e.stop && !is_udp
	};
	memcpy(ret.counts, e.counts, sizeof(ret.counts));
	ret.first_authority_is_soa =
			plan->item_count > plan->authority_begin && plan->items[plan->authority_begin].negative_ttl;
	return ret;
}
