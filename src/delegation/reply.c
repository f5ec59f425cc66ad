/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/delegation/reply.h"

#include "libdnssec/digest.h"
#include "libdnssec/sign.h"
#include "libknot/msg/rcode.h"
#include "libknot/rr/rdata.h"

#include <assert.h>
#include <string.h>

/* ---- Sets ---- */

void reply_set_begin(reply_set_t *set, uint16_t type)
{
	set->type = type;
	set->ttl = UINT32_MAX;
	set->count = set->sig_count = set->used = 0;
}

static knot_bytes_t reply_bytes(const reply_set_t *set, reply_rdata_t at)
{
	return (knot_bytes_t){ set->bytes + at.off, at.len };
}

/* Where a record is or belongs. */
static size_t reply_set_place(const reply_set_t *set, knot_bytes_t rdata, bool *ret_is_there)
{
	for (size_t i = 0; i < set->count; i++) {
		int order = knot_rdata_cmp(reply_rdata(set, i), rdata);
		if (order >= 0) {
			*ret_is_there = order == 0;
			return i;
		}
	}
	*ret_is_there = false;
	return set->count;
}

bool reply_set_has(const reply_set_t *set, knot_bytes_t rdata)
{
	bool is_there;
	(void)reply_set_place(set, rdata, &is_there);
	return is_there;
}

/* Bytes that are behind those in use, as a record. */
static bool reply_set_insert(reply_set_t *set, uint32_t ttl, uint16_t len)
{
	bool is_there;
	reply_rdata_t fresh = { (uint16_t)set->used, len };
	knot_rdata_canonical(set->type, (knot_mut_bytes_t){ set->bytes + set->used, len });
	size_t at = reply_set_place(set, reply_bytes(set, fresh), &is_there);
	set->ttl = ttl < set->ttl ? ttl : set->ttl;
	if (is_there) {
		return true;
	}
	if (set->count == REPLY_RECORDS_MAX) {
		return false;
	}
	memmove(set->records + at + 1, set->records + at, (set->count - at) * sizeof(set->records[0]));
	set->records[at] = fresh;
	set->count++;
	set->used += len;
	return true;
}

bool reply_set_add(reply_set_t *set, uint32_t ttl, knot_bytes_t rdata)
{
	if (rdata.len > sizeof(set->bytes) - set->used || knot_rdata_check(set->type, rdata) != KNOT_OK) {
		return false;
	}
	memcpy(set->bytes + set->used, rdata.data, rdata.len);
	return reply_set_insert(set, ttl, (uint16_t)rdata.len);
}

bool reply_set_eq(const reply_set_t *a, const reply_set_t *b)
{
	bool is_eq = a->count == b->count;
	for (size_t i = 0; i < a->count && is_eq; i++) {
		is_eq = knot_rdata_cmp(reply_rdata(a, i), reply_rdata(b, i)) == 0;
	}
	return is_eq;
}

/* ---- Reading ---- */

/* Unpack behind the bytes in use; 0: it can't be read, or there is no room. */
static uint16_t reply_unpack(
		reply_set_t *set, uint16_t type, const knot_message_t *message, const knot_message_rr_t *rr)
{
	uint16_t len = 0;
	knot_mut_bytes_t room = { set->bytes + set->used, sizeof(set->bytes) - set->used };
	return knot_rdata_unpack(type, message->wire, rr->rdata_off, rr->rdata_len, room, &len) == KNOT_OK ? len : 0;
}

static const char *reply_take_sig(reply_set_t *set, const knot_message_t *message, const knot_message_rr_t *rr)
{
	uint16_t len = reply_unpack(set, KNOT_TYPE_RRSIG, message, rr);
	if (len == 0) {
		return "can't be read or is too large";
	}
	if (load_be16(set->bytes + set->used) != set->type) {
		return NULL;
	}
	if (set->sig_count == REPLY_SIGS_MAX) {
		return "has too many signatures";
	}
	set->sigs[set->sig_count++] = (reply_rdata_t){ (uint16_t)set->used, len };
	set->used += len;
	return NULL;
}

static const char *reply_take_record(reply_set_t *set, const knot_message_t *message, const knot_message_rr_t *rr)
{
	uint16_t len = reply_unpack(set, set->type, message, rr);
	if (len == 0) {
		return "can't be read or is too large";
	}
	return reply_set_insert(set, rr->ttl, len) ? NULL : "has too many records";
}

static const char *reply_take_answer(
		reply_set_t *set, knot_name_t owner, const knot_message_t *message, const knot_message_rr_t *rr)
{
	if (rr->class != KNOT_CLASS_IN || !knot_name_eq(rr->owner, owner) || rr->type == KNOT_TYPE_CNAME ||
			rr->type == KNOT_TYPE_DNAME) {
		return "has an alias or other names";
	}
	if (rr->type == KNOT_TYPE_RRSIG) {
		return reply_take_sig(set, message, rr);
	}
	return rr->type == set->type ? reply_take_record(set, message, rr) : NULL;
}

/* What the header says. */
static const char *reply_check_flags(uint16_t flags, reply_from_t from)
{
	unsigned rcode = flags & KNOT_RCODE_MASK;
	if ((flags & KNOT_FLAG_QR) == 0 || (flags & KNOT_FLAG_TC) != 0) {
		return "isn't whole";
	}
	if (rcode != KNOT_RCODE_NOERROR) {
		return rcode == KNOT_RCODE_NXDOMAIN ? "says that the name doesn't exist" : "is an error";
	}
	if (from == REPLY_OF_SERVER) {
		return (flags & KNOT_FLAG_AA) != 0 ? NULL : "isn't authoritative";
	}
	return (flags & KNOT_FLAG_AD) != 0 ? NULL : "isn't validated by the resolver";
}

const char *reply_read(knot_bytes_t bytes, reply_from_t from, knot_name_t owner, uint16_t type, reply_set_t *ret_set)
{
	knot_message_t message;
	knot_message_rr_t rr;
	bool has_question = false;
	reply_set_begin(ret_set, type);
	if (bytes.len > REPLY_MESSAGE_MAX) {
		return "is too large";
	}
	if (knot_message_begin(bytes, &message) != KNOT_OK) {
		return "can't be read or is too large";
	}
	const char *fault = reply_check_flags(message.flags, from);
	while (fault == NULL && knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_QUESTION) {
			has_question = rr.type == type && knot_name_eq(rr.owner, owner);
		} else if (rr.section == KNOT_SECTION_ANSWER) {
			fault = reply_take_answer(ret_set, owner, &message, &rr);
		}
	}
	if (fault == NULL && message.failed) {
		fault = "can't be read or is too large";
	}
	return fault == NULL && !has_question ? "is to another question" : fault;
}

/* ---- Keys ---- */

enum { DNSKEY_ALGORITHM_OFF = 3, DS_ALGORITHM_OFF = 2, DS_DIGEST_TYPE_OFF = 3 };

reply_keys_t reply_keys_usable(const reply_set_t *dnskeys)
{
	enum { PROTOCOL_OFF = 2, PROTOCOL = 3 };
	reply_keys_t keys = 0;
	for (size_t i = 0; i < dnskeys->count; i++) {
		knot_bytes_t rdata = reply_rdata(dnskeys, i);
		unsigned flags = rdata.len > DNSKEY_ALGORITHM_OFF ? load_be16(rdata.data) : 0;
		bool is_usable = (flags & DNSSEC_FLAG_ZONE) != 0 && (flags & DNSSEC_FLAG_REVOKE) == 0 &&
				 rdata.data[PROTOCOL_OFF] == PROTOCOL &&
				 dnssec_algorithm_find(rdata.data[DNSKEY_ALGORITHM_OFF]) != NULL;
		keys |= (reply_keys_t)is_usable << i;
	}
	return keys;
}

static bool reply_ds_is_of(knot_bytes_t ds, knot_name_t owner, knot_bytes_t dnskey)
{
	uint8_t made[DNSSEC_DS_MAX];
	size_t len;
	return load_be16(ds.data) == dnssec_rdata_tag(dnskey) &&
	       dnssec_ds_make(ds.data[DS_DIGEST_TYPE_OFF], owner, dnskey, made, &len) == KNOT_OK && len == ds.len &&
	       memcmp(made, ds.data, len) == 0;
}

reply_keys_t reply_keys_of_ds(const reply_set_t *dnskeys, knot_name_t owner, const reply_set_t *ds, unsigned algorithm)
{
	reply_keys_t usable = reply_keys_usable(dnskeys), keys = 0;
	for (size_t i = 0; i < dnskeys->count; i++) {
		for (size_t j = 0; j < ds->count && (usable >> i & 1) != 0; j++) {
			knot_bytes_t rdata = reply_rdata(ds, j);
			bool is_wanted = algorithm == 0 || rdata.data[DS_ALGORITHM_OFF] == algorithm;
			bool is_match = is_wanted && reply_ds_is_of(rdata, owner, reply_rdata(dnskeys, i));
			keys |= (reply_keys_t)is_match << i;
		}
	}
	return keys;
}

/* ---- Signatures ---- */

enum {
	RRSIG_ALGORITHM_OFF = 2,
	RRSIG_LABELS_OFF = 3,
	RRSIG_TTL_OFF = 4,
	RRSIG_EXPIRATION_OFF = 8,
	RRSIG_INCEPTION_OFF = 12,
	RRSIG_TAG_OFF = 16,
	RRSIG_SIGNER_OFF = 18,
};

/* RFC 4034 3.1.5: serial numbers, RFC 1982. */
static bool reply_is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* What a signature says apart from the signature; 0: it isn't one that counts. Returns the length of its head. */
static size_t reply_sig_head(knot_bytes_t sig, knot_name_t owner, knot_name_t signer, uint64_t now_s)
{
	knot_name_t name;
	if (sig.len <= RRSIG_SIGNER_OFF ||
			knot_name_read((knot_bytes_t){ sig.data + RRSIG_SIGNER_OFF, sig.len - RRSIG_SIGNER_OFF },
					&name) != KNOT_OK ||
			!knot_name_eq(name, signer) || sig.data[RRSIG_LABELS_OFF] != owner.label_count) {
		return 0;
	}
	uint32_t now = (uint32_t)now_s;
	bool is_good = !reply_is_before(now, load_be32(sig.data + RRSIG_INCEPTION_OFF)) &&
		       !reply_is_before(load_be32(sig.data + RRSIG_EXPIRATION_OFF), now);
	size_t len = (size_t)RRSIG_SIGNER_OFF + name.len;
	return is_good && len < sig.len ? len : 0;
}

/* The pieces that are signed: head, and for each record its owner, fixed fields and RDATA. */
static bool reply_verify_by(const reply_set_t *set, knot_name_t owner, knot_bytes_t sig, size_t head_len,
		knot_name_t signer, knot_bytes_t dnskey)
{
	enum { FIXED_LEN = 10, PER_RECORD = 3 };
	uint8_t signer_wire[KNOT_NAME_MAX], owner_wire[KNOT_NAME_MAX], fixed[REPLY_RECORDS_MAX][FIXED_LEN];
	knot_bytes_t pieces[2 + PER_RECORD * REPLY_RECORDS_MAX];
	size_t count = 0;
	dnssec_key_t *key;
	dnssec_verifier_t *verifier;
	knot_name_lower(signer, signer_wire);
	knot_name_lower(owner, owner_wire);
	pieces[count++] = (knot_bytes_t){ sig.data, RRSIG_SIGNER_OFF };
	pieces[count++] = (knot_bytes_t){ signer_wire, signer.len };
	for (size_t i = 0; i < set->count; i++) {
		knot_bytes_t rdata = reply_rdata(set, i);
		store_be16(fixed[i], set->type);
		store_be16(fixed[i] + 2, KNOT_CLASS_IN);
		memcpy(fixed[i] + 4, sig.data + RRSIG_TTL_OFF, 4);
		store_be16(fixed[i] + 8, (uint16_t)rdata.len);
		pieces[count++] = (knot_bytes_t){ owner_wire, owner.len };
		pieces[count++] = (knot_bytes_t){ fixed[i], FIXED_LEN };
		pieces[count++] = rdata;
	}
	if (dnssec_key_from_rdata(dnskey, &key) != KNOT_OK) {
		return false;
	}
	bool is_good = false;
	if (dnssec_verifier_new(key, &verifier) == KNOT_OK) {
		is_good = dnssec_verifier_verify(verifier, pieces, count,
					  (knot_bytes_t){ sig.data + head_len, sig.len - head_len }) == KNOT_OK;
		dnssec_verifier_free(verifier);
	}
	dnssec_key_free(key);
	return is_good;
}

static bool reply_sig_is_of(knot_bytes_t sig, knot_bytes_t dnskey)
{
	return sig.data[RRSIG_ALGORITHM_OFF] == dnskey.data[DNSKEY_ALGORITHM_OFF] &&
	       load_be16(sig.data + RRSIG_TAG_OFF) == dnssec_rdata_tag(dnskey);
}

bool reply_is_signed(const reply_set_t *set, knot_name_t owner, knot_name_t signer, const reply_set_t *dnskeys,
		reply_keys_t keys, uint64_t now_s, unsigned *budget, uint32_t *ret_inception)
{
	bool is_signed = false;
	for (size_t i = 0; i < set->sig_count && set->count > 0; i++) {
		knot_bytes_t sig = reply_bytes(set, set->sigs[i]);
		size_t head_len = reply_sig_head(sig, owner, signer, now_s);
		for (size_t j = 0; j < dnskeys->count && head_len > 0; j++) {
			if ((keys >> j & 1) == 0 || !reply_sig_is_of(sig, reply_rdata(dnskeys, j)) || *budget == 0) {
				continue;
			}
			--*budget;
			if (!reply_verify_by(set, owner, sig, head_len, signer, reply_rdata(dnskeys, j))) {
				continue;
			}
			uint32_t inception = load_be32(sig.data + RRSIG_INCEPTION_OFF);
			if (ret_inception != NULL && (!is_signed || reply_is_before(*ret_inception, inception))) {
				*ret_inception = inception;
			}
			is_signed = true;
		}
	}
	return is_signed;
}
