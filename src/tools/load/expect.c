/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an authoritative answer must have: RFC 1034 4.3.2 step by step, with RFC 4592 (wildcards), 6672 (DNAME), 4035
 * and 5155 (denial), 9471 (glue), written from the RFCs and not from the server's way to do it.
 */
#include "src/tools/load/model.h"

#include "libknot/msg/rcode.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	const model_t *model;
	expectation_t *e;
	uint32_t zone;
	uint16_t type;
	bool dnssec;    /* signatures and proofs are wanted and there are any */
	unsigned chain; /* aliases so far */
	unsigned names; /* of e->names in use */
} expecting_t;

/* ---- Sections ---- */

uint64_t expected_sum(const expected_section_t *s, bool with_ttl)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->count; i++) {
		const expected_record_t *r = &s->records[i];
		sum += with_ttl ? model_with_ttl(r->digest, r->ttl) : r->digest;
	}
	return sum;
}

static void section_add(expecting_t *x, expected_section_t *s, const expected_record_t *record)
{
	/* Proofs may need the same record twice: it is sent once. */
	for (size_t i = 0; i < s->count; i++) {
		if (s->records[i].digest == record->digest) {
			return;
		}
	}
	if (s->count == s->room) {
		size_t room = s->room * 2 + 16;
		expected_record_t *records = realloc(s->records, room * sizeof(*records));
		if (records == NULL) {
			x->e->failed = true;
			return;
		}
		s->records = records;
		s->room = room;
	}
	s->records[s->count++] = *record;
}

/* All records of a type at a node, and their signatures, with `owner` as the owner. Returns how many records. */
static size_t section_add_set(expecting_t *x, expected_section_t *s, uint32_t node, uint16_t type, knot_name_t owner)
{
	const model_t *m = x->model;
	const uint64_t owner_hash = model_name_hash(owner);
	size_t count = 0;
	const struct {
		uint16_t type, covered;
	} parts[] = { { type, 0 }, { KNOT_TYPE_RRSIG, type } };
	for (unsigned part = 0; part < (x->dnssec && type != KNOT_TYPE_RRSIG ? 2 : 1); part++) {
		for (uint32_t r = model_record(m, node, parts[part].type, parts[part].covered); r != MODEL_NONE;
				r = model_record_after(m, m->records[r].next, parts[part].type, parts[part].covered)) {
			section_add(x, s,
					&(expected_record_t){ .record = r,
							.ttl = m->records[r].ttl,
							.digest = model_record_digest(owner_hash, m->records[r].hash),
							.owner = owner.wire });
			count += part == 0;
		}
	}
	return count;
}

/* ---- Names ---- */

/* A copy of a name that lives as long as the expectation. */
static knot_name_t expect_keep_name(expecting_t *x, knot_name_t name)
{
	uint8_t *to = x->e->names[x->names++];
	memcpy(to, name.wire, name.len);
	name.wire = to;
	return name;
}

/* The longest existing name above `lower`; it exists itself, or is below this one. */
static uint32_t expect_encloser(const expecting_t *x, knot_name_t lower, knot_name_t *ret_next_closer)
{
	uint32_t node = MODEL_NONE;
	*ret_next_closer = lower;
	for (unsigned up = 0; node == MODEL_NONE && up <= lower.label_count; up++) {
		node = model_find(x->model, x->zone, knot_name_strip(lower, up));
		if (node != MODEL_NONE && x->model->nodes[node].is_hidden) {
			node = MODEL_NONE;
		}
		if (node == MODEL_NONE) {
			*ret_next_closer = knot_name_strip(lower, up);
		}
	}
	return node;
}

static uint32_t expect_wildcard(
		const expecting_t *x, uint32_t encloser, uint8_t scratch[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	return knot_name_wildcard_below(model_name(x->model, encloser), scratch, ret_name)
			       ? model_find(x->model, x->zone, *ret_name)
			       : MODEL_NONE;
}

/* ---- Proofs ---- */

static void proof_add_node(expecting_t *x, uint32_t node, uint16_t type)
{
	if (node != MODEL_NONE) {
		(void)section_add_set(x, &x->e->authority, node, type, model_name(x->model, node));
	}
}

static void proof_nsec_covering(expecting_t *x, knot_name_t name)
{
	proof_add_node(x, model_nsec_covering(x->model, x->zone, name), KNOT_TYPE_NSEC);
}

static void proof_nsec3_covering(expecting_t *x, knot_name_t name)
{
	proof_add_node(x, model_nsec3_covering(x->model, x->zone, name), KNOT_TYPE_NSEC3);
}

/* RFC 5155 7.2.1: the closest encloser that the chain knows, and what covers the next closer name. */
static void proof_nsec3_encloser(expecting_t *x, knot_name_t name)
{
	for (unsigned up = 1; up <= name.label_count; up++) {
		uint32_t match = model_nsec3_matching(x->model, x->zone, knot_name_strip(name, up));
		if (match != MODEL_NONE) {
			proof_add_node(x, match, KNOT_TYPE_NSEC3);
			proof_nsec3_covering(x, knot_name_strip(name, up - 1));
			return;
		}
	}
}

/* There is no such name. RFC 4035 3.1.3.2, RFC 5155 7.2.2 */
static void proof_of_nxdomain(expecting_t *x, knot_name_t name, uint32_t encloser)
{
	uint8_t scratch[KNOT_NAME_MAX];
	knot_name_t wildcard;
	const model_zone_t *z = &x->model->zones[x->zone];
	bool has_wildcard_name = knot_name_wildcard_below(model_name(x->model, encloser), scratch, &wildcard);
	if (z->has_nsec) {
		proof_nsec_covering(x, name);
		if (has_wildcard_name) {
			proof_nsec_covering(x, wildcard);
		}
	} else if (z->has_nsec3) {
		proof_nsec3_encloser(x, name);
		if (has_wildcard_name) {
			proof_nsec3_covering(x, wildcard);
		}
	}
}

/* The name is there, the type is not. RFC 4035 3.1.3.1, RFC 5155 7.2.3, 7.2.4 */
static void proof_of_nodata(expecting_t *x, knot_name_t name)
{
	const model_zone_t *z = &x->model->zones[x->zone];
	if (z->has_nsec) {
		proof_nsec_covering(x, name); /* its own, or the one that covers an empty non-terminal */
	} else if (z->has_nsec3) {
		uint32_t match = model_nsec3_matching(x->model, x->zone, name);
		if (match != MODEL_NONE) {
			proof_add_node(x, match, KNOT_TYPE_NSEC3);
		} else {
			proof_nsec3_encloser(x, name); /* opted out */
		}
	}
}

/* The wildcard is there, the type at it is not. RFC 4035 3.1.3.4, RFC 5155 7.2.5 */
static void proof_of_wildcard_nodata(expecting_t *x, knot_name_t name, knot_name_t wildcard)
{
	const model_zone_t *z = &x->model->zones[x->zone];
	if (z->has_nsec) {
		proof_nsec_covering(x, name);
		proof_nsec_covering(x, wildcard);
	} else if (z->has_nsec3) {
		proof_nsec3_encloser(x, name);
		proof_add_node(x, model_nsec3_matching(x->model, x->zone, wildcard), KNOT_TYPE_NSEC3);
	}
}

/* An answer was made from a wildcard: no closer name. RFC 4035 3.1.3.3, RFC 5155 7.2.6 */
static void proof_of_wildcard_answer(expecting_t *x, knot_name_t name, knot_name_t next_closer)
{
	const model_zone_t *z = &x->model->zones[x->zone];
	if (z->has_nsec) {
		proof_nsec_covering(x, name);
	} else if (z->has_nsec3) {
		proof_nsec3_covering(x, next_closer);
	}
}

/* ---- Outcomes ---- */

/* RFC 2308 3: SOA in the authority section. */
static void expect_soa(expecting_t *x)
{
	uint32_t apex = x->model->zones[x->zone].apex;
	(void)section_add_set(x, &x->e->authority, apex, KNOT_TYPE_SOA, model_name(x->model, apex));
}

static void expect_nodata(expecting_t *x, knot_name_t name)
{
	x->e->kind = EXPECT_NODATA;
	expect_soa(x);
	if (x->dnssec) {
		proof_of_nodata(x, name);
	}
}

static void expect_nxdomain(expecting_t *x, knot_name_t name, uint32_t encloser)
{
	x->e->kind = EXPECT_NXDOMAIN;
	x->e->rcode = KNOT_RCODE_NXDOMAIN;
	expect_soa(x);
	if (x->dnssec) {
		proof_of_nxdomain(x, name, encloser);
	}
}

/* Addresses at or below the cut that name servers have: without them nobody gets there (RFC 9471 3.1). */
static void expect_glue(expecting_t *x, uint32_t cut)
{
	const model_t *m = x->model;
	const bool dnssec = x->dnssec;
	x->dnssec = false; /* glue isn't signed */
	for (uint32_t r = model_record(m, cut, KNOT_TYPE_NS, 0); r != MODEL_NONE;
			r = model_record_after(m, m->records[r].next, KNOT_TYPE_NS, 0)) {
		knot_name_t target = knot_name_of(m->bytes + m->records[r].rdata_off);
		uint32_t node = knot_name_in(target, model_name(m, cut)) ? model_find(m, x->zone, target) : MODEL_NONE;
		if (node != MODEL_NONE) {
			(void)section_add_set(x, &x->e->glue, node, KNOT_TYPE_A, model_name(m, node));
			(void)section_add_set(x, &x->e->glue, node, KNOT_TYPE_AAAA, model_name(m, node));
		}
	}
	x->dnssec = dnssec;
}

static void expect_referral(expecting_t *x, uint32_t cut)
{
	const model_t *m = x->model;
	knot_name_t name = model_name(m, cut);
	x->e->kind = EXPECT_REFERRAL;
	/* An answer that an alias led out of is still the authority's for the alias (RFC 1035 4.1.1). */
	x->e->is_authoritative = x->chain > 0;
	const bool dnssec = x->dnssec;
	x->dnssec = false;
	(void)section_add_set(x, &x->e->authority, cut, KNOT_TYPE_NS, name);
	x->dnssec = dnssec;
	if (dnssec && section_add_set(x, &x->e->authority, cut, KNOT_TYPE_DS, name) == 0) {
		proof_of_nodata(x, name);
	}
	expect_glue(x, cut);
}

static void expect_name(expecting_t *x, knot_name_t name);

/* Go on with the name that an alias has. Outside of the zone the answer ends. */
static void expect_follow(expecting_t *x, knot_name_t target)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(target, wire);
	target.wire = wire;
	if (++x->chain >= MODEL_CHAIN_MAX) {
		x->e->kind = EXPECT_UNKNOWN;
	} else if (model_zone_of(x->model, target) == x->zone) {
		expect_name(x, expect_keep_name(x, target));
	} else {
		/* Servers may or may not follow into another zone of theirs. */
		x->e->kind = model_zone_of(x->model, target) == MODEL_NONE ? EXPECT_ANSWER : EXPECT_UNKNOWN;
	}
}

static bool expect_wants_alias(uint16_t type)
{
	return type != KNOT_TYPE_CNAME && type != KNOT_TYPE_RRSIG && type != KNOT_TYPE_NSEC && type != KNOT_TYPE_ANY;
}

/* What a node has, for the name `owner`: its own, or one below a wildcard. False: neither the type nor an alias. */
static bool expect_node(expecting_t *x, uint32_t node, knot_name_t owner)
{
	uint32_t alias = model_record(x->model, node, KNOT_TYPE_CNAME, 0);
	if (alias != MODEL_NONE && expect_wants_alias(x->type)) {
		(void)section_add_set(x, &x->e->answer, node, KNOT_TYPE_CNAME, owner);
		expect_follow(x, knot_name_of(x->model->bytes + x->model->records[alias].rdata_off));
		return true;
	}
	x->e->kind = EXPECT_ANSWER;
	return section_add_set(x, &x->e->answer, node, x->type, owner) > 0;
}

/* RFC 6672 3.2: the DNAME, and a CNAME made from it. */
static void expect_dname(expecting_t *x, uint32_t node, knot_name_t name)
{
	const model_t *m = x->model;
	expectation_t *e = x->e;
	knot_name_t owner = model_name(m, node);
	(void)section_add_set(x, &e->answer, node, KNOT_TYPE_DNAME, owner);
	const model_record_t *dname = &m->records[model_record(m, node, KNOT_TYPE_DNAME, 0)];
	knot_name_t target = knot_name_of(m->bytes + dname->rdata_off);
	size_t kept_len = name.len - (size_t)owner.len;
	if (kept_len + target.len > KNOT_NAME_MAX) {
		e->rcode = KNOT_RCODE_YXDOMAIN;
		e->kind = EXPECT_ANSWER;
		return;
	}
	if (x->chain > 0) {
		e->kind = EXPECT_UNKNOWN; /* one CNAME is made per expectation */
		return;
	}
	memcpy(e->made, name.wire, kept_len);
	memcpy(e->made + kept_len, target.wire, target.len);
	knot_bytes_t rdata = { e->made, kept_len + target.len };
	section_add(x, &e->answer,
			&(expected_record_t){ .record = MODEL_NONE,
					.ttl = dname->ttl,
					.digest = model_record_digest(model_name_hash(name),
							model_rdata_hash(KNOT_TYPE_CNAME, rdata)),
					.owner = name.wire });
	expect_follow(x, knot_name_of(e->made));
}

/* The name isn't there. */
static void expect_missing(expecting_t *x, knot_name_t name)
{
	uint8_t scratch[KNOT_NAME_MAX];
	knot_name_t next_closer, wildcard_name;
	uint32_t encloser = expect_encloser(x, name, &next_closer);
	uint32_t wildcard = expect_wildcard(x, encloser, scratch, &wildcard_name);
	if (wildcard == MODEL_NONE) {
		expect_nxdomain(x, name, encloser);
		return;
	}
	if (x->model->nodes[wildcard].is_cut || x->model->nodes[wildcard].has_dname) {
		x->e->kind = EXPECT_UNKNOWN; /* RFC 4592 4.2, 4.4: not defined */
		return;
	}
	/* The proof comes for each name that a wildcard made, whatever follows. */
	bool is_answered = expect_node(x, wildcard, name);
	if (is_answered && x->dnssec) {
		proof_of_wildcard_answer(x, name, next_closer);
	} else if (!is_answered) {
		x->e->kind = EXPECT_NODATA;
		expect_soa(x);
		if (x->dnssec) {
			proof_of_wildcard_nodata(x, name, wildcard_name);
		}
	}
}

/* From the apex down: a cut or a DNAME on the way decides, else the name itself. */
static void expect_name(expecting_t *x, knot_name_t name)
{
	const model_t *m = x->model;
	const uint8_t apex_labels = m->zones[x->zone].label_count;
	for (unsigned labels = apex_labels; labels <= name.label_count; labels++) {
		uint32_t node = model_find(m, x->zone, knot_name_strip(name, name.label_count - labels));
		if (node == MODEL_NONE) {
			break;
		}
		bool is_last = labels == name.label_count;
		if (m->nodes[node].is_cut && !(is_last && x->type == KNOT_TYPE_DS)) {
			expect_referral(x, node);
			return;
		}
		if (m->nodes[node].has_dname && !is_last) {
			expect_dname(x, node, name);
			return;
		}
		if (is_last && !m->nodes[node].is_hidden) {
			if (!expect_node(x, node, name)) {
				expect_nodata(x, name);
			}
			return;
		}
	}
	expect_missing(x, name);
}

static void expectation_clear(expectation_t *e)
{
	e->answer.count = e->authority.count = e->glue.count = 0;
	e->rcode = KNOT_RCODE_NOERROR;
	e->is_authoritative = true;
	e->failed = false;
	e->kind = EXPECT_UNKNOWN;
	e->zone = MODEL_NONE;
}

void expect(const model_t *m, knot_name_t lower, uint16_t type, bool dnssec, expectation_t *e)
{
	expectation_clear(e);
	uint32_t zone = model_zone_of(m, lower);
	if (zone != MODEL_NONE && type == KNOT_TYPE_DS && lower.label_count == m->zones[zone].label_count) {
		/* DS is the parent's (RFC 4035 3.1.4.1); without the parent it is no data at the apex. */
		uint32_t above = model_zone_above(m, lower);
		zone = above != MODEL_NONE ? above : zone;
	}
	if (zone == MODEL_NONE) {
		e->kind = EXPECT_REFUSED;
		e->rcode = KNOT_RCODE_REFUSED;
		e->is_authoritative = false;
		return;
	}
	if (type == KNOT_TYPE_ANY || type == KNOT_TYPE_RRSIG || type == KNOT_TYPE_OPT || (type >= 128 && type <= 255)) {
		return; /* ANY: servers may choose (RFC 8482), RRSIG likewise; meta types: not data */
	}
	e->zone = zone;
	expecting_t x = {
		.model = m, .e = e, .zone = zone, .type = type, .dnssec = dnssec && m->zones[zone].is_signed
	};
	expect_name(&x, lower);
	e->kind = e->failed ? EXPECT_UNKNOWN : e->kind;
}

void expectation_done(expectation_t *e)
{
	free(e->answer.records);
	free(e->authority.records);
	free(e->glue.records);
	*e = (expectation_t){ 0 };
}
