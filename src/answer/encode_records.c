/* SPDX-License-Identifier: BSD-2-Clause */
/* The encoder's general way: record by record through the message writer. Any order, any offset, full compression. */
#include "src/answer/encode_way.h"

#include "libknot/rr/rdata.h"

/* An RRset or its signatures, with the owner that it gets. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	bool sigs;
	knot_name_t owner;
	bool has_ttl; /* `ttl` instead of its own */
	uint32_t ttl;
	uint32_t first; /* record to begin with, modulo the set's size */
} records_set_t;

/* Records [from..to). */
static bool records_put_run(encoder_t *e, const records_set_t *s, knot_section_t section, uint32_t from, uint32_t to,
		knot_mut_bytes_t scratch)
{
	zone_rr_iter_t iter = zone_rr_begin(s->node, s->set, s->sigs);
	uint16_t type = s->sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(s->set);
	uint32_t ttl;
	knot_bytes_t rdata;
	for (uint32_t i = 0; zone_rr_next(&iter, scratch, &ttl, &rdata); i++) {
		if (i >= from && i < to &&
				knot_msg_put_rr(&e->w, section, s->owner, type, KNOT_CLASS_IN,
						s->has_ttl ? s->ttl : ttl, rdata) != KNOT_OK) {
			return false;
		}
	}
	return true;
}

static bool records_put_set(encoder_t *e, const records_set_t *s, knot_section_t section)
{
	uint8_t bytes[KNOT_RDATA_MAX];
	knot_mut_bytes_t scratch = { bytes, sizeof(bytes) };
	knot_msg_mark_t mark = knot_msg_mark(&e->w);
	uint16_t rr_count = zone_rrset_rr_count(s->set);
	uint32_t first = rr_count > 1 ? s->first % rr_count : 0;
	bool ok = records_put_run(e, s, section, first, UINT32_MAX, scratch) &&
		  (first == 0 || records_put_run(e, s, section, 0, first, scratch));
	if (!ok) {
		knot_msg_rollback(&e->w, &mark);
	}
	return ok;
}

static bool records_put_rrset(encoder_t *e, answer_item_t *item, knot_section_t section, bool sigs)
{
	const answer_plan_t *plan = e->plan;
	records_set_t s = { item->node, item->set, sigs, plan->names[item->owner].name, item->negative_ttl,
		plan->zone->soa_minimum_ttl, section == KNOT_SECTION_ANSWER && !sigs ? e->rotate : 0 };
	return !zone_rrset_is_huge(item->set) && records_put_set(e, &s, section);
}

static bool records_put_synthesis(encoder_t *e, answer_item_t *item)
{
	knot_name_t owner = e->plan->names[item->owner].name;
	size_t prefix_len = (size_t)(owner.len - item->node->owner_len);
	uint8_t wire[KNOT_NAME_MAX], to[KNOT_NAME_MAX];
	knot_name_t target = answer_body_name(item->node, item->set, ZONE_RR_RDATA_OFF, to);
	memcpy(wire, owner.wire, prefix_len);
	memcpy(wire + prefix_len, target.wire, target.len);
	return knot_msg_put_rr(&e->w, KNOT_SECTION_ANSWER, owner, KNOT_TYPE_CNAME, KNOT_CLASS_IN,
			       zone_rrset_ttl(item->set), (knot_bytes_t){ wire, prefix_len + target.len }) == KNOT_OK;
}

static knot_name_t records_owner_of(encode_owner_t owner, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	return answer_body_name(owner.item->node, owner.item->set, owner.name_off, ret_wire);
}

/* A copied block of addresses: its RDATA holds no names. */
static bool records_put_glue(encoder_t *e, encode_owner_t owner, const zone_block_t *block)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = records_owner_of(owner, wire);
	knot_msg_mark_t mark = knot_msg_mark(&e->w);
	for (size_t at = 0; at < block->len;) {
		const uint8_t *rr = block->bytes + at;
		uint16_t len = load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
		if (knot_msg_put_rr(&e->w, KNOT_SECTION_ADDITIONAL, name, load_be16(rr + 2), load_be16(rr + 4),
				    load_be32(rr + ZONE_RR_TTL_OFF),
				    (knot_bytes_t){ rr + ZONE_RR_RDATA_OFF, len }) != KNOT_OK) {
			knot_msg_rollback(&e->w, &mark);
			return false;
		}
		at += ZONE_RR_RDATA_OFF + len;
	}
	return true;
}

static bool records_put_linked(
		encoder_t *e, encode_owner_t owner, const zone_node_t *node, const zone_rrset_t *set, bool sigs)
{
	uint8_t wire[KNOT_NAME_MAX];
	records_set_t s = { .node = node, .set = set, .sigs = sigs, .owner = records_owner_of(owner, wire) };
	return records_put_set(e, &s, KNOT_SECTION_ADDITIONAL);
}

void encode_by_records(encoder_t *e)
{
	static const encode_way_t way = { records_put_rrset, records_put_synthesis, records_put_glue,
		records_put_linked };
	knot_msg_names_t names;
	knot_msg_compress(&e->w, &names);
	encode_put_plan(e, &way);
	e->w.names = NULL;
}
