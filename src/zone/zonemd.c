/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trees of a version are each in canonical order. They are merged, as the owners of an NSEC3 chain stand among the
 * other names here; and signatures, which a version keeps with what they sign, are at the place of their type.
 */
#include "src/zone/zonemd.h"

#include "libknot/rr/rrtype.h"
#include "src/zone/records.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

enum {
	TREES = 3,           /* auth, glue, nsec3 */
	ZONEMD_HEAD = 6,     /* serial, scheme, algorithm (RFC 8976 2.2) */
	HASH_AT_ONCE = 8192, /* bytes that are collected before they are hashed */
	TYPES_END = 65536,
};

static const struct {
	gnutls_digest_algorithm_t hash;
	size_t len; /* bytes */
} algorithms[] = {
	[ZONEMD_SHA384] = { GNUTLS_DIG_SHA384, 48 },
	[ZONEMD_SHA512] = { GNUTLS_DIG_SHA512, 64 },
};

static bool is_known(unsigned algorithm)
{
	return algorithm < KNOT_LEN(algorithms) && algorithms[algorithm].len > 0;
}

/* ---- The walk ---- */

typedef struct {
	const zone_contents_t *zone;
	gnutls_hash_hd_t hash;
	bool has_failed;
	zone_tree_iter_t trees[TREES];
	const zone_node_t *next[TREES];
	size_t len; /* of what is collected */
	uint8_t collected[HASH_AT_ONCE];
	uint8_t scratch[KNOT_RDATA_MAX];
} walk_t;

static void walk_hash_collected(walk_t *walk)
{
	walk->has_failed = gnutls_hash(walk->hash, walk->collected, walk->len) != 0 || walk->has_failed;
	walk->len = 0;
}

static void walk_add(walk_t *walk, const void *data, size_t len)
{
	if (len > sizeof(walk->collected) - walk->len) {
		walk_hash_collected(walk);
	}
	if (len > sizeof(walk->collected)) {
		walk->has_failed = gnutls_hash(walk->hash, data, len) != 0 || walk->has_failed;
		return;
	}
	memcpy(walk->collected + walk->len, data, len);
	walk->len += len;
}

/* A record in canonical form (RFC 4034 6.2). */
static void walk_add_record(walk_t *walk, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	uint8_t head[10];
	store_be16(head, type);
	store_be16(head + 2, 1 /* IN */);
	store_be32(head + 4, ttl);
	store_be16(head + 8, (uint16_t)rdata.len);
	walk_add(walk, owner.wire, owner.len);
	walk_add(walk, head, sizeof(head));
	walk_add(walk, rdata.data, rdata.len);
}

static void walk_add_set(walk_t *walk, const zone_node_t *node, const zone_rrset_t *set, bool sigs)
{
	uint16_t type = sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(set);
	if (node == walk->zone->apex && zone_rrset_type(set) == KNOT_TYPE_ZONEMD) {
		return; /* a digest can't have itself, nor its signatures, which are made later */
	}
	uint32_t ttl;
	knot_bytes_t rdata;
	zone_rr_iter_t iter = zone_rr_begin(node, set, sigs);
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ walk->scratch, sizeof(walk->scratch) }, &ttl, &rdata)) {
		walk_add_record(walk, zone_node_owner(node), type, ttl, rdata);
	}
}

/* The set with the lowest type from `type` on, of all nodes; *ret_type: TYPES_END: there is none. */
static const zone_rrset_t *walk_find_set(const walk_t *walk, const zone_node_t *const *nodes, unsigned type,
		const zone_node_t **ret_node, unsigned *ret_type)
{
	const zone_rrset_t *found = NULL;
	*ret_type = TYPES_END;
	for (unsigned tree = 0; tree < TREES; tree++) {
		unsigned count = nodes[tree] != NULL ? zone_node_rrset_count(nodes[tree]) : 0;
		for (unsigned i = 0; i < count; i++) {
			const zone_rrset_t *set = zone_node_rrset_at(&walk->zone->arena, nodes[tree], i);
			if (zone_rrset_type(set) >= type && zone_rrset_type(set) < *ret_type) {
				*ret_type = zone_rrset_type(set);
				*ret_node = nodes[tree];
				found = set;
			}
		}
	}
	return found;
}

static void walk_add_signatures(walk_t *walk, const zone_node_t *const *nodes)
{
	const zone_node_t *node;
	unsigned type = 0;
	for (const zone_rrset_t *set; (set = walk_find_set(walk, nodes, type, &node, &type)) != NULL; type++) {
		walk_add_set(walk, node, set, true);
	}
}

/* The records of a name, by type. Its nodes have no type twice. */
static void walk_add_name(walk_t *walk, const zone_node_t *const *nodes)
{
	const zone_node_t *node;
	unsigned type = 0;
	bool has_signatures = false;
	for (const zone_rrset_t *set; (set = walk_find_set(walk, nodes, type, &node, &type)) != NULL; type++) {
		if (type > KNOT_TYPE_RRSIG && !has_signatures) {
			walk_add_signatures(walk, nodes);
			has_signatures = true;
		}
		walk_add_set(walk, node, set, false);
	}
	if (!has_signatures) {
		walk_add_signatures(walk, nodes);
	}
}

static void walk_go_on(walk_t *walk, unsigned tree)
{
	zone_ref_t ref = zone_tree_next(&walk->trees[tree]);
	walk->next[tree] = ref != 0 ? zone_at(&walk->zone->arena, ref) : NULL;
}

/* The nodes of the next name in canonical order. False: there is none. */
static bool walk_next_name(walk_t *walk, const zone_node_t *ret_nodes[static TREES])
{
	const zone_node_t *first = NULL;
	for (unsigned tree = 0; tree < TREES; tree++) {
		const zone_node_t *node = walk->next[tree];
		if (node != NULL &&
				(first == NULL || knot_name_cmp(zone_node_owner(node), zone_node_owner(first)) < 0)) {
			first = node;
		}
	}
	for (unsigned tree = 0; first != NULL && tree < TREES; tree++) {
		const zone_node_t *node = walk->next[tree];
		bool is_it = node != NULL && knot_name_eq(zone_node_owner(node), zone_node_owner(first));
		ret_nodes[tree] = is_it ? node : NULL;
		if (is_it) {
			walk_go_on(walk, tree);
		}
	}
	return first != NULL;
}

/* ---- The digest ---- */

static knot_err_t zonemd_digest(
		const zone_contents_t *zone, unsigned algorithm, uint8_t ret_digest[static ZONEMD_DIGEST_MAX])
{
	const zone_tree_t *const trees[TREES] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone) };
	walk_t *walk = calloc(1, sizeof(*walk));
	if (walk == NULL) {
		return KNOT_ENOMEM;
	}
	walk->zone = zone;
	if (gnutls_hash_init(&walk->hash, algorithms[algorithm].hash) != 0) {
		free(walk);
		return KNOT_EHASH;
	}
	for (unsigned tree = 0; tree < TREES; tree++) {
		zone_tree_begin(&zone->arena, trees[tree], &walk->trees[tree]);
		walk_go_on(walk, tree);
	}
	for (const zone_node_t *nodes[TREES]; walk_next_name(walk, nodes);) {
		walk_add_name(walk, nodes);
	}
	walk_hash_collected(walk);
	bool has_failed = walk->has_failed;
	gnutls_hash_deinit(walk->hash, ret_digest);
	free(walk);
	return has_failed ? KNOT_EHASH : KNOT_OK;
}

knot_err_t zonemd_make(const zone_contents_t *zone, unsigned algorithm, zonemd_record_t *ret_record)
{
	zonemd_record_t record = { .len = ZONEMD_HEAD };
	if (!is_known(algorithm)) {
		return KNOT_EHASH;
	}
	uint8_t digest[ZONEMD_DIGEST_MAX];
	knot_err_t err = zonemd_digest(zone, algorithm, digest);
	if (err != KNOT_OK) {
		return err;
	}
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	zone_rr_iter_t iter = zone_rr_begin(zone->apex, soa, false);
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_bytes_t rdata;
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	(void)zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &record.ttl, &rdata);
	free(scratch);
	store_be32(record.rdata, zone->serial);
	record.rdata[4] = ZONEMD_SCHEME_SIMPLE;
	record.rdata[5] = (uint8_t)algorithm;
	memcpy(record.rdata + ZONEMD_HEAD, digest, algorithms[algorithm].len);
	record.len += algorithms[algorithm].len;
	*ret_record = record;
	return KNOT_OK;
}

/* ---- The records of a version ---- */

/* Visit the ZONEMD records. KNOT_ENOMEM; else KNOT_OK. */
static knot_err_t zonemd_each(
		const zone_contents_t *zone, bool (*visit)(uint32_t ttl, knot_bytes_t rdata, void *ctx), void *ctx)
{
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_ZONEMD);
	if (set == NULL) {
		return KNOT_OK;
	}
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	uint32_t ttl;
	knot_bytes_t rdata;
	bool goes_on = true;
	zone_rr_iter_t iter = zone_rr_begin(zone->apex, set, false);
	while (goes_on && zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		goes_on = visit(ttl, rdata, ctx);
	}
	free(scratch);
	return KNOT_OK;
}

typedef struct {
	const zonemd_record_t *wanted; /* NULL: none */
	unsigned count;
	bool differs;
} compared_t;

static bool zonemd_compare(uint32_t ttl, knot_bytes_t rdata, void *ctx)
{
	compared_t *compared = ctx;
	const zonemd_record_t *wanted = compared->wanted;
	compared->count++;
	compared->differs = compared->differs || wanted == NULL || ttl != wanted->ttl || rdata.len != wanted->len ||
			    memcmp(rdata.data, wanted->rdata, wanted->len) != 0;
	return !compared->differs;
}

bool zonemd_is_only(const zone_contents_t *zone, const zonemd_record_t *record)
{
	compared_t compared = { .wanted = record };
	return zonemd_each(zone, zonemd_compare, &compared) == KNOT_OK && !compared.differs &&
	       compared.count == (record != NULL);
}

/* What the records say. */
typedef struct {
	uint32_t serial; /* of the zone */
	unsigned count;
	uint8_t seen[TYPES_END / 8]; /* a bit for each scheme and algorithm */
	bool has_two;                /* two of one scheme and algorithm */
	struct {
		size_t len; /* 0: no record */
		uint8_t digest[ZONEMD_DIGEST_MAX];
		bool has_wrong_len;
	} usable[KNOT_LEN(algorithms)];
} said_t;

static bool zonemd_note(uint32_t ttl, knot_bytes_t rdata, void *ctx)
{
	(void)ttl;
	said_t *said = ctx;
	said->count++;
	if (rdata.len < ZONEMD_HEAD) {
		return true;
	}
	unsigned scheme = rdata.data[4], algorithm = rdata.data[5], at = scheme << 8 | algorithm;
	said->has_two = said->has_two || (said->seen[at / 8] & 1u << at % 8) != 0;
	said->seen[at / 8] |= (uint8_t)(1u << at % 8);
	size_t len = rdata.len - ZONEMD_HEAD;
	if (scheme != ZONEMD_SCHEME_SIMPLE || !is_known(algorithm) || len == 0 ||
			load_be32(rdata.data) != said->serial) {
		return true;
	}
	said->usable[algorithm].len = len;
	said->usable[algorithm].has_wrong_len = len != algorithms[algorithm].len;
	if (!said->usable[algorithm].has_wrong_len) {
		memcpy(said->usable[algorithm].digest, rdata.data + ZONEMD_HEAD, len);
	}
	return true;
}

/* One that verifies is enough (RFC 8976 4). */
static knot_err_t zonemd_verify_said(const zone_contents_t *zone, const said_t *said)
{
	knot_err_t err = KNOT_ENOTSUP;
	for (unsigned algorithm = KNOT_LEN(algorithms); err != KNOT_OK && algorithm-- > 0;) {
		uint8_t digest[ZONEMD_DIGEST_MAX];
		if (said->usable[algorithm].len == 0) {
			continue;
		}
		knot_err_t this_err = KNOT_EFEWDATA;
		if (!said->usable[algorithm].has_wrong_len) {
			this_err = zonemd_digest(zone, algorithm, digest);
		}
		if (this_err == KNOT_OK &&
				memcmp(digest, said->usable[algorithm].digest, algorithms[algorithm].len) != 0) {
			this_err = KNOT_EMALF;
		}
		err = this_err == KNOT_OK || err == KNOT_ENOTSUP ? this_err : err;
	}
	return err;
}

knot_err_t zonemd_verify(const zone_contents_t *zone)
{
	said_t *said = calloc(1, sizeof(*said));
	if (said == NULL) {
		return KNOT_ENOMEM;
	}
	said->serial = zone->serial;
	knot_err_t err = zonemd_each(zone, zonemd_note, said);
	if (err == KNOT_OK) {
		err = said->count == 0 ? KNOT_CONF_ENOTEXIST
		      : said->has_two  ? KNOT_ESEMCHECK
				       : zonemd_verify_said(zone, said);
	}
	free(said);
	return err;
}
