/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/rdata.h"

#include <assert.h>

size_t sign_rrsig_print(const sign_rrsig_t *rrsig, uint8_t ret_head[static SIGN_RRSIG_HEAD_MAX])
{
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ ret_head, SIGN_RRSIG_HEAD_MAX });
	knot_write_u16(&w, rrsig->type);
	knot_write_u8(&w, rrsig->algorithm);
	knot_write_u8(&w, rrsig->label_count);
	knot_write_u32(&w, rrsig->ttl);
	knot_write_u32(&w, rrsig->expiration);
	knot_write_u32(&w, rrsig->inception);
	knot_write_u16(&w, rrsig->tag);
	knot_write(&w, rrsig->signer.wire, rrsig->signer.len);
	assert(!w.failed);
	return w.len;
}

uint64_t sign_rrsig_time(uint32_t field, uint64_t now_s)
{
	int32_t distance = (int32_t)(field - (uint32_t)now_s);
	return distance < 0 && now_s < (uint64_t) - (int64_t)distance ? 0 : now_s + (uint64_t)(int64_t)distance;
}

size_t sign_bitmap_print(const uint16_t *types, size_t count, uint8_t ret_bitmap[static SIGN_BITMAP_MAX])
{
	size_t len = 0;
	uint8_t *window = NULL;
	for (size_t i = 0; i < count; i++) {
		assert(i == 0 || types[i - 1] < types[i]);
		uint8_t number = (uint8_t)(types[i] >> 8), byte = (types[i] & 0xFF) / 8;
		if (window == NULL || window[0] != number) {
			window = ret_bitmap + len;
			window[0] = number;
			window[1] = 0;
			len += 2;
		}
		for (; window[1] <= byte; window[1]++) {
			ret_bitmap[len++] = 0;
		}
		window[2 + byte] |= (uint8_t)(0x80 >> types[i] % 8);
	}
	return len;
}

static void write_params(knot_writer_t *w, const zone_nsec3_params_t *params, uint8_t flags)
{
	knot_write_u8(w, params->algorithm);
	knot_write_u8(w, flags);
	knot_write_u16(w, params->iterations);
	knot_write_u8(w, params->salt_len);
	knot_write(w, params->salt, params->salt_len);
}

size_t sign_nsec3_print(const zone_nsec3_params_t *params, bool is_opt_out,
		const uint8_t next_hash[static ZONE_NSEC3_HASH_LEN], uint8_t ret_head[static SIGN_NSEC3_HEAD_MAX])
{
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ ret_head, SIGN_NSEC3_HEAD_MAX });
	write_params(&w, params, is_opt_out);
	knot_write_u8(&w, ZONE_NSEC3_HASH_LEN);
	knot_write(&w, next_hash, ZONE_NSEC3_HASH_LEN);
	assert(!w.failed);
	return w.len;
}

size_t sign_nsec3param_print(const zone_nsec3_params_t *params, uint8_t ret_rdata[static SIGN_NSEC3_HEAD_MAX])
{
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ ret_rdata, SIGN_NSEC3_HEAD_MAX });
	write_params(&w, params, 0);
	assert(!w.failed);
	return w.len;
}

knot_bytes_t sign_rdata_bitmap(uint16_t type, knot_bytes_t rdata)
{
	size_t at;
	if (type == KNOT_TYPE_NSEC) {
		at = knot_name_of(rdata.data).len;
	} else {
		at = 5 + (size_t)rdata.data[4];
		at += 1 + (size_t)rdata.data[at];
	}
	return (knot_bytes_t){ rdata.data + at, rdata.len - at };
}
