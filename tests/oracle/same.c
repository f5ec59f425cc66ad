/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/same.h"

#include "libknot/base/assert.h"
#include "src/zone/lookup.h"

#include <string.h>

typedef struct {
	const zone_contents_t *zone, *want;
	unsigned parts, turn; /* of searches */
} pair_t;

static bool is_same_name(knot_name_t a, knot_name_t b)
{
	return a.len == b.len && memcmp(a.wire, b.wire, a.len) == 0;
}

static bool is_same_owner(const zone_node_t *a, const zone_node_t *b)
{
	return a == NULL || b == NULL ? a == b : is_same_name(zone_node_owner(a), zone_node_owner(b));
}

static bool is_same_block(zone_block_t a, zone_block_t b)
{
	if (a.len != b.len || a.rr_count != b.rr_count || a.pointer_count != b.pointer_count ||
			memcmp(a.bytes, b.bytes, a.len) != 0) {
		return false;
	}
	for (unsigned i = 0; i < a.pointer_count; i++) {
		if (zone_block_pointer(&a, i) != zone_block_pointer(&b, i)) {
			return false;
		}
	}
	return true;
}

static const char *extras_fault(const pair_t *p, const zone_node_t *node, const zone_rrset_t *set,
		const zone_node_t *want_node, const zone_rrset_t *want_set)
{
	zone_extra_iter_t iter = zone_extras_begin(node, set), want_iter = zone_extras_begin(want_node, want_set);
	zone_extra_t extra = { .type = 0 }, want = extra; /* a compiler with a sanitizer sees no first value */
	for (;;) {
		bool is_there = zone_extras_next(&iter, &extra);
		if (is_there != zone_extras_next(&want_iter, &want)) {
			return "the number of targets with additional data";
		}
		if (!is_there) {
			return NULL;
		}
		if (extra.type != want.type || extra.name_off != want.name_off) {
			return "a target of additional data";
		}
		if (extra.type != 0 ? !is_same_block(extra.block, want.block)
				    : !is_same_owner(zone_link_get(p->zone, extra.link),
						      zone_link_get(p->want, want.link))) {
			return extra.type != 0 ? "glue" : "where a link leads";
		}
	}
}

static const char *set_fault(const pair_t *p, const zone_node_t *node, const zone_node_t *want_node, unsigned i)
{
	const zone_rrset_t *set = zone_node_rrset_at(&p->zone->arena, node, i);
	const zone_rrset_t *want = zone_node_rrset_at(&p->want->arena, want_node, i);
	if (zone_rrset_type(set) != zone_rrset_type(want) || zone_rrset_is_huge(set) != zone_rrset_is_huge(want) ||
			zone_rrset_rr_count(set) != zone_rrset_rr_count(want)) {
		return "types or number of records";
	}
	if (!is_same_block(zone_rrset_body(set), zone_rrset_body(want))) {
		return "records";
	}
	if (!is_same_block(zone_rrset_sigs(set), zone_rrset_sigs(want))) {
		return "signatures";
	}
	return extras_fault(p, node, set, want_node, want);
}

static bool is_same_nsec3(zone_nsec3_t a, zone_nsec3_t b)
{
	return is_same_owner(a.node, b.node) && (a.node == NULL || a.is_match == b.is_match);
}

static const char *nsec3_fault(const pair_t *p, const zone_node_t *node, const zone_node_t *want)
{
	if (!is_same_nsec3(zone_nsec3_of(p->zone, node), zone_nsec3_of(p->want, want))) {
		return "the NSEC3 of a name";
	}
	bool has_wildcard = !(node->flags & ZONE_NODE_CUT); /* nothing is synthesized below a cut */
	bool is_same = !has_wildcard ||
		       is_same_nsec3(zone_nsec3_of_wildcard(p->zone, node), zone_nsec3_of_wildcard(p->want, want));
	return is_same ? NULL : "the NSEC3 of a wildcard";
}

/* The interval that a node of the chain covers, as it is kept beside its records. */
static bool is_same_interval(const zone_node_t *node, const zone_node_t *want)
{
	size_t skip = node->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0;
	size_t want_skip = want->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0;
	return memcmp(zone_node_links(node) + skip, zone_node_links(want) + want_skip, 2 * sizeof(uint32_t)) == 0;
}

static const char *node_fault(const pair_t *p, const zone_node_t *node, const zone_node_t *want)
{
	if (!is_same_owner(node, want)) {
		return "a name is missing, or should be";
	}
	if ((node->flags ^ want->flags) & ZONE_NODE_FACTS) {
		return "facts of a name";
	}
	unsigned count = zone_node_rrset_count(node);
	const char *fault = count != zone_node_rrset_count(want) ? "number of types" : NULL;
	for (unsigned i = 0; i < count && fault == NULL; i++) {
		fault = set_fault(p, node, want, i);
	}
	bool has_chain = zone_nsec3_params(p->want)->algorithm != 0;
	if (fault == NULL && has_chain && !(node->flags & (ZONE_NODE_NSEC3 | ZONE_NODE_GLUE))) {
		fault = nsec3_fault(p, node, want);
	}
	if (fault == NULL && has_chain && (node->flags & ZONE_NODE_NSEC3) && !is_same_interval(node, want)) {
		fault = "the interval of an NSEC3";
	}
	return fault;
}

/* Searches lead where the walk does: from the root to the name, and to the one before it. */
static const char *search_fault(const pair_t *p, const zone_tree_t *tree, zone_ref_t ref, zone_ref_t before)
{
	const zone_node_t *node = zone_at(&p->zone->arena, ref);
	knot_name_t owner = zone_node_owner(node);
	if (zone_tree_find(&p->zone->arena, tree, owner) != ref) {
		return "a name is not found";
	}
	if (zone_tree_below(&p->zone->arena, tree, owner) != before) {
		return "the name before a name is not found";
	}
	zone_link_t self = zone_node_self(node);
	return self != 0 && zone_link_get(p->zone, self) != node ? "a name's number leads elsewhere" : NULL;
}

static const char *tree_fault(
		const pair_t *p, const zone_tree_t *tree, const zone_tree_t *want_tree, knot_name_t *ret_at)
{
	static _Thread_local zone_tree_iter_t iter, want_iter; /* large */
	zone_tree_begin(&p->zone->arena, tree, &iter);
	zone_tree_begin(&p->want->arena, want_tree, &want_iter);
	zone_ref_t before = 0;
	for (unsigned number = p->turn;; number++) {
		zone_ref_t ref = zone_tree_next(&iter), want = zone_tree_next(&want_iter);
		if (ref == 0 || want == 0) {
			return ref == want ? NULL : "the number of names";
		}
		*ret_at = zone_leaf_owner(&p->zone->arena, ref);
		const char *fault = node_fault(p, zone_at(&p->zone->arena, ref), zone_at(&p->want->arena, want));
		if (fault == NULL && number % p->parts == 0) {
			fault = search_fault(p, tree, ref, before);
		}
		if (fault != NULL) {
			return fault;
		}
		before = ref;
	}
}

static const char *whole_fault(const zone_contents_t *a, const zone_contents_t *b)
{
	const zone_nsec3_params_t *pa = zone_nsec3_params(a), *pb = zone_nsec3_params(b);
	if (a->serial != b->serial || a->soa_minimum_ttl != b->soa_minimum_ttl) {
		return "serial or TTLs of the zone";
	}
	if (a->is_signed != b->is_signed || a->has_nsec != b->has_nsec) {
		return "whether the zone is signed";
	}
	bool is_same_salt = pa->salt_len == pb->salt_len &&
			    (pa->salt == NULL || pb->salt == NULL || memcmp(pa->salt, pb->salt, pa->salt_len) == 0);
	if (pa->algorithm != pb->algorithm ||
			(pb->algorithm != 0 && (pa->iterations != pb->iterations || !is_same_salt))) {
		return "the parameters of NSEC3";
	}
	if (a->wire_size != b->wire_size || a->record_count != b->record_count) {
		return "the size of the zone";
	}
	return zone_at(&a->arena, zone_tree_find(&a->arena, &a->auth, zone_node_owner(b->apex))) == a->apex
			       ? NULL
			       : "the apex";
}

const char *same_fault(const zone_contents_t *zone, const zone_contents_t *want, unsigned parts, unsigned turn,
		knot_name_t *ret_at)
{
	const zone_tree_t *const trees[][2] = { { &zone->auth, &want->auth },
		{ zone_glue_tree(zone), zone_glue_tree(want) }, { zone_nsec3_tree(zone), zone_nsec3_tree(want) } };
	const pair_t pair = { zone, want, parts, turn };
	*ret_at = zone_node_owner(want->apex);
	const char *fault = whole_fault(zone, want);
	for (size_t i = 0; i < KNOT_LEN(trees) && fault == NULL; i++) {
		fault = trees[i][0]->count != trees[i][1]->count ? "the number of names"
								 : tree_fault(&pair, trees[i][0], trees[i][1], ret_at);
	}
	return fault;
}

unsigned same_stale_hints(const zone_contents_t *zone)
{
	static _Thread_local zone_tree_iter_t iter;
	unsigned count = 0;
	zone_tree_begin(&zone->arena, &zone->auth, &iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
		const zone_node_t *node = zone_at(&zone->arena, ref);
		zone_nsec3_hint_t hints[] = { zone_node_nsec3(node), zone_node_nsec3_wildcard(node) };
		for (unsigned i = 0; i < KNOT_LEN(hints); i++) {
			count += hints[i].link != 0 && !zone_nsec3_hint_is_right(zone, hints[i]);
		}
	}
	return count;
}
