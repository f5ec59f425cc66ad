/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node is made in two steps: its RRsets are compiled one after the other into scratch buffers, then header, owner,
 * table, glue and RRsets are written one after another to one arena allocation, whose size is known by then.
 *
 * RRsets that many nodes have are stored once: node_share.h.
 *
 * Compression. A name in RDATA of a type that may be compressed ends, if possible, with a pointer to a suffix of the
 * owner or to a name spelled earlier in the body; the longest match wins. The dictionary of names in the body is
 * bounded: for an RRset of thousands of names the search would be quadratic and what a pointer saves is small by then.
 */
#include "src/zone/node_build.h"

#include "src/zone/node_share.h"

#include <assert.h>
#include <stdlib.h>

enum {
	PTR = 0xC000,
	DICT_MAX = 48, /* label sequences of the body that later names may point to */
	RR_FIXED = 12, /* owner pointer, type, class, TTL, RDLENGTH */
};

typedef struct {
	uint8_t *data;
	size_t len, max;
} buffer_t;

typedef struct {
	const uint8_t *wire; /* suffix as it stands in a record's RDATA */
	uint8_t len;
	uint16_t off; /* of the body */
} dict_entry_t;

struct zone_node_builder {
	const zone_record_t **records;
	size_t record_max;
	buffer_t made; /* zone_made_set_t[] */
	buffer_t sets; /* the RRsets as they are stored */
	buffer_t glue; /* copied addresses as they are stored, without their number */
	uint16_t glue_count;
	buffer_t glue_ids; /* const void *[]: what they were copied from */
	buffer_t links;    /* of the RRset being made, as they are stored */
	buffer_t blocks;   /* its body and signatures */
	buffer_t pointers; /* uint16_t[] */
	buffer_t node;     /* a node that may be the same as the one before */
	zone_node_share_t share;
	bool is_portable; /* the RRset being made would be the same at each name of the zone */
	bool has_key;     /* the name servers of the node being made can be remembered by share.key */
	bool failed;      /* out of memory, sticky until the next node */
};

zone_node_builder_t *zone_node_builder_new(void)
{
	return calloc(1, sizeof(zone_node_builder_t));
}

void zone_node_builder_free(zone_node_builder_t *builder)
{
	if (builder != NULL) {
		free(builder->records);
		buffer_t *buffers[] = { &builder->made, &builder->sets, &builder->glue, &builder->glue_ids,
			&builder->links, &builder->blocks, &builder->pointers, &builder->node };
		for (size_t i = 0; i < KNOT_LEN(buffers); i++) {
			free(buffers[i]->data);
		}
		zone_node_share_clear(&builder->share);
		free(builder);
	}
}

static __attribute__((noinline)) bool node_grow(zone_node_builder_t *b, buffer_t *buffer, size_t len)
{
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

/* Room for `len` more bytes, or NULL and the builder has failed. */
static inline uint8_t *node_room(zone_node_builder_t *b, buffer_t *buffer, size_t len)
{
	if (len > buffer->max - buffer->len && !node_grow(b, buffer, len)) {
		return NULL;
	}
	uint8_t *p = buffer->data + buffer->len;
	buffer->len += len;
	return p;
}

/* Inline, because most lengths are compile-time constants: a few bytes are then copied without a call. */
static inline __attribute__((always_inline)) void node_put(
		zone_node_builder_t *b, buffer_t *buffer, const void *bytes, size_t len)
{
	uint8_t *p = node_room(b, buffer, len);
	if (p != NULL && len > 0) {
		memcpy(p, bytes, len);
	}
}

/* Give back what node_room() reserved and was not used. */
static inline void cut_to(buffer_t *buffer, const uint8_t *end)
{
	buffer->len = (size_t)(end - buffer->data);
}

static inline uint8_t *write_bytes(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return to + len;
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
static inline int order_of(const zone_record_t *a, const zone_record_t *b)
{
	bool a_sig = a->type == KNOT_TYPE_RRSIG, b_sig = b->type == KNOT_TYPE_RRSIG;
	uint16_t a_type = a_sig ? covered_type(a) : a->type, b_type = b_sig ? covered_type(b) : b->type;
	if (a_type != b_type) {
		return a_type < b_type ? -1 : 1;
	}
	return a_sig != b_sig ? a_sig - b_sig : knot_rdata_cmp(rdata_of(a), rdata_of(b));
}

static int cmp_records(const void *va, const void *vb)
{
	return order_of(*(const zone_record_t *const *)va, *(const zone_record_t *const *)vb);
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
		if (kept == 0 || order_of(b->records[kept - 1], b->records[i]) != 0) {
			b->records[kept++] = b->records[i];
		}
	}
	return kept;
}

/*
 * The records sorted, without duplicates; a record's TTL in the result is looked up by ttl_of(). Usually they are few
 * or sorted, so each is inserted at its place, until one would have to move far.
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
		while (is_sorted && at > 0 && (order = order_of(b->records[at - 1], r)) > 0) {
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
	dict_entry_t dict[DICT_MAX];
	unsigned dict_count;
	bool is_last; /* no later record could point to names of this one */
} body_t;

/* The pointer for the suffix `wire[0..len)`, or 0. */
static uint16_t find_suffix(const body_t *body, const uint8_t *wire, size_t len)
{
	knot_name_t owner = body->owner;
	const uint8_t last = wire[len - 2]; /* the byte before the root label: usually differs */
	if (len <= owner.len && owner.wire[owner.len - 2] == last &&
			memcmp(owner.wire + owner.len - len, wire, len) == 0) {
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
		if (body->dict[i].len == len && body->dict[i].wire[1] == wire[1] &&
				memcmp(body->dict[i].wire, wire, len) == 0) {
			return (uint16_t)(PTR | ZONE_PTR_BODY | body->dict[i].off);
		}
	}
	return 0;
}

/* Write a name that may be compressed: never more than `len` bytes. is_looked_up: later names may point to it. Returns
 * the end of the written bytes. */
static uint8_t *write_compressed(
		zone_node_builder_t *b, body_t *body, uint8_t *to, const uint8_t *wire, size_t len, bool is_looked_up)
{
	const size_t start = (size_t)(to - b->blocks.data);
	memcpy(to, wire, len);
	for (size_t at = 0; wire[at] != 0; at += 1u + wire[at]) {
		size_t off = start + at;
		uint16_t pointer = find_suffix(body, wire + at, len - at);
		if (pointer != 0) {
			b->is_portable = b->is_portable && (pointer & ZONE_PTR_BODY);
			uint16_t pos = (uint16_t)off;
			node_put(b, &b->pointers, &pos, sizeof(pos));
			store_be16(to + at, pointer);
			return to + at + 2;
		}
		if (is_looked_up && body->dict_count < DICT_MAX && off <= ZONE_PTR_BODY_MAX) {
			body->dict[body->dict_count++] =
					(dict_entry_t){ wire + at, (uint8_t)(len - at), (uint16_t)off };
		}
	}
	return to + len;
}

static inline uint8_t *write_rr_head(uint8_t *to, uint16_t type, uint32_t ttl, size_t rdata_len)
{
	store_be16(to, PTR);
	store_be16(to + ZONE_RR_TYPE_OFF, type);
	store_be16(to + ZONE_RR_TYPE_OFF + 2, KNOT_CLASS_IN);
	store_be32(to + ZONE_RR_TTL_OFF, ttl);
	store_be16(to + RR_FIXED - 2, (uint16_t)rdata_len);
	return to + RR_FIXED;
}

/* Where a name that wants additional data begins. */
typedef struct {
	uint32_t body_off;
	uint16_t rdata_off;
	bool is_wanted, is_lower; /* is_lower: it is spelt in lower case */
} target_place_t;

/* Append one RR to the body. *ret_place: place of its last name that wants additional data. */
static void put_rr(zone_node_builder_t *b, body_t *body, const zone_record_t *record, uint32_t ttl, bool packed,
		target_place_t *ret_place)
{
	ret_place->is_wanted = false;
	size_t start = b->blocks.len;
	uint8_t *to = node_room(b, &b->blocks, RR_FIXED + (size_t)record->rdata_len);
	if (to == NULL) {
		return;
	}
	to = write_rr_head(to, record->type, ttl, record->rdata_len);
	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(record->type, rdata_of(record), names);
	size_t from = 0;
	for (unsigned i = 0; i < count; i++) {
		to = write_bytes(to, record->rdata + from, names[i].off - from);
		if (names[i].flags & KNOT_RDATA_ADDITIONAL) {
			*ret_place = (target_place_t){ (uint32_t)(to - b->blocks.data), names[i].off, true,
				names[i].flags & KNOT_RDATA_LOWER };
		}
		const uint8_t *wire = record->rdata + names[i].off;
		if (packed && (names[i].flags & KNOT_RDATA_COMPRESS)) {
			to = write_compressed(b, body, to, wire, names[i].len, !body->is_last || i + 1 < count);
		} else {
			to = write_bytes(to, wire, names[i].len);
		}
		from = (size_t)names[i].off + names[i].len;
	}
	to = write_bytes(to, record->rdata + from, record->rdata_len - from);
	cut_to(&b->blocks, to);
	store_be16(b->blocks.data + start + RR_FIXED - 2, (uint16_t)(b->blocks.len - start - RR_FIXED));
}

/* ---- Additional data ---- */

enum { TARGETS_MAX = 1024 }; /* names of an RRset that get additional data: more than fit a message */

static bool has_link(const zone_node_builder_t *b, zone_link_t link)
{
	for (size_t at = 0; at < b->links.len; at += ZONE_LINK_ENTRY_LEN) {
		if (zone_load_u32(b->links.data + at + 2) == link) {
			return true;
		}
	}
	return false;
}

static bool has_glue(const zone_node_builder_t *b, const void *id)
{
	const void *const *ids = (const void *const *)b->glue_ids.data;
	for (size_t i = 0; i < b->glue_count; i++) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}

typedef struct {
	uint16_t off; /* target name in the body */
	zone_target_t target;
} wanted_t;

enum { GLUE_MAX = 255 }; /* addresses of one type in an entry; a server with more has several entries */

/*
 * The next glue records of one type, behind *after (NULL: the first): sorted, without duplicates. Returns how many, at
 * most GLUE_MAX, and the last of them in *after.
 */
static uint8_t copy_glue(zone_node_builder_t *b, const wanted_t *wanted, uint16_t type, const zone_record_t **after)
{
	const zone_record_t *addresses[GLUE_MAX];
	size_t count = 0;
	for (const zone_record_t *r = wanted->target.glue; r != NULL; r = r->next) {
		size_t at = count;
		if (r->type != type || (*after != NULL && order_of(r, *after) <= 0)) {
			continue;
		}
		while (at > 0 && order_of(addresses[at - 1], r) > 0) {
			at--;
		}
		if (at == GLUE_MAX || (at > 0 && order_of(addresses[at - 1], r) == 0)) {
			continue;
		}
		count -= count == GLUE_MAX; /* the last one is for the next entry */
		memmove(addresses + at + 1, addresses + at, (count - at) * sizeof(*addresses));
		addresses[at] = r;
		count++;
	}
	uint32_t ttl = count > 0 ? ttl_of(wanted->target.glue, type) : 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t *to = node_room(b, &b->glue, RR_FIXED + (size_t)addresses[i]->rdata_len);
		if (to != NULL) {
			to = write_rr_head(to, type, ttl, addresses[i]->rdata_len);
			memcpy(to, addresses[i]->rdata, addresses[i]->rdata_len);
		}
		*after = addresses[i];
	}
	return (uint8_t)count;
}

/* Glue entries of one server: several if it has more addresses than an entry holds, until no message has room for more.
 */
static void add_glue(zone_node_builder_t *b, const wanted_t *wanted)
{
	const zone_record_t *last[2] = { NULL, NULL };
	uint8_t counts[2];
	do {
		size_t head = b->glue.len;
		node_put(b, &b->glue, &wanted->off, sizeof(wanted->off));
		node_put(b, &b->glue, "\0", 2);
		counts[0] = copy_glue(b, wanted, KNOT_TYPE_A, &last[0]);
		counts[1] = counts[0] < GLUE_MAX ? copy_glue(b, wanted, KNOT_TYPE_AAAA, &last[1]) : 0;
		if (counts[0] + counts[1] == 0) {
			b->glue.len = head;
			return;
		}
		node_put(b, &b->glue_ids, &wanted->target.glue_id, sizeof(wanted->target.glue_id));
		if (!b->failed) {
			memcpy(b->glue.data + head + 2, counts, sizeof(counts));
			b->glue_count++;
		}
	} while ((counts[0] == GLUE_MAX || counts[1] == GLUE_MAX) && b->glue.len <= UINT16_MAX && !b->failed);
}

static void add_link(zone_node_builder_t *b, const wanted_t *wanted)
{
	node_put(b, &b->links, &wanted->off, sizeof(wanted->off));
	node_put(b, &b->links, &wanted->target.link, sizeof(wanted->target.link));
}

/* Additional data of an RR of the body just stored. Glue sets TC if it doesn't fit and goes before what may be left out
 * (RFC 9471 2). */
static void find_extra(zone_node_builder_t *b, const zone_node_params_t *params, const zone_record_t *record,
		const target_place_t *place)
{
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_t target = knot_name_of(record->rdata + place->rdata_off);
	if (!place->is_lower) {
		knot_name_lower(target, lower);
		target.wire = lower;
	}
	wanted_t wanted = { .off = (uint16_t)place->body_off };
	wanted.target = params->on_target(target, record->type, params->ctx);
	b->is_portable = b->is_portable && wanted.target.is_outside;
	if (wanted.target.glue != NULL) {
		if (!has_glue(b, wanted.target.glue_id)) {
			add_glue(b, &wanted);
		}
	} else if (wanted.target.link != 0 && !has_link(b, wanted.target.link)) {
		add_link(b, &wanted);
	}
}

/* Additional data of the body just stored: RRs [first..first + count) whose targets are at places[]. */
static void find_extras(zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count,
		const target_place_t *places)
{
	for (size_t i = 0; i < count && i < TARGETS_MAX && !b->failed; i++) {
		if (places[i].is_wanted && places[i].body_off <= UINT16_MAX) {
			find_extra(b, params, b->records[first + i], &places[i]);
		}
	}
}

/* ---- RRsets ---- */

/* Blocks of an RRset, one behind the other in `blocks`. */
typedef struct {
	knot_name_t owner;
	size_t first, count, sig_count; /* records: first the RRs, then their signatures */
	uint32_t ttl;
	size_t body_len, sigs_len;
	bool is_huge;
} compiled_t;

/* False: one of the blocks exceeds what 16 bits can address, and names were to be compressed. */
static bool put_blocks(zone_node_builder_t *b, compiled_t *set, bool packed, target_place_t places[static TARGETS_MAX])
{
	body_t body; /* the dictionary is filled as it grows */
	body.owner = set->owner;
	body.dict_count = 0;
	body.is_last = false;
	b->blocks.len = b->pointers.len = 0;
	target_place_t none;
	for (size_t i = 0; i < set->count; i++) {
		body.is_last = i + 1 == set->count && set->sig_count == 0;
		put_rr(b, &body, b->records[set->first + i], set->ttl, packed, i < TARGETS_MAX ? &places[i] : &none);
		if (packed && b->blocks.len > UINT16_MAX) {
			return false;
		}
	}
	set->body_len = b->blocks.len;
	for (size_t i = 0; i < set->sig_count; i++) {
		const zone_record_t *sig = b->records[set->first + set->count + i];
		body.is_last = i + 1 == set->sig_count;
		put_rr(b, &body, sig, sig->ttl, packed, &none);
		if (packed && b->blocks.len - set->body_len > UINT16_MAX) {
			return false;
		}
	}
	set->sigs_len = b->blocks.len - set->body_len;
	return true;
}

/* A count or length: `narrow` bytes of it, or twice as many. */
static inline uint8_t *write_number(uint8_t *to, bool is_wide, size_t narrow, size_t value)
{
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;
	switch (is_wide ? 2 * narrow : narrow) {
	case 1: *to = (uint8_t)value; return to + 1;
	case 2: return write_bytes(to, &v16, sizeof(v16));
	default: return write_bytes(to, &v32, sizeof(v32));
	}
}

static uint8_t rrset_flags(const zone_node_builder_t *b, const compiled_t *set)
{
	size_t pointers = b->pointers.len / 2, links = b->links.len / ZONE_LINK_ENTRY_LEN;
	bool is_wide = set->is_huge || set->count > UINT8_MAX || set->sig_count > UINT8_MAX || pointers > UINT8_MAX ||
		       links > UINT8_MAX;
	return (uint8_t)((is_wide ? ZONE_RRSET_WIDE : 0) | (set->is_huge ? ZONE_RRSET_HUGE : 0) |
			 (pointers > 0 ? ZONE_RRSET_HAS_POINTERS : 0) |
			 (pointers > 0 && set->body_len > UINT8_MAX ? ZONE_RRSET_WIDE_POINTERS : 0) |
			 (set->sig_count > 0 ? ZONE_RRSET_HAS_SIGS : 0) | (links > 0 ? ZONE_RRSET_HAS_LINKS : 0));
}

static size_t saturate(size_t count)
{
	return count < UINT16_MAX ? count : UINT16_MAX;
}

/* The RRset as it is stored, from its blocks, pointers and links. */
static void put_stored(zone_node_builder_t *b, const compiled_t *set)
{
	enum { NUMBERS_LEN_MAX = 1 + 2 + 4 + 2 + 2 + 4 + 2 }; /* flags, counts, lengths */
	uint8_t flags = rrset_flags(b, set);
	bool is_wide = flags & ZONE_RRSET_WIDE;
	uint8_t *to = node_room(b, &b->sets, NUMBERS_LEN_MAX + b->blocks.len + b->pointers.len + b->links.len);
	if (to == NULL) {
		return;
	}
	*to++ = flags;
	to = write_number(to, is_wide, 1, saturate(set->count));
	to = write_number(to, is_wide, 2, set->body_len);
	to = write_bytes(to, b->blocks.data, set->body_len);
	if (flags & ZONE_RRSET_HAS_POINTERS) {
		to = write_number(to, is_wide, 1, b->pointers.len / 2);
		for (size_t i = 0; i < b->pointers.len; i += 2) {
			to = write_number(to, flags & ZONE_RRSET_WIDE_POINTERS, 1, zone_load_u16(b->pointers.data + i));
		}
	}
	if (flags & ZONE_RRSET_HAS_SIGS) {
		to = write_number(to, is_wide, 1, saturate(set->sig_count));
		to = write_number(to, is_wide, 2, set->sigs_len);
		to = write_bytes(to, b->blocks.data + set->body_len, set->sigs_len);
	}
	if (flags & ZONE_RRSET_HAS_LINKS) {
		to = write_number(to, is_wide, 1, b->links.len / ZONE_LINK_ENTRY_LEN);
		to = write_bytes(to, b->links.data, b->links.len);
	}
	cut_to(&b->sets, to);
}

/* ---- One RRset after the other ---- */

/* Compile an RRset into `sets`. */
static void compile_rrset(zone_node_builder_t *b, const zone_node_params_t *params, compiled_t *set)
{
	target_place_t places[TARGETS_MAX];
	b->is_portable = true;
	if (!put_blocks(b, set, true, places)) {
		set->is_huge = true;
		put_blocks(b, set, false, places);
	}
	b->links.len = 0;
	if (params->on_target != NULL && !b->failed && !set->is_huge) {
		find_extras(b, params, set->first, set->count, places);
	}
	put_stored(b, set);
}

/* RRs [first..first + count), their signatures behind them. */
static void put_rrset(
		zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count, size_t sig_count)
{
	uint16_t type = b->records[first]->type;
	compiled_t set = { .owner = params->owner,
		.first = first,
		.count = count,
		.sig_count = sig_count,
		.ttl = ttl_of(params->records, type) };
	zone_made_set_t made = { .type = type, .ttl = set.ttl, .off = b->sets.len };
	/* Not for a node of the version before: it may have its own copy instead of the shared one, and keeps it. */
	bool may_know = type == KNOT_TYPE_NS && sig_count == 0 && params->on_target != NULL && params->old_ref == 0;
	made.shared = may_know ? zone_node_share_find(&b->share, b->records + first, count, set.ttl) : 0;
	if (made.shared == 0) {
		compile_rrset(b, params, &set);
		b->has_key = b->has_key || (may_know && b->share.has_key && b->is_portable);
	}
	made.len = b->sets.len - made.off;
	node_put(b, &b->made, &made, sizeof(made));
}

/* Signatures that cover nothing at this name: an RRset of their own. They come in runs by covered type, so collect them
 * all. */
static void put_orphans(zone_node_builder_t *b, const zone_node_params_t *params, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0, j; i < count; i = j) {
		uint16_t type = b->records[i]->type == KNOT_TYPE_RRSIG ? covered_type(b->records[i])
								       : b->records[i]->type;
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
				covered_type(b->records[i + rrs + sigs]) == type) {
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
	flags |= params->nsec3 != 0 ? ZONE_NODE_HAS_NSEC3 : 0;
	flags |= params->nsec3_wildcard != 0 ? ZONE_NODE_HAS_NSEC3_WILDCARD : 0;
	flags |= params->nsec3_is_match ? ZONE_NODE_NSEC3_IS_MATCH : 0;
	flags |= params->nsec3_wildcard_is_match ? ZONE_NODE_NSEC3_WILDCARD_IS_MATCH : 0;
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
	bool is_wide;
} layout_t;

static layout_t layout_of(const zone_node_builder_t *b, const zone_node_params_t *params)
{
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	layout_t l = { .set_count = b->made.len / sizeof(*made) };
	l.glue_len = b->glue_count > 0 ? sizeof(b->glue_count) + b->glue.len : 0;
	size_t bodies = 0;
	for (size_t i = 0; i < l.set_count; i++) {
		bodies += made[i].shared != 0 ? sizeof(zone_ref_t) : made[i].len;
	}
	l.links_len = (size_t)((params->self != 0) + (params->nsec3 != 0) + (params->nsec3_wildcard != 0)) *
		      sizeof(zone_link_t);
	/* zone_node_number() may insert a link later. */
	l.is_wide = l.set_count >= UINT8_MAX ||
		    l.set_count * ZONE_ENTRY_LEN + l.links_len + sizeof(zone_link_t) + l.glue_len + bodies >=
				    ZONE_ENTRY_SHARED;
	l.table_len = l.is_wide ? ZONE_WIDE_TABLE_HEAD + l.set_count * ZONE_WIDE_ENTRY_LEN
				: l.set_count * ZONE_ENTRY_LEN;
	l.size = offsetof(zone_node_t, owner) + params->owner.len + l.table_len + l.links_len + l.glue_len + bodies;
	return l;
}

static uint8_t *write_link(uint8_t *to, zone_link_t link)
{
	return link != 0 ? write_bytes(to, &link, sizeof(link)) : to;
}

/* The table, with places from its start: RRsets stand behind it and the glue. */
static uint8_t *write_table(const zone_node_builder_t *b, const layout_t *l, uint8_t *to)
{
	const zone_made_set_t *made = (const zone_made_set_t *)b->made.data;
	uint16_t count = (uint16_t)l->set_count;
	size_t place = l->table_len + l->links_len + l->glue_len;
	if (l->is_wide) {
		to = write_bytes(to, &count, sizeof(count));
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t wide = (uint32_t)place | (made[i].shared != 0 ? ZONE_WIDE_ENTRY_SHARED : 0);
		uint16_t narrow = (uint16_t)(place | (made[i].shared != 0 ? ZONE_ENTRY_SHARED : 0));
		to = write_bytes(to, &made[i].type, sizeof(made[i].type));
		to = l->is_wide ? write_bytes(to, &wide, sizeof(wide)) : write_bytes(to, &narrow, sizeof(narrow));
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
	to = write_bytes(to, &head, offsetof(zone_node_t, owner));
	to = write_bytes(to, params->owner.wire, params->owner.len);
	to = write_table(b, l, to);
	to = write_link(to, params->self);
	to = write_link(to, params->nsec3);
	to = write_link(to, params->nsec3_wildcard);
	if (b->glue_count > 0) {
		to = write_bytes(to, &b->glue_count, sizeof(b->glue_count));
		to = write_bytes(to, b->glue.data, b->glue.len);
	}
	for (size_t i = 0; i < l->set_count; i++) {
		if (made[i].shared != 0) {
			to = write_bytes(to, &made[i].shared, sizeof(made[i].shared));
		} else {
			to = write_bytes(to, b->sets.data + made[i].off, made[i].len);
		}
	}
	assert((size_t)(to - start) == l->size);
	(void)start;
}

/* The node in the arena, or the old one if it is the same. 0: out of memory. */
static zone_ref_t node_store_record(
		zone_node_builder_t *b, zone_arena_t *arena, const zone_node_params_t *params, const layout_t *l)
{
	const zone_node_t *old = params->old_ref != 0 ? zone_at(zone_arena_view(arena), params->old_ref) : NULL;
	if (old != NULL && zone_node_size(old) == l->size) {
		uint8_t *node = node_room(b, &b->node, l->size);
		if (node == NULL) {
			return 0;
		}
		write_node(b, params, l, node);
		if (memcmp(old, node, l->size) == 0) {
			return params->old_ref;
		}
	}
	zone_ref_t ref = zone_arena_alloc(arena, l->size);
	if (ref != 0) {
		write_node(b, params, l, zone_at(zone_arena_view(arena), ref));
	}
	return ref;
}

knot_err_t zone_node_build(zone_node_builder_t *b, zone_arena_t *arena, const zone_node_params_t *params,
		zone_ref_t *ret_ref, zone_node_sums_t *sums)
{
	b->made.len = b->sets.len = b->glue.len = b->glue_ids.len = b->node.len = 0;
	b->glue_count = 0;
	b->failed = b->has_key = false;
	size_t count = sort_records(b, params->records);
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
	const zone_node_t *old = params->old_ref != 0 ? zone_at(zone_arena_view(arena), params->old_ref) : NULL;
	for (size_t i = 0; i < set_count; i++) {
		const uint8_t *bytes = b->sets.data + made[i].off;
		if (made[i].shared == 0 && zone_node_share_may(&made[i], bytes)) {
			zone_node_share_set(&b->share, arena, old, &made[i], bytes, &added);
			if (made[i].shared != 0 && made[i].type == KNOT_TYPE_NS && b->has_key) {
				zone_node_share_remember(&b->share, made[i].shared);
			}
		}
		added.max_ttl = made[i].ttl > added.max_ttl ? made[i].ttl : added.max_ttl;
	}
	layout_t layout = layout_of(b, params);
	zone_ref_t ref = node_store_record(b, arena, params, &layout);
	if (ref == 0) {
		return KNOT_ENOMEM;
	}
	added.stored_size += zone_node_share_units(layout.size);
	*sums = added;
	*ret_ref = ref;
	return KNOT_OK;
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

zone_ref_t zone_node_number(zone_arena_t *arena, zone_ref_t ref, zone_link_t self)
{
	const zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	if (zone_node_self(node) == self) {
		return ref;
	}
	bool had_self = node->flags & ZONE_NODE_HAS_SELF;
	size_t size = zone_node_size(node), links_off = (size_t)(zone_node_links(node) - (const uint8_t *)node);
	size_t behind_off = links_off + (had_self ? sizeof(self) : 0);
	zone_ref_t copy_ref = zone_arena_alloc(arena, links_off + sizeof(self) + size - behind_off);
	if (copy_ref == 0) {
		return 0;
	}
	uint8_t *copy = zone_at(zone_arena_view(arena), copy_ref);
	memcpy(copy, node, links_off);
	memcpy(copy + links_off, &self, sizeof(self));
	memcpy(copy + links_off + sizeof(self), (const uint8_t *)node + behind_off, size - behind_off);
	if (!had_self) {
		((zone_node_t *)(void *)copy)->flags |= ZONE_NODE_HAS_SELF;
		move_places((zone_node_t *)(void *)copy, sizeof(self));
	}
	zone_arena_recycle(arena, ref, size);
	return copy_ref;
}
