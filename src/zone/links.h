/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The link table of a version: numbers from 1 to references of nodes, so that a node can be replaced without touching
 * those that refer to it.
 *
 * A radix tree of pages of ZONE_LINK_PAGE references in a zone arena, as deep as the numbers need, copied on write: a
 * change costs a page per level. Reference 0: nothing has the number now. One writer; any number of readers.
 */
#pragma once

#include "libknot/base/err.h"
#include "src/zone/arena.h"
#include "src/zone/node.h"
#include "src/zone/tree_move.h"

enum {
	ZONE_LINK_BITS = 8,
	ZONE_LINK_PAGE = 1 << ZONE_LINK_BITS, /* references of a full page; the last page of a level may be shorter */
};

/** A table as a value: a copy of it is a version. Zeroed is empty. */
typedef struct {
	zone_ref_t root; /* page; 0: count is 0 */
	uint32_t count;  /* numbers given out so far */
} zone_links_t;

/* How far the number less 1 is shifted for its place in the root page. */
static inline unsigned zone_links_shift(uint32_t count)
{
	return (31u - (unsigned)__builtin_clz((count - 1) | 1)) & ~(unsigned)(ZONE_LINK_BITS - 1);
}

/** The reference with a number; 0: there is none. Cost: a dependent load per level. */
static inline zone_ref_t zone_links_get(const zone_arena_view_t *view, const zone_links_t *links, zone_link_t link)
{
	if (link == 0 || link > links->count) {
		return 0;
	}
	uint32_t i = link - 1;
	const zone_ref_t *page = zone_at(view, links->root);
	for (unsigned shift = zone_links_shift(links->count); shift > 0; shift -= ZONE_LINK_BITS) {
		page = zone_at(view, page[i >> shift & (ZONE_LINK_PAGE - 1)]);
	}
	return page[i & (ZONE_LINK_PAGE - 1)];
}

/** Make a table of `count` references. KNOT_ENOMEM: what was allocated is lost, free the arena. */
KNOT_MUST_USE knot_err_t zone_links_build(
		zone_arena_t *arena, const zone_ref_t *refs, uint32_t count, zone_links_t *ret_links);

/** Set the reference of a number that was given out. KNOT_ENOMEM: give up the transaction. */
KNOT_MUST_USE knot_err_t zone_links_set(zone_arena_t *arena, zone_links_t *links, zone_link_t link, zone_ref_t ref);

/** Give out the next number, with reference 0. KNOT_ENOMEM: give up the transaction. KNOT_EZONESIZE: there is none. */
KNOT_MUST_USE knot_err_t zone_links_add(zone_arena_t *arena, zone_links_t *links, zone_link_t *ret_link);

/** References that the page at `shift` has room for whose first number less 1 is `first`: a power of two, 0: there is
 * no such page. */
uint32_t zone_links_room(uint32_t count, uint32_t first, unsigned shift);

/**
 * Move the pages that are in leaving chunks, from the number behind *place on, until none or no steps (as those of
 * zone_tree_move_t) are left. *place is then where to go on: links->count at the end. KNOT_ENOMEM: give up the
 * transaction.
 */
KNOT_MUST_USE knot_err_t zone_links_move(zone_arena_t *arena, zone_links_t *links, const zone_leaving_t *leaving,
		size_t *steps, uint32_t *place);
