/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/zonedb.h"

#include <stdlib.h>

#include "src/sys/rcu.h"

struct zone {
	zone_contents_t *contents_rcu;          /* owned */
	struct module_chain *modules_rcu;       /* owned by whoever sets it */
	knot_name_t name;                       /* of wire[] */
	uint8_t wire[];
};

zone_t *zone_new(knot_name_t name)
{
	zone_t *zone = calloc(1, sizeof(*zone) + name.len);
	if (zone == NULL) {
		return NULL;
	}
	knot_name_lower(name, zone->wire);
	zone->name = (knot_name_t){ zone->wire, name.len, name.label_count };
	return zone;
}

void zone_free(zone_t *take_zone)
{
	if (take_zone != NULL) {
		zone_contents_free(take_zone->contents_rcu);
		free(take_zone);
	}
}

knot_name_t zone_name(const zone_t *zone)
{
	return zone->name;
}

const zone_contents_t *zone_contents(const zone_t *zone)
{
	return SYS_RCU_DEREFERENCE(zone->contents_rcu);
}

zone_contents_t *zone_publish(zone_t *zone, zone_contents_t *take_contents)
{
	zone_contents_t *old = zone->contents_rcu;
	RCU_PUBLISH(zone->contents_rcu, take_contents);
	return old;
}

const struct module_chain *zone_modules(const zone_t *zone)
{
	return SYS_RCU_DEREFERENCE(zone->modules_rcu);
}

struct module_chain *zone_set_modules(zone_t *zone, struct module_chain *take_chain)
{
	struct module_chain *old = zone->modules_rcu;
	RCU_PUBLISH(zone->modules_rcu, take_chain);
	return old;
}

/*
 * The set is a zone tree in an arena of its own, the same trie that holds the names of a zone. A leaf is the head of a
 * zone_node_t with the apex as its owner, then the pointer to the zone.
 */
struct zonedb {
	zone_arena_t *arena;                    /* owned */
	zone_tree_t tree;
};

static size_t leaf_zone_off(const zone_node_t *leaf)
{
	return (offsetof(zone_node_t, owner) + leaf->owner_len + 7) & ~(size_t)7;
}

static zone_t *leaf_zone(const zonedb_t *db, zone_ref_t ref)
{
	if (ref == 0) {
		return NULL;
	}
	const zone_node_t *leaf = zone_at(zone_arena_view(db->arena), ref);
	return *(zone_t *const *)((const uint8_t *)leaf + leaf_zone_off(leaf));
}

static knot_err_t put_zone(zonedb_t *db, zone_t *zone)
{
	zone_node_t head = { .owner_len = zone->name.len, .owner_label_count = zone->name.label_count };
	size_t size = leaf_zone_off(&head) + sizeof(zone_t *);
	zone_ref_t ref = zone_arena_alloc(db->arena, size);
	if (ref == 0) {
		return KNOT_ENOMEM;
	}
	zone_node_t *leaf = zone_at(zone_arena_view(db->arena), ref);
	*leaf = head;
	leaf->size = (uint32_t)size;
	memcpy(leaf->owner, zone->name.wire, zone->name.len);
	*(zone_t **)((uint8_t *)leaf + leaf_zone_off(leaf)) = zone;
	zone_ref_t old;
	return zone_tree_put(db->arena, &db->tree, ref, &old);
}

zonedb_t *zonedb_new(zone_t *const *zones, size_t count)
{
	zonedb_t *db = calloc(1, sizeof(*db));
	if (db == NULL) {
		return NULL;
	}
	db->arena = zone_arena_new(512);
	bool whole = db->arena != NULL;
	for (size_t i = 0; i < count && whole; i++) {
		whole = put_zone(db, zones[i]) == KNOT_OK;
	}
	if (!whole) {
		zonedb_free(db);
		return NULL;
	}
	return db;
}

void zonedb_free(zonedb_t *take_db)
{
	if (take_db != NULL) {
		zone_arena_free(take_db->arena);
		free(take_db);
	}
}

size_t zonedb_count(const zonedb_t *db)
{
	return db->tree.count;
}

zone_t *zonedb_find_suffix(const zonedb_t *db, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	return zonedb_find_suffix_key(db, name, key, key_len);
}

zone_t *zonedb_find_suffix_key(const zonedb_t *db, knot_name_t name, const uint8_t *key, size_t key_len)
{
	return leaf_zone(db, zone_tree_match(zone_arena_view(db->arena), &db->tree, name, key, key_len).encloser);
}

void zonedb_find_suffixes(const zonedb_t *db, zonedb_search_t *searches, size_t count)
{
	const zone_arena_view_t *view = zone_arena_view(db->arena);
	zone_tree_walk_t walks[ZONE_TREE_WALKS_MAX];
	for (size_t i = 0; i < count; i++) {
		walks[i] = (zone_tree_walk_t){
			.view = view, .tree = &db->tree, .key = searches[i].key, .key_len = searches[i].key_len
		};
	}
	zone_tree_warm(walks, count);
	for (size_t i = 0; i < count; i++) {
		const zonedb_search_t *s = &searches[i];
		zone_ref_t leaf = zone_tree_match_walked(view, &db->tree, s->name, s->key, s->key_len, walks[i].deepest).encloser;
		searches[i].zone = leaf_zone(db, leaf);
		__builtin_prefetch(searches[i].zone);
	}
}

zone_t *zonedb_find(const zonedb_t *db, knot_name_t apex)
{
	return leaf_zone(db, zone_tree_find(zone_arena_view(db->arena), &db->tree, apex));
}

void zonedb_each(const zonedb_t *db, bool (*visit)(zone_t *zone, void *ctx), void *ctx)
{
	zone_tree_iter_t iter;
	zone_tree_begin(zone_arena_view(db->arena), &db->tree, &iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
		if (!visit(leaf_zone(db, ref), ctx)) {
			return;
		}
	}
}
