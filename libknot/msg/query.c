/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/query.h"

#include "libknot/rr/rdata.h"

/* Step over a name that may be compressed; the labels before a pointer are checked, the rest of the name is not. */
static bool skip_name(knot_reader_t *r)
{
	size_t start = r->pos;
	while (true) {
		uint8_t len = knot_read_u8(r);
		if (r->failed || len == 0) {
			return !r->failed;
		}
		if (len >= 0xC0) {
			uint8_t low = knot_read_u8(r);
			return !r->failed && ((len & 0x3Fu) << 8 | low) < start;
		}
		if (len > KNOT_LABEL_MAX) {
			return false;
		}
		knot_read(r, len);
		if (r->pos - start >= KNOT_NAME_MAX) {
			return false;
		}
	}
}

/* Check every option's bounds and note which codes there are. */
static bool check_options(knot_bytes_t options, uint32_t *ret_bits)
{
	size_t pos = 0;
	uint32_t bits = 0;
	while (pos < options.len) {
		if (options.len - pos < 4) {
			return false;
		}
		size_t len = load_be16(options.data + pos + 2);
		if (options.len - pos - 4 < len) {
			return false;
		}
		uint16_t code = load_be16(options.data + pos);
		bits |= 1u << (code < 31 ? code : 31);
		pos += 4 + len;
	}
	*ret_bits = bits;
	return true;
}

/* The question is where the header ends. */
static bool read_question(knot_bytes_t wire, knot_query_t *q)
{
	knot_bytes_t rest = { wire.data + KNOT_MSG_QNAME_OFF, wire.len - KNOT_MSG_QNAME_OFF };
	knot_name_t qname;
	if (knot_name_read(rest, &qname) != KNOT_OK || rest.len - qname.len < 4) {
		return false;
	}
	q->qname = qname;
	knot_name_lower(qname, q->qname_lower);
	q->qtype = load_be16(qname.wire + qname.len);
	q->qclass = load_be16(qname.wire + qname.len + 2);
	q->question_len = (uint16_t)(qname.len + 4);
	return true;
}

/* Fixed part of a resource record behind its owner. */
typedef struct {
	uint16_t type, class;
	uint32_t ttl;
	knot_bytes_t rdata;
} rr_head_t;

static bool read_rr(knot_reader_t *r, bool *ret_root_owner, rr_head_t *ret_rr)
{
	*ret_root_owner = !r->failed && r->pos < r->len && r->data[r->pos] == 0;
	if (!skip_name(r)) {
		return false;
	}
	const uint8_t *p = knot_read(r, 10);
	if (p == NULL) {
		return false;
	}
	uint16_t len = load_be16(p + 8);
	const uint8_t *rdata = knot_read(r, len);
	if (rdata == NULL) {
		return false;
	}
	*ret_rr = (rr_head_t){ load_be16(p), load_be16(p + 2), load_be32(p + 4), { rdata, len } };
	return true;
}

/* The first OPT; its owner is the root. */
static inline bool take_opt(const rr_head_t *rr, knot_query_t *q)
{
	uint32_t option_bits = 0;
	if (rr->rdata.len > 0 && !check_options(rr->rdata, &option_bits)) {
		return false;
	}
	q->edns = (knot_edns_t){
		.present = true,
		.dnssec_ok = (rr->ttl & 0x8000) != 0,
		.version = (uint8_t)(rr->ttl >> 16),
		.ext_rcode = (uint8_t)(rr->ttl >> 24),
		.udp_payload = rr->class,
		.flags = (uint16_t)rr->ttl,
		.option_bits = option_bits,
		.options = rr->rdata,
	};
	return true;
}

/* Other records: their RDATA is checked, so that a half-garbage message gets no answer. Rare: plain queries have none.
 */
__attribute__((noinline)) static bool check_rdata(const knot_reader_t *r, const rr_head_t *rr)
{
	uint8_t scratch[KNOT_RDATA_MAX];
	uint16_t len;
	if (rr->rdata.len == 0 && rr->class != KNOT_CLASS_IN) {
		return true; /* as in the prerequisites and deletions of an UPDATE, RFC 2136 2.4 and 2.5 */
	}
	return knot_rdata_unpack(rr->type, (knot_bytes_t){ r->data, r->len }, (size_t)(rr->rdata.data - r->data),
			       (uint16_t)rr->rdata.len, (knot_mut_bytes_t){ scratch, sizeof(scratch) },
			       &len) == KNOT_OK;
}

__attribute__((noinline)) static bool read_records(knot_query_t *q)
{
	knot_reader_t r = knot_reader_of(q->wire);
	r.pos = q->additional_off;
	uint32_t before = (uint32_t)q->ancount + q->nscount;
	uint32_t count = before + q->arcount;
	for (uint32_t i = 0; i < count; i++) {
		bool root_owner;
		rr_head_t rr;
		if (!read_rr(&r, &root_owner, &rr)) {
			return false;
		}
		if (rr.type == KNOT_TYPE_OPT) {
			if (i < before || !root_owner || q->edns.present || !take_opt(&rr, q)) {
				return false;
			}
		} else if (rr.type == KNOT_TYPE_TSIG) {
			if (i + 1 != count || i < before) {
				return false;
			}
			q->has_tsig = 1;
		} else if (!check_rdata(&r, &rr)) {
			return false;
		}
	}
	return r.pos == r.len;
}

enum { OPT_LEN = 11 }; /* with the root as owner, without options */

/* What follows the question: nothing, or an OPT record and nothing else, but for one request in thousands. */
static inline bool read_rest(knot_query_t *q)
{
	const uint8_t *p = q->wire.data + q->additional_off;
	size_t left = q->wire.len - q->additional_off;
	if ((q->ancount | q->nscount | q->arcount) == 0) {
		return left == 0;
	}
	bool is_opt = (q->ancount | q->nscount) == 0 && q->arcount == 1 && left >= OPT_LEN && p[0] == 0 &&
		      load_be16(p + 1) == KNOT_TYPE_OPT && load_be16(p + 9) == left - OPT_LEN;
	if (__builtin_expect(!is_opt, false)) {
		return read_records(q);
	}
	const rr_head_t opt = { KNOT_TYPE_OPT, load_be16(p + 3), load_be32(p + 5), { p + OPT_LEN, left - OPT_LEN } };
	return take_opt(&opt, q);
}

knot_msg_verdict_t knot_query_parse(knot_bytes_t wire, knot_query_t *ret_query)
{
	knot_query_t *q = ret_query;
	/* Everything but qname_lower, which is written with the question and is large. */
	q->wire = wire;
	q->qname = (knot_name_t){ 0 };
	q->qtype = q->question_len = 0;
	q->class_and_tsig = 0;
	q->additional_off = KNOT_MSG_HEADER_LEN;
	q->edns = (knot_edns_t){ 0 };
	if (wire.len < KNOT_MSG_HEADER_LEN) {
		q->id = q->flags = q->qdcount = q->ancount = q->nscount = q->arcount = 0;
		q->opcode = KNOT_OPCODE_QUERY;
		return KNOT_MSG_DROP;
	}
	const uint8_t *p = wire.data;
	q->id = load_be16(p);
	q->flags = load_be16(p + 2);
	q->qdcount = load_be16(p + 4);
	q->ancount = load_be16(p + 6);
	q->nscount = load_be16(p + 8);
	q->arcount = load_be16(p + 10);
	q->opcode = (knot_opcode_t)((q->flags & KNOT_OPCODE_MASK) >> 11);
	if (q->flags & KNOT_FLAG_QR) {
		return KNOT_MSG_DROP;
	}
	if (q->qdcount > 1 || wire.len > KNOT_MSG_MAX || (q->qdcount == 1 && !read_question(wire, q))) {
		return KNOT_MSG_FORMERR;
	}
	q->additional_off = (uint16_t)(KNOT_MSG_HEADER_LEN + q->question_len);
	return read_rest(q) ? KNOT_MSG_OK : KNOT_MSG_FORMERR;
}

bool knot_edns_next(knot_bytes_t options, size_t *pos, knot_edns_option_t *ret_option)
{
	if (options.len < 4 || *pos > options.len - 4) {
		return false;
	}
	size_t len = load_be16(options.data + *pos + 2);
	if (options.len - *pos - 4 < len) {
		return false;
	}
	*ret_option = (knot_edns_option_t){ load_be16(options.data + *pos), { options.data + *pos + 4, len } };
	*pos += 4 + len;
	return true;
}
