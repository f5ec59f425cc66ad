/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classification is one pass over the groups in canonical order, where a name comes behind its ancestors. So the state
 * is small: the last cut, and the path of entries from the apex to the last authoritative name, whose flags say what
 * lies below. A name that shares fewer labels with the last one than its own parent has needs empty non-terminals.
 */
#include "src/zone/names.h"

#include "libknot/base/assert.h"
#include "src/zone/nsec3_records.h"

#include <stdlib.h>

typedef struct {
	zone_names_t *names;
	zone_collect_t *collect;
	const zone_nsec3_params_t *params;
	const zone_group_t *last[TREE_COUNT]; /* of the last entry in each tree */
	size_t path[KNOT_LABEL_COUNT_MAX +
			1];      /* of the last authoritative name: entries of its ancestors below and at the apex */
	unsigned depth;          /* labels of that name below the apex; path[0..depth] is set */
	const zone_group_t *cut; /* the last cut; NULL: none */
} classify_t;

void zone_names_done(zone_names_t *names)
{
	free(names->list);
	free(names->index);
	*names = (zone_names_t){ 0 };
}

knot_name_t zone_names_at(const zone_names_t *names, const zone_arena_view_t *view, size_t i)
{
	KNOT_ASSERT_SLOW(i < names->count);
	const zone_name_t *name = &names->list[i];
	return i < names->compiled ? zone_node_owner(zone_at(view, name->ref))
				   : zone_group_name(zone_names_group(names, name));
}

/* ---- Classification ---- */

/* How the key of `here` differs from that of `before`. Comparing the prefixes is usually enough. */
static zone_tree_step_t step_of(const classify_t *c, const zone_group_t *before, const zone_group_t *here)
{
	uint64_t differ = before->prefix ^ here->prefix;
	if (differ == 0) {
		return zone_tree_step(zone_group_name(before), zone_group_name(here));
	}
	enum { TOP = 64 - ZONE_PREFIX_POSITIONS * ZONE_PREFIX_BITS };
	unsigned at = ((unsigned)__builtin_clzll(differ) - TOP) / ZONE_PREFIX_BITS;
	unsigned shift = (ZONE_PREFIX_POSITIONS - 1 - at) * ZONE_PREFIX_BITS;
	const uint64_t mask = (1 << ZONE_PREFIX_BITS) - 1;
	return (zone_tree_step_t){ (uint16_t)(c->collect->origin_key_len + at),
		(uint8_t)(before->prefix >> shift & mask), (uint8_t)(here->prefix >> shift & mask) };
}

static zone_name_t *names_add(
		classify_t *c, unsigned tree, const zone_group_t *group, zone_group_ref_t ref, uint16_t flags)
{
	assert(tree < TREE_COUNT && c->names->compiled == 0);
	zone_names_t *names = c->names;
	if (names->count == names->max) {
		size_t max = names->max + names->max / 8 + 8;
		zone_name_t *grown = realloc(names->list, max * sizeof(*grown));
		if (grown == NULL) {
			return NULL;
		}
		names->list = grown;
		names->max = max;
	}
	zone_name_t *name = &names->list[names->count++];
	*name = (zone_name_t){ .group = ref, .flags = flags, .tree = (uint8_t)tree };
	if (c->last[tree] != NULL) {
		name->step = step_of(c, c->last[tree], group);
	}
	c->last[tree] = group;
	names->tree_counts[tree]++;
	return name;
}

/*
 * While a zone changes its salt, it has two chains (RFC 5155 10.4). One must not stand between the records of the
 * other, or a walk to the preceding hash would end at a record that proves nothing: records of another chain are only
 * zone data.
 */
static bool is_other_chain(const classify_t *c, const zone_group_t *nsec3)
{
	const zone_nsec3_params_t *params = c->params;
	if (params->algorithm == 0 || nsec3->label_count != c->collect->origin.label_count + 1) {
		return false;
	}
	zone_packed_t r;
	for (size_t pos = 0; zone_group_next(c->collect, nsec3, &pos, &r);) {
		if (r.type == KNOT_TYPE_NSEC3 && zone_nsec3_has_params(r.rdata, params)) {
			return false;
		}
	}
	return true;
}

/* Add an authoritative name, and before it the empty non-terminals above it that don't exist yet. */
static zone_name_t *add_auth(classify_t *c, const zone_group_t *group, zone_group_ref_t ref, uint16_t flags)
{
	zone_names_t *names = c->names;
	assert(group->label_count >= c->collect->origin.label_count);
	unsigned depth = group->label_count - c->collect->origin.label_count, known = 0;
	zone_name_t *name = NULL;
	bool is_first = c->last[TREE_AUTH] == NULL;
	if (!is_first && depth > 1) {
		known = knot_name_shared_labels(zone_group_name(group), zone_group_name(c->last[TREE_AUTH])) -
			c->collect->origin.label_count;
	}
	for (unsigned d = is_first ? 0 : known + 1; d <= depth; d++) {
		const zone_group_t *here = group;
		zone_group_ref_t here_ref = ref;
		if (d < depth) {
			here = zone_collect_empty(
					c->collect, knot_name_strip(zone_group_name(group), depth - d), &here_ref);
			if (here == NULL) {
				return NULL;
			}
		}
		if (d > 0) {
			bool is_wildcard = knot_name_is_wildcard(zone_group_name(here));
			names->list[c->path[d - 1]].flags |=
					ZONE_NODE_CHILDREN | (is_wildcard ? ZONE_NODE_WILDCARD_CHILD : 0);
			names->has_wildcards = names->has_wildcards || is_wildcard;
		}
		name = names_add(c, TREE_AUTH, here, here_ref,
				(uint16_t)((d == depth ? flags : 0) | (d == 0 ? ZONE_NODE_APEX : 0)));
		if (name == NULL) {
			return NULL;
		}
		c->path[d] = names->count - 1;
	}
	c->depth = depth;
	return name;
}

static bool classify_rest(classify_t *c, const zone_group_t *group, zone_group_ref_t ref)
{
	zone_name_t *name;
	if (c->cut != NULL && knot_name_in(zone_group_name(group), zone_group_name(c->cut))) {
		name = names_add(c, TREE_GLUE, group, ref, ZONE_NODE_GLUE);
	} else {
		bool is_cut = group->label_count > c->collect->origin.label_count && (group->kinds & ZONE_GROUP_NS);
		name = add_auth(c, group, ref, is_cut ? ZONE_NODE_CUT : 0);
		c->cut = is_cut ? group : c->cut;
	}
	if (name == NULL) {
		return false;
	}
	name->has_address = (group->kinds & ZONE_GROUP_ADDRESS) != 0;
	return true;
}

static bool classify_nsec3(classify_t *c, const zone_group_t *group, zone_group_ref_t ref)
{
	bool is_other = is_other_chain(c, group);
	zone_name_t *name = names_add(
			c, is_other ? TREE_GLUE : TREE_NSEC3, group, ref, is_other ? ZONE_NODE_GLUE : ZONE_NODE_NSEC3);
	if (name == NULL) {
		return false;
	}
	name->is_nsec3_part = true;
	return true;
}

knot_err_t zone_names_classify(zone_names_t *names, zone_collect_t *collect, const zone_nsec3_params_t *params)
{
	enum { SLACK = 8 }; /* of empty non-terminals */
	*names = (zone_names_t){ .collect = collect, .max = collect->group_count + SLACK };
	names->list = malloc(names->max * sizeof(*names->list));
	if (names->list == NULL) {
		return KNOT_ENOMEM;
	}
	classify_t c = { .names = names, .collect = collect, .params = params };
	zone_block_mem_t *block;
	for (const zone_group_t *group = NULL; (group = zone_collect_next(collect, &block, group)) != NULL;) {
		zone_group_ref_t ref = zone_group_ref(block, group);
		if (((group->kinds & ZONE_GROUP_NSEC3) && !classify_nsec3(&c, group, ref)) ||
				((group->kinds & ZONE_GROUP_REST) && !classify_rest(&c, group, ref))) {
			return KNOT_ENOMEM;
		}
	}
	names->apex = c.path[0];
	return KNOT_OK;
}

/* ---- Finding ---- */

/* The start differs from run to run, so that an attacker can't choose names that collide. */
static size_t names_hash_of(const zone_names_t *names, knot_name_t name)
{
	const uint64_t factor = 0x9E3779B97F4A7C15u;
	uint64_t hash = ((uintptr_t)names->index ^ name.len) * factor;
	unsigned i = 0;
	for (; i + 8 <= name.len; i += 8) {
		uint64_t word;
		memcpy(&word, name.wire + i, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 29;
	}
	uint64_t rest = 0;
	memcpy(&rest, name.wire + i, name.len - i);
	hash = (hash ^ rest) * factor;
	return (size_t)(hash >> 20) & names->index_mask;
}

static bool is_indexed(const zone_names_t *names, const zone_name_t *name)
{
	bool all = names->has_wildcards || (names->collect->kinds & ZONE_GROUP_SERVICE);
	return name->tree != TREE_NSEC3 && (all || name->has_address);
}

static knot_err_t make_index(zone_names_t *names, const zone_arena_view_t *view)
{
	size_t count = 0, size = 16;
	for (size_t i = 0; i < names->count; i++) {
		count += is_indexed(names, &names->list[i]);
	}
	assert(names->count < UINT32_MAX); /* an entry's number plus 1 is what the table holds */
	while (size < 2 * count) {
		size *= 2;
	}
	names->index = calloc(size, sizeof(*names->index));
	if (names->index == NULL) {
		return KNOT_ENOMEM;
	}
	names->index_mask = size - 1;
	for (size_t i = 0; i < names->count; i++) {
		if (is_indexed(names, &names->list[i])) {
			size_t at = names_hash_of(names, zone_names_at(names, view, i));
			while (names->index[at] != 0) {
				at = (at + 1) & names->index_mask;
			}
			names->index[at] = (uint32_t)i + 1;
		}
	}
	return KNOT_OK;
}

knot_err_t zone_names_find(zone_names_t *names, const zone_arena_view_t *view, knot_name_t name, unsigned tree,
		zone_name_t **ret_found)
{
	*ret_found = NULL;
	if (names->index == NULL) {
		knot_err_t err = make_index(names, view);
		if (err != KNOT_OK) {
			return err;
		}
	}
	for (size_t at = names_hash_of(names, name); names->index[at] != 0; at = (at + 1) & names->index_mask) {
		size_t i = names->index[at] - 1;
		knot_name_t found = zone_names_at(names, view, i);
		if (names->list[i].tree == tree && found.len == name.len &&
				memcmp(found.wire, name.wire, name.len) == 0) {
			*ret_found = &names->list[i];
			return KNOT_OK;
		}
	}
	return KNOT_OK;
}
