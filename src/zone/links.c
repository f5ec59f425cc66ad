/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last page of a level has room for a power of two, so that a table that grows by one is seldom copied to a larger
 * page.
 */
#include "src/zone/links.h"

#include <assert.h>

uint32_t zone_links_room(uint32_t count, uint32_t first, unsigned shift)
{
	if (count <= first) {
		return 0;
	}
	uint32_t pages = (uint32_t)(((uint64_t)(count - first) + (1u << shift) - 1) >> shift), room = 1;
	while (room < pages && room < ZONE_LINK_PAGE) {
		room *= 2;
	}
	return room;
}

/* A page of this transaction in place of the one at `ref`. 0: out of memory. */
static zone_ref_t own_page(zone_arena_t *arena, zone_ref_t ref, uint32_t old_room, uint32_t room)
{
	if (old_room == room && zone_arena_is_mine(arena, ref)) {
		return ref;
	}
	zone_ref_t page = zone_arena_alloc_brief(arena, room * sizeof(zone_ref_t));
	if (page != 0 && old_room > 0) {
		const zone_arena_view_t *view = zone_arena_view(arena);
		memcpy(zone_at(view, page), zone_at(view, ref), old_room * sizeof(zone_ref_t));
		zone_arena_drop(arena, ref, old_room * sizeof(zone_ref_t));
	}
	return page;
}

/* Put a root page above the old one. */
static knot_err_t links_deepen(zone_arena_t *arena, zone_links_t *links)
{
	zone_ref_t root = zone_arena_alloc(arena, sizeof(zone_ref_t));
	if (root == 0) {
		return KNOT_ENOMEM;
	}
	*(zone_ref_t *)zone_at(zone_arena_view(arena), root) = links->root;
	links->root = root;
	return KNOT_OK;
}

/* Write entry `index` of a table that then has `count`. */
static knot_err_t links_write(zone_arena_t *arena, zone_links_t *links, uint32_t count, uint32_t index, zone_ref_t ref)
{
	unsigned shift = zone_links_shift(count);
	if (links->count > 0 && shift > zone_links_shift(links->count) && links_deepen(arena, links) != KNOT_OK) {
		return KNOT_ENOMEM;
	}
	zone_ref_t *slot = &links->root;
	for (uint32_t first = 0;; shift -= ZONE_LINK_BITS) {
		*slot = own_page(arena, *slot, zone_links_room(links->count, first, shift),
				zone_links_room(count, first, shift));
		if (*slot == 0) {
			return KNOT_ENOMEM;
		}
		uint32_t i = index >> shift & (ZONE_LINK_PAGE - 1);
		slot = (zone_ref_t *)zone_at(zone_arena_view(arena), *slot) + i;
		if (shift == 0) {
			break;
		}
		first += i << shift;
	}
	*slot = ref;
	links->count = count;
	return KNOT_OK;
}

knot_err_t zone_links_set(zone_arena_t *arena, zone_links_t *links, zone_link_t link, zone_ref_t ref)
{
	assert(link > 0 && link <= links->count);
	return links_write(arena, links, links->count, link - 1, ref);
}

knot_err_t zone_links_add(zone_arena_t *arena, zone_links_t *links, zone_link_t *ret_link)
{
	if (links->count == UINT32_MAX) {
		return KNOT_EZONESIZE;
	}
	knot_err_t err = links_write(arena, links, links->count + 1, links->count, 0);
	*ret_link = links->count;
	return err;
}

/* The page at `shift` of entries from `first` on. 0: out of memory. */
static zone_ref_t links_build_page(
		zone_arena_t *arena, const zone_ref_t *refs, uint32_t count, uint32_t first, unsigned shift)
{
	uint32_t room = zone_links_room(count, first, shift);
	zone_ref_t page = zone_arena_alloc(arena, room * sizeof(zone_ref_t));
	for (uint32_t i = 0; page != 0 && i < room && first + ((uint64_t)i << shift) < count; i++) {
		uint32_t at = first + (i << shift);
		zone_ref_t ref = shift == 0 ? refs[at]
					    : links_build_page(arena, refs, count, at, shift - ZONE_LINK_BITS);
		if (shift > 0 && ref == 0) {
			return 0;
		}
		((zone_ref_t *)zone_at(zone_arena_view(arena), page))[i] = ref;
	}
	return page;
}

knot_err_t zone_links_build(zone_arena_t *arena, const zone_ref_t *refs, uint32_t count, zone_links_t *ret_links)
{
	*ret_links = (zone_links_t){ .count = count };
	if (count > 0) {
		ret_links->root = links_build_page(arena, refs, count, 0, zone_links_shift(count));
	}
	return count == 0 || ret_links->root != 0 ? KNOT_OK : KNOT_ENOMEM;
}

/* True if a page on the way to entry `index` is in a leaving chunk. */
static bool links_is_leaving(
		const zone_arena_view_t *view, const zone_links_t *links, const zone_leaving_t *leaving, uint32_t index)
{
	zone_ref_t ref = links->root;
	for (unsigned shift = zone_links_shift(links->count);; shift -= ZONE_LINK_BITS) {
		if (shift == 0 || zone_is_leaving(leaving, ref)) {
			return zone_is_leaving(leaving, ref);
		}
		ref = ((const zone_ref_t *)zone_at(view, ref))[index >> shift & (ZONE_LINK_PAGE - 1)];
	}
}

knot_err_t zone_links_move(
		zone_arena_t *arena, zone_links_t *links, const zone_leaving_t *leaving, size_t *steps, uint32_t *place)
{
	enum { PAGE_STEPS = ZONE_LINK_PAGE * sizeof(zone_ref_t) / 64 };
	knot_err_t err = KNOT_OK;
	for (; err == KNOT_OK && *place<links->count && * steps> 0; *place += ZONE_LINK_PAGE) {
		size_t cost = 1;
		if (links_is_leaving(zone_arena_view(arena), links, leaving, *place)) {
			zone_ref_t ref = zone_links_get(zone_arena_view(arena), links, *place + 1);
			err = zone_links_set(arena, links, *place + 1, ref); /* makes its pages new ones */
			cost = PAGE_STEPS;
		}
		*steps -= cost < *steps ? cost : *steps;
		if (links->count - *place <= ZONE_LINK_PAGE) {
			*place = links->count;
			break;
		}
	}
	return err;
}
