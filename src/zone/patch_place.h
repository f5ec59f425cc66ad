/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the names that a patch makes nodes of, and in which tree each of them is. */
#pragma once

#include "src/zone/patch.h"

typedef enum { PATCH_NONE, PATCH_AUTH, PATCH_GLUE, PATCH_NSEC3 } patch_tree_t;

/* Flags that placing decides on; the others follow from a node's records. */
enum {
	PATCH_FLAGS = ZONE_NODE_APEX | ZONE_NODE_CUT | ZONE_NODE_WILDCARD_CHILD | ZONE_NODE_GLUE | ZONE_NODE_NSEC3 |
		      ZONE_NODE_CHILDREN,
};

/** A name whose node is made. A name with NSEC3 records has two entries: one of these and one of the rest. */
typedef struct {
	knot_name_t owner; /* of wire[] */
	const zone_record_t *records;
	bool is_nsec3_part; /* NSEC3 and its signatures; else the rest */
	bool has_records;   /* `records` are known; else they are those of the old node */
	bool is_placed, is_built;
	patch_tree_t tree, old_tree; /* where it is, and where it was in the base */
	uint16_t flags;              /* PATCH_FLAGS */
	zone_link_t self;
	zone_ref_t ref;     /* its node in `tree`; a bare one until it is built */
	zone_ref_t old_ref; /* its node in the base; 0: none */
	uint8_t wire[];
} patch_name_t;

typedef struct patch_memory patch_memory_t;

/** A patch being made. */
typedef struct {
	const zone_contents_t *base;
	zone_contents_t *zone;        /* being made; its `arena` is not set yet */
	zone_node_builder_t *builder; /* owned */
	patch_name_t **names;         /* owned; by owner in canonical order, the NSEC3 part first */
	size_t count, max;
	size_t gap;           /* of names[]: the entry before which what is free of it stands; else `count` */
	size_t at;            /* the name being placed */
	patch_name_t *parent; /* the entry that was asked for last as a parent; NULL: none */
	knot_name_t *anchors; /* owned; names below which names that don't exist may lead elsewhere now */
	size_t anchor_count, anchor_max;
	patch_memory_t *memory; /* owned: names and records */
	uint8_t *scratch;       /* owned: KNOT_RDATA_MAX bytes */
	zone_node_sums_t added, removed;
	patch_name_t *current; /* the name being built */
	knot_err_t err;        /* what a callback could not return */
} patch_t;

/** Memory until the end of the patch, 8-byte aligned. NULL: out of memory. */
void *patch_alloc(patch_t *p, size_t len);

static inline const zone_arena_view_t *patch_view(const patch_t *p)
{
	return zone_arena_view(p->zone->store);
}

/** The tree of the version being made. tree: not PATCH_NONE. */
zone_tree_t *patch_tree(const patch_t *p, patch_tree_t tree);

/** The entry of a name, or NULL. */
patch_name_t *patch_find(const patch_t *p, knot_name_t owner, bool is_nsec3_part);

/** The records of an entry; loads them from its old node if needed. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t patch_load(patch_t *p, patch_name_t *name);

/** The records of a node of the version, in memory of the patch. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t patch_expand(patch_t *p, zone_ref_t ref, const zone_record_t **ret_records);

/** Remember a name for zone_patch()'s look at names that don't exist. It must stay. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t patch_anchor(patch_t *p, knot_name_t name);

/** Make entries of the changes and put them, and whatever they move, where they belong. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t patch_place(patch_t *p, const zone_change_t *changes, size_t count);

/** Free what the patch owns but the version. */
void patch_done(patch_t *p);

/** True if a node of the glue tree holds NSEC3 records of a chain that isn't answered from. */
bool patch_is_other_chain(const patch_t *p, knot_name_t owner);
