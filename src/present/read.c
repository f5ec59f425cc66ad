/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/read.h"

#include "libknot/rr/rdata.h"

static bool read_fail(present_message_t *m, const char *fault, size_t off)
{
	m->fault = fault;
	m->fault_off = off;
	m->end = off;
	return false;
}

static bool read_check_options(knot_bytes_t options)
{
	knot_reader_t r = knot_reader_of(options);
	while (knot_reader_left(&r) > 0 && !r.failed) {
		(void)knot_read_u16(&r);
		(void)knot_read(&r, knot_read_u16(&r));
	}
	return !r.failed;
}

static bool read_take_opt(present_message_t *m, const knot_message_rr_t *rr)
{
	if (rr->section != KNOT_SECTION_ADDITIONAL) {
		return read_fail(m, "OPT outside of the additional section", rr->off);
	}
	if (m->has_opt) {
		return read_fail(m, "two OPT records", rr->off);
	}
	m->options = (knot_bytes_t){ m->wire.data + rr->rdata_off, rr->rdata_len };
	if (!read_check_options(m->options)) {
		return read_fail(m, "an EDNS option is cut off", rr->off);
	}
	m->has_opt = true;
	m->opt_payload = rr->class;
	m->opt_ttl = rr->ttl;
	m->opt_off = rr->off;
	m->rcode |= (rr->ttl >> 24) << 4;
	return true;
}

static bool read_take_tsig(present_message_t *m, const knot_message_rr_t *rr)
{
	size_t record_end = rr->rdata_off + rr->rdata_len;
	if (rr->section != KNOT_SECTION_ADDITIONAL || m->has_tsig ||
			knot_tsig_read((knot_bytes_t){ m->wire.data, record_end }, m->key_wire, &m->tsig) != KNOT_OK) {
		return read_fail(m, "bad TSIG", rr->off);
	}
	m->has_tsig = true;
	m->tsig_rdata = (knot_bytes_t){ m->wire.data + rr->rdata_off, rr->rdata_len };
	if (m->rcode == KNOT_RCODE_NOTAUTH && m->tsig.error != 0) { /* the reason, RFC 8945 5.2 */
		m->rcode = m->tsig.error;
	}
	return true;
}

static bool read_take_record(present_message_t *m, const knot_message_rr_t *rr)
{
	static __thread uint8_t rdata[KNOT_RDATA_MAX];
	uint16_t len;
	if (m->has_tsig) {
		return read_fail(m, "a record behind TSIG", rr->off);
	}
	switch (rr->type) {
	case KNOT_TYPE_OPT: return read_take_opt(m, rr);
	case KNOT_TYPE_TSIG: return read_take_tsig(m, rr);
	default: break;
	}
	if (present_is_empty(rr)) {
		return true;
	}
	if (knot_rdata_unpack(rr->type, m->wire, rr->rdata_off, rr->rdata_len,
			    (knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) != KNOT_OK) {
		return read_fail(m, "RDATA isn't of its type", rr->off);
	}
	return true;
}

bool present_read(knot_bytes_t wire, present_message_t *ret_message)
{
	present_message_t *m = ret_message;
	knot_message_t view;
	knot_message_rr_t rr;
	memset(m, 0, offsetof(present_message_t, qname_wire));
	m->wire = wire;
	if (knot_message_begin(wire, &view) != KNOT_OK) {
		return read_fail(m, "shorter than a header", 0);
	}
	m->id = view.id;
	m->flags = view.flags;
	m->rcode = view.flags & KNOT_RCODE_MASK;
	memcpy(m->counts, view.counts, sizeof(m->counts));
	m->end = KNOT_MSG_HEADER_LEN;
	if (view.counts[0] > 1) {
		return read_fail(m, "more than one question", m->end);
	}
	while (knot_message_next(&view, &rr)) {
		if (rr.section == KNOT_SECTION_QUESTION) {
			m->has_question = true;
			m->qname = (knot_name_t){ m->qname_wire, rr.owner.len, rr.owner.label_count };
			memcpy(m->qname_wire, rr.owner_wire, rr.owner.len);
			m->qtype = rr.type;
			m->qclass = rr.class;
		} else if (!read_take_record(m, &rr)) {
			return false;
		}
		m->end = view.pos;
	}
	return view.failed ? read_fail(m, "a record is cut off, or its owner isn't a name", m->end) : true;
}
