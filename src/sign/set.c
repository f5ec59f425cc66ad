/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/set.h"

#include <assert.h>
#include <stdlib.h>

#include "libknot/base/siphash.h"
#include "libknot/rr/rrtype.h"

/* A key in use. Made when it is needed: most keys verify nothing, and those whose signatures are all good sign nothing.
 */
typedef struct {
	dnssec_signer_t *signer;     /* owned; NULL: not yet */
	dnssec_verifier_t *verifier; /* the same */
	bool is_shared_tag;          /* another key has the same tag and algorithm */
} hand_t;

struct sign_signer {
	const sign_plan_t *plan; /* borrowed */
	knot_name_t origin;      /* borrowed */
	hand_t *hands;           /* owned: one for each key */
	uint8_t *data;           /* owned: the set as it is signed, RFC 4034 3.1.8.1 */
	size_t data_len, data_max;
	sign_mem_t made[2]; /* signatures of the piece before, and of the one in work */
	unsigned piece;     /* number of the latter */
	uint64_t count, expiration_s;
};

bool sign_is_key_type(uint16_t type)
{
	return type == KNOT_TYPE_DNSKEY || type == KNOT_TYPE_CDS || type == KNOT_TYPE_CDNSKEY;
}

sign_signer_t *sign_signer_new(const sign_plan_t *plan, knot_name_t origin)
{
	sign_signer_t *signer = calloc(1, sizeof(*signer));
	hand_t *hands = calloc(plan->key_count + 1, sizeof(*hands));
	if (signer == NULL || hands == NULL) {
		free(signer);
		free(hands);
		return NULL;
	}
	for (size_t i = 0; i < plan->key_count; i++) {
		for (size_t k = 0; k < plan->key_count; k++) {
			const dnssec_key_t *a = plan->keys[i].key, *b = plan->keys[k].key;
			hands[i].is_shared_tag |= i != k && dnssec_key_tag(a) == dnssec_key_tag(b) &&
						  dnssec_key_algorithm(a) == dnssec_key_algorithm(b);
		}
	}
	*signer = (sign_signer_t){ .plan = plan, .origin = origin, .hands = hands };
	return signer;
}

void sign_signer_free(sign_signer_t *signer)
{
	if (signer == NULL) {
		return;
	}
	for (size_t i = 0; i < signer->plan->key_count; i++) {
		dnssec_signer_free(signer->hands[i].signer);
		dnssec_verifier_free(signer->hands[i].verifier);
	}
	sign_mem_done(&signer->made[0]);
	sign_mem_done(&signer->made[1]);
	free(signer->hands);
	free(signer->data);
	free(signer);
}

void sign_signer_next(sign_signer_t *signer)
{
	signer->piece ^= 1;
	sign_mem_reset(&signer->made[signer->piece]);
}

uint64_t sign_signer_count(const sign_signer_t *signer)
{
	return signer->count;
}

uint64_t sign_signer_expiration_s(const sign_signer_t *signer)
{
	return signer->expiration_s;
}

/* ---- The data ---- */

static knot_err_t signer_reserve(sign_signer_t *s, size_t len)
{
	if (len <= s->data_max) {
		return KNOT_OK;
	}
	size_t max = 2 * len;
	uint8_t *grown = realloc(s->data, max);
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	s->data = grown;
	s->data_max = max;
	return KNOT_OK;
}

/* The records one after the other, with the TTL of the set. */
static knot_err_t signer_print_set(sign_signer_t *s, const sign_set_t *set, uint32_t ttl)
{
	enum { RR_FIXED_LEN = 10 }; /* type, class, TTL, RDLENGTH */
	size_t len = 0;
	for (size_t i = 0; i < set->rr_count; i++) {
		len += set->rrs[i].goes ? 0 : set->owner.len + RR_FIXED_LEN + set->rrs[i].rdata.len;
	}
	knot_err_t err = signer_reserve(s, len);
	if (err != KNOT_OK) {
		return err;
	}
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ s->data, len });
	for (size_t i = 0; i < set->rr_count; i++) {
		const sign_rr_t *rr = &set->rrs[i];
		if (rr->goes) {
			continue;
		}
		knot_write(&w, set->owner.wire, set->owner.len);
		knot_write_u16(&w, set->type);
		knot_write_u16(&w, KNOT_CLASS_IN);
		knot_write_u32(&w, ttl);
		knot_write_u16(&w, (uint16_t)rr->rdata.len);
		knot_write(&w, rr->rdata.data, rr->rdata.len);
	}
	assert(!w.failed && w.len == len);
	s->data_len = len;
	return KNOT_OK;
}

/* ---- One signature ---- */

static sign_rrsig_t signer_head(const sign_signer_t *s, const sign_set_t *set, uint32_t ttl, const dnssec_key_t *key)
{
	return (sign_rrsig_t){ .type = set->type,
		.algorithm = dnssec_key_algorithm(key),
		.label_count = (uint8_t)(set->owner.label_count - knot_name_is_wildcard(set->owner)),
		.ttl = ttl,
		.tag = dnssec_key_tag(key),
		.signer = s->origin };
}

uint64_t sign_expiration(const sign_plan_t *plan, knot_name_t origin, knot_name_t owner, uint16_t type)
{
	uint64_t last_s = plan->now_s + plan->lifetime_s;
	if (plan->spread_s == 0) {
		return last_s;
	}
	uint64_t part = plan->spread_parts > 1 ? knot_siphash24(type, 0, (knot_bytes_t){ owner.wire, owner.len }) %
								 plan->spread_parts
					       : 0;
	uint64_t moment_s = knot_siphash24(part, 0, (knot_bytes_t){ origin.wire, origin.len }) % plan->spread_s;
	return last_s - (last_s - moment_s) % plan->spread_s;
}

static void signer_note_expiration(sign_signer_t *s, uint64_t expiration_s)
{
	if (s->expiration_s == 0 || expiration_s < s->expiration_s) {
		s->expiration_s = expiration_s;
	}
}

static knot_err_t signer_sign(sign_signer_t *s, size_t key, knot_bytes_t head, uint8_t sig[static DNSSEC_SIGNATURE_MAX],
		size_t *ret_len)
{
	hand_t *hand = &s->hands[key];
	knot_err_t err = hand->signer == NULL ? dnssec_signer_new(s->plan->keys[key].key, s->plan->is_reproducible,
								&hand->signer)
					      : KNOT_OK;
	const knot_bytes_t pieces[] = { head, { s->data, s->data_len } };
	return err == KNOT_OK ? dnssec_signer_sign(hand->signer, pieces, KNOT_LEN(pieces), sig, ret_len) : err;
}

static knot_err_t signer_make(sign_signer_t *s, sign_set_t *set, size_t key, uint32_t ttl)
{
	uint8_t rdata[SIGN_RRSIG_HEAD_MAX + DNSSEC_SIGNATURE_MAX];
	const sign_plan_t *plan = s->plan;
	uint64_t expiration_s = sign_expiration(plan, s->origin, set->owner, set->type);
	sign_rrsig_t head = signer_head(s, set, ttl, plan->keys[key].key);
	head.inception = (uint32_t)(plan->now_s - SIGN_INCEPTION_OFFSET_S);
	head.expiration = (uint32_t)expiration_s;
	size_t head_len = sign_rrsig_print(&head, rdata), sig_len;
	knot_err_t err = signer_sign(s, key, (knot_bytes_t){ rdata, head_len }, rdata + head_len, &sig_len);
	if (err != KNOT_OK) {
		return err;
	}
	knot_bytes_t copy = sign_mem_copy(&s->made[s->piece], (knot_bytes_t){ rdata, head_len + sig_len });
	if (copy.data == NULL) {
		return KNOT_ENOMEM;
	}
	set->made[set->made_count++] = (sign_rr_t){ copy, ttl, KNOT_TYPE_RRSIG, .is_new = true };
	s->count++;
	signer_note_expiration(s, expiration_s);
	return KNOT_OK;
}

/* ---- Signatures that are there ---- */

/* True if a signature is the one that the key would make, but for times and the signature itself. */
static bool is_like(knot_bytes_t rdata, knot_bytes_t head)
{
	enum { TIMES_LEN = SIGN_RRSIG_TAG_OFF - SIGN_RRSIG_EXPIRATION_OFF };
	const uint8_t *behind = rdata.data + SIGN_RRSIG_EXPIRATION_OFF + TIMES_LEN;
	size_t behind_len = head.len - SIGN_RRSIG_TAG_OFF;
	uint8_t lower[KNOT_NAME_MAX];
	if (rdata.len <= head.len || memcmp(rdata.data, head.data, SIGN_RRSIG_EXPIRATION_OFF) != 0 ||
			memcmp(behind, head.data + SIGN_RRSIG_TAG_OFF, 2) != 0) {
		return false;
	}
	knot_name_t signer = knot_name_of(rdata.data + SIGN_RRSIG_SIGNER_OFF);
	knot_name_lower(signer, lower);
	return signer.len + 2u == behind_len && memcmp(lower, head.data + SIGN_RRSIG_SIGNER_OFF, signer.len) == 0;
}

static uint64_t expiration_of(const sign_plan_t *plan, knot_bytes_t rdata)
{
	return sign_rrsig_time(load_be32(rdata.data + SIGN_RRSIG_EXPIRATION_OFF), plan->now_s);
}

static bool is_in_time(const sign_plan_t *plan, knot_bytes_t rdata)
{
	uint64_t inception_s = sign_rrsig_time(load_be32(rdata.data + SIGN_RRSIG_INCEPTION_OFF), plan->now_s);
	uint64_t needed_s = plan->now_s + plan->refresh_s + plan->pre_refresh_s;
	return inception_s <= plan->now_s && (plan->keeps_expired || needed_s < expiration_of(plan, rdata));
}

/* Some algorithms sign faster than they verify. Where the same data gives the same signature, it may be made again. */
static bool is_cheaper_to_sign(const sign_plan_t *plan, const dnssec_key_t *key)
{
	dnssec_kind_t kind = dnssec_key_algorithm_row(key)->kind;
	return dnssec_key_has_private(key) &&
	       (kind == DNSSEC_KIND_EDDSA || (kind == DNSSEC_KIND_ECDSA && plan->is_reproducible));
}

static bool signer_verify(sign_signer_t *s, size_t key, knot_bytes_t rdata, size_t head_len)
{
	const dnssec_key_t *with = s->plan->keys[key].key;
	hand_t *hand = &s->hands[key];
	knot_bytes_t head = { rdata.data, head_len }, sig = { rdata.data + head_len, rdata.len - head_len };
	if (is_cheaper_to_sign(s->plan, with)) {
		uint8_t again[DNSSEC_SIGNATURE_MAX];
		size_t len;
		return signer_sign(s, key, head, again, &len) == KNOT_OK && len == sig.len &&
		       memcmp(again, sig.data, len) == 0;
	}
	if (hand->verifier == NULL && dnssec_verifier_new(with, &hand->verifier) != KNOT_OK) {
		return false;
	}
	const knot_bytes_t pieces[] = { head, { s->data, s->data_len } };
	return dnssec_verifier_verify(hand->verifier, pieces, KNOT_LEN(pieces), sig) == KNOT_OK;
}

/* tries: that were verified for the key and the set, which is hashed for each. */
static bool signer_can_keep(sign_signer_t *s, size_t key, const sign_rr_t *sig, knot_bytes_t head, unsigned *tries)
{
	enum { TRIES_MAX = 8 };
	if (s->plan->drops_signatures || sig->belief == SIGN_BELIEF_STALE || !is_like(sig->rdata, head) ||
			!is_in_time(s->plan, sig->rdata)) {
		return false;
	}
	bool is_believed = sig->belief == SIGN_BELIEF_GOOD && !s->hands[key].is_shared_tag;
	return is_believed || (++*tries <= TRIES_MAX && signer_verify(s, key, sig->rdata, head.len));
}

/* Keep a signature by the key if there is a good one, which then no other key takes. */
static bool signer_keep(sign_signer_t *s, sign_set_t *set, size_t key, uint32_t ttl)
{
	uint8_t wire[SIGN_RRSIG_HEAD_MAX];
	const sign_rrsig_t wanted = signer_head(s, set, ttl, s->plan->keys[key].key);
	knot_bytes_t head = { wire, sign_rrsig_print(&wanted, wire) };
	unsigned tries = 0;
	for (size_t i = 0; i < set->sig_count; i++) {
		sign_rr_t *sig = &set->sigs[i];
		if (sig->goes && signer_can_keep(s, key, sig, head, &tries)) {
			sig->goes = false;
			sig->is_new = sig->ttl != ttl; /* put again, with this one */
			sig->ttl = ttl;
			signer_note_expiration(s, expiration_of(s->plan, sig->rdata));
			return true;
		}
	}
	return false;
}

/* The set has the signatures of the plan that cover it. */
static void signer_take_given(sign_signer_t *s, sign_set_t *set, uint32_t ttl)
{
	for (size_t i = 0; i < s->plan->key_rrsig_count; i++) {
		knot_bytes_t given = s->plan->key_rrsigs[i];
		sign_rr_t *same = NULL;
		if (sign_rrsig_covered(given) != set->type) {
			continue;
		}
		for (size_t k = 0; k < set->sig_count; k++) {
			same = knot_rdata_cmp(set->sigs[k].rdata, given) == 0 ? &set->sigs[k] : same;
		}
		if (same != NULL) {
			same->goes = false;
		} else {
			set->made[set->made_count++] = (sign_rr_t){ given, ttl, KNOT_TYPE_RRSIG, .is_new = true };
		}
	}
}

static const sign_rr_t *set_first(const sign_set_t *set)
{
	for (size_t i = 0; i < set->rr_count; i++) {
		if (!set->rrs[i].goes) {
			return &set->rrs[i];
		}
	}
	return NULL;
}

knot_err_t sign_set(sign_signer_t *s, sign_set_t *set)
{
	const sign_plan_t *plan = s->plan;
	const sign_rr_t *first = set_first(set);
	for (size_t i = 0; i < set->sig_count; i++) {
		set->sigs[i].goes = true;
	}
	if (!set->is_signed || first == NULL) {
		return KNOT_OK;
	}
	bool is_keys = sign_is_key_type(set->type) && set->owner.len == s->origin.len;
	set->made = sign_mem_alloc(&s->made[s->piece], (plan->key_count + plan->key_rrsig_count) * sizeof(*set->made));
	if (set->made == NULL) {
		return KNOT_ENOMEM;
	}
	if (is_keys && plan->has_key_rrsigs) {
		signer_take_given(s, set, first->ttl);
		return KNOT_OK;
	}
	knot_err_t err = signer_print_set(s, set, first->ttl);
	for (size_t key = 0; err == KNOT_OK && key < plan->key_count; key++) {
		bool signs = is_keys ? plan->keys[key].signs_keys : plan->keys[key].signs_zone;
		if (signs && !signer_keep(s, set, key, first->ttl)) {
			err = signer_make(s, set, key, first->ttl);
		}
	}
	return err;
}
