/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/kasp/offline.h"

#include "libknot/rr/rdata.h"

#include <stdlib.h>
#include <string.h>

enum { SET_HEAD_LEN = 6, RR_HEAD_LEN = 6 }; /* type, class, count; TTL, length */

uint16_t kasp_offline_type(kasp_offline_place_t place)
{
	static const uint16_t types[KASP_OFFLINE_SETS] = {
		[KASP_OFFLINE_DNSKEY] = KNOT_TYPE_DNSKEY,
		[KASP_OFFLINE_CDNSKEY] = KNOT_TYPE_CDNSKEY,
		[KASP_OFFLINE_CDS] = KNOT_TYPE_CDS,
		[KASP_OFFLINE_RRSIG] = KNOT_TYPE_RRSIG,
	};
	return types[place];
}

static kasp_offline_set_t *offline_set_of(kasp_offline_t *offline, uint16_t type)
{
	for (unsigned i = 0; i < KASP_OFFLINE_SETS; i++) {
		if (kasp_offline_type(i) == type) {
			return &offline->sets[i];
		}
	}
	return NULL;
}

knot_err_t kasp_offline_add(kasp_offline_t *offline, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	kasp_offline_set_t *set = offline_set_of(offline, type);
	if (set == NULL) {
		return KNOT_ENOTSUP;
	}
	size_t at = 0;
	int order = -1;
	while (at < set->count && (order = knot_rdata_cmp(set->rrs[at].rdata, rdata)) < 0) {
		at++;
	}
	if (at < set->count && order == 0) {
		return KNOT_OK;
	}
	if (set->count == UINT16_MAX) {
		return KNOT_ESPACE; /* their number is written so */
	}
	uint8_t *copy = malloc(rdata.len + 1);
	kasp_offline_rr_t *rrs = realloc(set->rrs, (set->count + 1) * sizeof(*rrs));
	set->rrs = rrs != NULL ? rrs : set->rrs;
	if (copy == NULL || rrs == NULL) {
		free(copy);
		return KNOT_ENOMEM;
	}
	memcpy(copy, rdata.data, rdata.len);
	memmove(rrs + at + 1, rrs + at, (set->count - at) * sizeof(*rrs));
	rrs[at] = (kasp_offline_rr_t){ ttl, { copy, rdata.len } };
	set->count++;
	return KNOT_OK;
}

void kasp_offline_done(kasp_offline_t *offline)
{
	for (size_t i = 0; i < KASP_OFFLINE_SETS; i++) {
		kasp_offline_set_t *set = &offline->sets[i];
		for (size_t j = 0; j < set->count; j++) {
			free((void *)(uintptr_t)set->rrs[j].rdata.data);
		}
		free(set->rrs);
	}
	*offline = (kasp_offline_t){ 0 };
}

size_t kasp_offline_len(const kasp_offline_t *offline, knot_name_t zone)
{
	size_t len = 0;
	for (size_t i = 0; i < KASP_OFFLINE_SETS; i++) {
		len += zone.len + SET_HEAD_LEN;
		for (size_t j = 0; j < offline->sets[i].count; j++) {
			len += RR_HEAD_LEN + offline->sets[i].rrs[j].rdata.len;
		}
	}
	return len;
}

void kasp_offline_write(const kasp_offline_t *offline, knot_name_t zone, uint8_t *ret_value)
{
	uint8_t *at = ret_value;
	for (unsigned i = 0; i < KASP_OFFLINE_SETS; i++) {
		const kasp_offline_set_t *set = &offline->sets[i];
		memcpy(at, zone.wire, zone.len);
		at += zone.len;
		store_be16(at, kasp_offline_type(i));
		store_be16(at + 2, KNOT_CLASS_IN);
		store_be16(at + 4, (uint16_t)set->count);
		at += SET_HEAD_LEN;
		for (size_t j = 0; j < set->count; j++) {
			const kasp_offline_rr_t *rr = &set->rrs[j];
			store_be32(at, rr->ttl);
			store_be16(at + 4, (uint16_t)rr->rdata.len);
			memcpy(at + RR_HEAD_LEN, rr->rdata.data, rr->rdata.len);
			at += RR_HEAD_LEN + rr->rdata.len;
		}
	}
}

static knot_err_t offline_read_set(knot_reader_t *r, uint16_t type, knot_name_t zone, kasp_offline_t *offline)
{
	knot_err_t err = KNOT_OK;
	const uint8_t *owner = knot_read(r, zone.len);
	uint16_t found = knot_read_u16(r), class = knot_read_u16(r), count = knot_read_u16(r);
	if (r->failed || found != type || class != KNOT_CLASS_IN || memcmp(owner, zone.wire, zone.len) != 0) {
		return KNOT_EMALF;
	}
	for (unsigned i = 0; i < count && err == KNOT_OK; i++) {
		uint32_t ttl = knot_read_u32(r);
		uint16_t len = knot_read_u16(r);
		const uint8_t *rdata = knot_read(r, len);
		err = r->failed || knot_rdata_check(type, (knot_bytes_t){ rdata, len }) != KNOT_OK
				      ? KNOT_EMALF
				      : kasp_offline_add(offline, type, ttl, (knot_bytes_t){ rdata, len });
	}
	return err;
}

knot_err_t kasp_offline_read(knot_bytes_t value, knot_name_t zone, kasp_offline_t *ret_offline)
{
	knot_reader_t r = knot_reader_of(value);
	kasp_offline_t offline = { 0 };
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; i < KASP_OFFLINE_SETS && err == KNOT_OK; i++) {
		err = offline_read_set(&r, kasp_offline_type(i), zone, &offline);
	}
	if (err != KNOT_OK) {
		kasp_offline_done(&offline);
		return err;
	}
	*ret_offline = offline;
	return KNOT_OK;
}
