/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory. Names are compiled in canonical order and the blocks of their groups go back to the system meanwhile, so the
 * collected records and the nodes never exist in full at the same time. Only the records of one name are unpacked, and
 * below a cut those of the names that may be glue.
 *
 * Links. A node that others refer to gets a number when the first of them is compiled, which may be before or after the
 * node itself: numbers that come after are written into the node by a copy (zone_node_number()).
 */
#include "src/zone/compile.h"

#include "src/zone/names.h"
#include "src/zone/nsec3_chain.h"
#include "src/zone/nsec3_hash.h"

#include <assert.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdlib.h>

/* Memory for unpacked records, reused from name to name. */
typedef struct {
	uint8_t *data;
	size_t max;
} unpacked_t;

/* A name below the current cut. */
typedef struct {
	const zone_group_t *group;
	const zone_record_t *records;
} glue_t;

typedef struct {
	zone_collect_t *collect;
	const zone_contents_t *base; /* NULL: built from scratch */
	zone_contents_t *zone;       /* being built */
	zone_node_builder_t *builder;
	zone_names_t names;
	zone_link_t *free_links; /* link numbers of nodes that are gone */
	size_t free_link_count, free_link_max;
	uint32_t link_count;          /* numbers given out so far */
	uint8_t salt[UINT8_MAX];      /* of the chain that is answered from */
	zone_nsec3_chain_t chain;     /* that is answered from; empty: there is none */
	zone_name_t *current;         /* the name being compiled */
	const zone_group_t *group;    /* its group */
	const zone_record_t *records; /* its records */
	unpacked_t own, below;        /* memory of its records, and of those of names below a cut */
	glue_t *glue;                 /* names below the current cut, in canonical order */
	size_t glue_count, glue_max;
	bool has_glue;         /* glue[] is that of the current name */
	knot_err_t target_err; /* what find_target() could not return */
	zone_node_sums_t sums;
} compile_t;

static knot_name_t current_name(const compile_t *c)
{
	return zone_group_name(c->group);
}

/* The parameters of the chain that is answered from: the apex's first usable NSEC3PARAM. */
static void take_nsec3_params(compile_t *c, const zone_group_t *apex)
{
	zone_nsec3_params_t *params = &c->zone->nsec3_params;
	*params = (zone_nsec3_params_t){ 0 };
	zone_packed_t r;
	for (size_t pos = 0; zone_group_next(c->collect, apex, &pos, &r);) {
		const uint8_t *rdata = r.rdata.data;
		/* RFC 5155 4.1.2: records with flags other than zero are ignored. */
		if (r.type == KNOT_TYPE_NSEC3PARAM && rdata[0] == 1 && rdata[1] == 0) {
			params->algorithm = 1;
			params->iterations = load_be16(rdata + 2);
			params->salt_len = rdata[4];
			memcpy(c->salt, rdata + 5, params->salt_len);
			params->salt = c->salt; /* note_facts() lets it point into the apex node */
			return;
		}
	}
}

static knot_err_t classify(compile_t *c)
{
	zone_block_mem_t *block;
	const zone_group_t *apex = zone_collect_next(c->collect, &block, NULL);
	if (apex == NULL || apex->label_count != c->collect->origin.label_count || !(apex->kinds & ZONE_GROUP_SOA)) {
		return KNOT_ENOSOA;
	}
	take_nsec3_params(c, apex);
	return zone_names_classify(&c->names, c->collect, &c->zone->nsec3_params);
}

/* ---- Records ---- */

static bool unpacked_room(unpacked_t *memory, size_t len)
{
	if (len > memory->max) {
		uint8_t *grown = realloc(memory->data, 2 * len);
		if (grown == NULL) {
			return false;
		}
		memory->data = grown;
		memory->max = 2 * len;
	}
	return true;
}

static size_t record_room(size_t rdata_len)
{
	return (sizeof(zone_record_t) + rdata_len + alignof(zone_record_t) - 1) & ~(alignof(zone_record_t) - 1);
}

/* Bytes that a group's records take unpacked. For small groups an upper bound, which needs no look at the records. */
static size_t unpacked_len(const zone_collect_t *collect, const zone_group_t *group)
{
	enum { FEW = 512 };
	/* A record of p packed bytes (at least 2) takes 16 bytes without RDATA, else at most 16 + (p - 2) + 7. */
	static_assert(sizeof(zone_record_t) <= 16 && alignof(zone_record_t) <= 8,
			"a record takes at most 9 times as much unpacked");
	size_t packed_len = group->size - sizeof(*group) - group->owner_len, len = 0;
	if (packed_len <= FEW) {
		return 9 * packed_len;
	}
	zone_packed_t r;
	for (size_t pos = 0; zone_group_next(collect, group, &pos, &r);) {
		len += record_room(r.rdata.len);
	}
	return len;
}

/* Unpack the records of a group's NSEC3 part, or of the rest, for the node builder. Returns the end of what is
 * used of `to`. */
static uint8_t *unpack(const zone_collect_t *collect, const zone_group_t *group, bool is_nsec3_part, uint8_t *to,
		const zone_record_t **ret_first)
{
	bool is_mixed = (group->kinds & ZONE_GROUP_NSEC3) && (group->kinds & ZONE_GROUP_REST);
	const zone_record_t **link = ret_first;
	zone_packed_t r;
	for (size_t pos = 0; zone_group_next(collect, group, &pos, &r);) {
		if (is_mixed && zone_is_nsec3_record(r.type, r.rdata) != is_nsec3_part) {
			continue;
		}
		zone_record_t *record = (zone_record_t *)to;
		*record = (zone_record_t){ .ttl = r.ttl, .type = r.type, .rdata_len = (uint16_t)r.rdata.len };
		memcpy(record->rdata, r.rdata.data, r.rdata.len);
		*link = record;
		link = (const zone_record_t **)&record->next;
		to += record_room(r.rdata.len);
	}
	*link = NULL;
	return to;
}

/* ---- Links ---- */

static zone_link_t new_link(compile_t *c)
{
	return c->free_link_count > 0 ? c->free_links[--c->free_link_count] : ++c->link_count;
}

static zone_link_t link_of(compile_t *c, zone_name_t *name)
{
	if (name->self == 0) {
		name->self = new_link(c);
	}
	assert(name->self <= c->link_count);
	return name->self;
}

static knot_err_t free_link(compile_t *c, zone_link_t link)
{
	if (link == 0) {
		return KNOT_OK;
	}
	if (c->free_link_count == c->free_link_max) {
		size_t max = 2 * c->free_link_max + 64;
		zone_link_t *grown = realloc(c->free_links, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		c->free_links = grown;
		c->free_link_max = max;
	}
	c->free_links[c->free_link_count++] = link;
	return KNOT_OK;
}

/* The zone's tree of names[which]. */
static zone_tree_t *tree_of(zone_contents_t *zone, unsigned which)
{
	return which == TREE_AUTH ? &zone->auth : which == TREE_GLUE ? &zone->glue : &zone->nsec3;
}

/* The base version may be short. */
static const zone_tree_t *old_tree_of(const zone_contents_t *base, unsigned which)
{
	return which == TREE_AUTH ? &base->auth : which == TREE_GLUE ? zone_glue_tree(base) : zone_nsec3_tree(base);
}

/*
 * Find each name's node of the base version in the same tree; take nodes whose names are gone out of the tree and free
 * their numbers. Both sides are in canonical order.
 */
static knot_err_t match_base(compile_t *c, unsigned which)
{
	zone_contents_t *zone = c->zone;
	zone_names_t *names = &c->names;
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	if (iter == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	size_t i = zone_names_next(names, 0, which);
	zone_tree_begin(&c->base->arena, old_tree_of(c->base, which), iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&c->base->arena, ref);
		int order = -1;
		while (i < names->count &&
				(order = knot_name_cmp(zone_group_name(zone_names_group(names, &names->list[i])),
						 zone_node_owner(node))) < 0) {
			i = zone_names_next(names, i + 1, which);
		}
		if (i < names->count && order == 0) {
			names->old_refs[i] = ref;
			names->list[i].self = zone_node_self(node);
			i = zone_names_next(names, i + 1, which);
			continue;
		}
		err = zone_tree_remove(zone->store, tree_of(zone, which), zone_node_owner(node));
		err = err == KNOT_OK ? free_link(c, zone_node_self(node)) : err;
	}
	free(iter);
	return err;
}

/* ---- Additional data ---- */

static bool is_glue(const zone_name_t *name)
{
	return name->tree == TREE_GLUE && !name->is_nsec3_part;
}

/* Unpack the names below the current cut, which stand behind it; NSEC3 records between them belong to no chain, but may
 * be there. */
static knot_err_t unpack_glue(compile_t *c)
{
	const zone_names_t *names = &c->names;
	size_t first = (size_t)(c->current - names->list) + 1, end = first, len = 0;
	for (; end < names->count; end++) {
		const zone_group_t *group = zone_names_group(names, &names->list[end]);
		if (!knot_name_in(zone_group_name(group), current_name(c))) {
			break;
		}
		len += is_glue(&names->list[end]) ? unpacked_len(c->collect, group) : 0;
	}
	c->has_glue = true;
	c->glue_count = 0;
	if (end - first > c->glue_max) {
		glue_t *grown = realloc(c->glue, 2 * (end - first) * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		c->glue = grown;
		c->glue_max = 2 * (end - first);
	}
	if (!unpacked_room(&c->below, len)) {
		return KNOT_ENOMEM;
	}
	uint8_t *to = c->below.data;
	for (size_t i = first; i < end; i++) {
		if (is_glue(&names->list[i])) {
			glue_t *glue = &c->glue[c->glue_count++];
			glue->group = zone_names_group(names, &names->list[i]);
			to = unpack(c->collect, glue->group, false, to, &glue->records);
		}
	}
	assert(to <= c->below.data + len);
	return KNOT_OK;
}

static const glue_t *find_glue(const compile_t *c, knot_name_t target)
{
	enum { FEW = 8 }; /* most cuts have about two: no need to sort */
	for (size_t i = 0; i < c->glue_count && c->glue_count <= FEW; i++) {
		const zone_group_t *group = c->glue[i].group;
		if (group->owner_len == target.len && memcmp(group->owner, target.wire, target.len) == 0) {
			return &c->glue[i];
		}
	}
	size_t low = 0, high = c->glue_count > FEW ? c->glue_count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = knot_name_cmp(zone_group_name(c->glue[middle].group), target);
		if (order == 0) {
			return &c->glue[middle];
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

/* Glue of the cut being compiled for a name server at or below it. */
static knot_err_t find_own(compile_t *c, knot_name_t target, zone_target_t *ret)
{
	if (target.len == current_name(c).len) {
		if (c->current->has_address) {
			*ret = (zone_target_t){ .glue = c->records, .glue_id = c->group };
		}
		return KNOT_OK;
	}
	knot_err_t err = c->has_glue ? KNOT_OK : unpack_glue(c);
	const glue_t *glue = err == KNOT_OK ? find_glue(c, target) : NULL;
	if (glue != NULL && (glue->group->kinds & ZONE_GROUP_ADDRESS)) {
		*ret = (zone_target_t){ .glue = glue->records, .glue_id = glue->group };
	}
	return err;
}

static knot_err_t find_name(compile_t *c, knot_name_t name, unsigned tree, zone_name_t **ret_name)
{
	return zone_names_find(&c->names, zone_arena_view(c->zone->store), name, tree, ret_name);
}

/* "*.<closest encloser>" of a name that doesn't exist, or NULL. */
static knot_err_t find_wildcard(compile_t *c, knot_name_t target, zone_name_t **ret_name)
{
	unsigned depth = target.label_count - c->collect->origin.label_count;
	*ret_name = NULL;
	for (unsigned i = 1; i <= depth && c->names.has_wildcards; i++) {
		knot_name_t above = knot_name_strip(target, i);
		zone_name_t *encloser;
		knot_err_t err = find_name(c, above, TREE_AUTH, &encloser);
		if (err == KNOT_OK && encloser == NULL) {
			continue;
		}
		if (err != KNOT_OK || !(encloser->flags & ZONE_NODE_WILDCARD_CHILD) ||
				(encloser->flags & ZONE_NODE_CUT)) {
			return err;
		}
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t wildcard;
		return knot_name_wildcard_below(above, wire, &wildcard) ? find_name(c, wildcard, TREE_AUTH, ret_name)
									: KNOT_OK;
	}
	return KNOT_OK;
}

static knot_err_t find_elsewhere(compile_t *c, knot_name_t target, uint16_t type, zone_target_t *ret)
{
	zone_name_t *name;
	knot_err_t err = find_name(c, target, TREE_AUTH, &name);
	if (err == KNOT_OK && name == NULL) {
		err = find_name(c, target, TREE_GLUE, &name);
	}
	if (err == KNOT_OK && name == NULL) {
		err = find_wildcard(c, target, &name);
	}
	/* SVCB and HTTPS also take along the target's records of their type, and the proof of what it lacks
	 * (answer/encode.c). */
	bool is_service = type == KNOT_TYPE_SVCB || type == KNOT_TYPE_HTTPS;
	if (err == KNOT_OK && name != NULL && (name->has_address || is_service)) {
		ret->link = link_of(c, name);
	}
	return err;
}

static zone_target_t find_target(knot_name_t target, uint16_t type, void *ctx)
{
	compile_t *c = ctx;
	zone_target_t found = { 0 };
	/* Most name servers are outside of the zone. The last byte before the root usually shows it; both names are in
	 * lower case. */
	knot_name_t origin = c->collect->origin;
	bool is_elsewhere = origin.len > 1 &&
			    (target.len < origin.len || target.wire[target.len - 2] != origin.wire[origin.len - 2]);
	if (is_elsewhere || !knot_name_in(target, origin)) {
		found.is_outside = true;
		return found;
	}
	bool is_own = type == KNOT_TYPE_NS && (c->current->flags & ZONE_NODE_CUT) &&
		      knot_name_in(target, current_name(c));
	knot_err_t err = is_own ? find_own(c, target, &found) : find_elsewhere(c, target, type, &found);
	c->target_err = err != KNOT_OK ? err : c->target_err;
	return found;
}

/* ---- NSEC3 ---- */

/* Read the chain, and number its nodes, to which names will refer. Without a usable one there are no parameters. */
static knot_err_t prepare_nsec3(compile_t *c)
{
	zone_nsec3_params_t *params = &c->zone->nsec3_params;
	bool is_usable = params->algorithm != 0;
	knot_err_t err = is_usable ? zone_nsec3_chain_read(&c->chain, &c->names, &is_usable) : KNOT_OK;
	if (err != KNOT_OK || !is_usable) {
		params->algorithm = 0;
		return err;
	}
	for (size_t i = 0; i < c->chain.count; i++) {
		(void)link_of(c, &c->names.list[c->chain.names[i]]);
	}
	return KNOT_OK;
}

static zone_link_t find_nsec3(const compile_t *c, knot_name_t name, bool *ret_is_match)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	*ret_is_match = false;
	if (!zone_nsec3_hash(&c->zone->nsec3_params, name, hash)) {
		return 0;
	}
	size_t i = zone_nsec3_chain_find(&c->chain, hash);
	*ret_is_match = memcmp(c->chain.hashes[i], hash, sizeof(hash)) == 0;
	return c->names.list[c->chain.names[i]].self;
}

static void link_nsec3(const compile_t *c, zone_node_params_t *params)
{
	knot_name_t owner = params->owner;
	params->nsec3 = find_nsec3(c, owner, &params->nsec3_is_match);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t wildcard;
	/* Nothing is synthesized below a cut. */
	if (!(params->flags & ZONE_NODE_CUT) && knot_name_wildcard_below(owner, wire, &wildcard)) {
		params->nsec3_wildcard = find_nsec3(c, wildcard, &params->nsec3_wildcard_is_match);
	}
}

/* ---- Compiling ---- */

static knot_err_t compile_name(compile_t *c, zone_name_t *name)
{
	assert((size_t)(name - c->names.list) == c->names.compiled); /* in order, each once */
	const zone_group_t *group = zone_names_group(&c->names, name);
	c->current = name;
	c->group = group;
	c->has_glue = false;
	if (!unpacked_room(&c->own, unpacked_len(c->collect, group))) {
		return KNOT_ENOMEM;
	}
	unpack(c->collect, group, name->is_nsec3_part, c->own.data, &c->records);
	const zone_ref_t *old_refs = c->names.old_refs;
	zone_node_params_t params = {
		.owner = zone_group_name(group),
		.records = c->records,
		.flags = name->flags,
		.self = name->self,
		.on_target = name->tree == TREE_AUTH ? find_target : NULL,
		.ctx = c,
		.old_ref = old_refs != NULL ? old_refs[name - c->names.list] : 0,
	};
	if (name->tree == TREE_AUTH && c->zone->nsec3_params.algorithm != 0) {
		link_nsec3(c, &params);
	}
	zone_ref_t ref;
	knot_err_t err = zone_node_build(c->builder, c->zone->store, &params, &ref, &c->sums);
	if (err == KNOT_OK && c->target_err == KNOT_OK) {
		name->ref = ref;
		c->names.compiled++;
	}
	return err != KNOT_OK ? err : c->target_err;
}

static knot_err_t compile_names(compile_t *c)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < c->names.count && err == KNOT_OK; i++) {
		zone_name_t *name = &c->names.list[i];
		const zone_group_t *group = zone_names_group(&c->names, name);
		if (group->kinds != 0) { /* not an empty non-terminal */
			zone_collect_release(c->collect, group);
		}
		err = compile_name(c, name);
	}
	return err;
}

/* Write numbers given out since a node was compiled into it, and collect the table's entries. */
static knot_err_t number_nodes(compile_t *c, zone_ref_t *table)
{
	zone_arena_t *store = c->zone->store;
	for (size_t i = 0; i < c->names.count; i++) {
		zone_name_t *name = &c->names.list[i];
		if (name->self == 0) {
			continue;
		}
		name->ref = zone_node_number(store, name->ref, name->self);
		if (name->ref == 0) {
			return KNOT_ENOMEM;
		}
		table[name->self - 1] = name->ref;
	}
	return KNOT_OK;
}

static size_t page_entries(uint32_t link_count, size_t page)
{
	size_t left = link_count - page * ZONE_LINK_PAGE;
	return left < ZONE_LINK_PAGE ? left : ZONE_LINK_PAGE;
}

/* The base's page, when it holds the same entries. */
static zone_ref_t same_page(const compile_t *c, size_t page, const zone_ref_t *entries, size_t count)
{
	const zone_contents_t *base = c->base;
	if (base == NULL || base->link_root == 0 || page * ZONE_LINK_PAGE >= base->link_count ||
			page_entries(base->link_count, page) != count) {
		return 0;
	}
	zone_ref_t ref = ((const zone_ref_t *)zone_at(&base->arena, base->link_root))[page];
	return memcmp(zone_at(&base->arena, ref), entries, count * sizeof(*entries)) == 0 ? ref : 0;
}

static zone_ref_t store_entries(zone_arena_t *store, const zone_ref_t *entries, size_t count)
{
	zone_ref_t ref = zone_arena_alloc(store, count * sizeof(*entries));
	if (ref != 0) {
		memcpy(zone_at(zone_arena_view(store), ref), entries, count * sizeof(*entries));
	}
	return ref;
}

static knot_err_t write_table(compile_t *c, const zone_ref_t *table)
{
	zone_contents_t *zone = c->zone;
	size_t pages = (c->link_count + ZONE_LINK_PAGE - 1u) / ZONE_LINK_PAGE;
	zone_ref_t *root = malloc(pages * sizeof(*root));
	if (root == NULL) {
		return KNOT_ENOMEM;
	}
	bool is_whole = true, is_same = c->base != NULL && c->base->link_count == c->link_count;
	for (size_t i = 0; i < pages && is_whole; i++) {
		size_t count = page_entries(c->link_count, i);
		const zone_ref_t *entries = table + i * ZONE_LINK_PAGE;
		root[i] = same_page(c, i, entries, count);
		if (root[i] == 0) {
			is_same = false;
			root[i] = store_entries(zone->store, entries, count);
			is_whole = root[i] != 0;
		}
	}
	if (is_whole) {
		zone->link_root = is_same ? c->base->link_root : store_entries(zone->store, root, pages);
		is_whole = zone->link_root != 0;
	}
	free(root);
	zone->link_count = c->link_count;
	return is_whole ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t make_links(compile_t *c)
{
	if (c->link_count == 0) {
		c->zone->link_root = c->zone->link_count = 0;
		return KNOT_OK;
	}
	zone_ref_t *table = calloc(c->link_count, sizeof(*table));
	if (table == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = number_nodes(c, table);
	err = err == KNOT_OK ? write_table(c, table) : err;
	free(table);
	return err;
}

/* Put the nodes that the base doesn't have into its tree. */
static knot_err_t graft(compile_t *c, unsigned which)
{
	const zone_names_t *names = &c->names;
	for (size_t i = zone_names_next(names, 0, which); i < names->count; i = zone_names_next(names, i + 1, which)) {
		zone_ref_t old;
		if (names->list[i].ref != names->old_refs[i] && zone_tree_put(c->zone->store, tree_of(c->zone, which),
										names->list[i].ref, &old) != KNOT_OK) {
			return KNOT_ENOMEM;
		}
	}
	return KNOT_OK;
}

/*
 * Make a tree from scratch. The tree of authoritative names is the last and largest: its leaves overwrite the entries.
 */
static knot_err_t plant(compile_t *c, unsigned which)
{
	static_assert(sizeof(zone_tree_leaf_t) <= sizeof(zone_name_t), "leaves overtake no entries");
	const zone_names_t *names = &c->names;
	size_t count = names->tree_counts[which], at = 0;
	zone_tree_leaf_t *leaves = which == TREE_AUTH ? (void *)names->list : malloc((count + 1) * sizeof(*leaves));
	if (leaves == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = zone_names_next(names, 0, which), next; i < names->count; i = next) {
		next = zone_names_next(names, i + 1, which);
		zone_tree_leaf_t leaf = { names->list[i].ref, names->list[i].step };
		memcpy(&leaves[at++], &leaf, sizeof(leaf));
	}
	assert(at == count);
	knot_err_t err = zone_tree_build(c->zone->store, leaves, count, tree_of(c->zone, which));
	if (which != TREE_AUTH) {
		free(leaves);
	}
	return err;
}

/* ---- Facts of the whole ---- */

/*
 * Find in the apex node the NSEC3PARAM whose parameters were taken. Its RDATA holds no names, so it is stored
 * unchanged.
 */
static void move_salt(zone_contents_t *zone)
{
	zone_nsec3_params_t *params = &zone->nsec3_params;
	if (params->algorithm == 0) {
		params->salt = NULL;
		return;
	}
	enum { SALT_OFF = 5 };
	zone_block_t block = zone_rrset_body(zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC3PARAM));
	for (const uint8_t *rr = block.bytes; rr < block.bytes + block.len;
			rr += ZONE_RR_RDATA_OFF + load_be16(rr + ZONE_RR_RDATA_LEN_OFF)) {
		const uint8_t *rdata = rr + ZONE_RR_RDATA_OFF;
		if (rdata[0] == 1 && rdata[1] == 0 && load_be16(rdata + 2) == params->iterations &&
				rdata[4] == params->salt_len &&
				memcmp(rdata + SALT_OFF, params->salt, params->salt_len) == 0) {
			params->salt = rdata + SALT_OFF;
			return;
		}
	}
	assert(false); /* the record was compiled into the apex */
}

/* Bytes of the arena that the version uses. */
static uint64_t live_size(const compile_t *c)
{
	const zone_contents_t *zone = c->zone;
	uint64_t links = zone->link_count > 0 ? (zone->link_count + zone->link_count / ZONE_LINK_PAGE + 1) *
								sizeof(zone_ref_t)
					      : 0;
	return c->sums.stored_size + links + zone_tree_size(&zone->arena, &zone->auth) +
	       zone_tree_size(&zone->arena, &zone->nsec3) + zone_tree_size(&zone->arena, &zone->glue);
}

static void note_facts(compile_t *c, zone_ref_t apex)
{
	zone_contents_t *zone = c->zone;
	zone_arena_seal(zone->store, c->base == NULL);
	zone->arena = *zone_arena_view(zone->store);
	zone->live_size = live_size(c);
	zone->apex = zone_at(&zone->arena, apex);
	move_salt(zone);
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	/* Five numbers end the RDATA of the SOA, the first RR there is. */
	const uint8_t *rr = zone_rrset_body(soa).bytes;
	const uint8_t *end = rr + ZONE_RR_RDATA_OFF + load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
	uint32_t ttl = load_be32(rr + ZONE_RR_TTL_OFF), minimum = load_be32(end - 4);
	zone->serial = load_be32(end - 20);
	zone->soa_minimum_ttl = minimum < ttl ? minimum : ttl;
	zone->is_signed = false;
	for (unsigned i = 0; i < zone_node_rrset_count(zone->apex); i++) {
		zone->is_signed =
				zone->is_signed || zone_rrset_has_sigs(zone_node_rrset_at(&zone->arena, zone->apex, i));
	}
	zone->has_nsec = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC) != NULL;
	zone->wire_size = c->sums.wire_size;
	zone->record_count = c->sums.record_count;
	zone->max_ttl = c->sums.max_ttl;
}

static knot_err_t compile_begin(compile_t *c)
{
	c->builder = zone_node_builder_new();
	c->zone = calloc(1, sizeof(*c->zone));
	if (c->builder == NULL || c->zone == NULL) {
		return KNOT_ENOMEM;
	}
	if (c->base != NULL) {
		zone_contents_copy(c->base, c->zone);
		c->zone->store = zone_arena_fork(c->base->store);
		c->link_count = c->base->link_count;
	} else {
		c->zone->store = zone_arena_new(0);
	}
	return c->zone->store != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t compile_compile(compile_t *c, uint64_t size_max)
{
	knot_err_t err = compile_begin(c);
	err = err == KNOT_OK ? zone_collect_sort(c->collect) : err;
	err = err == KNOT_OK ? classify(c) : err;
	if (err == KNOT_OK && c->base != NULL) {
		c->names.old_refs = calloc(c->names.count, sizeof(*c->names.old_refs));
		err = c->names.old_refs != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	for (unsigned i = 0; c->base != NULL && i < TREE_COUNT && err == KNOT_OK; i++) {
		err = match_base(c, i);
	}
	err = err == KNOT_OK ? prepare_nsec3(c) : err;
	err = err == KNOT_OK ? compile_names(c) : err;
	zone_node_builder_free(c->builder); /* it takes as much memory as a tree */
	c->builder = NULL;
	if (err == KNOT_OK && size_max != 0 && c->sums.wire_size > size_max) {
		err = KNOT_EZONESIZE;
	}
	err = err == KNOT_OK ? make_links(c) : err;
	zone_ref_t apex = err == KNOT_OK ? c->names.list[c->names.apex].ref : 0;
	for (unsigned i = TREE_COUNT; i-- > 0 && err == KNOT_OK;) {
		err = c->base != NULL ? graft(c, i) : plant(c, i);
	}
	if (err == KNOT_OK) {
		note_facts(c, apex);
	}
	return err;
}

void zone_compile_trim(uint64_t record_count)
{
	enum { BIG_ZONE = 100000 }; /* records: giving memory back pays from here on */
	if (record_count > BIG_ZONE) {
		malloc_trim(0);
	}
}

knot_err_t zone_compile(
		zone_collect_t *collect, const zone_contents_t *base, uint64_t size_max, zone_contents_t **ret_zone)
{
	assert(base == NULL || knot_name_eq(zone_node_owner(base->apex), collect->origin));
	compile_t c = { .collect = collect, .base = base };
	knot_err_t err = compile_compile(&c, size_max);
	zone_node_builder_free(c.builder);
	zone_names_done(&c.names);
	free(c.free_links);
	zone_nsec3_chain_done(&c.chain);
	free(c.own.data);
	free(c.below.data);
	free(c.glue);
	if (err != KNOT_OK) {
		zone_contents_free(c.zone);
		return err;
	}
	*ret_zone = base == NULL ? zone_contents_pack(c.zone) : c.zone;
	return KNOT_OK;
}
