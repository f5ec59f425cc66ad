/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones as the judge sees them: names, records, and what they must lead to in an answer.
 *
 * A hash table of names over arrays, made once by loading. Names are in lower case, RDATA in canonical form (RFC 4034
 * 6.2), so that equal records are equal bytes.
 */
#pragma once

#include "src/tools/load/hash.h"
#include "src/tools/load/judge.h"
#include "src/zone/nsec3_hash.h"

enum {
	MODEL_NONE = UINT32_MAX, /* no such node or record */
	MODEL_CHAIN_MAX = 8,     /* aliases that are followed */
};

typedef struct {
	uint64_t rdata_off; /* in bytes */
	uint64_t hash;      /* of type and RDATA */
	uint32_t next;      /* of the same node; MODEL_NONE: the last */
	uint32_t ttl;
	uint16_t type;
	uint16_t rdata_len;
	uint16_t covered; /* of an RRSIG; else 0 */
} model_record_t;

typedef struct {
	uint64_t name_off; /* in bytes */
	uint64_t hash;     /* of the name */
	uint32_t first;    /* record; MODEL_NONE: an empty non-terminal */
	uint32_t zone;
	uint8_t name_len, label_count;
	bool is_cut;    /* NS below the apex */
	bool is_hidden; /* of an NSEC3: not among the names of the zone */
	bool has_dname;
} model_node_t;

typedef struct {
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	uint32_t node;
} model_nsec3_t;

typedef struct {
	uint32_t apex; /* node */
	uint8_t label_count;
	bool is_signed, has_nsec, has_nsec3;
	zone_nsec3_params_t nsec3_params; /* `salt` is set where it is used: zones move while they are loaded */
	uint8_t salt[255];
	uint32_t *nsec; /* owned: nodes with an NSEC, in canonical order */
	size_t nsec_count;
	model_nsec3_t *nsec3; /* owned: by hash */
	size_t nsec3_count;
	const char *path; /* borrowed */
} model_zone_t;

struct model {
	uint8_t *bytes; /* owned: names and RDATA */
	size_t used, size;
	model_record_t *records; /* owned */
	size_t record_count, record_room;
	model_node_t *nodes; /* owned */
	size_t node_count, node_room;
	uint32_t *table; /* owned: nodes by hash; a power of two */
	size_t table_size;
	model_zone_t *zones; /* owned */
	size_t zone_count;
};

static inline knot_name_t model_name(const model_t *m, uint32_t node)
{
	const model_node_t *n = &m->nodes[node];
	return (knot_name_t){ m->bytes + n->name_off, n->name_len, n->label_count };
}

static inline knot_bytes_t model_rdata(const model_t *m, const model_record_t *r)
{
	return (knot_bytes_t){ m->bytes + r->rdata_off, r->rdata_len };
}

/** Hash of a name in lower case. */
static inline uint64_t model_name_hash(knot_name_t lower)
{
	return hash_bytes(1, lower.wire, lower.len);
}

/** Hash of a record without its owner; rdata: canonical. */
static inline uint64_t model_rdata_hash(uint16_t type, knot_bytes_t rdata)
{
	return hash_bytes((uint64_t)type << 8 | 2, rdata.data, rdata.len);
}

/** What digests of sections add up, so that order doesn't matter. */
static inline uint64_t model_record_digest(uint64_t name_hash, uint64_t rdata_hash)
{
	return hash_mix(name_hash ^ 0x9E3779B97F4A7C15u, rdata_hash ^ 0xD1B54A32D192ED03u);
}

/** The node of a name in lower case of this zone, MODEL_NONE: there is none. */
uint32_t model_find(const model_t *m, uint32_t zone, knot_name_t lower);

/** The first record of a type at a node, and the next; covered: of an RRSIG, else 0. */
uint32_t model_record(const model_t *m, uint32_t node, uint16_t type, uint16_t covered);
uint32_t model_record_after(const model_t *m, uint32_t record, uint16_t type, uint16_t covered);

/** The zone with the longest name that `lower` is in. MODEL_NONE: none. */
uint32_t model_zone_of(const model_t *m, knot_name_t lower);

/** The same, but for the zone whose apex `lower` is: the parent's side. MODEL_NONE: none. */
uint32_t model_zone_above(const model_t *m, knot_name_t lower);

/** The node whose NSEC covers a name, or is its own. MODEL_NONE: the zone has no NSEC. */
uint32_t model_nsec_covering(const model_t *m, uint32_t zone, knot_name_t lower);

/** The node whose NSEC3 matches (exact) or covers the hash of a name. MODEL_NONE: none. */
uint32_t model_nsec3_matching(const model_t *m, uint32_t zone, knot_name_t lower);
uint32_t model_nsec3_covering(const model_t *m, uint32_t zone, knot_name_t lower);

/* ---- expect.c ---- */

/** A record that is expected, with the owner that it has in the answer. */
typedef struct {
	uint32_t record; /* MODEL_NONE: a CNAME that is made from a DNAME */
	uint32_t ttl;
	uint64_t digest;
	const uint8_t *owner; /* wire; in the model, or in the expectation's scratch */
} expected_record_t;

typedef struct {
	expected_record_t *records; /* owned */
	size_t count, room;
} expected_section_t;

typedef enum {
	EXPECT_ANSWER,
	EXPECT_REFERRAL,
	EXPECT_NODATA,
	EXPECT_NXDOMAIN,
	EXPECT_REFUSED, /* no zone */
	EXPECT_UNKNOWN, /* the model doesn't say */
} expect_kind_t;

/** All that must be there. Reused from question to question. */
typedef struct {
	expect_kind_t kind;
	uint8_t rcode;
	bool is_authoritative;
	uint32_t zone;
	expected_section_t answer, authority, glue;        /* glue: addresses that must be in ADDITIONAL */
	uint8_t names[MODEL_CHAIN_MAX + 2][KNOT_NAME_MAX]; /* owners of synthesis */
	uint8_t made[2 + KNOT_NAME_MAX];                   /* the RDATA of a CNAME from a DNAME */
	bool failed;                                       /* no memory */
} expectation_t;

/** question in lower case. */
void expect(const model_t *m, knot_name_t lower, uint16_t type, bool dnssec, expectation_t *io_expectation);
void expectation_done(expectation_t *expectation);

/** A digest with a TTL in it: of the answer section, where TTLs must be the zone's. */
static inline uint64_t model_with_ttl(uint64_t digest, uint32_t ttl)
{
	return digest * (2 * (uint64_t)ttl + 1);
}

/** Sum of the digests of a section. */
uint64_t expected_sum(const expected_section_t *section, bool with_ttl);
