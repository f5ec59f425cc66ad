/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the names of a zone being built, one entry of 16 bytes each, all trees together in canonical order.
 *
 * An entry stands for a group of collected records until it is compiled, then for the node. A name that has NSEC3 and
 * other records has two entries, the one of NSEC3 first. Empty non-terminals have entries of their own.
 */
#pragma once

#include "src/zone/collect.h"
#include "src/zone/contents.h"

enum { TREE_AUTH, TREE_GLUE, TREE_NSEC3, TREE_COUNT };

typedef struct {
	union {
		zone_group_ref_t group; /* of entries that are not compiled yet */
		zone_ref_t ref;         /* of those that are */
	};
	zone_link_t self;       /* number by which others refer to it; 0: none yet */
	zone_tree_step_t step;  /* from the entry before it in its tree */
	uint16_t flags;         /* ZONE_NODE_* */
	uint8_t tree;           /* TREE_* */
	bool is_nsec3_part : 1; /* of the group's records those of ZONE_GROUP_NSEC3, else the rest */
	bool has_address : 1;   /* A or AAAA */
} zone_name_t;

typedef struct {
	const zone_collect_t *collect;
	zone_name_t *list;
	size_t count, max;
	size_t compiled; /* entries [0..compiled) of `list` have their node */
	size_t apex;     /* entry of the apex in TREE_AUTH */
	size_t tree_counts[TREE_COUNT];
	bool has_wildcards;
	uint32_t *index; /* hash table of entries by name, plus 1; 0: empty; made when first needed */
	size_t index_mask;
} zone_names_t;

/**
 * Make entries of sorted groups: cuts and what lies below them, empty non-terminals, NSEC3 owners, wildcards.
 * params: chain that is answered from; NSEC3 records of other chains are only zone data. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_names_classify(
		zone_names_t *names, zone_collect_t *collect, const zone_nsec3_params_t *params);
void zone_names_done(zone_names_t *names);

/** The group of an entry that isn't compiled yet. */
static inline const zone_group_t *zone_names_group(const zone_names_t *names, const zone_name_t *name)
{
	return zone_group_at(names->collect, name->group);
}

/** The first entry from `i` on that is in the tree; names->count: there are no more. */
static inline size_t zone_names_next(const zone_names_t *names, size_t i, unsigned tree)
{
	while (i < names->count && names->list[i].tree != tree) {
		i++;
	}
	return i;
}

/** An entry's name, which lies in its group or node. */
knot_name_t zone_names_at(const zone_names_t *names, const zone_arena_view_t *view, size_t i);

/**
 * The entry of a name in a tree, or NULL. In a zone without wildcards, SVCB and HTTPS, entries without an address may
 * not be found, as no caller needs them. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_names_find(zone_names_t *names, const zone_arena_view_t *view, knot_name_t name,
		unsigned tree, zone_name_t **ret_found);
