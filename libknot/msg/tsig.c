/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/tsig.h"

#include "libknot/msg/message.h"

enum { RR_FIXED_LEN = 10 /* type to RDLENGTH */ };

knot_err_t knot_tsig_read(knot_bytes_t message, uint8_t key_wire[static KNOT_NAME_MAX], knot_tsig_t *ret_tsig)
{
	knot_message_t view;
	knot_message_rr_t rr = { .rdata_len = 0 };
	if (knot_message_begin(message, &view) != KNOT_OK) {
		return KNOT_EMALF;
	}
	while (knot_message_next(&view, &rr)) {}
	knot_bytes_t rdata = { message.data + rr.rdata_off, rr.rdata_len };
	knot_name_t algorithm;
	if (!knot_message_is_whole(&view) || rr.type != KNOT_TYPE_TSIG || rr.section != KNOT_SECTION_ADDITIONAL ||
			rr.class != KNOT_CLASS_ANY || rr.ttl != 0 || knot_name_read(rdata, &algorithm) != KNOT_OK) {
		return KNOT_EMALF;
	}
	knot_reader_t r = knot_reader_of(rdata);
	r.pos = algorithm.len;
	uint64_t time_s = (uint64_t)knot_read_u16(&r) << 32;
	time_s |= knot_read_u32(&r);
	uint16_t fudge_s = knot_read_u16(&r), mac_len = knot_read_u16(&r);
	const uint8_t *mac = knot_read(&r, mac_len);
	uint16_t original_id = knot_read_u16(&r), error = knot_read_u16(&r);
	uint16_t other_len = knot_read_u16(&r);
	const uint8_t *other = knot_read(&r, other_len);
	if (r.failed || r.pos != r.len) {
		return KNOT_EMALF;
	}
	memcpy(key_wire, rr.owner.wire, rr.owner.len);
	*ret_tsig = (knot_tsig_t){
		.key = { key_wire, rr.owner.len, rr.owner.label_count },
		.algorithm = algorithm,
		.time_s = time_s,
		.fudge_s = fudge_s,
		.mac = { mac, mac_len },
		.original_id = original_id,
		.error = error,
		.other = { other, other_len },
		.off = rr.off,
	};
	return KNOT_OK;
}

knot_err_t knot_tsig_put(knot_msg_writer_t *w, const knot_tsig_t *tsig)
{
	size_t rdata_len = tsig->algorithm.len + (size_t)KNOT_TSIG_FIXED_LEN + tsig->mac.len + tsig->other.len;
	size_t len = tsig->key.len + (size_t)RR_FIXED_LEN + rdata_len;
	if (len > w->max - w->len) {
		return KNOT_ESPACE;
	}
	assert(tsig->time_s >> 48 == 0);
	knot_writer_t out = knot_writer_of((knot_mut_bytes_t){ w->data + w->len, len });
	knot_write(&out, tsig->key.wire, tsig->key.len);
	knot_write_u16(&out, KNOT_TYPE_TSIG);
	knot_write_u16(&out, KNOT_CLASS_ANY);
	knot_write_u32(&out, 0); /* TTL */
	knot_write_u16(&out, (uint16_t)rdata_len);
	knot_write(&out, tsig->algorithm.wire, tsig->algorithm.len);
	knot_write_u16(&out, (uint16_t)(tsig->time_s >> 32));
	knot_write_u32(&out, (uint32_t)tsig->time_s);
	knot_write_u16(&out, tsig->fudge_s);
	knot_write_u16(&out, (uint16_t)tsig->mac.len);
	knot_write(&out, tsig->mac.data, tsig->mac.len);
	knot_write_u16(&out, tsig->original_id);
	knot_write_u16(&out, tsig->error);
	knot_write_u16(&out, (uint16_t)tsig->other.len);
	knot_write(&out, tsig->other.data, tsig->other.len);
	assert(!out.failed && out.len == len);
	w->len += len;
	w->counts[KNOT_SECTION_ADDITIONAL]++;
	return KNOT_OK;
}
