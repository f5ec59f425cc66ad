/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/faults_records.h"

#include <stdio.h>
#include <stdlib.h>

#include "libdnssec/sign.h"
#include "libknot/rr/rrtype.h"
#include "src/sign/rdata.h"
#include "src/sign/set.h"

enum { LIFETIME_S = 7 * 86400, SET_MAX = 64, CLASS_IN = 1 };

static void *records_alloc(void *old, size_t size)
{
	void *memory = realloc(old, size);
	if (memory == NULL) {
		perror("faults_sim");
		exit(2);
	}
	return memory;
}

/* ---- Lists ---- */

static bool records_take(const zone_rr_t *rr, void *ctx)
{
	sim_rrs_t *rrs = ctx;
	if (rrs->count == rrs->max) {
		rrs->max = 2 * rrs->max + 64;
		rrs->rrs = records_alloc(rrs->rrs, rrs->max * sizeof(*rrs->rrs));
	}
	sim_rr_t *taken = &rrs->rrs[rrs->count++];
	uint8_t *bytes = records_alloc(NULL, rr->rdata.len + rr->owner.len + 1);
	memcpy(bytes, rr->rdata.data, rr->rdata.len);
	memcpy(bytes + rr->rdata.len, rr->owner.wire, rr->owner.len);
	*taken = (sim_rr_t){ .owner = { bytes + rr->rdata.len, rr->owner.len, rr->owner.label_count },
		.type = rr->type,
		.ttl = rr->ttl,
		.rdata = bytes,
		.len = rr->rdata.len };
	return true;
}

sim_rrs_t sim_rrs_of(const zone_contents_t *zone)
{
	sim_rrs_t rrs = { .rrs = NULL };
	uint8_t *scratch = records_alloc(NULL, KNOT_RDATA_MAX);
	(void)zone_each_record(zone, scratch, records_take, &rrs);
	free(scratch);
	return rrs;
}

void sim_rrs_free(sim_rrs_t *rrs)
{
	for (size_t i = 0; i < rrs->count; i++) {
		free(rrs->rrs[i].rdata);
	}
	free(rrs->rrs);
	*rrs = (sim_rrs_t){ .rrs = NULL };
}

const sim_rr_t *sim_rrs_draw(sim_spoil_t *spoil, bool (*is_wanted)(const sim_spoil_t *spoil, const sim_rr_t *rr))
{
	const sim_rrs_t *rrs = &spoil->rrs;
	size_t first = (size_t)sim_below(spoil->random, rrs->count);
	for (size_t i = 0; i < rrs->count; i++) {
		const sim_rr_t *rr = &rrs->rrs[(first + i) % rrs->count];
		if (is_wanted(spoil, rr)) {
			return rr;
		}
	}
	return NULL;
}

uint16_t sim_rr_covers(const sim_rr_t *rr)
{
	return rr->type == KNOT_TYPE_RRSIG ? load_be16(rr->rdata) : 0;
}

bool sim_has_set(const sim_spoil_t *spoil, knot_name_t owner, uint16_t type)
{
	for (size_t i = 0; i < spoil->rrs.count; i++) {
		if (spoil->rrs.rrs[i].type == type && knot_name_eq(spoil->rrs.rrs[i].owner, owner)) {
			return true;
		}
	}
	return false;
}

/* ---- Edits ---- */

static void records_note(sim_spoil_t *spoil, knot_err_t err)
{
	spoil->is_failed = spoil->is_failed || (err != KNOT_OK && err != KNOT_EISRECORD);
}

void sim_put(sim_spoil_t *spoil, const sim_rr_t *rr)
{
	records_note(spoil,
			zone_txn_put(spoil->txn, rr->owner, rr->type, rr->ttl, (knot_bytes_t){ rr->rdata, rr->len }));
}

void sim_remove(sim_spoil_t *spoil, const sim_rr_t *rr)
{
	records_note(spoil, zone_txn_remove(spoil->txn, rr->owner, rr->type, (knot_bytes_t){ rr->rdata, rr->len }));
}

void sim_remove_set(sim_spoil_t *spoil, knot_name_t owner, uint16_t type)
{
	records_note(spoil, zone_txn_remove_all(spoil->txn, owner, type));
}

void sim_remove_signatures(sim_spoil_t *spoil, knot_name_t owner, uint16_t type)
{
	for (size_t i = 0; i < spoil->rrs.count; i++) {
		const sim_rr_t *rr = &spoil->rrs.rrs[i];
		if (sim_rr_covers(rr) == type && knot_name_eq(rr->owner, owner)) {
			sim_remove(spoil, rr);
		}
	}
}

void sim_replace(sim_spoil_t *spoil, const sim_rr_t *rr, const uint8_t *rdata, size_t len)
{
	sim_remove(spoil, rr);
	records_note(spoil, zone_txn_put(spoil->txn, rr->owner, rr->type, rr->ttl, (knot_bytes_t){ rdata, len }));
}

/* ---- Signing ---- */

typedef struct {
	uint16_t type;
	uint32_t ttl;
	size_t count;
	uint8_t *rdatas[SET_MAX]; /* owned: type, class, TTL, length and RDATA */
	size_t lens[SET_MAX];
} records_set_t;

static bool records_take_set(const zone_rr_t *rr, void *ctx)
{
	records_set_t *set = ctx;
	enum { HEAD = 10 };
	if (rr->type != set->type || set->count == SET_MAX) {
		return true;
	}
	size_t at = set->count++;
	set->ttl = rr->ttl;
	set->lens[at] = HEAD + rr->rdata.len;
	uint8_t *bytes = set->rdatas[at] = records_alloc(NULL, set->lens[at]);
	store_be16(bytes, rr->type);
	store_be16(bytes + 2, CLASS_IN);
	store_be32(bytes + 4, rr->ttl);
	store_be16(bytes + 8, (uint16_t)rr->rdata.len);
	memcpy(bytes + HEAD, rr->rdata.data, rr->rdata.len);
	for (; at > 0; at--) { /* RFC 4034 6.3: by RDATA */
		size_t a_len = set->lens[at - 1] - HEAD, b_len = set->lens[at] - HEAD;
		int order = memcmp(set->rdatas[at - 1] + HEAD, set->rdatas[at] + HEAD, a_len < b_len ? a_len : b_len);
		if (order < 0 || (order == 0 && a_len <= b_len)) {
			break;
		}
		uint8_t *other = set->rdatas[at - 1];
		size_t other_len = set->lens[at - 1];
		set->rdatas[at - 1] = set->rdatas[at];
		set->lens[at - 1] = set->lens[at];
		set->rdatas[at] = other;
		set->lens[at] = other_len;
	}
	return true;
}

static unsigned records_labels(knot_name_t owner)
{
	bool is_wildcard = owner.len > 2 && owner.wire[0] == 1 && owner.wire[1] == '*';
	return owner.label_count - (is_wildcard ? 1u : 0u);
}

/* The head of the signature, and what is signed: that, and the records. Returns the number of pieces. */
static size_t records_pieces(const sim_spoil_t *spoil, knot_name_t owner, const records_set_t *set,
		const sim_signing_t *how, const dnssec_key_t *key, uint8_t head[static SIGN_RRSIG_HEAD_MAX],
		size_t *ret_head_len, knot_bytes_t *pieces)
{
	knot_name_t signer = spoil->origin;
	if (how->has_other_signer) {
		size_t skip = 1u + signer.wire[0];
		signer = (knot_name_t){ signer.wire + skip, (uint8_t)(signer.len - skip),
			(uint8_t)(signer.label_count - 1) };
	}
	const sign_rrsig_t rrsig = { .type = set->type,
		.algorithm = dnssec_key_algorithm(key),
		.label_count = (uint8_t)((int)records_labels(owner) + how->labels),
		.ttl = (uint32_t)((int64_t)set->ttl + how->ttl),
		.expiration = (uint32_t)((int64_t)spoil->now_s + LIFETIME_S + how->shift_s),
		.inception = (uint32_t)((int64_t)spoil->now_s - 3600 + how->shift_s),
		.tag = (uint16_t)(dnssec_key_tag(key) + how->tag),
		.signer = signer };
	*ret_head_len = sign_rrsig_print(&rrsig, head);
	size_t count = 0;
	pieces[count++] = (knot_bytes_t){ head, *ret_head_len };
	for (size_t i = 0; i < set->count; i++) {
		store_be32(set->rdatas[i] + 4, rrsig.ttl);
		pieces[count++] = (knot_bytes_t){ owner.wire, owner.len };
		pieces[count++] = (knot_bytes_t){ set->rdatas[i], set->lens[i] };
	}
	return count;
}

void sim_sign(sim_spoil_t *spoil, knot_name_t owner, uint16_t type, const sim_signing_t *how)
{
	records_set_t set = { .type = type };
	uint8_t rdata[SIGN_RRSIG_HEAD_MAX + DNSSEC_SIGNATURE_MAX];
	knot_bytes_t pieces[1 + 2 * SET_MAX];
	size_t head_len, len = 0;
	bool is_of_keys = sign_is_key_type(type) && knot_name_eq(owner, spoil->origin);
	const dnssec_key_t *key = how->key != NULL ? how->key : is_of_keys ? spoil->ksk : spoil->zsk;
	dnssec_signer_t *signer = NULL;
	records_note(spoil, zone_txn_each_of(spoil->txn, owner, records_take_set, &set));
	if (!how->keeps_others) {
		sim_remove_signatures(spoil, owner, type);
	}
	size_t count = records_pieces(spoil, owner, &set, how, key, rdata, &head_len, pieces);
	knot_err_t err = dnssec_signer_new(how->by != NULL ? how->by : key, false, &signer);
	err = err == KNOT_OK ? dnssec_signer_sign(signer, pieces, count, rdata + head_len, &len) : err;
	dnssec_signer_free(signer);
	records_note(spoil, err);
	if (err == KNOT_OK) {
		const knot_bytes_t made = { rdata, head_len + len };
		records_note(spoil, zone_txn_put(spoil->txn, owner, KNOT_TYPE_RRSIG, set.ttl, made));
	}
	for (size_t i = 0; i < set.count; i++) {
		free(set.rdatas[i]);
	}
}
