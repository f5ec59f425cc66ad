/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/shared.h"

#include "libknot/base/encode.h"
#include "src/zone/node_share.h"

#include <assert.h>
#include <stdlib.h>

enum {
	HASH_DIGITS = 8,
	OWNER_LEN = 1 + HASH_DIGITS + 1,
	RECORD_LEN = offsetof(zone_node_t, owner) + OWNER_LEN + ZONE_ENTRY_LEN + sizeof(zone_link_t) +
		     sizeof(zone_ref_t),
};

/* The owner of the record of a hash; digits sort as numbers do. */
static knot_name_t shared_owner(uint32_t hash, uint8_t ret_wire[static OWNER_LEN])
{
	uint8_t bytes[4];
	store_be32(bytes, hash);
	ret_wire[0] = HASH_DIGITS;
	(void)knot_hex_print((knot_bytes_t){ bytes, sizeof(bytes) }, KNOT_HEX_LOWER, (char *)ret_wire + 1);
	ret_wire[OWNER_LEN - 1] = 0;
	return (knot_name_t){ ret_wire, OWNER_LEN, 1 };
}

/* 0: out of memory. */
static zone_ref_t shared_record(zone_arena_t *arena, uint32_t hash, zone_ref_t set, uint32_t users)
{
	zone_ref_t ref = zone_arena_alloc(arena, RECORD_LEN);
	if (ref == 0) {
		return 0;
	}
	zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	node->flags = ZONE_NODE_HAS_SELF;
	node->owner_len = OWNER_LEN;
	node->owner_label_count = 1;
	node->rrset_count = 1;
	(void)shared_owner(hash, node->owner);
	uint16_t type = zone_rrset_type(zone_at(zone_arena_view(arena), set));
	uint16_t place = ZONE_ENTRY_SHARED | (ZONE_ENTRY_LEN + sizeof(zone_link_t));
	uint8_t *to = node->owner + OWNER_LEN;
	memcpy(to, &type, sizeof(type));
	memcpy(to + sizeof(type), &place, sizeof(place));
	memcpy(to + ZONE_ENTRY_LEN, &users, sizeof(users));
	memcpy(to + ZONE_ENTRY_LEN + sizeof(users), &set, sizeof(set));
	return ref;
}

/* Replace the record of a hash by one with another number of users, 0 for none. */
static knot_err_t shared_count(
		zone_arena_t *arena, zone_tree_t *tree, zone_ref_t old, uint32_t hash, zone_ref_t set, uint32_t users)
{
	uint8_t wire[OWNER_LEN];
	knot_err_t err;
	if (users == 0) {
		err = zone_tree_remove(arena, tree, shared_owner(hash, wire));
	} else {
		zone_ref_t ref = shared_record(arena, hash, set, users);
		err = ref != 0 ? zone_tree_put(arena, tree, ref, &old) : KNOT_ENOMEM;
	}
	if (err == KNOT_OK) {
		zone_arena_drop(arena, old, RECORD_LEN);
	}
	return err;
}

static const zone_node_t *shared_find(
		const zone_arena_t *arena, const zone_tree_t *tree, uint32_t hash, zone_ref_t *ret_record)
{
	uint8_t wire[OWNER_LEN];
	*ret_record = zone_tree_find(zone_arena_view(arena), tree, shared_owner(hash, wire));
	return *ret_record != 0 ? zone_at(zone_arena_view(arena), *ret_record) : NULL;
}

zone_ref_t zone_shared_use(zone_arena_t *arena, zone_tree_t *tree, uint32_t hash, const uint8_t *bytes, size_t len)
{
	zone_ref_t record;
	const zone_node_t *node = shared_find(arena, tree, hash, &record);
	if (node == NULL) {
		return 0;
	}
	zone_ref_t set = zone_node_shared_ref(node, 0);
	const zone_rrset_t *stored = zone_at(zone_arena_view(arena), set);
	uint32_t users = zone_node_self(node);
	if (zone_rrset_size(stored) != len || memcmp(stored, bytes, len) != 0 || users == UINT32_MAX) {
		return 0;
	}
	return shared_count(arena, tree, record, hash, set, users + 1) == KNOT_OK ? set : 0;
}

knot_err_t zone_shared_leave(zone_arena_t *arena, zone_tree_t *tree, zone_ref_t ref)
{
	const zone_rrset_t *set = zone_at(zone_arena_view(arena), ref);
	size_t len = zone_rrset_size(set);
	uint32_t hash = zone_node_share_hash((const uint8_t *)set, len);
	zone_ref_t record;
	const zone_node_t *node = shared_find(arena, tree, hash, &record);
	assert(node != NULL && zone_node_shared_ref(node, 0) == ref && zone_node_self(node) > 0);
	uint32_t users = zone_node_self(node) - 1;
	knot_err_t err = shared_count(arena, tree, record, hash, ref, users);
	if (err == KNOT_OK && users == 0) {
		zone_arena_drop(arena, ref, len);
	}
	return err;
}

static int cmp_hashes(const void *va, const void *vb)
{
	const zone_seen_set_t *a = va, *b = vb;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* The records of what was shared, sorted, as leaves. */
static knot_err_t shared_leaves(
		zone_arena_t *arena, const zone_seen_set_t *sets, size_t count, zone_tree_leaf_t *ret_leaves)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t before[OWNER_LEN], here[OWNER_LEN];
		ret_leaves[i].ref = shared_record(arena, sets[i].hash, sets[i].ref, sets[i].users);
		if (ret_leaves[i].ref == 0) {
			return KNOT_ENOMEM;
		}
		if (i > 0) {
			ret_leaves[i].step = zone_tree_step(
					shared_owner(sets[i - 1].hash, before), shared_owner(sets[i].hash, here));
		}
	}
	return KNOT_OK;
}

knot_err_t zone_shared_build(zone_arena_t *arena, zone_node_builder_t *builder, zone_tree_t *ret_tree)
{
	size_t count = 0;
	const zone_seen_set_t *set = NULL;
	while ((set = zone_node_shared(builder, set)) != NULL) {
		count++;
	}
	*ret_tree = (zone_tree_t){ .count = 0 };
	if (count == 0) {
		return KNOT_OK;
	}
	zone_seen_set_t *sets = malloc(count * sizeof(*sets));
	zone_tree_leaf_t *leaves = calloc(count, sizeof(*leaves));
	knot_err_t err = sets != NULL && leaves != NULL ? KNOT_OK : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		size_t at = 0;
		for (set = NULL; (set = zone_node_shared(builder, set)) != NULL;) {
			sets[at++] = *set;
		}
		qsort(sets, count, sizeof(*sets), cmp_hashes);
		err = shared_leaves(arena, sets, count, leaves);
	}
	err = err == KNOT_OK ? zone_tree_build(arena, leaves, count, ret_tree) : err;
	free(sets);
	free(leaves);
	return err;
}
