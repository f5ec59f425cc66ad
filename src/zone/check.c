/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/check.h"

#include "libknot/base/encode.h"
#include "libknot/rr/rdata.h"
#include "src/zone/lookup.h"

#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>

enum { ZONE_TYPE_DELEG = 61440 }; /* draft-ietf-deleg */

typedef enum {
	CLASS_MANDATORY, /* always checked; fails the zone unless the checks are soft */
	CLASS_NOTED,     /* always checked; never fails */
	CLASS_OPTIONAL,
	CLASS_DNSSEC,  /* of signed zones, if asked for */
	CLASS_REFUSED, /* always checked; always fails: the operator asked for it */
} fault_class_t;

/* The texts are Knot's; operators' scripts look for them. */
static const struct {
	fault_class_t class;
	const char *text;
	bool has_detail; /* as in Knot; of others the detail is ours */
} rows[ZONE_FAULT_COUNT] = {
	[ZONE_FAULT_SOA_MISSING] = { CLASS_MANDATORY, "missing SOA at the zone apex", false },
	[ZONE_FAULT_SOA_MULTIPLE] = { CLASS_MANDATORY, "multiple SOA records", false },
	[ZONE_FAULT_CNAME_BESIDE] = { CLASS_MANDATORY, "another record exists beside CNAME", false },
	[ZONE_FAULT_CNAME_MULTIPLE] = { CLASS_MANDATORY, "multiple CNAME records", false },
	[ZONE_FAULT_DNAME_CHILD] = { CLASS_MANDATORY, "child record exists under DNAME", false },
	[ZONE_FAULT_DNAME_MULTIPLE] = { CLASS_MANDATORY, "multiple DNAME records", false },
	[ZONE_FAULT_DNAME_NS] = { CLASS_MANDATORY, "NS record exists beside DNAME", false },
	[ZONE_FAULT_DS_APEX] = { CLASS_MANDATORY, "DS at the zone apex", false },
	[ZONE_FAULT_DELEG_APEX] = { CLASS_MANDATORY, "DELEG at the zone apex", false },
	[ZONE_FAULT_NS_APEX] = { CLASS_NOTED, "missing NS at the zone apex", false },
	[ZONE_FAULT_GLUE] = { CLASS_OPTIONAL, "missing glue record", false },
	[ZONE_FAULT_RRSIG] = { CLASS_DNSSEC, "no valid signature for a record", true },
	[ZONE_FAULT_NSEC_MISSING] = { CLASS_DNSSEC, "missing NSEC(3) record", false },
	[ZONE_FAULT_NSEC_BITMAP] = { CLASS_DNSSEC, "wrong NSEC(3) bitmap", false },
	[ZONE_FAULT_NSEC_CHAIN] = { CLASS_DNSSEC, "inconsistent NSEC(3) chain", false },
	[ZONE_FAULT_NSEC3_OPT_OUT] = { CLASS_DNSSEC, "wrong NSEC3 opt-out", false },
	[ZONE_FAULT_NSEC_EXTRA] = { CLASS_DNSSEC, "superfluous NSEC(3)", false },
	[ZONE_FAULT_NSEC3PARAM_FLAGS] = { CLASS_DNSSEC, "invalid flags in NSEC3PARAM", false },
	[ZONE_FAULT_NSEC3PARAM_ALGORITHM] = { CLASS_DNSSEC, "invalid algorithm in NSEC3PARAM", false },
	[ZONE_FAULT_DS_ALGORITHM] = { CLASS_OPTIONAL, "unknown algorithm in DS", true },
	[ZONE_FAULT_DS_LEN] = { CLASS_OPTIONAL, "invalid digest length in DS", true },
	[ZONE_FAULT_DNSKEY_MISSING] = { CLASS_DNSSEC, "missing DNSKEY", false },
	[ZONE_FAULT_DNSKEY_INVALID] = { CLASS_DNSSEC, "invalid DNSKEY", false },
	[ZONE_FAULT_DNSKEY_TAGS] = { CLASS_DNSSEC, "many DNSKEYs with equal keytag", false },
	[ZONE_FAULT_CDS_MISSING] = { CLASS_DNSSEC, "missing CDS", false },
	[ZONE_FAULT_CDS_MISMATCH] = { CLASS_DNSSEC, "CDS not match CDNSKEY", false },
	[ZONE_FAULT_CDNSKEY_MISSING] = { CLASS_DNSSEC, "missing CDNSKEY", false },
	[ZONE_FAULT_CDNSKEY_MISMATCH] = { CLASS_DNSSEC, "CDNSKEY not match DNSKEY", false },
	[ZONE_FAULT_CDNSKEY_ALONE] = { CLASS_DNSSEC, "CDNSKEY without corresponding CDS", false },
	[ZONE_FAULT_CDS_DELETE] = { CLASS_DNSSEC, "invalid CDNSKEY/CDS for DNSSEC delete algorithm", false },
	[ZONE_FAULT_UNKNOWN] = { CLASS_DNSSEC, "unknown error", true },
	/* Ours. */
	[ZONE_FAULT_NSEC3_ITERATIONS] = { CLASS_NOTED, "too many NSEC3 iterations", false },
	[ZONE_FAULT_NSEC3_LIMIT] = { CLASS_REFUSED, "more NSEC3 iterations than nsec3-max-iterations", false },
	[ZONE_FAULT_TARGET_ALIAS] = { CLASS_OPTIONAL, "target is an alias", false },
};

typedef struct {
	const zone_contents_t *zone;
	const zone_check_params_t *params;
	uint8_t *scratch; /* KNOT_RDATA_MAX bytes */
	bool has_failed, is_optional, is_dnssec;
	zone_tree_iter_t *below; /* for a look at what is below a name */
} check_t;

const char *zone_fault_text(zone_fault_t fault)
{
	return rows[fault].text;
}

bool zone_fault_is_serious(zone_fault_t fault)
{
	return rows[fault].class == CLASS_MANDATORY || rows[fault].class == CLASS_REFUSED;
}

static zone_message_level_t level_of(const zone_check_params_t *params, zone_fault_t fault)
{
	if (rows[fault].class == CLASS_REFUSED) {
		return ZONE_MESSAGE_ERROR;
	}
	if (params->checks == ZONE_CHECKS_SOFT) {
		return ZONE_MESSAGE_NOTICE;
	}
	return rows[fault].class == CLASS_MANDATORY ? ZONE_MESSAGE_ERROR : ZONE_MESSAGE_WARNING;
}

bool zone_fault_has_detail(zone_fault_t fault)
{
	return rows[fault].has_detail;
}

void zone_fault_tell(const zone_check_params_t *params, const zone_found_t *found)
{
	if (params->on_message == NULL) {
		return;
	}
	char name[KNOT_NAME_TEXT_MAX], text[2 * KNOT_NAME_TEXT_MAX + 128];
	bool has_detail = found->detail != NULL;
	knot_name_print(found->owner, name);
	snprintf(text, sizeof(text), "check, node %s, %s%s%s", name, rows[found->fault].text, has_detail ? " " : "",
			has_detail ? found->detail : "");
	params->on_message(&(zone_message_t){ .level = level_of(params, found->fault),
					   .text = text,
					   .owner = name,
					   .found = found },
			params->ctx);
}

/* A fault of one record, or of all of a type: rdata.len 0. detail NULL: none. */
static void check_report_record(check_t *c, const zone_node_t *node, zone_fault_t fault, uint16_t type,
		knot_bytes_t rdata, const char *detail)
{
	zone_checks_t checks = c->params->checks;
	bool may_fail = checks == ZONE_CHECKS_OFF || checks == ZONE_CHECKS_ON;
	c->has_failed = c->has_failed || rows[fault].class == CLASS_REFUSED ||
			(rows[fault].class == CLASS_MANDATORY && may_fail);
	zone_fault_tell(c->params, &(zone_found_t){ .fault = fault,
						   .type = type,
						   .owner = zone_node_owner(node),
						   .rdata = rdata,
						   .detail = detail });
}

static void check_report(check_t *c, const zone_node_t *node, zone_fault_t fault, uint16_t type, const char *detail)
{
	check_report_record(c, node, fault, type, (knot_bytes_t){ NULL, 0 }, detail);
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
			char name[KNOT_TYPE_TEXT_MAX], detail[KNOT_TYPE_TEXT_MAX + 16];
			knot_rrtype_print(type, name);
			snprintf(detail, sizeof(detail), "(record type %s)", name);
			check_report(c, node, ZONE_FAULT_CNAME_BESIDE, KNOT_TYPE_CNAME, detail);
			break;
		}
	}
	if (zone_rrset_rr_count(cname) > 1) {
		check_report(c, node, ZONE_FAULT_CNAME_MULTIPLE, KNOT_TYPE_CNAME, NULL);
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
		check_report(c, node, ZONE_FAULT_DNAME_CHILD, KNOT_TYPE_DNAME, NULL);
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
		check_report(c, node, ZONE_FAULT_DNAME_MULTIPLE, KNOT_TYPE_DNAME, NULL);
	}
	if (!(node->flags & ZONE_NODE_APEX) && has(c, node, KNOT_TYPE_NS)) {
		check_report(c, node, ZONE_FAULT_DNAME_NS, KNOT_TYPE_DNAME, NULL);
	}
}

static void check_apex(check_t *c, const zone_node_t *node)
{
	if (!(node->flags & ZONE_NODE_APEX)) {
		return;
	}
	if (zone_rrset_rr_count(rrset_of(c, node, KNOT_TYPE_SOA)) > 1) {
		check_report(c, node, ZONE_FAULT_SOA_MULTIPLE, KNOT_TYPE_SOA, NULL);
	}
	if (has(c, node, KNOT_TYPE_DS)) {
		check_report(c, node, ZONE_FAULT_DS_APEX, KNOT_TYPE_DS, NULL);
	}
	if (has(c, node, ZONE_TYPE_DELEG)) {
		check_report(c, node, ZONE_FAULT_DELEG_APEX, ZONE_TYPE_DELEG, NULL);
	}
	if (!has(c, node, KNOT_TYPE_NS)) {
		check_report(c, node, ZONE_FAULT_NS_APEX, KNOT_TYPE_SOA, NULL);
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
static void report_target(check_t *c, const zone_node_t *node, zone_fault_t fault, uint16_t type, knot_bytes_t rdata,
		knot_name_t target)
{
	char name[KNOT_NAME_TEXT_MAX], word[KNOT_TYPE_TEXT_MAX], detail[KNOT_NAME_TEXT_MAX + KNOT_TYPE_TEXT_MAX + 8];
	knot_name_print(target, name);
	knot_rrtype_print(type, word);
	snprintf(detail, sizeof(detail), "(%s %s)", word, name);
	check_report_record(c, node, fault, type, rdata, detail);
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
				report_target(c, node, ZONE_FAULT_TARGET_ALIAS, targets[i].type, rdata, target);
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
			report_target(c, node, ZONE_FAULT_GLUE, KNOT_TYPE_NS, rdata, server);
		}
	}
}

/* Bytes of a digest by its type in the IANA registry of DS digests; 0: not known. */
static size_t digest_len(uint8_t type)
{
	static const uint8_t lens[] = { 0, 20, 32, 32, 48, 32, 32 };
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
		if (rdata.len - 4 != want) {
			char detail[48];
			snprintf(detail, sizeof(detail), "(keytag %u, algorithm %u)", load_be16(rdata.data),
					rdata.data[3]);
			check_report_record(c, node, want == 0 ? ZONE_FAULT_DS_ALGORITHM : ZONE_FAULT_DS_LEN,
					KNOT_TYPE_DS, rdata, detail);
		}
	}
}

/* ---- DNSSEC: what is said of it in one place; signatures and the chain are proven by others ---- */

static void check_nsec3param(check_t *c, const zone_node_t *apex)
{
	const zone_rrset_t *set = rrset_of(c, apex, KNOT_TYPE_NSEC3PARAM);
	if (set == NULL) {
		return;
	}
	zone_rr_iter_t iter = zone_rr_begin(apex, set, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		if (rdata.data[1] != 0) {
			check_report_record(c, apex, ZONE_FAULT_NSEC3PARAM_FLAGS, KNOT_TYPE_NSEC3PARAM, rdata, NULL);
		}
		if (rdata.data[0] != 1) {
			check_report_record(
					c, apex, ZONE_FAULT_NSEC3PARAM_ALGORITHM, KNOT_TYPE_NSEC3PARAM, rdata, NULL);
		}
	}
}

/** The sets that ask the parent for a DS set, and the keys. RFC 7344. */
typedef struct {
	const zone_node_t *apex;
	const zone_rrset_t *cds, *cdnskey, *dnskey; /* dnskey: may be NULL */
	uint8_t *scratch; /* KNOT_NAME_MAX + KNOT_RDATA_MAX bytes: one record is kept while others are read */
	unsigned cds_deletes, cdnskey_deletes;
} submission_t;

/* RFC 4034 5.1.4: digest over owner and DNSKEY RDATA, which is CDNSKEY RDATA. */
static bool cds_is_of(const submission_t *s, knot_bytes_t cds, size_t key_len)
{
	static const gnutls_digest_algorithm_t algorithms[] = { GNUTLS_DIG_UNKNOWN, GNUTLS_DIG_SHA1, GNUTLS_DIG_SHA256,
		GNUTLS_DIG_GOSTR_94, GNUTLS_DIG_SHA384 };
	uint8_t digest[64];
	return cds.data[3] < KNOT_LEN(algorithms) && algorithms[cds.data[3]] != GNUTLS_DIG_UNKNOWN &&
	       gnutls_hash_fast(algorithms[cds.data[3]], s->scratch, s->apex->owner_len + key_len, digest) == 0 &&
	       memcmp(digest, cds.data + 4, cds.len - 4) == 0;
}

static bool cds_matches(const submission_t *s, knot_bytes_t cds)
{
	if (digest_len(cds.data[3]) != cds.len - 4) {
		return false;
	}
	uint32_t ttl;
	knot_bytes_t key;
	zone_rr_iter_t iter = zone_rr_begin(s->apex, s->cdnskey, false);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ s->scratch + KNOT_NAME_MAX, KNOT_RDATA_MAX }, &ttl, &key)) {
		memcpy(s->scratch, s->apex->owner, s->apex->owner_len);
		memmove(s->scratch + s->apex->owner_len, key.data, key.len);
		if (cds_is_of(s, cds, key.len)) {
			return true;
		}
	}
	return false;
}

static bool cdnskey_matches(const submission_t *s, knot_bytes_t cdnskey)
{
	if (s->dnskey == NULL) {
		return false;
	}
	uint32_t ttl;
	knot_bytes_t key;
	zone_rr_iter_t iter = zone_rr_begin(s->apex, s->dnskey, false);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ s->scratch, KNOT_RDATA_MAX }, &ttl, &key)) {
		if (key.len == cdnskey.len && memcmp(key.data, cdnskey.data, key.len) == 0) {
			return true;
		}
	}
	return false;
}

/* RFC 8078 4 */
static bool is_delete(uint16_t type, knot_bytes_t rdata)
{
	static const uint8_t cds[] = { 0, 0, 0, 0, 0 }, cdnskey[] = { 0, 0, 3, 0, 0 };
	return rdata.len == sizeof(cds) && memcmp(rdata.data, type == KNOT_TYPE_CDS ? cds : cdnskey, sizeof(cds)) == 0;
}

static void check_submitted(check_t *c, submission_t *s)
{
	zone_rr_iter_t iter = zone_rr_begin(s->apex, s->cdnskey, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		bool deletes = is_delete(KNOT_TYPE_CDNSKEY, rdata);
		s->cdnskey_deletes += deletes;
		if (!deletes && !cdnskey_matches(s, rdata)) {
			check_report_record(c, s->apex, ZONE_FAULT_CDNSKEY_MISMATCH, KNOT_TYPE_CDNSKEY, rdata, NULL);
		}
	}
	iter = zone_rr_begin(s->apex, s->cds, false);
	for (knot_bytes_t rdata; next_rdata(c, &iter, &rdata);) {
		bool deletes = is_delete(KNOT_TYPE_CDS, rdata);
		s->cds_deletes += deletes;
		if (!deletes && !cds_matches(s, rdata)) {
			check_report_record(c, s->apex, ZONE_FAULT_CDS_MISMATCH, KNOT_TYPE_CDS, rdata, NULL);
		}
	}
	/* Both, and no other record. */
	bool deletes = s->cds_deletes > 0 || s->cdnskey_deletes > 0;
	bool is_alone = s->cds_deletes == zone_rrset_rr_count(s->cds) &&
			s->cdnskey_deletes == zone_rrset_rr_count(s->cdnskey);
	if (deletes && !is_alone) {
		check_report(c, s->apex, ZONE_FAULT_CDS_DELETE, KNOT_TYPE_CDNSKEY, NULL);
	}
	if (zone_rrset_rr_count(s->cds) < zone_rrset_rr_count(s->cdnskey)) {
		check_report(c, s->apex, ZONE_FAULT_CDNSKEY_ALONE, KNOT_TYPE_CDNSKEY, NULL);
	}
}

static knot_err_t check_submission(check_t *c, const zone_node_t *apex)
{
	submission_t s = { .apex = apex,
		.cds = rrset_of(c, apex, KNOT_TYPE_CDS),
		.cdnskey = rrset_of(c, apex, KNOT_TYPE_CDNSKEY),
		.dnskey = rrset_of(c, apex, KNOT_TYPE_DNSKEY) };
	if (s.cds == NULL && s.cdnskey != NULL) {
		check_report(c, apex, ZONE_FAULT_CDS_MISSING, KNOT_TYPE_CDNSKEY, NULL);
	}
	if (s.cds != NULL && s.cdnskey == NULL) {
		check_report(c, apex, ZONE_FAULT_CDNSKEY_MISSING, KNOT_TYPE_CDS, NULL);
	}
	if (s.dnskey == NULL) {
		check_report(c, apex, ZONE_FAULT_DNSKEY_MISSING, KNOT_TYPE_SOA, NULL);
	}
	if (s.cds == NULL || s.cdnskey == NULL) {
		return KNOT_OK;
	}
	s.scratch = malloc(KNOT_NAME_MAX + KNOT_RDATA_MAX);
	if (s.scratch == NULL) {
		return KNOT_ENOMEM;
	}
	check_submitted(c, &s);
	free(s.scratch);
	return KNOT_OK;
}

static knot_err_t check_dnssec_apex(check_t *c, const zone_node_t *node)
{
	if (!(node->flags & ZONE_NODE_APEX)) {
		return KNOT_OK;
	}
	check_nsec3param(c, node);
	return check_submission(c, node);
}

/* Each query for a name that doesn't exist costs that many hashes. RFC 9276 3.1 wants none. */
static void check_iterations(check_t *c, uint32_t end)
{
	uint32_t iterations = zone_nsec3_params(c->zone)->algorithm != 0 ? zone_nsec3_params(c->zone)->iterations : 0;
	char detail[64];
	if (end != 0 && iterations >= end) {
		snprintf(detail, sizeof(detail), "(%u, allowed %u)", iterations, end - 1);
		check_report(c, c->zone->apex, ZONE_FAULT_NSEC3_LIMIT, KNOT_TYPE_NSEC3PARAM, detail);
	} else if (iterations > ZONE_NSEC3_ITERATIONS_WARN) {
		snprintf(detail, sizeof(detail), "(%u, RFC 9276 recommends 0)", iterations);
		check_report(c, c->zone->apex, ZONE_FAULT_NSEC3_ITERATIONS, KNOT_TYPE_NSEC3PARAM, detail);
	}
}

/* ---- All ---- */

static knot_err_t check_node(check_t *c, const zone_node_t *node)
{
	check_apex(c, node);
	check_cname(c, node);
	check_dname(c, node);
	if (c->is_optional || (node->flags & ZONE_NODE_APEX)) {
		check_glue(c, node);
	}
	if (c->is_optional) {
		check_aliases(c, node);
		check_ds(c, node);
	}
	return c->is_dnssec ? check_dnssec_apex(c, node) : KNOT_OK;
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

static knot_err_t check_nodes(check_t *c, zone_tree_iter_t *iter)
{
	const zone_contents_t *zone = c->zone;
	knot_err_t err = KNOT_OK;
	zone_tree_begin(&zone->arena, &zone->auth, iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		err = check_node(c, zone_at(&zone->arena, ref));
	}
	zone_tree_begin(&zone->arena, zone_glue_tree(zone), iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		check_glue_node(c, zone_at(&zone->arena, ref));
	}
	return err;
}

/* One name, which may be gone. before: the one before it, or NULL. */
static knot_err_t check_name(check_t *c, knot_name_t name, const knot_name_t *before)
{
	const zone_contents_t *zone = c->zone;
	zone_ref_t ref = zone_tree_find(&zone->arena, &zone->auth, name);
	zone_ref_t glue = zone_tree_find(&zone->arena, zone_glue_tree(zone), name);
	if (glue != 0) {
		check_glue_node(c, zone_at(&zone->arena, glue));
		check_glue_above(c, name, before);
	}
	return ref != 0 ? check_node(c, zone_at(&zone->arena, ref)) : KNOT_OK;
}

static knot_err_t check_all(check_t *c, zone_tree_iter_t *iter, const knot_name_t *names, size_t count)
{
	knot_err_t err = names == NULL ? check_nodes(c, iter) : KNOT_OK;
	for (size_t i = 0; names != NULL && err == KNOT_OK && i < count; i++) {
		err = check_name(c, names[i], i > 0 ? &names[i - 1] : NULL);
	}
	check_iterations(c, c->params->nsec3_iterations_end);
	return err;
}

bool zone_check_has_dnssec(const zone_contents_t *zone, const zone_check_params_t *params)
{
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	bool is_signed = soa != NULL && zone_rrset_has_sigs(soa);
	return params->checks >= ZONE_CHECKS_ON &&
	       (params->dnssec == ZONE_DNSSEC_ON || (params->dnssec == ZONE_DNSSEC_IF_SIGNED && is_signed));
}

knot_err_t zone_check_names(
		const zone_contents_t *zone, const zone_check_params_t *params, const knot_name_t *names, size_t count)
{
	check_t c = { .zone = zone,
		.params = params,
		.is_optional = params->checks >= ZONE_CHECKS_ON,
		.is_dnssec = zone_check_has_dnssec(zone, params) };
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	c.below = malloc(sizeof(*c.below));
	c.scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = KNOT_ENOMEM;
	if (c.scratch != NULL && iter != NULL && c.below != NULL) {
		err = check_all(&c, iter, names, count);
	}
	free(c.scratch);
	free(c.below);
	free(iter);
	return err == KNOT_OK && c.has_failed ? KNOT_ESEMCHECK : err;
}

knot_err_t zone_check(const zone_contents_t *zone, const zone_check_params_t *params)
{
	return zone_check_names(zone, params, NULL, 0);
}
