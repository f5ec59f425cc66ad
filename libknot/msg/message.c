/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/message.h"

knot_err_t knot_message_begin(knot_bytes_t wire, knot_message_t *ret_message)
{
	if (wire.len < KNOT_MSG_HEADER_LEN) {
		return KNOT_EMALF;
	}
	knot_message_t m = {
		.wire = wire, .id = load_be16(wire.data), .flags = load_be16(wire.data + 2), .pos = KNOT_MSG_HEADER_LEN
	};
	for (unsigned i = 0; i < 4; i++) {
		m.counts[i] = load_be16(wire.data + 4 + 2 * i);
	}
	m.left = m.counts[0];
	*ret_message = m;
	return KNOT_OK;
}

static bool read_record(knot_message_t *m, knot_message_rr_t *rr)
{
	rr->off = m->pos;
	if (knot_name_unpack(m->wire, &m->pos, rr->owner_wire, &rr->owner) != KNOT_OK) {
		return false;
	}
	knot_reader_t r = knot_reader_of(m->wire);
	r.pos = m->pos;
	rr->section = m->section;
	rr->type = knot_read_u16(&r);
	rr->class = knot_read_u16(&r);
	rr->ttl = 0;
	rr->rdata_len = 0;
	if (m->section != KNOT_SECTION_QUESTION) {
		rr->ttl = knot_read_u32(&r);
		rr->rdata_len = knot_read_u16(&r);
	}
	rr->rdata_off = r.pos;
	knot_read(&r, rr->rdata_len);
	m->pos = r.pos;
	return !r.failed;
}

bool knot_message_next(knot_message_t *message, knot_message_rr_t *ret_rr)
{
	while (message->left == 0) {
		if (message->section == KNOT_SECTION_ADDITIONAL) {
			return false;
		}
		message->section++;
		message->left = message->counts[message->section];
	}
	if (message->failed || !read_record(message, ret_rr)) {
		message->failed = true;
		return false;
	}
	message->left--;
	return true;
}

bool knot_message_is_whole(const knot_message_t *message)
{
	return !message->failed && message->section == KNOT_SECTION_ADDITIONAL && message->left == 0 &&
	       message->pos == message->wire.len;
}
