/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/records.h"

#include <assert.h>
#include <stdlib.h>

#include "libdnssec/digest.h"

enum { HEAD_LEN = 4, PROTOCOL = 3 };

size_t keys_dnskey(const kasp_key_t *key, bool is_revoked, uint8_t ret_rdata[static DNSSEC_KEY_RDATA_MAX])
{
	uint16_t flags = key->flags;
	assert(key->public.len <= DNSSEC_KEY_RDATA_MAX - HEAD_LEN);
	if (is_revoked) {
		flags = (uint16_t)((flags | DNSSEC_FLAG_REVOKE) & ~DNSSEC_FLAG_ADT);
	}
	store_be16(ret_rdata, flags);
	ret_rdata[2] = PROTOCOL;
	ret_rdata[3] = key->algorithm;
	memcpy(ret_rdata + HEAD_LEN, key->public.data, key->public.len);
	return HEAD_LEN + key->public.len;
}

static knot_err_t records_add(keys_rdatas_t *list, const uint8_t *rdata, size_t len)
{
	knot_bytes_t *rdatas = realloc(list->rdatas, (list->count + 1) * sizeof(*rdatas));
	if (rdatas == NULL) {
		return KNOT_ENOMEM;
	}
	list->rdatas = rdatas;
	uint8_t *copy = malloc(len);
	if (copy == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(copy, rdata, len);
	list->rdatas[list->count++] = (knot_bytes_t){ copy, len };
	return KNOT_OK;
}

static void records_free(keys_rdatas_t *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free((void *)(uintptr_t)list->rdatas[i].data);
	}
	free(list->rdatas);
}

void keys_records_done(keys_records_t *records)
{
	keys_rdatas_t *lists[] = { &records->dnskey, &records->cds, &records->cdnskey, &records->no_dnskey,
		&records->no_cds, &records->no_cdnskey };
	for (size_t i = 0; i < KNOT_LEN(lists); i++) {
		records_free(lists[i]);
	}
	*records = (keys_records_t){ 0 };
}

/** What decides about CDS and CDNSKEY. */
typedef struct {
	bool is_any_ready;
	uint8_t ready_algorithm;
} records_ready_t;

static bool records_is_submitted(
		const kasp_key_t *key, const keys_use_t *use, uint8_t publish, const records_ready_t *ready)
{
	if (!key->is_ksk || key->is_public_only || !(use->is_ready || use->is_active)) {
		return false;
	}
	switch (publish) {
	case CONF_CDS_ROLLOVER: return use->is_ready;
	case CONF_CDS_ALWAYS: return use->is_ready || !ready->is_any_ready;
	case CONF_CDS_DOUBLE_DS:
		return use->is_ready || !ready->is_any_ready || key->algorithm == ready->ready_algorithm;
	default: return false;
	}
}

static knot_err_t records_put_key(keys_records_t *records, const kasp_key_t *key, const keys_use_t *use,
		bool is_submitted, uint8_t digest, knot_name_t zone)
{
	uint8_t dnskey[DNSSEC_KEY_RDATA_MAX], cds[DNSSEC_DS_MAX];
	size_t len = keys_dnskey(key, use->is_revoked, dnskey), cds_len;
	knot_err_t err = records_add(use->is_public ? &records->dnskey : &records->no_dnskey, dnskey, len);
	if (err != KNOT_OK || !key->is_ksk) {
		return err;
	}
	err = dnssec_ds_make(digest, zone, (knot_bytes_t){ dnskey, len }, cds, &cds_len);
	err = err == KNOT_OK ? records_add(is_submitted ? &records->cds : &records->no_cds, cds, cds_len) : err;
	records->submitted_count += is_submitted;
	return err == KNOT_OK ? records_add(is_submitted ? &records->cdnskey : &records->no_cdnskey, dnskey, len) : err;
}

/* RFC 8078 4: the parent is asked to remove the DS records. */
static knot_err_t records_put_deletion(keys_records_t *records)
{
	static const uint8_t cds[] = { 0, 0, 0, 0, 0 }, cdnskey[] = { 0, 0, PROTOCOL, 0, 0 };
	knot_err_t err = records_add(&records->cds, cds, sizeof(cds));
	return err == KNOT_OK ? records_add(&records->cdnskey, cdnskey, sizeof(cdnskey)) : err;
}

knot_err_t keys_records_make(const kasp_key_t *keys, size_t count, const conf_policy_t *policy, knot_name_t zone,
		uint64_t now_s, keys_records_t *ret_records)
{
	records_ready_t ready = { 0 };
	*ret_records = (keys_records_t){ 0 };
	for (size_t i = 0; i < count; i++) {
		if (keys_use(keys, count, i, now_s).is_ready && !keys[i].is_public_only) {
			ready = (records_ready_t){ true, keys[i].algorithm };
		}
	}
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		keys_use_t use = keys_use(keys, count, i, now_s);
		bool is_submitted = records_is_submitted(&keys[i], &use, policy->cds_publish, &ready);
		err = records_put_key(ret_records, &keys[i], &use, is_submitted, policy->cds_digest, zone);
	}
	return err == KNOT_OK && policy->cds_publish == CONF_CDS_DELETE ? records_put_deletion(ret_records) : err;
}

bool keys_has_size(const kasp_key_t *key, unsigned bits)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	dnssec_key_t *public;
	const dnssec_algorithm_t *row = dnssec_algorithm_find(key->algorithm);
	if (row == NULL || row->kind != DNSSEC_KIND_RSA) {
		return row != NULL;
	}
	size_t len = keys_dnskey(key, false, rdata);
	if (dnssec_key_from_rdata((knot_bytes_t){ rdata, len }, &public) != KNOT_OK) {
		return false;
	}
	bool is_of = dnssec_key_bits(public) == (bits != 0 ? bits : row->bits_default);
	dnssec_key_free(public);
	return is_of;
}
