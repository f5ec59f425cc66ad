/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/offline.h"

#include "src/sign/set.h"

#include <stdlib.h>

/* A set with its records and the signatures over it, as the signer has them. Free rrs. */
static knot_err_t offline_load(
		knot_name_t zone, const kasp_offline_t *offline, kasp_offline_place_t place, sign_set_t *ret_set)
{
	const kasp_offline_set_t *from = &offline->sets[place], *sigs = &offline->sets[KASP_OFFLINE_RRSIG];
	sign_rr_t *rrs = calloc(from->count + sigs->count + 1, sizeof(*rrs));
	if (rrs == NULL) {
		return KNOT_ENOMEM;
	}
	sign_set_t set = { .owner = zone,
		.type = kasp_offline_type(place),
		.is_signed = true,
		.rrs = rrs,
		.sigs = rrs + from->count,
		.rr_count = from->count };
	for (size_t i = 0; i < from->count; i++) {
		rrs[i] = (sign_rr_t){ .rdata = from->rrs[i].rdata, .ttl = from->rrs[0].ttl, .type = set.type };
	}
	for (size_t i = 0; i < sigs->count; i++) {
		const kasp_offline_rr_t *rr = &sigs->rrs[i];
		if (sign_rrsig_covered(rr->rdata) == set.type) {
			set.sigs[set.sig_count++] =
					(sign_rr_t){ .rdata = rr->rdata, .ttl = rr->ttl, .type = KNOT_TYPE_RRSIG };
		}
	}
	*ret_set = set;
	return KNOT_OK;
}

static knot_err_t offline_sign_set(
		knot_name_t zone, sign_signer_t *signer, kasp_offline_place_t place, kasp_offline_t *offline)
{
	sign_set_t set;
	knot_err_t err = offline_load(zone, offline, place, &set);
	if (err != KNOT_OK) {
		return err;
	}
	sign_signer_next(signer);
	err = sign_set(signer, &set);
	for (size_t i = 0; i < set.made_count && err == KNOT_OK; i++) {
		err = kasp_offline_add(offline, KNOT_TYPE_RRSIG, set.made[i].ttl, set.made[i].rdata);
	}
	free(set.rrs);
	return err;
}

knot_err_t sign_offline(knot_name_t zone, const sign_plan_t *plan, kasp_offline_t *offline)
{
	sign_signer_t *signer = sign_signer_new(plan, zone);
	knot_err_t err = signer != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (unsigned i = 0; i < KASP_OFFLINE_RRSIG && err == KNOT_OK; i++) {
		err = offline_sign_set(zone, signer, i, offline);
	}
	sign_signer_free(signer);
	return err;
}

/* ---- Checking ---- */

/* True if a signature by the key is there and lasts for `lasts_s`: the signer would keep it. */
static knot_err_t offline_is_kept(knot_name_t zone, const kasp_offline_t *offline, kasp_offline_place_t place,
		const dnssec_key_t *key, uint64_t now_s, uint32_t lasts_s, bool *ret_is_kept)
{
	sign_set_t set;
	const sign_key_t hand = { .key = key, .signs_keys = true };
	const sign_plan_t plan = { .keys = &hand, .key_count = 1, .now_s = now_s, .refresh_s = lasts_s };
	sign_signer_t *signer = sign_signer_new(&plan, zone);
	knot_err_t err = signer != NULL ? offline_load(zone, offline, place, &set) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		/* It has no private key to make another signature with. */
		err = sign_set(signer, &set);
		*ret_is_kept = err == KNOT_OK;
		err = err == KNOT_ENOPRIVATEKEY ? KNOT_OK : err;
		free(set.rrs);
	}
	sign_signer_free(signer);
	return err;
}

/* The best that the keys of the set have to say of another one. */
static knot_err_t offline_check_set(knot_name_t zone, const kasp_offline_t *offline, kasp_offline_place_t place,
		uint64_t now_s, uint32_t lasts_s)
{
	knot_err_t best = KNOT_ENOSIG, err = KNOT_OK;
	const kasp_offline_set_t *keys = &offline->sets[KASP_OFFLINE_DNSKEY];
	for (size_t i = 0; i < keys->count && err == KNOT_OK && best != KNOT_OK; i++) {
		dnssec_key_t *key;
		bool is_good = false, is_lasting = false;
		if (dnssec_key_from_rdata(keys->rrs[i].rdata, &key) != KNOT_OK) {
			continue;
		}
		if ((dnssec_key_flags(key) & DNSSEC_FLAG_SEP) != 0) {
			err = offline_is_kept(zone, offline, place, key, now_s, 0, &is_good);
			err = err == KNOT_OK && is_good
					      ? offline_is_kept(zone, offline, place, key, now_s, lasts_s, &is_lasting)
					      : err;
			best = is_lasting ? KNOT_OK : is_good ? KNOT_EEXPIRES : best;
		}
		dnssec_key_free(key);
	}
	return err == KNOT_OK ? best : err;
}

knot_err_t sign_offline_check(knot_name_t zone, const kasp_offline_t *offline, uint64_t now_s, uint64_t until_s)
{
	uint64_t lasts_s = until_s > now_s ? until_s - now_s : 0;
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; i < KASP_OFFLINE_RRSIG && err == KNOT_OK; i++) {
		if (offline->sets[i].count > 0 || i == KASP_OFFLINE_DNSKEY) {
			err = offline_check_set(
					zone, offline, i, now_s, lasts_s < UINT32_MAX ? (uint32_t)lasts_s : UINT32_MAX);
		}
	}
	return err;
}
