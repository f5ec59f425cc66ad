/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/faults_kinds.h"

#include <strings.h>

#include "libdnssec/sign.h"
#include "libknot/base/encode.h"
#include "libknot/rr/rrtype.h"
#include "src/sign/rdata.h"

enum { RDATA_MAX = 2048, DAY_S = 86400 };

static const sim_signing_t rightly = { 0 };

/* ---- Which records ---- */

static bool is_signature(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	(void)spoil;
	return rr->type == KNOT_TYPE_RRSIG;
}

static bool is_chain(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	(void)spoil;
	return rr->type == KNOT_TYPE_NSEC || rr->type == KNOT_TYPE_NSEC3;
}

static bool is_of(const sim_spoil_t *spoil, const sim_rr_t *rr, uint16_t type)
{
	(void)spoil;
	return rr->type == type;
}

#define IS_OF(name, type)                                                                                              \
	static bool name(const sim_spoil_t *spoil, const sim_rr_t *rr)                                                 \
	{                                                                                                              \
		return is_of(spoil, rr, type);                                                                         \
	}
IS_OF(is_dnskey, KNOT_TYPE_DNSKEY)
IS_OF(is_ds, KNOT_TYPE_DS)
IS_OF(is_nsec, KNOT_TYPE_NSEC)
IS_OF(is_nsec3, KNOT_TYPE_NSEC3)
IS_OF(is_nsec3param, KNOT_TYPE_NSEC3PARAM)
IS_OF(is_zonemd, KNOT_TYPE_ZONEMD)
IS_OF(is_soa, KNOT_TYPE_SOA)

static const sim_rr_t *find_signature(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	for (size_t i = 0; i < spoil->rrs.count; i++) {
		const sim_rr_t *other = &spoil->rrs.rrs[i];
		if (sim_rr_covers(other) == rr->type && knot_name_eq(other->owner, rr->owner)) {
			return other;
		}
	}
	return NULL;
}

/* A record of a set that is signed, but not of the chain: that is other faults' */
static bool is_signed(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return rr->type != KNOT_TYPE_RRSIG && !is_chain(spoil, rr) && find_signature(spoil, rr) != NULL;
}

static bool is_signed_data(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return is_signed(spoil, rr) && !knot_name_eq(rr->owner, spoil->origin);
}

static bool is_unsigned(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return rr->type != KNOT_TYPE_RRSIG && find_signature(spoil, rr) == NULL;
}

static bool is_below_apex_chain(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return is_nsec(spoil, rr) && !knot_name_eq(rr->owner, spoil->origin);
}

/* ---- Signatures ---- */

static bool flip_signature(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signature);
	uint8_t rdata[RDATA_MAX];
	size_t head = SIGN_RRSIG_SIGNER_OFF + spoil->origin.len;
	memcpy(rdata, rr->rdata, rr->len);
	rdata[head + sim_below(spoil->random, rr->len - head)] ^= (uint8_t)(1u << sim_below(spoil->random, 8));
	sim_replace(spoil, rr, rdata, rr->len);
	return true;
}

static bool flip_head(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signature);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr->rdata, rr->len);
	rdata[sim_below(spoil->random, SIGN_RRSIG_SIGNER_OFF)] ^= (uint8_t)(1u << sim_below(spoil->random, 8));
	sim_replace(spoil, rr, rdata, rr->len);
	return true;
}

static bool lose_signature(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signature);
	sim_remove_signatures(spoil, rr->owner, sim_rr_covers(rr));
	return true;
}

static bool lose_all_signatures_of_name(sim_spoil_t *spoil)
{
	const sim_rr_t *drawn = sim_rrs_draw(spoil, is_signature);
	sim_remove_set(spoil, drawn->owner, KNOT_TYPE_RRSIG);
	return true;
}

static bool swap_signatures(sim_spoil_t *spoil)
{
	const sim_rr_t *a = sim_rrs_draw(spoil, is_signature), *b = sim_rrs_draw(spoil, is_signature);
	uint8_t rdata[RDATA_MAX];
	size_t head = SIGN_RRSIG_SIGNER_OFF + spoil->origin.len;
	if (a == b || a->len != b->len || memcmp(a->rdata + head, b->rdata + head, a->len - head) == 0) {
		return false;
	}
	memcpy(rdata, a->rdata, head);
	memcpy(rdata + head, b->rdata + head, a->len - head);
	sim_replace(spoil, a, rdata, a->len);
	return true;
}

/* Any set that is signed, of the apex, too. */
static bool sign_badly(sim_spoil_t *spoil, const sim_signing_t *how)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, sim_below(spoil->random, 4) == 0 ? is_chain : is_signed);
	sim_sign(spoil, rr->owner, rr->type, how);
	return true;
}

static bool sign_expired(sim_spoil_t *spoil)
{
	return sign_badly(spoil,
			&(sim_signing_t){ .shift_s = -(int64_t)(7 + sim_below(spoil->random, 300)) * DAY_S - 1 });
}

static bool sign_ahead(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .shift_s = (int64_t)(1 + sim_below(spoil->random, 300)) * DAY_S });
}

static bool sign_other_ttl(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .ttl = sim_below(spoil->random, 2) == 0 ? 1 : -1 });
}

static bool sign_other_labels(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .labels = sim_below(spoil->random, 2) == 0 ? 1 : -1 });
}

static bool sign_other_signer(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .has_other_signer = true });
}

static bool sign_other_tag(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .tag = 1 + (int)sim_below(spoil->random, 100) });
}

static bool sign_with_other_zone(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .key = spoil->other });
}

/* Tag and algorithm are the right key's, the private key isn't. */
static bool sign_with_other_private(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .by = spoil->other });
}

static bool sign_keys_with_zsk(sim_spoil_t *spoil)
{
	if (spoil->ksk == spoil->zsk) {
		return false;
	}
	sim_sign(spoil, spoil->origin, KNOT_TYPE_DNSKEY, &(sim_signing_t){ .key = spoil->zsk });
	return true;
}

static bool sign_unsigned(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_unsigned);
	if (rr != NULL) {
		sim_sign(spoil, rr->owner, rr->type, &rightly);
	}
	return rr != NULL;
}

static bool change_ttl(sim_spoil_t *spoil)
{
	sim_rr_t rr = *sim_rrs_draw(spoil, is_signed);
	rr.ttl += 1 + (uint32_t)sim_below(spoil->random, 1000);
	sim_put(spoil, &rr);
	return true;
}

static bool sign_again(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &rightly);
}

/* A signature of a key that nobody knows is passed over, if there is a good one. */
static bool add_foreign_signature(sim_spoil_t *spoil)
{
	return sign_badly(spoil, &(sim_signing_t){ .key = spoil->other, .keeps_others = true });
}

/* ---- Keys ---- */

static bool change_dnskey(sim_spoil_t *spoil, bool is_signed_again)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_dnskey);
	uint8_t rdata[RDATA_MAX];
	enum { PUBLIC_AT = 4 };
	memcpy(rdata, rr->rdata, rr->len);
	rdata[PUBLIC_AT + sim_below(spoil->random, rr->len - PUBLIC_AT)] ^=
			(uint8_t)(1u << sim_below(spoil->random, 8));
	sim_replace(spoil, rr, rdata, rr->len);
	if (is_signed_again) {
		sim_sign(spoil, spoil->origin, KNOT_TYPE_DNSKEY, &rightly);
	}
	return true;
}

static bool flip_dnskey(sim_spoil_t *spoil)
{
	return change_dnskey(spoil, false);
}

static bool flip_dnskey_signed(sim_spoil_t *spoil)
{
	return change_dnskey(spoil, true);
}

static bool lose_dnskey(sim_spoil_t *spoil, const dnssec_key_t *lost)
{
	for (size_t i = 0; i < spoil->rrs.count; i++) {
		const sim_rr_t *rr = &spoil->rrs.rrs[i];
		knot_bytes_t rdata = dnssec_key_rdata(lost);
		if (rr->type == KNOT_TYPE_DNSKEY && rr->len == rdata.len &&
				memcmp(rr->rdata, rdata.data, rdata.len) == 0) {
			sim_remove(spoil, rr);
			sim_sign(spoil, spoil->origin, KNOT_TYPE_DNSKEY, &rightly);
			return true;
		}
	}
	return false;
}

static bool lose_zsk(sim_spoil_t *spoil)
{
	return spoil->ksk != spoil->zsk && lose_dnskey(spoil, spoil->zsk);
}

static bool lose_ksk(sim_spoil_t *spoil)
{
	return spoil->ksk != spoil->zsk && lose_dnskey(spoil, spoil->ksk);
}

static bool lose_keys(sim_spoil_t *spoil)
{
	sim_remove_set(spoil, spoil->origin, KNOT_TYPE_DNSKEY);
	sim_remove_signatures(spoil, spoil->origin, KNOT_TYPE_DNSKEY);
	return true;
}

/* All keys are another zone's, and all of the apex is signed with them: valid, if one forgets the rest. */
static bool add_other_key(sim_spoil_t *spoil)
{
	knot_bytes_t other = dnssec_key_rdata(spoil->other);
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_dnskey);
	sim_replace(spoil, rr, other.data, other.len);
	sim_sign(spoil, spoil->origin, KNOT_TYPE_DNSKEY, &rightly);
	return true;
}

/* ---- Records ---- */

static bool lose_set(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signed_data);
	sim_remove_set(spoil, rr->owner, rr->type);
	return true;
}

static bool lose_set_and_signatures(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signed_data);
	sim_remove_set(spoil, rr->owner, rr->type);
	sim_remove_signatures(spoil, rr->owner, rr->type);
	return true;
}

static bool change_record(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_signed_data);
	uint8_t rdata[RDATA_MAX];
	if (rr->type != KNOT_TYPE_A && rr->type != KNOT_TYPE_TXT && rr->type != KNOT_TYPE_DS) {
		return false;
	}
	memcpy(rdata, rr->rdata, rr->len);
	rdata[rr->len - 1] ^= 1;
	sim_replace(spoil, rr, rdata, rr->len);
	return true;
}

static bool lose_ds(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_ds);
	if (rr != NULL) {
		sim_remove_set(spoil, rr->owner, KNOT_TYPE_DS);
		sim_remove_signatures(spoil, rr->owner, KNOT_TYPE_DS);
	}
	return rr != NULL;
}

static bool change_soa(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_soa);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr->rdata, rr->len);
	store_be32(rdata + rr->len - 20, load_be32(rdata + rr->len - 20) + 1);
	sim_replace(spoil, rr, rdata, rr->len);
	return true;
}

/* ---- The chain: each change well signed ---- */

static void sign_chain(sim_spoil_t *spoil, knot_name_t owner, uint16_t type)
{
	sim_sign(spoil, owner, type, &rightly);
}

static bool flip_bitmap(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_chain);
	uint8_t rdata[RDATA_MAX];
	knot_bytes_t bitmap = sign_rdata_bitmap(rr->type, (knot_bytes_t){ rr->rdata, rr->len });
	if (bitmap.len < 3) {
		return false; /* of an empty non-terminal */
	}
	size_t at = (size_t)(bitmap.data - rr->rdata) + 2 + sim_below(spoil->random, bitmap.data[1]);
	memcpy(rdata, rr->rdata, rr->len);
	rdata[at] ^= (uint8_t)(1u << sim_below(spoil->random, 8));
	if (rdata[at] == 0) {
		return false; /* it would end in a zero, which is malformed */
	}
	sim_replace(spoil, rr, rdata, rr->len);
	sign_chain(spoil, rr->owner, rr->type);
	return true;
}

static bool flip_next(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_nsec3);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr->rdata, rr->len);
	size_t at = 6 + (size_t)rr->rdata[4]; /* behind the salt and the length of the hash */
	rdata[at + sim_below(spoil->random, ZONE_NSEC3_HASH_LEN)] ^= (uint8_t)(1u << sim_below(spoil->random, 8));
	sim_replace(spoil, rr, rdata, rr->len);
	sign_chain(spoil, rr->owner, rr->type);
	return true;
}

/* Each leads to itself: what follows isn't proven any more. */
static bool cut_nsec(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_below_apex_chain);
	uint8_t rdata[RDATA_MAX];
	if (rr == NULL) {
		return false;
	}
	knot_bytes_t bitmap = sign_rdata_bitmap(rr->type, (knot_bytes_t){ rr->rdata, rr->len });
	memcpy(rdata, rr->owner.wire, rr->owner.len);
	memcpy(rdata + rr->owner.len, bitmap.data, bitmap.len);
	sim_replace(spoil, rr, rdata, rr->owner.len + bitmap.len);
	sign_chain(spoil, rr->owner, rr->type);
	return true;
}

static bool lose_chain_record(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_chain);
	sim_remove_set(spoil, rr->owner, rr->type);
	sim_remove_signatures(spoil, rr->owner, rr->type);
	return true;
}

/* Bytes in front of the next hash of an NSEC3; of an NSEC the next name is the beginning. */
static size_t next_at(const sim_rr_t *rr)
{
	return rr->type == KNOT_TYPE_NSEC ? 0 : 6 + (size_t)rr->rdata[4];
}

static bool leads_to(const sim_rr_t *rr, const sim_rr_t *next)
{
	if (rr->type == KNOT_TYPE_NSEC) {
		return next->owner.len <= rr->len && knot_name_eq(knot_name_of(rr->rdata), next->owner);
	}
	char label[64];
	size_t len = knot_base32hex_print((knot_bytes_t){ rr->rdata + next_at(rr), ZONE_NSEC3_HASH_LEN }, label);
	return len == next->owner.wire[0] && strncasecmp(label, (const char *)next->owner.wire + 1, len) == 0;
}

/* The record of a name goes, and the one before it leads to the one behind it, all well signed: a delegation, or a name
 * with data, without its proof. */
static bool leave_out(sim_spoil_t *spoil, const sim_rr_t *gone)
{
	uint8_t rdata[RDATA_MAX];
	for (size_t i = 0; i < spoil->rrs.count; i++) {
		const sim_rr_t *before = &spoil->rrs.rrs[i];
		if (before->type != gone->type || before == gone || !leads_to(before, gone)) {
			continue;
		}
		bool is_nsec = gone->type == KNOT_TYPE_NSEC;
		size_t at = next_at(before), gone_at = next_at(gone), len;
		size_t old_next = is_nsec ? gone->owner.len : ZONE_NSEC3_HASH_LEN;
		size_t new_next = is_nsec ? knot_name_of(gone->rdata).len : ZONE_NSEC3_HASH_LEN;
		memcpy(rdata, before->rdata, at);
		memcpy(rdata + at, gone->rdata + gone_at, new_next);
		len = at + new_next;
		memcpy(rdata + len, before->rdata + at + old_next, before->len - at - old_next);
		len += before->len - at - old_next;
		sim_remove_set(spoil, gone->owner, gone->type);
		sim_remove_signatures(spoil, gone->owner, gone->type);
		sim_replace(spoil, before, rdata, len);
		sign_chain(spoil, before->owner, before->type);
		return true;
	}
	return false;
}

/* True if the bitmap has the type, which is below 256. */
static bool bitmap_has(const sim_rr_t *rr, uint16_t type)
{
	knot_bytes_t bitmap = sign_rdata_bitmap(rr->type, (knot_bytes_t){ rr->rdata, rr->len });
	return bitmap.len > 2 && bitmap.data[0] == 0 && bitmap.data[1] > type / 8 &&
	       (bitmap.data[2 + type / 8] >> (7 - type % 8) & 1) != 0;
}

static bool is_secure_cut(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return is_chain(spoil, rr) && bitmap_has(rr, KNOT_TYPE_DS);
}

static bool is_insecure_cut(const sim_spoil_t *spoil, const sim_rr_t *rr)
{
	return is_chain(spoil, rr) && bitmap_has(rr, KNOT_TYPE_NS) && !bitmap_has(rr, KNOT_TYPE_DS) &&
	       !bitmap_has(rr, KNOT_TYPE_SOA);
}

static bool leave_out_secure_cut(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_secure_cut);
	return rr != NULL && leave_out(spoil, rr);
}

static bool leave_out_insecure_cut(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_insecure_cut);
	return rr != NULL && leave_out(spoil, rr);
}

static bool change_salt(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_nsec3);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr->rdata, rr->len);
	if (rdata[4] > 0 && sim_below(spoil->random, 2) == 0) {
		rdata[5] ^= 1; /* the salt */
	} else {
		rdata[3] ^= 1; /* iterations */
	}
	sim_replace(spoil, rr, rdata, rr->len);
	sign_chain(spoil, rr->owner, rr->type);
	return true;
}

static bool change_params(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_nsec3param);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr->rdata, rr->len);
	rdata[3] ^= 1;
	sim_replace(spoil, rr, rdata, rr->len);
	sim_sign(spoil, rr->owner, rr->type, &rightly);
	return true;
}

static bool add_params(sim_spoil_t *spoil)
{
	sim_rr_t rr = *sim_rrs_draw(spoil, is_nsec3param);
	uint8_t rdata[RDATA_MAX];
	memcpy(rdata, rr.rdata, rr.len);
	rdata[3] ^= 2;
	rr.rdata = rdata;
	sim_put(spoil, &rr);
	sim_sign(spoil, rr.owner, rr.type, &rightly);
	return true;
}

static bool lose_params(sim_spoil_t *spoil)
{
	sim_remove_set(spoil, spoil->origin, KNOT_TYPE_NSEC3PARAM);
	sim_remove_signatures(spoil, spoil->origin, KNOT_TYPE_NSEC3PARAM);
	return true;
}

/* ---- Digests ---- */

static bool change_zonemd(sim_spoil_t *spoil, size_t at)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_zonemd);
	uint8_t rdata[RDATA_MAX];
	if (rr == NULL) {
		return false;
	}
	memcpy(rdata, rr->rdata, rr->len);
	rdata[at] ^= (uint8_t)(1u << sim_below(spoil->random, 8));
	sim_replace(spoil, rr, rdata, rr->len);
	sim_sign(spoil, rr->owner, rr->type, &rightly);
	return true;
}

static bool flip_digest(sim_spoil_t *spoil)
{
	return change_zonemd(spoil, 6 + sim_below(spoil->random, 48));
}

static bool stale_digest(sim_spoil_t *spoil)
{
	return change_zonemd(spoil, sim_below(spoil->random, 4));
}

/* What no signature covers. */
static bool change_glue(sim_spoil_t *spoil)
{
	const sim_rr_t *rr = sim_rrs_draw(spoil, is_unsigned);
	uint8_t rdata[RDATA_MAX];
	if (rr == NULL || rr->type != KNOT_TYPE_A) {
		return false;
	}
	memcpy(rdata, rr->rdata, rr->len);
	rdata[3] ^= 1;
	sim_replace(spoil, rr, rdata, rr->len);
	return true;
}

const sim_kind_t sim_kinds[] = {
	{ "bit of a signature", SIM_CHAINS, flip_signature, false },
	{ "bit in front of a signature", SIM_CHAINS, flip_head, false },
	{ "signatures of a set lost", SIM_CHAINS, lose_signature, false },
	{ "signatures of a name lost", SIM_CHAINS, lose_all_signatures_of_name, false },
	{ "signature of another set", SIM_CHAINS, swap_signatures, false },
	{ "signature expired", SIM_CHAINS, sign_expired, false },
	{ "signature not yet valid", SIM_CHAINS, sign_ahead, false },
	{ "original TTL wrong", SIM_CHAINS, sign_other_ttl, false },
	{ "labels wrong", SIM_CHAINS, sign_other_labels, false },
	{ "signer wrong", SIM_CHAINS, sign_other_signer, false },
	{ "key tag wrong", SIM_CHAINS, sign_other_tag, false },
	{ "signed with another zone's key", SIM_CHAINS, sign_with_other_zone, false },
	{ "signed with another private key", SIM_CHAINS, sign_with_other_private, false },
	{ "DNSKEY signed by the ZSK only", SIM_CHAINS, sign_keys_with_zsk, false },
	{ "signature where none belongs", SIM_CHAINS, sign_unsigned, false },
	{ "TTL above the signed one", SIM_CHAINS, change_ttl, false },
	{ "bit of a DNSKEY", SIM_CHAINS, flip_dnskey, false },
	{ "bit of a DNSKEY, signed", SIM_CHAINS, flip_dnskey_signed, false },
	{ "ZSK lost in DNSKEY", SIM_CHAINS, lose_zsk, false },
	{ "KSK lost in DNSKEY", SIM_CHAINS, lose_ksk, false },
	{ "DNSKEY lost", SIM_CHAINS, lose_keys, false },
	{ "DNSKEY of another zone", SIM_CHAINS, add_other_key, false },
	{ "set lost", SIM_CHAINS, lose_set, false },
	{ "set lost with its signatures", SIM_CHAINS, lose_set_and_signatures, false },
	{ "record changed", SIM_CHAINS, change_record, false },
	{ "DS lost at a cut", SIM_CHAINS, lose_ds, false },
	{ "SOA changed", SIM_CHAINS, change_soa, false },
	{ "bit of a bitmap, signed", SIM_CHAINS, flip_bitmap, false },
	{ "bit of a next hash, signed", SIM_NSEC3 | SIM_OPT_OUT, flip_next, false },
	{ "NSEC leads to itself, signed", SIM_NSEC, cut_nsec, false },
	{ "record of the chain lost", SIM_CHAINS, lose_chain_record, false },
	{ "secure cut without its proof", SIM_CHAINS, leave_out_secure_cut, false },
	{ "insecure cut without its proof", SIM_NSEC | SIM_NSEC3, leave_out_insecure_cut, false },
	{ "salt or iterations of one NSEC3", SIM_NSEC3 | SIM_OPT_OUT, change_salt, false },
	{ "parameters of another chain", SIM_NSEC3 | SIM_OPT_OUT, change_params, false },
	{ "parameters twice", SIM_NSEC3 | SIM_OPT_OUT, add_params, false },
	{ "parameters lost", SIM_NSEC3 | SIM_OPT_OUT, lose_params, false },
	{ "digest wrong, signed", SIM_ZONEMD, flip_digest, false },
	{ "digest of another serial, signed", SIM_ZONEMD, stale_digest, false },
	{ "digest of other glue", SIM_ZONEMD, change_glue, false },
	{ "control: a set signed once more", SIM_CHAINS, sign_again, true },
	{ "control: a signature of nobody's key", SIM_CHAINS, add_foreign_signature, true },
};
const size_t sim_kind_count = KNOT_LEN(sim_kinds);
