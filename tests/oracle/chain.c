/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/chain.h"

#include "libknot/rr/rrtype.h"
#include "src/zone/nsec3_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16384, RDATA_ROOM = 1024 };

struct chain_memory {
	chain_memory_t *before;
	size_t used;
	uint8_t bytes[BLOCK];
};

void chain_check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "oracle: %s\n", what);
		abort();
	}
}

static uint8_t *chain_keep(chain_t *chain, const uint8_t *bytes, size_t len)
{
	if (chain->memory == NULL || chain->memory->used + len > BLOCK) {
		chain_memory_t *memory = malloc(sizeof(*memory));
		chain_check(memory != NULL && len <= BLOCK, "memory for a chain");
		memory->before = chain->memory;
		memory->used = 0;
		chain->memory = memory;
	}
	uint8_t *to = chain->memory->bytes + chain->memory->used;
	chain->memory->used += len;
	memcpy(to, bytes, len);
	return to;
}

static void chain_add(chain_t *chain, knot_name_t owner, uint16_t type, const uint8_t *rdata, size_t rdata_len)
{
	if (chain->count == chain->max) {
		chain->max = chain->max == 0 ? 64 : 2 * chain->max;
		chain->records = realloc(chain->records, chain->max * sizeof(*chain->records));
		chain_check(chain->records != NULL, "memory for a chain");
	}
	owner.wire = chain_keep(chain, owner.wire, owner.len);
	chain->records[chain->count++] = (chained_t){ owner, type, { chain_keep(chain, rdata, rdata_len), rdata_len } };
}

void chain_done(chain_t *chain)
{
	for (chain_memory_t *memory = chain->memory; memory != NULL;) {
		chain_memory_t *before = memory->before;
		free(memory);
		memory = before;
	}
	free(chain->records);
	*chain = (chain_t){ .count = 0 };
}

int chain_cmp(const chained_t *a, const chained_t *b)
{
	int order = knot_name_cmp(a->owner, b->owner);
	order = order != 0 ? order : (int)a->type - (int)b->type;
	size_t common = a->rdata.len < b->rdata.len ? a->rdata.len : b->rdata.len;
	order = order != 0 ? order : memcmp(a->rdata.data, b->rdata.data, common);
	return order != 0 ? order : (a->rdata.len > b->rdata.len) - (a->rdata.len < b->rdata.len);
}

static int cmp_chained(const void *a, const void *b)
{
	return chain_cmp(a, b);
}

/* ---- RDATA ---- */

size_t chain_bitmap(const uint16_t *types, size_t count, uint8_t ret_bitmap[static CHAIN_BITMAP_MAX])
{
	size_t len = 0;
	for (size_t i = 0; i < count;) {
		uint8_t *block = ret_bitmap + len;
		chain_check(len + 34 <= CHAIN_BITMAP_MAX, "room for a bitmap");
		memset(block, 0, 34);
		block[0] = (uint8_t)(types[i] >> 8);
		for (; i < count && types[i] >> 8 == block[0]; i++) {
			unsigned low = types[i] & 0xFF;
			block[2 + low / 8] |= (uint8_t)(0x80 >> low % 8);
			block[1] = (uint8_t)(low / 8 + 1);
		}
		len += 2u + block[1];
	}
	return len;
}

size_t chain_rrsig(uint16_t type, unsigned label_count, knot_name_t signer, uint32_t signature, uint8_t *ret_rdata)
{
	store_be16(ret_rdata, type);
	ret_rdata[2] = 13;
	ret_rdata[3] = (uint8_t)label_count;
	store_be32(ret_rdata + 4, 60);
	store_be32(ret_rdata + 8, CHAIN_NOW_S + 100000);
	store_be32(ret_rdata + 12, CHAIN_NOW_S - 100000);
	store_be16(ret_rdata + 16, 1);
	memcpy(ret_rdata + 18, signer.wire, signer.len);
	store_be32(ret_rdata + 18 + signer.len, signature);
	return 18u + signer.len + 4;
}

size_t chain_nsec3(const zone_nsec3_params_t *params, bool is_opt_out, const uint8_t *next_hash, const uint16_t *types,
		size_t count, uint8_t *ret_rdata)
{
	uint8_t *to = ret_rdata;
	*to++ = params->algorithm;
	*to++ = is_opt_out;
	store_be16(to, params->iterations);
	to[2] = params->salt_len;
	to += 3;
	if (params->salt_len > 0) {
		memcpy(to, params->salt, params->salt_len);
		to += params->salt_len;
	}
	*to++ = ZONE_NSEC3_HASH_LEN;
	memcpy(to, next_hash, ZONE_NSEC3_HASH_LEN);
	to += ZONE_NSEC3_HASH_LEN;
	return (size_t)(to - ret_rdata) + chain_bitmap(types, count, to);
}

/* ---- A zone ---- */

/* A name of the chain: its types in the bitmap, ascending. */
typedef struct {
	knot_name_t owner; /* of the node */
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	uint16_t types[CHAIN_TYPES_MAX];
	size_t count;
} link_t;

static const uint8_t salt[] = { 0xAB, 0xCD };

static zone_nsec3_params_t params_of(chain_kind_t kind)
{
	zone_nsec3_params_t params = { .algorithm = kind == CHAIN_NSEC ? 0 : 1 };
	if (kind == CHAIN_SALTED) {
		params.iterations = 2;
		params.salt = salt;
		params.salt_len = sizeof(salt);
	}
	return params;
}

/* Wildcards count without their first label (RFC 4034 3.1.3). */
static unsigned labels_of(knot_name_t owner)
{
	return owner.label_count - knot_name_is_wildcard(owner);
}

/* The records' bytes decide on the signature, so that it changes with them. */
static uint32_t signature_of(const uint8_t *bytes, size_t len)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ bytes[i]) * 16777619u;
	}
	return hash;
}

static void sign_bytes(
		chain_t *chain, knot_name_t owner, knot_name_t apex, uint16_t type, const uint8_t *bytes, size_t len)
{
	uint8_t rdata[RDATA_ROOM];
	size_t rdata_len = chain_rrsig(type, labels_of(owner), apex, signature_of(bytes, len), rdata);
	chain_add(chain, owner, KNOT_TYPE_RRSIG, rdata, rdata_len);
}

static void add_signed(
		chain_t *chain, knot_name_t owner, knot_name_t apex, uint16_t type, const uint8_t *rdata, size_t len)
{
	chain_add(chain, owner, type, rdata, len);
	sign_bytes(chain, owner, apex, type, rdata, len);
}

static void add_type(link_t *link, uint16_t type)
{
	size_t at = link->count;
	chain_check(at < CHAIN_TYPES_MAX, "room for types");
	for (; at > 0 && link->types[at - 1] > type; at--) {
		link->types[at] = link->types[at - 1];
	}
	link->types[at] = type;
	link->count++;
}

/* Sign a name's sets, and note its types. */
static void take_node(
		chain_t *chain, const zone_contents_t *zone, const zone_node_t *node, chain_kind_t kind, link_t *link)
{
	knot_name_t apex = zone_node_owner(zone->apex);
	*link = (link_t){ .owner = zone_node_owner(node) };
	bool is_cut = node->flags & ZONE_NODE_CUT, is_signed = false;
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, node, i);
		uint16_t type = zone_rrset_type(set);
		zone_block_t body = zone_rrset_body(set);
		bool is_ours = !is_cut || type == KNOT_TYPE_DS;
		if (is_ours || type == KNOT_TYPE_NS) {
			add_type(link, type);
		}
		if (is_ours) {
			is_signed = true;
			sign_bytes(chain, link->owner, apex, type, body.bytes, body.len);
		}
	}
	if (node == zone->apex) {
		static const uint8_t key[] = { 1, 1, 3, 13, 1, 2, 3, 4 };
		add_signed(chain, apex, apex, KNOT_TYPE_DNSKEY, key, sizeof(key));
		add_type(link, KNOT_TYPE_DNSKEY);
		if (kind != CHAIN_NSEC) {
			zone_nsec3_params_t params = params_of(kind);
			uint8_t rdata[16] = { 1, 0, 0, (uint8_t)params.iterations, params.salt_len };
			memcpy(rdata + 5, salt, params.salt_len);
			add_signed(chain, apex, apex, KNOT_TYPE_NSEC3PARAM, rdata, 5u + params.salt_len);
			add_type(link, KNOT_TYPE_NSEC3PARAM);
		}
	}
	if (kind == CHAIN_NSEC && link->count > 0) {
		add_type(link, KNOT_TYPE_NSEC);
		is_signed = true;
	}
	if (is_signed) {
		add_type(link, KNOT_TYPE_RRSIG);
	}
}

static int cmp_links(const void *a, const void *b)
{
	return memcmp(((const link_t *)a)->hash, ((const link_t *)b)->hash, ZONE_NSEC3_HASH_LEN);
}

static void make_nsec(chain_t *chain, knot_name_t apex, const link_t *links, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t rdata[RDATA_ROOM];
		knot_name_t next = links[(i + 1) % count].owner;
		memcpy(rdata, next.wire, next.len);
		size_t len = next.len + chain_bitmap(links[i].types, links[i].count, rdata + next.len);
		add_signed(chain, links[i].owner, apex, KNOT_TYPE_NSEC, rdata, len);
	}
}

static void make_nsec3(chain_t *chain, knot_name_t apex, chain_kind_t kind, link_t *links, size_t count)
{
	zone_nsec3_params_t params = params_of(kind);
	for (size_t i = 0; i < count; i++) {
		chain_check(zone_nsec3_hash(&params, links[i].owner, links[i].hash), "a hash");
	}
	qsort(links, count, sizeof(*links), cmp_links);
	for (size_t i = 0; i < count; i++) {
		uint8_t rdata[RDATA_ROOM], wire[KNOT_NAME_MAX];
		knot_name_t owner;
		chain_check(zone_nsec3_owner(&params, links[i].owner, apex, wire, &owner), "a hash");
		size_t len = chain_nsec3(&params, kind == CHAIN_OPT_OUT, links[(i + 1) % count].hash, links[i].types,
				links[i].count, rdata);
		add_signed(chain, owner, apex, KNOT_TYPE_NSEC3, rdata, len);
	}
}

/* Insecure delegations have no NSEC3 with opt-out, nor have empty non-terminals above nothing else: these are left to
 * what is above them. */
static bool is_in_chain(const zone_node_t *node, chain_kind_t kind, const link_t *link)
{
	if (zone_node_rrset_count(node) == 0) {
		return kind == CHAIN_NSEC3 || kind == CHAIN_SALTED;
	}
	bool is_insecure = (node->flags & ZONE_NODE_CUT) && link->types[link->count - 1] == KNOT_TYPE_NS;
	return kind != CHAIN_OPT_OUT || !is_insecure;
}

chain_t chain_make(const zone_contents_t *plain, chain_kind_t kind, unsigned missing)
{
	chain_t chain = { .count = 0 };
	knot_name_t apex = zone_node_owner(plain->apex);
	link_t *links = malloc(plain->auth.count * sizeof(*links));
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	chain_check(links != NULL && iter != NULL, "memory for a chain");
	size_t count = 0;
	zone_tree_begin(&plain->arena, &plain->auth, iter);
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&plain->arena, ref);
		take_node(&chain, plain, node, kind, &links[count]);
		count += is_in_chain(node, kind, &links[count]);
	}
	if (kind == CHAIN_NSEC) {
		make_nsec(&chain, apex, links, count);
	} else {
		make_nsec3(&chain, apex, kind, links, count);
	}
	qsort(chain.records, chain.count, sizeof(*chain.records), cmp_chained);
	if (missing > 0) {
		size_t at = missing % chain.count;
		chain.count--;
		memmove(&chain.records[at], &chain.records[at + 1], (chain.count - at) * sizeof(*chain.records));
	}
	free(iter);
	free(links);
	return chain;
}
