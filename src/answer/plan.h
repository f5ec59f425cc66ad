/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Decides which compiled RRsets answer a query, before a byte is written.
 *
 * A plan lists RRsets of zone nodes per section, each with the name that its owner field gets. It holds no bytes of
 * the message; additional data is not listed either, it hangs on the listed RRsets (zone_extra_t) and is walked by the
 * encoder. Lives on the caller's stack, only its counts are initialized; everything it points to belongs to the query,
 * to one zone version (RCU read section) or to the plan itself.
 *
 * RFC 1034 4.3.2, 2308, 4035 3.1, 4592, 5155 7.2, 6672 3, 8482, 8906. Bounds: chains end after ANSWER_CHAIN_MAX links,
 * which bounds everything else.
 */
#pragma once

#include "libknot/msg/writer.h"
#include "src/zone/lookup.h"

enum {
	ANSWER_CHAIN_MAX = 5, /* CNAMEs, real or made from a DNAME, that one answer follows: as Knot */
	ANSWER_SIGS_MAX = 8,  /* RRsets whose signatures answer ANY where a name has no RRset of a type below RRSIG */
	/* A link gives at most DNAME and CNAME, its target, and a wildcard proof of one record; then comes one RRset or
	   a referral, and a denial of at most SOA and three records. */
	ANSWER_ITEMS_MAX = 3 * (ANSWER_CHAIN_MAX + 1) + ANSWER_SIGS_MAX + 8,
	ANSWER_NAMES_MAX = 2 * ANSWER_ITEMS_MAX,
};

/** A name that owners refer to: where it stands in the message. */
typedef enum {
	ANSWER_NAME_QUESTION, /* the question's name or a suffix of it: `off` is known from the start */
	ANSWER_NAME_RDATA,    /* the target of the CNAME of item `item` */
	ANSWER_NAME_SPELLED,  /* stands nowhere: written out by the first item that has it as owner */
} answer_name_kind_t;

typedef struct {
	knot_name_t name; /* lower case */
	uint16_t off;     /* bytes from the start of the message; SPELLED, RDATA: set while encoding, 0 before */
	uint8_t kind;     /* answer_name_kind_t */
	uint8_t item;     /* RDATA: index of the CNAME */
} answer_name_t;

typedef enum {
	ANSWER_ITEM_RRSET,     /* the RRset, with its signatures if they are wanted */
	ANSWER_ITEM_SIGS,      /* only its signatures: answer to a query for RRSIG */
	ANSWER_ITEM_SYNTHESIS, /* a CNAME made from the DNAME of item `dname`; to the owner's substitution */
} answer_item_kind_t;

typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	uint8_t kind;  /* answer_item_kind_t */
	uint8_t owner; /* index into names */
	uint8_t dname; /* SYNTHESIS: index of the DNAME's item */
	bool with_sigs;
	bool negative_ttl; /* the SOA of a negative answer: its TTL is soa_minimum_ttl, RFC 2308 3 */
	uint16_t off;      /* set while encoding: where the RRset's compiled body begins, 0: not in the message */
} answer_item_t;

typedef struct {
	const zone_contents_t *zone;
	const knot_query_t *query;
	knot_rcode_t rcode;
	bool authoritative; /* AA */
	uint8_t item_count, name_count;
	uint8_t authority_begin; /* items [0..authority_begin) are ANSWER, the rest AUTHORITY */
	answer_item_t items[ANSWER_ITEMS_MAX];
	answer_name_t names[ANSWER_NAMES_MAX];
	uint8_t chased[ANSWER_CHAIN_MAX][KNOT_NAME_MAX]; /* names that the chain led to */
} answer_plan_t;

/**
 * Fill in what zone version `zone` answers to `query` (class IN or ANY, its name in the zone).
 * found: what the zone says about the question's name.
 */
void answer_plan(const zone_contents_t *zone, const knot_query_t *query, zone_lookup_t found, answer_plan_t *ret_plan);

/** The zone's SOA alone, without AA and signatures: for a secondary that has this version already (RFC 1995 4). */
void answer_plan_soa(const zone_contents_t *zone, const knot_query_t *query, answer_plan_t *ret_plan);

/**
 * An RRset of another zone's node, without signatures, under the question's name. zone: that of the question. The set
 * mustn't have names in its RDATA that are compressed against its owner: CDS and CDNSKEY have none.
 */
void answer_plan_borrowed(const zone_contents_t *zone, const knot_query_t *query, const zone_node_t *node,
		const zone_rrset_t *set, answer_plan_t *ret_plan);

/**
 * The node's NSEC, or the NSEC3 that matches its name: what proves which types it has. NULL if there is none.
 * ret_owner_node: where the RRset is.
 */
const zone_rrset_t *answer_type_proof(
		const zone_contents_t *zone, const zone_node_t *node, const zone_node_t **ret_owner_node);

/**
 * Expand the name that starts `off` bytes into the body of an RRset, as compiled (see node.h), letter case kept.
 * Cost: one copy of the name.
 */
knot_name_t answer_body_name(
		const zone_node_t *node, const zone_rrset_t *set, uint32_t off, uint8_t ret_wire[static KNOT_NAME_MAX]);
