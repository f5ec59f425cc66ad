/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/check.h"

#include "libknot/base/encode.h"
#include "libknot/rr/rdata.h"
#include "src/zone/lookup.h"
#include "src/zone/nsec3_hash.h"

#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum {
	FAULT_CNAME_BESIDE,
	FAULT_CNAME_MULTIPLE,
	FAULT_DNAME_CHILD,
	FAULT_DNAME_MULTIPLE,
	FAULT_DNAME_NS,
	FAULT_SOA_MULTIPLE,
	FAULT_NS_APEX,
	FAULT_GLUE,
	FAULT_DS_LEN,
	FAULT_NSEC3PARAM_FLAGS,
	FAULT_NSEC3PARAM_ALGORITHM,
	FAULT_DNSKEY_MISSING,
	FAULT_CDS_MISSING,
	FAULT_CDNSKEY_MISSING,
	FAULT_CDS_MISMATCH,
	FAULT_CDS_DELETE,
	FAULT_RRSIG,
	FAULT_NSEC_MISSING,
	FAULT_NSEC_BITMAP,
	FAULT_NSEC_CHAIN,
	FAULT_NSEC3_OPT_OUT,
	FAULT_NSEC3_ITERATIONS,
	FAULT_NSEC3_LIMIT,
	FAULT_TARGET_ALIAS,
	FAULT_COUNT,
} fault_t;

typedef enum {
	CLASS_MANDATORY, /* always checked; fails the zone unless the checks are soft */
	CLASS_NOTED,     /* always checked; never fails */
	CLASS_OPTIONAL,
	CLASS_REFUSED, /* always checked; always fails: the operator asked for it */
} fault_class_t;

/* The texts are Knot's; operators' scripts look for them. */
static const struct {
	fault_class_t class;
	const char *text;
} rows[FAULT_COUNT] = {
	[FAULT_CNAME_BESIDE] = { CLASS_MANDATORY, "another record exists beside CNAME" },
	[FAULT_CNAME_MULTIPLE] = { CLASS_MANDATORY, "multiple CNAME records" },
	[FAULT_DNAME_CHILD] = { CLASS_MANDATORY, "child record exists under DNAME" },
	[FAULT_DNAME_MULTIPLE] = { CLASS_MANDATORY, "multiple DNAME records" },
	[FAULT_DNAME_NS] = { CLASS_MANDATORY, "NS record exists beside DNAME" },
	[FAULT_SOA_MULTIPLE] = { CLASS_MANDATORY, "multiple SOA records" },
	[FAULT_NS_APEX] = { CLASS_NOTED, "missing NS at the zone apex" },
	[FAULT_GLUE] = { CLASS_OPTIONAL, "missing glue record" },
	[FAULT_DS_LEN] = { CLASS_OPTIONAL, "invalid digest length in DS" },
	[FAULT_NSEC3PARAM_FLAGS] = { CLASS_OPTIONAL, "invalid flags in NSEC3PARAM" },
	[FAULT_NSEC3PARAM_ALGORITHM] = { CLASS_OPTIONAL, "invalid algorithm in NSEC3PARAM" },
	[FAULT_DNSKEY_MISSING] = { CLASS_OPTIONAL, "missing DNSKEY" },
	[FAULT_CDS_MISSING] = { CLASS_OPTIONAL, "missing CDS" },
	[FAULT_CDNSKEY_MISSING] = { CLASS_OPTIONAL, "missing CDNSKEY" },
	[FAULT_CDS_MISMATCH] = { CLASS_OPTIONAL, "CDS not match CDNSKEY" },
	[FAULT_CDS_DELETE] = { CLASS_OPTIONAL, "invalid CDNSKEY/CDS for DNSSEC delete algorithm" },
	[FAULT_RRSIG] = { CLASS_OPTIONAL, "no valid signature for a record" },
	[FAULT_NSEC_MISSING] = { CLASS_OPTIONAL, "missing NSEC(3) record" },
	[FAULT_NSEC_BITMAP] = { CLASS_OPTIONAL, "wrong NSEC(3) bitmap" },
	[FAULT_NSEC_CHAIN] = { CLASS_OPTIONAL, "inconsistent NSEC(3) chain" },
	[FAULT_NSEC3_OPT_OUT] = { CLASS_OPTIONAL, "wrong NSEC3 opt-out" },
	/* Ours. */
	[FAULT_NSEC3_ITERATIONS] = { CLASS_NOTED, "too many NSEC3 iterations" },
	[FAULT_NSEC3_LIMIT] = { CLASS_REFUSED, "more NSEC3 iterations than nsec3-max-iterations" },
	[FAULT_TARGET_ALIAS] = { CLASS_OPTIONAL, "target is an alias" },
};

typedef struct {
	const zone_contents_t *zone;
	zone_checks_t checks;
	uint64_t now_s;
	zone_message_cb on_message;
	void *ctx;
	uint8_t *scratch, *scratch2; /* KNOT_RDATA_MAX bytes each; NULL without optional checks */
	bool has_failed, is_dnssec;
	const zone_node_t *nsec_before; /* last node that should have an NSEC */
	/* Whose NSEC or NSEC3 was last compared with the next one, of some names, and the first one of an NSEC3 chain,
	 * which is a ring. */
	const zone_node_t *nsec_done, *nsec_first;
	zone_tree_iter_t *below; /* for a look at what is below a name */
} check_t;

static zone_message_level_t level_of(const check_t *c, fault_t fault)
{
	if (rows[fault].class == CLASS_REFUSED) {
		return ZONE_MESSAGE_ERROR;
	}
	if (c->checks == ZONE_CHECKS_SOFT) {
		return ZONE_MESSAGE_NOTICE;
	}
	return rows[fault].class == CLASS_MANDATORY ? ZONE_MESSAGE_ERROR : ZONE_MESSAGE_WARNING;
}

static void check_report(check_t *c, const zone_node_t *node, fault_t fault, const char *hint)
{
	if (rows[fault].class == CLASS_OPTIONAL && c->checks == ZONE_CHECKS_OFF) {
		return;
	}
	zone_message_level_t level = level_of(c, fault);
	c->has_failed = c->has_failed || level == ZONE_MESSAGE_ERROR;
	if (c->on_message != NULL) {
		char owner[KNOT_NAME_TEXT_MAX], text[2 * KNOT_NAME_TEXT_MAX + 128];
		knot_name_print(zone_node_owner(node), owner);
		snprintf(text, sizeof(text), "check, node %s, %s%s", owner, rows[fault].text, hint);
		c->on_message(&(zone_message_t){ .level = level, .text = text, .owner = owner }, c->ctx);
	}
}

static bool next_rdata(const check_t *c, zone_rr_iter_t *iter, knot_bytes_t *ret_rdata)
{
	uint32_t ttl;
	return zone_rr_next(iter, (knot_mut_bytes_t){ c->scratch, KNOT_RDATA_MAX }, &ttl, ret_rdata);
}

static const zone_rrset_t *rrset_of(const check_t *c, const zone_node_t *node, uint16_t type)
{
	return zone_node_rrset(&c->zone->arena, node, type);
}

static bool has(const check_t *c, const zone_node_t *node, uint16_t type)
{
	return rrset_of(c, node, type) != NULL;
}

/* ---- Mandatory ---- */

static void check_cname(check_t *c, const zone_node_t *node)
{
	const zone_rrset_t *cname = rrset_of(c, node, KNOT_TYPE_CNAME);
	if (cname == NULL) {
		return;
	}
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		uint16_t type = zone_rrset_type(zone_node_rrset_at(&c->zone->arena, node, i));
		if (type != KNOT_TYPE_CNAME && !knot_rrtype_beside_cname(type)) {
			char name[KNOT_TYPE_TEXT_MAX], hint[KNOT_TYPE_TEXT_MAX + 16];
			knot_rrtype_print(type, name);
			snprintf(hint, sizeof(hint), " (record type %s)", name);
			check_report(c, node, FAULT_CNAME_BESIDE, hint);
			break;
		}
	}
	if (zone_rrset_rr_count(cname) > 1) {
		check_report(c, node, FAULT_CNAME_MULTIPLE, "");
	}
}

/* True if names lie below one that is a cut or below a cut: only authoritative ones have a flag for that. */
static bool has_glue_below(const check_t *c, const zone_node_t *node)
{
	const zone_contents_t *zone = c->zone;
	zone_tree_seek(&zone->arena, zone_glue_tree(zone), zone_node_owner(node), c->below);
	zone_ref_t ref = zone_tree_next(c->below);
	if (ref != 0 && zone_at(&zone->arena, ref) == node) {
		ref = zone_tree_next(c->below);
	}
	return ref != 0 && knot_name_in(zone_leaf_owner(&zone->arena, ref), zone_node_owner(node));
}

static void check_dname_children(check_t *c, const zone_node_t *node)
{
	bool is_cut = node->flags & (ZONE_NODE_CUT | ZONE_NODE_GLUE);
	if (is_cut ? has_glue_below(c, node) : (node->flags & ZONE_NODE_CHILDREN) != 0) {
		check_report(c, node, FAULT_DNAME_CHILD, "");
	}
}

static void check_dname(check_t *c, const zone_node_t *node)
{
	const zone_rrset_t *dname = rrset_of(c, node, KNOT_TYPE_DNAME);
	if (dname == NULL) {
		return;
	}
	check_dname_children(c, node);
	if (zone_rrset_rr_count(dname) > 1) {
		check_report(c, node, FAULT_DNAME_MULTIPLE, "");
	}
	if (!(node->flags & ZONE_NODE_APEX) && has(c, node, KNOT_TYPE_NS)) {
		check_report(c, node, FAULT_DNAME_NS, "");
	}
}

static void check_apex(check_t *c, const zone_node_t *node)
{
	if (!(node->flags & ZONE_NODE_APEX)) {
		return;
	}
	if (zone_rrset_rr_count(rrset_of(c, node, KNOT_TYPE_SOA)) > 1) {
		check_report(c, node, FAULT_SOA_MULTIPLE, "");
	}
	if (!has(c, node, KNOT_TYPE_NS)) {
		check_report(c, node, FAULT_NS_APEX, "");
	}
}

/* ---- Optional ---- */

static bool has_address(const check_t *c, const zone_node_t *node)
{
	return node != NULL && (has(c, node, KNOT_TYPE_A) || has(c, node, KNOT_TYPE_AAAA));
}

/*
 * True if a server's name has the addresses that this zone must give. Names below another cut are that zone's matter.
 */
static bool is_reachable(const check_t *c, const zone_node_t *node, knot_name_t server)
{
	const zone_contents_t *zone = c->zone;
	if (!knot_name_in(server, zone_node_owner(zone->apex))) {
		return true;
	}
	zone_lookup_t found = zone_lookup(zone, server);
	switch (found.kind) {
	case ZONE_FOUND:
	case ZONE_WILDCARD: return has_address(c, found.node);
	case ZONE_DELEGATION:
		if (found.node != node) {
			return true;
		}
		zone_ref_t ref = zone_tree_find(&zone->arena, zone_glue_tree(zone), server);
		return ref != 0 && has_address(c, zone_at(&zone->arena, ref));
	case ZONE_DNAME:
	case ZONE_NXDOMAIN: return false;
	}
	return false;
}

/* Reports a fault with the record that is its cause. */
static void report_target(check_t *c, const zone_node_t *node, fault_t fault, uint16_t type, knot_name_t target)
{
	char name[KNOT_NAME_TEXT_MAX], word[KNOT_TYPE_TEXT_MAX], hint[KNOT_NAME_TEXT_MAX + KNOT_TYPE_TEXT_MAX + 8];
	knot_name_print(target, name);
	knot_rrtype_print(type, word);
	snprintf(hint, sizeof(hint), " (%s %s)", word, name);
	check_report(c, node, fault, hint);
}

/* True if the name (lower case) owns a CNAME in this zone. */
static bool is_alias(const check_t *c, knot_name_t name)
{
	if (!knot_name_in(name, zone_node_owner(c->zone->apex))) {
		return false;
	}
	zone_lookup_t found = zone_lookup(c->zone, name);
	return (found.kind == ZONE_FOUND || found.kind == ZONE_WILDCARD) && has(c, found.node, KNOT_TYPE_CNAME);
}

/* RFC 2181 10.3: the targets of NS and MX are not aliases. */
static void check_aliases(check_t *c, const zone_node_t *node)
{
	static const struct {
		uint16_t type;
		uint8_t name_at; /* bytes of RDATA before the name */
	} targets[] = { { KNOT_TYPE_NS, 0 }, { KNOT_TYPE_MX, 2 } };
	for (size_t i = 0; i < KNOT_LEN(targets); i++) {
		const zone_rrset_t *set = rrset_of(c, node, targets[i].type);
		if (set == NULL) {
			continue;
		}
		zone_rr_iter_t iter = zone_rr_begin(node, set, false);
		for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
			uint8_t lower[KNOT_NAME_MAX];
			knot_name_t target = knot_name_of(rdata.data + targets[i].name_at);
			knot_name_lower(target, lower);
			if (is_alias(c, (knot_name_t){ lower, target.len, target.label_count })) {
				report_target(c, node, FAULT_TARGET_ALIAS, targets[i].type, target);
			}
		}
	}
}

static void check_glue(check_t *c, const zone_node_t *node)
{
	const zone_rrset_t *ns = rrset_of(c, node, KNOT_TYPE_NS);
	if (ns == NULL) {
		return;
	}
	zone_rr_iter_t iter = zone_rr_begin(node, ns, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		uint8_t lower[KNOT_NAME_MAX];
		knot_name_t server = knot_name_of(rdata.data);
		knot_name_lower(server, lower);
		if (!is_reachable(c, node, (knot_name_t){ lower, server.len, server.label_count })) {
			report_target(c, node, FAULT_GLUE, KNOT_TYPE_NS, server);
		}
	}
}

/* Bytes of a digest by its type in the IANA registry of DS digests; 0: not known here. */
static size_t digest_len(uint8_t type)
{
	static const uint8_t lens[] = { 0, 20, 32, 32, 48 };
	return type < sizeof(lens) ? lens[type] : 0;
}

static void check_ds(check_t *c, const zone_node_t *node)
{
	const zone_rrset_t *ds = rrset_of(c, node, KNOT_TYPE_DS);
	if (ds == NULL) {
		return;
	}
	zone_rr_iter_t iter = zone_rr_begin(node, ds, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		size_t want = digest_len(rdata.data[3]);
		if (want != 0 && rdata.len - 4 != want) {
			char hint[32];
			snprintf(hint, sizeof(hint), " (keytag %u)", load_be16(rdata.data));
			check_report(c, node, FAULT_DS_LEN, hint);
		}
	}
}

static void check_nsec3param(check_t *c, const zone_node_t *node)
{
	const zone_rrset_t *set = rrset_of(c, node, KNOT_TYPE_NSEC3PARAM);
	if (set == NULL) {
		return;
	}
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		if (rdata.data[1] != 0) {
			check_report(c, node, FAULT_NSEC3PARAM_FLAGS, "");
		}
		if (rdata.data[0] != 1) {
			check_report(c, node, FAULT_NSEC3PARAM_ALGORITHM, "");
		}
	}
}

/* RFC 4034 5.1.4: digest over owner and DNSKEY RDATA, which is CDNSKEY RDATA. */
static bool cds_matches(const check_t *c, const zone_node_t *apex, const zone_rrset_t *cdnskeys, knot_bytes_t cds)
{
	static const gnutls_digest_algorithm_t algorithms[] = { GNUTLS_DIG_UNKNOWN, GNUTLS_DIG_SHA1, GNUTLS_DIG_SHA256,
		GNUTLS_DIG_GOSTR_94, GNUTLS_DIG_SHA384 };
	if (digest_len(cds.data[3]) != cds.len - 4) {
		return false;
	}
	uint32_t ttl;
	knot_bytes_t key;
	size_t room = KNOT_RDATA_MAX - KNOT_NAME_MAX;
	zone_rr_iter_t iter = zone_rr_begin(apex, cdnskeys, false);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ c->scratch2 + apex->owner_len, room }, &ttl, &key)) {
		uint8_t digest[64];
		memcpy(c->scratch2, apex->owner, apex->owner_len);
		if (gnutls_hash_fast(algorithms[cds.data[3]], c->scratch2, apex->owner_len + key.len, digest) == 0 &&
				memcmp(digest, cds.data + 4, cds.len - 4) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_delete(const check_t *c, const zone_node_t *apex, const zone_rrset_t *set, size_t algorithm_at)
{
	zone_rr_iter_t iter = zone_rr_begin(apex, set, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		if (rdata.data[algorithm_at] == 0) {
			return true;
		}
	}
	return false;
}

static void check_cds(check_t *c, const zone_node_t *apex)
{
	const zone_rrset_t *cds = rrset_of(c, apex, KNOT_TYPE_CDS);
	const zone_rrset_t *cdnskey = rrset_of(c, apex, KNOT_TYPE_CDNSKEY);
	if (cds == NULL && cdnskey == NULL) {
		return;
	}
	if (cds == NULL || cdnskey == NULL) {
		check_report(c, apex, cds == NULL ? FAULT_CDS_MISSING : FAULT_CDNSKEY_MISSING, "");
		return;
	}
	bool cds_deletes = is_delete(c, apex, cds, 2), cdnskey_deletes = is_delete(c, apex, cdnskey, 3);
	if (cds_deletes || cdnskey_deletes) { /* RFC 8078 4: both, and no other record */
		if (!cds_deletes || !cdnskey_deletes || zone_rrset_rr_count(cds) > 1 ||
				zone_rrset_rr_count(cdnskey) > 1) {
			check_report(c, apex, FAULT_CDS_DELETE, "");
		}
		return;
	}
	zone_rr_iter_t iter = zone_rr_begin(apex, cds, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		if (!cds_matches(c, apex, cdnskey, rdata)) {
			check_report(c, apex, FAULT_CDS_MISMATCH, "");
			return;
		}
	}
}

/* ---- DNSSEC ---- */

/* At a cut only DS and NSEC are authoritative. */
static bool wants_signature(const zone_node_t *node, uint16_t type)
{
	if (type == KNOT_TYPE_RRSIG) {
		return false;
	}
	return !(node->flags & ZONE_NODE_CUT) || type == KNOT_TYPE_DS || type == KNOT_TYPE_NSEC;
}

/* True if one of the signatures is within its validity period (RFC 4034 3.1.5, serial number arithmetic). */
static bool has_timely_signature(const check_t *c, const zone_node_t *node, const zone_rrset_t *set)
{
	uint32_t ttl, now = (uint32_t)c->now_s;
	knot_bytes_t rdata;
	zone_rr_iter_t iter = zone_rr_begin(node, set, true);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ c->scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		uint32_t expiration = load_be32(rdata.data + 8), inception = load_be32(rdata.data + 12);
		if ((int32_t)(expiration - now) >= 0 && (int32_t)(now - inception) >= 0) {
			return true;
		}
	}
	return false;
}

static void check_signatures(check_t *c, const zone_node_t *node)
{
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&c->zone->arena, node, i);
		if (wants_signature(node, zone_rrset_type(set)) && !has_timely_signature(c, node, set)) {
			char type[KNOT_TYPE_TEXT_MAX], hint[KNOT_TYPE_TEXT_MAX + 16];
			knot_rrtype_print(zone_rrset_type(set), type);
			snprintf(hint, sizeof(hint), " (record type %s)", type);
			check_report(c, node, FAULT_RRSIG, hint);
		}
	}
}

/* Types that a node's NSEC or NSEC3 must list: at a cut the types that the parent has, and RRSIG when something is
 * signed. */
static unsigned collect_types(const check_t *c, const zone_node_t *node, uint16_t *types, unsigned max)
{
	bool has_sig = false, has_rrsig = false;
	unsigned count = 0;
	for (unsigned i = 0; i < zone_node_rrset_count(node) && count + 1 < max; i++) {
		bool is_cut = node->flags & ZONE_NODE_CUT;
		const zone_rrset_t *set = zone_node_rrset_at(&c->zone->arena, node, i);
		uint16_t type = zone_rrset_type(set);
		has_sig = has_sig || zone_rrset_has_sigs(set);
		has_rrsig = has_rrsig || type == KNOT_TYPE_RRSIG;
		if (!is_cut || type == KNOT_TYPE_NS || type == KNOT_TYPE_DS || type == KNOT_TYPE_NSEC ||
				type == KNOT_TYPE_RRSIG) {
			types[count++] = type;
		}
	}
	if (has_sig && !has_rrsig) {
		types[count++] = KNOT_TYPE_RRSIG;
	}
	return count;
}

static bool bitmap_has(knot_bytes_t bitmap, uint16_t type)
{
	for (size_t i = 0; i + 2 <= bitmap.len; i += 2u + bitmap.data[i + 1]) {
		if (bitmap.data[i] == type >> 8) {
			unsigned byte = (type & 0xFF) / 8;
			return byte < bitmap.data[i + 1] && bitmap.data[i + 2 + byte] & 0x80 >> (type & 7);
		}
	}
	return false;
}

static unsigned bitmap_count(knot_bytes_t bitmap)
{
	unsigned count = 0;
	for (size_t i = 0; i + 2 <= bitmap.len; i += 2u + bitmap.data[i + 1]) {
		for (unsigned j = 0; j < bitmap.data[i + 1]; j++) {
			count += (unsigned)__builtin_popcount(bitmap.data[i + 2 + j]);
		}
	}
	return count;
}

static bool is_bitmap_right(const check_t *c, const zone_node_t *node, knot_bytes_t bitmap)
{
	enum { TYPES_MAX = 1024 };
	uint16_t types[TYPES_MAX];
	unsigned count = collect_types(c, node, types, TYPES_MAX);
	for (unsigned i = 0; i < count; i++) {
		if (!bitmap_has(bitmap, types[i])) {
			return false;
		}
	}
	return bitmap_count(bitmap) == count;
}

static bool first_rdata(const check_t *c, const zone_node_t *node, uint16_t type, knot_bytes_t *ret_rdata)
{
	const zone_rrset_t *set = rrset_of(c, node, type);
	if (set == NULL) {
		return false;
	}
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	return next_rdata(c, &iter, ret_rdata);
}

/* The NSEC of the node before must name this one. `node` NULL: the end of the zone, where the ring closes at the apex.
 */
static void check_nsec_next(check_t *c, const zone_node_t *node)
{
	knot_bytes_t rdata;
	const zone_node_t *next = node != NULL ? node : c->zone->apex;
	if (c->nsec_before != NULL && first_rdata(c, c->nsec_before, KNOT_TYPE_NSEC, &rdata) &&
			!knot_name_eq(knot_name_of(rdata.data), zone_node_owner(next))) {
		check_report(c, c->nsec_before, FAULT_NSEC_CHAIN, "");
	}
	c->nsec_before = node;
}

/* Whether the node has the NSEC that it must have. */
static void check_own_nsec(check_t *c, const zone_node_t *node)
{
	knot_bytes_t rdata;
	if (!first_rdata(c, node, KNOT_TYPE_NSEC, &rdata)) {
		check_report(c, node, FAULT_NSEC_MISSING, "");
		return;
	}
	size_t next_len = knot_name_of(rdata.data).len;
	if (!is_bitmap_right(c, node, (knot_bytes_t){ rdata.data + next_len, rdata.len - next_len })) {
		check_report(c, node, FAULT_NSEC_BITMAP, "");
	}
}

/* The nodes before and behind a name, which may be gone, and its own: empty non-terminals have no NSEC. */
static void check_nsec_around(check_t *c, zone_tree_iter_t *iter, knot_name_t name)
{
	const zone_contents_t *zone = c->zone;
	const zone_node_t *before = NULL, *node = NULL;
	knot_name_t at = name;
	for (zone_ref_t ref; (ref = zone_tree_below(&zone->arena, &zone->auth, at)) != 0 && before == NULL;) {
		const zone_node_t *below = zone_at(&zone->arena, ref);
		before = zone_node_rrset_count(below) > 0 ? below : NULL;
		at = zone_node_owner(below);
	}
	zone_tree_seek(&zone->arena, &zone->auth, name, iter);
	for (bool is_own = true; is_own;) {
		zone_ref_t ref;
		do {
			ref = zone_tree_next(iter);
			node = ref != 0 ? zone_at(&zone->arena, ref) : NULL;
		} while (node != NULL && zone_node_rrset_count(node) == 0);
		c->nsec_before = before == c->nsec_done ? NULL : before;
		c->nsec_done = before;
		check_nsec_next(c, node);
		is_own = node != NULL && knot_name_eq(zone_node_owner(node), name);
		before = node;
	}
}

/* The part of NSEC3 RDATA behind the salt: hash length, hash, bitmap (RFC 5155 3.2). */
static knot_bytes_t behind_salt(knot_bytes_t rdata)
{
	size_t skip = 5u + rdata.data[4];
	return (knot_bytes_t){ rdata.data + skip, rdata.len - skip };
}

static void check_nsec3(check_t *c, const zone_node_t *node)
{
	knot_bytes_t rdata;
	zone_nsec3_t found = zone_nsec3_of(c->zone, node);
	if (found.node == NULL || !first_rdata(c, found.node, KNOT_TYPE_NSEC3, &rdata)) {
		check_report(c, node, FAULT_NSEC_MISSING, "");
		return;
	}
	if (found.is_match) {
		knot_bytes_t rest = behind_salt(rdata);
		size_t skip = 1u + rest.data[0];
		if (!is_bitmap_right(c, node, (knot_bytes_t){ rest.data + skip, rest.len - skip })) {
			check_report(c, node, FAULT_NSEC_BITMAP, "");
		}
		return;
	}
	/* RFC 5155 7.1: only insecure delegations, and empty non-terminals above nothing else, may be opted out. */
	bool may_opt_out = zone_node_rrset_count(node) == 0 ||
			   ((node->flags & ZONE_NODE_CUT) && !has(c, node, KNOT_TYPE_DS));
	if (!may_opt_out) {
		check_report(c, node, FAULT_NSEC_MISSING, "");
	} else if (!(rdata.data[1] & 1)) {
		check_report(c, found.node, FAULT_NSEC3_OPT_OUT, "");
	}
}

/* Each NSEC3 must name the next: compare with the next owner's first label, in base32hex. */
static bool names_next(knot_bytes_t rdata, const zone_node_t *next)
{
	char label[ZONE_NSEC3_LABEL_LEN];
	knot_bytes_t rest = behind_salt(rdata);
	if (rest.data[0] != ZONE_NSEC3_HASH_LEN || next->owner[0] != ZONE_NSEC3_LABEL_LEN) {
		return false;
	}
	(void)knot_base32hex_print((knot_bytes_t){ rest.data + 1, ZONE_NSEC3_HASH_LEN }, label);
	return memcmp(next->owner + 1, label, sizeof(label)) == 0;
}

static void check_nsec3_next(check_t *c, const zone_node_t *node, const zone_node_t *next)
{
	knot_bytes_t rdata;
	bool is_done = node == c->nsec_done || node == c->nsec_first;
	if (!is_done && first_rdata(c, node, KNOT_TYPE_NSEC3, &rdata) && !names_next(rdata, next)) {
		check_report(c, node, FAULT_NSEC_CHAIN, "");
	}
	c->nsec_done = node;
	c->nsec_first = c->nsec_first != NULL ? c->nsec_first : node;
}

static void check_nsec3_chain(check_t *c, zone_tree_iter_t *iter)
{
	const zone_contents_t *zone = c->zone;
	const zone_node_t *first = NULL, *before = NULL;
	zone_tree_begin(&zone->arena, zone_nsec3_tree(zone), iter);
	for (;;) {
		zone_ref_t ref = zone_tree_next(iter);
		const zone_node_t *node = ref != 0 ? zone_at(&zone->arena, ref) : first;
		if (before != NULL) {
			check_nsec3_next(c, before, node);
		}
		if (ref == 0) {
			return;
		}
		check_signatures(c, node);
		first = first != NULL ? first : node;
		before = node;
	}
}

/* The records of the chain before and behind the owner of one, which may be gone, and its own. */
static void check_nsec3_around(check_t *c, zone_tree_iter_t *iter, knot_name_t owner)
{
	const zone_contents_t *zone = c->zone;
	const zone_tree_t *chain = zone_nsec3_tree(zone);
	zone_ref_t before = zone_tree_below(&zone->arena, chain, owner);
	before = before != 0 ? before : zone_tree_last(&zone->arena, chain);
	zone_tree_seek(&zone->arena, chain, owner, iter);
	for (bool is_own = true; is_own && before != 0;) {
		zone_ref_t ref = zone_tree_next(iter);
		if (ref == 0) { /* the chain is a ring */
			zone_tree_begin(&zone->arena, chain, iter);
			ref = zone_tree_next(iter);
		}
		const zone_node_t *node = zone_at(&zone->arena, ref);
		check_nsec3_next(c, zone_at(&zone->arena, before), node);
		is_own = knot_name_eq(zone_node_owner(node), owner);
		if (is_own) {
			check_signatures(c, node);
		}
		is_own = is_own && ref != before; /* it may be the only one */
		before = ref;
	}
}

/* An NSEC3 chain without usable NSEC3PARAM is being made or removed (RFC 5155 10.4): nothing to check. */
static bool denies_by_nsec(const zone_contents_t *zone)
{
	return zone_nsec3_params(zone)->algorithm == 0 && (zone->has_nsec || zone_nsec3_tree(zone)->count == 0);
}

static void check_dnssec(check_t *c, const zone_node_t *node)
{
	check_signatures(c, node);
	if (zone_nsec3_params(c->zone)->algorithm != 0) {
		check_nsec3(c, node);
	} else if (denies_by_nsec(c->zone) && zone_node_rrset_count(node) > 0) {
		check_own_nsec(c, node);
	}
}

/* Each query for a name that doesn't exist costs that many hashes. RFC 9276 3.1 wants none. */
static void check_iterations(check_t *c, uint32_t end)
{
	uint32_t iterations = zone_nsec3_params(c->zone)->algorithm != 0 ? zone_nsec3_params(c->zone)->iterations : 0;
	char hint[64];
	if (end != 0 && iterations >= end) {
		snprintf(hint, sizeof(hint), " (%u, allowed %u)", iterations, end - 1);
		check_report(c, c->zone->apex, FAULT_NSEC3_LIMIT, hint);
	} else if (iterations > ZONE_NSEC3_ITERATIONS_WARN) {
		snprintf(hint, sizeof(hint), " (%u, RFC 9276 recommends 0)", iterations);
		check_report(c, c->zone->apex, FAULT_NSEC3_ITERATIONS, hint);
	}
}

/* ---- All ---- */

static void check_node(check_t *c, const zone_node_t *node)
{
	check_apex(c, node);
	check_cname(c, node);
	check_dname(c, node);
	if (c->checks != ZONE_CHECKS_OFF) {
		check_glue(c, node);
		check_aliases(c, node);
		check_ds(c, node);
	}
	if (c->is_dnssec) {
		check_dnssec(c, node);
	}
}

/* Names below cuts are not answered from, but with these faults the zone can't be what its owner wants either. */
static void check_glue_node(check_t *c, const zone_node_t *node)
{
	check_cname(c, node);
	check_dname(c, node);
}

/* A DNAME above a name below a cut, which may have come. `before`: the name that was looked at before, or NULL; what is
 * above both is done. */
static void check_glue_above(check_t *c, knot_name_t name, const knot_name_t *before)
{
	const zone_contents_t *zone = c->zone;
	knot_name_t above = knot_name_strip(name, 1);
	for (bool is_below_cut = true; is_below_cut; above = knot_name_strip(above, 1)) {
		if (before != NULL && knot_name_in(*before, above)) {
			return;
		}
		zone_ref_t ref = zone_tree_find(&zone->arena, zone_glue_tree(zone), above);
		if (ref == 0) {
			ref = zone_tree_find(&zone->arena, &zone->auth, above);
			is_below_cut = ref == 0 && above.label_count > zone->apex->owner_label_count;
		}
		if (ref != 0 && has(c, zone_at(&zone->arena, ref), KNOT_TYPE_DNAME)) {
			check_dname_children(c, zone_at(&zone->arena, ref));
		}
	}
}

/* What is at the apex only. */
static void check_whole(check_t *c, uint32_t nsec3_iterations_end)
{
	const zone_node_t *apex = c->zone->apex;
	check_iterations(c, nsec3_iterations_end);
	if (c->checks != ZONE_CHECKS_OFF) {
		check_nsec3param(c, apex);
		check_cds(c, apex);
	}
	if (c->is_dnssec && !has(c, apex, KNOT_TYPE_DNSKEY)) {
		check_report(c, apex, FAULT_DNSKEY_MISSING, "");
	}
}

static void check_nodes(check_t *c, zone_tree_iter_t *iter, uint32_t nsec3_iterations_end)
{
	const zone_contents_t *zone = c->zone;
	bool has_nsec = c->is_dnssec && denies_by_nsec(zone);
	zone_tree_begin(&zone->arena, &zone->auth, iter);
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&zone->arena, ref);
		check_node(c, node);
		if (has_nsec && zone_node_rrset_count(node) > 0) {
			check_nsec_next(c, node);
		}
	}
	zone_tree_begin(&zone->arena, zone_glue_tree(zone), iter);
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		check_glue_node(c, zone_at(&zone->arena, ref));
	}
	check_whole(c, nsec3_iterations_end);
	if (has_nsec) {
		check_nsec_next(c, NULL);
	}
	if (c->is_dnssec && zone_nsec3_params(zone)->algorithm != 0) {
		check_nsec3_chain(c, iter);
	}
}

/* One name, which may be gone. before: the one before it, or NULL. */
static void check_name(check_t *c, zone_tree_iter_t *iter, knot_name_t name, const knot_name_t *before)
{
	const zone_contents_t *zone = c->zone;
	zone_ref_t ref = zone_tree_find(&zone->arena, &zone->auth, name);
	if (ref != 0) {
		check_node(c, zone_at(&zone->arena, ref));
	}
	zone_ref_t glue = zone_tree_find(&zone->arena, zone_glue_tree(zone), name);
	if (glue != 0) {
		check_glue_node(c, zone_at(&zone->arena, glue));
		check_glue_above(c, name, before);
	} else if (c->is_dnssec && denies_by_nsec(zone)) {
		check_nsec_around(c, iter, name);
	}
}

static void check_names(check_t *c, zone_tree_iter_t *iter, const knot_name_t *names, size_t count,
		uint32_t nsec3_iterations_end)
{
	const zone_contents_t *zone = c->zone;
	for (size_t i = 0; i < count; i++) {
		check_name(c, iter, names[i], i > 0 ? &names[i - 1] : NULL);
	}
	check_whole(c, nsec3_iterations_end);
	bool has_nsec3 = c->is_dnssec && zone_nsec3_params(zone)->algorithm != 0;
	c->nsec_done = NULL;
	for (size_t i = 0; i < count && has_nsec3; i++) {
		bool is_owner = names[i].wire[0] == ZONE_NSEC3_LABEL_LEN &&
				names[i].label_count == zone->apex->owner_label_count + 1;
		if (is_owner) {
			check_nsec3_around(c, iter, names[i]);
		}
	}
}

knot_err_t zone_check_names(
		const zone_contents_t *zone, const zone_check_params_t *params, const knot_name_t *names, size_t count)
{
	zone_checks_t checks = params->checks;
	check_t c = { .zone = zone,
		.checks = checks,
		.now_s = params->now_s,
		.on_message = params->on_message,
		.ctx = params->ctx };
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	c.below = malloc(sizeof(*c.below));
	knot_err_t err = KNOT_ENOMEM;
	if (checks != ZONE_CHECKS_OFF) { /* only optional checks look into records */
		c.scratch = malloc(KNOT_RDATA_MAX);
		c.scratch2 = malloc(KNOT_RDATA_MAX);
		c.is_dnssec = zone->is_signed || has(&c, zone->apex, KNOT_TYPE_DNSKEY);
	}
	if (((c.scratch != NULL && c.scratch2 != NULL) || checks == ZONE_CHECKS_OFF) && iter != NULL &&
			c.below != NULL) {
		if (names == NULL) {
			check_nodes(&c, iter, params->nsec3_iterations_end);
		} else {
			check_names(&c, iter, names, count, params->nsec3_iterations_end);
		}
		err = c.has_failed ? KNOT_ESEMCHECK : KNOT_OK;
	}
	free(c.scratch);
	free(c.scratch2);
	free(c.below);
	free(iter);
	return err;
}

knot_err_t zone_check(const zone_contents_t *zone, const zone_check_params_t *params)
{
	return zone_check_names(zone, params, NULL, 0);
}
