/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/contents.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void zone_contents_free(zone_contents_t *take_zone)
{
	if (take_zone == NULL) {
		return;
	}
	bool is_packed = take_zone->store != NULL && zone_arena_is_packed(take_zone->store);
	zone_arena_free(take_zone->store);
	if (!is_packed) {
		free(take_zone);
	}
}

enum { SHORT_LEN = offsetof(zone_contents_t, nsec3) };

void zone_contents_copy(const zone_contents_t *zone, zone_contents_t *ret_copy)
{
	*ret_copy = (zone_contents_t){ .serial = 0 };
	memcpy(ret_copy, zone, zone->is_short ? SHORT_LEN : sizeof(*zone));
	ret_copy->built_size = zone->is_short ? zone->live_size : zone->built_size;
	ret_copy->is_short = false;
}

zone_contents_t *zone_contents_pack(zone_contents_t *take_zone)
{
	if (take_zone->arena.chunk_count != 1) {
		return take_zone;
	}
	const uint8_t *apex = (const uint8_t *)take_zone->apex;
	size_t apex_off = (size_t)(apex - take_zone->arena.chunks[0]);
	bool has_salt = take_zone->nsec3_params.salt != NULL;
	size_t salt_off = has_salt ? (size_t)(take_zone->nsec3_params.salt - apex) : 0;
	bool is_short = take_zone->nsec3.count == 0 && take_zone->glue.count == 0 && take_zone->absent.count == 0 &&
			take_zone->shared.count == 0 && take_zone->nsec3_params.algorithm == 0;
	size_t len = is_short ? SHORT_LEN : sizeof(*take_zone);
	zone_arena_t *store;
	zone_contents_t *zone = zone_arena_pack(take_zone->store, len, &store);
	if (zone == NULL) {
		return take_zone;
	}
	take_zone->arena = *zone_arena_view(store);
	memcpy(zone, take_zone, len);
	zone->store = store;
	zone->is_short = is_short;
	zone->apex = (const zone_node_t *)(zone->arena.chunks[0] + apex_off);
	if (has_salt && !is_short) {
		zone->nsec3_params.salt = (const uint8_t *)zone->apex + salt_off;
	}
	free(take_zone);
	return zone;
}

const zone_node_t *zone_link_get(const zone_contents_t *zone, zone_link_t link)
{
	zone_ref_t ref = zone_links_get(&zone->arena, &zone->links, link);
	return ref != 0 ? zone_at(&zone->arena, ref) : NULL;
}

static const zone_node_t *next_node(const zone_contents_t *zone, zone_tree_iter_t *iter)
{
	zone_ref_t ref = zone_tree_next(iter);
	return ref != 0 ? zone_at(&zone->arena, ref) : NULL;
}

void zone_nodes_begin(const zone_contents_t *zone, zone_node_iter_t *ret_iter)
{
	zone_tree_begin(&zone->arena, &zone->auth, &ret_iter->auth);
	zone_tree_begin(&zone->arena, zone_glue_tree(zone), &ret_iter->glue);
	zone_tree_begin(&zone->arena, zone_nsec3_tree(zone), &ret_iter->nsec3);
	ret_iter->next_auth = next_node(zone, &ret_iter->auth);
	ret_iter->next_glue = next_node(zone, &ret_iter->glue);
}

const zone_node_t *zone_nodes_next(const zone_contents_t *zone, zone_node_iter_t *iter)
{
	const zone_node_t *auth = iter->next_auth, *glue = iter->next_glue;
	if (auth == NULL && glue == NULL) {
		return next_node(zone, &iter->nsec3);
	}
	if (glue == NULL || (auth != NULL && knot_name_cmp(zone_node_owner(auth), zone_node_owner(glue)) < 0)) {
		iter->next_auth = next_node(zone, &iter->auth);
		return auth;
	}
	iter->next_glue = next_node(zone, &iter->glue);
	return glue;
}

const zone_node_t *zone_find_node(const zone_contents_t *zone, knot_name_t owner)
{
	const zone_tree_t *const trees[] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone) };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		zone_ref_t ref = zone_tree_find(&zone->arena, trees[i], owner);
		if (ref != 0) {
			return zone_at(&zone->arena, ref);
		}
	}
	return NULL;
}
