/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/compile.h"

#include "src/zone/nsec3_hash.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

enum { TREE_AUTH, TREE_GLUE, TREE_NSEC3, TREE_COUNT };
enum { BIG_ZONE = 100000 };              /* records from which on it pays to give heap memory back */

typedef struct {
	zone_collect_t *collect;
	const zone_contents_t *base;         /* NULL: built anew */
	zone_contents_t *zone;               /* in the making */
	zone_node_builder_t *builder;
	zone_names_t names[TREE_COUNT];      /* in canonical order */
	zone_link_t *free_links;             /* numbers of nodes that are gone */
	size_t free_link_count, free_link_max;
	uint32_t link_count;                 /* numbers given out so far */
	uint8_t (*hashes)[ZONE_NSEC3_HASH_LEN];  /* of the NSEC3 owners, ascending; beside names[TREE_NSEC3] */
	const zone_name_t *current;          /* the name being compiled */
	size_t glue_cursor;                  /* first glue name that is not before `current` */
	zone_node_sums_t sums;
} compile_t;

/* ---- Classification ---- */

static bool has_type(const zone_name_t *name, uint16_t type)
{
	for (const zone_record_t *r = name->first; r != NULL; r = r->next) {
		if (r->type == type) {
			return true;
		}
	}
	return false;
}

static bool is_nsec3_record(const zone_record_t *record)
{
	return record->type == KNOT_TYPE_NSEC3 ||
	       (record->type == KNOT_TYPE_RRSIG && record->rdata_len >= 2 && load_be16(record->rdata) == KNOT_TYPE_NSEC3);
}

static void append(zone_name_t *name, zone_record_t *record)
{
	record->next = NULL;
	if (name->last != NULL) {
		name->last->next = record;
	} else {
		name->first = record;
	}
	name->last = record;
}

/* The parameters of the chain that is answered from: the apex's first usable NSEC3PARAM. */
static void take_nsec3_params(compile_t *c, const zone_name_t *apex)
{
	zone_nsec3_params_t *params = &c->zone->nsec3_params;
	*params = (zone_nsec3_params_t){ 0 };
	for (const zone_record_t *r = apex->first; r != NULL; r = r->next) {
		/* RFC 5155 4.1.2: records with flags other than zero are ignored. */
		if (r->type == KNOT_TYPE_NSEC3PARAM && r->rdata[0] == 1 && r->rdata[1] == 0) {
			params->algorithm = 1;
			params->iterations = load_be16(r->rdata + 2);
			params->salt_len = r->rdata[4];
			params->salt = r->rdata + 5;     /* note_facts() moves it to the apex node */
			return;
		}
	}
}

/*
 * While a zone changes its salt, it has two chains (RFC 5155 10.4). One must not stand between the records of the other,
 * or a walk to the preceding hash would end at a record that proves nothing: records of another chain are only zone data.
 */
static bool is_other_chain(const compile_t *c, const zone_name_t *nsec3)
{
	const zone_nsec3_params_t *params = &c->zone->nsec3_params;
	if (params->algorithm == 0 || nsec3->label_count != c->collect->origin.label_count + 1) {
		return false;
	}
	for (const zone_record_t *r = nsec3->first; r != NULL; r = r->next) {
		if (r->type == KNOT_TYPE_NSEC3 && r->rdata[0] == params->algorithm &&
		    load_be16(r->rdata + 2) == params->iterations && r->rdata[4] == params->salt_len &&
		    memcmp(r->rdata + 5, params->salt, params->salt_len) == 0) {
			return false;
		}
	}
	return true;
}

/* Divide a name's records between the NSEC3 tree and the rest. */
static void split(const zone_name_t *from, zone_name_t *ret_rest, zone_name_t *ret_nsec3)
{
	*ret_rest = *ret_nsec3 = *from;
	ret_rest->first = ret_rest->last = ret_nsec3->first = ret_nsec3->last = NULL;
	for (zone_record_t *r = from->first, *next; r != NULL; r = next) {
		next = r->next;
		append(is_nsec3_record(r) ? ret_nsec3 : ret_rest, r);
	}
}

static knot_err_t add(zone_names_t *names, const zone_name_t *name)
{
	zone_name_t *to = zone_names_add(names);
	if (to == NULL) {
		return KNOT_ENOMEM;
	}
	*to = *name;
	return KNOT_OK;
}

typedef struct {
	size_t path[KNOT_LABEL_COUNT_MAX + 1];  /* of the last authoritative name: its ancestors below and at the apex */
	unsigned depth;                         /* labels of that name below the apex; path[0..depth] is set */
	size_t cut;                             /* index of the last cut in TREE_AUTH */
	bool has_cut;
} classify_t;

/* Add an authoritative name, before it the empty non-terminals above it that aren't there yet. */
static knot_err_t add_auth(compile_t *c, classify_t *state, const zone_name_t *name)
{
	zone_names_t *auth = &c->names[TREE_AUTH];
	unsigned apex_labels = c->collect->origin.label_count;
	unsigned depth = name->label_count - apex_labels;
	unsigned known = 0;
	if (auth->count > 0) {
		known = knot_name_shared_labels(zone_name_of(name), zone_name_of(&auth->names[state->path[state->depth]])) -
		        apex_labels;
	}
	for (unsigned d = auth->count > 0 ? known + 1 : 0; d <= depth; d++) {
		zone_name_t entry = *name;
		if (d < depth) {
			knot_name_t owner = knot_name_strip(zone_name_of(name), depth - d);
			entry = (zone_name_t){ .wire = owner.wire, .len = owner.len, .label_count = owner.label_count,
			                       .prefix = zone_name_prefix(c->collect->origin, owner) };
		}
		entry.flags |= d == 0 ? ZONE_NODE_APEX : 0;
		if (d > 0) {
			bool is_wildcard = knot_name_is_wildcard(zone_name_of(&entry));
			auth->names[state->path[d - 1]].flags |= ZONE_NODE_CHILDREN | (is_wildcard ? ZONE_NODE_WILDCARD_CHILD : 0);
		}
		if (add(auth, &entry) != KNOT_OK) {
			return KNOT_ENOMEM;
		}
		state->path[d] = auth->count - 1;
	}
	state->depth = depth;
	return KNOT_OK;
}

static knot_err_t classify_name(compile_t *c, classify_t *state, const zone_name_t *from)
{
	zone_name_t rest, nsec3;
	split(from, &rest, &nsec3);
	if (nsec3.first != NULL) {
		bool is_other = is_other_chain(c, &nsec3);
		nsec3.flags = is_other ? ZONE_NODE_GLUE : ZONE_NODE_NSEC3;
		if (add(&c->names[is_other ? TREE_GLUE : TREE_NSEC3], &nsec3) != KNOT_OK) {
			return KNOT_ENOMEM;
		}
	}
	if (rest.first == NULL) {
		return KNOT_OK;
	}
	zone_names_t *auth = &c->names[TREE_AUTH];
	if (state->has_cut && knot_name_in(zone_name_of(&rest), zone_name_of(&auth->names[state->cut]))) {
		rest.flags = ZONE_NODE_GLUE;
		return add(&c->names[TREE_GLUE], &rest);
	}
	bool is_cut = rest.label_count > c->collect->origin.label_count && has_type(&rest, KNOT_TYPE_NS);
	rest.flags = is_cut ? ZONE_NODE_CUT : 0;
	knot_err_t err = add_auth(c, state, &rest);
	if (err == KNOT_OK && is_cut) {
		state->has_cut = true;
		state->cut = auth->count - 1;
	}
	return err;
}

static knot_err_t classify(compile_t *c)
{
	const zone_names_t *from = &c->collect->names;
	if (from->count == 0 || from->names[0].label_count != c->collect->origin.label_count ||
	    !has_type(&from->names[0], KNOT_TYPE_SOA)) {
		return KNOT_ENOSOA;
	}
	take_nsec3_params(c, &from->names[0]);
	classify_t state = { 0 };
	for (size_t i = 0; i < from->count; i++) {
		knot_err_t err = classify_name(c, &state, &from->names[i]);
		if (err != KNOT_OK) {
			return err;
		}
	}
	free(c->collect->names.names);
	c->collect->names = (zone_names_t){ 0 };
	return KNOT_OK;
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

/*
 * Find each name's node of the base version in the same tree; take nodes whose names are gone out of the tree and free
 * their numbers. Both sides are in canonical order.
 */
static knot_err_t match_base(compile_t *c, unsigned which)
{
	zone_contents_t *zone = c->zone;
	zone_names_t *names = &c->names[which];
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	if (iter == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	size_t i = 0;
	const zone_tree_t *old_tree = tree_of((zone_contents_t *)(uintptr_t)c->base, which);
	zone_tree_begin(&c->base->arena, old_tree, iter);
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&c->base->arena, ref);
		int order = -1;
		while (i < names->count && (order = knot_name_cmp(zone_name_of(&names->names[i]), zone_node_owner(node))) < 0) {
			i++;
		}
		if (i < names->count && order == 0) {
			names->names[i].old_ref = ref;
			names->names[i].self = zone_node_self(node);
			i++;
			continue;
		}
		err = zone_tree_remove(zone->store, tree_of(zone, which), zone_node_owner(node));
		err = err == KNOT_OK ? free_link(c, zone_node_self(node)) : err;
	}
	free(iter);
	return err;
}

/* ---- Additional data ---- */

static bool has_address(const zone_name_t *name)
{
	return has_type(name, KNOT_TYPE_A) || has_type(name, KNOT_TYPE_AAAA);
}

static zone_name_t *find_name(const zone_names_t *names, size_t from, const zone_name_t *wanted)
{
	size_t low = from, high = names->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = zone_name_order(&names->names[middle], wanted);
		if (order == 0) {
			return &names->names[middle];
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

/* Glue of the current cut stands right at the cursor: look there before searching. */
static zone_name_t *find_glue(const compile_t *c, const zone_name_t *wanted)
{
	enum { NEAR = 8 };
	const zone_names_t *glue = &c->names[TREE_GLUE];
	for (size_t i = c->glue_cursor; i < glue->count && i < c->glue_cursor + NEAR; i++) {
		zone_name_t *name = &glue->names[i];
		if (name->len == wanted->len && memcmp(name->wire, wanted->wire, wanted->len) == 0) {
			return name;
		}
	}
	return find_name(glue, 0, wanted);
}

/* "*.<closest encloser>" of a name that doesn't exist, or NULL. */
static zone_name_t *find_wildcard(const compile_t *c, knot_name_t target)
{
	unsigned depth = target.label_count - c->collect->origin.label_count;
	for (unsigned i = 1; i <= depth; i++) {
		knot_name_t above = knot_name_strip(target, i);
		zone_name_t wanted = { .wire = above.wire, .len = above.len, .label_count = above.label_count,
		                       .prefix = zone_name_prefix(c->collect->origin, above) };
		const zone_name_t *encloser = find_name(&c->names[TREE_AUTH], 0, &wanted);
		if (encloser == NULL) {
			continue;
		}
		if (!(encloser->flags & ZONE_NODE_WILDCARD_CHILD) || (encloser->flags & ZONE_NODE_CUT)) {
			return NULL;
		}
		uint8_t wire[KNOT_NAME_MAX] = { 1, '*' };
		memcpy(wire + 2, above.wire, above.len);
		wanted = (zone_name_t){ .wire = wire, .len = (uint8_t)(above.len + 2), .label_count = (uint8_t)(above.label_count + 1) };
		wanted.prefix = zone_name_prefix(c->collect->origin, zone_name_of(&wanted));
		return find_name(&c->names[TREE_AUTH], 0, &wanted);
	}
	return NULL;
}

static zone_target_t find_target(knot_name_t target, uint16_t type, void *ctx)
{
	compile_t *c = ctx;
	zone_target_t none = { 0 };
	if (!knot_name_in(target, c->collect->origin)) {
		return none;
	}
	zone_name_t wanted = { .wire = target.wire, .len = target.len, .label_count = target.label_count,
	                       .prefix = zone_name_prefix(c->collect->origin, target) };
	bool is_own = type == KNOT_TYPE_NS && (c->current->flags & ZONE_NODE_CUT) &&
	              knot_name_in(target, zone_name_of(c->current));
	zone_name_t *name = is_own ? find_glue(c, &wanted) : NULL;
	if (name == NULL) {
		name = find_name(&c->names[TREE_AUTH], 0, &wanted);
	}
	if (name == NULL && !is_own) {
		name = find_name(&c->names[TREE_GLUE], 0, &wanted);
		name = name != NULL ? name : find_wildcard(c, target);
	}
	/* SVCB and HTTPS also take along the target's records of their type, and the proof of what it lacks (answer/encode.c). */
	bool is_service = type == KNOT_TYPE_SVCB || type == KNOT_TYPE_HTTPS;
	if (name == NULL || (!has_address(name) && !is_service)) {
		return none;
	}
	if (is_own) {
		return (zone_target_t){ .glue = name->first, .glue_id = name->wire };
	}
	return (zone_target_t){ .link = link_of(c, name) };
}

/* ---- NSEC3 ---- */

static int digit_of(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'v' ? c - 'a' + 10 : -1;
}

/* The hash that an NSEC3's owner names. False: the first label isn't one. */
static bool owner_hash(const zone_name_t *name, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	if (name->wire[0] != ZONE_NSEC3_LABEL_LEN) {
		return false;
	}
	for (unsigned i = 0; i < ZONE_NSEC3_LABEL_LEN; i += 8) {      /* eight digits are five bytes */
		uint64_t bits = 0;
		for (unsigned j = 0; j < 8; j++) {
			int digit = digit_of(name->wire[1 + i + j]);
			if (digit < 0) {
				return false;
			}
			bits = bits << 5 | (unsigned)digit;
		}
		for (unsigned j = 0; j < 5; j++) {
			ret_hash[i / 8 * 5 + j] = (uint8_t)(bits >> (32 - 8 * j));
		}
	}
	return true;
}

/* Unpack the hashes of the chain. Without one there are no parameters. */
static knot_err_t prepare_nsec3(compile_t *c)
{
	zone_nsec3_params_t *params = &c->zone->nsec3_params;
	const zone_name_t *apex = &c->names[TREE_AUTH].names[0];
	zone_names_t *nsec3 = &c->names[TREE_NSEC3];
	if (params->algorithm == 0 || nsec3->count == 0) {
		params->algorithm = 0;
		return KNOT_OK;
	}
	c->hashes = malloc(nsec3->count * sizeof(*c->hashes));
	if (c->hashes == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < nsec3->count; i++) {
		bool is_below_apex = nsec3->names[i].label_count == apex->label_count + 1;
		if (!is_below_apex || !owner_hash(&nsec3->names[i], c->hashes[i])) {
			/* Not a chain that hashes can be looked up in: the zone is served without prepared denials. */
			params->algorithm = 0;
			return KNOT_OK;
		}
		link_of(c, &nsec3->names[i]);
	}
	return KNOT_OK;
}

/* The last NSEC3 owner whose hash is not after `hash`; the ring's last when all are. Hashes are uniform: begin where it should be. */
static size_t find_hash(const compile_t *c, const uint8_t *hash)
{
	size_t count = c->names[TREE_NSEC3].count;
	size_t guess = (size_t)((uint64_t)load_be32(hash) * count >> 32);
	size_t low = guess, high = guess, step = 16;     /* invariant sought: hashes[low] <= hash < hashes[high] */
	while (low > 0 && memcmp(c->hashes[low], hash, ZONE_NSEC3_HASH_LEN) > 0) {
		high = low;
		low = low > step ? low - step : 0;
		step *= 2;
	}
	if (memcmp(c->hashes[low], hash, ZONE_NSEC3_HASH_LEN) > 0) {
		return count - 1;
	}
	step = 16;
	while (high < count && memcmp(c->hashes[high], hash, ZONE_NSEC3_HASH_LEN) <= 0) {
		low = high;
		high = high + step < count ? high + step : count;
		step *= 2;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (memcmp(c->hashes[middle], hash, ZONE_NSEC3_HASH_LEN) <= 0) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

static zone_link_t find_nsec3(const compile_t *c, knot_name_t name, bool *ret_is_match)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	*ret_is_match = false;
	if (!zone_nsec3_hash(&c->zone->nsec3_params, name, hash)) {
		return 0;
	}
	size_t i = find_hash(c, hash);
	*ret_is_match = memcmp(c->hashes[i], hash, sizeof(hash)) == 0;
	return c->names[TREE_NSEC3].names[i].self;
}

static void link_nsec3(const compile_t *c, const zone_name_t *name, zone_node_params_t *params)
{
	params->nsec3 = find_nsec3(c, zone_name_of(name), &params->nsec3_is_match);
	if ((name->flags & ZONE_NODE_CUT) || name->len + 2u > KNOT_NAME_MAX) {
		return;                  /* nothing is synthesized below a cut */
	}
	uint8_t wire[KNOT_NAME_MAX] = { 1, '*' };
	memcpy(wire + 2, name->wire, name->len);
	knot_name_t wildcard = { wire, (uint8_t)(name->len + 2), (uint8_t)(name->label_count + 1) };
	params->nsec3_wildcard = find_nsec3(c, wildcard, &params->nsec3_wildcard_is_match);
}

/* ---- Compiling ---- */

static knot_err_t compile_names(compile_t *c, unsigned which)
{
	zone_names_t *names = &c->names[which];
	const zone_names_t *glue = &c->names[TREE_GLUE];
	c->glue_cursor = 0;
	for (size_t i = 0; i < names->count; i++) {
		zone_name_t *name = &names->names[i];
		c->current = name;
		while (which == TREE_AUTH && c->glue_cursor < glue->count &&
		       zone_name_order(&glue->names[c->glue_cursor], name) < 0) {
			c->glue_cursor++;
		}
		zone_node_params_t params = {
			.owner = zone_name_of(name), .records = name->first, .flags = name->flags, .self = name->self,
			.on_target = which == TREE_AUTH ? find_target : NULL, .ctx = c, .old_ref = name->old_ref,
		};
		if (which == TREE_AUTH && c->zone->nsec3_params.algorithm != 0) {
			link_nsec3(c, name, &params);
		}
		knot_err_t err = zone_node_build(c->builder, c->zone->store, &params, &name->ref, &c->sums);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

/* Write numbers given out since a node was compiled into it, and collect the table's entries. */
static knot_err_t number_nodes(compile_t *c, zone_names_t *names, zone_ref_t *table)
{
	zone_arena_t *store = c->zone->store;
	for (size_t i = 0; i < names->count; i++) {
		zone_name_t *name = &names->names[i];
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
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; i < TREE_COUNT && err == KNOT_OK; i++) {
		err = number_nodes(c, &c->names[i], table);
	}
	err = err == KNOT_OK ? write_table(c, table) : err;
	free(table);
	return err;
}

static knot_err_t plant(compile_t *c, unsigned which)
{
	zone_tree_t *tree = tree_of(c->zone, which);
	const zone_names_t *names = &c->names[which];
	if (c->base != NULL) {
		for (size_t i = 0; i < names->count; i++) {
			zone_ref_t old;
			if (names->names[i].ref != names->names[i].old_ref &&
			    zone_tree_put(c->zone->store, tree, names->names[i].ref, &old) != KNOT_OK) {
				return KNOT_ENOMEM;
			}
		}
		return KNOT_OK;
	}
	zone_ref_t *leaves = malloc((names->count + 1) * sizeof(*leaves));
	if (leaves == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < names->count; i++) {
		leaves[i] = names->names[i].ref;
	}
	knot_err_t err = zone_tree_build(c->zone->store, leaves, names->count, tree);
	free(leaves);
	return err;
}

/* ---- Facts of the whole ---- */

/* Find the NSEC3PARAM whose parameters were taken in the apex node: its RDATA holds no names and stands there as it is. */
static void move_salt(zone_contents_t *zone)
{
	zone_nsec3_params_t *params = &zone->nsec3_params;
	if (params->algorithm == 0) {
		params->salt = NULL;
		return;
	}
	enum { RDATA_LEN_OFF = 10, RDATA_OFF = 12, SALT_OFF = 5 };
	zone_block_t block = zone_rrset_body(zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC3PARAM));
	for (const uint8_t *rr = block.bytes; rr < block.bytes + block.len; rr += RDATA_OFF + load_be16(rr + RDATA_LEN_OFF)) {
		const uint8_t *rdata = rr + RDATA_OFF;
		if (rdata[0] == 1 && rdata[1] == 0 && load_be16(rdata + 2) == params->iterations && rdata[4] == params->salt_len &&
		    memcmp(rdata + SALT_OFF, params->salt, params->salt_len) == 0) {
			params->salt = rdata + SALT_OFF;
			return;
		}
	}
	assert(false);                           /* the record was compiled into the apex */
}

static knot_err_t note_facts(compile_t *c)
{
	zone_contents_t *zone = c->zone;
	zone_arena_seal(zone->store, c->base == NULL);
	zone->packed_size = c->base == NULL ? zone_arena_size(zone->store) : c->base->packed_size;
	zone->arena = *zone_arena_view(zone->store);
	zone->apex = zone_at(&zone->arena, c->names[TREE_AUTH].names[0].ref);
	move_salt(zone);
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	zone_rr_iter_t iter = zone_rr_begin(zone->apex, soa, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	if (zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		zone->serial = load_be32(rdata.data + rdata.len - 20);       /* five numbers end the RDATA */
		uint32_t minimum = load_be32(rdata.data + rdata.len - 4);
		zone->soa_minimum_ttl = minimum < ttl ? minimum : ttl;
	}
	free(scratch);
	zone->is_signed = false;
	for (unsigned i = 0; i < zone_node_rrset_count(zone->apex); i++) {
		zone->is_signed = zone->is_signed || zone_rrset_has_sigs(zone_node_rrset_at(&zone->arena, zone->apex, i));
	}
	zone->has_nsec = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC) != NULL;
	zone->wire_size = c->sums.wire_size;
	zone->record_count = c->sums.record_count;
	zone->max_ttl = c->sums.max_ttl;
	return KNOT_OK;
}

static knot_err_t begin(compile_t *c)
{
	c->builder = zone_node_builder_new();
	c->zone = calloc(1, sizeof(*c->zone));
	if (c->builder == NULL || c->zone == NULL) {
		return KNOT_ENOMEM;
	}
	if (c->base != NULL) {
		*c->zone = *c->base;
		c->zone->store = zone_arena_fork(c->base->store);
		c->link_count = c->base->link_count;
	} else {
		c->zone->store = zone_arena_new(0);
	}
	return c->zone->store != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t compile(compile_t *c, uint64_t size_max)
{
	knot_err_t err = begin(c);
	err = err == KNOT_OK ? zone_collect_sort(c->collect) : err;
	err = err == KNOT_OK ? classify(c) : err;
	for (unsigned i = 0; c->base != NULL && i < TREE_COUNT && err == KNOT_OK; i++) {
		err = match_base(c, i);
	}
	err = err == KNOT_OK ? prepare_nsec3(c) : err;
	for (unsigned i = 0; i < TREE_COUNT && err == KNOT_OK; i++) {
		err = compile_names(c, i);
	}
	if (err == KNOT_OK && size_max != 0 && c->sums.wire_size > size_max) {
		err = KNOT_EZONESIZE;
	}
	err = err == KNOT_OK ? make_links(c) : err;
	for (unsigned i = 0; i < TREE_COUNT && err == KNOT_OK; i++) {
		err = plant(c, i);
	}
	return err == KNOT_OK ? note_facts(c) : err;
}

knot_err_t zone_compile(zone_collect_t *collect, const zone_contents_t *base, uint64_t size_max, zone_contents_t **ret_zone)
{
	compile_t c = { .collect = collect, .base = base };
	knot_err_t err = compile(&c, size_max);
	zone_node_builder_free(c.builder);
	for (unsigned i = 0; i < TREE_COUNT; i++) {
		free(c.names[i].names);
	}
	free(c.free_links);
	free(c.hashes);
	if (c.sums.record_count > BIG_ZONE) {
		malloc_trim(0);          /* glibc keeps tens of megabytes for reuse */
	}
	if (err != KNOT_OK) {
		zone_contents_free(c.zone);
		return err;
	}
	*ret_zone = c.zone;
	return KNOT_OK;
}
