/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/plan.h"

#include "libknot/base/assert.h"

#include <assert.h>

knot_name_t answer_body_name(
		const zone_node_t *node, const zone_rrset_t *set, uint32_t off, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	const uint8_t *body = zone_rrset_body(set).bytes;
	const uint8_t *p = body + off;
	size_t len = 0;
	unsigned labels = 0;
	while (*p != 0) {
		if (*p >= 0xC0) {
			uint16_t to = load_be16(p) & 0x3FFF;
			p = to & ZONE_PTR_BODY ? body + (to & ZONE_PTR_BODY_MAX) : node->owner + to;
			continue;
		}
		assert(len + 1u + *p < KNOT_NAME_MAX);
		memcpy(ret_wire + len, p, 1u + *p);
		len += 1u + *p;
		labels++;
		p += 1u + *p;
	}
	ret_wire[len] = 0;
	return (knot_name_t){ ret_wire, (uint8_t)(len + 1), (uint8_t)labels };
}

static uint8_t plan_add_name(answer_plan_t *plan, answer_name_kind_t kind, knot_name_t name, uint16_t off, uint8_t item)
{
	assert(plan->name_count < ANSWER_NAMES_MAX);
	plan->names[plan->name_count] =
			(answer_name_t){ .name = name, .off = off, .kind = (uint8_t)kind, .item = item };
	return plan->name_count++;
}

/* The place of a node's own name: in the question when that ends with it, else at the chased name if it is that, else
   spelled out. */
static uint8_t plan_name_of_node(answer_plan_t *plan, const zone_node_t *node)
{
	knot_name_t owner = zone_node_owner(node);
	const knot_query_t *q = plan->query;
	if (owner.len <= q->qname.len &&
			memcmp(q->qname_lower + q->qname.len - owner.len, owner.wire, owner.len) == 0) {
		return plan_add_name(plan, ANSWER_NAME_QUESTION, owner,
				(uint16_t)(KNOT_MSG_QNAME_OFF + q->qname.len - owner.len), 0);
	}
	for (unsigned i = 0; i < plan->name_count; i++) {
		const answer_name_t *known = &plan->names[i];
		if (known->name.len == owner.len && memcmp(known->name.wire, owner.wire, owner.len) == 0) {
			return (uint8_t)i;
		}
	}
	return plan_add_name(plan, ANSWER_NAME_SPELLED, owner, 0, 0);
}

static answer_item_t *plan_add_item(answer_plan_t *plan, answer_item_kind_t kind, const zone_node_t *node,
		const zone_rrset_t *set, uint8_t owner)
{
	assert(plan->item_count < ANSWER_ITEMS_MAX);
	answer_item_t *item = &plan->items[plan->item_count++];
	*item = (answer_item_t){ .node = node,
		.set = set,
		.kind = (uint8_t)kind,
		.owner = owner,
		.with_sigs = plan->query->edns.dnssec_ok && zone_rrset_has_sigs(set) };
	return item;
}

static bool plan_wants_proof(const answer_plan_t *plan)
{
	return plan->query->edns.dnssec_ok && plan->zone->is_signed;
}

static bool plan_has_nsec3(const zone_contents_t *zone)
{
	return zone_nsec3_params(zone)->algorithm != 0;
}

/* A denial record of `node`, unless the plan has it already. */
static void plan_add_denial(answer_plan_t *plan, const zone_node_t *node, uint16_t type)
{
	const zone_rrset_t *set = node != NULL ? zone_node_rrset(&plan->zone->arena, node, type) : NULL;
	if (set == NULL) {
		return;
	}
	for (unsigned i = plan->authority_begin; i < plan->item_count; i++) {
		if (plan->items[i].set == set && plan->items[i].node == node) {
			return;
		}
	}
	plan_add_item(plan, ANSWER_ITEM_RRSET, node, set, plan_name_of_node(plan, node));
}

static void plan_add_nsec_cover(answer_plan_t *plan, knot_name_t name)
{
	plan_add_denial(plan, zone_nsec_cover(plan->zone, name), KNOT_TYPE_NSEC);
}

static void plan_add_nsec3(answer_plan_t *plan, zone_nsec3_t found)
{
	plan_add_denial(plan, found.node, KNOT_TYPE_NSEC3);
}

/* The node above, not of the apex: names have all their ancestors in the tree. */
static const zone_node_t *plan_parent_of(const zone_contents_t *zone, const zone_node_t *node)
{
	if (node->owner_label_count == zone->apex->owner_label_count + 1) {
		return zone->apex;
	}
	const zone_node_t *parent = zone_lookup(zone, knot_name_strip(zone_node_owner(node), 1)).encloser;
	assert(parent->owner_label_count < node->owner_label_count);
	return parent;
}

/*
 * RFC 5155 7.2.1: an NSEC3 that matches the closest encloser and one that covers the next closer name. With opt-out the
 * closest encloser may itself have no NSEC3 (an insecure delegation's empty non-terminal): then the closest provable
 * one above it counts. `encloser` is an existing name above `name`. Returns the closest provable encloser.
 */
static const zone_node_t *plan_add_nsec3_encloser_proof(
		answer_plan_t *plan, const zone_node_t *encloser, knot_name_t name)
{
	zone_nsec3_t match = zone_nsec3_of(plan->zone, encloser);
	while (match.node != NULL && !match.is_match && encloser != plan->zone->apex) {
		encloser = plan_parent_of(plan->zone, encloser);
		match = zone_nsec3_of(plan->zone, encloser);
	}
	plan_add_nsec3(plan, match);
	plan_add_nsec3(plan, zone_nsec3_find(plan->zone, zone_next_closer(name, encloser)));
	return encloser;
}

/* The name exists and lacks the type (RFC 4035 3.1.3.1, RFC 5155 7.2.3 to 7.2.4): also for the DS of a delegation. */
static void plan_add_nodata_proof(answer_plan_t *plan, const zone_node_t *node, knot_name_t name)
{
	const zone_contents_t *zone = plan->zone;
	if (!plan_has_nsec3(zone)) {
		if (zone_node_rrset(&zone->arena, node, KNOT_TYPE_NSEC) != NULL) {
			plan_add_denial(plan, node, KNOT_TYPE_NSEC);
		} else {
			plan_add_nsec_cover(plan, name);
		}
		return;
	}
	zone_nsec3_t own = zone_nsec3_of(zone, node);
	if (own.is_match || node == zone->apex) {
		plan_add_nsec3(plan, own);
		return;
	}
	/* Opt-out: no NSEC3 of its own. The cover of the node's name is prepared; it is the one for the next closer
	   name when the parent is provable, which is the usual case of a delegation directly below the apex. */
	const zone_node_t *parent = plan_parent_of(zone, node);
	zone_nsec3_t match = zone_nsec3_of(zone, parent);
	if (match.is_match) {
		plan_add_nsec3(plan, match);
		plan_add_nsec3(plan, own);
	} else {
		plan_add_nsec3_encloser_proof(plan, parent, zone_node_owner(node));
	}
}

/* The name was expanded from a wildcard, so it does not exist itself (RFC 4035 3.1.3.3, RFC 5155 7.2.6). */
static void plan_add_wildcard_proof(answer_plan_t *plan, const zone_node_t *encloser, knot_name_t name)
{
	if (plan_has_nsec3(plan->zone)) {
		plan_add_nsec3(plan, zone_nsec3_find(plan->zone, zone_next_closer(name, encloser)));
	} else {
		plan_add_nsec_cover(plan, name);
	}
}

/* RFC 4035 3.1.3.4, RFC 5155 7.2.5 */
static void plan_add_wildcard_nodata_proof(
		answer_plan_t *plan, const zone_node_t *wildcard, const zone_node_t *encloser, knot_name_t name)
{
	if (plan_has_nsec3(plan->zone)) {
		plan_add_nsec3(plan, zone_nsec3_of(plan->zone, wildcard));
		plan_add_nsec3_encloser_proof(plan, encloser, name);
		return;
	}
	if (zone_node_rrset(&plan->zone->arena, wildcard, KNOT_TYPE_NSEC) != NULL) {
		plan_add_denial(plan, wildcard, KNOT_TYPE_NSEC);
	} else {
		plan_add_nsec_cover(plan, zone_node_owner(wildcard));
	}
	plan_add_nsec_cover(plan, name);
}

/* RFC 4035 3.1.3.2, RFC 5155 7.2.2 */
static void plan_add_nxdomain_proof(answer_plan_t *plan, const zone_node_t *encloser, knot_name_t name)
{
	if (plan_has_nsec3(plan->zone)) {
		const zone_node_t *provable = plan_add_nsec3_encloser_proof(plan, encloser, name);
		plan_add_nsec3(plan, zone_nsec3_of_wildcard(plan->zone, provable));
		return;
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t wildcard;
	plan_add_nsec_cover(plan, name);
	if (knot_name_wildcard_below(zone_node_owner(encloser), wire, &wildcard)) {
		plan_add_nsec_cover(plan, wildcard);
	}
}

const zone_rrset_t *answer_type_proof(
		const zone_contents_t *zone, const zone_node_t *node, const zone_node_t **ret_owner_node)
{
	if (!plan_has_nsec3(zone)) {
		const zone_rrset_t *set = zone_node_rrset(&zone->arena, node, KNOT_TYPE_NSEC);
		if (set != NULL) {
			*ret_owner_node = node;
		}
		return set;
	}
	zone_nsec3_t own = zone_nsec3_of(zone, node);
	if (own.node == NULL || !own.is_match) {
		return NULL;
	}
	*ret_owner_node = own.node;
	return zone_node_rrset(&zone->arena, own.node, KNOT_TYPE_NSEC3);
}

/* Where a chain of names stands: the name being looked up and its place in the message. */
typedef struct {
	knot_name_t name;
	uint8_t place; /* index into names */
	uint8_t links; /* CNAMEs followed so far */
	struct {
		const zone_node_t *encloser;
		knot_name_t name;
	} expanded[ANSWER_CHAIN_MAX + 1]; /* names answered by wildcards: to be proven in AUTHORITY */
	uint8_t expanded_count;
} chain_t;

static void plan_begin_authority(answer_plan_t *plan)
{
	plan->authority_begin = plan->item_count;
}

static void plan_end_positive(answer_plan_t *plan, const chain_t *chain)
{
	if (plan_wants_proof(plan)) {
		for (unsigned i = 0; i < chain->expanded_count; i++) {
			plan_add_wildcard_proof(plan, chain->expanded[i].encloser, chain->expanded[i].name);
		}
	}
}

static void plan_add_soa(answer_plan_t *plan)
{
	const zone_node_t *apex = plan->zone->apex;
	const zone_rrset_t *soa = zone_node_rrset(&plan->zone->arena, apex, KNOT_TYPE_SOA);
	if (soa != NULL) {
		plan_add_item(plan, ANSWER_ITEM_RRSET, apex, soa, plan_name_of_node(plan, apex))->negative_ttl = true;
	}
}

static void plan_end_nodata(answer_plan_t *plan, const chain_t *chain, const zone_lookup_t *found)
{
	plan_begin_authority(plan);
	plan_add_soa(plan);
	if (plan_wants_proof(plan)) {
		if (found->kind == ZONE_WILDCARD) {
			plan_add_wildcard_nodata_proof(plan, found->node, found->encloser, chain->name);
		} else {
			plan_add_nodata_proof(plan, found->node, chain->name);
		}
	}
	plan_end_positive(plan, chain);
}

static void plan_end_nxdomain(answer_plan_t *plan, const chain_t *chain, const zone_lookup_t *found)
{
	/* The rcode is about the last name of a chain, RFC 6604 3. */
	plan->rcode = KNOT_RCODE_NXDOMAIN;
	plan_begin_authority(plan);
	plan_add_soa(plan);
	if (plan_wants_proof(plan)) {
		plan_add_nxdomain_proof(plan, found->encloser, chain->name);
	}
	plan_end_positive(plan, chain);
}

static void plan_end_referral(answer_plan_t *plan, const chain_t *chain, const zone_lookup_t *found)
{
	const zone_node_t *cut = found->node;
	/* AA is about the first owner of the answer section (RFC 1034 4.1.1): it stays when a CNAME led here. */
	plan->authoritative = plan->item_count > 0;
	plan_begin_authority(plan);
	uint8_t owner = plan_name_of_node(plan, cut);
	const zone_rrset_t *ns = zone_node_rrset(&plan->zone->arena, cut, KNOT_TYPE_NS);
	/* NS of a cut is never signed. */
	plan_add_item(plan, ANSWER_ITEM_RRSET, cut, ns, owner)->with_sigs = false;
	if (plan_wants_proof(plan)) {
		const zone_rrset_t *ds = zone_node_rrset(&plan->zone->arena, cut, KNOT_TYPE_DS);
		if (ds != NULL) {
			plan_add_item(plan, ANSWER_ITEM_RRSET, cut, ds, owner);
		} else if (found->kind == ZONE_WILDCARD) {
			plan_add_wildcard_nodata_proof(plan, cut, found->encloser, chain->name);
		} else {
			plan_add_nodata_proof(plan, cut, zone_node_owner(cut));
		}
	}
	plan_end_positive(plan, chain);
}

static bool plan_has_seen(const answer_plan_t *plan, const chain_t *chain, knot_name_t target)
{
	if (target.len == plan->query->qname.len && memcmp(target.wire, plan->query->qname_lower, target.len) == 0) {
		return true;
	}
	for (unsigned i = 0; i < chain->links; i++) {
		if (memcmp(target.wire, plan->chased[i], target.len) == 0) {
			return true;
		}
	}
	return false;
}

/* Go on with the target (lower case) of the CNAME that is the last item; false when the chain ends there. */
static bool plan_follow_target(answer_plan_t *plan, chain_t *chain, knot_name_t target)
{
	if (plan_has_seen(plan, chain, target)) {
		return false; /* a loop: all of it is in the answer */
	}
	assert(chain->links < ANSWER_CHAIN_MAX);
	uint8_t *kept = plan->chased[chain->links++];
	memcpy(kept, target.wire, target.len);
	chain->name = (knot_name_t){ kept, target.len, target.label_count };
	chain->place = plan_add_name(plan, ANSWER_NAME_RDATA, chain->name, 0, (uint8_t)(plan->item_count - 1));
	return knot_name_in(chain->name, zone_node_owner(plan->zone->apex));
}

static bool plan_follow_cname(answer_plan_t *plan, chain_t *chain, const zone_node_t *node, const zone_rrset_t *cname)
{
	if (chain->links == ANSWER_CHAIN_MAX) {
		return false;
	}
	plan_add_item(plan, ANSWER_ITEM_RRSET, node, cname, chain->place);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t target = answer_body_name(node, cname, ZONE_RR_RDATA_OFF, wire);
	knot_name_lower(target, wire);
	return plan_follow_target(plan, chain, target);
}

/* RFC 6672 3.2 and 3.3: the DNAME, and a CNAME from the name to its substitution. */
static bool plan_follow_dname(answer_plan_t *plan, chain_t *chain, const zone_node_t *node)
{
	if (chain->links == ANSWER_CHAIN_MAX) {
		return false;
	}
	const zone_rrset_t *dname = zone_node_rrset(&plan->zone->arena, node, KNOT_TYPE_DNAME);
	uint8_t dname_item = 0;
	while (dname_item < plan->item_count &&
			(plan->items[dname_item].set != dname || plan->items[dname_item].node != node)) {
		dname_item++;
	}
	if (dname_item == plan->item_count) {
		plan_add_item(plan, ANSWER_ITEM_RRSET, node, dname, plan_name_of_node(plan, node));
	}
	uint8_t wire[KNOT_NAME_MAX], joined[KNOT_NAME_MAX];
	knot_name_t to = answer_body_name(node, dname, ZONE_RR_RDATA_OFF, wire);
	size_t prefix_len = (size_t)(chain->name.len - node->owner_len);
	if (prefix_len + to.len > KNOT_NAME_MAX) {
		plan->rcode = KNOT_RCODE_YXDOMAIN;
		return false;
	}
	memcpy(joined, chain->name.wire, prefix_len);
	knot_name_lower(to, joined + prefix_len);
	knot_name_t target = { joined, (uint8_t)(prefix_len + to.len),
		(uint8_t)(chain->name.label_count - node->owner_label_count + to.label_count) };
	answer_item_t *made = plan_add_item(plan, ANSWER_ITEM_SYNTHESIS, node, dname, chain->place);
	made->with_sigs = false;
	made->dname = dname_item;
	return plan_follow_target(plan, chain, target) && plan->query->qtype != KNOT_TYPE_CNAME;
}

/*
 * RFC 8482 4.1: one RRset stands for ANY, as in Knot the one of the lowest type; where that is RRSIG, because all
 * others are higher, the signatures. A query for RRSIG gets some of them.
 */
static const zone_rrset_t *plan_pick_rrset(const zone_arena_view_t *arena, const zone_node_t *node, uint16_t qtype)
{
	if (qtype != KNOT_TYPE_RRSIG && qtype != KNOT_TYPE_ANY) {
		return zone_node_rrset(arena, node, qtype);
	}
	unsigned count = zone_node_rrset_count(node);
	const zone_rrset_t *first = count > 0 ? zone_node_rrset_at(arena, node, 0) : NULL;
	if (first == NULL || (qtype == KNOT_TYPE_ANY && zone_rrset_type(first) <= KNOT_TYPE_RRSIG)) {
		return first;
	}
	for (unsigned i = 0; i < count; i++) {
		const zone_rrset_t *set = zone_node_rrset_at(arena, node, i);
		if (zone_rrset_has_sigs(set)) {
			return set;
		}
	}
	if (qtype == KNOT_TYPE_ANY) {
		return first;
	}
	return zone_node_rrset(arena, node, KNOT_TYPE_RRSIG); /* signatures of RRsets that are not there */
}

static void plan_add_all_sigs(answer_plan_t *plan, const zone_node_t *node, uint8_t place)
{
	unsigned count = zone_node_rrset_count(node);
	for (unsigned i = 0; i < count && plan->item_count < ANSWER_CHAIN_MAX + ANSWER_SIGS_MAX; i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&plan->zone->arena, node, i);
		if (zone_rrset_has_sigs(set)) {
			plan_add_item(plan, ANSWER_ITEM_SIGS, node, set, place)->with_sigs = true;
		}
	}
}

static bool plan_follows_cname(uint16_t qtype)
{
	return qtype != KNOT_TYPE_CNAME && qtype != KNOT_TYPE_ANY && qtype != KNOT_TYPE_RRSIG &&
	       qtype != KNOT_TYPE_NSEC;
}

/* The node answers: the name itself or a wildcard. True: look up the chain's next name. */
static bool plan_from_node(answer_plan_t *plan, chain_t *chain, const zone_lookup_t *found)
{
	const zone_node_t *node = found->node;
	uint16_t qtype = plan->query->qtype;
	bool is_alias = (node->flags & ZONE_NODE_CNAME) && plan_follows_cname(qtype);
	const zone_arena_view_t *arena = &plan->zone->arena;
	const zone_rrset_t *set = plan_pick_rrset(arena, node, is_alias ? KNOT_TYPE_CNAME : qtype);
	if (set == NULL) {
		plan_end_nodata(plan, chain, found);
		return false;
	}
	if (found->kind == ZONE_WILDCARD && chain->expanded_count < KNOT_LEN(chain->expanded)) {
		chain->expanded[chain->expanded_count].encloser = found->encloser;
		chain->expanded[chain->expanded_count++].name = chain->name;
	}
	if (is_alias) {
		if (plan_follow_cname(plan, chain, node, set)) {
			return true;
		}
	} else if (qtype == KNOT_TYPE_RRSIG && zone_rrset_type(set) != KNOT_TYPE_RRSIG) {
		plan_add_item(plan, ANSWER_ITEM_SIGS, node, set, chain->place)->with_sigs = true;
	} else if (qtype == KNOT_TYPE_ANY && zone_rrset_type(set) > KNOT_TYPE_RRSIG && zone_rrset_has_sigs(set)) {
		plan_add_all_sigs(plan, node, chain->place);
	} else {
		plan_add_item(plan, ANSWER_ITEM_RRSET, node, set, chain->place);
	}
	plan_begin_authority(plan);
	plan_end_positive(plan, chain);
	return false;
}

static bool plan_from_lookup(answer_plan_t *plan, chain_t *chain, const zone_lookup_t *found)
{
	switch (found->kind) {
	case ZONE_FOUND:
	case ZONE_WILDCARD:
		/*
		 * DS belongs to the parent's side of a cut, RFC 4035 3.1.4.1. NS at a wildcard is undefined by RFC
		 * 4592 4.2: as in Knot the wildcard is a cut, and the referral has the wildcard's own name.
		 */
		if ((found->node->flags & ZONE_NODE_CUT) && plan->query->qtype != KNOT_TYPE_DS) {
			plan_end_referral(plan, chain, found);
			return false;
		}
		return plan_from_node(plan, chain, found);
	case ZONE_DELEGATION: plan_end_referral(plan, chain, found); return false;
	case ZONE_DNAME:
		if (plan_follow_dname(plan, chain, found->node)) {
			return true;
		}
		plan_begin_authority(plan);
		plan_end_positive(plan, chain);
		return false;
	case ZONE_NXDOMAIN: plan_end_nxdomain(plan, chain, found); return false;
	}
	return false;
}

static inline void plan_begin(answer_plan_t *plan, const zone_contents_t *zone, const knot_query_t *query)
{
	plan->zone = zone;
	plan->query = query;
	plan->rcode = KNOT_RCODE_NOERROR;
	plan->authoritative = true;
	plan->item_count = plan->name_count = 0;
}

void answer_plan_soa(const zone_contents_t *zone, const knot_query_t *query, answer_plan_t *ret_plan)
{
	answer_plan_t *plan = ret_plan;
	plan_begin(plan, zone, query);
	plan->authoritative = false;
	const knot_name_t name = { query->qname_lower, query->qname.len, query->qname.label_count };
	uint8_t owner = plan_add_name(plan, ANSWER_NAME_QUESTION, name, KNOT_MSG_QNAME_OFF, 0);
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	assert(soa != NULL); /* the builder refuses a zone without */
	plan_add_item(plan, ANSWER_ITEM_RRSET, zone->apex, soa, owner)->with_sigs = false;
	plan_begin_authority(plan);
}

void answer_plan_borrowed(const zone_contents_t *zone, const knot_query_t *query, const zone_node_t *node,
		const zone_rrset_t *set, answer_plan_t *ret_plan)
{
	answer_plan_t *plan = ret_plan;
	plan_begin(plan, zone, query);
	const knot_name_t name = { query->qname_lower, query->qname.len, query->qname.label_count };
	uint8_t owner = plan_add_name(plan, ANSWER_NAME_QUESTION, name, KNOT_MSG_QNAME_OFF, 0);
	plan_add_item(plan, ANSWER_ITEM_RRSET, node, set, owner)->with_sigs = false;
	plan_begin_authority(plan);
}

void answer_plan(const zone_contents_t *zone, const knot_query_t *query, zone_lookup_t found, answer_plan_t *ret_plan)
{
	KNOT_ASSERT_SLOW(knot_name_in(query->qname, zone_node_owner(zone->apex)));
	answer_plan_t *plan = ret_plan;
	plan_begin(plan, zone, query);

	chain_t chain;
	chain.name = (knot_name_t){ query->qname_lower, query->qname.len, query->qname.label_count };
	chain.place = plan_add_name(plan, ANSWER_NAME_QUESTION, chain.name, KNOT_MSG_QNAME_OFF, 0);
	chain.links = chain.expanded_count = 0;
	while (plan_from_lookup(plan, &chain, &found)) {
		found = zone_lookup(zone, chain.name);
	}
}
