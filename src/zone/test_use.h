/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: what of the memory of a version is in use. */
#pragma once

#include "src/zone/contents.h"
#include "src/zone/twig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Bytes in use of each chunk, by what refers to it. */
typedef struct {
	const zone_contents_t *zone;
	size_t *live; /* owned, by number */
} used_t;

static void use_bytes(used_t *used, zone_ref_t ref, size_t len)
{
	assert_non_null(used->zone->arena.chunks[ref >> ZONE_CHUNK_OFFSET_BITS]);
	used->live[ref >> ZONE_CHUNK_OFFSET_BITS] += (len + 7) & ~(size_t)7;
}

static void use_node(used_t *used, zone_ref_t ref)
{
	use_bytes(used, ref, zone_node_size(zone_at(&used->zone->arena, ref)));
}

static void use_twig(used_t *used, const zone_twig_t *twig, bool is_index)
{
	if (!zone_twig_is_branch(twig)) {
		const zone_node_t *node = zone_at(&used->zone->arena, twig->ref);
		use_node(used, twig->ref);
		if (is_index) {
			zone_ref_t set = zone_node_shared_ref(node, 0);
			use_bytes(used, set, zone_rrset_size(zone_at(&used->zone->arena, set)));
		}
		return;
	}
	unsigned count = zone_twig_count(zone_twig_word(twig));
	const zone_twig_t *twigs = zone_at(&used->zone->arena, twig->ref);
	use_bytes(used, twig->ref, count * sizeof(*twigs));
	for (unsigned i = 0; i < count; i++) {
		use_twig(used, &twigs[i], is_index);
	}
}

static void use_page(used_t *used, zone_ref_t ref, uint32_t first, unsigned shift)
{
	const zone_links_t *links = &used->zone->links;
	uint32_t room = zone_links_room(links->count, first, shift);
	const zone_ref_t *page = zone_at(&used->zone->arena, ref);
	use_bytes(used, ref, room * sizeof(*page));
	for (uint32_t i = 0; i < room && first + ((uint64_t)i << shift) < links->count; i++) {
		if (shift > 0) {
			use_page(used, page[i], first + (i << shift), shift - ZONE_LINK_BITS);
		} else if (page[i] != 0) {
			assert_non_null(used->zone->arena.chunks[page[i] >> ZONE_CHUNK_OFFSET_BITS]);
		}
	}
}

/* The counters of chunks say what is in use, and nothing refers to a chunk that is gone. */
static void check_use(const zone_contents_t *zone)
{
	used_t used = { zone, calloc(zone->arena.chunk_count, sizeof(*used.live)) };
	assert_non_null(used.live);
	const zone_tree_t *const trees[] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone),
		zone_absent_tree(zone), zone_shared_tree(zone) };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		if (trees[i]->count > 0) {
			use_twig(&used, &trees[i]->root, i == 4);
		}
	}
	if (zone->links.count > 0) {
		use_page(&used, zone->links.root, 0, zone_links_shift(zone->links.count));
	}
	size_t sum = 0;
	for (uint32_t i = 0; i < zone->arena.chunk_count; i++) {
		zone_chunk_use_t use = zone_arena_chunk_use(zone->store, i);
		sum += used.live[i];
		assert_true(use.is_about ? use.live >= used.live[i] : use.live == used.live[i]);
		assert_true(use.len > 0 || used.live[i] == 0);
	}
	assert_int_equal(sum, zone->live_size);
	free(used.live);
}
