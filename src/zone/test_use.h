/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: what of the memory of a version is in use. */
#pragma once

#include "libknot/base/assert.h"
#include "src/zone/contents.h"
#include "src/zone/twig.h"

#include <assert.h>
#include <stdlib.h>

/* True if a version shares memory with the one before it: a build from scratch doesn't, a lineage that begins may. */
static inline bool use_shares_chunk(const zone_contents_t *next, const zone_contents_t *before)
{
	bool shares = false;
	for (uint32_t i = 0; i < next->arena.chunk_count && i < before->arena.chunk_count; i++) {
		shares = shares || (next->arena.chunks[i] != NULL && next->arena.chunks[i] == before->arena.chunks[i]);
	}
	return shares;
}

/* Bytes in use of each chunk, by what refers to it. */
typedef struct {
	const zone_contents_t *zone;
	size_t *live;  /* owned, by number */
	bool has_gone; /* a reference leads to no chunk */
} used_t;

static void use_bytes(used_t *used, zone_ref_t ref, size_t len)
{
	used->live[ref >> ZONE_CHUNK_OFFSET_BITS] += (len + 7) & ~(size_t)7;
}

static bool use_is_there(used_t *used, zone_ref_t ref)
{
	uint32_t chunk = ref >> ZONE_CHUNK_OFFSET_BITS;
	bool is_there = chunk < used->zone->arena.chunk_count && used->zone->arena.chunks[chunk] != NULL;
	used->has_gone = used->has_gone || !is_there;
	return is_there;
}

static void use_leaf(used_t *used, zone_ref_t ref, bool is_index)
{
	if (!use_is_there(used, ref)) {
		return;
	}
	const zone_node_t *node = zone_at(&used->zone->arena, ref);
	use_bytes(used, ref, zone_node_size(node));
	zone_ref_t set = is_index ? zone_node_shared_ref(node, 0) : 0;
	if (is_index && use_is_there(used, set)) {
		use_bytes(used, set, zone_rrset_size(zone_at(&used->zone->arena, set)));
	}
}

static void use_twig(used_t *used, const zone_twig_t *twig, bool is_index)
{
	if (!zone_twig_is_branch(twig)) {
		use_leaf(used, twig->ref, is_index);
		return;
	}
	if (!use_is_there(used, twig->ref)) {
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
	if (!use_is_there(used, ref)) {
		return;
	}
	const zone_ref_t *page = zone_at(&used->zone->arena, ref);
	use_bytes(used, ref, room * sizeof(*page));
	for (uint32_t i = 0; i < room && first + ((uint64_t)i << shift) < links->count; i++) {
		if (shift > 0) {
			use_page(used, page[i], first + (i << shift), shift - ZONE_LINK_BITS);
		} else if (page[i] != 0) {
			(void)use_is_there(used, page[i]);
		}
	}
}

static const char *use_compare(const used_t *used)
{
	size_t sum = 0;
	for (uint32_t i = 0; i < used->zone->arena.chunk_count; i++) {
		zone_chunk_use_t use = zone_arena_chunk_use(used->zone->store, i);
		sum += used->live[i];
		if (use.is_about ? use.live < used->live[i] : use.live != used->live[i]) {
			return "the bytes in use of a chunk are miscounted";
		}
		if (use.len == 0 && used->live[i] != 0) {
			return "a chunk is gone that is in use";
		}
	}
	return sum == used->zone->live_size ? NULL : "the bytes in use are miscounted";
}

/** NULL, or what is wrong: the counters of chunks say what is in use, and nothing refers to a chunk that is gone. */
static const char *use_fault(const zone_contents_t *zone)
{
	used_t used = { zone, calloc(zone->arena.chunk_count, sizeof(*used.live)), false };
	assert(used.live != NULL);
	const zone_tree_t *const trees[] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone),
		zone_absent_tree(zone), zone_shared_tree(zone) };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		if (trees[i]->count > 0) {
			use_twig(&used, &trees[i]->root, trees[i] == trees[KNOT_LEN(trees) - 1]);
		}
	}
	if (zone->links.count > 0) {
		use_page(&used, zone->links.root, 0, zone_links_shift(zone->links.count));
	}
	const char *fault = used.has_gone ? "something refers to a chunk that is gone" : use_compare(&used);
	free(used.live);
	return fault;
}
