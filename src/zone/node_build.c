/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node is made in two steps: its RRsets are compiled one after the other into scratch buffers (blocks, fix-ups, extras), then
 * header, owner, RRset table, extras and blocks are put behind each other in one arena allocation whose size is known by then.
 *
 * Compression. A name in RDATA of a type that may be compressed ends, if possible, with a pointer to a suffix of the owner or
 * to a name spelled earlier in the body; the longest match wins. The dictionary of names in the body is bounded: for
 * an RRset of thousands of names the search would be quadratic and what a pointer saves is small by then.
 */
#include "src/zone/node_build.h"

#include <assert.h>
#include <stdlib.h>

enum {
	PTR = 0xC000,
	DICT_MAX = 48,               /* label sequences of the body that later names may point to */
	RR_FIXED = 12,               /* owner pointer, type, class, TTL, RDLENGTH */
};

typedef struct {
	uint8_t *data;
	size_t len, max;
} buffer_t;

typedef struct {
	const uint8_t *wire;         /* suffix as it stands in a record's RDATA */
	uint8_t len;
	uint16_t off;                /* of the body */
} dict_entry_t;

struct zone_node_builder {
	const zone_record_t **records;
	size_t record_max;
	buffer_t sets;               /* zone_rrset_t[]; offsets are into `blocks` until the node is put together */
	buffer_t extras;             /* zone_extra_data_t[]; `off` likewise */
	const void **extra_ids;      /* beside extras: what a copied block was copied from */
	size_t extra_id_max;
	buffer_t blocks;
	buffer_t fixups;             /* uint16_t[] of the block being made */
	buffer_t node;               /* the whole node */
	bool failed;                 /* out of memory, sticky until the next node */
};

zone_node_builder_t *zone_node_builder_new(void)
{
	return calloc(1, sizeof(zone_node_builder_t));
}

void zone_node_builder_free(zone_node_builder_t *builder)
{
	if (builder != NULL) {
		free(builder->records);
		free(builder->sets.data);
		free(builder->extras.data);
		free(builder->extra_ids);
		free(builder->blocks.data);
		free(builder->fixups.data);
		free(builder->node.data);
		free(builder);
	}
}

/* Room for `len` more bytes, or NULL and the builder has failed. */
static uint8_t *room(zone_node_builder_t *b, buffer_t *buffer, size_t len)
{
	if (len > buffer->max - buffer->len) {
		size_t max = 2 * (buffer->max + len) + 512;
		uint8_t *data = realloc(buffer->data, max);
		if (data == NULL) {
			b->failed = true;
			return NULL;
		}
		buffer->data = data;
		buffer->max = max;
	}
	uint8_t *p = buffer->data + buffer->len;
	buffer->len += len;
	return p;
}

static void put(zone_node_builder_t *b, buffer_t *buffer, const void *bytes, size_t len)
{
	uint8_t *p = room(b, buffer, len);
	if (p != NULL && len > 0) {
		memcpy(p, bytes, len);
	}
}

static void put_u16(zone_node_builder_t *b, uint16_t v)
{
	uint8_t bytes[2];
	store_be16(bytes, v);
	put(b, &b->blocks, bytes, 2);
}

static void put_u32(zone_node_builder_t *b, uint32_t v)
{
	uint8_t bytes[4];
	store_be32(bytes, v);
	put(b, &b->blocks, bytes, 4);
}

static void put_fixup(zone_node_builder_t *b, size_t block_off)
{
	uint16_t pos = (uint16_t)(b->blocks.len - block_off);
	put(b, &b->fixups, &pos, 2);
}

static void put_pointer(zone_node_builder_t *b, size_t block_off, uint16_t placeholder)
{
	put_fixup(b, block_off);
	put_u16(b, placeholder);
}

/* ---- Order ---- */

static uint16_t covered_type(const zone_record_t *record)
{
	return record->rdata_len >= 2 ? load_be16(record->rdata) : 0;
}

static knot_bytes_t rdata_of(const zone_record_t *record)
{
	return (knot_bytes_t){ record->rdata, record->rdata_len };
}

/* Signatures sort as what they cover, behind it. */
static int cmp_records(const void *va, const void *vb)
{
	const zone_record_t *a = *(const zone_record_t *const *)va, *b = *(const zone_record_t *const *)vb;
	bool a_sig = a->type == KNOT_TYPE_RRSIG, b_sig = b->type == KNOT_TYPE_RRSIG;
	uint16_t a_type = a_sig ? covered_type(a) : a->type, b_type = b_sig ? covered_type(b) : b->type;
	if (a_type != b_type) {
		return a_type < b_type ? -1 : 1;
	}
	return a_sig != b_sig ? a_sig - b_sig : knot_rdata_cmp(rdata_of(a), rdata_of(b));
}

/* The records sorted, without duplicates; a record's TTL in the result is looked up by ttl_of(). */
static size_t sort_records(zone_node_builder_t *b, const zone_record_t *list)
{
	size_t count = 0;
	bool sorted = true;
	for (const zone_record_t *r = list; r != NULL; r = r->next) {
		if (count == b->record_max) {
			size_t max = 2 * b->record_max + 64;
			const zone_record_t **grown = realloc(b->records, max * sizeof(*grown));
			if (grown == NULL) {
				b->failed = true;
				return 0;
			}
			b->records = grown;
			b->record_max = max;
		}
		b->records[count++] = r;
		sorted = sorted && (count < 2 || cmp_records(&b->records[count - 2], &b->records[count - 1]) < 0);
	}
	if (sorted) {
		return count;
	}
	if (count <= 16) {
		for (size_t i = 1; i < count; i++) {
			const zone_record_t *r = b->records[i];
			size_t j = i;
			for (; j > 0 && cmp_records(&b->records[j - 1], &r) > 0; j--) {
				b->records[j] = b->records[j - 1];
			}
			b->records[j] = r;
		}
	} else {
		qsort(b->records, count, sizeof(*b->records), cmp_records);
	}
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || cmp_records(&b->records[kept - 1], &b->records[i]) != 0) {
			b->records[kept++] = b->records[i];
		}
	}
	return kept;
}

/* As Knot: the last record of the source sets the TTL of its RRset. */
static uint32_t ttl_of(const zone_record_t *list, uint16_t type)
{
	uint32_t ttl = 0;
	for (const zone_record_t *r = list; r != NULL; r = r->next) {
		ttl = r->type == type ? r->ttl : ttl;
	}
	return ttl;
}

/* ---- Blocks ---- */

typedef struct {
	knot_name_t owner;
	size_t off;                  /* of the block in `blocks` */
	dict_entry_t dict[DICT_MAX];
	unsigned dict_count;
} body_t;

/* The pointer for the suffix `wire[0..len)`, or 0. */
static uint16_t find_suffix(const body_t *body, const uint8_t *wire, size_t len)
{
	knot_name_t owner = body->owner;
	if (len <= owner.len && memcmp(owner.wire + owner.len - len, wire, len) == 0) {
		size_t r = owner.len - len;
		size_t at = 0;
		while (at < r) {
			at += 1u + owner.wire[at];
		}
		if (at == r && !(r == 0 && knot_name_is_wildcard(owner))) {
			return (uint16_t)(PTR | r);
		}
	}
	for (unsigned i = 0; i < body->dict_count; i++) {
		if (body->dict[i].len == len && memcmp(body->dict[i].wire, wire, len) == 0) {
			return (uint16_t)(PTR | ZONE_PTR_BODY | body->dict[i].off);
		}
	}
	return 0;
}

static void put_compressed(zone_node_builder_t *b, body_t *body, const uint8_t *wire, size_t len)
{
	size_t at = 0;
	while (wire[at] != 0) {
		uint16_t pointer = find_suffix(body, wire + at, len - at);
		if (pointer != 0) {
			put_pointer(b, body->off, pointer);
			return;
		}
		size_t off = b->blocks.len - body->off;
		if (body->dict_count < DICT_MAX && off <= ZONE_PTR_BODY_MAX) {
			body->dict[body->dict_count++] = (dict_entry_t){ wire + at, (uint8_t)(len - at), (uint16_t)off };
		}
		put(b, &b->blocks, wire + at, 1u + wire[at]);
		at += 1u + wire[at];
	}
	put(b, &b->blocks, wire + at, 1);
}

static void put_rr_head(zone_node_builder_t *b, uint16_t type, uint32_t ttl)
{
	put_u16(b, PTR);
	put_u16(b, type);
	put_u16(b, KNOT_CLASS_IN);
	put_u32(b, ttl);
}

/* One RR of a body; returns where its first name that wants additional data begins, or -1. */
static long put_rr(zone_node_builder_t *b, body_t *body, const zone_record_t *record, uint32_t ttl, bool packed)
{
	put_rr_head(b, record->type, ttl);
	size_t len_at = b->blocks.len;
	put_u16(b, record->rdata_len);

	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(record->type, rdata_of(record), names);
	size_t from = 0;
	long target_off = -1;
	for (unsigned i = 0; i < count; i++) {
		put(b, &b->blocks, record->rdata + from, names[i].off - from);
		if (names[i].flags & KNOT_RDATA_ADDITIONAL) {
			target_off = (long)(b->blocks.len - body->off);
		}
		const uint8_t *wire = record->rdata + names[i].off;
		if (packed && (names[i].flags & KNOT_RDATA_COMPRESS)) {
			put_compressed(b, body, wire, names[i].len);
		} else {
			put(b, &b->blocks, wire, names[i].len);
		}
		from = (size_t)names[i].off + names[i].len;
	}
	put(b, &b->blocks, record->rdata + from, record->rdata_len - from);
	if (!b->failed) {
		store_be16(b->blocks.data + len_at, (uint16_t)(b->blocks.len - len_at - 2));
	}
	return target_off;
}

/* Append the positions of the placeholders in the body just made. */
static void flush_pointers(zone_node_builder_t *b)
{
	put(b, &b->blocks, b->fixups.data, b->fixups.len);
	b->fixups.len = 0;
}

/* ---- Additional data ---- */

enum { TARGETS_MAX = 1024 };     /* names of an RRset that additional data is looked for: what fits a message, and then some */

static bool has_extra(const zone_node_builder_t *b, size_t first, zone_link_t link, const void *id)
{
	const zone_extra_data_t *extras = (const zone_extra_data_t *)b->extras.data;
	for (size_t i = first; i < b->extras.len / sizeof(*extras); i++) {
		if (link != 0 ? extras[i].link == link : b->extra_ids[i] == id) {
			return true;
		}
	}
	return false;
}

static void add_extra(zone_node_builder_t *b, zone_extra_data_t extra, const void *id)
{
	size_t count = b->extras.len / sizeof(extra);
	if (count == b->extra_id_max) {
		size_t max = 2 * count + 16;
		const void **ids = realloc(b->extra_ids, max * sizeof(*ids));
		if (ids == NULL) {
			b->failed = true;
			return;
		}
		b->extra_ids = ids;
		b->extra_id_max = max;
	}
	b->extra_ids[count] = id;
	put(b, &b->extras, &extra, sizeof(extra));
}

typedef struct {
	uint16_t off;                /* target name in the body */
	zone_target_t target;
} wanted_t;

/* The glue records of one type as a copied block: sorted, without duplicates. */
static void copy_glue(zone_node_builder_t *b, const wanted_t *wanted, uint16_t type)
{
	enum { GLUE_MAX = 256 };     /* addresses of one name server and type that are sent: more fit no referral */
	const zone_record_t *addresses[GLUE_MAX];
	size_t count = 0;
	for (const zone_record_t *r = wanted->target.glue; r != NULL; r = r->next) {
		size_t at = count;
		if (r->type != type || count == GLUE_MAX) {
			continue;
		}
		while (at > 0 && cmp_records(&addresses[at - 1], &r) > 0) {
			at--;
		}
		if (at > 0 && cmp_records(&addresses[at - 1], &r) == 0) {
			continue;
		}
		memmove(addresses + at + 1, addresses + at, (count - at) * sizeof(*addresses));
		addresses[at] = r;
		count++;
	}
	if (count == 0) {
		return;
	}
	uint32_t ttl = ttl_of(wanted->target.glue, type);
	size_t off = b->blocks.len;
	for (size_t i = 0; i < count; i++) {
		put_rr_head(b, type, ttl);
		put_u16(b, addresses[i]->rdata_len);
		put(b, &b->blocks, addresses[i]->rdata, addresses[i]->rdata_len);
	}
	size_t len = b->blocks.len - off;
	zone_extra_data_t extra = { .type = type, .name_off = wanted->off, .rr_count = (uint16_t)count, .len = (uint16_t)len,
	                            .off = (uint32_t)off };
	add_extra(b, extra, wanted->target.glue_id);
}

static void align_blocks(zone_node_builder_t *b)
{
	if (b->blocks.len & 1) {
		put(b, &b->blocks, "", 1);
	}
}

static void add_target(zone_node_builder_t *b, size_t first_extra, const wanted_t *wanted)
{
	const zone_target_t *target = &wanted->target;
	if (target->glue != NULL) {
		if (!has_extra(b, first_extra, 0, target->glue_id)) {
			align_blocks(b);
			copy_glue(b, wanted, KNOT_TYPE_A);
			align_blocks(b);
			copy_glue(b, wanted, KNOT_TYPE_AAAA);
		}
	} else if (target->link != 0 && !has_extra(b, first_extra, target->link, NULL)) {
		add_extra(b, (zone_extra_data_t){ .name_off = wanted->off, .link = target->link }, target);
	}
}

/* Additional data of the body just made: RRs [first..first + count) whose names begin at offs[]. */
static void put_extras(zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count,
                       const long *offs, zone_rrset_t *set)
{
	size_t first_extra = b->extras.len / sizeof(zone_extra_data_t);
	wanted_t links[TARGETS_MAX];
	size_t link_count = 0;
	set->extra_off = (uint32_t)first_extra;
	for (size_t i = 0; i < count && i < TARGETS_MAX && !b->failed; i++) {
		const zone_record_t *record = b->records[first + i];
		knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
		unsigned name_count = knot_rdata_names(record->type, rdata_of(record), names);
		wanted_t wanted = { .off = (uint16_t)offs[i] };
		if (offs[i] < 0 || offs[i] > UINT16_MAX) {
			continue;
		}
		uint8_t lower[KNOT_NAME_MAX];
		knot_name_t target = knot_name_of(record->rdata + names[name_count - 1].off);
		knot_name_lower(target, lower);
		target.wire = lower;
		wanted.target = params->on_target(target, record->type, params->ctx);
		if (wanted.target.glue == NULL) {
			links[link_count++] = wanted;
		} else {
			add_target(b, first_extra, &wanted);
		}
	}
	/* What sets TC if it doesn't fit comes first, then what may be left out (RFC 9471 2). */
	for (size_t i = 0; i < link_count; i++) {
		add_target(b, first_extra, &links[i]);
	}
	set->extra_count = (uint16_t)(b->extras.len / sizeof(zone_extra_data_t) - first_extra);
}

/* ---- RRsets ---- */

static uint16_t saturate(size_t count)
{
	return (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
}

/* The blocks of an RRset; false: with fix-ups they exceed what 16 bits can address. */
static bool put_blocks(zone_node_builder_t *b, body_t *body, zone_rrset_t *set, size_t first, size_t count, size_t sig_count,
                       bool packed, long *ret_offs, size_t offs_max)
{
	b->fixups.len = 0;
	for (size_t i = 0; i < count; i++) {
		long off = put_rr(b, body, b->records[first + i], set->ttl, packed);
		if (i < offs_max) {
			ret_offs[i] = off;
		}
		if (packed && b->blocks.len - body->off > UINT16_MAX) {
			return false;
		}
	}
	set->body_len = (uint32_t)(b->blocks.len - body->off);
	set->pointer_count = (uint16_t)(b->fixups.len / 2);
	body_t sigs = { .owner = body->owner, .off = b->blocks.len };
	for (size_t i = 0; i < sig_count; i++) {
		const zone_record_t *sig = b->records[first + count + i];
		put_rr(b, &sigs, sig, sig->ttl, packed);
		if (packed && b->blocks.len - sigs.off > UINT16_MAX) {
			return false;
		}
	}
	set->sigs_len = (uint32_t)(b->blocks.len - sigs.off);
	return true;
}

/* RRs [first..first + count), their signatures behind them. */
static void put_rrset(zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count, size_t sig_count)
{
	long offs[TARGETS_MAX];
	uint16_t type = b->records[first]->type;
	zone_rrset_t set = { .type = type, .rr_count = saturate(count), .sig_count = saturate(sig_count),
	                     .ttl = ttl_of(params->records, type) };
	align_blocks(b);
	body_t body = { .owner = params->owner, .off = b->blocks.len };
	set.body_off = (uint32_t)body.off;
	if (!put_blocks(b, &body, &set, first, count, sig_count, true, offs, TARGETS_MAX)) {
		b->blocks.len = body.off;
		set.flags |= ZONE_RRSET_HUGE;
		put_blocks(b, &body, &set, first, count, sig_count, false, offs, TARGETS_MAX);
	}
	set.pointer_off = (uint32_t)b->blocks.len;
	flush_pointers(b);
	if (params->on_target != NULL && !b->failed && !(set.flags & ZONE_RRSET_HUGE)) {
		put_extras(b, params, first, count, offs, &set);
	}
	put(b, &b->sets, &set, sizeof(set));
}

/* Signatures that cover nothing at this name: an RRset of their own. They come in runs by covered type, so collect them all. */
static void put_orphans(zone_node_builder_t *b, const zone_node_params_t *params, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0, j; i < count; i = j) {
		uint16_t type = b->records[i]->type == KNOT_TYPE_RRSIG ? covered_type(b->records[i]) : b->records[i]->type;
		bool is_orphan = b->records[i]->type == KNOT_TYPE_RRSIG;
		for (j = i; j < count; j++) {
			const zone_record_t *r = b->records[j];
			if ((r->type == KNOT_TYPE_RRSIG ? covered_type(r) : r->type) != type) {
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
	return ((const zone_rrset_t *)va)->type - ((const zone_rrset_t *)vb)->type;
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
		       covered_type(b->records[i + rrs + sigs]) == type) {
			sigs++;
		}
		put_rrset(b, params, i, rrs, sigs);
		i += rrs + sigs;
	}
	if (has_orphans && !b->failed) {
		put_orphans(b, params, count);
		qsort(b->sets.data, b->sets.len / sizeof(zone_rrset_t), sizeof(zone_rrset_t), cmp_sets);
	}
}

/* ---- The node ---- */

static uint16_t flags_of(const zone_node_builder_t *b, const zone_node_params_t *params)
{
	uint16_t flags = params->flags;
	const zone_rrset_t *sets = (const zone_rrset_t *)b->sets.data;
	for (size_t i = 0; i < b->sets.len / sizeof(*sets); i++) {
		flags |= sets[i].type == KNOT_TYPE_CNAME ? ZONE_NODE_CNAME : 0;
		flags |= sets[i].type == KNOT_TYPE_DNAME ? ZONE_NODE_DNAME : 0;
	}
	return flags | (knot_name_is_wildcard(params->owner) ? ZONE_NODE_WILDCARD : 0);
}

static void add_record_sums(const zone_node_builder_t *b, const zone_node_params_t *params, size_t count,
                            zone_node_sums_t *sums)
{
	for (size_t i = 0; i < count; i++) {
		sums->wire_size += params->owner.len + 10u + b->records[i]->rdata_len;
	}
	sums->record_count += count;
}

/* Header, owner, table, extras and blocks behind each other, offsets from the node's start. NULL: out of memory. */
static zone_node_t *assemble(zone_node_builder_t *b, const zone_node_params_t *params, size_t size)
{
	size_t head = (offsetof(zone_node_t, owner) + params->owner.len + 3) & ~(size_t)3;
	uint32_t extras_off = (uint32_t)(head + b->sets.len);
	uint32_t blocks_off = (uint32_t)(extras_off + b->extras.len);
	size_t set_count = b->sets.len / sizeof(zone_rrset_t);
	uint8_t *base = room(b, &b->node, size);
	if (base == NULL) {
		return NULL;
	}
	memset(base, 0, head);
	zone_node_t *node = (zone_node_t *)base;
	node->flags = flags_of(b, params);
	node->rrset_count = (uint16_t)set_count;
	node->self = params->self;
	node->nsec3 = params->nsec3;
	node->nsec3_wildcard = params->nsec3_wildcard;
	node->size = (uint32_t)size;
	node->nsec3_is_match = params->nsec3_is_match;
	node->nsec3_wildcard_is_match = params->nsec3_wildcard_is_match;
	node->owner_len = params->owner.len;
	node->owner_label_count = params->owner.label_count;
	memcpy(node->owner, params->owner.wire, params->owner.len);

	zone_rrset_t *sets = (zone_rrset_t *)b->sets.data;
	for (size_t i = 0; i < set_count; i++) {
		uint32_t own_off = (uint32_t)(head + i * sizeof(zone_rrset_t));
		sets[i].body_off += blocks_off - own_off;
		sets[i].pointer_off += blocks_off - own_off;
		sets[i].extra_off = extras_off + sets[i].extra_off * (uint32_t)sizeof(zone_extra_data_t) - own_off;
	}
	zone_extra_data_t *extras = (zone_extra_data_t *)b->extras.data;
	for (size_t i = 0; i < b->extras.len / sizeof(*extras); i++) {
		extras[i].off += extras[i].type != 0 ? blocks_off : 0;
	}
	const buffer_t *parts[] = { &b->sets, &b->extras, &b->blocks };
	uint8_t *to = base + head;
	for (size_t i = 0; i < KNOT_LEN(parts); i++) {
		if (parts[i]->len > 0) {
			memcpy(to, parts[i]->data, parts[i]->len);
			to += parts[i]->len;
		}
	}
	return node;
}

knot_err_t zone_node_build(zone_node_builder_t *b, zone_arena_t *arena, const zone_node_params_t *params, zone_ref_t *ret_ref,
                           zone_node_sums_t *sums)
{
	b->sets.len = b->extras.len = b->blocks.len = b->fixups.len = b->node.len = 0;
	b->failed = false;
	size_t count = sort_records(b, params->records);
	zone_node_sums_t added = *sums;
	add_record_sums(b, params, count, &added);      /* before orphans are collected, which moves records */
	put_rrsets(b, params, count);
	size_t head = (offsetof(zone_node_t, owner) + params->owner.len + 3) & ~(size_t)3;
	size_t size = head + b->sets.len + b->extras.len + b->blocks.len;
	if (size > UINT32_MAX || b->sets.len / sizeof(zone_rrset_t) > UINT16_MAX) {
		return KNOT_EZONESIZE;
	}
	const zone_node_t *node = !b->failed ? assemble(b, params, size) : NULL;
	if (node == NULL) {
		return KNOT_ENOMEM;
	}
	const zone_node_t *old = params->old_ref != 0 ? zone_at(zone_arena_view(arena), params->old_ref) : NULL;
	zone_ref_t ref = params->old_ref;
	if (old == NULL || old->size != size || memcmp(old, node, size) != 0) {
		ref = zone_arena_alloc(arena, size);
		if (ref == 0) {
			return KNOT_ENOMEM;
		}
		memcpy(zone_at(zone_arena_view(arena), ref), node, size);
	}
	const zone_rrset_t *sets = (const zone_rrset_t *)b->sets.data;
	for (size_t i = 0; i < b->sets.len / sizeof(*sets); i++) {
		added.max_ttl = sets[i].ttl > added.max_ttl ? sets[i].ttl : added.max_ttl;
	}
	*sums = added;
	*ret_ref = ref;
	return KNOT_OK;
}

zone_ref_t zone_node_number(zone_arena_t *arena, zone_ref_t ref, zone_link_t self)
{
	zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	if (node->self == self) {
		return ref;
	}
	if (!zone_arena_is_mine(arena, ref)) {
		uint32_t size = node->size;
		zone_ref_t copy = zone_arena_alloc(arena, size);
		if (copy == 0) {
			return 0;
		}
		memcpy(zone_at(zone_arena_view(arena), copy), zone_at(zone_arena_view(arena), ref), size);
		ref = copy;
		node = zone_at(zone_arena_view(arena), ref);
	}
	node->self = self;
	return ref;
}
