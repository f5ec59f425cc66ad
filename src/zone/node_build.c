/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node is made in two steps: its RRsets are compiled one after the other into scratch buffers (rrset_build.c), then
 * header, owner, table, glue and RRsets are written one after another to one arena allocation, whose size is known by
 * then.
 *
 * RRsets that many nodes have are stored once: node_share.h.
 */
#include "src/zone/node_build.h"

#include "libknot/base/assert.h"
#include "src/zone/node_builder.h"
#include "src/zone/node_check.h"

#include <stdlib.h>

zone_node_builder_t *zone_node_builder_new(void)
{
	return calloc(1, sizeof(zone_node_builder_t));
}

void zone_node_builder_free(zone_node_builder_t *builder)
{
	if (builder != NULL) {
		free(builder->records);
		zone_buffer_t *buffers[] = { &builder->made, &builder->sets, &builder->glue, &builder->glue_ids,
			&builder->links, &builder->blocks, &builder->pointers };
		for (size_t i = 0; i < KNOT_LEN(buffers); i++) {
			free(buffers[i]->data);
		}
		zone_node_share_clear(&builder->share);
		free(builder);
	}
}

/* Not inlined: buffers grow for the first nodes only. */
bool zone_buffer_grow(zone_node_builder_t *b, zone_buffer_t *buffer, size_t len)
{
	assert(buffer->len <= buffer->max);
	size_t max = 2 * (buffer->max + len) + 512;
	uint8_t *data = realloc(buffer->data, max);
	if (data == NULL) {
		b->failed = true;
		return false;
	}
	buffer->data = data;
	buffer->max = max;
	return true;
}

/* ---- Order ---- */

static int cmp_records(const void *va, const void *vb)
{
	return zone_record_order(*(const zone_record_t *const *)va, *(const zone_record_t *const *)vb);
}

static bool grow_records(zone_node_builder_t *b)
{
	size_t max = 2 * b->record_max + 64;
	const zone_record_t **grown = realloc(b->records, max * sizeof(*grown));
	if (grown == NULL) {
		b->failed = true;
		return false;
	}
	b->records = grown;
	b->record_max = max;
	return true;
}

/* Sort all and drop duplicates, the first of which stays. Returns how many are left. */
static size_t sort_many(zone_node_builder_t *b, size_t count)
{
	qsort(b->records, count, sizeof(*b->records), cmp_records);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || zone_record_order(b->records[kept - 1], b->records[i]) != 0) {
			b->records[kept++] = b->records[i];
		}
	}
	return kept;
}

/*
 * The records sorted, without duplicates; a record's TTL in the result is looked up by zone_records_ttl(). Usually they
 * are few or sorted, so each is inserted at its place, until one would have to move far.
 */
static size_t sort_records(zone_node_builder_t *b, const zone_record_t *list)
{
	enum { FAR = 16 };
	size_t count = 0;
	bool is_sorted = true;
	for (const zone_record_t *r = list; r != NULL; r = r->next) {
		if (count == b->record_max && !grow_records(b)) {
			return 0;
		}
		size_t at = count;
		int order = -1;
		while (is_sorted && at > 0 && (order = zone_record_order(b->records[at - 1], r)) > 0) {
			is_sorted = count - at < FAR;
			at--;
		}
		if (!is_sorted) {
			b->records[count++] = r;
		} else if (order != 0) {
			for (size_t i = count++; i > at; i--) {
				b->records[i] = b->records[i - 1];
			}
			b->records[at] = r;
		}
	}
	return is_sorted ? count : sort_many(b, count);
}

/* True if the records are sorted, each of them once. */
static bool records_ascend(const zone_node_builder_t *b, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (zone_record_order(b->records[i - 1], b->records[i]) >= 0) {
			return false;
		}
	}
	return true;
}

/* ---- One RRset after the other ---- */

/* RRs [first..first + count), their signatures behind them. */
static void put_rrset(
		zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count, size_t sig_count)
{
	uint16_t type = b->records[first]->type;
	zone_rrset_run_t run = { first, count, sig_count, zone_records_ttl(params->records, type) };
	zone_made_set_t made = { .type = type, .ttl = run.ttl, .off = b->sets.len };
	bool may_know = type == KNOT_TYPE_NS && sig_count == 0 && params->on_target != NULL && params->on_share == NULL;
	made.shared = may_know ? zone_node_share_find(&b->share, b->records + first, count, run.ttl) : 0;
	if (made.shared == 0) {
		zone_rrset_compile(b, params, &run);
		b->has_key = b->has_key || (may_know && b->share.has_key && b->is_portable);
	}
	made.len = b->sets.len - made.off;
	zone_buffer_put(b, &b->made, &made, sizeof(made));
}

/* Signatures that cover nothing at this name: an RRset of their own. They come in runs by covered type, so collect them
 * all. */
static void put_orphans(zone_node_builder_t *b, const zone_node_params_t *params, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0, j; i < count; i = j) {
		uint16_t type = b->records[i]->type == KNOT_TYPE_RRSIG ? zone_record_covers(b->records[i])
								       : b->records[i]->type;
		bool is_orphan = b->records[i]->type == KNOT_TYPE_RRSIG;
		for (j = i; j < count; j++) {
			const zone_record_t *r = b->records[j];
			if ((r->type == KNOT_TYPE_RRSIG ? zone_record_covers(r) : r->type) != type) {
				break;
			}
			if (is_orphan) {
				b->records[kept++] = r;
			}
		}
	}
	if (kept > 0) {
		put_rrset(b, params, 0, kept, 0);
	}
}

static int cmp_sets(const void *va, const void *vb)
{
	return ((const zone_made_set_t *)va)->type - ((const zone_made_set_t *)vb)->type;
}

static void put_rrsets(zone_node_builder_t *b, const zone_node_params_t *params, size_t count)
{
	bool has_orphans = false;
	for (size_t i = 0; i < count && !b->failed;) {
		size_t rrs = 0, sigs = 0;
		uint16_t type = b->records[i]->type;
		if (type == KNOT_TYPE_RRSIG) {
			has_orphans = true;
			i++;
			continue;
		}
		while (i + rrs < count && b->records[i + rrs]->type == type) {
			rrs++;
		}
		while (i + rrs + sigs < count && b->records[i + rrs + sigs]->type == KNOT_TYPE_RRSIG &&
				zone_record_covers(b->records[i + rrs + sigs]) == type) {
			sigs++;
		}
		put_rrset(b, params, i, rrs, sigs);
		i += rrs + sigs;
	}
	if (has_orphans && !b->failed) {
		put_orphans(b, params, count);
		qsort(b->made.data, b->made.len / sizeof(zone_made_set_t), sizeof(zone_made_set_t), cmp_sets);
	}
}

/* ---- The node ---- */

enum {
	HINT_FLAGS = ZONE_NODE_HAS_NSEC3 | ZONE_NODE_HAS_NSEC3_WILDCARD | ZONE_NODE_NSEC3_IS_MATCH |
		     ZONE_NODE_NSEC3_WILDCARD_IS_MATCH,
};

static unsigned hint_flags(const zone_node_params_t *params)
{
	unsigned flags = params->is_chain ? HINT_FLAGS : 0;
	flags |= params->nsec3.link != 0 ? ZONE_NODE_HAS_NSEC3 : 0;
	flags |= params->nsec3_wildcard.link != 0 ? ZONE_NODE_HAS_NSEC3_WILDCARD : 0;
	flags |= params->nsec3.is_match ? ZONE_NODE_NSEC3_IS_MATCH : 0;
	return flags | (params->nsec3_wildcard.is_match ? ZONE_NODE_NSEC3_WILDCARD_IS_MATCH : 0);
}

static uint16_t flags_of(const zone_node_builder_t *b, const zone_node_params_t *params)
{
	unsigned flags = params->flags & ZONE_NODE_FACTS;
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	for (size_t i = 0; i < b->made.len / sizeof(*made); i++) {
		flags |= made[i].type == KNOT_TYPE_CNAME ? ZONE_NODE_CNAME : 0;
		flags |= made[i].type == KNOT_TYPE_DNAME ? ZONE_NODE_DNAME : 0;
	}
	flags |= knot_name_is_wildcard(params->owner) ? ZONE_NODE_WILDCARD : 0;
	flags |= params->self != 0 ? ZONE_NODE_HAS_SELF : 0;
	flags |= hint_flags(params);
	flags |= b->glue_count > 0 ? ZONE_NODE_HAS_GLUE : 0;
	return (uint16_t)flags;
}

static void add_record_sums(
		const zone_node_builder_t *b, const zone_node_params_t *params, size_t count, zone_node_sums_t *sums)
{
	for (size_t i = 0; i < count; i++) {
		sums->wire_size += params->owner.len + 10u + b->records[i]->rdata_len;
	}
	sums->record_count += count;
}

/* What a node consists of, in bytes. */
typedef struct {
	size_t set_count, table_len, links_len, glue_len, size;
	uint32_t links[ZONE_NODE_LINKS_MAX]; /* links_len bytes of them are in use */
	bool is_wide;
} layout_t;

/* Links and prefixes, in the order in which zone_node_links() says that they stand. */
static void layout_links(const zone_node_params_t *params, layout_t *l)
{
	const zone_nsec3_hint_t *hints[] = { &params->nsec3, &params->nsec3_wildcard };
	unsigned count = 0;
	if (params->self != 0) {
		l->links[count++] = params->self;
	}
	if (params->is_chain) {
		l->links[count++] = params->own_prefix;
		l->links[count++] = params->next_prefix;
	}
	for (unsigned i = 0; i < 2 && !params->is_chain; i++) {
		if (hints[i]->link != 0) {
			l->links[count++] = hints[i]->link;
		}
	}
	for (unsigned i = 0; i < 2 && !params->is_chain; i++) {
		if (hints[i]->link != 0 && !hints[i]->is_match) {
			l->links[count++] = hints[i]->prefix;
		}
	}
	l->links_len = count * sizeof(*l->links);
}

static layout_t layout_of(const zone_node_builder_t *b, const zone_node_params_t *params)
{
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	layout_t l = { .set_count = b->made.len / sizeof(*made) };
	l.glue_len = b->glue_count > 0 ? sizeof(b->glue_count) + b->glue.len : 0;
	size_t bodies = 0;
	for (size_t i = 0; i < l.set_count; i++) {
		bodies += made[i].shared != 0 ? sizeof(zone_ref_t) : made[i].len;
	}
	layout_links(params, &l);
	/* It may get other links later: zone_node_number(), zone_node_rehint(). */
	l.is_wide = l.set_count >= UINT8_MAX ||
		    l.set_count * ZONE_ENTRY_LEN + sizeof(l.links) + l.glue_len + bodies >= ZONE_ENTRY_SHARED;
	l.table_len = l.is_wide ? ZONE_WIDE_TABLE_HEAD + l.set_count * ZONE_WIDE_ENTRY_LEN
				: l.set_count * ZONE_ENTRY_LEN;
	l.size = offsetof(zone_node_t, owner) + params->owner.len + l.table_len + l.links_len + l.glue_len + bodies;
	return l;
}

/* The table, with places from its start: RRsets stand behind it and the glue. */
static uint8_t *write_table(const zone_node_builder_t *b, const layout_t *l, uint8_t *to)
{
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	uint16_t count = (uint16_t)l->set_count;
	size_t place = l->table_len + l->links_len + l->glue_len;
	if (l->is_wide) {
		to = zone_put_bytes(to, &count, sizeof(count));
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t wide = (uint32_t)place | (made[i].shared != 0 ? ZONE_WIDE_ENTRY_SHARED : 0);
		uint16_t narrow = (uint16_t)(place | (made[i].shared != 0 ? ZONE_ENTRY_SHARED : 0));
		to = zone_put_bytes(to, &made[i].type, sizeof(made[i].type));
		to = l->is_wide ? zone_put_bytes(to, &wide, sizeof(wide)) : zone_put_bytes(to, &narrow, sizeof(narrow));
		place += made[i].shared != 0 ? sizeof(zone_ref_t) : made[i].len;
	}
	return to;
}

/* Header, owner, table, links, glue and RRsets one after another: l->size bytes. */
static void write_node(const zone_node_builder_t *b, const zone_node_params_t *params, const layout_t *l, uint8_t *to)
{
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	const uint8_t *start = to;
	zone_node_t head = { .flags = (uint16_t)(flags_of(b, params) | (l->is_wide ? ZONE_NODE_WIDE : 0)),
		.owner_len = params->owner.len,
		.owner_label_count = params->owner.label_count,
		.rrset_count = l->is_wide ? 0 : (uint8_t)l->set_count };
	to = zone_put_bytes(to, &head, offsetof(zone_node_t, owner));
	to = zone_put_bytes(to, params->owner.wire, params->owner.len);
	to = write_table(b, l, to);
	to = zone_put_bytes(to, l->links, l->links_len);
	if (b->glue_count > 0) {
		to = zone_put_bytes(to, &b->glue_count, sizeof(b->glue_count));
		to = zone_put_bytes(to, b->glue.data, b->glue.len);
	}
	for (size_t i = 0; i < l->set_count; i++) {
		if (made[i].shared != 0) {
			to = zone_put_bytes(to, &made[i].shared, sizeof(made[i].shared));
		} else {
			to = zone_put_bytes(to, b->sets.data + made[i].off, made[i].len);
		}
	}
	assert((size_t)(to - start) == l->size);
	(void)start;
}

/* Share an RRset that was made, or not. */
static void share_set(
		zone_node_builder_t *b, zone_arena_t *arena, const zone_node_params_t *params, zone_made_set_t *made)
{
	const uint8_t *bytes = b->sets.data + made->off;
	if (made->shared != 0 || !zone_node_share_may(made, bytes)) {
		return;
	}
	if (params->on_share != NULL) {
		made->shared = params->on_share(zone_node_share_hash(bytes, made->len), bytes, made->len, params->ctx);
		return;
	}
	zone_node_share_set(&b->share, arena, made, bytes);
	if (made->shared != 0 && made->type == KNOT_TYPE_NS && b->has_key) {
		zone_node_share_remember(&b->share, made->shared, zone_node_share_hash(bytes, made->len));
	}
}

knot_err_t zone_node_build(zone_node_builder_t *b, zone_arena_t *arena, const zone_node_params_t *params,
		zone_ref_t *ret_ref, zone_node_sums_t *sums)
{
	b->made.len = b->sets.len = b->glue.len = b->glue_ids.len = 0;
	b->glue_count = 0;
	b->failed = b->has_key = false;
	size_t count = sort_records(b, params->records);
	KNOT_ASSERT_SLOW(b->failed || records_ascend(b, count));
	zone_node_sums_t added = *sums;
	add_record_sums(b, params, count, &added); /* before orphans are collected, which moves records */
	put_rrsets(b, params, count);
	zone_made_set_t *made = (zone_made_set_t *)b->made.data;
	size_t set_count = b->made.len / sizeof(*made);
	if (b->failed) {
		return KNOT_ENOMEM;
	}
	if (b->sets.len + b->glue.len > INT32_MAX / 2 || set_count > UINT16_MAX) {
		return KNOT_EZONESIZE;
	}
	for (size_t i = 0; i < set_count; i++) {
		share_set(b, arena, params, &made[i]);
		added.max_ttl = made[i].ttl > added.max_ttl ? made[i].ttl : added.max_ttl;
	}
	layout_t layout = layout_of(b, params);
	zone_ref_t ref = zone_arena_alloc(arena, layout.size);
	if (ref == 0) {
		return KNOT_ENOMEM;
	}
	write_node(b, params, &layout, zone_at(zone_arena_view(arena), ref));
	KNOT_ASSERT_SLOW(zone_node_is_sound(zone_arena_view(arena), ref));
	*sums = added;
	*ret_ref = ref;
	return KNOT_OK;
}

zone_ref_t zone_node_bare(zone_arena_t *arena, knot_name_t owner, uint16_t flags, zone_link_t self)
{
	size_t links_off = offsetof(zone_node_t, owner) + owner.len;
	zone_ref_t ref = zone_arena_alloc(arena, links_off + (self != 0 ? sizeof(self) : 0));
	if (ref == 0) {
		return 0;
	}
	zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	node->flags = (uint16_t)((flags & ZONE_NODE_FACTS) | (self != 0 ? ZONE_NODE_HAS_SELF : 0));
	node->owner_len = owner.len;
	node->owner_label_count = owner.label_count;
	memcpy(node->owner, owner.wire, owner.len);
	if (self != 0) {
		memcpy(node->owner + owner.len, &self, sizeof(self));
	}
	return ref;
}

const zone_seen_set_t *zone_node_shared(zone_node_builder_t *b, const zone_seen_set_t *after)
{
	return zone_node_share_next(&b->share, after);
}

/* Adjust the places in the table: everything behind it has moved by `by` bytes. */
static void move_places(zone_node_t *node, uint32_t by)
{
	bool is_wide = node->flags & ZONE_NODE_WIDE;
	uint8_t *entry = node->owner + node->owner_len + (is_wide ? ZONE_WIDE_TABLE_HEAD : 0);
	for (unsigned i = zone_node_rrset_count(node); i > 0;
			i--, entry += is_wide ? ZONE_WIDE_ENTRY_LEN : ZONE_ENTRY_LEN) {
		if (is_wide) {
			uint32_t place = zone_load_u32(entry + 2) + by;
			memcpy(entry + 2, &place, sizeof(place));
		} else {
			uint16_t place = (uint16_t)(zone_load_u16(entry + 2) + by);
			memcpy(entry + 2, &place, sizeof(place));
		}
	}
}

/* A copy of a node with other flags, links and prefixes. 0: out of memory. */
static zone_ref_t copy_with_links(
		zone_arena_t *arena, zone_ref_t ref, uint16_t flags, const uint32_t *links, size_t links_len)
{
	const zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	size_t size = zone_node_size(node), links_off = (size_t)(zone_node_links(node) - (const uint8_t *)node);
	size_t old_len = zone_node_links_len(node), behind_off = links_off + old_len;
	zone_ref_t copy_ref = zone_arena_alloc(arena, size - old_len + links_len);
	if (copy_ref == 0) {
		return 0;
	}
	zone_node_t *copy = zone_at(zone_arena_view(arena), copy_ref);
	uint8_t *to = zone_put_bytes((uint8_t *)copy, node, links_off);
	to = zone_put_bytes(to, links, links_len);
	(void)zone_put_bytes(to, (const uint8_t *)node + behind_off, size - behind_off);
	copy->flags = flags;
	move_places(copy, (uint32_t)(links_len - old_len)); /* modulo 2^32, or 2^16 */
	KNOT_ASSERT_SLOW(zone_node_is_sound(zone_arena_view(arena), copy_ref));
	return copy_ref;
}

zone_ref_t zone_node_number(zone_arena_t *arena, zone_ref_t ref, zone_link_t self)
{
	assert(self != 0);
	const zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	if (zone_node_self(node) == self) {
		return ref;
	}
	size_t had = node->flags & ZONE_NODE_HAS_SELF ? sizeof(self) : 0, others = zone_node_links_len(node) - had;
	uint32_t links[ZONE_NODE_LINKS_MAX] = { self };
	memcpy(links + 1, zone_node_links(node) + had, others);
	return copy_with_links(arena, ref, (uint16_t)(node->flags | ZONE_NODE_HAS_SELF), links, sizeof(self) + others);
}

zone_ref_t zone_node_rehint(zone_arena_t *arena, zone_ref_t ref, zone_nsec3_hint_t nsec3, zone_nsec3_hint_t wildcard)
{
	const zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	const zone_node_params_t params = { .self = zone_node_self(node), .nsec3 = nsec3, .nsec3_wildcard = wildcard };
	layout_t l = { 0 };
	layout_links(&params, &l);
	return copy_with_links(arena, ref, (uint16_t)((node->flags & ~HINT_FLAGS) | hint_flags(&params)), l.links,
			l.links_len);
}
