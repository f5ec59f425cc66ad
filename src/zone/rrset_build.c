/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression. A name in RDATA of a type that may be compressed ends, if possible, with a pointer to a suffix of the
 * owner or to a name spelled earlier in the body; the longest match wins. The dictionary of names in the body is
 * bounded: for an RRset of thousands of names the search would be quadratic and what a pointer saves is small by then.
 */
#include "libknot/base/assert.h"
#include "src/zone/node_builder.h"

enum {
	PTR = 0xC000,
	DICT_MAX = 48, /* label sequences of the body that later names may point to */
	RR_FIXED = ZONE_RR_RDATA_OFF,
};

typedef struct {
	const uint8_t *wire; /* suffix as it stands in a record's RDATA */
	uint8_t len;
	uint16_t off; /* of the body */
} dict_entry_t;

/* Give back what zone_buffer_room() reserved and was not used. */
static inline void rrset_cut_to(zone_buffer_t *buffer, const uint8_t *end)
{
	KNOT_ASSERT_SLOW(end >= buffer->data && end <= buffer->data + buffer->len);
	buffer->len = (size_t)(end - buffer->data);
}

/* ---- Blocks ---- */

typedef struct {
	knot_name_t owner;
	dict_entry_t dict[DICT_MAX];
	unsigned dict_count;
	bool is_last; /* no later record could point to names of this one */
} body_t;

/* The pointer for the suffix `wire[0..len)`, or 0. */
static uint16_t rrset_find_suffix(const body_t *body, const uint8_t *wire, size_t len)
{
	knot_name_t owner = body->owner;
	KNOT_ASSERT_SLOW(len >= 2);         /* not the root: a pointer would save nothing */
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
static uint8_t *rrset_write_compressed(
		zone_node_builder_t *b, body_t *body, uint8_t *to, const uint8_t *wire, size_t len, bool is_looked_up)
{
	const size_t start = (size_t)(to - b->blocks.data);
	memcpy(to, wire, len);
	for (size_t at = 0; wire[at] != 0; at += 1u + wire[at]) {
		size_t off = start + at;
		uint16_t pointer = rrset_find_suffix(body, wire + at, len - at);
		if (pointer != 0) {
			b->is_portable = b->is_portable && (pointer & ZONE_PTR_BODY);
			uint16_t pos = (uint16_t)off;
			zone_buffer_put(b, &b->pointers, &pos, sizeof(pos));
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

static inline uint8_t *rrset_write_rr_head(uint8_t *to, uint16_t type, uint32_t ttl, size_t rdata_len)
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
static void rrset_put_rr(zone_node_builder_t *b, body_t *body, const zone_record_t *record, uint32_t ttl, bool packed,
		target_place_t *ret_place)
{
	ret_place->is_wanted = false;
	size_t start = b->blocks.len;
	uint8_t *to = zone_buffer_room(b, &b->blocks, RR_FIXED + (size_t)record->rdata_len);
	if (to == NULL) {
		return;
	}
	to = rrset_write_rr_head(to, record->type, ttl, record->rdata_len);
	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(record->type, zone_record_rdata(record), names);
	size_t from = 0;
	for (unsigned i = 0; i < count; i++) {
		to = zone_put_bytes(to, record->rdata + from, names[i].off - from);
		if (names[i].flags & KNOT_RDATA_ADDITIONAL) {
			*ret_place = (target_place_t){ (uint32_t)(to - b->blocks.data), names[i].off, true,
				names[i].flags & KNOT_RDATA_LOWER };
		}
		const uint8_t *wire = record->rdata + names[i].off;
		if (packed && (names[i].flags & KNOT_RDATA_COMPRESS)) {
			to = rrset_write_compressed(b, body, to, wire, names[i].len, !body->is_last || i + 1 < count);
		} else {
			to = zone_put_bytes(to, wire, names[i].len);
		}
		from = (size_t)names[i].off + names[i].len;
	}
	to = zone_put_bytes(to, record->rdata + from, record->rdata_len - from);
	rrset_cut_to(&b->blocks, to);
	store_be16(b->blocks.data + start + RR_FIXED - 2, (uint16_t)(b->blocks.len - start - RR_FIXED));
}

/* ---- Additional data ---- */

enum { TARGETS_MAX = 1024 }; /* names of an RRset that get additional data: more than fit a message */

static bool rrset_has_link(const zone_node_builder_t *b, zone_link_t link)
{
	for (size_t at = 0; at < b->links.len; at += ZONE_LINK_ENTRY_LEN) {
		if (zone_load_u32(b->links.data + at + 2) == link) {
			return true;
		}
	}
	return false;
}

static bool rrset_has_glue(const zone_node_builder_t *b, const void *id)
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
static uint8_t rrset_copy_glue(
		zone_node_builder_t *b, const wanted_t *wanted, uint16_t type, const zone_record_t **after)
{
	const zone_record_t *addresses[GLUE_MAX];
	size_t count = 0;
	for (const zone_record_t *r = wanted->target.glue; r != NULL; r = r->next) {
		size_t at = count;
		if (r->type != type || (*after != NULL && zone_record_order(r, *after) <= 0)) {
			continue;
		}
		while (at > 0 && zone_record_order(addresses[at - 1], r) > 0) {
			at--;
		}
		if (at == GLUE_MAX || (at > 0 && zone_record_order(addresses[at - 1], r) == 0)) {
			continue;
		}
		count -= count == GLUE_MAX; /* the last one is for the next entry */
		memmove(addresses + at + 1, addresses + at, (count - at) * sizeof(*addresses));
		addresses[at] = r;
		count++;
	}
	uint32_t ttl = count > 0 ? zone_records_ttl(wanted->target.glue, type) : 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t *to = zone_buffer_room(b, &b->glue, RR_FIXED + (size_t)addresses[i]->rdata_len);
		if (to != NULL) {
			to = rrset_write_rr_head(to, type, ttl, addresses[i]->rdata_len);
			memcpy(to, addresses[i]->rdata, addresses[i]->rdata_len);
		}
		*after = addresses[i];
	}
	return (uint8_t)count;
}

/* Glue entries of one server: several if it has more addresses than an entry holds, until no message has room for more.
 */
static void rrset_add_glue(zone_node_builder_t *b, const wanted_t *wanted)
{
	const zone_record_t *last[2] = { NULL, NULL };
	uint8_t counts[2];
	do {
		size_t head = b->glue.len;
		zone_buffer_put(b, &b->glue, &wanted->off, sizeof(wanted->off));
		zone_buffer_put(b, &b->glue, "\0", 2);
		counts[0] = rrset_copy_glue(b, wanted, KNOT_TYPE_A, &last[0]);
		counts[1] = counts[0] < GLUE_MAX ? rrset_copy_glue(b, wanted, KNOT_TYPE_AAAA, &last[1]) : 0;
		if (counts[0] + counts[1] == 0) {
			b->glue.len = head;
			return;
		}
		zone_buffer_put(b, &b->glue_ids, &wanted->target.glue_id, sizeof(wanted->target.glue_id));
		if (!b->failed) {
			memcpy(b->glue.data + head + 2, counts, sizeof(counts));
			b->glue_count++;
		}
	} while ((counts[0] == GLUE_MAX || counts[1] == GLUE_MAX) && b->glue.len <= UINT16_MAX && !b->failed);
}

static void rrset_add_link(zone_node_builder_t *b, const wanted_t *wanted)
{
	zone_buffer_put(b, &b->links, &wanted->off, sizeof(wanted->off));
	zone_buffer_put(b, &b->links, &wanted->target.link, sizeof(wanted->target.link));
}

/* Additional data of an RR of the body just stored. Glue sets TC if it doesn't fit and goes before what may be left out
 * (RFC 9471 2). */
static void rrset_find_extra(zone_node_builder_t *b, const zone_node_params_t *params, const zone_record_t *record,
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
		if (!rrset_has_glue(b, wanted.target.glue_id)) {
			rrset_add_glue(b, &wanted);
		}
	} else if (wanted.target.link != 0 && !rrset_has_link(b, wanted.target.link)) {
		rrset_add_link(b, &wanted);
	}
}

/* Additional data of the body just stored: RRs [first..first + count) whose targets are at places[]. */
static void rrset_find_extras(zone_node_builder_t *b, const zone_node_params_t *params, size_t first, size_t count,
		const target_place_t *places)
{
	for (size_t i = 0; i < count && i < TARGETS_MAX && !b->failed; i++) {
		if (places[i].is_wanted && places[i].body_off <= UINT16_MAX) {
			rrset_find_extra(b, params, b->records[first + i], &places[i]);
		}
	}
}

/* ---- RRsets ---- */

/* Blocks of an RRset, one behind the other in `blocks`. */
typedef struct {
	zone_rrset_run_t run;
	size_t body_len, sigs_len;
	bool is_huge;
} compiled_t;

/* False: one of the blocks exceeds what 16 bits can address, and names were to be compressed. */
static bool rrset_put_blocks(zone_node_builder_t *b, compiled_t *set, knot_name_t owner, bool packed,
		target_place_t places[static TARGETS_MAX])
{
	body_t body; /* the dictionary is filled as it grows */
	body.owner = owner;
	body.dict_count = 0;
	body.is_last = false;
	b->blocks.len = b->pointers.len = 0;
	target_place_t none;
	for (size_t i = 0; i < set->run.count; i++) {
		body.is_last = i + 1 == set->run.count && set->run.sig_count == 0;
		rrset_put_rr(b, &body, b->records[set->run.first + i], set->run.ttl, packed,
				i < TARGETS_MAX ? &places[i] : &none);
		if (packed && b->blocks.len > UINT16_MAX) {
			return false;
		}
	}
	set->body_len = b->blocks.len;
	for (size_t i = 0; i < set->run.sig_count; i++) {
		const zone_record_t *sig = b->records[set->run.first + set->run.count + i];
		body.is_last = i + 1 == set->run.sig_count;
		rrset_put_rr(b, &body, sig, sig->ttl, packed, &none);
		if (packed && b->blocks.len - set->body_len > UINT16_MAX) {
			return false;
		}
	}
	set->sigs_len = b->blocks.len - set->body_len;
	return true;
}

/* A count or length: `narrow` bytes of it, or twice as many. */
static inline uint8_t *rrset_write_number(uint8_t *to, bool is_wide, size_t narrow, size_t value)
{
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;
	switch (is_wide ? 2 * narrow : narrow) {
	case 1: *to = (uint8_t)value; return to + 1;
	case 2: return zone_put_bytes(to, &v16, sizeof(v16));
	default: return zone_put_bytes(to, &v32, sizeof(v32));
	}
}

static uint8_t rrset_flags(const zone_node_builder_t *b, const compiled_t *set)
{
	size_t pointers = b->pointers.len / 2, links = b->links.len / ZONE_LINK_ENTRY_LEN;
	bool is_wide = set->is_huge || set->run.count > UINT8_MAX || set->run.sig_count > UINT8_MAX ||
		       pointers > UINT8_MAX || links > UINT8_MAX;
	return (uint8_t)((is_wide ? ZONE_RRSET_WIDE : 0) | (set->is_huge ? ZONE_RRSET_HUGE : 0) |
			 (pointers > 0 ? ZONE_RRSET_HAS_POINTERS : 0) |
			 (pointers > 0 && set->body_len > UINT8_MAX ? ZONE_RRSET_WIDE_POINTERS : 0) |
			 (set->run.sig_count > 0 ? ZONE_RRSET_HAS_SIGS : 0) | (links > 0 ? ZONE_RRSET_HAS_LINKS : 0));
}

static size_t rrset_saturate(size_t count)
{
	return count < UINT16_MAX ? count : UINT16_MAX;
}

/* The RRset as it is stored, from its blocks, pointers and links. */
static void rrset_put_stored(zone_node_builder_t *b, const compiled_t *set)
{
	enum { NUMBERS_LEN_MAX = 1 + 2 + 4 + 2 + 2 + 4 + 2 }; /* flags, counts, lengths */
	uint8_t flags = rrset_flags(b, set);
	bool is_wide = flags & ZONE_RRSET_WIDE;
	uint8_t *to = zone_buffer_room(b, &b->sets, NUMBERS_LEN_MAX + b->blocks.len + b->pointers.len + b->links.len);
	if (to == NULL) {
		return;
	}
	KNOT_ASSERT_SLOW(b->pointers.len % sizeof(uint16_t) == 0 && b->links.len % ZONE_LINK_ENTRY_LEN == 0);
	KNOT_ASSERT_SLOW(set->body_len + set->sigs_len == b->blocks.len);
	*to++ = flags;
	to = rrset_write_number(to, is_wide, 1, rrset_saturate(set->run.count));
	to = rrset_write_number(to, is_wide, 2, set->body_len);
	to = zone_put_bytes(to, b->blocks.data, set->body_len);
	if (flags & ZONE_RRSET_HAS_POINTERS) {
		to = rrset_write_number(to, is_wide, 1, b->pointers.len / 2);
		for (size_t i = 0; i < b->pointers.len; i += 2) {
			to = rrset_write_number(
					to, flags & ZONE_RRSET_WIDE_POINTERS, 1, zone_load_u16(b->pointers.data + i));
		}
	}
	if (flags & ZONE_RRSET_HAS_SIGS) {
		to = rrset_write_number(to, is_wide, 1, rrset_saturate(set->run.sig_count));
		to = rrset_write_number(to, is_wide, 2, set->sigs_len);
		to = zone_put_bytes(to, b->blocks.data + set->body_len, set->sigs_len);
	}
	if (flags & ZONE_RRSET_HAS_LINKS) {
		to = rrset_write_number(to, is_wide, 1, b->links.len / ZONE_LINK_ENTRY_LEN);
		to = zone_put_bytes(to, b->links.data, b->links.len);
	}
	rrset_cut_to(&b->sets, to);
}

void zone_rrset_compile(zone_node_builder_t *b, const zone_node_params_t *params, const zone_rrset_run_t *run)
{
	KNOT_ASSERT_SLOW(run->count > 0);
	target_place_t places[TARGETS_MAX];
	compiled_t set = { .run = *run };
	b->is_portable = true;
	if (!rrset_put_blocks(b, &set, params->owner, true, places)) {
		set.is_huge = true;
		(void)rrset_put_blocks(b, &set, params->owner, false, places);
	}
	b->links.len = 0;
	if (params->on_target != NULL && !b->failed && !set.is_huge) {
		rrset_find_extras(b, params, run->first, run->count, places);
	}
	rrset_put_stored(b, &set);
}
