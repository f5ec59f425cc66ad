/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: records of a whole zone in temporary memory, from any source and in any order, then sorted by owner.
 *
 * Owners and records live in blocks that are given back to the system together. Records of one owner that come one after the
 * other are chained at once; the rest is done by one sort over owners, whose first key positions are packed into a
 * number so that most comparisons touch nothing else.
 */
#pragma once

#include "src/zone/node_build.h"

/** One owner name with its records. */
typedef struct {
	uint64_t prefix;             /* key positions behind the apex, see zone_name_prefix() */
	const uint8_t *wire;         /* lower case */
	zone_record_t *first, *last; /* first NULL: an empty non-terminal */
	uint32_t seq;                /* order of appearance */
	uint16_t flags;              /* ZONE_NODE_* */
	uint8_t len, label_count;
	bool has_mixed_ttl;          /* build.c: its records' TTLs differ */
	zone_ref_t ref;              /* compiled node */
	zone_ref_t old_ref;          /* node of the version that a transaction began with; 0: none */
	zone_link_t self;
} zone_name_t;

typedef struct {
	zone_name_t *names;
	size_t count, max;
} zone_names_t;

typedef struct zone_block zone_block_mem_t;

typedef struct {
	knot_name_t origin;          /* of origin_wire */
	uint8_t origin_wire[KNOT_NAME_MAX];
	zone_names_t names;
	zone_block_mem_t *blocks;
	uint8_t *next, *end;         /* room left in the first block */
} zone_collect_t;

static inline knot_name_t zone_name_of(const zone_name_t *name)
{
	return (knot_name_t){ name->wire, name->len, name->label_count };
}

/** The first ten key positions of `name` behind those of the apex, big end first: orders like the names as far as they go. */
uint64_t zone_name_prefix(knot_name_t origin, knot_name_t name);

/** Canonical order of two names of one zone. */
int zone_name_order(const zone_name_t *a, const zone_name_t *b);

/** origin: copied in lower case. */
void zone_collect_init(zone_collect_t *collect, knot_name_t origin);
void zone_collect_done(zone_collect_t *collect);

/** Temporary memory, 8-byte aligned; NULL: out of memory. */
void *zone_collect_alloc(zone_collect_t *collect, size_t len);

/** Room for one more name at the end of `names`, zeroed; NULL: out of memory. */
zone_name_t *zone_names_add(zone_names_t *names);

/** A name of the zone as a new entry, or the last entry if that has this name. NULL: out of memory. owner: any case. */
zone_name_t *zone_collect_name(zone_collect_t *collect, knot_name_t owner);

/** Append a record to a name. rdata is copied and brought into canonical form. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_collect_record(zone_collect_t *collect, zone_name_t *name, uint16_t type, uint32_t ttl,
                                             knot_bytes_t rdata);

/** Sort by owner in canonical order and join entries of the same owner, records in order of appearance. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_collect_sort(zone_collect_t *collect);
