/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the records of a whole zone in temporary memory, from any source and in any order, then sorted by owner.
 *
 * A group is an owner name with its records, packed one after another. It takes 16 bytes, the name, and usually 2
 * bytes for each record beside its RDATA: the index of its pair of type and TTL, and its length. Records of one owner
 * that come one after the other are one group; sorting joins the rest. Groups lie in blocks, which go back to the
 * system one by one while the sorted groups are used up in order. One thread; the caller owns the collection.
 */
#pragma once

#include "libknot/base/assert.h"
#include "src/zone/node_build.h"

/** What records a group has: bits of zone_group_t.kinds. */
enum {
	ZONE_GROUP_REST = 1 << 0,  /* any but NSEC3 and its signatures */
	ZONE_GROUP_NSEC3 = 1 << 1, /* NSEC3 or its signatures */
	ZONE_GROUP_NS = 1 << 2,
	ZONE_GROUP_SOA = 1 << 3,
	ZONE_GROUP_ADDRESS = 1 << 4, /* A or AAAA */
	ZONE_GROUP_SERVICE = 1 << 5, /* SVCB or HTTPS */
};

/** One owner name with records. */
typedef struct {
	uint64_t prefix; /* key positions behind the apex, see zone_name_prefix() */
	uint32_t size;   /* bytes of all this; the next group begins at the next multiple of 8 */
	uint16_t kinds;
	uint8_t owner_len, label_count;
	uint8_t owner[]; /* wire form, lower case; then records */
} zone_group_t;

/** A record of a group, RDATA borrowed from there. */
typedef struct {
	uint32_t ttl;
	uint16_t type;
	knot_bytes_t rdata; /* uncompressed, canonical (RFC 4034 6.2), checked */
} zone_packed_t;

typedef struct zone_block zone_block_mem_t;

enum { ZONE_RUNS_MAX = 4 };

/** A group in 32 bits: the number of its block and the offset in it in units of 8 bytes. */
typedef uint32_t zone_group_ref_t;

enum {
	ZONE_BLOCK_SIZE = 128 * 1024, /* bytes; groups begin within the first ZONE_BLOCK_SIZE bytes of a block */
	ZONE_GROUP_OFFSET_BITS = 14,
	ZONE_BLOCKS_MAX = 1 << (32 - ZONE_GROUP_OFFSET_BITS),
	ZONE_HEADS_MAX = 256, /* pairs of type and TTL that are kept once; records with others carry their own */
};

typedef struct {
	uint32_t ttl;
	uint16_t type;
} zone_record_head_t;

/** Blocks in order of use. */
typedef struct {
	zone_block_mem_t *first, *last;
	uint8_t *next, *end; /* room left in the last one */
} zone_blocks_t;

typedef struct {
	knot_name_t origin; /* of origin_wire */
	uint8_t origin_wire[KNOT_NAME_MAX];
	unsigned origin_key_len;
	uint16_t kinds;     /* of all groups */
	zone_group_t *last; /* group that records are appended to; NULL: none */
	size_t group_count;
	zone_blocks_t *run;                /* where `last` is: one of the following */
	unsigned run_number;               /* in runs[]; ZONE_RUNS_MAX: it is `rest` */
	zone_blocks_t runs[ZONE_RUNS_MAX]; /* groups in strictly ascending order; a group goes to the first run whose
					      last group sorts before it */
	zone_group_t *run_ends[ZONE_RUNS_MAX]; /* the last group of each */
	zone_blocks_t rest;                    /* groups that fit behind no run, in order of appearance */
	zone_blocks_t groups;                  /* all of them, sorted, after zone_collect_sort() */
	zone_blocks_t scratch;
	zone_block_mem_t *spare;  /* blocks of the common size for reuse */
	zone_block_mem_t **table; /* blocks by number; NULL: given back */
	uint32_t block_count, table_max;
	zone_record_head_t *heads; /* [1..head_count]; 0 says that the record carries its own */
	uint32_t head_count, last_head, head_max;
} zone_collect_t;

static inline zone_group_t *zone_group_at(const zone_collect_t *collect, zone_group_ref_t ref)
{
	KNOT_ASSERT_SLOW(collect->table[ref >> ZONE_GROUP_OFFSET_BITS] != NULL); /* not given back yet */
	uint8_t *block = (uint8_t *)collect->table[ref >> ZONE_GROUP_OFFSET_BITS];
	return (zone_group_t *)(void *)(block + 8 * (size_t)(ref & ((1u << ZONE_GROUP_OFFSET_BITS) - 1)));
}

static inline knot_name_t zone_group_name(const zone_group_t *group)
{
	return (knot_name_t){ group->owner, group->owner_len, group->label_count };
}

/** Step through the records of a group: begin with *pos 0. False at the end. */
bool zone_group_next(const zone_collect_t *collect, const zone_group_t *group, size_t *pos, zone_packed_t *ret_record);

/** NSEC3, or a signature of NSEC3. */
bool zone_is_nsec3_record(uint16_t type, knot_bytes_t rdata);

enum { ZONE_PREFIX_POSITIONS = 10, ZONE_PREFIX_BITS = 6 };

/**
 * The first ten key positions of `name` behind those of the apex, of 6 bits each, most significant first, so numbers
 * order like the names as far as they go. Positions that the name doesn't have are KNOT_KEY_END.
 */
uint64_t zone_name_prefix(const zone_collect_t *collect, knot_name_t name);

/** Canonical order of two groups' names. */
int zone_group_order(const zone_group_t *a, const zone_group_t *b);

/** origin: copied in lower case. */
void zone_collect_init(zone_collect_t *collect, knot_name_t origin);
void zone_collect_done(zone_collect_t *collect);

/** Temporary memory, 8-byte aligned, until zone_collect_done(); NULL: out of memory. */
void *zone_collect_alloc(zone_collect_t *collect, size_t len);

/** Records that follow belong to `owner` (in the zone, any case): makes a group of it unless the last group is one.
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_collect_owner(zone_collect_t *collect, knot_name_t owner);

/** Append a record to the last group, which must exist. Not after zone_collect_sort(). rdata is copied and put into
 * canonical form. KNOT_ENOMEM. KNOT_EZONESIZE: over 4 GiB at one name. */
KNOT_MUST_USE knot_err_t zone_collect_record(zone_collect_t *collect, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

/** Sort by owner in canonical order and join groups of the same owner, records in order of appearance. KNOT_ENOMEM,
 * KNOT_EZONESIZE. */
KNOT_MUST_USE knot_err_t zone_collect_sort(zone_collect_t *collect);

/** Step through the groups in order: begin with NULL. NULL at the end. *block: the block of the group. */
zone_group_t *zone_collect_next(const zone_collect_t *collect, zone_block_mem_t **block, const zone_group_t *group);

/** The reference of a group that lies in `block`. */
zone_group_ref_t zone_group_ref(const zone_block_mem_t *block, const zone_group_t *group);

/** Give back the blocks before the one that `group` lies in. */
void zone_collect_release(zone_collect_t *collect, const zone_group_t *group);

/**
 * A group of a name without records, for an empty non-terminal; lives until zone_collect_done(). NULL: out of memory.
 */
zone_group_t *zone_collect_empty(zone_collect_t *collect, knot_name_t owner, zone_group_ref_t *ret_ref);
