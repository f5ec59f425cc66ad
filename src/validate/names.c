/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/names.h"

#include "libknot/rr/rrtype.h"

static knot_err_t names_fault(validate_checker_t *c, const zone_node_t *node, knot_err_t err, uint16_t type)
{
	return validate_checker_fault(c, err, zone_node_owner(node), type);
}

static bool has_right_bitmap(uint16_t type, knot_bytes_t rdata, const uint8_t *bitmap, size_t len)
{
	knot_bytes_t has = sign_rdata_bitmap(type, rdata);
	return has.len == len && memcmp(has.data, bitmap, len) == 0;
}

/* ---- NSEC ---- */

knot_err_t validate_name_nsec(validate_checker_t *c, const zone_node_t *node)
{
	const zone_rrset_t *nsec = zone_node_rrset(&c->zone->arena, node, KNOT_TYPE_NSEC);
	bool is_member = validate_is_member(c->zone, node);
	if (!is_member) {
		return nsec == NULL ? KNOT_OK : names_fault(c, node, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC);
	}
	if (nsec == NULL || zone_rrset_rr_count(nsec) != 1) {
		return names_fault(c, node, KNOT_ENONSEC, KNOT_TYPE_ANY);
	}
	uint8_t bitmap[SIGN_BITMAP_MAX];
	size_t len;
	knot_err_t err = validate_bitmap(c, node, validate_place(node), SIGN_CHAIN_NSEC, bitmap, &len);
	if (err != KNOT_OK) {
		return err;
	}
	uint32_t ttl;
	knot_bytes_t rdata = { NULL, 0 };
	zone_rr_iter_t iter = zone_rr_begin(node, nsec, false);
	(void)zone_rr_next(&iter, (knot_mut_bytes_t){ c->scratch, KNOT_RDATA_MAX }, &ttl, &rdata);
	return has_right_bitmap(KNOT_TYPE_NSEC, rdata, bitmap, len)
			       ? KNOT_OK
			       : names_fault(c, node, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC);
}

knot_err_t validate_below_nsec(validate_checker_t *c, const zone_node_t *node)
{
	return zone_node_rrset(&c->zone->arena, node, KNOT_TYPE_NSEC) == NULL
			       ? KNOT_OK
			       : names_fault(c, node, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC);
}

/* ---- NSEC3 ---- */

/* chain NULL: look up in the version. */
static knot_err_t names_find(
		validate_checker_t *c, const validate_chain_t *chain, knot_name_t name, validate_cover_t *ret_cover)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	if (!zone_nsec3_hash(zone_nsec3_params(c->zone), name, hash)) {
		return KNOT_ECRYPTO;
	}
	*ret_cover = chain != NULL ? validate_chain_find(chain, c->zone, hash)
				   : validate_tree_find(c->zone, hash, c->scratch);
	return KNOT_OK;
}

/* A name with an NSEC3: so has the one above it, an empty non-terminal or not. RFC 5155 7.1. */
static knot_err_t names_check_parent(validate_checker_t *c, const validate_chain_t *chain, const zone_node_t *node)
{
	knot_name_t owner = zone_node_owner(node);
	if (owner.label_count <= zone_node_owner(c->zone->apex).label_count + 1u) {
		return KNOT_OK; /* the apex, or right below it, which has data */
	}
	knot_name_t parent = knot_name_strip(owner, 1);
	if (c->parent.len != parent.len || !knot_name_eq(c->parent, parent)) {
		validate_cover_t cover;
		knot_err_t err = names_find(c, chain, parent, &cover);
		if (err != KNOT_OK) {
			return err;
		}
		c->parent = parent;
		c->has_parent = cover.is_match;
	}
	return c->has_parent ? KNOT_OK : validate_checker_fault(c, KNOT_ENONSEC, parent, KNOT_TYPE_ANY);
}

static knot_err_t names_check_nsec3(
		validate_checker_t *c, const validate_chain_t *chain, const zone_node_t *node, const zone_node_t *match)
{
	uint8_t bitmap[SIGN_BITMAP_MAX];
	size_t len;
	knot_err_t err = validate_bitmap(c, node, validate_place(node), SIGN_CHAIN_NSEC3, bitmap, &len);
	if (err != KNOT_OK) {
		return err;
	}
	validate_nsec3_t nsec3 = validate_nsec3_of(c->zone, match, c->scratch);
	if (!has_right_bitmap(KNOT_TYPE_NSEC3, nsec3.rdata, bitmap, len)) {
		return names_fault(c, node, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC3);
	}
	return names_check_parent(c, chain, node);
}

/* Names that may lack an NSEC3 where the span around their hash is opted out: delegations that aren't signed, and what
 * leads to these only. RFC 5155 6. */
static bool names_may_opt_out(const validate_checker_t *c, const zone_node_t *node)
{
	const zone_arena_view_t *arena = &c->zone->arena;
	bool is_insecure = (node->flags & ZONE_NODE_CUT) && zone_node_rrset(arena, node, KNOT_TYPE_DS) == NULL &&
			   zone_node_rrset(arena, node, SIGN_TYPE_DELEG) == NULL;
	return is_insecure || zone_node_rrset_count(node) == 0;
}

knot_err_t validate_name_nsec3(validate_checker_t *c, const validate_chain_t *chain, const zone_node_t *node)
{
	if (zone_node_rrset(&c->zone->arena, node, KNOT_TYPE_NSEC) != NULL) {
		return names_fault(c, node, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC);
	}
	validate_cover_t cover;
	knot_err_t err = names_find(c, chain, zone_node_owner(node), &cover);
	if (err != KNOT_OK) {
		return err;
	}
	if (cover.is_match) {
		return names_check_nsec3(c, chain, node, cover.node);
	}
	if (cover.node == NULL || !names_may_opt_out(c, node)) {
		return names_fault(c, node, KNOT_ENONSEC, KNOT_TYPE_ANY);
	}
	knot_err_t err_if_covered = node->flags & ZONE_NODE_CUT ? KNOT_EOPTOUT : KNOT_ENONSEC;
	return cover.is_opt_out ? KNOT_OK : names_fault(c, node, err_if_covered, KNOT_TYPE_ANY);
}
