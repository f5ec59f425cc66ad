/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory. Names are compiled in canonical order and the blocks of their groups go back to the system meanwhile, so the
 * collected records and the nodes never exist in full at the same time. Only the records of one name are unpacked, and
 * below a cut those of the names that may be glue.
 *
 * Links. A node that others refer to gets a number when the first of them is compiled, which may be before or after the
 * node itself: numbers that come after are written into the node by a copy (zone_node_number()). So does a name that
 * doesn't exist: if a transaction adds it, nothing that refers to it changes.
 */
#include "src/zone/compile.h"

#include "src/zone/facts.h"
#include "src/zone/names.h"
#include "src/zone/nsec3_chain.h"
#include "src/zone/nsec3_hash.h"
#include "src/zone/nsec3_records.h"
#include "src/zone/shared.h"
#include "src/zone/targets.h"

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
	zone_contents_t *zone; /* being built */
	zone_node_builder_t *builder;
	zone_names_t names;
	uint32_t link_count;          /* numbers given out so far */
	zone_targets_t targets;       /* names that were not found among those with addresses */
	uint8_t salt[UINT8_MAX];      /* of the chain that is answered from */
	zone_nsec3_chain_t chain;     /* that is answered from; empty: there is none */
	size_t chain_at;              /* its nodes that are compiled */
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

/* The parameters of the chain that is answered from. */
static knot_err_t take_nsec3_params(compile_t *c, const zone_group_t *apex)
{
	if (!unpacked_room(&c->own, unpacked_len(c->collect, apex))) {
		return KNOT_ENOMEM;
	}
	const zone_record_t *records;
	(void)unpack(c->collect, apex, false, c->own.data, &records);
	zone_nsec3_params_t *params = &c->zone->nsec3_params;
	*params = zone_nsec3_params_of(records);
	if (params->algorithm != 0) {
		memcpy(c->salt, params->salt, params->salt_len);
		params->salt = c->salt; /* zone_facts_note() lets it point into the apex node */
	}
	return KNOT_OK;
}

static knot_err_t classify(compile_t *c)
{
	zone_block_mem_t *block;
	const zone_group_t *apex = zone_collect_next(c->collect, &block, NULL);
	if (apex == NULL || apex->label_count != c->collect->origin.label_count || !(apex->kinds & ZONE_GROUP_SOA)) {
		return KNOT_ENOSOA;
	}
	knot_err_t err = take_nsec3_params(c, apex);
	if (err != KNOT_OK) {
		return err;
	}
	return zone_names_classify(&c->names, c->collect, &c->zone->nsec3_params);
}

/* ---- Links ---- */

static zone_link_t link_of(compile_t *c, zone_name_t *name)
{
	if (name->self == 0) {
		name->self = ++c->link_count;
	}
	assert(name->self <= c->link_count);
	return name->self;
}

/* The zone's tree of names[which]. */
static zone_tree_t *tree_of(zone_contents_t *zone, unsigned which)
{
	return which == TREE_AUTH ? &zone->auth : which == TREE_GLUE ? &zone->glue : &zone->nsec3;
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
	assert(len == 0 || to <= c->below.data + len);
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

/* The number of a target elsewhere in the zone, whether it exists or not. */
static knot_err_t number_target(compile_t *c, knot_name_t target, zone_link_t *ret_link)
{
	zone_name_t *name;
	knot_err_t err = find_name(c, target, TREE_AUTH, &name);
	if (err == KNOT_OK && name == NULL) {
		err = find_name(c, target, TREE_GLUE, &name);
		name = name != NULL && name->is_nsec3_part ? NULL : name;
	}
	if (err != KNOT_OK || name != NULL) {
		*ret_link = name != NULL ? link_of(c, name) : 0;
		return err;
	}
	zone_absent_t *absent = zone_targets_get(&c->targets, target);
	if (absent == NULL) {
		return KNOT_ENOMEM;
	}
	absent->link = absent->link != 0 ? absent->link : ++c->link_count;
	*ret_link = absent->link;
	return KNOT_OK;
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
	knot_err_t err = is_own ? find_own(c, target, &found) : number_target(c, target, &found.link);
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

static zone_nsec3_hint_t find_nsec3(knot_name_t name, void *ctx)
{
	const compile_t *c = ctx;
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	if (!zone_nsec3_hash(&c->zone->nsec3_params, name, hash)) {
		return (zone_nsec3_hint_t){ 0 };
	}
	size_t i = zone_nsec3_chain_find(&c->chain, hash);
	return (zone_nsec3_hint_t){ .link = c->names.list[c->chain.names[i]].self,
		.is_match = memcmp(c->chain.hashes[i], hash, sizeof(hash)) == 0,
		.prefix = load_be32(hash) };
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
	zone_node_params_t params = {
		.owner = zone_group_name(group),
		.records = c->records,
		.flags = name->flags,
		.self = name->self,
		.on_target = name->tree == TREE_AUTH ? find_target : NULL,
		.ctx = c,
	};
	if (name->tree == TREE_AUTH && c->zone->nsec3_params.algorithm != 0) {
		zone_nsec3_give_hints(&params, &c->zone->nsec3_params, find_nsec3, c);
	}
	if (name->tree == TREE_NSEC3 && c->zone->nsec3_params.algorithm != 0) {
		size_t next = ++c->chain_at < c->chain.count ? c->chain_at : 0;
		knot_name_t owner = zone_names_at(&c->names, zone_arena_view(c->zone->store), c->chain.names[next]);
		zone_nsec3_place(owner, &params);
	}
	zone_ref_t ref;
	knot_err_t err = zone_node_build(c->builder, c->zone->store, &params, &ref, &c->sums);
	if (err == KNOT_OK && c->target_err == KNOT_OK) {
		name->ref = ref;
		c->names.compiled++;
	}
	return err != KNOT_OK ? err : c->target_err;
}

static knot_err_t compile_names(compile_t *c, const zone_build_params_t *build)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < c->names.count && err == KNOT_OK; i++) {
		if (zone_compile_stops(build, i)) {
			return KNOT_ESTOPPED;
		}
		zone_name_t *name = &c->names.list[i];
		const zone_group_t *group = zone_names_group(&c->names, name);
		if (group->kinds != 0) { /* not an empty non-terminal */
			zone_collect_release(c->collect, group);
		}
		err = compile_name(c, name);
	}
	return err;
}

/* Names that were not found among those with addresses, but exist, get the numbers that they have here. */
static void number_found(compile_t *c)
{
	const zone_arena_view_t *view = zone_arena_view(c->zone->store);
	zone_targets_t *targets = &c->targets;
	zone_targets_sort(targets);
	size_t at = 0, kept = 0;
	for (size_t i = 0; i < targets->count; i++) {
		zone_absent_t absent = targets->list[i];
		int order = -1;
		while (at < c->names.count &&
				((order = knot_name_cmp(zone_names_at(&c->names, view, at), absent.name)) < 0 ||
						(order == 0 && c->names.list[at].is_nsec3_part))) {
			at++;
			order = -1;
		}
		if (at < c->names.count && order == 0) {
			assert(c->names.list[at].self == 0);
			c->names.list[at].self = absent.link;
		} else {
			targets->list[kept++] = absent;
		}
	}
	targets->count = kept;
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
		zone_ref_t ref = zone_node_number(store, name->ref, name->self);
		if (ref == 0) {
			return KNOT_ENOMEM;
		}
		if (ref != name->ref) {
			zone_node_drop(store, name->ref);
		}
		name->ref = ref;
		table[name->self - 1] = name->ref;
	}
	return KNOT_OK;
}

/* Names that don't exist: their records, and the wildcards that they would be synthesized from. */
static knot_err_t plant_absent(compile_t *c, zone_ref_t *table)
{
	const zone_targets_t *targets = &c->targets;
	zone_tree_leaf_t *leaves = calloc(targets->count + 1, sizeof(*leaves));
	knot_err_t err = leaves != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; i < targets->count && err == KNOT_OK; i++) {
		const zone_absent_t *absent = &targets->list[i];
		zone_name_t *wildcard;
		err = find_wildcard(c, absent->name, &wildcard);
		table[absent->link - 1] = err == KNOT_OK && wildcard != NULL ? wildcard->ref : 0;
		leaves[i].ref = zone_node_bare(c->zone->store, absent->name, 0, absent->link);
		if (leaves[i].ref == 0) {
			err = KNOT_ENOMEM;
		}
		if (i > 0) {
			leaves[i].step = zone_tree_step(absent[-1].name, absent->name);
		}
	}
	err = err == KNOT_OK ? zone_tree_build(c->zone->store, leaves, targets->count, &c->zone->absent) : err;
	free(leaves);
	return err;
}

static knot_err_t make_links(compile_t *c)
{
	if (c->link_count == 0) {
		return KNOT_OK;
	}
	zone_ref_t *table = calloc(c->link_count, sizeof(*table));
	if (table == NULL) {
		return KNOT_ENOMEM;
	}
	number_found(c);
	knot_err_t err = number_nodes(c, table);
	err = err == KNOT_OK ? plant_absent(c, table) : err;
	err = err == KNOT_OK ? zone_links_build(c->zone->store, table, c->link_count, &c->zone->links) : err;
	free(table);
	return err;
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

static knot_err_t compile_begin(compile_t *c)
{
	c->builder = zone_node_builder_new();
	c->zone = calloc(1, sizeof(*c->zone));
	if (c->builder == NULL || c->zone == NULL) {
		return KNOT_ENOMEM;
	}
	c->zone->store = zone_arena_new(0);
	return c->zone->store != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t compile_compile(compile_t *c, const zone_build_params_t *build)
{
	knot_err_t err = compile_begin(c);
	err = err == KNOT_OK ? zone_collect_sort(c->collect) : err;
	err = err == KNOT_OK ? classify(c) : err;
	err = err == KNOT_OK ? prepare_nsec3(c) : err;
	err = err == KNOT_OK ? compile_names(c, build) : err;
	err = err == KNOT_OK ? zone_shared_build(c->zone->store, c->builder, &c->zone->shared) : err;
	zone_node_builder_free(c->builder); /* it takes as much memory as a tree */
	c->builder = NULL;
	if (err == KNOT_OK && build->size_max != 0 && c->sums.wire_size > build->size_max) {
		err = KNOT_EZONESIZE;
	}
	err = err == KNOT_OK ? make_links(c) : err;
	zone_ref_t apex = err == KNOT_OK ? c->names.list[c->names.apex].ref : 0;
	for (unsigned i = TREE_COUNT; i-- > 0 && err == KNOT_OK;) {
		err = plant(c, i);
	}
	if (err == KNOT_OK) {
		c->zone->live_size = c->zone->built_size = (uint64_t)zone_arena_live_change(c->zone->store);
		c->zone->wire_size = c->sums.wire_size;
		c->zone->record_count = c->sums.record_count;
		c->zone->max_ttl = c->sums.max_ttl;
		zone_arena_seal(c->zone->store, true);
		zone_facts_note(c->zone, apex);
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

knot_err_t zone_compile(zone_collect_t *collect, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	compile_t c = { .collect = collect };
	knot_err_t err = compile_compile(&c, params);
	zone_node_builder_free(c.builder);
	zone_names_done(&c.names);
	zone_targets_done(&c.targets);
	zone_nsec3_chain_done(&c.chain);
	free(c.own.data);
	free(c.below.data);
	free(c.glue);
	if (err != KNOT_OK) {
		zone_contents_free(c.zone);
		return err;
	}
	*ret_zone = zone_contents_pack(c.zone);
	return KNOT_OK;
}
